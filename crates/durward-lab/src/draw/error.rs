//! Why a picture cannot be drawn.

use std::fmt;

/// Why a picture, or a page of them, cannot be drawn: it has no size that can be drawn, or this build draws none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawError(String);

impl DrawError {
    pub(crate) fn new(problem: impl Into<String>) -> DrawError {
        DrawError(problem.into())
    }
}

impl fmt::Display for DrawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DrawError {}

//! In the place of `backtracking.rs` without the feature `backtracking`: no expression gets past [`Backtracking::build`].

use super::{Reason, RegexMatch};

#[derive(Debug)]
pub(super) enum Backtracking {}

impl Backtracking {
    /// # Errors
    /// Always.
    pub(super) fn build(_: &str) -> Result<Backtracking, Reason> {
        Err(
            "it needs backtracking, which this build has not: the feature `backtracking` of `durward-ir` is left out",
        )
    }

    pub(super) fn is_match(&self, _: &str) -> Option<bool> {
        match *self {}
    }

    pub(super) fn find_at(&self, _: &str, _: usize) -> Option<Option<RegexMatch>> {
        match *self {}
    }
}

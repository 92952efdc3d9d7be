//! Truth where an error is just unknown: what is left when nothing decides is the first error.

use crate::fault::{Evaluated, Fault};

/// The first error met, if any.
pub(super) struct Unknown(Option<Box<Fault>>);

impl Unknown {
    /// No error yet.
    pub(super) fn new() -> Unknown {
        Unknown(None)
    }

    pub(super) fn note(&mut self, fault: Box<Fault>) {
        if self.0.is_none() {
            self.0 = Some(fault);
        }
    }

    /// The truth, if there was no error.
    pub(super) fn or(self, otherwise: bool) -> Evaluated<bool> {
        self.0.map_or(Ok(otherwise), Err)
    }
}

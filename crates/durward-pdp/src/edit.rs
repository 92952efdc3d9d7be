//! What is changed: documents by their names, and where those are among the ones in force.

use std::sync::Arc;

use crate::PolicyText;

/// One change of the policies in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyChange {
    /// This document comes in the place of the one with this name, or beside the others.
    Put(PolicyText),
    /// The document with this name is taken away.
    Remove(String),
}

impl PolicyChange {
    /// The name of the document.
    pub fn name(&self) -> &str {
        match self {
            PolicyChange::Put(text) => &text.name,
            PolicyChange::Remove(name) => name,
        }
    }
}

/// One document to be put or taken away.
#[derive(Debug)]
pub(crate) struct Edit {
    /// Where it is among those in force, or where it is to come before.
    pub(crate) at: Result<usize, usize>,
    /// `None` to take it away.
    pub(crate) text: Option<Arc<PolicyText>>,
}

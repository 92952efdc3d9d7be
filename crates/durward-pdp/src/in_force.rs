//! The record of the policies in force, which only a change of policies reads, and the snapshots that were in force before.

use std::sync::Arc;

use crate::register::Register;
use crate::snapshot::Snapshot;
use crate::warnings::Warnings;

/// What a change of policies needs to know of those in force.
#[derive(Debug, Default)]
pub(crate) struct InForce {
    /// The number of the last snapshot.
    pub(crate) last_id: u64,
    /// The documents, where they are kept.
    pub(crate) register: Option<Register>,
    /// Snapshots that are not in force any more and may be in use.
    pub(crate) retired: Vec<Arc<Snapshot>>,
    /// What is odd in the documents, where somebody wants to know.
    pub(crate) warnings: Warnings,
}

impl InForce {
    pub(crate) fn spent(&mut self) -> Spent {
        let is_unused = |retired: &mut Arc<Snapshot>| Arc::strong_count(retired) == 1;
        Spent { snapshots: self.retired.extract_if(.., is_unused).collect(), register: None }
    }
}

/// What was in force. To take apart what a hundred thousand policies were takes time, which neither a decision nor the next
/// change should have to spend: it is dropped by whoever changed the policies, when the last decision that began with them
/// is through and others may change them again.
#[derive(Debug, Default)]
#[expect(dead_code, reason = "held to be dropped")]
pub(crate) struct Spent {
    snapshots: Vec<Arc<Snapshot>>,
    register: Option<Register>,
}

impl Spent {
    pub(crate) fn with(self, register: Option<Register>) -> Spent {
        Spent { register, ..self }
    }
}

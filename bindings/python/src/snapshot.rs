//! The policies in force, as Python sees them.

use durward_embed::SnapshotInfo;
use pyo3::prelude::*;

/// What is in force.
#[pyclass(frozen, get_all, eq, module = "durward")]
#[derive(PartialEq, Eq)]
pub struct Snapshot {
    /// Counts the snapshots of one decision point, from 1.
    id: u64,
    /// How many documents were read.
    documents: usize,
    /// How many policies they hold.
    policies: usize,
    /// How many rules.
    rules: usize,
    /// The index in use, and why.
    index: String,
}

impl From<SnapshotInfo> for Snapshot {
    fn from(info: SnapshotInfo) -> Snapshot {
        let SnapshotInfo { id, documents, policies, rules, index, .. } = info;
        Snapshot { id, documents, policies, rules, index }
    }
}

#[pymethods]
impl Snapshot {
    fn __repr__(&self) -> String {
        let Snapshot { id, documents, policies, rules, index } = self;
        format!(
            "<durward.Snapshot {id}: {documents} documents, {policies} policies, {rules} rules, index {index}>"
        )
    }
}

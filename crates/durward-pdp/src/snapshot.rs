//! A snapshot: the policies in force at one moment, lowered and indexed, never changed.

mod build;

use std::sync::Arc;

use durward_index::{Base, Index};
use durward_ir::program::Program;
use durward_ir::value::Object;

use crate::documents::sapl::{self, Secrets, always};
use crate::language::Languages;
use crate::source::AttributeSource;
use crate::time::TimeSlots;
pub(crate) use build::Built;

/// What a snapshot is made of, for operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotInfo {
    /// Counts the snapshots of one decision point, from 1.
    pub id: u64,
    /// How many documents were read.
    pub documents: usize,
    /// How many policies they hold.
    pub policies: usize,
    /// How many rules.
    pub rules: usize,
    /// The index in use, and why.
    pub index: String,
    pub(crate) languages: Languages,
}

/// The policies in force.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) program: Program,
    pub(crate) index: Index,
    /// For which slots a source may be asked; empty without sources.
    pub(crate) is_sourced: Vec<bool>,
    pub(crate) time: TimeSlots,
    /// The answer to every subscription, where it does not depend on what is asked.
    pub(crate) constant: Option<sapl::Decision>,
    /// SAPL's variables, which attribute finders may read.
    pub(crate) variables: Arc<Object>,
    /// What nobody but attribute finders may read.
    pub(crate) secrets: Secrets,
    pub(crate) info: SnapshotInfo,
}

impl Base for Snapshot {
    fn program(&self) -> &Program {
        &self.program
    }

    fn index(&self) -> &Index {
        &self.index
    }
}

impl Snapshot {
    /// Of a program that extends that of `before`; sources are not looked at yet.
    pub(crate) fn around(program: Program, index: Index, info: SnapshotInfo, before: &Snapshot) -> Snapshot {
        let constant = always(&program);
        let time = TimeSlots::of(&program.slots);
        let variables = Arc::clone(&before.variables);
        let (is_sourced, secrets) = (Vec::new(), before.secrets.clone());
        Snapshot { is_sourced, time, program, index, constant, variables, secrets, info }
    }

    /// For which slots a source may be asked.
    pub(crate) fn sourced(program: &Program, sources: &[Box<dyn AttributeSource>]) -> Vec<bool> {
        if sources.is_empty() {
            return Vec::new();
        }
        let is_sourced = |(slot, _)| {
            let origin = program.slots.origin(slot);
            let name = program.slots.name(origin);
            program.slots.path(origin).is_none() && sources.iter().any(|source| source.provides(name))
        };
        program.slots.names().map(is_sourced).collect()
    }
}

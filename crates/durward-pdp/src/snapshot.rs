//! A snapshot: the policies in force at one moment, lowered and indexed, never changed.

use std::sync::Arc;

use durward_index::{Index, IndexKind, Settings};
use durward_ir::program::{Node, Program, SlotId};
use durward_ir::value::Object;
use durward_sapl as sapl;
use durward_xacml::lower;
use durward_xacml::policy::{Limits, PolicyError};

use crate::PolicyText;
use crate::documents::{Lowered, lower};
use crate::secrets::Secrets;
use crate::source::AttributeSource;
use crate::subscription::always;
use crate::time::TimeSlots;

/// How policies become a snapshot; the same for every reload.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recipe {
    pub(crate) lowering: lower::Options,
    pub(crate) index: IndexKind,
    pub(crate) index_settings: Settings,
    pub(crate) limits: Limits,
    /// Whether to keep how policies were written.
    pub(crate) is_explaining: bool,
    /// Whether to decide without anything that is there to be fast.
    pub(crate) is_plain: bool,
}

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
}

/// A policy or a set that never has a say: [`crate::Pdp::dead_policies`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadPolicy {
    /// The name of its document.
    pub source: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, in characters, from 1.
    pub column: u32,
    /// Which it is, and why.
    pub message: String,
    /// A way out.
    pub help: &'static str,
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

impl Snapshot {
    /// Reads, lowers and indexes.
    ///
    /// # Errors
    /// Everything that is wrong with the documents.
    pub(crate) fn build(
        id: u64,
        texts: &[PolicyText],
        recipe: &Recipe,
        sources: &[Box<dyn AttributeSource>],
    ) -> Result<Snapshot, Vec<PolicyError>> {
        let Lowered { program, documents, variables, secrets } = lower(texts, recipe)?;
        let is_sourced: Vec<bool> = match sources {
            [] => Vec::new(),
            _ => {
                let names = program.slots.names();
                let is_sourced = |(slot, _)| {
                    let origin = program.slots.origin(slot);
                    let name = program.slots.name(origin);
                    program.slots.path(origin).is_none() && sources.iter().any(|source| source.provides(name))
                };
                names.map(is_sourced).collect()
            }
        };
        let may_be_asked = |slot: SlotId| is_sourced.get(slot.0 as usize) == Some(&true);
        let kind = if recipe.is_plain { IndexKind::Scan } else { recipe.index };
        let (index, described) = index(kind, &program, &recipe.index_settings, &may_be_asked);
        let rules = program.nodes().filter(|(_, node)| matches!(node, Node::Rule(_))).count();
        let info = SnapshotInfo { id, documents, policies: program.policy_count(), rules, index: described };
        let constant = if recipe.is_plain { None } else { always(&program) };
        let time = TimeSlots::of(&program.slots);
        Ok(Snapshot { is_sourced, time, program, index, constant, variables, secrets, info })
    }
}

/// An index, and what it is; of one that was chosen also why.
fn index(
    kind: IndexKind,
    program: &Program,
    settings: &Settings,
    is_sourced: &dyn Fn(SlotId) -> bool,
) -> (Index, String) {
    match kind {
        IndexKind::Auto => {
            let (index, reason) = Index::choose(program, settings, is_sourced);
            let described = format!("{}; {reason}", index.describe());
            (index, described)
        }
        IndexKind::Scan | IndexKind::Bloom | IndexKind::Canonical | IndexKind::Diagram => {
            let index = Index::build_with_sources(kind, program, settings, is_sourced);
            let described = index.describe();
            (index, described)
        }
    }
}

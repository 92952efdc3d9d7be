//! A snapshot: the policies in force at one moment, lowered and indexed, never changed.

use std::borrow::Borrow;
use std::sync::Arc;

use durward_index::{Base, Index, IndexKind, Settings};
use durward_ir::program::{Node, Program, SlotId};
use durward_ir::value::Object;
use durward_xacml::lower;
use durward_xacml::policy::{Limits, PolicyError};

use crate::PolicyText;
use crate::change::ChangeLimits;
use crate::documents::sapl::{self, CheckSettings, Configuration, Secrets, always};
use crate::documents::{Lowered, lower};
use crate::language::{Language, Languages};
use crate::register::{Became, Register};
use crate::source::AttributeSource;
use crate::time::TimeSlots;
use crate::warnings::Warnings;

/// How policies become a snapshot; the same for every reload.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recipe {
    pub(crate) lowering: lower::Options,
    pub(crate) index: IndexKind,
    pub(crate) index_settings: Settings,
    pub(crate) limits: Limits,
    /// Whether to keep how policies were written.
    pub(crate) is_explaining: bool,
    /// What to hold documents of SAPL to, where warnings are wanted.
    pub(crate) checking: Option<Arc<CheckSettings>>,
    /// Whether to keep the documents, so that some of them can be changed, and how.
    pub(crate) changing: Option<ChangeLimits>,
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
    pub(crate) languages: Languages,
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

/// A snapshot, and the documents it is made of where those are kept.
pub(crate) struct Built {
    pub(crate) snapshot: Snapshot,
    pub(crate) register: Option<Register>,
    pub(crate) warnings: Warnings,
}

impl Built {
    /// Reads, lowers and indexes.
    ///
    /// # Errors
    /// Everything that is wrong with the documents.
    pub(crate) fn of(
        id: u64,
        texts: &[Arc<PolicyText>],
        recipe: &Recipe,
        sources: &[Box<dyn AttributeSource>],
    ) -> Result<Built, Vec<PolicyError>> {
        let Parts { snapshot, became, configuration, warnings } = build(id, texts, recipe, sources)?;
        let register =
            recipe.changing.map(|_| Register::of(texts, became.into_iter(), configuration, &snapshot));
        Ok(Built { snapshot, register, warnings })
    }

    /// The same without a register, whoever owns the texts.
    ///
    /// # Errors
    /// Everything that is wrong with the documents.
    pub(crate) fn unchanging(
        id: u64,
        texts: &[PolicyText],
        recipe: &Recipe,
        sources: &[Box<dyn AttributeSource>],
    ) -> Result<Built, Vec<PolicyError>> {
        let Parts { snapshot, warnings, .. } = build(id, texts, recipe, sources)?;
        Ok(Built { snapshot, register: None, warnings })
    }
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

/// What documents became.
struct Parts {
    snapshot: Snapshot,
    became: Vec<Became>,
    configuration: Option<Configuration>,
    warnings: Warnings,
}

fn build<T: Borrow<PolicyText>>(
    id: u64,
    texts: &[T],
    recipe: &Recipe,
    sources: &[Box<dyn AttributeSource>],
) -> Result<Parts, Vec<PolicyError>> {
    let Lowered { program, became, configuration, warnings, documents, variables, secrets } =
        lower(texts, recipe)?;
    let is_sourced = Snapshot::sourced(&program, sources);
    let may_be_asked = |slot: SlotId| is_sourced.get(slot.0 as usize) == Some(&true);
    let kind = if recipe.is_plain { IndexKind::Scan } else { recipe.index };
    let (index, described) = index(kind, &program, &recipe.index_settings, &may_be_asked);
    let rules = program.nodes().filter(|(_, node)| matches!(node, Node::Rule(_))).count();
    let is_there = |language| texts.iter().any(|text| Language::of(&text.borrow().name) == language);
    let languages = Languages { xacml: is_there(Language::Xacml), sapl: is_there(Language::Sapl) };
    let policies = program.policy_count();
    let info = SnapshotInfo { id, documents, policies, rules, index: described, languages };
    let constant = if recipe.is_plain { None } else { always(&program) };
    let time = TimeSlots::of(&program.slots);
    let snapshot = Snapshot { is_sourced, time, program, index, constant, variables, secrets, info };
    Ok(Parts { snapshot, became, configuration, warnings })
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

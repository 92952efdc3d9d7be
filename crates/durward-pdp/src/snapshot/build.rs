//! Makes a snapshot of documents: reads, lowers and indexes them.

use std::borrow::Borrow;
use std::sync::Arc;

use durward_index::{Index, IndexKind, Settings};
use durward_ir::program::{Node, Program, SlotId};
use durward_xacml_policies::policy::PolicyError;

use super::{Snapshot, SnapshotInfo};
use crate::PolicyText;
use crate::became::Became;
use crate::documents::sapl::{Configuration, always};
use crate::documents::{Lowered, lower};
use crate::language::{Language, Languages};
use crate::recipe::Recipe;
use crate::register::Register;
use crate::source::AttributeSource;
use crate::time::TimeSlots;
use crate::warnings::Warnings;

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
            let described = format!("{}, {reason}", index.describe());
            (index, described)
        }
        IndexKind::Scan | IndexKind::Bloom | IndexKind::Canonical | IndexKind::Diagram => {
            let index = Index::build_with_sources(kind, program, settings, is_sourced);
            let described = index.describe();
            (index, described)
        }
    }
}

//! The four ratios as SAPL's own `test` counts them, for gates: of what scenarios met, not of all that is there.
//!
//! SAPL keeps entries by where something is written, the first one there says of which kind the entry is, and a policy
//! counts with the decision of all documents together. That is kept, so that a gate says here what it says there.

use std::collections::BTreeMap;

use durward_pdp::ir::combine::{Effects, Verdict};
use durward_pdp::ir::program::Effect;

use crate::coverage::CoverageRatio;

/// What scenarios met, by the number of the document.
#[derive(Clone, Debug, Default)]
pub(crate) struct CoverageHits(BTreeMap<usize, DocumentHits>);

#[derive(Clone, Debug, Default)]
struct DocumentHits {
    is_set: bool,
    /// Whether the target of the set held.
    was_open: bool,
    /// By line and column, both from 0; what stands for a line as a whole, or the document, has column 0.
    entries: BTreeMap<(u32, u32), HitEntry>,
}

#[derive(Clone, Copy, Debug)]
struct HitEntry {
    kind: HitKind,
    came_true: bool,
    came_false: bool,
}

/// What an entry is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum HitKind {
    /// The target of a set: needs to hold only.
    Target,
    /// A condition: needs both.
    Condition,
    /// What a policy without conditions, or a set, comes to: needs to apply only.
    Plain,
    /// What a policy with conditions comes to: needs both.
    Conditional,
}

/// The outcome of a policy or a set, given the final decision.
#[derive(Clone, Copy)]
pub(crate) struct ElementOutcome {
    /// The effects it can have.
    pub(crate) effects: Effects,
    /// The decision of all documents together.
    pub(crate) decision: Verdict,
}

impl ElementOutcome {
    /// Whether the decision is one it can have brought about.
    fn is_returned(self) -> bool {
        match self.decision {
            Verdict::Permit => self.effects.contains(Effect::Permit),
            Verdict::Deny => self.effects.contains(Effect::Deny),
            Verdict::Suspend => self.effects.contains(Effect::Suspend),
            Verdict::NotApplicable | Verdict::Indeterminate(_) => false,
        }
    }
}

/// The place of what a document comes to, whatever its policies are called.
const WHOLE: (u32, u32) = (1, 0);

impl CoverageHits {
    fn note(&mut self, document: usize, at: (u32, u32), kind: HitKind, came: bool) {
        let entries = &mut self.0.entry(document).or_default().entries;
        let entry = entries.entry(at).or_insert(HitEntry { kind, came_true: false, came_false: false });
        entry.came_true |= came;
        entry.came_false |= !came;
    }

    /// The target of a set: the line it is written in if there is one, and what it came to.
    pub(crate) fn target(&mut self, document: usize, line: Option<u32>, came: bool) {
        let entry = self.0.entry(document).or_default();
        entry.is_set = true;
        entry.was_open |= came;
        if let Some(line) = line {
            self.note(document, (line, 0), HitKind::Target, came);
        }
    }

    /// A condition, written in this line and column, both from 1.
    pub(crate) fn condition(&mut self, document: usize, line: u32, column: u32, came: bool) {
        self.note(document, (line, column.saturating_sub(1)), HitKind::Condition, came);
    }

    /// A policy was looked at.
    pub(crate) fn policy(&mut self, document: usize, has_conditions: bool, came: ElementOutcome) {
        let kind = if has_conditions { HitKind::Conditional } else { HitKind::Plain };
        self.note(document, WHOLE, kind, came.is_returned());
    }

    /// A set was looked at; to be called after its policies.
    pub(crate) fn set(&mut self, document: usize, came: ElementOutcome) {
        self.note(document, WHOLE, HitKind::Plain, came.is_returned());
    }

    /// What gates are asked of.
    pub(crate) fn ratios(&self) -> GateRatios {
        let documents = || self.0.values();
        let sets = documents().filter(|document| document.is_set);
        let policies = documents().filter(|document| !document.is_set);
        let entries = || documents().flat_map(|document| document.entries.values());
        let of = |is_covered: bool| CoverageRatio::new(u64::from(is_covered), 1);
        GateRatios {
            policy_sets: sets.map(|document| of(document.was_open)).sum(),
            policies: policies.map(|document| of(document.was_activated())).sum(),
            conditions: entries().map(|entry| of(entry.branches().is_full())).sum(),
            branches: entries().map(|entry| entry.branches()).sum(),
        }
    }
}

impl DocumentHits {
    fn was_activated(&self) -> bool {
        self.entries.values().any(|entry| match entry.kind {
            HitKind::Plain | HitKind::Conditional => entry.came_true,
            HitKind::Target | HitKind::Condition => false,
        })
    }
}

impl HitEntry {
    fn branches(self) -> CoverageRatio {
        match self.kind {
            HitKind::Target | HitKind::Plain => CoverageRatio::new(u64::from(self.came_true), 1),
            HitKind::Condition | HitKind::Conditional => {
                CoverageRatio::new(u64::from(self.came_true) + u64::from(self.came_false), 2)
            }
        }
    }
}

/// The ratios that gates are asked of, as SAPL's own `test` counts them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GateRatios {
    /// Of the sets that were looked at, those whose target held.
    pub policy_sets: CoverageRatio,
    /// Of the documents that are one policy and were looked at, those whose effect was the decision.
    pub policies: CoverageRatio,
    /// Of the conditions, targets and documents that were looked at, those that came out in every way.
    pub conditions: CoverageRatio,
    /// The ways in which these came out, of all.
    pub branches: CoverageRatio,
}

//! Targets: alternatives that add nothing, and attributes asked to have several values at once.
//!
//! A target never contradicts itself in the strict sense: attributes are bags, so `role = a` and `role = b` both
//! hold for a subject with both roles (XACML 3.0, 7.6). What is certain, and reported, is that such a target
//! needs a request that gives both values.

use std::collections::HashMap;

use super::clauses::{Clause, Clauses, is_subset};
use super::expression::ordered_text;
use super::finding::{Findings, Severity};
use crate::tree::{AllOf, AnyOf, AttributeDesignator, Match, MatchAttribute, Target};

/// Functions under which one text has one partner only, so two literals need two values.
const EQUALITIES: [&str; 2] = [
    "urn:oasis:names:tc:xacml:1.0:function:string-equal",
    "urn:oasis:names:tc:xacml:1.0:function:anyURI-equal",
];

/// Attributes that people give one value: asking two of them at once is hardly meant.
const USUALLY_SINGLE: [&str; 3] = [
    "urn:oasis:names:tc:xacml:1.0:action:action-id",
    "urn:oasis:names:tc:xacml:1.0:resource:resource-id",
    "urn:oasis:names:tc:xacml:1.0:subject:subject-id",
];

/// An `AnyOf` with more alternatives is not compared pair by pair.
const ALTERNATIVES_MAX: usize = 200;

/// One target.
pub(super) fn target(target: &Target, findings: &mut Findings) {
    let mut clauses = Clauses::default();
    for any_of in &target.any_of {
        redundant_alternatives(any_of, &mut clauses, findings);
        for all_of in any_of.all_of.iter().filter(|_| any_of.all_of.len() > 1) {
            several_values(matches_of(all_of), &mut clauses, findings);
        }
        for matching in any_of.all_of.iter().flat_map(|all_of| &all_of.matches) {
            required_in_target(matching, findings);
            if let MatchAttribute::Selector(selector) = &matching.attribute {
                ordered_text(&selector.path, &selector.scope, selector.place, findings);
            }
        }
    }
    // All single alternatives hold together: one conjunction.
    let together = target.any_of.iter().filter(|any_of| any_of.all_of.len() == 1);
    several_values(together.flat_map(|any_of| &any_of.all_of).flat_map(matches_of), &mut clauses, findings);
}

fn matches_of(all_of: &AllOf) -> impl Iterator<Item = &Match> {
    all_of.matches.iter()
}

/// An alternative that asks everything another one asks, and more, never changes the answer: False, error and
/// True of the weaker one each settle it (XACML 3.0, 7.7).
fn redundant_alternatives(any_of: &AnyOf, clauses: &mut Clauses, findings: &mut Findings) {
    if any_of.all_of.len() > ALTERNATIVES_MAX {
        return;
    }
    let all: Vec<(Vec<Clause>, &AllOf)> =
        any_of.all_of.iter().map(|all_of| (clauses.of_all_of(all_of), all_of)).collect();
    for (at, (these, all_of)) in all.iter().enumerate() {
        let weaker = all.iter().enumerate().find(|(other, (those, _))| {
            *other != at && is_subset(those, these) && (those.len() < these.len() || *other < at)
        });
        if let Some((_, (_, weaker))) = weaker {
            let message = format!(
                "this `AllOf` adds nothing: the one in line {} matches whenever it does",
                weaker.place.line
            );
            findings.hint(
                "redundant-alternative",
                all_of.place,
                message,
                "remove it, or correct what it asks",
            );
        }
    }
}

/// Two different literals for one attribute in one conjunction.
fn several_values<'t>(
    matches: impl Iterator<Item = &'t Match>,
    clauses: &mut Clauses,
    findings: &mut Findings,
) {
    let mut asked: HashMap<Clause, &Match> = HashMap::new();
    for matching in matches.filter(|matching| EQUALITIES.contains(&matching.function.as_str())) {
        let MatchAttribute::Designator(designator) = &matching.attribute else { continue };
        let before = *asked.entry(clauses.of_attribute(designator)).or_insert(matching);
        if before.value.text != matching.value.text {
            needs_both(designator, before, matching, findings);
        }
    }
}

fn needs_both(designator: &AttributeDesignator, one: &Match, other: &Match, findings: &mut Findings) {
    let message = format!(
        "matches only requests that give `{}` both values `{}` and `{}` at once",
        designator.id, one.value.text, other.value.text
    );
    let help = "for one or the other, put each `Match` into an `AllOf` of its own within one `AnyOf`";
    let is_single = USUALLY_SINGLE.contains(&designator.id.as_str());
    let severity = if is_single { Severity::Warning } else { Severity::Hint };
    findings.add(severity, "needs-several-values", other.place, message, help);
}

fn required_in_target(matching: &Match, findings: &mut Findings) {
    let (id, must_be_present) = match &matching.attribute {
        MatchAttribute::Designator(designator) => (&designator.id, designator.must_be_present),
        MatchAttribute::Selector(selector) => (&selector.path, selector.must_be_present),
    };
    if must_be_present {
        let message = || format!("requests without `{id}` get Indeterminate here instead of no match");
        let help = "set `MustBePresent` to false, unless a missing value shall be an error for every request";
        findings.hint_once("must-be-present-in-target", id, matching.place, message, help);
    }
}

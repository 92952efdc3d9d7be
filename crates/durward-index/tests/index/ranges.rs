//! Comparisons by order and with prefixes are found as equality is.

use durward_index::{Index, IndexKind, Settings};
use durward_ir::Value;
use durward_ir::combine::Flow;
use durward_ir::evaluate::{ListPolicies, Shortlist};
use durward_ir::program::{Node, Program, SlotId};

use crate::generate::{Facts, TestRandom};
use crate::{SEED, disagreement, shapes};

const RULES: usize = 200;

/// Slot 0 holds the level, slot 1 the path.
fn facts(levels: &[i64], paths: &[&str]) -> Facts {
    let levels = levels.iter().map(|level| Value::integer(*level)).collect();
    let paths = paths.iter().map(Value::text).collect();
    Facts { values: vec![levels, paths], is_sourced: vec![false; 2] }
}

/// How many rules are left to be evaluated.
fn shown(program: &Program, index: &Index, facts: &Facts) -> usize {
    let question = facts.question(program, &[]);
    let Node::Set(root) = program.node(program.root()) else { return usize::MAX };
    let mut shown = 0;
    index.children(program.root(), root, &question, ListPolicies::No, |_, _| {
        shown += 1;
        Flow::Continue
    });
    shown
}

#[test]
fn rules_about_ranges_are_told_apart_by_them() {
    let program = shapes::ranges(RULES, false);
    for kind in [IndexKind::Canonical, IndexKind::Diagram, IndexKind::Auto] {
        let index = Index::build(kind, &program, &Settings::default());
        let facts = facts(&[70], &["/7/file"]);
        assert_eq!(disagreement(&program, &facts, &index), None, "index `{kind}`");
        assert!(shown(&program, &index, &facts) <= RULES / 16, "index `{kind}`: {}", index.describe());
        assert_eq!(shown(&program, &index, &self::facts(&[], &[])), 0, "index `{kind}`");
    }
}

/// Also where an attribute is missing, a source has yet to be asked for it, or has several values, which need not be the
/// same ones that are above one bound and below the other.
#[test]
fn indexes_over_ranges_answer_as_evaluating_does() {
    let paths = ["/1/a", "/1", "/2/b", "/15/x", "/", "", "x", "/9/", "/11/c"];
    let mut random = TestRandom::new(SEED);
    for is_present in [false, true] {
        let program = shapes::ranges(RULES, is_present);
        let is_sourced = |slot: SlotId| program.slots.origin(slot) == SlotId(0);
        let indexes = IndexKind::ALL
            .map(|kind| Index::build_with_sources(kind, &program, &Settings::default(), &is_sourced));
        for _ in 0..100 {
            let levels: Vec<i64> =
                (0..*random.one_of(&[0, 1, 1, 2, 5])).map(|_| random.below(RULES) as i64 - 5).collect();
            let paths: Vec<&str> =
                (0..*random.one_of(&[0, 1, 1, 3])).map(|_| *random.one_of(&paths)).collect();
            let mut facts = facts(&levels, &paths);
            facts.is_sourced = vec![random.percent(30), random.percent(10)];
            for index in &indexes {
                let index_is = index.describe();
                assert_eq!(disagreement(&program, &facts, index), None, "{index_is} {facts:?}");
            }
        }
    }
}

#[test]
fn a_survey_says_where_pieces_of_an_attribute_are_looked_at() {
    let program = shapes::ranges(RULES, false);
    let index = Index::build(IndexKind::Diagram, &program, &Settings::default());
    let survey = index.survey(&program, &Settings::default()).to_string();
    assert!(survey.contains("`level (ranges)` limits") && survey.contains("`path (ranges)`"), "{survey}");
}

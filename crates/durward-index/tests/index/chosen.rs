//! What `auto` chooses, and what is said of policies.

use durward_index::{Index, IndexKind, Settings, Statistics};
use durward_ir::program::Program;

use crate::shapes;

fn chosen(program: &Program, settings: &Settings) -> (IndexKind, String) {
    let (index, reason) = Index::choose(program, settings, &|_| false);
    (index.kind(), reason)
}

#[test]
fn few_policies_are_not_indexed() {
    let (kind, reason) = chosen(&shapes::flat(2).0, &Settings::default());
    assert_eq!(kind, IndexKind::Scan, "{reason}");
    assert!(reason.starts_with("because 4 policy elements"), "{reason}");
}

#[test]
fn policies_that_can_be_divided_are_and_others_are_sifted() {
    let (kind, reason) = chosen(&shapes::flat(200).0, &Settings::default());
    assert_eq!(kind, IndexKind::Diagram, "{reason}");
    assert!(!reason.contains("sieve"), "{reason}");
    let (kind, reason) = chosen(&shapes::scattered(3000), &Settings::default());
    assert_eq!(kind, IndexKind::Diagram, "{reason}");
    assert!(reason.contains("1 sieve instead"), "{reason}");
}

#[test]
fn past_the_limit_of_a_diagram_it_is_bit_sets() {
    let settings = Settings { diagram_nodes_max: 1, ..Settings::default() };
    let (kind, reason) = chosen(&shapes::flat(200).0, &settings);
    assert_eq!(kind, IndexKind::Canonical, "{reason}");
    assert!(reason.contains("limit"), "{reason}");
    let neither = Settings { canonical_conjunctions_max: 0, ..settings };
    let (kind, reason) = chosen(&shapes::flat(200).0, &neither);
    assert_eq!(kind, IndexKind::Diagram, "{reason}");
}

#[test]
fn a_survey_names_what_tells_policies_apart() {
    let program = shapes::scattered(3000);
    for kind in [IndexKind::Canonical, IndexKind::Diagram] {
        let index = Index::build(kind, &program, &Settings::default());
        let survey = index.survey(&program, &Settings::default());
        assert_eq!((survey.children, survey.unlimited, survey.never), (3000, 0, 0));
        assert_eq!((survey.attributes.len(), survey.order.len()), (12, 12), "{survey}");
        assert!(survey.attributes.iter().all(|attribute| attribute.values == 10), "{survey}");
        assert!(survey.attributes.is_sorted_by_key(|attribute| attribute.left), "{survey}");
    }
}

#[test]
fn statistics_tell_which_limit_was_reached() {
    let settings = Settings { diagram_nodes_max: 1, ..Settings::default() };
    let index = Index::build(IndexKind::Diagram, &shapes::flat(200).0, &settings);
    assert!(index.describe().ends_with("cut at a limit of the settings"), "{}", index.describe());
    let Statistics::Diagram(diagram) = index.statistics() else { panic!("not a diagram") };
    assert!(diagram.is_full);
}

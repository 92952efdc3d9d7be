//! Policies changed one by one: after each change every answer is that of a decision point built anew.

mod model;
mod readers;
mod rules;

use std::sync::Arc;

use durward_pdp::{Algorithm, ChangeLimits, IndexKind, Pdp, PdpBuilder, PolicyChange, PolicyText};
use durward_testdata::TestRandom;

use model::{Documents, Language};

/// Changes are made by themselves however few policies there are.
pub(crate) const ALWAYS: ChangeLimits = ChangeLimits { elements_min: 0, added_max: 400 };

fn builder(index: IndexKind, combining: Algorithm) -> PdpBuilder {
    Pdp::builder().index(index).combining(combining).checking(Arc::default())
}

fn put(name: &str, text: &str) -> PolicyChange {
    PolicyChange::Put(PolicyText { name: name.into(), text: text.into() })
}

fn remove(name: &str) -> PolicyChange {
    PolicyChange::Remove(name.into())
}

/// The seeds of a test; five times as many, and longer runs, where `DURWARD_LONG` is set.
fn seeds(all: std::ops::Range<u64>) -> std::ops::Range<u64> {
    if is_long() { all.start..all.start + 5 * (all.end - all.start) } else { all }
}

fn steps() -> usize {
    if is_long() { 60 } else { 16 }
}

fn is_long() -> bool {
    std::env::var_os("DURWARD_LONG").is_some()
}

/// Random documents, randomly changed: one after the other, several at once, and back again.
fn changes_keep_every_decision(seed: u64, language: Language, combining: Algorithm) {
    let steps = steps();
    let mut chance = TestRandom::new(seed);
    for index in IndexKind::ALL {
        let mut documents = Documents::new(language, &mut chance);
        let live = builder(index, combining).policies(documents.texts()).changing_within(ALWAYS).build();
        let live = live.map_err(|errors| errors[0].to_string()).unwrap();
        let mut extended = 0;
        for step in 0..steps {
            let changes = documents.change(&mut chance);
            let info = live.change(&changes).map_err(|errors| errors[0].to_string()).unwrap();
            let fresh = builder(index, combining).policies(documents.texts()).build();
            let fresh = fresh.map_err(|errors| errors[0].to_string()).unwrap();
            let (expected, what) = (fresh.snapshot(), format!("seed {seed}, {index}, step {step}"));
            let counts = |info: &durward_pdp::SnapshotInfo| (info.documents, info.policies, info.rules);
            assert_eq!(counts(&info), counts(&expected), "{what}");
            assert_eq!(live.dead_policies(), fresh.dead_policies(), "{what}");
            assert_eq!(live.warnings(), fresh.warnings(), "{what}");
            extended += usize::from(info.index.contains("since"));
            for _ in 0..40 {
                documents.compare(&live, &fresh, &mut chance, &what);
            }
            documents.compare_batch(&live, &fresh, &mut chance, &what);
            if chance.percent(3) {
                live.settle().map_err(|errors| errors[0].to_string()).unwrap();
                documents.compare(&live, &fresh, &mut chance, &what);
            }
        }
        assert!(extended * 2 > steps, "{extended} of {steps} changes were made by themselves");
    }
}

#[test]
fn documents_of_sapl_change_one_by_one() {
    for seed in seeds(1..4) {
        changes_keep_every_decision(seed, Language::Sapl, Algorithm::DenyOverrides);
    }
}

#[test]
fn documents_of_xacml_change_one_by_one() {
    let algorithms = [
        Algorithm::DenyOverrides,
        Algorithm::PermitOverrides,
        Algorithm::DenyUnlessPermit,
        Algorithm::FirstApplicable,
        Algorithm::OnlyOneApplicable,
    ];
    for (seed, combining) in seeds(1..6).zip(algorithms.into_iter().cycle()) {
        changes_keep_every_decision(seed, Language::Xacml, combining);
    }
}

/// The first that has something to say decides, so an index leaves out those behind it; they are there again when it goes.
#[test]
fn who_stood_behind_the_first_is_heard_when_it_goes() {
    for seed in seeds(100..103) {
        changes_keep_every_decision(seed, Language::Deciders, Algorithm::FirstApplicable);
    }
}

#[test]
fn documents_of_both_languages_change_side_by_side() {
    for seed in seeds(200..202) {
        changes_keep_every_decision(seed, Language::Both, Algorithm::DenyOverrides);
    }
}

/// Warnings follow the documents: those of one that is changed or taken away are not told any more.
#[test]
fn warnings_are_those_of_the_documents_in_force() {
    let odd = "policy \"odd\" permit subject.status != blocked;";
    let configuration = r#"{"variables": {"blocked": "b"}}"#;
    for limits in [ALWAYS, ChangeLimits::default()] {
        let live = builder(IndexKind::Auto, Algorithm::DenyOverrides)
            .policy("pdp.json", "{}")
            .policy("fine.sapl", "policy \"fine\" permit action == \"read\";")
            .changing_within(limits)
            .build()
            .map_err(|errors| errors[0].to_string())
            .unwrap();
        let change = |change: PolicyChange| {
            live.change(&[change]).map_err(|errors| errors[0].to_string()).unwrap();
            live.warnings().iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert!(live.warnings().is_empty());
        let told = change(put("odd.sapl", odd));
        assert_eq!(
            told,
            ["odd.sapl:1:39: warning: there is no variable `blocked`, so it is undefined [unknown-variable]"]
        );
        assert_eq!(change(put("fine.sapl", "policy \"fine\" permit false;")).len(), 2);
        assert_eq!(change(put("pdp.json", configuration)).len(), 1);
        assert_eq!(change(put("pdp.json", "{}")).len(), 2);
        assert_eq!(change(remove("fine.sapl")).len(), 1);
        assert!(change(put("odd.sapl", "policy \"odd\" permit subject.status == \"b\";")).is_empty());
        assert_eq!(change(put("odd.sapl", odd)).len(), 1);
        let texts = [PolicyText { name: "odd.sapl".into(), text: odd.into() }];
        live.replace(&texts).map_err(|errors| errors[0].to_string()).unwrap();
        assert_eq!(live.warnings().len(), 1);
    }
}

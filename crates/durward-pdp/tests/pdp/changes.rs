//! Policies changed one by one: after each change every answer is that of a decision point built anew.

mod model;
mod readers;
mod rules;

use durward_pdp::{Algorithm, ChangeLimits, IndexKind, Pdp, PdpBuilder, PolicyChange, PolicyText};

use model::{Chance, Documents, Language};

/// Changes are made by themselves however few policies there are.
pub(crate) const ALWAYS: ChangeLimits = ChangeLimits { elements_min: 0, added_max: 400 };

fn builder(index: IndexKind, combining: Algorithm) -> PdpBuilder {
    Pdp::builder().index(index).combining(combining)
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
    let mut chance = Chance::new(seed);
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

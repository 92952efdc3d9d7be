//! Policies changed one by one: after each change every answer is that of a decision point built anew.

mod model;
mod readers;
mod rules;

use durward_pdp::{Algorithm, ChangeLimits, IndexKind, Pdp, PdpBuilder, PolicyChange, PolicyText};

use model::{Chance, Documents, Language};

/// Changes are made by themselves however few policies there are.
const ALWAYS: ChangeLimits = ChangeLimits { elements_min: 0, added_max: 400 };

fn builder(index: IndexKind, combining: Algorithm) -> PdpBuilder {
    Pdp::builder().index(index).combining(combining)
}

fn put(name: &str, text: &str) -> PolicyChange {
    PolicyChange::Put(PolicyText { name: name.into(), text: text.into() })
}

fn remove(name: &str) -> PolicyChange {
    PolicyChange::Remove(name.into())
}

/// Random documents, randomly changed: one after the other, several at once, and back again.
fn changes_keep_every_decision(seed: u64, language: Language, combining: Algorithm, steps: usize) {
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
            extended += usize::from(info.index.contains("since"));
            for _ in 0..40 {
                documents.compare(&live, &fresh, &mut chance, &what);
            }
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
    for seed in 1..9 {
        changes_keep_every_decision(seed, Language::Sapl, Algorithm::DenyOverrides, 60);
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
    for (seed, combining) in (1..).zip(algorithms) {
        changes_keep_every_decision(seed, Language::Xacml, combining, 60);
    }
}

/// The first that has something to say decides, so an index leaves out those behind it; they are there again when it goes.
#[test]
fn who_stood_behind_the_first_is_heard_when_it_goes() {
    for seed in 10..16 {
        changes_keep_every_decision(seed, Language::Deciders, Algorithm::FirstApplicable, 60);
    }
}

#[test]
fn documents_of_both_languages_change_side_by_side() {
    for seed in 20..24 {
        changes_keep_every_decision(seed, Language::Both, Algorithm::DenyOverrides, 60);
    }
}

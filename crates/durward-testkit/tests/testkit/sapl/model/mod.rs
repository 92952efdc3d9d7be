//! SAPL's combining algorithms stated once more, by themselves, and the product held to them on random configurations: sets
//! beside policies, errors in every place, attribute finders.
//!
//! The [model](votes) knows nothing of programs, indexes or tallies. It is the algorithms of the engine (chapter 1.6 of its
//! study), vote by vote, its oddities included.

mod configuration;
mod votes;

use configuration::{Configuration, SUBSCRIPTION};
use durward_pdp::IndexKind;
use durward_pdp::sapl::Subscription;
use durward_testkit::differential::TestRandom;

use super::decide;

const CONFIGURATIONS: u64 = 2_500;

#[test]
fn random_configurations_decide_as_the_model_does() {
    let subscription = Subscription::from_json(SUBSCRIPTION.as_bytes()).unwrap();
    let mut decisions = std::collections::BTreeMap::<String, u32>::new();
    for seed in 0..CONFIGURATIONS {
        let configuration = Configuration::random(&mut TestRandom::new(0x005e_7500 + seed));
        let expected = votes::decision(&configuration);
        let documents: Vec<String> = configuration.documents.iter().map(ToString::to_string).collect();
        let texts: Vec<&str> = documents.iter().map(String::as_str).collect();
        for index in IndexKind::ALL {
            let found = decide(&configuration.settings(), &texts, index, &subscription).unwrap();
            assert_eq!(
                found,
                expected,
                "seed {seed}, {index}: {}\n{}",
                configuration.settings(),
                documents.join("---\n")
            );
        }
        let decision = expected.split('"').nth(3).unwrap_or_default().to_owned();
        *decisions.entry(decision).or_default() += 1;
    }
    // The generator says something about all of them.
    assert!(decisions.len() == 5 && decisions.values().all(|count| *count > 150), "{decisions:?}");
}

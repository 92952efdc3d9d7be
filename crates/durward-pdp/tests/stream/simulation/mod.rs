//! Streams over sources that delay, repeat, fail and complete as a seed says, under policies and finders that are
//! replaced, with subscribers that come, go and are slow, and a driver that is late.
//!
//! Safety: whatever a subscriber is given is what the [`model`] says, which decides everything afresh in every round:
//! nothing too early, nothing twice, nothing of two rounds mixed. Liveness: once the sources are steady, everybody comes
//! to have the decision that the steady values make, and when everybody has gone, nothing is left.
//!
//! `DURWARD_SEEDS=10000` runs more seeds than usual, `DURWARD_SEED=17` just one.

mod model;
mod run;
mod sources;

use run::{Fault, run};

fn seeds(usual: u64) -> std::ops::Range<u64> {
    let read = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match (read("DURWARD_SEED"), read("DURWARD_SEEDS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, Some(count)) => 0..count,
        (None, None) => 0..usual,
    }
}

#[test]
fn every_subscriber_is_given_what_the_model_says() {
    for seed in seeds(200) {
        if let Err(violation) = run(seed, Fault::None) {
            panic!("seed {seed}: {violation}");
        }
    }
}

/// A checker that finds nothing proves nothing: each of these worlds is broken in one way, and must be found out.
#[test]
fn broken_worlds_are_found_out() {
    for fault in [Fault::LateValue, Fault::LostValue, Fault::LostPolicies] {
        let found = (0..40).filter(|seed| run(*seed, fault).is_err()).count();
        assert!(found > 0, "{fault:?} was never found");
    }
    // The seed that is known to be bad.
    assert!(run(3, Fault::LateValue).unwrap_err().contains("safety"));
    assert!(run(3, Fault::DeafDriver).unwrap_err().contains("liveness"));
}

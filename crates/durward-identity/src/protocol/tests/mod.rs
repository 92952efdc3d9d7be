//! The protocol in a simulated world: nodes with clocks that differ, a store, and messages that are late, come twice, are lost.

mod checker;
mod codes;
mod order;
mod steps;
mod world;

use super::{Mode, OnLost};
use world::{Fault, run};

/// How many worlds each test lives through. `DURWARD_SEEDS` asks for more.
fn seeds() -> std::ops::Range<u64> {
    let count = std::env::var("DURWARD_SEEDS").ok().and_then(|count| count.parse().ok());
    0..count.unwrap_or(20)
}

fn all_live(mode: Mode, on_lost: OnLost) {
    for seed in seeds() {
        if let Err(violation) = run(seed, mode, on_lost, Fault::None) {
            panic!("seed {seed}, {mode:?}, {on_lost:?}: {violation}");
        }
    }
}

/// Whether in one of many worlds the checker sees what is broken, and says so.
fn is_found(mode: Mode, fault: Fault, says: &str) -> bool {
    (0..400)
        .any(|seed| run(seed, mode, OnLost::Refuse, fault).is_err_and(|violation| violation.contains(says)))
}

#[test]
fn without_a_store_the_node_that_ended_a_session_refuses_it() {
    all_live(Mode::None, OnLost::Refuse);
}

#[test]
fn best_effort_agrees_once_the_store_is_reached() {
    all_live(Mode::BestEffort, OnLost::Refuse);
}

#[test]
fn assured_write_loses_nothing_it_acknowledged() {
    all_live(Mode::AssuredWrite, OnLost::Refuse);
    all_live(Mode::AssuredWrite, OnLost::ServeStale);
}

#[test]
fn assured_read_accepts_no_session_whose_end_was_acknowledged() {
    all_live(Mode::AssuredRead, OnLost::Refuse);
}

/// Nodes whose clocks are further apart than they may be refuse sessions that live. None accepts one whose end was acknowledged.
#[test]
fn ends_of_sessions_hold_with_clocks_that_are_too_far_apart() {
    for mode in [Mode::AssuredWrite, Mode::AssuredRead] {
        for seed in seeds() {
            if let Err(violation) = run(seed, mode, OnLost::Refuse, Fault::ClocksApart) {
                panic!("seed {seed}, {mode:?}: {violation}");
            }
        }
    }
}

/// A validation that joins a question under way misses what is acknowledged between the store's answer and its own coming.
#[test]
fn joining_a_question_under_way_is_found_out() {
    assert!(is_found(Mode::AssuredRead, Fault::JoinsQuestion, "accepted after its end"));
}

#[test]
fn a_store_that_answers_from_a_replica_is_found_out() {
    assert!(is_found(Mode::AssuredRead, Fault::StaleReplica, "accepted after its end"));
}

#[test]
fn a_store_that_acknowledges_what_it_loses_is_found_out() {
    assert!(is_found(Mode::AssuredWrite, Fault::LosesAcknowledged, "at the end"));
}

/// Two nodes that take the same code at the same moment and do not look who was first.
#[test]
fn letting_in_everybody_whose_code_the_store_has_is_found_out() {
    assert!(is_found(Mode::AssuredWrite, Fault::LetsEverybodyIn, "was good twice"));
}

#[test]
fn validating_without_asking_is_found_out() {
    assert!(is_found(Mode::AssuredRead, Fault::NeverAsks, "accepted after its end"));
}

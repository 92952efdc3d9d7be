//! Machines from which a check was taken: the checker must find out. A check that nothing misses is none.

use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Model};

use super::checks::CLOCK_RIGHT_AGAIN;
use super::missing::Mutant;
use super::world::{Bounds, Plant};

/// The property that a mutant breaks; found at the shortest way there.
fn finds(mutant: Mutant, property: &'static str, bounds: Bounds) {
    let begun = Instant::now();
    let plant = Plant { bounds, mutant: Some(mutant) };
    let finished = HasDiscoveries::AnyOf([property].into());
    let checker = plant.checker().threads(2).finish_when(finished).spawn_bfs().join();
    let found = checker.discovery(property);
    println!(
        "{mutant:?}: {} states, {:.1} s, {}",
        checker.unique_state_count(),
        begun.elapsed().as_secs_f64(),
        if found.is_some() { "found" } else { "NOT FOUND" }
    );
    let path = found.unwrap_or_else(|| panic!("{mutant:?} was not found out"));
    println!("  after {} acts", path.into_actions().len());
}

const ENDED: &str = "nothing is served with a token that has ended";
const BOUND: &str = "nothing recalled is served beyond the bound";
const HEARD: &str = "nothing is served that the gate once heard was recalled";

#[test]
fn expiry_checked_only_at_activation_is_found() {
    finds(Mutant::ExpiryOnlyAtActivation, ENDED, Bounds { recalls: 0, ..Bounds::holding() });
}

#[test]
fn a_cutoff_forgotten_at_reactivation_is_found() {
    finds(Mutant::CutoffForgottenAtReactivation, HEARD, Bounds::holding());
}

#[test]
fn an_unchecked_binding_is_found() {
    let bounds = Bounds { thefts: 1, recalls: 0, ..Bounds::strict() };
    finds(Mutant::BindingUnchecked, "nothing is served to another client than the token's", bounds);
}

#[test]
fn tokens_dated_by_the_clock_are_found() {
    let bounds = Bounds { grants_again: 1, ..Bounds::strict() };
    finds(Mutant::DatedByTheClock, "no token is dead when it is issued", bounds);
}

#[test]
fn a_cutoff_by_the_clock_is_found() {
    finds(Mutant::CutoffByTheClock, HEARD, Bounds::strict());
}

#[test]
fn tokens_dated_when_they_are_signed_are_found() {
    finds(Mutant::DatedWhenSigned, HEARD, Bounds::strict());
}

#[test]
fn answers_of_the_decision_point_to_another_question_are_found() {
    let bounds = Bounds { repeats: 1, drifts: vec![(0, 0)], ..Bounds::strict() };
    finds(Mutant::TicketUnchecked, HEARD, bounds);
}

#[test]
fn a_grace_without_end_is_found() {
    let bounds = Bounds { grace: Duration::from_secs(1), recalls: 0, ..Bounds::holding() };
    finds(Mutant::GraceUnbounded, ENDED, bounds);
}

#[test]
fn heartbeats_that_count_on_arrival_are_found() {
    finds(Mutant::HeartbeatsCountOnArrival, BOUND, Bounds::strict());
}

#[test]
fn unseen_gaps_are_found() {
    finds(Mutant::GapsUnseen, BOUND, Bounds::strict());
}

#[test]
fn old_snapshots_after_a_restart_are_found() {
    let bounds = Bounds { gate_restarts: 1, drifts: vec![(0, 0)], until: 3, ..Bounds::holding() };
    finds(Mutant::AnySnapshotAfterRestart, HEARD, bounds);
}

#[test]
fn a_nonce_used_twice_is_found() {
    let bounds = Bounds { repeats: 1, recalls: 0, ..Bounds::strict() };
    finds(Mutant::NonceReused, "no nonce is good twice", bounds);
}

#[test]
fn marks_that_are_not_stored_are_found() {
    finds(Mutant::MarksNotStored, HEARD, Bounds { authority_restarts: 1, ..Bounds::strict() });
}

#[test]
fn cutoffs_that_are_not_stored_are_found() {
    let bounds = Bounds { authority_restarts: 1, drifts: vec![(0, 0)], ..Bounds::strict() };
    finds(Mutant::CutoffsNotStored, BOUND, bounds);
}

#[test]
fn a_clock_that_is_followed_only_forward_is_found() {
    let bounds = Bounds { recalls: 0, ..Bounds::clock_set(vec![-8]) };
    finds(Mutant::ClockOnlyForward, ENDED, bounds);
}

/// One wrong reading, and nobody is served again.
#[test]
fn a_clock_that_is_followed_ahead_at_once_is_found() {
    let bounds = Bounds { recalls: 0, until: 3, ..Bounds::clock_set(vec![100]) };
    let plant = Plant { bounds, mutant: Some(Mutant::ClockOnlyForward) };
    let checker = plant.checker().threads(2).spawn_dfs().join();
    assert!(checker.is_done());
    assert!(!checker.discoveries().contains_key(CLOCK_RIGHT_AGAIN));
}

#[test]
fn a_clock_that_is_set_back_unsaid_is_found() {
    let bounds = Bounds { recalls: 0, ..Bounds::clock_set(vec![-8]) };
    finds(Mutant::ClockSetBackUnsaid, ENDED, bounds);
}

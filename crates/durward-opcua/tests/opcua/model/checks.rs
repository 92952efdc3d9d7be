//! What must hold in every state, what must be possible, and the checks that say so of the machines as they are.

use std::time::{Duration, Instant};

use durward_opcua::token::RightKind;
use stateright::{Checker, Model, Property};

use super::truth::{Broken, Seen};
use super::world::{Act, Bounds, Plant, World};

const ACTIVATED: &str = "activation is reachable";
const SERVED: &str = "a request is served";
const RENEWED: &str = "a token is renewed";
const RECALLED: &str = "a recalled right ends";
const EXPIRED: &str = "an ended token is refused";
const STOPPED: &str = "delivery stops";
const GRACE: &str = "a request is served in grace";
const GATE_RESTARTED: &str = "a request is served after a restart of the gate";
const SERVICE_RESTARTED: &str = "a request is served after a restart of the authorization service";
const THIEF: &str = "a thief is refused";
const REPEATED: &str = "a repeated activation is refused";
const DENIED: &str = "a token is denied";
const ANONYMOUS: &str = "a session goes on as an anonymous one";
const MOVED: &str = "a session moves to another channel";
pub(super) const CLOCK_RIGHT_AGAIN: &str = "a request is served after the gate's clock was wrong";

/// Possible in every world.
const USUAL: [&str; 3] = [ACTIVATED, SERVED, STOPPED];

type Condition = fn(&Plant, &World) -> bool;

impl Model for Plant {
    type State = World;
    type Action = Act;

    fn init_states(&self) -> Vec<World> {
        self.bounds.drifts.iter().map(|(gate, authority)| self.begin(*gate, *authority)).collect()
    }

    fn actions(&self, world: &World, acts: &mut Vec<Act>) {
        // What is broken stays broken: nothing is to be learned behind it.
        if world.truth.broken.is_empty() {
            self.possible(world, acts);
        }
    }

    fn next_state(&self, world: &World, act: Act) -> Option<World> {
        let next = self.act(world, act);
        (next != *world).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Plant>> {
        let kept: [(&'static str, Condition); 9] = [
            ("no deadlock: the client always waits for a moment, not for ever", |_, world| {
                world.client.is_stopped() || world.client.wake_at().is_some()
            }),
            ("nothing is served without an activation", |_, world| {
                !world.has_broken(Broken::ServedWithoutActivation)
            }),
            ("nothing is served that the policy did not grant", |_, world| {
                !world.has_broken(Broken::ServedUngranted)
            }),
            ("nothing is served to another client than the token's", |_, world| {
                !world.has_broken(Broken::ServedToAnotherClient)
            }),
            ("nothing is served with a token that has ended", |_, world| {
                !world.has_broken(Broken::ServedAfterTheEnd)
            }),
            ("nothing recalled is served beyond the bound", |_, world| {
                !world.has_broken(Broken::ServedRecalledTooLong)
            }),
            ("nothing is served that the gate once heard was recalled", |_, world| {
                !world.has_broken(Broken::ServedRecalledThatWasHeardOf)
            }),
            ("no nonce is good twice", |_, world| !world.has_broken(Broken::NonceTwice)),
            ("no token is dead when it is issued", |_, world| !world.has_broken(Broken::IssuedDead)),
        ];
        let possible: [(&'static str, Condition); 15] = [
            (ACTIVATED, |_, world| world.has_seen(Seen::Activated)),
            (SERVED, |_, world| world.has_seen(Seen::Served)),
            (RENEWED, |_, world| world.has_seen(Seen::Renewed)),
            (RECALLED, |_, world| world.has_seen(Seen::RefusedRecalled)),
            (EXPIRED, |_, world| world.has_seen(Seen::RefusedExpired)),
            (STOPPED, |_, world| world.has_seen(Seen::DeliveryStopped)),
            (GRACE, |_, world| world.has_seen(Seen::ServedInGrace)),
            (GATE_RESTARTED, |_, world| world.has_seen(Seen::ServedAfterGateRestart)),
            (SERVICE_RESTARTED, |_, world| world.has_seen(Seen::ServedAfterAuthorityRestart)),
            (THIEF, |_, world| world.has_seen(Seen::ThiefRefused)),
            (REPEATED, |_, world| world.has_seen(Seen::ReplayRefused)),
            (DENIED, |_, world| world.has_seen(Seen::Denied)),
            (ANONYMOUS, |_, world| world.has_seen(Seen::BecameAnonymous)),
            (MOVED, |_, world| world.has_seen(Seen::Moved)),
            (CLOCK_RIGHT_AGAIN, |_, world| world.has_seen(Seen::ServedAfterClockWasWrong)),
        ];
        let always = kept.into_iter().map(|(name, condition)| Property::always(name, condition));
        let sometimes = possible.into_iter().map(|(name, condition)| Property::sometimes(name, condition));
        always.chain(sometimes).collect()
    }
}

impl World {
    fn has_broken(&self, broken: Broken) -> bool {
        self.truth.broken.contains(&broken)
    }

    fn has_seen(&self, seen: Seen) -> bool {
        self.truth.seen.contains(&seen)
    }
}

impl Bounds {
    /// Recalls are bounded always: out of reach, nothing is served beyond the staleness.
    pub(crate) fn strict() -> Bounds {
        Bounds {
            until: 5,
            recalls: 1,
            grants_again: 0,
            gate_restarts: 0,
            authority_restarts: 0,
            client_restarts: 0,
            new_channels: 0,
            repeats: 0,
            thefts: 0,
            sessions: 2,
            messages: 4,
            drifts: vec![(0, 0), (0, 1), (1, 0)],
            clock_settings: 0,
            clock_ahead: Vec::new(),
            hold: Some(Duration::ZERO),
            grace: Duration::ZERO,
            has_anonymous: false,
            kinds: vec![RightKind::Reading],
        }
    }

    /// The gate's wall clock is set ahead or back, and right again: further than an answer can be late, which would hide it.
    pub(crate) fn clock_set(clock_ahead: Vec<i64>) -> Bounds {
        let clock_ahead = [clock_ahead, vec![0]].concat();
        Bounds { clock_settings: 2, clock_ahead, drifts: vec![(0, 0)], messages: 3, ..Bounds::holding() }
    }

    /// As it is set by default: out of reach, tokens hold until they end.
    pub(crate) fn holding() -> Bounds {
        Bounds { hold: None, ..Bounds::strict() }
    }
}

/// Looks at every state within the bounds: what must never happen does not, and what must be possible is.
fn check(name: &str, bounds: Bounds, possible: &[&'static str]) {
    let begun = Instant::now();
    let checker = Plant { bounds, mutant: None }.checker().threads(2).spawn_dfs().join();
    println!(
        "{name}: {} states, {} different, {} deep, {:.1} s",
        checker.state_count(),
        checker.unique_state_count(),
        checker.max_depth(),
        begun.elapsed().as_secs_f64()
    );
    let discoveries = checker.discoveries();
    for (property, path) in &discoveries {
        if checker.model().property(property).expectation.discovery_is_failure() {
            panic!("{name}: not so: {property}; {:#?}", path.clone().into_actions());
        }
    }
    for property in USUAL.iter().chain(possible) {
        assert!(discoveries.contains_key(property), "{name}: not possible: {property}");
    }
    assert!(checker.is_done());
}

/// Small enough for every run.
#[test]
fn the_protocol_keeps_what_it_promises() {
    let bounds = Bounds { drifts: vec![(0, 1), (1, 0)], ..Bounds::strict() };
    check("strict", bounds, &[RENEWED, RECALLED, EXPIRED, DENIED]);
}

#[test]
fn a_thief_and_repeated_messages_come_to_nothing() {
    let small = Bounds { until: 3, drifts: vec![(0, 0)], ..Bounds::strict() };
    check("theft", Bounds { thefts: 1, ..small.clone() }, &[THIEF, RECALLED]);
    check("repetition", Bounds { repeats: 1, ..small }, &[REPEATED, RECALLED]);
}

#[test]
fn restarts_of_gate_and_service_forget_nothing_that_matters() {
    let small = Bounds { until: 3, drifts: vec![(0, 1)], ..Bounds::strict() };
    let service = Bounds { authority_restarts: 1, ..small.clone() };
    check("restart of the service", service, &[SERVICE_RESTARTED, RECALLED]);
    check("restart of the gate", Bounds { gate_restarts: 1, ..small }, &[GATE_RESTARTED, RECALLED]);
}

#[test]
fn grace_is_bounded_and_tokens_hold_when_the_service_is_out_of_reach() {
    let small = Bounds { drifts: vec![(0, 0)], ..Bounds::holding() };
    let kinds = vec![RightKind::Reading, RightKind::Writing];
    let grace = Duration::from_secs(1);
    check("grace", Bounds { grace, kinds, recalls: 0, until: 6, ..small.clone() }, &[GRACE, EXPIRED]);
    check("holding", Bounds { messages: 3, ..small }, &[RENEWED, RECALLED, EXPIRED]);
}

#[test]
fn sessions_go_on_as_anonymous_ones_with_no_right_of_before() {
    let bounds = Bounds { has_anonymous: true, until: 3, drifts: vec![(0, 0)], ..Bounds::strict() };
    check("anonymous", bounds, &[ANONYMOUS]);
}

/// Whether for a moment or for good; what would stand still with a clock that is only followed ahead is found in `mutants`.
#[test]
fn a_clock_that_is_set_lengthens_no_token_and_stops_nothing_for_good() {
    for ahead in [100, -8] {
        let bounds = Bounds { recalls: 0, ..Bounds::clock_set(vec![ahead]) };
        check("clock set", bounds, &[CLOCK_RIGHT_AGAIN, EXPIRED]);
    }
    let bounds = Bounds { until: 4, ..Bounds::clock_set(vec![100, -8]) };
    check("clock set, recalled", bounds, &[CLOCK_RIGHT_AGAIN, RECALLED]);
}

#[test]
fn a_session_moves_to_another_channel() {
    let bounds = Bounds { new_channels: 1, until: 3, drifts: vec![(0, 0)], ..Bounds::strict() };
    check("new channel", bounds, &[MOVED, RECALLED]);
}

/// All of it, larger: `cargo test -p durward-opcua --test opcua -- --ignored --nocapture larger_world`.
#[test]
#[ignore = "minutes, and some GB"]
fn the_protocol_keeps_what_it_promises_in_a_larger_world() {
    let strict = Bounds::strict();
    let restarts = Bounds { gate_restarts: 1, authority_restarts: 1, client_restarts: 1, ..strict.clone() };
    let restarts = Bounds { until: 3, messages: 3, ..restarts };
    check("restarts of all three", restarts, &[GATE_RESTARTED, SERVICE_RESTARTED]);
    check("new channels", Bounds { new_channels: 1, until: 4, ..strict.clone() }, &[MOVED, RENEWED]);
    check("strict, 6 s", Bounds { until: 6, ..strict.clone() }, &[RENEWED, RECALLED, EXPIRED]);
    let again = Bounds { recalls: 2, grants_again: 1, until: 4, ..strict.clone() };
    check("two recalls", again, &[RECALLED, DENIED]);
    let hostile = Bounds { thefts: 1, repeats: 1, until: 4, ..strict };
    check("theft and repetition", hostile, &[THIEF, REPEATED]);
}

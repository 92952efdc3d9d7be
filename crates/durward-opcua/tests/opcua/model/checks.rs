//! What must hold in every state, what must be possible, and the checks that say so of the machines as they are.

use std::time::{Duration, Instant};

use durward_opcua::token::Kind;
use stateright::{Checker, Model, Property};

use super::truth::{Broken, Seen};
use super::world::{Act, Bounds, Plant, World};

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
        let kept: [(&'static str, fn(&Plant, &World) -> bool); 9] = [
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
        let possible: [(&'static str, fn(&Plant, &World) -> bool); 13] = [
            ("activation is reachable", |_, world| world.has_seen(Seen::Activated)),
            ("a request is served", |_, world| world.has_seen(Seen::Served)),
            ("a token is renewed", |_, world| world.has_seen(Seen::Renewed)),
            ("a recalled right ends", |_, world| world.has_seen(Seen::RefusedRecalled)),
            ("an ended token is refused", |_, world| world.has_seen(Seen::RefusedExpired)),
            ("delivery stops", |_, world| world.has_seen(Seen::DeliveryStopped)),
            ("a request is served in grace", |plant, world| {
                plant.bounds.grace.is_zero() || world.has_seen(Seen::ServedInGrace)
            }),
            ("a request is served after a restart of the gate", |plant, world| {
                plant.bounds.gate_restarts == 0 || world.has_seen(Seen::ServedAfterGateRestart)
            }),
            ("a request is served after a restart of the authorization service", |plant, world| {
                plant.bounds.authority_restarts == 0 || world.has_seen(Seen::ServedAfterAuthorityRestart)
            }),
            ("a thief is refused", |plant, world| {
                plant.bounds.thefts == 0 || world.has_seen(Seen::ThiefRefused)
            }),
            ("a repeated activation is refused", |plant, world| {
                plant.bounds.repeats == 0 || world.has_seen(Seen::ReplayRefused)
            }),
            ("a token is denied", |plant, world| plant.bounds.recalls == 0 || world.has_seen(Seen::Denied)),
            ("a session goes on as an anonymous one", |plant, world| {
                !plant.bounds.has_anonymous || world.has_seen(Seen::BecameAnonymous)
            }),
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
            hold: Some(Duration::ZERO),
            grace: Duration::ZERO,
            has_anonymous: false,
            kinds: vec![Kind::Reading],
        }
    }

    /// As it is set by default: out of reach, tokens hold until they end.
    pub(crate) fn holding() -> Bounds {
        Bounds { hold: None, ..Bounds::strict() }
    }
}

/// Looks at every state within the bounds, and demands every property.
fn check(name: &str, bounds: Bounds) {
    let begun = Instant::now();
    let checker = Plant { bounds, mutant: None }.checker().threads(2).timeout(Duration::from_secs(60)).spawn_dfs().join();
    println!(
        "{name}: {} states, {} different, {} deep, {:.1} s",
        checker.state_count(),
        checker.unique_state_count(),
        checker.max_depth(),
        begun.elapsed().as_secs_f64()
    );
    checker.assert_properties();
}

#[test]
fn the_protocol_keeps_what_it_promises() {
    check("strict", Bounds::strict());
}

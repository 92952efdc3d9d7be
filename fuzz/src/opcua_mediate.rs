//! The gate's mediator, with a client and a server who send anything: whatever goes upstream is granted, as a second reader sees it that believes no
//! length of an extension object (the tests' own: `tests/opcua/mediate/second.rs`).
//!
//! An input is the number of a service, then messages, each behind its length in two bytes: the request, and the server's answers.

use std::sync::Arc;

use durward_opcua::gate::mediate::service::{Mediation, Service};
use durward_opcua::gate::mediate::{Limits, Mediator, NoTransfers, Outcome, Reply};
use durward_opcua::permission::{Permission, Rights, Ruling};
use opcua_types::NodeId;
use second::{Habits, Seen, seen};

#[path = "../../crates/durward-opcua/tests/opcua/mediate/second.rs"]
mod second;

mod support {
    use opcua_types::{ContextOwned, DecodingOptions, NamespaceMap};

    pub(super) fn context() -> ContextOwned {
        ContextOwned::new_default(NamespaceMap::default(), DecodingOptions::default())
    }
}

/// The session's subscription, and its item on node 1.
const OWN: u32 = 70;
const ITEM: u32 = 700;

/// Everything on node 1 of namespace 2 and on the nodes of the standard.
struct Node1;

impl Rights for Node1 {
    fn rule(&self, _: Permission, node: &NodeId) -> Ruling {
        let is_granted = node.namespace == 0 || *node == NodeId::new(2, 1u32);
        if is_granted { Ruling::Granted } else { Ruling::DENIED }
    }
}

fn is_granted(seen: &Seen) -> bool {
    match seen {
        Seen::On(permission, node) => Node1.rule(*permission, node).is_granted(),
        Seen::Item(id) => *id == ITEM,
        Seen::Never(_) => false,
    }
}

fn assert_granted(service: Service, forwarded: &[u8]) {
    for habits in Habits::all() {
        for seen in seen(habits, service, forwarded) {
            assert!(is_granted(&seen), "{service:?} lets {seen:?} pass, for {habits:?}");
        }
    }
}

/// With the subscription and the item.
fn mediator() -> Mediator {
    let mut mediator = Mediator::new(Limits::default(), Arc::new(NoTransfers));
    let create = Service::CreateSubscription;
    mediator.on_request(&Node1, 1, create.request_id(), &[0; 22]);
    let made = [&OWN.to_le_bytes()[..], &[0; 16]].concat();
    mediator.on_response(&Node1, 1, create.response_id(), &made);
    let create = Service::CreateMonitoredItems;
    let null = [0xff; 4];
    let item = [
        &OWN.to_le_bytes()[..],
        &[2, 0, 0, 0, 1, 0, 0, 0],
        // The value of node 1, reported; handle, interval, no filter, queue.
        &[1, 2, 1, 0, 13, 0, 0, 0],
        &null,
        &[0, 0],
        &null,
        &[2, 0, 0, 0],
        &[0; 4 + 8 + 3 + 5],
    ];
    mediator.on_request(&Node1, 2, create.request_id(), &item.concat());
    let made = [&[1, 0, 0, 0, 0, 0, 0, 0][..], &ITEM.to_le_bytes(), &[0; 8 + 4 + 3], &null].concat();
    mediator.on_response(&Node1, 2, create.response_id(), &made);
    mediator
}

/// The next message of the input, and what is left.
fn message(input: &[u8]) -> (&[u8], &[u8]) {
    let (length, rest) = input.split_first_chunk::<2>().unwrap_or((&[0, 0], &[]));
    rest.split_at(rest.len().min(usize::from(u16::from_le_bytes(*length))))
}

pub(crate) fn run(input: &[u8]) {
    let Some((number, rest)) = input.split_first() else { return };
    let mediated: Vec<Service> =
        Service::ALL.iter().copied().filter(|service| service.mediation() == Mediation::Mediated).collect();
    let service = mediated[usize::from(*number) % mediated.len()];
    let (request, mut rest) = message(rest);
    let mut mediator = mediator();
    assert!(mediator.has_subscription(OWN));
    let Outcome::Forward(forwarded) = mediator.on_request(&Node1, 9, service.request_id(), request) else {
        return;
    };
    assert_granted(service, &forwarded);
    loop {
        let (answer, behind) = message(rest);
        rest = behind;
        match mediator.on_response(&Node1, 9, service.response_id(), answer) {
            Reply::FollowUp(next) => assert_granted(service, &next.body),
            Reply::Pass(_) | Reply::Fault(_) => break,
        }
    }
    assert_eq!(mediator.outstanding(), 0);
}

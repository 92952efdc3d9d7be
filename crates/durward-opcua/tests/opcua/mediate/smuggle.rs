//! Extension objects whose length lies. The gate walks them by their length; many servers read them by their type (see `second`). What differs
//! must never be a request of its own: whatever a server reads in the forwarded bytes, is granted.

use durward_opcua::gate::mediate::service::ServiceKind;
use durward_opcua::gate::mediate::{MediatedReply, MediatedRequest, Mediator};
use durward_opcua::permission::{Permission, SessionRights};
use opcua_types::*;

use super::requests::{ITEM, OWN, event_filter};
use super::second::{Habits, Seen, seen, vendor_structure};
use super::support::{Chance, Grants, encode, mediator, node, response_body};
use super::table::with_subscription;

/// The services whose requests hold extension objects.
const SERVICES: [ServiceKind; 7] = [
    ServiceKind::Write,
    ServiceKind::Call,
    ServiceKind::CreateMonitoredItems,
    ServiceKind::ModifyMonitoredItems,
    ServiceKind::HistoryRead,
    ServiceKind::HistoryUpdate,
    ServiceKind::AddNodes,
];

/// Everything on node 1, and nothing on node 2, which is hidden in lengths that lie. Calls name method 3.
fn grants() -> Grants {
    let mut grants = Grants::default();
    for permission in Permission::ALL {
        grants.grant(permission, &node(1));
    }
    grants.grant(Permission::Call, &node(3));
    grants
}

fn is_granted(rights: &dyn SessionRights, seen: &Seen) -> bool {
    match seen {
        Seen::On(permission, node) => rights.rule(*permission, node).is_granted(),
        Seen::Item(id) => *id == ITEM && rights.rule(Permission::Read, &node(1)).is_granted(),
        Seen::Never(_) => false,
    }
}

/// Nothing is seen in bytes that were forwarded, by any kind of server, that is not granted.
pub(super) fn assert_granted(
    rights: &dyn SessionRights,
    service: ServiceKind,
    forwarded: &[u8],
    story: &str,
) {
    for habits in Habits::all() {
        for seen in seen(habits, service, forwarded) {
            assert!(is_granted(rights, &seen), "{story}: {service:?} lets {seen:?} pass, for {habits:?}");
        }
    }
}

/// A structure of that type, of the sound bytes `body`, with a length of the attacker's choice, and what the length hides.
fn structure(type_id: &NodeId, length: i32, body: &[u8], hidden: &[u8]) -> Vec<u8> {
    [&encode(type_id)[..], &[1], &length.to_le_bytes(), body, hidden].concat()
}

fn count(count: i32) -> Vec<u8> {
    count.to_le_bytes().to_vec()
}

/// What stands before and behind the extension object of an entry.
fn around(service: ServiceKind, of: u32) -> (Vec<u8>, Vec<u8>) {
    let node_id = encode(&node(of));
    let null = [0xff; 4];
    let parameters = ([&7u32.to_le_bytes()[..], &[0; 8]].concat(), vec![1, 0, 0, 0, 1]);
    match service {
        // The value, and a time of its source.
        ServiceKind::Write => {
            ([&node_id[..], &13u32.to_le_bytes(), &null, &[0x05, 0x16]].concat(), vec![0; 8])
        }
        ServiceKind::Call => {
            let method = encode(&node(3));
            // A second argument follows.
            ([&node_id[..], &method, &count(2), &[0x16]].concat(), vec![0x01, 1])
        }
        ServiceKind::CreateMonitoredItems => {
            let read = [&node_id[..], &13u32.to_le_bytes(), &null, &[0, 0], &null, &count(2)].concat();
            ([read, parameters.0].concat(), parameters.1)
        }
        ServiceKind::ModifyMonitoredItems => {
            let item = if of == 1 { ITEM } else { ITEM + of };
            ([&item.to_le_bytes()[..], &parameters.0].concat(), parameters.1)
        }
        // Before the list: what follows are the timestamps, whether to release, and the list itself.
        ServiceKind::HistoryRead => {
            let entry = [&node_id[..], &null, &[0, 0], &null, &null].concat();
            (Vec::new(), [&count(2)[..], &[0], &count(1), &entry].concat())
        }
        ServiceKind::HistoryUpdate => (Vec::new(), Vec::new()),
        ServiceKind::AddNodes => {
            let name = [&[0, 0][..], &null].concat();
            ([&node_id[..], &[0, 35, 0, 0], &name, &count(2)].concat(), vec![0, 0])
        }
        _ => unreachable!("not among SERVICES"),
    }
}

/// Types that the server knows, with sound bytes; where the details of a history name a node, that one.
fn types(service: ServiceKind, of: u32) -> Vec<(NodeId, Vec<u8>)> {
    let object = |id: ObjectId, body: Vec<u8>| (NodeId::from(id), body);
    let update = UpdateDataDetails {
        node_id: node(of),
        perform_insert_replace: PerformUpdateType::Insert,
        update_values: None,
    };
    let attributes = VariableAttributes { value: Variant::from(1i32), ..Default::default() };
    match service {
        ServiceKind::HistoryRead => vec![
            object(
                ObjectId::ReadRawModifiedDetails_Encoding_DefaultBinary,
                encode(&ReadRawModifiedDetails::default()),
            ),
            object(ObjectId::ReadAtTimeDetails_Encoding_DefaultBinary, encode(&ReadAtTimeDetails::default())),
            object(
                ObjectId::ReadProcessedDetails_Encoding_DefaultBinary,
                encode(&ReadProcessedDetails::default()),
            ),
            object(
                ObjectId::ReadEventDetails_Encoding_DefaultBinary,
                encode(&ReadEventDetails { filter: event_filter(), ..Default::default() }),
            ),
        ],
        ServiceKind::HistoryUpdate => vec![
            object(ObjectId::UpdateDataDetails_Encoding_DefaultBinary, encode(&update)),
            object(
                ObjectId::DeleteAtTimeDetails_Encoding_DefaultBinary,
                encode(&DeleteAtTimeDetails { node_id: node(of), req_times: None }),
            ),
        ],
        _ => vec![
            object(ObjectId::DataChangeFilter_Encoding_DefaultBinary, encode(&DataChangeFilter::default())),
            object(ObjectId::AggregateFilter_Encoding_DefaultBinary, encode(&AggregateFilter::default())),
            object(ObjectId::EventFilter_Encoding_DefaultBinary, encode(&event_filter())),
            object(ObjectId::ObjectAttributes_Encoding_DefaultBinary, encode(&ObjectAttributes::default())),
            object(ObjectId::VariableAttributes_Encoding_DefaultBinary, encode(&attributes)),
            object(ObjectId::Range_Encoding_DefaultBinary, encode(&Range::default())),
            (vendor_structure(), vec![5; 8]),
        ],
    }
}

/// A request of `entries` entries as the gate counts them.
fn list(service: ServiceKind, entries: &[Vec<u8>]) -> Vec<u8> {
    let start = match service {
        ServiceKind::CreateMonitoredItems | ServiceKind::ModifyMonitoredItems => {
            [OWN.to_le_bytes(), 2i32.to_le_bytes()].concat()
        }
        _ => Vec::new(),
    };
    if service == ServiceKind::HistoryRead {
        return entries.concat();
    }
    [start, count(entries.len() as i32), entries.concat()].concat()
}

/// Lengths that lie about `body` in the ways that matter, each with what it hides.
fn lies(service: ServiceKind, type_id: &NodeId, body: &[u8]) -> Vec<(i32, Vec<u8>)> {
    let (before, after) = around(service, 2);
    let (_, of_first) = around(service, 1);
    let hidden_type = types(service, 2).into_iter().find(|(of, _)| of == type_id).expect("the same types");
    let of_hidden = structure(&hidden_type.0, hidden_type.1.len() as i32, &hidden_type.1, &[]);
    // The rest of the entry that lies, and a whole entry of node 2; for history, the list of node 2 instead.
    let hidden = match service {
        ServiceKind::HistoryRead => after,
        _ => [&of_first[..], &before, &of_hidden, &after].concat(),
    };
    let length = body.len() as i32;
    let covering = length + hidden.len() as i32;
    vec![
        (length - 1, Vec::new()),
        (length, Vec::new()),
        (length + 1, vec![0]),
        (covering, hidden.clone()),
        (covering - 1, hidden.clone()),
        (-1, Vec::new()),
        (-1, hidden),
    ]
}

/// A request that lies in its first entry, and has a sound one of node 1 behind it: its bytes are left over for a server that is deceived.
fn lying(service: ServiceKind, type_id: &NodeId, body: &[u8], (length, hidden): &(i32, Vec<u8>)) -> Vec<u8> {
    let (before, after) = around(service, 1);
    let lie = [&before[..], &structure(type_id, *length, body, hidden), &after].concat();
    if service == ServiceKind::HistoryRead {
        return list(service, &[lie]);
    }
    let sound = [&before[..], &structure(type_id, body.len() as i32, body, &[]), &after].concat();
    list(service, &[lie, sound])
}

/// As many good results as entries were forwarded.
fn good(service: ServiceKind, forwarded: &[u8]) -> Vec<u8> {
    let at = match service {
        ServiceKind::CreateMonitoredItems | ServiceKind::ModifyMonitoredItems => 8,
        _ => 0,
    };
    let entries = i32::from_le_bytes(forwarded[at..at + 4].try_into().expect("a count")) as usize;
    macro_rules! results {
        ($response:ident, $result:expr) => {
            response_body(&$response {
                response_header: ResponseHeader::null(),
                results: Some(vec![$result; entries]),
                diagnostic_infos: None,
            })
        };
    }
    match service {
        ServiceKind::Write => results!(WriteResponse, StatusCode::Good),
        ServiceKind::Call => results!(CallResponse, CallMethodResult::default()),
        ServiceKind::HistoryUpdate => results!(HistoryUpdateResponse, HistoryUpdateResult::default()),
        ServiceKind::AddNodes => results!(AddNodesResponse, AddNodesResult::default()),
        _ => Vec::new(),
    }
}

/// Everything that goes upstream, until the client is answered.
fn all_forwarded(
    mediator: &mut Mediator,
    rights: &dyn SessionRights,
    service: ServiceKind,
    body: &[u8],
) -> Vec<Vec<u8>> {
    let mut forwarded = Vec::new();
    let MediatedRequest::Forward(first) = mediator.on_request(rights, 9, service.request_id(), body) else {
        return forwarded;
    };
    let mut next = first.into_owned();
    loop {
        let answer = good(service, &next);
        forwarded.push(next);
        match mediator.on_response(rights, 9, service.response_id(), &answer) {
            MediatedReply::FollowUp(follow_up) => next = follow_up.body,
            MediatedReply::Pass(_) | MediatedReply::Fault(_) => return forwarded,
        }
    }
}

fn check(service: ServiceKind, body: &[u8], story: &str) -> bool {
    let mut mediator = mediator();
    with_subscription(&mut mediator);
    let forwarded = all_forwarded(&mut mediator, &grants(), service, body);
    assert_eq!(mediator.outstanding(), 0, "{story}");
    forwarded.iter().for_each(|body| assert_granted(&grants(), service, body, story));
    !forwarded.is_empty()
}

/// For each type, each length, each service: entries of node 2 that are hidden under a length never reach the server.
#[test]
fn no_length_hides_an_entry() {
    for service in SERVICES {
        let mut passed = 0;
        for (type_id, body) in types(service, 1) {
            for lie in lies(service, &type_id, &body) {
                let story = format!("{type_id} of {} bytes, told as {}", body.len(), lie.0);
                passed += usize::from(check(service, &lying(service, &type_id, &body, &lie), &story));
            }
        }
        assert!(passed > 0, "{service:?}: nothing passes at all");
    }
}

/// Updates of history hold values, which hold structures: a lie of the inner length, under an outer one that is true of it.
#[test]
fn no_length_inside_of_details_hides_an_entry() {
    let details =
        |of: u32, value: &[u8]| [&encode(&node(of))[..], &count(1), &count(1), &[0x01, 0x16], value].concat();
    let update = NodeId::from(ObjectId::UpdateDataDetails_Encoding_DefaultBinary);
    let entry = |body: &[u8]| structure(&update, body.len() as i32, body, &[]);
    for (type_id, body) in types(ServiceKind::Write, 1) {
        let sound = structure(&type_id, body.len() as i32, &body, &[]);
        let hidden = entry(&details(2, &sound));
        for (length, hidden) in [(hidden.len(), &hidden[..]), (0, &[])] {
            let lie = structure(&type_id, (body.len() + length) as i32, &body, hidden);
            let entries = [entry(&details(1, &lie)), entry(&details(1, &sound))];
            let body = list(ServiceKind::HistoryUpdate, &entries);
            assert!(check(ServiceKind::HistoryUpdate, &body, &format!("{type_id}, {length} hidden bytes")));
        }
    }
}

/// The same with chance: lengths, hidden entries, encodings and single bytes at random.
#[test]
fn whatever_lies_no_server_sees_more_than_is_granted() {
    let mut passed = 0;
    for seed in 0..30_000 {
        let chance = &mut Chance::new(seed);
        let service = *chance.pick(&SERVICES);
        let types = types(service, 1);
        let entries: Vec<Vec<u8>> =
            (0..1 + chance.below(3)).map(|_| random_entry(chance, service, &types)).collect();
        let mut body = list(service, &entries);
        if service == ServiceKind::HistoryRead {
            body.truncate(entries[0].len());
        }
        if chance.happens(30) {
            let at = chance.below(body.len());
            body[at] = chance.next() as u8;
        }
        passed += usize::from(check(service, &body, &format!("seed {seed}")));
    }
    assert!(passed > 3000, "only {passed} requests passed");
}

fn random_entry(chance: &mut Chance, service: ServiceKind, types: &[(NodeId, Vec<u8>)]) -> Vec<u8> {
    let (type_id, body) = chance.pick(types).clone();
    let of = if chance.happens(80) { 1 } else { 2 };
    let (before, after) = around(service, of);
    if chance.happens(20) {
        return [&before[..], &[0, 0, 0], &after].concat();
    }
    let lies = lies(service, &type_id, &body);
    let (length, hidden) = chance.pick(&lies).clone();
    let length = if chance.happens(20) { length + chance.below(5) as i32 - 2 } else { length };
    let mut extension = structure(&type_id, length, &body, &hidden);
    if chance.happens(10) {
        let encoding = encode(&type_id).len();
        extension[encoding] = chance.below(3) as u8;
    }
    [&before[..], &extension, &after].concat()
}

/// The test's server sees what is hidden: without this, the tests above could not fail.
#[test]
fn the_second_reader_sees_what_is_hidden() {
    let by_type = Habits { by_type: true, null_is_inline: false, xml_has_no_body: false };
    for service in SERVICES {
        let (type_id, body) = types(service, 1).remove(0);
        let lie = lies(service, &type_id, &body).remove(3);
        let seen = seen(by_type, service, &lying(service, &type_id, &body, &lie));
        assert!(seen.iter().any(|seen| !is_granted(&grants(), seen)), "{service:?}: {seen:?}");
    }
}

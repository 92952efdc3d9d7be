//! Random and mutated bytes into every entry point: no panic, and no answer that tells more than a sound one.

use durward_opcua::gate::mediate::service::ServiceKind;
use durward_opcua::gate::mediate::{MediatedReply, MediatedRequest};
use durward_opcua::permission::{Permission, PermissionRuling, SessionRights};
use opcua_types::{NodeId, StatusCode};

use super::answers::answer_to;
use super::smuggle::assert_granted;
use super::support::{All, Chance, Grants, mediator, node};
use super::table::{samples, with_subscription};

/// Everything on the nodes that the samples name.
struct OfSamples;

impl SessionRights for OfSamples {
    fn rule(&self, _: Permission, node: &NodeId) -> PermissionRuling {
        let is_named = node.namespace == 0 || [self::node(1), self::node(2)].contains(node);
        if is_named { PermissionRuling::Granted } else { PermissionRuling::DENIED }
    }
}

fn mutate(chance: &mut Chance, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=chance.below(4) {
        let at = chance.below(bytes.len().max(1));
        match chance.below(5) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at.min(bytes.len()), chance.next() as u8),
            2 if !bytes.is_empty() => {
                let last = bytes.len() - 1;
                bytes[at.min(last)] ^= 1 << chance.below(8);
            }
            3 if at + 4 <= bytes.len() => {
                let length: i32 = *chance.pick(&[-2, -1, 0, 1, 1000, i32::MAX]);
                bytes[at..at + 4].copy_from_slice(&length.to_le_bytes());
            }
            _ => bytes.push(chance.next() as u8),
        }
    }
    bytes
}

/// Every service's request, sound and then mutated; and as responses, sound ones, mutated ones and random bytes. What is forwarded is granted, as a
/// second reader sees it.
#[test]
fn no_bytes_make_the_mediator_panic() {
    let samples = samples();
    let mut mended = 0;
    for seed in 0..6000 {
        let chance = &mut Chance::new(seed);
        let mut mediator = mediator();
        with_subscription(&mut mediator);
        for request_id in 10..20 {
            let (service, body) = chance.pick(&samples);
            let body = if chance.happens(60) { body.clone() } else { mutate(chance, body) };
            let nobody = Grants::default();
            let rights: &dyn SessionRights = if chance.happens(80) { &OfSamples } else { &nobody };
            let outcome = mediator.on_request(rights, request_id, service.request_id(), &body);
            let mut upstream = match outcome {
                MediatedRequest::Forward(body) => body.into_owned(),
                MediatedRequest::Answer(_) | MediatedRequest::Refuse(_) | MediatedRequest::Cancel(_) => {
                    continue;
                }
            };
            let mut rounds = 0;
            loop {
                assert_granted(rights, *service, &upstream, &format!("seed {seed}"));
                let sound = answer_to(*service, &upstream);
                let answer = match chance.below(10) {
                    0 => sound,
                    1 => mutate(chance, &upstream),
                    2 => (0..chance.below(60)).map(|_| chance.next() as u8).collect(),
                    _ => mutate(chance, &sound),
                };
                match mediator.on_response(rights, request_id, service.response_id(), &answer) {
                    MediatedReply::FollowUp(next) if rounds < 70 => upstream = next.body,
                    MediatedReply::FollowUp(_) => panic!("rounds without end"),
                    MediatedReply::Pass(_) => {
                        mended += 1;
                        break;
                    }
                    MediatedReply::Fault(_) => break,
                }
                rounds += 1;
            }
        }
        mediator.on_rights_changed(&Grants::default());
    }
    assert!(mended > 3000, "only {mended} responses came so far as to be mended");
}

/// Entries and results that are cut off at any place are refused, or answered by a fault.
#[test]
fn what_is_cut_short_is_refused() {
    for (service, body) in samples() {
        for cut in 0..body.len() {
            let mut mediator = mediator();
            with_subscription(&mut mediator);
            let outcome = mediator.on_request(&All, 9, service.request_id(), &body[..cut]);
            assert!(
                matches!(outcome, MediatedRequest::Refuse(_)),
                "{service:?} cut to {cut} of {}",
                body.len()
            );
        }
    }
}

#[test]
fn a_response_of_another_service_is_a_fault() {
    for (service, body) in samples() {
        for other in [ServiceKind::Read, ServiceKind::Publish, ServiceKind::CloseSession] {
            let mut mediator = mediator();
            with_subscription(&mut mediator);
            let outcome = mediator.on_request(&All, 9, service.request_id(), &body);
            if other == service || !matches!(outcome, MediatedRequest::Forward(_)) {
                continue;
            }
            let reply = mediator.on_response(&All, 9, other.response_id(), &[0; 40]);
            assert_eq!(reply, MediatedReply::Fault(StatusCode::BadUnknownResponse));
            assert_eq!(mediator.outstanding(), 0);
        }
    }
}

/// The samples themselves are sound: the test above mutates what would pass.
#[test]
fn sound_responses_pass() {
    for (service, body) in samples() {
        let mut mediator = mediator();
        with_subscription(&mut mediator);
        let MediatedRequest::Forward(_) = mediator.on_request(&All, 9, service.request_id(), &body) else {
            continue;
        };
        let sound = answer_to(service, &body);
        let reply = mediator.on_response(&All, 9, service.response_id(), &sound);
        assert!(matches!(reply, MediatedReply::Pass(_)), "{service:?}: {reply:?}");
    }
}

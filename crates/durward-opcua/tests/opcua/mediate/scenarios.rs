//! What one session must not get from another, from a server that lies, or by a way around; one story each.

use std::sync::Arc;

use durward_opcua::gate::mediate::service::ServiceKind;
use durward_opcua::gate::mediate::{MediatedReply, Mediator, MediatorLimits, NoTransfers};
use durward_opcua::permission::{Permission, PermissionRuling, SessionRights};
use opcua_types::*;

use super::answers::answer;
use super::requests::{OWN, create_item, event_filter, history_read};
use super::support::{
    All, Grants, answered, forward, mediator, node, read_of, refused, reply, request, request_body, response,
    response_body,
};
use super::table::{samples, with_subscription};

pub(super) fn sample(service: ServiceKind) -> Vec<u8> {
    samples().into_iter().find(|(of, _)| *of == service).expect("a sample").1
}

fn read(ids: Vec<ReadValueId>) -> Vec<u8> {
    request_body(&ReadRequest {
        request_header: RequestHeader::dummy(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Both,
        nodes_to_read: Some(ids),
    })
}

fn read_response(results: Vec<DataValue>) -> Vec<u8> {
    response_body(&ReadResponse {
        response_header: ResponseHeader::null(),
        results: Some(results),
        diagnostic_infos: None,
    })
}

pub(super) fn fault<'a>(
    mediator: &mut Mediator,
    rights: &dyn SessionRights,
    service: ServiceKind,
    request: &[u8],
    answer: &'a [u8],
) -> MediatedReply<'a> {
    forward(mediator, rights, 50, service, request);
    mediator.on_response(rights, 50, service.response_id(), answer)
}

pub(super) const LIE: MediatedReply<'static> = MediatedReply::Fault(StatusCode::BadUnknownResponse);

#[test]
fn a_server_with_more_or_fewer_results_is_answered_by_a_fault() {
    let body = read(vec![read_of(&node(1), 13), read_of(&node(2), 13)]);
    let some = Grants::of(&[(Permission::Read, node(1))]);
    let values = |count: i32| read_response((0..count).map(DataValue::from).collect());
    assert_eq!(fault(&mut mediator(), &All, ServiceKind::Read, &body, &values(1)), LIE);
    assert_eq!(fault(&mut mediator(), &All, ServiceKind::Read, &body, &values(3)), LIE);
    // One entry went upstream; the server answers for the refused one as well.
    assert_eq!(fault(&mut mediator(), &some, ServiceKind::Read, &body, &values(2)), LIE);
    assert_eq!(fault(&mut mediator(), &some, ServiceKind::Read, &body, &values(0)), LIE);
    // Diagnostic infos: none, or one for each result.
    let with_diagnostics = |count, diagnostics| {
        response_body(&ReadResponse {
            response_header: ResponseHeader::null(),
            results: Some((0..count).map(DataValue::from).collect()),
            diagnostic_infos: Some(vec![DiagnosticInfo::null(); diagnostics]),
        })
    };
    assert_eq!(fault(&mut mediator(), &All, ServiceKind::Read, &body, &with_diagnostics(2, 1)), LIE);
    assert_eq!(fault(&mut mediator(), &some, ServiceKind::Read, &body, &with_diagnostics(1, 2)), LIE);
    assert_ne!(fault(&mut mediator(), &All, ServiceKind::Read, &body, &with_diagnostics(2, 2)), LIE);
}

#[test]
fn a_right_told_in_a_wrong_type_is_not_told() {
    let grants = Grants::of(&[(Permission::Browse, node(1))]);
    let body = read(vec![read_of(&node(1), 18)]);
    let answer = read_response(vec![DataValue::from(Variant::UInt32(0x7f))]);
    let mut mediator = mediator();
    forward(&mut mediator, &grants, 1, ServiceKind::Read, &body);
    let read: ReadResponse = response(&reply(&mut mediator, &grants, 1, ServiceKind::Read, &answer));
    let result = &read.results.expect("results")[0];
    assert_eq!((result.status, &result.value), (Some(StatusCode::BadUserAccessDenied), &None));
}

/// A refusal with another reason keeps it; one that claims to be good is none.
#[test]
fn the_reason_of_a_refusal_reaches_the_client() {
    struct Says(StatusCode);
    impl SessionRights for Says {
        fn rule(&self, _: Permission, _: &NodeId) -> PermissionRuling {
            PermissionRuling::Refused(self.0)
        }
    }
    for (says, told) in [
        (StatusCode::BadSessionClosed, StatusCode::BadSessionClosed),
        (StatusCode::BadUserAccessDenied, StatusCode::BadNodeIdUnknown),
        (StatusCode::Good, StatusCode::BadUserAccessDenied),
    ] {
        let outcome =
            answered(&mut mediator(), &Says(says), 1, ServiceKind::Read, &sample(ServiceKind::Read));
        let read: ReadResponse = response(&outcome);
        assert_eq!(read.results.expect("results")[0].status, Some(told));
    }
}

/// A vendor's structure in a written value goes upstream byte for byte, also when its neighbour is cut out.
#[test]
fn unknown_extension_objects_pass_unharmed() {
    let vendor = [&[0x01, 9, 0x39, 0x30, 1][..], &5i32.to_le_bytes(), &[1, 2, 3, 4, 5]].concat();
    let value = [&[0x01, 0x16][..], &vendor].concat();
    let entry =
        |number: u8| [&[1, 2, number, 0][..], &13u32.to_le_bytes(), &(-1i32).to_le_bytes(), &value].concat();
    let list = |entries: &[Vec<u8>]| [&(entries.len() as i32).to_le_bytes()[..], &entries.concat()].concat();
    let grants = Grants::of(&[(Permission::Write, node(2))]);
    let sent =
        forward(&mut mediator(), &grants, 1, ServiceKind::Write, &list(&[entry(1), entry(2), entry(3)]));
    assert_eq!(sent, list(&[entry(2)]));
}

#[test]
fn session_diagnostics_are_not_there_whatever_is_granted() {
    for number in [3706u32, 3707, 3708, 2289, 2290] {
        let hidden = NodeId::new(0, number);
        let outcome =
            answered(&mut mediator(), &All, 1, ServiceKind::Read, &read(vec![read_of(&hidden, 13)]));
        let read: ReadResponse = response(&outcome);
        assert_eq!(read.results.expect("results")[0].status, Some(StatusCode::BadNodeIdUnknown));
    }
    let to = |target: ExpandedNodeId, type_definition: NodeId| ReferenceDescription {
        node_id: target,
        type_definition: type_definition.into(),
        ..Default::default()
    };
    let foreign = |namespace_uri: &str, server_index| ExpandedNodeId {
        node_id: node(5),
        namespace_uri: namespace_uri.into(),
        server_index,
    };
    let references = vec![
        to(node(4).into(), NodeId::null()),
        to(NodeId::new(0, 3706u32).into(), NodeId::null()),
        // A session's own object, under its own id, and arrays of a vendor's server.
        to(node(6).into(), NodeId::new(0, 2029u32)),
        to(node(7).into(), NodeId::new(0, 2171u32)),
        // Nodes that the rights cannot speak of.
        to(foreign("urn:elsewhere", 0), NodeId::null()),
        to(foreign("", 3), NodeId::null()),
    ];
    let answer = response_body(&BrowseResponse {
        response_header: ResponseHeader::null(),
        results: Some(vec![BrowseResult { references: Some(references), ..Default::default() }]),
        diagnostic_infos: None,
    });
    let mut mediator = mediator();
    forward(&mut mediator, &All, 1, ServiceKind::Browse, &sample(ServiceKind::Browse));
    let browsed: BrowseResponse = response(&reply(&mut mediator, &All, 1, ServiceKind::Browse, &answer));
    let references = browsed.results.expect("results").remove(0).references.expect("references");
    let seen: Vec<NodeId> = references.into_iter().map(|reference| reference.node_id.node_id).collect();
    assert_eq!(seen, [node(4)]);
}

/// A type knows its instances: from it, inverse references lead to the sessions.
#[test]
fn session_objects_are_not_found_from_their_type() {
    let session_type = NodeId::new(0, 2029u32);
    let to = |target: NodeId| ReferenceDescription { node_id: target.into(), ..Default::default() };
    let found = response_body(&BrowseResponse {
        response_header: ResponseHeader::null(),
        results: Some(vec![BrowseResult {
            references: Some(vec![to(NodeId::new(0, 58u32)), to(node(8))]),
            ..Default::default()
        }]),
        diagnostic_infos: None,
    });
    let mut browse: BrowseRequest = request(&sample(ServiceKind::Browse));
    browse.nodes_to_browse.as_mut().expect("nodes")[0].node_id = session_type.clone();
    let mut mediator = mediator();
    forward(&mut mediator, &All, 1, ServiceKind::Browse, &request_body(&browse));
    let browsed: BrowseResponse = response(&reply(&mut mediator, &All, 1, ServiceKind::Browse, &found));
    let references = browsed.results.expect("results").remove(0).references.expect("references");
    let seen: Vec<NodeId> = references.into_iter().map(|reference| reference.node_id.node_id).collect();
    assert_eq!(seen, [NodeId::new(0, 58u32)]);

    let service = ServiceKind::TranslateBrowsePathsToNodeIds;
    let mut translate: TranslateBrowsePathsToNodeIdsRequest = request(&sample(service));
    translate.browse_paths.as_mut().expect("paths")[0].starting_node = session_type;
    let translated = answered(&mut mediator, &All, 1, service, &request_body(&translate));
    let translated: TranslateBrowsePathsToNodeIdsResponse = response(&translated);
    assert_eq!(translated.results.expect("results")[0].status_code, StatusCode::BadNoMatch);
}

#[test]
fn targets_in_other_servers_end_no_path() {
    let target =
        |id: ExpandedNodeId, remaining_path_index| BrowsePathTarget { target_id: id, remaining_path_index };
    let remote = ExpandedNodeId { node_id: node(3), namespace_uri: UAString::null(), server_index: 1 };
    let answer = response_body(&TranslateBrowsePathsToNodeIdsResponse {
        response_header: ResponseHeader::null(),
        results: Some(vec![BrowsePathResult {
            status_code: StatusCode::Good,
            targets: Some(vec![target(remote, u32::MAX), target(node(4).into(), 0)]),
        }]),
        diagnostic_infos: None,
    });
    let service = ServiceKind::TranslateBrowsePathsToNodeIds;
    let mut mediator = mediator();
    forward(&mut mediator, &All, 1, service, &sample(service));
    let translated: TranslateBrowsePathsToNodeIdsResponse =
        response(&reply(&mut mediator, &All, 1, service, &answer));
    assert_eq!(translated.results.expect("results")[0].status_code, StatusCode::BadNoMatch);
}

#[test]
fn one_alias_for_two_nodes_is_a_lie() {
    let register = |number| {
        request_body(&RegisterNodesRequest {
            request_header: RequestHeader::dummy(),
            nodes_to_register: Some(vec![node(number)]),
        })
    };
    let answer = response_body(&RegisterNodesResponse {
        response_header: ResponseHeader::null(),
        registered_node_ids: Some(vec![node(99)]),
    });
    let mut mediator = mediator();
    forward(&mut mediator, &All, 1, ServiceKind::RegisterNodes, &register(1));
    reply(&mut mediator, &All, 1, ServiceKind::RegisterNodes, &answer);
    assert_eq!(fault(&mut mediator, &All, ServiceKind::RegisterNodes, &register(2), &answer), LIE);
    // The first node may still be read under it, by the right on the first node; the alias itself is no node.
    let grants = Grants::of(&[(Permission::Read, node(1))]);
    forward(&mut mediator, &grants, 3, ServiceKind::Read, &read(vec![read_of(&node(99), 13)]));
    let grants = Grants::of(&[(Permission::Read, node(99)), (Permission::Read, node(2))]);
    let outcome = answered(&mut mediator, &grants, 4, ServiceKind::Read, &read(vec![read_of(&node(99), 13)]));
    assert_eq!(outcome[4..6], [2, 0], "refused");
    // Given back, it is nobody's.
    let unregister = request_body(&UnregisterNodesRequest {
        request_header: RequestHeader::dummy(),
        nodes_to_unregister: Some(vec![node(1), node(99)]),
    });
    let sent: UnregisterNodesRequest =
        request(&forward(&mut mediator, &All, 5, ServiceKind::UnregisterNodes, &unregister));
    assert_eq!(sent.nodes_to_unregister, Some(vec![node(99)]));
    let grants = Grants::of(&[(Permission::Read, node(1))]);
    answered(&mut mediator, &grants, 6, ServiceKind::Read, &read(vec![read_of(&node(99), 13)]));
}

#[test]
fn events_of_history_are_filtered_by_source_with_their_modifications() {
    let event = |number: i32, source: u32| HistoryEventFieldList {
        event_fields: Some(vec![Variant::from(number), Variant::from(node(source))]),
    };
    let modified = |user: &str| ModificationInfo { user_name: user.into(), ..Default::default() };
    let answer = response_body(&HistoryReadResponse {
        response_header: ResponseHeader::null(),
        results: Some(vec![HistoryReadResult {
            status_code: StatusCode::Good,
            continuation_point: ByteString::null(),
            history_data: ExtensionObject::from_message(HistoryModifiedEvent {
                events: Some(vec![event(1, 2), event(2, 3), event(3, 2)]),
                modification_infos: Some(vec![modified("a"), modified("b"), modified("c")]),
            }),
        }]),
        diagnostic_infos: None,
    });
    let grants = Grants::of(&[(Permission::ReadHistory, node(1)), (Permission::ReceiveEvents, node(2))]);
    let details =
        ExtensionObject::from_message(ReadEventDetails { filter: event_filter(), ..Default::default() });
    let mut mediator = mediator();
    forward(&mut mediator, &grants, 1, ServiceKind::HistoryRead, &history_read(details));
    let got: HistoryReadResponse =
        response(&reply(&mut mediator, &grants, 1, ServiceKind::HistoryRead, &answer));
    let data = got.results.expect("results").remove(0).history_data;
    let data = *data.into_inner_as::<HistoryModifiedEvent>().expect("events");
    let events: Vec<_> = data.events.into_iter().flatten().map(|event| event.event_fields).collect();
    assert_eq!(events, [Some(vec![Variant::from(1)]), Some(vec![Variant::from(3)])]);
    let users: Vec<_> = data.modification_infos.into_iter().flatten().map(|info| info.user_name).collect();
    assert_eq!(users, [UAString::from("a"), UAString::from("c")]);
}

/// Servers go on by the point, whatever the details say. A read of events that was taken up as one of values passed unfiltered: all events of all
/// sources, to a client that may receive none.
#[test]
fn a_point_of_events_is_not_taken_up_for_values() {
    let grants = Grants::of(&[(Permission::ReadHistory, node(1))]);
    let events = HistoryEvent {
        events: Some(vec![HistoryEventFieldList {
            event_fields: Some(vec![Variant::from(1), Variant::from(node(2))]),
        }]),
    };
    let answer = |point: ByteString, history_data: ExtensionObject| {
        response_body(&HistoryReadResponse {
            response_header: ResponseHeader::null(),
            results: Some(vec![HistoryReadResult {
                status_code: StatusCode::Good,
                continuation_point: point,
                history_data,
            }]),
            diagnostic_infos: None,
        })
    };
    let of_events =
        ExtensionObject::from_message(ReadEventDetails { filter: event_filter(), ..Default::default() });
    let of_values = || ExtensionObject::from_message(ReadRawModifiedDetails::default());
    let service = ServiceKind::HistoryRead;
    let mut mediator = mediator();
    forward(&mut mediator, &grants, 1, service, &history_read(of_events));
    let point = ByteString::from(vec![7]);
    let first = answer(point.clone(), ExtensionObject::from_message(events.clone()));
    let got: HistoryReadResponse = response(&reply(&mut mediator, &grants, 1, service, &first));
    let data = got.results.expect("results").remove(0).history_data;
    let data = *data.into_inner_as::<HistoryEvent>().expect("events");
    assert_eq!(data.events.unwrap_or_default(), [], "no event may be received");

    let mut go_on: HistoryReadRequest = request(&history_read(of_values()));
    go_on.nodes_to_read.as_mut().expect("nodes")[0].continuation_point = point;
    let refusal = answered(&mut mediator, &grants, 2, service, &request_body(&go_on));
    let refusal: HistoryReadResponse = response(&refusal);
    let status = refusal.results.expect("results")[0].status_code;
    assert_eq!(status, StatusCode::BadContinuationPointInvalid);

    // Nor are events passed to somebody who asked for values.
    let events = answer(ByteString::null(), ExtensionObject::from_message(events));
    assert_eq!(fault(&mut mediator, &grants, service, &history_read(of_values()), &events), LIE);
    let modified = answer(ByteString::null(), ExtensionObject::from_message(HistoryModifiedData::default()));
    assert_ne!(fault(&mut mediator, &grants, service, &history_read(of_values()), &modified), LIE);
}

fn paths(of: &[(u32, usize)]) -> Vec<u8> {
    let element = || RelativePathElement {
        reference_type_id: ReferenceTypeId::Organizes.into(),
        is_inverse: false,
        include_subtypes: true,
        target_name: QualifiedName::new(2, "n"),
    };
    let path = |(start, length): &(u32, usize)| BrowsePath {
        starting_node: node(*start),
        relative_path: RelativePath { elements: Some((0..*length).map(|_| element()).collect()) },
    };
    request_body(&TranslateBrowsePathsToNodeIdsRequest {
        request_header: RequestHeader::dummy(),
        browse_paths: Some(of.iter().map(path).collect()),
    })
}

/// Elements count as entries do, before they are copied; those of a path that is refused are not kept.
#[test]
fn elements_of_paths_are_bounded() {
    let limits = MediatorLimits { outstanding_entries: 10, path_elements: 8, ..MediatorLimits::default() };
    let bounded = || Mediator::new(limits, Arc::new(NoTransfers));
    let service = ServiceKind::TranslateBrowsePathsToNodeIds;
    let too_many = StatusCode::BadTooManyOperations;
    assert_eq!(refused(&mut bounded(), 1, service, &paths(&[(1, 8), (1, 8)])), too_many);
    forward(&mut bounded(), &All, 1, service, &paths(&[(1, 8)]));
    // The hidden path and the long one are refused; one path of two elements is followed, of which one is sent.
    let grants = Grants::of(&[(Permission::Browse, node(1)), (Permission::Read, node(1))]);
    let mut mediator = bounded();
    forward(&mut mediator, &grants, 1, service, &paths(&[(2, 8), (1, 9), (1, 2)]));
    let reads = |count: usize| read(vec![read_of(&node(1), 13); count]);
    // Kept: three paths, one element ahead, one node reached.
    assert_eq!(refused(&mut mediator, 2, ServiceKind::Read, &reads(6)), too_many);
    forward(&mut mediator, &grants, 2, ServiceKind::Read, &reads(5));
}

/// Nodes that were reached are bounded, also those of paths that are at their end and wait for others.
#[test]
fn nodes_reached_by_paths_are_bounded() {
    let limits = MediatorLimits { nodes_per_request: 3, ..MediatorLimits::default() };
    let mut mediator = Mediator::new(limits, Arc::new(NoTransfers));
    let service = ServiceKind::TranslateBrowsePathsToNodeIds;
    let result = |targets: &[u32]| BrowsePathResult {
        status_code: StatusCode::Good,
        targets: Some(
            targets
                .iter()
                .map(|number| BrowsePathTarget {
                    target_id: node(*number).into(),
                    remaining_path_index: u32::MAX,
                })
                .collect(),
        ),
    };
    forward(&mut mediator, &All, 1, service, &paths(&[(1, 1), (1, 1)]));
    let answer = response_body(&TranslateBrowsePathsToNodeIdsResponse {
        response_header: ResponseHeader::null(),
        results: Some(vec![result(&[4, 5]), result(&[6, 7])]),
        diagnostic_infos: None,
    });
    let heard: TranslateBrowsePathsToNodeIdsResponse =
        response(&reply(&mut mediator, &All, 1, service, &answer));
    let heard: Vec<_> = heard
        .results
        .expect("results")
        .into_iter()
        .map(|result| (result.status_code, result.targets.map_or(0, |targets| targets.len())))
        .collect();
    assert_eq!(heard, [(StatusCode::Good, 2), (StatusCode::BadTooManyMatches, 0)]);
}

#[test]
fn what_a_session_may_keep_is_bounded() {
    let limits = MediatorLimits {
        nodes_per_request: 3,
        outstanding: 2,
        outstanding_entries: 4,
        continuation_points: 1,
        subscriptions: 1,
        monitored_items: 1,
        aliases: 1,
        path_elements: 1,
    };
    let bounded = || Mediator::new(limits, Arc::new(NoTransfers));
    let reads = |count: u32| read((1..=count).map(|number| read_of(&node(number), 13)).collect());
    let too_many = StatusCode::BadTooManyOperations;
    let mut mediator = bounded();
    assert_eq!(refused(&mut mediator, 1, ServiceKind::Read, &reads(4)), too_many, "entries of a request");
    forward(&mut mediator, &All, 1, ServiceKind::Read, &reads(3));
    assert_eq!(refused(&mut mediator, 2, ServiceKind::Read, &reads(2)), too_many, "entries of all requests");
    let again = refused(&mut mediator, 1, ServiceKind::Read, &reads(1));
    assert_eq!(again, StatusCode::BadRequestHeaderInvalid, "a request under the id of another");
    forward(&mut mediator, &All, 2, ServiceKind::Read, &reads(1));
    assert_eq!(refused(&mut mediator, 3, ServiceKind::Read, &reads(0)), too_many, "requests");
    let publish = refused(&mut mediator, 3, ServiceKind::Publish, &sample(ServiceKind::Publish));
    assert_eq!(publish, StatusCode::BadTooManyPublishRequests);
    mediator.on_fault(1);
    mediator.on_fault(2);
    forward(&mut mediator, &All, 3, ServiceKind::Read, &reads(3));

    let mut mediator = bounded();
    with_subscription(&mut mediator);
    let create = sample(ServiceKind::CreateSubscription);
    let status = refused(&mut mediator, 5, ServiceKind::CreateSubscription, &create);
    assert_eq!(status, StatusCode::BadTooManySubscriptions);
    let create = create_item(OWN, &node(1), 13, ExtensionObject::null());
    let outcome = answered(&mut mediator, &All, 5, ServiceKind::CreateMonitoredItems, &create);
    let got: CreateMonitoredItemsResponse = response(&outcome);
    assert_eq!(got.results.expect("results")[0].status_code, StatusCode::BadTooManyMonitoredItems);
    let register = request_body(&RegisterNodesRequest {
        request_header: RequestHeader::dummy(),
        nodes_to_register: Some(vec![node(1), node(2)]),
    });
    assert_eq!(refused(&mut mediator, 5, ServiceKind::RegisterNodes, &register), too_many);
}

/// The oldest continuation point is the server's to keep and the gate's to forget.
#[test]
fn the_oldest_of_too_many_continuation_points_is_refused() {
    let limits = MediatorLimits { continuation_points: 2, ..MediatorLimits::default() };
    let mut mediator = Mediator::new(limits, Arc::new(NoTransfers));
    for point in 1..=3u8 {
        let answer = response_body(&BrowseResponse {
            response_header: ResponseHeader::null(),
            results: Some(vec![BrowseResult {
                continuation_point: ByteString::from(vec![point]),
                ..Default::default()
            }]),
            diagnostic_infos: None,
        });
        forward(&mut mediator, &All, 1, ServiceKind::Browse, &sample(ServiceKind::Browse));
        reply(&mut mediator, &All, 1, ServiceKind::Browse, &answer);
    }
    let next = request_body(&BrowseNextRequest {
        request_header: RequestHeader::dummy(),
        release_continuation_points: false,
        continuation_points: Some((1..=3u8).map(|point| ByteString::from(vec![point])).collect()),
    });
    let sent: BrowseNextRequest = request(&forward(&mut mediator, &All, 1, ServiceKind::BrowseNext, &next));
    let points = sent.continuation_points.expect("points");
    assert_eq!(points, [ByteString::from(vec![2]), ByteString::from(vec![3])]);
    // Each is good for one use.
    mediator.on_fault(1);
    answered(&mut mediator, &All, 1, ServiceKind::BrowseNext, &next);
}

/// The right to browse the node from which was browsed has ended meanwhile.
#[test]
fn a_continuation_point_is_worth_no_more_than_the_right_on_its_node() {
    let mut mediator = mediator();
    forward(&mut mediator, &All, 1, ServiceKind::Browse, &sample(ServiceKind::Browse));
    reply(&mut mediator, &All, 1, ServiceKind::Browse, &answer(ServiceKind::Browse));
    let next = request_body(&BrowseNextRequest {
        request_header: RequestHeader::dummy(),
        release_continuation_points: false,
        continuation_points: Some(vec![ByteString::from(vec![1, 2, 3])]),
    });
    let outcome = answered(&mut mediator, &Grants::default(), 1, ServiceKind::BrowseNext, &next);
    let got: BrowseNextResponse = response(&outcome);
    assert_eq!(got.results.expect("results")[0].status_code, StatusCode::BadNodeIdUnknown);
}

#[test]
fn paths_without_end_are_refused_before_they_are_followed() {
    let element = RelativePathElement {
        reference_type_id: ReferenceTypeId::Organizes.into(),
        is_inverse: false,
        include_subtypes: true,
        target_name: QualifiedName::new(2, "n2"),
    };
    let path = |count| BrowsePath {
        starting_node: node(1),
        relative_path: RelativePath { elements: Some(vec![element.clone(); count]) },
    };
    let service = ServiceKind::TranslateBrowsePathsToNodeIds;
    let body = request_body(&TranslateBrowsePathsToNodeIdsRequest {
        request_header: RequestHeader::dummy(),
        browse_paths: Some(vec![path(65), path(0)]),
    });
    let got: TranslateBrowsePathsToNodeIdsResponse =
        response(&answered(&mut mediator(), &All, 1, service, &body));
    let statuses: Vec<StatusCode> =
        got.results.into_iter().flatten().map(|result| result.status_code).collect();
    assert_eq!(statuses, [StatusCode::BadTooManyOperations, StatusCode::BadNothingToDo]);
}

//! Rights that end while the server answers: what is read does not reach the client any more; what was done has happened, and is told.

use durward_opcua::gate::mediate::service::ServiceKind;
use durward_opcua::permission::{Permission, SessionRights};
use opcua_types::*;

use super::requests::history_read;
use super::scenarios::sample;
use super::support::{
    Grants, forward, mediator, node, read_of, reply, request, request_body, response, response_body,
};

fn read(ids: Vec<ReadValueId>) -> Vec<u8> {
    request_body(&ReadRequest {
        request_header: RequestHeader::dummy(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Both,
        nodes_to_read: Some(ids),
    })
}

/// The answer to a request that was granted before, by the rights of now.
fn answered_by(
    before: &dyn SessionRights,
    now: &dyn SessionRights,
    service: ServiceKind,
    body: &[u8],
    answer: &[u8],
) -> Vec<u8> {
    let mut mediator = mediator();
    forward(&mut mediator, before, 1, service, body);
    reply(&mut mediator, now, 1, service, answer)
}

#[test]
fn a_value_is_delivered_by_the_right_of_that_moment() {
    let before = Grants::of(&[
        (Permission::Read, node(1)),
        (Permission::Read, node(3)),
        (Permission::Read, node(4)),
        (Permission::Browse, node(3)),
    ]);
    let mut now = before.clone();
    now.end(Permission::Read, &node(3));
    // The second is refused at once, the third when its value comes; the first attribute of the fourth is edited.
    let ids =
        vec![read_of(&node(1), 13), read_of(&node(2), 13), read_of(&node(3), 13), read_of(&node(3), 18)];
    let answer = response_body(&ReadResponse {
        response_header: ResponseHeader::null(),
        results: Some(vec![
            DataValue::from(1i32),
            DataValue::from(3i32),
            DataValue::from(Variant::Byte(0b0101)),
        ]),
        diagnostic_infos: Some(vec![
            DiagnosticInfo {
                additional_info: Some("of 3".into()),
                ..DiagnosticInfo::null()
            };
            3
        ]),
    });
    let body = read(ids);
    let heard: ReadResponse = response(&answered_by(&before, &now, ServiceKind::Read, &body, &answer));
    let results = heard.results.expect("results");
    let statuses: Vec<_> = results.iter().map(|result| result.status).collect();
    let (unknown, denied) = (Some(StatusCode::BadNodeIdUnknown), Some(StatusCode::BadUserAccessDenied));
    assert_eq!(statuses, [None, unknown, denied, None]);
    assert_eq!(results[0].value, Some(Variant::Int32(1)));
    assert_eq!(results[2].value, None);
    assert_eq!(heard.diagnostic_infos, None, "they would tell of what is no longer told");
    // Where all rights last, diagnostics pass.
    let heard: ReadResponse = response(&answered_by(&before, &before, ServiceKind::Read, &body, &answer));
    assert_eq!(heard.diagnostic_infos.map(|infos| infos.len()), Some(4));
}

/// An alias that is given back meanwhile: the right is that of the node still.
#[test]
fn a_value_under_an_alias_is_ruled_on_as_its_node() {
    let grants = Grants::of(&[(Permission::Read, node(1)), (Permission::Browse, node(1))]);
    let register = request_body(&RegisterNodesRequest {
        request_header: RequestHeader::dummy(),
        nodes_to_register: Some(vec![node(1)]),
    });
    let registered = response_body(&RegisterNodesResponse {
        response_header: ResponseHeader::null(),
        registered_node_ids: Some(vec![node(99)]),
    });
    let mut mediator = mediator();
    forward(&mut mediator, &grants, 1, ServiceKind::RegisterNodes, &register);
    reply(&mut mediator, &grants, 1, ServiceKind::RegisterNodes, &registered);
    forward(&mut mediator, &grants, 2, ServiceKind::Read, &read(vec![read_of(&node(99), 13)]));
    let unregister = request_body(&UnregisterNodesRequest {
        request_header: RequestHeader::dummy(),
        nodes_to_unregister: Some(vec![node(99)]),
    });
    forward(&mut mediator, &grants, 3, ServiceKind::UnregisterNodes, &unregister);
    let answer = response_body(&ReadResponse {
        response_header: ResponseHeader::null(),
        results: Some(vec![DataValue::from(1i32)]),
        diagnostic_infos: None,
    });
    let heard: ReadResponse = response(&reply(&mut mediator, &grants, 2, ServiceKind::Read, &answer));
    assert_eq!(heard.results.expect("results")[0].value, Some(Variant::Int32(1)));
}

#[test]
fn history_is_delivered_by_the_right_of_that_moment() {
    let before = Grants::of(&[(Permission::ReadHistory, node(1))]);
    let answer = response_body(&HistoryReadResponse {
        response_header: ResponseHeader::null(),
        results: Some(vec![HistoryReadResult {
            status_code: StatusCode::Good,
            continuation_point: ByteString::from(vec![1]),
            history_data: ExtensionObject::from_message(HistoryData {
                data_values: Some(vec![DataValue::from(1i32)]),
            }),
        }]),
        diagnostic_infos: None,
    });
    let body = history_read(ExtensionObject::from_message(ReadRawModifiedDetails::default()));
    let heard = answered_by(&before, &Grants::default(), ServiceKind::HistoryRead, &body, &answer);
    let heard: HistoryReadResponse = response(&heard);
    let result = heard.results.expect("results").remove(0);
    assert_eq!(result.status_code, StatusCode::BadNodeIdUnknown);
    assert!(result.history_data.is_null() && result.continuation_point.is_null_or_empty());
}

#[test]
fn references_are_delivered_by_the_right_of_that_moment() {
    let before = Grants::of(&[(Permission::Browse, node(1)), (Permission::Browse, node(2))]);
    let now = Grants::of(&[(Permission::Browse, node(2))]);
    let answer = super::answers::answer(ServiceKind::Browse);
    let body = sample(ServiceKind::Browse);
    let heard: BrowseResponse = response(&answered_by(&before, &before, ServiceKind::Browse, &body, &answer));
    assert_eq!(heard.results.expect("results")[0].references.as_ref().map(Vec::len), Some(2));
    let heard: BrowseResponse = response(&answered_by(&before, &now, ServiceKind::Browse, &body, &answer));
    let result = heard.results.expect("results").remove(0);
    assert_eq!(result.status_code, StatusCode::BadNodeIdUnknown);
    assert_eq!(result.references.unwrap_or_default(), []);
    assert!(result.continuation_point.is_null_or_empty());
}

#[test]
fn what_was_done_is_told_though_the_right_has_ended() {
    let before = Grants::of(&[(Permission::Write, node(1))]);
    let answer = super::answers::answer(ServiceKind::Write);
    let heard =
        answered_by(&before, &Grants::default(), ServiceKind::Write, &sample(ServiceKind::Write), &answer);
    let heard: WriteResponse = response(&heard);
    assert_eq!(heard.results, Some(vec![StatusCode::Good]));
}

/// Sessions' objects are hidden by their type. A client that does not ask for types saw them: the answer does not tell any then.
#[test]
fn session_objects_are_hidden_from_those_who_ask_for_no_types() {
    let grants = Grants::of(&[
        (Permission::Browse, node(1)),
        (Permission::Browse, node(5)),
        (Permission::Browse, node(6)),
    ]);
    let service = ServiceKind::Browse;
    let mut asked: BrowseRequest = request(&sample(service));
    asked.nodes_to_browse.as_mut().expect("nodes")[0].result_mask = 0b0_1001;
    let mut mediator = mediator();
    let sent: BrowseRequest = request(&forward(&mut mediator, &grants, 1, service, &request_body(&asked)));
    assert_eq!(sent.nodes_to_browse.expect("nodes")[0].result_mask, 0b10_1001, "types are asked for");
    let to = |number: u32, type_definition: u32| ReferenceDescription {
        node_id: node(number).into(),
        browse_name: QualifiedName::new(2, "n"),
        type_definition: NodeId::new(0, type_definition).into(),
        ..Default::default()
    };
    let page = |point: ByteString| BrowseResult {
        status_code: StatusCode::Good,
        continuation_point: point,
        references: Some(vec![to(5, 63), to(6, 2029)]),
    };
    let point = ByteString::from(vec![4]);
    let first = response_body(&BrowseResponse {
        response_header: ResponseHeader::null(),
        results: Some(vec![page(point.clone())]),
        diagnostic_infos: None,
    });
    let seen = |references: Option<Vec<ReferenceDescription>>| {
        let seen = references.unwrap_or_default().into_iter();
        seen.map(|reference| (reference.node_id.node_id, reference.type_definition.node_id))
            .collect::<Vec<_>>()
    };
    let heard: BrowseResponse = response(&reply(&mut mediator, &grants, 1, service, &first));
    let references = heard.results.expect("results").remove(0).references;
    assert_eq!(seen(references), [(node(5), NodeId::null())]);
    // The next page is as the first.
    let next = request_body(&BrowseNextRequest {
        request_header: RequestHeader::dummy(),
        release_continuation_points: false,
        continuation_points: Some(vec![point]),
    });
    forward(&mut mediator, &grants, 2, ServiceKind::BrowseNext, &next);
    let last = response_body(&BrowseNextResponse {
        response_header: ResponseHeader::null(),
        results: Some(vec![page(ByteString::null())]),
        diagnostic_infos: None,
    });
    let heard: BrowseNextResponse =
        response(&reply(&mut mediator, &grants, 2, ServiceKind::BrowseNext, &last));
    let references = heard.results.expect("results").remove(0).references;
    assert_eq!(seen(references), [(node(5), NodeId::null())]);
}

//! Requests that are cut behind structures: what goes upstream when, and what the client hears.

use durward_opcua::gate::mediate::service::ServiceKind;
use durward_opcua::gate::mediate::{MediatedReply, MediatedRequest, Mediator, MediatorLimits, NoTransfers};
use durward_opcua::permission::Permission;
use opcua_types::*;

use super::second::vendor_structure;
use super::support::{
    All, Grants, encode, forward, mediator, node, refused, request, request_body, response, response_body,
};

fn structure() -> Variant {
    Variant::from(ExtensionObject::from_message(Range { low: 0.0, high: 1.0 }))
}

fn write(values: &[(u32, Variant)]) -> Vec<u8> {
    let write = |(number, value): &(u32, Variant)| WriteValue {
        node_id: node(*number),
        attribute_id: AttributeId::Value as u32,
        index_range: NumericRange::None,
        value: DataValue::from(value.clone()),
    };
    request_body(&WriteRequest {
        request_header: RequestHeader::dummy(),
        nodes_to_write: Some(values.iter().map(write).collect()),
    })
}

fn written(body: &[u8]) -> Vec<NodeId> {
    let sent: WriteRequest = request(body);
    sent.nodes_to_write.unwrap_or_default().into_iter().map(|write| write.node_id).collect()
}

fn results(statuses: &[StatusCode]) -> Vec<u8> {
    response_body(&WriteResponse {
        response_header: ResponseHeader::null(),
        results: Some(statuses.to_vec()),
        diagnostic_infos: Some(vec![DiagnosticInfo::null(); statuses.len()]),
    })
}

fn statuses(body: &[u8]) -> Vec<StatusCode> {
    let heard: WriteResponse = response(body);
    assert_eq!(heard.diagnostic_infos, None, "those of parts speak of strings that the client does not have");
    heard.results.expect("results")
}

/// The server's answer to a part: what goes upstream next.
fn next(mediator: &mut Mediator, rights: &Grants, statuses: &[StatusCode]) -> Vec<u8> {
    match mediator.on_response(rights, 9, ServiceKind::Write.response_id(), &results(statuses)) {
        MediatedReply::FollowUp(next) => {
            assert_eq!(next.service, ServiceKind::Write);
            next.body
        }
        other => panic!("{other:?}"),
    }
}

/// The server's answer to the last part: what the client hears.
fn last(mediator: &mut Mediator, rights: &Grants, answer: &[StatusCode]) -> Vec<StatusCode> {
    match mediator.on_response(rights, 9, ServiceKind::Write.response_id(), &results(answer)) {
        MediatedReply::Pass(body) => statuses(&body),
        other => panic!("{other:?}"),
    }
}

fn may_write(numbers: &[u32]) -> Grants {
    Grants::of(&numbers.iter().map(|number| (Permission::Write, node(*number))).collect::<Vec<_>>())
}

#[test]
fn nothing_follows_a_structure_in_one_request() {
    let rights = may_write(&[1, 2, 3, 5]);
    let plain = || Variant::from(1i32);
    let body = write(&[(1, plain()), (2, structure()), (4, plain()), (3, structure()), (5, plain())]);
    let mediator = &mut mediator();
    assert_eq!(written(&forward(mediator, &rights, 9, ServiceKind::Write, &body)), [node(1), node(2)]);
    let sent = next(mediator, &rights, &[StatusCode::Good, StatusCode::BadTypeMismatch]);
    assert_eq!(written(&sent), [node(3)]);
    let sent = next(mediator, &rights, &[StatusCode::GoodClamped]);
    assert_eq!(written(&sent), [node(5)]);
    assert_eq!(
        last(mediator, &rights, &[StatusCode::BadOutOfRange]),
        [
            StatusCode::Good,
            StatusCode::BadTypeMismatch,
            StatusCode::BadNodeIdUnknown,
            StatusCode::GoodClamped,
            StatusCode::BadOutOfRange,
        ]
    );
    assert_eq!(mediator.outstanding(), 0);
}

/// Arrays, variants in variants, data values: a structure is found wherever it is.
#[test]
fn structures_are_found_at_any_depth() {
    let array = Array::new(VariantScalarTypeId::ExtensionObject, vec![structure()]).expect("an array");
    let nested = Array::new(VariantScalarTypeId::Variant, vec![Variant::Variant(Box::new(structure()))]);
    let held = DataValue::from(structure());
    for value in [
        Variant::from(array),
        Variant::from(nested.expect("an array")),
        Variant::DataValue(Box::new(held)),
        structure(),
    ] {
        let body = write(&[(1, value), (2, Variant::from(1i32))]);
        let sent = forward(&mut mediator(), &may_write(&[1, 2]), 9, ServiceKind::Write, &body);
        assert_eq!(written(&sent), [node(1)]);
    }
    // One that holds nothing has no length to lie about; a last one is followed by nothing.
    for values in [
        [(1, Variant::from(ExtensionObject::null())), (2, Variant::from(1i32))],
        [(1, Variant::from(1i32)), (2, structure())],
    ] {
        let body = write(&values);
        let outcome = mediator().on_request(&All, 9, ServiceKind::Write.request_id(), &body).map_owned();
        assert_eq!(outcome, body, "passes as it is");
    }
}

trait MapOwned {
    fn map_owned(self) -> Vec<u8>;
}

impl MapOwned for MediatedRequest<'_> {
    fn map_owned(self) -> Vec<u8> {
        match self {
            MediatedRequest::Forward(body) => body.into_owned(),
            other => panic!("{other:?}"),
        }
    }
}

/// A write waits for those before it: the right may end meanwhile.
#[test]
fn each_part_is_ruled_on_when_it_is_sent() {
    let rights = may_write(&[1, 2, 3]);
    let body = write(&[(1, structure()), (2, structure()), (3, structure())]);
    let mediator = &mut mediator();
    forward(mediator, &rights, 9, ServiceKind::Write, &body);
    let fewer = may_write(&[1, 3]);
    assert_eq!(written(&next(mediator, &fewer, &[StatusCode::Good])), [node(3)]);
    assert_eq!(
        last(mediator, &may_write(&[]), &[StatusCode::Good]),
        [StatusCode::Good, StatusCode::BadNodeIdUnknown, StatusCode::Good]
    );
}

#[test]
fn what_was_carried_out_before_a_fault_is_told() {
    let rights = may_write(&[1, 2, 3]);
    let body = write(&[(1, structure()), (2, structure()), (3, structure())]);
    let timeout = StatusCode::BadTimeout;
    let mediator = &mut mediator();
    // Nothing was carried out: a fault.
    forward(mediator, &rights, 9, ServiceKind::Write, &body);
    assert_eq!(mediator.on_failure(9, timeout), Err(timeout));
    assert_eq!(mediator.outstanding(), 0);
    // The first was; the third is not sent any more.
    forward(mediator, &rights, 9, ServiceKind::Write, &body);
    next(mediator, &rights, &[StatusCode::Good]);
    let heard = mediator.on_failure(9, timeout).expect("results");
    assert_eq!(statuses(&heard), [StatusCode::Good, timeout, timeout]);
    assert_eq!(mediator.outstanding(), 0);
    // A lie in the second answer.
    forward(mediator, &rights, 9, ServiceKind::Write, &body);
    next(mediator, &rights, &[StatusCode::Good]);
    let unknown = StatusCode::BadUnknownResponse;
    assert_eq!(last(mediator, &rights, &[StatusCode::Good; 2]), [StatusCode::Good, unknown, unknown]);
    // Another service's answer to the second.
    forward(mediator, &rights, 9, ServiceKind::Write, &body);
    next(mediator, &rights, &[StatusCode::Good]);
    let MediatedReply::Pass(heard) = mediator.on_response(&rights, 9, ServiceKind::Read.response_id(), &[])
    else {
        panic!("results are told")
    };
    assert_eq!(statuses(&heard), [StatusCode::Good, unknown, unknown]);
}

#[test]
fn nothing_goes_upstream_where_no_part_is_granted() {
    let body = write(&[(1, structure()), (2, structure())]);
    let outcome = mediator().on_request(&may_write(&[]), 9, ServiceKind::Write.request_id(), &body);
    let MediatedRequest::Answer(body) = outcome else { panic!("{outcome:?}") };
    assert_eq!(statuses(&body), [StatusCode::BadNodeIdUnknown; 2]);
}

/// All entries of a request in parts count as long as it is under way.
#[test]
fn requests_in_parts_are_bounded_as_others_are() {
    let limits = MediatorLimits { outstanding_entries: 4, ..MediatorLimits::default() };
    let mut mediator = Mediator::new(limits, std::sync::Arc::new(NoTransfers));
    let body = write(&[(1, structure()), (2, structure()), (3, structure())]);
    forward(&mut mediator, &All, 9, ServiceKind::Write, &body);
    let two = write(&[(1, structure()), (2, structure())]);
    assert_eq!(refused(&mut mediator, 10, ServiceKind::Write, &two), StatusCode::BadTooManyOperations);
}

/// What is garbled is refused before any part of it is sent.
#[test]
fn a_request_is_sound_to_its_end_before_a_part_is_sent() {
    let body = write(&[(1, structure()), (2, structure())]);
    let status = refused(&mut mediator(), 9, ServiceKind::Write, &body[..body.len() - 1]);
    assert_eq!(status, StatusCode::BadDecodingError);
}

/// Calls and nodes to add are cut alike, and their results put together.
#[test]
fn calls_are_cut_too() {
    let call = |number, argument| CallMethodRequest {
        object_id: node(number),
        method_id: node(3),
        input_arguments: Some(vec![argument, Variant::from(1i32)]),
    };
    let body = request_body(&CallRequest {
        request_header: RequestHeader::dummy(),
        methods_to_call: Some(vec![call(1, structure()), call(2, structure())]),
    });
    let answer = |output: i32| {
        response_body(&CallResponse {
            response_header: ResponseHeader::null(),
            results: Some(vec![CallMethodResult {
                output_arguments: Some(vec![Variant::from(output)]),
                ..Default::default()
            }]),
            diagnostic_infos: None,
        })
    };
    let mut mediator = mediator();
    forward(&mut mediator, &All, 9, ServiceKind::Call, &body);
    let id = ServiceKind::Call.response_id();
    let MediatedReply::FollowUp(second) = mediator.on_response(&All, 9, id, &answer(1)) else {
        panic!("a part")
    };
    let second: CallRequest = request(&second.body);
    assert_eq!(second.methods_to_call.expect("calls")[0].object_id, node(2));
    let second = answer(2);
    let MediatedReply::Pass(heard) = mediator.on_response(&All, 9, id, &second) else {
        panic!("the results")
    };
    let heard: CallResponse = response(&heard);
    let outputs: Vec<_> =
        heard.results.expect("results").into_iter().map(|one| one.output_arguments).collect();
    assert_eq!(outputs, [Some(vec![Variant::from(1i32)]), Some(vec![Variant::from(2i32)])]);
}

/// Attributes of the standard are walked by their type: nodes are added many at a time.
#[test]
fn nodes_with_attributes_of_the_standard_are_added_together() {
    let item = |attributes: ExtensionObject| AddNodesItem {
        parent_node_id: node(1).into(),
        node_attributes: attributes,
        ..Default::default()
    };
    let variable = |value: Variant| VariableAttributes { value, ..Default::default() };
    let body = |attributes: Vec<ExtensionObject>| {
        request_body(&AddNodesRequest {
            request_header: RequestHeader::dummy(),
            nodes_to_add: Some(attributes.into_iter().map(item).collect()),
        })
    };
    let known = vec![
        ExtensionObject::from_message(variable(Variant::from(1i32))),
        ExtensionObject::from_message(ObjectAttributes::default()),
        ExtensionObject::from_message(MethodAttributes::default()),
        ExtensionObject::from_message(ObjectTypeAttributes::default()),
        ExtensionObject::from_message(VariableTypeAttributes::default()),
        ExtensionObject::from_message(DataTypeAttributes::default()),
        ExtensionObject::from_message(ViewAttributes::default()),
        ExtensionObject::null(),
    ];
    let together = body(known);
    let sent = forward(&mut mediator(), &All, 9, ServiceKind::AddNodes, &together);
    assert_eq!(sent, together);
    // A structure in the value; a type of which the attributes are not known.
    for alone in [
        ExtensionObject::from_message(variable(structure())),
        ExtensionObject::from_message(ReferenceTypeAttributes::default()),
    ] {
        let two = body(vec![alone.clone(), alone]);
        let sent: AddNodesRequest = request(&forward(&mut mediator(), &All, 9, ServiceKind::AddNodes, &two));
        assert_eq!(sent.nodes_to_add.map(|nodes| nodes.len()), Some(1));
    }
}

/// Who leaves the id to the server asks for the null id alone: with a namespace's URI, or in another server, it may be a node's.
#[test]
fn a_null_id_elsewhere_leaves_nothing_to_the_server() {
    let null = ExpandedNodeId::null();
    let sound = super::requests::add_nodes(null.clone());
    assert_eq!(forward(&mut mediator(), &All, 9, ServiceKind::AddNodes, &sound), sound);
    for elsewhere in [
        ExpandedNodeId { server_index: 1, ..null.clone() },
        ExpandedNodeId { namespace_uri: "urn:plant".into(), ..null },
    ] {
        let body = super::requests::add_nodes(elsewhere.clone());
        let answer = super::support::answered(&mut mediator(), &All, 9, ServiceKind::AddNodes, &body);
        let answer: AddNodesResponse = response(&answer);
        let status = answer.results.expect("results")[0].status_code;
        assert_eq!(status, StatusCode::BadNodeIdUnknown, "{elsewhere}");
    }
}

/// What stands before other data is walked by its type; other filters than those of the standard do not pass.
#[test]
fn filters_of_vendors_are_not_supported() {
    let filter = [&encode(&vendor_structure())[..], &[1, 8, 0, 0, 0], &[5; 8]].concat();
    let sound = super::requests::create_item(super::requests::OWN, &node(1), 13, ExtensionObject::null());
    // The filter stands before the queue size and the discard flag.
    let at = sound.len() - 5 - 3;
    let body = [&sound[..at], &filter, &sound[at + 3..]].concat();
    let mut mediator = mediator();
    super::table::with_subscription(&mut mediator);
    let answer = super::support::answered(&mut mediator, &All, 9, ServiceKind::CreateMonitoredItems, &body);
    let answer: CreateMonitoredItemsResponse = response(&answer);
    let status = answer.results.expect("results")[0].status_code;
    assert_eq!(status, StatusCode::BadMonitoredItemFilterUnsupported);
}

/// A literal of an event filter that holds a structure could hide an operand which looks at another node.
#[test]
fn literals_of_events_hold_no_structures() {
    let filter = |value: Variant| EventFilter {
        where_clause: ContentFilter {
            elements: Some(vec![ContentFilterElement {
                filter_operator: FilterOperator::Equals,
                filter_operands: Some(vec![ExtensionObject::from_message(LiteralOperand { value })]),
            }]),
        },
        ..super::requests::event_filter()
    };
    let status = |value| {
        let item = super::requests::create_item(
            super::requests::OWN,
            &node(1),
            12,
            ExtensionObject::from_message(filter(value)),
        );
        let mut mediator = mediator();
        super::table::with_subscription(&mut mediator);
        match mediator.on_request(&All, 9, ServiceKind::CreateMonitoredItems.request_id(), &item) {
            MediatedRequest::Forward(_) => StatusCode::Good,
            MediatedRequest::Answer(body) => {
                response::<CreateMonitoredItemsResponse>(&body).results.expect("results")[0].status_code
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(status(Variant::from(1i32)), StatusCode::Good);
    assert_eq!(status(structure()), StatusCode::BadFilterOperandInvalid);
}

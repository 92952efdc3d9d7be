//! Subscriptions that are not the session's, items that are not what they claim, subscriptions that move; one story each.

use std::sync::{Arc, Mutex};

use durward_opcua::gate::mediate::service::ServiceKind;
use durward_opcua::gate::mediate::{MediatedSubscription, Mediator, MediatorLimits, Owners};
use durward_opcua::permission::{Permission, SessionRights};
use opcua_types::*;

use super::answers::answer;
use super::requests::{ITEM, OWN, create_item, event_filter};
use super::scenarios::{LIE, fault, sample};
use super::support::{
    All, Grants, answered, forward, mediator, node, refused, reply, request, request_body, response,
    response_body,
};
use super::table::{samples, with_subscription};

fn message(handle: u32, value: i32) -> NotificationMessage {
    NotificationMessage {
        sequence_number: 1,
        publish_time: DateTime::epoch(),
        notification_data: Some(vec![ExtensionObject::from_message(DataChangeNotification {
            monitored_items: Some(vec![MonitoredItemNotification {
                client_handle: handle,
                value: DataValue::from(value),
            }]),
            diagnostic_infos: None,
        })]),
    }
}

fn publish_response(subscription: u32, message: NotificationMessage) -> Vec<u8> {
    response_body(&PublishResponse {
        response_header: ResponseHeader::null(),
        subscription_id: subscription,
        available_sequence_numbers: Some(vec![message.sequence_number]),
        more_notifications: false,
        notification_message: message,
        results: None,
        diagnostic_infos: None,
    })
}

#[test]
fn notifications_of_unknown_subscriptions_and_items_do_not_pass() {
    let publish = sample(ServiceKind::Publish);
    let mut mediator = mediator();
    with_subscription(&mut mediator);
    assert_eq!(
        fault(&mut mediator, &All, ServiceKind::Publish, &publish, &publish_response(OWN + 1, message(1, 1))),
        LIE
    );
    // The item's handle is 1. What comes under another handle, or is of an unknown kind, is not delivered.
    let mut unknown_kind = message(1, 1);
    unknown_kind.notification_data = Some(vec![
        ExtensionObject::from_message(Range { low: 0.0, high: 1.0 }),
        ExtensionObject::from_message(EventNotificationList {
            events: Some(vec![EventFieldList {
                client_handle: 1,
                event_fields: Some(vec![Variant::from(1), Variant::from(NodeId::null())]),
            }]),
        }),
    ]);
    for lie in [message(2, 1), unknown_kind] {
        forward(&mut mediator, &All, 7, ServiceKind::Publish, &publish);
        let answer = publish_response(OWN, lie);
        let got: PublishResponse = response(&reply(&mut mediator, &All, 7, ServiceKind::Publish, &answer));
        assert_eq!(got.notification_message.notification_data.unwrap_or_default(), []);
        assert_eq!(got.notification_message.sequence_number, 1, "a keep alive tells the next number");
        assert_eq!(got.available_sequence_numbers.unwrap_or_default(), [0; 0]);
        // The gate acknowledges it with the next request; the server's result of that is not the client's.
        let sent: PublishRequest = request(&forward(&mut mediator, &All, 8, ServiceKind::Publish, &publish));
        assert_eq!(sent.subscription_acknowledgements.map(|acks| acks.len()), Some(1));
        mediator.on_fault(8);
    }
    forward(&mut mediator, &All, 7, ServiceKind::Publish, &publish);
    let got: PublishResponse =
        response(&reply(&mut mediator, &All, 7, ServiceKind::Publish, &publish_response(OWN, message(1, 5))));
    let data = got.notification_message.notification_data.expect("data").remove(0);
    let changes = *data.into_inner_as::<DataChangeNotification>().expect("changes");
    assert_eq!(changes.monitored_items.expect("items")[0].client_handle, 5, "the client's own handle");
}

#[test]
fn items_that_failed_deliver_nothing() {
    let publish = sample(ServiceKind::Publish);
    let create = create_item(OWN, &node(1), 13, ExtensionObject::null());
    let failed = response_body(&CreateMonitoredItemsResponse {
        response_header: ResponseHeader::null(),
        results: Some(vec![MonitoredItemCreateResult {
            status_code: StatusCode::BadMonitoredItemFilterUnsupported,
            ..Default::default()
        }]),
        diagnostic_infos: None,
    });
    let mut mediator = mediator();
    with_subscription(&mut mediator);
    forward(&mut mediator, &All, 3, ServiceKind::CreateMonitoredItems, &create);
    reply(&mut mediator, &All, 3, ServiceKind::CreateMonitoredItems, &failed);
    forward(&mut mediator, &All, 4, ServiceKind::CreateMonitoredItems, &create);
    mediator.on_fault(4);
    forward(&mut mediator, &All, 5, ServiceKind::CreateMonitoredItems, &create);
    assert_eq!(mediator.on_response(&All, 5, ServiceKind::CreateMonitoredItems.response_id(), &[1]), LIE);
    for handle in [2, 3, 4] {
        forward(&mut mediator, &All, 6, ServiceKind::Publish, &publish);
        let answer = publish_response(OWN, message(handle, 1));
        let got: PublishResponse = response(&reply(&mut mediator, &All, 6, ServiceKind::Publish, &answer));
        assert_eq!(got.notification_message.notification_data.unwrap_or_default(), [], "handle {handle}");
        mediator.on_fault(6);
        forward(&mut mediator, &All, 6, ServiceKind::Publish, &publish);
        mediator.on_fault(6);
    }
}

#[test]
fn an_event_filter_gets_the_source_and_its_result_loses_it() {
    let mut mediator = mediator();
    with_subscription(&mut mediator);
    let create = create_item(OWN, &node(1), 12, ExtensionObject::from_message(event_filter()));
    let sent: CreateMonitoredItemsRequest =
        request(&forward(&mut mediator, &All, 3, ServiceKind::CreateMonitoredItems, &create));
    let filter = sent.items_to_create.expect("items").remove(0).requested_parameters.filter;
    let filter = *filter.into_inner_as::<EventFilter>().expect("a filter");
    let clauses = filter.select_clauses.expect("clauses");
    assert_eq!(clauses.len(), 2);
    assert_eq!(clauses[1].browse_path, Some(vec![QualifiedName::new(0, "SourceNode")]));
    let got = reply(
        &mut mediator,
        &All,
        3,
        ServiceKind::CreateMonitoredItems,
        &answer(ServiceKind::CreateMonitoredItems),
    );
    let got: CreateMonitoredItemsResponse = response(&got);
    let result = got.results.expect("results").remove(0).filter_result;
    let result = *result.into_inner_as::<EventFilterResult>().expect("a result");
    assert_eq!(result.select_clause_results, Some(vec![StatusCode::Good]));
}

/// A filter could ask yes-or-no questions about nodes that may not be read.
#[test]
fn event_filters_look_at_nothing_but_the_event() {
    let element = |filter_operator, operand| {
        let mut filter = event_filter();
        filter.where_clause.elements =
            Some(vec![ContentFilterElement { filter_operator, filter_operands: Some(vec![operand]) }]);
        filter
    };
    let literal = || ExtensionObject::from_message(LiteralOperand { value: Variant::from(node(9)) });
    let of_node = ExtensionObject::from_message(AttributeOperand {
        node_id: node(9),
        alias: UAString::null(),
        browse_path: RelativePath { elements: None },
        attribute_id: 13,
        index_range: NumericRange::None,
    });
    let mut nothing = event_filter();
    nothing.select_clauses = None;
    for (filter, status) in [
        (element(FilterOperator::Equals, of_node), StatusCode::BadFilterOperandInvalid),
        (element(FilterOperator::InView, literal()), StatusCode::BadFilterOperatorUnsupported),
        (element(FilterOperator::RelatedTo, literal()), StatusCode::BadFilterOperatorUnsupported),
        (nothing, StatusCode::BadEventFilterInvalid),
    ] {
        let mut mediator = mediator();
        with_subscription(&mut mediator);
        let create = create_item(OWN, &node(1), 12, ExtensionObject::from_message(filter));
        let outcome = answered(&mut mediator, &All, 3, ServiceKind::CreateMonitoredItems, &create);
        let got: CreateMonitoredItemsResponse = response(&outcome);
        assert_eq!(got.results.expect("results")[0].status_code, status);
    }
    // An item for values has no such filter, and one for events no other.
    for (attribute, filter, status) in [
        (13, ExtensionObject::from_message(event_filter()), StatusCode::BadFilterNotAllowed),
        (12, ExtensionObject::null(), StatusCode::BadMonitoredItemFilterInvalid),
    ] {
        let mut mediator = mediator();
        with_subscription(&mut mediator);
        let create = create_item(OWN, &node(1), attribute, filter);
        let outcome = answered(&mut mediator, &All, 3, ServiceKind::CreateMonitoredItems, &create);
        let got: CreateMonitoredItemsResponse = response(&outcome);
        assert_eq!(got.results.expect("results")[0].status_code, status);
    }
}

#[test]
fn lists_of_items_are_told_in_the_clients_handles() {
    let call = samples().into_iter().find(|(service, body)| {
        let server: NodeId = MethodId::Server_GetMonitoredItems.into();
        *service == ServiceKind::Call && {
            let call: CallRequest = request(body);
            call.methods_to_call.expect("calls")[0].method_id == server
        }
    });
    let mut mediator = mediator();
    with_subscription(&mut mediator);
    forward(&mut mediator, &All, 3, ServiceKind::Call, &call.expect("a sample").1);
    // The server lists the item, and one that is not this session's.
    let answer = response_body(&CallResponse {
        response_header: ResponseHeader::null(),
        results: Some(vec![CallMethodResult {
            output_arguments: Some(vec![Variant::from(vec![ITEM, 999u32]), Variant::from(vec![1u32, 42])]),
            ..Default::default()
        }]),
        diagnostic_infos: None,
    });
    let got: CallResponse = response(&reply(&mut mediator, &All, 3, ServiceKind::Call, &answer));
    let outputs = got.results.expect("results").remove(0).output_arguments;
    assert_eq!(outputs, Some(vec![Variant::from(vec![ITEM]), Variant::from(vec![5u32])]));
}

/// Two sessions of one gate.
#[derive(Clone)]
struct Pair {
    first: Arc<Mutex<Option<Mediator>>>,
    same_user: bool,
}

impl Owners for Pair {
    fn may_take(&self, _: u32) -> bool {
        self.same_user
    }

    fn take(&self, id: u32) -> Option<MediatedSubscription> {
        self.first.lock().expect("no panic").as_mut()?.release(id)
    }
}

fn pair(same_user: bool) -> (Pair, Mediator) {
    let mut first = mediator();
    with_subscription(&mut first);
    forward(&mut first, &All, 7, ServiceKind::Publish, &sample(ServiceKind::Publish));
    reply(&mut first, &All, 7, ServiceKind::Publish, &publish_response(OWN, message(1, 1)));
    let pair = Pair { first: Arc::new(Mutex::new(Some(first))), same_user };
    let second = Mediator::new(MediatorLimits::default(), Arc::new(pair.clone()));
    (pair, second)
}

#[test]
fn a_subscription_moves_with_its_items_and_numbers_and_is_checked_again() {
    let transfer = sample(ServiceKind::TransferSubscriptions);
    let (pair, mut second) = pair(true);
    forward(&mut second, &All, 1, ServiceKind::TransferSubscriptions, &transfer);
    let transferred = answer(ServiceKind::TransferSubscriptions);
    let got: TransferSubscriptionsResponse =
        response(&reply(&mut second, &All, 1, ServiceKind::TransferSubscriptions, &transferred));
    assert_eq!(got.results.expect("results")[0].available_sequence_numbers, Some(vec![1]));
    // The second session gets the values, under the client's handle, and only as long as its own rights say so.
    let publish = sample(ServiceKind::Publish);
    for (rights, count) in [(&All as &dyn SessionRights, 1), (&Grants::default(), 0)] {
        forward(&mut second, rights, 2, ServiceKind::Publish, &publish);
        let body = publish_response(OWN, message(1, 2));
        let got: PublishResponse = response(&reply(&mut second, rights, 2, ServiceKind::Publish, &body));
        assert_eq!(got.notification_message.notification_data.unwrap_or_default().len(), count);
    }
    // The first session is told that it has gone, and nothing else of it.
    let mut first = pair.first.lock().expect("no panic").take().expect("a mediator");
    let gone = NotificationMessage {
        notification_data: Some(vec![ExtensionObject::from_message(StatusChangeNotification {
            status: StatusCode::GoodSubscriptionTransferred,
            diagnostic_info: DiagnosticInfo::null(),
        })]),
        ..message(1, 1)
    };
    forward(&mut first, &All, 2, ServiceKind::Publish, &publish);
    let body = publish_response(OWN, gone);
    let got: PublishResponse = response(&reply(&mut first, &All, 2, ServiceKind::Publish, &body));
    assert_eq!(got.notification_message.notification_data.map(|data| data.len()), Some(1));
    let body = publish_response(OWN, message(1, 3));
    assert_eq!(fault(&mut first, &All, ServiceKind::Publish, &publish, &body), LIE);
}

#[test]
fn subscriptions_of_others_cannot_be_taken() {
    let transfer = sample(ServiceKind::TransferSubscriptions);
    let (_, mut second) = pair(false);
    let got = answered(&mut second, &All, 1, ServiceKind::TransferSubscriptions, &transfer);
    let got: TransferSubscriptionsResponse = response(&got);
    assert_eq!(got.results.expect("results")[0].status_code, StatusCode::BadSubscriptionIdInvalid);
    // Allowed when it was asked, gone when the server had done it.
    let (pair, mut second) = pair_that_loses();
    forward(&mut second, &All, 1, ServiceKind::TransferSubscriptions, &transfer);
    *pair.first.lock().expect("no panic") = None;
    let got = reply(
        &mut second,
        &All,
        1,
        ServiceKind::TransferSubscriptions,
        &answer(ServiceKind::TransferSubscriptions),
    );
    let got: TransferSubscriptionsResponse = response(&got);
    assert_eq!(got.results.expect("results")[0].status_code, StatusCode::BadSubscriptionIdInvalid);
    let body = publish_response(OWN, message(1, 3));
    assert_eq!(fault(&mut second, &All, ServiceKind::Publish, &sample(ServiceKind::Publish), &body), LIE);
}

fn pair_that_loses() -> (Pair, Mediator) {
    pair(true)
}

#[test]
fn a_changed_item_is_told_under_its_new_handle() {
    let mut mediator = mediator();
    with_subscription(&mut mediator);
    let mut modify: ModifyMonitoredItemsRequest = request(&sample(ServiceKind::ModifyMonitoredItems));
    modify.items_to_modify.as_mut().expect("items")[0].requested_parameters.client_handle = 77;
    let sent = forward(&mut mediator, &All, 3, ServiceKind::ModifyMonitoredItems, &request_body(&modify));
    let sent: ModifyMonitoredItemsRequest = request(&sent);
    assert_eq!(
        sent.items_to_modify.expect("items")[0].requested_parameters.client_handle,
        1,
        "the gate's own"
    );
    reply(
        &mut mediator,
        &All,
        3,
        ServiceKind::ModifyMonitoredItems,
        &answer(ServiceKind::ModifyMonitoredItems),
    );
    forward(&mut mediator, &All, 4, ServiceKind::Publish, &sample(ServiceKind::Publish));
    let got: PublishResponse =
        response(&reply(&mut mediator, &All, 4, ServiceKind::Publish, &publish_response(OWN, message(1, 1))));
    let data = got.notification_message.notification_data.expect("data").remove(0);
    let changes = *data.into_inner_as::<DataChangeNotification>().expect("changes");
    assert_eq!(changes.monitored_items.expect("items")[0].client_handle, 77);
}

#[test]
fn a_subscription_that_timed_out_is_gone() {
    let mut mediator = mediator();
    with_subscription(&mut mediator);
    let timed_out = NotificationMessage {
        notification_data: Some(vec![ExtensionObject::from_message(StatusChangeNotification {
            status: StatusCode::BadTimeout,
            diagnostic_info: DiagnosticInfo::null(),
        })]),
        ..message(1, 1)
    };
    forward(&mut mediator, &All, 4, ServiceKind::Publish, &sample(ServiceKind::Publish));
    let body = publish_response(OWN, timed_out);
    let got: PublishResponse = response(&reply(&mut mediator, &All, 4, ServiceKind::Publish, &body));
    assert_eq!(
        got.notification_message.notification_data.map(|data| data.len()),
        Some(1),
        "the client is told"
    );
    let status = refused(&mut mediator, 5, ServiceKind::SetTriggering, &sample(ServiceKind::SetTriggering));
    assert_eq!(status, StatusCode::BadSubscriptionIdInvalid);
}

#[test]
fn a_closed_session_leaves_its_subscriptions_whole() {
    let mut closed = mediator();
    with_subscription(&mut closed);
    let left = closed.release_all();
    assert_eq!(left.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [OWN]);
    assert_eq!(closed.release_all().len(), 0);
}

/// Some servers give no results of acknowledgements. Whose they are is not the server's to say.
#[test]
fn acknowledgements_need_no_results_and_are_only_of_own_messages() {
    let mut mediator = mediator();
    with_subscription(&mut mediator);
    forward(&mut mediator, &All, 4, ServiceKind::Publish, &sample(ServiceKind::Publish));
    reply(&mut mediator, &All, 4, ServiceKind::Publish, &publish_response(OWN, message(1, 1)));
    let acknowledge =
        |subscription_id, sequence_number| SubscriptionAcknowledgement { subscription_id, sequence_number };
    let body = request_body(&PublishRequest {
        request_header: RequestHeader::dummy(),
        subscription_acknowledgements: Some(vec![
            acknowledge(OWN + 1, 1),
            acknowledge(OWN, 1),
            acknowledge(OWN, 2),
        ]),
    });
    let sent: PublishRequest = request(&forward(&mut mediator, &All, 5, ServiceKind::Publish, &body));
    assert_eq!(sent.subscription_acknowledgements, Some(vec![acknowledge(OWN, 1)]));
    let body = publish_response(OWN, message(1, 2));
    let got: PublishResponse = response(&reply(&mut mediator, &All, 5, ServiceKind::Publish, &body));
    let expected =
        [StatusCode::BadSubscriptionIdInvalid, StatusCode::Good, StatusCode::BadSequenceNumberUnknown];
    assert_eq!(got.results.as_deref(), Some(&expected[..]));
}

#[test]
fn another_message_than_was_asked_for_again_is_a_lie() {
    let mut mediator = mediator();
    with_subscription(&mut mediator);
    forward(&mut mediator, &All, 4, ServiceKind::Publish, &sample(ServiceKind::Publish));
    reply(&mut mediator, &All, 4, ServiceKind::Publish, &publish_response(OWN, message(1, 1)));
    let republish = sample(ServiceKind::Republish);
    let again = |sequence_number| {
        response_body(&RepublishResponse {
            response_header: ResponseHeader::null(),
            notification_message: NotificationMessage { sequence_number, ..message(1, 1) },
        })
    };
    assert_ne!(fault(&mut mediator, &All, ServiceKind::Republish, &republish, &again(1)), LIE);
    assert_eq!(fault(&mut mediator, &All, ServiceKind::Republish, &republish, &again(2)), LIE);
}

/// Rights are told in notifications as they are in reads.
#[test]
fn a_monitored_access_level_tells_the_effective_right() {
    let grants = Grants::of(&[(Permission::Browse, node(1)), (Permission::Read, node(1))]);
    let mut mediator = mediator();
    with_subscription(&mut mediator);
    let create = create_item(OWN, &node(1), AttributeId::UserAccessLevel as u32, ExtensionObject::null());
    forward(&mut mediator, &grants, 3, ServiceKind::CreateMonitoredItems, &create);
    reply(
        &mut mediator,
        &grants,
        3,
        ServiceKind::CreateMonitoredItems,
        &answer(ServiceKind::CreateMonitoredItems),
    );
    let change = MonitoredItemNotification { client_handle: 2, value: DataValue::from(Variant::Byte(0x0f)) };
    let told = NotificationMessage {
        notification_data: Some(vec![ExtensionObject::from_message(DataChangeNotification {
            monitored_items: Some(vec![change]),
            diagnostic_infos: None,
        })]),
        ..message(1, 1)
    };
    forward(&mut mediator, &grants, 4, ServiceKind::Publish, &sample(ServiceKind::Publish));
    let body = publish_response(OWN, told);
    let got: PublishResponse = response(&reply(&mut mediator, &grants, 4, ServiceKind::Publish, &body));
    let data = got.notification_message.notification_data.expect("data").remove(0);
    let changes = *data.into_inner_as::<DataChangeNotification>().expect("changes");
    let value = changes.monitored_items.expect("items").remove(0).value.value;
    assert_eq!(value, Some(Variant::Byte(0x01)));
}

/// The client's own mode, set when its right was back, is not set again by the gate; the mode that it set before is.
#[test]
fn an_item_whose_right_comes_back_has_the_mode_that_the_client_wants() {
    let nobody = Grants::default();
    let mut mediator = mediator();
    with_subscription(&mut mediator);
    let mut set: SetMonitoringModeRequest = request(&sample(ServiceKind::SetMonitoringMode));
    let mut set_mode = |mediator: &mut Mediator, mode| {
        set.monitoring_mode = mode;
        forward(mediator, &All, 3, ServiceKind::SetMonitoringMode, &request_body(&set));
        mediator.on_fault(3);
    };
    let modes = |mediator: &mut Mediator, rights: &dyn SessionRights| -> Vec<MonitoringMode> {
        let sent = mediator.on_rights_changed(rights);
        sent.iter().map(|sent| request::<SetMonitoringModeRequest>(&sent.body).monitoring_mode).collect()
    };
    set_mode(&mut mediator, MonitoringMode::Sampling);
    assert_eq!(modes(&mut mediator, &nobody), [MonitoringMode::Disabled]);
    assert_eq!(modes(&mut mediator, &All), [MonitoringMode::Sampling]);
    assert_eq!(modes(&mut mediator, &nobody), [MonitoringMode::Disabled]);
    set_mode(&mut mediator, MonitoringMode::Reporting);
    assert_eq!(modes(&mut mediator, &All), []);
}

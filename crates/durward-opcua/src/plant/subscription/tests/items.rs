//! Monitored items: sampling, queues, filters, modes.

use opcua_types::{
    AttributeId, DataChangeFilter, DataChangeTrigger, DeleteMonitoredItemsRequest,
    DeleteMonitoredItemsResponse, EventFilter, ExtensionObject, ModifyMonitoredItemsRequest,
    ModifyMonitoredItemsResponse, MonitoredItemModifyRequest, MonitoringMode, MonitoringParameters, NodeId,
    ReadValueId, SetMonitoringModeRequest, SetMonitoringModeResponse, StatusCode, TimestampsToReturn,
    WriteValue,
};

use super::{changes, node, numbers, sampled, still};
use crate::authority::MethodCaller;
use crate::permission::{Permission, PermissionRuling};
use crate::plant::test_client::{BEGIN, TestClient};
use crate::plant::{AccessGuard, limits};

/// Sets these values, each sampled, and gives what was published then.
fn sampled_values(client: &mut TestClient, values: &[f64]) -> Vec<(f64, bool)> {
    for value in values {
        client.set("a", *value);
        client.run(10);
    }
    client.publish();
    client.run(100);
    let message = client.message();
    let overflow = |value: &opcua_types::DataValue| value.status.is_some_and(|status| status.overflow());
    numbers(&message).into_iter().zip(changes(&message).iter().map(|(_, value)| overflow(value))).collect()
}

#[test]
fn a_full_queue_drops_the_oldest_or_the_newest_and_marks_it() {
    let cases = [
        (3, true, vec![(2.0, true), (3.0, false), (4.0, false)]),
        (3, false, vec![(0.0, false), (1.0, false), (4.0, true)]),
        (5, true, vec![(0.0, false), (1.0, false), (2.0, false), (3.0, false), (4.0, false)]),
        (1, true, vec![(4.0, false)]),
        (1, false, vec![(4.0, false)]),
        (0, true, vec![(4.0, false)]),
    ];
    for (queue, discard_oldest, expected) in cases {
        let mut client = still();
        let id = client.subscribe(100, 5);
        client.watch(id, "a", 1, queue, discard_oldest);
        client.run(10);
        assert_eq!(
            sampled_values(&mut client, &[1.0, 2.0, 3.0, 4.0]),
            expected,
            "queue of {queue}, {discard_oldest}"
        );
    }
}

#[test]
fn only_changes_are_told() {
    let mut client = still();
    let id = client.subscribe(100, 50);
    client.watch(id, "a", 7, 10, true);
    client.run(10);
    assert_eq!(
        sampled_values(&mut client, &[1.0, 1.0, 2.0, 2.0]),
        [(0.0, false), (1.0, false), (2.0, false)]
    );
    client.publish();
    client.run(1_000);
    assert_eq!(client.published(), []);
}

fn deadband(deadband_type: u32, deadband_value: f64) -> ExtensionObject {
    ExtensionObject::new(DataChangeFilter {
        trigger: DataChangeTrigger::StatusValue,
        deadband_type,
        deadband_value,
    })
}

#[test]
fn an_absolute_deadband_hides_small_changes() {
    let mut client = still();
    let id = client.subscribe(100, 5);
    client.create(id, ReadValueId::new_value(node("a")), sampled(1, 10, true, deadband(1, 0.5))).unwrap();
    client.run(10);
    let seen: Vec<f64> =
        sampled_values(&mut client, &[0.5, 0.51, 0.9, 1.02]).into_iter().map(|(value, _)| value).collect();
    assert_eq!(seen, [0.0, 0.51, 1.02], "from the last value that was told, by more than the deadband");
}

#[test]
fn a_trigger_by_timestamp_tells_of_values_that_stay() {
    let mut client = still();
    let id = client.subscribe(100, 5);
    let trigger = DataChangeTrigger::StatusValueTimestamp;
    let filter = ExtensionObject::new(DataChangeFilter { trigger, deadband_type: 0, deadband_value: 0.0 });
    client.create(id, ReadValueId::new_value(node("a")), sampled(1, 10, true, filter)).unwrap();
    client.run(10);
    assert_eq!(sampled_values(&mut client, &[1.0, 1.0]).len(), 3);
}

#[test]
fn items_that_cannot_be_are_refused() {
    let mut client = TestClient::boiler();
    let id = client.subscribe(100, 5);
    let temperature = client.plant("Boiler.Temperature");
    let mode = client.plant("Boiler.Mode");
    let parameters = |filter| sampled(1, 1, true, filter);
    let value = |node: &NodeId| ReadValueId::new_value(node.clone());
    let name = ReadValueId::new(temperature.clone(), AttributeId::DisplayName);
    let events = ExtensionObject::new(EventFilter::default());
    let aggregate = ExtensionObject::new(opcua_types::Range { low: 0.0, high: 1.0 });
    let cases = [
        (value(&NodeId::new(9, "x")), ExtensionObject::null(), StatusCode::BadNodeIdUnknown),
        (
            ReadValueId { attribute_id: 77, ..value(&mode) },
            ExtensionObject::null(),
            StatusCode::BadAttributeIdInvalid,
        ),
        (name.clone(), ExtensionObject::null(), StatusCode::Good),
        (name, deadband(1, 1.0), StatusCode::BadFilterNotAllowed),
        (value(&mode), deadband(0, 0.0), StatusCode::Good),
        (value(&mode), deadband(1, 1.0), StatusCode::BadFilterNotAllowed),
        (value(&mode), events, StatusCode::BadFilterNotAllowed),
        (value(&mode), aggregate, StatusCode::BadMonitoredItemFilterUnsupported),
        (value(&temperature), deadband(1, -1.0), StatusCode::BadDeadbandFilterInvalid),
        (value(&temperature), deadband(1, f64::NAN), StatusCode::BadDeadbandFilterInvalid),
        (value(&temperature), deadband(2, 100.0), StatusCode::Good),
        (value(&temperature), deadband(2, 100.1), StatusCode::BadDeadbandFilterInvalid),
        (value(&temperature), deadband(3, 1.0), StatusCode::BadDeadbandFilterInvalid),
    ];
    for (what, filter, status) in cases {
        let result = client.create(id, what.clone(), parameters(filter.clone())).unwrap();
        assert_eq!(result.status_code, status, "{what:?} {filter:?}");
    }
    let unknown = client.create(id + 1, value(&mode), parameters(ExtensionObject::null()));
    assert_eq!(unknown.unwrap_err(), StatusCode::BadSubscriptionIdInvalid);
}

#[test]
fn intervals_and_queues_are_revised() {
    let mut client = still();
    let id = client.subscribe(100, 5);
    let mut ask = |sampling_interval, queue_size| {
        let parameters =
            MonitoringParameters { sampling_interval, queue_size, ..MonitoringParameters::default() };
        let result = client.create(id, ReadValueId::new_value(node("a")), parameters).unwrap();
        (result.revised_sampling_interval, result.revised_queue_size)
    };
    assert_eq!(ask(-1.0, 0), (100.0, 1), "that of the subscription");
    assert_eq!(ask(0.0, 1), (10.0, 1));
    assert_eq!(ask(f64::NAN, 2), (10.0, 2));
    assert_eq!(ask(1e12, u32::MAX), (3_600_000.0, limits::QUEUE_MAX));
}

#[test]
fn places_in_queues_are_bounded_and_come_back() {
    let mut client = still();
    let id = client.subscribe(100, 5);
    let parameters = || sampled(1, limits::QUEUE_MAX, true, ExtensionObject::null());
    let items: Vec<u32> = (0..limits::QUEUED_MAX / limits::QUEUE_MAX as usize)
        .map(|_| {
            client.create(id, ReadValueId::new_value(node("a")), parameters()).unwrap().monitored_item_id
        })
        .collect();
    let status = |client: &mut TestClient| {
        client.create(id, ReadValueId::new_value(node("a")), parameters()).unwrap().status_code
    };
    assert_eq!(status(&mut client), StatusCode::BadTooManyMonitoredItems);
    let request = DeleteMonitoredItemsRequest {
        subscription_id: id,
        monitored_item_ids: Some(vec![items[0], u32::MAX]),
        ..DeleteMonitoredItemsRequest::default()
    };
    let deleted: DeleteMonitoredItemsResponse = client.ask(&request).unwrap();
    assert_eq!(deleted.results, Some(vec![StatusCode::Good, StatusCode::BadMonitoredItemIdInvalid]));
    assert_eq!(status(&mut client), StatusCode::Good);
    client.delete(id);
    assert_eq!(client.server.subscriptions.reserved, 0);
}

fn set_mode(client: &mut TestClient, subscription_id: u32, item: u32, monitoring_mode: MonitoringMode) {
    let request = SetMonitoringModeRequest {
        subscription_id,
        monitoring_mode,
        monitored_item_ids: Some(vec![item]),
        ..SetMonitoringModeRequest::default()
    };
    let response: SetMonitoringModeResponse = client.ask(&request).unwrap();
    assert_eq!(response.results, Some(vec![StatusCode::Good]));
}

#[test]
fn what_is_sampled_is_told_when_it_is_reported() {
    let mut client = still();
    let id = client.subscribe(100, 2);
    let item = client.watch(id, "a", 1, 10, true);
    set_mode(&mut client, id, item, MonitoringMode::Sampling);
    client.run(10);
    assert_eq!(sampled_values(&mut client, &[1.0]), [], "only a keep alive");
    set_mode(&mut client, id, item, MonitoringMode::Reporting);
    client.publish();
    client.run(100);
    assert_eq!(numbers(&client.message()), [0.0, 1.0]);
    set_mode(&mut client, id, item, MonitoringMode::Disabled);
    client.set("a", 2.0);
    client.run(100);
    client.set("a", 3.0);
    set_mode(&mut client, id, item, MonitoringMode::Reporting);
    client.publish();
    client.run(100);
    assert_eq!(numbers(&client.message()), [3.0], "it begins with the value there is then");
}

#[test]
fn a_modified_item_keeps_what_fits() {
    let mut client = still();
    let id = client.subscribe(100, 5);
    let item = client.watch(id, "a", 1, 10, true);
    client.run(10);
    for value in [1.0, 2.0, 3.0] {
        client.set("a", value);
        client.run(10);
    }
    let modify = |item| ModifyMonitoredItemsRequest {
        subscription_id: id,
        timestamps_to_return: TimestampsToReturn::Both,
        items_to_modify: Some(vec![MonitoredItemModifyRequest {
            monitored_item_id: item,
            requested_parameters: sampled(9, 2, true, ExtensionObject::null()),
        }]),
        ..ModifyMonitoredItemsRequest::default()
    };
    let result =
        client.ask::<_, ModifyMonitoredItemsResponse>(&modify(item)).unwrap().results.unwrap().pop().unwrap();
    assert_eq!((result.status_code, result.revised_queue_size), (StatusCode::Good, 2));
    let unknown = client
        .ask::<_, ModifyMonitoredItemsResponse>(&modify(item + 1))
        .unwrap()
        .results
        .unwrap()
        .pop()
        .unwrap();
    assert_eq!(unknown.status_code, StatusCode::BadMonitoredItemIdInvalid);
    client.publish();
    client.run(100);
    let message = client.message();
    assert_eq!(numbers(&message), [2.0, 3.0]);
    assert!(changes(&message).iter().all(|(handle, _)| *handle == 9));
    assert_eq!(client.server.subscriptions.reserved, 2);
}

/// Only the user of that name may read.
struct OnlyFor(&'static str);

impl AccessGuard for OnlyFor {
    fn rule(&self, caller: &MethodCaller, permission: Permission, _node: &NodeId) -> PermissionRuling {
        let allowed = caller.user == crate::authority::CallerUser::Name(self.0.into());
        if permission != Permission::Read || allowed {
            PermissionRuling::Granted
        } else {
            PermissionRuling::DENIED
        }
    }
}

#[test]
fn after_a_change_of_user_nothing_sampled_for_the_earlier_one_is_told() {
    let server = crate::plant::boiler("urn:test:server", 0, BEGIN).unwrap().with_guard(OnlyFor("anna"));
    let mut client = TestClient::new(server);
    let id = client.subscribe(100, 5);
    let mode = client.plant("Boiler.Mode");
    client
        .create(id, ReadValueId::new_value(mode.clone()), sampled(1, 5, true, ExtensionObject::null()))
        .unwrap();
    client.run(50);
    client.caller = crate::plant::test_client::caller(1, "bert");
    client.server.change_user(&client.caller);
    client.publish();
    client.run(100);
    let seen = changes(&client.message());
    assert_eq!(
        seen.iter().map(|(_, value)| (value.value.clone(), value.status())).collect::<Vec<_>>(),
        [(None, StatusCode::BadUserAccessDenied)]
    );
    let refused = client
        .create(id, ReadValueId::new_value(mode), sampled(1, 5, true, ExtensionObject::null()))
        .unwrap();
    assert_eq!(refused.status_code, StatusCode::BadUserAccessDenied);
}

#[test]
fn writes_are_seen_by_those_who_watch() {
    let mut client = TestClient::boiler();
    let id = client.subscribe(100, 5);
    let mode = client.plant("Boiler.Mode");
    client
        .create(id, ReadValueId::new_value(mode.clone()), sampled(1, 5, true, ExtensionObject::null()))
        .unwrap();
    client.run(10);
    client.write(WriteValue::value_attr(mode, "Manual".into()));
    client.publish();
    client.run(100);
    let seen: Vec<_> =
        changes(&client.message()).into_iter().map(|(_, value)| value.value.unwrap()).collect();
    assert_eq!(seen, ["Automatic", "Manual"].map(opcua_types::Variant::from));
}

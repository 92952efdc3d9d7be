//! Subscriptions: random items, random notifications, rights that come and go. Nothing is delivered without the right of that moment, everything
//! else is, and the client's sequence numbers have no gaps.

use std::collections::{BTreeMap, HashMap};

use durward_opcua::gate::mediate::service::ServiceKind;
use durward_opcua::gate::mediate::{MediatedReply, Mediator};
use durward_opcua::permission::Permission;
use opcua_types::*;

use super::requests::{create_item, event_filter};
use super::support::{
    Chance, Grants, answered, forward, mediator, node, refusal, reply, request, request_body, response,
    response_body,
};

const SUBSCRIPTION: u32 = 70;
const NODES: u32 = 6;

/// An item, as client and server know it.
#[derive(Clone, Copy, Debug)]
struct Item {
    node: u32,
    is_for_events: bool,
    client_handle: u32,
    gate_handle: u32,
}

impl Item {
    fn permission(&self) -> Permission {
        if self.is_for_events { Permission::ReceiveEvents } else { Permission::Read }
    }
}

/// One thing that the server tells.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    Value(i32),
    /// The event's number and its source.
    Event(i32, u32),
}

struct World {
    chance: Chance,
    grants: Grants,
    mediator: Mediator,
    items: Vec<Item>,
    /// The server's messages that can be asked for again, by its sequence numbers.
    kept: BTreeMap<u32, Vec<(Item, Told)>>,
    /// The client's numbers of the server's messages, of those that it got.
    got_as: HashMap<u32, u32>,
    sequence: u32,
    told: i32,
    request_id: u32,
    /// The client: what it got under which sequence number, not yet acknowledged.
    got: Vec<u32>,
    client_next: u32,
}

fn create_subscription(mediator: &mut Mediator, grants: &Grants) {
    let body = request_body(&CreateSubscriptionRequest {
        request_header: RequestHeader::dummy(),
        requested_publishing_interval: 100.0,
        requested_lifetime_count: 100,
        requested_max_keep_alive_count: 10,
        max_notifications_per_publish: 0,
        publishing_enabled: true,
        priority: 0,
    });
    forward(mediator, grants, 1, ServiceKind::CreateSubscription, &body);
    let body = response_body(&CreateSubscriptionResponse {
        response_header: ResponseHeader::null(),
        subscription_id: SUBSCRIPTION,
        revised_publishing_interval: 100.0,
        revised_lifetime_count: 100,
        revised_max_keep_alive_count: 10,
    });
    reply(mediator, grants, 1, ServiceKind::CreateSubscription, &body);
}

impl World {
    fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let mut grants = Grants::default();
        for number in 1..=NODES {
            for permission in [Permission::Read, Permission::ReceiveEvents, Permission::Browse] {
                if chance.happens(70) {
                    grants.grant(permission, &node(number));
                }
            }
        }
        let mut mediator = mediator();
        create_subscription(&mut mediator, &grants);
        World {
            chance,
            grants,
            mediator,
            items: Vec::new(),
            kept: BTreeMap::new(),
            got_as: HashMap::new(),
            sequence: 0,
            told: 0,
            request_id: 10,
            got: Vec::new(),
            client_next: 1,
        }
    }

    fn random_item(&mut self) -> (Item, MonitoredItemCreateRequest) {
        let number = 1 + self.chance.below(NODES as usize) as u32;
        let is_for_events = self.chance.happens(40);
        let (attribute, filter) = if is_for_events {
            (12, ExtensionObject::from_message(event_filter()))
        } else {
            (13, ExtensionObject::null())
        };
        // All items of a client may have one handle.
        let client_handle = self.chance.below(3) as u32;
        let asked: CreateMonitoredItemsRequest =
            request(&create_item(SUBSCRIPTION, &node(number), attribute, filter));
        let mut create = asked.items_to_create.expect("an item").remove(0);
        create.requested_parameters.client_handle = client_handle;
        (Item { node: number, is_for_events, client_handle, gate_handle: 0 }, create)
    }

    /// Several at once, of which some are refused by the gate and some fail in the server.
    fn create(&mut self) {
        let count = 1 + self.chance.below(4);
        let (mut items, creates): (Vec<_>, Vec<_>) = (0..count).map(|_| self.random_item()).unzip();
        let body = request_body(&CreateMonitoredItemsRequest {
            request_header: RequestHeader::dummy(),
            subscription_id: SUBSCRIPTION,
            timestamps_to_return: TimestampsToReturn::Both,
            items_to_create: Some(creates),
        });
        let mut granted: Vec<&mut Item> =
            items.iter_mut().filter(|item| self.grants.has(item.permission(), &node(item.node))).collect();
        let service = ServiceKind::CreateMonitoredItems;
        if granted.is_empty() {
            answered(&mut self.mediator, &self.grants, 2, service, &body);
            return;
        }
        let sent = forward(&mut self.mediator, &self.grants, 2, service, &body);
        let sent: CreateMonitoredItemsRequest = request(&sent);
        let mut results = Vec::new();
        for (item, create) in granted.iter_mut().zip(sent.items_to_create.expect("items")) {
            assert_eq!(create.item_to_monitor.node_id, node(item.node));
            let fails = self.chance.happens(10);
            if !fails {
                item.gate_handle = create.requested_parameters.client_handle;
            }
            results.push(MonitoredItemCreateResult {
                status_code: if fails { StatusCode::BadOutOfMemory } else { StatusCode::Good },
                monitored_item_id: 100 + item.gate_handle,
                ..Default::default()
            });
        }
        assert_eq!(results.len(), granted.len());
        let made = response_body(&CreateMonitoredItemsResponse {
            response_header: ResponseHeader::null(),
            results: Some(results),
            diagnostic_infos: None,
        });
        let got = reply(&mut self.mediator, &self.grants, 2, service, &made);
        self.take_created(items, response(&got));
    }

    fn take_created(&mut self, items: Vec<Item>, got: CreateMonitoredItemsResponse) {
        let results = got.results.expect("results");
        assert_eq!(results.len(), items.len());
        for (item, result) in items.into_iter().zip(results) {
            if !self.grants.has(item.permission(), &node(item.node)) {
                assert_eq!(result.status_code, refusal(&self.grants, &node(item.node)));
            } else if item.gate_handle == 0 {
                assert_eq!(result.status_code, StatusCode::BadOutOfMemory);
            } else {
                assert_eq!(result.monitored_item_id, 100 + item.gate_handle);
                self.items.push(item);
            }
        }
    }

    /// Deletes an item, and one that is not there.
    fn delete(&mut self) {
        if self.items.is_empty() {
            return;
        }
        let place = self.chance.below(self.items.len());
        let id = 100 + self.items.remove(place).gate_handle;
        let body = request_body(&DeleteMonitoredItemsRequest {
            request_header: RequestHeader::dummy(),
            subscription_id: SUBSCRIPTION,
            monitored_item_ids: Some(vec![99, id]),
        });
        let service = ServiceKind::DeleteMonitoredItems;
        let sent = forward(&mut self.mediator, &self.grants, 2, service, &body);
        assert_eq!(request::<DeleteMonitoredItemsRequest>(&sent).monitored_item_ids, Some(vec![id]));
        let deleted = response_body(&DeleteMonitoredItemsResponse {
            response_header: ResponseHeader::null(),
            results: Some(vec![StatusCode::Good]),
            diagnostic_infos: Some(vec![DiagnosticInfo::null()]),
        });
        let got = reply(&mut self.mediator, &self.grants, 2, service, &deleted);
        let got: DeleteMonitoredItemsResponse = response(&got);
        assert_eq!(got.results, Some(vec![StatusCode::BadMonitoredItemIdInvalid, StatusCode::Good]));
        assert_eq!(got.diagnostic_infos.map(|infos| infos.len()), Some(2));
    }

    fn toggle(&mut self) {
        let number = 1 + self.chance.below(NODES as usize) as u32;
        let permission = *self.chance.pick(&[Permission::Read, Permission::ReceiveEvents]);
        if self.grants.has(permission, &node(number)) {
            self.grants.end(permission, &node(number));
        } else {
            self.grants.grant(permission, &node(number));
        }
        if self.chance.happens(50) {
            self.check_modes();
        }
    }

    /// The requests of the gate's own disable exactly what ended, and enable what came back.
    fn check_modes(&mut self) {
        for sent in self.mediator.on_rights_changed(&self.grants) {
            assert_eq!(sent.service, ServiceKind::SetMonitoringMode);
            let set: SetMonitoringModeRequest = request(&sent.body);
            for id in set.monitored_item_ids.expect("items") {
                let item = self.items.iter().find(|item| item.gate_handle + 100 == id).expect("a known item");
                let is_granted = self.grants.has(item.permission(), &node(item.node));
                assert_eq!(set.monitoring_mode == MonitoringMode::Reporting, is_granted, "{item:?}");
            }
        }
        assert_eq!(self.mediator.on_rights_changed(&self.grants), [], "told twice");
    }

    fn may_get(&self, item: &Item, told: Told) -> bool {
        let has = |permission, number| self.grants.has(permission, &node(number));
        // Of a message asked for again, what was of an item that has been deleted is no longer delivered.
        self.items.iter().any(|own| own.gate_handle == item.gate_handle)
            && has(item.permission(), item.node)
            && match told {
                Told::Value(_) => true,
                Told::Event(_, source) => has(Permission::ReceiveEvents, source),
            }
    }

    fn message(&self, sequence: u32, told: &[(Item, Told)]) -> NotificationMessage {
        let values = told.iter().filter_map(|(item, told)| match told {
            Told::Value(value) => Some(MonitoredItemNotification {
                client_handle: item.gate_handle,
                value: DataValue::from(*value),
            }),
            Told::Event(..) => None,
        });
        let events = told.iter().filter_map(|(item, told)| match told {
            Told::Value(_) => None,
            Told::Event(number, source) => Some(EventFieldList {
                client_handle: item.gate_handle,
                // What the gate selected comes last.
                event_fields: Some(vec![Variant::Int32(*number), Variant::from(node(*source))]),
            }),
        });
        let changes =
            DataChangeNotification { monitored_items: Some(values.collect()), diagnostic_infos: None };
        let list = EventNotificationList { events: Some(events.collect()) };
        let mut data = Vec::new();
        if changes.monitored_items.as_ref().is_some_and(|items| !items.is_empty()) {
            data.push(ExtensionObject::from_message(changes));
        }
        if list.events.as_ref().is_some_and(|events| !events.is_empty()) {
            data.push(ExtensionObject::from_message(list));
        }
        NotificationMessage {
            sequence_number: sequence,
            publish_time: DateTime::epoch(),
            notification_data: Some(data),
        }
    }

    fn random_told(&mut self) -> Vec<(Item, Told)> {
        let count = self.chance.below(5).min(self.items.len());
        let mut told = Vec::new();
        for _ in 0..count {
            let item = *self.chance.pick(&self.items);
            self.told += 1;
            let source = 1 + self.chance.below(NODES as usize) as u32;
            let what =
                if item.is_for_events { Told::Event(self.told, source) } else { Told::Value(self.told) };
            told.push((item, what));
        }
        told.sort_by_key(|(item, _)| item.is_for_events);
        told
    }

    fn publish(&mut self) {
        self.request_id += 1;
        let acknowledged: Vec<u32> =
            if self.chance.happens(50) { self.got.drain(..).collect() } else { Vec::new() };
        let acknowledge = |sequence: u32| SubscriptionAcknowledgement {
            subscription_id: SUBSCRIPTION,
            sequence_number: sequence,
        };
        let body = request_body(&PublishRequest {
            request_header: RequestHeader::dummy(),
            subscription_acknowledgements: Some(
                acknowledged.iter().map(|sequence| acknowledge(*sequence)).collect(),
            ),
        });
        let sent = forward(&mut self.mediator, &self.grants, self.request_id, ServiceKind::Publish, &body);
        let sent: PublishRequest = request(&sent);
        let mut results = Vec::new();
        for ack in sent.subscription_acknowledgements.unwrap_or_default() {
            assert!(ack.sequence_number <= self.sequence, "the server never sent {ack:?}");
            results.push(match self.kept.remove(&ack.sequence_number) {
                Some(_) => StatusCode::Good,
                None => StatusCode::BadSequenceNumberUnknown,
            });
        }
        if self.chance.happens(40) {
            self.toggle();
        }
        let told = self.random_told();
        self.sequence += 1;
        let message = self.message(self.sequence, &told);
        if told.is_empty() {
            self.sequence -= 1;
        } else {
            self.kept.insert(self.sequence, told.clone());
        }
        // Servers keep only some.
        while self.kept.len() > 4 {
            self.kept.pop_first();
        }
        let answer = response_body(&PublishResponse {
            response_header: ResponseHeader::null(),
            subscription_id: SUBSCRIPTION,
            available_sequence_numbers: Some(self.kept.keys().copied().collect()),
            more_notifications: false,
            notification_message: message,
            results: Some(results.clone()),
            diagnostic_infos: self.chance.happens(50).then(|| {
                results
                    .iter()
                    .map(|status| DiagnosticInfo {
                        inner_status_code: Some(*status),
                        ..DiagnosticInfo::null()
                    })
                    .collect()
            }),
        });
        let got = reply(&mut self.mediator, &self.grants, self.request_id, ServiceKind::Publish, &answer);
        // What the gate acknowledged of its own comes last, and is not the client's.
        results.truncate(acknowledged.len());
        self.take(response(&got), &told, &results);
    }

    fn take(&mut self, got: PublishResponse, told: &[(Item, Told)], results: &[StatusCode]) {
        assert_eq!(got.results.unwrap_or_default(), results);
        if let Some(infos) = got.diagnostic_infos {
            let told: Vec<_> = infos.into_iter().filter_map(|info| info.inner_status_code).collect();
            assert_eq!(told, results, "diagnostic infos stand at their acknowledgements");
        }
        let sequence = got.notification_message.sequence_number;
        assert_eq!(sequence, self.client_next, "a gap in the client's sequence numbers");
        let seen = seen(got.notification_message);
        assert_eq!(seen, self.expected(told));
        if !seen.is_empty() {
            self.client_next += 1;
            self.got.push(sequence);
            self.got_as.insert(sequence, self.sequence);
        }
        let mut available = got.available_sequence_numbers.unwrap_or_default();
        available.sort_unstable();
        let expected = self.got.iter().filter(|got| self.kept.contains_key(&self.got_as[got]));
        assert_eq!(available, expected.copied().collect::<Vec<_>>(), "what the client may ask for again");
    }

    fn expected(&self, told: &[(Item, Told)]) -> Vec<(u32, i32)> {
        let granted = told.iter().filter(|(item, told)| self.may_get(item, *told));
        granted
            .map(|(item, told)| match told {
                Told::Value(value) | Told::Event(value, _) => (item.client_handle, *value),
            })
            .collect()
    }

    /// The rights of now decide, not those of the time when it was first delivered.
    fn republish(&mut self) {
        let Some(sequence) = self.got.first().copied() else { return };
        let body = request_body(&RepublishRequest {
            request_header: RequestHeader::dummy(),
            subscription_id: SUBSCRIPTION,
            retransmit_sequence_number: sequence,
        });
        let sent = forward(&mut self.mediator, &self.grants, 3, ServiceKind::Republish, &body);
        let upstream = request::<RepublishRequest>(&sent).retransmit_sequence_number;
        assert_eq!(upstream, self.got_as[&sequence]);
        let Some(told) = self.kept.get(&upstream).cloned() else {
            self.mediator.on_fault(3);
            return;
        };
        let answer = response_body(&RepublishResponse {
            response_header: ResponseHeader::null(),
            notification_message: self.message(upstream, &told),
        });
        let expected = self.expected(&told);
        let id = ServiceKind::Republish.response_id();
        match self.mediator.on_response(&self.grants, 3, id, &answer) {
            MediatedReply::Pass(body) => {
                let got: RepublishResponse = response(&body);
                assert_eq!(got.notification_message.sequence_number, sequence);
                assert_eq!(seen(got.notification_message), expected);
            }
            MediatedReply::Fault(StatusCode::BadMessageNotAvailable) => {
                assert_eq!(expected, []);
            }
            other => panic!("{other:?}"),
        }
    }
}

/// What the client sees: handles and values.
fn seen(message: NotificationMessage) -> Vec<(u32, i32)> {
    let mut seen = Vec::new();
    for data in message.notification_data.unwrap_or_default() {
        if let Some(changes) = data.inner_as::<DataChangeNotification>() {
            for item in changes.monitored_items.iter().flatten() {
                match item.value.value {
                    Some(Variant::Int32(value)) => seen.push((item.client_handle, value)),
                    ref other => panic!("{other:?}"),
                }
            }
        } else if let Some(list) = data.inner_as::<EventNotificationList>() {
            for event in list.events.iter().flatten() {
                match event.event_fields.as_deref() {
                    Some([Variant::Int32(number)]) => seen.push((event.client_handle, *number)),
                    other => panic!("{other:?}"),
                }
            }
        }
    }
    seen
}

#[test]
fn nothing_is_delivered_without_the_right_of_that_moment() {
    for seed in 0..300 {
        let mut world = World::new(seed);
        for _ in 0..40 {
            match world.chance.below(10) {
                0 | 1 => world.create(),
                2 => world.toggle(),
                3 => world.republish(),
                4 => world.delete(),
                _ => world.publish(),
            }
        }
    }
}

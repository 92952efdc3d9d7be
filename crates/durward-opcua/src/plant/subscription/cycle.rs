//! One subscription: when it publishes what (Part 4, 5.14.1).

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use durward_identity::Moment;
use opcua_types::{
    DataChangeNotification, EventFieldList, EventNotificationList, ExtensionObject,
    MonitoredItemNotification, NotificationMessage,
};

use super::item::{ItemNotification, PlantItem};
use crate::authority::{CallerSessionId, MethodCaller};
use crate::plant::codec::date_time;
use crate::plant::limits;

/// What a client may choose of a subscription, within the server's limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SubscriptionTerms {
    pub(crate) interval_ms: u64,
    pub(crate) lifetime_count: u32,
    pub(crate) keep_alive_count: u32,
    pub(crate) notifications_max: usize,
    pub(crate) priority: u8,
}

impl SubscriptionTerms {
    /// What was asked for, revised: the lifetime is at least three times the keep alive (5.14.2.2).
    pub(crate) fn revised(
        interval: f64,
        lifetime: u32,
        keep_alive: u32,
        notifications: u32,
        priority: u8,
    ) -> SubscriptionTerms {
        let keep_alive_count =
            if keep_alive == 0 { 10 } else { keep_alive.min(limits::KEEP_ALIVE_COUNT_MAX) };
        let notifications_max = match notifications as usize {
            0 => limits::NOTIFICATIONS_MAX,
            asked => asked.min(limits::NOTIFICATIONS_MAX),
        };
        SubscriptionTerms {
            interval_ms: interval_ms(interval),
            lifetime_count: lifetime.min(limits::LIFETIME_COUNT_MAX).max(keep_alive_count.saturating_mul(3)),
            keep_alive_count,
            notifications_max,
            priority,
        }
    }

    fn interval(self) -> Duration {
        Duration::from_millis(self.interval_ms)
    }
}

/// An interval as asked for, within the limits; whatever is no number is the shortest.
pub(crate) fn interval_ms(asked: f64) -> u64 {
    let most = limits::INTERVAL_MS_MAX as f64;
    let least = limits::INTERVAL_MS_MIN as f64;
    // `max` of a NaN is the other number.
    asked.max(least).min(most).ceil() as u64
}

/// What the end of a publishing interval asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DuePublish {
    /// The interval is not over.
    No,
    /// Nothing to send.
    Quiet,
    /// A message, with notifications or as a keep alive.
    Message,
    /// Nobody asked for messages for too long.
    Expired,
}

/// A subscription.
#[derive(Debug)]
pub(crate) struct PlantSubscription {
    pub(crate) id: u32,
    /// None after the session was closed, until another one takes it over.
    pub(crate) session: Option<CallerSessionId>,
    pub(crate) caller: MethodCaller,
    pub(crate) terms: SubscriptionTerms,
    pub(crate) enabled: bool,
    pub(crate) items: BTreeMap<u32, PlantItem>,
    next_item: u32,
    next_cycle: Moment,
    /// Intervals since the last message.
    quiet: u32,
    /// Intervals in which no publish request was there.
    unheard: u32,
    first_sent: bool,
    /// A message is due and no publish request was there.
    pub(crate) late: bool,
    /// The sequence number of the next message with notifications.
    sequence: u32,
    kept: VecDeque<NotificationMessage>,
    /// When it was last served, by the count of all messages: the longest ago comes first among equals.
    pub(crate) served: u64,
}

impl PlantSubscription {
    pub(crate) fn new(
        id: u32,
        caller: &MethodCaller,
        terms: SubscriptionTerms,
        enabled: bool,
        now: Moment,
    ) -> PlantSubscription {
        PlantSubscription {
            id,
            session: Some(caller.session),
            caller: caller.clone(),
            terms,
            enabled,
            items: BTreeMap::new(),
            next_item: 0,
            next_cycle: now.plus(terms.interval()),
            quiet: 0,
            unheard: 0,
            first_sent: false,
            late: false,
            sequence: 1,
            kept: VecDeque::new(),
            served: 0,
        }
    }

    /// The client used the subscription.
    pub(crate) fn heard(&mut self) {
        self.unheard = 0;
    }

    /// Changes the terms; the interval that runs is the new one (5.14.3).
    pub(crate) fn modify(&mut self, terms: SubscriptionTerms, now: Moment) {
        self.terms = terms;
        self.next_cycle = self.next_cycle.min(now.plus(terms.interval()));
    }

    /// Adds an item and gives its id.
    pub(crate) fn add(&mut self, item: PlantItem) -> u32 {
        self.next_item += 1;
        self.items.insert(self.next_item, item);
        self.next_item
    }

    /// Places in the queues of its items.
    pub(crate) fn reserved(&self) -> usize {
        self.items.values().map(|item| item.queue_size() as usize).sum()
    }

    /// Whether there is something to notify and that is wanted.
    fn is_ready(&self) -> bool {
        self.enabled && self.items.values().any(PlantItem::has_noticed)
    }

    /// Lets time pass. Of several intervals that are over, as after a pause of the whole server, each counts.
    pub(crate) fn cycle(&mut self, now: Moment, request_waits: bool) -> DuePublish {
        if now < self.next_cycle {
            return DuePublish::No;
        }
        let over = now.since(self.next_cycle).as_millis() / u128::from(self.terms.interval_ms) + 1;
        let over = u32::try_from(over).unwrap_or(u32::MAX);
        self.next_cycle = self.next_cycle.plus(self.terms.interval().saturating_mul(over));
        self.unheard = if request_waits { 0 } else { self.unheard.saturating_add(over) };
        self.quiet = self.quiet.saturating_add(over);
        if self.unheard >= self.terms.lifetime_count {
            return DuePublish::Expired;
        }
        if self.late || !self.first_sent || self.quiet >= self.terms.keep_alive_count || self.is_ready() {
            self.late = !request_waits;
            return DuePublish::Message;
        }
        DuePublish::Quiet
    }

    /// The message that is due, and whether more notifications wait.
    pub(crate) fn message(&mut self, now: Moment) -> (NotificationMessage, bool) {
        self.first_sent = true;
        self.late = false;
        self.quiet = 0;
        let notification_data = if self.is_ready() { self.notifications() } else { Vec::new() };
        let publish_time = date_time(now);
        if notification_data.is_empty() {
            // A keep alive tells the number that the next notification will have (5.14.1.1).
            let message =
                NotificationMessage { sequence_number: self.sequence, publish_time, notification_data: None };
            return (message, false);
        }
        let message = NotificationMessage {
            sequence_number: self.sequence,
            publish_time,
            notification_data: Some(notification_data),
        };
        self.sequence = self.sequence.checked_add(1).unwrap_or(1);
        if self.kept.len() >= limits::RETRANSMISSIONS_MAX {
            self.kept.pop_front();
        }
        self.kept.push_back(message.clone());
        (message, self.is_ready())
    }

    /// The oldest notifications of each item, as many as fit into one message.
    fn notifications(&mut self) -> Vec<ExtensionObject> {
        let mut changes: Vec<MonitoredItemNotification> = Vec::new();
        let mut events: Vec<EventFieldList> = Vec::new();
        for item in self.items.values_mut() {
            while changes.len() + events.len() < self.terms.notifications_max {
                match item.take() {
                    Some(ItemNotification::Change(value)) => {
                        changes.push(MonitoredItemNotification { client_handle: item.client_handle, value });
                    }
                    Some(ItemNotification::Event(fields)) => {
                        events.push(EventFieldList {
                            client_handle: item.client_handle,
                            event_fields: Some(fields),
                        });
                    }
                    None => break,
                }
            }
        }
        let mut data = Vec::new();
        if !changes.is_empty() {
            data.push(ExtensionObject::new(DataChangeNotification {
                monitored_items: Some(changes),
                diagnostic_infos: None,
            }));
        }
        if !events.is_empty() {
            data.push(ExtensionObject::new(EventNotificationList { events: Some(events) }));
        }
        data
    }

    /// Sequence numbers of the messages that can be asked for again.
    pub(crate) fn available(&self) -> Vec<u32> {
        self.kept.iter().map(|message| message.sequence_number).collect()
    }

    /// The client has this message. False where it is not kept.
    pub(crate) fn acknowledge(&mut self, sequence: u32) -> bool {
        let before = self.kept.len();
        self.kept.retain(|message| message.sequence_number != sequence);
        self.kept.len() != before
    }

    /// The message once more.
    pub(crate) fn kept(&self, sequence: u32) -> Option<&NotificationMessage> {
        self.kept.iter().find(|message| message.sequence_number == sequence)
    }
}

//! A subscription of the session: its items by the handles that the gate gave them, and its sequence numbers on both sides.

use std::collections::{HashMap, VecDeque};

use opcua_types::{NodeId, StatusCode};

use super::access::{attribute, to_monitor};
use crate::permission::Permission;

/// How many delivered messages can be acknowledged or asked for again. Servers keep fewer (two for each outstanding publish request, Part 4, 5.14.1.2).
const SENT_MAX: usize = 1024;

/// How many messages the gate may owe acknowledgements of. Beyond that the server drops its oldest ones by itself.
const OWED_MAX: usize = 1024;

/// Subscriptions that went to other sessions: the server still tells that once (Part 4, 5.14.7).
const RELEASED_MAX: usize = 64;

/// A monitored item.
#[derive(Debug)]
pub(super) struct MediatedItem {
    pub(super) node: NodeId,
    pub(super) attribute: u32,
    /// What notifications ask for.
    pub(super) permission: Permission,
    /// The client's own handle; the server knows the gate's.
    pub(super) client_handle: u32,
    /// The server's number, once it was given.
    pub(super) id: Option<u32>,
    /// The monitoring mode that the client wants.
    pub(super) mode: i32,
    /// Whether the gate disabled it, because the right ended.
    pub(super) is_suspended: bool,
}

impl MediatedItem {
    /// # Errors
    /// `BadAttributeIdInvalid` where the attribute is none.
    pub(super) fn new(
        node: NodeId,
        attribute: u32,
        client_handle: u32,
        mode: i32,
    ) -> Result<Self, StatusCode> {
        Ok(MediatedItem {
            node,
            attribute,
            permission: to_monitor(attribute)?,
            client_handle,
            id: None,
            mode,
            is_suspended: false,
        })
    }

    pub(super) fn is_for_events(&self) -> bool {
        self.attribute == attribute::EVENT_NOTIFIER
    }
}

/// A message that the client got: the server's sequence number and the client's.
#[derive(Clone, Copy, Debug)]
struct SentNotification {
    upstream: u32,
    client: u32,
}

/// A subscription. It can move to another session of the same user and client, as a whole.
#[derive(Debug)]
pub struct MediatedSubscription {
    /// By the gate's handle.
    pub(super) items: HashMap<u32, MediatedItem>,
    /// The gate's handles by the server's numbers of items.
    handles: HashMap<u32, u32>,
    handle_last: u32,
    /// INVARIANT: a message that was emptied takes no number of the client's, so the client's numbers have no gaps (Part 4, 7.26).
    sequence_next: u32,
    sent: VecDeque<SentNotification>,
    /// Messages that were emptied: the client does not know of them, so the gate acknowledges them.
    owed: VecDeque<u32>,
}

impl Default for MediatedSubscription {
    fn default() -> Self {
        MediatedSubscription {
            items: HashMap::new(),
            handles: HashMap::new(),
            handle_last: 0,
            sequence_next: 1,
            sent: VecDeque::new(),
            owed: VecDeque::new(),
        }
    }
}

impl MediatedSubscription {
    /// A handle that no item has.
    pub(super) fn reserve_handle(&mut self) -> u32 {
        loop {
            self.handle_last = self.handle_last.wrapping_add(1);
            if !self.items.contains_key(&self.handle_last) {
                return self.handle_last;
            }
        }
    }

    /// The item with that handle of the gate's.
    pub(super) fn item(&self, handle: u32) -> Option<&MediatedItem> {
        self.items.get(&handle)
    }

    /// The gate's handle and the item with that number of the server's.
    ///
    /// # Errors
    /// `BadMonitoredItemIdInvalid`
    pub(super) fn by_id(&mut self, id: u32) -> Result<(u32, &mut MediatedItem), StatusCode> {
        let handle = *self.handles.get(&id).ok_or(StatusCode::BadMonitoredItemIdInvalid)?;
        let item = self.items.get_mut(&handle).ok_or(StatusCode::BadMonitoredItemIdInvalid)?;
        Ok((handle, item))
    }

    /// The server made the item.
    pub(super) fn made(&mut self, handle: u32, id: u32) {
        if let Some(item) = self.items.get_mut(&handle) {
            item.id = Some(id);
            self.handles.insert(id, handle);
        }
    }

    /// The server did not make the item.
    pub(super) fn forget(&mut self, handle: u32) {
        if let Some(id) = self.items.remove(&handle).and_then(|item| item.id) {
            self.handles.remove(&id);
        }
    }

    pub(super) fn delete(&mut self, id: u32) {
        if let Some(handle) = self.handles.remove(&id) {
            self.items.remove(&handle);
        }
    }

    /// The number under which the client gets a message; keep alives tell the next one and do not use it up.
    pub(super) fn sequence_next(&self) -> u32 {
        self.sequence_next
    }

    /// The client gets the message with that number of the server's.
    pub(super) fn send(&mut self, upstream: u32) -> u32 {
        let client = self.sequence_next;
        // 0 is no sequence number (Part 4, 7.36).
        self.sequence_next = client.checked_add(1).unwrap_or(1);
        if self.sent.len() >= SENT_MAX {
            self.sent.pop_front();
        }
        self.sent.push_back(SentNotification { upstream, client });
        client
    }

    /// The client does not get that message.
    pub(super) fn owe(&mut self, upstream: u32) {
        if self.owed.len() < OWED_MAX {
            self.owed.push_back(upstream);
        }
    }

    pub(super) fn take_owed(&mut self) -> impl Iterator<Item = u32> + '_ {
        self.owed.drain(..)
    }

    /// The server's number of a message that the client acknowledges, and so can no longer ask for.
    ///
    /// # Errors
    /// `BadSequenceNumberUnknown`
    pub(super) fn acknowledge(&mut self, client: u32) -> Result<u32, StatusCode> {
        let place = self.sent.iter().position(|sent| sent.client == client);
        let sent = place.and_then(|place| self.sent.remove(place));
        sent.map(|sent| sent.upstream).ok_or(StatusCode::BadSequenceNumberUnknown)
    }

    /// The server's number of a message that the client got.
    pub(super) fn upstream_sequence(&self, client: u32) -> Option<u32> {
        self.sent.iter().find(|sent| sent.client == client).map(|sent| sent.upstream)
    }

    /// The client's numbers of those messages that it can ask for.
    pub(super) fn client_sequences(&self, upstream: &[u32]) -> Vec<u32> {
        let available: std::collections::HashSet<&u32> = upstream.iter().collect();
        let known = self.sent.iter().filter(|sent| available.contains(&sent.upstream));
        known.map(|sent| sent.client).collect()
    }
}

/// The session's subscriptions, by the server's numbers.
#[derive(Debug, Default)]
pub(super) struct MediatedSubscriptions {
    own: HashMap<u32, MediatedSubscription>,
    released: VecDeque<u32>,
}

impl MediatedSubscriptions {
    /// # Errors
    /// `BadSubscriptionIdInvalid`, whether the subscription is another session's or nobody's.
    pub(super) fn own(&self, id: u32) -> Result<&MediatedSubscription, StatusCode> {
        self.own.get(&id).ok_or(StatusCode::BadSubscriptionIdInvalid)
    }

    /// # Errors
    /// As [`MediatedSubscriptions::own`].
    pub(super) fn own_mut(&mut self, id: u32) -> Result<&mut MediatedSubscription, StatusCode> {
        self.own.get_mut(&id).ok_or(StatusCode::BadSubscriptionIdInvalid)
    }

    pub(super) fn insert(&mut self, id: u32, subscription: MediatedSubscription) {
        self.released.retain(|released| *released != id);
        self.own.insert(id, subscription);
    }

    pub(super) fn remove(&mut self, id: u32) {
        self.own.remove(&id);
    }

    /// The subscription goes to another session.
    pub(super) fn release(&mut self, id: u32) -> Option<MediatedSubscription> {
        let subscription = self.own.remove(&id)?;
        if self.released.len() >= RELEASED_MAX {
            self.released.pop_front();
        }
        self.released.push_back(id);
        Some(subscription)
    }

    pub(super) fn release_all(&mut self) -> Vec<(u32, MediatedSubscription)> {
        self.own.drain().collect()
    }

    pub(super) fn was_released(&self, id: u32) -> bool {
        self.released.contains(&id)
    }

    pub(super) fn count(&self) -> usize {
        self.own.len()
    }

    pub(super) fn item_count(&self) -> usize {
        self.own.values().map(|subscription| subscription.items.len()).sum()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut MediatedSubscription)> {
        self.own.iter_mut().map(|(id, subscription)| (*id, subscription))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Part 4, 7.36: 1 follows on the highest number.
    #[test]
    fn sequence_numbers_wrap_around_zero() {
        let mut subscription =
            MediatedSubscription { sequence_next: u32::MAX, ..MediatedSubscription::default() };
        assert_eq!(subscription.send(7), u32::MAX);
        assert_eq!(subscription.send(8), 1);
        assert_eq!(subscription.upstream_sequence(1), Some(8));
    }

    #[test]
    fn of_messages_only_the_last_are_kept() {
        let mut subscription = MediatedSubscription::default();
        (0..3 * SENT_MAX as u32).for_each(|sequence| {
            subscription.send(sequence);
            subscription.owe(sequence);
        });
        assert_eq!(subscription.acknowledge(1), Err(StatusCode::BadSequenceNumberUnknown));
        assert_eq!(subscription.acknowledge(3 * SENT_MAX as u32), Ok(3 * SENT_MAX as u32 - 1));
        assert_eq!(subscription.take_owed().count(), OWED_MAX);
    }
}

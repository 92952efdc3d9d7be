//! Subscriptions (Part 4, 5.13 and 5.14): monitored items sample, subscriptions publish what they found.
//!
//! ```text
//!  tick --> items sample, queue --> cycle: a message is due? --> a publish request waits? --> delivery
//!                                          |                            | no
//!                                          '--> keep alive              '--> late: the next request gets it at once
//! ```

mod cycle;
mod event;
mod filter;
mod item;
mod items;
mod publish;
mod quota;
mod services;

#[cfg(test)]
pub(crate) mod tests;

use std::collections::{BTreeMap, HashMap, VecDeque};

use durward_identity::Moment;
use opcua_types::StatusCode;

pub use event::PlantEvent;
pub use quota::ClientQuota;

use super::limits;
use crate::authority::{CallerSessionId, MethodCaller};
use cycle::PlantSubscription;
use item::PlantItem;

/// Stands for a request whose response comes later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LateResponseTicket(pub u64);

/// A publish request that waits.
#[derive(Debug)]
pub(crate) struct ParkedPublish {
    ticket: LateResponseTicket,
    handle: u32,
    acknowledged: Option<Vec<StatusCode>>,
    deadline: Option<Moment>,
}

/// What a session has waiting.
#[derive(Debug, Default)]
pub(crate) struct PublishQueue {
    requests: VecDeque<ParkedPublish>,
    /// Subscriptions that ended or went to another session, and the client was not told yet.
    endings: VecDeque<(u32, StatusCode)>,
}

impl PublishQueue {
    /// The client is to be told of this ending. Of too many, as when two sessions take a subscription from each other again and
    /// again, the oldest are forgotten.
    fn tell(&mut self, id: u32, status: StatusCode) {
        if self.endings.len() >= limits::SUBSCRIPTIONS_PER_SESSION_MAX {
            self.endings.pop_front();
        }
        self.endings.push_back((id, status));
    }
}

/// All subscriptions of a server.
#[derive(Debug, Default)]
pub(crate) struct PlantSubscriptions {
    all: BTreeMap<u32, PlantSubscription>,
    queues: HashMap<CallerSessionId, PublishQueue>,
    next_id: u32,
    next_ticket: u64,
    /// Places in the queues of all monitored items.
    reserved: usize,
}

impl PlantSubscriptions {
    /// The subscription, if it is the session's. That the session speaks of it counts as a sign of life.
    fn of(&mut self, session: CallerSessionId, id: u32) -> Result<&mut PlantSubscription, StatusCode> {
        let subscription = self.all.get_mut(&id).filter(|subscription| subscription.session == Some(session));
        let subscription = subscription.ok_or(StatusCode::BadSubscriptionIdInvalid)?;
        subscription.heard();
        Ok(subscription)
    }

    fn add(&mut self, make: impl FnOnce(u32) -> PlantSubscription) -> u32 {
        loop {
            self.next_id = self.next_id.wrapping_add(1);
            if self.next_id != 0 && !self.all.contains_key(&self.next_id) {
                break;
            }
        }
        self.all.insert(self.next_id, make(self.next_id));
        self.next_id
    }

    fn remove(&mut self, id: u32) -> Option<PlantSubscription> {
        let removed = self.all.remove(&id)?;
        self.reserved = self.reserved.saturating_sub(removed.reserved());
        Some(removed)
    }

    fn count_of(&self, session: CallerSessionId) -> usize {
        self.all.values().filter(|subscription| subscription.session == Some(session)).count()
    }

    /// Whether one more may be created for the session.
    fn has_room(&self, session: CallerSessionId) -> bool {
        self.all.len() < limits::SUBSCRIPTIONS_MAX
            && self.count_of(session) < limits::SUBSCRIPTIONS_PER_SESSION_MAX
    }

    fn queue(&mut self, session: CallerSessionId) -> &mut PublishQueue {
        self.queues.entry(session).or_default()
    }

    fn ticket(&mut self) -> LateResponseTicket {
        self.next_ticket += 1;
        LateResponseTicket(self.next_ticket)
    }

    pub(crate) fn withdraw(&mut self, tickets: &[LateResponseTicket]) {
        for queue in self.queues.values_mut() {
            queue.requests.retain(|request| !tickets.contains(&request.ticket));
        }
    }

    /// Gives the tickets of the requests that waited.
    pub(crate) fn close_session(
        &mut self,
        session: CallerSessionId,
        delete: bool,
    ) -> Vec<LateResponseTicket> {
        let queue = self.queues.remove(&session).unwrap_or_default();
        let of_session = |subscription: &&PlantSubscription| subscription.session == Some(session);
        let ids: Vec<u32> =
            self.all.values().filter(of_session).map(|subscription| subscription.id).collect();
        for id in ids {
            if delete {
                self.remove(id);
            } else if let Some(subscription) = self.all.get_mut(&id) {
                subscription.session = None;
            }
        }
        queue.requests.iter().map(|request| request.ticket).collect()
    }

    /// What was sampled for the earlier user and not told yet is dropped; everything is sampled anew for this one.
    pub(crate) fn change_user(&mut self, caller: &MethodCaller) {
        for subscription in
            self.all.values_mut().filter(|subscription| subscription.session == Some(caller.session))
        {
            subscription.caller = caller.clone();
            subscription.items.values_mut().for_each(PlantItem::forget);
        }
    }
}

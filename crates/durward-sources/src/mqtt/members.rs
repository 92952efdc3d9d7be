//! Who listens to one broker, and for what.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use durward_pdp::Value;
use durward_pdp::ir::Fault;
use durward_pdp::ir::fault::Evaluated;
use durward_pdp::stream::Publisher;
use tokio::sync::Notify;

use super::settings::Wanted;
use super::topics;

/// All who listen. Changes are told to the connection.
#[derive(Default)]
pub(super) struct Members {
    table: Mutex<Table>,
    pub(super) changed: Notify,
}

#[derive(Default)]
struct Table {
    last: u64,
    members: BTreeMap<u64, Member>,
}

struct Member {
    filters: Vec<String>,
    qos: u8,
    publisher: Publisher,
    is_undefined_when_lost: bool,
    /// Whether the broker was not yet asked for its filters on its behalf.
    is_new: bool,
    /// Whether it has heard anything, be it an error.
    has_heard: bool,
    /// Whether it has heard a message that is no retained one since the connection stands.
    is_current: bool,
}

/// What to ask the broker for, so that everybody hears what they want.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) subscribe: Vec<(String, u8)>,
    pub(super) unsubscribe: Vec<String>,
}

impl Members {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes one more; gives its number.
    pub(super) fn join(&self, wanted: &Wanted, publisher: Publisher) -> u64 {
        let mut table = self.lock();
        table.last += 1;
        let id = table.last;
        let member = Member {
            filters: wanted.filters.clone(),
            qos: wanted.qos,
            publisher,
            is_undefined_when_lost: wanted.is_undefined_when_lost,
            is_new: true,
            has_heard: false,
            is_current: false,
        };
        table.members.insert(id, member);
        drop(table);
        self.changed.notify_one();
        id
    }

    pub(super) fn leave(&self, id: u64) {
        // A publisher may do something when it is dropped: not under the lock.
        let member = self.lock().members.remove(&id);
        drop(member);
        self.changed.notify_one();
    }

    /// The default takes the place of a first message that has not come.
    pub(super) fn remind(&self, id: u64, default: Evaluated<Value>) {
        if let Some(member) = self.lock().members.get_mut(&id).filter(|member| !member.has_heard) {
            member.has_heard = true;
            member.publisher.publish(default);
        }
    }

    /// A message has come. A retained one, which the broker sends to whoever subscribes, is news only to those who know
    /// nothing newer: subscribing for one member makes it come to others, too.
    pub(super) fn deliver(&self, topic: &str, is_retained: bool, value: impl FnOnce() -> Evaluated<Value>) {
        let mut table = self.lock();
        let hears = |member: &&mut Member| {
            !(is_retained && member.is_current)
                && member.filters.iter().any(|filter| topics::matches(filter, topic))
        };
        let mut hearing = table.members.values_mut().filter(hears).peekable();
        if hearing.peek().is_none() {
            return;
        }
        let value = value();
        for member in hearing {
            member.has_heard = true;
            member.is_current |= !is_retained;
            member.publisher.publish(value.clone());
        }
    }

    /// The broker refused a filter.
    pub(super) fn refuse(&self, filter: &str, reason: &str) {
        let mut table = self.lock();
        let concerned = |member: &&mut Member| member.filters.iter().any(|own| own == filter);
        for member in table.members.values_mut().filter(concerned) {
            member.has_heard = true;
            let message = format!("`mqtt.messages`: the broker refused `{filter}`: {reason}");
            member.publisher.publish(Err(Fault::processing(message)));
        }
    }

    /// The connection is there: everything has to be asked for.
    pub(super) fn connected(&self) {
        for member in self.lock().members.values_mut() {
            member.is_new = true;
            member.is_current = false;
        }
    }

    /// The connection is lost, or could not be made.
    pub(super) fn lost(&self, was_connected: bool, reason: &str) {
        for member in self.lock().members.values_mut() {
            if !was_connected && !member.has_heard {
                member.publisher.publish(Err(Fault::processing(format!("`mqtt.messages`: {reason}"))));
            } else if was_connected && member.is_undefined_when_lost {
                member.publisher.publish(Ok(Value::Undefined));
            }
        }
    }

    /// What to ask for beyond `subscribed`, which becomes what is asked for now.
    pub(super) fn difference(&self, subscribed: &mut BTreeMap<String, u8>) -> Difference {
        let mut table = self.lock();
        let mut wanted: BTreeMap<&str, (u8, bool)> = BTreeMap::new();
        for member in table.members.values() {
            for filter in &member.filters {
                let (qos, is_new) = wanted.entry(filter).or_default();
                *qos = member.qos.max(*qos);
                *is_new |= member.is_new;
            }
        }
        let mut difference = Difference::default();
        for (filter, (qos, is_new)) in &wanted {
            if *is_new || subscribed.get(*filter) != Some(qos) {
                difference.subscribe.push(((*filter).to_owned(), *qos));
            }
        }
        let unwanted = subscribed.keys().filter(|filter| !wanted.contains_key(filter.as_str()));
        difference.unsubscribe = unwanted.cloned().collect();
        *subscribed = wanted.into_iter().map(|(filter, (qos, _))| (filter.to_owned(), qos)).collect();
        table.members.values_mut().for_each(|member| member.is_new = false);
        difference
    }
}

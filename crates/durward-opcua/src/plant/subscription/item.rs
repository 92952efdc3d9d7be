//! One monitored item: it samples, compares and queues (Part 4, 5.13.1).

use std::collections::VecDeque;

use durward_identity::Moment;
use opcua_types::{
    DataChangeTrigger, DataValue, Deadband, MonitoringMode, ParsedDataChangeFilter, ReadValueId, StatusCode,
    TimestampsToReturn, Variant,
};

use super::event::PlantEvent;
use super::filter::EventSelection;
use crate::plant::space::AddressSpace;

/// Bits of a status code: it is that of a data value, and a value was dropped before or after it (Part 4, 7.39.1).
const OVERFLOW: u32 = 0x0480;

/// What an item has to tell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ItemNotification {
    /// A value.
    Change(DataValue),
    /// The fields of an event that were selected.
    Event(Vec<Variant>),
}

/// What an item looks for.
#[derive(Clone, Debug)]
pub(crate) enum ItemFilter {
    /// Changes of an attribute.
    Changes(ParsedDataChangeFilter),
    /// Events of an object.
    Events(EventSelection),
}

impl ItemFilter {
    /// Every change of value or status.
    pub(crate) fn every_change() -> ItemFilter {
        ItemFilter::Changes(ParsedDataChangeFilter {
            trigger: DataChangeTrigger::StatusValue,
            deadband: Deadband::None,
        })
    }
}

/// What a client may choose of an item, within the server's limits.
#[derive(Clone, Debug)]
pub(crate) struct ItemTerms {
    pub(crate) client_handle: u32,
    pub(crate) sampling_ms: u64,
    pub(crate) queue_size: u32,
    pub(crate) discard_oldest: bool,
    pub(crate) filter: ItemFilter,
    pub(crate) timestamps: TimestampsToReturn,
}

/// A monitored item.
#[derive(Debug)]
pub(crate) struct PlantItem {
    pub(crate) what: ReadValueId,
    pub(crate) client_handle: u32,
    pub(crate) mode: MonitoringMode,
    choice: ItemTerms,
    queue: VecDeque<ItemNotification>,
    last: Option<DataValue>,
    next_sample: Moment,
}

impl PlantItem {
    pub(crate) fn new(what: ReadValueId, mode: MonitoringMode, choice: ItemTerms, now: Moment) -> PlantItem {
        PlantItem {
            what,
            client_handle: choice.client_handle,
            mode,
            choice,
            queue: VecDeque::new(),
            last: None,
            next_sample: now,
        }
    }

    pub(crate) fn queue_size(&self) -> u32 {
        self.choice.queue_size
    }

    pub(crate) fn timestamps(&self) -> TimestampsToReturn {
        self.choice.timestamps
    }

    /// Other choices; values beyond a smaller queue are dropped.
    pub(crate) fn modify(&mut self, choice: ItemTerms, now: Moment) {
        self.client_handle = choice.client_handle;
        self.choice = choice;
        while self.queue.len() > self.choice.queue_size as usize {
            self.drop_one();
        }
        self.next_sample =
            self.next_sample.min(now.plus(std::time::Duration::from_millis(self.choice.sampling_ms)));
    }

    /// Another mode. What is disabled forgets what it saw, so that it begins with the value there is then (5.13.4).
    pub(crate) fn set_mode(&mut self, mode: MonitoringMode, now: Moment) {
        if mode == MonitoringMode::Disabled {
            self.queue.clear();
            self.last = None;
        } else if self.mode == MonitoringMode::Disabled {
            self.next_sample = now;
        }
        self.mode = mode;
    }

    /// Forgets what was seen for an earlier user.
    pub(crate) fn forget(&mut self) {
        self.queue.clear();
        self.last = None;
        self.next_sample = Moment::default();
    }

    /// Whether an attribute is to be sampled now.
    pub(crate) fn is_due(&self, now: Moment) -> bool {
        self.mode != MonitoringMode::Disabled
            && matches!(self.choice.filter, ItemFilter::Changes(_))
            && now >= self.next_sample
    }

    /// Takes note of what the attribute holds now.
    pub(crate) fn sample(&mut self, value: DataValue, now: Moment) {
        self.next_sample = now.plus(std::time::Duration::from_millis(self.choice.sampling_ms));
        let ItemFilter::Changes(filter) = &self.choice.filter else { return };
        if self.last.as_ref().is_none_or(|last| filter.is_changed(last, &value)) {
            self.last = Some(value.clone());
            self.push(ItemNotification::Change(value));
        }
    }

    /// Whether it is about events, not about an attribute.
    pub(crate) fn looks_for_events(&self) -> bool {
        matches!(self.choice.filter, ItemFilter::Events(_))
    }

    /// Takes note of an event, if it is one that is looked for.
    pub(crate) fn notice(&mut self, event: &PlantEvent, space: &AddressSpace) {
        let ItemFilter::Events(selection) = &self.choice.filter else { return };
        if self.mode != MonitoringMode::Disabled
            && event.is_raised_at(&self.what.node_id)
            && selection.matches(event, space)
        {
            let fields = selection.select(event);
            self.push(ItemNotification::Event(fields));
        }
    }

    /// Sends the last value once more: to a session that took the subscription over.
    pub(crate) fn repeat(&mut self) {
        if let (Some(last), true) = (self.last.clone(), self.queue.is_empty()) {
            self.push(ItemNotification::Change(last));
        }
    }

    fn push(&mut self, noticed: ItemNotification) {
        let full = self.queue.len() >= self.choice.queue_size as usize;
        if !full {
            self.queue.push_back(noticed);
            return;
        }
        // With one place, values replace each other and nobody is told (5.13.1.5).
        if self.choice.queue_size == 1 {
            self.queue.clear();
            self.queue.push_back(noticed);
        } else if self.choice.discard_oldest {
            self.queue.pop_front();
            self.queue.push_back(noticed);
            mark(self.queue.front_mut());
        } else {
            self.queue.pop_back();
            self.queue.push_back(noticed);
            mark(self.queue.back_mut());
        }
    }

    fn drop_one(&mut self) {
        if self.choice.discard_oldest {
            self.queue.pop_front();
            mark(self.queue.front_mut());
        } else {
            self.queue.pop_back();
            mark(self.queue.back_mut());
        }
    }

    /// Whether there is something to report.
    pub(crate) fn has_noticed(&self) -> bool {
        self.mode == MonitoringMode::Reporting && !self.queue.is_empty()
    }

    /// The oldest of what there is to report.
    pub(crate) fn take(&mut self) -> Option<ItemNotification> {
        if self.mode == MonitoringMode::Reporting { self.queue.pop_front() } else { None }
    }
}

/// Marks that values next to this one were dropped.
fn mark(noticed: Option<&mut ItemNotification>) {
    if let Some(ItemNotification::Change(value)) = noticed {
        value.status = Some(StatusCode::from(value.status.unwrap_or(StatusCode::Good).bits() | OVERFLOW));
    }
}

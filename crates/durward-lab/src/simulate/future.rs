//! The event queue, ordered by time, and the requests under way.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::deployment::UNDER_WAY_MAX;

/// A request, or a message between nodes, in [`Jobs`]. The number of its turn tells it from others that had its slot before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JobId {
    slot: u32,
    turn: u32,
}

/// An event of the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FutureEvent {
    /// A core has done its work on it.
    Served(JobId),
    /// Its answer reaches the user.
    Answered(JobId),
    /// A user asks again after a failure.
    Again(JobId),
    /// A station whose cores are not always there comes to the next thing it does; of several such, only the last version counts.
    Tick { station: u32, version: u32 },
    /// A station stands still.
    Stall { station: u32 },
    /// It goes on.
    Resume { station: u32 },
    /// A user has thought; of several such, only the last version counts.
    Wake { user: u32, version: u32 },
    /// The answer to a node's question to the store is there.
    Heard { station: u32 },
    /// The next of a crowd comes.
    Crowd { crowd: u32 },
    /// Event number so many of the deployment begins.
    Begins { event: u32 },
    /// Balancing knows of it.
    Detected { event: u32 },
    /// Its nodes are back.
    Back { event: u32 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FutureEntry {
    at: u64,
    order: u64,
    what: FutureEvent,
}

/// The earliest is the greatest: `BinaryHeap` gives the greatest first. Of one moment, what was planned first comes first.
impl Ord for FutureEntry {
    fn cmp(&self, other: &FutureEntry) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

impl PartialOrd for FutureEntry {
    fn partial_cmp(&self, other: &FutureEntry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The event queue.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    heap: BinaryHeap<FutureEntry>,
    planned: u64,
}

impl EventQueue {
    pub(super) fn plan(&mut self, at: u64, what: FutureEvent) {
        self.planned += 1;
        self.heap.push(FutureEntry { at, order: self.planned, what });
    }

    /// When the next thing happens; the end of time where nothing does.
    pub(super) fn next_at(&self) -> u64 {
        self.heap.peek().map_or(u64::MAX, |entry| entry.at)
    }

    pub(super) fn pop(&mut self) -> Option<FutureEvent> {
        self.heap.pop().map(|entry| entry.what)
    }
}

/// The requester that waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Requester {
    /// An arrival that does not come again. Whether it must log in.
    Passing { login: bool },
    /// A user with a state of their own.
    Each(u32),
    /// One of many who are known by their number only: the node they stay with, and whether they have a session.
    OneOf { home: u32, session: bool },
    /// A message to another node or the store, part of a question.
    Message(u32),
}

/// A request under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct SimulatedJob {
    /// When it was due, and when it was sent, in nanoseconds.
    pub(super) due: u64,
    pub(super) sent: u64,
    /// How long a core works on it.
    pub(super) service: u64,
    /// Its step; of messages, any.
    pub(super) step: u32,
    /// The station that has it.
    pub(super) station: u32,
    pub(super) who: Requester,
    /// The client has given up.
    pub(super) is_abandoned: bool,
}

#[derive(Debug)]
struct JobSlot {
    turn: u32,
    job: Option<SimulatedJob>,
}

/// Requests under way, in slots that are used again.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    slots: Vec<JobSlot>,
    free: Vec<u32>,
}

impl Jobs {
    pub(super) fn add(&mut self, job: SimulatedJob) -> JobId {
        if let Some(slot) = self.free.pop()
            && let Some(found) = self.slots.get_mut(slot as usize)
        {
            found.job = Some(job);
            return JobId { slot, turn: found.turn };
        }
        self.slots.push(JobSlot { turn: 0, job: Some(job) });
        JobId { slot: self.slots.len() as u32 - 1, turn: 0 }
    }

    pub(super) fn get(&self, id: JobId) -> Option<&SimulatedJob> {
        self.slots.get(id.slot as usize).filter(|slot| slot.turn == id.turn)?.job.as_ref()
    }

    pub(super) fn get_mut(&mut self, id: JobId) -> Option<&mut SimulatedJob> {
        self.slots.get_mut(id.slot as usize).filter(|slot| slot.turn == id.turn)?.job.as_mut()
    }

    pub(super) fn remove(&mut self, id: JobId) -> Option<SimulatedJob> {
        let slot = self.slots.get_mut(id.slot as usize).filter(|slot| slot.turn == id.turn)?;
        let job = slot.job.take()?;
        slot.turn = slot.turn.wrapping_add(1);
        self.free.push(id.slot);
        Some(job)
    }

    /// All that a station has, in the order of slots.
    pub(super) fn at(&self, station: u32) -> Vec<JobId> {
        let of = |(at, slot): (usize, &JobSlot)| {
            let is_there = slot.job.as_ref().is_some_and(|job| job.station == station);
            is_there.then_some(JobId { slot: at as u32, turn: slot.turn })
        };
        self.slots.iter().enumerate().filter_map(of).collect()
    }

    /// Whether there is no room for more.
    pub(super) fn is_full(&self) -> bool {
        self.free.is_empty() && self.slots.len() >= UNDER_WAY_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_planned_comes_in_order_of_time_and_then_of_planning() {
        let mut future = EventQueue::default();
        for (at, station) in [(5, 0), (1, 1), (5, 2), (3, 3), (1, 4)] {
            future.plan(at, FutureEvent::Stall { station });
        }
        assert_eq!(future.next_at(), 1);
        let order: Vec<FutureEvent> = std::iter::from_fn(|| future.pop()).collect();
        assert_eq!(order, [1, 4, 3, 0, 2].map(|station| FutureEvent::Stall { station }));
        assert_eq!(future.next_at(), u64::MAX);
    }

    #[test]
    fn a_slot_that_is_used_again_is_another_job() {
        let job = SimulatedJob {
            due: 1,
            sent: 1,
            service: 1,
            step: 0,
            station: 7,
            who: Requester::Passing { login: false },
            is_abandoned: false,
        };
        let mut jobs = Jobs::default();
        let first = jobs.add(job);
        assert_eq!(jobs.at(7), [first]);
        assert!(jobs.remove(first).is_some());
        let second = jobs.add(job);
        assert!(jobs.get(first).is_none() && jobs.remove(first).is_none());
        assert!(jobs.get(second).is_some() && first.slot == second.slot);
        assert!(jobs.at(8).is_empty());
    }
}

//! Freshness queries to the store, shared by validations.
//!
//! At most one query is under way. A validation that arrives meanwhile waits for the next: the store may have answered before it arrived, and a
//! logout acknowledged in between would be missed.

use std::collections::VecDeque;
use std::time::Duration;

use super::message::AskId;
use crate::Moment;

/// Those who ask together.
#[derive(Debug)]
struct ReadGroup {
    asks: Vec<(AskId, Moment)>,
    /// What must have been applied before they are answered.
    target: u64,
}

/// A question under way.
#[derive(Debug)]
struct FreshnessQuery {
    number: u64,
    asks: Vec<(AskId, Moment)>,
    /// How far this node was when it was put: the answer is beyond that, or another store's.
    applied: u64,
}

#[derive(Debug, Default)]
pub(super) struct FreshnessQueries {
    last_number: u64,
    under_way: Option<FreshnessQuery>,
    next: Vec<(AskId, Moment)>,
    /// Answered by the store; waiting for its records.
    behind: VecDeque<ReadGroup>,
    /// The mistake that this module is there to avoid, for the simulation to find.
    #[cfg(test)]
    pub(super) joins_what_is_under_way: bool,
}

impl FreshnessQueries {
    /// One more who asks. The number of a question that is to be put to the store now.
    pub(super) fn join(&mut self, ask: AskId, deadline: Moment, applied: u64) -> Option<u64> {
        #[cfg(test)]
        if self.joins_what_is_under_way
            && let Some(question) = &mut self.under_way
        {
            question.asks.push((ask, deadline));
            return None;
        }
        self.next.push((ask, deadline));
        self.put(applied)
    }

    /// The next question, when none is under way and somebody waits.
    fn put(&mut self, applied: u64) -> Option<u64> {
        if self.under_way.is_some() || self.next.is_empty() {
            return None;
        }
        self.last_number += 1;
        let asks = std::mem::take(&mut self.next);
        self.under_way = Some(FreshnessQuery { number: self.last_number, asks, applied });
        Some(self.last_number)
    }

    /// Whether an answer lies before what this node had when it asked: the store it is from is not the one from which it had that.
    pub(super) fn went_back(&self, number: u64, last: u64) -> bool {
        self.under_way.as_ref().is_some_and(|question| question.number == number && last < question.applied)
    }

    /// The store has answered. The next question, if there is to be one.
    pub(super) fn answered(&mut self, number: u64, last: u64, applied: u64) -> Option<u64> {
        let question = self.under_way.take_if(|question| question.number == number)?;
        self.behind.push_back(ReadGroup { asks: question.asks, target: last });
        self.put(applied)
    }

    /// Those who may be answered now that so much is applied.
    pub(super) fn applied(&mut self, applied: u64) -> Vec<AskId> {
        let mut ready = Vec::new();
        // A later question has a target as high or higher.
        while let Some(group) = self.behind.pop_front_if(|group| group.target <= applied) {
            ready.extend(group.asks.into_iter().map(|(ask, _)| ask));
        }
        ready
    }

    /// Those who have waited for too long. A question without an answer is given up, and put again for who still waits.
    pub(super) fn expired(
        &mut self,
        now: Moment,
        within: Duration,
        applied: u64,
    ) -> (Vec<AskId>, Option<u64>) {
        let mut late = Vec::new();
        let mut drop_late = |asks: &mut Vec<(AskId, Moment)>| {
            asks.retain(|(ask, deadline)| {
                let is_late = now >= *deadline;
                if is_late {
                    late.push(*ask);
                }
                !is_late
            });
        };
        drop_late(&mut self.next);
        self.behind.iter_mut().for_each(|group| drop_late(&mut group.asks));
        self.behind.retain(|group| !group.asks.is_empty());
        let lost = self.under_way.take_if(|question| {
            question.asks.first().is_none_or(|(_, deadline)| now.plus(within / 2) >= *deadline)
        });
        if let Some(mut question) = lost {
            drop_late(&mut question.asks);
            self.next.append(&mut question.asks);
        }
        let question = self.put(applied);
        (late, question)
    }

    /// Everybody who waits: the store is gone.
    pub(super) fn abandon(&mut self) -> Vec<AskId> {
        let mut asks = std::mem::take(&mut self.next);
        asks.extend(self.under_way.take().into_iter().flat_map(|question| question.asks));
        asks.extend(self.behind.drain(..).flat_map(|group| group.asks));
        asks.into_iter().map(|(ask, _)| ask).collect()
    }
}

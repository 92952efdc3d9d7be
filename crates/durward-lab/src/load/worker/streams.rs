//! Streams that users hold: the first event is the answer, further ones are counted.

use std::cmp::Reverse;

use super::super::answer::judge;
use super::super::cause::FailureCause;
use super::super::clock::NEVER;
use super::receive::RequestOutcome;
use super::{HeldStream, LoadWorker};

impl LoadWorker<'_> {
    /// An event of a user's stream came.
    pub(super) fn item(&mut self, user: u32, now: u64) {
        match self.flights.get(user as usize).and_then(|flight| flight.as_ref()).map(|flight| flight.held) {
            None => {}
            Some(None) => self.first_item(user, now),
            Some(Some(held)) => self.further_item(user, held, now),
        }
    }

    /// The first event is the answer: it is judged, and its latency counts.
    fn first_item(&mut self, number: u32, now: u64) {
        let Some(Some(flight)) = self.flights.get(number as usize).copied() else { return };
        let Some(connection) = self.connections.get(flight.connection as usize) else { return };
        let Some(request) = self.plan.requests.get(flight.request as usize) else { return };
        let Some(user) = self.users.get(number as usize) else { return };
        let node = connection.node;
        let result = judge(&request.check, connection.wire.answer(), &user.fill(0), &self.plan.tables);
        let captured = match result {
            Ok(captured) => captured,
            Err(cause) => return self.finish(number, RequestOutcome::Failed(cause), now),
        };
        self.count(flight, node, None, now);
        self.count_event(flight.request, None, now);
        if let Some(user) = self.users.get_mut(number as usize) {
            captured.into_iter().for_each(|(name, value)| user.capture(name, value));
        }
        let hold = request.hold.filter(|hold| hold.count > 1 && !self.is_closing);
        let Some(hold) = hold else { return self.finish(number, RequestOutcome::Held, now) };
        let until = hold.time_ns.map_or(NEVER, |time| now.saturating_add(time));
        let deadline = if until == NEVER { now + request.timeout_ns } else { NEVER };
        if let Some(Some(flight)) = self.flights.get_mut(number as usize) {
            flight.held = Some(HeldStream { until, last: now, left: hold.count - 1 });
            flight.deadline = deadline;
        }
        if until != NEVER {
            self.holds.push(Reverse((until, number)));
        }
    }

    fn further_item(&mut self, number: u32, held: HeldStream, now: u64) {
        let Some(Some(flight)) = self.flights.get_mut(number as usize) else { return };
        let Some(request) = self.plan.requests.get(flight.request as usize) else { return };
        let left = held.left - 1;
        flight.held = Some(HeldStream { last: now, left, ..held });
        if held.until == NEVER {
            flight.deadline = now + request.timeout_ns;
        }
        let request = flight.request;
        self.count_event(request, Some(now.saturating_sub(held.last)), now);
        if left == 0 {
            self.finish(number, RequestOutcome::Held, now);
        }
    }

    fn count_event(&mut self, request: u32, gap: Option<u64>, now: u64) {
        if !self.is_measured(now) {
            return;
        }
        if let Some(step) = self.tally.steps.get_mut(request as usize) {
            step.events += 1;
            if let Some(gap) = gap {
                step.gaps.record(gap);
            }
        }
    }

    /// The server ended a user's stream.
    pub(super) fn ended(&mut self, user: u32, now: u64) {
        let Some(Some(flight)) = self.flights.get(user as usize) else { return };
        let outcome = RequestOutcome::of(flight.held, FailureCause::Ended);
        self.finish(user, outcome, now);
    }

    /// A stream was held until this moment, if it is still that one: closes it.
    pub(super) fn let_go(&mut self, user: u32, until: u64) {
        let Some(Some(flight)) = self.flights.get(user as usize) else { return };
        if flight.held.is_some_and(|held| held.until == until) {
            let now = self.shared.clock.now();
            self.finish(user, RequestOutcome::Held, now);
        }
    }

    /// Closes all streams that are held: what was to be measured is.
    pub(super) fn let_go_all(&mut self) {
        let now = self.shared.clock.now();
        let held = self.flights.iter().flatten().filter(|flight| flight.held.is_some());
        let users: Vec<u32> = held.map(|flight| flight.user).collect();
        users.into_iter().for_each(|user| self.finish(user, RequestOutcome::Held, now));
    }
}

//! Receives answers: reads, checks and counts them, and lets users go on.

use std::cmp::Reverse;
use std::io::ErrorKind;

use super::super::answer::{CapturedValue, judge};
use super::super::cause::FailureCause;
use super::super::clock::NEVER;
use super::super::user::NONE;
use super::super::wire::{LoadProtocol, WireConnection, WireEvent};
use super::{HeldStream, LoadWorker, READ_BYTES, RequestInFlight};

/// When a request that a server did not look at is sent again.
const AGAIN_NS: u64 = 100_000;

/// The outcome of a request.
pub(super) enum RequestOutcome {
    /// A right answer.
    Answered(CapturedValue),
    /// No right answer.
    Failed(FailureCause),
    /// A stream, whose first event was counted, was closed by its user.
    Held,
    /// A stream, whose first event was counted, ended before.
    Broken(FailureCause),
}

impl RequestOutcome {
    /// That of a failure, for a request or for a stream that is held.
    pub(super) fn of(held: Option<HeldStream>, cause: FailureCause) -> RequestOutcome {
        if held.is_some() { RequestOutcome::Broken(cause) } else { RequestOutcome::Failed(cause) }
    }
}

/// The outcome of polling a socket.
enum SocketPoll {
    /// Nothing more for now.
    Wait,
    /// Something may have happened.
    News,
    /// The connection is of no more use.
    Broken(FailureCause),
}

impl LoadWorker<'_> {
    /// Does what can be done with a connection of which the system has news.
    pub(super) fn serve(&mut self, number: usize, is_closed: bool) {
        let number = u32::try_from(number).unwrap_or(NONE);
        match self.write_rest(number) {
            SocketPoll::Wait | SocketPoll::News => {}
            SocketPoll::Broken(cause) => return self.break_off(number, cause),
        }
        loop {
            match self.look(number, is_closed) {
                (SocketPoll::Wait, _) => return,
                (SocketPoll::Broken(cause), _) => return self.break_off(number, cause),
                (SocketPoll::News, is_drained) => {
                    self.take_events(number);
                    if is_drained {
                        return;
                    }
                }
            }
        }
    }

    /// Takes all that happened on a connection.
    pub(super) fn take_events(&mut self, number: u32) {
        let now = self.shared.clock.now();
        loop {
            let Some(connection) = self.connections.get_mut(number as usize) else { return };
            if connection.stream.is_none() {
                return;
            }
            match connection.wire.next(&self.plan.requests) {
                Ok(Some(event)) => self.happened(event, now),
                Ok(None) => break,
                Err(cause) => return self.break_off(number, cause),
            }
        }
        if self.plan.protocol.is_shared() {
            self.note_unwritten(number);
            let Some(connection) = self.connections.get_mut(number as usize) else { return };
            let is_idle = connection.stream.is_some() && !connection.wire.is_busy();
            // Looking for room tells whether the server is going away.
            if is_idle && connection.wire.room() == 0 && !connection.wire.is_kept() {
                self.close(number);
            }
        }
    }

    #[inline]
    fn happened(&mut self, event: WireEvent, now: u64) {
        match event {
            WireEvent::Answer(user) => self.answered(user, now),
            WireEvent::Item(user) => self.item(user, now),
            WireEvent::End(user) => self.ended(user, now),
            WireEvent::Failed(user, cause) => {
                let held = self.flights.get(user as usize).and_then(|flight| flight.as_ref()?.held);
                self.finish(user, RequestOutcome::of(held, cause), now);
            }
            WireEvent::Unprocessed(user) => self.ask_again(user, now),
        }
    }

    /// Writes what waits, once the connection is there.
    fn write_rest(&mut self, number: u32) -> SocketPoll {
        let Some(connection) = self.connections.get_mut(number as usize) else { return SocketPoll::Wait };
        let Some(stream) = &mut connection.stream else { return SocketPoll::Wait };
        if !connection.is_open {
            match stream.is_connected() {
                Ok(true) => connection.is_open = true,
                Ok(false) => return SocketPoll::Wait,
                Err(error) => return SocketPoll::Broken(FailureCause::from(&error)),
            }
        }
        let mut written = 0;
        let result = loop {
            let rest = connection.out.get(written..).unwrap_or_default();
            if rest.is_empty() {
                break stream.flush();
            }
            match stream.write(rest) {
                Ok(0) => break Err(ErrorKind::WriteZero.into()),
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        connection.out.drain(..written);
        if connection.out.is_empty() {
            // Most never need it again.
            connection.out = Vec::new();
        }
        match result {
            Ok(()) => SocketPoll::Wait,
            Err(error) if error.kind() == ErrorKind::WouldBlock => SocketPoll::Wait,
            Err(error) => SocketPoll::Broken(FailureCause::from(&error)),
        }
    }

    /// Reads until there is an answer or nothing more; with it, whether nothing more can be there.
    fn look(&mut self, number: u32, is_closed: bool) -> (SocketPoll, bool) {
        let Some(connection) = self.connections.get_mut(number as usize) else {
            return (SocketPoll::Wait, true);
        };
        let is_open = connection.is_open;
        let Some(stream) = connection.stream.as_mut().filter(|_| is_open) else {
            return (SocketPoll::Wait, true);
        };
        loop {
            let count = match stream.read(&mut self.buffers.read) {
                Ok(0) => {
                    let closed = connection.wire.close();
                    return (closed.map_or_else(SocketPoll::Broken, |()| SocketPoll::News), true);
                }
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return (SocketPoll::Wait, true),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    let cause = FailureCause::from(&error);
                    // A server that gives up a connection may have said why before.
                    let is_told = cause == FailureCause::Closed && self.plan.protocol.is_shared();
                    let told = if is_told { connection.wire.close().err() } else { None };
                    return (SocketPoll::Broken(told.unwrap_or(cause)), true);
                }
            };
            // A read that did not fill the room has emptied a plain socket: what comes later is a new event.
            let is_drained = count < READ_BYTES && !stream.is_tls() && !is_closed;
            if self.plan.protocol == LoadProtocol::Http2 && !stream.has_agreed_on(b"h2") {
                return (SocketPoll::Broken(FailureCause::NoHttp2), true);
            }
            let bytes = self.buffers.read.get(..count).unwrap_or_default();
            return match connection.wire.feed(bytes, &self.plan.requests) {
                Ok(()) => (SocketPoll::News, is_drained),
                Err(cause) => (SocketPoll::Broken(cause), true),
            };
        }
    }

    /// An answer is whole: judges it.
    fn answered(&mut self, number: u32, now: u64) {
        let Some(Some(flight)) = self.flights.get(number as usize) else { return };
        let Some(connection) = self.connections.get(flight.connection as usize) else { return };
        let Some(user) = self.users.get(number as usize) else { return };
        let Some(request) = self.plan.requests.get(flight.request as usize) else { return };
        let result = judge(&request.check, connection.wire.answer(), &user.fill(0), &self.plan.tables);
        let outcome = match result {
            Ok(_) if request.hold.is_some() => RequestOutcome::Failed(FailureCause::NoEvents),
            Ok(captured) => RequestOutcome::Answered(captured),
            Err(cause) => RequestOutcome::Failed(cause),
        };
        self.finish(number, outcome, now);
    }

    /// Closes a connection; what is under way on it failed.
    pub(super) fn break_off(&mut self, number: u32, cause: FailureCause) {
        let now = self.shared.clock.now();
        let Some(connection) = self.connections.get_mut(number as usize) else { return };
        let users = connection.wire.tags();
        // Before users go on: none of them may ask over it again.
        self.drop_stream(number);
        for user in users {
            let held = self.flights.get(user as usize).and_then(|flight| flight.as_ref()?.held);
            self.finish(user, RequestOutcome::of(held, cause.clone()), now);
        }
        self.retire(number);
    }

    /// A request has ended: its connection is free or closed, and its user goes on.
    pub(super) fn finish(&mut self, user: u32, outcome: RequestOutcome, now: u64) {
        let Some(flight) = self.flights.get_mut(user as usize).and_then(Option::take) else { return };
        let number = flight.connection;
        let Some(connection) = self.connections.get_mut(number as usize) else { return };
        let node = connection.node;
        connection.wire.release(flight.handle);
        let is_there = connection.stream.is_some();
        let is_kept = is_there && connection.wire.is_kept() && self.setup.load.keep_alive;
        let is_busy = connection.wire.is_busy();
        self.in_flight -= 1;
        self.shared.nodes.count(node as usize, -1);
        self.conclude(flight, node, outcome, now);
        if self.plan.protocol.is_shared() {
            self.note_unwritten(number);
        }
        if !is_kept && is_there && !is_busy {
            self.close(number);
        } else if is_kept && !self.has_own() {
            self.reuse(number, node as usize);
        }
    }

    /// A request that could not be written has ended; nothing of it was sent.
    pub(super) fn finish_unsent(&mut self, user: u32, cause: FailureCause, now: u64) {
        let Some(flight) = self.flights.get_mut(user as usize).and_then(Option::take) else { return };
        let Some(connection) = self.connections.get(flight.connection as usize) else { return };
        let (node, is_there) = (connection.node, connection.stream.is_some());
        self.in_flight -= 1;
        self.shared.nodes.count(node as usize, -1);
        self.conclude(flight, node, RequestOutcome::Failed(cause), now);
        if is_there && !self.has_own() {
            self.reuse(flight.connection, node as usize);
        }
    }

    /// A server did not look at a request and said so: it is sent over another connection, due when it was, while its time lasts.
    fn ask_again(&mut self, user: u32, now: u64) {
        let Some(Some(flight)) = self.flights.get(user as usize).copied() else { return };
        let timeout = self.plan.requests.get(flight.request as usize).map_or(0, |request| request.timeout_ns);
        if self.is_closing || now >= flight.due.saturating_add(timeout) {
            return self.finish(user, RequestOutcome::Failed(FailureCause::GoAway(0)), now);
        }
        let Some(connection) = self.connections.get_mut(flight.connection as usize) else { return };
        connection.wire.release(flight.handle);
        if let Some(place) = self.flights.get_mut(user as usize) {
            *place = None;
        }
        self.in_flight -= 1;
        self.shared.nodes.count(connection.node as usize, -1);
        if let Some(asker) = self.users.get_mut(user as usize) {
            // The server, and not this generator, makes it late.
            asker.free_since = NEVER;
        }
        // Not at once: a server that sends everybody away must not be stormed.
        self.timers.push(Reverse((now + AGAIN_NS, user)));
    }

    /// Nothing more is read from or written to a connection.
    fn drop_stream(&mut self, number: u32) {
        let Some(connection) = self.connections.get_mut(number as usize) else { return };
        if connection.stream.take().is_none() {
            return;
        }
        connection.is_open = false;
        connection.out = Vec::new();
        let listed = std::mem::take(&mut connection.is_listed) || !self.plan.protocol.is_shared();
        let owner = std::mem::replace(&mut connection.owner, NONE);
        let node = connection.node as usize;
        if let Some(owner) = self.users.get_mut(owner as usize) {
            owner.own = NONE;
        }
        let Some(pool) = self.pools.get_mut(node) else { return };
        pool.open -= 1;
        if listed {
            pool.idle.retain(|idle| *idle != number);
        }
        self.closed.push(number);
    }

    /// Closes a connection, and opens another one for whoever waits.
    fn close(&mut self, number: u32) {
        self.drop_stream(number);
        self.retire(number);
    }

    /// The number of a connection that was closed is free for another one.
    fn retire(&mut self, number: u32) {
        let Some(at) = self.closed.iter().position(|closed| *closed == number) else { return };
        self.closed.swap_remove(at);
        let Some(connection) = self.connections.get_mut(number as usize) else { return };
        connection.wire = WireConnection::default();
        let node = connection.node as usize;
        self.free.push(number);
        if let Some(user) = self.pools.get_mut(node).and_then(|pool| pool.waiting.pop_front()) {
            self.shared.nodes.count(node, -1);
            self.ask(user);
        }
    }

    /// Counts a request, and lets its user go on.
    pub(super) fn conclude(&mut self, flight: RequestInFlight, node: u32, outcome: RequestOutcome, now: u64) {
        match &outcome {
            RequestOutcome::Answered(_) => self.count(flight, node, None, now),
            RequestOutcome::Failed(cause) => self.count(flight, node, Some(cause), now),
            // It belongs to the moment at which it broke.
            RequestOutcome::Broken(cause) => {
                self.count(RequestInFlight { due: now, ..flight }, node, Some(cause), now)
            }
            // Counted when its first event came.
            RequestOutcome::Held => {}
        }
        let Some(user) = self.users.get_mut(flight.user as usize) else { return };
        let Some(request) = self.plan.requests.get(flight.request as usize) else { return };
        user.free_since = now;
        user.request = NONE;
        match outcome {
            RequestOutcome::Answered(captured) => {
                captured.into_iter().for_each(|(number, value)| user.capture(number, value));
                user.forget(&request.check.forget);
            }
            RequestOutcome::Held => user.forget(&request.check.forget),
            RequestOutcome::Failed(cause) | RequestOutcome::Broken(cause) => {
                user.forget(&request.check.forget_on_error);
                user.end_turn();
                user.has_to_pause = !matches!(
                    cause,
                    FailureCause::Status(_) | FailureCause::WrongAnswer(_) | FailureCause::Timeout
                );
            }
        }
        self.ready.push_back(flight.user);
    }

    pub(super) fn count(
        &mut self,
        flight: RequestInFlight,
        node: u32,
        cause: Option<&FailureCause>,
        now: u64,
    ) {
        self.roll(now);
        let since_due = now.saturating_sub(flight.due);
        self.second.count(flight.request, node, cause, since_due);
        if !self.is_measured(flight.due) {
            return;
        }
        let Some(step) = self.tally.steps.get_mut(flight.request as usize) else { return };
        let Some(node) = self.tally.nodes.get_mut(node as usize) else { return };
        match cause {
            None => {
                step.answered += 1;
                step.since_due.record(since_due);
                step.since_sent.record(now.saturating_sub(flight.sent));
                node.answered += 1;
                node.since_due.record(since_due);
            }
            Some(cause) => {
                *step.failed.entry(cause.clone()).or_default() += 1;
                step.failed_since_due.record(since_due);
                node.failed += 1;
            }
        }
    }
}

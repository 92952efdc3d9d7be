//! Takes answers: reads, judges, counts, and lets users go on.

use std::io::ErrorKind;

use super::super::answer::{Captured, judge};
use super::super::cause::Cause;
use super::super::user::NONE;
use super::{Flight, READ_BYTES, Worker};

/// What came of looking at a socket.
enum Looked {
    /// Nothing more for now.
    Wait,
    /// A whole answer.
    Answer,
    /// The connection is of no more use.
    Broken(Cause),
}

impl Worker<'_> {
    /// Does what can be done with a connection of which the system has news.
    pub(super) fn serve(&mut self, number: usize, is_closed: bool) {
        let number = u32::try_from(number).unwrap_or(NONE);
        match self.write_rest(number) {
            Looked::Wait | Looked::Answer => {}
            Looked::Broken(cause) => return self.break_off(number, cause),
        }
        loop {
            match self.look(number, is_closed) {
                (Looked::Wait, _) => return,
                (Looked::Broken(cause), _) => return self.break_off(number, cause),
                (Looked::Answer, is_drained) => {
                    self.answered(number);
                    if is_drained {
                        return;
                    }
                }
            }
        }
    }

    /// Writes what waits, once the connection is there.
    fn write_rest(&mut self, number: u32) -> Looked {
        let Some(connection) = self.connections.get_mut(number as usize) else { return Looked::Wait };
        let Some(stream) = &mut connection.stream else { return Looked::Wait };
        if !connection.is_open {
            match stream.is_connected() {
                Ok(true) => connection.is_open = true,
                Ok(false) => return Looked::Wait,
                Err(error) => return Looked::Broken(Cause::from(&error)),
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
            Ok(()) => Looked::Wait,
            Err(error) if error.kind() == ErrorKind::WouldBlock => Looked::Wait,
            Err(error) => Looked::Broken(Cause::from(&error)),
        }
    }

    /// Reads until there is an answer or nothing more; with it, whether nothing more can be there.
    fn look(&mut self, number: u32, is_closed: bool) -> (Looked, bool) {
        let Some(connection) = self.connections.get_mut(number as usize) else { return (Looked::Wait, true) };
        let is_open = connection.is_open;
        let Some(stream) = connection.stream.as_mut().filter(|_| is_open) else {
            return (Looked::Wait, true);
        };
        loop {
            let count = match stream.read(&mut self.buffers.read) {
                Ok(0) if connection.flight.is_none() => return (Looked::Broken(Cause::Closed), true),
                Ok(0) => {
                    let closed = connection.reader.close();
                    return (
                        closed.map_or_else(|fault| Looked::Broken(fault.into()), |()| Looked::Answer),
                        true,
                    );
                }
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return (Looked::Wait, true),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return (Looked::Broken(Cause::from(&error)), true),
            };
            // A read that did not fill the room has emptied a plain socket: what comes later is a new event.
            let is_drained = count < READ_BYTES && !stream.is_tls() && !is_closed;
            let Some(flight) = connection.flight else { return (Looked::Broken(Cause::NotHttp), true) };
            let Some(request) = self.plan.requests.get(flight.request as usize) else {
                return (Looked::Wait, true);
            };
            let bytes = self.buffers.read.get(..count).unwrap_or_default();
            match connection.reader.feed(bytes, &request.wants) {
                Ok(true) => return (Looked::Answer, is_drained),
                Ok(false) if is_drained => return (Looked::Wait, true),
                Ok(false) => {}
                Err(fault) => return (Looked::Broken(fault.into()), true),
            }
        }
    }

    /// An answer is whole: judges it.
    fn answered(&mut self, number: u32) {
        let now = self.shared.clock.now();
        let Some(connection) = self.connections.get(number as usize) else { return };
        let Some(flight) = connection.flight else { return };
        let Some(user) = self.users.get(flight.user as usize) else { return };
        let Some(request) = self.plan.requests.get(flight.request as usize) else { return };
        let result = judge(&request.check, &connection.reader, &user.fill(0), &self.plan.tables);
        self.finish(number, result, now);
    }

    /// Closes a connection; its request, if there is one, failed.
    pub(super) fn break_off(&mut self, number: u32, cause: Cause) {
        let Some(connection) = self.connections.get_mut(number as usize) else { return };
        connection.reader.is_kept = false;
        if connection.flight.is_some() {
            self.finish(number, Err(cause), self.shared.clock.now());
        } else {
            self.close(number);
        }
    }

    /// A request has ended: its connection is free or closed, and its user goes on.
    pub(super) fn finish(&mut self, number: u32, result: Result<Captured, Cause>, now: u64) {
        let Some(connection) = self.connections.get_mut(number as usize) else { return };
        let Some(flight) = connection.flight.take() else { return };
        let node = connection.node;
        connection.reader.shrink();
        let is_unsent = matches!(result, Err(Cause::NoCapture));
        let is_kept = (connection.reader.is_kept && self.setup.load.keep_alive || is_unsent)
            && connection.stream.is_some();
        self.in_flight -= 1;
        self.shared.nodes.count(node as usize, -1);
        self.conclude(flight, node, result, now);
        if !is_kept {
            self.close(number);
        } else if !self.has_own() {
            self.reuse(number, node as usize);
        }
    }

    /// A shared connection is free: for whoever waits.
    fn reuse(&mut self, number: u32, node: usize) {
        let Some(pool) = self.pools.get_mut(node) else { return };
        match pool.waiting.pop_front() {
            Some(user) => self.send(number, user),
            None => pool.idle.push(number),
        }
    }

    /// Closes a connection, and opens another one for whoever waits.
    fn close(&mut self, number: u32) {
        let Some(connection) = self.connections.get_mut(number as usize) else { return };
        if connection.stream.take().is_none() {
            return;
        }
        connection.is_open = false;
        connection.out = Vec::new();
        let node = connection.node as usize;
        self.free.push(number);
        let owner = std::mem::replace(&mut connection.owner, NONE);
        if let Some(owner) = self.users.get_mut(owner as usize) {
            owner.own = NONE;
        }
        let Some(pool) = self.pools.get_mut(node) else { return };
        pool.open -= 1;
        pool.idle.retain(|idle| *idle != number);
        if let Some(user) = pool.waiting.pop_front() {
            self.shared.nodes.count(node, -1);
            self.ask(user);
        }
    }

    /// Counts a request, and lets its user go on.
    pub(super) fn conclude(&mut self, flight: Flight, node: u32, result: Result<Captured, Cause>, now: u64) {
        self.count(flight, node, result.as_ref().err(), now);
        let Some(user) = self.users.get_mut(flight.user as usize) else { return };
        let Some(request) = self.plan.requests.get(flight.request as usize) else { return };
        user.free_since = now;
        user.request = NONE;
        match result {
            Ok(captured) => {
                captured.into_iter().for_each(|(number, value)| user.capture(number, value));
                user.forget(&request.check.forget);
            }
            Err(cause) => {
                user.forget(&request.check.forget_on_error);
                user.end_turn();
                user.has_to_pause =
                    !matches!(cause, Cause::Status(_) | Cause::WrongAnswer(_) | Cause::Timeout);
            }
        }
        self.ready.push_back(flight.user);
    }

    fn count(&mut self, flight: Flight, node: u32, cause: Option<&Cause>, now: u64) {
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

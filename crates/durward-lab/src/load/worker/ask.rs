//! Sends requests: finds a node and a connection, writes.

use std::cmp::Reverse;
use std::io::ErrorKind;

use mio::Token;

use super::super::cause::Cause;
use super::super::clock::NEVER;
use super::super::stream::Stream;
use super::super::user::NONE;
use super::{Connection, EMPTY_TURN_NS, Flight, Worker};
use crate::scenario::Balance;

impl Worker<'_> {
    /// Sends the request of a user that is due, or lets it wait for a connection.
    pub(super) fn ask(&mut self, number: u32) {
        let Some(user) = self.users.get_mut(number as usize) else { return };
        let node = self.shared.nodes.choose(user);
        user.node = u32::try_from(node).unwrap_or(0);
        self.shared.nodes.count(node, 1);
        if self.has_own() {
            match self.users.get(number as usize).map_or(NONE, |user| user.own) {
                NONE => self.open(number, node),
                own => self.send(own, number),
            }
            return;
        }
        let Some(pool) = self.pools.get_mut(node) else { return };
        if let Some(idle) = pool.idle.pop() {
            self.send(idle, number);
        } else if pool.open < self.setup.connections_by_node {
            self.open(number, node);
        } else {
            pool.waiting.push_back(number);
            // It is not this generator that makes the request late.
            if let Some(user) = self.users.get_mut(number as usize) {
                user.free_since = NEVER;
            }
            let backlog = self.pools.iter().map(|pool| pool.waiting.len()).sum();
            self.note_backlog(backlog);
        }
    }

    /// Whether users have connections of their own.
    pub(super) fn has_own(&self) -> bool {
        let is_sticky = self.setup.balance == Balance::Sticky || self.plan.nodes.len() == 1;
        is_sticky && self.setup.load.connections.is_none() && self.arrivals.is_none()
    }

    /// Opens a connection for a user, whose request is sent as soon as it is there.
    fn open(&mut self, user: u32, node: usize) {
        let Some(target) = self.plan.nodes.get(node) else { return };
        let stream = Stream::connect(target.address, self.setup.tls.get(node).and_then(Option::as_ref));
        let number = self.free.pop().unwrap_or_else(|| {
            self.connections.push(Connection::default());
            u32::try_from(self.connections.len() - 1).unwrap_or(NONE)
        });
        let mut stream = match stream {
            Ok(stream) => stream,
            Err(error) => return self.never_open(number, user, &Cause::from(&error)),
        };
        if let Err(error) = stream.register(self.poll.registry(), Token(number as usize + 1)) {
            return self.never_open(number, user, &Cause::from(&error));
        }
        let Some(connection) = self.connections.get_mut(number as usize) else { return };
        (connection.stream, connection.is_open) = (Some(stream), false);
        connection.node = u32::try_from(node).unwrap_or(0);
        if let Some(pool) = self.pools.get_mut(node) {
            pool.open += 1;
        }
        connection.owner = NONE;
        if self.has_own() {
            self.own(number, user);
        }
        self.send(number, user);
    }

    /// Makes a connection a user's own.
    fn own(&mut self, number: u32, user: u32) {
        if let (Some(owner), Some(connection)) =
            (self.users.get_mut(user as usize), self.connections.get_mut(number as usize))
        {
            (owner.own, connection.owner) = (number, user);
        }
    }

    /// No connection can be had: the user's request failed, and whoever waits tries again.
    fn never_open(&mut self, connection: u32, user: u32, cause: &Cause) {
        self.free.push(connection);
        let now = self.shared.clock.now();
        let Some(asker) = self.users.get(user as usize) else { return };
        let flight = Flight { user, request: asker.request, due: asker.due, sent: now, deadline: 0 };
        let node = asker.node;
        self.shared.nodes.count(node as usize, -1);
        self.conclude(flight, node, Err(cause.clone()), now);
        if let Some(next) = self.pools.get_mut(node as usize).and_then(|pool| pool.waiting.pop_front()) {
            self.shared.nodes.count(node as usize, -1);
            self.timers.push(Reverse((now + EMPTY_TURN_NS, next)));
        }
    }

    /// Sends a user's request over a connection, which may still be on its way.
    pub(super) fn send(&mut self, number: u32, user: u32) {
        let now = self.shared.clock.now();
        let is_measured = self.users.get(user as usize).is_some_and(|user| self.is_measured(user.due));
        let Some(asker) = self.users.get(user as usize) else { return };
        let Some(request) = self.plan.requests.get(asker.request as usize) else { return };
        self.request_number += self.request_stride;
        let fill = asker.fill(self.request_number);
        self.buffers.request.clear();
        let (body, out) = (&mut self.buffers.body, &mut self.buffers.request);
        let written = request.write(asker.node as usize, &fill, &self.plan.tables, body, out);
        if is_measured && asker.due >= asker.free_since {
            self.tally.lateness.record(now - asker.due.min(now));
        }
        let flight = Flight {
            user,
            request: asker.request,
            due: asker.due,
            sent: now,
            deadline: now + request.timeout_ns,
        };
        let Some(connection) = self.connections.get_mut(number as usize) else { return };
        connection.flight = Some(flight);
        connection.reader.begin();
        self.in_flight += 1;
        if written.is_err() {
            return self.finish(number, Err(Cause::NoCapture), now);
        }
        if connection.is_open && connection.out.is_empty() {
            self.write_now(number);
        } else {
            connection.out.extend_from_slice(&self.buffers.request);
        }
    }

    /// Writes the request in the buffer; what the socket does not take waits.
    fn write_now(&mut self, number: u32) {
        let Some(connection) = self.connections.get_mut(number as usize) else { return };
        let Some(stream) = &mut connection.stream else { return };
        let mut rest = self.buffers.request.as_slice();
        let failed = loop {
            match stream.write(rest) {
                Ok(0) => break Some(Cause::Closed),
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break None,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break Some(Cause::from(&error)),
            }
            if rest.is_empty() {
                break None;
            }
        };
        connection.out.extend_from_slice(rest);
        if let Some(cause) = failed {
            self.break_off(number, cause);
        }
    }

    /// Requests whose time is over fail.
    pub(super) fn sweep(&mut self, now: u64, cause: &Cause) {
        let is_over =
            |connection: &Connection| connection.flight.is_some_and(|flight| flight.deadline <= now);
        let over = self.connections.iter().enumerate().filter(|(_, connection)| is_over(connection));
        let over: Vec<u32> = over.filter_map(|(number, _)| u32::try_from(number).ok()).collect();
        for number in over {
            self.break_off(number, cause.clone());
        }
    }
}

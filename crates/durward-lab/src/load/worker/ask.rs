//! Sends requests: finds a node and a connection, writes.

use std::cmp::Reverse;
use std::io::ErrorKind;
use std::time::Instant;

use mio::Token;

use super::super::cause::FailureCause;
use super::super::clock::NEVER;
use super::super::stream::NonblockingSocket;
use super::super::user::NONE;
use super::super::wire::{OutgoingRequest, WireConnection};
use super::receive::RequestOutcome;
use super::{EMPTY_TURN_NS, LoadConnection, LoadWorker, RequestInFlight};
use crate::scenario::NodeChoice;

impl LoadWorker<'_> {
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
        let is_room = self.pools.get(node).is_some_and(|pool| pool.open < self.setup.connections_by_node);
        // Where their number is said, requests are spread over all connections, however many each carries.
        let is_spread = is_room && self.plan.protocol.is_shared() && self.setup.load.connections.is_some();
        if is_spread {
            self.open(number, node);
        } else if let Some(idle) = self.take_idle(node) {
            self.send(idle, number);
        } else if is_room {
            self.open(number, node);
        } else {
            self.wait(node, number);
        }
    }

    /// Whether users have connections of their own.
    pub(super) fn has_own(&self) -> bool {
        let is_sticky = self.setup.balance == NodeChoice::Sticky || self.plan.nodes.len() == 1;
        is_sticky
            && !self.plan.protocol.is_shared()
            && self.setup.load.connections.is_none()
            && self.arrivals.is_none()
    }

    /// Opens a connection for a user, whose request is sent as soon as it is there.
    fn open(&mut self, user: u32, node: usize) {
        let Some(target) = self.plan.nodes.get(node) else { return };
        let stream =
            NonblockingSocket::connect(target.address, self.setup.tls.get(node).and_then(Option::as_ref));
        let number = self.free.pop().unwrap_or_else(|| {
            self.connections.push(LoadConnection::default());
            u32::try_from(self.connections.len() - 1).unwrap_or(NONE)
        });
        let mut stream = match stream {
            Ok(stream) => stream,
            Err(error) => return self.never_open(number, user, &FailureCause::from(&error)),
        };
        if let Err(error) = stream.register(self.poll.registry(), Token(number as usize + 1)) {
            return self.never_open(number, user, &FailureCause::from(&error));
        }
        let Some(connection) = self.connections.get_mut(number as usize) else { return };
        (connection.stream, connection.is_open) = (Some(stream), false);
        connection.wire = WireConnection::new(&self.plan.protocol, self.setup.streams);
        connection.node = u32::try_from(node).unwrap_or(0);
        if let Some(pool) = self.pools.get_mut(node) {
            pool.open += 1;
        }
        connection.owner = NONE;
        if self.has_own() {
            self.own(number, user);
        }
        self.send(number, user);
        if self.plan.protocol.is_shared() {
            self.fill(number, node);
        }
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
    fn never_open(&mut self, connection: u32, user: u32, cause: &FailureCause) {
        self.free.push(connection);
        let now = self.shared.clock.now();
        let Some(asker) = self.users.get(user as usize) else { return };
        let flight = RequestInFlight {
            user,
            request: asker.request,
            due: asker.due,
            sent: now,
            deadline: 0,
            connection,
            handle: 0,
            held: None,
        };
        let node = asker.node;
        self.shared.nodes.count(node as usize, -1);
        self.conclude(flight, node, RequestOutcome::Failed(cause.clone()), now);
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
        let Some(connection) = self.connections.get_mut(number as usize) else { return };
        self.buffers.request.clear();
        let asking = OutgoingRequest {
            tag: user,
            number: asker.request,
            request,
            node: asker.node as usize,
            fill: asker.fill(self.request_number),
            tables: &self.plan.tables,
            body: &mut self.buffers.body,
        };
        let begun = connection.wire.begin(asking, &mut self.buffers.request);
        if is_measured && asker.due >= asker.free_since {
            self.tally.lateness.record(now - asker.due.min(now));
        }
        let flight = RequestInFlight {
            user,
            request: asker.request,
            due: asker.due,
            sent: now,
            deadline: now + request.timeout_ns,
            connection: number,
            handle: *begun.as_ref().unwrap_or(&0),
            held: None,
        };
        if let Some(place) = self.flights.get_mut(user as usize) {
            *place = Some(flight);
        }
        self.in_flight += 1;
        if let Err(cause) = begun {
            return self.finish_unsent(user, cause, now);
        }
        if self.plan.protocol.is_shared() {
            self.list(number);
            self.note_unwritten(number);
        } else if connection.is_open && connection.out.is_empty() {
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
                Ok(0) => break Some(FailureCause::Closed),
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break None,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break Some(FailureCause::from(&error)),
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

    /// Notes that a connection of several requests has something to write: what is begun at the same moment goes out at once.
    pub(super) fn note_unwritten(&mut self, number: u32) {
        if let Some(connection) = self.connections.get_mut(number as usize)
            && !std::mem::replace(&mut connection.is_unwritten, true)
        {
            self.unwritten.push(number);
        }
    }

    /// Writes what connections of several requests have.
    pub(super) fn write_all(&mut self) {
        while let Some(number) = self.unwritten.pop() {
            let Some(connection) = self.connections.get_mut(number as usize) else { continue };
            connection.is_unwritten = false;
            if connection.stream.is_none() {
                continue;
            }
            self.buffers.request.clear();
            connection.wire.take_out(&mut self.buffers.request);
            if self.buffers.request.is_empty() {
                continue;
            }
            if connection.is_open && connection.out.is_empty() {
                self.write_now(number);
            } else {
                connection.out.extend_from_slice(&self.buffers.request);
            }
        }
    }

    /// Requests whose time is over fail.
    pub(super) fn sweep(&mut self, now: u64, cause: &FailureCause) {
        let over = self.flights.iter().flatten().filter(|flight| flight.deadline <= now || now == NEVER);
        let over: Vec<RequestInFlight> = over.copied().collect();
        for flight in over {
            let connection = self.connections.get(flight.connection as usize);
            // A connection that never came to be is nothing to go on with.
            let is_shared = self.plan.protocol.is_shared() && connection.is_some_and(|one| one.is_open);
            match self.flights.get(flight.user as usize) {
                Some(Some(still)) if still.sent == flight.sent => {}
                // The same connection was broken off for another.
                Some(_) | None => continue,
            }
            if is_shared {
                self.finish(flight.user, RequestOutcome::of(flight.held, cause.clone()), now);
                self.note_unwritten(flight.connection);
            } else {
                self.break_off(flight.connection, cause.clone());
            }
        }
    }

    /// Lets connections do what is due by itself.
    pub(super) fn tick(&mut self) {
        if !self.plan.protocol.is_shared() {
            return;
        }
        let now = Instant::now();
        for number in 0..self.connections.len() {
            let Some(connection) = self.connections.get_mut(number) else { return };
            let number = u32::try_from(number).unwrap_or(NONE);
            if connection.stream.is_some() && connection.wire.tick(now) {
                self.note_unwritten(number);
                self.take_events(number);
            }
        }
    }
}

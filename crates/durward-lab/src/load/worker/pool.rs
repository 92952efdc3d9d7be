//! Connections that users share: which of them takes the next request.

use super::super::clock::NEVER;
use super::LoadWorker;

impl LoadWorker<'_> {
    /// A connection to this node that takes a request. Of HTTP/1.1 the one used last, so that few are in use; of protocols that
    /// carry several requests each in turn.
    pub(super) fn take_idle(&mut self, node: usize) -> Option<u32> {
        let pool = self.pools.get_mut(node)?;
        if !self.plan.protocol.is_shared() {
            return pool.idle.pop_back();
        }
        while let Some(number) = pool.idle.pop_front() {
            let Some(connection) = self.connections.get_mut(number as usize) else { continue };
            connection.is_listed = false;
            // A server may have taken back what it allowed.
            if connection.stream.is_some() && connection.wire.room() > 0 {
                return Some(number);
            }
        }
        None
    }

    /// Puts a connection that carries several requests among those that take one, if it does.
    pub(super) fn list(&mut self, number: u32) {
        let Some(connection) = self.connections.get_mut(number as usize) else { return };
        if connection.is_listed || connection.stream.is_none() || connection.wire.room() == 0 {
            return;
        }
        connection.is_listed = true;
        if let Some(pool) = self.pools.get_mut(connection.node as usize) {
            pool.idle.push_back(number);
        }
    }

    /// A user waits for a connection.
    pub(super) fn wait(&mut self, node: usize, user: u32) {
        let Some(pool) = self.pools.get_mut(node) else { return };
        pool.waiting.push_back(user);
        // It is not this generator that makes the request late.
        if let Some(user) = self.users.get_mut(user as usize) {
            user.free_since = NEVER;
        }
        let backlog = self.pools.iter().map(|pool| pool.waiting.len()).sum();
        self.note_backlog(backlog);
    }

    /// A shared connection takes a request again: for whoever waits.
    pub(super) fn reuse(&mut self, number: u32, node: usize) {
        let Some(pool) = self.pools.get_mut(node) else { return };
        if !self.plan.protocol.is_shared() {
            match pool.waiting.pop_front() {
                Some(user) => self.send(number, user),
                None => pool.idle.push_back(number),
            }
            return;
        }
        self.fill(number, node);
    }

    /// Gives a connection that carries several requests as many as it takes of those that wait.
    pub(super) fn fill(&mut self, number: u32, node: usize) {
        while self
            .connections
            .get_mut(number as usize)
            .is_some_and(|one| one.stream.is_some() && one.wire.room() > 0)
            && let Some(user) = self.pools.get_mut(node).and_then(|pool| pool.waiting.pop_front())
        {
            self.send(number, user);
        }
        self.list(number);
    }
}

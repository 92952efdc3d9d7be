//! Requests that are cut into several upstream requests.
//!
//! An entry may hold a structure of a vendor: a value to write, an argument, attributes of a node. The gate passes it by the length that it tells; a
//! server that knows the type reads it by the type. Where the length lies, the server takes what is left of the structure for the entries that
//! follow. So nothing follows: such an entry is the last of its upstream request, and a lie harms only the entry that told it. What follows goes
//! upstream in another request, when the response has come; it is ruled on then, so with the rights of that moment.
//!
//! Diagnostic infos of parts are left out (they are optional): they point into the strings of headers that the client does not get.

use opcua_types::StatusCode;

use super::pending::{Pending, Plan, Reply, UpstreamRequest};
use super::put::Put;
use super::service::Service;
use super::splice::Shape;
use super::walk::{Garbled, Walked, Walker};
use super::{Mediator, Planned};
use crate::permission::Rights;

/// A part of a client's request: the body of a request of the same service.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) body: Vec<u8>,
    pub(super) entries: usize,
}

/// A client's request in parts, and the results so far.
#[derive(Debug)]
pub(super) struct Parts {
    shape: Shape,
    /// Those still to be sent; the next one last.
    ahead: Vec<Part>,
    /// How many entries the part has that is being answered.
    running: usize,
    /// How many entries all parts have.
    entries: usize,
    /// How many entries have results.
    answered: usize,
    results: Vec<u8>,
    /// Whether the server has carried out a part.
    has_begun: bool,
}

/// A part that went upstream.
#[derive(Debug)]
pub(super) struct PendingParts {
    parts: Parts,
    pub(super) running: Pending,
}

impl PendingParts {
    pub(super) fn weight(&self) -> usize {
        self.parts.entries
    }

    /// No response comes, or none that counts. What was carried out before is told, and of the rest why it was not.
    pub(super) fn failed(self, status: StatusCode) -> Result<Vec<u8>, StatusCode> {
        let mut parts = self.parts;
        if !parts.has_begun {
            return Err(status);
        }
        parts.fail(status);
        Ok(parts.answer())
    }
}

impl Parts {
    pub(super) fn new(shape: Shape, mut parts: Vec<Part>) -> Self {
        parts.reverse();
        let entries = parts.iter().map(|part| part.entries).sum();
        Parts { shape, ahead: parts, running: 0, entries, answered: 0, results: Vec::new(), has_begun: false }
    }

    /// Adds the results of a response, as the client would get it.
    fn add(&mut self, body: &[u8]) -> Walked<()> {
        let mut walker = Walker::new(body);
        if walker.count()? != self.running {
            return Err(Garbled);
        }
        let at = walker.at();
        (0..self.running).try_for_each(|_| self.shape.skip(&mut walker))?;
        self.results.put_bytes(walker.since(at));
        self.answered += self.running;
        Ok(())
    }

    /// All that has no result is refused, and not sent.
    fn fail(&mut self, status: StatusCode) {
        self.ahead.clear();
        for _ in self.answered..self.entries {
            self.shape.put_refused(&mut self.results, status);
        }
        self.answered = self.entries;
    }

    fn answer(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.results.len() + 8);
        out.put_count(self.entries);
        out.put_bytes(&self.results);
        out.put_null();
        out
    }
}

impl Mediator {
    /// Sends the first part that has anything granted.
    pub(super) fn begin_parts(
        &mut self,
        rights: &dyn Rights,
        service: Service,
        mut parts: Parts,
    ) -> Planned<'static> {
        Ok(match self.next_part(rights, service, &mut parts) {
            Some((body, running)) => {
                Plan::Forward(body.into(), Pending::InParts(Box::new(PendingParts { parts, running })))
            }
            None => Plan::Answer(parts.answer()),
        })
    }

    /// What to send next; nothing, where all entries have results.
    fn next_part(
        &mut self,
        rights: &dyn Rights,
        service: Service,
        parts: &mut Parts,
    ) -> Option<(Vec<u8>, Pending)> {
        while let Some(part) = parts.ahead.pop() {
            parts.running = part.entries;
            match self.plan(rights, service, &part.body) {
                Ok(Plan::Forward(body, pending)) => return Some((body.into_owned(), pending)),
                Ok(Plan::Answer(body)) => {
                    if parts.add(&body) == Err(Garbled) {
                        parts.fail(StatusCode::BadInternalError);
                    }
                }
                Err(status) => parts.fail(status),
                // A part is not cut again: only its last entry holds structures.
                Ok(Plan::InParts(_) | Plan::Cancel(_)) => parts.fail(StatusCode::BadInternalError),
            }
        }
        None
    }

    /// Takes the response to a part in: the reply to the client, or the next part.
    pub(super) fn take_part(
        &mut self,
        rights: &dyn Rights,
        (request_id, service): (u32, Service),
        mut pending: PendingParts,
        body: &[u8],
    ) -> Reply<'static> {
        let added = match self.mend(rights, &pending.running, body) {
            Ok(Reply::Pass(mended)) => pending.parts.add(&mended),
            Ok(Reply::FollowUp(_) | Reply::Fault(_)) | Err(Garbled) => Err(Garbled),
        };
        if added == Err(Garbled) {
            return match pending.failed(StatusCode::BadUnknownResponse) {
                Ok(body) => Reply::Pass(body.into()),
                Err(status) => Reply::Fault(status),
            };
        }
        pending.parts.has_begun = true;
        match self.next_part(rights, service, &mut pending.parts) {
            Some((body, running)) => {
                pending.running = running;
                self.waiting.insert(request_id, service, Pending::InParts(Box::new(pending)));
                Reply::FollowUp(UpstreamRequest { service, body })
            }
            None => Reply::Pass(pending.parts.answer().into()),
        }
    }
}

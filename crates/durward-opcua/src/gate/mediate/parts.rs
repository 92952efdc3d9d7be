//! Requests that are cut into several upstream requests.
//!
//! An entry may hold a structure of a vendor: a value to write, an argument, attributes of a node. The gate passes it by the length that it tells; a
//! server that knows the type reads it by the type. Where the length lies, the server takes what is left of the structure for the entries that
//! follow. So nothing follows: such an entry is the last of its upstream request, and a lie harms only the entry that told it. What follows goes
//! upstream in another request, when the response has come; it is ruled on then, so with the rights of that moment.
//!
//! Diagnostic infos of parts are left out (they are optional): they point into the strings of headers that the client does not get.

use opcua_types::StatusCode;

use super::pending::{MediatedReply, RequestPlan, ResponseRepair, UpstreamRequest};
use super::put::PutEncoded;
use super::service::ServiceKind;
use super::splice::ResultShape;
use super::walk::{DecodeError, WalkResult, Walker};
use super::{Mediator, PlannedRequest};
use crate::permission::SessionRights;

/// A part of a client's request: the body of a request of the same service.
#[derive(Debug)]
pub(super) struct RequestPart {
    pub(super) body: Vec<u8>,
    pub(super) entries: usize,
}

/// A client's request in parts, and the results so far.
#[derive(Debug)]
pub(super) struct SplitRequest {
    shape: ResultShape,
    /// Those still to be sent; the next one last.
    ahead: Vec<RequestPart>,
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
    parts: SplitRequest,
    pub(super) running: ResponseRepair,
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

impl SplitRequest {
    pub(super) fn new(shape: ResultShape, mut parts: Vec<RequestPart>) -> Self {
        parts.reverse();
        let entries = parts.iter().map(|part| part.entries).sum();
        SplitRequest {
            shape,
            ahead: parts,
            running: 0,
            entries,
            answered: 0,
            results: Vec::new(),
            has_begun: false,
        }
    }

    /// Adds the results of a response, as the client would get it.
    fn add(&mut self, body: &[u8]) -> WalkResult<()> {
        let mut walker = Walker::new(body);
        if walker.count()? != self.running {
            return Err(DecodeError);
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
        rights: &dyn SessionRights,
        service: ServiceKind,
        mut parts: SplitRequest,
    ) -> PlannedRequest<'static> {
        Ok(match self.next_part(rights, service, &mut parts) {
            Some((body, running)) => RequestPlan::Forward(
                body.into(),
                ResponseRepair::InParts(Box::new(PendingParts { parts, running })),
            ),
            None => RequestPlan::Answer(parts.answer()),
        })
    }

    /// What to send next; nothing, where all entries have results.
    fn next_part(
        &mut self,
        rights: &dyn SessionRights,
        service: ServiceKind,
        parts: &mut SplitRequest,
    ) -> Option<(Vec<u8>, ResponseRepair)> {
        while let Some(part) = parts.ahead.pop() {
            parts.running = part.entries;
            match self.plan(rights, service, &part.body) {
                Ok(RequestPlan::Forward(body, pending)) => return Some((body.into_owned(), pending)),
                Ok(RequestPlan::Answer(body)) => {
                    if parts.add(&body) == Err(DecodeError) {
                        parts.fail(StatusCode::BadInternalError);
                    }
                }
                Err(status) => parts.fail(status),
                // A part is not cut again: only its last entry holds structures.
                Ok(RequestPlan::InParts(_) | RequestPlan::Cancel(_)) => {
                    parts.fail(StatusCode::BadInternalError)
                }
            }
        }
        None
    }

    /// Takes the response to a part in: the reply to the client, or the next part.
    pub(super) fn take_part(
        &mut self,
        rights: &dyn SessionRights,
        (request_id, service): (u32, ServiceKind),
        mut pending: PendingParts,
        body: &[u8],
    ) -> MediatedReply<'static> {
        let added = match self.mend(rights, &pending.running, body) {
            Ok(MediatedReply::Pass(mended)) => pending.parts.add(&mended),
            Ok(MediatedReply::FollowUp(_) | MediatedReply::Fault(_)) | Err(DecodeError) => Err(DecodeError),
        };
        if added == Err(DecodeError) {
            return match pending.failed(StatusCode::BadUnknownResponse) {
                Ok(body) => MediatedReply::Pass(body.into()),
                Err(status) => MediatedReply::Fault(status),
            };
        }
        pending.parts.has_begun = true;
        match self.next_part(rights, service, &mut pending.parts) {
            Some((body, running)) => {
                pending.running = running;
                self.waiting.insert(request_id, service, ResponseRepair::InParts(Box::new(pending)));
                MediatedReply::FollowUp(UpstreamRequest { service, body })
            }
            None => MediatedReply::Pass(pending.parts.answer().into()),
        }
    }
}

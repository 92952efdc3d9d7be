//! Complete mediation: every service between one client's session and one upstream session of its own.
//!
//! ```text
//!  client                 Mediator                     server
//!    | request body ---> on_request  ---- Forward -----> |     entries that are not granted are cut out
//!    |                       |                           |
//!    | <-- Reply::Pass -- on_response <-- response body -|     their results are put back; what may not be seen is taken out
//! ```
//!
//! Pure: bytes in, bytes out. No socket, no clock, no key; rights are asked through [`SessionRights`], which answers for the moment of the question.
//! A body is what follows the request header or the response header; headers are the caller's.
//!
//! | module | holds |
//! |---|---|
//! | [`walk`] | the binary encoding, walked over without a tree |
//! | [`service`] | every service of Part 4, and who answers it |
//! | `splice` | cutting refused entries out and putting their results back |
//! | `parts` | cutting a request into several, behind each structure whose length may lie |
//! | `access` | which permission an attribute asks for; attributes that tell rights |
//! | `read`, `history`, `call`, `browse`, `translate`, `register`, `nodes` | services on nodes |
//! | `subscription`, `subscriptions`, `items`, `event`, `publish` | services on subscriptions |
//!
//! # What holds
//!
//! - A service that is not listed is refused; so is an attribute, a kind of history or a kind of notification that is not known.
//! - What may not be browsed is not there: it is refused as unknown, whether it exists or not.
//! - Nothing that was ruled on stands behind an extension object whose length may lie: see [`walk`].
//! - A server that answers something else than was asked gets its whole response replaced by a service fault.
//! - Rights are asked before a request goes upstream, and again for what is read (Read, HistoryRead, Browse, notifications) before it reaches the
//!   client. Results of what was done (Write, Call, HistoryUpdate, node management) reach the client in any case: it has happened.
//! - What is kept is bounded by [`MediatorLimits`].
//!
//! # What is not here
//!
//! Query is refused: its filters look at values of nodes that are not in its results. Nodes of other servers, and nodes named by namespace URI, are
//! taken out of browse results: the session's rights speak of nodes by namespace index.

mod access;
mod browse;
mod call;
mod event;
mod history;
mod items;
mod nodes;
mod parts;
mod pending;
mod points;
mod publish;
mod put;
mod read;
mod register;
pub mod service;
mod splice;
mod subscription;
mod subscriptions;
mod translate;
pub mod walk;

use std::borrow::Cow;
use std::sync::Arc;

use opcua_types::StatusCode;

use access::Aliases;
use browse::BrowsePoints;
use history::HistoryPoints;
pub use pending::{MediatedReply, UpstreamRequest};
use pending::{RequestPlan, ResponseRepair, UpstreamPending, UpstreamRequests};
use points::ContinuationPoints;
use service::{Mediation, ServiceKind};
use subscriptions::MediatedSubscriptions;
pub use subscriptions::{MediatedSubscription, NoTransfers, Owners};
use walk::{DecodeError, WalkResult, Walker};

use crate::permission::SessionRights;

/// What a request becomes, or why it is refused as a whole.
type PlannedRequest<'a> = Result<RequestPlan<'a>, StatusCode>;

/// How much one session may make the gate keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediatorLimits {
    /// Entries in one request. Above: `BadTooManyOperations`.
    pub nodes_per_request: usize,
    /// Requests that wait for the server. Above: `BadTooManyOperations`, for Publish `BadTooManyPublishRequests`.
    pub outstanding: usize,
    /// Entries in all requests that wait for the server. Above: `BadTooManyOperations`.
    pub outstanding_entries: usize,
    /// Continuation points, for Browse and for HistoryRead each. Above: the oldest is dropped, and refused when it is used.
    pub continuation_points: usize,
    /// Subscriptions. Above: `BadTooManySubscriptions`.
    pub subscriptions: usize,
    /// Monitored items. Above: `BadTooManyMonitoredItems`.
    pub monitored_items: usize,
    /// Aliases of registered nodes. Above: `BadTooManyOperations`.
    pub aliases: usize,
    /// Elements in one browse path: each costs a round trip to the server. Above: `BadTooManyOperations` for the path.
    pub path_elements: usize,
}

impl Default for MediatorLimits {
    fn default() -> Self {
        MediatorLimits {
            nodes_per_request: 10_000,
            outstanding: 200,
            outstanding_entries: 100_000,
            continuation_points: 500,
            subscriptions: 100,
            monitored_items: 100_000,
            aliases: 10_000,
            path_elements: 64,
        }
    }
}

/// What to do with a client's request.
#[derive(Debug, PartialEq, Eq)]
pub enum MediatedRequest<'a> {
    /// Send these bytes upstream, as the body of a request of the same service; hand the response to [`Mediator::on_response`], a service
    /// fault (or that no answer comes) to [`Mediator::on_failure`].
    Forward(Cow<'a, [u8]>),
    /// Answer with these bytes, as the body of the service's response.
    Answer(Vec<u8>),
    /// Answer with a service fault.
    Refuse(StatusCode),
    /// Cancel (Part 4, 5.7.5): cancel those of this session's requests that carry this handle. Only the caller knows under which handles they went
    /// upstream. Nothing is kept here.
    Cancel(u32),
}

/// Mediates between one client's session and one upstream session.
pub struct Mediator {
    limits: MediatorLimits,
    owners: Arc<dyn Owners>,
    waiting: UpstreamRequests,
    aliases: Aliases,
    browse_points: BrowsePoints,
    history_points: HistoryPoints,
    subscriptions: MediatedSubscriptions,
}

impl core::fmt::Debug for Mediator {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Mediator")
            .field("waiting", &self.waiting.count())
            .field("aliases", &self.aliases.len())
            .field("subscriptions", &self.subscriptions.count())
            .finish_non_exhaustive()
    }
}

impl Mediator {
    /// For a new session.
    pub fn new(limits: MediatorLimits, owners: Arc<dyn Owners>) -> Self {
        Mediator {
            limits,
            owners,
            waiting: UpstreamRequests::default(),
            aliases: Aliases::new(),
            browse_points: ContinuationPoints::new(limits.continuation_points),
            history_points: ContinuationPoints::new(limits.continuation_points),
            subscriptions: MediatedSubscriptions::default(),
        }
    }

    /// What to do with a request. `request_id` is the caller's name for it, until its response; `type_id` the encoding id of the request
    /// (numeric, namespace 0); `body` what follows the request header.
    pub fn on_request<'a>(
        &mut self,
        rights: &dyn SessionRights,
        request_id: u32,
        type_id: u32,
        body: &'a [u8],
    ) -> MediatedRequest<'a> {
        match self
            .admit(request_id, type_id)
            .and_then(|service| Ok((service, self.plan_in_parts(rights, service, body)?)))
        {
            // None is left: they have been begun.
            Ok((_, RequestPlan::InParts(_))) => MediatedRequest::Refuse(StatusCode::BadInternalError),
            Err(status) => MediatedRequest::Refuse(status),
            Ok((_, RequestPlan::Answer(body))) => MediatedRequest::Answer(body),
            Ok((_, RequestPlan::Cancel(handle))) => MediatedRequest::Cancel(handle),
            Ok((service, RequestPlan::Forward(body, pending))) => {
                self.waiting.insert(request_id, service, pending);
                MediatedRequest::Forward(body)
            }
        }
    }

    fn admit(&self, request_id: u32, type_id: u32) -> Result<ServiceKind, StatusCode> {
        let service = ServiceKind::of_request(type_id).ok_or(StatusCode::BadServiceUnsupported)?;
        match service.mediation() {
            Mediation::Elsewhere | Mediation::Refused => return Err(StatusCode::BadServiceUnsupported),
            Mediation::Mediated => {}
        }
        if self.waiting.contains(request_id) {
            return Err(StatusCode::BadRequestHeaderInvalid);
        }
        if self.waiting.count() < self.limits.outstanding {
            Ok(service)
        } else if service == ServiceKind::Publish {
            Err(StatusCode::BadTooManyPublishRequests)
        } else {
            Err(StatusCode::BadTooManyOperations)
        }
    }

    /// How many entries the next request may have.
    fn room(&self) -> usize {
        self.limits.nodes_per_request.min(self.entries_left())
    }

    /// How many entries may wait for the server, beside those that do.
    fn entries_left(&self) -> usize {
        self.limits.outstanding_entries.saturating_sub(self.waiting.weight())
    }

    /// The plan; or that for the first part, where the request has to be cut.
    fn plan_in_parts<'a>(
        &mut self,
        rights: &dyn SessionRights,
        service: ServiceKind,
        body: &'a [u8],
    ) -> PlannedRequest<'a> {
        match self.plan(rights, service, body)? {
            RequestPlan::InParts(parts) => self.begin_parts(rights, service, parts),
            plan @ (RequestPlan::Forward(..) | RequestPlan::Answer(_) | RequestPlan::Cancel(_)) => Ok(plan),
        }
    }

    fn plan<'a>(
        &mut self,
        rights: &dyn SessionRights,
        service: ServiceKind,
        body: &'a [u8],
    ) -> PlannedRequest<'a> {
        match service {
            ServiceKind::Read => self.read(rights, body),
            ServiceKind::Write => self.write(rights, body),
            ServiceKind::HistoryRead => self.history_read(rights, body),
            ServiceKind::HistoryUpdate => self.history_update(rights, body),
            ServiceKind::Call => self.call(rights, body),
            ServiceKind::Browse => self.browse(rights, body),
            ServiceKind::BrowseNext => self.browse_next(rights, body),
            ServiceKind::TranslateBrowsePathsToNodeIds => self.translate(rights, body),
            ServiceKind::RegisterNodes => self.register(rights, body),
            ServiceKind::UnregisterNodes => self.unregister(body),
            ServiceKind::AddNodes => self.add_nodes(rights, body),
            ServiceKind::AddReferences => self.add_references(rights, body),
            ServiceKind::DeleteNodes => self.delete_nodes(rights, body),
            ServiceKind::DeleteReferences => self.delete_references(rights, body),
            ServiceKind::CreateMonitoredItems => self.create_items(rights, body),
            ServiceKind::ModifyMonitoredItems => self.modify_items(rights, body),
            ServiceKind::SetMonitoringMode => self.set_monitoring_mode(rights, body),
            ServiceKind::SetTriggering => self.set_triggering(body),
            ServiceKind::DeleteMonitoredItems => self.delete_items(body),
            ServiceKind::CreateSubscription => self.create_subscription(body),
            ServiceKind::ModifySubscription => self.modify_subscription(body),
            ServiceKind::SetPublishingMode => self.set_publishing_mode(body),
            ServiceKind::DeleteSubscriptions => self.delete_subscriptions(body),
            ServiceKind::TransferSubscriptions => self.transfer(body),
            ServiceKind::Publish => self.publish(body),
            ServiceKind::Republish => self.republish(body),
            ServiceKind::Cancel => {
                let mut walker = Walker::new(body);
                let handle = walker.u32()?;
                walker.end()?;
                Ok(RequestPlan::Cancel(handle))
            }
            ServiceKind::FindServers
            | ServiceKind::FindServersOnNetwork
            | ServiceKind::GetEndpoints
            | ServiceKind::RegisterServer
            | ServiceKind::RegisterServer2
            | ServiceKind::OpenSecureChannel
            | ServiceKind::CloseSecureChannel
            | ServiceKind::CreateSession
            | ServiceKind::ActivateSession
            | ServiceKind::CloseSession
            | ServiceKind::QueryFirst
            | ServiceKind::QueryNext => Err(StatusCode::BadServiceUnsupported),
        }
    }

    /// What becomes of a response. `type_id` is its encoding id, `body` what follows the response header. A response whose header has a bad service
    /// result is for [`Mediator::on_failure`].
    pub fn on_response<'a>(
        &mut self,
        rights: &dyn SessionRights,
        request_id: u32,
        type_id: u32,
        body: &'a [u8],
    ) -> MediatedReply<'a> {
        let Some(UpstreamPending { service, pending, .. }) = self.waiting.remove(request_id) else {
            return MediatedReply::Fault(StatusCode::BadUnknownResponse);
        };
        if type_id != service.response_id() {
            return match self.give_up(pending, StatusCode::BadUnknownResponse) {
                Ok(body) => MediatedReply::Pass(body.into()),
                Err(status) => MediatedReply::Fault(status),
            };
        }
        if let ResponseRepair::Translate(mut pending) = pending {
            let reply = pending.take(rights, &self.aliases, body);
            if let Ok(MediatedReply::FollowUp(_)) = &reply {
                self.waiting.insert(request_id, service, ResponseRepair::Translate(pending));
            }
            return reply.unwrap_or(MediatedReply::Fault(StatusCode::BadUnknownResponse));
        }
        if let ResponseRepair::InParts(pending) = pending {
            return self.take_part(rights, (request_id, service), *pending, body);
        }
        self.mend(rights, &pending, body).unwrap_or_else(|DecodeError| {
            self.undo(&pending);
            MediatedReply::Fault(StatusCode::BadUnknownResponse)
        })
    }

    /// The server answered with a service fault, or will not answer. Where it has carried out a part of the request before (see `parts`), gives the
    /// body of the response that tells the client so, with `status` for the rest; else the client gets `status` as a service fault.
    ///
    /// # Errors
    /// `status`.
    pub fn on_failure(&mut self, request_id: u32, status: StatusCode) -> Result<Vec<u8>, StatusCode> {
        match self.waiting.remove(request_id) {
            Some(waiting) => self.give_up(waiting.pending, status),
            None => Err(status),
        }
    }

    /// No response comes, and nobody waits for one any more.
    pub fn on_fault(&mut self, request_id: u32) {
        let _nobody_waits = self.on_failure(request_id, StatusCode::BadRequestCancelledByClient);
    }

    fn give_up(&mut self, pending: ResponseRepair, status: StatusCode) -> Result<Vec<u8>, StatusCode> {
        if let ResponseRepair::InParts(parts) = pending {
            return parts.failed(status);
        }
        self.undo(&pending);
        Err(status)
    }

    /// Requests that wait for the server.
    pub fn outstanding(&self) -> usize {
        self.waiting.count()
    }

    /// How many subscriptions the session has.
    pub fn subscription_count(&self) -> usize {
        self.subscriptions.count()
    }

    /// Whether a response is awaited that may tell of a subscription.
    pub fn awaits_subscription(&self) -> bool {
        let services = [ServiceKind::CreateSubscription, ServiceKind::TransferSubscriptions];
        services.into_iter().any(|service| self.waiting.count_of(service) > 0)
    }

    /// Whether a subscription is the session's.
    pub fn has_subscription(&self, id: u32) -> bool {
        self.subscriptions.own(id).is_ok()
    }

    fn undo(&mut self, pending: &ResponseRepair) {
        if let ResponseRepair::CreateItems(pending) = pending {
            self.forget_items(pending);
        }
    }

    fn mend<'a>(
        &mut self,
        rights: &dyn SessionRights,
        pending: &ResponseRepair,
        body: &'a [u8],
    ) -> WalkResult<MediatedReply<'a>> {
        let pass = |body: Vec<u8>| MediatedReply::Pass(Cow::Owned(body));
        Ok(match pending {
            ResponseRepair::Results(results) => MediatedReply::Pass(results.mend(self.lens(rights), body)?),
            ResponseRepair::Triggering(added, removed) => {
                check_triggering(*added, *removed, body)?;
                MediatedReply::Pass(body.into())
            }
            ResponseRepair::Browse(browse) => {
                pass(browse.mend(rights, &self.aliases, &mut self.browse_points, body)?)
            }
            ResponseRepair::History(history) => {
                pass(history.mend(rights, &self.aliases, &mut self.history_points, body)?)
            }
            ResponseRepair::Call { sieve, item_lists } => {
                pass(call::mend(sieve, item_lists, &self.subscriptions, body)?)
            }
            ResponseRepair::Register { sieve, nodes } => {
                pass(register::mend(sieve, nodes, &mut self.aliases, self.limits.aliases, body)?)
            }
            ResponseRepair::Nothing => {
                Walker::new(body).end()?;
                MediatedReply::Pass(body.into())
            }
            ResponseRepair::CreateSubscription => {
                self.mend_create_subscription(body)?;
                MediatedReply::Pass(body.into())
            }
            ResponseRepair::ModifySubscription => {
                let mut walker = Walker::new(body);
                walker.take(8 + 4 + 4)?;
                walker.end()?;
                MediatedReply::Pass(body.into())
            }
            ResponseRepair::DeleteSubscriptions { sieve, ids } => {
                pass(self.mend_delete_subscriptions(sieve, ids, body)?)
            }
            ResponseRepair::Transfer { sieve, ids } => pass(self.mend_transfer(sieve, ids, body)?),
            ResponseRepair::CreateItems(pending) => pass(self.mend_create_items(pending, body)?),
            ResponseRepair::ModifyItems(pending) => pass(self.mend_modify_items(pending, body)?),
            ResponseRepair::DeleteItems { subscription, sieve, ids } => {
                pass(self.mend_delete_items(*subscription, sieve, ids, body)?)
            }
            ResponseRepair::Publish { acknowledged, owed } => pass(publish::mend_publish(
                rights,
                &self.aliases,
                &mut self.subscriptions,
                (acknowledged, *owed),
                body,
            )?),
            ResponseRepair::Republish { subscription, sequence, client_sequence } => {
                self.mend_republish(rights, *subscription, (*sequence, *client_sequence), body)?
            }
            ResponseRepair::Translate(_) | ResponseRepair::InParts(_) => return Err(DecodeError),
        })
    }

    fn mend_republish(
        &self,
        rights: &dyn SessionRights,
        subscription: u32,
        sequences: (u32, u32),
        body: &[u8],
    ) -> WalkResult<MediatedReply<'static>> {
        let Ok(own) = self.subscriptions.own(subscription) else {
            return Ok(MediatedReply::Fault(StatusCode::BadSubscriptionIdInvalid));
        };
        let mended = publish::mend_republish(rights, &self.aliases, own, sequences, body)?;
        Ok(match mended {
            Some(body) => MediatedReply::Pass(Cow::Owned(body)),
            None => MediatedReply::Fault(StatusCode::BadMessageNotAvailable),
        })
    }
}

/// Two lists of results, each with its diagnostic infos.
fn check_triggering(added: usize, removed: usize, body: &[u8]) -> WalkResult<()> {
    let mut walker = Walker::new(body);
    for expected in [added, removed] {
        if walker.skip_array(|walker| walker.u32().map(drop))? != expected {
            return Err(DecodeError);
        }
        let diagnostics = walker.skip_array(Walker::skip_diagnostic_info)?;
        if diagnostics != 0 && diagnostics != expected {
            return Err(DecodeError);
        }
    }
    walker.end()
}

//! One request on its way: from the client through the mediator to the server, and back.
//!
//! The hot path, a Read that is granted whole, copies once: the request into the message with the server's header, and nothing of the response,
//! whose handle is changed in place. Nothing is decoded to a tree.
//!
//! Requests of a session go upstream in the order in which they came, and what comes back is mediated in the order in which it arrives, by the one
//! task that reads the upstream channel: sequence numbers of notifications, and what the mediator keeps of a session, depend on it.

use std::borrow::Cow;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use opcua_types::{BinaryEncodable, CancelRequest, CancelResponse, ObjectId, RequestHeader, StatusCode};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use super::core::GateCore;
use super::head::{NO_HEADER, ResponseHeaderFields};
use super::link::SessionLink;
use super::mediate::service::ServiceKind;
use super::mediate::walk::DecodeError;
use super::mediate::{MediatedReply, MediatedRequest, UpstreamRequest};
use super::service::GateUser;
use super::upstream::{is_session_lost, told};
use crate::channel::PendingRequestGuard;
use crate::error::Error;
use crate::protocol::GateRefusal;
use crate::session::{ActiveSession, SessionCall};
use crate::token::RightKind;
use crate::wire::{self, RequestPeek, WireReader};

/// A Publish may come so much later than its client waits: the message would be lost.
const PUBLISH_LATE: Duration = Duration::from_secs(10);
const FAULT: u32 = ObjectId::ServiceFault_Encoding_DefaultBinary as u32;

/// The kind of right that a service needs at least.
pub(super) fn kind_of(service: ServiceKind) -> RightKind {
    match service {
        ServiceKind::Write
        | ServiceKind::HistoryUpdate
        | ServiceKind::AddNodes
        | ServiceKind::AddReferences
        | ServiceKind::DeleteNodes
        | ServiceKind::DeleteReferences => RightKind::Writing,
        ServiceKind::Call => RightKind::Calling,
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
        | ServiceKind::Cancel
        | ServiceKind::Browse
        | ServiceKind::BrowseNext
        | ServiceKind::TranslateBrowsePathsToNodeIds
        | ServiceKind::RegisterNodes
        | ServiceKind::UnregisterNodes
        | ServiceKind::QueryFirst
        | ServiceKind::QueryNext
        | ServiceKind::Read
        | ServiceKind::HistoryRead
        | ServiceKind::CreateMonitoredItems
        | ServiceKind::ModifyMonitoredItems
        | ServiceKind::SetMonitoringMode
        | ServiceKind::SetTriggering
        | ServiceKind::DeleteMonitoredItems
        | ServiceKind::CreateSubscription
        | ServiceKind::ModifySubscription
        | ServiceKind::SetPublishingMode
        | ServiceKind::Publish
        | ServiceKind::Republish
        | ServiceKind::TransferSubscriptions
        | ServiceKind::DeleteSubscriptions => RightKind::Reading,
    }
}

/// Whether the mediator keeps something of the response: then it is waited for even where the client does not any more.
fn leaves_traces(service: ServiceKind) -> bool {
    !matches!(
        service,
        ServiceKind::Read
            | ServiceKind::Write
            | ServiceKind::Call
            | ServiceKind::HistoryUpdate
            | ServiceKind::TranslateBrowsePathsToNodeIds
            | ServiceKind::SetTriggering
            | ServiceKind::ModifySubscription
            | ServiceKind::SetPublishingMode
            | ServiceKind::Republish
    )
}

fn is_delivery(service: ServiceKind) -> bool {
    matches!(service, ServiceKind::Publish | ServiceKind::Republish)
}

/// Whether the response may tell of subscriptions that the session did not have.
fn brings_subscriptions(service: ServiceKind) -> bool {
    matches!(service, ServiceKind::CreateSubscription | ServiceKind::TransferSubscriptions)
}

/// Who waits for the response, on the client's side.
type ResponseWaiter = oneshot::Sender<Result<Bytes, StatusCode>>;

/// A response that has arrived.
pub(super) struct EarlyResponse {
    exchange: Arc<Exchange>,
    response: Result<Bytes, Error>,
    client: ResponseWaiter,
}

impl EarlyResponse {
    /// The subscription that a response to Publish is of.
    pub(super) fn subscription(&self) -> Option<u32> {
        let response = self.response.as_ref().ok()?;
        let head = ResponseHeaderFields::read(response).ok().filter(|head| head.type_id != FAULT)?;
        let id = response.get(head.parameters..)?.first_chunk::<4>()?;
        Some(u32::from_le_bytes(*id))
    }

    /// Mediates it.
    fn take(self) {
        let EarlyResponse { exchange, response, client } = self;
        let core = exchange.link.core.upgrade().ok_or(StatusCode::BadShutdown);
        let response = match core.and_then(|core| exchange.finish(&core, response)) {
            Ok(ResponseOutcome::FollowUp(next)) => return exchange.send(next, client),
            Ok(ResponseOutcome::Passed(response)) => Ok(response),
            Err(status) => Err(status),
        };
        // Where nobody waits any more, what is kept of it was kept all the same.
        let _ = client.send(response);
    }

    /// After a subscription has come: another one may still be awaited.
    fn take_again(self) {
        let link = Arc::clone(&self.exchange.link);
        if let Some(arrived) = link.keep_early(self) {
            arrived.take();
        }
    }
}

/// One request.
pub(super) struct Exchange {
    link: Arc<SessionLink>,
    service: ServiceKind,
    session: Arc<ActiveSession<GateCore>>,
    /// The user when the request came.
    user: Arc<GateUser>,
    request: RequestPeek,
    body: Bytes,
    /// The request's name upstream and in the mediator.
    id: u32,
    under_way: Mutex<Option<PendingRequestGuard>>,
}

/// The immediate outcome of sending a request.
enum SendOutcome {
    Upstream(Bytes),
    Answered(Bytes),
}

/// The outcome of handling a response.
enum ResponseOutcome {
    Passed(Bytes),
    FollowUp(Bytes),
}

impl Exchange {
    pub(super) fn new(link: Arc<SessionLink>, service: ServiceKind, call: SessionCall<GateCore>) -> Exchange {
        let id = link.next_request.fetch_add(1, Ordering::Relaxed);
        let SessionCall { session, user, request, body } = call;
        Exchange { link, service, session, user, request, body, id, under_way: Mutex::default() }
    }

    /// Mediates the request to its end. Where nobody waits any more, it is cancelled upstream. It is sent before anything is waited for.
    pub(super) async fn run(self, core: &GateCore) -> Result<Bytes, StatusCode> {
        let (sender, reply) = oneshot::channel();
        let until = Instant::now() + self.within(core);
        let exchange = Arc::new(self);
        let mut waits = {
            let _sending = exchange.link.sending();
            let request = match exchange.begin(core)? {
                SendOutcome::Answered(response) => return Ok(response),
                SendOutcome::Upstream(request) => request,
            };
            let waits = WaiterGuard { exchange: Arc::clone(&exchange), until, reply: Some(reply) };
            exchange.send(request, sender);
            waits
        };
        waits.reply().await
    }

    /// Sends a request. What comes of it is mediated when it arrives, whether anybody waits for it or not.
    fn send(self: &Arc<Exchange>, request: Bytes, client: ResponseWaiter) {
        let exchange = Arc::clone(self);
        let arrived = move |response| exchange.arrived(response, client);
        // Locked until it is put there: the response may arrive, and be followed up, before.
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        *under_way = Some(self.link.session.channel().start(request, arrived));
    }

    fn arrived(self: Arc<Exchange>, response: Result<Bytes, Error>, client: ResponseWaiter) {
        let link = Arc::clone(&self.link);
        let brings_subscriptions = brings_subscriptions(self.service);
        let arrived = EarlyResponse { exchange: self, response, client };
        let is_publish = arrived.exchange.service == ServiceKind::Publish;
        let arrived = if is_publish { link.keep_early(arrived) } else { Some(arrived) };
        if let Some(arrived) = arrived {
            arrived.take();
        }
        if brings_subscriptions {
            link.take_early().into_iter().for_each(EarlyResponse::take_again);
        }
    }

    /// Nothing is taken of a response that may come still.
    fn give_up(&self) {
        let under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(under_way);
        self.link.mediator().on_fault(self.id);
        if brings_subscriptions(self.service) {
            self.link.take_early().into_iter().for_each(EarlyResponse::take_again);
        }
    }

    fn begin(&self, core: &GateCore) -> Result<SendOutcome, StatusCode> {
        let body = self.body.get(self.request.parameters..).unwrap_or_default();
        core.with_rights(&self.user, false, |rights| {
            let mut mediator = self.link.mediator();
            let outcome = mediator.on_request(rights, self.id, self.request.type_id, body);
            drop(mediator);
            match outcome {
                MediatedRequest::Forward(body) => {
                    self.compose(self.request.type_id, &body).map(SendOutcome::Upstream)
                }
                MediatedRequest::Answer(body) => Ok(SendOutcome::Answered(self.answer(core, &body))),
                MediatedRequest::Refuse(status) => Err(status),
                // The session layer answers it: it knows which requests are under way.
                MediatedRequest::Cancel(_) => Err(StatusCode::BadServiceUnsupported),
            }
        })
    }

    /// The request as the server gets it: its own token and handle; time, diagnostics, audit entry and timeout of the client; no additional
    /// header.
    fn compose(&self, type_id: u32, body: &[u8]) -> Result<Bytes, StatusCode> {
        let kept = self.kept_header().ok_or(StatusCode::BadDecodingError)?;
        let token = self.link.session.token();
        let mut request =
            BytesMut::with_capacity(4 + token.len() + kept.len() + NO_HEADER.len() + body.len());
        put_type(&mut request, type_id);
        request.extend_from_slice(token);
        let handle = request.len() + 8;
        request.extend_from_slice(kept);
        wire::patch_handle(&mut request, handle, self.id);
        request.extend_from_slice(&NO_HEADER);
        request.extend_from_slice(body);
        Ok(request.freeze())
    }

    /// The client's header from its time to its timeout.
    fn kept_header(&self) -> Option<&[u8]> {
        let start = self.request.token.end;
        let mut reader = WireReader::new(self.body.get(start..)?);
        // Time, handle, which diagnostics.
        reader.take(8 + 4 + 4).ok()?;
        reader.byte_string().ok()?;
        reader.take(4).ok()?;
        self.body.get(start..start + reader.position())
    }

    fn answer(&self, core: &GateCore, body: &[u8]) -> Bytes {
        let owned = wire::context();
        let header = wire::response_header(self.request.handle, StatusCode::Good, core.watch.now());
        let header = header.encode_to_vec(&owned.context());
        let mut response = BytesMut::with_capacity(4 + header.len() + body.len());
        put_type(&mut response, self.service.response_id());
        response.extend_from_slice(&header);
        response.extend_from_slice(body);
        response.freeze()
    }

    fn within(&self, core: &GateCore) -> Duration {
        let hint = Duration::from_millis(u64::from(self.request.timeout_hint_ms));
        match (self.service == ServiceKind::Publish, hint.is_zero()) {
            (true, true) => core.settings.upstream.publish_max,
            (true, false) => hint.saturating_add(PUBLISH_LATE),
            (false, true) => core.settings.upstream.client.request_max,
            (false, false) => hint,
        }
    }

    fn finish(&self, core: &GateCore, response: Result<Bytes, Error>) -> Result<ResponseOutcome, StatusCode> {
        let response = match response {
            Ok(response) => response,
            Err(error) => return self.fault(core, told(error.status())),
        };
        match ResponseHeaderFields::read(&response) {
            Ok(head) if head.type_id == FAULT || head.service_result.is_bad() => {
                self.fault(core, head.service_result)
            }
            Ok(head) => self.take(core, &head, response),
            Err(DecodeError) => self.fault(core, StatusCode::BadUnknownResponse),
        }
    }

    /// No response comes, or a fault. Of a request that the server has carried out in part, the client hears which part.
    fn fault(&self, core: &GateCore, status: StatusCode) -> Result<ResponseOutcome, StatusCode> {
        let told = match is_session_lost(status) {
            true => StatusCode::BadServerNotConnected,
            false if status.is_bad() => status,
            false => StatusCode::BadUnknownResponse,
        };
        let failed = self.link.mediator().on_failure(self.id, told);
        if is_session_lost(status) {
            self.link.lost(status);
        }
        failed.map(|body| ResponseOutcome::Passed(self.answer(core, &body)))
    }

    /// Hands a response to the mediator, with the rights of this moment.
    fn take(
        &self,
        core: &GateCore,
        head: &ResponseHeaderFields,
        response: Bytes,
    ) -> Result<ResponseOutcome, StatusCode> {
        let is_delivery = is_delivery(self.service);
        // What was asked before a change of user is answered by the old user's rights (Part 2, 6.20); deliveries go by the new one's.
        let user = if is_delivery { self.session.user() } else { Arc::clone(&self.user) };
        let body = response.get(head.parameters..).unwrap_or_default();
        let mended = {
            let is_transfer = self.service == ServiceKind::TransferSubscriptions;
            let transfers = || core.transfers.lock().unwrap_or_else(PoisonError::into_inner);
            let _transfers = is_transfer.then(transfers);
            core.with_rights(&user, is_delivery, |rights| {
                self.link.mediator().on_response(rights, self.id, head.type_id, body)
            })
        };
        let mended = match mended {
            MediatedReply::Pass(Cow::Borrowed(_)) => None,
            MediatedReply::Pass(Cow::Owned(body)) => Some(body),
            MediatedReply::FollowUp(UpstreamRequest { service, body }) => {
                return self.compose(service.request_id(), &body).map(ResponseOutcome::FollowUp);
            }
            MediatedReply::Fault(status) => return Err(status),
        };
        self.note(core, mended.as_deref().unwrap_or(body));
        self.still_admitted(core, &user)?;
        let response = match mended {
            None if head.is_plain => {
                ResponseHeaderFields::patched(response, head.handle_offset, self.request.handle)
            }
            None => head.rebuilt(&response, body, self.request.handle),
            Some(body) => head.rebuilt(&response, &body, self.request.handle),
        };
        Ok(ResponseOutcome::Passed(response))
    }

    /// What is read goes out only as long as the right lasts. What was written or called has happened, and the client hears so.
    fn still_admitted(&self, core: &GateCore, user: &GateUser) -> Result<(), StatusCode> {
        if user.cell.flags.ended.load(Ordering::Acquire) {
            return Err(StatusCode::BadSessionClosed);
        }
        let kind = kind_of(self.service);
        if kind != RightKind::Reading {
            return Ok(());
        }
        match core.admit(core.watch.now(), self.link.id, user.channel, kind) {
            Err(refusal @ (GateRefusal::Ended(_) | GateRefusal::NoSession)) => Err(refusal.status()),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Keeps account of subscriptions.
    fn note(&self, core: &GateCore, body: &[u8]) {
        if self.service == ServiceKind::CreateSubscription
            && let Some(id) = body.first_chunk::<4>()
        {
            core.own(self.link.id, u32::from_le_bytes(*id), &self.link);
        }
        let services = [
            ServiceKind::CreateSubscription,
            ServiceKind::DeleteSubscriptions,
            ServiceKind::TransferSubscriptions,
        ];
        if services.contains(&self.service) {
            self.link.tell_subscriptions(core);
        }
    }
}

/// Guards a wait for a response: dropping it cancels the request upstream.
struct WaiterGuard {
    exchange: Arc<Exchange>,
    until: Instant,
    /// Taken when it has come, or comes too late.
    reply: Option<oneshot::Receiver<Result<Bytes, StatusCode>>>,
}

impl WaiterGuard {
    async fn reply(&mut self) -> Result<Bytes, StatusCode> {
        let Some(reply) = &mut self.reply else { return Err(StatusCode::BadInternalError) };
        let replied = timeout_at(self.until, reply).await;
        self.reply = None;
        match replied {
            Ok(Ok(response)) => response,
            Ok(Err(_)) => Err(StatusCode::BadServerNotConnected),
            Err(_) => {
                self.exchange.give_up();
                Err(StatusCode::BadTimeout)
            }
        }
    }
}

impl Drop for WaiterGuard {
    fn drop(&mut self) {
        let Some(reply) = self.reply.take() else { return };
        let (exchange, until) = (Arc::clone(&self.exchange), self.until);
        // Nobody takes the response: where it leaves nothing behind, the mediator forgets the request at once.
        let forgets = !leaves_traces(exchange.service);
        if forgets {
            exchange.give_up();
        }
        if exchange.link.is_closed() {
            return;
        }
        let Ok(runtime) = Handle::try_current() else { return };
        runtime.spawn(async move {
            let request =
                CancelRequest { request_header: RequestHeader::default(), request_handle: exchange.id };
            if let Err(error) = exchange.link.session.call::<_, CancelResponse>(&request).await {
                tracing::debug!(%error, "a request was not cancelled upstream");
            }
            if !forgets && timeout_at(until, reply).await.is_err() {
                exchange.give_up();
            }
        });
    }
}

pub(super) fn put_type(message: &mut BytesMut, type_id: u32) {
    // Services of the standard have numbers of two bytes.
    let [low, high, ..] = type_id.to_le_bytes();
    message.extend_from_slice(&[1, 0, low, high]);
}

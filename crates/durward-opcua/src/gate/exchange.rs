//! One request on its way: from the client through the mediator to the server, and back.
//!
//! The hot path, a Read that is granted whole, copies once: the request into the message with the server's header, and nothing of the response,
//! whose handle is changed in place. Nothing is decoded to a tree.
//!
//! Requests of a session go upstream in the order in which they came, and what comes back is mediated in the order in which it arrives, by the one
//! task that reads the upstream channel: sequence numbers of notifications, and what the mediator keeps of a session, depend on it.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::{Bytes, BytesMut};
use opcua_types::{BinaryEncodable, CancelRequest, CancelResponse, ObjectId, RequestHeader, StatusCode};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use super::audit::{Figures, Happening};
use super::core::{Cell, Core};
use super::mediate::service::Service;
use super::mediate::walk::{Garbled, Walked, Walker};
use super::mediate::{Mediator, Outcome, Reply, UpstreamRequest};
use super::names::Names;
use super::owners::Taker;
use super::service::User;
use super::upstream::{UpstreamSession, is_session_lost, told};
use crate::channel::UnderWay;
use crate::error::Error;
use crate::protocol::{Refusal, SessionId};
use crate::session::{ActiveSession, Call};
use crate::token::Kind;
use crate::wire::{self, Reader, RequestPeek};

/// Handles of requests begin here: apart from those of the client's end, which counts from 1.
const FIRST_REQUEST: u32 = 0x4000_0000;
/// A Publish may come so much later than its client waits: the message would be lost.
const PUBLISH_LATE: Duration = Duration::from_secs(10);
/// An additional header that is null.
const NO_HEADER: [u8; 3] = [0, 0, 0];
const FAULT: u32 = ObjectId::ServiceFault_Encoding_DefaultBinary as u32;

/// The kind of right that a service needs at least.
pub(super) fn kind_of(service: Service) -> Kind {
    match service {
        Service::Write
        | Service::HistoryUpdate
        | Service::AddNodes
        | Service::AddReferences
        | Service::DeleteNodes
        | Service::DeleteReferences => Kind::Writing,
        Service::Call => Kind::Calling,
        Service::FindServers
        | Service::FindServersOnNetwork
        | Service::GetEndpoints
        | Service::RegisterServer
        | Service::RegisterServer2
        | Service::OpenSecureChannel
        | Service::CloseSecureChannel
        | Service::CreateSession
        | Service::ActivateSession
        | Service::CloseSession
        | Service::Cancel
        | Service::Browse
        | Service::BrowseNext
        | Service::TranslateBrowsePathsToNodeIds
        | Service::RegisterNodes
        | Service::UnregisterNodes
        | Service::QueryFirst
        | Service::QueryNext
        | Service::Read
        | Service::HistoryRead
        | Service::CreateMonitoredItems
        | Service::ModifyMonitoredItems
        | Service::SetMonitoringMode
        | Service::SetTriggering
        | Service::DeleteMonitoredItems
        | Service::CreateSubscription
        | Service::ModifySubscription
        | Service::SetPublishingMode
        | Service::Publish
        | Service::Republish
        | Service::TransferSubscriptions
        | Service::DeleteSubscriptions => Kind::Reading,
    }
}

/// Whether the mediator keeps something of the response: then it is waited for even where the client does not any more.
fn leaves_traces(service: Service) -> bool {
    !matches!(
        service,
        Service::Read
            | Service::Write
            | Service::Call
            | Service::HistoryUpdate
            | Service::TranslateBrowsePathsToNodeIds
            | Service::SetTriggering
            | Service::ModifySubscription
            | Service::SetPublishingMode
            | Service::Republish
    )
}

fn is_delivery(service: Service) -> bool {
    matches!(service, Service::Publish | Service::Republish)
}

/// A client's session and its upstream session.
pub(super) struct Link {
    core: Weak<Core>,
    cell: Weak<Cell>,
    id: SessionId,
    pub(super) session: UpstreamSession,
    names: ArcSwap<Names>,
    /// Held from the mediator's word on a request until it is sent: they go upstream in the order in which they were mediated.
    sending: Mutex<()>,
    mediator: Mutex<Mediator>,
    next_request: AtomicU32,
    has_subscriptions: AtomicBool,
    is_closed: AtomicBool,
    pub(super) is_rejoining: AtomicBool,
}

impl Link {
    pub(super) fn new(
        core: &Arc<Core>,
        id: SessionId,
        cell: &Arc<Cell>,
        session: UpstreamSession,
        names: Arc<Names>,
    ) -> Arc<Link> {
        let owners = Arc::new(Taker { core: Arc::downgrade(core), id, cell: Arc::downgrade(cell) });
        Arc::new(Link {
            core: Arc::downgrade(core),
            cell: Arc::downgrade(cell),
            id,
            session,
            names: ArcSwap::new(names),
            sending: Mutex::default(),
            mediator: Mutex::new(Mediator::new(core.settings.mediation, owners)),
            next_request: AtomicU32::new(FIRST_REQUEST),
            has_subscriptions: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            is_rejoining: AtomicBool::new(false),
        })
    }

    /// What the indexes of namespaces mean in this session.
    pub(super) fn names(&self) -> Arc<Names> {
        self.names.load_full()
    }

    /// The server has added namespaces.
    pub(super) fn follow_names(&self, names: Arc<Names>) {
        self.names.store(Arc::clone(&names));
        // Another user who comes in at this moment finds either; with the fewer names, the nodes of the new ones are unknown.
        if let Some(user) = self.cell.upgrade().and_then(|cell| cell.user()) {
            user.follow_names(&names);
        }
    }

    pub(super) fn mediator(&self) -> MutexGuard<'_, Mediator> {
        self.mediator.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sending(&self) -> MutexGuard<'_, ()> {
        self.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the session may receive has changed: the server does not sample any more what is not delivered, and says anew what is again. Without,
    /// a value that changed in between would not be seen until it changes again.
    pub(super) fn rights_changed(&self, core: &Core) {
        let Some(user) = self.cell.upgrade().and_then(|cell| cell.user()) else { return };
        if self.is_closed() {
            return;
        }
        core.with_rights(&user, true, |rights| {
            let _sending = self.sending();
            let requests = self.mediator().on_rights_changed(rights);
            for UpstreamRequest { service, body } in requests {
                let request = self.own_request(core, service, &body);
                // How it ends changes nothing of what is delivered.
                drop(self.session.channel().start(request, |_| {}));
            }
        });
    }

    /// A request of the gate's own, with a body of the mediator's.
    fn own_request(&self, core: &Core, service: Service, body: &[u8]) -> Bytes {
        let token = self.session.token();
        let mut request = BytesMut::with_capacity(token.len() + body.len() + 64);
        put_type(&mut request, service.request_id());
        request.extend_from_slice(token);
        request.extend_from_slice(&wire::datetime(core.watch.now()).checked_ticks().to_le_bytes());
        request.extend_from_slice(&self.next_request.fetch_add(1, Ordering::Relaxed).to_le_bytes());
        // No diagnostics, no audit entry, no timeout.
        request.extend_from_slice(&0_u32.to_le_bytes());
        request.extend_from_slice(&(-1_i32).to_le_bytes());
        request.extend_from_slice(&0_u32.to_le_bytes());
        request.extend_from_slice(&NO_HEADER);
        request.extend_from_slice(body);
        request.freeze()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Closes the upstream session, once.
    pub(super) fn close(self: &Arc<Link>, delete_subscriptions: bool) {
        if self.is_closed.swap(true, Ordering::AcqRel) {
            return;
        }
        let link = Arc::clone(self);
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { link.session.close(delete_subscriptions).await });
        }
    }

    /// The server does not have the session any more: the client's ends as well, so that it learns of its subscriptions.
    pub(super) fn lost(&self, why: StatusCode) {
        self.end(&format!("the server behind the gate has lost the session ({why}): connect again"));
    }

    /// Ends the client's session, which cannot go on as it was.
    pub(super) fn end(&self, reason: &str) {
        let (Some(core), Some(cell)) = (self.core.upgrade(), self.cell.upgrade()) else { return };
        if self.is_closed() || cell.flags.ended.swap(true, Ordering::AcqRel) {
            return;
        }
        Figures::count(&core.figures.upstream_lost);
        core.tell(core.watch.now(), Some(&cell), Happening::Ended { reason });
        cell.close();
    }

    /// Tells the machine whether there are subscriptions, when that has changed.
    fn tell_subscriptions(&self, core: &Core) {
        let has = self.mediator().subscription_count() > 0;
        if self.has_subscriptions.swap(has, Ordering::AcqRel) != has {
            core.subscribed(self.id, has);
        }
    }
}

/// One request.
pub(super) struct Exchange {
    link: Arc<Link>,
    service: Service,
    session: Arc<ActiveSession<Core>>,
    /// The user when the request came.
    user: Arc<User>,
    request: RequestPeek,
    body: Bytes,
    /// The request's name upstream and in the mediator.
    id: u32,
    under_way: Mutex<Option<UnderWay>>,
}

/// What becomes of a request at once.
enum Sent {
    Upstream(Bytes),
    Answered(Bytes),
}

/// What becomes of a response.
enum Taken {
    Passed(Bytes),
    FollowUp(Bytes),
}

impl Exchange {
    pub(super) fn new(link: Arc<Link>, service: Service, call: Call<Core>) -> Exchange {
        let id = link.next_request.fetch_add(1, Ordering::Relaxed);
        let Call { session, user, request, body } = call;
        Exchange { link, service, session, user, request, body, id, under_way: Mutex::default() }
    }

    /// Mediates the request to its end. Where nobody waits any more, it is cancelled upstream. It is sent before anything is waited for.
    pub(super) async fn run(self, core: &Core) -> Result<Bytes, StatusCode> {
        let (sender, reply) = oneshot::channel();
        let until = Instant::now() + self.within(core);
        let exchange = Arc::new(self);
        let mut waits = {
            let _sending = exchange.link.sending();
            let request = match exchange.begin(core)? {
                Sent::Answered(response) => return Ok(response),
                Sent::Upstream(request) => request,
            };
            let waits = Waits { exchange: Arc::clone(&exchange), until, reply: Some(reply) };
            exchange.send(request, sender);
            waits
        };
        waits.reply().await
    }

    /// Sends a request. What comes of it is mediated when it arrives, whether anybody waits for it or not.
    fn send(self: &Arc<Exchange>, request: Bytes, reply: oneshot::Sender<Result<Bytes, StatusCode>>) {
        let exchange = Arc::clone(self);
        let arrived = move |response| exchange.arrived(response, reply);
        // Locked until it is put there: the response may arrive, and be followed up, before.
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        *under_way = Some(self.link.session.channel().start(request, arrived));
    }

    fn arrived(
        self: Arc<Exchange>,
        response: Result<Bytes, Error>,
        reply: oneshot::Sender<Result<Bytes, StatusCode>>,
    ) {
        let core = self.link.core.upgrade().ok_or(StatusCode::BadShutdown);
        let response = match core.and_then(|core| self.finish(&core, response)) {
            Ok(Taken::FollowUp(next)) => return self.send(next, reply),
            Ok(Taken::Passed(response)) => Ok(response),
            Err(status) => Err(status),
        };
        // Where nobody waits any more, what is kept of it was kept all the same.
        let _ = reply.send(response);
    }

    /// Nothing is taken of a response that may come still.
    fn give_up(&self) {
        let under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(under_way);
        self.link.mediator().on_fault(self.id);
    }

    fn begin(&self, core: &Core) -> Result<Sent, StatusCode> {
        let body = self.body.get(self.request.parameters..).unwrap_or_default();
        core.with_rights(&self.user, false, |rights| {
            let mut mediator = self.link.mediator();
            let outcome = mediator.on_request(rights, self.id, self.request.type_id, body);
            drop(mediator);
            match outcome {
                Outcome::Forward(body) => self.compose(self.request.type_id, &body).map(Sent::Upstream),
                Outcome::Answer(body) => Ok(Sent::Answered(self.answer(core, &body))),
                Outcome::Refuse(status) => Err(status),
                // The session layer answers it: it knows which requests are under way.
                Outcome::Cancel(_) => Err(StatusCode::BadServiceUnsupported),
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
        let mut reader = Reader::new(self.body.get(start..)?);
        // Time, handle, which diagnostics.
        reader.take(8 + 4 + 4).ok()?;
        reader.byte_string().ok()?;
        reader.take(4).ok()?;
        self.body.get(start..start + reader.position())
    }

    fn answer(&self, core: &Core, body: &[u8]) -> Bytes {
        let owned = wire::context();
        let header = wire::response_header(self.request.handle, StatusCode::Good, core.watch.now());
        let header = header.encode_to_vec(&owned.context());
        let mut response = BytesMut::with_capacity(4 + header.len() + body.len());
        put_type(&mut response, self.service.response_id());
        response.extend_from_slice(&header);
        response.extend_from_slice(body);
        response.freeze()
    }

    fn within(&self, core: &Core) -> Duration {
        let hint = Duration::from_millis(u64::from(self.request.timeout_hint_ms));
        match (self.service == Service::Publish, hint.is_zero()) {
            (true, true) => core.settings.upstream.publish_max,
            (true, false) => hint.saturating_add(PUBLISH_LATE),
            (false, true) => core.settings.upstream.client.request_max,
            (false, false) => hint,
        }
    }

    fn finish(&self, core: &Core, response: Result<Bytes, Error>) -> Result<Taken, StatusCode> {
        let response = response.map_err(|error| self.fault(told(error.status())))?;
        let head = Head::read(&response).map_err(|Garbled| self.fault(StatusCode::BadUnknownResponse))?;
        if head.type_id == FAULT || head.service_result.is_bad() {
            return Err(self.fault(head.service_result));
        }
        self.take(core, &head, response)
    }

    /// No response comes, or a fault.
    fn fault(&self, status: StatusCode) -> StatusCode {
        self.link.mediator().on_fault(self.id);
        if is_session_lost(status) {
            self.link.lost(status);
            return StatusCode::BadServerNotConnected;
        }
        if status.is_bad() { status } else { StatusCode::BadUnknownResponse }
    }

    /// Hands a response to the mediator, with the rights of this moment.
    fn take(&self, core: &Core, head: &Head, response: Bytes) -> Result<Taken, StatusCode> {
        let is_delivery = is_delivery(self.service);
        // What was asked before a change of user is answered by the old user's rights (Part 2, 6.20); deliveries go by the new one's.
        let user = if is_delivery { self.session.user() } else { Arc::clone(&self.user) };
        let body = response.get(head.parameters..).unwrap_or_default();
        let mended = {
            let is_transfer = self.service == Service::TransferSubscriptions;
            let transfers = || core.transfers.lock().unwrap_or_else(PoisonError::into_inner);
            let _transfers = is_transfer.then(transfers);
            core.with_rights(&user, is_delivery, |rights| {
                self.link.mediator().on_response(rights, self.id, head.type_id, body)
            })
        };
        let mended = match mended {
            Reply::Pass(Cow::Borrowed(_)) => None,
            Reply::Pass(Cow::Owned(body)) => Some(body),
            Reply::FollowUp(UpstreamRequest { service, body }) => {
                return self.compose(service.request_id(), &body).map(Taken::FollowUp);
            }
            Reply::Fault(status) => return Err(status),
        };
        self.note(core, mended.as_deref().unwrap_or(body));
        self.still_admitted(core, &user)?;
        let response = match mended {
            None if head.is_plain => Head::patched(response, head.handle_offset, self.request.handle),
            None => head.rebuilt(&response, body, self.request.handle),
            Some(body) => head.rebuilt(&response, &body, self.request.handle),
        };
        Ok(Taken::Passed(response))
    }

    /// What is read goes out only as long as the right lasts. What was written or called has happened, and the client hears so.
    fn still_admitted(&self, core: &Core, user: &User) -> Result<(), StatusCode> {
        if user.cell.flags.ended.load(Ordering::Acquire) {
            return Err(StatusCode::BadSessionClosed);
        }
        let kind = kind_of(self.service);
        if kind != Kind::Reading {
            return Ok(());
        }
        match core.admit(core.watch.now(), self.link.id, user.channel, kind) {
            Err(refusal @ (Refusal::Ended(_) | Refusal::NoSession)) => Err(refusal.status()),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Keeps account of subscriptions.
    fn note(&self, core: &Core, body: &[u8]) {
        if self.service == Service::CreateSubscription
            && let Some(id) = body.first_chunk::<4>()
        {
            core.own(self.link.id, u32::from_le_bytes(*id), &self.link);
        }
        let services =
            [Service::CreateSubscription, Service::DeleteSubscriptions, Service::TransferSubscriptions];
        if services.contains(&self.service) {
            self.link.tell_subscriptions(core);
        }
    }
}

/// Somebody waits for a response. When nobody does any more, the request is cancelled upstream.
struct Waits {
    exchange: Arc<Exchange>,
    until: Instant,
    /// Taken when it has come, or comes too late.
    reply: Option<oneshot::Receiver<Result<Bytes, StatusCode>>>,
}

impl Waits {
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

impl Drop for Waits {
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

fn put_type(message: &mut BytesMut, type_id: u32) {
    // Services of the standard have numbers of two bytes.
    let [low, high, ..] = type_id.to_le_bytes();
    message.extend_from_slice(&[1, 0, low, high]);
}

/// Where the fields of a response's header stand.
struct Head {
    type_id: u32,
    handle_offset: usize,
    service_result: StatusCode,
    /// Where the additional header begins.
    additional: usize,
    /// Where the body begins.
    parameters: usize,
    /// There is no additional header: the response can go on as it is.
    is_plain: bool,
}

impl Head {
    fn read(response: &[u8]) -> Walked<Head> {
        let (type_id, length) = wire::type_id(response).map_err(|_| Garbled)?;
        let mut walker = Walker::new(response);
        walker.take(length + 8)?;
        let handle_offset = walker.at();
        walker.u32()?;
        let service_result = walker.status()?;
        walker.skip_diagnostic_info()?;
        walker.skip_array(|walker| walker.text().map(drop))?;
        let additional = walker.at();
        walker.skip_extension()?;
        let is_plain = walker.since(additional) == NO_HEADER;
        Ok(Head { type_id, handle_offset, service_result, additional, parameters: walker.at(), is_plain })
    }

    /// The response with another handle: in place, where nobody else has the bytes.
    fn patched(response: Bytes, handle_offset: usize, handle: u32) -> Bytes {
        let mut response = response.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&*shared));
        wire::patch_handle(&mut response, handle_offset, handle);
        response.freeze()
    }

    /// The header, without what is additional, and another body.
    fn rebuilt(&self, response: &[u8], body: &[u8], handle: u32) -> Bytes {
        let header = response.get(..self.additional).unwrap_or_default();
        let mut rebuilt = BytesMut::with_capacity(header.len() + NO_HEADER.len() + body.len());
        rebuilt.extend_from_slice(header);
        rebuilt.extend_from_slice(&NO_HEADER);
        rebuilt.extend_from_slice(body);
        wire::patch_handle(&mut rebuilt, self.handle_offset, handle);
        rebuilt.freeze()
    }
}

//! One connection: requests in, responses out in any order.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::future::{AbortHandle, Abortable};
use opcua_types::{
    CancelRequest, CancelResponse, CloseSessionRequest, CloseSessionResponse, FindServersRequest,
    FindServersResponse, GetEndpointsRequest, GetEndpointsResponse, ObjectId, StatusCode,
};
use tokio::time::{Instant, sleep_until};

use super::admission::ConnectionSlot;
use super::budget::{self, ByteBudget};
use super::server::ServerCore;
use super::service::{ChannelInfo, CloseReason, SessionCall, SessionHandler};
use super::store::SessionEntry;
use super::under_way::PendingAnswers;
use super::{activate, create};
use crate::channel::{ChannelOutbox, ChannelRequest, ServerChannel, TRANSPORT_PROFILE_URI};
use crate::crypto::Certificate;
use crate::error::Error;
use crate::wire::{self, ChunkKind, RequestPeek, response_header};

/// A client that takes none of its responses for so long is disconnected.
const STALLED_MAX: Duration = Duration::from_secs(60);

const GET_ENDPOINTS: u32 = ObjectId::GetEndpointsRequest_Encoding_DefaultBinary as u32;
const FIND_SERVERS: u32 = ObjectId::FindServersRequest_Encoding_DefaultBinary as u32;
const CREATE_SESSION: u32 = ObjectId::CreateSessionRequest_Encoding_DefaultBinary as u32;
const ACTIVATE_SESSION: u32 = ObjectId::ActivateSessionRequest_Encoding_DefaultBinary as u32;
const CLOSE_SESSION: u32 = ObjectId::CloseSessionRequest_Encoding_DefaultBinary as u32;
const CANCEL: u32 = ObjectId::CancelRequest_Encoding_DefaultBinary as u32;

/// What requests of a connection know of it.
pub(super) struct ConnectionPeer {
    pub(super) channel: ChannelInfo,
    /// `None` without security.
    pub(super) client: Option<Arc<Certificate>>,
    /// A session was activated: larger requests are taken.
    pub(super) activated: AtomicBool,
    /// Among the server's connections.
    pub(super) place: ConnectionSlot,
}

/// A response on its way.
struct PendingAnswer {
    request_id: u32,
    handle: u32,
    body: Result<Bytes, Error>,
}

/// A connection whose channel is open.
pub(super) struct ServerConnection<S: SessionHandler> {
    core: Arc<ServerCore<S>>,
    channel: ServerChannel,
    peer: Arc<ConnectionPeer>,
    under_way: PendingAnswers<PendingAnswer>,
    budget: Arc<ByteBudget>,
}

impl<S: SessionHandler> ServerConnection<S> {
    pub(super) fn new(
        core: Arc<ServerCore<S>>,
        channel: ServerChannel,
        place: ConnectionSlot,
    ) -> ServerConnection<S> {
        let peer = Arc::new(ConnectionPeer {
            channel: *channel.info(),
            client: channel.client().cloned(),
            activated: AtomicBool::new(false),
            place,
        });
        let budget = ByteBudget::of_connection(&core.settings.limits);
        ServerConnection { core, channel, peer, under_way: PendingAnswers::new(), budget }
    }

    /// Serves the connection to its end.
    pub(super) async fn serve(mut self) {
        let id = self.peer.channel.id;
        let closing = self.core.channel_opened(id);
        let ended = {
            let closed = closing.notified();
            self.run(closed).await
        };
        self.channel.close(ended.as_ref().err());
        match ended {
            Ok(()) => tracing::debug!(channel = id, "a channel was closed"),
            Err(error) if is_ordinary(&error) => {
                tracing::debug!(channel = id, peer = ?self.peer.channel.peer, %error, "a channel ended");
            }
            Err(error) => {
                tracing::info!(channel = id, peer = ?self.peer.channel.peer, %error, "a channel broke")
            }
        }
    }

    async fn run(&mut self, closed: impl Future<Output = ()>) -> Result<(), Error> {
        let mut closed = pin!(closed);
        let mut expires = self.expires();
        let mut expired = pin!(sleep_until(expires));
        let peer = Arc::clone(&self.peer);
        let mut must_leave = pin!(peer.place.must_leave());
        let idle_max = self.core.settings.limits.unactivated_max;
        let mut idle = pin!(sleep_until(Instant::now() + idle_max));
        loop {
            if self.expires() != expires {
                expires = self.expires();
                expired.as_mut().reset(expires);
            }
            let request = tokio::select! {
                biased;
                () = closed.as_mut() => {
                    return Err(Error::new(StatusCode::BadSecureChannelClosed, "the server closed the channel"));
                }
                () = must_leave.as_mut() => {
                    return Err(Error::new(
                        StatusCode::BadTcpNotEnoughResources,
                        "the channel had no session and made room for another one",
                    ));
                }
                () = idle.as_mut() => {
                    if !self.is_needed() {
                        return Err(Error::new(StatusCode::BadTimeout, "no session is on the channel"));
                    }
                    idle.as_mut().reset(Instant::now() + idle_max);
                    None
                }
                answer = self.under_way.next(), if !self.under_way.is_empty() => {
                    self.respond(answer);
                    // What came together is written together.
                    while !self.channel.outbox().is_congested()
                        && let Some(answer) = self.under_way.ready()
                    {
                        self.respond(answer);
                    }
                    None
                }
                request = self.channel.next() => match request? {
                    Some(request) => Some(request),
                    None => return Ok(()),
                },
                () = expired.as_mut() => {
                    return Err(Error::new(StatusCode::BadSecureChannelTokenUnknown, "the channel was not renewed"));
                }
            };
            match request {
                None => {}
                Some(ChannelRequest::Service { request_id, body }) => self.begin(request_id, body),
                Some(ChannelRequest::Renewal(chunk)) => self.renew(chunk).await?,
            }
            if !self.channel.has_more() {
                self.channel.outbox().flush();
            }
            tokio::time::timeout(STALLED_MAX, self.channel.outbox().uncongested())
                .await
                .map_err(|_| Error::new(StatusCode::BadTimeout, "the client does not take its responses"))?;
        }
    }

    /// Whether there is a session on the channel. Only activated ones keep it from making room for others.
    fn is_needed(&self) -> bool {
        let (any, activated) = self.core.sessions.on_channel(self.peer.channel.id);
        self.peer.place.set_in_use(activated);
        any
    }

    /// Renews the channel, which may have to wait for a worker. Responses go out meanwhile, for as long as the client takes them.
    async fn renew(&mut self, chunk: BytesMut) -> Result<(), Error> {
        let outbox = Arc::clone(self.channel.outbox());
        let mut renewed = Box::pin(self.channel.renew(chunk));
        loop {
            let answer = tokio::select! {
                biased;
                renewed = renewed.as_mut() => return renewed,
                answer = self.under_way.next(), if !self.under_way.is_empty() && !outbox.is_congested() => answer,
            };
            send(&self.core, &self.peer, &outbox, answer);
            outbox.flush();
        }
    }

    fn expires(&self) -> Instant {
        self.channel.expires().unwrap_or_else(Instant::now)
    }

    /// Begins with a request; what can be answered at once is.
    fn begin(&mut self, request_id: u32, body: Bytes) {
        let (core, peer) = (Arc::clone(&self.core), Arc::clone(&self.peer));
        let peek = match RequestPeek::read(&body) {
            Ok(peek) => peek,
            Err(error) => return self.respond(PendingAnswer { request_id, handle: 0, body: Err(error) }),
        };
        let handle = peek.handle;
        if self.under_way.len() >= self.core.settings.limits.requests_per_connection_max {
            let error = Error::new(StatusCode::BadTooManyOperations, "too many requests are under way");
            return self.respond(PendingAnswer { request_id, handle, body: Err(error) });
        }
        let taken = match budget::take(&self.budget, &self.core.budget, body.len()) {
            Ok(taken) => taken,
            Err(error) => return self.respond(PendingAnswer { request_id, handle, body: Err(error) }),
        };
        let mut answer: Pin<Box<dyn Future<Output = PendingAnswer> + Send>> = Box::pin(async move {
            let _taken = taken;
            let body = answer_request(core, peer, peek, body).await;
            PendingAnswer { request_id, handle, body }
        });
        match answer.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop())) {
            Poll::Ready(answer) => self.respond(answer),
            // It is polled again, with a waker that counts, before anything is waited for.
            Poll::Pending => self.under_way.push(answer),
        }
    }

    fn respond(&mut self, answer: PendingAnswer) {
        send(&self.core, &self.peer, self.channel.outbox(), answer);
        if self.peer.activated.load(Ordering::Relaxed) {
            self.channel.set_limits(self.core.channel.limits.receive);
        }
    }
}

/// Adds a response, or a fault in its place, to what is sent.
fn send<S: SessionHandler>(
    core: &ServerCore<S>,
    peer: &ConnectionPeer,
    outbox: &ChannelOutbox,
    answer: PendingAnswer,
) {
    let PendingAnswer { request_id, handle, body } = answer;
    let moment = (core.channel.clock)();
    let body = body.unwrap_or_else(|error| {
        tracing::debug!(channel = peer.channel.id, %error, "a request was refused");
        wire::fault(handle, error.status(), moment)
    });
    if let Err(error) = outbox.push(ChunkKind::Message, request_id, body)
        && error.status() == StatusCode::BadEncodingLimitsExceeded
    {
        let fault = wire::fault(handle, StatusCode::BadResponseTooLarge, moment);
        // A fault that does not fit either leaves the client to its timeout.
        let _ = outbox.push(ChunkKind::Message, request_id, fault);
    }
}

/// However it ends: a service that panics leaves nothing behind.
impl<S: SessionHandler> Drop for ServerConnection<S> {
    fn drop(&mut self) {
        self.core.channel_ended(self.peer.channel.id);
    }
}

async fn answer_request<S: SessionHandler>(
    core: Arc<ServerCore<S>>,
    peer: Arc<ConnectionPeer>,
    peek: RequestPeek,
    body: Bytes,
) -> Result<Bytes, Error> {
    match peek.type_id {
        GET_ENDPOINTS => return get_endpoints(&core, &body),
        FIND_SERVERS => return find_servers(&core, &body),
        _ => {}
    }
    if peer.client.is_none() {
        return Err(Error::new(
            StatusCode::BadSecurityModeInsufficient,
            "only discovery is possible without security",
        ));
    }
    match peek.type_id {
        // Of what is rare, and large, the others need not have room.
        CREATE_SESSION => Box::pin(create::create(&core, &peer, &body)).await,
        ACTIVATE_SESSION => Box::pin(activate::activate(&core, &peer, &peek, &body)).await,
        CLOSE_SESSION => close_session(&core, &peer, &peek, &body),
        CANCEL => cancel(&core, &peer, &peek, &body),
        _ => call(&core, &peer, peek, body).await,
    }
}

/// The session that a request names, if it is on this channel.
fn session_of<S: SessionHandler>(
    core: &ServerCore<S>,
    peer: &ConnectionPeer,
    peek: &RequestPeek,
    body: &[u8],
) -> Result<Arc<SessionEntry<S>>, Error> {
    let entry = find_session(core, peek, body)?;
    if entry.channel() != peer.channel.id {
        return Err(Error::new(StatusCode::BadSecureChannelIdInvalid, "the session is on another channel"));
    }
    entry.touch();
    Ok(entry)
}

/// The session that a request names, on whichever channel it is.
pub(super) fn find_session<S: SessionHandler>(
    core: &ServerCore<S>,
    peek: &RequestPeek,
    body: &[u8],
) -> Result<Arc<SessionEntry<S>>, Error> {
    let token = peek.opaque_token(body);
    token.and_then(|token| core.sessions.get(token)).ok_or_else(|| {
        Error::new(StatusCode::BadSessionIdInvalid, "the request names no session, or one that has ended")
    })
}

/// Hands a request to the service. Only one that has to wait is registered, to be cancelled.
async fn call<S: SessionHandler>(
    core: &Arc<ServerCore<S>>,
    peer: &ConnectionPeer,
    request: RequestPeek,
    body: Bytes,
) -> Result<Bytes, Error> {
    let entry = session_of(core, peer, &request, &body)?;
    let session = entry
        .active()
        .ok_or_else(|| Error::new(StatusCode::BadSessionNotActivated, "the session was not activated"))?;
    let handle = request.handle;
    let call = SessionCall { session: Arc::clone(session), user: session.user(), request, body };
    let mut answer = pin!(core.service.answer(call));
    let first = std::future::poll_fn(|context| Poll::Ready(answer.as_mut().poll(context))).await;
    let response = match first {
        Poll::Ready(response) => response,
        Poll::Pending => {
            let (abort, registration) = AbortHandle::new_pair();
            let registered =
                entry.register(handle, abort).map(|number| RequestRegistration { entry: &entry, number });
            let _registered = registered.ok_or_else(session_closed)?;
            match Abortable::new(answer, registration).await {
                Ok(response) => response,
                Err(_) if entry.is_closed() => return Err(session_closed()),
                Err(_) => {
                    return Err(Error::new(
                        StatusCode::BadRequestCancelledByClient,
                        "the client cancelled it",
                    ));
                }
            }
        }
    };
    let response = response.map_err(|status| Error::new(status, "the service refused"))?;
    let most = entry.info.response_bytes_max;
    if most != 0 && response.len() > most as usize {
        return Err(Error::new(
            StatusCode::BadResponseTooLarge,
            "the response is larger than the session takes",
        ));
    }
    Ok(response)
}

fn session_closed() -> Error {
    Error::new(StatusCode::BadSessionClosed, "the session has ended")
}

/// Deregisters a request when it is done or abandoned.
struct RequestRegistration<'a, S: SessionHandler> {
    entry: &'a SessionEntry<S>,
    number: u64,
}

impl<S: SessionHandler> Drop for RequestRegistration<'_, S> {
    fn drop(&mut self) {
        self.entry.unregister(self.number);
    }
}

fn get_endpoints<S: SessionHandler>(core: &ServerCore<S>, body: &[u8]) -> Result<Bytes, Error> {
    let context = core.context.context();
    let request: GetEndpointsRequest = wire::decode_service(&context, body)?;
    let profiles = request.profile_uris.unwrap_or_default();
    let wanted = profiles.is_empty() || profiles.iter().any(|uri| uri.as_ref() == TRANSPORT_PROFILE_URI);
    let response = GetEndpointsResponse {
        response_header: response_header(
            request.request_header.request_handle,
            StatusCode::Good,
            (core.channel.clock)(),
        ),
        endpoints: Some(if wanted {
            core.endpoints_as_asked(request.endpoint_url.as_ref())
        } else {
            Vec::new()
        }),
    };
    wire::encode_service(&context, &response)
}

fn find_servers<S: SessionHandler>(core: &ServerCore<S>, body: &[u8]) -> Result<Bytes, Error> {
    let context = core.context.context();
    let request: FindServersRequest = wire::decode_service(&context, body)?;
    let uris = request.server_uris.unwrap_or_default();
    let wanted = uris.is_empty() || uris.contains(&core.application.application_uri);
    let response = FindServersResponse {
        response_header: response_header(
            request.request_header.request_handle,
            StatusCode::Good,
            (core.channel.clock)(),
        ),
        servers: Some(if wanted { vec![core.application.clone()] } else { Vec::new() }),
    };
    wire::encode_service(&context, &response)
}

fn close_session<S: SessionHandler>(
    core: &Arc<ServerCore<S>>,
    peer: &ConnectionPeer,
    peek: &RequestPeek,
    body: &[u8],
) -> Result<Bytes, Error> {
    let entry = session_of(core, peer, peek, body)?;
    let context = core.context.context();
    let request: CloseSessionRequest = wire::decode_service(&context, body)?;
    let reason = CloseReason::Client { delete_subscriptions: request.delete_subscriptions };
    core.close_session(&entry.token, reason);
    peer.place.set_in_use(core.sessions.on_channel(peer.channel.id).1);
    let response_header = response_header(peek.handle, StatusCode::Good, (core.channel.clock)());
    wire::encode_service(&context, &CloseSessionResponse { response_header })
}

fn cancel<S: SessionHandler>(
    core: &ServerCore<S>,
    peer: &ConnectionPeer,
    peek: &RequestPeek,
    body: &[u8],
) -> Result<Bytes, Error> {
    let entry = session_of(core, peer, peek, body)?;
    let context = core.context.context();
    let request: CancelRequest = wire::decode_service(&context, body)?;
    let cancel_count = entry.cancel(request.request_handle);
    let response_header = response_header(peek.handle, StatusCode::Good, (core.channel.clock)());
    wire::encode_service(&context, &CancelResponse { response_header, cancel_count })
}

/// Whether a client only went without a word, or the server closed the channel: neither needs an operator.
fn is_ordinary(error: &Error) -> bool {
    [StatusCode::BadCommunicationError, StatusCode::BadConnectionClosed, StatusCode::BadSecureChannelClosed]
        .contains(&error.status())
}

//! The client's end of a channel: opens, renews by itself, asks many things at a time.

use std::collections::HashMap;
use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use opcua_types::{
    ByteString, CloseSecureChannelRequest, MessageSecurityMode, NodeId, OpenSecureChannelRequest,
    OpenSecureChannelResponse, RequestHeader, SecurityTokenRequestType, StatusCode,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use super::asymmetric::{PeerClaim, open_open, seal_open};
use super::outbox::ChannelOutbox;
use super::receiver::{ChannelReceiver, IncomingMessage, OpeningToken};
use super::settings::{ChannelSettings, PeerRole};
use crate::crypto::{self, Certificate, Nonce, SecurityPolicy};
use crate::error::Error;
use crate::wire::{
    self, Acknowledge, BUFFER_BYTES_MIN, CHUNK_HEADER_BYTES, ChunkKind, ErrorMessage, HelloMessage,
    SequenceHeader,
};

/// What a client connects to.
#[derive(Clone, Debug)]
pub struct ChannelTarget {
    /// The endpoint's URL.
    pub endpoint_url: String,
    /// The security policy.
    pub policy: SecurityPolicy,
    /// The security mode.
    pub mode: MessageSecurityMode,
    /// The server's certificate, as discovery told it; `None` without security.
    pub server: Option<Arc<Certificate>>,
    /// Those of its issuers, as discovery told them, DER.
    pub server_issuers: Vec<Vec<u8>>,
}

/// An open channel, the client's end. Ends when it is dropped.
pub struct ClientChannel {
    shared: Arc<ClientChannelState>,
}

struct ClientChannelState {
    target: ChannelTarget,
    settings: Arc<ChannelSettings>,
    outbox: Arc<ChannelOutbox>,
    request_id: AtomicU32,
    waiting: Mutex<PendingResponse>,
    shutdown: Notify,
    renew_now: Notify,
}

/// Receives the outcome of a request.
type ResponseHandler = Box<dyn FnOnce(Result<Bytes, Error>) + Send>;

#[derive(Default)]
struct PendingResponse {
    requests: HashMap<u32, ResponseHandler>,
    /// Why the channel ended.
    ended: Option<Error>,
}

/// A renewal whose response has not come.
struct ChannelRenewal {
    request_id: u32,
    nonce: Nonce,
    until: Instant,
}

type ResponseReader = ChannelReceiver<Box<dyn AsyncRead + Send + Unpin>>;

impl ClientChannel {
    /// Opens a channel over a stream; it renews itself at three quarters of each token's life.
    ///
    /// # Errors
    /// The server's certificate is not trusted, or is not the one that was discovered; what the server said; it took too long.
    pub async fn open<S>(
        stream: S,
        target: ChannelTarget,
        settings: Arc<ChannelSettings>,
    ) -> Result<ClientChannel, Error>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let (reading, writing) = tokio::io::split(stream);
        let mut receiver: ResponseReader = ChannelReceiver::new(Box::new(reading), BUFFER_BYTES_MIN);
        receiver.limits = settings.limits.receive;
        let shared = Arc::new(ClientChannelState {
            target,
            outbox: ChannelOutbox::start(Box::new(writing)),
            request_id: AtomicU32::new(1),
            waiting: Mutex::default(),
            shutdown: Notify::new(),
            renew_now: Notify::new(),
            settings,
        });
        // From here on the outbox ends with this, whatever happens.
        let channel = ClientChannel { shared: Arc::clone(&shared) };
        let opened =
            tokio::time::timeout(shared.settings.handshake_max, shared.handshake(&mut receiver)).await;
        let opened = opened.unwrap_or_else(|_| Err(timeout("the server did not open the channel in time")));
        let lifetime = opened.inspect_err(|error| shared.end(error.clone()))?;
        tokio::spawn(Arc::clone(&shared).run(receiver, lifetime));
        Ok(channel)
    }

    /// Sends a request and waits for its response.
    ///
    /// # Errors
    /// `BadTimeout`; `BadSecureChannelClosed` or what the server said when the channel ends before the response comes;
    /// `BadEncodingLimitsExceeded` when the server takes no request of that size.
    pub async fn request(&self, body: Bytes, within: Duration) -> Result<Bytes, Error> {
        let (sender, response) = oneshot::channel();
        let _under_way = self.start(body, move |response| {
            let _ = sender.send(response);
        });
        match tokio::time::timeout(within, response).await {
            Ok(Ok(response)) => response,
            Ok(Err(_)) => Err(closed()),
            Err(_) => Err(timeout("the server did not answer in time")),
        }
    }

    /// Sends a request at once. `take` is called with what comes of it, on the task that reads the channel: in the order in which responses
    /// arrive, one after the other. It must not block. It is called once, or never where what is given back is dropped before.
    pub(crate) fn start(
        &self,
        body: Bytes,
        take: impl FnOnce(Result<Bytes, Error>) + Send + 'static,
    ) -> PendingRequestGuard {
        let request_id = self.shared.next_request_id();
        let under_way = PendingRequestGuard { shared: Arc::downgrade(&self.shared), request_id };
        let mut waiting = self.shared.waiting();
        if let Some(ended) = waiting.ended.clone() {
            drop(waiting);
            take(Err(ended));
            return under_way;
        }
        waiting.requests.insert(request_id, Box::new(take));
        drop(waiting);
        if let Err(error) = self.shared.outbox.send(ChunkKind::Message, request_id, body) {
            self.shared.deliver(request_id, Err(error));
        }
        under_way
    }

    /// Renews the channel now, instead of when its time comes.
    pub fn renew(&self) {
        self.shared.renew_now.notify_one();
    }

    /// What the channel is open to.
    pub fn target(&self) -> &ChannelTarget {
        &self.shared.target
    }

    /// What the channel was set up with.
    pub fn settings(&self) -> &Arc<ChannelSettings> {
        &self.shared.settings
    }

    /// Why the channel ended, if it did.
    pub fn ended(&self) -> Option<Error> {
        self.shared.waiting().ended.clone()
    }

    /// Waits until the channel has ended, and says why.
    pub async fn closed(&self) -> Error {
        loop {
            let request_id = self.shared.next_request_id();
            let (sender, response) = oneshot::channel();
            {
                let mut waiting = self.shared.waiting();
                if let Some(ended) = &waiting.ended {
                    return ended.clone();
                }
                // Waits like a request that was never sent: it hears of the end, and of nothing else.
                let take = move |response| {
                    let _ = sender.send(response);
                };
                waiting.requests.insert(request_id, Box::new(take));
            }
            let _forget = PendingRequestGuard { shared: Arc::downgrade(&self.shared), request_id };
            match response.await {
                Ok(Err(ended)) => return ended,
                // A response to what was not asked: no end.
                Ok(Ok(_)) => {}
                Err(_) => return closed(),
            }
        }
    }

    /// Closes the channel, and says so to the server.
    pub fn close(&self) {
        if self.ended().is_some() {
            return;
        }
        let request = CloseSecureChannelRequest { request_header: self.shared.header() };
        if let Ok(body) = wire::encode_service(&wire::context().context(), &request) {
            let _ = self.shared.outbox.send(ChunkKind::Close, self.shared.next_request_id(), body);
        }
        self.shared.end(closed());
        self.shared.shutdown.notify_one();
    }
}

impl Drop for ClientChannel {
    fn drop(&mut self) {
        self.close();
        self.shared.outbox.end_with(&[]);
    }
}

impl fmt::Debug for ClientChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientChannel").field("target", &self.shared.target).finish_non_exhaustive()
    }
}

/// A pending request. Dropping it discards the response.
pub(crate) struct PendingRequestGuard {
    shared: Weak<ClientChannelState>,
    request_id: u32,
}

impl Drop for PendingRequestGuard {
    fn drop(&mut self) {
        let Some(shared) = self.shared.upgrade() else { return };
        // Dropped after the lock is free: with what it holds, the channel itself may go.
        let taker = shared.waiting().requests.remove(&self.request_id);
        drop(taker);
    }
}

fn closed() -> Error {
    Error::new(StatusCode::BadSecureChannelClosed, "the channel is closed")
}

fn timeout(reason: &'static str) -> Error {
    Error::new(StatusCode::BadTimeout, reason)
}

impl ClientChannelState {
    fn waiting(&self) -> MutexGuard<'_, PendingResponse> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_request_id(&self) -> u32 {
        loop {
            let id = self.request_id.fetch_add(1, Ordering::Relaxed);
            if id != 0 {
                return id;
            }
        }
    }

    fn header(&self) -> RequestHeader {
        RequestHeader::new(&NodeId::null(), &wire::datetime((self.settings.clock)()), 0)
    }

    /// Ends: everybody who waits hears why.
    fn end(&self, error: Error) {
        let requests = {
            let mut waiting = self.waiting();
            waiting.ended.get_or_insert_with(|| error.clone());
            std::mem::take(&mut waiting.requests)
        };
        for take in requests.into_values() {
            take(Err(error.clone()));
        }
    }

    async fn handshake(&self, receiver: &mut ResponseReader) -> Result<Duration, Error> {
        if let Some(server) = &self.target.server {
            let (server, settings) = (Arc::clone(server), Arc::clone(&self.settings));
            let moment = (settings.clock)();
            let issuers = self.target.server_issuers.clone();
            let check = move || {
                let issuers = issuers.iter().map(Vec::as_slice);
                let chain: Vec<&[u8]> = std::iter::once(server.der()).chain(issuers).collect();
                settings.trust.check(&chain, PeerRole::Server, moment)
            };
            self.settings.workers.compute(check).await?;
        } else if self.target.policy.is_secure() {
            return Err(Error::new(
                StatusCode::BadCertificateInvalid,
                "the server's certificate is not known",
            ));
        }
        let hello = HelloMessage::new(&self.settings.limits, &self.target.endpoint_url);
        self.outbox.send_raw(&hello.encode());
        let (header, chunk) = receiver.chunk().await?.ok_or_else(closed)?;
        let body = chunk.get(CHUNK_HEADER_BYTES..).unwrap_or_default();
        let acknowledge = match header.kind {
            ChunkKind::Acknowledge => Acknowledge::decode(body, &hello)?,
            ChunkKind::Error => return Err(ErrorMessage::decode(body)?.into()),
            ChunkKind::Hello | ChunkKind::Open | ChunkKind::Close | ChunkKind::Message => {
                return Err(Error::new(
                    StatusCode::BadTcpMessageTypeInvalid,
                    "the server does not acknowledge",
                ));
            }
        };
        receiver.set_chunk_bytes_max(acknowledge.send_buffer_bytes);
        self.outbox.change(|sealing| {
            sealing.chunk_bytes_max = acknowledge.receive_buffer_bytes as usize;
            sealing.limits = acknowledge.limits;
        });
        let renewal = self.send_open(0, SecurityTokenRequestType::Issue).await?;
        let (header, chunk) = receiver.chunk().await?.ok_or_else(closed)?;
        match header.kind {
            ChunkKind::Open => self.opened(receiver, chunk, &renewal, SecurityTokenRequestType::Issue).await,
            ChunkKind::Error => {
                Err(ErrorMessage::decode(chunk.get(CHUNK_HEADER_BYTES..).unwrap_or_default())?.into())
            }
            ChunkKind::Hello | ChunkKind::Acknowledge | ChunkKind::Close | ChunkKind::Message => {
                Err(Error::new(StatusCode::BadTcpMessageTypeInvalid, "the server does not open the channel"))
            }
        }
    }

    async fn send_open(
        &self,
        channel_id: u32,
        kind: SecurityTokenRequestType,
    ) -> Result<ChannelRenewal, Error> {
        let policy = self.target.policy;
        let nonce = crypto::nonce()?;
        let request = OpenSecureChannelRequest {
            request_header: self.header(),
            client_protocol_version: 0,
            request_type: kind,
            security_mode: self.target.mode,
            client_nonce: if policy.is_secure() { nonce.to_vec().into() } else { ByteString::null() },
            requested_lifetime: u32::try_from(self.settings.lifetime_max.as_millis()).unwrap_or(u32::MAX),
        };
        let body = wire::encode_service(&wire::context().context(), &request)?;
        let request_id = self.next_request_id();
        let sequence = SequenceHeader { number: self.outbox.begin_open(), request_id };
        let (own, server) = (self.settings.own.clone(), self.target.server.clone());
        let work = move || seal_open(channel_id, policy, &own, server.as_deref(), sequence, &body);
        let chunk = self.settings.workers.compute(work).await?;
        self.outbox.finish_open(&chunk, |_| {});
        Ok(ChannelRenewal { request_id, nonce, until: Instant::now() + self.settings.handshake_max })
    }

    /// Takes the server's response to Open: the new token counts at once for what is sent. How long it lives.
    async fn opened(
        &self,
        receiver: &mut ResponseReader,
        chunk: BytesMut,
        renewal: &ChannelRenewal,
        kind: SecurityTokenRequestType,
    ) -> Result<Duration, Error> {
        let policy = self.target.policy;
        let (sequence, body) = self.unwrap(chunk).await?;
        receiver.check_sequence(sequence.number)?;
        if sequence.request_id != renewal.request_id {
            return Err(Error::security("the server opens a channel that was not asked for"));
        }
        let response: OpenSecureChannelResponse = wire::decode_service(&wire::context().context(), &body)?;
        if response.response_header.service_result.is_bad() {
            return Err(Error::new(response.response_header.service_result, "the server opens no channel"));
        }
        let token = &response.security_token;
        if kind == SecurityTokenRequestType::Renew && token.channel_id != receiver.channel_id {
            return Err(Error::security("the server renews another channel"));
        }
        let (mut sealing, mut opening) = (None, None);
        if policy.is_secure() {
            let server_nonce = response.server_nonce.value.as_deref().unwrap_or_default();
            if server_nonce.len() != policy.channel_nonce_bytes() {
                return Err(Error::new(
                    StatusCode::BadNonceInvalid,
                    "the server's nonce has not the policy's length",
                ));
            }
            let keys = crypto::derive_keys(policy, &renewal.nonce, server_nonce)?;
            (sealing, opening) = (Some(keys.sealing), Some(keys.opening));
        }
        let lifetime = Duration::from_millis(u64::from(token.revised_lifetime)).max(Duration::from_secs(1));
        receiver.channel_id = token.channel_id;
        receiver.mode = self.target.mode;
        let expires = Instant::now() + lifetime + lifetime / 4;
        receiver.set_token(OpeningToken { id: token.token_id, keys: opening, expires });
        self.outbox.change(|state| {
            state.channel_id = token.channel_id;
            state.token_id = token.token_id;
            state.mode = self.target.mode;
            state.keys = sealing;
        });
        Ok(lifetime)
    }

    async fn unwrap(&self, chunk: BytesMut) -> Result<(SequenceHeader, Bytes), Error> {
        let claim = PeerClaim::read(&chunk)?;
        let policy = self.target.policy;
        if claim.policy != policy {
            return Err(Error::security("the server answers with another security policy"));
        }
        let (own, server) = (self.settings.own.clone(), self.target.server.clone());
        let work = move || {
            if let Some(server) = &server {
                let chain = crypto::split_chain(&claim.header.sender_certificate)?;
                if chain.first() != Some(&server.der())
                    || claim.header.receiver_thumbprint != own.certificate().thumbprint()
                {
                    return Err(Error::security(
                        "the server's certificate is not the one that was discovered",
                    ));
                }
            }
            open_open(&chunk, claim.header_bytes, policy, &own, server.as_deref())
        };
        self.settings.workers.compute(work).await
    }

    async fn run(self: Arc<ClientChannelState>, mut receiver: ResponseReader, lifetime: Duration) {
        let error = match self.serve(&mut receiver, lifetime).await {
            Ok(()) => closed(),
            Err(error) => error,
        };
        self.end(error);
        self.outbox.end_with(&[]);
    }

    async fn serve(&self, receiver: &mut ResponseReader, mut lifetime: Duration) -> Result<(), Error> {
        let mut renew_at = Instant::now() + lifetime * 3 / 4;
        let mut renewal: Option<ChannelRenewal> = None;
        let mut wakes = renew_at;
        let mut timer = pin!(tokio::time::sleep_until(wakes));
        loop {
            let due = renewal.as_ref().map_or(renew_at, |renewal| renewal.until);
            if due != wakes {
                wakes = due;
                timer.as_mut().reset(wakes);
            }
            let incoming = tokio::select! {
                incoming = receiver.next() => incoming?,
                () = self.shutdown.notified() => return Ok(()),
                () = self.renew_now.notified(), if renewal.is_none() => {
                    renewal = Some(Box::pin(self.send_open(receiver.channel_id, SecurityTokenRequestType::Renew)).await?);
                    continue;
                }
                () = timer.as_mut() => {
                    if renewal.is_some() {
                        return Err(timeout("the server did not renew the channel in time"));
                    }
                    renewal = Some(Box::pin(self.send_open(receiver.channel_id, SecurityTokenRequestType::Renew)).await?);
                    continue;
                }
            };
            match incoming {
                None | Some(IncomingMessage::Close) => return Ok(()),
                Some(IncomingMessage::Message { request_id, body }) => self.deliver(request_id, Ok(body)),
                Some(IncomingMessage::Aborted { request_id, status }) => {
                    self.deliver(request_id, Err(Error::new(status, "the server gave its response up")));
                }
                Some(IncomingMessage::Switched { .. }) => {}
                Some(IncomingMessage::Open(chunk)) => {
                    let pending =
                        renewal.take().ok_or_else(|| Error::security("nothing was to be opened"))?;
                    lifetime =
                        self.opened(receiver, chunk, &pending, SecurityTokenRequestType::Renew).await?;
                    renew_at = Instant::now() + lifetime * 3 / 4;
                }
            }
        }
    }

    fn deliver(&self, request_id: u32, response: Result<Bytes, Error>) {
        let taker = self.waiting().requests.remove(&request_id);
        if let Some(take) = taker {
            take(response);
        }
    }
}

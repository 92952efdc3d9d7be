//! The server's end of a channel: accepts, renews, reads requests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use opcua_types::{
    ChannelSecurityToken, MessageSecurityMode, OpenSecureChannelRequest, OpenSecureChannelResponse,
    SecurityTokenRequestType, StatusCode,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use super::asymmetric::{PeerClaim, open_open, seal_open};
use super::outbox::ChannelOutbox;
use super::receiver::{ChannelReceiver, IncomingMessage, OpeningToken};
use super::settings::{ChannelSettings, PeerRole, SecurityOffer};
use crate::crypto::{self, Certificate, SealingKeys, SecurityPolicy};
use crate::error::Error;
use crate::session::ChannelInfo;
use crate::wire::{
    self, Acknowledge, CHUNK_HEADER_BYTES, ChunkKind, ErrorMessage, HELLO_BYTES_MAX, HelloMessage,
    MessageLimits, SequenceHeader,
};

/// What a client sent.
#[derive(Debug)]
pub enum ChannelRequest {
    /// A service request.
    Service {
        /// Answered under this.
        request_id: u32,
        /// The request, type id first.
        body: Bytes,
    },
    /// The client renews the channel: for [`ServerChannel::renew`].
    Renewal(BytesMut),
}

/// An open channel, the server's end.
pub struct ServerChannel {
    info: ChannelInfo,
    client: Option<Arc<Certificate>>,
    settings: Arc<ChannelSettings>,
    offers: Arc<[SecurityOffer]>,
    receiver: ChannelReceiver<Box<dyn AsyncRead + Send + Unpin>>,
    outbox: Arc<ChannelOutbox>,
    endpoint_url: String,
    token_id: u32,
    /// What is sent with as soon as the client uses the token that it got last.
    renewed: Option<(u32, Option<SealingKeys>)>,
}

/// A request to open or renew, taken apart on a worker.
struct OpenRequest {
    sequence: SequenceHeader,
    body: Bytes,
    client: Option<Arc<Certificate>>,
}

impl ServerChannel {
    /// Accepts one: Hello, Acknowledge, OpenSecureChannel, all within the time that the settings allow.
    ///
    /// # Errors
    /// Whatever is wrong with what the client sent; it got an Error message already.
    pub async fn accept<S>(
        stream: S,
        peer: Option<SocketAddr>,
        settings: Arc<ChannelSettings>,
        offers: Arc<[SecurityOffer]>,
        channel_id: u32,
    ) -> Result<ServerChannel, Error>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let (reading, writing) = tokio::io::split(stream);
        let info = ChannelInfo {
            id: channel_id,
            security_policy: SecurityPolicy::None,
            security_mode: MessageSecurityMode::None,
            peer,
        };
        let mut channel = ServerChannel {
            info,
            client: None,
            offers,
            receiver: ChannelReceiver::new(Box::new(reading), HELLO_BYTES_MAX as u32),
            outbox: ChannelOutbox::start(Box::new(writing)),
            endpoint_url: String::new(),
            token_id: 0,
            renewed: None,
            settings,
        };
        let within = channel.settings.handshake_max;
        let opened = tokio::time::timeout(within, channel.handshake()).await.unwrap_or_else(|_| {
            Err(Error::new(StatusCode::BadTimeout, "the client did not open its channel in time"))
        });
        match opened {
            Ok(()) => Ok(channel),
            Err(error) => {
                channel.close(Some(&error));
                Err(error)
            }
        }
    }

    async fn handshake(&mut self) -> Result<(), Error> {
        let closed =
            || Error::new(StatusCode::BadConnectionClosed, "the client left before its channel was open");
        let (header, chunk) = self.receiver.chunk().await?.ok_or_else(closed)?;
        if header.kind != ChunkKind::Hello {
            return Err(Error::new(
                StatusCode::BadTcpMessageTypeInvalid,
                "the connection does not begin with Hello",
            ));
        }
        let hello = HelloMessage::decode(chunk.get(CHUNK_HEADER_BYTES..).unwrap_or_default())?;
        let acknowledge = Acknowledge::negotiate(&self.settings.limits, &hello);
        self.receiver.set_chunk_bytes_max(acknowledge.receive_buffer_bytes);
        self.outbox.change(|sealing| {
            sealing.chunk_bytes_max = acknowledge.send_buffer_bytes as usize;
            sealing.limits = hello.limits;
        });
        self.outbox.send_raw(&acknowledge.encode());
        self.endpoint_url = hello.endpoint_url;
        let (header, chunk) = self.receiver.chunk().await?.ok_or_else(closed)?;
        if header.kind != ChunkKind::Open {
            return Err(Error::new(
                StatusCode::BadTcpMessageTypeInvalid,
                "Hello is not followed by OpenSecureChannel",
            ));
        }
        self.open(chunk, SecurityTokenRequestType::Issue).await
    }

    /// Renews the channel. Nothing else is read meanwhile; what is sent meanwhile goes out afterwards.
    ///
    /// # Errors
    /// The channel must be closed.
    pub async fn renew(&mut self, chunk: BytesMut) -> Result<(), Error> {
        tokio::time::timeout(self.settings.handshake_max, self.open(chunk, SecurityTokenRequestType::Renew))
            .await
            .unwrap_or_else(|_| Err(Error::new(StatusCode::BadTimeout, "renewing the channel took too long")))
    }

    async fn open(&mut self, chunk: BytesMut, kind: SecurityTokenRequestType) -> Result<(), Error> {
        let claim = PeerClaim::read(&chunk)?;
        let policy = claim.policy;
        if kind == SecurityTokenRequestType::Renew
            && (policy != self.info.security_policy || claim.header.channel_id != self.info.id)
        {
            return Err(Error::security("a renewal names another channel or security policy"));
        }
        if policy.is_secure() && !self.offers.iter().any(|offer| offer.policy == policy) {
            return Err(Error::new(
                StatusCode::BadSecurityPolicyRejected,
                "no endpoint has that security policy",
            ));
        }
        let opened = self.unwrap(claim, chunk).await?;
        self.receiver.check_sequence(opened.sequence.number)?;
        let owned = wire::context();
        let request: OpenSecureChannelRequest = wire::decode_service(&owned.context(), &opened.body)?;
        self.check_request(&request, policy, kind)?;
        self.client = opened.client;
        self.info.security_policy = policy;
        self.info.security_mode = request.security_mode;
        self.answer(&request, opened.sequence.request_id, kind).await
    }

    /// Checks certificates, decrypts and verifies, on a worker.
    async fn unwrap(&mut self, claim: PeerClaim, chunk: BytesMut) -> Result<OpenRequest, Error> {
        let settings = Arc::clone(&self.settings);
        let known = self.client.clone();
        let moment = (self.settings.clock)();
        if !claim.policy.is_secure() {
            let (sequence, body) = open_open(&chunk, claim.header_bytes, claim.policy, &settings.own, None)?;
            return Ok(OpenRequest { sequence, body, client: None });
        }
        let work = move || {
            let chain = crypto::split_chain(&claim.header.sender_certificate)?;
            let leaf = chain.first().copied().unwrap_or_default();
            if claim.header.receiver_thumbprint != settings.own.certificate().thumbprint() {
                return Err(Error::new(
                    StatusCode::BadCertificateInvalid,
                    "the client encrypts for another certificate than this server's",
                ));
            }
            if known.as_ref().is_some_and(|known| known.der() != leaf) {
                return Err(Error::security("a renewal comes with another certificate"));
            }
            settings.trust.check(&chain, PeerRole::Client, moment)?;
            let client = Arc::new(Certificate::from_der(leaf)?);
            let (sequence, body) =
                open_open(&chunk, claim.header_bytes, claim.policy, &settings.own, Some(&client))?;
            Ok(OpenRequest { sequence, body, client: Some(client) })
        };
        self.settings.workers.compute(work).await
    }

    fn check_request(
        &self,
        request: &OpenSecureChannelRequest,
        policy: SecurityPolicy,
        kind: SecurityTokenRequestType,
    ) -> Result<(), Error> {
        if request.request_type != kind {
            return Err(Error::new(
                StatusCode::BadRequestTypeInvalid,
                "a channel is opened once, then renewed",
            ));
        }
        let mode = request.security_mode;
        let offered = match policy.is_secure() {
            true => self.offers.contains(&SecurityOffer { policy, mode }),
            false => mode == MessageSecurityMode::None,
        };
        let unchanged = kind == SecurityTokenRequestType::Issue || mode == self.info.security_mode;
        if !offered || !unchanged {
            return Err(Error::new(
                StatusCode::BadSecurityModeRejected,
                "no endpoint has that security mode",
            ));
        }
        let nonce_bytes = request.client_nonce.value.as_ref().map_or(0, Vec::len);
        if policy.is_secure() && nonce_bytes != policy.channel_nonce_bytes() {
            return Err(Error::new(
                StatusCode::BadNonceInvalid,
                "the nonce has not the length of the policy",
            ));
        }
        Ok(())
    }

    fn revised_lifetime(&self, requested_ms: u32) -> Duration {
        let requested = Duration::from_millis(u64::from(requested_ms));
        let (least, most) = (self.settings.lifetime_min, self.settings.lifetime_max);
        if requested.is_zero() { most } else { requested.max(least).min(most) }
    }

    async fn answer(
        &mut self,
        request: &OpenSecureChannelRequest,
        request_id: u32,
        kind: SecurityTokenRequestType,
    ) -> Result<(), Error> {
        let (policy, mode, channel_id) = (self.info.security_policy, self.info.security_mode, self.info.id);
        self.token_id = self.token_id.wrapping_add(1).max(1);
        let token_id = self.token_id;
        let lifetime = self.revised_lifetime(request.requested_lifetime);
        let mut server_nonce = Vec::new();
        let (mut sealing, mut opening) = (None, None);
        if policy.is_secure() {
            server_nonce = crypto::nonce()?.to_vec();
            let client_nonce = request.client_nonce.value.as_deref().unwrap_or_default();
            let keys = crypto::derive_keys(policy, &server_nonce, client_nonce)?;
            (sealing, opening) = (Some(keys.sealing), Some(keys.opening));
        }
        let response = self.response(request.request_header.request_handle, lifetime, server_nonce);
        let body = wire::encode_service(&wire::context().context(), &response)?;
        let sequence = SequenceHeader { number: self.outbox.begin_open(), request_id };
        let (own, client) = (self.settings.own.clone(), self.client.clone());
        let chunk = match policy.is_secure() {
            false => seal_open(channel_id, policy, &own, None, sequence, &body)?,
            true => {
                let work = move || seal_open(channel_id, policy, &own, client.as_deref(), sequence, &body);
                self.settings.workers.compute(work).await?
            }
        };
        self.receiver.channel_id = channel_id;
        self.receiver.mode = mode;
        let expires = Instant::now() + lifetime + lifetime / 4;
        self.receiver.set_token(OpeningToken { id: token_id, keys: opening, expires });
        if kind == SecurityTokenRequestType::Issue {
            self.outbox.finish_open(&chunk, |state| {
                state.channel_id = channel_id;
                state.mode = mode;
                state.token_id = token_id;
                state.keys = sealing;
            });
        } else {
            self.outbox.finish_open(&chunk, |_| {});
            self.renewed = Some((token_id, sealing));
        }
        Ok(())
    }

    fn response(&self, handle: u32, lifetime: Duration, server_nonce: Vec<u8>) -> OpenSecureChannelResponse {
        let moment = (self.settings.clock)();
        OpenSecureChannelResponse {
            response_header: wire::response_header(handle, StatusCode::Good, moment),
            server_protocol_version: 0,
            security_token: ChannelSecurityToken {
                channel_id: self.info.id,
                token_id: self.token_id,
                created_at: wire::datetime(moment),
                revised_lifetime: u32::try_from(lifetime.as_millis()).unwrap_or(u32::MAX),
            },
            server_nonce: server_nonce.into(),
        }
    }

    /// The next request; `None` when the client closed the channel or left. Can be dropped at any time.
    ///
    /// # Errors
    /// The channel must be closed.
    pub async fn next(&mut self) -> Result<Option<ChannelRequest>, Error> {
        loop {
            return Ok(Some(match self.receiver.next().await? {
                None | Some(IncomingMessage::Close) => return Ok(None),
                Some(IncomingMessage::Message { request_id, body }) => {
                    ChannelRequest::Service { request_id, body }
                }
                Some(IncomingMessage::Open(chunk)) => ChannelRequest::Renewal(chunk),
                Some(IncomingMessage::Aborted { .. }) => continue,
                Some(IncomingMessage::Switched { token_id }) => {
                    if let Some((id, keys)) = self.renewed.take().filter(|(id, _)| *id == token_id) {
                        self.outbox.change(|state| {
                            state.token_id = id;
                            state.keys = keys;
                        });
                    }
                    continue;
                }
            }));
        }
    }

    /// Whether another request was read already, so that responses can wait to be written with its own.
    pub fn has_more(&self) -> bool {
        self.receiver.has_chunk()
    }

    /// Who the channel is with, and how it is secured.
    pub fn info(&self) -> &ChannelInfo {
        &self.info
    }

    /// The client's certificate, whose key it has; `None` without security.
    pub fn client(&self) -> Option<&Arc<Certificate>> {
        self.client.as_ref()
    }

    /// What sends responses.
    pub fn outbox(&self) -> &Arc<ChannelOutbox> {
        &self.outbox
    }

    /// The endpoint that the client named in Hello.
    pub fn endpoint_url(&self) -> &str {
        &self.endpoint_url
    }

    /// How large requests may be from now on.
    pub fn set_limits(&mut self, limits: MessageLimits) {
        self.receiver.limits = limits;
    }

    /// When the channel ends unless it is renewed.
    pub fn expires(&self) -> Option<Instant> {
        self.receiver.expires()
    }

    /// Closes the channel, for a fault or without one. What was sent before is still written.
    pub fn close(&self, error: Option<&Error>) {
        let last =
            error.map(|error| ErrorMessage { status: public_status(error), reason: String::new() }.encode());
        self.outbox.end_with(last.as_deref().unwrap_or_default());
    }
}

/// What a peer is told. That a certificate is unknown, or its chain, is for log and audit only (Part 4, 6.1.3).
fn public_status(error: &Error) -> StatusCode {
    match error.status() {
        StatusCode::BadCertificateUntrusted | StatusCode::BadCertificateChainIncomplete => {
            StatusCode::BadSecurityChecksFailed
        }
        other => other,
    }
}

/// Whoever stops reading has no use for writing.
impl Drop for ServerChannel {
    fn drop(&mut self) {
        self.outbox.end_with(&[]);
    }
}

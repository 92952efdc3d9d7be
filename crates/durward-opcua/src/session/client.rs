//! The client's end of a session: created, activated, activated again while requests are under way.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use opcua_types::{
    ActivateSessionRequest, ActivateSessionResponse, ApplicationDescription, ApplicationType, AttributeId,
    BinaryDecodable, BinaryEncodable, CloseSessionRequest, CloseSessionResponse, ContextOwned,
    CreateSessionRequest, CreateSessionResponse, EndpointDescription, LocalizedText, MessageInfo, NodeId,
    QualifiedName, ReadRequest, ReadResponse, ReadValueId, RequestHeader, StatusCode, TimestampsToReturn,
    UAString, VariableId,
};

use super::created::check_created;
use super::discover::{choose, connect_channel, discover, offer_of};
use super::expected::ExpectedServer;
use super::identity::{ClientIdentity, prove};
use crate::channel::{ChannelSettings, ClientChannel, SecurityOffer};
use crate::crypto::{self, Certificate, SecretFormat};
use crate::error::Error;
use crate::wire::{self, RequestPeek, ResponsePeek};

/// Sessions are not kept alive more often than this, whatever timeout a server wants.
pub(crate) const KEEP_ALIVE_MIN: Duration = Duration::from_millis(100);

/// Settings of a client.
#[derive(Clone, Debug)]
pub struct SessionClientSettings {
    /// Certificate, trust, sizes.
    pub channel: Arc<ChannelSettings>,
    /// The application's URI, as in its certificate.
    pub application_uri: String,
    /// Who the server is. Of the application that is expected, and of no other one that is trusted, are endpoints taken.
    pub server: ExpectedServer,
    /// The product's URI.
    pub product_uri: String,
    /// The application's name.
    pub application_name: String,
    /// The name of its sessions.
    pub session_name: String,
    /// How long a session may be idle.
    pub session_timeout: Duration,
    /// How long a response may take.
    pub request_max: Duration,
    /// The languages of texts that the server sends, the one that is wanted most first (`de-DE`, `en`); none: the server's own.
    pub locale_ids: Vec<String>,
    /// How secrets are encrypted where the token policy says so.
    pub secret_format: SecretFormat,
    /// A session that nobody uses reads the server's state this often, or thrice in the timeout that the server revises, so that it does not end.
    pub keep_alive: Option<Duration>,
}

/// A session with a server. Many requests can be under way at a time.
pub struct ClientSession {
    inner: Arc<ClientSessionInner>,
}

struct ClientSessionInner {
    settings: SessionClientSettings,
    channel: ArcSwap<ClientChannel>,
    endpoint: EndpointDescription,
    server: Arc<Certificate>,
    session_id: NodeId,
    /// The authentication token, as it stands in requests.
    token: Vec<u8>,
    timeout: Duration,
    /// The server's last nonce. Held through an activation: they come one after the other.
    nonce: tokio::sync::Mutex<Vec<u8>>,
    handle: AtomicU32,
    context: ContextOwned,
    closed: Mutex<bool>,
}

/// Decodes a response. A fault, or a bad result of the whole service, is an error with its code.
pub(crate) fn decode_response<T: BinaryDecodable + MessageInfo>(
    owned: &ContextOwned,
    body: &[u8],
) -> Result<T, Error> {
    let peek = ResponsePeek::read(body)?;
    if peek.service_result.is_bad() || peek.is_fault() {
        return Err(Error::new(peek.service_result, "the server refused the request"));
    }
    wire::decode_service(&owned.context(), body)
}

impl ClientSession {
    /// Finds the server's endpoints, opens a channel to the one that is wished for (or the best), and creates a session there. It is to be
    /// activated next.
    ///
    /// # Errors
    /// See [`discover`], [`choose`], [`connect_channel`] and [`ClientSession::create`].
    pub async fn connect(
        url: &str,
        wish: Option<SecurityOffer>,
        settings: SessionClientSettings,
    ) -> Result<ClientSession, Error> {
        let endpoints = discover(url, &settings).await?;
        let endpoint = choose(&endpoints, wish)?;
        let channel = connect_channel(url, endpoint, &settings).await?;
        ClientSession::create(channel, endpoint.clone(), &endpoints, settings).await
    }

    /// Creates a session on a channel.
    ///
    /// # Errors
    /// What the server said; `BadSecurityChecksFailed` when its certificate, its signature or its endpoints are not those that were
    /// discovered.
    pub async fn create(
        channel: ClientChannel,
        endpoint: EndpointDescription,
        discovered: &[EndpointDescription],
        settings: SessionClientSettings,
    ) -> Result<ClientSession, Error> {
        let context = wire::context();
        let server = channel.target().server.clone();
        let server = server.ok_or_else(|| Error::security("a session needs a channel with security"))?;
        let nonce = crypto::nonce()?;
        let request = create_request(&settings, &channel, &endpoint, &nonce);
        let body = wire::encode_service(&context.context(), &request)?;
        let response = channel.request(body, settings.request_max).await?;
        let response: CreateSessionResponse = decode_response(&context, &response)?;
        check_created(&response, &server, &endpoint, discovered)?;

        let policy = offer_of(&endpoint)?.policy;
        let signed = [settings.channel.own.certificate().der(), nonce.as_slice()].concat();
        let (signature, key) = (response.server_signature, server.key().clone());
        let verify = move || {
            if signature.algorithm.as_ref() != policy.signature_uri() {
                return Err(Error::security("the server signs with another algorithm than the policy's"));
            }
            crypto::verify(policy, &key, &signed, signature.signature.value.as_deref().unwrap_or_default())
        };
        settings.channel.workers.compute(verify).await?;
        let timeout = Duration::try_from_secs_f64(response.revised_session_timeout / 1_000.0);
        let inner = Arc::new(ClientSessionInner {
            token: wire::encode_node_id(&response.authentication_token),
            session_id: response.session_id,
            timeout: timeout.unwrap_or(settings.session_timeout),
            nonce: tokio::sync::Mutex::new(response.server_nonce.value.unwrap_or_default()),
            channel: ArcSwap::from_pointee(channel),
            handle: AtomicU32::new(1),
            closed: Mutex::new(false),
            endpoint,
            server,
            context,
            settings,
        });
        inner.keep_alive();
        Ok(ClientSession { inner })
    }

    /// Activates the session, or activates it again: requests that are under way, and new ones, go on under the old user meanwhile.
    ///
    /// # Errors
    /// What the server said (`BadIdentityTokenRejected`, `BadUserAccessDenied`, ...): the session is as it was. The endpoint accepts no such
    /// identity.
    pub async fn activate(&self, identity: &ClientIdentity) -> Result<(), Error> {
        self.activate_by(identity, None).await
    }

    /// Moves the session to another channel to the same endpoint, with the same user.
    ///
    /// # Errors
    /// As of [`ClientSession::activate`]; the session stays on its channel then.
    pub async fn activate_on(&self, channel: ClientChannel, identity: &ClientIdentity) -> Result<(), Error> {
        self.activate_by(identity, Some(Arc::new(channel))).await
    }

    /// On a task of its own: whoever stops waiting would lose the server's next nonce, and with it the session.
    async fn activate_by(
        &self,
        identity: &ClientIdentity,
        to: Option<Arc<ClientChannel>>,
    ) -> Result<(), Error> {
        let (inner, identity) = (Arc::clone(&self.inner), identity.clone());
        let activated = tokio::spawn(async move { inner.activate(&identity, to).await }).await;
        activated
            .map_err(|_| Error::new(StatusCode::BadInternalError, "the activation was not done to its end"))?
    }

    /// Sends a request and decodes its response. Token, time and (if it is 0) handle are set in its header.
    ///
    /// # Errors
    /// A fault, or a bad result of the whole service, as its code; the channel broke; no response in time.
    pub async fn call<Q, R>(&self, request: &Q) -> Result<R, Error>
    where
        Q: BinaryEncodable + MessageInfo,
        R: BinaryDecodable + MessageInfo,
    {
        self.inner.call(request).await
    }

    /// Sends the bytes of a request with this session's token in place of its own; all else, the handle included, stays. The response
    /// comes back as the server sent it.
    ///
    /// # Errors
    /// Bytes that are no request; the channel broke; no response in time (the request's timeout hint, or that of the settings).
    pub async fn forward(&self, body: &[u8]) -> Result<Bytes, Error> {
        let peek = RequestPeek::read(body)?;
        self.inner.send(body, &peek, None, None).await
    }

    /// As [`ClientSession::forward`], and waits so long for the response: Publish may take longer than any other.
    ///
    /// # Errors
    /// As of [`ClientSession::forward`].
    pub async fn forward_within(&self, body: &[u8], within: Duration) -> Result<Bytes, Error> {
        let peek = RequestPeek::read(body)?;
        self.inner.send(body, &peek, None, Some(within)).await
    }

    /// Reads the server's state: keeps the session alive, and says whether it is.
    ///
    /// # Errors
    /// The session has ended, or the server cannot be reached.
    pub async fn ping(&self) -> Result<(), Error> {
        self.inner.ping().await
    }

    /// The public identifier of the session.
    pub fn id(&self) -> &NodeId {
        &self.inner.session_id
    }

    /// The authentication token as it stands in requests: a secret of this session.
    pub(crate) fn authentication_token(&self) -> &[u8] {
        &self.inner.token
    }

    /// The endpoint.
    pub fn endpoint(&self) -> &EndpointDescription {
        &self.inner.endpoint
    }

    /// The channel that the session is on.
    pub fn channel(&self) -> Arc<ClientChannel> {
        self.inner.channel.load_full()
    }

    /// The longest time that the session may be idle.
    pub fn timeout(&self) -> Duration {
        self.inner.timeout
    }

    /// Closes session and channel.
    ///
    /// # Errors
    /// The server did not answer; the channel is closed all the same.
    pub async fn close(&self, delete_subscriptions: bool) -> Result<(), Error> {
        let request = CloseSessionRequest { request_header: RequestHeader::default(), delete_subscriptions };
        let closed = self.inner.call::<_, CloseSessionResponse>(&request).await;
        self.inner.set_closed();
        self.inner.channel.load().close();
        closed.map(drop)
    }
}

impl Drop for ClientSession {
    fn drop(&mut self) {
        self.inner.set_closed();
    }
}

impl fmt::Debug for ClientSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientSession").field("id", &self.inner.session_id).finish_non_exhaustive()
    }
}

impl ClientSessionInner {
    fn set_closed(&self) {
        *self.closed.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }

    fn is_closed(&self) -> bool {
        *self.closed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn activate(&self, identity: &ClientIdentity, to: Option<Arc<ClientChannel>>) -> Result<(), Error> {
        let mut nonce = self.nonce.lock().await;
        let moment = (self.settings.channel.clock)();
        let policy = offer_of(&self.endpoint)?.policy;
        let (endpoint, server) = (self.endpoint.clone(), Arc::clone(&self.server));
        let (own, format) = (self.settings.channel.own.clone(), self.settings.secret_format);
        let (identity, last) = (identity.clone(), nonce.clone());
        let seal = move || {
            let client_signature = prove(policy, &own, server.der(), &last)?;
            Ok((client_signature, identity.seal(&endpoint, &server, &last, format, moment)?))
        };
        let (client_signature, sealed) = self.settings.channel.workers.compute(seal).await?;
        let request = ActivateSessionRequest {
            request_header: RequestHeader::default(),
            client_signature,
            client_software_certificates: None,
            locale_ids: Some(self.settings.locale_ids.iter().map(UAString::from).collect()),
            user_identity_token: sealed.token,
            user_token_signature: sealed.signature,
        };
        let body = wire::encode_service(&self.context.context(), &request)?;
        let peek = RequestPeek::read(&body)?;
        let response = self.send(&body, &peek, to.as_ref(), None).await?;
        let response: ActivateSessionResponse = decode_response(&self.context, &response)?;
        *nonce = response.server_nonce.value.unwrap_or_default();
        if let Some(channel) = to {
            self.channel.store(channel);
        }
        Ok(())
    }

    async fn call<Q, R>(&self, request: &Q) -> Result<R, Error>
    where
        Q: BinaryEncodable + MessageInfo,
        R: BinaryDecodable + MessageInfo,
    {
        let body = wire::encode_service(&self.context.context(), request)?;
        let peek = RequestPeek::read(&body)?;
        let response = self.send(&body, &peek, None, None).await?;
        decode_response(&self.context, &response)
    }

    /// Sends bytes under this session's token; a handle of 0 is replaced.
    async fn send(
        &self,
        body: &[u8],
        peek: &RequestPeek,
        to: Option<&Arc<ClientChannel>>,
        within: Option<Duration>,
    ) -> Result<Bytes, Error> {
        let mut sent = wire::replace_token(body, peek, &self.token);
        let at = peek.token.start + self.token.len();
        if peek.handle == 0 {
            let handle = self.handle.fetch_add(1, Ordering::Relaxed);
            wire::patch_handle(&mut sent, at + 8, handle);
            let ticks = wire::datetime((self.settings.channel.clock)()).checked_ticks().to_le_bytes();
            if let Some(time) = sent.get_mut(at..at + 8) {
                time.copy_from_slice(&ticks);
            }
        }
        let hint =
            (peek.timeout_hint_ms != 0).then(|| Duration::from_millis(u64::from(peek.timeout_hint_ms)));
        let within = within.or(hint).unwrap_or(self.settings.request_max);
        let current = self.channel.load_full();
        to.unwrap_or(&current).request(sent.freeze(), within).await
    }

    async fn ping(&self) -> Result<(), Error> {
        let request = ReadRequest {
            request_header: RequestHeader::default(),
            max_age: 0.0,
            timestamps_to_return: TimestampsToReturn::Neither,
            nodes_to_read: Some(vec![ReadValueId {
                node_id: NodeId::new(0, VariableId::Server_ServerStatus_State as u32),
                attribute_id: AttributeId::Value as u32,
                index_range: opcua_types::NumericRange::None,
                data_encoding: QualifiedName::null(),
            }]),
        };
        self.call::<_, ReadResponse>(&request).await.map(drop)
    }

    /// Pings as often as the settings say, or as the server wants it by the timeout that it revised, as long as somebody has the session.
    fn keep_alive(self: &Arc<ClientSessionInner>) {
        let Some(every) = self.settings.keep_alive else { return };
        let every = every.min(self.timeout / 3).max(KEEP_ALIVE_MIN);
        let session = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(every).await;
                let Some(session) = session.upgrade().filter(|session| !session.is_closed()) else { return };
                if let Err(error) = session.ping().await {
                    tracing::debug!(%error, "a session was not kept alive");
                }
            }
        });
    }
}

fn create_request(
    settings: &SessionClientSettings,
    channel: &ClientChannel,
    endpoint: &EndpointDescription,
    nonce: &[u8],
) -> CreateSessionRequest {
    let moment = wire::datetime((settings.channel.clock)());
    CreateSessionRequest {
        request_header: RequestHeader::new(&NodeId::null(), &moment, 1),
        client_description: ApplicationDescription {
            application_uri: UAString::from(settings.application_uri.as_str()),
            product_uri: UAString::from(settings.product_uri.as_str()),
            application_name: LocalizedText::new("en", &settings.application_name),
            application_type: ApplicationType::Client,
            gateway_server_uri: UAString::null(),
            discovery_profile_uri: UAString::null(),
            discovery_urls: None,
        },
        server_uri: endpoint.server.gateway_server_uri.clone(),
        endpoint_url: UAString::from(channel.target().endpoint_url.as_str()),
        session_name: UAString::from(settings.session_name.as_str()),
        client_nonce: nonce.to_vec().into(),
        client_certificate: settings.channel.own.certificate().der().to_vec().into(),
        requested_session_timeout: settings.session_timeout.as_secs_f64() * 1_000.0,
        max_response_message_size: settings.channel.limits.receive.message_bytes_max,
    }
}

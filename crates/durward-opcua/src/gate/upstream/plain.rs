//! A session with a server that has no security. Nothing proves who the server is, and everybody on the wire reads along.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use opcua_types::{
    ActivateSessionRequest, ActivateSessionResponse, AnonymousIdentityToken, ApplicationDescription,
    ApplicationType, BinaryDecodable, BinaryEncodable, CloseSessionRequest, CloseSessionResponse,
    ContextOwned, CreateSessionRequest, CreateSessionResponse, EndpointDescription, ExtensionObject,
    LocalizedText, MessageInfo, NodeId, RequestHeader, SignatureData, StatusCode, UAString,
    UserNameIdentityToken,
};

use crate::channel::{ClientChannel, TRANSPORT_PROFILE_URI};
use crate::crypto::{self, Certificate, SecurityPolicy, TokenSecurity};
use crate::error::Error;
use crate::gate::settings::UpstreamSettings;
use crate::session::{
    ClientIdentity, KEEP_ALIVE_MIN, SessionClientSettings, connect_without_security, decode_response,
};
use crate::wire::{self, RequestPeek};

/// The endpoint without security.
pub(super) fn endpoint(endpoints: &[EndpointDescription]) -> Option<&EndpointDescription> {
    endpoints.iter().find(|endpoint| {
        let transport = endpoint.transport_profile_uri.as_ref();
        endpoint.security_policy_uri.as_ref() == SecurityPolicy::None.uri()
            && (transport.is_empty() || transport == TRANSPORT_PROFILE_URI)
    })
}

/// A session on a channel without security.
pub(in crate::gate) struct PlainSession {
    channel: ArcSwap<ClientChannel>,
    token: Vec<u8>,
    endpoint: EndpointDescription,
    nonce: tokio::sync::Mutex<Vec<u8>>,
    settings: SessionClientSettings,
    /// A third of the timeout that the server wants.
    keep_alive: Duration,
    ping_at: Mutex<Instant>,
    handle: AtomicU32,
    context: ContextOwned,
}

impl PlainSession {
    pub(super) async fn open(
        url: &str,
        endpoint: &EndpointDescription,
        settings: &UpstreamSettings,
    ) -> Result<PlainSession, Error> {
        let client = &settings.client;
        let channel = connect_without_security(url, client).await?;
        let context = wire::context();
        let request = create_request(client, url, endpoint)?;
        let body = wire::encode_service(&context.context(), &request)?;
        let response = channel.request(body, client.request_max).await?;
        let response: CreateSessionResponse = decode_response(&context, &response)?;
        let timeout = Duration::try_from_secs_f64(response.revised_session_timeout / 1_000.0);
        let timeout = timeout.unwrap_or(client.session_timeout).min(client.session_timeout);
        let keep_alive = (timeout / 3).max(KEEP_ALIVE_MIN);
        let session = PlainSession {
            keep_alive,
            ping_at: Mutex::new(Instant::now() + keep_alive),
            channel: ArcSwap::from_pointee(channel),
            token: wire::encode_node_id(&response.authentication_token),
            endpoint: endpoint.clone(),
            nonce: tokio::sync::Mutex::new(response.server_nonce.value.unwrap_or_default()),
            settings: client.clone(),
            handle: AtomicU32::new(1),
            context,
        };
        session.activate(&session.channel(), &settings.identity).await?;
        Ok(session)
    }

    pub(super) async fn rejoin(&self, url: &str, settings: &UpstreamSettings) -> Result<(), Error> {
        let channel = Arc::new(connect_without_security(url, &settings.client).await?);
        self.activate(&channel, &settings.identity).await?;
        self.channel.store(channel);
        Ok(())
    }

    /// Whether the session is to be kept alive now; asked once for each time.
    pub(super) fn is_ping_due(&self) -> bool {
        let mut ping_at = self.ping_at.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = *ping_at <= Instant::now();
        if is_due {
            *ping_at = Instant::now() + self.keep_alive;
        }
        is_due
    }

    pub(super) fn token(&self) -> &[u8] {
        &self.token
    }

    pub(super) fn channel(&self) -> Arc<ClientChannel> {
        self.channel.load_full()
    }

    pub(super) async fn call<Q, R>(&self, request: &Q) -> Result<R, Error>
    where
        Q: BinaryEncodable + MessageInfo,
        R: BinaryDecodable + MessageInfo,
    {
        let body = self.prepared(request)?;
        let response = self.channel().request(body, self.settings.request_max).await?;
        decode_response(&self.context, &response)
    }

    pub(super) async fn close(&self, delete_subscriptions: bool) -> Result<(), Error> {
        let request = CloseSessionRequest { request_header: RequestHeader::default(), delete_subscriptions };
        let closed = self.call::<_, CloseSessionResponse>(&request).await;
        self.channel().close();
        closed.map(drop)
    }

    /// A request with this session's token, a handle and the time.
    fn prepared<Q: BinaryEncodable + MessageInfo>(&self, request: &Q) -> Result<bytes::Bytes, Error> {
        let body = wire::encode_service(&self.context.context(), request)?;
        let peek = RequestPeek::read(&body)?;
        let mut sent = wire::replace_token(&body, &peek, &self.token);
        let at = peek.token.start + self.token.len();
        let ticks = wire::datetime((self.settings.channel.clock)()).checked_ticks().to_le_bytes();
        if let Some(time) = sent.get_mut(at..at + 8) {
            time.copy_from_slice(&ticks);
        }
        wire::patch_handle(&mut sent, at + 8, self.handle.fetch_add(1, Ordering::Relaxed));
        Ok(sent.freeze())
    }

    async fn activate(&self, channel: &ClientChannel, identity: &ClientIdentity) -> Result<(), Error> {
        let mut nonce = self.nonce.lock().await;
        let user_identity_token = self.seal(identity, &nonce)?;
        let request = ActivateSessionRequest {
            request_header: RequestHeader::default(),
            client_signature: SignatureData::default(),
            client_software_certificates: None,
            locale_ids: None,
            user_identity_token,
            user_token_signature: SignatureData::default(),
        };
        let response = channel.request(self.prepared(&request)?, self.settings.request_max).await?;
        let response: ActivateSessionResponse = decode_response(&self.context, &response)?;
        *nonce = response.server_nonce.value.unwrap_or_default();
        Ok(())
    }

    /// Anonymous, or a name and a password: encrypted where the server has a certificate and its policy says so, in plain otherwise.
    fn seal(&self, identity: &ClientIdentity, nonce: &[u8]) -> Result<ExtensionObject, Error> {
        let (policy, security) = identity.policy(&self.endpoint)?;
        let policy_id = policy.policy_id.clone();
        match identity {
            ClientIdentity::Anonymous => Ok(ExtensionObject::new(AnonymousIdentityToken { policy_id })),
            ClientIdentity::UserName { name, password } => {
                let sealed = self.sealed_password(security, password.as_bytes(), nonce)?;
                let algorithm = sealed.algorithm.as_str();
                Ok(ExtensionObject::new(UserNameIdentityToken {
                    policy_id,
                    user_name: UAString::from(name.as_str()),
                    encryption_algorithm: if algorithm.is_empty() {
                        UAString::null()
                    } else {
                        UAString::from(algorithm)
                    },
                    password: sealed.data.into(),
                }))
            }
            ClientIdentity::Certificate(_) | ClientIdentity::Issued { .. } | ClientIdentity::Jwt { .. } => {
                Err(Error::new(
                    StatusCode::BadConfigurationError,
                    "to a server without security the gate comes anonymously, or with a name and a password",
                ))
            }
        }
    }

    fn sealed_password(
        &self,
        security: TokenSecurity,
        password: &[u8],
        nonce: &[u8],
    ) -> Result<crypto::SealedSecret, Error> {
        if security == TokenSecurity::Plain {
            return Ok(crypto::SealedSecret { data: password.to_vec(), algorithm: String::new() });
        }
        let chain =
            crypto::split_chain(self.endpoint.server_certificate.value.as_deref().unwrap_or_default())?;
        let server = Certificate::from_der(chain.first().copied().unwrap_or_default())?;
        let moment = (self.settings.channel.clock)();
        crypto::encode_secret(security, self.settings.secret_format, password, &server, nonce, moment)
    }
}

fn create_request(
    settings: &SessionClientSettings,
    url: &str,
    endpoint: &EndpointDescription,
) -> Result<CreateSessionRequest, Error> {
    let timeout: Duration = settings.session_timeout;
    Ok(CreateSessionRequest {
        request_header: RequestHeader::new(&NodeId::null(), &wire::datetime((settings.channel.clock)()), 1),
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
        endpoint_url: UAString::from(url),
        session_name: UAString::from(settings.session_name.as_str()),
        // Some servers want nonce and certificate even without security.
        client_nonce: crypto::nonce()?.to_vec().into(),
        client_certificate: settings.channel.own.certificate().der().to_vec().into(),
        requested_session_timeout: timeout.as_secs_f64() * 1_000.0,
        max_response_message_size: settings.channel.limits.receive.message_bytes_max,
    })
}

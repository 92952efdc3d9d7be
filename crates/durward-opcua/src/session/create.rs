//! CreateSession (Part 4, 5.7.2): the client's certificate is the channel's, and its ApplicationUri stands in it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use opcua_types::{
    ByteString, CreateSessionRequest, CreateSessionResponse, Guid, NodeId, SignatureData, StatusCode,
    UAString,
};

use super::connection::ConnectionPeer;
use super::server::ServerCore;
use super::service::{ClientInfo, SessionHandler, SessionInfo};
use super::store::SessionEntry;
use crate::crypto::{self, Certificate, NONCE_BYTES};
use crate::error::Error;
use crate::wire;

/// Names longer than this are cut: they are for logs.
const NAME_CHARS_MAX: usize = 128;

/// The longest nonce that is signed.
const CLIENT_NONCE_BYTES_MAX: usize = 256;

/// Answers CreateSession.
pub(super) async fn create<S: SessionHandler>(
    core: &Arc<ServerCore<S>>,
    peer: &ConnectionPeer,
    body: &[u8],
) -> Result<Bytes, Error> {
    let request: CreateSessionRequest = wire::decode_service(&core.context.context(), body)?;
    let certificate = peer.client.as_ref().ok_or_else(|| Error::security("a session needs a certificate"))?;
    let sent_certificate = request.client_certificate.value.as_deref().unwrap_or_default();
    let client = check_client(&request, certificate, sent_certificate)?;
    let nonce = request.client_nonce.value.as_deref().unwrap_or_default();
    if nonce.len() < NONCE_BYTES || nonce.len() > CLIENT_NONCE_BYTES_MAX {
        return Err(Error::new(StatusCode::BadNonceInvalid, "the client's nonce is too short or too long"));
    }
    // Signed before there is a session, off every lock and off the connection's task.
    let policy = peer.channel.security_policy;
    // Of a chain only the client's own certificate is signed (Part 4, 5.7.2.2).
    let signed = [client.certificate.der(), nonce].concat();
    let own = core.channel.own.clone();
    let signature = core.channel.workers.compute(move || crypto::sign(policy, own.key(), &signed)).await?;

    let timeout = revised_timeout(core, request.requested_session_timeout);
    let server_nonce = crypto::nonce()?;
    let token = crypto::random_bytes()?;
    let preferred = core.service.is_preferred(&client);
    let info = SessionInfo {
        number: core.sessions.next_number(),
        id: NodeId::new(1, Guid::from_bytes(crypto::random_bytes()?)),
        name: short(&request.session_name),
        client: Arc::new(client),
        endpoint_url: short(&request.endpoint_url),
        security_policy: policy,
        security_mode: peer.channel.security_mode,
        timeout_ms: u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX),
        response_bytes_max: request.max_response_message_size,
    };
    tracing::debug!(session = info.number, application = %info.client.application_uri, "a session was created");
    let session_id = info.id.clone();
    let entry = Arc::new(SessionEntry::new(info, token, peer.channel.id, server_nonce, preferred));
    core.sessions.insert(entry, &core.settings.limits)?;

    let response = CreateSessionResponse {
        response_header: wire::response_header(
            request.request_header.request_handle,
            StatusCode::Good,
            (core.channel.clock)(),
        ),
        session_id,
        authentication_token: NodeId::new(0, ByteString::from(token.to_vec())),
        revised_session_timeout: timeout.as_secs_f64() * 1_000.0,
        server_nonce: server_nonce.to_vec().into(),
        server_certificate: core.channel.own.chain().into(),
        server_endpoints: Some(core.endpoints_as_asked(request.endpoint_url.as_ref())),
        server_software_certificates: None,
        server_signature: SignatureData {
            algorithm: UAString::from(policy.signature_uri()),
            signature: signature.into(),
        },
        max_request_message_size: core.channel.limits.receive.message_bytes_max,
    };
    wire::encode_service(&core.context.context(), &response)
}

fn check_client(
    request: &CreateSessionRequest,
    certificate: &Arc<Certificate>,
    sent_certificate: &[u8],
) -> Result<ClientInfo, Error> {
    let leaf = crypto::split_chain(sent_certificate)?.first().copied().unwrap_or_default();
    if leaf != certificate.der() {
        return Err(Error::new(
            StatusCode::BadCertificateInvalid,
            "the session's certificate is not that of the channel",
        ));
    }
    let uri = request.client_description.application_uri.as_ref();
    if !certificate.is_of_application(uri) {
        return Err(Error::new(
            StatusCode::BadCertificateUriInvalid,
            format!("the certificate is not that of the application `{}`", uri.escape_debug()),
        ));
    }
    Ok(ClientInfo {
        application_uri: uri.to_owned(),
        application_name: short(&request.client_description.application_name.text),
        certificate: Arc::clone(certificate),
    })
}

fn revised_timeout<S: SessionHandler>(core: &ServerCore<S>, requested_ms: f64) -> Duration {
    let limits = &core.settings.limits;
    let requested = Duration::try_from_secs_f64(requested_ms / 1_000.0).unwrap_or(limits.session_timeout_max);
    let requested = if requested.is_zero() { limits.session_timeout_max } else { requested };
    requested.max(limits.session_timeout_min).min(limits.session_timeout_max)
}

fn short(text: &UAString) -> String {
    text.as_ref().chars().filter(|c| !c.is_control()).take(NAME_CHARS_MAX).collect()
}

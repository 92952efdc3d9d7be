//! Finding a server and its endpoints; connecting to one.

use std::sync::Arc;

use opcua_types::{
    ByteString, EndpointDescription, GetEndpointsRequest, GetEndpointsResponse, MessageSecurityMode, NodeId,
    RequestHeader, StatusCode, UAString,
};
use tokio::net::TcpStream;

use super::client::{SessionClientSettings, decode_response};
use crate::channel::{ChannelTarget, ClientChannel, SecurityOffer, TRANSPORT_PROFILE_URI};
use crate::crypto::{self, Certificate, SecurityPolicy};
use crate::error::Error;
use crate::wire;

/// The port of OPC UA.
const DEFAULT_PORT: u16 = 4840;

/// Host and port of an endpoint URL (`opc.tcp://host:4840/path`).
///
/// # Errors
/// `BadTcpEndpointUrlInvalid`.
pub(super) fn address(url: &str) -> Result<(&str, u16), Error> {
    let invalid = || {
        Error::new(
            StatusCode::BadTcpEndpointUrlInvalid,
            format!("`{}` is no endpoint URL; write opc.tcp://host:port", url.escape_debug()),
        )
    };
    let rest = url.strip_prefix("opc.tcp://").ok_or_else(invalid)?;
    let authority = rest.split('/').next().unwrap_or_default();
    let (host, port) = match authority.strip_prefix('[') {
        Some(v6) => {
            let (host, after) = v6.split_once(']').ok_or_else(invalid)?;
            (host, after.strip_prefix(':'))
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let port = port.map_or(Ok(DEFAULT_PORT), str::parse).map_err(|_| invalid())?;
    if host.is_empty() {
        return Err(invalid());
    }
    Ok((host, port))
}

async fn connect(url: &str, settings: &SessionClientSettings) -> Result<TcpStream, Error> {
    let (host, port) = address(url)?;
    let failed = |error: std::io::Error| {
        Error::new(StatusCode::BadConnectionRejected, format!("no connection to {host}:{port}: {error}"))
    };
    let connecting = TcpStream::connect((host, port));
    let stream = tokio::time::timeout(settings.channel.handshake_max, connecting)
        .await
        .map_err(|_| Error::new(StatusCode::BadTimeout, format!("no connection to {host}:{port} in time")))?
        .map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    Ok(stream)
}

/// Opens a channel without security.
///
/// # Errors
/// The server cannot be reached, or opens no such channel.
pub(crate) async fn connect_without_security(
    url: &str,
    settings: &SessionClientSettings,
) -> Result<ClientChannel, Error> {
    let target = ChannelTarget {
        endpoint_url: url.to_owned(),
        policy: SecurityPolicy::None,
        mode: MessageSecurityMode::None,
        server: None,
        server_issuers: Vec::new(),
    };
    let stream = connect(url, settings).await?;
    ClientChannel::open(stream, target, Arc::clone(&settings.channel)).await
}

/// Asks a server for its endpoints, without security: what comes back is believed only as far as the channel that follows proves it.
///
/// # Errors
/// The server cannot be reached, or does not answer as a server of OPC UA.
pub async fn discover(
    url: &str,
    settings: &SessionClientSettings,
) -> Result<Vec<EndpointDescription>, Error> {
    let channel = connect_without_security(url, settings).await?;
    let moment = (settings.channel.clock)();
    let request = GetEndpointsRequest {
        request_header: RequestHeader::new(&NodeId::null(), &wire::datetime(moment), 1),
        endpoint_url: UAString::from(url),
        locale_ids: None,
        profile_uris: None,
    };
    let owned = wire::context();
    let body = wire::encode_service(&owned.context(), &request)?;
    let response = channel.request(body, settings.request_max).await?;
    let response: GetEndpointsResponse = decode_response(&owned, &response)?;
    Ok(response.endpoints.unwrap_or_default())
}

/// The endpoint with this policy and mode; without a wish the one that the server ranks highest among those that are supported here.
///
/// # Errors
/// `BadSecurityPolicyRejected` when there is none.
pub fn choose(
    endpoints: &[EndpointDescription],
    wish: Option<SecurityOffer>,
) -> Result<&EndpointDescription, Error> {
    let fits = |endpoint: &&EndpointDescription| {
        let transport = endpoint.transport_profile_uri.as_ref();
        let offer = offer_of(endpoint).ok();
        let secured = offer.is_some_and(|offer| offer.policy.is_secure());
        secured
            && (transport.is_empty() || transport == TRANSPORT_PROFILE_URI)
            && wish.is_none_or(|wish| offer == Some(wish))
    };
    endpoints.iter().filter(fits).max_by_key(|endpoint| endpoint.security_level).ok_or_else(|| {
        Error::new(StatusCode::BadSecurityPolicyRejected, "the server has no endpoint with that security")
    })
}

/// Policy and mode of an endpoint.
pub(super) fn offer_of(endpoint: &EndpointDescription) -> Result<SecurityOffer, Error> {
    let policy = SecurityPolicy::from_uri(endpoint.security_policy_uri.as_ref())?;
    Ok(SecurityOffer { policy, mode: endpoint.security_mode })
}

/// Opens a channel to an endpoint, by the URL that worked for discovery: servers often tell names that only they know.
///
/// # Errors
/// The server's certificate cannot be read, is not trusted or is not that of the server which the settings expect at this URL; see
/// [`ClientChannel::open`].
pub async fn connect_channel(
    url: &str,
    endpoint: &EndpointDescription,
    settings: &SessionClientSettings,
) -> Result<ClientChannel, Error> {
    let offer = offer_of(endpoint)?;
    let chain: &ByteString = &endpoint.server_certificate;
    let chain = crypto::split_chain(chain.value.as_deref().unwrap_or_default())?;
    let server = Certificate::from_der(chain.first().copied().unwrap_or_default())?;
    if !server.is_of_application(endpoint.server.application_uri.as_ref()) {
        return Err(Error::new(
            StatusCode::BadCertificateUriInvalid,
            "the server's certificate is not that of its ApplicationUri",
        ));
    }
    settings.server.check(&server, address(url)?.0)?;
    let target = ChannelTarget {
        endpoint_url: url.to_owned(),
        policy: offer.policy,
        mode: offer.mode,
        server: Some(Arc::new(server)),
        server_issuers: chain.iter().skip(1).map(|issuer| issuer.to_vec()).collect(),
    };
    let stream = connect(url, settings).await?;
    ClientChannel::open(stream, target, Arc::clone(&settings.channel)).await
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn addresses_are_taken_out_of_urls() {
        assert_eq!(address("opc.tcp://plc:4841/path"), Ok(("plc", 4841)));
        assert_eq!(address("opc.tcp://plc"), Ok(("plc", 4840)));
        assert_eq!(address("opc.tcp://[::1]:4842"), Ok(("::1", 4842)));
        for wrong in ["http://plc", "opc.tcp://", "opc.tcp://:4840", "opc.tcp://plc:port", "opc.tcp://[::1"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}

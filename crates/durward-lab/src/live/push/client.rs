//! Posts bytes to one URL.

use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring;
use ureq::Agent;
use ureq::http::Uri;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use super::{PushDestination, PushError, PushProtocol};

/// An answer later than this is none.
const TIME_MAX: Duration = Duration::from_secs(5);
/// So much of what a server says of its refusal is told.
const WHY_BYTES_MAX: u64 = 200;

/// Posts to one URL.
pub(super) struct PushClient {
    agent: Agent,
    url: String,
    headers: Vec<(&'static str, String)>,
}

/// Why a request was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PushRefusal {
    /// It may be taken later: no connection, overload.
    Passing(String),
    /// It never will be.
    Final(String),
}

impl PushClient {
    pub(super) fn new(destination: &PushDestination) -> Result<PushClient, PushError> {
        let url = checked(destination)?;
        let tls = if url.starts_with("https:") { Some(tls()?) } else { None };
        let mut config = Agent::config_builder()
            .timeout_global(Some(TIME_MAX))
            // Credentials go nowhere else.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .user_agent("durward-lab");
        if let Some(tls) = tls {
            config = config.tls_config(tls);
        }
        let mut headers = vec![("content-type", "application/x-protobuf".to_owned())];
        if destination.protocol == PushProtocol::RemoteWrite {
            headers.push(("content-encoding", "snappy".to_owned()));
            headers.push(("x-prometheus-remote-write-version", "0.1.0".to_owned()));
        }
        headers.extend(destination.authorization.clone().map(|value| ("authorization", value)));
        Ok(PushClient { agent: config.build().new_agent(), url, headers })
    }

    /// Posts a body.
    pub(super) fn send(&self, body: &[u8]) -> Result<(), PushRefusal> {
        let mut request = self.agent.post(&self.url);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let mut answer = request.send(body).map_err(|error| PushRefusal::Passing(error.to_string()))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        let said = answer.body_mut().with_config().limit(WHY_BYTES_MAX).lossy_utf8(true).read_to_string();
        let said = said.unwrap_or_default().replace(char::is_control, " ");
        let colon = if said.trim().is_empty() { "" } else { ": " };
        let problem = format!("status {}{colon}{}", status.as_u16(), said.trim());
        if status.is_server_error() || status.as_u16() == 429 {
            Err(PushRefusal::Passing(problem))
        } else {
            Err(PushRefusal::Final(problem))
        }
    }
}

/// The URL that is posted to.
fn checked(destination: &PushDestination) -> Result<String, PushError> {
    let text = destination.url.as_str();
    // Whoever put a password there must not read it again in an error.
    let wrong = |problem: &str| PushError(format!("the URL for {} {problem}", destination.protocol.as_str()));
    let uri: Uri = text.parse().map_err(|_| wrong("is none; write `http://host:port/path`"))?;
    let is_known = matches!(uri.scheme_str(), Some("http" | "https"));
    let Some(authority) = uri.authority().filter(|_| is_known) else {
        return Err(wrong("must begin with `http://` or `https://`"));
    };
    if authority.as_str().contains('@') {
        return Err(wrong(
            "holds a password: give it by a file or the environment, where no list of processes shows it",
        ));
    }
    if destination.authorization.as_ref().is_some_and(|value| value.chars().any(char::is_control)) {
        return Err(wrong("has an authorization of more than one line"));
    }
    const PATH: &str = "/v1/metrics";
    let bare = text.trim_end_matches('/');
    Ok(match destination.protocol {
        PushProtocol::Otlp if !bare.ends_with(PATH) => format!("{bare}{PATH}"),
        PushProtocol::Otlp | PushProtocol::RemoteWrite => text.to_owned(),
    })
}

/// The certificates of the system are trusted.
fn tls() -> Result<TlsConfig, PushError> {
    let found = rustls_native_certs::load_native_certs().certs;
    if found.is_empty() {
        return Err(PushError(
            "the system trusts no certificate, so nothing can be sent over TLS".to_owned(),
        ));
    }
    let certificates: Vec<Certificate<'static>> =
        found.iter().map(|one| Certificate::from_der(one.as_ref()).to_owned()).collect();
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::from(certificates))
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .build())
}

//! The few requests that ask a target about itself: whether it is ready, for its metrics. Load is made elsewhere.

use std::sync::Arc;
use std::time::Duration;

use ureq::Agent;
use ureq::tls::TlsConfig;

/// The longest page of metrics: hundreds of thousands of lines.
const PAGE_BYTES_MAX: u64 = 32 << 20;

/// An answer.
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    pub(crate) text: String,
}

/// Asks a URL.
///
/// # Errors
/// Why there was no answer, or that it was no text.
pub(super) fn get(url: &str, timeout: Duration) -> Result<HttpAnswer, ureq::Error> {
    read(agent(timeout).get(url).call()?)
}

/// Sends a JSON text to a URL.
///
/// # Errors
/// Why there was no answer, or that it was no text.
pub(super) fn post(url: &str, json: &str, timeout: Duration) -> Result<HttpAnswer, ureq::Error> {
    let request = agent(timeout).post(url).header("content-type", "application/json");
    read(request.send(json)?)
}

/// The status and text of an answer.
///
/// # Errors
/// An answer that ends too early, or is too long.
pub(crate) fn read(mut answer: ureq::http::Response<ureq::Body>) -> Result<HttpAnswer, ureq::Error> {
    let status = answer.status().as_u16();
    let body = answer.body_mut().with_config().limit(PAGE_BYTES_MAX).lossy_utf8(true).read_to_string();
    Ok(HttpAnswer { status, text: body? })
}

/// A client for requests to one node: what it says must not come from a connection of an earlier node at the same port.
pub(crate) fn agent(timeout: Duration) -> Agent {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    // Targets are tried with certificates of their own making; nothing secret is sent to them here.
    let tls = TlsConfig::builder().disable_verification(true).unversioned_rustls_crypto_provider(provider);
    let config = Agent::config_builder()
        .timeout_global(Some(timeout))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(None)
        .user_agent("durward-lab")
        .tls_config(tls.build());
    config.build().into()
}

//! `/oauth2/...`: short-lived signed tokens for other services, and what those services must know to believe them.
//!
//! A client (`[[oauth.clients]]`) gets a token for itself (`client_credentials`) or for the user whose session token it shows (token
//! exchange, RFC 8693): [`grants`]. Others verify it with the keys of `/.well-known/jwks.json`, or ask: [`introspect`]. It may be
//! recalled: [`revoke`]. A token from a session carries the session's name, and is inactive when the session has ended.
//!
//! For users with browsers (`surfaces/oidc` logs them in) a client brings the code that the browser carried, and refresh tokens
//! after that: [`browsers`]. What it will ask for with the browser it may push before: [`par`]. Tokens are bound to the key that a client
//! shows to have: [`proof`].

mod browsers;
mod clients;
mod form;
mod grants;
mod introspect;
mod metadata;
mod par;
mod proof;
mod refusal;
mod revoke;

use std::net::IpAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use bytes::Bytes;
use durward_session::Service;
use durward_session::identity::Moment;
use http_body_util::Full;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;

pub use clients::Clients;
use clients::Guesses;
use durward_common::access::dpop::{DPOP, DPOP_NONCE, NotProved};
use durward_common::access::issued::Issued;
use durward_common::base::Clock;
use durward_common::base::metrics::Metrics;
use durward_common::surfaces::http::body::Bodies;
use durward_common::surfaces::http::incoming::Incoming;
use durward_common::surfaces::http::{Answer, Answering};
use durward_settings::{ConfigError, OauthClientSettings};
use form::Form;
use refusal::Refusal;

/// Most bytes of a body: the longest token fits, however it is escaped.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// A token, for a grant (RFC 6749, 3.2).
    Token,
    /// What a token is worth (RFC 7662).
    Introspect,
    /// Ends a token (RFC 7009).
    Revoke,
    /// Keeps the parameters of a later authorization (RFC 9126).
    Push,
    /// The public keys of the issuer (RFC 7517).
    Keys,
    /// The description of the issuer (RFC 8414; OpenID Connect Discovery 1.0).
    Metadata,
}

/// What requests for tokens are answered with.
pub struct Surface {
    issued: Arc<Issued>,
    clients: ArcSwap<Clients>,
    guesses: Guesses,
    bodies: Arc<Bodies>,
    metrics: Arc<Metrics>,
    clock: Clock,
}

/// A request that needs a client, with its body read and its client known.
struct ClientRequest<'a> {
    issued: &'a Issued,
    service: Option<&'a Service>,
    client: &'a OauthClientSettings,
    headers: &'a HeaderMap,
    form: Form,
    now: Moment,
    address: IpAddr,
}

impl Surface {
    /// Answers for this issuer and the clients of its settings.
    ///
    /// # Errors
    /// Secrets of clients that cannot be read.
    pub fn new(
        issued: &Arc<Issued>,
        bodies: &Arc<Bodies>,
        metrics: &Arc<Metrics>,
        clock: &Clock,
    ) -> Result<Surface, ConfigError> {
        let clients = Clients::new(&issued.settings.clients, metrics, clock)?;
        Ok(Surface {
            issued: Arc::clone(issued),
            clients: ArcSwap::from_pointee(clients),
            guesses: Guesses::new(issued.service.as_ref(), clock),
            bodies: Arc::clone(bodies),
            metrics: Arc::clone(metrics),
            clock: Arc::clone(clock),
        })
    }

    /// What verifies these clients; [`Surface::take_up`] puts it in the place of what did until then.
    ///
    /// # Errors
    /// Secrets of clients that cannot be read.
    pub fn prepare(&self, clients: &[OauthClientSettings]) -> Result<Clients, ConfigError> {
        Clients::new(clients, &self.metrics, &self.clock)
    }

    /// From now on these are the clients. Tokens of those that are gone are no longer good.
    pub fn take_up(&self, clients: Clients) {
        self.issued.clients.store(Arc::new(clients.all().to_vec()));
        self.clients.store(Arc::new(clients));
    }

    /// Answers one request.
    pub fn answer<'a>(
        &'a self,
        address: IpAddr,
        ask: Ask,
        request: hyper::Request<Incoming>,
    ) -> Answering<'a> {
        Box::pin(self.respond(address, ask, request))
    }

    async fn respond(&self, address: IpAddr, ask: Ask, request: hyper::Request<Incoming>) -> Answer {
        let now = Moment::of((self.clock)());
        let shows_proof = request.headers().contains_key(DPOP);
        let answered = match ask {
            Ask::Keys => Ok(metadata::keys(&self.issued, now)),
            Ask::Metadata => Ok(metadata::document(&self.issued)),
            Ask::Token | Ask::Introspect | Ask::Revoke | Ask::Push => {
                self.with_client(address, ask, request).await
            }
        };
        let is_for_nonce = answered.as_ref().is_err_and(Refusal::is_for_nonce);
        let mut answer = answered.unwrap_or_else(Refusal::into_answer);
        match ask {
            // Clients in browsers ask from pages of their own. No cookie counts here, so that any page may.
            Ask::Token | Ask::Revoke | Ask::Keys | Ask::Metadata => {
                let any = HeaderValue::from_static("*");
                answer.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, any);
            }
            Ask::Introspect | Ask::Push => {}
        }
        let takes_proofs = matches!(ask, Ask::Token | Ask::Push);
        let nonce = self.issued.proofs.next_nonce(is_for_nonce.then_some(NotProved::Nonce), now);
        if let Some(nonce) = nonce.filter(|_| takes_proofs && shows_proof) {
            let headers = answer.headers_mut();
            headers.insert(DPOP_NONCE, nonce);
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("DPoP-Nonce"));
        }
        answer
    }

    async fn with_client(
        &self,
        address: IpAddr,
        ask: Ask,
        request: hyper::Request<Incoming>,
    ) -> Result<Answer, Refusal> {
        let (head, body) = request.into_parts();
        let received = self.bodies.receive_within(body, (BODY_BYTES_MAX, "oauth.body")).await;
        let body = received.map_err(|problem| Refusal::of_body(problem.status()))?;
        // RFC 6749, 3.2: secrets in addresses end in logs.
        if head.uri.query().is_some_and(|query| !query.is_empty()) {
            return Err(Refusal::request("parameters belong into the body, not behind `?`"));
        }
        is_form(&head.headers)?;
        let form = Form::read(&body)?;
        let clients = self.clients.load_full();
        let client = clients.authenticate(&self.guesses, address, &head.headers, &form).await?;
        let (issued, now) = (&*self.issued, Moment::of((self.clock)()));
        let (service, headers) = (issued.service.as_ref(), &head.headers);
        let request = ClientRequest { issued, service, client, headers, form, now, address };
        match ask {
            Ask::Introspect if client.public => {
                Err(Refusal::client("a public client may not ask about tokens"))
            }
            Ask::Introspect => introspect::answer(&request).await,
            Ask::Push => par::answer(&request),
            Ask::Revoke => revoke::answer(&request).await,
            Ask::Token | Ask::Keys | Ask::Metadata => grants::answer(&request).await,
        }
    }
}

/// Lets pages of any site ask for tokens with a proof (Fetch Standard, 3.2): a field beyond those of forms is asked about first.
pub fn allow_pages(headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("authorization, dpop"));
}

/// The answer where the settings name no issuer.
pub fn absent() -> Answer {
    Refusal::unavailable("this server gives no tokens").into_answer()
}

fn is_form(headers: &HeaderMap) -> Result<(), Refusal> {
    let media_type =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let name = media_type.split(';').next().unwrap_or_default().trim();
    if name.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return Ok(());
    }
    Err(Refusal::request("the body must be `application/x-www-form-urlencoded`"))
}

/// An answer that nobody may keep (RFC 6749, 5.1).
fn json(status: StatusCode, document: &impl Serialize) -> Answer {
    let mut answer = kept(document, HeaderValue::from_static("no-store"));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
    answer
}

/// An answer that may be kept, as this says.
fn kept(document: &impl Serialize, how: HeaderValue) -> Answer {
    let text = serde_json::to_string(document).unwrap_or_default() + "\n";
    let mut answer = Response::new(Full::new(Bytes::from(text)));
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, how);
    answer
}

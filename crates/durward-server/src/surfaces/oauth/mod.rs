//! `/oauth2/...`: short-lived signed tokens for other services, and what those services must know to believe them.
//!
//! A client (`[[oauth.clients]]`) gets a token for itself (`client_credentials`) or for the user whose session token it shows (token
//! exchange, RFC 8693): [`grants`]. Others verify it with the keys of `/.well-known/jwks.json`, or ask: [`introspect`]. It may be
//! recalled: [`revoke`]. A token from a session carries the session's name, and is inactive when the session has ended.
//!
//! What is not here: no login page, no authorization code, no refresh tokens. Who a user is, a session says; a client that needs
//! another token shows it again.

mod clients;
mod decision;
mod form;
mod grants;
mod introspect;
mod keys;
mod metadata;
mod refusal;
mod revoke;
mod revoked;
mod subject;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use durward_session::Service;
use durward_session::identity::{IdentityError, Moment};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;

use crate::base::settings::{ConfigError, OauthClientSettings, OauthSettings, Settings};
use crate::serve::state::Shared;
use crate::surfaces::http::{self, Answer};
use clients::Clients;
pub(crate) use decision::Good;
use form::Form;
pub use keys::KeyStore;
use keys::{Keys, Source};
use refusal::Refusal;
use revoked::Revoked;

/// Most bytes of a body: the longest token fits, however it is escaped.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    Token,
    Introspect,
    Revoke,
    Keys,
    Metadata,
}

/// What tokens are given and answered for with.
pub(crate) struct Surface {
    issuer: String,
    settings: OauthSettings,
    clients: Clients,
    keys: Keys,
    revoked: Arc<Revoked>,
    /// Who knows of sessions, and what other nodes recalled.
    service: Option<Service>,
}

/// A request that needs a client, with its body read and its client known.
struct Asked<'a> {
    surface: &'a Surface,
    service: Option<&'a Service>,
    client: &'a OauthClientSettings,
    form: Form,
    now: Moment,
    address: IpAddr,
}

impl Surface {
    /// Nothing where the settings name no issuer.
    ///
    /// # Errors
    /// Keys, secrets or a directory that cannot be used.
    pub(crate) fn new(
        settings: &Settings,
        now: SystemTime,
        service: Option<&Service>,
    ) -> Result<Option<Surface>, ConfigError> {
        let (settings, is_cluster) = (&settings.oauth, settings.identity.nats.is_some());
        let Some(issuer) = &settings.issuer else { return Ok(None) };
        let wrong =
            |error: IdentityError| ConfigError::of_setting("oauth", format!("cannot be used: {error}"));
        if let Some(realm) =
            service.iter().flat_map(|service| service.realms()).find(|realm| realm.contains('@'))
        {
            let message = format!("has `{realm}`: a realm whose users get tokens has no `@` in its name");
            return Err(ConfigError::of_setting("identity.realms", message));
        }
        let now = Moment::of(now);
        if let Some(data) = &settings.data {
            let failed = |error| IdentityError::new(format!("cannot make `{}`: {error}", data.display()));
            std::fs::create_dir_all(data).map_err(failed).map_err(wrong)?;
        }
        let source = match (service, &settings.data) {
            (Some(service), _) if is_cluster => {
                let service = service.clone();
                Source::Cluster(Box::new(move |purpose| service.derive_key(purpose)))
            }
            (_, Some(data)) => Source::Directory(data.clone()),
            (_, None) => Source::Process,
        };
        Ok(Some(Surface {
            issuer: issuer.clone(),
            clients: Clients::new(&settings.clients)?,
            keys: Keys::open(settings, source, now).map_err(wrong)?,
            revoked: Arc::new(Revoked::open(settings.data.as_deref(), now).map_err(wrong)?),
            settings: settings.clone(),
            service: service.cloned(),
        }))
    }
}

/// Answers one request.
pub(crate) async fn answer(
    shared: &Shared,
    address: IpAddr,
    ask: Ask,
    request: hyper::Request<Incoming>,
) -> Answer {
    let Some(surface) = &shared.oauth else {
        return Refusal::unavailable("this server gives no tokens").into_answer();
    };
    let now = Moment::of((shared.clock)());
    let answered = match ask {
        Ask::Keys => Ok(metadata::keys(surface, now)),
        Ask::Metadata => Ok(metadata::document(surface)),
        Ask::Token | Ask::Introspect | Ask::Revoke => {
            with_client(shared, surface, address, ask, request).await
        }
    };
    answered.unwrap_or_else(Refusal::into_answer)
}

async fn with_client(
    shared: &Shared,
    surface: &Surface,
    address: IpAddr,
    ask: Ask,
    request: hyper::Request<Incoming>,
) -> Result<Answer, Refusal> {
    let (head, body) = request.into_parts();
    let received = http::body::receive_within(shared, body, (BODY_BYTES_MAX, "oauth.body")).await;
    let body = received.map_err(|problem| Refusal::of_body(problem.status()))?;
    // RFC 6749, 3.2: secrets in addresses end in logs.
    if head.uri.query().is_some_and(|query| !query.is_empty()) {
        return Err(Refusal::request("parameters belong into the body, not behind `?`"));
    }
    is_form(&head.headers)?;
    let form = Form::read(&body)?;
    let client = surface.clients.authenticate(shared, &head.headers, &form).await?;
    let (now, service) = (Moment::of((shared.clock)()), surface.service.as_ref());
    let asked = Asked { surface, service, client, form, now, address };
    match ask {
        Ask::Introspect => introspect::answer(&asked).await,
        Ask::Revoke => revoke::answer(&asked).await,
        Ask::Token | Ask::Keys | Ask::Metadata => grants::answer(&asked).await,
    }
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

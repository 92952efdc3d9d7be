//! The REST calls of OpenAM over the session service, so that its clients and agents need not change.
//!
//! `json/authenticate` is in [`authenticate`]; other resources under `json` are read in [`resource`] and answered in [`sessions`] and
//! [`information`]; the older `identity/...` is in [`identity`]. What is answered follows calls that were recorded from OpenAM 16;
//! `docs/openam.md` lists where and why not.

mod alive;
mod answers;
mod auth_id;
mod authenticate;
mod callbacks;
mod encoded_words;
mod filter;
mod goto;
mod identity;
mod information;
mod password_change;
mod profile;
mod query;
mod request_path;
mod resource;
mod session_actions;
mod session_service;
mod sessions;
mod version;

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use durward_session::{Administrator, Service};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::HeaderMap;
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};

use crate::base::settings::{ListenSurface, OpenamSettings};
use crate::surfaces::http::body::Bodies;
use crate::surfaces::http::cookies::{Cookies, is_of_other_site};
use crate::surfaces::http::{self, Answer};
use answers::Refusal;
use auth_id::AuthIds;
use query::Query;
use request_path::{Realms, RequestPath};
use version::AcceptApiVersion;

/// A path under `[openam] path`, and what it does: for `docs/routes.md`.
pub const ROUTES: &[(&str, &str, &str, &str)] = &[
    ("/openam/json/{realm}/authenticate", "POST", "anyone who can connect", "logs in, as OpenAM does"),
    (
        "/openam/json/{realm}/sessions",
        "POST, GET",
        "`validate`: anyone who can connect; own session: the holder of its token; others: an administrator",
        "validates or ends the session of a token, as OpenAM does",
    ),
    (
        "/openam/json/{realm}/sessions/{token}",
        "POST",
        "the same",
        "does the same, with the token in the path",
    ),
    (
        "/openam/json/{realm}/serverinfo/{of}",
        "GET",
        "anyone who can connect",
        "returns the cookie's name and domain, and the version: `*`, `cookieDomains`, `version`",
    ),
    (
        "/openam/json/{realm}/users/{user}",
        "GET",
        "the user, by the token of a session; others: an administrator",
        "returns what is known of a user, as OpenAM does",
    ),
    ("/openam/isAlive.jsp", "GET", "anyone who can connect", "tells whether the server takes logins"),
    (
        "/openam/sessionservice",
        "POST",
        "the holder of a session token",
        "reads and ends a session, in the XML of older agents",
    ),
    (
        "/openam/json/{realm}/users?_action=idFromSession",
        "POST",
        "the holder of a session token",
        "returns the user of the token",
    ),
    (
        "/openam/identity/{operation}",
        "GET, POST",
        "`attributes`: the holder of a session token; the others: anyone who can connect, if `openam.danger_legacy_identity` is set",
        "answers the calls of OpenAM 11: `authenticate`, `isTokenValid`, `logout`, `attributes`",
    ),
];

/// What the calls are answered with.
pub(crate) struct Surface {
    settings: OpenamSettings,
    /// Empty until there are sessions.
    sessions: OnceLock<Sessions>,
    bodies: Arc<Bodies>,
}

/// Sessions, and what carries a login from one call to the next.
struct Sessions {
    service: Service,
    auth_ids: AuthIds,
}

/// A call, its body aside.
struct Call<'c> {
    service: &'c Service,
    auth_ids: &'c AuthIds,
    settings: &'c OpenamSettings,
    bodies: &'c Bodies,
    head: Parts,
    query: Query,
    api_version: AcceptApiVersion,
    client: IpAddr,
    /// Whether administrators are answered where it came.
    is_administered: bool,
}

impl Surface {
    pub(crate) fn new(settings: &OpenamSettings, bodies: &Arc<Bodies>) -> Surface {
        Surface { settings: settings.clone(), sessions: OnceLock::new(), bodies: Arc::clone(bodies) }
    }

    /// Answers by these sessions. `false` where there are some already.
    pub(crate) fn set_sessions(&self, service: Service) -> bool {
        let auth_ids = AuthIds::new(service.derive_key("openam authId"));
        self.sessions.set(Sessions { service, auth_ids }).is_ok()
    }

    /// Whether these calls are answered and nobody could log in by them.
    pub(crate) fn lacks_sessions(&self) -> bool {
        self.settings.on && self.sessions.get().is_none()
    }

    /// Whether these calls answer for a path.
    pub(crate) fn is_at(&self, path: &str) -> bool {
        let below = path.strip_prefix(self.settings.path.as_str());
        self.settings.on && below.is_some_and(|rest| rest.starts_with('/'))
    }

    /// Answers one request.
    pub(crate) async fn answer(&self, from: &http::Call, request: hyper::Request<Incoming>) -> Answer {
        let (settings, bodies) = (&self.settings, &*self.bodies);
        let Some(Sessions { service, auth_ids }) = self.sessions.get() else {
            let message = "This server has no session service";
            return Refusal::new(StatusCode::SERVICE_UNAVAILABLE, message).into_answer();
        };
        let (head, body) = request.into_parts();
        let query = Query::read(head.uri.query().unwrap_or_default().as_bytes());
        let path = head.uri.path().strip_prefix(settings.path.as_str()).unwrap_or_default().to_owned();
        let realms = service.realms();
        let realms = Realms(&realms);
        let api_version = AcceptApiVersion::read(&head.headers);
        let mut call = Call {
            service,
            auth_ids,
            settings,
            bodies,
            head,
            query,
            api_version: AcceptApiVersion::NEWEST,
            client: from.client.ip(),
            is_administered: from.surfaces.has(ListenSurface::Administration),
        };
        let mut answer = match (RequestPath::find(&path, realms), api_version) {
            (RequestPath::Identity { form, operation }, _) => {
                identity::answer(&call, form, operation, body).await
            }
            (RequestPath::Alive, _) => alive::answer(service),
            (RequestPath::SessionService, _) => session_service::answer(&call, body).await,
            (RequestPath::Nowhere, _) => empty(StatusCode::NOT_FOUND),
            (_, Err(wrong)) => malformed(wrong),
            (request_path, Ok(api_version)) => {
                call.api_version = api_version;
                of_json(&call, request_path, realms, body).await
            }
        };
        let frame = hyper::header::HeaderValue::from_static("SAMEORIGIN");
        answer.headers_mut().insert(hyper::header::X_FRAME_OPTIONS, frame);
        answer
    }
}

/// In these words alone, as OpenAM has it.
fn malformed(wrong: String) -> Answer {
    let mut answer = answers::text_of_type("text/plain;charset=UTF-8", wrong);
    *answer.status_mut() = StatusCode::BAD_REQUEST;
    answer
}

/// Answers what is under `json`; a realm in the query comes before that of the path.
async fn of_json(
    call: &Call<'_>,
    request_path: RequestPath<'_>,
    realms: Realms<'_>,
    body: Incoming,
) -> Answer {
    let bad = |message: String| Refusal::new(StatusCode::BAD_REQUEST, message).into_answer();
    if let RequestPath::NoRealm { name } = &request_path {
        return Refusal::new(StatusCode::NOT_FOUND, format!("Realm \"{name}\" not found")).into_answer();
    }
    let named = call.query.get("realm").filter(|name| !name.is_empty());
    let named = match named.map(|name| (name, realms.find(&format!("/{}", name.trim_matches('/'))))) {
        Some((name, None)) => return bad(format!("Invalid realm, {name}")),
        Some((_, found)) => found,
        None => None,
    };
    match request_path {
        RequestPath::Authenticate { realm } => {
            authenticate::answer(call, &named.unwrap_or(realm), body).await
        }
        RequestPath::Json { realm, resource } => {
            resource::answer(call, &named.unwrap_or(realm), &resource, body).await
        }
        RequestPath::Hollow => {
            let path = call.head.uri.path();
            answers::no_cache(bad(format!("Resource path '{path}' contains empty path elements")))
        }
        RequestPath::NoRealm { .. }
        | RequestPath::Identity { .. }
        | RequestPath::Alive
        | RequestPath::SessionService
        | RequestPath::Nowhere => empty(StatusCode::NOT_FOUND),
    }
}

fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = status;
    answer
}

impl Call<'_> {
    /// That a token's session is an administrator's, and that administrators are answered here.
    async fn administrator(&self, token: &str) -> Result<Administrator, Refusal> {
        if !self.is_administered {
            return Err(Refusal::forbidden());
        }
        Ok(self.service.administrator(token).await?)
    }

    /// The body, within its limit.
    async fn body(&self, body: Incoming) -> Result<Bytes, Refusal> {
        let limit = (self.settings.body_bytes_max, "openam.body_bytes_max");
        let received = self.bodies.receive_within(body, limit).await;
        received.map_err(|problem| Refusal::closing(problem.status()))
    }

    /// The token in the cookie, else in the header of the same name. What is there twice, with different values, is not there: which
    /// of them counts must not depend on who looks.
    fn token(&self) -> Option<&str> {
        match self.cookies() {
            Cookies::One(_) => self.token_in_cookie(),
            Cookies::Several => None,
            Cookies::None => {
                let mut fields = self.head.headers.get_all(self.settings.cookie_name.as_str()).iter();
                let token = fields.next()?.to_str().ok();
                token.filter(|_| fields.next().is_none())
            }
        }
    }

    /// No token where a page of another site has the browser send the cookie: it must not log somebody out, or ask in his name.
    fn token_in_cookie(&self) -> Option<&str> {
        match self.cookies() {
            Cookies::One(_) if is_of_other_site(&self.head.headers, &["cross-site"]) => None,
            Cookies::One(token) => Some(token.trim_matches('"')),
            Cookies::None | Cookies::Several => None,
        }
    }

    fn cookies(&self) -> Cookies<'_> {
        Cookies::named(&self.head.headers, |name| name.eq_ignore_ascii_case(&self.settings.cookie_name))
    }
}

/// A header field as text.
fn text_of<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

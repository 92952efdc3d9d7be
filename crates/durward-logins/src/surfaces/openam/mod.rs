//! The REST calls of OpenAM over the session service, so that its clients and agents need not change.
//!
//! `json/authenticate` is in [`authenticate`]; other resources under `json` are read in [`resource`] and answered in [`sessions`],
//! [`policies`] and [`information`]; the older `identity/...` is in [`identity`]; pages for browsers are in [`browser`]; [`notifications`]
//! tells agents of sessions that have ended. What is answered follows calls that were recorded from OpenAM 16; `docs/openam.md` lists
//! where and why not.

mod alive;
mod answers;
mod auth_id;
mod authenticate;
mod browser;
mod callbacks;
mod encoded_words;
mod filter;
mod goto;
mod identity;
mod information;
mod notifications;
mod password_change;
mod policies;
mod profile;
mod query;
mod request_path;
mod resource;
mod session_actions;
mod session_service;
mod sessions;
mod sign_in;
mod sign_out;
mod version;

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use crate::surfaces::login_forms::cookies::CookieNames;
use crate::surfaces::login_page::{LoginPages, NewPasswordRules};
use bytes::Bytes;
use durward_common::access::rates::Rates;
use durward_common::access::subject::Subjects;
use durward_common::access::subject::fence::Fence;
use durward_common::base::metrics::Metrics;
use durward_common::decider::DeciderSlot;
use durward_common::decision_log::Recorder;
use durward_common::policies::InForce;
use durward_common::surfaces::http::body::Bodies;
use durward_common::surfaces::http::cookies::{Cookies, is_of_other_site};
use durward_common::surfaces::http::incoming::Incoming;
use durward_common::surfaces::http::{self, Answer, Answering};
use durward_session::{Administrator, Service};
use durward_settings::{ConfigError, ListenSurface, OpenamSettings, Settings};
use durward_sources::AttributeSources;
use http_body_util::Full;
use hyper::header::HeaderMap;
use hyper::http::request::Parts as Head;
use hyper::{Response, StatusCode};

use answers::Refusal;
use auth_id::AuthIds;
use notifications::Notifications;
use policies::DecisionPoint;
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
    (
        "/openam/json/{realm}/policies",
        "POST",
        "members of `openam.policy_group`, administrators",
        "has policies evaluated, as OpenAM does",
    ),
    (
        "/openam/UI/Login",
        "GET, POST",
        "anyone who can connect",
        "logs in with a browser, and sends it back to `goto`; `/UI/Login`, `/openam/console` and `/openam/XUI/` lead there",
    ),
    (
        "/openam/UI/Logout",
        "GET, POST",
        "anyone who can connect",
        "ends the browser's session, and sends it back to `goto`",
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
pub struct Surface {
    settings: OpenamSettings,
    /// Empty until there are sessions.
    sessions: OnceLock<Sessions>,
    bodies: Arc<Bodies>,
    pages: LoginPages,
    /// Of new passwords.
    rules: NewPasswordRules,
    /// What ties forms to a browser. OpenAM's own cookie is named by the settings.
    cookies: CookieNames,
    point: DecisionPoint,
    /// Where agents may be told of sessions that ended.
    notifications: Option<Arc<Notifications>>,
}

/// What the surface shares with others.
pub struct Parts<'p> {
    /// Room for bodies of requests.
    pub bodies: &'p Arc<Bodies>,
    /// Pages for browsers.
    pub pages: &'p LoginPages,
    /// The policies in force.
    pub policies: &'p Arc<InForce>,
    /// Where attributes come from that questions lack.
    pub sources: Option<&'p Arc<AttributeSources>>,
    /// Users and entities, of whom questions are completed.
    pub subjects: Option<&'p Subjects>,
    /// Refuses subjects that a caller may not name.
    pub fence: &'p Fence,
    /// Who decides.
    pub decider: &'p DeciderSlot,
    /// How often callers may ask.
    pub rates: &'p Arc<Rates>,
    /// The record of decisions.
    pub recorder: &'p Recorder,
    /// Counters.
    pub metrics: &'p Arc<Metrics>,
}

/// Sessions, and what carries a login from one call to the next.
struct Sessions {
    service: Service,
    auth_ids: AuthIds,
}

/// A call, its body aside.
struct Call<'c> {
    surface: &'c Surface,
    from: &'c http::Call,
    service: &'c Service,
    auth_ids: &'c AuthIds,
    settings: &'c OpenamSettings,
    bodies: &'c Bodies,
    head: Head,
    query: Query,
    api_version: AcceptApiVersion,
    client: IpAddr,
    /// Whether administrators are answered where it came.
    is_administered: bool,
    /// Whether decisions are.
    decides: bool,
}

impl Surface {
    /// Answers with these parts; sessions come later, by [`Surface::set_sessions`].
    ///
    /// # Errors
    /// Addresses of agents, or authorities, that cannot be used.
    pub fn new(settings: &Settings, parts: &Parts<'_>) -> Result<Surface, ConfigError> {
        Ok(Surface {
            settings: settings.openam.clone(),
            sessions: OnceLock::new(),
            bodies: Arc::clone(parts.bodies),
            pages: parts.pages.clone(),
            rules: NewPasswordRules::of(&settings.identity),
            cookies: CookieNames::new(settings.openam.cookie_secure),
            point: DecisionPoint {
                policies: Arc::clone(parts.policies),
                sources: parts.sources.cloned(),
                subjects: parts.subjects.cloned(),
                fence: parts.fence.clone(),
                decider: Arc::clone(parts.decider),
                rates: Arc::clone(parts.rates),
                recorder: parts.recorder.clone(),
                metrics: Arc::clone(parts.metrics),
                tenant: settings.auth.default_tenant.as_str().into(),
            },
            notifications: Notifications::new(settings)?,
        })
    }

    /// Answers by these sessions. `false` where there are some already.
    pub fn set_sessions(&self, service: Service) -> bool {
        if let Some(notifications) = self.notifications.as_ref().filter(|_| self.sessions.get().is_none()) {
            notifications.start(service.clone());
        }
        let auth_ids = AuthIds::new(service.derive_key("openam authId"));
        self.sessions.set(Sessions { service, auth_ids }).is_ok()
    }

    /// Whether these calls are answered and nobody could log in by them.
    pub fn lacks_sessions(&self) -> bool {
        self.settings.on && self.sessions.get().is_none()
    }

    /// Whether these calls answer for a path.
    #[inline]
    pub fn is_at(&self, path: &str) -> bool {
        if !self.settings.on {
            return false;
        }
        let below = path.strip_prefix(self.settings.path.as_str());
        let is_below = below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        is_below || ["/UI/Login", "/UI/Logout"].contains(&path)
    }

    /// Answers one request.
    pub fn answer<'a>(&'a self, from: &'a http::Call, request: hyper::Request<Incoming>) -> Answering<'a> {
        Box::pin(self.respond(from, request))
    }

    async fn respond(&self, from: &http::Call, request: hyper::Request<Incoming>) -> Answer {
        let (settings, bodies) = (&self.settings, &*self.bodies);
        let Some(Sessions { service, auth_ids }) = self.sessions.get() else {
            let message = "This server has no session service";
            return Refusal::new(StatusCode::SERVICE_UNAVAILABLE, message).into_answer();
        };
        let (head, body) = request.into_parts();
        let query = Query::read(head.uri.query().unwrap_or_default().as_bytes());
        let path = head.uri.path();
        let path = path.strip_prefix(settings.path.as_str()).unwrap_or(path).to_owned();
        let realms = service.realms();
        let realms = Realms(&realms);
        let api_version = AcceptApiVersion::read(&head.headers);
        let mut call = Call {
            surface: self,
            from,
            service,
            auth_ids,
            settings,
            bodies,
            head,
            query,
            api_version: AcceptApiVersion::NEWEST,
            client: from.client.ip(),
            is_administered: from.surfaces.has(ListenSurface::Administration),
            decides: from.surfaces.has(ListenSurface::Decisions),
        };
        let mut answer = match (RequestPath::find(&path, realms), api_version) {
            (RequestPath::Identity { form, operation }, _) => {
                identity::answer(&call, form, operation, body).await
            }
            (RequestPath::Alive, _) => alive::answer(service),
            (RequestPath::Browser(path), _) => browser::answer(&call, path, realms, body).await,
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
        | RequestPath::Browser(_)
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

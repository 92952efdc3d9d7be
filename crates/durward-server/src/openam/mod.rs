//! The REST calls of OpenAM over the session service, so that its clients and agents need not change.
//!
//! `json/authenticate` is in [`authenticate`], `json/sessions` in [`sessions`], and the older `identity/...` in [`identity`]. What is
//! answered follows calls that were recorded from OpenAM 16; `docs/openam.md` lists where and why not.

mod answers;
mod auth_id;
mod authenticate;
mod callbacks;
mod identity;
mod place;
mod query;
mod session_actions;
mod sessions;
mod version;

use std::net::IpAddr;

use durward_session::Service;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::HeaderMap;
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};

use crate::http::identity::{Cookies, is_of_other_site};
use crate::http::{self, Answer};
use crate::settings::OpenamSettings;
use crate::state::Shared;
use answers::Refusal;
use auth_id::AuthIds;
use place::Place;
use query::Query;

/// A path under `[openam] path`, and what it does: for `docs/routes.md`.
pub const ROUTES: &[(&str, &str, &str, &str)] = &[
    ("/openam/json/{realm}/authenticate", "POST", "whoever may connect", "logs in, as OpenAM"),
    (
        "/openam/json/{realm}/sessions",
        "POST, GET",
        "`validate`: whoever may connect; own session: its token; others: an administrator's token",
        "asks about and ends the session of a token, as OpenAM",
    ),
    ("/openam/json/{realm}/sessions/{token}", "POST", "as before", "the same, with the token in the path"),
    (
        "/openam/identity/{operation}",
        "GET, POST",
        "`attributes`: whoever has a token; the rest, where `openam.danger_legacy_identity` is set: whoever may connect",
        "the calls of OpenAM 11: `authenticate`, `isTokenValid`, `logout`, `attributes`",
    ),
];

/// What the calls are answered with.
pub(crate) struct Surface {
    service: Service,
    auth_ids: AuthIds,
}

impl Surface {
    pub(crate) fn new(service: Service) -> Surface {
        let auth_ids = AuthIds::new(service.derive_key("openam authId"));
        Surface { service, auth_ids }
    }
}

/// A call, its body aside.
struct Call<'c> {
    service: &'c Service,
    auth_ids: &'c AuthIds,
    settings: &'c OpenamSettings,
    shared: &'c Shared,
    head: Parts,
    query: Query,
    client: IpAddr,
}

/// Whether these calls answer for a path.
pub(crate) fn is_under(path: &str, settings: &OpenamSettings) -> bool {
    settings.on && path.strip_prefix(settings.path.as_str()).is_some_and(|rest| rest.starts_with('/'))
}

/// Answers one request.
pub(crate) async fn answer(shared: &Shared, client: IpAddr, request: hyper::Request<Incoming>) -> Answer {
    let settings = &shared.settings.openam;
    let Some(surface) = shared.openam.get() else {
        let message = "This server has no session service";
        return Refusal::new(StatusCode::SERVICE_UNAVAILABLE, message).into_answer();
    };
    let (head, body) = request.into_parts();
    let query = Query::read(head.uri.query().unwrap_or_default().as_bytes());
    let path = head.uri.path().strip_prefix(settings.path.as_str()).unwrap_or_default().to_owned();
    let (service, auth_ids) = (&surface.service, &surface.auth_ids);
    let call = Call { service, auth_ids, settings, shared, head, query, client };
    let mut answer = match Place::find(&path) {
        Place::Authenticate { realm } => authenticate::answer(&call, &realm, body).await,
        Place::Sessions { realm, token } => sessions::answer(&call, &realm, token, body).await,
        Place::Identity { form, operation } => identity::answer(&call, form, operation, body).await,
        Place::Json { name } => Refusal::no_resource(&name).into_answer(),
        Place::Nowhere => empty(StatusCode::NOT_FOUND),
    };
    let frame = hyper::header::HeaderValue::from_static("SAMEORIGIN");
    answer.headers_mut().insert(hyper::header::X_FRAME_OPTIONS, frame);
    answer
}

fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = status;
    answer
}

impl Call<'_> {
    /// The body, within its limit.
    async fn body(&self, body: Incoming) -> Result<Bytes, Refusal> {
        let limit = (self.settings.body_bytes_max, "openam.body_bytes_max");
        let received = http::body::receive_within(self.shared, body, limit).await;
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

    /// Whether there is such a realm.
    fn knows(&self, realm: &str) -> bool {
        self.service.realms().contains(&realm)
    }
}

/// A header field as text.
fn text_of<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

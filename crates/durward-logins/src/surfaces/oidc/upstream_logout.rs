//! Logouts and other providers: who logs out here may be logged out there (RP-Initiated Logout), and who was logged out there is logged
//! out here (Back-Channel Logout).

use bytes::Bytes;
use durward_common::access::upstream::{EndedUpstream, NotVouched, Provider};
use durward_common::surfaces::http::{Answer, text_answer};
use durward_session::identity::Moment;
use durward_session::identity::session::GrantTurn;
use durward_session::{Failed, TurnUse};
use http_body_util::Full;
use hyper::{Response, StatusCode};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::pages::Message;
use super::upstream::{COOKIE_BYTES_MAX, Said, by_page, is_of};
use super::{BrowserRequest, cookies, redirect};
use crate::surfaces::login_page::{Page, Step};

/// The purpose of the seal of what the browser keeps.
const KEPT: &str = "oidc upstream logout";

/// The purpose of the seal of where the browser goes after the logout there.
const THEN: &str = "oidc upstream logout then";

/// How long a provider may take to send the browser back, in seconds.
const BACK_S: u64 = 15 * 60;

/// Where a browser goes after a logout, and with which `state`.
pub(super) type Then = Option<(String, Option<String>)>;

/// What the browser keeps for the logout there.
#[derive(Serialize, Deserialize)]
struct Kept {
    upstream: String,
    /// Nothing, where it was too long for a cookie: then the provider asks the user.
    id_token: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Back {
    then: Then,
    until_s: u64,
}

/// Has the browser keep what a logout there needs, where that is wanted, and forget what it kept of a login before.
pub(super) fn keep(request: &BrowserRequest<'_>, said: Option<&Said>, answer: &mut Answer) {
    let cookies = &request.surface.cookies;
    let sealed = said.and_then(|said| {
        let id_token = Some(said.id_token.clone()?);
        let seal = |id_token: Option<String>| {
            let kept = Kept { upstream: said.upstream.clone(), id_token };
            let content = serde_json::to_vec(&kept).unwrap_or_default();
            request.service.seal(KEPT, &content).ok().filter(|text| text.len() <= COOKIE_BYTES_MAX)
        };
        seal(id_token).or_else(|| seal(None))
    });
    match sealed {
        Some(sealed) => cookies.set(answer, &cookies.upstream_login, &sealed, None),
        None if cookies::value(request.headers, &cookies.upstream_login).is_some() => {
            cookies.set(answer, &cookies.upstream_login, "", Some(0));
        }
        None => {}
    }
}

/// Where the browser is sent to be logged out there too. Nothing, where it was not logged in there, or that is not wanted, or not possible.
pub(super) async fn leave(request: &BrowserRequest<'_>, then: &Then) -> Option<Answer> {
    let sealed = cookies::value(request.headers, &request.surface.cookies.upstream_login)?;
    let kept: Kept = serde_json::from_slice(&request.service.unseal(KEPT, sealed)?).ok()?;
    let provider = request.surface.upstreams.find(&kept.upstream)?;
    let settings = provider.settings();
    let endpoint = provider.endpoints().await.ok()?.end_session.filter(|_| settings.end_session)?;
    let back = Back { then: then.clone(), until_s: request.now.ms() / 1000 + BACK_S };
    let state = request.service.seal(THEN, &serde_json::to_vec(&back).ok()?).ok()?;
    let place = redirect::address(
        &endpoint,
        &[
            ("id_token_hint", kept.id_token.as_deref()),
            ("client_id", Some(&settings.client_id)),
            ("post_logout_redirect_uri", Some(&logout_uri(request, provider))),
            ("state", Some(&state)),
        ],
    );
    Some(if request.is_post {
        let provider = settings.shown_name().to_owned();
        request.page(&Page::of(Step::Leave { provider, href: place }))
    } else {
        redirect::to(&place, &[])
    })
}

fn logout_uri(request: &BrowserRequest<'_>, provider: &Provider) -> String {
    format!("{}/oauth2/upstream/logout/{}", request.issued.issuer, provider.settings().id)
}

/// The browser comes back from the logout there.
pub(super) fn come_back(request: &BrowserRequest<'_>) -> Answer {
    let content = request.parameters.get("state").and_then(|state| request.service.unseal(THEN, state));
    let back: Option<Back> = content.and_then(|content| serde_json::from_slice(&content).ok());
    match back.filter(|back| back.until_s > request.now.ms() / 1000) {
        // It was one of the client's when the browser left, a few minutes ago.
        Some(Back { then: Some((uri, state)), .. }) => {
            by_page(request, redirect::to(&uri, &[("state", state.as_deref())]))
        }
        Some(Back { then: None, .. }) | None => request.message(Message::LoggedOut),
    }
}

/// The provider tells of sessions that have ended there (OpenID Connect Back-Channel Logout, 2.5). The answer says no more than whether it
/// was taken.
pub(super) async fn told(request: &BrowserRequest<'_>, id: &str) -> Answer {
    let Some(provider) = request.surface.upstreams.find(id) else {
        return wrong("there is no such provider");
    };
    let Some(token) = request.parameters.get("logout_token") else {
        return wrong("the parameter `logout_token` is missing");
    };
    let ended = match provider.read_logout_token(token, request.now).await {
        Ok(ended) => ended,
        Err(NotVouched::Refused(why)) => {
            tracing::warn!(upstream = id, why, "a logout token of another provider is refused");
            return wrong("the logout token is not good");
        }
        Err(NotVouched::Unreachable(why)) => return unavailable(id, &why),
    };
    match request.service.use_turn(turn(provider, &ended)).await {
        Ok(TurnUse::First) => {}
        Ok(TurnUse::Again | TurnUse::Forgotten) => return wrong("the logout token was used before"),
        Err(error) => return unavailable(id, &error.to_string()),
    }
    match end(request, id, ended).await {
        Ok(count) => {
            tracing::info!(upstream = id, count, "sessions were ended by another provider");
            text_answer("application/json", "{}\n")
        }
        Err(error) => unavailable(id, &error.to_string()),
    }
}

async fn end(request: &BrowserRequest<'_>, id: &str, ended: EndedUpstream) -> Result<usize, Failed> {
    let upstream = id.to_owned();
    let EndedUpstream { sub, sid, .. } = ended;
    let is_meant = move |_: &_, properties: &_| is_of(properties, &upstream, sub.as_deref(), sid.as_deref());
    request.service.end_sessions(is_meant, Some(request.address)).await
}

/// A logout token is taken once, on all nodes.
fn turn(provider: &Provider, ended: &EndedUpstream) -> GrantTurn {
    let settings = provider.settings();
    let said = format!("upstream logout\0{}\0{}\0{}", settings.id, settings.issuer, ended.jti);
    let digest = Sha256::digest(said.as_bytes());
    let mut holder = [0; 16];
    holder.iter_mut().zip(digest.iter()).for_each(|(to, from)| *to = *from);
    let until = Moment::from_ms(ended.until_s.saturating_mul(1000));
    GrantTurn { holder, grant: 0, turn: 0, until }
}

fn wrong(why: &str) -> Answer {
    let body = serde_json::json!({ "error": "invalid_request", "error_description": why });
    with_status(StatusCode::BAD_REQUEST, body.to_string())
}

fn unavailable(id: &str, why: &str) -> Answer {
    tracing::warn!(upstream = id, why, "a logout at another provider cannot be followed");
    with_status(StatusCode::SERVICE_UNAVAILABLE, r#"{"error":"temporarily_unavailable"}"#.to_owned())
}

fn with_status(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    let mut answer = text_answer("application/json", body);
    *answer.status_mut() = status;
    answer
}

//! `/oauth2/userinfo`: who an access token is about (OpenID Connect Core, 5.3).

use bytes::Bytes;
use durward_session::Service;
use durward_session::identity::Moment;
use durward_session::identity::session::{SessionId, User};
use http_body_util::Full;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::{Map, Value};

use crate::access::issued::user_claims::{self, OPENID};
use crate::access::issued::{Issued, subject};
use crate::base::parameters::Parameters;
use crate::surfaces::http::{Answer, text_of};

/// Why nothing is said.
enum Refused {
    /// No token was shown.
    Unshown,
    /// The token is not good, or not good any more.
    Token,
    /// A token was shown in two ways, or in a form that cannot be read.
    Request,
    /// It was not given for this.
    Scope,
    Unavailable,
}

pub(super) async fn answer(issued: &Issued, service: &Service, headers: &HeaderMap, now: Moment) -> Answer {
    let answer = match said(issued, service, headers, now).await {
        Ok(claims) => {
            let text = Value::Object(claims).to_string() + "\n";
            let mut answer = Response::new(Full::new(Bytes::from(text)));
            let json = HeaderValue::from_static("application/json");
            answer.headers_mut().insert(header::CONTENT_TYPE, json);
            answer
        }
        Err(refused) => refusal(&refused),
    };
    for_any_page(answer)
}

/// A token in a form is what a Bearer token in the header is (RFC 6750, 2.2), and is put there. Not where a token is shown in both.
pub(super) fn show_token_of(form: &[u8], headers: &mut HeaderMap) -> bool {
    let Ok(parameters) = Parameters::read(form) else { return false };
    let Some(token) = parameters.get("access_token") else { return true };
    let Ok(shown) = HeaderValue::try_from(format!("Bearer {token}")) else { return false };
    headers.insert(header::AUTHORIZATION, shown).is_none()
}

pub(super) fn wrong_request() -> Answer {
    for_any_page(refusal(&Refused::Request))
}

fn for_any_page(mut answer: Answer) -> Answer {
    let headers = answer.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // The token is shown, and no cookie counts: any page that has one may ask.
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    answer
}

/// RFC 6750, 3.1.
fn refusal(refused: &Refused) -> Answer {
    let (status, challenge) = match refused {
        Refused::Unshown => (StatusCode::UNAUTHORIZED, "Bearer"),
        Refused::Token => (StatusCode::UNAUTHORIZED, "Bearer error=\"invalid_token\""),
        Refused::Request => (StatusCode::BAD_REQUEST, "Bearer error=\"invalid_request\""),
        Refused::Scope => (StatusCode::FORBIDDEN, "Bearer error=\"insufficient_scope\", scope=\"openid\""),
        Refused::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, ""),
    };
    let mut answer = Response::new(Full::new(Bytes::new()));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    if challenge.is_empty() {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    } else {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
    answer
}

async fn said(
    issued: &Issued,
    service: &Service,
    headers: &HeaderMap,
    now: Moment,
) -> Result<Map<String, Value>, Refused> {
    let shown = text_of(headers, &header::AUTHORIZATION).and_then(|value| value.split_once(' '));
    let token =
        shown.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim());
    let token = token.ok_or(Refused::Unshown)?;
    issued.catch_up().await.map_err(|_| Refused::Unavailable)?;
    let claims = issued.good(token, now).ok_or(Refused::Token)?;
    let userinfo = issued.userinfo();
    if !claims.aud.iter().any(|audience| *audience == userinfo || *audience == issued.issuer) {
        return Err(Refused::Token);
    }
    let (user, session) = whose(&claims.sub, claims.sid.as_deref()).ok_or(Refused::Token)?;
    let scopes: Vec<&str> = claims.scope.as_deref().unwrap_or_default().split(' ').collect();
    if !scopes.contains(&OPENID) {
        return Err(Refused::Scope);
    }
    let lives = service.lives(&user, session).await.map_err(|_| Refused::Unavailable)?;
    if !lives {
        return Err(Refused::Token);
    }
    let account = service.active_account(&user).await.map_err(|_| Refused::Unavailable)?;
    let account = account.ok_or(Refused::Token)?;
    Ok(user_claims::of(&user, &account, &scopes))
}

/// The user and the session of a token, where it has one.
fn whose(sub: &str, session: Option<&str>) -> Option<(User, SessionId)> {
    Some((subject::read(sub)?, SessionId::read(session?)?))
}

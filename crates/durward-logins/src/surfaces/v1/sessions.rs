//! What the holder of a session does with it.

use std::collections::BTreeMap;

use durward_common::surfaces::http::problem::Problem;
use durward_common::surfaces::http::text_answer;
use durward_session::identity::session::{Refusal, Scratch, Session, SessionClaims};
use durward_session::{Purpose, Service};
use hyper::StatusCode;
use hyper::header::{self, HeaderValue};
use serde::{Deserialize, Serialize};

use super::admin::administrator;
use super::object::Object;
use super::{
    Answered, ApiRequest, GrantedView, Way, failed, in_words, json, json_text, ok, read, session_id,
};

/// What a validation says.
#[derive(Serialize)]
struct Valid<'v> {
    valid: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<&'v str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    realm: Option<&'v str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ends: Option<String>,
}

const INVALID: Valid<'_> =
    Valid { valid: false, user: None, realm: None, session: None, level: None, ends: None };

/// A session, as those see it who list them.
#[derive(Serialize)]
pub(super) struct SessionView {
    session: String,
    began: String,
    used: String,
    ends: String,
    idle_s: u64,
    level: u8,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    properties: BTreeMap<String, String>,
}

impl From<&Session> for SessionView {
    fn from(session: &Session) -> SessionView {
        let properties = session.properties.iter();
        SessionView {
            session: session.id.to_string(),
            began: in_words(session.stamp.moment()),
            used: in_words(session.used),
            ends: in_words(session.ends),
            idle_s: session.idle.as_secs(),
            level: session.level.0,
            properties: properties.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        }
    }
}

#[derive(Serialize)]
pub(super) struct SessionList<'l> {
    pub(super) user: &'l str,
    pub(super) realm: &'l str,
    pub(super) sessions: Vec<SessionView>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ValidateBody {
    #[serde(default)]
    token: Option<String>,
    /// Whether it counts as a use.
    #[serde(default = "yes")]
    touch: bool,
}

fn yes() -> bool {
    true
}

impl ValidateBody {
    #[inline]
    fn read(body: &[u8]) -> Result<ValidateBody, Problem> {
        // Most have none.
        if body.is_empty() { Ok(ValidateBody { token: None, touch: true }) } else { read(body) }
    }

    #[inline]
    fn purpose(&self) -> Purpose {
        if self.touch { Purpose::Use } else { Purpose::Look }
    }
}

/// Whether a token's session lives. Most of those who ask are answered by [`validate_here`].
pub(super) async fn validate(request: &ApiRequest<'_>) -> Answered {
    let body = ValidateBody::read(&request.body)?;
    let token = match &body.token {
        Some(token) => token.as_str(),
        None => request.token()?,
    };
    let purpose = body.purpose();
    let mut scratch = Scratch::new();
    let claims = match request.service.fresh(token).await {
        Ok(Some(permit)) => request.service.validate_with(permit, token, purpose, &mut scratch),
        Ok(None) => request.service.validate_now(token, purpose, &mut scratch),
        Err(refusal) => Err(refusal),
    };
    match told(claims) {
        Some(text) => Ok(text_answer("application/json", text)),
        None => Err(failed(&Refusal::Unavailable.into())),
    }
}

/// The answer to a validation with this body and this token beside it, where nothing is waited for and it is no error.
#[inline]
pub(super) fn validate_here(service: &Service, body: &[u8], shown: Option<&str>) -> Option<String> {
    let body = ValidateBody::read(body).ok()?;
    let token = body.token.as_deref().or(shown)?;
    let mut scratch = Scratch::new();
    told(service.validate_here(token, body.purpose(), &mut scratch)?)
}

/// What whoever asked is told of a validation; `None` where this node cannot say.
#[inline]
fn told(claims: Result<SessionClaims<'_>, Refusal>) -> Option<String> {
    match claims {
        Ok(claims) => Some(json_text(&Valid {
            valid: true,
            user: Some(claims.subject),
            realm: Some(claims.realm),
            session: Some(claims.id.to_string()),
            level: Some(claims.level.0),
            ends: Some(in_words(claims.ends)),
        })),
        Err(Refusal::Unavailable) => None,
        Err(
            Refusal::Malformed
            | Refusal::UnknownKey
            | Refusal::Forged
            | Refusal::Future
            | Refusal::Expired
            | Refusal::Idle
            | Refusal::Revoked,
        ) => Some(json_text(&INVALID)),
    }
}

/// The token's session.
pub(super) async fn session(request: &ApiRequest<'_>) -> Answered {
    let found = request.service.session(request.token()?, Purpose::Look).await;
    let (who, session) = found.map_err(|why| failed(&why))?;
    let (user, realm) = (who.user.subject(), who.user.realm());
    ok(&SessionList { user, realm, sessions: vec![SessionView::from(&session)] })
}

/// All sessions of the token's user.
pub(super) async fn own(request: &ApiRequest<'_>) -> Answered {
    let found = request.service.own_sessions(request.token()?).await;
    let (who, sessions) = found.map_err(|why| failed(&why))?;
    let sessions = sessions.iter().map(SessionView::from).collect();
    ok(&SessionList { user: who.user.subject(), realm: who.user.realm(), sessions })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LogoutBody {
    /// Another session of the same user.
    #[serde(default)]
    session: Option<String>,
    /// All sessions of the user.
    #[serde(default)]
    all: bool,
}

#[derive(Serialize)]
pub(super) struct Done {
    pub(super) done: bool,
}

pub(super) async fn logout(request: &ApiRequest<'_>) -> Answered {
    let LogoutBody { session, all } = request.read()?;
    let (token, way) = request.shown()?;
    let address = Some(request.call.client.ip());
    let other = session.as_deref().map(session_id).transpose()?;
    let done = match (other, all) {
        (Some(_), true) => {
            return Err(Problem::new(StatusCode::BAD_REQUEST, "either `session` or `all`, and not both"));
        }
        (Some(id), false) => request.service.logout_other(token, id, address).await,
        (None, true) => request.service.logout_everywhere(token, address).await,
        (None, false) => request.service.logout(token, address).await,
    };
    let who = done.map_err(|why| failed(&why))?;
    let mut answer = json(StatusCode::OK, &Done { done: true });
    if way == Way::Cookie && other.is_none_or(|id| id == who.id) {
        answer.headers_mut().append(header::SET_COOKIE, no_cookie(request)?);
    }
    Ok(answer)
}

/// What has a browser forget the cookie, whose session has ended.
pub(super) fn no_cookie(request: &ApiRequest<'_>) -> Result<HeaderValue, Problem> {
    let name = &request.cookie.name;
    HeaderValue::try_from(format!("{name}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"))
        .map_err(|_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the cookie cannot be cleared"))
}

pub(super) async fn refresh(request: &ApiRequest<'_>) -> Answered {
    let (token, way) = request.shown()?;
    let granted = request.service.refresh(token).await.map_err(|why| failed(&why))?;
    request.with_cookie(json(StatusCode::OK, &GrantedView::from(&granted)), way, &granted)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepUpBody {
    code: String,
    #[serde(default)]
    device: Option<String>,
}

pub(super) async fn step_up(request: &ApiRequest<'_>) -> Answered {
    let StepUpBody { code, device } = request.read()?;
    let (token, way) = request.shown()?;
    let (device, address) = (request.device(device.as_deref()), request.call.client.ip());
    let granted = request.service.step_up_on(device, token, &code, address).await;
    let granted = granted.map_err(|why| failed(&why))?;
    request.with_cookie(json(StatusCode::OK, &GrantedView::from(&granted)), way, &granted)
}

/// Names and new values; `null` removes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PropertiesBody {
    properties: BTreeMap<String, Option<String>>,
    /// Of which user's session, for administrators.
    #[serde(default)]
    of: Option<Object<Other>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Other {
    realm: String,
    user: String,
    session: String,
}

pub(super) async fn properties(request: &ApiRequest<'_>) -> Answered {
    let PropertiesBody { properties, of } = request.read()?;
    let (token, way) = request.shown()?;
    let changes: Vec<(&str, Option<&str>)> =
        properties.iter().map(|(name, value)| (name.as_str(), value.as_deref())).collect();
    let Some(Object(Other { realm, user, session })) = of else {
        let granted = request.service.set_properties(token, &changes).await.map_err(|why| failed(&why))?;
        return request.with_cookie(json(StatusCode::OK, &GrantedView::from(&granted)), way, &granted);
    };
    let administrator = administrator(request).await?;
    let (user, id) = (super::user(&realm, &user)?, session_id(&session)?);
    let done = request.service.set_properties_of(&administrator, &user, id, &changes).await;
    done.map_err(|why| failed(&why))?;
    ok(&Done { done: true })
}

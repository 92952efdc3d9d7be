//! `/v1/...`: users log in, sessions are used, looked after and ended, users are listed and changed. `/v1/openapi.json` says it all.
//!
//! A token comes as `Authorization: Bearer ...`, or in the cookie that a login was asked to set. A cookie is sent by the browser whoever
//! has it call, so with a cookie alone, what is a POST must say that it is JSON, also without a body, and not come from a page of
//! somebody else's: such a page cannot make a browser do the first, and browsers say the second.

mod admin;
mod login;
mod lost_steps;
mod object;
mod own;
mod passkeys;
mod password_change;
mod reset;
mod sessions;
mod users;

use std::sync::Arc;

use crate::surfaces::openapi;
use bytes::Bytes;
use durward_common::surfaces::http::body::Bodies;
use durward_common::surfaces::http::cookies::{self, Cookies, is_of_other_site};
use durward_common::surfaces::http::direct::DirectAnswer;
use durward_common::surfaces::http::incoming::Incoming;
use durward_common::surfaces::http::problem::Problem;
use durward_common::surfaces::http::{Answer, Answering, Call, Form, text_of};
use durward_session::identity::session::{Refusal, SessionId, User};
use durward_session::{Failed, Granted, Refused, Service};
use durward_settings::words::{BODY, in_our_words};
use durward_settings::{IdentitySettings, ResetSettings};
use durward_wire::http1::DirectRequest;
use http_body_util::Full;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Response, StatusCode, Uri};
use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

use self::object::Object;

/// Bytes of a body under `/v1`.
const BODY_BYTES_MAX: usize = 16 * 1024;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Logs in with a user name and a password.
    Login,
    /// Answers what a second step asks for.
    Code,
    /// Another password in the place of one that must be changed.
    ChoosePassword,
    /// Whether a session lives.
    Validate,
    /// The session of the token.
    Session,
    /// All sessions of the token's user.
    Sessions,
    /// Ends sessions.
    Logout,
    /// Another token for the same session.
    Refresh,
    /// Raises the level of a session by a code.
    StepUp,
    /// Sets properties of a session.
    Properties,
    /// All sessions of a user, for administrators.
    AdminSessions,
    /// Ends sessions of others.
    AdminRevoke,
    /// Forgets failed logins of a user.
    AdminForgive,
    /// Begins to use a new key that seals tokens.
    AdminRotate,
    /// All users, or a new one.
    Users,
    /// One user, by the name in the path.
    User,
    /// A link by which one user chooses a password.
    UserReset,
    /// Changes the user's own password.
    OwnPassword,
    /// Says whether the user has a second step.
    OwnSecondStep,
    /// Begins to set up a second step.
    SecondStepEnrol,
    /// Ends setting it up, by a code.
    SecondStepConfirm,
    /// Removes the second step.
    SecondStepRemove,
    /// What a passkey signs to log in.
    PasskeyLoginBegin,
    /// Logs in with a passkey.
    PasskeyLogin,
    /// What a passkey signs to raise the level of a session.
    PasskeyStepUpBegin,
    /// Raises the level of a session by a passkey.
    PasskeyStepUp,
    /// The user's own passkeys.
    OwnPasskeys,
    /// What a new passkey signs.
    PasskeyEnrol,
    /// Keeps a new passkey.
    PasskeyConfirm,
    /// Names a passkey.
    PasskeyRename,
    /// Removes a passkey.
    PasskeyRemove,
    /// Passkeys of a user, for administrators.
    AdminPasskeys,
    /// Removes a passkey of a user.
    AdminPasskeysRemove,
    /// The second step of a user, for administrators.
    AdminSecondStep,
    /// Removes the second step of a user.
    AdminSecondStepRemove,
    /// The description of all of it, in OpenAPI.
    OpenApi,
}

/// One request, with its body read.
struct ApiRequest<'a> {
    call: &'a Call,
    service: &'a Service,
    cookie: &'a Cookie,
    passwords: &'a Passwords,
    headers: &'a HeaderMap,
    method: &'a Method,
    uri: &'a Uri,
    /// Whether it is a call that may change something.
    changes: bool,
    body: Bytes,
}

type Answered = Result<Answer, Problem>;

/// What requests are answered with.
pub struct Surface {
    /// Empty where there are no users.
    service: Option<Service>,
    cookie: Cookie,
    passwords: Passwords,
    bodies: Arc<Bodies>,
}

/// What the settings say of new passwords.
struct Passwords {
    length_min: usize,
    refuses_breached: bool,
    /// Links by which users choose them.
    links: ResetSettings,
}

/// The cookie that a login may set.
struct Cookie {
    name: String,
    /// Whether browsers send it under TLS only.
    is_secure: bool,
}

impl Surface {
    /// Answers with what the settings say of cookies and new passwords; where there is no service, that there are no users.
    pub fn new(settings: &IdentitySettings, service: Option<&Service>, bodies: &Arc<Bodies>) -> Surface {
        let cookie = Cookie { name: settings.cookie_name.clone(), is_secure: settings.cookie_secure };
        let passwords = Passwords {
            length_min: settings.password_length_min,
            refuses_breached: settings.breached_passwords_path.is_some(),
            links: settings.reset.clone(),
        };
        Surface { service: service.cloned(), cookie, passwords, bodies: Arc::clone(bodies) }
    }

    /// Answers one request.
    pub fn answer<'a>(
        &'a self,
        call: &'a Call,
        act: Act,
        request: hyper::Request<Incoming>,
    ) -> Answering<'a> {
        Box::pin(self.respond(call, act, request))
    }

    async fn respond(&self, call: &Call, act: Act, request: hyper::Request<Incoming>) -> Answer {
        let answered = match (&self.service, act) {
            (_, Act::OpenApi) => self.described(),
            (None, _) => Err(Problem::new(StatusCode::NOT_FOUND, "there are no users: see `[identity]`")),
            (Some(service), _) => self.with_service(call, service, act, request).await,
        };
        answered.unwrap_or_else(|problem| problem.into_answer(Form::Json))
    }

    /// Whether any request can be answered as [`Surface::answer_direct`] does.
    pub fn answers_directly(&self) -> bool {
        self.service.is_some()
    }

    /// The answer to a validation for which nothing is waited; `None` to everything else, and then nothing was counted.
    ///
    /// This and what it calls is asked often: `inline` has it compiled, and optimised, where it is called.
    #[inline]
    pub fn answer_direct(&self, act: Act, request: &DirectRequest<'_>) -> Option<DirectAnswer> {
        let service = self.service.as_ref().filter(|_| act == Act::Validate)?;
        let DirectRequest { body, content_type, authorization, .. } = *request;
        let is_json = body.is_empty() || is_json_type(content_type.unwrap_or_default());
        if body.len() > BODY_BYTES_MAX || !is_json {
            return None;
        }
        let text = sessions::validate_here(service, body, authorization.and_then(bearer))?;
        Some(DirectAnswer { media_type: "application/json", text })
    }

    fn described(&self) -> Answered {
        ok(&openapi::document(&self.cookie.name))
    }

    async fn with_service(
        &self,
        call: &Call,
        service: &Service,
        act: Act,
        request: hyper::Request<Incoming>,
    ) -> Answered {
        let (head, body) = request.into_parts();
        let body = self.bodies.receive_within(body, (BODY_BYTES_MAX, "identity.body")).await?;
        if !body.is_empty() {
            is_json(&head.headers)?;
        }
        let (method, uri) = (&head.method, &head.uri);
        let changes = !matches!(*method, Method::GET | Method::HEAD);
        let (cookie, passwords, headers) = (&self.cookie, &self.passwords, &head.headers);
        let request = ApiRequest { call, service, cookie, passwords, headers, method, uri, changes, body };
        // What is asked seldom is in memory of its own: a validation, which is asked often, would be as large.
        match act {
            Act::Login => login::login(&request).await,
            Act::Validate => sessions::validate(&request).await,
            Act::Session => sessions::session(&request).await,
            Act::Logout => sessions::logout(&request).await,
            Act::Refresh => sessions::refresh(&request).await,
            Act::Code => Box::pin(login::code(&request)).await,
            Act::ChoosePassword => Box::pin(password_change::choose(&request)).await,
            Act::Sessions => sessions::own(&request).await,
            Act::StepUp => sessions::step_up(&request).await,
            Act::Properties => sessions::properties(&request).await,
            Act::AdminSessions => admin::sessions(&request).await,
            Act::AdminRevoke => Box::pin(admin::revoke(&request)).await,
            Act::AdminForgive => Box::pin(admin::forgive(&request)).await,
            Act::AdminRotate => Box::pin(admin::rotate(&request)).await,
            Act::Users if *request.method == Method::POST => Box::pin(users::create(&request)).await,
            Act::Users => Box::pin(users::list(&request)).await,
            Act::User if *request.method == Method::PATCH => Box::pin(users::change(&request)).await,
            Act::User if *request.method == Method::DELETE => Box::pin(users::remove(&request)).await,
            Act::User => Box::pin(users::read(&request)).await,
            Act::UserReset => Box::pin(reset::link(&request)).await,
            Act::OwnPassword => Box::pin(own::password(&request)).await,
            Act::OwnSecondStep => Box::pin(own::second_step(&request)).await,
            Act::SecondStepEnrol => Box::pin(own::enrol(&request)).await,
            Act::SecondStepConfirm => Box::pin(own::confirm(&request)).await,
            Act::SecondStepRemove => Box::pin(own::remove(&request)).await,
            Act::PasskeyLoginBegin => Box::pin(passkeys::begin_login(&request)).await,
            Act::PasskeyLogin => Box::pin(passkeys::login(&request)).await,
            Act::PasskeyStepUpBegin => Box::pin(passkeys::begin_step_up(&request)).await,
            Act::PasskeyStepUp => Box::pin(passkeys::step_up(&request)).await,
            Act::OwnPasskeys => Box::pin(passkeys::own(&request)).await,
            Act::PasskeyEnrol => Box::pin(passkeys::enrol(&request)).await,
            Act::PasskeyConfirm => Box::pin(passkeys::confirm(&request)).await,
            Act::PasskeyRename => Box::pin(passkeys::rename(&request)).await,
            Act::PasskeyRemove => Box::pin(passkeys::remove(&request)).await,
            Act::AdminPasskeys => Box::pin(passkeys::admin_list(&request)).await,
            Act::AdminPasskeysRemove => Box::pin(passkeys::admin_remove(&request)).await,
            Act::AdminSecondStep => Box::pin(lost_steps::second_step(&request)).await,
            Act::AdminSecondStepRemove => Box::pin(lost_steps::remove(&request)).await,
            Act::OpenApi => self.described(),
        }
    }
}

fn is_json(headers: &HeaderMap) -> Result<(), Problem> {
    if is_json_type(text_of(headers, &header::CONTENT_TYPE).unwrap_or_default()) {
        return Ok(());
    }
    let detail = "the body must be `application/json`, in UTF-8";
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail))
}

#[inline]
fn is_json_type(media_type: &str) -> bool {
    let mut parts = media_type.split(';').map(str::trim);
    let is_named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("application/json"));
    is_named && parts.all(is_utf8_or_no_charset)
}

/// JSON between systems is UTF-8 (RFC 8259, section 8.1): what says that it is something else is not read as if it were.
#[inline]
fn is_utf8_or_no_charset(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else { return true };
    !name.trim().eq_ignore_ascii_case("charset")
        || value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
}

impl ApiRequest<'_> {
    /// The body, which may be left out where everything in it may be.
    fn read<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        read(&self.body)
    }

    /// The token that was shown.
    fn token(&self) -> Result<&str, Problem> {
        self.shown().map(|(token, _)| token)
    }

    /// The token that was shown, and how.
    fn shown(&self) -> Result<(&str, Way), Problem> {
        let bearer = match self.headers.get_all(header::AUTHORIZATION).iter().count() {
            0 => None,
            1 => text_of(self.headers, &header::AUTHORIZATION).and_then(bearer),
            // Which of them counts must not depend on who looks.
            _ => return Err(no_token("there are several `Authorization` fields")),
        };
        if let Some(token) = bearer {
            return Ok((token, Way::Bearer));
        }
        let cookie_name = &self.cookie.name;
        match Cookies::named(self.headers, |name| name == cookie_name) {
            Cookies::None => {
                Err(no_token("show the session's token: `Authorization: Bearer TOKEN`, or its cookie"))
            }
            Cookies::Several => Err(no_token("there are several cookies of the session's name")),
            Cookies::One(token) => {
                self.is_own_page()?;
                Ok((token, Way::Cookie))
            }
        }
    }

    /// The proof of the device: in the body, else in its cookie.
    fn device<'d>(&'d self, said: Option<&'d str>) -> Option<&'d str> {
        said.or_else(|| cookies::device(self.headers))
    }

    /// Whether a call by cookie may be its user's doing.
    fn is_own_page(&self) -> Result<(), Problem> {
        let forbidden = |detail: &str| Err(Problem::new(StatusCode::FORBIDDEN, detail));
        if is_of_other_site(self.headers, &["cross-site", "same-site"]) {
            return forbidden("another site's page may not use the session's cookie; show the token");
        }
        if self.changes && is_json(self.headers).is_err() {
            return forbidden(
                "with a cookie, `Content-Type` must be `application/json`, also without a body",
            );
        }
        Ok(())
    }

    /// A cookie with another token, where the one before came so.
    fn with_cookie(&self, mut answer: Answer, way: Way, granted: &Granted) -> Answered {
        if way == Way::Cookie {
            answer.headers_mut().append(header::SET_COOKIE, login::cookie(self, granted)?);
        }
        Ok(answer)
    }
}

/// A body of an object, which may be left out where everything in it may be.
fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let text = if body.is_empty() { b"{}" } else { body };
    let wrong = |error: &str| {
        Problem::new(StatusCode::BAD_REQUEST, format!("the body is not what is asked for: {error}"))
    };
    let read = serde_json::from_slice(text).map(|Object(read)| read);
    let read = read.map_err(|error| wrong(&in_our_words(&error.to_string(), &BODY)))?;
    // A structure has no member twice, and what is in it may have.
    durward_pdp::ir::json::read_unique(text).map_err(|error| wrong(&error.to_string()))?;
    Ok(read)
}

/// The token in an `Authorization` field.
#[inline]
fn bearer(field: &str) -> Option<&str> {
    let (scheme, token) = field.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// How a token was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Bearer,
    Cookie,
}

fn no_token(detail: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, detail).bearer()
}

fn json(status: StatusCode, document: &impl Serialize) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(json_text(document))));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

fn json_text(document: &impl Serialize) -> String {
    serde_json::to_string(document).unwrap_or_default() + "\n"
}

fn ok(document: &impl Serialize) -> Answered {
    Ok(json(StatusCode::OK, document))
}

/// A moment in words, to the second.
#[inline]
fn in_words(moment: durward_session::identity::Moment) -> String {
    let seconds = i64::from(moment.seconds());
    Timestamp::from_second(seconds).map_or_else(|_| String::new(), |time| time.to_string())
}

/// A session that was granted, as callers see it.
#[derive(Serialize)]
struct GrantedView<'g> {
    token: &'g str,
    session: String,
    user: &'g str,
    realm: &'g str,
    level: u8,
    ends: String,
    idle_s: u64,
}

impl<'g> From<&'g Granted> for GrantedView<'g> {
    fn from(granted: &'g Granted) -> GrantedView<'g> {
        GrantedView {
            token: &granted.token,
            session: granted.id.to_string(),
            user: granted.user.subject(),
            realm: granted.user.realm(),
            level: granted.level.0,
            ends: in_words(granted.ends),
            idle_s: granted.idle.as_secs(),
        }
    }
}

fn session_id(text: &str) -> Result<SessionId, Problem> {
    SessionId::read(text).ok_or_else(|| {
        Problem::new(StatusCode::BAD_REQUEST, "`session` must be the 32 digits by which sessions are named")
    })
}

/// The realm where none is said.
fn root() -> String {
    "/".to_owned()
}

fn user(realm: &str, name: &str) -> Result<User, Problem> {
    User::new(realm, name).map_err(|error| Problem::new(StatusCode::BAD_REQUEST, error.to_string()))
}

/// Why a login came to nothing.
fn refused(refused: &Refused) -> Problem {
    let status = match refused {
        Refused::Wrong => StatusCode::UNAUTHORIZED,
        Refused::PasswordOver => StatusCode::FORBIDDEN,
        Refused::UnknownRealm => StatusCode::BAD_REQUEST,
        Refused::Delayed { .. } | Refused::Crowded { .. } => StatusCode::TOO_MANY_REQUESTS,
        Refused::UserFull => StatusCode::CONFLICT,
        Refused::Busy { .. }
        | Refused::NodeFull
        | Refused::Directory(_)
        | Refused::Unavailable(_)
        | Refused::Unknown => StatusCode::SERVICE_UNAVAILABLE,
    };
    let problem = Problem::new(status, refused.to_string());
    match refused.retry_after() {
        Some(span) => problem.retry_after(span),
        None => problem,
    }
}

/// Why something with a session came to nothing.
fn failed(failed: &Failed) -> Problem {
    let detail = failed.to_string();
    match failed {
        Failed::Token(Refusal::Unavailable)
        | Failed::Directory(_)
        | Failed::Unavailable(_)
        | Failed::Unknown => Problem::unavailable(detail),
        Failed::Token(_) => no_token(&detail),
        Failed::Forbidden | Failed::SecondStepNeeded => Problem::new(StatusCode::FORBIDDEN, detail),
        Failed::NoSession => Problem::new(StatusCode::NOT_FOUND, detail),
        Failed::UnknownRealm | Failed::Properties(_) => Problem::new(StatusCode::BAD_REQUEST, detail),
        Failed::Code => Problem::new(StatusCode::FORBIDDEN, detail),
        Failed::Delayed { retry_after } => {
            Problem::new(StatusCode::TOO_MANY_REQUESTS, detail).retry_after(*retry_after)
        }
    }
}

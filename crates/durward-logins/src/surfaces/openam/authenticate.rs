//! `POST json/{realm}/authenticate`: a login in one step with headers, or in several with callbacks.

use std::time::Duration;

use bytes::Bytes;
use durward_common::surfaces::http::Answer;
use durward_common::surfaces::http::cookies;
use durward_common::surfaces::http::incoming::Incoming;
use durward_session::identity::session::{Properties, Purpose, Refusal as TokenRefusal};
use durward_session::{Failed, Granted, Login, LoginRequest, Refused, Wanted};
use durward_settings::OpenamSettings;
use hyper::header::HeaderMap;
use hyper::{Method, StatusCode, header};
use serde::Serialize;
use serde_json::Value;

use super::answers::{Refusal, json, never_kept, of_version, with_token, without_cookie};
use super::auth_id::{Claims, Fault, Progress};
use super::callbacks::{AuthenticationCallbacks, Step, filled};
use super::password_change;
use super::version::Flavour;
use super::{Call, empty, encoded_words, goto, text_of};

const USERNAME: &str = "x-openam-username";
const PASSWORD: &str = "x-openam-password";

/// How long somebody may think about a new password: as long as what was sealed for it is good.
const NEW_PASSWORD_TIME: Duration = Duration::from_secs(600);

/// What a login came to.
enum Outcome {
    Token(Granted),
    /// There is a session, which goes on.
    Already {
        token: String,
        realm: String,
    },
    /// It was the right user, and he wants no session.
    NoSession {
        realm: String,
    },
    Asks {
        step: Step,
        auth_id: String,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Done<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    token_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'static str>,
    success_url: &'a str,
    realm: &'a str,
}

/// As version 1 writes errors.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ErrorOfOne<'a> {
    error_message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_url: Option<&'a str>,
}

/// Answers one request.
pub(super) async fn answer(call: &Call<'_>, realm: &str, body: Incoming) -> Answer {
    let Some(flavour) = call.api_version.served(2, 1) else { return empty(StatusCode::NOT_FOUND) };
    let done = match authenticated(call, realm, body).await {
        Ok(outcome) => never_kept(succeeded(call, &outcome)),
        Err(refusal) => refused(call, flavour, refusal),
    };
    let version = match flavour {
        Flavour::One => "resource=1.2",
        Flavour::Two => "resource=2.1",
    };
    of_version(done, version)
}

async fn authenticated(call: &Call<'_>, realm: &str, body: Incoming) -> Result<Outcome, Refusal> {
    let body = call.body(body).await?;
    if call.head.method != Method::POST {
        return Err(Refusal::bare(StatusCode::METHOD_NOT_ALLOWED));
    }
    let body = read(call, &body)?;
    let given = |name: &str| body.as_ref()?.get(name).filter(|value| !value.is_null());
    let (auth_id, callbacks) = (given("authId"), given("callbacks"));
    if let Some(auth_id) = auth_id {
        return go_on(call, auth_id, callbacks).await;
    }
    check_chain(call)?;
    if let Some(token) = call.query.get("sessionUpgradeSSOTokenId").filter(|token| !token.is_empty()) {
        return has_already(call, token).await;
    }
    match callbacks {
        Some(callbacks) => {
            let [user, password] = credentials(callbacks)?;
            log_in(call, realm, user, password).await
        }
        // It says something, and nothing that is a login.
        None if body.is_some() => Err(failed()),
        None => match header_credentials(&call.head.headers)? {
            [Some(user), Some(password)] => log_in(call, realm, &user, &password).await,
            _ => ask(call, realm, Step::Credentials, Progress::Begun),
        },
    }
}

fn failed() -> Refusal {
    Refusal::new(StatusCode::UNAUTHORIZED, "Authentication Failed")
}

/// There is but one login, so whoever has a session has what he could get by another.
async fn has_already(call: &Call<'_>, token: &str) -> Result<Outcome, Refusal> {
    match call.service.validate(token, Purpose::Use).await {
        Ok(who) => Ok(Outcome::Already { token: token.to_owned(), realm: who.user.realm().to_owned() }),
        Err(refusal @ TokenRefusal::Unavailable) => Err(Failed::from(refusal).into()),
        Err(_) => Err(Refusal::new(StatusCode::BAD_REQUEST, format!("Invalid session ID.{token}"))),
    }
}

/// The body as an object; nothing where it is empty.
fn read(call: &Call<'_>, body: &Bytes) -> Result<Option<Value>, Refusal> {
    if body.is_empty() {
        return Ok(None);
    }
    let media_type = text_of(&call.head.headers, header::CONTENT_TYPE.as_str()).unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    if !media_type.eq_ignore_ascii_case("application/json") {
        return Err(Refusal::bare(StatusCode::UNSUPPORTED_MEDIA_TYPE));
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(object)) if !object.is_empty() => {
            has_unique_members(body)?;
            Ok(Some(object.into()))
        }
        // OpenAM looks into objects alone.
        Ok(_) => Ok(None),
        Err(error) => Err(Refusal::new(StatusCode::BAD_REQUEST, words_of(&error, body))),
    }
}

/// Of a member that is there twice, a proxy may have looked at the other one.
pub(super) fn has_unique_members(body: &[u8]) -> Result<(), Refusal> {
    match durward_pdp::ir::json::read_unique(body) {
        Ok(_) => Ok(()),
        Err(error) => {
            let message = format!("The request content is not valid JSON: {error}");
            Err(Refusal::new(StatusCode::BAD_REQUEST, message))
        }
    }
}

/// What is wrong with a text that should be JSON, in the words that OpenAM's parser has for the usual mistake.
pub(super) fn words_of(error: &serde_json::Error, body: &[u8]) -> String {
    let (line, column) = (error.line(), error.column());
    let place = format!("at [Source: (BufferedReader); line: {line}, column: {}]", column + 1);
    let text = String::from_utf8_lossy(body);
    let wrong =
        text.lines().nth(line.saturating_sub(1)).and_then(|line| line.chars().nth(column.saturating_sub(1)));
    match wrong {
        Some(wrong) if error.to_string().starts_with("key must be a string") => {
            let code = u32::from(wrong);
            let expected = "was expecting double-quote to start field name";
            format!("Unexpected character ('{wrong}' (code {code})): {expected}\n {place}")
        }
        _ => format!("The request content is not valid JSON: {error}\n {place}"),
    }
}

/// Whether `authIndexType` and `authIndexValue` ask for a login that there is.
fn check_chain(call: &Call<'_>) -> Result<(), Refusal> {
    let Some(kind) = call.query.get("authIndexType") else { return Ok(()) };
    check_index(call.settings, kind, call.query.get("authIndexValue").unwrap_or_default())
}

/// Whether there is a login of this kind and name.
pub(super) fn check_index(settings: &OpenamSettings, kind: &str, value: &str) -> Result<(), Refusal> {
    let is_among = |names: &[String]| names.iter().any(|name| name.eq_ignore_ascii_case(value));
    let bad = |message: &str| Err(Refusal::new(StatusCode::BAD_REQUEST, message));
    match kind.to_ascii_lowercase().as_str() {
        "service" if is_among(&settings.services) => Ok(()),
        "module" if is_among(&settings.modules) => Ok(()),
        "module" => Err(Refusal::new(StatusCode::NOT_FOUND, "Authentication Module Not Found.")),
        // No policy asks for another login.
        "resource" => Ok(()),
        "level" => match value.parse::<i64>() {
            Ok(level) if level <= 0 => Ok(()),
            Ok(_) => bad("No Configuration found"),
            Err(_) => bad("Invalid Auth Level."),
        },
        "user" | "composite" => Err(failed()),
        "service" | "role" => bad("No Configuration found"),
        _ => bad("Unknown Authentication Index Type"),
    }
}

/// User and password of the headers, as far as they are there. One that is there twice could be another one for a proxy.
fn header_credentials(headers: &HeaderMap) -> Result<[Option<String>; 2], Refusal> {
    let mut found = [None, None];
    for (name, value) in [USERNAME, PASSWORD].into_iter().zip(&mut found) {
        let mut all = headers.get_all(name).iter();
        *value = all.next().map(|value| encoded_words::read(&String::from_utf8_lossy(value.as_bytes())));
        if all.next().is_some() {
            return Err(Refusal::new(StatusCode::BAD_REQUEST, format!("{name} is there twice")));
        }
    }
    Ok(found.map(|value| value.filter(|value| !value.is_empty())))
}

fn credentials(callbacks: &Value) -> Result<[&str; 2], Refusal> {
    match filled(Step::Credentials, callbacks).map_err(not_filled)?.as_slice() {
        [user, password] => Ok([user, password]),
        _ => Err(failed()),
    }
}

fn not_filled(why: &str) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, why)
}

fn ask(call: &Call<'_>, realm: &str, step: Step, progress: Progress) -> Result<Outcome, Refusal> {
    let lifetime = match step {
        Step::Credentials | Step::Code => call.service.settings().challenge_lifetime,
        Step::NewPassword => NEW_PASSWORD_TIME,
    };
    let auth_id = call.auth_ids.make(realm, progress, call.service.now(), lifetime);
    let auth_id = auth_id.ok_or_else(|| Refusal::unavailable("There is no randomness"))?;
    Ok(Outcome::Asks { step, auth_id })
}

/// A later step of a login: what the client was asked for comes with its `authId`.
async fn go_on(call: &Call<'_>, auth_id: &Value, callbacks: Option<&Value>) -> Result<Outcome, Refusal> {
    let bad = |fault: Fault| Refusal::new(StatusCode::BAD_REQUEST, fault.to_string());
    let auth_id = auth_id.as_str().ok_or_else(|| bad(Fault::Unreadable))?;
    let claims = call.auth_ids.take(auth_id, call.service.now()).map_err(|fault| match fault {
        Fault::Over => Refusal::new(StatusCode::REQUEST_TIMEOUT, fault.to_string()),
        Fault::Parts(_) | Fault::Unreadable | Fault::Signature => bad(fault),
    })?;
    let done = stepped(call, &claims, callbacks).await;
    // What came to nothing for another reason than a wrong answer may be tried again.
    if done.as_ref().is_err_and(|refusal| refusal.status != StatusCode::UNAUTHORIZED) {
        call.auth_ids.give_back(&claims);
    }
    done
}

async fn stepped(call: &Call<'_>, claims: &Claims, callbacks: Option<&Value>) -> Result<Outcome, Refusal> {
    let callbacks = callbacks.ok_or_else(failed)?;
    if let Some(change) = &claims.password_change {
        let login = password_change::choose(call, change, callbacks).await?;
        return recognized(call, outcome(call, &claims.realm, login)?).await;
    }
    let Some(challenge) = &claims.challenge else {
        let [user, password] = credentials(callbacks)?;
        return log_in(call, &claims.realm, user, password).await;
    };
    let code = filled(Step::Code, callbacks).map_err(not_filled)?.first().copied().unwrap_or_default();
    let (service, device) = (call.service, cookies::device(&call.head.headers));
    let login =
        service.answer_challenge_on(device, challenge, code.trim(), call.client, Properties::new()).await;
    recognized(call, outcome(call, &claims.realm, login)?).await
}

/// What came of a later step, for a client that may want no session.
async fn recognized(call: &Call<'_>, outcome: Outcome) -> Result<Outcome, Refusal> {
    match outcome {
        // Only to know who it is: what was granted for that ends at once.
        Outcome::Token(granted) if wants_no_session(call) => {
            call.service.logout(&granted.token, Some(call.client)).await?;
            Ok(Outcome::NoSession { realm: granted.user.realm().to_owned() })
        }
        outcome @ (Outcome::Token(_)
        | Outcome::Already { .. }
        | Outcome::NoSession { .. }
        | Outcome::Asks { .. }) => Ok(outcome),
    }
}

fn wants_no_session(call: &Call<'_>) -> bool {
    call.query.get("noSession").is_some_and(|text| text.eq_ignore_ascii_case("true"))
}

async fn log_in(call: &Call<'_>, realm: &str, user: &str, password: &str) -> Result<Outcome, Refusal> {
    let wanted = if wants_no_session(call) { Wanted::Recognition } else { Wanted::Session };
    let device = cookies::device(&call.head.headers).map(str::to_owned);
    let request = LoginRequest { wanted, device, ..LoginRequest::new(realm, user, password, call.client) };
    let login = call.service.login(request).await;
    outcome(call, realm, login)
}

fn outcome(call: &Call<'_>, realm: &str, login: Result<Login, Refused>) -> Result<Outcome, Refusal> {
    match login? {
        Login::Granted(granted, _) => Ok(Outcome::Token(granted)),
        Login::Recognized(account) => Ok(Outcome::NoSession { realm: account.realm }),
        Login::CodeNeeded(challenge) => ask(call, realm, Step::Code, Progress::Challenged(challenge)),
        Login::PasswordChangeNeeded(change) => {
            ask(call, realm, Step::NewPassword, Progress::MustChange(change))
        }
    }
}

fn succeeded(call: &Call<'_>, outcome: &Outcome) -> Answer {
    let success_url = goto::wanted(call, "goto").unwrap_or(&call.settings.success_url);
    match outcome {
        Outcome::Token(granted) => {
            let (token, realm) = (granted.token.as_str(), granted.user.realm());
            let body = json(&Done { token_id: Some(token), message: None, success_url, realm });
            let answer = with_token(body, token, call.settings);
            // Left over from an OpenAM before.
            let mut answer = without_cookie(answer, "AMAuthCookie", "LOGOUT", call.settings);
            let kept_for = call.service.settings().session.devices_max;
            let device = granted.device.as_deref();
            cookies::keep_device(&mut answer, device, kept_for, call.settings.cookie_secure);
            answer
        }
        Outcome::Already { token, realm } => {
            json(&Done { token_id: Some(token), message: None, success_url, realm })
        }
        Outcome::NoSession { realm } => {
            let message = Some("Authentication Successful");
            json(&Done { token_id: None, message, success_url, realm })
        }
        Outcome::Asks { step, auth_id } => {
            let [user, _] = header_credentials(&call.head.headers).unwrap_or_default();
            json(&AuthenticationCallbacks::of(*step, auth_id, user.as_deref()))
        }
    }
}

fn refused(call: &Call<'_>, flavour: Flavour, refusal: Refusal) -> Answer {
    let is_over = refusal.status == StatusCode::REQUEST_TIMEOUT;
    let is_failed = refusal.status == StatusCode::UNAUTHORIZED;
    let failure_url = goto::wanted(call, "gotoOnFail").filter(|_| is_failed);
    let is_method = refusal.status == StatusCode::METHOD_NOT_ALLOWED;
    let answer = match (flavour, failure_url) {
        _ if is_method => refusal.into_answer(),
        (Flavour::One, failure_url) => {
            refusal.onto(json(&ErrorOfOne { error_message: &refusal.message, failure_url }))
        }
        (Flavour::Two, Some(url)) => {
            refusal.with_detail(serde_json::json!({"failureUrl": url})).into_answer()
        }
        (Flavour::Two, None) => refusal.into_answer(),
    };
    // A method that OpenAM knows of nowhere; so says its body.
    let is_unknown =
        !matches!(call.head.method, Method::GET | Method::HEAD | Method::POST | Method::PUT | Method::DELETE);
    let answer = if is_unknown { unknown_method() } else { answer };
    if is_over { without_cookie(answer, &call.settings.cookie_name, "", call.settings) } else { answer }
}

fn unknown_method() -> Answer {
    let mut answer = Refusal::bare(StatusCode::NOT_IMPLEMENTED).into_answer();
    *answer.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    answer
}

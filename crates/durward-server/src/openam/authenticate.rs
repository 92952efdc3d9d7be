//! `POST json/{realm}/authenticate`: a login in one step with headers, or in several with callbacks.

use durward_session::identity::session::Properties;
use durward_session::{Granted, Login, LoginRequest, Refused, Wanted};
use hyper::body::{Bytes, Incoming};
use hyper::header::HeaderMap;
use hyper::{Method, StatusCode, header};
use serde::Serialize;
use serde_json::Value;

use super::answers::{Refusal, json, never_kept, no_cache, of_version, with_token, without_cookie};
use super::auth_id::{Claims, Fault};
use super::callbacks::{Asked, Step, filled};
use super::place::Realm;
use super::version::{self, Flavour};
use super::{Call, empty, text_of};
use crate::http::Answer;

const USERNAME: &str = "x-openam-username";
const PASSWORD: &str = "x-openam-password";

/// What a login came to.
enum Outcome {
    Token(Granted),
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
}

/// Answers one request.
pub(super) async fn answer(call: &Call<'_>, path_realm: &Realm, body: Incoming) -> Answer {
    if let Realm::Short(name) = path_realm
        && !call.knows(name)
    {
        return no_cache(no_such_place(call, name, body).await.into_answer());
    }
    let asked = version::Asked::read(&call.head.headers);
    if asked == version::Asked::Malformed {
        return Refusal::new(StatusCode::BAD_REQUEST, "Malformed Accept-API-Version").into_answer();
    }
    let Some(flavour) = asked.served(2, 1) else { return empty(StatusCode::NOT_FOUND) };
    let done = match authenticated(call, path_realm, body).await {
        Ok(outcome) => never_kept(succeeded(call, &outcome)),
        Err(refusal) => refused(call, flavour, refusal),
    };
    let version = match flavour {
        Flavour::One => "resource=1.2",
        Flavour::Two => "resource=2.1",
    };
    of_version(done, version)
}

/// Where no realm is, OpenAM looks for a resource to create.
async fn no_such_place(call: &Call<'_>, realm: &str, body: Incoming) -> Refusal {
    match call.body(body).await {
        Ok(body) if body.is_empty() => Refusal::new(
            StatusCode::BAD_REQUEST,
            "The request could not be processed because it did not contain any JSON content",
        ),
        Ok(_) => Refusal::no_resource(&format!("{}/authenticate", realm.trim_start_matches('/'))),
        Err(refusal) => refusal,
    }
}

async fn authenticated(call: &Call<'_>, path_realm: &Realm, body: Incoming) -> Result<Outcome, Refusal> {
    let body = call.body(body).await?;
    if call.head.method != Method::POST {
        return Err(Refusal::bare(StatusCode::METHOD_NOT_ALLOWED));
    }
    let realm = realm(call, path_realm)?;
    let body = read(call, &body)?;
    let auth_id = body.as_ref().and_then(|body| body.get("authId")).filter(|id| !id.is_null());
    let callbacks = body.as_ref().and_then(|body| body.get("callbacks")).filter(|given| !given.is_null());
    match (auth_id, callbacks) {
        (Some(auth_id), callbacks) => go_on(call, auth_id, callbacks).await,
        (None, Some(callbacks)) => {
            is_chain(call)?;
            let [user, password] = credentials(callbacks)?;
            log_in(call, &realm, user, password).await
        }
        (None, None) if body.is_none() => {
            is_chain(call)?;
            match header_credentials(&call.head.headers)? {
                Some([user, password]) => log_in(call, &realm, &user, &password).await,
                None => ask(call, &realm, Step::Credentials, None),
            }
        }
        (None, None) => Err(not_filled()),
    }
}

/// That of the query, else that of the path.
fn realm(call: &Call<'_>, path_realm: &Realm) -> Result<String, Refusal> {
    let named = call.query.get("realm").filter(|name| !name.is_empty());
    let realm = match named {
        Some(name) => format!("/{}", name.trim_matches('/')),
        None => path_realm.name().to_owned(),
    };
    let is_known = call.knows(&realm);
    is_known
        .then_some(realm.clone())
        .ok_or_else(|| Refusal::new(StatusCode::BAD_REQUEST, format!("Invalid realm, {realm}")))
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
    let bad = |message: String| Refusal::new(StatusCode::BAD_REQUEST, message);
    match serde_json::from_slice(body) {
        Ok(Value::Object(object)) if object.is_empty() => Ok(None),
        Ok(object @ Value::Object(_)) => Ok(Some(object)),
        Ok(_) => Err(bad("The request content is no JSON object".to_owned())),
        Err(error) => Err(bad(words_of(&error, body))),
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
fn is_chain(call: &Call<'_>) -> Result<(), Refusal> {
    let Some(kind) = call.query.get("authIndexType") else { return Ok(()) };
    let value = call.query.get("authIndexValue").unwrap_or_default();
    let is_among = |names: &[String]| names.iter().any(|name| name.eq_ignore_ascii_case(value));
    let missing = || Err(Refusal::new(StatusCode::BAD_REQUEST, "No Configuration found"));
    match kind {
        "service" if is_among(&call.settings.services) => Ok(()),
        "module" if is_among(&call.settings.modules) => Ok(()),
        "module" => Err(Refusal::new(StatusCode::UNAUTHORIZED, "Authentication Module Denied")),
        "level" if value.parse().is_ok_and(|level: i64| level <= 0) => Ok(()),
        "service" | "user" | "role" | "level" | "composite" | "resource" => missing(),
        _ => Err(Refusal::new(StatusCode::BAD_REQUEST, "Unknown Authentication Index Type")),
    }
}

/// User and password of the headers, where there are both. One that is there twice could be another one for a proxy.
fn header_credentials(headers: &HeaderMap) -> Result<Option<[String; 2]>, Refusal> {
    let mut found = [None, None];
    for (name, value) in [USERNAME, PASSWORD].into_iter().zip(&mut found) {
        let mut all = headers.get_all(name).iter();
        *value = all.next().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        if all.next().is_some() {
            return Err(Refusal::new(StatusCode::BAD_REQUEST, format!("{name} is there twice")));
        }
    }
    let [user, password] = found.map(|value| value.filter(|value| !value.is_empty()));
    Ok(user.zip(password).map(|(user, password)| [user, password]))
}

fn credentials(callbacks: &Value) -> Result<[&str; 2], Refusal> {
    match filled(Step::Credentials, callbacks).as_deref() {
        Some([user, password]) => Ok([user, password]),
        _ => Err(not_filled()),
    }
}

fn not_filled() -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, "Required callbacks not found in JSON")
}

fn ask(call: &Call<'_>, realm: &str, step: Step, challenge: Option<String>) -> Result<Outcome, Refusal> {
    let lifetime = call.service.settings().challenge_lifetime;
    let auth_id = call.auth_ids.make(realm, challenge, call.service.now(), lifetime);
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
    let callbacks = callbacks.ok_or_else(not_filled)?;
    let Some(challenge) = &claims.challenge else {
        let [user, password] = credentials(callbacks)?;
        return log_in(call, &claims.realm, user, password).await;
    };
    let code = filled(Step::Code, callbacks).and_then(|values| values.first().copied());
    let code = code.ok_or_else(not_filled)?;
    let login = call.service.answer_challenge(challenge, code.trim(), call.client, Properties::new()).await;
    match outcome(call, &claims.realm, login)? {
        // Only to know who it is: what was granted for that ends at once.
        Outcome::Token(granted) if wants_no_session(call) => {
            call.service.logout(&granted.token, Some(call.client)).await?;
            Ok(Outcome::NoSession { realm: granted.user.realm().to_owned() })
        }
        outcome @ (Outcome::Token(_) | Outcome::NoSession { .. } | Outcome::Asks { .. }) => Ok(outcome),
    }
}

fn wants_no_session(call: &Call<'_>) -> bool {
    call.query.get("noSession").is_some_and(|text| text.eq_ignore_ascii_case("true"))
}

async fn log_in(call: &Call<'_>, realm: &str, user: &str, password: &str) -> Result<Outcome, Refusal> {
    let wanted = if wants_no_session(call) { Wanted::Recognition } else { Wanted::Session };
    let request = LoginRequest { wanted, ..LoginRequest::new(realm, user, password, call.client) };
    let login = call.service.login(request).await;
    outcome(call, realm, login)
}

fn outcome(call: &Call<'_>, realm: &str, login: Result<Login, Refused>) -> Result<Outcome, Refusal> {
    match login? {
        Login::Granted(granted, _) => Ok(Outcome::Token(granted)),
        Login::Recognized(account) => Ok(Outcome::NoSession { realm: account.realm }),
        Login::CodeNeeded(challenge) => ask(call, realm, Step::Code, Some(challenge)),
    }
}

fn succeeded(call: &Call<'_>, outcome: &Outcome) -> Answer {
    let success_url = &call.settings.success_url;
    match outcome {
        Outcome::Token(granted) => {
            let (token, realm) = (granted.token.as_str(), granted.user.realm());
            let body = json(&Done { token_id: Some(token), message: None, success_url, realm });
            let answer = with_token(body, token, call.settings);
            // Left over from an OpenAM before.
            without_cookie(answer, "AMAuthCookie", "LOGOUT", call.settings)
        }
        Outcome::NoSession { realm } => {
            let message = Some("Authentication Successful");
            json(&Done { token_id: None, message, success_url, realm })
        }
        Outcome::Asks { step, auth_id } => json(&Asked::of(*step, auth_id)),
    }
}

fn refused(call: &Call<'_>, flavour: Flavour, refusal: Refusal) -> Answer {
    let is_over = refusal.status == StatusCode::REQUEST_TIMEOUT;
    let answer = match flavour {
        Flavour::One => refusal.onto(json(&ErrorOfOne { error_message: &refusal.message })),
        Flavour::Two => refusal.into_answer(),
    };
    if is_over { without_cookie(answer, &call.settings.cookie_name, "", call.settings) } else { answer }
}

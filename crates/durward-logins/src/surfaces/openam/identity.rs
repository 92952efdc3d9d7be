//! `identity/...`: the calls of OpenAM 11, which newer ones answer with 501 for the most part, in text, JSON and XML.

use std::fmt::Write as _;

use durward_common::surfaces::http::incoming::Incoming;
use durward_common::surfaces::http::{Answer, escape};
use durward_session::identity::session::{Purpose, Refusal as TokenRefusal};
use durward_session::identity::user::Account;
use durward_session::{Failed, Login, LoginRequest, Refused};
use hyper::header::{self, HeaderValue};
use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use super::Call;
use super::answers::text_of_type;
use super::query::Query;
use super::request_path::Form;

/// What goes wrong, as OpenAM names it.
struct Fault {
    status: StatusCode,
    name: &'static str,
    message: String,
}

/// What is answered.
enum Said {
    Nothing,
    Boolean(bool),
    Token(String),
    One(String),
    Texts(Vec<String>),
    Details { token: String, attributes: Vec<(String, Vec<String>)>, roles: Vec<String> },
}

impl Fault {
    fn unsupported(operation: &str) -> Fault {
        let name = "java.lang.UnsupportedOperationException";
        Fault { status: StatusCode::NOT_IMPLEMENTED, name, message: operation.to_uppercase() }
    }

    fn no_token() -> Fault {
        let (status, name) = (StatusCode::UNAUTHORIZED, "com.sun.identity.idsvcs.TokenExpired");
        Fault { status, name, message: "Cannot retrieve Token.".to_owned() }
    }

    fn credentials() -> Fault {
        let (status, name) = (StatusCode::UNAUTHORIZED, "com.sun.identity.idsvcs.InvalidCredentials");
        Fault { status, name, message: "Authentication Failed".to_owned() }
    }

    fn general(status: StatusCode, message: String) -> Fault {
        Fault { status, name: "com.sun.identity.idsvcs.GeneralFailure", message }
    }
}

impl From<Failed> for Fault {
    fn from(failed: Failed) -> Fault {
        match &failed {
            Failed::Token(TokenRefusal::Unavailable)
            | Failed::Delayed { .. }
            | Failed::Directory(_)
            | Failed::Unavailable(_)
            | Failed::Unknown => Fault::general(StatusCode::SERVICE_UNAVAILABLE, failed.to_string()),
            Failed::Token(_)
            | Failed::Forbidden
            | Failed::SecondStepNeeded
            | Failed::NoSession
            | Failed::UnknownRealm
            | Failed::Code
            | Failed::Properties(_) => Fault::no_token(),
        }
    }
}

impl From<TokenRefusal> for Fault {
    fn from(refusal: TokenRefusal) -> Fault {
        Failed::from(refusal).into()
    }
}

impl From<Refused> for Fault {
    fn from(refused: Refused) -> Fault {
        match &refused {
            Refused::Wrong | Refused::PasswordOver | Refused::UnknownRealm | Refused::UserFull => {
                Fault::credentials()
            }
            Refused::Delayed { .. } | Refused::Crowded { .. } => {
                Fault::general(StatusCode::TOO_MANY_REQUESTS, refused.to_string())
            }
            Refused::Busy { .. }
            | Refused::NodeFull
            | Refused::Directory(_)
            | Refused::Unavailable(_)
            | Refused::Unknown => Fault::general(StatusCode::SERVICE_UNAVAILABLE, refused.to_string()),
        }
    }
}

/// Answers one request.
pub(super) async fn answer(call: &Call<'_>, form: Form, operation: &str, body: Incoming) -> Answer {
    let written = match parameters(call, body).await {
        Err(fault) => refused(form, &fault),
        Ok(parameters) => match said(call, operation, &parameters).await {
            Ok(said) => write(form, &said),
            Err(fault) => refused(form, &fault),
        },
    };
    let mut answer = written;
    let never = HeaderValue::from_static("no-store, no-cache, must-revalidate, max-age=0");
    answer.headers_mut().insert(header::CACHE_CONTROL, never);
    answer.headers_mut().insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
    answer
}

/// Those of the query, then those of a form in the body.
async fn parameters(call: &Call<'_>, body: Incoming) -> Result<Query, Fault> {
    let status = |status| Fault::general(status, "The request cannot be taken".to_owned());
    let body = call.body(body).await.map_err(|refusal| status(refusal.status))?;
    let query = Query::read(call.head.uri.query().unwrap_or_default().as_bytes());
    // The method makes no difference to OpenAM.
    Ok(if call.head.method == Method::POST { query.and(Query::read(&body)) } else { query })
}

async fn said(call: &Call<'_>, operation: &str, parameters: &Query) -> Result<Said, Fault> {
    let is_legacy = call.settings.danger_legacy_identity;
    let cookie = || call.settings.cookie_name.clone();
    match operation.to_ascii_lowercase().as_str() {
        "authenticate" if is_legacy => authenticate(call, parameters).await,
        "istokenvalid" if is_legacy => is_valid(call, parameters).await,
        "logout" if is_legacy => logout(call, parameters).await,
        "attributes" => attributes(call, parameters).await,
        "getcookienamefortoken" => Ok(Said::One(cookie())),
        "getcookienamestoforward" => Ok(Said::Texts(vec![cookie()])),
        _ => Err(Fault::unsupported(operation)),
    }
}

async fn authenticate(call: &Call<'_>, parameters: &Query) -> Result<Said, Fault> {
    let user = parameters.get("username").ok_or_else(Fault::credentials)?;
    let password = parameters.get("password").ok_or_else(Fault::credentials)?;
    let realm = realm_of(parameters.get("uri").unwrap_or_default());
    match call.service.login(LoginRequest::new(&realm, user, password, call.client)).await? {
        Login::Granted(granted, _) => Ok(Said::Token(granted.token)),
        // There is no second step here, and no other password.
        Login::CodeNeeded(_) | Login::PasswordChangeNeeded(_) | Login::Recognized(_) => {
            Err(Fault::credentials())
        }
    }
}

/// `uri` is `realm=/sales`, and may name chains as well, which make no difference.
fn realm_of(uri: &str) -> String {
    let named = Query::read(uri.as_bytes());
    format!("/{}", named.get("realm").unwrap_or_default().trim_matches('/'))
}

fn token<'p>(call: &'p Call<'_>, parameters: &'p Query, name: &str) -> Result<&'p str, Fault> {
    parameters.get(name).or_else(|| call.token_in_cookie()).ok_or_else(Fault::no_token)
}

async fn is_valid(call: &Call<'_>, parameters: &Query) -> Result<Said, Fault> {
    let token = token(call, parameters, "tokenid")?;
    match call.service.validate(token, Purpose::Use).await {
        Ok(_) => Ok(Said::Boolean(true)),
        Err(refusal @ TokenRefusal::Unavailable) => Err(refusal.into()),
        Err(_) => Ok(Said::Boolean(false)),
    }
}

async fn logout(call: &Call<'_>, parameters: &Query) -> Result<Said, Fault> {
    let token = token(call, parameters, "subjectid")?;
    call.service.logout(token, Some(call.client)).await?;
    Ok(Said::Nothing)
}

async fn attributes(call: &Call<'_>, parameters: &Query) -> Result<Said, Fault> {
    let token = token(call, parameters, "subjectid")?;
    let who = call.service.validate(token, Purpose::Look).await?;
    let account = call.service.account(&who.user).await?;
    let group_suffix = format!("ou=group,{}", call.settings.root_suffix);
    let groups = account.iter().flat_map(|account| &account.groups);
    let roles = groups.map(|group| format!("id={group},{group_suffix}")).collect();
    let all = account.map(|account| known(account, who.user.subject())).unwrap_or_default();
    let wanted: Vec<&str> = parameters.all("attributenames").collect();
    let attributes = if wanted.is_empty() { all } else { chosen(&all, &wanted) };
    Ok(Said::Details { token: token.to_owned(), attributes, roles })
}

/// What is known of the user goes out; what he proves himself by does not. `uid` first, as OpenAM has it.
fn known(account: Account, subject: &str) -> Vec<(String, Vec<String>)> {
    let status = if account.disabled { "Inactive" } else { "Active" };
    let mut all = account.attributes;
    all.retain(|name, _| !name.eq_ignore_ascii_case("userPassword"));
    let first = [("uid", subject), ("inetuserstatus", status)].map(|(name, value)| {
        let values = all.remove(name).unwrap_or_else(|| vec![value.to_owned()]);
        (name.to_owned(), values)
    });
    first.into_iter().chain(all).collect()
}

/// Those that are wanted, by the names they are wanted by.
fn chosen(all: &[(String, Vec<String>)], wanted: &[&str]) -> Vec<(String, Vec<String>)> {
    let one = |name: &&str| {
        let found = all.iter().find(|(other, _)| other.eq_ignore_ascii_case(name))?;
        Some(((*name).to_owned(), found.1.clone()))
    };
    wanted.iter().filter_map(one).collect()
}

fn refused(form: Form, fault: &Fault) -> Answer {
    let Fault { status, name, message } = fault;
    let mut answer = match form {
        Form::Text => text(format!("exception.name={name} {message}\n")),
        Form::Json => json_answer(&json!({"exception": {"name": name, "message": message}})),
        Form::Xml => xml(&format!("<exception name=\"{name}\" message=\"{}\"/>", escape(message))),
    };
    // OpenAM answers in XML that the request was served, whatever came of the token.
    let is_served = form == Form::Xml && name.ends_with("TokenExpired");
    *answer.status_mut() = if is_served { StatusCode::OK } else { *status };
    if matches!(*status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
        answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    answer
}

fn text(text: String) -> Answer {
    text_of_type("text/plain;charset=UTF-8", text)
}

fn json_answer(value: &Value) -> Answer {
    text_of_type("application/json;charset=UTF-8", value.to_string())
}

fn xml(text: &str) -> Answer {
    text_of_type("text/xml;charset=UTF-8", format!("<?xml version='1.0' encoding='UTF-8'?>{text}"))
}

fn write(form: Form, said: &Said) -> Answer {
    match form {
        Form::Text => text(as_text(said)),
        Form::Json => json_answer(&as_json(said)),
        Form::Xml => xml(&as_xml(said)),
    }
}

/// A value on a line of its own cannot begin another line.
fn line(text: &str) -> String {
    text.replace(['\r', '\n'], " ")
}

fn as_text(said: &Said) -> String {
    match said {
        Said::Nothing => String::new(),
        Said::Boolean(value) => format!("boolean={value}\n"),
        Said::Token(token) => format!("token.id={token}\n"),
        Said::One(text) => format!("string={text}\n"),
        Said::Texts(texts) => texts.iter().map(|text| format!("string={text}\n")).collect(),
        Said::Details { token, attributes, roles } => {
            let mut text = format!("userdetails.token.id={token}\n");
            for role in roles {
                let _ = writeln!(text, "userdetails.role={}", line(role));
            }
            for (name, values) in attributes {
                let _ = writeln!(text, "userdetails.attribute.name={}", line(name));
                for value in values {
                    let _ = writeln!(text, "userdetails.attribute.value={}", line(value));
                }
            }
            text
        }
    }
}

fn as_json(said: &Said) -> Value {
    match said {
        Said::Nothing => json!({}),
        Said::Boolean(value) => json!({"boolean": value}),
        Said::Token(token) => json!({"tokenId": token}),
        Said::One(text) => json!({"string": text}),
        Said::Texts(texts) => json!({"string": texts}),
        Said::Details { token, attributes, roles } => {
            let attributes = attributes.iter().map(|(name, values)| json!({"values": values, "name": name}));
            let attributes: Vec<Value> = attributes.collect();
            json!({"roles": roles, "attributes": attributes, "token": {"tokenId": token}})
        }
    }
}

fn as_xml(said: &Said) -> String {
    match said {
        Said::Nothing => "<void/>".to_owned(),
        Said::Boolean(value) => format!("<result boolean=\"{value}\"/>"),
        Said::Token(token) => format!("<token id=\"{}\"/>", escape(token)),
        Said::One(text) => format!("<result string=\"{}\"/>", escape(text)),
        Said::Texts(texts) => {
            let texts: String =
                texts.iter().map(|text| format!("<string>{}</string>", escape(text))).collect();
            format!("<result>{texts}</result>")
        }
        Said::Details { token, attributes, roles } => {
            let mut text = format!("<userdetails><token id=\"{}\"/>", escape(token));
            for role in roles {
                let _ = write!(text, "<role id=\"{}\"/>", escape(role));
            }
            for (name, values) in attributes {
                let values: String =
                    values.iter().map(|value| format!("<value>{}</value>", escape(value))).collect();
                let _ = write!(text, "<attribute name=\"{}\">{values}</attribute>", escape(name));
            }
            text + "</userdetails>"
        }
    }
}

//! Resources under `json`, in the common form of their requests (CREST): what is to be done, and with which content. All of that is
//! looked at before who calls, in OpenAM's order.

use bytes::Bytes;
use durward_common::surfaces::http::Answer;
use durward_common::surfaces::http::incoming::Incoming;
use http_body_util::{BodyExt as _, Collected, Full};
use hyper::header::{self, HeaderValue};
use hyper::{Method, StatusCode};
use serde_json::Value;

use super::answers::{self, Refusal, no_cache};
use super::authenticate::{has_unique_members, words_of};
use super::filter::Filter;
use super::{Call, empty, information, policies, profile, sessions, text_of};

/// Parameters that may be given more than once.
const MANY: &[&str] = &["_fields", "_sortKeys"];

/// What is to be done.
#[derive(Debug)]
pub(super) enum Operation {
    Action(String),
    Query(Wanted),
    Read,
    Create,
    Update,
    Delete,
    Patch,
}

/// What is wanted of a list.
#[derive(Debug)]
pub(super) enum Wanted {
    /// A query by its name.
    Named(String),
    Filtered(Filter),
    Expression,
}

/// What is asked of a resource.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) operation: Operation,
    /// `null` where there is none.
    pub(super) content: Value,
}

/// Answers one request for a resource in a realm, whose name comes in parts.
pub(super) async fn answer(call: &Call<'_>, realm: &str, resource: &[String], body: Incoming) -> Answer {
    let answer = match by_method(call) {
        Some(answer) => answer,
        None => match read(call, body).await {
            Ok(request) => answered(call, realm, resource, request).await,
            Err(refusal) => refusal.into_answer(),
        },
    };
    let pretty: Vec<&str> = call.query.all("_prettyPrint").collect();
    let is_pretty = matches!(pretty.as_slice(), [only] if only.eq_ignore_ascii_case("true"));
    no_cache(if is_pretty { prettier(answer).await } else { answer })
}

async fn prettier(answer: Answer) -> Answer {
    let (head, body) = answer.into_parts();
    let text = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
    let value = serde_json::from_slice::<Value>(&text);
    let text = value.map_or(text, |value| answers::pretty(&value).into());
    Answer::from_parts(head, Full::new(text))
}

async fn answered(call: &Call<'_>, realm: &str, resource: &[String], request: Request) -> Answer {
    let rest: Vec<&str> = resource.iter().map(String::as_str).collect();
    match rest.as_slice() {
        ["sessions", instance @ ..] => sessions::answer(call, instance, request).await,
        ["serverinfo", instance @ ..] => information::server(call, realm, instance, &request).await,
        ["policies", instance @ ..] => policies::answer(call, realm, instance, &request).await,
        ["users"] => information::user(call, &request).await,
        ["users", name] => profile::answer(call, realm, name, &request).await,
        name => {
            // A new one has a name yet to come.
            let is_new = matches!(request.operation, Operation::Update) && name.len() == 1;
            Refusal::no_resource(&if is_new { String::new() } else { name.join("/") }).into_answer()
        }
    }
}

/// What some methods are answered with, whatever they are for.
fn by_method(call: &Call<'_>) -> Option<Answer> {
    match call.head.method {
        Method::GET | Method::POST | Method::PUT | Method::DELETE | Method::PATCH => None,
        Method::HEAD => Some(Refusal::bare(StatusCode::NOT_IMPLEMENTED).into_answer()),
        Method::TRACE => Some(Refusal::bare(StatusCode::METHOD_NOT_ALLOWED).into_answer()),
        Method::OPTIONS => {
            let mut answer = empty(StatusCode::OK);
            for method in ["DELETE", "GET", "HEAD", "PATCH", "PUT", "OPTIONS", "TRACE"] {
                answer.headers_mut().append(header::ALLOW, HeaderValue::from_static(method));
            }
            Some(answer)
        }
        _ => {
            let message = format!("Method {} not supported", call.head.method);
            Some(Refusal::new(StatusCode::NOT_IMPLEMENTED, message).into_answer())
        }
    }
}

fn bad(message: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, message)
}

async fn read(call: &Call<'_>, body: Incoming) -> Result<Request, Refusal> {
    let body = call.body(body).await?;
    call.api_version.check_protocol().map_err(bad)?;
    check_type(call)?;
    check_parameters(call)?;
    let operation = operation(call)?;
    let content = match operation {
        Operation::Read | Operation::Query(_) | Operation::Delete => Value::Null,
        Operation::Action(_) | Operation::Create | Operation::Update | Operation::Patch => content(&body)?,
    };
    check_content(&operation, &content)?;
    Ok(Request { operation, content })
}

/// JSON, or nothing is said about it, where that is enough.
fn check_type(call: &Call<'_>) -> Result<(), Refusal> {
    let method = &call.head.method;
    if matches!(*method, Method::GET | Method::DELETE) {
        return Ok(());
    }
    let Some(said) = text_of(&call.head.headers, header::CONTENT_TYPE.as_str()) else {
        let wrong =
            "The request could not be processed because the  content-type was not specified and is required";
        return if *method == Method::POST { Ok(()) } else { Err(bad(wrong)) };
    };
    match said.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "application/json" => Ok(()),
        "multipart/form-data" => {
            Err(bad("The request could not be processed because the request cant be parsed"))
        }
        _ => Err(bad(format!(
            "The request could not be processed because it specified the content-type '{said}' when only the \
             content-type 'application/json' and 'multipart/form-data' are supported"
        ))),
    }
}

fn check_parameters(call: &Call<'_>) -> Result<(), Refusal> {
    if let Some(name) = call.query.repeated(MANY) {
        return Err(bad(format!(
            "Multiple values provided for the single-valued request parameter '{name}'"
        )));
    }
    let unknown = if call.head.method == Method::POST { "_mimeType" } else { "_action" };
    if call.query.get(unknown).is_some() {
        return Err(bad(format!("Unrecognized request parameter '{unknown}'")));
    }
    Ok(())
}

fn operation(call: &Call<'_>) -> Result<Operation, Refusal> {
    let operation = match (&call.head.method, call.query.get("_action")) {
        (&Method::POST, None) => Operation::Create,
        (&Method::POST, Some(create)) if create.eq_ignore_ascii_case("create") => Operation::Create,
        (&Method::POST, Some(action)) => Operation::Action(action.to_owned()),
        (&Method::PUT, _) => Operation::Update,
        (&Method::DELETE, _) => Operation::Delete,
        (&Method::PATCH, _) => Operation::Patch,
        _ => wanted(call)?.map_or(Operation::Read, Operation::Query),
    };
    Ok(operation)
}

/// The query of a request that has one.
fn wanted(call: &Call<'_>) -> Result<Option<Wanted>, Refusal> {
    let mut given = ["_queryId", "_queryFilter", "_queryExpression"]
        .into_iter()
        .filter_map(|name| call.query.get(name).map(|value| (name, value)));
    let Some((name, value)) = given.next() else { return Ok(None) };
    if let Some((other, _)) = given.next() {
        return Err(bad(format!("The parameters {name} and {other} are mutually exclusive")));
    }
    if let Some(size) = call.query.get("_pageSize").filter(|size| size.parse::<i32>().is_err()) {
        let what = format!("The value '{size}' for parameter '_pageSize'");
        return Err(bad(format!("{what} could not be parsed as a valid integer")));
    }
    let wanted = match name {
        "_queryId" => Wanted::Named(value.to_owned()),
        "_queryExpression" => Wanted::Expression,
        _ => Wanted::Filtered(Filter::read(value).ok_or_else(|| {
            let what = format!("The value '{value}' for parameter '_queryFilter'");
            bad(format!("{what} could not be parsed as a valid query filter"))
        })?),
    };
    Ok(Some(wanted))
}

fn content(body: &Bytes) -> Result<Value, Refusal> {
    if body.trim_ascii().is_empty() {
        return Ok(Value::Null);
    }
    let content = serde_json::from_slice(body).map_err(|error| {
        if error.to_string().starts_with("trailing characters") {
            return bad(
                "The request could not be processed because there is trailing data after the JSON content",
            );
        }
        let wrong = "The request could not be processed because the provided content is not valid JSON";
        bad(wrong).with_detail(words_of(&error, body).into())
    })?;
    has_unique_members(body)?;
    Ok(content)
}

fn check_content(operation: &Operation, content: &Value) -> Result<(), Refusal> {
    let (is_right, wanted) = match operation {
        Operation::Create | Operation::Update => (content.is_object(), "object"),
        Operation::Patch => (content.is_array(), "array of patch operations"),
        Operation::Action(_) | Operation::Query(_) | Operation::Read | Operation::Delete => return Ok(()),
    };
    if is_right {
        return Ok(());
    }
    let what = if content.is_null() {
        "it did not contain any JSON content".to_owned()
    } else {
        format!("the provided content is not a JSON {wanted}")
    };
    Err(bad(format!("The request could not be processed because {what}")))
}

/// What is the matter with a resource that is no collection, or is one.
pub(super) fn cannot_be(kind: &str, done: &str) -> Refusal {
    bad(format!("The resource {kind}  cannot be {done}"))
}

pub(super) fn not_supported() -> Refusal {
    Refusal::new(StatusCode::NOT_IMPLEMENTED, "Operation is not supported.")
}

/// What `_fields` asks for, of an object; all of it where it asks for nothing.
pub(super) fn narrowed(call: &Call<'_>, object: Value) -> Value {
    let asked = call.query.all("_fields").flat_map(|names| names.split(','));
    let asked: Vec<&str> = asked.map(str::trim).filter(|name| !name.is_empty()).collect();
    let Value::Object(fields) = &object else { return object };
    if asked.is_empty() || asked.contains(&"*") {
        return object;
    }
    let names = ["_id", "_rev"].into_iter().chain(asked);
    let kept = names.filter_map(|name| fields.get_key_value(name));
    Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// A list, as all of them are written.
pub(super) fn list(rows: Vec<Value>) -> Answer {
    let count = rows.len();
    answers::json(&serde_json::json!({
        "result": rows,
        "resultCount": count,
        "pagedResultsCookie": null,
        "totalPagedResultsPolicy": "NONE",
        "totalPagedResults": -1,
        "remainingPagedResults": -1,
    }))
}

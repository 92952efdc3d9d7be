//! What `http.get` and its like are asked: settings into a request.

use std::fmt::Display;
use std::sync::Arc;

use bytes::Bytes;
use durward_pdp::Value;
use durward_pdp::ir::Fault;
use durward_pdp::ir::fault::Evaluated;
use durward_pdp::ir::value::Object;
use durward_pdp::stream::{Context, Invocation};
use hyper::Method;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, USER_AGENT};
use hyper::http::HeaderValue;

use super::headers;

use durward_net::connect::Endpoint;
use durward_net::url::Url;
use durward_wire::percent::form_encoded;

/// The largest answer, event or message unless the policy says otherwise, in bytes.
const ANSWER_BYTES: usize = 1 << 20;

/// The media type unless the policy says otherwise.
const JSON: &str = "application/json";

/// A request that may be sent: its credentials may go where it goes.
pub(crate) struct Request {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Bytes>,
    pub(super) expects: Expects,
    pub(super) answer_bytes_max: usize,
}

/// What the answer is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expects {
    Json,
    Events,
    Text,
}

/// How to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Http(Method),
    WebSocket,
}

impl Verb {
    pub(super) fn of(name: &str) -> Option<Verb> {
        Some(match name.strip_prefix("http.")? {
            "get" => Verb::Http(Method::GET),
            "post" => Verb::Http(Method::POST),
            "put" => Verb::Http(Method::PUT),
            "patch" => Verb::Http(Method::PATCH),
            "delete" => Verb::Http(Method::DELETE),
            "websocket" => Verb::WebSocket,
            _ => return None,
        })
    }
}

impl Request {
    /// Reads the settings of an invocation: its only argument, with the entity as the base address. Answers are no larger
    /// than `answer_bytes_max`, whatever the policy says.
    ///
    /// # Errors
    /// Settings that are unfit, and credentials that must not go there; never with the credentials in the text.
    pub(super) fn of(
        verb: &Verb,
        invocation: &Invocation,
        context: &Context,
        answer_bytes_max: usize,
    ) -> Evaluated<Request> {
        let empty = Arc::default();
        let settings = match &*invocation.arguments {
            [] => &empty,
            [settings, ..] => {
                settings.as_object().ok_or_else(|| unfit("the settings of the request are no object"))?
            }
        };
        let base = match &invocation.entity {
            Some(entity) => entity.as_text().ok_or_else(|| unfit("the entity is no address: not a text"))?,
            None => match settings.get("baseUrl") {
                Some(base) => base.as_text().ok_or_else(|| unfit("`baseUrl` is not a text"))?,
                None => return Err(unfit("the settings have no `baseUrl`")),
            },
        };
        Request::build(verb, base, settings, context, answer_bytes_max)
    }

    fn build(
        verb: &Verb,
        base: &str,
        settings: &Object,
        context: &Context,
        answer_bytes_max: usize,
    ) -> Evaluated<Request> {
        let url = url(base, settings)?;
        let base = Url::read(base).map_err(unfit)?;
        let mut headers = headers::merged(settings, context, &base, &url)?;
        let accept = text(settings, "accept")?.unwrap_or(JSON);
        let content_type = text(settings, "contentType")?.unwrap_or(JSON);
        let (method, body) = match verb {
            Verb::Http(method) => (method.clone(), if takes_body(method) { body(settings) } else { None }),
            Verb::WebSocket => (Method::GET, body(settings)),
        };
        let defaults = [
            (USER_AGENT, Some("durward")),
            (ACCEPT, (*verb != Verb::WebSocket).then_some(accept)),
            (CONTENT_TYPE, (body.is_some() && *verb != Verb::WebSocket).then_some(content_type)),
        ];
        for (name, value) in defaults {
            let Some(value) = value else { continue };
            let odd = |_| unfit(format!("`{name}` holds odd characters"));
            let value = HeaderValue::from_str(value).map_err(odd)?;
            headers.entry(name).or_insert(value);
        }
        let expects = expects(accept);
        let answer_bytes_max = bytes_max(settings)?.min(answer_bytes_max);
        Ok(Request { method, url, headers, body, expects, answer_bytes_max })
    }

    /// A request of the operator: to an address of the configuration, filled with what the policy says.
    ///
    /// # Errors
    /// As [`Request::of`].
    pub(crate) fn custom(
        method: Method,
        address: &str,
        settings: &Object,
        body: Option<String>,
        context: &Context,
        answer_bytes_max: usize,
    ) -> Evaluated<Request> {
        let verb = Verb::Http(method);
        let mut request = Request::build(&verb, address, settings, context, answer_bytes_max)?;
        request.answer_bytes_max = answer_bytes_max;
        if let Some(body) = body {
            request.headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(JSON));
            request.body = Some(body.into());
        }
        Ok(request)
    }

    /// The same with the operator's credentials, which no log shows.
    pub(crate) fn authorized(mut self, credentials: Option<&HeaderValue>) -> Request {
        if let Some(credentials) = credentials {
            self.headers.insert(AUTHORIZATION, credentials.clone());
        }
        self
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.url.endpoint
    }
}

/// The whole address: base, path, and parameters as a query.
fn url(base: &str, settings: &Object) -> Evaluated<Url> {
    let mut address = base.to_owned();
    address.push_str(text(settings, "path")?.unwrap_or_default());
    let parameters = match settings.get("urlParameters") {
        None => return Url::read(&address).map_err(unfit),
        Some(parameters) => {
            parameters.as_object().ok_or_else(|| unfit("`urlParameters` is not an object"))?
        }
    };
    let mut separator = if address.contains('?') { '&' } else { '?' };
    for (name, value) in parameters.iter() {
        address.push(separator);
        form_encoded(name, &mut address);
        address.push('=');
        let wrong = || unfit("a value of `urlParameters` is neither text nor number");
        form_encoded(&scalar(value).ok_or_else(wrong)?, &mut address);
        separator = '&';
    }
    Url::read(&address).map_err(unfit)
}

/// A text, number or truth value as a text.
pub(crate) fn scalar(value: &Value) -> Option<String> {
    let is_plain = value.as_number().is_some() || value.as_boolean().is_some();
    value.as_text().map(str::to_owned).or_else(|| is_plain.then(|| value.to_json()))
}

/// A setting that is a text, if it is there.
fn text<'s>(settings: &'s Object, key: &str) -> Evaluated<Option<&'s str>> {
    let wrong = || unfit(format!("`{key}` is not a text"));
    settings.get(key).map(|value| value.as_text().ok_or_else(wrong)).transpose()
}

fn takes_body(method: &Method) -> bool {
    *method != Method::GET && *method != Method::DELETE
}

/// A text as it is, all else as JSON.
fn body(settings: &Object) -> Option<Bytes> {
    let value = settings.get("body").filter(|value| !value.is_undefined())?;
    Some(value.as_text().map_or_else(|| value.to_json(), str::to_owned).into())
}

fn expects(accept: &str) -> Expects {
    let essence = accept.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case(JSON) {
        Expects::Json
    } else if essence.eq_ignore_ascii_case("text/event-stream") {
        Expects::Events
    } else {
        Expects::Text
    }
}

fn bytes_max(settings: &Object) -> Evaluated<usize> {
    let Some(value) = settings.get("maxResponseBytes") else { return Ok(ANSWER_BYTES) };
    let number = value.as_number().ok_or_else(|| unfit("`maxResponseBytes` is not a number"))?;
    let wrong = || unfit("`maxResponseBytes` is not a whole number from 1");
    if !number.is_integer() {
        return Err(wrong());
    }
    match number.to_i64() {
        Some(number @ 1..) => Ok(usize::try_from(number).unwrap_or(usize::MAX)),
        // Larger than any answer can be.
        None if number.to_f64() > 0.0 => Ok(usize::MAX),
        Some(_) | None => Err(wrong()),
    }
}

/// What the author of a policy is told of what they ask for.
fn unfit(what: impl Display) -> Box<Fault> {
    Fault::processing(what.to_string())
}

//! Answers that are not decisions: what was wrong, where, and what to do (RFC 9457, as XML or JSON).

use std::time::Duration;

use bytes::Bytes;
use durward_net::trace;
use durward_pdp::xacml::request::{ErrorLocation, RequestError};
use http_body_util::Full;
use hyper::header::{self, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;

use super::negotiate::{Offer, choose};
use super::{Answer, Form, escape};

/// A refusal, with what the caller can do about it.
#[derive(Clone, Debug)]
pub struct Problem {
    status: StatusCode,
    detail: String,
    place: ErrorLocation,
    extra: Extra,
    /// Whether the connection is of no use afterwards.
    closes: bool,
}

/// A header field that goes along.
#[derive(Clone, Debug)]
enum Extra {
    None,
    RetryAfter,
    RetryAfterS(u64),
    /// How to show a session's token.
    Bearer,
    Allow(&'static [&'static str]),
    /// The ways to authenticate.
    Ways(Box<[&'static str]>),
}

/// The members of RFC 9457 and, beside them, the place. `type` is left as it is understood when absent: nothing
/// more than the status says.
#[derive(Serialize)]
struct Document<'p> {
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'static str,
    status: u16,
    detail: &'p str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'p str>,
    /// The trace of the request, by which its lines in logs are found.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
}

/// When to come back after a 503: limits pass within moments, and so does a restart.
const RETRY_AFTER_S: HeaderValue = HeaderValue::from_static("1");

impl Problem {
    /// A problem with this status, said in these words.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Problem {
        let (place, extra) = (ErrorLocation::Whole, Extra::None);
        Problem { status, detail: detail.into(), place, extra, closes: false }
    }

    /// 503, to be tried again soon.
    pub fn unavailable(detail: impl Into<String>) -> Problem {
        Problem { extra: Extra::RetryAfter, ..Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail) }
    }

    /// 429: more requests than may come in a second.
    pub fn too_many() -> Problem {
        let detail = "there are too many requests; try again";
        Problem::new(StatusCode::TOO_MANY_REQUESTS, detail).retry_after(Duration::from_secs(1))
    }

    /// To be tried again after this.
    pub fn retry_after(self, span: Duration) -> Problem {
        let seconds = u64::try_from(span.as_millis().div_ceil(1000)).unwrap_or(u64::MAX);
        Problem { extra: Extra::RetryAfterS(seconds.max(1)), ..self }
    }

    /// To be tried again with a session's token.
    pub fn bearer(self) -> Problem {
        Problem { extra: Extra::Bearer, ..self }
    }

    /// 401 with the ways to authenticate.
    pub fn unauthorized(ways: impl Iterator<Item = &'static str>) -> Problem {
        let detail = "credentials are missing, wrong, or of a kind that is not taken";
        Problem { extra: Extra::Ways(ways.collect()), ..Problem::new(StatusCode::UNAUTHORIZED, detail) }
    }

    /// 405 with the methods there are.
    pub fn method(methods: &'static [&'static str]) -> Problem {
        let detail = format!("this path takes only {}", methods.join(", "));
        Problem { extra: Extra::Allow(methods), ..Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail) }
    }

    /// A request that cannot be read, with the place.
    pub fn request(status: StatusCode, error: &RequestError) -> Problem {
        Problem { place: error.place.clone(), ..Problem::new(status, error.message.clone()) }
    }

    /// The status it is told with.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// What is wrong, with the place.
    pub fn told(&self) -> String {
        match &self.place {
            ErrorLocation::Line { line, column } => format!("{} (line {line}, column {column})", self.detail),
            ErrorLocation::Path(path) => format!("{} (at `{path}`)", self.detail),
            ErrorLocation::Whole => self.detail.clone(),
        }
    }

    /// The connection is of no use afterwards.
    pub fn closing(self) -> Problem {
        Problem { closes: true, ..self }
    }

    /// The answer in the form that the caller reads.
    pub fn into_answer(self, form: Form) -> Answer {
        let document = self.document();
        let (media_type, body) = match form {
            Form::Json => {
                ("application/problem+json", serde_json::to_string(&document).unwrap_or_default() + "\n")
            }
            Form::Xml => ("application/problem+xml", document.to_xml()),
        };
        self.into_answer_with(media_type, body)
    }

    /// The same with another body.
    pub fn into_answer_with(self, media_type: &'static str, body: String) -> Answer {
        let mut answer = Response::new(Full::new(Bytes::from(body)));
        *answer.status_mut() = self.status;
        let headers = answer.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        match self.extra {
            Extra::None => {}
            Extra::RetryAfter => drop(headers.insert(header::RETRY_AFTER, RETRY_AFTER_S)),
            Extra::RetryAfterS(seconds) => drop(headers.insert(header::RETRY_AFTER, seconds.into())),
            Extra::Bearer => {
                drop(headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")));
            }
            Extra::Allow(methods) => super::allow(headers, methods),
            Extra::Ways(ways) => {
                for way in ways {
                    headers.append(header::WWW_AUTHENTICATE, HeaderValue::from_static(way));
                }
            }
        }
        if self.closes {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        answer
    }

    fn document(&self) -> Document<'_> {
        let (line, column, path) = match &self.place {
            ErrorLocation::Line { line, column } => (Some(*line), Some(*column), None),
            ErrorLocation::Path(path) => (None, None, Some(path.as_str())),
            ErrorLocation::Whole => (None, None, None),
        };
        Document {
            kind: "about:blank",
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            detail: &self.detail,
            line,
            column,
            path,
            trace_id: trace::with_current(|trace| trace.own.trace.to_string()),
        }
    }
}

impl Document<'_> {
    /// RFC 9457, appendix B.
    fn to_xml(&self) -> String {
        let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        xml.push_str("<problem xmlns=\"urn:ietf:rfc:7807\">");
        let number = |number: Option<usize>| number.map(|number| number.to_string());
        let fields = [
            ("type", Some(self.kind.into())),
            ("title", Some(self.title.into())),
            ("status", Some(self.status.to_string())),
            ("detail", Some(self.detail.into())),
            ("line", number(self.line)),
            ("column", number(self.column)),
            ("path", self.path.map(String::from)),
            ("trace_id", self.trace_id.clone()),
        ];
        for (name, value) in fields.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            xml.push_str(&format!("<{name}>{}</{name}>", escape(&value)));
        }
        xml.push_str("</problem>\n");
        xml
    }
}

/// The form a caller likes its problems in: what `Accept` says of XML and JSON in general, else `otherwise`.
pub fn form_of_problems(accept: Option<&str>, otherwise: Form) -> Form {
    const XML: [Offer; 4] = [
        Offer { main: "application", sub: "problem+xml", version: None },
        Offer { main: "application", sub: "xacml+xml", version: Some("3.0") },
        Offer { main: "application", sub: "xml", version: None },
        Offer { main: "text", sub: "xml", version: None },
    ];
    const JSON: [Offer; 3] = [
        Offer { main: "application", sub: "problem+json", version: None },
        Offer { main: "application", sub: "xacml+json", version: None },
        Offer { main: "application", sub: "json", version: None },
    ];
    let offers: Vec<Offer> = match otherwise {
        Form::Xml => XML.into_iter().chain(JSON).collect(),
        Form::Json => JSON.into_iter().chain(XML).collect(),
    };
    match choose(accept, &offers) {
        Some(offer) if offer.sub.ends_with("json") => Form::Json,
        Some(_) => Form::Xml,
        None => otherwise,
    }
}

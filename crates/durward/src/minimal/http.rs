//! The REST profile of XACML over HTTP/1.1: requests at `/pdp`, each answered in its own form. What is refused is explained as RFC 9457 has it.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use durward_pdp::Pdp;
use durward_pdp::xacml::request::{Limits, RequestError, RequestErrorKind, Version};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::wire::MessageForm;

/// Most bytes of one request's body: about 5,000 attributes.
const BODY_BYTES_MAX: usize = 1 << 20;

/// Most bytes of request line and header fields together.
const HEADER_BYTES_MAX: usize = 16 << 10;

/// How long a connection may wait for its next request, the head of that included.
const HEADER_TIME_MAX: Duration = Duration::from_secs(60);

/// Longest from the end of the head until the body is there.
const BODY_TIME_MAX: Duration = Duration::from_secs(10);

/// Longest a connection lasts: clients make another one, and who does not read holds no place for ever.
const CONNECTION_TIME_MAX: Duration = Duration::from_secs(600);

/// How long the last answer of a connection may take then.
const LAST_ANSWER_TIME_MAX: Duration = Duration::from_secs(10);

type Answer = Response<Full<Bytes>>;

/// Serves a connection until it ends.
pub(super) async fn serve(stream: TcpStream, pdp: Arc<Pdp>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| async { Ok::<_, Infallible>(answer(&pdp, request).await) });
    let connection = http1::Builder::new()
        .half_close(true)
        .max_buf_size(HEADER_BYTES_MAX)
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME_MAX)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    // A client that goes away, or does not speak HTTP, was told so as far as it can be. One that does not read its answers loses its place.
    if timeout(CONNECTION_TIME_MAX, connection.as_mut()).await.is_err() {
        connection.as_mut().graceful_shutdown();
        let _ = timeout(LAST_ANSWER_TIME_MAX, connection).await;
    }
}

async fn answer(pdp: &Pdp, request: Request<Incoming>) -> Answer {
    let method = request.method();
    match request.uri().path() {
        "/pdp" if method == Method::POST => decide(pdp, request).await.unwrap_or_else(Refusal::into_answer),
        "/pdp" => not_allowed("POST"),
        "/health/live" | "/health/ready" if method == Method::GET || method == Method::HEAD => {
            answered("application/json", r#"{"status":"UP"}"#.to_owned())
        }
        "/health/live" | "/health/ready" => not_allowed("GET, HEAD"),
        _ => refused(
            StatusCode::NOT_FOUND,
            "this minimal build answers at `/pdp`, `/health/live` and `/health/ready`",
        ),
    }
}

async fn decide(pdp: &Pdp, request: Request<Incoming>) -> Result<Answer, Refusal> {
    let form = form_of(request.headers().get(CONTENT_TYPE))?;
    let body = Limited::new(request.into_body(), BODY_BYTES_MAX).collect();
    let body = match timeout(BODY_TIME_MAX, body).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            return Err(Refusal(
                StatusCode::PAYLOAD_TOO_LARGE,
                format!("a body has at most {BODY_BYTES_MAX} bytes"),
            ));
        }
        Ok(Err(_)) => {
            return Err(Refusal(StatusCode::BAD_REQUEST, "the body did not come as a whole".to_owned()));
        }
        Err(_) => {
            return Err(Refusal(StatusCode::REQUEST_TIMEOUT, "the body did not come in time".to_owned()));
        }
    };
    let limits = Limits::default();
    match form {
        MessageForm::Json => {
            let response = pdp.decide_request_json(&body, &limits)?;
            Ok(answered("application/xacml+json", response.to_json()))
        }
        MessageForm::Xml => {
            let (response, version) = pdp.decide_xml(&body, &limits)?;
            Ok(answered(xml_media_type(version), response.to_xml(version)))
        }
    }
}

/// The form that `Content-Type` says.
fn form_of(content_type: Option<&HeaderValue>) -> Result<MessageForm, Refusal> {
    let media_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    let is = |known: &[&str]| known.iter().any(|known| media_type.eq_ignore_ascii_case(known));
    if is(&["application/xacml+json", "application/json"]) {
        return Ok(MessageForm::Json);
    }
    if is(&["application/xacml+xml", "application/xml", "text/xml"]) {
        return Ok(MessageForm::Xml);
    }
    let detail =
        "say in `Content-Type` what the body is: `application/xacml+xml` or `application/xacml+json`";
    Err(Refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail.to_owned()))
}

fn xml_media_type(version: Version) -> &'static str {
    match version {
        Version::V1 => "application/xacml+xml; version=1.0",
        Version::V2 => "application/xacml+xml; version=2.0",
        Version::V3 => "application/xacml+xml; version=3.0",
    }
}

/// Why a request was not decided, for whoever sent it.
struct Refusal(StatusCode, String);

impl Refusal {
    fn into_answer(self) -> Answer {
        refused(self.0, &self.1)
    }
}

impl From<RequestError> for Refusal {
    fn from(error: RequestError) -> Refusal {
        let status = match error.kind {
            RequestErrorKind::Limit => StatusCode::PAYLOAD_TOO_LARGE,
            RequestErrorKind::IllFormed | RequestErrorKind::Structure | RequestErrorKind::Value => {
                StatusCode::BAD_REQUEST
            }
        };
        Refusal(status, error.to_string())
    }
}

fn answered(media_type: &'static str, text: String) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(text)));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    answer
}

fn refused(status: StatusCode, detail: &str) -> Answer {
    let title = status.canonical_reason().unwrap_or_default();
    let document = serde_json::json!({ "title": title, "status": status.as_u16(), "detail": detail });
    let mut answer = answered("application/problem+json", document.to_string());
    *answer.status_mut() = status;
    answer
}

fn not_allowed(methods: &'static str) -> Answer {
    let mut answer = refused(StatusCode::METHOD_NOT_ALLOWED, &format!("this path takes {methods}"));
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    answer
}

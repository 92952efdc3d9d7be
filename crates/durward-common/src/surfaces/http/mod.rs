//! What surfaces over HTTP share: bodies within limits, what a caller likes to read, problems, streams of events.

pub mod body;
pub mod client_places;
pub mod cookies;
pub mod direct;
pub mod events;
pub mod grpc;
pub mod incoming;
pub mod links;
pub mod negotiate;
pub mod phase;
pub mod problem;

use std::net::SocketAddr;
use std::pin::Pin;

use bytes::Bytes;
use durward_net::trace::Trace;
use durward_settings::SurfaceSet;
use http_body_util::Full;
use hyper::Response;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};

/// Said of what is there and not on the listener that was asked.
pub const NOT_HERE: &str = "this is not answered on this listener; see `[[listen]]` and `server.surfaces`";

/// Answers are small and whole.
pub type Answer = Response<Full<Bytes>>;

/// An answer under way, boxed: the surface is compiled in its own crate, not where the answer is awaited.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;

/// The two wire forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// XML.
    Xml,
    /// JSON.
    Json,
}

/// In the extensions of an answer: its caller was authenticated.
#[derive(Clone, Copy, Debug)]
pub struct Authenticated;

/// Whose request it is.
pub struct Call {
    /// Who calls; without a port where a proxy said it.
    pub client: SocketAddr,
    /// Who connected, whatever they say.
    pub peer: SocketAddr,
    /// Whether they had to show a certificate of `client_authorities`.
    pub has_certificate: bool,
    /// What the request is called in logs.
    pub id: String,
    /// The trace it belongs to.
    pub trace: Trace,
    /// What is answered where they called.
    pub surfaces: SurfaceSet,
}

/// Lists the methods there are.
pub fn allow(headers: &mut HeaderMap, methods: &[&str]) {
    if let Ok(methods) = HeaderValue::from_str(&methods.join(", ")) {
        headers.insert(header::ALLOW, methods);
    }
}

/// An answer with status 200 and this text.
pub fn text_answer(media_type: &'static str, text: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(text.into()));
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    answer
}

/// A header field as text; fields repeated are read as if only the first were there.
pub fn text_of<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Text that can stand between tags and within quotes of XML and HTML. Characters that XML cannot hold at all
/// become replacement characters.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\t' | '\n' => escaped.push(character),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            _ if character.is_control() => escaped.push('\u{fffd}'),
            _ => escaped.push(character),
        }
    }
    escaped
}

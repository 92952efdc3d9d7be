//! Calls over gRPC: what is one, and answers, whose status comes in trailers behind their messages.
//!
//! A status of HTTP is only for what is no call at all; of a call that fails, the status is in the headers already ("Trailers-Only").

use std::convert::Infallible;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
pub use durward_wire::grpc::MEDIA_TYPE;
use durward_wire::grpc::{self, Code};
use hyper::body::Frame;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode, Version};

use super::events::Body;
use super::problem::Problem;
use super::text_of;

const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// What an answer says.
pub enum Said {
    /// One message.
    One(Bytes),
    /// Messages for as long as somebody reads them.
    Many(Box<dyn Messages>),
    /// All messages are said, and this is left.
    Status(Code),
    /// Nothing more: all is said, or the call failed and the headers say so.
    Nothing,
}

/// Messages that come one after the other, each with its prefix.
pub trait Messages: Send {
    /// The next one, or the status by which the call ends.
    fn poll_next(&mut self, task: &mut Context<'_>) -> Poll<Result<Bytes, Code>>;
}

/// Whether a request is a call, whatever it calls.
pub fn is_call<B>(request: &hyper::Request<B>) -> bool {
    check_form(request).is_ok()
}

/// Whether a request is a call.
///
/// # Errors
/// Why it is none.
pub fn check_form<B>(request: &hyper::Request<B>) -> Result<(), Problem> {
    if request.version() != Version::HTTP_2 {
        let detail = "gRPC is spoken over HTTP/2; without TLS, a client must know that beforehand";
        return Err(Problem::new(StatusCode::HTTP_VERSION_NOT_SUPPORTED, detail));
    }
    if !text_of(request.headers(), &header::CONTENT_TYPE).is_some_and(is_of_grpc) {
        let detail = "a call is sent with `Content-Type: application/grpc`";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    }
    Ok(())
}

/// Messages in protocol buffers, which is what nothing behind the name means.
fn is_of_grpc(content_type: &str) -> bool {
    // Most say no more.
    if content_type == MEDIA_TYPE {
        return true;
    }
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    let start = media_type.get(..MEDIA_TYPE.len());
    let rest = media_type.get(MEDIA_TYPE.len()..);
    start.is_some_and(|start| start.eq_ignore_ascii_case(MEDIA_TYPE)) && matches!(rest, Some("" | "+proto"))
}

/// How long the caller waits, if it says so.
pub fn timeout(headers: &HeaderMap) -> Option<Duration> {
    text_of(headers, &TIMEOUT).and_then(grpc::timeout)
}

/// An answer of one message.
pub fn reply(write: impl FnOnce(&mut BytesMut)) -> Response<Body> {
    message(framed(write))
}

/// An answer of one message, which has its prefix.
pub fn message(message: Bytes) -> Response<Body> {
    said(Said::One(message))
}

/// A message with its prefix.
pub fn framed(write: impl FnOnce(&mut BytesMut)) -> Bytes {
    let mut out = BytesMut::with_capacity(256);
    grpc::put_message(&mut out, write);
    out.freeze()
}

/// An answer of several.
pub fn replies(messages: Box<dyn Messages>) -> Response<Body> {
    said(Said::Many(messages))
}

/// A call that fails.
pub fn failure(code: Code, message: &str) -> Response<Body> {
    let mut answer = said(Said::Nothing);
    let headers = answer.headers_mut();
    headers.insert(STATUS, HeaderValue::from_static(code.as_str()));
    if let Ok(message) = HeaderValue::try_from(grpc::message(message)) {
        headers.insert(MESSAGE, message);
    }
    answer
}

fn said(said: Said) -> Response<Body> {
    let mut answer = Response::new(Body::Grpc(said));
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    answer
}

impl Said {
    pub(super) fn poll_frame(
        &mut self,
        task: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let (frame, next) = match std::mem::replace(self, Said::Nothing) {
            Said::One(message) => (Frame::data(message), Said::Status(Code::Ok)),
            Said::Many(mut messages) => match messages.poll_next(task) {
                Poll::Pending => {
                    *self = Said::Many(messages);
                    return Poll::Pending;
                }
                Poll::Ready(Ok(message)) => (Frame::data(message), Said::Many(messages)),
                Poll::Ready(Err(code)) => (Frame::trailers(trailers(code)), Said::Nothing),
            },
            Said::Status(code) => (Frame::trailers(trailers(code)), Said::Nothing),
            Said::Nothing => return Poll::Ready(None),
        };
        *self = next;
        Poll::Ready(Some(Ok(frame)))
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self, Said::Nothing)
    }

    pub(super) fn is_endless(&self) -> bool {
        matches!(self, Said::Many(_))
    }
}

/// What stands behind the messages of a call.
pub fn trailers(code: Code) -> HeaderMap {
    let mut trailers = HeaderMap::with_capacity(1);
    trailers.insert(STATUS, HeaderValue::from_static(code.as_str()));
    trailers
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[test]
    fn a_call_is_of_http_2_and_says_so() {
        for (version, content_type, expected) in [
            (Version::HTTP_2, "application/grpc", None),
            (Version::HTTP_2, "application/grpc+proto", None),
            (Version::HTTP_2, "Application/gRPC; charset=utf-8", None),
            (Version::HTTP_2, "application/grpc+json", Some(415)),
            (Version::HTTP_2, "application/grpc-web", Some(415)),
            (Version::HTTP_2, "application/json", Some(415)),
            (Version::HTTP_2, "", Some(415)),
            (Version::HTTP_11, "application/grpc", Some(505)),
        ] {
            let request = hyper::Request::post("/a.B/C").version(version);
            let request = request.header("content-type", content_type).body(()).unwrap();
            let found = check_form(&request).err().map(|problem| problem.status().as_u16());
            assert_eq!(found, expected, "{version:?} {content_type}");
        }
    }

    /// What comes of an answer: bytes of messages, and at last a status.
    fn all(mut said: Said) -> (Vec<u8>, Option<String>) {
        let mut task = Context::from_waker(Waker::noop());
        let (mut bytes, mut status) = (Vec::new(), None);
        while let Poll::Ready(Some(Ok(frame))) = said.poll_frame(&mut task) {
            assert!(status.is_none(), "nothing comes behind the status");
            match frame.into_data() {
                Ok(data) => bytes.extend_from_slice(&data),
                Err(frame) => {
                    let trailers = frame.into_trailers().unwrap();
                    status = Some(trailers["grpc-status"].to_str().unwrap().to_owned());
                }
            }
        }
        assert!(said.is_over());
        (bytes, status)
    }

    #[test]
    fn a_status_comes_behind_all_messages() {
        struct Two(u8);
        impl Messages for Two {
            fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Result<Bytes, Code>> {
                self.0 += 1;
                Poll::Ready(if self.0 > 2 { Err(Code::Unavailable) } else { Ok(Bytes::from_static(b"m")) })
            }
        }
        assert_eq!(all(Said::One(Bytes::from_static(b"m"))), (b"m".to_vec(), Some("0".to_owned())));
        assert_eq!(all(Said::Many(Box::new(Two(0)))), (b"mm".to_vec(), Some("14".to_owned())));
        let failed = failure(Code::Unimplemented, "n\u{f6}");
        assert_eq!(
            (&failed.headers()["grpc-status"], &failed.headers()["grpc-message"]),
            (&HeaderValue::from_static("12"), &HeaderValue::from_static("n%C3%B6"))
        );
    }
}

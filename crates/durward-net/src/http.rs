//! Requests over HTTP, and bodies of answers within a limit: the one client that everything here asks with.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::{Request, Response};
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::connect::Connector;

/// Why there is no answer, or not all of it. Shown down to the cause; addresses and header fields are in none of it.
#[derive(Debug)]
pub enum HttpError {
    /// The way to the service, or the service: it was not reached, or broke off.
    Network(Box<dyn Error + Send + Sync>),
    /// The answer has more than so many bytes.
    TooLarge(usize),
}

impl HttpError {
    /// What went wrong, from its cause on: that a request failed is known.
    pub fn cause(&self) -> String {
        match self {
            HttpError::Network(error) => match error.source() {
                Some(cause) => told(cause),
                None => told(&**error),
            },
            HttpError::TooLarge(_) => self.to_string(),
        }
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HttpError::Network(error) => f.write_str(&told(&**error)),
            HttpError::TooLarge(bytes_max) => write!(f, "the answer has more than {bytes_max} bytes"),
        }
    }
}

impl Error for HttpError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            HttpError::Network(error) => Some(&**error),
            HttpError::TooLarge(_) => None,
        }
    }
}

impl From<hyper::Error> for HttpError {
    fn from(error: hyper::Error) -> HttpError {
        HttpError::Network(Box::new(error))
    }
}

/// An answer that is waited for. In memory of its own, so that the client is compiled here and not in every crate that waits.
pub type HttpAnswering = Pin<Box<dyn Future<Output = Result<Response<Incoming>, HttpError>> + Send>>;

/// Asks services, over connections that are kept for the next request.
#[derive(Clone)]
pub struct HttpClient {
    connector: Connector,
    send: Arc<dyn Fn(Request<Full<Bytes>>) -> HttpAnswering + Send + Sync>,
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient").field("connector", &self.connector).finish_non_exhaustive()
    }
}

impl HttpClient {
    /// Connections are opened by `connector` and kept for `idle_time_max`, at most `idle_max` of one service.
    pub fn new(connector: Connector, idle_time_max: Duration, idle_max: usize) -> HttpClient {
        let pool = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(idle_time_max)
            .pool_max_idle_per_host(idle_max)
            .build(connector.clone());
        let send = Arc::new(move |request| -> HttpAnswering {
            let answer = pool.request(request);
            Box::pin(async move { answer.await.map_err(|error| HttpError::Network(Box::new(error))) })
        });
        HttpClient { connector, send }
    }

    /// What opens the connections.
    pub fn connector(&self) -> &Connector {
        &self.connector
    }

    /// Sends a request and gives the answer, of whichever status, as soon as its head is there. Redirects are not followed.
    ///
    /// # Errors
    /// A service that is not reached, is not who it says, or does not speak HTTP.
    pub fn send(&self, request: Request<Full<Bytes>>) -> HttpAnswering {
        (self.send)(request)
    }
}

/// All of a body, of at most so many bytes.
///
/// # Errors
/// A body that is longer, or breaks off.
pub async fn read_within(mut body: Incoming, bytes_max: usize) -> Result<Vec<u8>, HttpError> {
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(HttpError::TooLarge(bytes_max));
    }
    let mut all = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(bytes) = frame?.into_data() else { continue };
        if all.len() + bytes.len() > bytes_max {
            return Err(HttpError::TooLarge(bytes_max));
        }
        all.extend_from_slice(&bytes);
    }
    Ok(all)
}

/// What went wrong, down to the cause; none of the crates below puts addresses or header fields into it.
pub fn told(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let reason = error.to_string();
        if !text.contains(&reason) {
            text = format!("{text}: {reason}");
        }
        cause = error.source();
    }
    text
}

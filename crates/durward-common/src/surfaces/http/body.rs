//! Bodies, received within limits of size, memory and time.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use durward_settings::ServerSettings;
use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::Body;
use tokio::time::timeout;

use super::incoming::Incoming;
use super::problem::Problem;
use crate::base::limits::Memory;
use crate::base::metrics::Metrics;

/// How much of a body that is too large is still taken, so that its sender gets to read why it was refused and does
/// not find the connection reset while it sends.
const DISCARD_BYTES_MAX: usize = 8 * 1024 * 1024;
/// How long durward goes on reading such a body.
const DISCARD_TIME_MAX: Duration = Duration::from_secs(2);

/// Most bytes of a body, and what metrics call that: the setting that says so, or `SECTION.body` where none does.
type Limit = (usize, &'static str);

/// Receives bodies, all of them together within the memory that there is.
pub struct Bodies {
    bytes_max: usize,
    time_max: Duration,
    memory: Arc<Memory>,
    metrics: Arc<Metrics>,
}

/// A part of the memory for bodies; given back when dropped.
struct Held<'m> {
    memory: &'m Memory,
    bytes: usize,
}

impl Held<'_> {
    /// Whether there was room for so many bytes more.
    fn grow(&mut self, bytes: usize) -> bool {
        self.bytes += bytes;
        self.memory.hold(bytes)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.memory.give_back(self.bytes);
    }
}

impl Bodies {
    /// Within the limits of `[server]`.
    pub fn new(settings: &ServerSettings, memory: &Arc<Memory>, metrics: &Arc<Metrics>) -> Bodies {
        Bodies {
            bytes_max: settings.body_bytes_max,
            time_max: settings.request_time_max(),
            memory: Arc::clone(memory),
            metrics: Arc::clone(metrics),
        }
    }

    /// Whether a body may have so many bytes.
    pub fn may_have(&self, bytes: usize) -> bool {
        bytes <= self.bytes_max
    }

    /// The whole body.
    ///
    /// # Errors
    /// Why it cannot be had, as the caller is told.
    pub async fn receive(&self, body: Incoming) -> Result<Bytes, Problem> {
        self.receive_within(body, (self.bytes_max, "server.body_bytes_max")).await
    }

    /// The whole body, within a limit of its own.
    ///
    /// # Errors
    /// As [`Bodies::receive`].
    pub async fn receive_within(&self, mut body: Incoming, limit: Limit) -> Result<Bytes, Problem> {
        if body.is_end_stream() {
            // Nothing to wait for: a validation has no body.
            return Ok(Bytes::new());
        }
        match timeout(self.time_max, self.collect(&mut body, limit)).await {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(refusal)) => {
                // The connection itself is given up after twice the time of a request.
                let time = DISCARD_TIME_MAX.min(self.time_max / 2);
                // Late or never is all the same: the answer goes out now.
                let _ = timeout(time, discard(&mut body)).await;
                Err(refusal)
            }
            Err(_) => {
                self.metrics.limit_hit("server.request_time_ms_max");
                let detail = format!("the body was not there within {} ms", self.time_max.as_millis());
                Err(Problem::new(StatusCode::REQUEST_TIMEOUT, detail).closing())
            }
        }
    }

    async fn collect(&self, body: &mut Incoming, limit: Limit) -> Result<Bytes, Problem> {
        let (bytes_max, _) = limit;
        if body.size_hint().lower() > bytes_max as u64 {
            return Err(self.too_large(limit));
        }
        let Some(first) = next(body).await? else { return Ok(Bytes::new()) };
        if body.is_end_stream() && first.len() <= bytes_max {
            // The usual case: it came with the header, and is not copied.
            return Ok(first);
        }
        let mut held = Held { memory: &self.memory, bytes: 0 };
        let mut whole = BytesMut::new();
        let mut next_part = Some(first);
        while let Some(part) = next_part {
            if whole.len() + part.len() > bytes_max {
                return Err(self.too_large(limit));
            }
            if !held.grow(part.len()) {
                self.metrics.limit_hit("server.body_memory_bytes_max");
                return Err(
                    Problem::unavailable("too many bodies are being received at once; try again").closing()
                );
            }
            whole.extend_from_slice(&part);
            next_part = next(body).await?;
        }
        Ok(whole.freeze())
    }

    fn too_large(&self, (bytes_max, setting): Limit) -> Problem {
        self.metrics.limit_hit(setting);
        let has_setting = setting.split_once('.').is_none_or(|(_, name)| name != "body");
        let why = if has_setting { format!("`{setting}`") } else { "the most that is taken here".to_owned() };
        let detail = format!("the body is longer than {bytes_max} bytes ({why})");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail).closing()
    }
}

/// The next part of the body, trailers left out.
async fn next(body: &mut Incoming) -> Result<Option<Bytes>, Problem> {
    loop {
        match body.frame().await {
            None => return Ok(None),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
            Some(Err(error)) => {
                let detail = format!("the body broke off: {error}");
                return Err(Problem::new(StatusCode::BAD_REQUEST, detail).closing());
            }
        }
    }
}

async fn discard(body: &mut Incoming) {
    let mut discarded = 0;
    while discarded < DISCARD_BYTES_MAX {
        match next(body).await {
            Ok(Some(part)) => discarded += part.len(),
            Ok(None) | Err(_) => return,
        }
    }
}

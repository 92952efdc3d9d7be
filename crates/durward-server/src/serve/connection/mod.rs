//! One connection over HTTP: which version it speaks, and how it ends.
//!
//! A client of HTTP/2 says so by its first bytes, the preface (RFC 9113, 3.4), with TLS and without; everything else is HTTP/1.1.

mod activity;
#[cfg(test)]
mod congested;
mod corked;
mod http1;
mod http2;
mod in_place;
mod requests;
mod rewound;
mod sent;

use std::error::Error;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use durward_common::base::socket;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::sync::watch;
use tokio::time::{Sleep, timeout_at};

use super::state::{Http, Peer};
pub(super) use activity::{Activity, Idle};
pub(super) use http1::serve_one;
use rewound::Rewound;

/// Most header fields of a request.
const HEADER_COUNT_MAX: usize = 64;

/// What a client of HTTP/2 sends first (RFC 9113, 3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How long a connection may take from being accepted to its first request, where the server stops: whoever connected a moment before
/// cannot know, and their request is answered.
const FIRST_REQUEST_TIME: Duration = Duration::from_secs(1);

/// How a connection ended.
enum End {
    Done,
    /// The library or the system gave it up.
    Failed(Box<dyn Error + Send + Sync>),
    /// The setting that says so.
    TooSlow(&'static str),
}

/// Serves a connection until it ends, is too slow, or the server stops and its last request is answered; `activity` is told what it does.
pub(super) async fn serve_as<S>(
    mut stream: S,
    peer: Peer,
    http: Arc<Http>,
    mut stopping: watch::Receiver<bool>,
    activity: Arc<Activity>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let first_until = Instant::now() + FIRST_REQUEST_TIME;
    let opening = {
        let mut opening = pin!(opening(&mut stream, &http));
        let stopped = async {
            // A server that is gone has stopped.
            let _ = stopping.wait_for(|is_stopping| *is_stopping).await;
        };
        tokio::select! {
            biased;
            opening = &mut opening => opening,
            () = stopped => match timeout_at(first_until.into(), opening).await {
                Ok(opening) => opening,
                // Nothing was asked on it.
                Err(_) => return,
            },
        }
    };
    let end = match opening {
        Ok(Opening { is_http2: true, bytes }) => {
            http2::serve(Rewound::new(stream, bytes), peer, &http, stopping, &activity).await
        }
        Ok(Opening { is_http2: false, bytes }) => {
            http1::serve(stream, bytes, peer, &http, stopping, &activity).await
        }
        Err(end) => end,
    };
    match end {
        End::Done => {}
        // The system noticed first that what was written is not taken.
        End::Failed(error) if is_given_up(&*error) => http.metrics.limit_hit("server.request_time_ms_max"),
        End::Failed(error) => {
            http.metrics.connection("failed");
            tracing::debug!(client = %peer.address, %error, "a connection failed");
        }
        // An idle connection that ends is the ordinary course of things and no limit that was hit.
        End::TooSlow("server.idle_time_ms_max") => {}
        End::TooSlow(setting) => http.metrics.limit_hit(setting),
    }
}

/// The first bytes of a connection, and what they say.
struct Opening {
    is_http2: bool,
    bytes: Bytes,
}

/// Reads until the bytes are the preface of HTTP/2, or cannot become it. A client that says nothing is idle; one that sends part
/// of the preface has the time of a header for the rest.
async fn opening<S: AsyncRead + Unpin>(stream: &mut S, http: &Http) -> Result<Opening, End> {
    let settings = &http.settings.server;
    let mut bytes = BytesMut::with_capacity(settings.header_bytes_max.min(FIRST_READ_BYTES));
    let mut until = (Instant::now() + settings.idle_time_max(), "server.idle_time_ms_max");
    loop {
        let was_empty = bytes.is_empty();
        match timeout_at(until.0.into(), stream.read_buf(&mut bytes)).await {
            Err(_) => return Err(End::TooSlow(until.1)),
            Ok(Err(error)) => return Err(End::Failed(error.into())),
            Ok(Ok(0)) if bytes.is_empty() => return Err(End::Done),
            // HTTP/1.1 says what is wrong with a request that breaks off.
            Ok(Ok(0)) => return Ok(Opening { is_http2: false, bytes: bytes.freeze() }),
            Ok(Ok(_)) => {}
        }
        if bytes.starts_with(PREFACE) {
            return Ok(Opening { is_http2: true, bytes: bytes.freeze() });
        }
        if !PREFACE.starts_with(&bytes) {
            return Ok(Opening { is_http2: false, bytes: bytes.freeze() });
        }
        if was_empty {
            until = (Instant::now() + settings.header_time_max(), "server.header_time_ms_max");
        }
    }
}

/// How much is read before it is known what is spoken; a usual request fits.
const FIRST_READ_BYTES: usize = 4 * 1024;

/// Whether the system gave the connection up.
fn is_given_up(error: &(dyn Error + 'static)) -> bool {
    let mut at = Some(error);
    while let Some(error) = at {
        if error.downcast_ref::<io::Error>().is_some_and(socket::is_given_up) {
            return true;
        }
        at = error.source();
    }
    false
}

/// Ready when what is waited for takes too long: `deadline` gives the moment and the setting that says so. The timer follows a
/// deadline that came nearer at once, and one that moved away only when it fires: requests that are answered without delay never
/// touch it.
fn poll_timer(
    mut timer: Pin<&mut Sleep>,
    deadline: Option<(Instant, &'static str)>,
    cx: &mut Context<'_>,
) -> Poll<&'static str> {
    let Some((deadline, setting)) = deadline else { return Poll::Pending };
    if timer.deadline() > deadline.into() {
        timer.as_mut().reset(deadline.into());
    }
    while timer.as_mut().poll(cx).is_ready() {
        if deadline <= Instant::now() {
            return Poll::Ready(setting);
        }
        timer.as_mut().reset(deadline.into());
    }
    Poll::Pending
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::SystemTime;

    use durward_pdp::Pdp;
    use tokio::io::{AsyncWriteExt, DuplexStream, ReadBuf, duplex};

    use super::congested::{Client, Congested, Pace};
    use super::*;
    use crate::serve::compose::{Observers, Parts};
    use durward_settings::{Settings, SurfaceSet};

    const ALL_MAY: &str = r#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="all" Version="1.0"
        RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:deny-unless-permit">
        <Target/><Rule RuleId="all-may" Effect="Permit"/></Policy>"#;

    /// A stream that counts what is written at once.
    struct Counted {
        stream: DuplexStream,
        writes: Arc<AtomicUsize>,
    }

    impl AsyncRead for Counted {
        fn poll_read(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Pin::new(&mut self.stream).poll_read(cx, buf)
        }
    }

    impl AsyncWrite for Counted {
        fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
            self.writes.fetch_add(1, Ordering::Relaxed);
            Pin::new(&mut self.stream).poll_write(cx, buf)
        }

        fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.stream).poll_flush(cx)
        }

        fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.stream).poll_shutdown(cx)
        }
    }

    async fn serve<S>(stream: S, client: SocketAddr, http: Arc<Http>, stopping: watch::Receiver<bool>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let surfaces = SurfaceSet::of(&http.settings.server.surfaces);
        let peer = Peer { address: client, has_certificate: false, surfaces };
        serve_as(stream, peer, http, stopping, Arc::new(Activity::new(Instant::now()))).await;
    }

    fn parts() -> Parts {
        let clock: crate::Clock = Arc::new(|| SystemTime::UNIX_EPOCH);
        let (settings, metrics) = (Settings::default(), Parts::metrics());
        let observers = Observers::open(&settings, &metrics).unwrap();
        let parts = Parts::new(settings, clock, metrics, observers, None).unwrap();
        parts.policies.put_in_place(Arc::new(Pdp::builder().policy("all.xml", ALL_MAY).build().unwrap()));
        parts
    }

    /// Sends it in one piece, and reads until there are so many Permits.
    async fn permits(client: &mut DuplexStream, text: &str, count: usize) {
        client.write_all(text.as_bytes()).await.unwrap();
        let mut seen = BytesMut::new();
        while String::from_utf8_lossy(&seen).matches("Permit").count() < count {
            let read = client.read_buf(&mut seen).await.unwrap();
            assert!(read > 0, "{seen:?}");
        }
    }

    #[tokio::test]
    async fn requests_that_come_with_one_read_are_answered_by_one_write() {
        let (mut client, stream) = duplex(64 * 1024);
        let writes = Arc::new(AtomicUsize::new(0));
        let parts = parts();
        let counted = Counted { stream, writes: Arc::clone(&writes) };
        let from = SocketAddr::from(([127, 0, 0, 1], 1));
        let serving = serve(counted, from, Arc::clone(&parts.http), parts.stop.subscribe());
        let body = r#"{"Request":{"AccessSubject":{"Attribute":[]}}}"#;
        let ask = format!(
            "POST /pdp HTTP/1.1\r\nHost: x\r\nContent-Type: application/xacml+json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let asking = async {
            // The first of a connection, which are read before it is known what is spoken, and those that follow.
            for (number, count) in [10, 1, 12].into_iter().enumerate() {
                permits(&mut client, &ask.repeat(count), count).await;
                assert_eq!(writes.load(Ordering::Relaxed), number + 1, "{count} at once");
            }
            drop(client);
        };
        tokio::join!(serving, asking);
    }
    /// A request for a decision; `fields` are further lines of its head.
    fn ask(id: &str, fields: &str) -> String {
        let body = r#"{"Request":{"AccessSubject":{"Attribute":[]}}}"#;
        let length = body.len();
        format!(
            "POST /pdp HTTP/1.1\r\nHost: x\r\nContent-Type: application/xacml+json\r\nX-Request-Id: {id}\r\n\
             {fields}Content-Length: {length}\r\n\r\n{body}"
        )
    }

    /// What a server answers to these pieces, each sent when the one before it was taken, until the last of these ids was answered.
    async fn answered(pieces: &[&str], last: &str) -> String {
        let (mut client, stream) = duplex(64 * 1024);
        let parts = parts();
        let from = SocketAddr::from(([127, 0, 0, 1], 1));
        let serving = serve(stream, from, Arc::clone(&parts.http), parts.stop.subscribe());
        let asking = async {
            for piece in pieces {
                client.write_all(piece.as_bytes()).await.unwrap();
                tokio::task::yield_now().await;
            }
            let mut seen = BytesMut::new();
            let is_last = |seen: &BytesMut| {
                let text = String::from_utf8_lossy(seen).into_owned();
                text.split_once(&format!("x-request-id: {last}\r\n")).is_some_and(|(_, rest)| {
                    rest.split_once("\r\n\r\n").is_some_and(|(_, body)| !body.is_empty())
                })
            };
            while !is_last(&seen) {
                let read = client.read_buf(&mut seen).await.unwrap();
                assert!(read > 0, "{}", String::from_utf8_lossy(&seen));
            }
            drop(client);
            String::from_utf8_lossy(&seen).into_owned()
        };
        let ((), seen) = tokio::join!(serving, asking);
        seen
    }

    /// The ids of answers, in their order.
    fn ids(text: &str) -> Vec<&str> {
        text.lines().filter_map(|line| line.strip_prefix("x-request-id: ")).collect()
    }

    #[tokio::test]
    async fn answers_stay_in_order_wherever_the_bytes_are_cut() {
        let home = "GET / HTTP/1.1\r\nHost: x\r\nX-Request-Id: home\r\n\r\n";
        let teapot = "BREW /pdp HTTP/1.1\r\nHost: x\r\nX-Request-Id: tea\r\n\r\n";
        let text = [
            &ask("a", ""),
            home,
            &ask("b", ""),
            &ask("c", "Accept: image/png\r\n"),
            teapot,
            &ask("d", "Connection: keep-alive, x-any\r\n"),
            &ask("e", ""),
            &ask("f", ""),
        ]
        .concat();
        let expected = ["a", "home", "b", "c", "tea", "d", "e", "f"];
        assert_eq!(ids(&answered(&[&text], "f").await), expected);
        for cut in 1..text.len() {
            let (first, second) = text.split_at(cut);
            let seen = answered(&[first, second], "f").await;
            assert_eq!(ids(&seen), expected, "cut at {cut}: {seen}");
            assert_eq!(seen.matches("Permit").count(), 5, "cut at {cut}: {seen}");
        }
        // In small pieces.
        let bytes: Vec<String> = text.chars().map(String::from).collect();
        let bytes: Vec<&str> = bytes.iter().map(String::as_str).collect();
        assert_eq!(ids(&answered(&bytes, "f").await), expected);
    }

    /// What becomes of a client that sends these pieces, closes its half, and takes the answers at this pace.
    async fn congested(parts: &Parts, pieces: &[String], pace: Pace) -> Client {
        let (stream, client) = Congested::new(pieces, pace);
        let from = SocketAddr::from(([127, 0, 0, 1], 1));
        serve(stream, from, Arc::clone(&parts.http), parts.stop.subscribe()).await;
        client.lock().unwrap().clone()
    }

    /// Without the dates, some of which are of the library's clock.
    fn undated(client: &Client) -> String {
        let text = String::from_utf8_lossy(&client.received).into_owned();
        text.lines().filter(|line| !line.starts_with("date: ")).collect::<Vec<&str>>().join("\n")
    }

    #[tokio::test]
    async fn answers_stay_in_order_and_whole_however_little_is_taken_at_once() {
        let live = "GET /health/live HTTP/1.1\r\nHost: x\r\nX-Request-Id: live\r\n\r\n".to_owned();
        let by_library = "Connection: keep-alive, x-any\r\n";
        let requests =
            [ask("a", ""), live, ask("b", ""), ask("c", by_library), ask("d", by_library), ask("e", "")];
        let parts = parts();
        for pieces in [vec![requests.concat()], requests.to_vec()] {
            let at_once = Pace { write_max: usize::MAX, waits: 0 };
            let all = undated(&congested(&parts, &pieces, at_once).await);
            assert_eq!(
                (ids(&all), all.matches("Permit").count()),
                (vec!["a", "live", "b", "c", "d", "e"], 5),
                "{all}"
            );
            // Each size up to that of an answer or so, and some that several fit in.
            for write_max in (1..300).chain((300..=all.len()).step_by(61)) {
                for waits in [1, 2] {
                    let pace = Pace { write_max, waits };
                    assert_eq!(undated(&congested(&parts, &pieces, pace).await), all, "{pace:?}");
                }
            }
        }
    }

    #[tokio::test]
    async fn no_request_is_read_while_answers_wait_to_be_sent() {
        let names: Vec<String> = (0..40).map(|number| number.to_string()).collect();
        let pieces: Vec<String> = names.iter().map(|name| ask(name, "")).collect();
        let parts = parts();
        for write_max in [1, 100, 1000, usize::MAX] {
            let client = congested(&parts, &pieces, Pace { write_max, waits: 2 }).await;
            let text = String::from_utf8_lossy(&client.received).into_owned();
            assert_eq!(ids(&text), names);
            // The clock of the server stands still, unlike the library's.
            assert_eq!(text.matches("date: Thu, 01 Jan 1970").count(), names.len(), "all directly: {text}");
            assert!(!client.is_read_ahead, "{write_max} bytes at once");
        }
    }

    #[tokio::test]
    async fn what_follows_a_request_without_a_certain_end_is_answered_too() {
        let chunked = "POST /pdp HTTP/1.1\r\nHost: x\r\nContent-Type: application/xacml+json\r\nX-Request-Id: chunked\r\n\
                       Transfer-Encoding: chunked\r\n\r\n2e\r\n{\"Request\":{\"AccessSubject\":{\"Attribute\":[]}}}\r\n0\r\n\r\n";
        let text = [&ask("a", ""), chunked, &ask("b", "")].concat();
        for cut in (1..text.len()).step_by(7) {
            let (first, second) = text.split_at(cut);
            let seen = answered(&[first, second], "b").await;
            assert_eq!(
                (ids(&seen), seen.matches("Permit").count()),
                (vec!["a", "chunked", "b"], 3),
                "{seen}"
            );
        }
    }

    #[tokio::test]
    async fn an_answer_is_the_same_whoever_writes_it() {
        let fields = |text: &str| {
            let head = text.split_once("\r\n\r\n").map_or(text, |(head, _)| head);
            let lines = head.lines().filter(|line| !line.starts_with("date: "));
            lines.map(str::to_owned).collect::<Vec<String>>()
        };
        for accept in ["", "Accept: application/xml\r\n", "Accept: text/xml, application/json;q=0.5\r\n"] {
            let direct = answered(&[&ask("a", accept)], "a").await;
            // What is said of the connection is the library's to understand.
            let by_library = ask("a", &format!("{accept}Connection: keep-alive, x-any\r\n"));
            let library = answered(&[&by_library], "a").await;
            assert_eq!(fields(&direct), fields(&library));
            assert_eq!(direct.split_once("\r\n\r\n").unwrap().1, library.split_once("\r\n\r\n").unwrap().1);
            let date =
                |text: &str| text.lines().any(|line| line.starts_with("date: ") && line.ends_with(" GMT"));
            assert!(date(&direct) && date(&library), "{direct} {library}");
        }
    }
}

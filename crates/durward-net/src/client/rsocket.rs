//! SAPL's decisions over RSocket: `decide-once`, and `decide` as a stream.
//!
//! A connection is opened with the first question and kept for the next. One that has not been used for a while is given
//! up: nobody answered the server's signs of life meanwhile.

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use durward_subscription::{Decision, Subscription};
use durward_wire::rsocket::frame::ErrorCode;
use durward_wire::rsocket::requester::{Closed, Event, Limits, Refused, Requester};
use durward_wire::sapl::protobuf;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep_until, timeout};

use super::server_address::{RsocketAddress, Where};
use super::{ANSWER_BYTES_MAX, ClientError, Common, SILENCE_MAX, legible};
use crate::connect::Stream;

/// Bytes read at once.
const READ_BYTES: usize = 16 * 1024;

/// Most values in one answer, those within others included: as many as durward's server takes in a question.
const VALUES_MAX: usize = 100_000;

/// How often the server is asked whether it lives, and how long a connection may lie unused.
const KEEP_ALIVE: Duration = Duration::from_secs(20);

/// Asks over RSocket.
pub(super) struct RsocketClient {
    address: RsocketAddress,
    common: Common,
    open: Option<Open>,
    /// What is watched.
    watched: Option<u32>,
}

struct Open {
    stream: Stream,
    requester: Requester,
    used: Instant,
}

/// Why nothing happens any more.
enum Broken {
    Closed(Closed),
    Io(io::Error),
    Ended,
}

impl fmt::Debug for RsocketClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RsocketClient").field("address", &self.address).finish_non_exhaustive()
    }
}

impl RsocketClient {
    pub(super) fn new(address: RsocketAddress, common: Common) -> RsocketClient {
        RsocketClient { address, common, open: None, watched: None }
    }

    pub(super) async fn decide_once(&mut self, subscription: &Subscription) -> Result<Decision, ClientError> {
        let question = self.question(subscription)?;
        let asked = timeout(self.common.answer_time_max, self.ask_patiently(&question)).await;
        let decided = asked.unwrap_or_else(|_| Err(self.late()));
        if decided.as_ref().is_err_and(|error| !error.concerns_question_only()) {
            self.open = None;
        }
        decided
    }

    /// A connection that was kept may have been closed meanwhile: then a new one is asked.
    async fn ask_patiently(&mut self, question: &[u8]) -> Result<Decision, ClientError> {
        let was_kept = self.open.is_some();
        match self.ask_once(question).await {
            Err(ClientError::Network(_) | ClientError::Busy(_)) if was_kept => {
                self.open = None;
                self.ask_once(question).await
            }
            other => other,
        }
    }

    async fn ask_once(&mut self, question: &[u8]) -> Result<Decision, ClientError> {
        let stream = self.connected().await?.requester.ask(b"decide-once", question);
        let stream = stream.map_err(|refused| self.refused(refused))?;
        loop {
            match self.event().await? {
                Event::Answer { stream: of, data, .. } if of == stream => return self.decision(&data),
                Event::Completed { stream: of } if of == stream => {
                    return Err(self.server("the answer is empty"));
                }
                Event::Failed { stream: of, code, reason } if of == stream => {
                    return Err(self.failed(code, &reason));
                }
                // Of a question that nobody waits for any more.
                Event::Answer { .. } | Event::Completed { .. } | Event::Failed { .. } => {}
            }
        }
    }

    pub(super) async fn watch(&mut self, subscription: &Subscription) -> Result<(), ClientError> {
        let question = self.question(subscription)?;
        self.watched = None;
        let time_max = self.common.answer_time_max;
        let connected = timeout(time_max, self.connected()).await;
        let stream = match connected {
            Ok(open) => open?.requester.watch(b"decide", &question),
            Err(_) => return Err(self.late()),
        };
        self.watched = Some(stream.map_err(|refused| self.refused(refused))?);
        Ok(())
    }

    pub(super) async fn next(&mut self) -> Result<Option<Decision>, ClientError> {
        let Some(watched) = self.watched else { return Ok(None) };
        let next = loop {
            match self.event().await {
                Ok(Event::Answer { stream, data, is_last }) if stream == watched => {
                    if is_last {
                        self.watched = None;
                    }
                    break self.decision(&data).map(Some);
                }
                Ok(Event::Completed { stream }) if stream == watched => break Ok(None),
                Ok(Event::Failed { stream, code, reason }) if stream == watched => {
                    break Err(self.failed(code, &reason));
                }
                Ok(Event::Answer { .. } | Event::Completed { .. } | Event::Failed { .. }) => {}
                // A server that stops has no more to say; it is no failure of the stream.
                Err(_) if self.is_stopping() => break Ok(None),
                Err(error) => break Err(error),
            }
        };
        if !matches!(next, Ok(Some(_))) {
            self.watched = None;
            self.open = None;
        }
        next
    }

    /// The connection, a new one if the last was not used for long.
    async fn connected(&mut self) -> Result<&mut Open, ClientError> {
        let now = Instant::now();
        let is_usable = |open: &Open| {
            open.requester.closed().is_none() && now.saturating_duration_since(open.used) < KEEP_ALIVE / 2
        };
        let open = match self.open.take().filter(is_usable) {
            Some(open) => open,
            None => self.connect().await?,
        };
        Ok(self.open.insert(open))
    }

    async fn connect(&self) -> Result<Open, ClientError> {
        let connector = &self.common.connector;
        let stream = match &self.address.0 {
            Where::Tcp(endpoint) => connector.connect(endpoint).await,
            #[cfg(unix)]
            Where::Unix(path) => connector.connect_unix(path).await,
            #[cfg(not(unix))]
            Where::Unix(_) => Err(io::Error::other("this system has no Unix sockets")),
        };
        let stream = stream.map_err(|error| self.network(&told(&error)))?;
        let limits =
            Limits { payload_bytes_max: ANSWER_BYTES_MAX, keep_alive: KEEP_ALIVE, lifetime: SILENCE_MAX };
        let now = Instant::now();
        let requester = Requester::new(limits, &self.common.credentials.setup(), now);
        Ok(Open { stream, requester, used: now })
    }

    async fn event(&mut self) -> Result<Event, ClientError> {
        let Some(open) = &mut self.open else { return Err(self.network("the connection is closed")) };
        open.event().await.map_err(|broken| match broken {
            Broken::Closed(closed) => self.over(&closed),
            Broken::Io(error) => self.network(&told(&error)),
            Broken::Ended => self.network("the server closed the connection"),
        })
    }

    fn is_stopping(&self) -> bool {
        let closed = self.open.as_ref().and_then(|open| open.requester.closed());
        matches!(closed, Some(Closed::ByServer { code, .. }) if *code == ErrorCode::ConnectionClose as u32)
    }

    fn question(&self, subscription: &Subscription) -> Result<BytesMut, ClientError> {
        let mut question = BytesMut::new();
        protobuf::write_subscription(&mut question, subscription)
            .map_err(|_| ClientError::Question("the subscription is nested too deeply".into()))?;
        Ok(question)
    }

    fn decision(&self, data: &[u8]) -> Result<Decision, ClientError> {
        protobuf::read_decision(data, VALUES_MAX)
            .map_err(|error| self.server(&format!("the answer is no decision: {error}")))
    }

    fn refused(&self, refused: Refused) -> ClientError {
        match refused {
            Refused::TooLong => ClientError::Question("the subscription is too long for RSocket".into()),
            Refused::Over => self.network("the connection is closed"),
        }
    }

    /// What a server means that fails a request.
    fn failed(&self, code: u32, reason: &str) -> ClientError {
        let message = format!("{}: {} (error {code:#06x})", self.address.0, legible(reason));
        if code == ErrorCode::Invalid as u32 {
            ClientError::Question(message)
        } else if code == ErrorCode::Rejected as u32 {
            ClientError::Busy(message)
        } else {
            ClientError::Server(message)
        }
    }

    /// Why a connection ended.
    fn over(&self, closed: &Closed) -> ClientError {
        match closed {
            Closed::ByServer { code, reason } if *code == ErrorCode::RejectedSetup as u32 => {
                let message = format!("{}: {}", self.address.0, legible(reason));
                // SAPL has one code for both.
                if reason.contains("limit") {
                    ClientError::Busy(message)
                } else {
                    ClientError::Credentials(message)
                }
            }
            Closed::ByServer { code, reason } if *code == ErrorCode::ConnectionClose as u32 => {
                ClientError::Busy(format!("{}: {}", self.address.0, legible(reason)))
            }
            Closed::ByServer { code, reason } => {
                self.server(&format!("{} (error {code:#06x})", legible(reason)))
            }
            Closed::Nonsense(reason) => self.server(reason),
            Closed::Silent => self.network(&format!("nothing was heard for {} s", SILENCE_MAX.as_secs())),
        }
    }

    fn late(&self) -> ClientError {
        self.network(&format!("no answer within {:?}", self.common.answer_time_max))
    }

    fn network(&self, reason: &str) -> ClientError {
        ClientError::Network(format!("{}: {reason}", self.address.0))
    }

    fn server(&self, reason: &str) -> ClientError {
        ClientError::Server(format!("{}: {reason}", self.address.0))
    }
}

impl Open {
    /// Writes what there is to say and reads until something happens.
    async fn event(&mut self) -> Result<Event, Broken> {
        loop {
            let now = Instant::now();
            if let Some(event) = self.requester.next_event(now) {
                self.used = now;
                return Ok(event);
            }
            self.write().await?;
            if let Some(closed) = self.requester.closed() {
                return Err(Broken::Closed(closed.clone()));
            }
            let deadline = self.requester.deadline().unwrap_or(now);
            let input = self.requester.input();
            input.reserve(READ_BYTES);
            tokio::select! {
                read = self.stream.read_buf(input) => match read {
                    Ok(0) => return Err(Broken::Ended),
                    Ok(_) => {}
                    Err(error) => return Err(Broken::Io(error)),
                },
                () = sleep_until(deadline.into()) => self.requester.tick(Instant::now()),
            }
        }
    }

    async fn write(&mut self) -> Result<(), Broken> {
        let writing = async {
            while !self.requester.out().is_empty() {
                if self.stream.write_buf(self.requester.out()).await? == 0 {
                    return Err(io::ErrorKind::WriteZero.into());
                }
            }
            self.stream.flush().await
        };
        let late = |_| Err(io::Error::from(io::ErrorKind::TimedOut));
        let written = timeout(SILENCE_MAX, writing).await.unwrap_or_else(late);
        match written {
            // What the server said before it went away is worth more than that it did.
            Err(error) if self.requester.out().is_empty() => Err(Broken::Io(error)),
            Err(_) if self.has_been_told().await => Ok(()),
            Err(error) => Err(Broken::Io(error)),
            Ok(()) => Ok(()),
        }
    }

    /// Whether a server that takes nothing more has said why.
    async fn has_been_told(&mut self) -> bool {
        let input = self.requester.input();
        input.reserve(READ_BYTES);
        let read = timeout(Duration::from_secs(1), self.stream.read_buf(input)).await;
        if !matches!(read, Ok(Ok(1..))) {
            return false;
        }
        self.requester.out().clear();
        while self.requester.next_event(Instant::now()).is_some() {}
        self.requester.closed().is_some()
    }
}

/// A message of the system without its number.
fn told(error: &io::Error) -> String {
    let message = error.to_string();
    message.split(" (os error").next().unwrap_or(&message).to_owned()
}

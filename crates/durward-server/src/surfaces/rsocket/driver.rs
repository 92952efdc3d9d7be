//! One connection of RSocket with its socket, for as long as it lasts.
//!
//! Everything that has arrived is looked at, everything that has to be said is written at once, and then it waits: for
//! bytes, for decisions, for a moment, for the end. A client that does not read is written to no more, and not read
//! from either.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use durward_common::access::auth::{Denied, Identity, Presented};
use durward_common::base::limits::Held;
use durward_common::base::socket::is_given_up;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::{sleep_until, timeout};

use super::Surface;
use super::answers::{Answers, RequestContext};
use durward_wire::rsocket::connection::{Connection, Event};
use durward_wire::rsocket::frame::ErrorCode;

/// The least and the most that is read at once. Quiet connections keep little, busy ones read much.
const READ_BYTES_LEAST: usize = 1024;
const READ_BYTES_MAX: usize = 64 * 1024;

/// What a connection may hold of what it receives without counting towards `server.body_memory_bytes_max`.
const HELD_BYTES_FREE: usize = 64 * 1024;

/// How long a connection without a deadline of its own sleeps.
const SLEEP_MAX: Duration = Duration::from_secs(3600);

/// Why a connection ended.
enum End {
    /// Client or protocol ended it, and it is written out.
    Closed,
    /// The client went away.
    Gone,
    /// The client does not read.
    TooSlow,
}

struct Driver<S> {
    stream: S,
    surface: Arc<Surface>,
    connection: Connection,
    answers: Answers,
    /// Where the client is, if the socket has addresses.
    client: Option<SocketAddr>,
    identity: Option<Identity>,
    /// Its place among the connections there may be; without one, it is only told so.
    place: Option<Held>,
    read_bytes: usize,
    /// What it holds of `server.body_memory_bytes_max`.
    held: usize,
}

/// Serves a connection until it ends, or the server stops and what is under way is answered.
pub(super) async fn serve<S>(
    stream: S,
    surface: Arc<Surface>,
    client: Option<SocketAddr>,
    place: Option<Held>,
    mut stopping: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let connection = Connection::new(surface.limits, Instant::now());
    let answers = Answers::new();
    let (identity, read_bytes, held) = (None, READ_BYTES_LEAST, 0);
    let mut driver = Driver {
        stream,
        surface: Arc::clone(&surface),
        connection,
        answers,
        client,
        identity,
        place,
        read_bytes,
        held,
    };
    match driver.run(&mut stopping).await {
        Ok(End::Closed) => {
            // Whether the client hears it does not matter any more.
            let _ = timeout(Duration::from_secs(1), driver.stream.shutdown()).await;
        }
        Ok(End::Gone) => {}
        Ok(End::TooSlow) => surface.metrics.limit_hit("server.request_time_ms_max"),
        // The system noticed first that what was written is not taken.
        Err(error) if is_given_up(&error) => surface.metrics.limit_hit("server.request_time_ms_max"),
        Err(error) => {
            surface.metrics.rsocket_connection("failed");
            tracing::debug!(%error, "a connection failed");
        }
    }
}

impl<S> Drop for Driver<S> {
    fn drop(&mut self) {
        self.surface.memory.give_back(self.held);
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Driver<S> {
    async fn run(&mut self, stopping: &mut watch::Receiver<bool>) -> io::Result<End> {
        let ready = self.answers.ready();
        let mut credentials = self.surface.authenticator.changes();
        let mut is_stopping = false;
        loop {
            self.take_events().await;
            self.count_held();
            self.count_limits_hit();
            let mut is_done = self.say();
            // Requests may have been left until there is room for their answers.
            is_done &= !self.connection.is_congested();
            if is_stopping && !self.connection.has_unanswered() {
                self.connection.fail(ErrorCode::ConnectionClose, "SAPL Node stopping");
            }
            if let Some(end) = self.write().await? {
                return Ok(end);
            }
            if !is_done {
                continue;
            }
            let deadline = self.connection.deadline().unwrap_or_else(|| Instant::now() + SLEEP_MAX);
            let wants_input = self.connection.wants_input() && !is_stopping;
            tokio::select! {
                read = read(&mut self.stream, self.connection.input(), self.read_bytes), if wants_input => {
                    let count = read?;
                    if count == 0 {
                        return Ok(End::Gone);
                    }
                    self.read_as_much(count);
                    self.count_held();
                }
                () = ready.notify.notified() => {}
                () = sleep_until(deadline.into()) => self.tick(),
                Ok(()) = credentials.changed() => self.check_credentials(),
                _ = stopping.wait_for(|is_stopping| *is_stopping), if !is_stopping => is_stopping = true,
            }
        }
    }

    /// Ends the connection of a client whose credentials are no longer good.
    fn check_credentials(&mut self) {
        let authenticator = &self.surface.authenticator;
        if self.identity.as_ref().is_some_and(|identity| !authenticator.holds(identity)) {
            self.connection.fail(ErrorCode::ConnectionClose, "Credentials are no longer valid");
        }
    }

    fn tick(&mut self) {
        self.connection.tick(Instant::now());
    }

    /// Reads more or less the next time.
    fn read_as_much(&mut self, count: usize) {
        if count == self.read_bytes {
            self.read_bytes = (self.read_bytes * 2).min(READ_BYTES_MAX);
        } else if count < self.read_bytes / 4 {
            self.read_bytes = (self.read_bytes / 2).max(READ_BYTES_LEAST);
        }
    }

    /// Counts what is held of requests that are not whole, together with what others hold.
    fn count_held(&mut self) {
        let holds = self.connection.bytes_held();
        let holds = if holds > HELD_BYTES_FREE { holds } else { 0 };
        if holds == self.held {
            return;
        }
        let has_room = if holds > self.held {
            self.surface.memory.hold(holds - self.held)
        } else {
            self.surface.memory.give_back(self.held - holds);
            true
        };
        self.held = holds;
        if !has_room {
            self.surface.metrics.limit_hit("server.body_memory_bytes_max");
            let reason = "too much is being received at once; try again";
            self.connection.fail(ErrorCode::ConnectionError, reason);
        }
    }

    /// Counts the limits that the connection looks after, before its client is told.
    fn count_limits_hit(&mut self) {
        let hit = self.connection.take_limits_hit();
        let settings = [
            ("rsocket.payload_bytes_max", hit.payload_bytes),
            ("rsocket.streams_per_connection_max", hit.streams),
            ("server.header_time_ms_max", hit.setup_time),
            ("rsocket.lifetime_ms_max", hit.lifetime),
        ];
        for (setting, count) in settings.into_iter().filter(|(_, count)| *count > 0) {
            self.surface.metrics.limit_hits(setting, count);
        }
    }

    async fn take_events(&mut self) {
        let mut now = Instant::now();
        loop {
            let Some(event) = self.connection.next_event(now) else { return };
            match event {
                Event::Setup(credentials) => {
                    self.set_up(Presented::from_setup(&credentials)).await;
                    now = Instant::now();
                }
                Event::Cancelled { stream } => self.answers.forget(stream),
                Event::Demand { stream } => self.answers.wake(stream),
                Event::Request { stream, expects, route, data } => {
                    // Nobody asks before it is known who asks.
                    let Some(identity) = &self.identity else { return };
                    if !self.allows(identity, now) {
                        let reason = "Request rate limit reached";
                        self.connection.reject(stream, ErrorCode::Rejected, reason);
                        continue;
                    }
                    let (surface, client) = (&self.surface, self.client);
                    let mut context =
                        RequestContext { surface, identity, connection: &mut self.connection, client, now };
                    self.answers.ask(&mut context, stream, expects, &route, &data);
                    now = context.now;
                }
            }
        }
    }

    /// Whether one more request may be looked at, which then counts.
    fn allows(&self, identity: &Identity, now: Instant) -> bool {
        if !self.surface.rate.allows(now) {
            self.surface.metrics.limit_hit("rsocket.requests_per_second_max");
            return false;
        }
        self.surface.rates.allows(Some(identity), self.client.map(|client| client.ip()), now)
    }

    async fn set_up(&mut self, presented: Presented) {
        if self.place.is_none() {
            self.surface.metrics.limit_hit("rsocket.connections_max");
            return self.connection.refuse("Connection limit reached");
        }
        match self.surface.authenticator.verify(presented).await {
            // Settings may have changed while it was verified.
            Ok(identity) if self.surface.authenticator.holds(&identity) => {
                self.connection.accept(identity.expires);
                self.identity = Some(identity);
            }
            Ok(_) => self.connection.refuse("Authentication failed"),
            Err(Denied::Wrong) => self.connection.refuse("Authentication failed"),
            Err(Denied::Busy) => self.connection.refuse("Authentication is not possible now; try again"),
        }
    }

    /// Says what there is to say; `false` where something is left that there was no room for.
    fn say(&mut self) -> bool {
        let Some(identity) = &self.identity else { return true };
        let (surface, client) = (&self.surface, self.client);
        let now = Instant::now();
        let mut context = RequestContext { surface, identity, connection: &mut self.connection, client, now };
        self.answers.say(&mut context)
    }

    /// Writes out all there is.
    async fn write(&mut self) -> io::Result<Option<End>> {
        let time_max = self.surface.taking_time_max;
        while !self.connection.out().is_empty() {
            let written = self.stream.write_buf(self.connection.out());
            match timeout(time_max, written).await {
                Ok(Ok(0)) => return Ok(Some(End::Gone)),
                Ok(Ok(_)) => {}
                Ok(Err(error)) if is_gone(&error) => return Ok(Some(End::Gone)),
                Ok(Err(error)) => return Err(error),
                Err(_) => return Ok(Some(End::TooSlow)),
            }
        }
        // Encryption keeps back what it has not sent.
        match timeout(time_max, self.stream.flush()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) if is_gone(&error) => return Ok(Some(End::Gone)),
            Ok(Err(error)) => return Err(error),
            Err(_) => return Ok(Some(End::TooSlow)),
        }
        let out = self.connection.out();
        if out.is_empty() && out.capacity() > READ_BYTES_MAX {
            *out = BytesMut::new();
        }
        Ok(self.connection.is_closed().then_some(End::Closed))
    }
}

/// Reads up to so many bytes more. A quiet connection keeps no large buffer.
async fn read<S: AsyncRead + Unpin>(stream: &mut S, input: &mut BytesMut, most: usize) -> io::Result<usize> {
    if input.is_empty() && input.capacity() > 4 * most {
        *input = BytesMut::new();
    }
    input.reserve(most);
    let read = (&mut *stream).take(most as u64).read_buf(input).await;
    match read {
        Err(error) if is_gone(&error) => Ok(0),
        other => other,
    }
}

/// Clients that go away without a word are no failure.
fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}

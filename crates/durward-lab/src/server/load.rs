//! Asks when the time has come, listens, and notes how long each answer took.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use bytes::{Buf, BytesMut};
use hdrhistogram::Histogram;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use super::{Plan, ServerBenchError};

/// How long answers are waited for when nothing more is asked.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(5);

/// Questions whose time has come, and for which there is no room; those beyond are not answered, and counted so.
const BACKLOG_MAX: usize = 1 << 20;

/// Bytes read at once.
const READ_BYTES: usize = 64 * 1024;

/// The longest wait that is told apart from longer ones: a minute.
const WAIT_NS_MAX: u64 = 60_000_000_000;

/// One connection of a protocol, without its socket.
pub(super) trait Connection {
    /// Appends the question of this number, whose time has come at `due`.
    fn ask(&mut self, number: usize, due: Instant);

    /// How many questions are under way.
    fn in_flight(&self) -> usize;

    /// What has to be written; whoever writes takes it off.
    fn out(&mut self) -> &mut BytesMut;

    /// Where to put bytes received.
    fn input(&mut self) -> &mut BytesMut;

    /// The next answer: when its question was due, and whether it is a decision.
    ///
    /// # Errors
    /// What is no answer of this protocol.
    fn next(&mut self, now: Instant) -> Result<Option<(Instant, bool)>, String>;
}

/// When questions are asked.
#[derive(Clone, Copy)]
pub(super) enum Schedule {
    /// Whenever there is room.
    Full,
    /// So many a second, evenly.
    Rate(f64),
}

/// What became of the questions of one run.
pub(super) struct Run {
    pub(super) answered: u64,
    pub(super) failed: u64,
    pub(super) unanswered: u64,
    /// From the first question to the last answer.
    pub(super) time: Duration,
    pub(super) waited: Histogram<u64>,
}

/// All connections.
pub(super) struct Generator<C> {
    poll: Poll,
    connections: Vec<(TcpStream, C)>,
    in_flight_max: usize,
    question_count: usize,
    /// The next question.
    question: usize,
    /// The connection that is asked next, so that all have their turn.
    turn: usize,
    backlog: VecDeque<Instant>,
}

impl<C: Connection> Generator<C> {
    /// Opens all connections.
    pub(super) fn connect(plan: &Plan<'_>, open: impl Fn() -> C) -> Result<Generator<C>, ServerBenchError> {
        let poll = Poll::new()?;
        let mut connections = Vec::new();
        for number in 0..plan.connections.max(1) {
            let stream = std::net::TcpStream::connect_timeout(&plan.address, DRAIN_TIME_MAX)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            let mut stream = TcpStream::from_std(stream);
            poll.registry().register(&mut stream, Token(number), Interest::READABLE)?;
            connections.push((stream, open()));
        }
        Ok(Generator {
            poll,
            connections,
            in_flight_max: plan.in_flight.max(1),
            question_count: plan.questions.len(),
            question: 0,
            turn: 0,
            backlog: VecDeque::new(),
        })
    }

    /// Asks for so long, and waits for the answers.
    pub(super) fn run(&mut self, schedule: Schedule, duration: Duration) -> Result<Run, ServerBenchError> {
        let start = Instant::now();
        let mut run = Run::new();
        let mut asked = 0u64;
        let mut events = Events::with_capacity(self.connections.len());
        loop {
            let now = Instant::now();
            let elapsed = now.saturating_duration_since(start);
            if elapsed < duration {
                match schedule {
                    Schedule::Full => self.fill(now),
                    Schedule::Rate(rate) => {
                        let due = (elapsed.as_secs_f64() * rate) as u64 + 1;
                        while asked < due {
                            self.put_off(start + Duration::from_secs_f64(asked as f64 / rate), &mut run);
                            asked += 1;
                        }
                    }
                }
            } else if self.is_quiet() || elapsed > duration + DRAIN_TIME_MAX {
                run.time = elapsed;
                run.give_up(&mut self.backlog, now, self.connections.iter().map(|(_, one)| one.in_flight()));
                return Ok(run);
            }
            self.ask_due();
            self.write()?;
            self.poll.poll(&mut events, Some(Duration::ZERO))?;
            for event in &events {
                self.listen(event.token(), &mut run)?;
            }
        }
    }

    fn is_quiet(&self) -> bool {
        self.backlog.is_empty() && self.connections.iter().all(|(_, one)| one.in_flight() == 0)
    }

    /// Every connection gets as many questions as it takes.
    fn fill(&mut self, now: Instant) {
        for (_, connection) in &mut self.connections {
            while connection.in_flight() < self.in_flight_max {
                connection.ask(self.question, now);
                self.question = (self.question + 1) % self.question_count;
            }
        }
    }

    fn put_off(&mut self, due: Instant, run: &mut Run) {
        if self.backlog.len() < BACKLOG_MAX {
            self.backlog.push_back(due);
        } else {
            run.unanswered += 1;
        }
    }

    /// Asks what is due, as long as there is room.
    fn ask_due(&mut self) {
        let mut full = 0;
        while let Some(due) = self.backlog.front().copied() {
            self.turn = (self.turn + 1) % self.connections.len();
            match self.connections.get_mut(self.turn) {
                Some((_, connection)) if connection.in_flight() < self.in_flight_max => {
                    connection.ask(self.question, due);
                    self.question = (self.question + 1) % self.question_count;
                    self.backlog.pop_front();
                    full = 0;
                }
                Some(_) | None => full += 1,
            }
            if full >= self.connections.len() {
                return;
            }
        }
    }

    fn write(&mut self) -> io::Result<()> {
        for (stream, connection) in &mut self.connections {
            let out = connection.out();
            while !out.is_empty() {
                match stream.write(out) {
                    Ok(0) => return Err(ErrorKind::WriteZero.into()),
                    Ok(written) => out.advance(written),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    fn listen(&mut self, token: Token, run: &mut Run) -> Result<(), ServerBenchError> {
        let Some((stream, connection)) = self.connections.get_mut(token.0) else { return Ok(()) };
        loop {
            let input = connection.input();
            let before = input.len();
            input.resize(before + READ_BYTES, 0);
            let read = stream.read(input.get_mut(before..).unwrap_or_default());
            input.truncate(before + read.as_ref().copied().unwrap_or(0));
            let count = match read {
                Ok(0) => return Err(io::Error::from(ErrorKind::UnexpectedEof).into()),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            let now = Instant::now();
            while let Some((due, is_decision)) = connection.next(now).map_err(ServerBenchError::Nonsense)? {
                run.note(due, is_decision, now);
            }
            // What comes after a read that did not fill the room is a new event.
            if count < READ_BYTES {
                return Ok(());
            }
        }
    }
}

impl Run {
    fn new() -> Run {
        // Three digits; saturating, so that no wait is too long to be noted.
        let waited = Histogram::new_with_bounds(1, WAIT_NS_MAX, 3);
        let waited = waited.unwrap_or_else(|_| unreachable!("bounds that are constants"));
        Run { answered: 0, failed: 0, unanswered: 0, time: Duration::ZERO, waited }
    }

    fn note(&mut self, due: Instant, is_decision: bool, now: Instant) {
        if is_decision {
            self.answered += 1;
        } else {
            self.failed += 1;
        }
        self.wait(now.saturating_duration_since(due));
    }

    fn wait(&mut self, wait: Duration) {
        self.waited.saturating_record(u64::try_from(wait.as_nanos()).unwrap_or(WAIT_NS_MAX));
    }

    /// What was not answered waited at least until now.
    fn give_up(
        &mut self,
        backlog: &mut VecDeque<Instant>,
        now: Instant,
        in_flight: impl Iterator<Item = usize>,
    ) {
        for due in backlog.drain(..) {
            self.unanswered += 1;
            self.wait(now.saturating_duration_since(due));
        }
        for _ in 0..in_flight.sum::<usize>() {
            self.unanswered += 1;
            self.wait(DRAIN_TIME_MAX);
        }
    }
}

//! Open-loop load: sends requests on schedule, reads answers, and records latencies.
//!
//! Connections are in lanes, each of which is asked by a schedule of its own: one can be flooded while another goes on.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::{Buf, BytesMut};
use hdrhistogram::Histogram;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use super::ServerBenchError;

/// How long answers are waited for when nothing more is asked.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(30);

/// Questions whose time has come, and for which there is no room; those beyond are not answered, and counted so.
const BACKLOG_MAX: usize = 1 << 20;

/// Bytes read at once.
const READ_BYTES: usize = 64 * 1024;

/// The longest wait that is told apart from longer ones: a minute.
const WAIT_NS_MAX: u64 = 60_000_000_000;

/// The longest sleep of a generator that may sleep.
const SLEEP_TIME_MAX: Duration = Duration::from_millis(100);

/// An answer that came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerAnswer {
    /// When its question was due.
    pub(crate) due: Instant,
    /// What was asked, below [`ProtocolConnection::KINDS`].
    pub(crate) kind: usize,
    /// Whether it is what a server that works says.
    pub(crate) is_right: bool,
}

/// One connection of a protocol, without its socket.
pub(crate) trait ProtocolConnection {
    /// How many kinds of questions are told apart.
    const KINDS: usize = 1;

    /// Appends the question of this number, whose time has come at `due`.
    fn ask(&mut self, number: usize, due: Instant);

    /// How many questions are under way.
    fn in_flight(&self) -> usize;

    /// What has to be written; whoever writes takes it off.
    fn out(&mut self) -> &mut BytesMut;

    /// Where to put bytes received.
    fn input(&mut self) -> &mut BytesMut;

    /// The next answer.
    ///
    /// # Errors
    /// What is no answer of this protocol.
    fn next(&mut self, now: Instant) -> Result<Option<ServerAnswer>, ServerBenchError>;
}

/// When questions are asked.
#[derive(Clone, Copy)]
pub(crate) enum AskSchedule {
    /// Never.
    Silent,
    /// Whenever there is room.
    Full,
    /// Whenever there is room, so often in all.
    Times(u64),
    /// So many a second, evenly.
    Rate(f64),
}

/// What is done while there is nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdleWait {
    /// Looks again at once: with a core of its own.
    Never,
    /// Leaves the core to others until an answer has come or a question is due.
    Sleep,
}

/// Outcomes of the questions of one kind.
pub(crate) struct QuestionTally {
    pub(crate) answered: u64,
    pub(crate) failed: u64,
    pub(crate) waited: Histogram<u64>,
}

/// What became of the questions of one lane in one run.
pub(crate) struct LaneResult {
    pub(crate) unanswered: u64,
    /// From the first question to the last answer.
    pub(crate) time: Duration,
    /// By kind.
    pub(crate) kinds: Vec<QuestionTally>,
}

/// Connections that are asked by one schedule.
struct LoadLane<C> {
    connections: Vec<(TcpStream, C)>,
    in_flight_max: usize,
    question_count: usize,
    /// The next question.
    question: usize,
    /// The connection that is asked next, so that all have their turn.
    turn: usize,
    backlog: VecDeque<Instant>,
    /// How many were asked or put off in this run.
    asked: u64,
}

/// What a lane is to be.
pub(crate) struct LanePlan<'a> {
    /// Where to: connections go to each in turn.
    pub(crate) addresses: &'a [SocketAddr],
    pub(crate) connections: usize,
    /// How many questions each has under way at most.
    pub(crate) in_flight: usize,
    /// How many different questions there are.
    pub(crate) questions: usize,
}

/// All connections.
pub(crate) struct LoadGenerator<C> {
    poll: Poll,
    rest: IdleWait,
    lanes: Vec<LoadLane<C>>,
    /// By token: the lane, and the connection in it.
    places: Vec<(usize, usize)>,
    scratch: Box<[u8]>,
}

impl<C: ProtocolConnection> LoadGenerator<C> {
    /// Without connections.
    pub(crate) fn new(rest: IdleWait) -> io::Result<LoadGenerator<C>> {
        let scratch = vec![0; READ_BYTES].into_boxed_slice();
        Ok(LoadGenerator { poll: Poll::new()?, rest, lanes: Vec::new(), places: Vec::new(), scratch })
    }

    /// Opens the connections of one more lane.
    pub(crate) fn add(&mut self, plan: &LanePlan<'_>, open: impl Fn() -> C) -> Result<(), ServerBenchError> {
        let mut connections = Vec::new();
        let addresses = plan.addresses.iter().cycle();
        for (number, address) in (0..plan.connections.max(1)).zip(addresses) {
            let stream = std::net::TcpStream::connect_timeout(address, DRAIN_TIME_MAX)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            let mut stream = TcpStream::from_std(stream);
            self.poll.registry().register(&mut stream, Token(self.places.len()), Interest::READABLE)?;
            self.places.push((self.lanes.len(), number));
            connections.push((stream, open()));
        }
        self.lanes.push(LoadLane {
            connections,
            in_flight_max: plan.in_flight.max(1),
            question_count: plan.questions.max(1),
            question: 0,
            turn: 0,
            backlog: VecDeque::new(),
            asked: 0,
        });
        Ok(())
    }

    /// Asks for so long, each lane by its schedule, and waits for the answers. What became of it, by lane.
    pub(crate) fn run(
        &mut self,
        schedules: &[AskSchedule],
        duration: Duration,
    ) -> Result<Vec<LaneResult>, ServerBenchError> {
        let start = Instant::now();
        let mut runs: Vec<LaneResult> = self.lanes.iter_mut().map(LoadLane::begin).collect();
        let mut events = Events::with_capacity(self.places.len().max(1));
        loop {
            let now = Instant::now();
            let is_over = now.saturating_duration_since(start) >= duration;
            let mut is_asked = true;
            for ((lane, run), schedule) in self.lanes.iter_mut().zip(&mut runs).zip(schedules) {
                is_asked &= is_over || lane.make_due(*schedule, start, now, run);
                lane.ask_due();
                lane.write()?;
            }
            let is_given_up = now.saturating_duration_since(start) > duration + DRAIN_TIME_MAX;
            if is_asked && self.lanes.iter().all(LoadLane::is_quiet) || is_given_up {
                for (lane, run) in self.lanes.iter_mut().zip(&mut runs) {
                    lane.give_up(run, start, now);
                }
                return Ok(runs);
            }
            self.poll.poll(&mut events, Some(self.pause(schedules, start, now)))?;
            for event in &events {
                self.listen(event.token(), start, &mut runs)?;
            }
        }
    }

    /// How long nothing has to be done unless an answer comes.
    fn pause(&self, schedules: &[AskSchedule], start: Instant, now: Instant) -> Duration {
        if self.rest == IdleWait::Never {
            return Duration::ZERO;
        }
        let until_due = |(lane, schedule): (&LoadLane<C>, &AskSchedule)| match schedule {
            AskSchedule::Silent | AskSchedule::Full | AskSchedule::Times(_) => SLEEP_TIME_MAX,
            AskSchedule::Rate(rate) => {
                (start + Duration::from_secs_f64(lane.asked as f64 / rate)).saturating_duration_since(now)
            }
        };
        let pauses = self.lanes.iter().zip(schedules).map(until_due);
        pauses.min().unwrap_or(SLEEP_TIME_MAX).min(SLEEP_TIME_MAX)
    }

    fn listen(
        &mut self,
        token: Token,
        start: Instant,
        runs: &mut [LaneResult],
    ) -> Result<(), ServerBenchError> {
        let Some(&(lane, number)) = self.places.get(token.0) else { return Ok(()) };
        let Some(run) = runs.get_mut(lane) else { return Ok(()) };
        let connections = self.lanes.get_mut(lane).map(|lane| &mut lane.connections);
        let Some((stream, connection)) = connections.and_then(|all| all.get_mut(number)) else {
            return Ok(());
        };
        loop {
            let count = match stream.read(&mut self.scratch) {
                Ok(0) => return Err(io::Error::from(ErrorKind::UnexpectedEof).into()),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            connection.input().extend_from_slice(self.scratch.get(..count).unwrap_or_default());
            let now = Instant::now();
            while let Some(answer) = connection.next(now)? {
                run.note(answer, now);
                run.time = now.saturating_duration_since(start);
            }
            // What comes after a read that did not fill the room is a new event.
            if count < READ_BYTES {
                return Ok(());
            }
        }
    }
}

impl<C: ProtocolConnection> LoadLane<C> {
    fn begin(&mut self) -> LaneResult {
        self.asked = 0;
        LaneResult {
            unanswered: 0,
            time: Duration::ZERO,
            kinds: (0..C::KINDS).map(|_| QuestionTally::new()).collect(),
        }
    }

    fn is_quiet(&self) -> bool {
        self.backlog.is_empty() && self.connections.iter().all(|(_, one)| one.in_flight() == 0)
    }

    /// Asks, or puts off, what is due by now. Whether that was all that this run is to ask before its time is over.
    fn make_due(
        &mut self,
        schedule: AskSchedule,
        start: Instant,
        now: Instant,
        run: &mut LaneResult,
    ) -> bool {
        match schedule {
            AskSchedule::Silent => return true,
            AskSchedule::Full => self.fill(now, u64::MAX),
            AskSchedule::Times(times) => {
                self.fill(now, times);
                return self.asked >= times;
            }
            AskSchedule::Rate(rate) => {
                let due = (now.saturating_duration_since(start).as_secs_f64() * rate) as u64 + 1;
                while self.asked < due {
                    self.put_off(start + Duration::from_secs_f64(self.asked as f64 / rate), run);
                    self.asked += 1;
                }
            }
        }
        false
    }

    /// Every connection gets as many questions as it takes, up to so many in all.
    fn fill(&mut self, now: Instant, times: u64) {
        for (_, connection) in &mut self.connections {
            while connection.in_flight() < self.in_flight_max && self.asked < times {
                connection.ask(self.question, now);
                self.question = (self.question + 1) % self.question_count;
                self.asked += 1;
            }
        }
    }

    fn put_off(&mut self, due: Instant, run: &mut LaneResult) {
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

    /// What was not answered waited at least until now.
    fn give_up(&mut self, run: &mut LaneResult, start: Instant, now: Instant) {
        let in_flight: usize = self.connections.iter().map(|(_, one)| one.in_flight()).sum();
        if in_flight + self.backlog.len() > 0 {
            run.time = now.saturating_duration_since(start);
        }
        let Some(tally) = run.kinds.first_mut() else { return };
        for due in self.backlog.drain(..) {
            run.unanswered += 1;
            tally.wait(now.saturating_duration_since(due));
        }
        for _ in 0..in_flight {
            run.unanswered += 1;
            tally.wait(DRAIN_TIME_MAX);
        }
    }
}

impl LaneResult {
    fn note(&mut self, answer: ServerAnswer, now: Instant) {
        let Some(tally) = self.kinds.get_mut(answer.kind) else { return };
        if answer.is_right {
            tally.answered += 1;
        } else {
            tally.failed += 1;
        }
        tally.wait(now.saturating_duration_since(answer.due));
    }

    /// How many were answered rightly.
    pub(crate) fn answered(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.answered).sum()
    }

    /// How many were answered with something else.
    pub(crate) fn failed(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.failed).sum()
    }

    /// Right answers a second.
    pub(crate) fn rate(&self) -> f64 {
        self.answered() as f64 / self.time.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

impl QuestionTally {
    pub(crate) fn new() -> QuestionTally {
        // Three digits; saturating, so that no wait is too long to be noted.
        let waited = Histogram::new_with_bounds(1, WAIT_NS_MAX, 3);
        let waited = waited.unwrap_or_else(|_| unreachable!("bounds that are constants"));
        QuestionTally { answered: 0, failed: 0, waited }
    }

    /// Adds what became of others.
    pub(crate) fn add(&mut self, other: &QuestionTally) {
        self.answered += other.answered;
        self.failed += other.failed;
        // The bounds are the same.
        let _ = self.waited.add(&other.waited);
    }

    fn wait(&mut self, wait: Duration) {
        self.waited.saturating_record(u64::try_from(wait.as_nanos()).unwrap_or(WAIT_NS_MAX));
    }
}

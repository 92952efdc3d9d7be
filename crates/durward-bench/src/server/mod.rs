//! How many questions of SAPL a server answers over the network, and how long each waits.
//!
//! The load is open: questions are asked when their time has come, whether or not earlier ones were answered, and how
//! long one waited is counted from that time, not from when there was room to ask it. A server that stalls is not spared
//! the questions that would have come meanwhile. Saturation is what is answered while every connection always has as many
//! questions under way as it may.
//!
//! One thread asks and listens, without ever sleeping: it is to have a core of its own.

pub(crate) mod http;
pub(crate) mod load;
mod rsocket;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use durward_server::sapl::Subscription;

use crate::Spread;
use durward_lab::process::{Usage, usage};
use load::{Connection, Generator, LanePlan, Rest, Run, Schedule};

/// What to speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// HTTP/1.1: `POST /api/pdp/decide-once`.
    Http,
    /// RSocket over TCP: `decide-once`.
    Rsocket,
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// Where the server is.
    pub address: SocketAddr,
    /// What it speaks.
    pub transport: Transport,
    /// What it is asked, in turns.
    pub questions: &'a [Subscription],
    /// How many connections there are.
    pub connections: usize,
    /// How many questions each has under way at most.
    pub in_flight: usize,
    /// How long saturation is measured, and then latency.
    pub duration: Duration,
    /// Questions a second for the latency; without it, a tenth of saturation.
    pub rate: Option<f64>,
    /// The server's process, to see what it takes of the machine.
    pub process: Option<u32>,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Answers a second when there are always questions waiting, over rounds; `None` where the rate was given.
    pub saturation: Option<Spread>,
    /// What a core did for one answer then, in nanoseconds.
    pub cpu_ns: Option<u64>,
    /// Which part of that time the server ran, from 0 to 1: if it is not near 1, something else was the limit.
    pub busy: Option<f64>,
    /// The latencies, at the rate that was given or a tenth of saturation.
    pub load: Load,
    /// The server's resident set afterwards, in bytes.
    pub resident_bytes: Option<u64>,
}

/// What became of questions that were asked at some rate.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Questions a second.
    pub rate: f64,
    /// How many were answered with a decision.
    pub answered: u64,
    /// How many were answered with something else.
    pub failed: u64,
    /// How many were not answered in time; they count as having waited until nobody waited any more.
    pub unanswered: u64,
    /// Half of the answers came within this time, in nanoseconds.
    pub p50_ns: u64,
    /// 99 of 100 did.
    pub p99_ns: u64,
    /// 999 of 1,000 did.
    pub p999_ns: u64,
    /// All did.
    pub max_ns: u64,
}

/// Why nothing was measured.
#[derive(Debug)]
pub enum ServerBenchError {
    /// There is nothing to ask.
    NoQuestions,
    /// A question is nested too deeply for RSocket.
    Question,
    /// A connection could not be opened, or broke off.
    Connection(io::Error),
    /// The server says what is no answer of this protocol.
    Nonsense(String),
    /// Not one question was answered with a decision.
    NoAnswers,
}

impl fmt::Display for ServerBenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerBenchError::NoQuestions => f.write_str("there are no questions to measure with"),
            ServerBenchError::Question => f.write_str("a question is nested too deeply"),
            ServerBenchError::Connection(error) => write!(f, "a connection failed: {error}"),
            ServerBenchError::Nonsense(what) => write!(f, "no answer of this protocol: {what}"),
            ServerBenchError::NoAnswers => f.write_str("not one question was answered with a decision"),
        }
    }
}

impl std::error::Error for ServerBenchError {}

impl From<io::Error> for ServerBenchError {
    fn from(error: io::Error) -> ServerBenchError {
        ServerBenchError::Connection(error)
    }
}

/// How many rounds the measurement of saturation has.
const ROUNDS: u32 = 5;

/// Measures a server that is running.
///
/// # Errors
/// A server that is not reached, breaks off, or does not answer with decisions.
pub fn measure(plan: &Plan<'_>) -> Result<Measurement, ServerBenchError> {
    if plan.questions.is_empty() {
        return Err(ServerBenchError::NoQuestions);
    }
    match plan.transport {
        Transport::Http => {
            let questions = http::questions(plan)?;
            run(plan, || http::Http::new(&questions))
        }
        Transport::Rsocket => {
            let questions = rsocket::questions(plan)?;
            run(plan, || rsocket::Rsocket::new(&questions))
        }
    }
}

fn run<C: Connection>(plan: &Plan<'_>, open: impl Fn() -> C) -> Result<Measurement, ServerBenchError> {
    let mut generator = Generator::new(Rest::Never)?;
    let lane = LanePlan {
        addresses: &[plan.address],
        connections: plan.connections,
        in_flight: plan.in_flight,
        questions: plan.questions.len(),
    };
    generator.add(&lane, open)?;
    let mut run = |schedule, duration| -> Result<Run, ServerBenchError> {
        generator.run(&[schedule], duration)?.pop().ok_or(ServerBenchError::NoAnswers)
    };
    let warm = run(Schedule::Full, plan.duration / ROUNDS)?;
    if warm.answered() == 0 {
        return Err(ServerBenchError::NoAnswers);
    }
    let (mut saturation, mut cpu_ns, mut busy) = (None, None, None);
    if plan.rate.is_none() {
        let before = plan.process.and_then(usage);
        let (mut rates, mut answered, mut time) = (Vec::new(), 0, Duration::ZERO);
        for _ in 0..ROUNDS {
            let round = run(Schedule::Full, plan.duration / ROUNDS)?;
            rates.push(round.rate());
            answered += round.answered();
            time += round.time;
        }
        if let Some((before, after)) = before.zip(plan.process.and_then(usage)) {
            let ran = after.ran.saturating_sub(before.ran);
            cpu_ns = Some((ran.as_nanos() / u128::from(answered.max(1))) as u64);
            busy = Some(ran.as_secs_f64() / time.as_secs_f64());
        }
        saturation = Spread::of(&rates);
    }
    let rate = plan.rate.or(saturation.map(|spread| spread.median / 10.0)).unwrap_or(1.0).max(1.0);
    let load = run(Schedule::Rate(rate), plan.duration)?;
    let resident_bytes = plan.process.and_then(usage).and_then(|Usage { resident_bytes, .. }| resident_bytes);
    let waited = load.kinds.first().map(|kind| &kind.waited).ok_or(ServerBenchError::NoAnswers)?;
    let quantile = |q| waited.value_at_quantile(q);
    Ok(Measurement {
        saturation,
        cpu_ns,
        busy,
        resident_bytes,
        load: Load {
            rate,
            answered: load.answered(),
            failed: load.failed(),
            unanswered: load.unanswered,
            p50_ns: quantile(0.5),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            max_ns: waited.max(),
        },
    })
}

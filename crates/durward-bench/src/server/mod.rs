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

use durward_pdp::sapl::Subscription;

use crate::{Bare, MeasurementSpread};
use durward_lab::process::{ProcessUsage, usage};
pub use http::request;
use load::{AskSchedule, IdleWait, LanePlan, LaneResult, LoadGenerator, ProtocolConnection};

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
pub struct ServerPlan<'a> {
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
    /// A server of HTTP that does nothing, to be measured beside; it takes questions of HTTP alone.
    pub bare: Option<&'a Bare>,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct ServerMeasurement {
    /// Answers a second when there are always questions waiting, over rounds; `None` where the rate was given.
    pub saturation: Option<MeasurementSpread>,
    /// What a core did for one answer then, in nanoseconds.
    pub cpu_ns: Option<u64>,
    /// Which part of that time the server ran, from 0 to 1: if it is not near 1, something else was the limit.
    pub busy: Option<f64>,
    /// The same of the bare server, measured in turns: answers a second, and what a core did for one.
    pub bare: Option<(MeasurementSpread, Option<u64>)>,
    /// The latencies, at the rate that was given or a tenth of saturation.
    pub load: RateResult,
    /// The server's resident set afterwards, in bytes.
    pub resident_bytes: Option<u64>,
}

/// What became of questions that were asked at some rate.
#[derive(Clone, Copy, Debug)]
pub struct RateResult {
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
pub fn measure(plan: &ServerPlan<'_>) -> Result<ServerMeasurement, ServerBenchError> {
    if plan.questions.is_empty() {
        return Err(ServerBenchError::NoQuestions);
    }
    match plan.transport {
        Transport::Http => {
            let questions = http::questions(plan);
            run(plan, || http::HttpConnection::new(&questions))
        }
        Transport::Rsocket => {
            let questions = rsocket::questions(plan)?;
            run(plan, || rsocket::RsocketBenchConnection::new(&questions))
        }
    }
}

fn run<C: ProtocolConnection>(
    plan: &ServerPlan<'_>,
    open: impl Fn() -> C,
) -> Result<ServerMeasurement, ServerBenchError> {
    let mut generator = LoadGenerator::new(IdleWait::Never)?;
    let lane = LanePlan {
        addresses: &[plan.address],
        connections: plan.connections,
        in_flight: plan.in_flight,
        questions: plan.questions.len(),
    };
    generator.add(&lane, &open)?;
    if let Some(bare) = plan.bare {
        generator.add(&LanePlan { addresses: &[bare.address()], ..lane }, &open)?;
    }
    let mut lab = ServerLab { generator };
    if lab.run(THE_SERVER, AskSchedule::Full, plan.duration / ROUNDS)?.answered() == 0 {
        return Err(ServerBenchError::NoAnswers);
    }
    let (mut server, mut bare) = (SaturationRounds::default(), SaturationRounds::default());
    if plan.rate.is_none() {
        for _ in 0..ROUNDS {
            let ran = || plan.process.and_then(usage).map(|usage| usage.ran);
            let before = ran();
            let round = lab.run(THE_SERVER, AskSchedule::Full, plan.duration / ROUNDS)?;
            server.add(&round, before.zip(ran()));
            if let Some(other) = plan.bare {
                let before = other.ran();
                let round = lab.run(THE_BARE, AskSchedule::Full, plan.duration / ROUNDS)?;
                bare.add(&round, before.zip(other.ran()));
            }
        }
    }
    let saturation = MeasurementSpread::of(&server.rates);
    let rate = plan.rate.or(saturation.map(|spread| spread.median / 10.0)).unwrap_or(1.0).max(1.0);
    let load = lab.run(THE_SERVER, AskSchedule::Rate(rate), plan.duration)?;
    let resident_bytes =
        plan.process.and_then(usage).and_then(|ProcessUsage { resident_bytes, .. }| resident_bytes);
    let waited = load.kinds.first().map(|kind| &kind.waited).ok_or(ServerBenchError::NoAnswers)?;
    let quantile = |q| waited.value_at_quantile(q);
    Ok(ServerMeasurement {
        saturation,
        cpu_ns: server.cpu_ns(),
        busy: server.busy(),
        bare: MeasurementSpread::of(&bare.rates).map(|spread| (spread, bare.cpu_ns())),
        resident_bytes,
        load: RateResult {
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

/// The lanes of the load.
const THE_SERVER: usize = 0;
const THE_BARE: usize = 1;

struct ServerLab<C> {
    generator: LoadGenerator<C>,
}

impl<C: ProtocolConnection> ServerLab<C> {
    /// Asks one of the servers.
    fn run(
        &mut self,
        lane: usize,
        schedule: AskSchedule,
        duration: Duration,
    ) -> Result<LaneResult, ServerBenchError> {
        let of = |other| if other == lane { schedule } else { AskSchedule::Silent };
        let runs = self.generator.run(&[of(THE_SERVER), of(THE_BARE)], duration)?;
        runs.into_iter().nth(lane).ok_or(ServerBenchError::NoAnswers)
    }
}

/// Rounds of saturation of one server.
#[derive(Default)]
struct SaturationRounds {
    rates: Vec<f64>,
    answered: u64,
    time: Duration,
    /// How long the server ran, if that is known of all of them.
    ran: Option<Duration>,
}

impl SaturationRounds {
    /// One more; `ran` is how long the server had run before and after.
    fn add(&mut self, round: &LaneResult, ran: Option<(Duration, Duration)>) {
        let is_first = self.rates.is_empty();
        let so_far = if is_first { Some(Duration::ZERO) } else { self.ran };
        self.ran = so_far.zip(ran).map(|(so_far, (before, after))| so_far + after.saturating_sub(before));
        self.rates.push(round.rate());
        self.answered += round.answered();
        self.time += round.time;
    }

    /// What a core did for one answer, in nanoseconds.
    fn cpu_ns(&self) -> Option<u64> {
        Some((self.ran?.as_nanos() / u128::from(self.answered.max(1))) as u64)
    }

    /// Which part of the time the server ran.
    fn busy(&self) -> Option<f64> {
        Some(self.ran?.as_secs_f64() / self.time.as_secs_f64())
    }
}

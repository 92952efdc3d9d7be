//! Makes load: users or arrivals, over HTTP/1.1, HTTP/2 or RSocket, from a few threads of event loops.
//!
//! A user is a small machine that runs the steps of a scenario; thousands of them share one thread. Every request has a
//! moment at which it is due, and latency counts from then: a server that stalls does not stop the clock. What was due and
//! never sent is counted, and how late the generator itself was is measured.

mod address;
mod answer;
mod arrivals;
mod balance;
mod cause;
mod clock;
mod limit;
mod null;
mod plan;
mod probe;
mod seconds;
mod share;
mod stream;
mod tally;
mod tls;
mod user;
mod wire;
mod worker;

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

pub(crate) use address::TargetNode;
pub(crate) use limit::{allow_files, limit};
pub use null::NullServer;
pub(crate) use plan::LoadPlan;
pub use probe::{Probe, probe};
pub(crate) use seconds::SecondCount;
pub(crate) use share::LoadShare;
pub(crate) use tally::SecondTally;

use crate::record::{GeneratorUse, MeasuredSecond, NodeResult, StepResult, add_all};
use crate::run::RunError;
use crate::scenario::{
    ArrivalShape, LoadSpec, NodeChoice, ScenarioError, ScenarioFolder, Tls, USERS_MAX, WarmUp,
};
use arrivals::ArrivalSchedule;
use balance::NodeBalance;
use clock::{LoadClock, NEVER};
use plan::ns;
use stream::TlsEndpoint;
use tally::ThreadTally;
use wire::LoadProtocol;
use worker::{LoadWorker, WorkerShared};

/// How often whoever attends is asked whether to go on.
const LOOK: Duration = Duration::from_millis(50);
/// A stop waits no longer for the last answers.
const STOP_TIME_MAX: Duration = Duration::from_secs(2);
/// Arrivals served at once where the scenario says nothing.
const PLACES: u64 = 100;
/// Requests under way on one connection that several share, where the scenario says nothing.
const STREAMS: usize = 100;
const SECOND_NS: u64 = 1_000_000_000;

/// What one measurement is made of.
#[derive(Debug)]
pub(crate) struct LoadSetup<'s> {
    plan: &'s LoadPlan,
    load: &'s LoadSpec,
    balance: NodeChoice,
    users: u64,
    /// Which of the users and arrivals are made here.
    share: LoadShare,
    schedule: Option<ArrivalSchedule>,
    seed: u64,
    threads: usize,
    connections_by_node: usize,
    /// On a connection that carries several requests at once: so many at most.
    streams: usize,
    tls: Vec<Option<TlsEndpoint>>,
    /// Seconds are counted so that one of them begins with the measurement.
    second_shift: u64,
}

/// The source of requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum LoadGenerators {
    /// So many users.
    Users(u64),
    /// Arrivals of this shape.
    Arrivals(ArrivalShape),
}

/// Told of a measurement while it goes on, on the thread that began it.
pub(crate) trait LoadObserver {
    /// All threads are ready: when the load is to begin, at the earliest now.
    fn start(&mut self) -> Instant {
        Instant::now()
    }
    /// Asked where the warm-up ends by itself: when measuring is to begin, in nanoseconds since the load began. `own` is what
    /// this load's own seconds suggest.
    fn measure_from(&mut self, own: Option<u64>) -> Option<u64> {
        own
    }
    /// A second has passed; `tally` is all that was counted in it.
    fn second(&mut self, second: &MeasuredSecond, tally: &SecondTally);
    /// Measuring begins now.
    fn begin(&mut self);
    /// Measuring ends now: no more is asked.
    fn end(&mut self);
    /// Why the load must end early, if it must.
    fn must_stop(&mut self) -> Option<String>;
}

/// The result of a load.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct LoadResult {
    pub(crate) steps: Vec<StepResult>,
    pub(crate) by_node: Vec<NodeResult>,
    pub(crate) generator: GeneratorUse,
    #[serde(skip)]
    pub(crate) seconds: Vec<MeasuredSecond>,
    /// How long was measured.
    pub(crate) time_s: f64,
    pub(crate) warm_up_s: f64,
    /// Why it ended early.
    pub(crate) stopped: Option<String>,
    /// Why the target was not level when measuring began.
    pub(crate) not_level: Option<String>,
}

impl<'s> LoadSetup<'s> {
    /// Prepares a load.
    ///
    /// # Errors
    /// Files of moments or certificates that cannot be read.
    pub(crate) fn new(
        plan: &'s LoadPlan,
        load: &'s LoadSpec,
        balance: NodeChoice,
        askers: &LoadGenerators,
        seed: u64,
        tls: &Tls,
        folder: &ScenarioFolder,
    ) -> Result<LoadSetup<'s>, ScenarioError> {
        let ramp_s = load.ramp.0.as_secs_f64();
        let streams = load.streams.unwrap_or(STREAMS);
        let (users, schedule) = match askers {
            LoadGenerators::Users(users) => (*users, None),
            LoadGenerators::Arrivals(shape) => {
                let each = if plan.protocol.is_shared() { streams as u64 } else { 1 };
                let places = load.connections.map_or(PLACES, |count| count as u64 * each).min(USERS_MAX);
                (places, Some(ArrivalSchedule::new(shape, seed, ramp_s, folder)?))
            }
        };
        let second_shift = match load.warm_up {
            WarmUp::For(time) => (SECOND_NS - (ns(load.ramp.0) + ns(time.0)) % SECOND_NS) % SECOND_NS,
            WarmUp::Auto => 0,
        };
        let alpn = (plan.protocol == LoadProtocol::Http2).then_some(&b"h2"[..]);
        let tls = tls::to_nodes(&plan.nodes, tls, folder, alpn)?;
        let setup = LoadSetup {
            plan,
            load,
            balance,
            users,
            share: LoadShare::default(),
            schedule,
            seed,
            threads: 1,
            connections_by_node: usize::MAX,
            streams,
            tls,
            second_shift,
        };
        Ok(setup.part(LoadShare::default(), None))
    }

    /// The part of the load that is made here, by so many threads at most where somebody says so.
    pub(crate) fn part(mut self, share: LoadShare, threads: Option<usize>) -> LoadSetup<'s> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let threads = threads.or(self.load.threads).unwrap_or((cores / 2).max(1));
        let users = usize::try_from(share.count(self.users)).unwrap_or(usize::MAX);
        self.threads = threads.min(users).max(1);
        self.connections_by_node = match (self.load.connections, &self.schedule) {
            (Some(_), Some(_)) if !self.plan.protocol.is_shared() => usize::MAX,
            (Some(count), _) => {
                let parts = self.threads * usize::try_from(share.of).unwrap_or(usize::MAX);
                count.div_ceil(parts * self.plan.nodes.len().max(1)).max(1)
            }
            (None, _) => usize::MAX,
        };
        self.share = share;
        self
    }

    /// How many connections the load opens at most, in all parts together.
    pub(crate) fn connections(&self) -> u64 {
        self.load.connections.map_or(self.users, |count| count as u64)
    }

    /// How many users there are, or places for arrivals, in all parts together.
    pub(crate) fn users(&self) -> u64 {
        self.users
    }

    /// Seconds begin so many nanoseconds before those of the load, so that one of them begins with the measurement.
    pub(crate) fn second_shift(&self) -> u64 {
        self.second_shift
    }

    /// When measuring begins, in nanoseconds since the load began; `None` where the warm-up ends by itself.
    pub(crate) fn measured_from(&self) -> Option<u64> {
        match self.load.warm_up {
            WarmUp::For(time) => Some(ns(self.load.ramp.0) + ns(time.0)),
            WarmUp::Auto => None,
        }
    }

    /// How long is measured, in nanoseconds.
    pub(crate) fn measure_ns(&self) -> u64 {
        ns(self.load.measure.0)
    }

    /// How long the ramp is, in whole seconds.
    pub(crate) fn ramp_s(&self) -> usize {
        let ramp = self.load.ramp.0;
        usize::try_from(ramp.as_secs()).unwrap_or(usize::MAX) + usize::from(ramp.subsec_nanos() > 0)
    }

    /// How many threads make the load.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// How many arrivals a second there are on average; `None` of users.
    pub(crate) fn mean_rate(&self) -> Option<f64> {
        self.schedule.as_ref().map(ArrivalSchedule::mean_rate)
    }

    /// Makes the load and returns when the last answers have come, or were waited for in vain.
    ///
    /// # Errors
    /// Sockets, timers or threads that the system refuses.
    pub(crate) fn measure(&self, attend: &mut dyn LoadObserver) -> Result<LoadResult, RunError> {
        let machine = |error: std::io::Error| RunError::Machine(format!("load cannot be made: {error}"));
        let nodes = NodeBalance::new(self.balance, self.plan.nodes.len());
        let shared = WorkerShared { clock: LoadClock::default(), nodes };
        if let Some(from) = self.measured_from() {
            shared.clock.measure(from, from + self.measure_ns());
        }
        thread::scope(|scope| {
            let (sender, receiver) = channel();
            let start = |number| {
                let worker = LoadWorker::new(self, &shared, number, sender.clone())?;
                thread::Builder::new().name(format!("lab-load-{number}")).spawn_scoped(scope, || worker.run())
            };
            let threads: Result<Vec<_>, _> = (0..self.threads).map(start).collect();
            drop(sender);
            let give_up = |_: &std::io::Error| {
                shared.clock.stop(0, 0);
                shared.clock.begin(Instant::now());
            };
            let threads = threads.inspect_err(give_up).map_err(machine)?;
            shared.clock.begin(attend.start());
            let mut leader = LoadLeader::new(self, &shared);
            leader.lead(&receiver, attend);
            let mut tallies = Vec::new();
            for thread in threads {
                let one =
                    thread.join().map_err(|_| RunError::Machine("a thread of the load failed".to_owned()))?;
                tallies.push(one.map_err(machine)?);
            }
            Ok(leader.measured(&tallies))
        })
    }
}

/// Follows the threads second by second, and says when measuring begins and ends.
struct LoadLeader<'l> {
    setup: &'l LoadSetup<'l>,
    shared: &'l WorkerShared,
    seconds: SecondCount,
    /// When measuring could begin, as far as seconds show.
    level_from: Option<u64>,
    has_begun: bool,
    has_ended: bool,
    stopped: Option<String>,
    not_level: Option<String>,
}

impl<'l> LoadLeader<'l> {
    fn new(setup: &'l LoadSetup<'l>, shared: &'l WorkerShared) -> LoadLeader<'l> {
        LoadLeader {
            setup,
            shared,
            seconds: SecondCount::new(setup.threads, setup.second_shift),
            level_from: None,
            has_begun: false,
            has_ended: false,
            stopped: None,
            not_level: None,
        }
    }

    /// Until all threads have ended.
    fn lead(&mut self, receiver: &Receiver<SecondTally>, attend: &mut dyn LoadObserver) {
        loop {
            let now = self.shared.clock.now();
            let (from, to) = self.shared.clock.borders();
            if now >= from && !self.has_begun {
                self.has_begun = true;
                attend.begin();
            }
            if now >= to && !self.has_ended {
                self.has_ended = true;
                attend.end();
            }
            if self.stopped.is_none() && !self.has_ended {
                self.stopped = attend.must_stop();
                if self.stopped.is_some() {
                    self.shared.clock.stop(now + 1_000_000, now + ns(STOP_TIME_MAX));
                }
            }
            if from == NEVER
                && self.stopped.is_none()
                && let Some(from) = attend.measure_from(self.level_from.take())
            {
                self.shared.clock.measure(from, from + self.setup.measure_ns());
            }
            let border = if now < from {
                from
            } else if now < to {
                to
            } else {
                NEVER
            };
            let wait = Duration::from_nanos(border.saturating_sub(now)).min(LOOK);
            match receiver.recv_timeout(wait) {
                Ok(second) => {
                    self.seconds.take(&second);
                    self.tell(attend, false);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.tell(attend, true);
        if !self.has_ended {
            attend.end();
        }
    }

    /// When measuring begins, in nanoseconds since the load began, if that is known.
    fn from(&self) -> Option<u64> {
        let (from, _) = self.shared.clock.borders();
        (from != NEVER).then_some(from)
    }

    fn tell(&mut self, attend: &mut dyn LoadObserver, is_over: bool) {
        let from = self.from();
        while let Some(tally) = self.seconds.next(is_over) {
            let (number, tally) = (tally.number, tally.clone());
            attend.second(&tally.second(self.seconds.at_s(number, from)), &tally);
        }
        if from.is_none()
            && self.stopped.is_none()
            && let Some(level) = self.seconds.level(self.setup.ramp_s())
        {
            // Begins with the next whole second.
            self.level_from = Some((self.shared.clock.now() / SECOND_NS + 1) * SECOND_NS);
            self.not_level = level.err();
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a run does not take 2^53 ns")]
    fn measured(self, tallies: &[ThreadTally]) -> LoadResult {
        let (from, to) = self.shared.clock.borders();
        let time_s = if from < to && to != NEVER { (to - from) as f64 / 1e9 } else { 0.0 };
        let ramp_s = self.setup.load.ramp.0.as_secs_f64();
        let warm_up_s = if from == NEVER { 0.0 } else { from as f64 / 1e9 - ramp_s };
        let steps: Vec<String> =
            self.setup.plan.requests.iter().map(|request| request.name.clone()).collect();
        let nodes: Vec<String> = self.setup.plan.nodes.iter().map(|node| node.name.clone()).collect();
        let mut measured = LoadResult {
            seconds: self.seconds.record(self.from()),
            time_s,
            warm_up_s,
            stopped: self.stopped,
            not_level: self.not_level,
            ..LoadResult::default()
        };
        let generator = &mut measured.generator;
        for tally in tallies {
            add_all(&mut measured.steps, tally.step_results(&steps), |step| &step.name, StepResult::add);
            add_all(&mut measured.by_node, tally.node_results(&nodes), |node| &node.name, NodeResult::add);
            generator.cpu_s += tally.cpu_s;
            generator.lateness.add(&tally.lateness);
            generator.connections += tally.connections;
            generator.backlog_max += tally.backlog_max;
        }
        if time_s > 0.0 {
            generator.busy = generator.cpu_s / time_s / self.setup.threads as f64;
        }
        measured
    }
}

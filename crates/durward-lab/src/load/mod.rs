//! Makes load: users or arrivals, over HTTP/1.1, from a few threads of event loops.
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
mod http;
mod null;
mod plan;
mod probe;
mod stream;
mod tally;
mod tls;
mod user;
mod worker;

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

pub(crate) use address::Node;
pub(crate) use null::NullServer;
pub(crate) use plan::Plan;
pub use probe::{Probe, probe};
pub(crate) use tally::SecondTally;

use crate::record::{GeneratorUse, NodeResult, Second, StepResult};
use crate::run::RunError;
use crate::scenario::{ArrivalShape, Balance, Load, ScenarioError, Tls, WarmUp};
use arrivals::Schedule;
use balance::Nodes;
use clock::{Clock, NEVER};
use plan::ns;
use stream::TlsTo;
use tally::Tally;
use worker::{Shared, Worker};

/// How often whoever attends is asked whether to go on.
const LOOK: Duration = Duration::from_millis(50);
/// The longest warm-up that ends by itself.
const WARM_UP_S_MAX: usize = 60;
/// A warm-up that ends by itself looks at so many seconds.
const LEVEL_S: usize = 4;
/// Rates of level seconds differ by no more than this share of their mean, and medians by no more than twice that.
const LEVEL: f64 = 0.05;
/// A stop waits no longer for the last answers.
const STOP_TIME_MAX: Duration = Duration::from_secs(2);
/// Arrivals served at once where the scenario says nothing.
const PLACES: u64 = 100;
const SECOND_NS: u64 = 1_000_000_000;

/// What one measurement is made of.
#[derive(Debug)]
pub(crate) struct Setup<'s> {
    plan: &'s Plan,
    load: &'s Load,
    balance: Balance,
    users: u64,
    schedule: Option<Schedule>,
    seed: u64,
    threads: usize,
    connections_by_node: usize,
    tls: Vec<Option<TlsTo>>,
    /// Seconds are counted so that one of them begins with the measurement.
    second_shift: u64,
}

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) enum Askers {
    /// So many users.
    Users(u64),
    /// Arrivals of this shape.
    Arrivals(ArrivalShape),
}

/// Told of a measurement while it goes on, on the thread that began it.
pub(crate) trait Attend {
    /// A second has passed; `tally` is all that was counted in it.
    fn second(&mut self, second: &Second, tally: &SecondTally);
    /// Measuring begins now.
    fn begin(&mut self);
    /// Measuring ends now: no more is asked.
    fn end(&mut self);
    /// Why the load must end early, if it must.
    fn must_stop(&mut self) -> Option<String>;
}

/// What came of a load.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) steps: Vec<StepResult>,
    pub(crate) by_node: Vec<NodeResult>,
    pub(crate) generator: GeneratorUse,
    pub(crate) seconds: Vec<Second>,
    /// How long was measured.
    pub(crate) time_s: f64,
    pub(crate) warm_up_s: f64,
    /// Why it ended early.
    pub(crate) stopped: Option<String>,
    /// Why the target was not level when measuring began.
    pub(crate) not_level: Option<String>,
}

impl<'s> Setup<'s> {
    /// Prepares a load.
    ///
    /// # Errors
    /// Files of moments or certificates that cannot be read.
    pub(crate) fn new(
        plan: &'s Plan,
        load: &'s Load,
        balance: Balance,
        askers: &Askers,
        seed: u64,
        tls: &Tls,
        folder: &Path,
    ) -> Result<Setup<'s>, ScenarioError> {
        let ramp_s = load.ramp.0.as_secs_f64();
        let (users, schedule) = match askers {
            Askers::Users(users) => (*users, None),
            Askers::Arrivals(shape) => {
                let places = load.connections.map_or(PLACES, |count| count as u64);
                (places, Some(Schedule::new(shape, seed, ramp_s, folder)?))
            }
        };
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let threads = load.threads.unwrap_or((cores / 2).max(1));
        let threads = threads.min(usize::try_from(users).unwrap_or(usize::MAX)).max(1);
        let connections_by_node = match (load.connections, &schedule) {
            (Some(count), None) => count.div_ceil(threads * plan.nodes.len().max(1)).max(1),
            (None, _) | (_, Some(_)) => usize::MAX,
        };
        let second_shift = match load.warm_up {
            WarmUp::For(time) => (SECOND_NS - (ns(load.ramp.0) + ns(time.0)) % SECOND_NS) % SECOND_NS,
            WarmUp::Auto => 0,
        };
        let tls = tls::to_nodes(&plan.nodes, tls, folder)?;
        Ok(Setup {
            plan,
            load,
            balance,
            users,
            schedule,
            seed,
            threads,
            connections_by_node,
            tls,
            second_shift,
        })
    }

    /// How many threads make the load.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// How many arrivals a second there are on average; `None` of users.
    pub(crate) fn mean_rate(&self) -> Option<f64> {
        self.schedule.as_ref().map(Schedule::mean_rate)
    }

    /// Makes the load and returns when the last answers have come, or were waited for in vain.
    ///
    /// # Errors
    /// Sockets, timers or threads that the system refuses.
    pub(crate) fn measure(&self, attend: &mut dyn Attend) -> Result<Measured, RunError> {
        let machine = |error: std::io::Error| RunError::Machine(format!("load cannot be made: {error}"));
        let nodes = Nodes::new(self.balance, self.plan.nodes.len());
        let shared = Shared { clock: Clock::begin(), nodes };
        let warm_up = match self.load.warm_up {
            WarmUp::For(time) => Some(ns(self.load.ramp.0) + ns(time.0)),
            WarmUp::Auto => None,
        };
        if let Some(from) = warm_up {
            shared.clock.measure(from, from + ns(self.load.measure.0));
        }
        thread::scope(|scope| {
            let (sender, receiver) = channel();
            let start = |number| {
                let worker = Worker::new(self, &shared, number, sender.clone())?;
                thread::Builder::new().name(format!("lab-load-{number}")).spawn_scoped(scope, || worker.run())
            };
            let threads: Result<Vec<_>, _> = (0..self.threads).map(start).collect();
            drop(sender);
            let threads = threads.inspect_err(|_| shared.clock.stop(0, 0)).map_err(machine)?;
            let mut leader = Leader::new(self, &shared);
            leader.lead(&receiver, attend);
            let mut tally = Tally::new(self.plan.requests.len(), self.plan.nodes.len());
            for thread in threads {
                let one =
                    thread.join().map_err(|_| RunError::Machine("a thread of the load failed".to_owned()))?;
                tally.add(&one.map_err(machine)?);
            }
            Ok(leader.measured(&tally))
        })
    }
}

/// Follows the threads second by second, and says when measuring begins and ends.
struct Leader<'l> {
    setup: &'l Setup<'l>,
    shared: &'l Shared,
    /// By number: what has come, and from how many threads.
    open: Vec<(SecondTally, usize)>,
    /// Seconds of which all threads have told.
    told: usize,
    has_begun: bool,
    has_ended: bool,
    stopped: Option<String>,
    not_level: Option<String>,
}

impl<'l> Leader<'l> {
    fn new(setup: &'l Setup<'l>, shared: &'l Shared) -> Leader<'l> {
        Leader {
            setup,
            shared,
            open: Vec::new(),
            told: 0,
            has_begun: false,
            has_ended: false,
            stopped: None,
            not_level: None,
        }
    }

    /// Until all threads have ended.
    fn lead(&mut self, receiver: &Receiver<SecondTally>, attend: &mut dyn Attend) {
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
            let border = if now < from {
                from
            } else if now < to {
                to
            } else {
                NEVER
            };
            let wait = Duration::from_nanos(border.saturating_sub(now)).min(LOOK);
            match receiver.recv_timeout(wait) {
                Ok(second) => self.take(second, attend),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        while self.told < self.open.len() {
            self.tell(attend);
        }
        if !self.has_ended {
            attend.end();
        }
    }

    fn take(&mut self, second: SecondTally, attend: &mut dyn Attend) {
        let number = usize::try_from(second.number).unwrap_or(usize::MAX);
        // No run is longer than weeks.
        if number > 10_000_000 {
            return;
        }
        while self.open.len() <= number {
            let number = self.open.len() as u64;
            self.open.push((SecondTally { number, ..SecondTally::default() }, 0));
        }
        if let Some((open, threads)) = self.open.get_mut(number) {
            open.add(&second);
            *threads += 1;
        }
        // A thread skips seconds in which it was held back: what a later one tells ends those before it.
        while self.open.get(self.told).is_some_and(|(_, threads)| *threads >= self.setup.threads) {
            self.tell(attend);
        }
    }

    fn tell(&mut self, attend: &mut dyn Attend) {
        if let Some((second, _)) = self.open.get(self.told) {
            attend.second(&second.second(self.at_s(second.number)), second);
        }
        self.told += 1;
        let (from, _) = self.shared.clock.borders();
        if from == NEVER && self.stopped.is_none() {
            self.look_whether_level();
        }
    }

    /// Begins to measure with the next whole second once rate and latency are level, or the time for that is over.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the ramp is less than a week"
    )]
    fn look_whether_level(&mut self) {
        let ramp_s = self.setup.load.ramp.0.as_secs_f64().ceil() as usize;
        // The first second behind the ramp still opens connections.
        let seconds = self.open.get(ramp_s + 1..self.told).unwrap_or_default();
        let last: Vec<Second> =
            seconds.iter().rev().take(LEVEL_S).map(|(second, _)| second.second(0.0)).collect();
        let uneven = if last.len() < LEVEL_S { Some("too short".to_owned()) } else { unevenness(&last) };
        if uneven.is_some() && seconds.len() < WARM_UP_S_MAX {
            return;
        }
        self.not_level = uneven.map(|how| format!("after {WARM_UP_S_MAX} s of warm-up {how}"));
        let from = (self.shared.clock.now() / SECOND_NS + 1) * SECOND_NS;
        self.shared.clock.measure(from, from + ns(self.setup.load.measure.0));
    }

    /// Seconds since measuring began at the begin of a second.
    #[expect(clippy::cast_precision_loss, reason = "a run does not take 2^53 ns")]
    fn at_s(&self, number: u64) -> f64 {
        let (from, _) = self.shared.clock.borders();
        let from = if from == NEVER { 0.0 } else { from as f64 };
        ((number * SECOND_NS) as f64 - self.setup.second_shift as f64 - from) / 1e9
    }

    #[expect(clippy::cast_precision_loss, reason = "a run does not take 2^53 ns")]
    fn measured(mut self, tally: &Tally) -> Measured {
        let (from, to) = self.shared.clock.borders();
        let time_s = if from < to && to != NEVER { (to - from) as f64 / 1e9 } else { 0.0 };
        let ramp_s = self.setup.load.ramp.0.as_secs_f64();
        let warm_up_s = if from == NEVER { 0.0 } else { from as f64 / 1e9 - ramp_s };
        let names = |nodes: &[Node]| nodes.iter().map(|node| node.name.clone()).collect::<Vec<_>>();
        let steps: Vec<String> =
            self.setup.plan.requests.iter().map(|request| request.name.clone()).collect();
        let busy = if time_s > 0.0 { tally.cpu_s / time_s / self.setup.threads as f64 } else { 0.0 };
        let seconds = std::mem::take(&mut self.open);
        Measured {
            steps: tally.step_results(&steps),
            by_node: tally.node_results(&names(&self.setup.plan.nodes)),
            generator: GeneratorUse {
                busy,
                cpu_s: tally.cpu_s,
                lateness: tally.lateness.clone(),
                connections: tally.connections,
                backlog_max: tally.backlog_max,
            },
            seconds: seconds.iter().map(|(second, _)| second.second(self.at_s(second.number))).collect(),
            time_s,
            warm_up_s,
            stopped: self.stopped,
            not_level: self.not_level,
        }
    }
}

/// How seconds differ, where they differ too much.
fn unevenness(seconds: &[Second]) -> Option<String> {
    #[expect(clippy::cast_precision_loss, reason = "counts of a second")]
    let spread = |value: fn(&Second) -> u64| {
        let values: Vec<f64> = seconds.iter().map(|second| value(second) as f64).collect();
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let most = values.iter().map(|value| (value - mean).abs()).fold(0.0, f64::max);
        // A count varies by its root by chance alone.
        let chance = mean.sqrt() * 2.0;
        (if mean > 0.0 { most / mean } else { 0.0 }, if mean > 0.0 { chance / mean } else { 0.0 })
    };
    let (rate, chance) = spread(|second| second.answered);
    let (median, _) = spread(|second| second.p50_ns);
    if rate > LEVEL.max(chance) {
        return Some(format!("the rate still varied by {:.0} %", rate * 100.0));
    }
    (median > 4.0 * LEVEL).then(|| format!("the median still varied by {:.0} %", median * 100.0))
}

//! All points of a scenario, one after the other.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::moment::Seen;
use super::{Moment, Options, Place, RunError, Watcher, marks, thresholds};
use crate::load::{Askers, Attend, Measured, Node, NullServer, Plan, SecondTally, Setup};
use crate::machine::Machine;
use crate::random::Random;
use crate::record::{About, FORMAT, GeneratorLimit, Load, Mark, Point, Record, Second, Used};
use crate::scenario::{Balance, OneOrMany, Scenario, Think, Time, Tls, WarmUp};
use crate::target::{Neighbours, Others, Running, Watch};

/// Users of one thread who ask a server that does nothing: enough that none of them is waited for.
const LIMIT_USERS: u64 = 64;
/// How long the generator warms up for its own limit.
const LIMIT_WARM_UP: Duration = Duration::from_millis(300);
/// Files beside connections.
const FILES: u64 = 256;
/// The longest warm-up that ends by itself, and the second that measuring begins with.
const AUTO_WARM_UP_S_MAX: f64 = 61.0;
/// How often a pause looks whether it is to end.
const LOOK: Duration = Duration::from_millis(50);

/// A run under way.
pub(super) struct Sweep<'s> {
    scenario: &'s Scenario,
    options: &'s Options,
    record: Record,
}

/// One point to be measured.
struct Job {
    configuration: String,
    vary: BTreeMap<String, String>,
    balance: Balance,
    askers: Askers,
    replicate: u32,
}

impl<'s> Sweep<'s> {
    pub(super) fn new(scenario: &'s Scenario, options: &'s Options) -> Result<Sweep<'s>, RunError> {
        let about = About {
            name: scenario.name.clone(),
            version: options.version.clone(),
            command: options.command.clone(),
            scenario: scenario.text.clone(),
            started_unix_ms: (options.now_unix_ms)(),
            seed: scenario.seed,
            targets: Vec::new(),
        };
        let machines = vec![Machine::this().info("local")];
        let sweep = Sweep {
            scenario,
            options,
            record: Record { format: FORMAT, about, machines, ..Record::default() },
        };
        // Before anything is started: addresses must be allowed, and files must be there.
        for address in &scenario.target.addresses {
            sweep.allowed(address)?;
        }
        let nodes = [Node::resolve("127.0.0.1:1")?];
        for (_, vary) in scenario.variants() {
            let plan = Plan::new(scenario, &vary, &nodes)?;
            for askers in askers(scenario) {
                Setup::new(
                    &plan,
                    &scenario.load,
                    Balance::Sticky,
                    &askers,
                    scenario.seed,
                    &Tls::default(),
                    &scenario.folder,
                )?;
            }
        }
        sweep.allow_files()?;
        Ok(sweep)
    }

    /// A node at this address, which must be this machine or one that may be loaded.
    fn allowed(&self, address: &str) -> Result<Node, RunError> {
        let node = Node::resolve(address)?;
        if node.is_local() || self.options.may_load.contains(&node.host) {
            Ok(node)
        } else {
            Err(RunError::NotLocal { host: node.host })
        }
    }

    /// Raises how many files may be open as far as the system allows; that must do for the connections.
    fn allow_files(&self) -> Result<(), RunError> {
        let limit = getrlimit(Resource::Nofile);
        // What is not raised is seen below.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
        let Some(allowed) = getrlimit(Resource::Nofile).current else { return Ok(()) };
        let load = &self.scenario.load;
        let users = load.users.0.iter().copied().max().unwrap_or(0);
        let connections = load.connections.map_or(users, |count| count as u64);
        if connections + FILES <= allowed {
            return Ok(());
        }
        Err(RunError::Machine(format!(
            "{connections} connections need as many open files, and this process may open {allowed}: raise `ulimit -n`, or set `load.connections`"
        )))
    }

    pub(super) fn run(mut self, watcher: &mut dyn Watcher) -> Result<Record, RunError> {
        if !self.options.generator_limit.is_zero() && !self.is_stopped() {
            watcher.generator_limit();
            self.record.generator_limit = Some(self.generator_limit()?);
        }
        let sweep = self.scenario.target.sweep();
        let count: usize = sweep.iter().map(|nodes| jobs(self.scenario, *nodes).len()).sum();
        for nodes in sweep {
            match self.nodes(nodes, count, watcher) {
                Ok(()) => {}
                // What was measured is worth more than an error.
                Err(error) if !self.record.points.is_empty() => {
                    self.record.cut_short = Some(error.to_string())
                }
                Err(error) => return Err(error),
            }
            if self.record.cut_short.is_some() {
                break;
            }
        }
        if self.is_stopped() && self.record.cut_short.is_none() {
            self.record.cut_short = Some("the run was stopped".to_owned());
        }
        self.record.thresholds = thresholds::held(&self.scenario.thresholds, &self.record.points);
        Ok(self.record)
    }

    /// All points of so many nodes.
    fn nodes(&mut self, count: usize, points: usize, watcher: &mut dyn Watcher) -> Result<(), RunError> {
        let mut running = self.start(count)?;
        let mut all = jobs(self.scenario, count);
        let before = self.record.points.len();
        Random::of_part(self.scenario.seed, count as u64).shuffle(&mut all);
        for (at, job) in all.iter().enumerate() {
            if self.is_stopped() {
                break;
            }
            if self.scenario.load.restart && at > 0 {
                self.stop(running);
                running = self.start(count)?;
            }
            let nodes: Vec<Node> =
                running.addresses().iter().map(|address| self.allowed(address)).collect::<Result<_, _>>()?;
            let place = |load| Place {
                number: before + at + 1,
                count: points,
                configuration: job.configuration.clone(),
                nodes: count,
                load,
                replicate: job.replicate,
            };
            let point = self.point(job, &nodes, &running, &place, watcher)?;
            watcher.end(&place(point.load), &point);
            let is_cut = point.marks.iter().any(|mark| matches!(mark, Mark::CutShort(_)));
            self.record.points.push(point);
            if let Err(error) = running.check() {
                self.record.cut_short = Some(error.to_string());
            }
            if is_cut || self.record.cut_short.is_some() {
                break;
            }
            self.pause(self.scenario.load.cool_down.0);
        }
        self.stop(running);
        Ok(())
    }

    /// What there is to say of a target is known when it has ended.
    fn stop(&mut self, running: Running) {
        for note in running.stop() {
            if !self.record.notes.contains(&note) {
                self.record.notes.push(note);
            }
        }
    }

    fn start(&mut self, nodes: usize) -> Result<Running, RunError> {
        let running = self.scenario.target.start(nodes)?;
        let info = running.info();
        if !self.record.about.targets.contains(&info) {
            self.record.about.targets.push(info);
        }
        Ok(running)
    }

    fn point(
        &self,
        job: &Job,
        nodes: &[Node],
        running: &Running,
        place: &dyn Fn(Load) -> Place,
        watcher: &mut dyn Watcher,
    ) -> Result<Point, RunError> {
        let scenario = self.scenario;
        let plan = Plan::new(scenario, &job.vary, nodes)?;
        let seed = Random::of_part(scenario.seed, u64::from(job.replicate)).next_u64();
        let setup = Setup::new(
            &plan,
            &scenario.load,
            job.balance,
            &job.askers,
            seed,
            &scenario.tls,
            &scenario.folder,
        )?;
        let load = match (&job.askers, setup.mean_rate()) {
            (Askers::Users(users), _) => Load::Users(*users),
            (Askers::Arrivals(_), rate) => Load::Arrivals(rate.unwrap_or(0.0)),
        };
        let place = place(load);
        watcher.begin(&place);
        let mut attend = Attendance {
            place: &place,
            plan: &plan,
            threads: setup.threads(),
            running,
            watcher,
            options: self.options,
            watch: None,
            used: Vec::new(),
            neighbours: None,
            others: None,
            started_unix_ms: 0,
            has_begun: false,
            seen: Seen::default(),
            warm_up_s_max: scenario.load.ramp.0.as_secs_f64() + AUTO_WARM_UP_S_MAX,
            checked: Instant::now(),
        };
        let mut measured = setup.measure(&mut attend)?;
        let (started_unix_ms, used, others) = (attend.started_unix_ms, attend.used, attend.others);
        for (node, used) in measured.by_node.iter_mut().zip(used) {
            node.used = used;
        }
        let is_shaped = matches!(&job.askers, Askers::Arrivals(shape) if !matches!(shape, crate::scenario::ArrivalShape::Rate(..)));
        let marks = marks::of(&measured, self.record.generator_limit.as_ref(), others.as_ref(), is_shaped);
        let Measured { steps, by_node, generator, seconds, time_s, warm_up_s, .. } = measured;
        Ok(Point {
            configuration: job.configuration.clone(),
            nodes: nodes.len(),
            load,
            replicate: job.replicate,
            started_unix_ms,
            measured_s: time_s,
            warm_up_s,
            steps,
            by_node,
            generator,
            machine: others.map(|others| others.figures()).unwrap_or_default(),
            seconds,
            marks,
        })
    }

    /// What the generator reaches with this scenario's requests against a server that does nothing.
    fn generator_limit(&self) -> Result<GeneratorLimit, RunError> {
        let machine = |error: std::io::Error| {
            RunError::Machine(format!("a server that does nothing cannot be started: {error}"))
        };
        let server = NullServer::start().map_err(machine)?;
        let nodes = [Node::resolve(&server.url())?];
        let (_, vary) = self.scenario.variants().into_iter().next().unwrap_or_default();
        let plan = Plan::new(self.scenario, &vary, &nodes)?.blind();
        let load = crate::scenario::Load {
            users: OneOrMany(Vec::new()),
            arrivals: None,
            think: Think::None,
            pace: None,
            ramp: Time::default(),
            warm_up: WarmUp::For(Time(LIMIT_WARM_UP)),
            measure: Time(self.options.generator_limit),
            connections: None,
            ..self.scenario.load.clone()
        };
        let threads = thread::available_parallelism().map_or(1, usize::from) as u64;
        let users = Askers::Users(LIMIT_USERS * threads);
        let setup = Setup::new(
            &plan,
            &load,
            Balance::Sticky,
            &users,
            self.scenario.seed,
            &Tls::default(),
            &self.scenario.folder,
        )?;
        let measured = setup.measure(&mut Unattended { options: self.options })?;
        let answered: u64 = measured.steps.iter().map(|step| step.answered).sum();
        #[expect(clippy::cast_precision_loss, reason = "no run counts to 2^53")]
        let requests_per_s = answered as f64 / measured.time_s.max(f64::MIN_POSITIVE);
        Ok(GeneratorLimit { requests_per_s, busy: measured.generator.busy, threads: setup.threads() })
    }

    fn is_stopped(&self) -> bool {
        self.options.stop.load(Ordering::Relaxed)
    }

    fn pause(&self, time: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < time && !self.is_stopped() {
            thread::sleep(LOOK.min(time.saturating_sub(begun.elapsed())));
        }
    }
}

/// All points of one number of nodes, in the scenario's order. One node needs no balancing.
fn jobs(scenario: &Scenario, nodes: usize) -> Vec<Job> {
    let balances = scenario.load.balance.0.as_slice();
    let is_named = balances.len() > 1 && nodes > 1;
    let balances = if is_named { balances } else { balances.get(..1).unwrap_or(&[]) };
    let mut jobs = Vec::new();
    for (label, vary) in scenario.variants() {
        for balance in balances {
            let comma = if label.is_empty() { "" } else { ", " };
            let configuration =
                if is_named { format!("{label}{comma}{}", balance.as_str()) } else { label.clone() };
            for askers in askers(scenario) {
                for replicate in 0..scenario.load.repeat {
                    let (configuration, vary, askers) = (configuration.clone(), vary.clone(), askers.clone());
                    jobs.push(Job { configuration, vary, balance: *balance, askers, replicate });
                }
            }
        }
    }
    jobs
}

fn askers(scenario: &Scenario) -> Vec<Askers> {
    let users = scenario.load.users.0.iter().map(|users| Askers::Users(*users));
    let arrivals = scenario.load.arrivals.iter().flat_map(|arrivals| arrivals.shapes()).map(Askers::Arrivals);
    users.chain(arrivals).collect()
}

/// Follows one measurement: watches nodes between its borders, looks whether they live, tells the watcher.
struct Attendance<'a> {
    place: &'a Place,
    plan: &'a Plan,
    /// How many make the load.
    threads: usize,
    running: &'a Running,
    watcher: &'a mut dyn Watcher,
    options: &'a Options,
    watch: Option<Watch>,
    used: Vec<Option<Used>>,
    neighbours: Option<Neighbours>,
    others: Option<Others>,
    started_unix_ms: u64,
    has_begun: bool,
    seen: Seen,
    /// After so many seconds a warm-up that ends by itself has ended at the latest.
    warm_up_s_max: f64,
    checked: Instant,
}

impl Attend for Attendance<'_> {
    fn second(&mut self, second: &Second, tally: &SecondTally) {
        let mut second = *second;
        // While it is not known when measuring begins, seconds are counted from the begin of the load.
        if !self.has_begun && second.at_s >= 0.0 {
            second.at_s = (second.at_s - self.warm_up_s_max).min(-1.0);
        }
        // The last second is told when nodes are watched no more.
        if let Some(watch) = &self.watch {
            self.seen = Seen::of(watch);
        }
        let moment = Moment::of(&second, tally, self.plan, self.threads, &self.seen);
        self.watcher.second(self.place, &moment);
    }

    fn begin(&mut self) {
        self.has_begun = true;
        self.started_unix_ms = (self.options.now_unix_ms)();
        self.neighbours = Some(Neighbours::begin(self.running));
        self.watch = Some(self.running.watch());
    }

    fn end(&mut self) {
        if let Some(watch) = &self.watch {
            self.seen = Seen::of(watch);
        }
        self.used = self.watch.take().map(Watch::end).unwrap_or_default();
        self.others = self.neighbours.take().map(Neighbours::end);
    }

    fn must_stop(&mut self) -> Option<String> {
        if self.options.stop.load(Ordering::Relaxed) {
            return Some("the run was stopped".to_owned());
        }
        if self.checked.elapsed() < Duration::from_millis(500) {
            return None;
        }
        self.checked = Instant::now();
        self.running.check().err().map(|error| error.to_string())
    }
}

struct Unattended<'a> {
    options: &'a Options,
}

impl Attend for Unattended<'_> {
    fn second(&mut self, _: &Second, _: &SecondTally) {}
    fn begin(&mut self) {}
    fn end(&mut self) {}
    fn must_stop(&mut self) -> Option<String> {
        self.options.stop.load(Ordering::Relaxed).then(|| "the run was stopped".to_owned())
    }
}

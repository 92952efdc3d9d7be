//! All points of a scenario, one after the other.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use super::generators::LoadMakers;
use super::moment::LastUsage;
use super::search::ConfigurationSearch;
use super::{RunError, RunOptions, RunPosition, RunSecond, RunWatcher, marks, thresholds};
use crate::agent::AgentTask;
use crate::load::{
    LoadGenerators, LoadObserver, LoadPlan, LoadResult, LoadSetup, LoadShare, SecondTally, TargetNode,
    allow_files,
};
use crate::random::LabRandom;
use crate::record::{
    FORMAT, MeasuredPoint, MeasuredSecond, NodeUse, PointLoad, PointWarning, RunInfo, RunRecord,
};
use crate::scenario::{self, NodeChoice, Scenario, SearchTrial, Tls};
use crate::target::{Neighbours, OtherLoad, RunningTarget, UsageWatch};

/// The longest warm-up that ends by itself, and the second that measuring begins with.
const AUTO_WARM_UP_S_MAX: f64 = 61.0;
/// How often a pause looks whether it is to end.
const LOOK: Duration = Duration::from_millis(50);

/// A run under way.
pub(super) struct RunInProgress<'s> {
    pub(super) scenario: &'s Scenario,
    options: &'s RunOptions,
    generators: LoadMakers,
    pub(super) record: RunRecord,
}

/// One point to be measured.
#[derive(Clone)]
pub(super) struct PointJob {
    pub(super) configuration: String,
    pub(super) vary: BTreeMap<String, String>,
    pub(super) balance: NodeChoice,
    pub(super) askers: LoadGenerators,
    pub(super) replicate: u32,
    /// How it differs from what the scenario says.
    pub(super) trial: Option<SearchTrial>,
}

/// Where the measurements of one number of nodes are.
pub(super) struct SweepProgress {
    pub(super) nodes: usize,
    /// `None` between two starts.
    running: Option<RunningTarget>,
    /// How many points there are as far as that is known.
    points: usize,
    has_begun: bool,
}

impl<'s> RunInProgress<'s> {
    pub(super) fn new(
        scenario: &'s Scenario,
        options: &'s RunOptions,
    ) -> Result<RunInProgress<'s>, RunError> {
        let about = RunInfo {
            name: scenario.name.clone(),
            version: options.version.clone(),
            command: options.command.clone(),
            scenario: scenario.text.clone(),
            started_unix_ms: (options.now_unix_ms)(),
            seed: scenario.seed,
            targets: Vec::new(),
        };
        let mut sweep = RunInProgress {
            scenario,
            options,
            generators: LoadMakers::Here,
            record: RunRecord { format: FORMAT, about, ..RunRecord::default() },
        };
        // Before anything is started: addresses must be allowed, and files must be there.
        for address in &scenario.target.addresses {
            sweep.allowed(address)?;
        }
        scenario.folder.record();
        let nodes = stand_ins(scenario)?;
        let searching = scenario
            .load
            .search
            .as_ref()
            .map(|search| scenario.load.connections.map_or(search.users_max, |count| count as u64));
        let mut connections = searching.unwrap_or(0);
        for (_, vary) in scenario.variants() {
            let plan = LoadPlan::new(scenario, &vary, &nodes)?;
            for askers in askers(scenario) {
                let setup = LoadSetup::new(
                    &plan,
                    &scenario.load,
                    NodeChoice::Sticky,
                    &askers,
                    scenario.seed,
                    &Tls::default(),
                    &scenario.folder,
                )?;
                connections = setup.connections().max(connections);
            }
        }
        if let Some(ca) = &scenario.tls.ca {
            // That it cannot be read is an error only where TLS is spoken.
            let _ = scenario.folder.read(ca);
        }
        let sent = scenario.folder.recorded();
        sweep.generators = LoadMakers::gather(scenario, &sent, options)?;
        sweep.record.machines = sweep.generators.machines();
        allow_files(sweep.generators.own_connections(connections))?;
        let addresses = scenario.target.addresses.iter();
        let nodes = addresses.map(|address| TargetNode::resolve(address)).collect::<Result<Vec<_>, _>>()?;
        sweep.generators.reach(&nodes)?;
        Ok(sweep)
    }

    /// A node at this address, which must be this machine or one that may be loaded.
    fn allowed(&self, address: &str) -> Result<TargetNode, RunError> {
        let node = TargetNode::resolve(address)?;
        if node.is_local() || self.options.may_load.contains(&node.host) {
            Ok(node)
        } else {
            Err(RunError::NotLocal { host: node.host })
        }
    }

    pub(super) fn run(mut self, watcher: &mut dyn RunWatcher) -> Result<RunRecord, RunError> {
        if !self.options.generator_limit.is_zero() && !self.is_stopped() {
            watcher.generator_limit();
            let mut attend = NoPointObserver { options: self.options };
            let limit = self.generators.limit(self.scenario, self.options.generator_limit, &mut attend)?;
            self.record.generator_limit = Some(limit);
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
        self.record.machines = self.generators.machines();
        self.record.thresholds = thresholds::of_run(&self.scenario.thresholds, &self.record.points);
        Ok(self.record)
    }

    /// All points of so many nodes.
    fn nodes(&mut self, count: usize, points: usize, watcher: &mut dyn RunWatcher) -> Result<(), RunError> {
        let mut progress =
            SweepProgress { nodes: count, running: Some(self.start(count)?), points, has_begun: false };
        let mut all = jobs(self.scenario, count);
        LabRandom::of_part(self.scenario.seed, count as u64).shuffle(&mut all);
        for job in all {
            let goes_on = match &self.scenario.load.search {
                Some(search) => {
                    let progress = &mut progress;
                    ConfigurationSearch { sweep: self, search, progress, watcher, job }.run()?
                }
                None => !self.is_stopped() && self.measure(&job, false, &mut progress, watcher)?,
            };
            if !goes_on {
                break;
            }
        }
        if let Some(running) = progress.running {
            self.stop(running);
        }
        Ok(())
    }

    /// Measures one point and records it. Whether the run goes on.
    pub(super) fn measure(
        &mut self,
        job: &PointJob,
        is_try: bool,
        progress: &mut SweepProgress,
        watcher: &mut dyn RunWatcher,
    ) -> Result<bool, RunError> {
        let count = progress.nodes;
        if self.scenario.load.restart && std::mem::replace(&mut progress.has_begun, true) {
            if let Some(running) = progress.running.take() {
                self.stop(running);
            }
            progress.running = Some(self.start(count)?);
        }
        let Some(running) = &mut progress.running else { return Ok(false) };
        let nodes: Vec<TargetNode> =
            running.addresses().iter().map(|address| self.allowed(address)).collect::<Result<_, _>>()?;
        let number = self.record.points.len() + 1;
        let place = |load| RunPosition {
            number,
            // How many points a search takes is known when it is over.
            count: progress.points.max(number),
            configuration: job.configuration.clone(),
            nodes: count,
            load,
            replicate: job.replicate,
        };
        let mut point = self.point(job, &nodes, running, &place, watcher)?;
        point.is_try = is_try;
        watcher.end(&place(point.load), &point);
        let is_cut = point.marks.iter().any(|mark| matches!(mark, PointWarning::CutShort(_)));
        self.record.points.push(point);
        if let Some(lost) = self.generators.lost() {
            self.record.cut_short = Some(lost.to_owned());
        }
        if let Err(error) = running.check() {
            self.record.cut_short = Some(error.to_string());
        }
        if is_cut || self.record.cut_short.is_some() {
            return Ok(false);
        }
        self.pause(self.scenario.load.cool_down.0);
        Ok(true)
    }

    /// What there is to say of a target is known when it has ended.
    fn stop(&mut self, running: RunningTarget) {
        for note in running.stop() {
            if !self.record.notes.contains(&note) {
                self.record.notes.push(note);
            }
        }
    }

    fn start(&mut self, nodes: usize) -> Result<RunningTarget, RunError> {
        let running = self.scenario.target.start(nodes)?;
        let info = running.info();
        if !self.record.about.targets.contains(&info) {
            self.record.about.targets.push(info);
        }
        Ok(running)
    }

    fn point(
        &mut self,
        job: &PointJob,
        nodes: &[TargetNode],
        running: &RunningTarget,
        place: &dyn Fn(PointLoad) -> RunPosition,
        watcher: &mut dyn RunWatcher,
    ) -> Result<MeasuredPoint, RunError> {
        let scenario = self.scenario;
        let plan = LoadPlan::new(scenario, &job.vary, nodes)?;
        let seed = LabRandom::of_part(scenario.seed, u64::from(job.replicate)).next_u64();
        let load = job.trial.as_ref().map(|trial| trial.load(&scenario.load));
        let setup = LoadSetup::new(
            &plan,
            load.as_ref().unwrap_or(&scenario.load),
            job.balance,
            &job.askers,
            seed,
            &scenario.tls,
            &scenario.folder,
        )?;
        let load = match (&job.askers, setup.mean_rate()) {
            (LoadGenerators::Users(users), _) => PointLoad::Users(*users),
            (LoadGenerators::Arrivals(_), rate) => PointLoad::Arrivals(rate.unwrap_or(0.0)),
        };
        let place = place(load);
        self.generators.reach(nodes)?;
        let task = AgentTask {
            vary: job.vary.clone(),
            balance: job.balance,
            askers: job.askers.clone(),
            trial: job.trial.clone(),
            seed,
            nodes: nodes.iter().map(|node| node.name.clone()).collect(),
            share: LoadShare::default(),
        };
        watcher.begin(&place);
        let mut attend = PointObserver {
            place: &place,
            plan: &plan,
            threads: self.generators.threads(&setup, self.record.generator_limit.as_ref()),
            running,
            watcher,
            options: self.options,
            beside: self.generators.processes(),
            watch: None,
            used: Vec::new(),
            neighbours: None,
            others: None,
            started_unix_ms: 0,
            has_begun: false,
            seen: LastUsage::default(),
            warm_up_s_max: scenario.load.ramp.0.as_secs_f64() + AUTO_WARM_UP_S_MAX,
            checked: Instant::now(),
        };
        let mut measured = self.generators.measure(&setup, &task, &mut attend)?;
        let (started_unix_ms, used, others) = (attend.started_unix_ms, attend.used, attend.others);
        for (node, used) in measured.by_node.iter_mut().zip(used) {
            node.used = used;
        }
        let is_shaped = matches!(&job.askers, LoadGenerators::Arrivals(shape) if !matches!(shape, scenario::ArrivalShape::Rate(..)));
        let marks = marks::of(
            &measured,
            self.record.generator_limit.as_ref(),
            &self.generators.machines(),
            others.as_ref(),
            is_shaped,
        );
        let LoadResult { steps, by_node, generator, seconds, time_s, warm_up_s, .. } = measured;
        Ok(MeasuredPoint {
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
            is_try: false,
        })
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.options.stop.load(Ordering::Relaxed)
    }

    fn pause(&self, time: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < time && !self.is_stopped() {
            thread::sleep(LOOK.min(time.saturating_sub(begun.elapsed())));
        }
    }
}

/// Nodes that speak what the target's do, before there are any.
fn stand_ins(scenario: &Scenario) -> Result<Vec<TargetNode>, RunError> {
    let spec = &scenario.target;
    let stand_in = |name: &str, scheme: &str| {
        let node = TargetNode::resolve(&format!("{scheme}://127.0.0.1:1"))?;
        Ok(TargetNode { name: name.to_owned(), ..node })
    };
    if spec.addresses.is_empty() {
        let scheme = spec.scheme.as_str();
        return Ok(vec![stand_in(scheme, scheme)?]);
    }
    let of = |address: &String| {
        let scheme = address.split_once("://").map_or(spec.scheme.as_str(), |(scheme, _)| scheme);
        stand_in(address, scheme)
    };
    spec.addresses.iter().map(of).collect()
}

/// All points of one number of nodes, in the scenario's order. One node needs no balancing.
fn jobs(scenario: &Scenario, nodes: usize) -> Vec<PointJob> {
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
                let repeat = if scenario.load.search.is_some() { 1 } else { scenario.load.repeat };
                for replicate in 0..repeat {
                    let (configuration, vary, askers) = (configuration.clone(), vary.clone(), askers.clone());
                    jobs.push(PointJob {
                        configuration,
                        vary,
                        balance: *balance,
                        askers,
                        replicate,
                        trial: None,
                    });
                }
            }
        }
    }
    jobs
}

/// What a warm-up without a time is taken for.
const WARM_UP_AUTO: Duration = Duration::from_secs(10);

/// See [`super::expected`].
pub(super) fn expected(scenario: &Scenario) -> Duration {
    let load = &scenario.load;
    let warm_up = match load.warm_up {
        scenario::WarmUp::For(time) => time.0,
        scenario::WarmUp::Auto => WARM_UP_AUTO,
    };
    let each = load.ramp.0 + warm_up + load.measure.0 + load.cool_down.0;
    let count: usize = scenario.target.sweep().iter().map(|nodes| jobs(scenario, *nodes).len()).sum();
    each * u32::try_from(count).unwrap_or(u32::MAX)
}

fn askers(scenario: &Scenario) -> Vec<LoadGenerators> {
    let users = scenario.load.users.0.iter().map(|users| LoadGenerators::Users(*users));
    let arrivals =
        scenario.load.arrivals.iter().flat_map(|arrivals| arrivals.shapes()).map(LoadGenerators::Arrivals);
    // A search begins with one, and finds by itself what else there is to ask.
    let search = scenario.load.search.iter().map(|_| LoadGenerators::Users(1));
    users.chain(arrivals).chain(search).collect()
}

/// Follows one measurement: watches nodes between its borders, looks whether they live, tells the watcher.
struct PointObserver<'a> {
    place: &'a RunPosition,
    plan: &'a LoadPlan,
    /// How many make the load.
    threads: usize,
    running: &'a RunningTarget,
    watcher: &'a mut dyn RunWatcher,
    options: &'a RunOptions,
    /// Processes of agents on this machine.
    beside: Vec<u32>,
    watch: Option<UsageWatch>,
    used: Vec<Option<NodeUse>>,
    neighbours: Option<Neighbours>,
    others: Option<OtherLoad>,
    started_unix_ms: u64,
    has_begun: bool,
    seen: LastUsage,
    /// After so many seconds a warm-up that ends by itself has ended at the latest.
    warm_up_s_max: f64,
    checked: Instant,
}

impl LoadObserver for PointObserver<'_> {
    fn second(&mut self, second: &MeasuredSecond, tally: &SecondTally) {
        let mut second = *second;
        // While it is not known when measuring begins, seconds are counted from the begin of the load.
        if !self.has_begun && second.at_s >= 0.0 {
            second.at_s = (second.at_s - self.warm_up_s_max).min(-1.0);
        }
        // The last second is told when nodes are watched no more.
        if let Some(watch) = &self.watch {
            self.seen = LastUsage::of(watch);
        }
        let moment = RunSecond::of(&second, tally, self.plan, self.threads, &self.seen);
        self.watcher.second(self.place, &moment);
    }

    fn begin(&mut self) {
        self.has_begun = true;
        self.started_unix_ms = (self.options.now_unix_ms)();
        self.neighbours = Some(Neighbours::begin_beside(self.running, &self.beside));
        self.watch = Some(self.running.watch());
    }

    fn end(&mut self) {
        if let Some(watch) = &self.watch {
            self.seen = LastUsage::of(watch);
        }
        self.used = self.watch.take().map(UsageWatch::end).unwrap_or_default();
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

struct NoPointObserver<'a> {
    options: &'a RunOptions,
}

impl LoadObserver for NoPointObserver<'_> {
    fn second(&mut self, _: &MeasuredSecond, _: &SecondTally) {}
    fn begin(&mut self) {}
    fn end(&mut self) {}
    fn must_stop(&mut self) -> Option<String> {
        self.options.stop.load(Ordering::Relaxed).then(|| "the run was stopped".to_owned())
    }
}

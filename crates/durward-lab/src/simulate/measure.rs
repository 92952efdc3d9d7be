//! Counters of a simulation.

use super::deployment::Deployment;
use super::future::SimulatedJob;
use super::outcome::{NodeOutcome, SecondOutcome, SimulationOutcome, StepOutcome};
use super::station::{Station, StationFigures};
use crate::record::LatencyRecord;

const SECOND_NS: u64 = 1_000_000_000;

/// Counters, histograms, and areas under counts over time.
#[derive(Debug)]
pub(super) struct Measurements {
    steps: Vec<StepOutcome>,
    sent: u64,
    under_way: u64,
    at_begin: u64,
    /// Nanoseconds times requests under way, up to `since`.
    area: f64,
    since: u64,
    begin: u64,
    is_measuring: bool,
    seconds: Vec<SecondOutcome>,
    next_second: u64,
    warm_up_ns: u64,
    this_second: LatencyRecord,
    this_failed: u64,
    pub(super) events: u64,
    nodes: usize,
}

impl Measurements {
    pub(super) fn new(deployment: &Deployment) -> Measurements {
        let step = |name: &str| StepOutcome { name: name.to_owned(), ..StepOutcome::default() };
        let warm_up_ns = super::world::ns(deployment.warm_up_s);
        Measurements {
            steps: deployment.steps.iter().map(|one| step(&one.name)).collect(),
            sent: 0,
            under_way: 0,
            at_begin: 0,
            area: 0.0,
            since: 0,
            begin: 0,
            is_measuring: false,
            seconds: Vec::new(),
            // The borders of seconds fall on the begin of measuring.
            next_second: match warm_up_ns % SECOND_NS {
                0 => SECOND_NS,
                part => part,
            },
            warm_up_ns,
            this_second: LatencyRecord::default(),
            this_failed: 0,
            events: 0,
            nodes: deployment.nodes.count as usize,
        }
    }

    /// Measuring begins: what was counted is forgotten.
    pub(super) fn begin(&mut self, now: u64, stations: &mut [Station]) {
        self.is_measuring = true;
        self.begin = now;
        self.since = now;
        self.area = 0.0;
        self.sent = 0;
        self.at_begin = self.under_way;
        for station in stations {
            station.figures = StationFigures::default();
        }
    }

    fn change(&mut self, now: u64) {
        self.area += (now - self.since) as f64 * self.under_way as f64;
        self.since = now;
    }

    pub(super) fn sent(&mut self, now: u64) {
        self.change(now);
        self.under_way += 1;
        self.sent += 1;
    }

    pub(super) fn answered(&mut self, job: &SimulatedJob, now: u64, station: &mut Station) {
        self.change(now);
        self.under_way -= 1;
        station.figures.answered += 1;
        self.this_second.record(now - job.due);
        if self.is_measuring
            && let Some(step) = self.steps.get_mut(job.step as usize)
        {
            step.answered += 1;
            step.since_due.record(now - job.due);
            step.since_sent.record(now - job.sent);
        }
    }

    pub(super) fn failed(
        &mut self,
        job: &SimulatedJob,
        cause: &'static str,
        now: u64,
        station: &mut Station,
    ) {
        self.change(now);
        self.under_way -= 1;
        station.figures.failed += 1;
        self.this_failed += 1;
        if self.is_measuring
            && let Some(step) = self.steps.get_mut(job.step as usize)
        {
            *step.failed.entry(cause.to_owned()).or_default() += 1;
            step.failed_since_due.record(now - job.due);
            step.failed_since_sent.record(now - job.sent);
        }
    }

    /// Closes the seconds that end by this moment.
    pub(super) fn pass_seconds(&mut self, next: u64, stations: &[Station]) {
        while self.next_second <= next {
            let fullest =
                stations.iter().take(self.nodes).map(Station::working_and_waiting).max().unwrap_or(0);
            let begin = self.next_second.saturating_sub(SECOND_NS) as f64 - self.warm_up_ns as f64;
            self.seconds.push(SecondOutcome {
                at_s: begin / 1e9,
                answered: self.this_second.count(),
                failed: std::mem::take(&mut self.this_failed),
                p50_ns: self.this_second.percentile_ns(50.0),
                p99_ns: self.this_second.percentile_ns(99.0),
                under_way: self.under_way,
                fullest: fullest as u64,
            });
            self.this_second = LatencyRecord::default();
            self.next_second += SECOND_NS;
        }
    }

    pub(super) fn outcome(
        mut self,
        end: u64,
        deployment: &Deployment,
        stations: &[Station],
        stopped: Option<String>,
        notes: Vec<String>,
    ) -> SimulationOutcome {
        self.change(end);
        let measured = (end - self.begin) as f64;
        let cores = f64::from(deployment.nodes.cores);
        let allowed = deployment.nodes.quota.unwrap_or(cores);
        let node = |station: &Station, cores: f64| {
            let StationFigures { busy, waited, waiting_max, answered, failed, throttled } = station.figures;
            let of = |area: f64| if measured > 0.0 { area / measured } else { 0.0 };
            NodeOutcome {
                utilisation: of(busy) / cores,
                answered,
                failed,
                waiting_mean: of(waited),
                waiting_max: waiting_max as u64,
                throttled: of(throttled),
            }
        };
        let store_cores = deployment
            .replication
            .as_ref()
            .and_then(|replication| replication.store_cores)
            .map_or(1.0, f64::from);
        SimulationOutcome {
            measured_s: measured / 1e9,
            sent: self.sent,
            under_way: [self.at_begin, self.under_way],
            under_way_mean: if measured > 0.0 { self.area / measured } else { 0.0 },
            steps: self.steps,
            nodes: stations.iter().take(self.nodes).map(|station| node(station, allowed)).collect(),
            store: stations.get(self.nodes).map(|station| node(station, store_cores)),
            seconds: self.seconds,
            events: self.events,
            stopped,
            notes,
        }
    }
}

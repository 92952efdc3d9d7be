//! Finds the limit: saturation by users who do not think, then the highest rate that holds a promise, then latency at shares
//! of it. All in one run, every try recorded.

mod find;

use super::sweep::{PointJob, RunInProgress, SweepProgress};
use super::{RunError, RunWatcher, thresholds};
use crate::load::LoadGenerators;
use crate::record::{MeasuredPoint, PointWarning, SearchAttempt, SearchResult};
use crate::scenario::{ArrivalShape, SearchSpec, SearchTrial};
use find::{RateBracket, RateVotes, UserGrowth};

/// What is measured in the search for saturation, as a part of the curve's label.
const SATURATION: &str = "saturation";
/// What is measured at rates that are tried.
const TRIES: &str = "search";
/// What is measured at shares of what was found.
const SHARES: &str = "at load";
/// Where nothing else says where to begin.
const FROM: f64 = 100.0;

/// One configuration's search under way.
pub(super) struct ConfigurationSearch<'a, 's> {
    pub(super) sweep: &'a mut RunInProgress<'s>,
    pub(super) search: &'a SearchSpec,
    pub(super) progress: &'a mut SweepProgress,
    pub(super) watcher: &'a mut dyn RunWatcher,
    /// The configuration that is measured, with its label.
    pub(super) job: PointJob,
}

impl ConfigurationSearch<'_, '_> {
    /// Searches and measures. `false` where the run has to end.
    pub(super) fn run(mut self) -> Result<bool, RunError> {
        let mut result = SearchResult {
            configuration: self.job.configuration.clone(),
            nodes: self.progress.nodes,
            promise: self.search.promise.all.iter().map(ToString::to_string).collect(),
            ..SearchResult::default()
        };
        let mut goes_on = true;
        if self.search.saturation {
            goes_on = self.saturate(&mut result)?;
        }
        if goes_on && !self.search.promise.all.is_empty() {
            goes_on = self.promise(&mut result)?;
        }
        let base = if self.search.promise.all.is_empty() { result.saturation } else { result.rate };
        let mut shares: Vec<(f64, Vec<MeasuredPoint>)> = Vec::new();
        let search = self.search;
        for percent in &search.fractions {
            let Some(base) = base.filter(|_| goes_on) else { break };
            let rate = base * percent / 100.0;
            let mut points = Vec::new();
            for replicate in 0..self.sweep.scenario.load.repeat {
                let job = self.arrivals(SHARES, rate, replicate, None);
                let (point, more) = self.measure(&job, false)?;
                points.push(point);
                goes_on = more;
                if !goes_on {
                    break;
                }
            }
            shares.push((*percent, points));
        }
        result.verdict = find::verdict(&result, &shares);
        self.sweep.record.searches.push(result);
        Ok(goes_on)
    }

    /// Twice as many users each time, until the rate grows no more.
    fn saturate(&mut self, result: &mut SearchResult) -> Result<bool, RunError> {
        let mut growth = UserGrowth::default();
        let mut users = 1;
        loop {
            let (point, more) = self.closed(users, 0)?;
            growth.note(users, point.throughput());
            result.tried.push(tried(&point, None));
            if !more {
                return Ok(false);
            }
            if growth.is_over() || users >= self.search.users_max {
                break;
            }
            users = (users * 2).min(self.search.users_max);
        }
        let mut rates = vec![growth.best_rate()];
        for replicate in 1..self.search.tries {
            let (point, more) = self.closed(growth.best_users(), replicate)?;
            rates.push(point.throughput());
            result.tried.push(tried(&point, None));
            if !more {
                return Ok(false);
            }
        }
        result.saturation = find::median(&mut rates).filter(|rate| *rate > 0.0);
        result.saturation_users = growth.best_users();
        result.is_saturated = growth.is_over();
        Ok(result.saturation.is_some())
    }

    fn closed(&mut self, users: u64, replicate: u32) -> Result<(MeasuredPoint, bool), RunError> {
        let trial = SearchTrial { is_saturating: true, ..self.trial() };
        let job = PointJob {
            configuration: self.label(SATURATION),
            askers: LoadGenerators::Users(users),
            replicate,
            trial: Some(trial),
            ..self.job.clone()
        };
        self.measure(&job, true)
    }

    /// Doubles the rate while the promise holds, then halves the interval.
    fn promise(&mut self, result: &mut SearchResult) -> Result<bool, RunError> {
        let from = self.search.from.or(result.saturation.map(|rate| rate / 8.0)).unwrap_or(FROM);
        let mut bracket = RateBracket::new(from.max(1.0), self.search.precision.0);
        while let Some(rate) = bracket.next() {
            let mut votes = RateVotes::new(self.search.tries);
            let mut replicate = 0;
            let holds = loop {
                let job = self.arrivals(TRIES, rate, replicate, Some(self.trial()));
                let (point, more) = self.measure(&job, true)?;
                let broken = broken(self.search, &point);
                votes.add(broken.is_none());
                result.is_at_generator_limit |= broken.is_some()
                    && point.marks.iter().any(|mark| matches!(mark, PointWarning::GeneratorLimit(_)));
                result.tried.push(tried(&point, Some(broken)));
                if !more {
                    return Ok(false);
                }
                if let Some(holds) = votes.decided() {
                    break holds;
                }
                replicate += 1;
            };
            bracket.note(rate, holds);
        }
        result.rate = bracket.held();
        result.rate_beyond = bracket.failed();
        Ok(result.rate.is_some())
    }

    fn arrivals(&self, what: &str, rate: f64, replicate: u32, trial: Option<SearchTrial>) -> PointJob {
        PointJob {
            configuration: self.label(what),
            askers: LoadGenerators::Arrivals(ArrivalShape::Rate(rate, self.search.distribution)),
            replicate,
            trial,
            ..self.job.clone()
        }
    }

    /// How a try differs: it is short.
    fn trial(&self) -> SearchTrial {
        SearchTrial { warm_up: self.search.warm_up.0, measure: self.search.measure.0, is_saturating: false }
    }

    fn label(&self, what: &str) -> String {
        match self.job.configuration.as_str() {
            "" => what.to_owned(),
            label => format!("{label}, {what}"),
        }
    }

    /// Measures and records a point; with it, whether the run goes on.
    fn measure(&mut self, job: &PointJob, is_try: bool) -> Result<(MeasuredPoint, bool), RunError> {
        let goes_on = self.sweep.measure(job, is_try, self.progress, self.watcher)?;
        let point = self.sweep.record.points.last().cloned().unwrap_or_default();
        Ok((point, goes_on && !self.sweep.is_stopped()))
    }
}

/// Which part of the promise a point breaks, with what was measured; `None` where it holds.
fn broken(search: &SearchSpec, point: &MeasuredPoint) -> Option<String> {
    let held = thresholds::held(&search.promise, std::slice::from_ref(point));
    let broken: Vec<String> = held
        .into_iter()
        .filter(|one| !one.is_kept)
        .map(|one| format!("{}: {}", one.threshold, one.measured))
        .collect();
    (!broken.is_empty()).then(|| broken.join(", "))
}

fn tried(point: &MeasuredPoint, broken: Option<Option<String>>) -> SearchAttempt {
    SearchAttempt {
        load: point.load,
        rate: point.throughput(),
        holds: broken.as_ref().map(Option::is_none),
        broken: broken.flatten().unwrap_or_default(),
    }
}

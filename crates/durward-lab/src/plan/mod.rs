//! How many nodes a goal needs, with which cores and memory, what that costs, and what of it is known.
//!
//! [`of`] takes a fit, the record it came from where there is one, and a [`PlanGoal`]; a [`CapacityPlan`] is a range, not a number. Throughput is
//! the law's (`capacity`); the 99th percentile is what was measured at that load of a node, or simulated (`promise`): the law
//! knows no queue. `resources` has cores, memory and money, `words` says it to people.

mod capacity;
mod goal;
mod promise;
mod resources;
mod words;

use serde::{Deserialize, Serialize};

use crate::fit::{ExtrapolationZone, FitRefusal, FitReport};
use crate::record::RunRecord;
use capacity::{IntervalEnd, NodeCapacity};

pub use goal::{GOAL_MAX, NODES_MAX, NodeSize, PlanError, PlanGoal, Prices};
pub use promise::ExpectedLatency;
pub use resources::{AlternativeSize, MONTH_HOURS, PlanCost, PlannedCores, PlannedMemory};

/// What a goal needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CapacityPlan {
    /// In words, with the number of nodes and its interval, or why there is none.
    pub verdict: String,
    /// Whether the goal can be met, as far as is known: nothing is refused, there are nodes enough, the promise is kept.
    pub is_met: bool,
    /// Why nothing should be staked on the fit.
    pub refused: Vec<FitRefusal>,
    /// The goal.
    pub goal: PlanGoal,
    /// Requests a second at the busiest time.
    pub peak_rate: f64,
    /// The nodes; `None` where no number of them is enough.
    pub nodes: Option<PlannedNodes>,
    /// How far one cluster goes; `None` where more nodes always do more.
    pub furthest: Option<ClusterLimit>,
    /// Several clusters, each with a part of the users, where one is not enough.
    pub shards: Option<PlannedClusters>,
    /// The 99th percentile.
    pub promise: Option<ExpectedLatency>,
    /// Cores; `None` where nobody said how many a node has.
    pub cores: Option<PlannedCores>,
    /// Memory; `None` where nothing of it is known.
    pub memory: Option<PlannedMemory>,
    /// Money; `None` without prices.
    pub cost: Option<PlanCost>,
    /// Other sizes of nodes, the cheapest first.
    pub alternatives: Vec<AlternativeSize>,
    /// What else a reader has to know.
    pub notes: Vec<String>,
}

/// The nodes of a plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlannedNodes {
    /// As many as are needed, those that may fail included.
    pub planned: f64,
    /// Of 100 resamples, 95 need from so many; `None` where the interval is not known.
    pub low: Option<f64>,
    /// To so many; `None` where it is not known so far out: it may be any number, or none may be enough.
    pub high: Option<f64>,
    /// What asks for so many: `throughput` or `p99`.
    pub because_of: String,
    /// The greatest number that was measured.
    pub measured_max: f64,
    /// How far from that the plan is.
    pub zone: ExtrapolationZone,
    /// Requests a second that all can do.
    pub capacity: f64,
    /// How much of it the busiest time uses, from 0 to 1.
    pub utilisation: f64,
    /// The same when the nodes have failed that may.
    pub utilisation_after_failure: f64,
    /// Sessions that end with those nodes, where they are on one node only.
    pub sessions_lost: f64,
}

/// How far one cluster goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClusterLimit {
    /// With so many nodes, which is the peak; `None` where throughput only comes nearer to a ceiling.
    pub nodes: Option<f64>,
    /// Requests a second, at the utilisation that is allowed, with the nodes failed that may.
    pub rate: f64,
    /// Users, where the goal has users.
    pub users: Option<f64>,
}

/// Several clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlannedClusters {
    /// How many.
    pub clusters: f64,
    /// Nodes of each, those that may fail included.
    pub nodes_each: f64,
    /// Nodes of all.
    pub nodes: f64,
}

/// Plans for a goal. `accepted` refusals of the fit do not stop the plan; they are said all the same. Where no law was fitted, the plan has
/// no nodes, and says so.
///
/// # Errors
/// A goal that cannot be planned for.
pub fn of(
    report: &FitReport,
    record: Option<&RunRecord>,
    goal: &PlanGoal,
    prices: Option<&Prices>,
    accepted: &[FitRefusal],
) -> Result<CapacityPlan, PlanError> {
    goal.check()?;
    let refused: Vec<FitRefusal> =
        report.refused.iter().copied().filter(|one| !accepted.contains(one)).collect();
    let Some(capacity) = NodeCapacity::of(report, record) else {
        return Ok(CapacityPlan {
            verdict: format!(
                "No plan: no law was fitted, so there is nothing to plan with. {}",
                report.verdict
            ),
            refused,
            goal: goal.clone(),
            peak_rate: goal.peak_rate(),
            ..CapacityPlan::default()
        });
    };
    let planner = Planner { capacity, record, goal };
    let mut plan = CapacityPlan {
        refused,
        goal: goal.clone(),
        peak_rate: goal.peak_rate(),
        furthest: planner.furthest(),
        notes: planner.notes(report, accepted),
        ..CapacityPlan::default()
    };
    match planner.nodes() {
        Some(nodes) => planner.fill(&mut plan, nodes, prices),
        None => plan.shards = planner.shards(),
    }
    plan.is_met = plan.refused.is_empty()
        && plan.nodes.is_some()
        && (goal.p99_ms.is_none()
            || plan.promise.as_ref().is_some_and(|promise| promise.is_kept == Some(true)));
    plan.verdict = words::verdict(&plan);
    Ok(plan)
}

struct Planner<'p> {
    capacity: NodeCapacity<'p>,
    record: Option<&'p RunRecord>,
    goal: &'p PlanGoal,
}

impl Planner<'_> {
    fn may_fail(&self) -> f64 {
        f64::from(self.goal.may_fail)
    }

    /// What the nodes must be able to do, so that the peak rate uses no more of it than is allowed.
    fn needed(&self) -> f64 {
        self.goal.peak_rate() * 100.0 / self.goal.utilisation_percent
    }

    /// Nodes that must work so that each has no more load than keeps the promise, by what was measured. 0: anything does.
    fn for_promise(&self) -> Option<f64> {
        let (Some(p99_ms), Some(record)) = (self.goal.p99_ms, self.record) else { return Some(0.0) };
        if !promise::is_measured(self.record) {
            return Some(0.0);
        }
        promise::load_max(record, p99_ms).map(|load| (self.goal.peak_rate() / load).ceil())
    }

    /// Nodes that must work, by throughput and by the promise.
    fn working(&self, end: IntervalEnd) -> Option<(f64, &'static str)> {
        let for_rate = self.capacity.nodes_for(self.needed(), end)?;
        let for_promise = self.for_promise()?;
        let (working, why) =
            if for_promise > for_rate { (for_promise, "p99") } else { (for_rate, "throughput") };
        // All nodes together must do it as well: past the peak, more do less.
        let all = self.capacity.x(working + self.may_fail(), end);
        let is_enough = all.is_none_or(|x| x >= self.needed()) && working <= NODES_MAX;
        let is_past_the_peak =
            end == IntervalEnd::Middle && self.capacity.peak().is_some_and(|peak| working > peak.ceil());
        (is_enough && !is_past_the_peak).then_some((working, why))
    }

    fn nodes(&self) -> Option<PlannedNodes> {
        let (working, because_of) = self.working(IntervalEnd::Middle)?;
        let planned = working + self.may_fail();
        let with_spare = |end| self.working(end).map(|(working, _)| working + self.may_fail());
        let capacity = self.capacity.x(planned, IntervalEnd::Middle)?;
        let after = self.capacity.x(working, IntervalEnd::Middle)?;
        Some(PlannedNodes {
            planned,
            // More throughput, fewer nodes.
            low: with_spare(IntervalEnd::High).map(|low| low.min(planned)),
            high: with_spare(IntervalEnd::Low).map(|high| high.max(planned)),
            because_of: because_of.to_owned(),
            measured_max: self.capacity.measured_max,
            zone: self.capacity.zone(planned),
            capacity,
            utilisation: self.goal.peak_rate() / capacity,
            utilisation_after_failure: self.goal.peak_rate() / after,
            sessions_lost: if self.goal.session_copies > 1.0 {
                0.0
            } else {
                self.goal.sessions.or(self.goal.users).unwrap_or(0.0) * self.may_fail() / planned
            },
        })
    }

    fn furthest(&self) -> Option<ClusterLimit> {
        let part = self.goal.utilisation_percent / 100.0;
        let nodes = self.capacity.peak().map(f64::floor);
        let most = match nodes {
            Some(peak) => self.capacity.x((peak - self.may_fail()).max(1.0), IntervalEnd::Middle)?,
            None => self.capacity.ceiling()?,
        };
        let rate = most * part;
        let users = self.goal.users.map(|users| users * rate / self.goal.peak_rate());
        Some(ClusterLimit { nodes, rate, users })
    }

    /// The number of clusters that needs the fewest nodes, each with an equal part.
    fn shards(&self) -> Option<PlannedClusters> {
        let furthest = self.furthest()?;
        self.for_promise()?;
        let least = (self.goal.peak_rate() / furthest.rate).ceil().max(2.0);
        let with = |clusters: f64| {
            let part = PlanGoal {
                rate: Some(self.goal.mean_rate() / clusters),
                users: None,
                requests_per_hour: None,
                ..self.goal.clone()
            };
            let (working, _) = Planner { capacity: self.capacity.clone(), record: self.record, goal: &part }
                .working(IntervalEnd::Middle)?;
            let nodes_each = working + self.may_fail();
            Some(PlannedClusters { clusters, nodes_each, nodes: nodes_each * clusters })
        };
        (0..64)
            .filter_map(|more| with(least + f64::from(more)))
            .min_by(|one, other| one.nodes.total_cmp(&other.nodes))
    }

    fn fill(&self, plan: &mut CapacityPlan, nodes: PlannedNodes, prices: Option<&Prices>) {
        let working = nodes.planned - self.may_fail();
        plan.promise = Some(promise::of(self.record, self.goal, working));
        plan.cores = resources::cores(self.record, self.goal, nodes.planned);
        plan.memory = resources::memory(self.record, self.goal, nodes.planned, working);
        if let (Some(prices), Some(cores)) = (prices, &plan.cores) {
            let bytes = plan.memory.as_ref().map_or(0.0, |memory| memory.per_node_bytes);
            let counts = [nodes.low, Some(nodes.planned), nodes.high];
            plan.cost = resources::cost(prices, self.goal, counts, cores.per_node, bytes);
            let nodes_for = |rate: f64| {
                let needed = rate * 100.0 / self.goal.utilisation_percent;
                let for_promise = self.for_promise()? * rate / self.goal.peak_rate();
                Some(self.capacity.nodes_for(needed, IntervalEnd::Middle)?.max(for_promise.ceil()))
            };
            plan.alternatives =
                resources::alternatives(prices, self.goal, cores.per_node, plan.memory.as_ref(), nodes_for);
        }
        plan.nodes = Some(nodes);
    }

    fn notes(&self, report: &FitReport, accepted: &[FitRefusal]) -> Vec<String> {
        let mut notes = Vec::new();
        if self.capacity.is_assumed() {
            notes.push(format!(
                "the fit is by {}, so scaling over nodes was not measured: n nodes are taken to do n times what one does, which they never quite do",
                report.n_is.noun()
            ));
        }
        for refusal in accepted.iter().filter(|one| report.refused.contains(one)) {
            let reason = report.reasons.get(refusal).map_or("", String::as_str);
            notes.push(format!("accepted though refused, {refusal}: {reason}"));
        }
        if self.goal.p99_ms.is_some() && !promise::is_measured(self.record) {
            notes.push("p99 cannot be judged: it needs a record of `durward lab run`, since the law says nothing of it".to_owned());
        }
        if self.for_promise().is_none() {
            notes.push(
                "p99 is above the goal at the lightest load measured: more nodes do not help".to_owned(),
            );
        }
        notes
    }
}

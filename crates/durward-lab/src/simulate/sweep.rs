//! Several numbers of nodes or users, one simulation each: as a record that fits and reports read, and beside the law.

use serde::{Deserialize, Serialize};

use super::{Deployment, DeploymentError, SimulationOutcome, run};
use crate::fit::Law;
use crate::record::{
    self, FORMAT, MeasuredPoint, MeasuredSecond, NodeResult, NodeUse, RunInfo, RunRecord, StepResult,
    TargetInfo,
};

/// As a record: nodes use simulated processor time, and what was made at random says so.
pub fn record(all: &[(Deployment, SimulationOutcome)], version: &str, command: Vec<String>) -> RunRecord {
    let first = all.first().map(|(deployment, _)| deployment);
    let started_as = "a simulation".to_owned();
    RunRecord {
        format: FORMAT,
        about: RunInfo {
            name: "simulated".to_owned(),
            version: version.to_owned(),
            command,
            scenario: String::new(),
            seed: first.map_or(0, |deployment| deployment.seed),
            targets: vec![TargetInfo { name: "simulated".to_owned(), started_as, ..TargetInfo::default() }],
            ..RunInfo::default()
        },
        points: all.iter().map(|(deployment, outcome)| point(deployment, outcome)).collect(),
        notes: vec!["nothing here was measured: `durward lab simulate` made it".to_owned()],
        ..RunRecord::default()
    }
}

fn point(deployment: &Deployment, outcome: &SimulationOutcome) -> MeasuredPoint {
    let nodes = &deployment.nodes;
    let cores = nodes.quota.unwrap_or(f64::from(nodes.cores));
    let load = match (deployment.load.users, deployment.load.rate) {
        (Some(users), _) => record::PointLoad::Users(users),
        (None, rate) => record::PointLoad::Arrivals(rate.unwrap_or(0.0)),
    };
    let step = |step: &super::StepOutcome| StepResult {
        name: step.name.clone(),
        answered: step.answered,
        failed: step.failed.clone(),
        since_due: step.since_due.clone(),
        since_sent: step.since_sent.clone(),
        failed_since_due: step.failed_since_due.clone(),
        ..StepResult::default()
    };
    let node = |(at, node): (usize, &super::NodeOutcome)| NodeResult {
        name: format!("node {}", at + 1),
        answered: node.answered,
        failed: node.failed,
        used: Some(NodeUse {
            source: "simulated".to_owned(),
            cpu_s: node.utilisation * cores * outcome.measured_s,
            cores,
            throttled_s: node.throttled * outcome.measured_s,
            ..NodeUse::default()
        }),
        ..NodeResult::default()
    };
    let second = |second: &super::SecondOutcome| MeasuredSecond {
        at_s: second.at_s,
        answered: second.answered,
        failed: second.failed,
        p50_ns: second.p50_ns,
        p99_ns: second.p99_ns,
    };
    MeasuredPoint {
        nodes: nodes.count as usize,
        load,
        measured_s: outcome.measured_s,
        warm_up_s: deployment.warm_up_s,
        steps: outcome.steps.iter().map(step).collect(),
        by_node: outcome.nodes.iter().enumerate().map(node).collect(),
        seconds: outcome.seconds.iter().map(second).collect(),
        ..MeasuredPoint::default()
    }
}

/// Simulates a deployment with each number of nodes, its load in proportion to them.
///
/// # Errors
/// The first that cannot be simulated.
pub fn by_nodes(
    deployment: &Deployment,
    nodes: &[u32],
) -> Result<Vec<(Deployment, SimulationOutcome)>, DeploymentError> {
    let of = |count: &u32| {
        let mut one = deployment.clone();
        let times = f64::from(*count) / f64::from(deployment.nodes.count);
        one.nodes.count = *count;
        one.load.users = deployment.load.users.map(|users| ((users as f64 * times) as u64).max(1));
        one.load.rate = deployment.load.rate.map(|rate| rate * times);
        let outcome = run(&one)?;
        Ok((one, outcome))
    };
    nodes.iter().map(of).collect()
}

/// The law beside a simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LawComparison {
    /// Nodes.
    pub nodes: f64,
    /// Simulated requests a second.
    pub simulated: f64,
    /// What the law says.
    pub law: f64,
}

/// The two part where they differ by more than this part of the law.
pub const PART_AT: f64 = 0.10;

/// Each simulated number of nodes beside the law, and the least number from which on the two differ by more than [`PART_AT`].
pub fn beside(all: &[(Deployment, SimulationOutcome)], law: &Law) -> (Vec<LawComparison>, Option<f64>) {
    let mut rows: Vec<LawComparison> = all
        .iter()
        .map(|(deployment, outcome)| {
            let nodes = f64::from(deployment.nodes.count);
            LawComparison { nodes, simulated: outcome.throughput(), law: law.x(nodes) }
        })
        .collect();
    rows.sort_by(|one, other| one.nodes.total_cmp(&other.nodes));
    let differs = |row: &&LawComparison| (row.simulated / row.law - 1.0).abs() > PART_AT;
    let parts = rows.iter().rev().take_while(differs).last().map(|row| row.nodes);
    (rows, parts)
}

//! What several agents measured, as one measurement: counts and histograms are added, so nothing is averaged.

use super::super::message::AgentResult;
use crate::load::LoadResult;
use crate::record::{AgentUse, NodeResult, StepResult, add_all};

/// The report of one agent at the end of a load.
pub(super) struct AgentReport {
    pub(super) name: String,
    pub(super) threads: usize,
    pub(super) clock_uncertain_us: u64,
    pub(super) part: AgentResult,
}

/// All of it together; seconds and why it stopped are the leader's to say.
pub(super) fn merged(told: impl IntoIterator<Item = AgentReport>) -> LoadResult {
    let mut all = LoadResult::default();
    for one in told {
        let agent = agent_use(&one);
        let LoadResult { steps, by_node, generator, time_s, warm_up_s, .. } = one.part.measured;
        add_all(&mut all.steps, steps, |step| &step.name, StepResult::add);
        add_all(&mut all.by_node, by_node, |node| &node.name, NodeResult::add);
        // All begin and end at one moment; where they were stopped, the last one counts.
        all.time_s = all.time_s.max(time_s);
        all.warm_up_s = all.warm_up_s.max(warm_up_s);
        let whole = &mut all.generator;
        whole.busy = whole.busy.max(generator.busy);
        whole.cpu_s += generator.cpu_s;
        whole.lateness.add(&generator.lateness);
        whole.connections += generator.connections;
        whole.backlog_max += generator.backlog_max;
        whole.agents.push(agent);
    }
    all
}

fn agent_use(told: &AgentReport) -> AgentUse {
    let measured = &told.part.measured;
    let requests = |step: &StepResult| step.answered + step.failed.values().sum::<u64>();
    AgentUse {
        name: told.name.clone(),
        threads: told.threads,
        requests: measured.steps.iter().map(requests).sum(),
        busy: measured.generator.busy,
        cpu_s: measured.generator.cpu_s,
        lateness: measured.generator.lateness.clone(),
        clock_uncertain_us: told.clock_uncertain_us,
        began_late_us: told.part.late_us,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{GeneratorUse, LatencyRecord};

    fn told(name: &str, waits: &[u64], busy: f64) -> AgentReport {
        let mut step =
            StepResult { name: "ask".into(), answered: waits.len() as u64, ..StepResult::default() };
        waits.iter().for_each(|wait| step.since_due.record(*wait));
        step.failed.insert("timeout".into(), 1);
        let node = NodeResult { name: "a".into(), answered: step.answered, ..NodeResult::default() };
        let generator = GeneratorUse { busy, cpu_s: 1.0, connections: 2, ..GeneratorUse::default() };
        let measured = LoadResult {
            steps: vec![step],
            by_node: vec![node],
            generator,
            time_s: 2.0,
            ..LoadResult::default()
        };
        let part = AgentResult { measured, late_us: 0 };
        AgentReport { name: name.into(), threads: 1, clock_uncertain_us: 3, part }
    }

    /// The median of both is that of neither, and no mean of the two.
    #[test]
    fn percentiles_are_those_of_all_requests_together() {
        let (one, other) = ([1_000; 90], [9_000_000; 10]);
        let all = merged([told("x", &one, 0.2), told("y", &other, 0.7)]);
        let mut whole = LatencyRecord::default();
        one.iter().chain(&other).for_each(|wait| whole.record(*wait));
        assert_eq!(all.steps[0].since_due, whole);
        assert_eq!(
            (all.steps[0].answered, all.steps[0].failed["timeout"], all.by_node[0].answered),
            (100, 2, 100)
        );
        assert_eq!((all.generator.busy, all.generator.cpu_s, all.generator.connections), (0.7, 2.0, 4));
        let agents: Vec<_> =
            all.generator.agents.iter().map(|one| (one.name.as_str(), one.requests)).collect();
        assert_eq!(agents, [("x", 91), ("y", 11)]);
        assert_eq!(all.time_s, 2.0);
    }
}

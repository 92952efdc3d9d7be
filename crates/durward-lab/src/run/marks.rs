//! Warnings that a point is unreliable, derived from its own figures.

use crate::load::LoadResult;
use crate::record::{AgentUse, GeneratorLimit, LatencyRecord, MachineInfo, MeasuredSecond, PointWarning};
use crate::target::OtherLoad;

/// A generator that has more of its cores is the limit.
const BUSY_MAX: f64 = 0.9;
/// A generator that makes more of what it can make at most is the limit.
const SHARE_MAX: f64 = 0.9;
/// Lateness below this is the promise of the timers.
const LATENESS_NS_MAX: u64 = 1_000_000;
/// Lateness beyond this share of the latency falsifies it.
const LATENESS_SHARE_MAX: u64 = 10;
/// Agents that do not begin together make another load than was asked for.
const BEGAN_LATE_US_MAX: u64 = 50_000;
/// More errors than this are the study's end of the range.
const ERRORS_MAX: f64 = 0.01;
/// A rate that differs by more between the first and the last third is not steady.
const TREND_MAX: f64 = 0.1;

/// The marks of a measurement. `is_shaped` says that the load varies by itself.
#[expect(clippy::cast_precision_loss, reason = "no run counts to 2^53")]
pub(super) fn of(
    measured: &LoadResult,
    limit: Option<&GeneratorLimit>,
    machines: &[MachineInfo],
    others: Option<&OtherLoad>,
    is_shaped: bool,
) -> Vec<PointWarning> {
    let mut marks = Vec::new();
    if let Some(stopped) = &measured.stopped {
        marks.push(PointWarning::CutShort(stopped.clone()));
    }
    let answered: u64 = measured.steps.iter().map(|step| step.answered).sum();
    let not_sent: u64 = measured.steps.iter().map(|step| step.not_sent).sum();
    let failed: u64 = measured.steps.iter().flat_map(|step| step.failed.values()).sum();
    if let Some(because) =
        agents(measured, machines).or_else(|| generator(measured, answered + failed, limit))
    {
        marks.push(PointWarning::GeneratorLimit(because));
    }
    marks.extend(others.and_then(OtherLoad::mark));
    if let Some(how) = &measured.not_level {
        marks.push(PointWarning::NotSteady(how.clone()));
    } else if let Some(change) = trend(&measured.seconds, measured.time_s).filter(|_| !is_shaped) {
        let word = if change > 0.0 { "rose" } else { "fell" };
        marks.push(PointWarning::NotSteady(format!(
            "the rate {word} by {:.0} % while it was measured",
            change.abs() * 100.0
        )));
    }
    let all = answered + failed + not_sent;
    let errors = (failed + not_sent) as f64 / all.max(1) as f64;
    if errors > ERRORS_MAX {
        let unsent = if not_sent > 0 { format!(", {not_sent} of them never sent") } else { String::new() };
        marks.push(PointWarning::Errors(format!("{:.1} % of {all} requests failed{unsent}", errors * 100.0)));
    } else if all == 0 {
        marks.push(PointWarning::Errors("nothing was due while it was measured".to_owned()));
    }
    marks
}

/// Why the generator was the limit.
#[expect(clippy::cast_precision_loss, reason = "no run counts to 2^53")]
fn generator(measured: &LoadResult, requests: u64, limit: Option<&GeneratorLimit>) -> Option<String> {
    let own = &measured.generator;
    if own.busy >= BUSY_MAX {
        return Some(format!("its threads were {:.0} % busy", own.busy * 100.0));
    }
    let rate = requests as f64 / measured.time_s.max(f64::MIN_POSITIVE);
    if let Some(limit) = limit.filter(|limit| rate > SHARE_MAX * limit.requests_per_s) {
        let most = limit.requests_per_s;
        return Some(format!("it made {rate:.0} requests/s, and {most:.0} is what it can make"));
    }
    let late = own.lateness.percentile_ns(99.0);
    let slow = LatencyRecord::merged(measured.steps.iter().map(|step| &step.since_due)).percentile_ns(99.0);
    if late > LATENESS_NS_MAX && late * LATENESS_SHARE_MAX > slow {
        return Some(format!("one request in a hundred was sent {:.1} ms late or later", late as f64 / 1e6));
    }
    let refused = measured.steps.iter().flat_map(|step| &step.failed);
    let refused: u64 =
        refused.filter(|(cause, _)| cause.starts_with("this machine")).map(|(_, count)| count).sum();
    (refused > 0).then(|| format!("this machine refused {refused} connections"))
}

/// Why one of several agents was the limit: the others do not make up for it.
fn agents(measured: &LoadResult, machines: &[MachineInfo]) -> Option<String> {
    let slow = LatencyRecord::merged(measured.steps.iter().map(|step| &step.since_due)).percentile_ns(99.0);
    measured.generator.agents.iter().find_map(|agent| {
        let machine = machines.iter().find(|machine| machine.name == agent.name);
        let limit = machine.and_then(|machine| machine.requests_per_s);
        let because = one_agent(agent, limit, measured.time_s, slow)?;
        Some(format!("agent {} {because}", agent.name))
    })
}

#[expect(clippy::cast_precision_loss, reason = "no run counts to 2^53")]
fn one_agent(agent: &AgentUse, limit: Option<f64>, time_s: f64, slow: u64) -> Option<String> {
    if agent.busy >= BUSY_MAX {
        return Some(format!("was {:.0} % busy", agent.busy * 100.0));
    }
    let rate = agent.requests as f64 / time_s.max(f64::MIN_POSITIVE);
    if let Some(most) = limit.filter(|most| rate > SHARE_MAX * most) {
        return Some(format!("made {rate:.0} requests/s, and {most:.0} is what it can make"));
    }
    let late = agent.lateness.percentile_ns(99.0);
    if late > LATENESS_NS_MAX && late * LATENESS_SHARE_MAX > slow {
        return Some(format!("sent one request in a hundred {:.1} ms late or later", late as f64 / 1e6));
    }
    let began_late = agent.began_late_us.max(agent.clock_uncertain_us);
    (began_late > BEGAN_LATE_US_MAX)
        .then(|| format!("began up to {:.1} ms early or late", began_late as f64 / 1e3))
}

/// How the rate changed from the first third of the measurement to the last, where that is more than chance.
#[expect(clippy::cast_precision_loss, reason = "no run counts to 2^53")]
fn trend(seconds: &[MeasuredSecond], time_s: f64) -> Option<f64> {
    let whole: Vec<u64> = seconds
        .iter()
        .filter(|second| second.at_s >= -0.001 && second.at_s + 1.0 <= time_s + 0.001)
        .map(|second| second.answered)
        .collect();
    let third = whole.len() / 3;
    if third < 2 {
        return None;
    }
    let first: u64 = whole.iter().take(third).sum();
    let last: u64 = whole.iter().rev().take(third).sum();
    let mean = (first + last) as f64 / 2.0;
    let difference = last as f64 - first as f64;
    // Counts vary by their root by chance.
    let is_more = difference.abs() > TREND_MAX * mean && difference.abs() > 4.0 * mean.sqrt();
    is_more.then(|| difference / (first.max(1)) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{GeneratorUse, StepResult};

    fn measured(answered: u64, failed: u64, busy: f64) -> LoadResult {
        let mut step = StepResult { answered, ..StepResult::default() };
        step.since_due.record_many(5_000_000, answered);
        if failed > 0 {
            step.failed.insert("timeout".into(), failed);
        }
        LoadResult {
            steps: vec![step],
            by_node: Vec::new(),
            generator: GeneratorUse { busy, ..GeneratorUse::default() },
            seconds: Vec::new(),
            time_s: 10.0,
            warm_up_s: 0.0,
            stopped: None,
            not_level: None,
        }
    }

    fn said(measured: &LoadResult, limit: f64) -> Vec<String> {
        let limit = GeneratorLimit { requests_per_s: limit, busy: 1.0, threads: 1 };
        of(measured, Some(&limit), &[], None, false).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_good_point_has_no_mark() {
        assert_eq!(said(&measured(1000, 10, 0.5), 1e6), [""; 0]);
    }

    #[test]
    fn each_mark_says_why() {
        assert_eq!(said(&measured(1000, 11, 0.5), 1e6), ["too many errors: 1.1 % of 1011 requests failed"]);
        assert_eq!(
            said(&measured(1000, 0, 0.95), 1e6),
            ["the generator was the limit: its threads were 95 % busy"]
        );
        let near = said(&measured(1000, 0, 0.5), 110.0);
        assert_eq!(
            near,
            ["the generator was the limit: it made 100 requests/s, and 110 is what it can make"]
        );
        let mut late = measured(1000, 0, 0.5);
        late.generator.lateness.record(2_000_000);
        assert!(said(&late, 1e6)[0].contains("2.0 ms late"), "{:?}", said(&late, 1e6));
        let cut = LoadResult { stopped: Some("why".into()), ..measured(0, 0, 0.1) };
        assert_eq!(said(&cut, 1e6).len(), 2);
        let others = OtherLoad { share: 0.5, ..OtherLoad::default() };
        let disturbed = of(&measured(1000, 0, 0.1), None, &[], Some(&others), false);
        assert!(matches!(disturbed.as_slice(), [PointWarning::Neighbour(_)]), "{disturbed:?}");
    }

    #[test]
    fn one_agent_at_its_limit_marks_the_point() {
        let agent = |name: &str, requests, busy| AgentUse {
            name: name.into(),
            requests,
            busy,
            ..AgentUse::default()
        };
        let machine = |name: &str| MachineInfo {
            name: name.into(),
            requests_per_s: Some(100.0),
            ..MachineInfo::default()
        };
        let marked = |agents: Vec<AgentUse>| {
            let mut all = measured(1000, 0, 0.5);
            all.generator.agents = agents;
            let limit = GeneratorLimit { requests_per_s: 200.0, busy: 1.0, threads: 2 };
            let marks = of(&all, Some(&limit), &[machine("a"), machine("b")], None, false);
            marks.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(marked(vec![agent("a", 500, 0.5), agent("b", 500, 0.5)]), [""; 0]);
        // 95 a second of 100, while both together make half of what they can.
        assert_eq!(
            marked(vec![agent("a", 50, 0.5), agent("b", 950, 0.5)]),
            ["the generator was the limit: agent b made 95 requests/s, and 100 is what it can make"]
        );
        assert_eq!(
            marked(vec![agent("a", 500, 0.95), agent("b", 500, 0.2)]),
            ["the generator was the limit: agent a was 95 % busy"]
        );
        let late = AgentUse { began_late_us: 60_000, ..agent("b", 500, 0.2) };
        assert_eq!(
            marked(vec![late]),
            ["the generator was the limit: agent b began up to 60.0 ms early or late"]
        );
    }

    #[test]
    fn a_rate_that_rises_is_not_steady() {
        let second = |at: u64| MeasuredSecond {
            at_s: at as f64 - 2.0,
            answered: 1000 + at * 100,
            ..MeasuredSecond::default()
        };
        let rising = LoadResult { seconds: (0..12).map(second).collect(), ..measured(1000, 0, 0.1) };
        assert_eq!(said(&rising, 1e6), ["not steady: the rate rose by 54 % while it was measured"]);
        assert!(of(&rising, None, &[], None, true).is_empty());
    }
}

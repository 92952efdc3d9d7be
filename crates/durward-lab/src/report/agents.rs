//! How each agent was, where several made the load: one at its limit spoils the point for all.

use super::document::Document;
use super::select::{self, point_in_words};
use crate::draw::{count, percent, time};
use crate::record::{AgentUse, MeasuredPoint, RunRecord};

/// Adds a table of the agents of each point; nothing where the load was made by one process.
pub(super) fn add(document: &mut Document, record: &RunRecord) {
    let rows: Vec<Vec<String>> = select::in_order(record)
        .into_iter()
        .flat_map(|point| point.generator.agents.iter().map(move |agent| row(record, point, agent)))
        .collect();
    if rows.is_empty() {
        return;
    }
    let columns =
        ["point", "agent", "threads", "requests/s", "busy", "of its limit", "p99 late", "clock known to"];
    let caption = "Agents: who made which part of the load. Percentiles of points are those of all requests of all agents together. \
                   Clock known to: how far an agent may have begun before or after the others.";
    document.table(caption, &columns, 2, rows);
}

#[expect(clippy::cast_precision_loss, reason = "no run counts to 2^53")]
fn row(record: &RunRecord, point: &MeasuredPoint, agent: &AgentUse) -> Vec<String> {
    let rate = agent.requests as f64 / point.measured_s.max(f64::MIN_POSITIVE);
    let machine = record.machines.iter().find(|machine| machine.name == agent.name);
    let limit = machine.and_then(|machine| machine.requests_per_s).filter(|limit| *limit > 0.0);
    vec![
        point_in_words(point),
        agent.name.clone(),
        agent.threads.to_string(),
        count(rate),
        percent(agent.busy),
        limit.map_or_else(|| "–".to_owned(), |limit| percent(rate / limit)),
        time(agent.lateness.percentile_ns(99.0) as f64),
        time(agent.clock_uncertain_us as f64 * 1e3),
    ]
}

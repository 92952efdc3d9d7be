//! Measurements as a table.

use durward_bench::embedded::{EmbeddedMeasurement, UNCERTAINTY_MAX};
use durward_pdp::IndexKind;

use super::embedded::{EmbeddedModeName, EmbeddedSession};
use super::{counted, grouped};

/// Threads that ran less than this part of the time had to share their cores: worth saying.
const BUSY_BELOW: f64 = 0.95;

/// The table, with what was measured above and how to read it below.
pub(super) fn of(session: &EmbeddedSession) -> String {
    let mut text = head(session);
    text.push_str(&format!(
        "{:<9} {:>12} {:>7} {:>25} {:>9} {:>9} {:>9} {:>10} {:>13}\n",
        "index",
        "decisions/s",
        "95 %",
        "min .. max",
        "p50 ns",
        "p99 ns",
        "p99.9 ns",
        "build ms",
        "bytes/policy"
    ));
    for (kind, one) in &session.measured {
        let rate = &one.decisions_per_s;
        let interval =
            rate.uncertainty().map_or_else(|| "?".to_owned(), |part| format!("{:.1} %", part * 100.0));
        let range = format!("{} .. {}", grouped(rate.min), grouped(rate.max));
        let bytes = one.bytes_per_policy().map_or_else(|| "unknown".to_owned(), |bytes| bytes.to_string());
        text.push_str(&format!(
            "{:<9} {:>12} {interval:>7} {range:>25} {:>9} {:>9} {:>9} {:>10.3} {bytes:>13}\n",
            kind.name(),
            grouped(rate.median),
            one.latency.p50_ns,
            one.latency.p99_ns,
            one.latency.p999_ns,
            one.build_ms.median,
        ));
    }
    text + &foot(session)
}

fn head(session: &EmbeddedSession) -> String {
    let policies = session.measured.first().map_or(0, |(_, one)| one.policies);
    let what = match session.mode {
        EmbeddedModeName::Encoded => "encoded request to decision".to_owned(),
        EmbeddedModeName::Decide => "read request to decision".to_owned(),
        EmbeddedModeName::Text => "request text to response text".to_owned(),
        EmbeddedModeName::Batch => format!("encoded requests to decisions, {} at once", session.batch),
        EmbeddedModeName::ReadBatch => format!("read requests to decisions, {} at once", session.batch),
    };
    let policies = counted(policies, "polic", ["y", "ies"]);
    let requests = counted(session.requests, "request", ["", "s"]);
    let threads = counted(usize::from(session.threads), "thread", ["", "s"]);
    format!("{policies}, {requests}, {threads}, {what}\n\n")
}

fn foot(session: &EmbeddedSession) -> String {
    let mut text = "\ndecisions/s: median of rounds of 100 ms; 95 %: how wide the interval is that holds it 19 times out \
                    of 20\n"
        .to_owned();
    for (kind, one) in &session.measured {
        text.push_str(&format!("{}: {}\n", kind.name(), rounds(one, session.time_limit)));
        if let (Some(alone), Some(scaling)) = (one.alone, one.scaling()) {
            let rates: Vec<String> = one.by_thread.iter().map(|rate| grouped(*rate)).collect();
            text.push_str(&format!(
                "{}: {scaling:.2} times the {} of one thread alone; by thread: {}\n",
                kind.name(),
                grouped(alone.median),
                rates.join(", ")
            ));
        }
    }
    let Some((_, first)) = session.measured.first() else { return text };
    text.push_str(&match session.mode {
        EmbeddedModeName::Batch | EmbeddedModeName::ReadBatch => format!(
            "latency: its share of a batch's, for each of {} decisions; {} ns of each batch are the clock's\n",
            first.latency.decisions, first.clock_ns
        ),
        EmbeddedModeName::Encoded | EmbeddedModeName::Decide | EmbeddedModeName::Text => {
            format!(
                "latency: {} decisions, {} ns of each is the clock\n",
                first.latency.decisions, first.clock_ns
            )
        }
    });
    text.push_str(&format!(
        "build ms: median of {} builds; bytes/policy: growth of the resident set over them\n",
        first.build_ms.count
    ));
    for (kind, one) in &session.measured {
        text.push_str(&format!("{}: {}\n", kind.name(), one.index));
    }
    text + &busy(&session.measured)
}

/// How many rounds there were, and whether they were enough.
fn rounds(one: &EmbeddedMeasurement, time_limit: Option<f64>) -> String {
    let rounds = counted(one.decisions_per_s.count, "round", ["", "s"]);
    let percent = UNCERTAINTY_MAX * 100.0;
    match (one.is_converged, time_limit) {
        (true, _) => format!("the median is known to {percent} % after {rounds}"),
        (false, Some(limit)) => {
            format!(
                "the median is not known to {percent} %: the time limit of {limit} s came first, after {rounds}"
            )
        }
        (false, None) => format!("the median is not known to {percent} % after {rounds}"),
    }
}

fn busy(measured: &[(IndexKind, EmbeddedMeasurement)]) -> String {
    let running = measured.iter().filter_map(|(_, one)| one.running).fold(1.0, f64::min);
    if running < BUSY_BELOW {
        let percent = running * 100.0;
        return format!("the machine was busy: the threads ran only {percent:.0} % of the time\n");
    }
    String::new()
}

//! Measurements as JSON: what `durward bench report` reads.

use durward_bench::MachineFacts;
use durward_bench::embedded::EmbeddedMeasurement;
use durward_pdp::IndexKind;
use serde_json::{Value as Json, json};

use super::embedded::EmbeddedSession;

/// An array of all rows.
pub(super) fn all(session: &EmbeddedSession) -> String {
    let rows = session.measured.iter().map(|(kind, one)| row(*kind, one, session)).collect();
    format!("{:#}\n", Json::Array(rows))
}

fn row(kind: IndexKind, measured: &EmbeddedMeasurement, session: &EmbeddedSession) -> Json {
    let rate = &measured.decisions_per_s;
    let mut row = json!({
        "scenario": session.name,
        "language": session.language,
        "index": kind.name(),
        "mode": session.mode.name(),
        "threads": session.threads,
        "decisions_per_s": rate.median.round(),
        "min": rate.min.round(),
        "max": rate.max.round(),
        "rounds": rate.count,
        "interval_percent": rate.uncertainty().map(|part| rounded(part * 100.0)),
        "converged": measured.is_converged,
        "running": measured.running.map(rounded),
        "by_thread": measured.by_thread.iter().map(|rate| rate.round()).collect::<Vec<_>>(),
        "alone_per_s": measured.alone.map(|alone| alone.median.round()),
        "scaling": measured.scaling().map(rounded),
        "p50_ns": measured.latency.p50_ns,
        "p99_ns": measured.latency.p99_ns,
        "p999_ns": measured.latency.p999_ns,
        "max_ns": measured.latency.max_ns,
        "clock_ns": measured.clock_ns,
        "build_ms": rounded(measured.build_ms.median),
        "bytes": measured.bytes,
        "bytes_per_policy": measured.bytes_per_policy(),
        "policies": measured.policies,
        "requests": session.requests,
        "version": env!("CARGO_PKG_VERSION"),
        "machine": machine(),
        "command": command(),
    });
    if session.has_statistics
        && let Json::Object(row) = &mut row
    {
        row.insert("statistics".to_owned(), measured.index.clone().into());
    }
    row
}

/// This machine.
pub(crate) fn machine() -> Json {
    let machine = MachineFacts::this();
    json!({
        "processor": machine.processor,
        "cores": machine.cores,
        "memory_bytes": machine.memory_bytes,
        "system": machine.system,
    })
}

/// Three digits after the point.
pub(super) fn rounded(number: f64) -> f64 {
    (number * 1_000.0).round() / 1_000.0
}

/// How this was called, as it could be typed again.
pub(crate) fn command() -> String {
    let word = |word: String| {
        let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_./:=,+".contains(it);
        if !word.is_empty() && word.chars().all(is_plain) {
            word
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    };
    let words: Vec<String> = std::env::args().skip(1).map(word).collect();
    format!("durward {}", words.join(" "))
}

//! What was run and on what, so that it can be run again.

use super::document::{Block, Document};
use crate::draw::{bytes, count, time};
use crate::record::{MachineInfo, RunRecord, TargetInfo};

/// Longer scenario files are in the data only.
const SCENARIO_MAX: usize = 40_000;

/// Adds thresholds.
pub(super) fn thresholds(document: &mut Document, record: &RunRecord) {
    let row = |threshold: &crate::record::ThresholdResult| {
        let kept = if threshold.is_kept { "kept" } else { "not kept" };
        vec![threshold.threshold.clone(), threshold.measured.clone(), kept.to_owned()]
    };
    let rows = record.thresholds.iter().map(row).collect();
    document.table("Thresholds of the scenario.", &["threshold", "measured", "result"], 3, rows);
}

/// Adds what was run.
pub(super) fn add(document: &mut Document, record: &RunRecord) {
    let about = &record.about;
    document.heading("What was run, and on what");
    let mut lines = vec![
        format!(
            "durward {}, begun {} (UTC), seed {}.",
            about.version,
            date(about.started_unix_ms),
            about.seed
        ),
        format!("Command: {}", about.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")),
    ];
    lines.extend(about.targets.iter().map(target));
    let has_agents = record.points.iter().any(|point| !point.generator.agents.is_empty());
    let makes_load = |machine: &&MachineInfo| {
        let names = |point: &crate::record::MeasuredPoint| {
            point.generator.agents.iter().any(|one| one.name == machine.name)
        };
        !has_agents || record.points.iter().any(names)
    };
    lines.extend(record.machines.iter().map(|one| machine(one, makes_load(&one))));
    document.blocks.push(Block::List(lines));
    if !about.scenario.is_empty() {
        document.text("The scenario, as it was read:");
        document.blocks.push(Block::Code(about.scenario.chars().take(SCENARIO_MAX).collect()));
    }
    document.text(
        "`durward lab rerun` runs a record's scenario again; it reads this page as well. Numbers of different machines, or of one machine at different times, \
         say nothing about each other without a comparison.",
    );
}

fn target(target: &TargetInfo) -> String {
    let or = |list: &[String], none: &str| if list.is_empty() { none.to_owned() } else { list.join(", ") };
    let version =
        if target.version.is_empty() { String::new() } else { format!(", version {}", target.version) };
    let missing = if target.limits_missing.is_empty() {
        String::new()
    } else {
        format!("; NOT in force: {}", target.limits_missing.join(", "))
    };
    format!(
        "Target {}{version}: {}; limits in force: {}{missing}.",
        target.name,
        target.started_as,
        or(&target.limits, "none")
    )
}

#[expect(clippy::cast_precision_loss, reason = "no machine has 2^53 bytes")]
fn machine(machine: &MachineInfo, makes_load: bool) -> String {
    let mut parts = vec![machine.processor.clone().unwrap_or_else(|| "processor not known".to_owned())];
    parts.push(format!("{} threads at once", machine.cores));
    parts.extend(machine.memory_bytes.map(|size| format!("{} of memory", bytes(size as f64))));
    parts.push(machine.system.clone());
    if machine.clock_uncertain_us > 0 || machine.clock_ahead_us != 0 {
        let ahead = time(machine.clock_ahead_us.unsigned_abs() as f64 * 1e3);
        let word = if machine.clock_ahead_us < 0 { "behind" } else { "ahead" };
        let known = time(machine.clock_uncertain_us as f64 * 1e3);
        parts.push(format!("its clock {ahead} {word} of the leader's, known to {known}"));
    }
    if let Some(limit) = machine.requests_per_s {
        parts.push(format!("{} requests/s at most by itself", count(limit)));
    }
    let what = if makes_load { "Generator" } else { "Leader, which made no load," };
    format!("{what} {}: {}.", machine.name, parts.join(", "))
}

fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_./:=,+".contains(it);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Date and time of milliseconds since 1970, by the civil calendar (Hinnant, *chrono-Compatible Low-Level Date Algorithms*).
pub(super) fn date(unix_ms: u64) -> String {
    let seconds = unix_ms / 1_000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00:00");
        assert_eq!(date(951_827_696_000), "2000-02-29 12:34:56");
        assert_eq!(date(1_795_478_399_000), "2026-11-23 23:59:59");
    }

    #[test]
    fn commands_can_be_typed_again() {
        assert_eq!((quoted("a-b"), quoted("a b"), quoted("")), ("a-b".into(), "'a b'".into(), "''".into()));
    }
}

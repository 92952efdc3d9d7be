//! The report for a terminal.

use std::fmt::Write;

use durward_pdp::ir::direction::bears_on_direction;
use durward_pdp::sapl::syntax::Span;

use crate::coverage::{ConditionBranch, DocumentCoverage, ElementKind, PolicyCoverage};
use crate::suite::{FileReport, ScenarioCount, ScenarioOutcome, ScenarioReport, TestFinding, TestReport};

/// Every scenario with what came of it, and how many passed.
///
/// ```text
/// records.sapltest
///   doctors read records
///     pass   a doctor reads
///     FAIL   a nurse reads
///            records.sapltest:12:9
///            expected: permit
///            came: {"decision":"DENY"}; it is DENY, not PERMIT
///
/// 2 scenarios: 1 passed, 1 failed, 0 with errors
/// ```
pub fn scenarios(report: &TestReport) -> String {
    let mut out = String::new();
    for file in &report.files {
        self::file(&mut out, file);
    }
    out.push_str(&summary(report.count()));
    out
}

// Writing to a `String` cannot fail.
fn file(out: &mut String, file: &FileReport) {
    let _ = writeln!(out, "{}", harmless(&file.path));
    if let Some(problems) = &file.problems {
        for line in problems.lines() {
            let _ = writeln!(out, "  {}", harmless(line));
        }
    }
    for requirement in &file.requirements {
        let _ = writeln!(out, "  {}", harmless(&requirement.name));
        for scenario in &requirement.scenarios {
            self::scenario(out, &file.path, scenario);
        }
    }
    out.push('\n');
}

fn scenario(out: &mut String, path: &str, scenario: &ScenarioReport) {
    let (word, finding) = match &scenario.outcome {
        ScenarioOutcome::Passed => ("pass ", None),
        ScenarioOutcome::Failed(finding) => ("FAIL ", Some(finding)),
        ScenarioOutcome::Error(finding) => ("ERROR", Some(finding)),
    };
    let _ = writeln!(out, "    {word}  {}", harmless(&scenario.name));
    let Some(TestFinding { line, column, message }) = finding else { return };
    let _ = writeln!(out, "           {}:{line}:{column}", harmless(path));
    for line in message.lines() {
        let _ = writeln!(out, "           {}", harmless(line));
    }
}

fn summary(count: ScenarioCount) -> String {
    let ScenarioCount { passed, failed, errors, unreadable } = count;
    let all = passed + failed + errors;
    let plural = if all == 1 { "" } else { "s" };
    let mut out = format!("{all} scenario{plural}: {passed} passed, {failed} failed, {errors} with errors");
    match unreadable {
        0 => {}
        1 => out.push_str("; 1 file could not be read"),
        more => out.push_str(&format!("; {more} files could not be read")),
    }
    out + "\n"
}

/// How much of the documents was covered, and what was not.
pub fn coverage(coverage: &PolicyCoverage) -> String {
    let rows = [
        ("policy sets", coverage.policy_sets()),
        ("policies", coverage.policies()),
        ("conditions", coverage.conditions()),
        ("branches", coverage.branches()),
    ];
    let mut out = "coverage\n".to_owned();
    for (name, ratio) in rows {
        let _ = writeln!(out, "  {name:<12} {ratio}");
    }
    let gates = coverage.gates();
    let _ = writeln!(
        out,
        "for gates, as SAPL counts what scenarios met: policy sets {}, policies {}, conditions {}, branches {}",
        gates.policy_sets, gates.policies, gates.conditions, gates.branches
    );
    let missing: Vec<UncoveredItem<'_>> = coverage.documents.iter().flat_map(missing).collect();
    if missing.is_empty() {
        return out;
    }
    out.push_str("not covered\n");
    for UncoveredItem { document, span, what } in missing.iter().take(LISTED_MAX) {
        let place = document.place(*span);
        let line = format!("{}:{}:{}: {what}", document.path, place.line, place.column);
        let _ = writeln!(out, "  {}", harmless(&line));
    }
    if missing.len() > LISTED_MAX {
        let _ = writeln!(out, "  and {} more places", missing.len() - LISTED_MAX);
    }
    out
}

/// Most places listed that were not covered.
const LISTED_MAX: usize = 50;

/// Something that was not covered.
struct UncoveredItem<'c> {
    document: &'c DocumentCoverage,
    span: Span,
    what: String,
}

fn missing(document: &DocumentCoverage) -> Vec<UncoveredItem<'_>> {
    let mut all = Vec::new();
    for element in &document.elements {
        let mut note = |span: Span, what: String| all.push(UncoveredItem { document, span, what });
        let kind = match element.kind {
            ElementKind::Set => "set",
            ElementKind::Policy => "policy",
        };
        if element.looked_at == 0 {
            note(element.head, format!("{kind} `{}` was never looked at", element.name));
            continue;
        }
        if element.applied == 0 {
            note(element.head, format!("{kind} `{}` never applied", element.name));
        }
        for condition in element.conditions.iter().filter(|condition| !condition.outcomes().is_full()) {
            note(condition.span, never(condition).to_owned());
        }
    }
    all
}

/// What a condition never was.
pub(super) fn never(condition: &ConditionBranch) -> &'static str {
    match (condition.times_true, condition.times_false) {
        (0, 0) => "never true, never false",
        (0, _) => "never true",
        (_, _) => "never false",
    }
}

/// A text without characters that steer a terminal or make it read differently from what it says.
fn harmless(text: &str) -> String {
    let shown = |character: char| match character {
        hidden if hidden.is_control() => ' ',
        turning if bears_on_direction(turning) => char::REPLACEMENT_CHARACTER,
        other => other,
    };
    text.chars().map(shown).collect()
}

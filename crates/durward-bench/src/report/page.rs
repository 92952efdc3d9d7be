//! What a report of measurements says: what was measured, on what, how, and how to read it.

use durward_lab::draw::{count, time, whole};
use durward_lab::report::{Block, Document};

use super::ReportPicture;
use super::other::OtherMeasurement;
use super::row::MeasurementRow;
use crate::embedded::UNCERTAINTY_MAX;

/// Threads that ran less than this part of the time shared their cores with something else.
const BUSY_BELOW: f64 = 0.95;

/// The report.
pub(super) fn document(
    rows: &[MeasurementRow],
    others: &[OtherMeasurement],
    pictures: Vec<ReportPicture>,
) -> Document {
    let mut document = Document::new(match (rows, others) {
        ([], [alone]) => alone.title(),
        _ => "How fast durward decides",
    });
    if !rows.is_empty() {
        document.text(&summary(rows));
        document.blocks.extend(warnings(rows).into_iter().map(Block::Warning));
        for ReportPicture { name, title, caption, scene } in pictures {
            document.heading(&title);
            document.figure(&name, scene, caption);
        }
        table(&mut document, rows);
        document.heading("How to read this");
        document.blocks.push(Block::List(READING.map(str::to_owned).into()));
    }
    for (number, other) in (1..).zip(others) {
        // Alone, it is what the title says.
        if document.title != other.title() {
            document.heading(other.title());
        }
        other.add(&mut document, number);
    }
    let commands: Vec<&str> = distinct(rows, |row| &row.command)
        .into_iter()
        .chain(others.iter().filter_map(OtherMeasurement::command))
        .collect();
    if !commands.is_empty() {
        document.heading("To measure it again");
        document.blocks.extend(commands.into_iter().map(|command| Block::Code(command.to_owned())));
    }
    document
}

/// Each of these once, in the order of the first.
fn distinct(rows: &[MeasurementRow], of: fn(&MeasurementRow) -> &str) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for text in rows.iter().map(of) {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all
}

fn summary(rows: &[MeasurementRow]) -> String {
    let scenarios = distinct(rows, |row| &row.scenario).join(", ");
    let versions = distinct(rows, |row| &row.version).join(", ");
    let machines = distinct(rows, |row| &row.machine).join("; ");
    format!(
        "{} measurements of durward {versions} by `durward bench embedded`: the decision point inside one process, without a \
         network. Machine: {machines}. What was decided: {scenarios}.",
        rows.len(),
    )
}

/// What makes numbers doubtful stands before them.
fn warnings(rows: &[MeasurementRow]) -> Vec<String> {
    let mut all = Vec::new();
    if distinct(rows, |row| &row.machine).len() > 1 {
        all.push(
            "These measurements come from different machines: their numbers say nothing about each other."
                .to_owned(),
        );
    }
    let open = rows.iter().filter(|row| !row.is_converged).count();
    if open > 0 {
        all.push(format!(
            "Of {open} of {} measurements the median is not known to {} %: they ended before. They are marked with * in the \
             table.",
            rows.len(),
            UNCERTAINTY_MAX * 100.0
        ));
    }
    let running = rows.iter().filter_map(|row| row.running).fold(1.0, f64::min);
    if running < BUSY_BELOW {
        all.push(format!(
            "The machine was busy with something else: in one measurement the threads ran only {:.0} % of the time.",
            running * 100.0
        ));
    }
    all
}

fn table(document: &mut Document, rows: &[MeasurementRow]) {
    let or_none = |number: Option<String>| number.unwrap_or_else(|| "–".to_owned());
    let row = |row: &MeasurementRow| {
        let [p50, p99, p999] = row.latency_ns.map(time);
        let open = if row.is_converged { "" } else { "*" };
        let words = [&row.scenario, &row.language, &row.index, &row.mode].map(Clone::clone);
        let numbers = [
            whole(row.policies),
            row.threads.to_string(),
            whole(row.decisions_per_s) + open,
            or_none(row.interval_percent.map(|percent| format!("{percent:.1} %"))),
            or_none(row.scaling.map(|times| format!("{times:.2}"))),
            p50,
            p99,
            p999,
            time(row.build_ms * 1e6),
            or_none(row.bytes_per_policy.map(count)),
        ];
        words.into_iter().chain(numbers).collect()
    };
    let columns = [
        "scenario",
        "language",
        "index",
        "mode",
        "policies",
        "threads",
        "decisions/s",
        "95 % interval",
        "times one thread",
        "p50",
        "p99",
        "p99.9",
        "build",
        "bytes/policy",
    ];
    document.heading("All numbers");
    document.table("Every measurement.", &columns, 4, rows.iter().map(row).collect());
}

const READING: [&str; 7] = [
    "All axes are logarithmic: equal distances are equal ratios. Between two lines of 1 and 10 lies a factor of ten, wherever they \
     are.",
    "decisions/s is the median over rounds of 100 ms that go through all questions, without reading the clock for each. The 95 % \
     interval is how wide the range is that holds the median of many more rounds 19 times out of 20; rounds went on until it was \
     narrower than 3 % of the median, or until the time limit.",
    "p50, p99, p99.9: half, 99 of 100, and 999 of 1,000 decisions took no longer. They come from a second pass that reads the \
     clock for each decision, and contain that reading, about 20 ns. In the mode batch each decision has its share of its \
     batch's time.",
    "mode: encoded is a question that was read and looked up ahead for the policies in force, to a decision; decide one that was \
     only read; text is from the question's text to the answer's; batch is many encoded questions in one call.",
    "threads share one decision point; times one thread is what they came to together, against one of them alone.",
    "build is from the texts of all policies to a decision point ready to answer; bytes/policy is by how much the process grew \
     for each, over several decision points.",
    "Numbers of different machines, or of one machine at different times, say nothing about each other.",
];

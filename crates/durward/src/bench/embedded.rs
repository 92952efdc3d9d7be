//! `durward bench embedded`: the decision point inside this process.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use durward_lab::embedded::{BenchError, Measurement, Mode, Plan, RequestText, Subject, index_work};
use durward_pdp::{IndexKind, IndexSettings};
use serde_json::{Value as Json, json};

use super::{counted, grouped, seconds};
use crate::decide::read_request_texts;
use crate::failure::{Failure, Outcome};
use crate::policies::{self, PolicyArguments};
use crate::to_stdout;

const EXAMPLES: &str = "\
Examples:
  durward bench embedded --policies policies/ --requests asks.jsonl
  durward bench embedded --policies policies/ --requests asks.jsonl --index all --threads 2
  durward bench embedded --policies policies/ --requests asks.jsonl --mode text --json

Throughput is the median over rounds of 100 ms that go through all requests, without a clock reading per decision.
Latency is a pass of its own with a reading around each; what the clock itself takes is contained and said. Memory is
by how much the resident set grows per decision point, over several that are built one after another.";

/// Threads that ran less than this part of the time had to share their cores: worth saying.
const BUSY_BELOW: f64 = 0.95;

/// The decision point inside this process, without any network
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(flatten)]
    policies: PolicyArguments,
    /// Requests, one JSON object per line, as for `durward decide`
    #[arg(long, value_name = "FILE.jsonl")]
    requests: PathBuf,
    /// The index: auto, scan, bloom, canonical or diagram; all compares them
    #[arg(long, value_name = "NAME|all", default_value = "auto", value_parser = choice)]
    index: Choice,
    /// How many threads decide at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,
    /// How long throughput is measured, for each index
    #[arg(long, value_name = "S", default_value_t = 5.0, value_parser = seconds)]
    seconds: f64,
    /// What counts as one decision
    #[arg(long, value_enum, default_value_t = ModeName::Decide)]
    mode: ModeName,
    /// The length of a Bloom filter in bits (m in the literature)
    #[arg(long, value_name = "BITS", default_value_t = IndexSettings::default().bloom_bits)]
    bloom_bits: usize,
    /// How many bits a value sets in a Bloom filter (k), 1 to 16
    #[arg(long, value_name = "N", default_value_t = IndexSettings::default().bloom_hashes)]
    bloom_hashes: u32,
    /// Also ask every request once while the index counts, and say how many targets it rejected, and falsely let pass
    #[arg(long)]
    statistics: bool,
    /// Print an array of measurements instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug)]
enum Choice {
    All,
    One(IndexKind),
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ModeName {
    /// A request that was read and encoded before, to a decision
    Decide,
    /// The text of a request, to the text of the response
    Text,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Outcome {
    let texts = arguments.policies.read()?;
    let requests = read_request_texts(&arguments.requests)?;
    let plan = Plan {
        mode: arguments.mode.mode(),
        threads: usize::from(arguments.threads),
        duration: Duration::from_secs_f64(arguments.seconds),
    };
    let mut subjects = Vec::new();
    for kind in arguments.index.kinds() {
        let settings = arguments.index_settings();
        let prepare = || {
            let builder = arguments.policies.prepare().policies(texts.clone());
            builder.index(kind).index_settings(settings.clone())
        };
        subjects.push((kind, Subject::build(&prepare).map_err(failure)?));
    }
    let mut measured = Vec::new();
    for (kind, subject) in &subjects {
        measured.push((*kind, subject.measure(&requests, &plan).map_err(failure)?));
    }
    if arguments.statistics {
        for (kind, one) in &mut measured {
            let builder = arguments.policies.prepare().policies(texts.clone()).index(*kind);
            let counted = index_work(builder, arguments.index_settings(), &requests).map_err(failure)?;
            one.index = counted.to_string();
        }
    }
    to_stdout(&if arguments.json {
        let rows = measured.iter().map(|(kind, one)| row(*kind, one, arguments)).collect();
        format!("{:#}\n", Json::Array(rows))
    } else {
        table(&measured, &requests, arguments)
    })?;
    Ok(ExitCode::SUCCESS)
}

impl Arguments {
    fn index_settings(&self) -> IndexSettings {
        IndexSettings {
            bloom_bits: self.bloom_bits,
            bloom_hashes: self.bloom_hashes,
            ..IndexSettings::default()
        }
    }
}

fn failure(error: BenchError) -> Failure {
    match error {
        BenchError::Policies(errors) => Failure::policies(&errors),
        BenchError::Request(..) => Failure::new(error.to_string())
            .hint("only requests that can be read are measured; remove the line"),
        BenchError::NoRequests | BenchError::TooShort => Failure::new(error.to_string()),
    }
}

fn row(kind: IndexKind, measured: &Measurement, arguments: &Arguments) -> Json {
    let mut row = json!({
        "index": kind.name(),
        "mode": arguments.mode.name(),
        "threads": arguments.threads,
        "decisions_per_s": measured.decisions_per_s.median.round(),
        "p50_ns": measured.latency.p50_ns,
        "p99_ns": measured.latency.p99_ns,
        "p999_ns": measured.latency.p999_ns,
        "build_ms": (measured.build_ms.median * 1_000.0).round() / 1_000.0,
        "bytes_per_policy": measured.bytes_per_policy,
        "policies": measured.policies,
    });
    if arguments.statistics
        && let Json::Object(row) = &mut row
    {
        row.insert("statistics".to_owned(), measured.index.clone().into());
    }
    row
}

fn table(measured: &[(IndexKind, Measurement)], requests: &[RequestText], arguments: &Arguments) -> String {
    let mut text = head(measured, requests, arguments);
    text.push_str(&format!(
        "{:<8} {:>12} {:>25} {:>9} {:>9} {:>9} {:>10} {:>13}\n",
        "index", "decisions/s", "min .. max", "p50 ns", "p99 ns", "p99.9 ns", "build ms", "bytes/policy"
    ));
    for (kind, one) in measured {
        let rate = &one.decisions_per_s;
        let range = format!("{} .. {}", grouped(rate.min), grouped(rate.max));
        let bytes = one.bytes_per_policy.map_or_else(|| "unknown".to_owned(), |bytes| bytes.to_string());
        text.push_str(&format!(
            "{:<8} {:>12} {range:>25} {:>9} {:>9} {:>9} {:>10.3} {bytes:>13}\n",
            kind.name(),
            grouped(rate.median),
            one.latency.p50_ns,
            one.latency.p99_ns,
            one.latency.p999_ns,
            one.build_ms.median,
        ));
    }
    text + &foot(measured)
}

fn head(measured: &[(IndexKind, Measurement)], requests: &[RequestText], arguments: &Arguments) -> String {
    let policies = measured.first().map_or(0, |(_, one)| one.policies);
    let what = match arguments.mode {
        ModeName::Decide => "read request to decision",
        ModeName::Text => "request text to response text",
    };
    let policies = counted(policies, "polic", ["y", "ies"]);
    let requests = counted(requests.len(), "request", ["", "s"]);
    let threads = counted(usize::from(arguments.threads), "thread", ["", "s"]);
    format!("{policies}, {requests}, {threads}, {what}\n\n")
}

fn foot(measured: &[(IndexKind, Measurement)]) -> String {
    let Some((_, first)) = measured.first() else { return String::new() };
    let mut text = format!(
        "\ndecisions/s: median of {} rounds of 100 ms; latency: {} decisions, {} ns of each is the clock\n",
        first.decisions_per_s.count, first.latency.decisions, first.clock_ns
    );
    text.push_str(&format!(
        "build ms: median of {} builds; bytes/policy: growth of the resident set over them\n",
        first.build_ms.count
    ));
    for (kind, one) in measured {
        text.push_str(&format!("{}: {}\n", kind.name(), one.index));
    }
    let running = measured.iter().filter_map(|(_, one)| one.running).fold(1.0, f64::min);
    if running < BUSY_BELOW {
        let percent = running * 100.0;
        text.push_str(&format!("the machine was busy: the threads ran only {percent:.0} % of the time\n"));
    }
    text
}

impl ModeName {
    fn mode(self) -> Mode {
        match self {
            ModeName::Decide => Mode::Decide,
            ModeName::Text => Mode::Text,
        }
    }

    fn name(self) -> &'static str {
        match self {
            ModeName::Decide => "decide",
            ModeName::Text => "text",
        }
    }
}

impl Choice {
    /// The indexes to measure. Auto is one of the others, so `all` leaves it out.
    fn kinds(self) -> Vec<IndexKind> {
        match self {
            Choice::One(kind) => vec![kind],
            Choice::All => IndexKind::ALL.into_iter().filter(|kind| *kind != IndexKind::Auto).collect(),
        }
    }
}

fn choice(text: &str) -> Result<Choice, String> {
    if text == "all" { Ok(Choice::All) } else { policies::index(text).map(Choice::One) }
}

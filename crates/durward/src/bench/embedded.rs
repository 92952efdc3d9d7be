//! `durward bench embedded`: the decision point inside this process.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use durward_bench::embedded::{
    BenchError, BuiltPdp, DecisionMode, EmbeddedMeasurement, EmbeddedPlan, RequestFormat, RequestText,
    StopCondition, index_work,
};
use durward_bench::scenario::{Scenario, ScenarioName};
use durward_pdp::{IndexKind, IndexSettings, PolicyText};

use super::generate::in_xacml;
use super::questions::read_request_texts;
use super::{LanguageName, row, seconds, table};
use crate::console::progress::Progress;
use crate::failure::{CommandError, CommandResult};
use crate::policies::{self, PolicyArguments};
use crate::to_stdout;

const EXAMPLES: &str = "\
Examples:
  durward bench embedded --policies policies/ --requests asks.jsonl
  durward bench embedded --scenario hospital-300 --index all
  durward bench embedded --scenario hospital-300 --mode batch --threads 2 --json > hospital-300.json
  durward bench report --in hospital-300.json --out report/

Throughput is the median over rounds of 100 ms that go through all requests, without a clock reading per decision. Rounds
go on until the median is known: until its 95 % confidence interval is narrower than 3 % of it, or until --time-limit,
which is then said. Latency is a pass of its own with a reading around each decision, or around each batch, of which every
decision gets its share; the time that the clock itself takes is included, and printed. Memory is by how much the resident set grows
per decision point, over several that are built one after another. With --threads, all share one decision point; their
rates are added, and one thread alone is measured before them.";

/// The decision point inside this process, without any network
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("policies", |policies| {
    policies.required(false).required_unless_present_any(["bundle", "scenario"]).conflicts_with("scenario")
}))]
pub(super) struct Arguments {
    #[command(flatten)]
    policies: PolicyArguments,
    /// Requests, one JSON object per line, as for `durward decide`
    #[arg(
        long,
        value_name = "FILE.jsonl",
        required_unless_present = "scenario",
        conflicts_with = "scenario"
    )]
    requests: Option<PathBuf>,
    /// Policies and requests of a scenario, as `durward bench generate` would write them
    #[arg(long, value_name = "NAME-N", conflicts_with = "bundle")]
    scenario: Option<ScenarioName>,
    /// The language of the scenario
    #[arg(long, value_enum, default_value_t = LanguageName::Sapl, requires = "scenario")]
    language: LanguageName,
    /// How reports call what is measured, instead of the scenario or the directory
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// The index: auto, scan, bloom, canonical or diagram; all compares them
    #[arg(long, value_name = "NAME|all", default_value = "auto", value_parser = choice)]
    index: ScenarioChoice,
    /// How many threads decide at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,
    /// How long throughput is measured at most, for each index, while its median is not known
    #[arg(long, value_name = "S", default_value_t = 20.0, value_parser = seconds)]
    time_limit: f64,
    /// How long throughput is measured, for each index, whether or not its median is known
    #[arg(long, value_name = "S", value_parser = seconds, conflicts_with = "time_limit")]
    seconds: Option<f64>,
    /// What counts as one decision
    #[arg(long, value_enum, default_value_t = EmbeddedModeName::Encoded)]
    mode: EmbeddedModeName,
    /// How many requests are decided at once, with --mode batch and read-batch
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=4096))]
    batch: u16,
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
enum ScenarioChoice {
    All,
    One(IndexKind),
}

/// What counts as one decision.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum EmbeddedModeName {
    /// A request that was read, and encoded for the policies in force, to a decision
    Encoded,
    /// A request that was read, to a decision
    Decide,
    /// The text of a request, to the text of the response
    Text,
    /// Many encoded requests at once, to as many decisions
    Batch,
    /// Many read requests at once, to as many decisions
    ReadBatch,
}

/// Everything that was measured, and with what.
pub(super) struct EmbeddedSession {
    /// How reports call it.
    pub(super) name: String,
    /// `sapl`, `xacml`, or `both` by the requests.
    pub(super) language: &'static str,
    pub(super) requests: usize,
    pub(super) mode: EmbeddedModeName,
    pub(super) batch: u16,
    pub(super) threads: u16,
    /// The time limit in seconds, if there was any.
    pub(super) time_limit: Option<f64>,
    pub(super) has_statistics: bool,
    pub(super) measured: Vec<(IndexKind, EmbeddedMeasurement)>,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let progress = Progress::start("reading policies and requests");
    let (texts, requests) = arguments.read()?;
    let mut subjects = Vec::new();
    for kind in arguments.index.kinds() {
        progress.turn_to(format!("building the index `{kind}`"));
        let settings = arguments.index_settings();
        let prepare = || {
            let builder = arguments.policies.prepare().policies(texts.clone());
            builder.index(kind).index_settings(settings.clone())
        };
        subjects.push((kind, BuiltPdp::build(&prepare).map_err(failure)?));
    }
    let mut measured = Vec::new();
    for (number, (kind, subject)) in (1..).zip(&subjects) {
        progress.turn_to(format!("measuring the index `{kind}`, {number} of {}", subjects.len()));
        measured.push((*kind, subject.measure(&requests, &arguments.plan()).map_err(failure)?));
    }
    if arguments.statistics {
        progress.turn_to("counting what the indexes did");
        for (kind, one) in &mut measured {
            let builder = arguments.policies.prepare().policies(texts.clone()).index(*kind);
            let counted = index_work(builder, arguments.index_settings(), &requests).map_err(failure)?;
            one.index = counted.to_string();
        }
    }
    drop(progress);
    let session = arguments.session(&requests, measured);
    to_stdout(&if arguments.json { row::all(&session) } else { table::of(&session) })?;
    Ok(ExitCode::SUCCESS)
}

impl Arguments {
    /// The policies and requests.
    fn read(&self) -> Result<(Vec<PolicyText>, Vec<RequestText>), CommandError> {
        match (&self.scenario, &self.requests) {
            (Some(name), _) => match self.language {
                LanguageName::Sapl => Ok(of_sapl(&Scenario::of(name))),
                LanguageName::Xacml => {
                    let scenario = in_xacml(name)?;
                    let documents = scenario.documents.into_iter();
                    let xml = |text: String| (text.into_bytes(), RequestFormat::Xml);
                    let requests = scenario.requests.into_iter().map(|request| xml(request.xml));
                    Ok((numbered("xml", documents), named(&scenario.name, requests)))
                }
            },
            (None, Some(requests)) => Ok((self.policies.read()?, read_request_texts(requests)?)),
            (None, None) => Err(failure(BenchError::NoRequests)),
        }
    }

    fn plan(&self) -> EmbeddedPlan {
        let until = match self.seconds {
            Some(seconds) => StopCondition::Elapsed(Duration::from_secs_f64(seconds)),
            None => StopCondition::Converged(Duration::from_secs_f64(self.time_limit)),
        };
        EmbeddedPlan { mode: self.mode(), threads: usize::from(self.threads), until }
    }

    fn mode(&self) -> DecisionMode {
        match self.mode {
            EmbeddedModeName::Encoded => DecisionMode::Encoded,
            EmbeddedModeName::Decide => DecisionMode::Decide,
            EmbeddedModeName::Text => DecisionMode::Text,
            EmbeddedModeName::Batch => DecisionMode::Batch(usize::from(self.batch)),
            EmbeddedModeName::ReadBatch => DecisionMode::ReadBatch(usize::from(self.batch)),
        }
    }

    fn index_settings(&self) -> IndexSettings {
        IndexSettings {
            bloom_bits: self.bloom_bits,
            bloom_hashes: self.bloom_hashes,
            ..IndexSettings::default()
        }
    }

    fn session(
        &self,
        requests: &[RequestText],
        measured: Vec<(IndexKind, EmbeddedMeasurement)>,
    ) -> EmbeddedSession {
        EmbeddedSession {
            name: self.called(),
            language: language(requests),
            requests: requests.len(),
            mode: self.mode,
            batch: self.batch,
            threads: self.threads,
            time_limit: self.seconds.is_none().then_some(self.time_limit),
            has_statistics: self.statistics,
            measured,
        }
    }

    /// How reports call it.
    fn called(&self) -> String {
        let directory = || self.policies.policies.first().and_then(|path| path.file_name());
        match (&self.name, &self.scenario) {
            (Some(name), _) => name.clone(),
            (None, Some(scenario)) => scenario.to_string(),
            (None, None) => {
                directory().map_or_else(|| "policies".to_owned(), |it| it.to_string_lossy().into_owned())
            }
        }
    }
}

fn of_sapl(scenario: &Scenario) -> (Vec<PolicyText>, Vec<RequestText>) {
    let mut policies = numbered("sapl", scenario.policies.iter().cloned());
    policies.push(PolicyText { name: "pdp.json".into(), text: scenario.configuration().into() });
    let json = |asked: &serde_json::Value| (asked.to_string().into_bytes(), RequestFormat::Subscription);
    (policies, named(&scenario.name, scenario.subscriptions.iter().map(json)))
}

/// Policies as if they had been read from files, which are used in the order of their names.
fn numbered(extension: &str, texts: impl Iterator<Item = String>) -> Vec<PolicyText> {
    let name = |number| format!("policy-{number:07}.{extension}");
    (1..).zip(texts).map(|(number, text)| PolicyText { name: name(number), text: text.into() }).collect()
}

fn named(scenario: &str, texts: impl Iterator<Item = (Vec<u8>, RequestFormat)>) -> Vec<RequestText> {
    let of = |(number, (text, form))| RequestText { name: format!("{scenario}:{number}"), text, form };
    (1..).zip(texts).map(of).collect::<Vec<RequestText>>()
}

fn language(requests: &[RequestText]) -> &'static str {
    let of_sapl = requests.iter().filter(|request| request.form == RequestFormat::Subscription).count();
    match of_sapl {
        0 => "xacml",
        all if all == requests.len() => "sapl",
        _ => "both",
    }
}

fn failure(error: BenchError) -> CommandError {
    match error {
        BenchError::Policies(errors) => CommandError::policies(&errors),
        BenchError::Request(..) => CommandError::new(error.to_string())
            .hint("only requests that can be read are measured; remove the line"),
        BenchError::TwoLanguages => {
            CommandError::new(error.to_string()).hint("give each language a file of its own")
        }
        BenchError::NoRequests | BenchError::TooShort => CommandError::new(error.to_string()),
    }
}

impl EmbeddedModeName {
    pub(super) fn name(self) -> &'static str {
        match self {
            EmbeddedModeName::Encoded => "encoded",
            EmbeddedModeName::Decide => "decide",
            EmbeddedModeName::Text => "text",
            EmbeddedModeName::Batch => "batch",
            EmbeddedModeName::ReadBatch => "read-batch",
        }
    }
}

impl ScenarioChoice {
    /// The indexes to measure.
    fn kinds(self) -> Vec<IndexKind> {
        match self {
            ScenarioChoice::One(kind) => vec![kind],
            ScenarioChoice::All => IndexKind::ALL.into_iter().collect(),
        }
    }
}

fn choice(text: &str) -> Result<ScenarioChoice, String> {
    if text == "all" { Ok(ScenarioChoice::All) } else { policies::index(text).map(ScenarioChoice::One) }
}

//! `durward bench server`: a server over the network, on a core of its own.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use durward_bench::Bare;
use durward_bench::embedded::RequestFormat;
use durward_bench::server::{ServerBenchError, ServerMeasurement, ServerPlan, Transport, measure, request};
use durward_pdp::sapl::Subscription;
use serde_json::json;

use super::node::{CoreSplit, HTTP_MARK, StartedServer, cores, resolve};
use super::questions::read_request_texts;
use super::row::{command, machine};
use super::{counted, grouped, seconds};
use crate::console::progress::Progress;
use crate::failure::{CommandError, CommandResult};
use crate::to_stdout;

const EXAMPLES: &str = "\
Examples:
  durward bench server --transport rsocket --policies rbac/ --subscriptions rbac/subscriptions.jsonl
  durward bench server --transport http --url http://127.0.0.1:8080 --subscriptions asks.jsonl --rate 5000

With --policies, a server is started for the measurement, with one worker, and pinned to one core (by `taskset`), the
load to the other. Saturation is what is answered while every connection has as many questions under way as it may.
Latency is then measured at a tenth of it, or at --rate: questions are asked when their time has come, whether or not
earlier ones were answered, and a wait counts from that time. Only what anybody may ask, unencrypted, is measured.
With --policies and HTTP, a bare server of the same HTTP library, which reads the same requests and writes as many bytes, is
measured in turns with it.";

/// Less than this part of the time means that something else than the server was the limit.
const BUSY_BELOW: f64 = 0.9;

/// A server over the network: what it answers at most, and how long answers take at a tenth of that
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The protocol
    #[arg(long, value_enum)]
    transport: TransportName,
    /// Policies to start a server with: a directory of SAPL or XACML
    #[arg(long, value_name = "DIR|FILE", required_unless_present = "url", conflicts_with = "url")]
    policies: Option<PathBuf>,
    /// A server that is running: `http://host:port`, or `host:port` for RSocket
    #[arg(long, value_name = "URL|HOST:PORT")]
    url: Option<String>,
    /// What to ask, one JSON object with a `subscription` per line
    #[arg(long, value_name = "FILE.jsonl")]
    subscriptions: PathBuf,
    /// How many connections; without it 64 for HTTP and 8 for RSocket
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    connections: Option<u16>,
    /// How many questions a connection has under way at most; without it 1 for HTTP and 64 for RSocket
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    in_flight: Option<u16>,
    /// Questions a second to measure latency at, instead of a tenth of saturation, which is then not looked for
    #[arg(long, value_name = "N", value_parser = rate)]
    rate: Option<f64>,
    /// How long saturation is measured, and then latency
    #[arg(long, value_name = "S", default_value_t = 5.0, value_parser = seconds)]
    seconds: f64,
    /// The cores of the server and of the load; `none` pins nothing
    #[arg(long, value_name = "SERVER,LOAD", default_value = "0,1", value_parser = cores)]
    cores: CoreSplit,
    /// Print an object instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum TransportName {
    /// SAPL's decisions over HTTP/1.1
    Http,
    /// SAPL's decisions over RSocket
    Rsocket,
}

fn rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|_| "a number".to_owned())?;
    if (1.0..=100_000_000.0).contains(&rate) { Ok(rate) } else { Err("between 1 and 100000000".to_owned()) }
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let questions = read_questions(&arguments.subscriptions)?;
    let server = match (&arguments.policies, &arguments.url) {
        (Some(policies), _) => {
            let policies =
                fs::canonicalize(policies).map_err(|error| CommandError::unreadable(policies, &error))?;
            let mark = match arguments.transport {
                TransportName::Http => HTTP_MARK,
                TransportName::Rsocket => "serving RSocket address=",
            };
            Some(StartedServer::start(arguments.cores, mark, |_| settings(&policies))?)
        }
        (None, _) => None,
    };
    let address = match (&server, &arguments.url) {
        (Some(server), _) => server.address(),
        (None, Some(url)) => resolve(url)?,
        (None, None) => return Err(CommandError::new("neither `--policies` nor `--url` is given")),
    };
    let bare = match (arguments.transport, &server, questions.first()) {
        (TransportName::Http, Some(_), Some(question)) => {
            arguments.cores.pin_server();
            Some(Bare::like_answer_of(address, &request(address, question))?)
        }
        _ => None,
    };
    arguments.cores.pin_load();
    let (transport, connections, in_flight) = match arguments.transport {
        TransportName::Http => (Transport::Http, 64, 1),
        TransportName::Rsocket => (Transport::Rsocket, 8, 64),
    };
    let plan = ServerPlan {
        address,
        transport,
        questions: &questions,
        connections: arguments.connections.map_or(connections, usize::from),
        in_flight: arguments.in_flight.map_or(in_flight, usize::from),
        duration: Duration::from_secs_f64(arguments.seconds),
        rate: arguments.rate,
        process: server.as_ref().map(StartedServer::process),
        bare: bare.as_ref(),
    };
    let progress = Progress::start("measuring the server");
    let measured = measure(&plan).map_err(failure)?;
    drop(progress);
    to_stdout(&if arguments.json { row(&plan, &measured) } else { table(&plan, &measured) })?;
    Ok(ExitCode::SUCCESS)
}

fn failure(error: ServerBenchError) -> CommandError {
    let hint = match &error {
        ServerBenchError::NoQuestions | ServerBenchError::Question => "see `--subscriptions`",
        ServerBenchError::Connection(_) => "is the server up, and does it take so many connections?",
        ServerBenchError::Nonsense(_) | ServerBenchError::NoAnswers => {
            "does it speak SAPL's protocols there, unencrypted, and may anybody ask?"
        }
    };
    CommandError::new(crate::failure::without_number(&error.to_string())).hint(hint)
}

fn read_questions(path: &Path) -> Result<Vec<Subscription>, CommandError> {
    let mut questions = Vec::new();
    for text in read_request_texts(path)? {
        if text.form != RequestFormat::Subscription {
            return Err(CommandError::new(format!("{}: there is no `subscription`", text.name)));
        }
        let read = Subscription::from_json(&text.text);
        questions.push(read.map_err(|error| CommandError::new(format!("{}: {error}", text.name)))?);
    }
    Ok(questions)
}

/// A server that anybody on this machine may ask.
fn settings(policies: &Path) -> Result<Vec<u8>, CommandError> {
    let path = policies.to_str().ok_or_else(|| CommandError::new("the path of the policies is not UTF-8"))?;
    let mut text = Vec::new();
    // A text of JSON is one of TOML.
    writeln!(text, "policies.path = {}", serde_json::Value::from(path))?;
    writeln!(text, "server.listen = '127.0.0.1:0'\nserver.workers = 1\nsapl.http = true")?;
    writeln!(text, "rsocket.listen = '127.0.0.1:0'\nauth.danger_allow_no_auth = true")?;
    writeln!(text, "log.format = 'text'\nlog.level = 'info'")?;
    Ok(text)
}

fn row(plan: &ServerPlan<'_>, measured: &ServerMeasurement) -> String {
    let load = &measured.load;
    let row = json!({
        "transport": name(plan.transport),
        "connections": plan.connections,
        "in_flight": plan.in_flight,
        "saturation_per_s": measured.saturation.map(|spread| spread.median.round()),
        "saturation_min_per_s": measured.saturation.map(|spread| spread.min.round()),
        "saturation_max_per_s": measured.saturation.map(|spread| spread.max.round()),
        "cpu_ns": measured.cpu_ns,
        "bare_per_s": measured.bare.map(|(spread, _)| spread.median.round()),
        "bare_cpu_ns": measured.bare.and_then(|(_, cpu_ns)| cpu_ns),
        "server_busy": measured.busy.map(|busy| (busy * 1_000.0).round() / 1_000.0),
        "rate_per_s": load.rate.round(),
        "answered": load.answered,
        "failed": load.failed,
        "unanswered": load.unanswered,
        "p50_ns": load.p50_ns,
        "p99_ns": load.p99_ns,
        "p999_ns": load.p999_ns,
        "max_ns": load.max_ns,
        "resident_bytes": measured.resident_bytes,
        "version": env!("CARGO_PKG_VERSION"),
        "machine": machine(),
        "command": command(),
    });
    format!("{row:#}\n")
}

fn name(transport: Transport) -> &'static str {
    match transport {
        Transport::Http => "http",
        Transport::Rsocket => "rsocket",
    }
}

fn table(plan: &ServerPlan<'_>, measured: &ServerMeasurement) -> String {
    let questions = counted(plan.questions.len(), "question", ["", "s"]);
    let connections = counted(plan.connections, "connection", ["", "s"]);
    let mut text = format!(
        "{}, {questions}, {connections} with up to {} under way each\n\n",
        name(plan.transport),
        plan.in_flight
    );
    if let Some(spread) = measured.saturation {
        let (min, max) = (grouped(spread.min), grouped(spread.max));
        text.push_str(&format!("saturation  {} answers/s ({min} .. {max})\n", grouped(spread.median)));
    }
    if let Some(cpu_ns) = measured.cpu_ns {
        text.push_str(&format!("the server  {:.1} us of a core for an answer\n", cpu_ns as f64 / 1_000.0));
    }
    if let Some((spread, cpu_ns)) = measured.bare {
        let part = measured.saturation.map_or(0.0, |server| 100.0 * server.median / spread.median);
        let core =
            cpu_ns.map_or(String::new(), |cpu_ns| format!(", {:.1} us of a core", cpu_ns as f64 / 1_000.0));
        let rate = grouped(spread.median);
        text.push_str(&format!(
            "bare HTTP   {rate} answers/s{core}: the server comes to {part:.0} % of it\n"
        ));
    }
    if let Some(bytes) = measured.resident_bytes {
        text.push_str(&format!("its memory  {:.1} MiB resident\n", bytes as f64 / f64::from(1 << 20)));
    }
    let load = &measured.load;
    let us = |nanoseconds: u64| nanoseconds as f64 / 1_000.0;
    text.push_str(&format!(
        "\nat {} questions/s: p50 {:.0} us, p99 {:.0} us, p99.9 {:.0} us, longest {:.0} us\n",
        grouped(load.rate),
        us(load.p50_ns),
        us(load.p99_ns),
        us(load.p999_ns),
        us(load.max_ns)
    ));
    text.push_str(&format!(
        "{} answered, {} failed, {} not answered\n",
        load.answered, load.failed, load.unanswered
    ));
    if let Some(busy) = measured.busy.filter(|busy| *busy < BUSY_BELOW) {
        let percent = busy * 100.0;
        text.push_str(&format!(
            "the server ran only {percent:.0} % of the time: the load or the machine was the limit\n"
        ));
    }
    text
}

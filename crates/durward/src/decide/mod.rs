//! `durward decide`: requests in, responses out, of policies here or of a server.

pub(crate) mod attributes;
pub(crate) mod code;
mod expected;
mod lines;
mod remote;
pub(crate) mod subscription;
mod watch;

#[cfg(feature = "lab")]
pub(crate) use lines::{InputLine, LineError, for_each_line, in_words, request_text};

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use durward_pdp::sapl::{self, Decision, Subscription};
use durward_pdp::xacml::request::Version;
use durward_pdp::xacml::response::Status;
use durward_pdp::{IndexKind, Pdp, RequestLanguage, Response};

use crate::console::colour;
use crate::console::progress::Progress;
use crate::failure::{BAD_INPUT, CommandError, CommandResult, SUCCESS, complain, warn};
use crate::policies::{self, ContextArguments, PolicyArguments};
use crate::serve::clock;
use crate::to_stdout;
use crate::wire::{FormArgument, MessageForm};
use attributes::CliFinders;
use remote::RemoteArguments;
use subscription::SubscriptionArguments;

const EXAMPLES: &str = "\
Examples:
  durward decide --policies policies/ --request ask.xml
  durward decide --policies policies/ --explain < ask.json
  durward decide --policies policies/ --requests asks.jsonl > answers.jsonl
  durward decide --policies policies/ --requests asks.jsonl --expect decisions.jsonl
  durward decide --policies sapl/ -s '{\"role\":\"nurse\"}' -a '\"read\"' -r '\"record\"'
  durward decide --remote --url https://pdp.example.org -s '\"ada\"' -a '\"read\"' -r '\"record\"'
  durward decide --remote --rsocket 127.0.0.1:7000 --watch --request ask.json
  durward decide --policies sapl/ --watch -s '\"ada\"' -a '\"read\"' -r '\"record\"'
  durward decide --policies sapl/ --exit-code --request ask.json && open-the-door

A line of --requests is {\"id\": ..., \"request\": \"<Request ...\" or {\"Request\": ...}}; a line of the answer is
{\"id\": ..., \"decision\": \"Permit\", \"response\": ...}. A line with a \"subscription\" is a SAPL subscription, and the
response of its answer is a SAPL decision. If a request has several results, `decision` lists their decisions, joined by
commas. The answer to a line that is not valid is Indeterminate, and the exit code is 2.
With --expect, the command compares the decisions with lines {\"id\": ..., \"decision\": ...} and prints the differences; if
such a decision is an object, it compares the whole decision.

SAPL policies have only the attributes `<time...>` and `<x509...>` here; any other attribute is undefined, and a warning
names it. With --watch, changed policies come into force, and only a new decision is printed. Broken policies leave the
old ones in force.

A server gives SAPL decisions only. If it gives no valid decision, or ends a stream, the command prints INDETERMINATE,
writes the reason to standard error, and exits with 2. Put credentials into DURWARD_BEARER_TOKEN (a token or an API
key) or DURWARD_BASIC_AUTH (name:password).

Exit codes: 0 decided (whatever the decision), 1 differences to --expect, 2 bad input or no answer.
With --exit-code: 0 permit without obligations and resource, 1 bad input or no answer, 2 deny, 3 not applicable,
4 indeterminate, or a permit with obligations or a resource, 5 suspend.";

/// Decide requests
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("policies", |policies| policies.required(false).required_unless_present("remote")))]
#[command(mut_arg("subject", |subject| subject.requires("action").conflicts_with_all(["request", "requests"])))]
#[command(mut_arg("action", |action| action.requires("resource")))]
#[command(mut_arg("resource", |resource| resource.requires("subject")))]
#[command(mut_arg("environment", |environment| environment.requires("subject")))]
pub(crate) struct Arguments {
    #[command(flatten)]
    policies: PolicyArguments,
    /// One request, XML or JSON, or one subscription; `-` or nothing reads standard input
    #[arg(long, value_name = "FILE|-", conflicts_with = "requests")]
    request: Option<PathBuf>,
    #[command(flatten)]
    subscription: SubscriptionArguments,
    /// Many requests, one JSON object per line; `-` reads standard input
    #[arg(long, value_name = "FILE.jsonl|-")]
    requests: Option<PathBuf>,
    /// Compare with recorded decisions, and print the differences
    #[arg(long, value_name = "FILE.jsonl", requires = "requests")]
    expect: Option<PathBuf>,
    /// The index: auto, scan, bloom, canonical or diagram; it changes the speed, never the answer
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = policies::index)]
    index: IndexKind,
    /// Explain the decision: which policies applied, which did not, and why; for SAPL, condition by condition
    #[arg(long)]
    explain: bool,
    /// The form of the answer
    #[arg(long, value_enum, default_value_t = FormArgument::Auto)]
    format: FormArgument,
    /// Also report the decision of the only request as the exit code
    #[arg(long, conflicts_with = "requests")]
    exit_code: bool,
    /// Print each new decision, one per line; with --remote until the server ends the stream
    #[arg(long, visible_alias = "stream", conflicts_with_all = ["requests", "exit_code", "explain"])]
    watch: bool,
    #[command(flatten)]
    context: ContextArguments,
    #[command(flatten)]
    remote: RemoteArguments,
}

impl Arguments {
    /// The exit code where nothing was decided.
    fn error_code(&self) -> u8 {
        if self.exit_code { code::ERROR } else { BAD_INPUT }
    }

    /// Where the only question is.
    fn path(&self) -> &Path {
        self.request.as_deref().unwrap_or(Path::new("-"))
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    let decided = if arguments.remote.remote { remote::run(arguments) } else { run_here(arguments) };
    match decided {
        // 2 would be a denial.
        Err(failure) if arguments.exit_code => {
            failure.report();
            Ok(ExitCode::from(code::ERROR))
        }
        other => other,
    }
}

fn run_here(arguments: &Arguments) -> CommandResult {
    let progress = Progress::start("reading policies");
    let texts = arguments.policies.read()?;
    let watched = if arguments.watch { texts.clone() } else { Vec::new() };
    let builder = arguments.policies.prepare().policies(texts).index(arguments.index);
    let builder = arguments.context.add_to(builder)?;
    let builder = if arguments.explain { builder.explaining() } else { builder };
    let pdp = builder.build().map_err(|errors| CommandError::policies(&errors))?;
    drop(progress);
    let finders = CliFinders::new(clock());
    match (&arguments.requests, &arguments.expect) {
        (Some(requests), None) => lines::answer(
            &mut lines::LocalPdp::new(&pdp, &finders, arguments.format, arguments.explain),
            requests,
        ),
        (Some(requests), Some(recorded)) => lines::compare(
            &mut lines::LocalPdp::new(&pdp, &finders, arguments.format, false),
            requests,
            recorded,
        ),
        (None, _) => match question(arguments)? {
            DecideQuestion::Subscription(subscription) if arguments.watch => {
                tell(&pdp, RequestLanguage::Sapl);
                watch::watch(pdp, watched, &subscription, &finders, arguments)
            }
            DecideQuestion::Subscription(subscription) => {
                answer_subscription(&pdp, &subscription, &finders, arguments)
            }
            DecideQuestion::Unreadable(problem) => {
                to_stdout(&(Decision::plain(sapl::Outcome::Indeterminate).to_json() + "\n"))?;
                complain(problem);
                Ok(ExitCode::from(arguments.error_code()))
            }
            DecideQuestion::Request(_) if arguments.watch => {
                Err(CommandError::new("a request of XACML cannot be watched")
                    .hint("ask with a subscription of SAPL"))
            }
            DecideQuestion::Request(text) => answer_request(&pdp, &text, arguments),
        },
    }
}

/// What is asked.
enum DecideQuestion {
    /// The text of a request of XACML.
    Request(Vec<u8>),
    /// A subscription.
    Subscription(Box<Subscription>),
    /// What is wrong with the text of a subscription.
    Unreadable(String),
}

fn question(arguments: &Arguments) -> Result<DecideQuestion, CommandError> {
    if let Some(subscription) = arguments.subscription.read()? {
        return Ok(DecideQuestion::Subscription(Box::new(subscription)));
    }
    let path = arguments.path();
    let text = read(path)?;
    Ok(if subscription::is_one(&text) {
        let subscription = Subscription::from_json(&text);
        match subscription {
            Ok(subscription) => DecideQuestion::Subscription(Box::new(subscription)),
            Err(error) => DecideQuestion::Unreadable(format!("{}: {error}", name_of(path))),
        }
    } else {
        DecideQuestion::Request(text)
    })
}

/// Says it where all policies are of another language than the question; once.
fn tell(pdp: &Pdp, language: RequestLanguage) {
    if let Some(note) = pdp.first_mismatch(language) {
        warn(note);
    }
}

fn answer_request(pdp: &Pdp, text: &[u8], arguments: &Arguments) -> CommandResult {
    let path = arguments.path();
    let Some(form) = MessageForm::of(text) else {
        let message = format!("{}: the request is neither XML nor JSON", name_of(path));
        let hint = "it begins with `<Request` or `{\"Request\": ...}`, or is an object with a `subject`";
        return Err(CommandError::new(message).hint(hint));
    };
    let answer_form = arguments.format.answer(form);
    match form.read(text) {
        Ok(request) => {
            tell(pdp, RequestLanguage::Xacml);
            let response = pdp.decide(&request);
            let mut answer = answer_form.write(&response, request.version) + "\n";
            if arguments.explain {
                let explanation = colour::explanation(&pdp.explain(&request).to_string());
                answer.push_str(&format!("\n{explanation}"));
            }
            to_stdout(&answer)?;
            let code = if arguments.exit_code { code::of_response(&response) } else { SUCCESS };
            Ok(ExitCode::from(code))
        }
        Err(error) => {
            // What a decision point answers to such a request; the exit code says whose fault it is.
            let response = Response::indeterminate(Status::syntax_error(error.to_string()));
            to_stdout(&(answer_form.write(&response, Version::V3) + "\n"))?;
            complain(format_args!("{}: {error}", name_of(path)));
            Ok(ExitCode::from(arguments.error_code()))
        }
    }
}

fn answer_subscription(
    pdp: &Pdp,
    subscription: &Subscription,
    finders: &CliFinders,
    arguments: &Arguments,
) -> CommandResult {
    tell(pdp, RequestLanguage::Sapl);
    let decision = finders.decide(pdp, subscription);
    let mut answer = decision.to_json() + "\n";
    if arguments.explain {
        let explanation = colour::explanation(&finders.explain(pdp, subscription).to_string());
        answer.push_str(&format!("\n{explanation}"));
    }
    to_stdout(&answer)?;
    let code = if arguments.exit_code { code::of_decision(&decision) } else { SUCCESS };
    Ok(ExitCode::from(code))
}

/// Most bytes read of one request: far beyond what a request may have.
const TEXT_BYTES_MAX: u64 = 32 << 20;

fn read(path: &Path) -> Result<Vec<u8>, CommandError> {
    let mut text = Vec::new();
    if path != Path::new("-") {
        // No more than the reader needs to see that it is too much: a path may lead to something without an end.
        let read = File::open(path).and_then(|file| file.take(TEXT_BYTES_MAX).read_to_end(&mut text));
        return read.map(|_| text).map_err(|error| CommandError::unreadable(path, &error));
    }
    let stdin = io::stdin().lock();
    if stdin.is_terminal() {
        return Err(
            CommandError::new("no request").hint("give `--request FILE`, or a request on standard input")
        );
    }
    stdin.take(TEXT_BYTES_MAX).read_to_end(&mut text)?;
    Ok(text)
}

/// How messages call a file.
pub(crate) fn name_of(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

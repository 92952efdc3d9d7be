//! `durward decide`: requests in, responses out, without a server.

mod expected;
mod lines;
mod subscription;

pub(crate) use lines::read_request_texts;

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use durward_pdp::xacml::request::Version;
use durward_pdp::xacml::response::Status;
use durward_pdp::{IndexKind, Pdp, Response};

use crate::failure::{BAD_INPUT, Failure, Outcome, complain};
use crate::policies::{self, ContextArguments, PolicyArguments};
use crate::to_stdout;
use crate::wire::{Form, Format};
use subscription::SubscriptionArguments;

const EXAMPLES: &str = "\
Examples:
  durward decide --policies policies/ --request ask.xml
  durward decide --policies policies/ --explain < ask.json
  durward decide --policies policies/ --requests asks.jsonl > answers.jsonl
  durward decide --policies policies/ --requests asks.jsonl --expect decisions.jsonl
  durward decide --policies sapl/ -s '{\"role\":\"nurse\"}' -a '\"read\"' -r '\"record\"'

A line of --requests is {\"id\": ..., \"request\": \"<Request ...\" or {\"Request\": ...}}; a line of the answer is
{\"id\": ..., \"decision\": \"Permit\", \"response\": ...}. A line with a \"subscription\" is a question of SAPL, and
its answer's response a decision object. Where a request means several decisions, `decision` names
them all, joined by commas. A line that cannot be read is answered with Indeterminate, and the exit code is 2.
With --expect, lines {\"id\": ..., \"decision\": ...} are compared instead, and the differences are printed; a decision
that is an object is compared as a whole.

Exit codes: 0 decided (whatever the decision), 1 differences to --expect, 2 bad input.";

/// Decide requests
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
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
    /// The index: auto, scan, bloom or diagram; it changes the speed, never the answer
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = policies::index)]
    index: IndexKind,
    /// Say why: which policies applied and which did not, and because of what; of SAPL, condition by condition
    #[arg(long)]
    explain: bool,
    /// The form of the answer
    #[arg(long, value_enum, default_value_t = Format::Auto)]
    format: Format,
    #[command(flatten)]
    context: ContextArguments,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let builder = arguments.policies.prepare().policies(arguments.policies.read()?).index(arguments.index);
    let builder = arguments.context.add_to(builder)?;
    let builder = if arguments.explain { builder.explaining() } else { builder };
    let pdp = builder.build().map_err(|errors| Failure::policies(&errors))?;
    match (&arguments.requests, &arguments.expect) {
        (Some(requests), None) => lines::answer(&pdp, requests, arguments.format, arguments.explain),
        (Some(requests), Some(recorded)) => lines::compare(&pdp, requests, arguments.format, recorded),
        (None, _) => match arguments.subscription.read()? {
            Some(subscription) => subscription::answer(&pdp, &subscription, arguments.explain),
            None => one(&pdp, arguments),
        },
    }
}

fn one(pdp: &Pdp, arguments: &Arguments) -> Outcome {
    let path = arguments.request.as_deref().unwrap_or(Path::new("-"));
    let text = read(path)?;
    if subscription::is_one(&text) {
        return subscription::answer_text(pdp, &text, &name_of(path), arguments.explain);
    }
    let Some(form) = Form::of(&text) else {
        let message = format!("{}: the request is neither XML nor JSON", name_of(path));
        let hint = "it begins with `<Request` or `{\"Request\": ...}`, or is an object with a `subject`";
        return Err(Failure::new(message).hint(hint));
    };
    let answer_form = arguments.format.answer(form);
    match form.read(&text) {
        Ok(request) => {
            let response = pdp.decide(&request);
            let mut answer = answer_form.write(&response, request.version) + "\n";
            if arguments.explain {
                answer.push_str(&format!("\n{}", pdp.explain(&request)));
            }
            to_stdout(&answer)?;
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            // What a decision point answers to such a request; the exit code says whose fault it is.
            let response = Response::indeterminate(Status::syntax_error(error.to_string()));
            to_stdout(&(answer_form.write(&response, Version::V3) + "\n"))?;
            complain(format_args!("{}: {error}", name_of(path)));
            Ok(ExitCode::from(BAD_INPUT))
        }
    }
}

/// Most bytes read of one request: far beyond what a request may have.
const TEXT_BYTES_MAX: u64 = 32 << 20;

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    if path != Path::new("-") {
        // No more than the reader needs to see that it is too much: a path may lead to something without an end.
        let read = File::open(path).and_then(|file| file.take(TEXT_BYTES_MAX).read_to_end(&mut text));
        return read.map(|_| text).map_err(|error| Failure::unreadable(path, &error));
    }
    let stdin = io::stdin().lock();
    if stdin.is_terminal() {
        return Err(Failure::new("no request").hint("give `--request FILE`, or a request on standard input"));
    }
    stdin.take(TEXT_BYTES_MAX).read_to_end(&mut text)?;
    Ok(text)
}

/// How messages call a file.
fn name_of(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

//! `durward decide`: one request in, one response out.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use durward_pdp::Response;
use durward_pdp::xacml::request::Version;
use durward_pdp::xacml::response::Status;

use super::PolicyArguments;
use crate::failure::{BAD_INPUT, CommandError, CommandResult, complain};
use crate::to_stdout;
use crate::wire::{FormArgument, MessageForm};

/// Decide a request
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    policies: PolicyArguments,
    /// One request, XML or JSON; `-` or nothing reads standard input
    #[arg(long, value_name = "FILE|-", default_value = "-")]
    request: PathBuf,
    /// The form of the answer
    #[arg(long, value_enum, default_value_t = FormArgument::Auto)]
    format: FormArgument,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    let pdp = arguments.policies.build(arguments.policies.read()?)?;
    let text = read(&arguments.request)?;
    let form = MessageForm::of(&text).ok_or_else(|| {
        CommandError::new("the request is neither XML nor JSON")
            .hint("it begins with `<Request` or `{\"Request\": ...}`")
    })?;
    let answer_form = arguments.format.answer(form);
    match form.read(&text) {
        Ok(request) => {
            to_stdout(&(answer_form.write(&pdp.decide(&request), request.version) + "\n"))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            // What a decision point answers to such a request; the exit code says whose fault it is.
            let response = Response::indeterminate(Status::syntax_error(error.to_string()));
            to_stdout(&(answer_form.write(&response, Version::V3) + "\n"))?;
            complain(error);
            Ok(ExitCode::from(BAD_INPUT))
        }
    }
}

/// Most bytes read of one request: far beyond what a request may have.
const TEXT_BYTES_MAX: u64 = 32 << 20;

fn read(path: &Path) -> Result<Vec<u8>, CommandError> {
    let mut text = Vec::new();
    if path == Path::new("-") {
        io::stdin().lock().take(TEXT_BYTES_MAX).read_to_end(&mut text)?;
        return Ok(text);
    }
    let read = File::open(path).and_then(|file| file.take(TEXT_BYTES_MAX).read_to_end(&mut text));
    read.map(|_| text).map_err(|error| CommandError::unreadable(path, &error))
}

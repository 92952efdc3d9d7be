//! The one binary: flags, config, wiring, signals. Each subcommand is a module; what it does lives in a library.
//!
//! With the feature `standard`, which is the default, `commands.rs` lists the subcommands; without it `minimal` does, which decides XACML alone.

#[cfg(not(any(feature = "standard", feature = "xacml")))]
compile_error!("build with the default features, or with `--no-default-features --features xacml,http`");

#[cfg(all(feature = "standard", not(all(feature = "lab", feature = "opcua"))))]
mod absent;
#[cfg(feature = "standard")]
mod attributes;
#[cfg(feature = "standard")]
mod audit;
#[cfg(feature = "lab")]
mod bench;
#[cfg(feature = "standard")]
mod bundle;
#[cfg(feature = "standard")]
mod check;
mod choices;
#[cfg(feature = "standard")]
mod commands;
#[cfg_attr(not(feature = "standard"), expect(dead_code, reason = "the minimal build has few commands"))]
mod console;
#[cfg(feature = "standard")]
mod decide;
#[cfg(feature = "standard")]
mod demo;
#[cfg(feature = "standard")]
mod eval;
#[cfg_attr(not(feature = "standard"), expect(dead_code, reason = "the minimal build has few commands"))]
mod failure;
#[cfg(feature = "standard")]
mod fmt;
#[cfg(feature = "standard")]
mod generate;
#[cfg(feature = "standard")]
mod hierarchy;
#[cfg(feature = "standard")]
mod init;
#[cfg(feature = "standard")]
mod junit;
#[cfg(feature = "lab")]
mod lab;
#[cfg(feature = "full")]
#[cfg(test)]
mod manual;
#[cfg(not(feature = "standard"))]
mod minimal;
#[cfg(feature = "opcua")]
mod opcua;
#[cfg(feature = "standard")]
mod pages;
#[cfg(feature = "standard")]
mod plan;
#[cfg(feature = "standard")]
mod policies;
#[cfg(feature = "standard")]
mod serve;
#[cfg(feature = "standard")]
mod sockets;
#[cfg(feature = "standard")]
mod test;
#[cfg(feature = "standard")]
mod users;
#[cfg_attr(not(feature = "standard"), expect(dead_code, reason = "the minimal build has few commands"))]
mod wire;

use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

#[cfg(feature = "standard")]
use commands::{Arguments, run};
use failure::{BAD_INPUT, CommandError, CommandResult, INTERNAL};
#[cfg(not(feature = "standard"))]
use minimal::{Arguments, run};

fn main() -> ExitCode {
    panic::set_hook(Box::new(report_panic));
    // A panic was reported by the hook already; unwinding ends here instead of in a backtrace.
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| match Arguments::try_parse() {
        Ok(arguments) => {
            #[cfg(feature = "standard")]
            console::colour::choose(arguments.color);
            run(arguments.command)
        }
        Err(error) => explain_usage(&error),
    }));
    match outcome {
        Ok(Ok(code)) => code,
        Ok(Err(failure)) => {
            failure.report();
            ExitCode::from(BAD_INPUT)
        }
        Err(_) => ExitCode::from(INTERNAL),
    }
}

/// Help and version go to standard output; what is wrong with the flags is one line and a hint, as all errors are.
fn explain_usage(error: &clap::Error) -> CommandResult {
    let (kind, text) = (error.kind(), error.to_string());
    if matches!(kind, ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        to_stdout(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    if kind == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = write!(io::stderr(), "{text}");
        return Ok(ExitCode::from(BAD_INPUT));
    }
    let failure = usage_failure(&text);
    #[cfg(feature = "standard")]
    // 2 would be a denial.
    if std::env::args().any(|word| word == decide::code::FLAG) {
        failure.report();
        return Ok(ExitCode::from(decide::code::ERROR));
    }
    Err(failure)
}

/// The parser's text is a paragraph: what is wrong (perhaps with a list below), tips, the usage.
fn usage_failure(text: &str) -> CommandError {
    let (problem, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    let problem = problem.strip_prefix("error: ").unwrap_or(problem);
    let message = problem.lines().map(str::trim).collect::<Vec<_>>().join(" ").replace('\'', "`");
    let hint = match rest.lines().find_map(|line| line.trim().strip_prefix("tip: ")) {
        Some(tip) => tip.replace('\'', "`"),
        None => format!("see `{} --help`", asked_command()),
    };
    CommandError::new(message).hint(hint)
}

/// The command that was asked for, as it is typed, as far as there is such a one: `durward bench embedded`.
fn asked_command() -> String {
    let root = Arguments::command();
    let (mut asked, mut command) = (root.get_name().to_owned(), &root);
    for word in std::env::args().skip(1) {
        let Some(next) = command.find_subcommand(&word) else { break };
        asked.push_str(&format!(" {word}"));
        command = next;
    }
    asked
}

/// Writes to standard output. A reader that went away, such as `head`, is no error.
fn to_stdout(text: &str) -> Result<(), CommandError> {
    let mut out = io::stdout().lock();
    ignore_closed(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Takes the end of whoever reads our output for the end of our work.
fn ignore_closed(written: io::Result<()>) -> Result<(), CommandError> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// One line instead of a backtrace. The place is what a bug report needs.
fn report_panic(info: &panic::PanicHookInfo<'_>) {
    let payload = info.payload();
    let said = payload.downcast_ref::<&str>().copied();
    let message =
        said.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    let line = message.lines().next().unwrap_or_default();
    failure::complain(format_args!("a bug in durward, at {place}: {line}; please report it"));
}

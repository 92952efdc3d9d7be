//! The one binary: flags, config, wiring, signals. Each subcommand is a module; what it does lives in a library.

#[cfg(not(all(feature = "lab", feature = "opcua")))]
mod absent;
mod attributes;
mod audit;
#[cfg(feature = "lab")]
mod bench;
mod bundle;
mod check;
mod console;
mod decide;
mod demo;
mod eval;
mod failure;
mod fmt;
mod generate;
mod hierarchy;
mod init;
mod junit;
#[cfg(feature = "lab")]
mod lab;
#[cfg(feature = "full")]
#[cfg(test)]
mod manual;
#[cfg(feature = "opcua")]
mod opcua;
mod policies;
mod serve;
mod sockets;
mod test;
mod users;
mod wire;

use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use console::colour::ColourChoice;
use failure::{BAD_INPUT, CommandError, CommandResult, INTERNAL};

const EXAMPLES: &str = "\
Examples:
  durward init records                                     a project: policies, tests, settings, what to type next
  durward check policies/                                  what is wrong, or odd, in policies
  durward test --dir policies/                             tests of SAPL policies, and what they covered
  durward decide --policies policies/ --request ask.json   one decision, and with --explain why
  durward eval 'subject.age >= 18' -s '{\"age\":20}'         the value of an expression of SAPL; without one, a prompt
  durward serve --policies policies/                       many decisions, over HTTP
  durward fmt policies/                                    SAPL documents laid out alike
  durward demo                                             a running server with policies and a user, and what to try
  durward users add anna --users users.journal             who may log in
  durward demo opcua                                       a plant, a gate in front of it, and rights to try
  durward bench embedded --scenario hospital-300           how fast this machine decides
  durward lab init http://127.0.0.1:8080/                  a scenario, to measure how far a server scales

`durward COMMAND --help` shows the flags and more examples of a command.
Cargo features, none by default: `lab` for bench and lab; `dashboard` for lab run's display in a terminal; `opcua` for opcua and
demo opcua; `ldap` for users in a directory; `nats` for sessions on several nodes; `repl` for editing at the prompt of eval; `full`
for all of these; `pictures` for reports as PNG and PDF.
In a terminal decisions, findings and errors have colours, and what takes long says so on standard error: `--color auto|always|never`,
NO_COLOR, CLICOLOR and CLICOLOR_FORCE choose.
Exit codes of all commands: 0 done, 1 differences or problems found, 2 bad input. docs/README.md has a table of them.";

/// Decides who may do what by policies in XACML 3.0 or SAPL 4, logs users in, guards OPC UA servers, and measures how far
/// servers scale.
#[derive(Debug, Parser)]
#[command(name = "durward", version, after_help = EXAMPLES, max_term_width = 110, disable_help_subcommand = true)]
struct Arguments {
    /// Colour for people; each command takes it, and the text below tells of it once
    #[arg(long, global = true, hide = true, value_name = "WHEN", value_enum, default_value_t = ColourChoice::Auto)]
    color: ColourChoice,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Init(init::Arguments),
    Check(check::Arguments),
    Test(test::Arguments),
    Decide(Box<decide::Arguments>),
    Eval(eval::Arguments),
    Serve(serve::Arguments),
    Fmt(fmt::Arguments),
    Demo(demo::Arguments),
    Bundle(bundle::Arguments),
    Users(users::Arguments),
    Generate(generate::Arguments),
    Audit(audit::Arguments),
    #[cfg(feature = "opcua")]
    Opcua(opcua::Arguments),
    #[cfg(not(feature = "opcua"))]
    /// Access control for OPC UA (left out: needs the cargo feature `opcua`)
    Opcua(absent::Arguments),
    #[cfg(feature = "lab")]
    Bench(bench::Arguments),
    #[cfg(not(feature = "lab"))]
    /// Measure how fast this machine decides (left out: needs the cargo feature `lab`)
    Bench(absent::Arguments),
    #[cfg(feature = "lab")]
    Lab(lab::Arguments),
    #[cfg(not(feature = "lab"))]
    /// Measure how far a server scales, why, and what it costs (left out: needs the cargo feature `lab`)
    Lab(absent::Arguments),
}

fn main() -> ExitCode {
    panic::set_hook(Box::new(report_panic));
    // A panic was reported by the hook already; unwinding ends here instead of in a backtrace.
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| match Arguments::try_parse() {
        Ok(arguments) => {
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

fn run(command: Command) -> CommandResult {
    match command {
        Command::Init(arguments) => init::run(&arguments),
        Command::Decide(arguments) => decide::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Fmt(arguments) => fmt::run(&arguments),
        Command::Test(arguments) => test::run(&arguments),
        Command::Eval(arguments) => eval::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        #[cfg(feature = "lab")]
        Command::Bench(arguments) => bench::run(&arguments),
        #[cfg(feature = "lab")]
        Command::Lab(arguments) => lab::run(&arguments),
        #[cfg(not(feature = "lab"))]
        Command::Bench(_) => absent::run("durward bench", "lab"),
        #[cfg(not(feature = "lab"))]
        Command::Lab(_) => absent::run("durward lab", "lab"),
        Command::Bundle(arguments) => bundle::run(&arguments),
        Command::Users(arguments) => users::run(&arguments),
        #[cfg(feature = "opcua")]
        Command::Opcua(arguments) => opcua::run(&arguments),
        #[cfg(not(feature = "opcua"))]
        Command::Opcua(_) => absent::run("durward opcua", "opcua"),
        Command::Audit(arguments) => audit::run(&arguments),
        Command::Generate(arguments) => generate::run(&arguments),
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

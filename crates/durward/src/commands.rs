//! The subcommands, each a module.

use clap::Parser;

#[cfg(not(all(feature = "lab", feature = "opcua")))]
use crate::absent;
use crate::console::colour::ColourChoice;
use crate::failure::CommandResult;
#[cfg(feature = "opcua")]
use crate::opcua;
use crate::{audit, bundle, check, decide, demo, eval, fmt, generate, init, pages, plan, serve, test, users};
#[cfg(feature = "lab")]
use crate::{bench, lab};

const EXAMPLES: &str = "\
Examples:
  durward init records                                     a project: policies, tests, settings, what to type next
  durward check policies/                                  what is wrong, or odd, in policies
  durward test --dir policies/                             tests of SAPL policies, and what they covered
  durward decide --policies policies/ --request ask.json   one decision, and with --explain why
  durward plan --policies policies/ -s '\"ada\"' -a '\"read\"' --columns records.toml    which rows, as a filter for a database
  durward eval 'subject.age >= 18' -s '{\"age\":20}'         the value of an expression of SAPL; without one, a prompt
  durward serve --policies policies/                       many decisions, over HTTP
  durward fmt policies/                                    SAPL documents laid out alike
  durward demo                                             a running server with policies and a user, and what to try
  durward users add anna --users users.journal             who may log in
  durward pages preview --theme theme.toml                 the login pages, to look at
  durward demo opcua                                       a plant, a gate in front of it, and rights to try
  durward bench embedded --scenario hospital-300           how fast this machine decides
  durward lab init http://127.0.0.1:8080/                  a scenario, to measure how far a server scales

`durward COMMAND --help` shows the flags and more examples of a command.
Cargo features, none by default: `lab` for bench and lab; `dashboard` for lab run's display in a terminal; `opcua` for opcua and
demo opcua; `ldap` for users in a directory; `nats` for sessions on several nodes; `postgres` for entities in a database; `repl` for editing at
the prompt of eval; `otlp` for traces and decisions to a collector of OpenTelemetry; `full` for all of these; `pictures` for reports as PNG and PDF.
In a terminal decisions, findings and errors have colours, and a long command shows its progress on standard error: `--color auto|always|never`,
NO_COLOR, CLICOLOR and CLICOLOR_FORCE choose.
Exit codes of all commands: 0 done, 1 differences or problems found, 2 bad input. docs/README.md has a table of them.";

/// Decides who may do what by policies in XACML 3.0 or SAPL 4, logs users in, guards OPC UA servers, and measures how far
/// servers scale.
#[derive(Debug, Parser)]
#[command(name = "durward", version, after_help = EXAMPLES, max_term_width = 110, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    /// Colour for people; each command takes it, and the text below tells of it once
    #[arg(long, global = true, hide = true, value_name = "WHEN", value_enum, default_value_t = ColourChoice::Auto)]
    pub(crate) color: ColourChoice,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Init(init::Arguments),
    Check(check::Arguments),
    Test(test::Arguments),
    Decide(Box<decide::Arguments>),
    Plan(plan::Arguments),
    Eval(eval::Arguments),
    Serve(serve::Arguments),
    Fmt(fmt::Arguments),
    Demo(demo::Arguments),
    Bundle(bundle::Arguments),
    Users(users::Arguments),
    Pages(pages::Arguments),
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

/// Runs a subcommand.
pub(crate) fn run(command: Command) -> CommandResult {
    match command {
        Command::Init(arguments) => init::run(&arguments),
        Command::Decide(arguments) => decide::run(&arguments),
        Command::Plan(arguments) => plan::run(&arguments),
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
        Command::Pages(arguments) => pages::run(&arguments),
        #[cfg(feature = "opcua")]
        Command::Opcua(arguments) => opcua::run(&arguments),
        #[cfg(not(feature = "opcua"))]
        Command::Opcua(_) => absent::run("durward opcua", "opcua"),
        Command::Audit(arguments) => audit::run(&arguments),
        Command::Generate(arguments) => generate::run(&arguments),
    }
}

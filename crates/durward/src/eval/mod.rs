//! `durward eval`: expressions of SAPL, one by one or at a prompt.

#[cfg(feature = "repl")]
mod complete;
mod doc;
#[cfg(feature = "repl")]
mod editor;
mod given;
mod prompt;
mod session;

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use crate::decide::subscription::SubscriptionArguments;
use crate::failure::{BAD_INPUT, CommandError, CommandResult, DIFFERENT, SUCCESS};
use crate::to_stdout;
use session::{EntryPlace, Session};

const EXAMPLES: &str = "\
Examples:
  durward eval '1 + 2 * 3'
  durward eval 'string.toLowerCase(subject.name)' -s '{\"name\":\"Ada\"}'
  durward eval 'subject.wards[?(@ > 3)]' --subject '{\"wards\":[3,4]}'
  durward eval 'limit - 1' --variables '{\"limit\":7}'
  durward eval 'limit - 1' --variables policies/pdp.json
  durward eval 'time.hourOf(<time.now>)'
  durward eval '<hr.department> == \"sales\"' --attributes '{\"hr.department\":\"sales\"}'
  durward eval
  durward eval < expressions.txt

The value is printed as JSON; `undefined` as that word. Functions are called by their full names. An attribute `<...>` gives its
first value: there are `<time...>`, `<x509...>` and those of --attributes; any other is undefined, and a warning names it. Put an
expression that begins with `-` behind `--`.

Without an expression, the command reads entries from the terminal, or lines of standard input. An entry is an expression;
`let NAME = EXPR`, which keeps a value for later entries; a whole policy or policy set, up to an empty line, which is checked and
decided for the subscription that is set; or a command such as `:subject JSON`, `:doc FUNCTION` or `:help`. An entry goes on
while brackets are open. In a terminal, with the cargo feature `repl`, lines can be edited, the tab key completes names, and the
last 1000 entries are kept in $XDG_STATE_HOME/durward/history (~/.local/state/durward/history), but for those that begin with a
blank. docs/sapl-eval.md is a tour.

Exit codes: 0 evaluated, 1 the evaluation failed, 2 bad input; for lines of standard input, the highest of all.";

/// Evaluate an expression of SAPL, or try many at a prompt
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The expression; without it, entries are read from the terminal or from standard input
    #[arg(value_name = "EXPR")]
    expression: Option<String>,
    #[command(flatten)]
    subscription: SubscriptionArguments,
    /// Variables: a JSON object, a file with one, or a `pdp.json`
    #[arg(long, value_name = "FILE|JSON")]
    variables: Option<String>,
    /// Values of attributes, by their names: a JSON object, or a file with one
    #[arg(long, value_name = "FILE|JSON")]
    attributes: Option<String>,
}

/// Why an entry came to nothing.
#[derive(Debug)]
pub(super) struct EntryError {
    failure: CommandError,
    code: u8,
}

impl EntryError {
    /// The entry could be read, and its evaluation failed.
    fn failed(message: String) -> EntryError {
        EntryError { failure: CommandError::new(message), code: DIFFERENT }
    }

    /// Writes it to standard error, and gives the exit code for it.
    fn report(&self) -> u8 {
        self.failure.report();
        self.code
    }
}

impl From<CommandError> for EntryError {
    /// The entry could not be read.
    fn from(failure: CommandError) -> EntryError {
        EntryError { failure, code: BAD_INPUT }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    let session = Session::new(arguments)?;
    let Some(text) = &arguments.expression else { return entries(session) };
    let code = match session.evaluate(text, EntryPlace { source: "expression", line: 1 }) {
        Ok(value) => {
            to_stdout(&(value.to_json() + "\n"))?;
            SUCCESS
        }
        Err(error) => error.report(),
    };
    Ok(ExitCode::from(code))
}

fn entries(session: Session) -> CommandResult {
    if !io::stdin().is_terminal() {
        return prompt::run(session, &mut prompt::Piped::new());
    }
    to_stdout(prompt::GREETING)?;
    #[cfg(feature = "repl")]
    let mut lines = editor::Edited::new()?;
    #[cfg(not(feature = "repl"))]
    let mut lines = prompt::Typed::new();
    prompt::run(session, &mut lines)
}

//! `durward fmt`: SAPL documents laid out for people.
//!
//! A text that does not parse is never touched: its words could mean something else than its author thinks.

mod files;

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use durward_pdp::sapl::syntax::{DOCUMENT_BYTES_MAX, LineIndex, format};

use crate::failure::{BAD_INPUT, CommandError, CommandResult, DIFFERENT, SUCCESS, complain};
use crate::to_stdout;

const EXAMPLES: &str = "\
Examples:
  durward fmt policies/
  durward fmt --check policies/
  durward fmt - < doctors.sapl

Prints the names of the files that were changed, or with --check of those that would be. Comments and the order of
words stay as they are; four blanks a level, lines of at most 100 characters where the words allow it. Files that
cannot be read as SAPL are left as they are.

Exit codes: 0 done (with --check: nothing to change), 1 with --check: something to change, 2 bad input.";

/// Format SAPL documents
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Files, or directories with all *.sapl below them; `-` formats standard input to standard output
    #[arg(value_name = "DIR|FILE|-", required = true)]
    paths: Vec<PathBuf>,
    /// Change nothing; list what would be changed
    #[arg(long)]
    check: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    if arguments.paths.iter().any(|path| path == Path::new("-")) {
        if arguments.paths.len() > 1 {
            return Err(CommandError::new("`-` stands for standard input, and cannot be mixed with files"));
        }
        return standard_input(arguments.check);
    }
    let files = files::documents(&arguments.paths)?;
    let (mut changed, mut failed) = (0, 0);
    for file in &files {
        match one(file, arguments.check) {
            Ok(true) => {
                changed += 1;
                to_stdout(&std::format!("{}\n", file.display()))?;
            }
            Ok(false) => {}
            Err(message) => {
                failed += 1;
                say(&message);
            }
        }
    }
    let unchanged = files.len() - changed - failed;
    let done = if arguments.check { "to change" } else { "changed" };
    to_stdout(&std::format!(
        "{}: {changed} {done}, {unchanged} as they are, {failed} with errors\n",
        count(files.len())
    ))?;
    Ok(ExitCode::from(match (failed, changed, arguments.check) {
        (1.., _, _) => BAD_INPUT,
        (0, 1.., true) => DIFFERENT,
        (0, _, _) => SUCCESS,
    }))
}

fn count(documents: usize) -> String {
    if documents == 1 { "1 document".to_owned() } else { std::format!("{documents} documents") }
}

/// Formats a file; says whether it was, or would be, changed.
fn one(path: &Path, check: bool) -> Result<bool, String> {
    let bytes = files::read(path, DOCUMENT_BYTES_MAX)
        .map_err(|failed| std::format!("{}: {failed}\n", path.display()))?;
    let laid_out = laid_out(&path.display().to_string(), &bytes)?;
    if laid_out.as_bytes() == bytes {
        return Ok(false);
    }
    if !check {
        files::replace(path, laid_out.as_bytes())
            .map_err(|failed| std::format!("{}: cannot be written: {failed}\n", path.display()))?;
    }
    Ok(true)
}

fn standard_input(check: bool) -> CommandResult {
    let mut bytes = Vec::new();
    io::stdin().lock().take(DOCUMENT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    let laid_out = match laid_out("standard input", &bytes) {
        Ok(laid_out) => laid_out,
        Err(message) => {
            say(&message);
            return Ok(ExitCode::from(BAD_INPUT));
        }
    };
    if check {
        let is_same = laid_out.as_bytes() == bytes;
        return Ok(ExitCode::from(if is_same { SUCCESS } else { DIFFERENT }));
    }
    to_stdout(&laid_out)?;
    Ok(ExitCode::SUCCESS)
}

/// The text laid out, or what is wrong with it in lines for a terminal.
fn laid_out(name: &str, bytes: &[u8]) -> Result<String, String> {
    if bytes.len() > DOCUMENT_BYTES_MAX {
        return Err(std::format!("{name}: the text has more than {DOCUMENT_BYTES_MAX} bytes\n"));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes
            .get(..error.valid_up_to())
            .unwrap_or_default()
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
            + 1;
        std::format!("{name}:{line}: the text is not UTF-8\n")
    })?;
    format(text).map_err(|problems| {
        let lines = LineIndex::new(text);
        problems.iter().map(|problem| problem.render(name, text, &lines)).collect()
    })
}

/// Writes what is wrong with a text, which may be several lines, to standard error.
fn say(message: &str) {
    match message.trim_end().contains('\n') {
        // Whoever closed standard error does not want to know.
        true => drop(io::stderr().write_all(message.as_bytes())),
        false => complain(message.trim_end()),
    }
}

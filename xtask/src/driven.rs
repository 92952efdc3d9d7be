//! A program that is driven by lines: each line on its standard input is answered by one line, `ok` and what it has to say, or what is wrong.

use crate::tools;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The program on one processor, where that can be said: the same for all that are compared, and not wandering about.
pub(crate) fn pinned(program: &Path) -> Command {
    match tools::find("taskset") {
        Some(taskset) => {
            let mut command = Command::new(taskset);
            command.args(["-c", "0"]).arg(program);
            command
        }
        None => Command::new(program),
    }
}

/// A program at work; it ends with this value.
#[derive(Debug)]
pub(crate) struct Driven {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    /// What it says on the side.
    errors: PathBuf,
}

impl Driven {
    /// Starts it and waits until it says that it is ready; what it says then.
    ///
    /// # Errors
    /// It does not start, or says what is wrong.
    pub(crate) fn start(
        command: &mut Command,
        title: &str,
        errors: PathBuf,
    ) -> Result<(Driven, String), String> {
        let to_errors =
            File::create(&errors).map_err(|error| format!("cannot write `{}`: {error}", errors.display()))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(to_errors);
        let mut child = command.spawn().map_err(|error| format!("cannot start {title}: {error}"))?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("a process without input or output".to_owned());
        };
        let mut driven = Driven { child, to, from: BufReader::new(from), errors };
        let said = driven.answer()?;
        Ok((driven, said))
    }

    /// What it answers.
    ///
    /// # Errors
    /// It has ended, or says what is wrong.
    pub(crate) fn ask(&mut self, line: &str) -> Result<String, String> {
        writeln!(self.to, "{line}").map_err(|error| format!("the program does not listen: {error}"))?;
        self.answer()
    }

    /// The number that it answers.
    ///
    /// # Errors
    /// As [`Driven::ask`], or it is none.
    pub(crate) fn number(&mut self, line: &str) -> Result<f64, String> {
        let answer = self.ask(line)?;
        answer.trim().parse().map_err(|_| format!("no number in `{answer}`"))
    }

    /// What it has said on the side so far.
    pub(crate) fn said_aside(&self) -> String {
        std::fs::read_to_string(&self.errors).unwrap_or_default()
    }

    fn answer(&mut self) -> Result<String, String> {
        let mut line = String::new();
        self.from.read_line(&mut line).map_err(|error| format!("the program does not answer: {error}"))?;
        match line.trim_end().strip_prefix("ok").and_then(|rest| rest.strip_prefix([' ', '\t'])) {
            Some(answer) => Ok(answer.to_owned()),
            None if line.is_empty() => Err(format!("the program ended: {}", self.said_aside().trim_end())),
            None => Err(line),
        }
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        // It may have ended by itself, which is what was wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

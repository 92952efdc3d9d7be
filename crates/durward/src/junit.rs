//! `--junit`: a report for servers that build and test, beside the one for people.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use durward_scenario::report::{JunitSuite, junit};

use crate::console::colour::Output;
use crate::failure::{CommandError, without_number};
use crate::to_stdout;

/// Where the report goes.
#[derive(Debug, clap::Args)]
pub(crate) struct JunitArguments {
    /// Also write a report in JUnit's form, for servers that build and test; `-` writes it to standard output, and all else
    /// to standard error
    #[arg(long, value_name = "FILE|-")]
    junit: Option<PathBuf>,
}

impl JunitArguments {
    /// Where people are told something.
    pub(crate) fn output(&self) -> Output {
        if self.path() == Some(Path::new("-")) { Output::Errors } else { Output::Standard }
    }

    /// Tells people something: on standard output, unless the report goes there.
    pub(crate) fn tell(&self, text: &str) -> Result<(), CommandError> {
        if self.output() == Output::Standard {
            return to_stdout(text);
        }
        // Whoever closed standard error does not want to know.
        let _ = io::stderr().write_all(text.as_bytes());
        Ok(())
    }

    /// Writes the report of what `name` did in this time, if it is asked for.
    pub(crate) fn write(
        &self,
        name: &str,
        suites: impl FnOnce() -> Vec<JunitSuite>,
        time: Duration,
    ) -> Result<(), CommandError> {
        let Some(path) = self.path() else { return Ok(()) };
        let text = junit(name, &suites(), time);
        if path == Path::new("-") {
            return to_stdout(&text);
        }
        let failed = |error: io::Error| {
            let why = without_number(&error.to_string());
            CommandError::new(format!("cannot write {}: {why}", path.display()))
                .hint("say with `--junit` where to write, or `-`")
        };
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory).map_err(failed)?;
        }
        fs::write(path, text).map_err(failed)
    }

    fn path(&self) -> Option<&Path> {
        self.junit.as_deref()
    }
}

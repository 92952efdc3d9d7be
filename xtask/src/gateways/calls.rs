//! Envoy's calls without an Envoy: the example `envoy_checks` of durward-bench, which asks, and answers as a bare server.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::metadata::Metadata;
use crate::process::{cargo, locked, output_of, run};
use crate::release;

/// How many calls are under way at a time: as many as durward lets one connection have, which is fewer than Envoy allows itself. With fewer,
/// the server waits for calls now and then, and waking costs it processor time.
const STREAMS: &str = "128";

/// Builds the program.
///
/// # Errors
/// It does not build.
pub(super) fn build() -> Result<PathBuf, String> {
    let mut command = cargo(&[
        "build",
        "--profile",
        release::OPTIMISED,
        "--package",
        "durward-bench",
        "--example",
        "envoy_checks",
    ]);
    run(command.args(locked()))?;
    Ok(Metadata::read()?.target_directory.join(release::OPTIMISED).join("examples/envoy_checks"))
}

/// Who asks.
pub(super) struct Caller<'c> {
    pub(super) program: &'c Path,
    pub(super) token: &'c str,
}

/// What came of asking.
#[derive(Debug, PartialEq)]
pub(super) struct Asked {
    checks: f64,
    /// Processor time of the server.
    cpu_s: f64,
    /// The answer, in hexadecimal digits.
    pub(super) answer: String,
}

impl Asked {
    pub(super) fn per_core(&self) -> f64 {
        self.checks / self.cpu_s.max(0.001)
    }

    fn read(text: &str) -> Option<Asked> {
        let value: Value = serde_json::from_str(text).ok()?;
        let number = |name: &str| value.get(name)?.as_f64();
        let answer = value.get("answer")?.as_str()?.to_owned();
        Some(Asked { checks: number("checks")?, cpu_s: number("cpu_s")?, answer })
    }
}

impl Caller<'_> {
    /// Asks for so many seconds; all is permitted, and each answer is the first again.
    ///
    /// # Errors
    /// It is not, or the server gives up.
    pub(super) fn ask(&self, server: SocketAddr, process: u32, seconds: u32) -> Result<Asked, String> {
        let mut command = Command::new(self.program);
        command.args(["ask", &server.to_string(), self.token, STREAMS]);
        let said = output_of(command.args([seconds.to_string(), process.to_string()]))?;
        Asked::read(&said).ok_or_else(|| format!("`envoy_checks` says what is not understood: {said}"))
    }
}

/// The bare server; it ends when this is dropped.
pub(super) struct Bare {
    pub(super) address: SocketAddr,
    child: Child,
}

impl Drop for Bare {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Bare {
    /// Starts it with this answer.
    pub(super) fn start(program: &Path, answer: &str) -> Result<Bare, String> {
        let mut command = Command::new(program);
        command.args(["serve", answer]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("no bare server: {error}"))?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output)
                .read_line(&mut line)
                .map_err(|error| format!("no bare server: {error}"))?;
        }
        // It is ended where nobody can ask it.
        let bare = |address| Bare { address, child };
        match line.trim().parse() {
            Ok(address) => Ok(bare(address)),
            Err(_) => {
                drop(bare(SocketAddr::from(([127, 0, 0, 1], 0))));
                Err(format!("the bare server says `{}`", line.trim()))
            }
        }
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_makes_as_many_as_its_time_allows() {
        let asked = Asked::read(r#"{"checks":300000,"seconds":3.1,"cpu_s":2.5,"answer":"00"}"#).unwrap();
        assert_eq!(asked.per_core(), 120_000.0);
        assert_eq!(Asked::read(r#"{"checks":1}"#), None);
    }
}

//! The other side: an engine in a process of its own, driven by lines (see `xtask/peers/common/Harness.java`).

use super::What;
use super::data::Set;
use crate::metadata::{self, Metadata};
use crate::process::run;
use crate::tools;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// An engine that is built.
#[derive(Debug)]
pub(super) struct Engine {
    /// The folder in `xtask/peers`.
    pub(super) name: &'static str,
    /// Name and version, as in its `pom.xml`.
    pub(super) title: &'static str,
    /// The arguments of the virtual machine.
    pub(super) program: Vec<OsString>,
}

const ENGINES: [(&str, &str); 3] =
    [("balana", "Balana 1.2.24"), ("att", "AT&T 4.0.0"), ("authzforce", "AuthzForce 21.0.1")];

impl Engine {
    /// Builds all engines, or the one named.
    pub(super) fn all(only: Option<&str>) -> Result<Vec<Engine>, String> {
        let chosen: Vec<(&str, &str)> =
            ENGINES.into_iter().filter(|(name, _)| only.is_none_or(|only| only == *name)).collect();
        if chosen.is_empty() {
            return Err(format!("no such engine; there are {}", ENGINES.map(|(name, _)| name).join(", ")));
        }
        chosen.into_iter().map(|(name, title)| Engine::build(name, title)).collect()
    }

    fn build(name: &'static str, title: &'static str) -> Result<Engine, String> {
        let target = Metadata::read()?.target_directory.join("peers");
        let mut maven = Command::new("mvn");
        maven.args(["--quiet", "--batch-mode", "--no-transfer-progress", "compile"]);
        maven.arg(format!("-Dpeers.directory={}", target.display()));
        run(maven.current_dir(metadata::root().join("xtask/peers").join(name)))?;
        let classes = target.join(name).join("classes");
        let libraries = target.join(name).join("classpath");
        let libraries = std::fs::read_to_string(&libraries)
            .map_err(|error| format!("cannot read `{}`: {error}", libraries.display()))?;
        // One thread decides, so the collector that works alone costs least.
        let mut program: Vec<OsString> = ["-XX:+UseSerialGC", "-Xmx1g", "-cp"].map(OsString::from).into();
        program.push(format!("{}:{}", classes.display(), libraries.trim()).into());
        Ok(Engine { name, title, program })
    }

    /// Starts it with a policy and its requests.
    pub(super) fn start(&self, set: &Set) -> Result<Running, String> {
        let mut java = pinned(Path::new("java"));
        java.args(&self.program)
            .arg("Peer")
            .arg(set.folder.join("policy"))
            .arg(set.folder.join("requests.txt"));
        let started = java.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = started.map_err(|error| format!("cannot start {}: {error}", self.title))?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("a process without input or output".to_owned());
        };
        let mut running = Running { child, to, from: BufReader::new(from) };
        running.answer()?;
        Ok(running)
    }
}

/// The program on one processor, where that can be said: the same for both sides, and not wandering about.
pub(super) fn pinned(program: &Path) -> Command {
    match tools::find("taskset") {
        Some(taskset) => {
            let mut command = Command::new(taskset);
            command.args(["-c", "0"]).arg(program);
            command
        }
        None => Command::new(program),
    }
}

/// An engine at work; it ends with this value.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Running {
    /// The decision of every request, in order.
    pub(super) fn decisions(&mut self, set: &Set) -> Result<Vec<String>, String> {
        let path = set.folder.join("decisions.txt");
        self.ask(&format!("decisions {}", path.display()))?;
        let text =
            std::fs::read_to_string(&path).map_err(|error| format!("cannot read its decisions: {error}"))?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// Decisions a second.
    pub(super) fn measure(&mut self, what: What, seconds: f64) -> Result<f64, String> {
        let word = match what {
            What::Parsed => "parsed",
            What::Text => "text",
        };
        let answer = self.ask(&format!("{word} {seconds}"))?;
        let rate = answer.split(' ').next().and_then(|number| number.parse().ok());
        rate.ok_or_else(|| format!("no number in `{answer}`"))
    }

    fn ask(&mut self, line: &str) -> Result<String, String> {
        writeln!(self.to, "{line}").map_err(|error| format!("the engine does not listen: {error}"))?;
        self.answer()
    }

    fn answer(&mut self) -> Result<String, String> {
        let mut line = String::new();
        self.from.read_line(&mut line).map_err(|error| format!("the engine does not answer: {error}"))?;
        match line.trim().strip_prefix("ok ") {
            Some(answer) => Ok(answer.to_owned()),
            None if line.is_empty() => Err("the engine ended; start it by hand to see why".to_owned()),
            None => Err(line),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself, which is what was wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

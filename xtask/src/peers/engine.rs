//! The other side: an engine in a process of its own, driven by lines (see `xtask/peers/common`;
//! for Java, `crates/durward-lab/peers/common`).

use super::What;
use super::data::Set;
use crate::driven::{Driven, pinned};
use crate::metadata::{self, Metadata};
use crate::process::{cargo, locked, run};
use crate::tools::{GO, JAVA, MAVEN};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An engine that is built.
#[derive(Debug)]
pub(super) struct Engine {
    /// Name and version, as tables have it.
    pub(super) title: &'static str,
    /// The folder of a set that has what it reads.
    reads: &'static str,
    /// The program and its first arguments.
    program: Vec<OsString>,
}

/// An engine that can be built.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// How `--only` calls it.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    reads: &'static str,
    /// The name of its folder.
    folder: &'static str,
    tool: BuildTool,
}

#[derive(Clone, Copy, Debug)]
enum BuildTool {
    Cargo,
    Go,
    Maven,
}

/// How a Rust engine is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Profile {
    /// Soon.
    Dev,
    /// To be measured: optimised across crates, as durward is.
    Release,
}

const fn of_cargo(name: &'static str, title: &'static str) -> Plan {
    Plan { name, title, reads: name, folder: name, tool: BuildTool::Cargo }
}

const fn of_maven(name: &'static str, title: &'static str) -> Plan {
    Plan { name, title, reads: "xacml", folder: name, tool: BuildTool::Maven }
}

/// Engines written in Rust, which are built soon enough for every test run.
pub(super) const IN_RUST: [Plan; 2] =
    [of_cargo("cedar", "Cedar 4.14.1"), of_cargo("casbin", "Casbin 2.20.0")];

/// All engines. OPA is there twice: with a rule for each policy, and with policies as data where that can be done.
pub(super) const ALL: [Plan; 7] = [
    IN_RUST[0],
    IN_RUST[1],
    Plan { name: "opa", title: "OPA 1.22.2", reads: "opa", folder: "opa", tool: BuildTool::Go },
    Plan {
        name: "opa-data",
        title: "OPA 1.22.2, policies as data",
        reads: "opa-data",
        folder: "opa",
        tool: BuildTool::Go,
    },
    of_maven("balana", "Balana 1.2.24"),
    of_maven("att", "AT&T 4.0.0"),
    of_maven("authzforce", "AuthzForce 21.0.1"),
];

impl Plan {
    /// Where its source is. Engines in Java are those of `durward lab study luas` too, which takes theirs with it.
    fn source(self) -> PathBuf {
        let folder = match self.tool {
            BuildTool::Cargo | BuildTool::Go => "xtask/peers",
            BuildTool::Maven => "crates/durward-lab/peers",
        };
        metadata::root().join(folder).join(self.folder)
    }

    /// Builds it.
    ///
    /// # Errors
    /// What is missing or went wrong.
    pub(super) fn build(self, profile: Profile) -> Result<Engine, String> {
        let source = self.source();
        let target = Metadata::read()?.target_directory.join("peers");
        let program = match self.tool {
            BuildTool::Cargo => with_cargo(self.folder, &source, &target, profile)?,
            BuildTool::Go => with_go(&source, &target)?,
            BuildTool::Maven => with_maven(self.folder, &source, &target)?,
        };
        Ok(Engine { title: self.title, reads: self.reads, program })
    }
}

/// All Rust engines share a target folder, and so what they are both made of.
fn with_cargo(name: &str, source: &Path, target: &Path, profile: Profile) -> Result<Vec<OsString>, String> {
    let target = target.join("rust");
    let mut command = cargo(&["build", "--manifest-path"]);
    command.arg(source.join("Cargo.toml")).args(locked()).arg("--target-dir").arg(&target);
    let folder = match profile {
        Profile::Dev => "debug",
        Profile::Release => {
            command.arg("--release");
            "release"
        }
    };
    run(&mut command)?;
    Ok(vec![target.join(folder).join(format!("peer-{name}")).into()])
}

fn with_go(source: &Path, target: &Path) -> Result<Vec<OsString>, String> {
    let binary = target.join("opa/peer-opa");
    run(Command::new(GO.get()?).args(["build", "-o"]).arg(&binary).arg(".").current_dir(source))?;
    Ok(vec![binary.into()])
}

fn with_maven(name: &str, source: &Path, target: &Path) -> Result<Vec<OsString>, String> {
    let java = JAVA.get()?;
    let mut maven = Command::new(MAVEN.get()?);
    maven.args(["--quiet", "--batch-mode", "--no-transfer-progress", "compile"]);
    maven.arg(format!("-Dpeers.directory={}", target.display()));
    run(maven.current_dir(source))?;
    let classes = target.join(name).join("classes");
    let libraries = target.join(name).join("classpath");
    let libraries = std::fs::read_to_string(&libraries)
        .map_err(|error| format!("cannot read `{}`: {error}", libraries.display()))?;
    // One thread decides, so the collector that works alone costs least.
    let mut program: Vec<OsString> = vec![java.into()];
    program.extend(["-XX:+UseSerialGC", "-Xmx1g", "-cp"].map(OsString::from));
    program.push(format!("{}:{}", classes.display(), libraries.trim()).into());
    program.push("Peer".into());
    Ok(program)
}

impl Engine {
    /// What of a set is given to it; nothing where there is nothing in its language.
    fn input(&self, set: &Set) -> Option<Vec<PathBuf>> {
        let folder = set.folder.join(self.reads);
        if !folder.is_dir() {
            return None;
        }
        Some(match self.reads {
            "xacml" => vec![folder.join("policy"), folder.join("requests.txt")],
            _ => vec![folder],
        })
    }

    /// Starts it with a set; nothing where there is nothing in its language.
    ///
    /// # Errors
    /// What it says when it cannot read what it is given.
    pub(super) fn start(&self, set: &Set) -> Result<Option<Running>, String> {
        let (Some(input), [program, arguments @ ..]) = (self.input(set), self.program.as_slice()) else {
            return Ok(None);
        };
        let mut command = pinned(Path::new(program));
        command.args(arguments).args(input);
        let (driven, _) = Driven::start(&mut command, self.title, set.folder.join("errors.txt"))?;
        Ok(Some(Running(driven)))
    }
}

/// An engine at work; it ends with this value.
#[derive(Debug)]
pub(super) struct Running(Driven);

impl Running {
    /// The decision of every request, in order.
    pub(super) fn decisions(&mut self, set: &Set) -> Result<Vec<String>, String> {
        let path = set.folder.join("decisions.txt");
        self.0.ask(&format!("decisions {}", path.display()))?;
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
        self.0.number(&format!("{word} {seconds}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_name_the_versions_that_are_built() {
        for plan in ALL {
            let manifest = match plan.tool {
                BuildTool::Cargo => "Cargo.toml",
                BuildTool::Go => "go.mod",
                BuildTool::Maven => "pom.xml",
            };
            let path = plan.source().join(manifest);
            let version = plan.title.split([' ', ',']).nth(1).unwrap();
            assert!(std::fs::read_to_string(&path).unwrap().contains(version), "{} and {path:?}", plan.title);
        }
    }
}

//! `cargo xtask plans`: filters of plans in databases and libraries of others. A row is in the filter as it is decided, in each
//! of them.
//!
//! `plans`, a program of `durward-testkit`, draws policies, compares their plans with decisions, and writes each filter with its
//! rows. Scripts beside it ask PostgreSQL, MariaDB and SQLite, themselves and through the libraries that applications use.

mod install;
mod page;
mod servers;

use crate::built;
use crate::clients::Missing;
use crate::metadata::{self, Metadata};
use crate::process::{self, Show, Stream, cargo, run_seeing};
use crate::report::{Outcome, Report};
use install::{Libraries, node_packages, python};
use servers::Servers;
use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// As many policies and rules as the decision point is tried with every night.
const POLICIES: u64 = 100_000;

/// As many as each test of everything tries.
const POLICIES_SHORT: u64 = 10_000;

/// Where nothing else is said, every run asks the same.
const SEED: u64 = 0x5eed;

const USAGE: &str = "`cargo xtask plans [--policies N] [--seed S]` or `cargo xtask plans page`";

/// `cargo xtask plans [--policies N] [--seed S]`, or `cargo xtask plans page`.
pub(crate) fn run_alone(words: &[&str]) -> Result<ExitCode, String> {
    if words == ["page"] {
        return page::run_alone();
    }
    let (mut policies, mut seed) = (POLICIES, SEED);
    for pair in words.chunks(2) {
        let number = |text: &str| text.parse().map_err(|_| format!("`{text}` is not a number"));
        match pair {
            ["--policies", text] => policies = number(text)?,
            ["--seed", text] => seed = number(text)?,
            other => return Err(format!("{USAGE}, not `{}`", other.join(" "))),
        }
    }
    let mut report = Report::new();
    let program = || Ok(cargo(&["run", "--release", "-p", "durward-testkit", "--bin", "plans", "--"]));
    all(&mut report, program, policies, seed);
    Ok(report.close())
}

/// The same with few policies, as a part of all tests.
pub(crate) fn steps(report: &mut Report) {
    all(report, || Ok(Command::new(built::program("plans")?)), POLICIES_SHORT, SEED);
}

/// What it wants of registries, put where it is found.
pub(crate) fn fetch() {
    let _ = python();
    let _ = node_packages();
}

/// Who is asked: the word of the report, and the script with what it is told.
struct Judge {
    name: &'static str,
    ask: fn(&Stage) -> Result<Command, Missing>,
}

const JUDGES: [Judge; 12] = [
    Judge { name: "SQLite", ask: |stage| stage.database("sqlite") },
    Judge { name: "PostgreSQL, and as policies for rows", ask: |stage| stage.database("postgres") },
    Judge { name: "MariaDB", ask: |stage| stage.database("mariadb") },
    Judge { name: "mingo 7.2.7", ask: Stage::mingo },
    Judge { name: "cerbos-sqlalchemy 0.4.0 on SQLite", ask: |stage| stage.library("cerbos", "sqlite") },
    Judge { name: "cerbos-sqlalchemy 0.4.0 on PostgreSQL", ask: |stage| stage.library("cerbos", "postgres") },
    Judge { name: "cerbos-sqlalchemy 0.4.0 on MariaDB", ask: |stage| stage.library("cerbos", "mariadb") },
    Judge { name: "sapl-sqlalchemy 4.1.0 on SQLite", ask: |stage| stage.library("sapl", "sqlite") },
    Judge { name: "sapl-sqlalchemy 4.1.0 on PostgreSQL", ask: |stage| stage.library("sapl", "postgres") },
    Judge { name: "sapl-sqlalchemy 4.1.0 on MariaDB", ask: |stage| stage.library("sapl", "mariadb") },
    Judge { name: "@ucast/sql on PostgreSQL", ask: |stage| stage.ucast("postgres") },
    Judge { name: "@ucast/sql on MariaDB", ask: |stage| stage.ucast("mariadb") },
];

fn all(report: &mut Report, program: impl Fn() -> Result<Command, String>, policies: u64, seed: u64) {
    let stage = match Stage::new() {
        Ok(stage) => stage,
        Err(why) => return report.step("plans", || Outcome::Failed(why)),
    };
    report.step("plans: policies", || {
        let written = program().and_then(|mut program| {
            program.args(["--policies", &policies.to_string(), "--seed", &seed.to_string(), "--rows"]);
            process::run(program.arg(&stage.rows))
        });
        Outcome::of(written)
    });
    for judge in &JUDGES {
        report.step(&format!("plans: {}", judge.name), || match (judge.ask)(&stage) {
            Ok(command) => judged(command),
            Err(Missing::Tool(why)) => Outcome::Skipped(why),
            Err(Missing::Broken(why)) => Outcome::Failed(why),
        });
    }
}

/// What a script says at last, or that it failed.
fn judged(mut command: Command) -> Outcome {
    let mut said = String::new();
    let status = run_seeing(&mut command, process::limit(), Stream::Output, |line| {
        line.clone_into(&mut said);
        Show::Yes
    });
    match status {
        Ok(status) if status.success() && said.ends_with("no difference") => Outcome::Passed(said),
        Ok(status) => Outcome::Failed(format!("{status}, see above")),
        Err(why) => Outcome::Failed(why),
    }
}

/// Where it happens: the filters, the libraries, the servers. What is not asked for is not there.
struct Stage {
    scripts: PathBuf,
    rows: PathBuf,
    libraries: Libraries,
    servers: OnceCell<Result<Servers, String>>,
}

impl Stage {
    fn new() -> Result<Stage, String> {
        let folder = Metadata::read()?.target_directory.join("plans");
        fs::create_dir_all(&folder).map_err(|error| format!("no folder: {error}"))?;
        Ok(Stage {
            scripts: metadata::root().join("crates/durward-testkit/plans"),
            rows: folder.join("rows.jsonl"),
            libraries: Libraries::default(),
            servers: OnceCell::new(),
        })
    }

    fn servers(&self) -> Result<&Servers, Missing> {
        let started = self.servers.get_or_init(Servers::start);
        started.as_ref().map_err(|why| Missing::Tool(why.clone()))
    }

    /// A script of Python, with the filters that it is to look at.
    fn script(&self, name: &str, rows: &Path) -> Result<Command, Missing> {
        let mut command = Command::new(self.libraries.python()?);
        command.args(["-W", "ignore"]).arg(self.scripts.join(name)).arg(rows);
        Ok(command)
    }

    /// A database, and how it is reached.
    fn reached(&self, command: &mut Command, database: &str) -> Result<(), Missing> {
        command.arg(database);
        match database {
            "postgres" => command.arg(self.servers()?.postgres().map_err(Missing::Tool)?),
            "mariadb" => command.arg(self.servers()?.mariadb().map_err(Missing::Tool)?),
            _ => command,
        };
        Ok(())
    }

    fn database(&self, database: &str) -> Result<Command, Missing> {
        let mut command = self.script("databases.py", &self.rows)?;
        self.reached(&mut command, database)?;
        Ok(command)
    }

    fn library(&self, library: &str, database: &str) -> Result<Command, Missing> {
        let mut command = self.script("adapters.py", &self.rows)?;
        command.arg(library);
        self.reached(&mut command, database)?;
        Ok(command)
    }

    fn documents(&self) -> Result<Command, Missing> {
        let (node, folder) = self.libraries.node()?;
        let mut command = Command::new(node);
        command.arg(folder.join("documents.js")).arg(&self.rows);
        Ok(command)
    }

    fn mingo(&self) -> Result<Command, Missing> {
        let mut command = self.documents()?;
        command.arg("mongo");
        Ok(command)
    }

    /// What `@ucast/sql` makes of conditions, in a database.
    fn ucast(&self, database: &str) -> Result<Command, Missing> {
        let conditions = self.rows.with_file_name("ucast.jsonl");
        process::run(self.documents()?.arg("ucast").arg(&conditions)).map_err(Missing::Broken)?;
        let mut command = self.script("databases.py", &conditions)?;
        self.reached(&mut command, database)?;
        Ok(command)
    }
}

//! `cargo xtask bare`: every package on a machine that has nothing of ours: installed from its file without a network, asked for a first
//! decision, removed, and a look at what is left.
//!
//! `base.rs` gets Debian, Alpine, and a machine without any file; `machine.rs` runs commands on a fresh copy of one; `kinds.rs` says for each
//! kind of package what is typed there; `left.rs` compares.

mod base;
mod kinds;
mod left;
mod machine;

use crate::bare::base::Base;
use crate::bare::kinds::{KINDS, Kind};
use crate::bare::machine::Machine;
use crate::metadata::Metadata;
use crate::process::run;
use crate::report::{Outcome, Report};
use crate::tools;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

const USAGE: &str = "`cargo xtask bare [--binary PATH] [--static PATH] [--only WORD]`";

/// What the static binary is built for.
const STATIC: &str = "x86_64-unknown-linux-musl";

#[derive(Default)]
struct Plan {
    /// For this machine's C library.
    binary: Option<PathBuf>,
    /// For no C library.
    statically: Option<PathBuf>,
    only: String,
}

impl Plan {
    fn of(words: &[&str]) -> Result<Plan, String> {
        let mut plan = Plan::default();
        for pair in words.chunks(2) {
            match pair {
                ["--binary", path] => plan.binary = Some(PathBuf::from(path)),
                ["--static", path] => plan.statically = Some(PathBuf::from(path)),
                ["--only", word] => plan.only = (*word).to_owned(),
                _ => return Err(USAGE.to_owned()),
            }
        }
        Ok(plan)
    }
}

/// `cargo xtask bare [FLAG...]`.
pub(crate) fn run_alone(words: &[&str]) -> Result<ExitCode, String> {
    let plan = Plan::of(words)?;
    let folder = Metadata::read()?.target_directory.join("bare");
    let packages = folder.join("packages");
    machine::empty(&packages)?;
    let mut report = Report::new();
    let gathered = gather(&plan, &packages);
    report.step("packages", || gathered.map_or_else(Outcome::Failed, Outcome::Passed));
    for kind in KINDS.iter().filter(|kind| kind.name.contains(&plan.only)) {
        report.step(kind.name, || tried(kind, &packages, &folder));
    }
    Ok(report.close())
}

/// Puts all packages into one folder. Those of languages are made by `cargo xtask package`; what is not there is said by the kinds that
/// need it.
fn gather(plan: &Plan, packages: &Path) -> Result<String, String> {
    let ours = Metadata::read()?.target_directory.join("packages");
    dist(plan.binary.as_deref(), None, &packages.join("gnu"))?;
    if let Some(binary) = &plan.statically {
        dist(Some(binary), Some(STATIC), &packages.join("musl"))?;
        kinds::lay_out_alone(packages)?;
    }
    for (from, to) in [("node", "node"), ("python/wheels", "python"), ("java/build", "java"), ("c", "c")] {
        let (from, to) = (ours.join(from), packages.join(to));
        if from.is_dir() {
            copy_packages(&from, &to, to.ends_with("c"))?;
        }
    }
    kinds::compile_for_java(packages)?;
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(packages).map_err(|error| error.to_string())?.flatten() {
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names.join(", "))
}

/// Calls the command of the same name, as a release does.
fn dist(binary: Option<&Path>, target: Option<&str>, out: &Path) -> Result<(), String> {
    let own = std::env::current_exe().map_err(|error| format!("no path of this program: {error}"))?;
    let mut command = Command::new(own);
    command.arg("dist").arg("--out").arg(out);
    if let Some(binary) = binary {
        command.arg("--binary").arg(binary);
    }
    if let Some(target) = target {
        command.args(["--target", target]);
    }
    run(&mut command)
}

/// Files that somebody would hand over; `whole` for a folder that is the package.
fn copy_packages(from: &Path, to: &Path, whole: bool) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("cannot copy `{}`: {error}", from.display());
    if whole {
        return run(Command::new("cp").arg("-a").arg(from).arg(to));
    }
    fs::create_dir_all(to).map_err(cannot)?;
    for entry in fs::read_dir(from).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        let is_package =
            path.extension().is_some_and(|end| ["tgz", "whl", "jar"].iter().any(|it| end == *it));
        if let (true, Some(name)) = (is_package, path.file_name()) {
            fs::copy(&path, to.join(name)).map_err(cannot)?;
        }
    }
    Ok(())
}

/// Installs, asks and removes.
fn tried(kind: &Kind, packages: &Path, folder: &Path) -> Outcome {
    let artefacts = packages.join(kind.packages);
    if !artefacts.is_dir() {
        return Outcome::Skipped(format!("no package: {}", kind.made_by));
    }
    match Base::get(kind.on) {
        Ok(base) => try_on(kind, &base, &artefacts, folder).map_or_else(Outcome::Failed, Outcome::Passed),
        Err(missing) => Outcome::Skipped(missing),
    }
}

fn try_on(kind: &Kind, base: &Base, artefacts: &Path, folder: &Path) -> Result<String, String> {
    let java = if kind.needs_java { Some(tools::java_home()?) } else { None };
    let machine = Machine::fresh(base, artefacts, java.as_deref(), &folder.join("machine"))?;
    let mut times = Vec::new();
    for (what, script) in [("installed", kind.install), ("decided", kind.decide), ("removed", kind.remove)] {
        let begun = Instant::now();
        let said = machine.run(script).map_err(|why| format!("not {what}: {why}"))?;
        times.push(format!("{what} in {:.2} s", begun.elapsed().as_secs_f64()));
        for wanted in if what == "decided" { kind.says } else { &[] } {
            if !said.contains(wanted) {
                return Err(format!("it does not say `{wanted}`: {said}"));
            }
        }
    }
    let left = left::of(&machine.changes(), base.layers())?;
    let (known, unknown): (Vec<String>, Vec<String>) =
        left.into_iter().partition(|path| kind.stays.iter().any(|(start, _)| path.starts_with(start)));
    if !unknown.is_empty() {
        return Err(format!("left behind: {}", unknown.join(", ")));
    }
    let reasons = kind.stays.iter().filter(|(start, _)| known.iter().any(|path| path.starts_with(start)));
    let mut reasons: Vec<&str> = reasons.map(|(_, why)| *why).collect();
    reasons.dedup();
    let stays = if reasons.is_empty() {
        "nothing is left".to_owned()
    } else {
        format!("stays: {}", reasons.join(", "))
    };
    Ok(format!("{}, {stays}; {}", times.join(", "), base.what()))
}

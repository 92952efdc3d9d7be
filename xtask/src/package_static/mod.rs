//! `cargo xtask package static`: binaries that need nothing of the machine, each run, asked and packaged; and with `--reproducible` built twice and
//! compared. `cargo xtask package minimal`: the same of the smallest build, which also serves the policies of CONTINUE within little memory.
//!
//! `cross.rs` builds, `plan.rs` reads the command, `program.rs` starts what was built, in an emulator where it is for another processor, `asked.rs`
//! asks it, `http.rs` carries questions, `small.rs` measures the minimal build, `twice.rs` compares. Nothing is published.

mod asked;
mod cross;
mod http;
mod plan;
mod program;
mod small;
mod twice;

use crate::clients::Missing;
use crate::dist;
use crate::metadata::Metadata;
use crate::package_static::cross::{Build, Compiler};
use crate::package_static::plan::StaticPlan;
use crate::package_static::program::Program;
use crate::report::{Outcome, Report};
use std::path::Path;
use std::process::ExitCode;

/// Which binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// With every feature, as it ships.
    Full,
    /// XACML over HTTP alone.
    Minimal,
}

/// `cargo xtask package static [FLAG...]`, or `cargo xtask package minimal [FLAG...]`.
pub(crate) fn run_alone(kind: Kind, words: &[&str]) -> Result<ExitCode, String> {
    let plan = StaticPlan::of(kind, words)?;
    let mut report = Report::new();
    let mut compiler = None;
    report.step("compiler for static binaries", || match Compiler::find() {
        Ok(found) => {
            let version = found.version();
            compiler = Some(found);
            version.map_or_else(Outcome::Failed, Outcome::Passed)
        }
        Err(Missing::Tool(missing)) => Outcome::Skipped(missing),
        Err(Missing::Broken(why)) => Outcome::Failed(why),
    });
    if let Some(compiler) = compiler {
        for target in &plan.targets {
            of_target(&plan, &compiler, target, &mut report)?;
        }
    }
    Ok(report.close())
}

fn of_target(
    plan: &StaticPlan,
    compiler: &Compiler,
    target: &str,
    report: &mut Report,
) -> Result<(), String> {
    let folder = Metadata::read()?.target_directory.join("static");
    let build = Build::of_tree(plan, target, &folder);
    let built = format!("{target}: built");
    let mut size = 0;
    report.step(&built, || {
        let made = build.run(compiler).and_then(|binary| cross::size(&binary));
        made.map_or_else(Outcome::Failed, |bytes| {
            size = bytes;
            Outcome::Passed(cross::mebibytes(bytes))
        })
    });
    if !report.has_passed(&built) {
        return Ok(());
    }
    let binary = build.binary();
    let room = folder.join("asked").join(target);
    report.step(&format!("{target}: static"), || Outcome::of(dist::is_static(&binary, target)));
    report.step(&format!("{target}: asked"), || asked(plan.kind, &binary, target, &room));
    match plan.kind {
        Kind::Full => {
            packages(plan, &binary, target, &room, report)?;
        }
        Kind::Minimal => {
            report.step(&format!("{target}: small"), || small::check(plan, &binary, target, size))
        }
    }
    if plan.is_built_twice {
        report.step(&format!("{target}: built twice"), || {
            twice::check(plan, compiler, target, &folder).map_or_else(Outcome::Failed, Outcome::Passed)
        });
    }
    Ok(())
}

fn asked(kind: Kind, binary: &Path, target: &str, room: &Path) -> Outcome {
    match Program::of(binary, target) {
        Ok(program) => asked::check(kind, &program, room).map_or_else(Outcome::Failed, Outcome::Passed),
        Err(missing) => Outcome::Skipped(missing),
    }
}

/// As `cargo xtask dist --binary` does. Its pages are written by the binary itself, by way of a script where it runs in an emulator.
fn packages(
    plan: &StaticPlan,
    binary: &Path,
    target: &str,
    room: &Path,
    report: &mut Report,
) -> Result<(), String> {
    let generator = match Program::of(binary, target) {
        Ok(program) => program.script(room)?,
        Err(_) => return Ok(()),
    };
    let mut words = vec!["--target".to_owned(), target.to_owned()];
    words.extend(["--generator".to_owned(), generator.display().to_string()]);
    if let Some(out) = &plan.out {
        words.extend(["--out".to_owned(), out.join(target).display().to_string()]);
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    dist::package(&words, binary, report)
}

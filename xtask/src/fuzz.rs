//! Fuzzing on the stable compiler: libFuzzer, fed with coverage by codegen flags that need no nightly.
//!
//! cargo-fuzz is not used: all it does is to pass the flags below. AddressSanitizer, for what calls the C library, is asked for by a flag that the
//! stable compiler takes only when told that it may (`RUSTC_BOOTSTRAP`); its runtime comes with that compiler.

use crate::metadata::{self, Metadata};
use crate::pool::{self, Turn};
use crate::process::{self, Show, Stream, cargo, run};
use crate::report::{Outcome, Report};
use crate::tools::CPP_COMPILER;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// What rustc is told: count every edge and compare, keep debug assertions.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Cdebug-assertions";

/// Whether memory is watched, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sanitizer {
    None,
    /// AddressSanitizer, with its search for what is never freed.
    Address,
}

impl Sanitizer {
    fn flag(self) -> &'static str {
        match self {
            Sanitizer::None => "",
            Sanitizer::Address => " -Zsanitizer=address",
        }
    }

    /// Below the target directory.
    fn folder(self) -> &'static str {
        match self {
            Sanitizer::None => "fuzz",
            Sanitizer::Address => "fuzz-asan",
        }
    }

    /// What the program may take: what was freed is kept from use for a while.
    fn memory(self) -> &'static str {
        match self {
            Sanitizer::None => "-rss_limit_mb=1024",
            Sanitizer::Address => "-rss_limit_mb=4096",
        }
    }
}

/// The variable by which the program knows which target to run.
const TARGET: &str = "FUZZ_TARGET";

/// How long each target runs when nothing is said.
const SECONDS: u64 = 60;

/// `cargo xtask fuzz [TARGET] [--seconds N] [--asan]`.
pub(crate) fn run_alone(words: &[&str]) -> Result<ExitCode, String> {
    let sanitizer = if words.contains(&"--asan") { Sanitizer::Address } else { Sanitizer::None };
    let words: Vec<&str> = words.iter().copied().filter(|word| *word != "--asan").collect();
    let (chosen, seconds) = match words.as_slice() {
        [] => (None, SECONDS),
        ["--seconds", number] => (None, seconds(number)?),
        [target] => (Some(*target), SECONDS),
        [target, "--seconds", number] => (Some(*target), seconds(number)?),
        other => {
            let other = other.join(" ");
            return Err(format!("`cargo xtask fuzz [TARGET] [--seconds N] [--asan]`, not `{other}`"));
        }
    };
    let all = targets()?;
    let wanted = match chosen {
        None => all,
        Some(name) if all.iter().any(|target| target == name) => vec![name.to_owned()],
        Some(name) => return Err(format!("no fuzz target `{name}`; there are: {}", all.join(", "))),
    };
    let mut report = Report::new();
    report.step(BUILD, || built("release", sanitizer));
    if report.has_passed(BUILD) {
        all_of(&mut report, &wanted, &program("release", sanitizer)?, seconds, sanitizer);
    }
    Ok(report.close())
}

/// What `cargo xtask test` runs: built soon rather than fast, see `fuzz/Cargo.toml`.
const SHORT: &str = "short";

/// The step that builds what [`runs`] runs.
pub(crate) const BUILD: &str = "fuzz: build";

/// Builds the program of a short run.
pub(crate) fn build_short() -> Outcome {
    built(SHORT, Sanitizer::None)
}

/// Adds a short run of every target to a report in which [`BUILD`] stands.
pub(crate) fn runs(report: &mut Report, seconds: u64) {
    // What was built in another run is not what is tested.
    if !report.has_passed(BUILD) {
        return;
    }
    match targets().and_then(|targets| Ok((targets, program(SHORT, Sanitizer::None)?))) {
        Ok((targets, program)) => all_of(report, &targets, &program, seconds, Sanitizer::None),
        Err(message) => report.step("fuzz", || Outcome::Failed(message)),
    }
}

fn seconds(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number of seconds"))
}

/// The targets are the modules of `fuzz/src`.
fn targets() -> Result<Vec<String>, String> {
    let folder = metadata::root().join("fuzz/src");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("cannot read `fuzz/src`: {error}"))?;
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let mut names: Vec<String> =
        paths.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
    names.retain(|name| name != "main");
    names.sort();
    Ok(names)
}

/// Runs the targets, as many at a time as there are cores.
fn all_of(report: &mut Report, targets: &[String], program: &Path, seconds: u64, sanitizer: Sanitizer) {
    println!("\n== fuzz");
    let one = |target: &String| fuzz(program, target, seconds, sanitizer);
    let ended = pool::run(targets, pool::cores(), |_| Turn::Any, one);
    for (target, (outcome, took)) in targets.iter().zip(ended) {
        report.add(&format!("fuzz: {target}"), outcome, took);
    }
}

fn built(profile: &str, sanitizer: Sanitizer) -> Outcome {
    if let Err(missing) = CPP_COMPILER.get() {
        return Outcome::Skipped(missing);
    }
    Outcome::of(build(profile, sanitizer))
}

/// Builds the program of all targets.
fn build(profile: &str, sanitizer: Sanitizer) -> Result<(), String> {
    let host = host()?;
    let mut command =
        cargo(&["build", "--profile", profile, "--manifest-path", "fuzz/Cargo.toml", "--target", &host]);
    // With a target named, build scripts are not instrumented: they would not link.
    command.arg("--target-dir").arg(folder(sanitizer)?);
    if sanitizer != Sanitizer::None {
        command.env("RUSTC_BOOTSTRAP", "1");
    }
    run(command.env("RUSTFLAGS", format!("{FLAGS}{}", sanitizer.flag())))
}

/// Where that program is.
fn program(profile: &str, sanitizer: Sanitizer) -> Result<PathBuf, String> {
    Ok(folder(sanitizer)?.join(host()?).join(profile).join("durward-fuzz"))
}

fn folder(sanitizer: Sanitizer) -> Result<PathBuf, String> {
    Ok(Metadata::read()?.target_directory.join(sanitizer.folder()))
}

fn host() -> Result<String, String> {
    let text = process::output_of(Command::new("rustc").arg("-vV"))?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "`rustc -vV` names no host".to_owned())
}

/// Runs one target: what it found before (`fuzz/corpus`) and the committed seeds first.
fn fuzz(program: &Path, target: &str, seconds: u64, sanitizer: Sanitizer) -> Outcome {
    let fuzz = metadata::root().join("fuzz");
    let corpus = fuzz.join("corpus").join(target);
    let artifacts = fuzz.join("artifacts").join(target);
    for folder in [&corpus, &artifacts] {
        if let Err(error) = std::fs::create_dir_all(folder) {
            return Outcome::Failed(format!("cannot make `{}`: {error}", folder.display()));
        }
    }
    let mut command = Command::new(program);
    command.env(TARGET, target).arg(&corpus).arg(fuzz.join("seeds").join(target));
    command.arg(format!("-max_total_time={seconds}")).args(LIMITS).arg(sanitizer.memory());
    let dictionary = fuzz.join("dictionaries").join(dictionary(target));
    if dictionary.exists() {
        command.arg(format!("-dict={}", dictionary.display()));
    }
    command.arg(format!("-artifact_prefix={}/", artifacts.display()));
    let mut session = Session::default();
    match process::run_seeing(&mut command, process::limit(), Stream::Errors, |line| {
        if session.see(line) == Show::Yes {
            println!("{target}: {line}");
        }
        Show::No
    }) {
        Ok(status) if status.success() => session.outcome(),
        Ok(_) => Outcome::Failed(format!(
            "run `{}` on the file in fuzz/artifacts/{target} with {TARGET}={target} to see it again",
            program.display()
        )),
        Err(message) => Outcome::Failed(message),
    }
}

/// What libFuzzer said so far.
#[derive(Debug, Default, PartialEq, Eq)]
struct Session {
    /// Edges reached after the seeds, and in the end.
    edges: Option<(u64, u64)>,
    runs: u64,
}

impl Session {
    /// Lines such as `#12 NEW cov: 34 ft: 56 corp: ...` are read; only the first and the last of them are shown.
    fn see(&mut self, line: &str) -> Show {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [number, event, "cov:", edges, ..] = words.as_slice() else {
            // It ends by suggesting words it knows already.
            let dictionary = line.starts_with('"') || line.starts_with("###### ");
            return if dictionary { Show::No } else { Show::Yes };
        };
        let edges = edges.parse().unwrap_or(0);
        self.edges = Some((self.edges.map_or(edges, |(first, _)| first), edges));
        self.runs = number.trim_start_matches('#').parse().unwrap_or(self.runs);
        if matches!(*event, "INITED" | "DONE" | "pulse") { Show::Yes } else { Show::No }
    }

    /// Without coverage it only throws dice: that is a broken build, not a passed test.
    fn outcome(&self) -> Outcome {
        match self.edges {
            Some((first, last)) if last > 0 => {
                Outcome::Passed(format!("{} inputs, edges {first} -> {last}", self.runs))
            }
            _ => Outcome::Failed("no coverage feedback: look at the flags in xtask/src/fuzz.rs".to_owned()),
        }
    }
}

/// Ten seconds and a GiB for one input are far beyond what any input within the limits may need.
const LIMITS: [&str; 3] = ["-timeout=10", "-max_len=65536", "-print_funcs=0"];

/// `xacml_policy` is helped by `xacml.dict`.
fn dictionary(target: &str) -> String {
    format!("{}.dict", target.split('_').next().unwrap_or(target))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_knows_how_far_it_came() {
        let mut session = Session::default();
        assert_eq!(session.see("#4\tINITED cov: 100 ft: 5 corp: 1/1b exec/s: 0 rss: 30Mb"), Show::Yes);
        assert_eq!(session.see("#9\tNEW    cov: 120 ft: 5 corp: 1/1b lim: 4 exec/s: 0 rss: 30Mb"), Show::No);
        assert_eq!(session.see("==1== ERROR: libFuzzer: deadly signal"), Show::Yes);
        assert_eq!(session, Session { edges: Some((100, 120)), runs: 9 });
    }

    #[test]
    fn a_session_without_coverage_has_failed() {
        assert!(matches!(Session::default().outcome(), Outcome::Failed(_)));
    }
}

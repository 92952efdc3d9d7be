//! `cargo xtask instructions`: how many instructions a decision takes, for fixed cases, beside the numbers that are kept.
//!
//! Instructions are counted, not time measured, so the machine does not matter; compiler, standard library and target do,
//! and the numbers are compared only where those are the ones that they were kept with. Counted is what happens within one
//! function of an example of durward-pdp, N rounds and 2 N rounds: the difference is what N rounds take.

use crate::metadata::{self, Metadata};
use crate::pool::{self, Turn};
use crate::process::{self, cargo, locked, run};
use crate::report::{Outcome, Report};
use crate::tools::VALGRIND;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The cases: policies, and `decide` (a question that was read), `changed` (the same, where some policies were changed one by
/// one), or `text` (text to text); of XACML's form of a scenario `requests` (that were read), `together` (all in one call), or `xml`
/// and `json` (text to text).
const CASES: [(&str, u64); 15] = [
    ("baseline decide", 200),
    ("rbac decide", 20),
    ("hospital-5 decide", 1),
    ("hospital-100 decide", 1),
    ("hospital-100 changed", 1),
    ("github-10 decide", 1),
    ("gdrive-10 decide", 1),
    ("tinytodo-10 decide", 1),
    ("hospital-5 text", 1),
    ("conference decide", 10),
    ("conference text", 50),
    ("scatter-100 requests", 1),
    ("scatter-100 together", 1),
    ("scatter-100 xml", 1),
    ("scatter-100 json", 1),
];

/// How much more than what is kept is too much, in percent.
const RISE_PERCENT_MAX: f64 = 5.0;

/// Where the numbers are kept.
const KEPT: &str = "xtask/instructions.tsv";

/// The function of the example within which everything is counted.
const COUNTED: &str = "instructions::rounds*";

/// Which copy of `memcpy` the C library chooses depends on the processor, unless it is told.
const TUNABLES: &str = "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX2,-AVX,-ERMS,-FSRM,-AVX_Fast_Unaligned_Load";

/// `cargo xtask instructions [--bless]`.
pub(crate) fn run_alone(words: &[&str]) -> Result<ExitCode, String> {
    let bless = match words {
        [] => false,
        ["--bless"] => true,
        other => return Err(format!("`cargo xtask instructions [--bless]`, not `{}`", other.join(" "))),
    };
    let mut report = Report::new();
    report.step("instruction counts", || if bless { outcome(keep()) } else { check() });
    Ok(report.close())
}

/// Counts, and compares with what is kept.
pub(crate) fn check() -> Outcome {
    outcome(compare())
}

fn outcome(result: Result<Outcome, String>) -> Outcome {
    result.unwrap_or_else(Outcome::Failed)
}

/// What numbers depend on: the first lines of what `rustc` says of itself.
fn toolchain() -> Result<String, String> {
    let text = process::output_of(Command::new("rustc").current_dir(metadata::root()).arg("-vV"))?;
    let line = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap_or_default().to_owned();
    Ok(format!("{}, {}", line("rustc "), line("host: ")))
}

/// The numbers that are kept.
struct Kept {
    toolchain: String,
    /// Instructions a decision, by case.
    counts: BTreeMap<String, f64>,
}

impl Kept {
    fn read() -> Result<Kept, String> {
        let path = metadata::root().join(KEPT);
        let text =
            std::fs::read_to_string(&path).map_err(|error| format!("cannot read `{KEPT}`: {error}"))?;
        Kept::parse(&text)
    }

    fn parse(text: &str) -> Result<Kept, String> {
        let mut kept = Kept { toolchain: String::new(), counts: BTreeMap::new() };
        for line in text.lines().filter(|line| !line.is_empty()) {
            match (line.strip_prefix("# toolchain: "), line.split_once('\t')) {
                (Some(toolchain), _) => toolchain.clone_into(&mut kept.toolchain),
                (None, _) if line.starts_with('#') => {}
                (None, Some((case, count))) => {
                    let count = count.parse().map_err(|_| format!("`{KEPT}`: no number in `{line}`"))?;
                    kept.counts.insert(case.to_owned(), count);
                }
                (None, None) => return Err(format!("`{KEPT}`: not a case and a number: `{line}`")),
            }
        }
        Ok(kept)
    }
}

fn compare() -> Result<Outcome, String> {
    let (kept, toolchain) = (Kept::read()?, toolchain()?);
    if kept.toolchain != toolchain {
        let note = format!("not compared: kept for {}, and this is {toolchain}", kept.toolchain);
        return Ok(Outcome::Passed(note));
    }
    let valgrind = match VALGRIND.get() {
        Ok(path) => path,
        Err(missing) => return Ok(Outcome::Skipped(missing)),
    };
    let counts = count(&valgrind)?;
    let (table, risen) = table(&kept.counts, &counts);
    println!("{table}");
    Ok(match risen.as_slice() {
        [] => Outcome::Passed(format!("{} cases", counts.len())),
        risen => Outcome::Failed(format!(
            "more than {RISE_PERCENT_MAX} % more instructions, or nothing kept: {}; if that is meant, \
             `cargo xtask instructions --bless`",
            risen.join(", ")
        )),
    })
}

/// Keeps what is counted now.
fn keep() -> Result<Outcome, String> {
    let counts = count(&VALGRIND.get()?)?;
    let before = Kept::read().map(|kept| kept.counts).unwrap_or_default();
    println!("{}", table(&before, &counts).0);
    let mut text = format!(
        "# Instructions a decision; `cargo xtask instructions` compares, `--bless` keeps others.\n# toolchain: {}\n",
        toolchain()?
    );
    for (case, count) in &counts {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{case}\t{count:.1}");
    }
    std::fs::write(metadata::root().join(KEPT), text)
        .map_err(|error| format!("cannot write `{KEPT}`: {error}"))?;
    Ok(Outcome::Passed(format!("kept in {KEPT}")))
}

/// The numbers beside each other, and the cases whose number has risen or is new.
fn table(kept: &BTreeMap<String, f64>, counts: &[(String, f64)]) -> (String, Vec<String>) {
    let mut text = format!("{:24} {:>12} {:>12} {:>9}", "instructions a decision", "kept", "now", "change");
    let mut risen = Vec::new();
    for (case, count) in counts {
        let Some(before) = kept.get(case) else {
            let _ = write!(text, "\n{case:24} {:>12} {count:>12.1} {:>9}", "-", "new");
            risen.push(case.clone());
            continue;
        };
        let percent = (count / before - 1.0) * 100.0;
        let _ = write!(text, "\n{case:24} {before:>12.1} {count:>12.1} {percent:>+8.1} %");
        if percent > RISE_PERCENT_MAX {
            risen.push(case.clone());
        }
    }
    (text, risen)
}

/// Builds the example, and counts every case.
fn count(valgrind: &Path) -> Result<Vec<(String, f64)>, String> {
    let mut build =
        cargo(&["build", "--profile", "counted", "-p", "durward-pdp", "--example", "instructions"]);
    run(build.args(locked()).env("RUSTFLAGS", ""))?;
    let target = Metadata::read()?.target_directory;
    let program = target.join("counted/examples/instructions");
    let counter = Counter { valgrind, program, folder: target.join("counted") };
    // A count does not depend on what runs beside it.
    let ended = pool::run(
        &CASES,
        pool::cores(),
        |_| Turn::Any,
        |(case, rounds)| {
            let (once, questions) = counter.count(case, *rounds)?;
            let (twice, _) = counter.count(case, 2 * rounds)?;
            let decisions = (questions * rounds).max(1);
            Ok(((*case).to_owned(), twice.saturating_sub(once) as f64 / decisions as f64))
        },
    );
    ended.into_iter().map(|(count, _)| count).collect()
}

struct Counter<'v> {
    valgrind: &'v Path,
    program: PathBuf,
    /// Where what is counted is written, one file a case.
    folder: PathBuf,
}

impl Counter<'_> {
    /// The instructions that so many rounds take, and how many questions one of them is.
    fn count(&self, case: &str, rounds: u64) -> Result<(u64, u64), String> {
        let output = self.folder.join(format!("callgrind-{}.out", case.replace(' ', "-")));
        let mut command = Command::new(self.valgrind);
        command.args(["--tool=callgrind", "--collect-atstart=no"]).arg(format!("--toggle-collect={COUNTED}"));
        command.arg(format!("--callgrind-out-file={}", output.display()));
        command.arg(&self.program).args([case, &rounds.to_string()]).env("GLIBC_TUNABLES", TUNABLES);
        let said = process::output_of(&mut command)
            .map_err(|error| format!("valgrind cannot run here, so nothing was counted: {error}"))?;
        let questions =
            said.trim().parse().map_err(|_| format!("no number of questions: `{}`", said.trim()))?;
        let text = std::fs::read_to_string(&output)
            .map_err(|error| format!("cannot read `{}`: {error}", output.display()))?;
        Ok((total(&text)?, questions))
    }
}

/// The sum that callgrind writes.
fn total(text: &str) -> Result<u64, String> {
    let total =
        text.lines().find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")));
    let total = total.and_then(|number| number.trim().parse().ok()).filter(|total| *total > 0);
    total.ok_or_else(|| format!("callgrind counted nothing within `{COUNTED}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(rows: &[(&str, f64)]) -> Vec<(String, f64)> {
        rows.iter().map(|(case, count)| ((*case).to_owned(), *count)).collect()
    }

    #[test]
    fn only_a_rise_of_more_than_a_twentieth_fails() {
        let kept = counts(&[("a", 100.0), ("b", 100.0), ("c", 100.0)]).into_iter().collect();
        let (text, risen) = table(&kept, &counts(&[("a", 104.9), ("b", 105.1), ("c", 50.0), ("d", 1.0)]));
        assert_eq!(risen, ["b", "d"]);
        assert!(text.contains("+5.1 %") && text.contains("-50.0 %"), "{text}");
    }

    #[test]
    fn kept_numbers_are_read() {
        let kept = Kept::parse("# a comment\n# toolchain: rustc 1, host: h\nrbac decide\t12.5\n")
            .unwrap_or_else(|error| unreachable!("{error}"));
        assert_eq!(
            (kept.toolchain.as_str(), kept.counts.get("rbac decide")),
            ("rustc 1, host: h", Some(&12.5))
        );
        assert!(Kept::parse("rbac decide 12").is_err());
    }

    #[test]
    fn a_count_of_nothing_is_an_error() {
        assert_eq!(total("events: Ir\nsummary: 120\n"), Ok(120));
        assert!(total("events: Ir\nsummary: 0\n").is_err());
    }
}

//! `durward lab compare`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use durward_lab::record::RunRecord;
use durward_lab::report::{
    self, CompareOptions, Comparison, Options, compare, comparison_document, text_table,
};

use super::report::{failure, read};
use crate::failure::{CommandError, CommandResult, DIFFERENT};
use crate::to_stdout;

const EXAMPLES: &str = "\
Examples:
  durward lab compare before.json after.json
  durward lab compare before.json after.json --fail-if-slower 5% --out comparison/

Every load that both records have: rate, percentiles, errors and processor time a request, by step and together, each with an interval
that holds the change 19 times out of 20: from replicates where there are any, else from a bootstrap of the histograms or the
seconds. Exit code 1 with --fail-if-slower where the rate, p50, p90 or p99 of all steps together is worse by more than that, and
surely worse, or where nothing could be compared.";

/// Compare records, with intervals and a verdict
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// What the others are compared with
    #[arg(value_name = "BEFORE.json")]
    before: PathBuf,
    /// One or several later records
    #[arg(value_name = "AFTER.json", required = true)]
    after: Vec<PathBuf>,
    /// Exit with 1 where something is surely slower, by more than this: `5%` or `0.05`
    #[arg(long, value_name = "SHARE", value_parser = share)]
    fail_if_slower: Option<f64>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Also write a page with overlaid curves, its pictures, and a PDF with the cargo feature `pictures`
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// What the bootstrap's random choices follow from
    #[arg(long, value_name = "NUMBER", default_value_t = 42)]
    seed: u64,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let before = read(&arguments.before)?;
    let after = arguments.after.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let options = CompareOptions { fail_if_slower: arguments.fail_if_slower, seed: arguments.seed };
    let comparisons: Vec<Comparison> = after.iter().map(|after| compare(&before, after, &options)).collect();
    if arguments.json {
        let text = serde_json::to_string_pretty(&comparisons)
            .map_err(|error| CommandError::new(format!("cannot write JSON: {error}")))?;
        to_stdout(&(text + "\n"))?;
    } else {
        for (comparison, path) in comparisons.iter().zip(&arguments.after) {
            let title = format!("{} against {}", path.display(), arguments.before.display());
            to_stdout(&format!("{title}\n{}\n", text_table(comparison)))?;
        }
    }
    if let Some(out) = &arguments.out {
        write_page(out, arguments, &before, &after, &comparisons)?;
    }
    let is_failed = comparisons.iter().any(|comparison| comparison.is_failed);
    Ok(if is_failed { ExitCode::from(DIFFERENT) } else { ExitCode::SUCCESS })
}

fn write_page(
    out: &Path,
    arguments: &Arguments,
    before: &RunRecord,
    after: &[RunRecord],
    comparisons: &[Comparison],
) -> Result<(), CommandError> {
    let paths: Vec<&Path> =
        std::iter::once(&arguments.before).chain(&arguments.after).map(PathBuf::as_path).collect();
    let records: Vec<(String, &RunRecord)> =
        names(&paths).into_iter().zip(std::iter::once(before).chain(after)).collect();
    let document = comparison_document(&records, comparisons);
    let options = Options { has_pdf: cfg!(feature = "pictures") };
    report::write_document(&document, out, &options).map(drop).map_err(|error| failure(&error))
}

/// Records are called by their files; where those have the same name, as every run gives its record, by their whole paths.
fn names(paths: &[&Path]) -> Vec<String> {
    let stem = |path: &&Path| {
        path.file_stem()
            .map_or_else(|| path.display().to_string(), |stem| stem.to_string_lossy().into_owned())
    };
    let stems: Vec<String> = paths.iter().map(stem).collect();
    let is_alone = |name: &String| stems.iter().filter(|other| *other == name).count() == 1;
    if stems.iter().all(is_alone) {
        return stems;
    }
    paths.iter().map(|path| path.with_extension("").display().to_string()).collect()
}

/// A share of `5%` or `0.05`.
fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let share = number.trim().parse::<f64>().map_err(|_| "a share such as `5%` or `0.05`".to_owned())? / unit;
    if (0.0..=10.0).contains(&share) { Ok(share) } else { Err("between 0% and 1000%".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::{names, share};
    use std::path::Path;

    #[test]
    fn records_of_one_name_are_called_by_their_directories() {
        let named = |paths: &[&str]| names(&paths.iter().map(Path::new).collect::<Vec<_>>());
        assert_eq!(named(&["a/before.json", "b/after.json"]), ["before", "after"]);
        assert_eq!(named(&["a/record.json", "b/record.json"]), ["a/record", "b/record"]);
    }

    #[test]
    fn shares_are_per_cent_or_parts() {
        assert_eq!((share("5%"), share("0.05"), share("0 %")), (Ok(0.05), Ok(0.05), Ok(0.0)));
        assert!(share("-1%").is_err() && share("x").is_err() && share("NaN").is_err());
    }
}

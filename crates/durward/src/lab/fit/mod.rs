//! `durward lab fit`.

mod text;

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use durward_lab::fit::{
    self, FitOptions, FitReport, Lambda, LoadUnit, RecordCurve, Resampling, Residence, Weights,
};
use serde::Serialize;

use crate::failure::{CommandError, CommandResult, DIFFERENT, SUCCESS};
use crate::to_stdout;

const EXAMPLES: &str = "\
Examples:
  durward lab fit points.csv                     a file with the header `n,x`
  durward lab fit measured.json --json           {\"points\": [[N, X], ...]}; the report as JSON
  durward lab fit record.json --by concurrency   a record of `durward lab run`, N = X times R
  sort -n points.csv | durward lab fit -         from standard input

Exit codes: 0 fitted, 1 fitted and refused, 2 bad input.";

/// Fit the Universal Scalability Law to measurements, and say how far it scales
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Points as JSON or CSV, or a record of `durward lab run`; - for standard input
    data: PathBuf,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    /// What one does alone: `free` to fit it, `x1` for what was measured at N = 1, or a number
    #[arg(long, value_name = "free|x1|NUMBER", default_value = "free", value_parser = lambda)]
    lambda: Lambda,
    /// What N is in a record; nodes where their number varies, else requests under way where users pause, else users
    #[arg(long, value_enum)]
    by: Option<FitUnit>,
    /// Fit only this set of the file, or this curve of the record
    #[arg(long, value_name = "NAME")]
    set: Option<String>,
    /// How much each point counts: by the spread given or, in a record, that of replicates; all alike; by replicates
    #[arg(long, value_enum, default_value = "auto")]
    weights: WeightsName,
    /// How to resample for intervals: residuals, pairs, or pairs where points scatter
    #[arg(long, value_enum, default_value = "auto")]
    bootstrap: BootstrapName,
    /// How often to resample; 0 for no intervals
    #[arg(long, value_name = "COUNT", default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    resamples: u32,
    /// What every random choice follows from
    #[arg(long, value_name = "NUMBER", default_value_t = 42)]
    seed: u64,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum FitUnit {
    Users,
    Nodes,
    Concurrency,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum WeightsName {
    Auto,
    Equal,
    Replicates,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum BootstrapName {
    Auto,
    Residuals,
    Pairs,
}

/// One curve with what was found; in JSON the report, with residence times where there was a record.
#[derive(Debug, Serialize)]
struct FittedCurve {
    #[serde(skip)]
    name: String,
    #[serde(flatten)]
    report: FitReport,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    residence: Vec<Residence>,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let text = text_of(&arguments.data)?;
    let (n_is, weights) = (arguments.by.map(by), weights(arguments.weights));
    let input = fit::read(&text, n_is, weights).map_err(|error| {
        CommandError::new(error.to_string()).at(&arguments.data).hint("see `durward lab fit --help`")
    })?;
    let others = input.subsets.iter().map(|subset| subset.name.clone()).collect::<Vec<_>>();
    let chosen = chosen(input, arguments)?;
    let fitted = chosen.into_iter().map(|curve| fitted(curve, arguments)).collect::<Result<Vec<_>, _>>()?;
    let is_refused = fitted.iter().any(|one| !one.report.refused.is_empty());
    to_stdout(&if arguments.json { json(&fitted)? } else { text::of(&fitted, &others) })?;
    Ok(ExitCode::from(if is_refused { DIFFERENT } else { SUCCESS }))
}

fn text_of(path: &Path) -> Result<String, CommandError> {
    if path == Path::new("-") {
        let mut text = String::new();
        io::stdin()
            .read_to_string(&mut text)
            .map_err(|error| CommandError::from(error).at(Path::new("standard input")))?;
        return Ok(text);
    }
    fs::read_to_string(path).map_err(|error| CommandError::unreadable(path, &error))
}

/// The curves to fit: all, or the one that was asked for.
fn chosen(input: fit::FitInput, arguments: &Arguments) -> Result<Vec<RecordCurve>, CommandError> {
    let Some(name) = &arguments.set else { return Ok(input.curves) };
    let mut all = input.curves.into_iter().chain(input.subsets);
    let mut names = Vec::new();
    let found = all.find(|curve| {
        names.push(format!("`{}`", curve.name));
        curve.name == *name
    });
    names.retain(|name| name != "``");
    let there = if names.is_empty() { "none with a name".to_owned() } else { names.join(", ") };
    found.map(|curve| vec![curve]).ok_or_else(|| {
        CommandError::new(format!("no set `{name}`")).at(&arguments.data).hint(format!("there are {there}"))
    })
}

fn fitted(curve: RecordCurve, arguments: &Arguments) -> Result<FittedCurve, CommandError> {
    let has_one = curve.observations.iter().any(|one| one.n == 1.0 && one.x > 0.0);
    if arguments.lambda == Lambda::X1 && !has_one {
        let failure = CommandError::new("`--lambda x1` needs a measurement at N = 1").at(&arguments.data);
        return Err(failure.hint("`--lambda free` fits it, `--lambda NUMBER` sets it"));
    }
    let options = FitOptions {
        lambda: arguments.lambda,
        n_is: curve.n_is,
        seed: arguments.seed,
        resamples: usize::try_from(arguments.resamples).unwrap_or(usize::MAX),
        resampling: resampling(arguments.bootstrap),
        left_out: curve.left_out,
    };
    let report = fit::of(&curve.observations, &options);
    Ok(FittedCurve { name: curve.name, report, residence: curve.residence })
}

/// One report as it is; several by their names, under `sets`.
fn json(fitted: &[FittedCurve]) -> Result<String, CommandError> {
    let text = match fitted {
        [one] => serde_json::to_string_pretty(one),
        several => {
            let named: serde_json::Map<String, serde_json::Value> = several
                .iter()
                .map(|one| Ok((one.name.clone(), serde_json::to_value(one)?)))
                .collect::<Result<_, serde_json::Error>>()
                .map_err(|error| CommandError::new(error.to_string()))?;
            serde_json::to_string_pretty(&serde_json::json!({ "sets": named }))
        }
    };
    text.map(|text| text + "\n").map_err(|error| CommandError::new(error.to_string()))
}

/// Reads what the flag says.
fn lambda(text: &str) -> Result<Lambda, String> {
    let number = |text: &str| text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    match text {
        "free" => Ok(Lambda::Free),
        "x1" => Ok(Lambda::X1),
        text => number(text).map(Lambda::Fixed).ok_or_else(|| "`free`, `x1`, or a number above 0".to_owned()),
    }
}

fn by(name: FitUnit) -> LoadUnit {
    match name {
        FitUnit::Users => LoadUnit::Users,
        FitUnit::Nodes => LoadUnit::Nodes,
        FitUnit::Concurrency => LoadUnit::Concurrency,
    }
}

fn weights(name: WeightsName) -> Weights {
    match name {
        WeightsName::Auto => Weights::Auto,
        WeightsName::Equal => Weights::Equal,
        WeightsName::Replicates => Weights::Replicates,
    }
}

fn resampling(name: BootstrapName) -> Resampling {
    match name {
        BootstrapName::Auto => Resampling::Auto,
        BootstrapName::Residuals => Resampling::Residuals,
        BootstrapName::Pairs => Resampling::Pairs,
    }
}

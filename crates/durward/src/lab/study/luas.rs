//! `durward lab study luas`.

use std::env;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use durward_lab::study::luas::{
    self, LuasSetup, PoliciesError, PrepareError, StudyEngine, StudyPolicies, known,
};

use super::{StudyArguments, cannot_write, choose, list, redraw, run_chosen, writable};
use crate::failure::{CommandError, CommandResult, without_number};
use crate::lab::run::stop_at_signal;

/// Decision points as servers of 1 core and 512 MB under bursts: durward, Balana, AT&T XACML, AuthzForce
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    how: StudyArguments,
    /// Policies and questions, such as the real CONTINUE: one `.xml` policy file of XACML 3.0, `requests*.jsonl`, and
    /// `decisions.jsonl` where the right decisions are known. Without it, a stand-in of the same size
    #[arg(long, value_name = "DIR")]
    policies: Option<PathBuf>,
    /// Measure this engine as well: NAME=COMMAND, where `{port}` and `{policies}` say where it listens and what it reads, NAME=URL
    /// of a server that runs here, or NAME=image:PORT:IMAGE. It answers XACML 3.0 in XML at /pdp
    #[arg(long, value_name = "NAME=WHAT", value_parser = StudyEngine::read)]
    engine: Vec<StudyEngine>,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let how = &arguments.how;
    let out = how.out("luas");
    let setup = LuasSetup {
        is_full: how.is_full(),
        sent: how.points().map(<[u64]>::to_vec),
        seconds: how.seconds(),
        engines: engines(&arguments.engine)?,
        policies: policies(arguments.policies.as_deref())?,
        cache: cache(),
        directory: std::path::absolute(&out).map_err(|error| cannot_write(&out, &error))?,
        only: how.only.clone(),
        is_resumed: how.resume,
    };
    let mut all = luas::study(&setup);
    if let Some(path) = &how.redraw {
        return redraw(&all, path, how);
    }
    choose(&mut all, &how.only)?;
    if how.list {
        return list(&all);
    }
    writable(&out)?;
    // Whoever closed standard error does not want to know.
    let mut tell = |line: &str| {
        if !how.quiet {
            let _ = writeln!(io::stderr(), "{line}");
        }
    };
    let stop = stop_at_signal()?;
    let (study, facts) = luas::prepare(&setup, &stop, &mut tell).map_err(failure)?;
    let facts = serde_json::to_value(facts)
        .map_err(|error| CommandError::new(format!("cannot write JSON: {error}")))?;
    run_chosen(&study, facts, how)
}

/// Those of the study, and those of the command line, which come in their place where names are the same.
fn engines(more: &[StudyEngine]) -> Result<Vec<StudyEngine>, CommandError> {
    let program = env::current_exe()
        .map_err(|error| CommandError::new(format!("this program does not know where it is: {error}")))?;
    let mut all = known(&program.display().to_string(), env!("CARGO_PKG_VERSION"));
    for engine in more {
        all.retain(|one| one.name != engine.name);
        all.push(engine.clone());
    }
    Ok(all)
}

fn policies(directory: Option<&Path>) -> Result<StudyPolicies, CommandError> {
    let Some(directory) = directory else { return Ok(StudyPolicies::stand_in()) };
    StudyPolicies::read(directory).map_err(|error| {
        let failure = CommandError::new(without_number(&error.to_string()));
        match error {
            PoliciesError::Read(..) | PoliciesError::Line(..) => failure,
            PoliciesError::Policies(..) | PoliciesError::NoQuestions(_) => {
                failure.hint("docs/study-luas.md says what the directory of `--policies` has in it")
            }
        }
    })
}

fn failure(error: PrepareError) -> CommandError {
    match error {
        PrepareError::Write(path, error) => cannot_write(&path, &error),
        PrepareError::NoEngine(_) | PrepareError::NothingKnown => {
            CommandError::new(without_number(&error.to_string()))
        }
    }
}

/// Where engines lie that are built once for this user.
fn cache() -> PathBuf {
    let named = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    named.or_else(home).unwrap_or_else(env::temp_dir).join("durward/study-luas")
}

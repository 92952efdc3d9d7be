//! durward's signed tokens, verified by a library of others, and tokens of that library, shown to durward.

use super::{Missing, install};
use crate::built;
use crate::metadata::Metadata;
use crate::process::{self, Show, Stream, run_seeing};
use crate::report::Outcome;
use std::fs;

/// Language, package, version: as the report has it.
pub(super) const NAME: &str = "Python, PyJWT 2.15.1";

/// The script starts the server itself, and says a line for each case.
pub(super) fn verified() -> Outcome {
    let mut command = match install::pyjwt() {
        Ok(command) => command,
        Err(Missing::Tool(why)) => return Outcome::Skipped(why),
        Err(Missing::Broken(why)) => return Outcome::Failed(why),
    };
    let mut counted = || -> Result<(u64, u64), String> {
        let binary = built::binary()?;
        let folder = Metadata::read()?.target_directory.join("clients/tokens");
        // What an earlier run left, if any: its keys are for other clients.
        let _ = fs::remove_dir_all(&folder);
        let (mut passed, mut failed) = (0, 0);
        let status = run_seeing(command.arg(binary).arg(folder), process::limit(), Stream::Output, |line| {
            passed += u64::from(line.starts_with("ok "));
            failed += u64::from(line.starts_with("FAILED "));
            Show::Yes
        })?;
        if !status.success() || passed + failed == 0 {
            return Err(format!("the script ended with {status}"));
        }
        Ok((passed, failed))
    };
    match counted() {
        Ok((passed, failed)) => Outcome::Counted { passed, failed, note: String::new() },
        Err(why) => Outcome::Failed(why),
    }
}

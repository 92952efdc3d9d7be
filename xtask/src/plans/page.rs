//! `cargo xtask plans page`: how soon the first page is there of what somebody may read, of a million rows and by ten thousand
//! policies.

use super::{install, servers::Servers};
use crate::clients::Missing;
use crate::metadata;
use crate::process::run;
use crate::release;
use std::fs;
use std::process::{Command, ExitCode};

pub(super) fn run_alone() -> Result<ExitCode, String> {
    let python = install::python().map_err(|missing| match missing {
        Missing::Tool(why) | Missing::Broken(why) => why,
    })?;
    let durward = release::optimised()?;
    let servers = Servers::start()?;
    let folder = std::env::temp_dir().join(format!("durward-page-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut script = Command::new(python);
    script.arg(metadata::root().join("crates/durward-testkit/plans/page.py"));
    let measured = servers.postgres().and_then(|address| run(script.arg(durward).arg(address).arg(&folder)));
    // It was made here.
    let _ = fs::remove_dir_all(&folder);
    measured.map(|()| ExitCode::SUCCESS)
}

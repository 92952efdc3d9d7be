//! The collector of OpenTelemetry, made of its own modules with what a test needs, and the script that has durward send to it.

use super::Missing;
use super::install::{folder, once, scripts, tool};
use crate::process::run;
use crate::tools::{GO, NODE};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The script, with the collector that it starts. The first time it is built, which takes minutes.
pub(super) fn collector() -> Result<Command, Missing> {
    let (go, node) = (tool(GO)?, tool(NODE)?);
    let (own, folder) = (scripts("collector"), folder("collector-go")?);
    let program = folder.join("collector");
    fs::create_dir_all(&folder).map_err(|error| format!("no folder: {error}"))?;
    once(&folder, &own.join("go.mod"), || build(&go, &own, &program))?;
    let mut command = Command::new(node);
    command.arg(own.join("collector.mjs")).env("COLLECTOR", program);
    Ok(command)
}

fn build(go: &Path, own: &Path, program: &Path) -> Result<(), String> {
    run(Command::new(go).args(["build", "-mod=readonly", "-o"]).arg(program).arg(".").current_dir(own))
}

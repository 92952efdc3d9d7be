//! Room on the disk where cargo builds: said before an hour of work, not by the linker in the middle of it.

use crate::metadata::Metadata;
use crate::process::output_of;
use crate::report::Outcome;
use std::path::Path;
use std::process::Command;

/// With less, not even what changed since the last run can be built, in GiB.
const FREE_GIB_MIN: u64 = 4;

/// What is free, or a failure if it is too little.
pub(crate) fn check() -> Outcome {
    match free_gib() {
        Ok((free, folder)) if free < FREE_GIB_MIN => Outcome::Failed(format!(
            "{free} GiB are free in {folder}, too little to build in: set CARGO_TARGET_DIR to a larger disk, or remove {folder}/debug/incremental"
        )),
        Ok((free, folder)) => Outcome::Passed(format!("{free} GiB free in {folder}")),
        Err(why) => Outcome::Skipped(why),
    }
}

/// And the folder that cargo builds in.
fn free_gib() -> Result<(u64, String), String> {
    let folder = Metadata::read()?.target_directory;
    let there = folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("/"));
    let table = output_of(Command::new("df").arg("-Pk").arg(there))?;
    let free =
        free_kib(&table).ok_or_else(|| format!("df -Pk printed something else than a table: {table}"))?;
    Ok((free >> 20, folder.display().to_string()))
}

/// The fourth column of the line below the heads (POSIX, `df -P`).
fn free_kib(table: &str) -> Option<u64> {
    table.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fourth_column_is_what_is_free() {
        let table = "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/vda 263174212 94732384 177152 100% /\n";
        assert_eq!(free_kib(table), Some(177_152));
        assert_eq!(free_kib("df: no such file"), None);
    }
}

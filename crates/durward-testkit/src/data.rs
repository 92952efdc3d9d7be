//! Where the data to test against lies. It is no part of the repository.

use std::path::{Path, PathBuf};

/// The folder of recorded data: the environment variable `DURWARD_DATA`, by default `../shared/data` seen from the
/// workspace. `None`, with one line that says so, where it is absent.
///
/// # Panics
/// Where it is absent and `CI` is `true`: there nothing may be skipped.
#[expect(
    clippy::panic,
    clippy::print_stderr,
    reason = "only tests call this; they are to fail, or to say what they skip"
)]
pub fn folder(of: &str) -> Option<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root =
        std::env::var_os("DURWARD_DATA").map_or_else(|| workspace.join("../shared/data"), PathBuf::from);
    let folder = root.join(of);
    if folder.is_dir() {
        return Some(folder);
    }
    if std::env::var("CI").is_ok_and(|ci| ci == "true") {
        panic!("no recorded data at {}: set DURWARD_DATA", folder.display());
    }
    eprintln!("skipped: no recorded data at {}", folder.display());
    None
}

//! Java of a version that Debian may not have.

use std::path::{Path, PathBuf};

/// The home of a Java of this version or a later one: the one that `DURWARD_JAVA_HOME` names, `JAVA_HOME`, or one of those that the system has. It has a
/// compiler: `bin/javac`, or else Eclipse's, as `ecj.jar`.
///
/// ```
/// assert!(durward_testdata::java_home(1_000).is_none());
/// ```
pub fn java_home(version_min: u32) -> Option<PathBuf> {
    let named =
        ["DURWARD_JAVA_HOME", "JAVA_HOME"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let installed = std::fs::read_dir("/usr/lib/jvm").into_iter().flatten();
    let mut installed: Vec<PathBuf> = installed.filter_map(|entry| Some(entry.ok()?.path())).collect();
    installed.sort();
    named.chain(installed).find(|home| {
        let has_compiler = home.join("bin/javac").is_file() || home.join("ecj.jar").is_file();
        has_compiler && version(home).is_some_and(|version| version >= version_min)
    })
}

/// The first number of the version, as the file `release` says it: `JAVA_VERSION="25.0.3"`.
fn version(home: &Path) -> Option<u32> {
    let text = std::fs::read_to_string(home.join("release")).ok()?;
    let version = text.lines().find_map(|line| line.strip_prefix("JAVA_VERSION=\""))?;
    version.split(['.', '-', '+', '"']).next()?.parse().ok()
}

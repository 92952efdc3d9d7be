//! What tests need and the repository does not hold: recorded data, programs of others, and servers of PostgreSQL; and chance from a seed. A test without them is skipped, which one
//! line on stderr says; where nothing may be skipped (`CI=true`), it fails. Also where the repository is, and gateways as its manual sets them up.

pub mod gateways;
mod java;
mod postgres;
mod random;

use std::fmt::{self, Display};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub use java::java_home;
pub use postgres::{Postgres, ServerProcess};
pub use random::{TestRandom, TestShift};

/// The root of the workspace whose tests run.
///
/// Clones may share a target directory, so a test may run in another clone than the one that compiled it: cargo says at run
/// time where that is. Without cargo it is the clone that compiled it.
///
/// ```
/// assert!(durward_testdata::workspace().join("Cargo.toml").is_file());
/// ```
pub fn workspace() -> PathBuf {
    const HERE: &str = "crates/durward-testdata";
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let running =
        package.iter().flat_map(|folder| folder.ancestors()).find(|folder| folder.join(HERE).is_dir());
    let compiled = || Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    running.or_else(compiled).unwrap_or(Path::new("")).to_path_buf()
}

/// A file or folder of the recorded data, `""` for all of it; `None` where it is absent, which is said.
///
/// ```no_run
/// let Some(folder) = durward_testdata::recorded("xacml/continue") else { return };
/// ```
///
/// # Panics
///
/// Where it is absent and nothing may be skipped.
pub fn recorded(name: &str) -> Option<PathBuf> {
    find(name).map_err(|why| skip(&why)).ok()
}

/// The same for programs that have another way out: below `DURWARD_DATA`, by default `../shared/data` seen from the workspace.
///
/// # Errors
///
/// It is absent.
pub fn find(name: &str) -> Result<PathBuf, NoData> {
    let beside = || workspace().join("../shared/data");
    let path = std::env::var_os("DURWARD_DATA").map_or_else(beside, PathBuf::from).join(name);
    // Without `..`: other programs are told the path too.
    path.canonicalize().map_err(|_| NoData { path })
}

/// There is no such file or folder of the recorded data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoData {
    /// Where it was looked for.
    pub path: PathBuf,
}

impl fmt::Display for NoData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no recorded data at {}: set DURWARD_DATA", self.path.display())
    }
}

impl std::error::Error for NoData {}

/// What a test needs cannot be set up: a program or a file of this machine fails, or the manual does not have what is looked for in it. It
/// says which, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetUpError(String);

impl fmt::Display for SetUpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SetUpError {}

impl From<String> for SetUpError {
    fn from(reason: String) -> SetUpError {
        SetUpError(reason)
    }
}

impl From<SetUpError> for String {
    fn from(error: SetUpError) -> String {
        error.0
    }
}

/// Whether the program can be started with this argument, which has to end it; where it cannot, that is said, and how to get it.
///
/// ```no_run
/// if !durward_testdata::has_program("oathtool", "--version", "apt-get install oathtool") { return }
/// ```
///
/// # Panics
///
/// Where it is absent and nothing may be skipped.
pub fn has_program(program: impl AsRef<Path>, argument: &str, how: &str) -> bool {
    let program = program.as_ref();
    let started = Command::new(program)
        .arg(argument)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if started.is_err() {
        skip(format_args!("no {}: {how}", program.display()));
    }
    started.is_ok()
}

/// The same for openssl, which makes keys and certificates.
///
/// # Panics
///
/// Where it is absent and nothing may be skipped.
pub fn has_openssl() -> bool {
    has_program("openssl", "version", "apt-get install openssl")
}

/// Says in one line which test is skipped, and why.
///
/// # Panics
///
/// Where nothing may be skipped.
pub fn skip(why: impl Display) {
    assert!(!on_build_machine(), "{why}");
    let thread = std::thread::current();
    // Not `eprintln!`, which the test harness captures: a plain `cargo test` is to show it. Whoever has no stderr reads no line.
    let _ = writeln!(std::io::stderr(), "skipped {}: {why}", thread.name().unwrap_or("a test"));
}

/// Whether this is the build machine, where everything must be there: `CI=true`.
pub fn on_build_machine() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_named_with_the_way_out() {
        let error = find("no/such/folder").unwrap_err().to_string();
        assert!(error.contains("no/such/folder") && error.ends_with("set DURWARD_DATA"), "{error}");
    }

    /// Runs the test below again in a process of its own, as the environment is one for all tests.
    fn ran_again(ci: Option<&str>) -> (bool, String) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["tests::a_skipped_test_says_so", "--exact"]).env("DURWARD_TESTDATA_AGAIN", "1");
        match ci {
            Some(value) => command.env("CI", value),
            None => command.env_remove("CI"),
        };
        let output = command.output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    }

    #[test]
    fn a_skipped_test_says_so() {
        if std::env::var_os("DURWARD_TESTDATA_AGAIN").is_some() {
            assert!(!has_program("no-such-program", "--version", "it cannot be had"));
            return;
        }
        let (passed, said) = ran_again(None);
        assert!(passed && said.starts_with("skipped "), "{said}");
        assert!(
            said.ends_with(": no no-such-program: it cannot be had\n") && said.lines().count() == 1,
            "{said}"
        );
        assert!(!ran_again(Some("true")).0, "nothing may be skipped there");
    }
}

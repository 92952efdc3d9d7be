//! The package for Java, `bindings/java`, on the library that cargo has built.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cases;
use crate::toolchain::{built, finish, folder};

/// The foreign function interface is there since then.
const JAVA_VERSION_MIN: u32 = 22;

fn home() -> Option<PathBuf> {
    let home = durward_testdata::java_home(JAVA_VERSION_MIN);
    if home.is_none() {
        durward_testdata::skip(format_args!("no JDK {JAVA_VERSION_MIN} or later: set DURWARD_JAVA_HOME"));
    }
    home
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "java") {
            found.push(path);
        }
    }
}

/// Compiles the package with its tests. As no module: tests see what is not public.
fn compile(home: &Path, classes: &Path) {
    let mut files = Vec::new();
    sources(&durward_testdata::workspace().join("bindings/java/src"), &mut files);
    files.retain(|path| !path.ends_with("module-info.java"));
    files.sort();
    let javac = home.join("bin/javac");
    let mut command = if javac.is_file() {
        let mut command = Command::new(javac);
        command.args(["-Xlint:all", "-Werror", "--release", "22", "-proc:none"]);
        command
    } else {
        let mut command = Command::new(home.join("bin/java"));
        command.arg("-jar").arg(home.join("ecj.jar")).args(["-22", "-proc:none", "-nowarn"]);
        command
    };
    finish(command.arg("-d").arg(classes).args(files), "");
}

/// Runs a test program; the number of checks that it says it made.
fn checks(name: &str, input: &str) -> Option<u32> {
    let home = home()?;
    let folder = folder(&format!("java-{name}"));
    compile(&home, &folder);
    let mut java = Command::new(home.join("bin/java"));
    java.args(["-ea", "-Xcheck:jni", "-Xmx1g", "--enable-native-access=ALL-UNNAMED"]);
    java.arg(format!("-Ddurward.library={}", built("libdurward.so").display()));
    let said = finish(java.arg("-cp").arg(&folder).arg(format!("io.durward.{name}")), input);
    std::fs::remove_dir_all(&folder).unwrap();
    let number = said.lines().last().and_then(|line| line.strip_suffix(" checks"));
    Some(number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{name}: {said}")))
}

#[test]
fn every_case_of_the_table_holds_in_java() {
    let (rows, count) = cases::rows();
    if let Some(checks) = checks("CasesTest", &rows) {
        assert!(checks > count, "{checks}");
    }
}

#[test]
fn misuse_and_threads_of_java_are_no_permit_and_no_crash() {
    if let Some(checks) = checks("BorderTest", "") {
        assert!(checks > 1_000, "{checks}");
    }
}

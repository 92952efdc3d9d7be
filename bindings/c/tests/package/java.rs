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

/// The jar whose tests these are; nothing for the sources and what cargo has just built. `cargo xtask package java` says it.
fn jar() -> Option<PathBuf> {
    std::env::var_os("DURWARD_JAVA_JAR").map(PathBuf::from)
}

fn package() -> PathBuf {
    durward_testdata::workspace().join("bindings/java")
}

/// Compiles the package with its tests, or the tests alone for a jar. As no module: tests see what is not public. What the packages that take
/// the place of other engines have in common is in no jar, and needs none.
fn compile(home: &Path, classes: &Path) {
    let mut files = Vec::new();
    sources(&package().join(if jar().is_some() { "src/test" } else { "src" }), &mut files);
    sources(&package().join("shims/common/src/main"), &mut files);
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
    if let Some(jar) = jar() {
        command.arg("-cp").arg(jar);
    }
    finish(command.arg("-d").arg(classes).args(files), "");
}

/// Runs a program of the tests; what it writes.
fn run(class: &str, input: &str) -> Option<String> {
    let home = home()?;
    let folder = folder(&format!("java-{class}"));
    compile(&home, &folder);
    let mut java = Command::new(home.join("bin/java"));
    java.args(["-ea", "-Xcheck:jni", "-Xmx1g", "--enable-native-access=ALL-UNNAMED", "-cp"]);
    match jar() {
        Some(jar) => java.arg(format!("{}:{}", folder.display(), jar.display())),
        None => java.arg(&folder).arg(format!("-Ddurward.library={}", built("libdurward.so").display())),
    };
    let said = finish(java.arg(class), input);
    std::fs::remove_dir_all(&folder).unwrap();
    Some(said)
}

/// The same; the number of checks that it says it made.
fn checks(name: &str, input: &str) -> Option<u32> {
    let said = run(&format!("io.durward.{name}"), input)?;
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

#[test]
fn what_stands_between_programs_for_other_engines_and_the_package_holds() {
    if let Some(checks) = checks("XacmlTest", "") {
        assert!(checks > 50, "{checks}");
    }
}

#[test]
fn the_program_of_the_readme_for_java_prints_what_it_says() {
    let readme = std::fs::read_to_string(package().join("README.md")).unwrap();
    let program = std::fs::read_to_string(package().join("src/test/java/Doctors.java")).unwrap();
    assert!(readme.contains(&format!("```java\n{program}```\n")), "README.md has another program");
    if let Some(said) = run("Doctors", "") {
        assert!(readme.contains(&format!("It prints `{}`", said.trim_end())), "{said}");
    }
}

#[test]
fn the_version_for_java_is_the_one_of_the_crates() {
    let version = |artifact: &str| {
        format!("<artifactId>{artifact}</artifactId>\n  <version>{}</version>", env!("CARGO_PKG_VERSION"))
    };
    let pom = std::fs::read_to_string(package().join("pom.xml")).unwrap();
    assert!(pom.contains(&version("durward")), "pom.xml has another version");
    let pom = std::fs::read_to_string(package().join("shims/pom.xml")).unwrap();
    assert!(pom.contains(&version("durward-shims")), "shims/pom.xml has another version");
    let wanted = format!("      <version>{}</version>", env!("CARGO_PKG_VERSION"));
    assert!(
        pom.contains(&format!("      <artifactId>durward</artifactId>\n{wanted}")),
        "it wants another version"
    );
    for module in ["common", "balana", "authzforce", "att"] {
        let pom = std::fs::read_to_string(package().join("shims").join(module).join("pom.xml")).unwrap();
        let parent = format!(
            "    <artifactId>durward-shims</artifactId>\n    <version>{}</version>",
            env!("CARGO_PKG_VERSION")
        );
        assert!(pom.contains(&parent), "shims/{module}/pom.xml has another version");
    }
}

//! The package for Go, `bindings/go`, on the library that cargo has built.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::toolchain::{built, finish};

/// What `bindings/go/go.mod` asks for; an older Go fetches a newer one, which no test is to do.
const GO_VERSION_MIN: u32 = 25;

/// Whether there is a Go that is new enough, and the module cache has the one module that the package stands on. It is fetched where it is missing.
fn has_go() -> bool {
    if !durward_testdata::has_program("go", "version", "see https://go.dev/dl") {
        return false;
    }
    let said = finish(networked().arg("version"), "");
    let minor = said.split("go1.").nth(1).and_then(|rest| rest.split(['.', ' ', 'r']).next());
    if minor.and_then(|minor| minor.parse::<u32>().ok()).is_none_or(|minor| minor < GO_VERSION_MIN) {
        durward_testdata::skip(format_args!("no Go 1.{GO_VERSION_MIN} or later, but {}", said.trim_end()));
        return false;
    }
    // Without a network first.
    let is_there = downloads(go()) || downloads(networked());
    if !is_there {
        durward_testdata::skip("no purego: cd bindings/go && go mod download");
    }
    is_there
}

fn downloads(mut go: Command) -> bool {
    go.args(["mod", "download"]).output().is_ok_and(|output| output.status.success())
}

fn package() -> PathBuf {
    durward_testdata::workspace().join("bindings/go")
}

/// Where the tests are run: the package, or the module that `cargo xtask package go` has made.
fn module() -> PathBuf {
    std::env::var_os("DURWARD_GO_MODULE").map_or_else(package, PathBuf::from)
}

/// A command of Go in that module.
fn networked() -> Command {
    let mut command = Command::new("go");
    command.current_dir(module()).env("GOTOOLCHAIN", "local");
    command.env("DURWARD_CASES", durward_testdata::workspace().join("crates/durward-embed/tests/cases.json"));
    command
}

/// The same, which fetches nothing.
fn go() -> Command {
    let mut command = networked();
    command.env("GOPROXY", "off");
    command
}

/// The library: as cargo has built it, or the one that is named.
fn library() -> PathBuf {
    std::env::var_os("DURWARD_LIBRARY").map_or_else(|| built("libdurward.so"), PathBuf::from)
}

fn sources(folder: &Path, found: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.to_string_lossy().ends_with("_test.go") {
            found.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
}

/// Runs all tests, and looks whether all that there are have passed.
fn tests(arguments: &[&str], cgo: &str) {
    if !has_go() {
        return;
    }
    let mut written = String::new();
    sources(&module(), &mut written);
    let functions =
        written.lines().filter(|line| line.starts_with("func Test") || line.starts_with("func Example"));
    let count = functions.count();
    assert!(count > 25, "{count}");
    let mut command = go();
    command.args(["test", "-count=1", "-v", "-timeout=10m"]).args(arguments).arg("./...");
    let output = command.env("CGO_ENABLED", cgo).env("DURWARD_LIBRARY", library()).output().unwrap();
    // Go says on standard output what failed.
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    // Tests within tests are indented.
    let passed = said.lines().filter(|line| line.starts_with("--- PASS: ")).count();
    assert_eq!(passed, count, "{said}");
}

#[test]
fn all_tests_of_go_pass_without_a_compiler_of_c() {
    tests(&[], "0");
}

#[test]
fn all_tests_of_go_pass_under_its_race_detector() {
    if durward_testdata::has_program("cc", "--version", "apt-get install gcc") {
        tests(&["-race"], "1");
    }
}

#[test]
fn the_sources_for_go_are_formatted_and_vetted() {
    if !has_go() {
        return;
    }
    finish(go().args(["vet", "./..."]), "");
    // Systems without a test here: the package compiles, and says what it lacks.
    for (system, processor) in [("darwin", "arm64"), ("windows", "amd64"), ("linux", "arm64")] {
        finish(go().args(["build", "./..."]).env("GOOS", system).env("GOARCH", processor), "");
    }
    let root = finish(go().args(["env", "GOROOT"]), "");
    let formatter = Path::new(root.trim_end()).join("bin/gofmt");
    assert_eq!(finish(Command::new(formatter).arg("-l").arg(module()), ""), "", "gofmt -w bindings/go");
}

#[test]
fn the_program_of_the_readme_for_go_prints_what_it_says() {
    let readme = std::fs::read_to_string(package().join("README.md")).unwrap();
    // Go holds it to its output.
    let example = std::fs::read_to_string(package().join("example_test.go")).unwrap();
    let body = example.split_once("func Example() {\n").unwrap().1.split_once("\n\t// Output: ").unwrap();
    let output = body.1.lines().next().unwrap();
    assert!(
        readme.contains(&format!("func main() {{\n{}\n}}\n```\n", body.0)),
        "README.md has another program"
    );
    assert!(readme.contains(&format!("It prints `{output}`")), "README.md says another output");
}

#[test]
fn the_version_for_go_is_the_one_of_the_crates() {
    let sources = std::fs::read_to_string(package().join("library.go")).unwrap();
    let version = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
    let line = format!("const libraryVersion = \"{}.{}\"", version.0, version.1);
    assert!(sources.contains(&line), "library.go has another version");
}

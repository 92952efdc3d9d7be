//! Puts the package together as it is installed, and runs its tests with Python's own runner.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The oldest Python that the package is for, and how to see whether this one is as new.
const IS_NEW_ENOUGH: &str = "import sys; sys.exit(sys.version_info < (3, 10))";

/// The files of tests, which need Python's own library only.
const TESTS: [&str; 6] =
    ["test_cases", "test_enforce", "test_pdp", "test_readme", "test_robust", "test_watch"];

#[test]
fn the_tests_in_python_pass() {
    let Some(python) = python() else { return };
    let folder = Folder::new("durward-python");
    install(&folder.0);
    let here = durward_testdata::workspace().join("bindings/python/tests");
    let output = Command::new(python)
        // Warnings are errors, and what Python can check of an extension module it checks.
        .args(["-X", "dev", "-W", "error", "-m", "unittest", "-v"])
        .args(TESTS)
        .current_dir(&here)
        .env("PYTHONPATH", &folder.0)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("DURWARD_CASES", durward_testdata::workspace().join("crates/durward-embed/tests/cases.json"))
        .output()
        .unwrap();
    let said = said(&output);
    assert!(output.status.success(), "{}\n{said}", output.status);
    let count: usize = TESTS.iter().map(|name| tests_in(&here.join(format!("{name}.py")))).sum();
    assert!(count > 40, "{count}");
    assert!(said.contains(&format!("Ran {count} tests in ")), "{count} tests are written\n{said}");
    assert!(said.trim_end().ends_with("\nOK"), "some were skipped\n{said}");
}

/// How many tests a file holds.
fn tests_in(file: &Path) -> usize {
    let text = fs::read_to_string(file).unwrap();
    text.lines()
        .filter(|line| line.trim_start().trim_start_matches("async ").starts_with("def test_"))
        .count()
}

/// The package as it lies in `site-packages`: its sources, and the extension module beside them.
fn install(folder: &Path) {
    let sources = durward_testdata::workspace().join("bindings/python/python/durward");
    let package = folder.join("durward");
    fs::create_dir(&package).unwrap();
    for entry in fs::read_dir(sources).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, package.join(path.file_name().unwrap())).unwrap();
        }
    }
    let name = if cfg!(windows) { "_durward.pyd" } else { "_durward.abi3.so" };
    fs::copy(built(), package.join(name)).unwrap();
}

/// The library that cargo built for this test: it lies beside it.
fn built() -> PathBuf {
    let name = format!("{DLL_PREFIX}_durward{DLL_SUFFIX}");
    let test = std::env::current_exe().unwrap();
    let found = test.ancestors().skip(1).take(2).map(|folder| folder.join(&name)).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("no {name} beside {}", test.display()))
}

fn python() -> Option<&'static str> {
    const NAME: &str = "python3";
    if !durward_testdata::has_program(NAME, "--version", "apt-get install python3") {
        return None;
    }
    if !Command::new(NAME).args(["-c", IS_NEW_ENOUGH]).status().unwrap().success() {
        durward_testdata::skip("python3 is older than 3.10");
        return None;
    }
    Some(NAME)
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

//! Runs the tests in JavaScript with Node on the addon that cargo built: as a package that somebody has installed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use durward_testdata::{has_program, workspace};

/// What of the package's folder is installed.
const INSTALLED: [&str; 5] = ["package.json", "index.js", "index.mjs", "express.js", "fastify.js"];

/// The addon is where this test is, or above it.
fn addon() -> PathBuf {
    let name = format!("{}durward_node{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let test = std::env::current_exe().unwrap();
    let built = test.ancestors().skip(1).take(2).map(|folder| folder.join(&name)).find(|path| path.is_file());
    built.unwrap_or_else(|| panic!("no `{name}` beside {}", test.display()))
}

/// The name under which `lib/native.js` looks for a local build.
fn local_build() -> String {
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    };
    let processor = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    let library = match (system, cfg!(target_env = "musl")) {
        ("linux", true) => "-musl",
        ("linux", false) => "-gnu",
        _ => "",
    };
    format!("durward.{system}-{processor}{library}.node")
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
    }
}

/// Installs package, addon and tests into a folder; gives the files of tests.
fn install(folder: &Path) -> Vec<PathBuf> {
    let ours = workspace().join("bindings/node");
    let (package, tests) = (folder.join("node_modules/durward"), folder.join("tests"));
    copy_folder(&ours.join("lib"), &package.join("lib"));
    for name in INSTALLED {
        fs::copy(ours.join(name), package.join(name)).unwrap();
    }
    fs::copy(addon(), package.join(local_build())).unwrap();
    copy_folder(&ours.join("tests"), &tests);
    fs::copy(workspace().join("crates/durward-embed/tests/cases.json"), tests.join("cases.json")).unwrap();
    let mut files: Vec<PathBuf> = fs::read_dir(&tests).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.to_string_lossy().ends_with(".test.mjs"));
    files.sort();
    files
}

/// How many tests the files hold: each begins a line.
fn written(files: &[PathBuf]) -> usize {
    let tests = |path: &PathBuf| {
        fs::read_to_string(path).unwrap().lines().filter(|line| line.starts_with("test(")).count()
    };
    files.iter().map(tests).sum()
}

/// The number behind a word in the report's last lines, such as `# pass 7`.
fn counted(report: &str, word: &str) -> Option<usize> {
    report.lines().rev().find_map(|line| line.strip_prefix("# ")?.strip_prefix(word)?.trim().parse().ok())
}

#[test]
fn node_says_that_every_test_in_javascript_passes() {
    if !has_program("node", "--version", "apt-get install nodejs, 18 or later") {
        return;
    }
    let folder = std::env::temp_dir().join(format!("durward-node-{}", std::process::id()));
    let files = install(&folder);
    let output = Command::new("node")
        .args(["--test", "--test-reporter=tap"])
        .args(&files)
        .current_dir(&folder)
        .output()
        .unwrap();
    let report =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{report}");
    assert_eq!(counted(&report, "pass"), Some(written(&files)), "{report}");
    assert_eq!(counted(&report, "fail"), Some(0), "{report}");
    fs::remove_dir_all(&folder).unwrap();
}

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn the_packages_of_npm_have_the_version_of_the_crate() {
    let ours = workspace().join("bindings/node");
    let main = json(&ours.join("package.json"));
    assert_eq!(main["version"], env!("CARGO_PKG_VERSION"));
    let mut found = serde_json::Map::new();
    for entry in fs::read_dir(ours.join("npm")).unwrap() {
        let folder = entry.unwrap().path();
        let (package, name) =
            (json(&folder.join("package.json")), folder.file_name().unwrap().to_string_lossy());
        assert_eq!(package["name"], format!("@durward/{name}"));
        // WebAssembly is for every platform, with entries for several: `cargo xtask package wasm` tests it.
        if name != "wasm32" {
            let addon = format!("durward.{name}.node");
            assert_eq!((&package["main"], &package["files"][0]), (&addon.clone().into(), &addon.into()));
        }
        found.insert(format!("@durward/{name}"), package["version"].clone());
    }
    assert_eq!(main["optionalDependencies"], serde_json::Value::Object(found));
    assert_eq!(main["optionalDependencies"]["@durward/linux-x64-gnu"], main["version"]);
}

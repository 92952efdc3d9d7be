//! `cargo xtask package node`: the packages of npm, made from files, and installed without a network where nothing else is. Then the
//! middleware in the frameworks of others, which npm fetches. Nothing is published.

use crate::clients::{Missing, install};
use crate::metadata::{self, Metadata};
use crate::process::{cargo, locked, run};
use crate::release;
use crate::report::{Outcome, Report};
use crate::tools::{NODE, NPM};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Without questions to the network that nobody needs the answers of.
pub(crate) const NPM_QUIET: [&str; 4] = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];

pub(crate) fn run_alone() -> ExitCode {
    let mut report = Report::new();
    report.step("Node: packages, installed without a network", || outcome(packages()));
    report.step("Node: middleware in frameworks of others", || outcome(frameworks()));
    report.close()
}

pub(crate) fn outcome(result: Result<(), Missing>) -> Outcome {
    match result {
        Ok(()) => Outcome::Passed(String::new()),
        Err(Missing::Tool(why)) => Outcome::Skipped(why),
        Err(Missing::Broken(why)) => Outcome::Failed(why),
    }
}

/// Builds them, packs them, installs them, and runs the tests there.
fn packages() -> Result<(), Missing> {
    let (node, npm) = (install::tool(NODE)?, install::tool(NPM)?);
    pack()?;
    let (ours, folder) = (ours(), folder()?);
    let fresh = folder.join("fresh");
    write(&fresh.join("package.json"), "{ \"private\": true }\n")?;
    let mut command = Command::new(npm);
    command.args(["install", "--offline"]).args(NPM_QUIET).args(tarballs(&folder)?);
    run(command.current_dir(&fresh))?;
    copy_files(&ours.join("tests"), &fresh.join("tests"))?;
    let cases = metadata::root().join("crates/durward-embed/tests/cases.json");
    copy(&cases, &fresh.join("tests/cases.json"))?;
    let tests = files(&fresh.join("tests"))?.into_iter().filter(|path| is_test(path));
    test(&node, &fresh, tests)
}

/// Builds them, and packs them.
pub(crate) fn pack() -> Result<(), Missing> {
    let npm = install::tool(NPM)?;
    let (ours, target) = (ours(), Metadata::read()?.target_directory);
    let folder = folder()?;
    remove(&folder)?;
    run(cargo(&["build", "--profile", release::OPTIMISED, "--package", "durward-node"]).args(locked()))?;
    let library = format!("{}durward_node{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let (name, main, addon) = (platform()?, folder.join("durward"), folder.join("addon"));
    copy_files(&ours, &main)?;
    copy_files(&ours.join("lib"), &main.join("lib"))?;
    copy_files(&ours.join("npm").join(&name), &addon)?;
    copy(&target.join(release::OPTIMISED).join(library), &addon.join(format!("durward.{name}.node")))?;
    for stage in [&main, &addon] {
        copy(&metadata::root().join("LICENSE"), &stage.join("LICENSE"))?;
        run(Command::new(&npm).args(["pack", "--pack-destination"]).arg(&folder).current_dir(stage))?;
    }
    Ok(())
}

/// Installs the frameworks and, beside them, what was packed.
fn frameworks() -> Result<(), Missing> {
    let (node, npm) = (install::tool(NODE)?, install::tool(NPM)?);
    let folder = Metadata::read()?.target_directory.join("packages/node-frameworks");
    copy_files(&ours().join("tests/frameworks"), &folder)?;
    install::once(&folder, &folder.join("package-lock.json"), || {
        run(Command::new(&npm).arg("ci").args(NPM_QUIET).current_dir(&folder))
    })?;
    unpack_into(&folder)?;
    test(&node, &folder, [folder.join("frameworks.test.mjs")])
}

/// Puts what was packed beside what npm has installed in a folder.
pub(crate) fn unpack_into(folder: &Path) -> Result<(), String> {
    for tarball in tarballs(&self::folder()?)? {
        let is_addon = tarball.to_string_lossy().contains("durward-linux-");
        let name = if is_addon { format!("@durward/{}", platform()?) } else { "durward".to_owned() };
        let place = folder.join("node_modules").join(name);
        remove(&place)?;
        create(&place)?;
        let mut tar = Command::new("tar");
        run(tar.arg("-xzf").arg(tarball).arg("-C").arg(place).arg("--strip-components=1"))?;
    }
    Ok(())
}

fn test(node: &Path, folder: &Path, tests: impl IntoIterator<Item = PathBuf>) -> Result<(), Missing> {
    let mut command = Command::new(node);
    command.arg("--test").args(tests).current_dir(folder);
    // The addon of the package, not one of somebody's own.
    Ok(run(command.env_remove("DURWARD_NATIVE"))?)
}

/// The package's own folder.
pub(crate) fn ours() -> PathBuf {
    metadata::root().join("bindings/node")
}

/// Where packages are made.
fn folder() -> Result<PathBuf, String> {
    Ok(Metadata::read()?.target_directory.join("packages/node"))
}

/// The platform as its package is called.
fn platform() -> Result<String, String> {
    let processor = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    let library = if cfg!(target_env = "musl") { "musl" } else { "gnu" };
    let name = format!("{}-{processor}-{library}", std::env::consts::OS);
    if ours().join("npm").join(&name).is_dir() {
        Ok(name)
    } else {
        Err(format!("`bindings/node/npm` has no package for {name}"))
    }
}

pub(crate) fn tarballs(folder: &Path) -> Result<Vec<PathBuf>, String> {
    Ok(files(folder)?.into_iter().filter(|path| path.extension().is_some_and(|end| end == "tgz")).collect())
}

pub(crate) fn is_test(path: &Path) -> bool {
    path.to_string_lossy().ends_with(".test.mjs")
}

/// The files of a folder, not of those below it, sorted.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let cannot = |error: std::io::Error| format!("cannot read `{}`: {error}", folder.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(cannot)? {
        paths.push(entry.map_err(cannot)?.path());
    }
    paths.retain(|path| path.is_file());
    paths.sort();
    Ok(paths)
}

pub(crate) fn copy_files(from: &Path, to: &Path) -> Result<(), String> {
    create(to)?;
    for path in files(from)? {
        if let Some(name) = path.file_name() {
            copy(&path, &to.join(name))?;
        }
    }
    Ok(())
}

pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let copied = fs::copy(from, to);
    copied.map(drop).map_err(|error| format!("cannot copy `{}`: {error}", from.display()))
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), String> {
    path.parent().map_or(Ok(()), create)?;
    fs::write(path, text).map_err(|error| format!("cannot write `{}`: {error}", path.display()))
}

pub(crate) fn create(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("cannot make `{}`: {error}", folder.display()))
}

pub(crate) fn remove(folder: &Path) -> Result<(), String> {
    if !folder.exists() {
        return Ok(());
    }
    fs::remove_dir_all(folder).map_err(|error| format!("cannot remove `{}`: {error}", folder.display()))
}

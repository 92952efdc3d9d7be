//! `cargo xtask package wasm`: the package `@durward/wasm32`, made from files, installed with the package `durward` and without a network, and
//! asked in Node, in Deno and in a browser. Its tools are fetched: with npm, with cargo, and the browser with Debian. Nothing is published.

use crate::clients::{Missing, install};
use crate::lean;
use crate::metadata::{self, Metadata};
use crate::package_node;
use crate::package_node::{
    NPM_QUIET, copy, copy_files, create, files, is_test, outcome, remove, tarballs, write,
};
use crate::process::{cargo, locked, run};
use crate::report::Report;
use crate::tools::{self, CHROMIUM, NODE, NPM};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Small before fast; see `Cargo.toml`.
const PROFILE: &str = "web";

/// What of `bindings/node` is in this package, too.
const TYPES: [&str; 3] = ["index.d.mts", "index.d.ts", "web.d.mts"];

pub(crate) fn run_alone() -> ExitCode {
    let mut report = Report::new();
    report.step("WebAssembly: module", || outcome(module()));
    report.step("WebAssembly: package, installed without a network", || outcome(package()));
    report.step("WebAssembly: in Node", || outcome(in_node()));
    report.step("WebAssembly: in Deno", || outcome(in_deno()));
    report.step("WebAssembly: in Chromium", || outcome(in_chromium()));
    report.close()
}

/// Compiles the module, and has the JavaScript written that belongs to it.
fn module() -> Result<(), Missing> {
    let target = lean::installed(&[lean::WASM]).map_err(Missing::Tool)?;
    let metadata = Metadata::read()?;
    let version = metadata.packages.values().find(|package| package.name == "wasm-bindgen");
    let version = version.ok_or_else(|| "no crate `wasm-bindgen`".to_owned())?.version.clone();
    let mut build = cargo(&["build", "--package", "durward-wasm", "--profile", PROFILE, "--target", target]);
    run(build.args(locked()))?;
    let module = metadata.target_directory.join(target).join(PROFILE).join("durward_wasm.wasm");
    let mut bindgen = Command::new(tools::wasm_bindgen(&version)?);
    bindgen.args(["--target", "web", "--no-typescript", "--out-dir"]).arg(folder()?.join("glue"));
    Ok(run(bindgen.arg(module))?)
}

/// Bundles, packs and installs.
fn package() -> Result<(), Missing> {
    let (node, npm) = (install::tool(NODE)?, install::tool(NPM)?);
    let (ours, folder) = (ours(), folder()?);
    let (main, stage) = (folder.join("durward"), folder.join("wasm32"));
    for old in [&main, &stage, &fresh()?] {
        remove(old)?;
    }
    for old in tarballs(&create_folder(&folder)?)? {
        std::fs::remove_file(&old).map_err(|error| format!("cannot remove `{}`: {error}", old.display()))?;
    }
    copy_files(&package_node::ours(), &main)?;
    copy_files(&package_node::ours().join("lib"), &main.join("lib"))?;
    copy_files(&package_node::ours().join("npm/wasm32"), &stage)?;
    for name in TYPES {
        copy(&package_node::ours().join(name), &stage.join(name))?;
    }
    let build = tools_folder(&npm)?.join("build.mjs");
    copy(&ours.join("build.mjs"), &build)?;
    run(Command::new(&node).arg(build).arg(&ours).arg(folder.join("glue")).arg(&stage))?;
    for packed in [&main, &stage] {
        copy(&metadata::root().join("LICENSE"), &packed.join("LICENSE"))?;
        run(Command::new(&npm).args(["pack", "--pack-destination"]).arg(&folder).current_dir(packed))?;
    }
    let fresh = fresh()?;
    write(&fresh.join("package.json"), "{ \"private\": true }\n")?;
    let mut command = Command::new(&npm);
    command.args(["install", "--offline"]).args(NPM_QUIET).args(tarballs(&folder)?);
    run(command.current_dir(&fresh))?;
    copy_files(&package_node::ours().join("tests"), &fresh.join("tests"))?;
    copy_files(&ours.join("tests"), &fresh.join("tests"))?;
    // Its test has false modules.
    write(&fresh.join("js/package.json"), "{ \"type\": \"module\" }\n")?;
    copy(&ours.join("js/addon.js"), &fresh.join("js/addon.js"))?;
    let cases = metadata::root().join("crates/durward-embed/tests/cases.json");
    Ok(copy(&cases, &fresh.join("tests/cases.json"))?)
}

/// All tests of the package for Node, which falls back to this one since no other is installed; and its own.
fn in_node() -> Result<(), Missing> {
    let (node, fresh) = (install::tool(NODE)?, fresh()?);
    let tests = files(&fresh.join("tests"))?.into_iter().filter(|path| is_test(path));
    let mut command = Command::new(node);
    command.arg("--test").args(tests).current_dir(&fresh);
    Ok(run(command.env_remove("DURWARD_NATIVE").env_remove("DURWARD_WASM"))?)
}

fn in_deno() -> Result<(), Missing> {
    let (npm, fresh) = (install::tool(NPM)?, fresh()?);
    let deno = tools_folder(&npm)?.join("node_modules/.bin/deno");
    let script = fresh.join("tests/deno.mjs");
    let mut command = Command::new(deno);
    // To read the table of cases, and policies that it writes; the package itself asks for nothing.
    command.args(["run", "--no-lock", "--no-prompt", "--allow-read=.", "--allow-write=."]).arg(script);
    Ok(run(command.current_dir(&fresh).env("DENO_NO_UPDATE_CHECK", "1"))?)
}

fn in_chromium() -> Result<(), Missing> {
    let (node, npm) = (install::tool(NODE)?, install::tool(NPM)?);
    let (chromium, tools) = (install::tool(CHROMIUM)?, tools_folder(&npm)?);
    let script = tools.join("browser.mjs");
    copy(&ours().join("tests/browser.mjs"), &script)?;
    Ok(run(Command::new(node).arg(script).arg(fresh()?).env("CHROMIUM", chromium))?)
}

fn ours() -> PathBuf {
    metadata::root().join("bindings/wasm")
}

/// Where the package is made.
fn folder() -> Result<PathBuf, String> {
    Ok(Metadata::read()?.target_directory.join("packages/wasm"))
}

/// Where it is installed.
fn fresh() -> Result<PathBuf, String> {
    Ok(folder()?.join("fresh"))
}

fn create_folder(folder: &Path) -> Result<PathBuf, String> {
    create(folder).map(|()| folder.to_owned())
}

/// What of npm builds and tries the package, installed.
fn tools_folder(npm: &Path) -> Result<PathBuf, String> {
    let folder = folder()?.join("tools");
    for name in ["package.json", "package-lock.json"] {
        create(&folder)?;
        copy(&ours().join(name), &folder.join(name))?;
    }
    install::once(&folder, &folder.join("package-lock.json"), || {
        run(Command::new(npm).arg("ci").args(NPM_QUIET).current_dir(&folder))
    })?;
    Ok(folder)
}

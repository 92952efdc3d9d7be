//! Packages of others, put below the target directory, and the programs that drive them.

use super::Missing;
use crate::metadata::{self, Metadata};
use crate::process::run;
use crate::tools::{CHROMIUM, GO, JAVA, MAVEN, NODE, NPM, OPENSSL, PYTHON, Tool};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

impl From<String> for Missing {
    fn from(why: String) -> Missing {
        Missing::Broken(why)
    }
}

/// A program, or what is missing.
pub(crate) fn tool(tool: Tool) -> Result<PathBuf, Missing> {
    tool.get().map_err(Missing::Tool)
}

/// Where the scripts of a language are.
pub(super) fn scripts(language: &str) -> PathBuf {
    metadata::root().join("xtask/clients").join(language)
}

/// Where its packages are put.
pub(super) fn folder(language: &str) -> Result<PathBuf, String> {
    Ok(Metadata::read()?.target_directory.join("clients").join(language))
}

/// Installs unless what is asked for has been installed already, as the copy that is left behind says.
pub(crate) fn once(
    folder: &Path,
    wanted: &Path,
    install: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let read =
        |path: &Path| fs::read(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()));
    let (text, mark) = (read(wanted)?, folder.join("installed"));
    if read(&mark).is_ok_and(|installed| installed == text) {
        return Ok(());
    }
    install()?;
    fs::write(&mark, text).map_err(|error| format!("cannot write `{}`: {error}", mark.display()))
}

/// The Python of an environment in this folder, with these packages.
///
/// # Errors
/// There is no Python, or pip does not find a package.
pub(crate) fn python_environment(folder: &Path, requirements: &Path) -> Result<PathBuf, Missing> {
    python_packages(folder, requirements, &[])
}

/// The same; pip is told more.
///
/// # Errors
/// As [`python_environment`].
pub(crate) fn python_packages(folder: &Path, requirements: &Path, more: &[&str]) -> Result<PathBuf, Missing> {
    let python = tool(PYTHON)?;
    let own = folder.join("bin/python");
    once(folder, requirements, || {
        run(Command::new(python).args(["-m", "venv", "--clear"]).arg(folder))?;
        let mut pip = Command::new(&own);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]);
        run(pip.args(more).arg("--requirement").arg(requirements))
    })?;
    Ok(own)
}

/// SAPL's own package.
pub(super) fn python() -> Result<Command, Missing> {
    python_script("client.py")
}

/// A program of FastAPI, guarded by SAPL's own package.
pub(super) fn fastapi() -> Result<Command, Missing> {
    let mut command = python_script("frameworks.py")?;
    command.arg("fastapi");
    Ok(command)
}

/// A program of Flask, guarded by SAPL's own package.
pub(super) fn flask() -> Result<Command, Missing> {
    let mut command = python_script("frameworks.py")?;
    command.arg("flask");
    Ok(command)
}

/// A library for signed tokens that has nothing to do with durward.
pub(super) fn pyjwt() -> Result<Command, Missing> {
    python_script("tokens.py")
}

/// A script with all packages, in a virtual environment.
fn python_script(name: &str) -> Result<Command, Missing> {
    let scripts = scripts("python");
    // The package asks for a newer Python than it uses: all of it runs on 3.11.
    let more = ["--ignore-requires-python"];
    let own = python_packages(&folder("python")?, &scripts.join("requirements.txt"), &more)?;
    let mut command = Command::new(own);
    command.args(["-W", "ignore"]).arg(scripts.join(name));
    Ok(command)
}

/// SAPL's own package of the newest version that Maven Central has.
pub(super) fn java_sdk() -> Result<Command, Missing> {
    java("SdkClient")
}

/// The libraries that SAPL 4's own package is made of.
pub(super) fn java_wire() -> Result<Command, Missing> {
    java("WireClient")
}

fn java(class: &str) -> Result<Command, Missing> {
    let (java, maven) = (tool(JAVA)?, tool(MAVEN)?);
    let (folder, scripts) = (folder("java")?, scripts("java"));
    let mut build = Command::new(maven);
    build.args(["--quiet", "--batch-mode", "--no-transfer-progress", "--strict-checksums", "compile"]);
    build.arg(format!("-Dmaven.repo.local={}", folder.join("repository").display()));
    build.arg(format!("-Dclients.directory={}", folder.display())).current_dir(&scripts);
    run(&mut build)?;
    let libraries = folder.join("classpath");
    let libraries = fs::read_to_string(&libraries)
        .map_err(|error| format!("cannot read `{}`: {error}", libraries.display()))?;
    let mut command = Command::new(java);
    // Short runs: what compiles quickly is ready soonest.
    command.args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-cp"]);
    command.arg(format!("{}:{}", folder.join("classes").display(), libraries.trim())).arg(class);
    Ok(command)
}

/// A package of JavaScript that applications have their users log in with.
pub(super) fn openid_client() -> Result<Command, Missing> {
    let folder = node_packages("relying-party", &["relying-party.js", "browsers.js", "server.js"])?;
    let mut command = Command::new(tool(NODE)?);
    command.arg(folder.join("relying-party.js"));
    Ok(command)
}

/// The same, with a real browser.
pub(super) fn openid_client_and_chromium() -> Result<Command, Missing> {
    let chromium = tool(CHROMIUM)?;
    let mut command = openid_client()?;
    command.env("CHROMIUM", chromium);
    Ok(command)
}

/// Agents of OpenAM for applications, and its client for browsers.
pub(super) fn openam_agents() -> Result<Command, Missing> {
    let folder = node_packages("openam-agents", &["agents.js"])?;
    let mut command = Command::new(tool(NODE)?);
    command.arg("--no-warnings").arg(folder.join("agents.js"));
    Ok(command)
}

/// The authorization webhook of Kubernetes' API server, with its own reader of settings. Compiling it takes minutes, once.
pub(super) fn kubernetes() -> Result<Command, Missing> {
    let (go, _) = (tool(GO)?, tool(OPENSSL)?);
    let (folder, scripts) = (folder("kubernetes-client")?, scripts("kubernetes"));
    let program = folder.join("kubernetes");
    fs::create_dir_all(&folder).map_err(|error| format!("no folder: {error}"))?;
    let mut build = Command::new(go);
    build.args(["build", "-o"]).arg(&program).arg(".").current_dir(&scripts);
    run(build.env("CGO_ENABLED", "0").env("GOFLAGS", "-mod=readonly -buildvcs=false"))?;
    let mut command = Command::new(program);
    command.env("MANUAL", metadata::root().join("docs/kubernetes.md"));
    Ok(command)
}

/// Chromium and its authenticator, driven by the same packages.
pub(super) fn passkeys_and_chromium() -> Result<Command, Missing> {
    let chromium = tool(CHROMIUM)?;
    let folder = node_packages("relying-party", &["passkeys.js"])?;
    let mut command = Command::new(tool(NODE)?);
    command.arg(folder.join("passkeys.js")).env("CHROMIUM", chromium);
    Ok(command)
}

/// The libraries that SAPL's package for NestJS is made of.
pub(super) fn node() -> Result<Command, Missing> {
    let folder = node_packages("node", &["client.js"])?;
    let mut command = Command::new(tool(NODE)?);
    command.arg(folder.join("client.js")).arg(scripts("node").join("../sapl.proto"));
    Ok(command)
}

/// The folder in which these scripts stand beside the packages that they want.
fn node_packages(name: &str, programs: &[&str]) -> Result<PathBuf, Missing> {
    let npm = tool(NPM)?;
    let (folder, scripts) = (folder(name)?, scripts(name));
    let lock = scripts.join("package-lock.json");
    fs::create_dir_all(&folder).map_err(|error| format!("no folder: {error}"))?;
    for name in ["package.json", "package-lock.json"].iter().chain(programs) {
        let copied = fs::copy(scripts.join(name), folder.join(name));
        copied.map_err(|error| format!("cannot copy `{name}`: {error}"))?;
    }
    once(&folder, &lock, || {
        let mut install = Command::new(npm);
        install.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
        run(install.current_dir(&folder))
    })?;
    Ok(folder)
}

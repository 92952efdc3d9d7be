//! The programs: what each needs, installed beside the package as `cargo xtask package` has made it, and how it is started.

use crate::clients::{Missing, install};
use crate::metadata::{self, Metadata};
use crate::process::run;
use crate::report::Outcome;
use crate::tools::{self, MAVEN, NODE, NPM, PYTHON};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One of them.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// Its folder.
    pub(crate) short: &'static str,
    /// Puts all that it needs into a folder; the command that starts it, with places of the lab.
    pub(crate) install: fn(&Path) -> Result<Vec<String>, Missing>,
    /// By which header a request says who asks, and its value for a doctor, a nurse and a visitor.
    pub(crate) header: &'static str,
    pub(crate) roles: [&'static str; 3],
    /// The status of who says nothing.
    pub(crate) nobody: &'static str,
    /// Until its compiler is done.
    pub(crate) warm_up: &'static str,
}

const ROLES: [&str; 3] = ["doctor", "nurse", "visitor"];

pub(crate) const PROGRAMS: [Program; 4] = [
    Program {
        name: "Express",
        short: "express",
        install: express,
        header: "x-role",
        roles: ROLES,
        nobody: "403",
        warm_up: "5s",
    },
    Program {
        name: "Fastify",
        short: "fastify",
        install: fastify,
        header: "x-role",
        roles: ROLES,
        nobody: "403",
        warm_up: "5s",
    },
    Program {
        name: "FastAPI",
        short: "fastapi",
        install: fastapi,
        header: "x-role",
        roles: ROLES,
        nobody: "403",
        warm_up: "5s",
    },
    Program {
        name: "Spring Boot",
        short: "spring-boot",
        install: spring_boot,
        header: "Authorization",
        // `doctor:words` and so on.
        roles: ["Basic ZG9jdG9yOndvcmRz", "Basic bnVyc2U6d29yZHM=", "Basic dmlzaXRvcjp3b3Jkcw=="],
        nobody: "401",
        warm_up: "20s",
    },
];

/// What a missing tool or a failed installation is in the report.
pub(crate) fn outcome(result: Result<Vec<String>, Missing>) -> Result<Vec<String>, Outcome> {
    result.map_err(|missing| match missing {
        Missing::Tool(why) => Outcome::Skipped(why),
        Missing::Broken(why) => Outcome::Failed(why),
    })
}

fn express(folder: &Path) -> Result<Vec<String>, Missing> {
    node(folder, "express.mjs")
}

fn fastify(folder: &Path) -> Result<Vec<String>, Missing> {
    node(folder, "fastify.mjs")
}

/// The frameworks are those of the package's own tests, to the version.
fn node(folder: &Path, name: &str) -> Result<Vec<String>, Missing> {
    let (node, npm) = (install::tool(NODE)?, install::tool(NPM)?);
    let tarballs = files(&packages()?.join("node"), ".tgz");
    if tarballs.is_empty() {
        return Err(Missing::Broken("no packages: `cargo xtask package node` makes them".to_owned()));
    }
    fresh(folder)?;
    for file in ["package.json", "package-lock.json"] {
        copy(&metadata::root().join("bindings/node/tests/frameworks").join(file), &folder.join(file))?;
    }
    let quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    run(Command::new(&npm).arg("ci").args(quiet).current_dir(folder))?;
    run(Command::new(&npm)
        .args(["install", "--prefer-offline"])
        .args(quiet)
        .args(tarballs)
        .current_dir(folder))?;
    copy(&metadata::root().join("bindings/node/examples").join(name), &folder.join(name))?;
    Ok(words(&[&node, &folder.join(name)]))
}

fn fastapi(folder: &Path) -> Result<Vec<String>, Missing> {
    let python = install::tool(PYTHON)?;
    let examples = metadata::root().join("bindings/python/examples");
    let wheels = packages()?.join("python/wheels");
    if files(&wheels, ".whl").is_empty() {
        return Err(Missing::Broken("no wheel: `cargo xtask package python` makes it".to_owned()));
    }
    fresh(folder)?;
    let own = folder.join("environment/bin/python");
    run(Command::new(python).args(["-m", "venv"]).arg(folder.join("environment")))?;
    let pip = || {
        let mut pip = Command::new(&own);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        pip
    };
    run(pip().args(["--require-hashes", "--requirement"]).arg(examples.join("requirements.txt")))?;
    run(pip().args(["--no-index", "--no-deps", "--find-links"]).arg(wheels).arg("durward"))?;
    copy(&examples.join("records.py"), &folder.join("records.py"))?;
    let mut command = words(&[&own]);
    for word in ["-m", "uvicorn", "records:app", "--port", "{port}", "--log-level", "warning", "--app-dir"] {
        command.push(word.to_owned());
    }
    command.push(folder.display().to_string());
    Ok(command)
}

/// With the guard for Spring, built and tested first.
fn spring_boot(folder: &Path) -> Result<Vec<String>, Missing> {
    let maven = install::tool(MAVEN)?;
    let home = tools::java_home().map_err(Missing::Tool)?;
    if !home.join("bin/javac").is_file() {
        return Err(Missing::Tool("Maven wants a JDK: set JAVA_HOME".to_owned()));
    }
    let (java, ours) = (packages()?.join("java"), metadata::root().join("bindings/java"));
    if !java.join("natives").is_dir() {
        return Err(Missing::Broken("no jar: `cargo xtask package java` makes it".to_owned()));
    }
    fresh(folder)?;
    let build = |place: &str, goal: &str, name: &str, flag: &str| {
        let mut command = Command::new(&maven);
        command.args(["--quiet", "--batch-mode", "--no-transfer-progress", "--strict-checksums", flag, goal]);
        command.arg(format!("-Dmaven.repo.local={}", java.join("repository").display()));
        command.arg(format!("-Ddurward.natives={}", java.join("natives").display()));
        command.arg(format!("-Ddurward.build={}", folder.join(name).display()));
        run(command.env("JAVA_HOME", &home).current_dir(ours.join(place)))
    };
    build(".", "install", "durward", "-Dmaven.test.skip=true")?;
    build("spring", "install", "spring", "-Dmaven.test.skip=false")?;
    build("examples/spring-boot", "package", "program", "-Dmaven.test.skip=true")?;
    let mut command = words(&[&home.join("bin/java")]);
    for word in ["-Xmx256m", "--enable-native-access=ALL-UNNAMED", "-jar"] {
        command.push(word.to_owned());
    }
    command.push(folder.join("program/records-1.jar").display().to_string());
    command.extend(["--server.address=127.0.0.1".to_owned(), "--server.port={port}".to_owned()]);
    Ok(command)
}

/// Where `cargo xtask package` makes them.
fn packages() -> Result<PathBuf, String> {
    Ok(Metadata::read()?.target_directory.join("packages"))
}

fn words(paths: &[&Path]) -> Vec<String> {
    paths.iter().map(|path| path.display().to_string()).collect()
}

fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with(end)).collect()
}

fn fresh(folder: &Path) -> Result<(), String> {
    let emptied = match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => fs::create_dir_all(folder),
    };
    emptied.map_err(|error| format!("cannot empty `{}`: {error}", folder.display()))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to).map(drop).map_err(|error| format!("cannot copy `{}`: {error}", from.display()))
}

//! Stacks of others, put below the target directory, and the programs that drive them.

use crate::clients::Missing;
use crate::clients::install::{once, tool};
use crate::metadata::{self, Metadata};
use crate::process::{cargo, locked, output_of, run};
use crate::tools::{C_COMPILER, CMAKE, JAVA, MAVEN, NODE, NPM, PYTHON};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// A program that is server and client of one stack.
#[derive(Clone)]
pub(super) struct Installed {
    /// What it is run with, and itself.
    words: Vec<OsString>,
    /// The ApplicationUri of its client, which its program knows too.
    pub(super) client_uri: &'static str,
    /// That of its server.
    pub(super) server_uri: &'static str,
}

impl Installed {
    fn command(&self) -> Command {
        let mut words = self.words.iter();
        let mut command = Command::new(words.next().cloned().unwrap_or_default());
        command.args(words);
        command
    }

    /// A client with the certificates of a directory.
    pub(super) fn client(&self, pki: &Path) -> Command {
        let mut command = self.command();
        command.arg("client").arg(pki);
        command
    }

    /// A server that lets in one user, by password.
    pub(super) fn server(&self, pki: &Path, port: u16, [name, password]: [&str; 2]) -> Command {
        let mut command = self.command();
        command.arg("server").arg(pki).args([&port.to_string(), name, password]);
        command
    }
}

/// One installation at a time: two peers may want the same package.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn scripts(name: &str) -> PathBuf {
    metadata::root().join("xtask/opcua").join(name)
}

fn folder(name: &str) -> Result<PathBuf, String> {
    let folder = Metadata::read()?.target_directory.join("clients/opcua").join(name);
    fs::create_dir_all(&folder).map_err(|error| format!("no folder `{}`: {error}", folder.display()))?;
    Ok(folder)
}

/// A package of Python in a virtual environment.
pub(super) fn asyncua() -> Result<Installed, Missing> {
    let _one = ONE_AT_A_TIME.lock();
    let python = tool(PYTHON)?;
    let (folder, scripts) = (folder("asyncua")?, scripts("asyncua"));
    let own = folder.join("bin/python");
    let requirements = scripts.join("requirements.txt");
    once(&folder, &requirements, || {
        run(Command::new(python).args(["-m", "venv", "--clear"]).arg(&folder))?;
        let mut pip = Command::new(&own);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]);
        run(pip.arg("--requirement").arg(&requirements))
    })?;
    Ok(Installed {
        words: vec![own.into(), "-W".into(), "ignore".into(), scripts.join("peer.py").into()],
        client_uri: "urn:durward:peer:asyncua",
        server_uri: "urn:durward:peer:asyncua:server",
    })
}

/// Packages of npm.
pub(super) fn node() -> Result<Installed, Missing> {
    let _one = ONE_AT_A_TIME.lock();
    let (node, npm) = (tool(NODE)?, tool(NPM)?);
    let (folder, scripts) = (folder("node-opcua")?, scripts("node-opcua"));
    for name in ["package.json", "package-lock.json", "peer.js"] {
        let copied = fs::copy(scripts.join(name), folder.join(name));
        copied.map_err(|error| format!("cannot copy `{name}`: {error}"))?;
    }
    once(&folder, &scripts.join("package-lock.json"), || {
        let mut install = Command::new(npm);
        install.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
        run(install.current_dir(&folder))
    })?;
    Ok(Installed {
        words: vec![node.into(), folder.join("peer.js").into()],
        client_uri: "urn:durward:peer:node-opcua",
        server_uri: "urn:durward:peer:node-opcua:server",
    })
}

/// Packages of Maven Central, and a program in Java.
pub(super) fn milo() -> Result<Installed, Missing> {
    let _one = ONE_AT_A_TIME.lock();
    let (java, maven) = (tool(JAVA)?, tool(MAVEN)?);
    let (folder, scripts) = (folder("milo")?, scripts("milo"));
    let mut build = Command::new(maven);
    build.args(["--quiet", "--batch-mode", "--no-transfer-progress", "--strict-checksums", "compile"]);
    build.arg(format!("-Dmaven.repo.local={}", folder.join("repository").display()));
    build.arg(format!("-Dpeer.directory={}", folder.display())).current_dir(&scripts);
    run(&mut build)?;
    let libraries = folder.join("classpath");
    let libraries = fs::read_to_string(&libraries)
        .map_err(|error| format!("cannot read `{}`: {error}", libraries.display()))?;
    let classpath = format!("{}:{}", folder.join("classes").display(), libraries.trim());
    // Short runs: what compiles quickly is ready soonest.
    let flags = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-cp"];
    let mut words = vec![OsString::from(java)];
    words.extend(flags.map(OsString::from));
    words.extend([classpath.into(), "Peer".into()]);
    Ok(Installed { words, client_uri: "urn:durward:peer:milo", server_uri: "urn:durward:peer:milo:server" })
}

/// A library in C, whose source crates.io carries in `open62541-sys`, and a program in C: bindings would want libclang, and `unsafe` in each
/// line of ours.
pub(super) fn open62541() -> Result<Installed, Missing> {
    let _one = ONE_AT_A_TIME.lock();
    let (cmake, compiler) = (tool(CMAKE)?, tool(C_COMPILER)?);
    // The library makes part of its code by scripts.
    tool(PYTHON)?;
    let (folder, scripts) = (folder("open62541")?, scripts("open62541"));
    once(&folder, &scripts.join("Cargo.lock"), || library(&cmake, &folder, &scripts))?;
    let (program, source) = (folder.join("peer"), scripts.join("peer.c"));
    let (include, libraries) = (folder.join("out/include"), folder.join("out/lib"));
    let mark = folder.join("program");
    fs::create_dir_all(&mark).map_err(|error| format!("no folder: {error}"))?;
    once(&mark, &source, || {
        let mut compile = Command::new(compiler);
        compile
            .args(["-std=gnu11", "-O1", "-Wall", "-Werror", "-o"])
            .arg(&program)
            .arg(&source)
            .arg("-I")
            .arg(&include);
        compile.arg("-L").arg(&libraries);
        run(compile.args([
            "-lopen62541",
            "-lmbedtls",
            "-lmbedx509",
            "-lmbedcrypto",
            "-lpthread",
            "-lm",
            "-lrt",
        ]))
    })?;
    Ok(Installed {
        words: vec![program.into()],
        client_uri: "urn:durward:peer:open62541",
        server_uri: "urn:durward:peer:open62541:server",
    })
}

/// Builds the library and the cryptography that comes with it.
fn library(cmake: &Path, folder: &Path, scripts: &Path) -> Result<(), String> {
    let manifest = scripts.join("Cargo.toml").display().to_string();
    let words = ["metadata", "--format-version", "1", "--manifest-path", &manifest];
    let metadata = output_of(cargo(&words).args(locked()))?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let source = source_of(&metadata, "open62541-sys").ok_or("cargo metadata names no open62541-sys")?;
    let out = folder.join("out");
    let define = |name: &str, value: &Path| format!("-D{name}={}", value.display());
    let build = |name: &str, flags: &[String]| {
        let directory = folder.join(name);
        let mut configure = Command::new(cmake);
        configure.arg("-S").arg(source.join(name)).arg("-B").arg(&directory).args(flags);
        // Somebody else's warnings, and a program that lives for a minute.
        configure.args(["-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O1 -w", "-DCMAKE_INSTALL_LIBDIR=lib"]);
        configure.arg("-DCMAKE_MESSAGE_LOG_LEVEL=WARNING");
        // Nothing is written beside the source.
        run(configure.arg(define("CMAKE_INSTALL_PREFIX", &out)).env("PYTHONDONTWRITEBYTECODE", "1"))?;
        let mut build = Command::new(cmake);
        build.arg("--build").arg(&directory).args([
            "--parallel",
            "2",
            "--target",
            "install",
            "--",
            "--silent",
        ]);
        run(build.env("PYTHONDONTWRITEBYTECODE", "1"))
    };
    let flags = ["ENABLE_PROGRAMS=OFF", "ENABLE_TESTING=OFF", "MBEDTLS_FATAL_WARNINGS=OFF"];
    build("mbedtls", &flags.map(|flag| format!("-D{flag}")))?;
    let (include, libraries) = (out.join("include"), out.join("lib"));
    let mut flags: Vec<String> = vec![
        "-DUA_ENABLE_ENCRYPTION=MBEDTLS".to_owned(),
        "-DUA_ENABLE_DEBUG_SANITIZER=OFF".to_owned(),
        "-DUA_ENABLE_PUBSUB=OFF".to_owned(),
        "-DUA_BUILD_EXAMPLES=OFF".to_owned(),
        "-DCMAKE_INTERPROCEDURAL_OPTIMIZATION=OFF".to_owned(),
        define("MBEDTLS_FOLDER_INCLUDE", &include),
        define("MBEDTLS_FOLDER_LIBRARY", &libraries),
    ];
    for library in ["MBEDTLS", "MBEDX509", "MBEDCRYPTO"] {
        flags.push(define(&format!("{library}_INCLUDE_DIRS"), &include));
        flags.push(define(&format!("{library}_LIBRARY"), &libraries));
    }
    build("open62541", &flags)
}

/// Where the source of a package lies.
fn source_of(metadata: &Value, name: &str) -> Option<PathBuf> {
    let packages = metadata.get("packages")?.as_array()?;
    let package =
        packages.iter().find(|package| package.get("name").and_then(Value::as_str) == Some(name))?;
    Some(Path::new(package.get("manifest_path")?.as_str()?).parent()?.to_path_buf())
}

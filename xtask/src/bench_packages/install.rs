//! The packages as their users install them, packages of others beside them, and the programs that ask both.

use crate::clients::{Missing, install as installed};
use crate::driven::pinned;
use crate::metadata::{self, Metadata};
use crate::process::{cargo, locked, run};
use crate::release;
use crate::tools::{self, C_COMPILER, GO, NODE, NPM};
use crate::{package_c, package_java, package_node, package_python};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A language, and how its program is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Language {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// What a question given as text may cost beyond Rust, in nanoseconds.
    pub(super) aim_ns: Option<f64>,
    make: fn(&Place) -> Result<Command, Missing>,
}

/// What is compared with.
pub(super) const RUST: &str = "rust";

pub(super) const LANGUAGES: [Language; 6] = [
    Language { name: RUST, title: "Rust", aim_ns: None, make: rust },
    Language { name: "c", title: "C", aim_ns: None, make: c },
    Language { name: "java", title: "Java", aim_ns: Some(100.0), make: java },
    Language { name: "node", title: "Node", aim_ns: Some(700.0), make: node },
    Language { name: "python", title: "Python", aim_ns: Some(300.0), make: python },
    Language { name: "go", title: "Go", aim_ns: None, make: go },
];

/// Where things are put, and the questions.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) folder: PathBuf,
    pub(super) questions: PathBuf,
}

impl Language {
    /// Builds and installs all of it; the program to start.
    ///
    /// # Errors
    /// What is missing or went wrong.
    pub(super) fn install(self, place: &Place) -> Result<Command, String> {
        let mut command = (self.make)(place).map_err(|missing| match missing {
            Missing::Tool(why) | Missing::Broken(why) => why,
        })?;
        // The packages that were built, not some of somebody's own.
        command.env_remove("DURWARD_NATIVE").env_remove("PYTHONPATH").env_remove("LD_LIBRARY_PATH");
        Ok(command)
    }
}

/// Where the programs are.
fn programs() -> PathBuf {
    metadata::root().join("xtask/bench-packages")
}

fn policies() -> PathBuf {
    programs().join("policies")
}

impl Place {
    /// The folder of a language, made if it is missing.
    fn of(&self, language: &str) -> Result<PathBuf, String> {
        let folder = self.folder.join(language);
        let made = fs::create_dir_all(&folder);
        made.map_err(|error| format!("no folder `{}`: {error}", folder.display()))?;
        Ok(folder)
    }

    /// The program with what each is told.
    fn told(&self, program: &Path, arguments: &[&Path]) -> Command {
        let mut command = pinned(program);
        command.args(arguments).arg(&self.questions).arg(policies());
        command
    }
}

fn rust(place: &Place) -> Result<Command, Missing> {
    run(cargo(&[
        "build",
        "--profile",
        release::OPTIMISED,
        "--package",
        "durward-embed",
        "--example",
        "bench",
    ])
    .args(locked()))?;
    let program = Metadata::read()?.target_directory.join(release::OPTIMISED).join("examples/bench");
    Ok(place.told(&program, &[]))
}

fn c(place: &Place) -> Result<Command, Missing> {
    let compiler = installed::tool(C_COMPILER)?;
    package_c::stage()?;
    let prefix = package_c::prefix(&Metadata::read()?);
    let (lib, program) = (prefix.join("lib"), place.of("c")?.join("bench"));
    let mut command = Command::new(compiler);
    command.args(["-std=c99", "-O2"]).arg(programs().join("c/bench.c")).arg("-I").arg(prefix.join("include"));
    command.arg("-L").arg(&lib).arg("-ldurward").arg(format!("-Wl,-rpath,{}", lib.display()));
    run(command.arg("-o").arg(&program))?;
    Ok(place.told(&program, &[]))
}

/// The versions of packages of others, as the pom has them, are told to the program: the packages do not say them.
fn java(place: &Place) -> Result<Command, Missing> {
    let (maven, home) = package_java::tool_and_home().map_err(Missing::Tool)?;
    package_java::build(&maven, &home)?;
    let (folder, source) = (place.of("java")?, programs().join("java"));
    let classpath = folder.join("classpath");
    let mut command = Command::new(maven);
    command.args(["--quiet", "--batch-mode", "--no-transfer-progress", "--strict-checksums"]);
    command.arg("org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath");
    command.arg(format!("-Dmdep.outputFile={}", classpath.display()));
    command.arg(format!("-Dmaven.repo.local={}", folder.join("repository").display()));
    run(command.env("JAVA_HOME", &home).current_dir(&source))?;
    let jars = format!("{}:{}", package_java::jar()?.display(), read(&classpath)?.trim());
    let mut compiler = Command::new(home.join("bin/javac"));
    compiler.args(["--release", "22", "-proc:none", "-cp", &jars, "-d"]).arg(&folder);
    run(compiler.arg(source.join("Bench.java")))?;
    let pom = read(&source.join("pom.xml"))?;
    let mut command = pinned(&home.join("bin/java"));
    command.args(["-XX:+UseSerialGC", "-Xmx1g", "--enable-native-access=ALL-UNNAMED", "-cp"]);
    command.arg(format!("{}:{jars}", folder.display())).arg("Bench").arg(&place.questions).arg(policies());
    command.args([version_in(&pom, "cedar-java"), version_in(&pom, "jcasbin")]);
    Ok(command)
}

/// The version that follows the name of an artifact.
fn version_in<'p>(pom: &'p str, artifact: &str) -> &'p str {
    let after = pom.split_once(&format!("<artifactId>{artifact}</artifactId>"));
    let version = after.and_then(|(_, rest)| rest.split_once("<version>")?.1.split_once("</version>"));
    version.map_or("", |(version, _)| version)
}

fn node(place: &Place) -> Result<Command, Missing> {
    let (node, npm) = (installed::tool(NODE)?, installed::tool(NPM)?);
    package_node::pack()?;
    let (folder, source) = (place.of("node")?, programs().join("node"));
    for name in ["package.json", "package-lock.json", "bench.mjs"] {
        copy(&source.join(name), &folder.join(name))?;
    }
    installed::once(&folder, &source.join("package-lock.json"), || {
        run(Command::new(&npm).arg("ci").args(package_node::NPM_QUIET).current_dir(&folder))
    })?;
    package_node::unpack_into(&folder)?;
    let mut command = place.told(&node, &[Path::new("bench.mjs")]);
    // Without it, the program leaves opa-wasm out and says so.
    command.arg(wasm(&folder).unwrap_or_else(|why| PathBuf::from(format!("no policy for it: {why}"))));
    command.current_dir(folder);
    Ok(command)
}

/// The policy of OPA in WebAssembly.
fn wasm(folder: &Path) -> Result<PathBuf, String> {
    let bundle = folder.join("bundle.tar.gz");
    let mut opa = Command::new(tools::opa()?);
    opa.args(["build", "--target", "wasm", "--entrypoint", "doctors/allow", "--output"]).arg(&bundle);
    run(opa.arg(policies().join("doctors.rego")))?;
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--gzip", "--file"]).arg(&bundle).arg("--directory").arg(folder);
    run(tar.arg("/policy.wasm"))?;
    Ok(folder.join("policy.wasm"))
}

fn python(place: &Place) -> Result<Command, Missing> {
    package_python::build()?;
    let source = programs().join("python");
    let own = package_python::environment("bench", &source.join("requirements.txt"))?;
    package_python::install_wheel(&own)?;
    Ok(place.told(&own, &[&source.join("bench.py")]))
}

/// With the library for C that was built for that language.
fn go(place: &Place) -> Result<Command, Missing> {
    let go = installed::tool(GO)?;
    if !metadata::root().join("bindings/go").is_dir() {
        return Err(Missing::Tool("there is no package for it yet".to_owned()));
    }
    package_c::stage()?;
    let program = place.of("go")?.join("bench");
    run(Command::new(go).args(["build", "-o"]).arg(&program).arg(".").current_dir(programs().join("go")))?;
    let library = package_c::prefix(&Metadata::read()?).join("lib/libdurward.so");
    let mut command = place.told(&program, &[]);
    command.arg(library);
    Ok(command)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let copied = fs::copy(from, to);
    copied.map(drop).map_err(|error| format!("cannot copy `{}`: {error}", from.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_pom() {
        let pom = fs::read_to_string(programs().join("java/pom.xml")).unwrap();
        assert!(version_in(&pom, "cedar-java").starts_with("4."));
        assert_eq!(version_in(&pom, "nothing"), "");
    }
}

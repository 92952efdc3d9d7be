//! `cargo xtask package c`: the libraries for C as somebody installs them, and programs that find them there with pkg-config and CMake. Then the
//! tests of the package with what was installed, under valgrind too. Nothing is published.

use crate::metadata::{self, Metadata};
use crate::process::{cargo, locked, output_of, run};
use crate::release;
use crate::report::{Outcome, Report};
use crate::tools::{self, CMAKE, VALGRIND};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

pub(crate) fn run_alone() -> ExitCode {
    let mut report = Report::new();
    report.step(STAGED, || Outcome::of(stage()));
    if report.has_passed(STAGED) {
        report
            .step("C: found by pkg-config", || found_by(tools::find("pkg-config"), "pkg-config", pkg_config));
        report.step("C: found by CMake", || found_by(CMAKE.get().ok(), "cmake", cmake));
        report.step("C: tests with what is installed", || Outcome::of(tests("")));
        report.step("C: tests under valgrind", || match VALGRIND.get() {
            Ok(valgrind) => Outcome::of(tests(&valgrind.to_string_lossy())),
            Err(why) => Outcome::Skipped(why),
        });
    }
    report.close()
}

const STAGED: &str = "C: libraries";

/// Builds the libraries, optimised, and puts them where `include`, `lib` and the rest are to be.
pub(crate) fn stage() -> Result<(), String> {
    run(cargo(&["build", "--profile", release::OPTIMISED, "--package", "durward-c"]).args(locked()))?;
    let data = Metadata::read()?;
    let version = version(&data)?;
    let soname = soname(&version);
    let (built, prefix, ours) = (data.target_directory.join(release::OPTIMISED), prefix(&data), ours());
    remove(&prefix)?;
    let lib = prefix.join("lib");
    let full = format!("libdurward.so.{version}");
    copy(&ours.join("include/durward.h"), &prefix.join("include/durward.h"))?;
    copy(&built.join("libdurward.so"), &lib.join(&full))?;
    copy(&built.join("libdurward.a"), &lib.join("libdurward.a"))?;
    link(&full, &lib.join(format!("libdurward.so.{soname}")))?;
    link(&full, &lib.join("libdurward.so"))?;
    for (name, place) in [("durward.pc", "lib/pkgconfig"), ("durward-config.cmake", "lib/cmake/durward")] {
        let text = read(&ours.join("packaging").join(name))?;
        let text = text.replace("@VERSION@", &version).replace("@SONAME@", &soname);
        write(&prefix.join(place).join(name), &text)?;
    }
    copy(&metadata::root().join("LICENSE"), &prefix.join("share/doc/durward/LICENSE"))?;
    copy(&ours.join("README.md"), &prefix.join("share/doc/durward/README.md"))
}

fn found_by(tool: Option<PathBuf>, name: &str, check: fn(&Path) -> Result<(), String>) -> Outcome {
    match tool {
        Some(tool) => Outcome::of(check(&tool)),
        None => Outcome::Skipped(format!("no `{name}`: apt-get install {name}")),
    }
}

/// The README's program, compiled as the README says.
fn pkg_config(pkg_config: &Path) -> Result<(), String> {
    let prefix = prefix(&Metadata::read()?);
    let mut asked = Command::new(pkg_config);
    asked.args(["--cflags", "--libs", "durward"]).env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    let flags = output_of(&mut asked)?;
    let program = prefix.with_file_name("c-readme");
    let mut compiler = Command::new("cc");
    compiler.arg(ours().join("tests/readme.c")).args(flags.split_whitespace()).arg("-o").arg(&program);
    run(&mut compiler)?;
    says_what_the_readme_says(Command::new(&program).env("LD_LIBRARY_PATH", prefix.join("lib")))
}

fn cmake(cmake: &Path) -> Result<(), String> {
    let prefix = prefix(&Metadata::read()?);
    let folder = prefix.with_file_name("c-cmake");
    remove(&folder)?;
    copy(&ours().join("packaging/CMakeLists.txt"), &folder.join("CMakeLists.txt"))?;
    copy(&ours().join("tests/readme.c"), &folder.join("readme.c"))?;
    let build = folder.join("build");
    let mut configure = Command::new(cmake);
    configure.arg("-S").arg(&folder).arg("-B").arg(&build);
    run(configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())))?;
    run(Command::new(cmake).arg("--build").arg(&build))?;
    for name in ["readme-shared", "readme-static"] {
        says_what_the_readme_says(&mut Command::new(build.join(name)))?;
    }
    Ok(())
}

fn says_what_the_readme_says(program: &mut Command) -> Result<(), String> {
    let said = output_of(program)?;
    let readme = read(&ours().join("README.md"))?;
    if readme.contains(&format!("It prints `{}`", said.trim_end())) {
        Ok(())
    } else {
        Err(format!("the README's program prints `{}`, which the README does not say", said.trim_end()))
    }
}

/// The package's own tests, told where it is installed and what runs their programs.
fn tests(runner: &str) -> Result<(), String> {
    let prefix = prefix(&Metadata::read()?);
    let mut command = cargo(&["test", "--package", "durward-c", "--test", "package"]);
    command.args(locked()).args(["--", "programs::"]);
    run(command.env("DURWARD_C_PREFIX", prefix).env("DURWARD_C_RUNNER", runner))
}

fn ours() -> PathBuf {
    metadata::root().join("bindings/c")
}

/// Where the package is installed.
pub(crate) fn prefix(data: &Metadata) -> PathBuf {
    data.target_directory.join("packages/c")
}

fn version(data: &Metadata) -> Result<String, String> {
    let package = data.members().find(|package| package.name == "durward-c");
    package.map(|package| package.version.clone()).ok_or_else(|| "no crate `durward-c`".to_owned())
}

/// As the build script of the crate names it: major and minor.
fn soname(version: &str) -> String {
    version.rsplit_once('.').map_or(version, |(soname, _)| soname).to_owned()
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    create_above(to)?;
    let copied = fs::copy(from, to);
    copied.map(drop).map_err(|error| format!("cannot copy `{}`: {error}", from.display()))
}

fn link(to: &str, place: &Path) -> Result<(), String> {
    let linked = std::os::unix::fs::symlink(to, place);
    linked.map_err(|error| format!("cannot make `{}`: {error}", place.display()))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    create_above(path)?;
    fs::write(path, text).map_err(|error| format!("cannot write `{}`: {error}", path.display()))
}

fn create_above(path: &Path) -> Result<(), String> {
    let Some(folder) = path.parent() else { return Ok(()) };
    fs::create_dir_all(folder).map_err(|error| format!("cannot make `{}`: {error}", folder.display()))
}

fn remove(folder: &Path) -> Result<(), String> {
    if !folder.exists() {
        return Ok(());
    }
    fs::remove_dir_all(folder).map_err(|error| format!("cannot remove `{}`: {error}", folder.display()))
}

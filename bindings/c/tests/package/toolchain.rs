//! Compiles programs in C against the header, and runs them with the library that cargo has built.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How a program gets the library, and what looks over its shoulder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Shared,
    Static,
    /// Bounds, lifetimes, leaks and undefined behaviour are watched, and end the program.
    Sanitized,
}

/// The folder of this package.
pub(crate) fn package() -> PathBuf {
    durward_testdata::workspace().join("bindings/c")
}

/// Where the package is installed whose tests these are; nothing for what cargo has just built. `cargo xtask package c` says it.
fn prefix() -> Option<PathBuf> {
    std::env::var_os("DURWARD_C_PREFIX").map(PathBuf::from)
}

pub(crate) fn include() -> PathBuf {
    prefix().unwrap_or_else(package).join("include")
}

/// A library: of the package, or as cargo has built it beside this test.
pub(crate) fn built(name: &str) -> PathBuf {
    if let Some(prefix) = prefix() {
        return prefix.join("lib").join(name);
    }
    let test = std::env::current_exe().unwrap();
    let found = test.ancestors().skip(1).take(2).map(|folder| folder.join(name)).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("no `{name}` beside {}", test.display()))
}

/// Whether there is a compiler of C.
pub(crate) fn has_compiler() -> bool {
    durward_testdata::has_program("cc", "--version", "apt-get install gcc")
}

/// A folder of its own for one test; with the shared library, by the names that linker and loader look for.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("durward-c-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["libdurward.so".to_owned(), soname()] {
        std::os::unix::fs::symlink(built("libdurward.so"), folder.join(name)).unwrap();
    }
    folder
}

/// As `build.rs` names it.
fn soname() -> String {
    format!("libdurward.so.{}.{}", env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"))
}

const STRICT: [&str; 7] = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-g"];

/// What the standard library of Rust is linked with, as `rustc --print native-static-libs` says.
const NATIVE: [&str; 5] = ["-lgcc_s", "-lutil", "-lpthread", "-lm", "-ldl"];

/// Compiles `tests/NAME.c`.
pub(crate) fn compile(folder: &Path, name: &str, how: How) -> PathBuf {
    let (package, program) = (package(), folder.join(format!("{name}-{how:?}")));
    let mut command = Command::new("cc");
    command.args(STRICT).arg("-pthread").arg("-I").arg(include());
    if how == How::Sanitized {
        command.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
    }
    command.arg(package.join(format!("tests/{name}.c"))).arg("-o").arg(&program);
    match how {
        How::Static => command.arg(built("libdurward.a")).args(NATIVE),
        How::Shared | How::Sanitized => {
            command.arg("-L").arg(folder).arg("-ldurward").arg(format!("-Wl,-rpath,{}", folder.display()))
        }
    };
    finish(&mut command, "");
    program
}

/// Runs to the end, which must be a good one; what it wrote.
pub(crate) fn finish(command: &mut Command, input: &str) -> String {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    // On a thread of its own: it may write before it has read all. What ends early says so by how it ends.
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    let written = writer.join().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    written.unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The program, run by valgrind where that is named. What is still reachable at the end is state of the standard library's threads.
fn runner(program: &Path, how: How) -> Command {
    match std::env::var("DURWARD_C_RUNNER") {
        Ok(valgrind) if !valgrind.is_empty() && how != How::Sanitized => {
            let mut command = Command::new(valgrind);
            command.args(["--quiet", "--error-exitcode=9", "--leak-check=full", "--fair-sched=yes"]);
            command.args(["--errors-for-leak-kinds=definite", "--show-leak-kinds=definite"]).arg(program);
            command
        }
        _ => Command::new(program),
    }
}

/// Compiles and runs it; the number of checks that it says it made.
pub(crate) fn checks(name: &str, how: How, input: &str) -> u32 {
    let folder = folder(&format!("{name}-{how:?}"));
    let said = finish(&mut runner(&compile(&folder, name, how), how), input);
    std::fs::remove_dir_all(&folder).unwrap();
    let number = said.strip_suffix(" checks\n").and_then(|number| number.parse().ok());
    number.unwrap_or_else(|| panic!("{name}: {said}"))
}

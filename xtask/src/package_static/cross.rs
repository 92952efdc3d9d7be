//! Builds for targets without glibc: cargo compiles Rust, Zig's C compiler everything else, and links all of it with musl.
//!
//! Both come from PyPI, to the version. Where Rust offers no compiled standard library for a target, it is compiled from its source.

use crate::clients::{Missing, install};
use crate::lean;
use crate::metadata::{self, Metadata};
use crate::package_static::Kind;
use crate::package_static::plan::StaticPlan;
use crate::process::{locked, output_of, run, without_our_package};
use crate::report::on_build_machine;
use crate::tools;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The features of each kind.
const FULL: [&str; 2] = ["--features", "full"];
const MINIMAL: [&str; 3] = ["--no-default-features", "--features", "xacml,http"];

/// What sits between cargo and the C compiler.
pub(crate) struct Compiler {
    /// The programs of the environment that pip made.
    programs: PathBuf,
}

impl Compiler {
    /// Finds it below the target directory; pip installs it there when it is missing.
    ///
    /// # Errors
    /// What is missing, and how to get it.
    pub(crate) fn find() -> Result<Compiler, Missing> {
        let folder = Metadata::read()?.target_directory.join("static/compiler");
        let requirements = metadata::root().join("packaging/static/build-requirements.txt");
        let python = install::python_environment(&folder, &requirements)?;
        let programs = python.parent().unwrap_or(&folder).to_path_buf();
        Ok(Compiler { programs })
    }

    pub(crate) fn version(&self) -> Result<String, String> {
        let zig = output_of(Command::new(self.programs.join("python")).args(["-m", "ziglang", "version"]))?;
        let mut command = Command::new(self.programs.join("cargo-zigbuild"));
        Ok(format!("zig {}, {}", zig.trim(), output_of(command.arg("--version"))?.trim()))
    }

    /// It calls the Python that is found first, and has that call Zig.
    fn path(&self) -> Result<OsString, String> {
        let before = env::var_os("PATH").unwrap_or_default();
        let all = [self.programs.clone()].into_iter().chain(env::split_paths(&before));
        env::join_paths(all).map_err(|error| format!("no PATH for the compiler: {error}"))
    }
}

/// One build: from where, to where, of what.
pub(crate) struct Build {
    /// The workspace.
    pub(crate) source: PathBuf,
    /// Cargo's target directory.
    pub(crate) out: PathBuf,
    target: String,
    profile: String,
    features: &'static [&'static str],
}

impl Build {
    /// Of this clone, below `folder`: other flags than those of other builds would have these built again.
    pub(crate) fn of_tree(plan: &StaticPlan, target: &str, folder: &Path) -> Build {
        let features: &'static [&'static str] = match plan.kind {
            Kind::Full => &FULL,
            Kind::Minimal => &MINIMAL,
        };
        let out = folder.join(match plan.kind {
            Kind::Full => "full",
            Kind::Minimal => "minimal",
        });
        let (target, profile) = (target.to_owned(), plan.profile.clone());
        Build { source: metadata::root(), out, target, profile, features }
    }

    pub(crate) fn binary(&self) -> PathBuf {
        self.out.join(&self.target).join(&self.profile).join("durward")
    }

    /// Builds; where the binary is.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn run(&self, compiler: &Compiler) -> Result<PathBuf, String> {
        let mut command = Command::new(compiler.programs.join("cargo-zigbuild"));
        command.args(["zigbuild", "--package", "durward", "--profile", &self.profile]);
        command.args(["--target", &self.target]).args(self.features).args(locked());
        without_our_package(&mut command);
        command.current_dir(&self.source).env("PATH", compiler.path()?).env("CARGO_TARGET_DIR", &self.out);
        let paths = self.paths()?;
        let mut rust = remapped("--remap-path-prefix=", &paths);
        let c = remapped("-ffile-prefix-map=", &paths);
        if lean::installed(&[self.target.as_str()]).is_err() {
            standard_library_from_source()?;
            // Rust 1.95 compiles it on nightly only, or when it is told so.
            command.args(["-Z", "build-std=std,panic_unwind"]).env("RUSTC_BOOTSTRAP", "1");
            // The compiled library would bring musl's objects; the linker has its own.
            rust.push("-Clink-self-contained=no".to_owned());
        }
        // The form of flags whose paths may have blanks.
        command.env("CARGO_ENCODED_RUSTFLAGS", rust.join("\u{1f}")).env_remove("RUSTFLAGS");
        let name = self.target.replace('-', "_");
        command.env(format!("CFLAGS_{name}"), c.join(" "));
        run(&mut command)?;
        Ok(self.binary())
    }

    /// Folders of this machine, and what the binary calls them: texts of panics name source files. Of those that apply to a path the
    /// last one counts.
    fn paths(&self) -> Result<Vec<(PathBuf, String)>, String> {
        let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo"));
        let cargo = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home);
        let sysroot = output_of(lean::at_root("rustc").args(["--print", "sysroot"]))?;
        let sysroot = PathBuf::from(sysroot.trim());
        let mut paths =
            vec![(self.source.clone(), "/durward".to_owned()), (self.out.clone(), "/target".to_owned())];
        let library = sysroot.join("lib/rustlib/src/rust");
        paths.push((sysroot, "/rust".to_owned()));
        paths.push((library, library_name(&output_of(lean::at_root("rustc").arg("-vV"))?)?));
        paths.extend(cargo.map(|folder| (folder, "/cargo".to_owned())));
        Ok(paths)
    }
}

/// What a compiler calls the source of its library where `rust-src` is not installed. Where it is, the compiler finds the files and names
/// them instead, and the binary would be another one.
fn library_name(version: &str) -> Result<String, String> {
    let commit = version.lines().find_map(|line| line.strip_prefix("commit-hash: "));
    commit
        .map(|commit| format!("/rustc/{commit}"))
        .ok_or_else(|| format!("no commit of rustc in `{version}`"))
}

fn remapped(flag: &str, paths: &[(PathBuf, String)]) -> Vec<String> {
    paths.iter().map(|(path, name)| format!("{flag}{}={name}", path.display())).collect()
}

/// The source of Rust's own library, which rustup brings.
fn standard_library_from_source() -> Result<(), String> {
    let sysroot = output_of(lean::at_root("rustc").args(["--print", "sysroot"]))?;
    let source = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/std");
    if !source.is_dir() && on_build_machine() {
        let _alone = tools::install_alone();
        run(lean::at_root("rustup").args(["component", "add", "rust-src"]))?;
    }
    match source.is_dir() {
        true => Ok(()),
        false => {
            Err("no standard library for this target, and no source of one: `rustup component add rust-src`"
                .to_owned())
        }
    }
}

/// # Errors
/// There is no such file.
pub(crate) fn size(binary: &Path) -> Result<u64, String> {
    let data = std::fs::metadata(binary);
    data.map(|data| data.len()).map_err(|error| format!("cannot see `{}`: {error}", binary.display()))
}

pub(crate) fn mebibytes(bytes: u64) -> String {
    format!("{}.{:02} MiB", bytes >> 20, ((bytes & 0xf_ffff) * 100) >> 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_the_machine_get_other_names() {
        let path = |path: &str, name: &str| (PathBuf::from(path), name.to_owned());
        let paths = [path("/home/me/a b", "/durward"), path("/home/me/a b/target", "/target")];
        let flags = remapped("--remap-path-prefix=", &paths);
        assert_eq!(flags[0], "--remap-path-prefix=/home/me/a b=/durward");
        assert_eq!(flags[1], "--remap-path-prefix=/home/me/a b/target=/target");
    }

    #[test]
    fn the_library_is_called_as_without_its_source() {
        let version = "rustc 1.95.0 (59807616e 2026-04-14)\ncommit-hash: 59807616e1\nhost: x\n";
        assert_eq!(library_name(version).unwrap(), "/rustc/59807616e1");
        assert!(library_name("rustc 1.95.0").is_err());
    }

    #[test]
    fn sizes_have_two_digits_behind_the_point() {
        assert_eq!(mebibytes((4 << 20) + (1 << 19)), "4.50 MiB");
        assert_eq!(mebibytes(1 << 15), "0.03 MiB");
    }
}

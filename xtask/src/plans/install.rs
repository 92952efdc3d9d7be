//! Libraries of others, put below the target directory.

use crate::clients::Missing;
use crate::clients::install::{once, python_packages, tool};
use crate::metadata::{self, Metadata};
use crate::process;
use crate::tools::{NODE, NPM};
use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Those that were asked for.
#[derive(Default)]
pub(super) struct Libraries {
    python: OnceCell<PathBuf>,
    node: OnceCell<(PathBuf, PathBuf)>,
}

impl Libraries {
    /// A Python with drivers of databases and libraries of decision points.
    pub(super) fn python(&self) -> Result<&Path, Missing> {
        if let Some(python) = self.python.get() {
            return Ok(python.as_path());
        }
        let python = python()?;
        Ok(self.python.get_or_init(|| python).as_path())
    }

    /// Node, and the folder in which scripts stand beside their packages.
    pub(super) fn node(&self) -> Result<(&Path, &Path), Missing> {
        if self.node.get().is_none() {
            let node = (tool(NODE)?, node_packages()?);
            // Nobody else sets it.
            let _ = self.node.set(node);
        }
        let (node, folder) = self.node.get().ok_or_else(|| Missing::Broken("no packages".to_owned()))?;
        Ok((node.as_path(), folder.as_path()))
    }
}

fn scripts() -> PathBuf {
    metadata::root().join("crates/durward-testkit/plans")
}

fn folder(language: &str) -> Result<PathBuf, String> {
    Ok(Metadata::read()?.target_directory.join("plans").join(language))
}

/// The Python of an environment with all packages. SAPL's asks for a newer one than it uses.
pub(super) fn python() -> Result<PathBuf, Missing> {
    python_packages(&folder("python")?, &scripts().join("requirements.txt"), &["--ignore-requires-python"])
}

/// The folder in which the script stands beside its packages.
pub(super) fn node_packages() -> Result<PathBuf, Missing> {
    let npm = tool(NPM)?;
    let (folder, scripts) = (folder("node")?, scripts());
    fs::create_dir_all(&folder).map_err(|error| format!("no folder: {error}"))?;
    for name in ["package.json", "package-lock.json", "documents.js"] {
        let copied = fs::copy(scripts.join(name), folder.join(name));
        copied.map_err(|error| format!("cannot copy `{name}`: {error}"))?;
    }
    once(&folder, &scripts.join("package-lock.json"), || {
        let mut install = Command::new(npm);
        install.args([
            "ci",
            "--ignore-scripts",
            "--legacy-peer-deps",
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
        ]);
        process::run(install.current_dir(&folder))
    })?;
    Ok(folder)
}

//! What `cargo metadata` says about the workspace: its packages and the arrows between them.

use crate::process;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The project's root, of the clone that runs: not of the one that compiled this.
pub(crate) fn root() -> PathBuf {
    durward_testdata::workspace()
}

/// A package, of the workspace or from outside.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// An SPDX expression, as its author wrote it.
    pub(crate) licence: Option<String>,
    /// Where it comes from; nothing for what lies in a folder.
    pub(crate) source: Option<String>,
    /// Where its `Cargo.toml` is.
    pub(crate) folder: PathBuf,
    /// Whether it belongs to this workspace.
    pub(crate) member: bool,
    /// The ids of what it is built from and with: build dependencies too, what only its tests use not.
    pub(crate) uses: BTreeSet<String>,
    /// The ids of what it is linked with, for some platform: of `uses`, what only builds it not.
    pub(crate) links: BTreeSet<String>,
}

/// All packages by id, for every platform.
#[derive(Debug)]
pub(crate) struct Metadata {
    pub(crate) packages: BTreeMap<String, Package>,
    pub(crate) target_directory: PathBuf,
}

impl Metadata {
    /// Asks cargo.
    ///
    /// # Errors
    ///
    /// In words, when cargo fails or its answer is not what it is documented to be.
    pub(crate) fn read() -> Result<Metadata, String> {
        let text = process::output_of(
            process::cargo(&["metadata", "--format-version", "1", "--all-features"]).args(process::locked()),
        )?;
        let value: Value = serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))?;
        Metadata::of(&value).ok_or_else(|| "cargo metadata: not of the documented form".to_owned())
    }

    fn of(value: &Value) -> Option<Metadata> {
        let members: BTreeSet<&str> =
            list(value, "workspace_members")?.iter().filter_map(Value::as_str).collect();
        let mut packages = BTreeMap::new();
        for package in list(value, "packages")? {
            let id = text(package, "id")?;
            let folder = Path::new(text(package, "manifest_path")?).parent()?.to_path_buf();
            packages.insert(
                id.to_owned(),
                Package {
                    name: text(package, "name")?.to_owned(),
                    version: text(package, "version")?.to_owned(),
                    licence: text(package, "license").map(str::to_owned),
                    source: text(package, "source").map(str::to_owned),
                    folder,
                    member: members.contains(id),
                    uses: BTreeSet::new(),
                    links: BTreeSet::new(),
                },
            );
        }
        for node in list(value.get("resolve")?, "nodes")? {
            let package = packages.get_mut(text(node, "id")?)?;
            let used = list(node, "deps")?;
            package.uses = used.iter().filter(|used| is_built(used)).filter_map(id_of).collect();
            package.links = used.iter().filter(|used| is_linked(used)).filter_map(id_of).collect();
        }
        Some(Metadata { packages, target_directory: PathBuf::from(text(value, "target_directory")?) })
    }

    /// The workspace's own packages.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.values().filter(|package| package.member)
    }

    /// Everything `package` is built from, at any distance.
    pub(crate) fn reach<'a>(&'a self, package: &'a Package) -> Vec<&'a Package> {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut open: Vec<&Package> = vec![package];
        let mut found = Vec::new();
        while let Some(next) = open.pop() {
            for id in &next.uses {
                if let Some(used) = self.packages.get(id)
                    && seen.insert(id)
                {
                    found.push(used);
                    open.push(used);
                }
            }
        }
        found
    }
}

fn is_built(dependency: &Value) -> bool {
    let kinds = list(dependency, "dep_kinds").unwrap_or(&[]);
    kinds.iter().any(|kind| text(kind, "kind") != Some("dev"))
}

/// The kind of a normal dependency is null.
fn is_linked(dependency: &Value) -> bool {
    let kinds = list(dependency, "dep_kinds").unwrap_or(&[]);
    kinds.iter().any(|kind| text(kind, "kind").is_none())
}

fn id_of(dependency: &Value) -> Option<String> {
    text(dependency, "pkg").map(str::to_owned)
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

fn list<'a>(value: &'a Value, name: &str) -> Option<&'a [Value]> {
    value.get(name)?.as_array().map(Vec::as_slice)
}

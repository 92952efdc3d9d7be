//! The Helm chart: `packaging/helm/durward` as the archive that `helm install` takes.

use crate::dist::files::text;
use crate::dist::product::Product;
use crate::dist::tar::{Entry, tar_gz};
use crate::metadata;
use crate::process::output_of;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where it lies.
const CHART: &str = "packaging/helm/durward";

/// What Kubernetes makes of the chart when everything that is optional is wanted.
const KINDS: [&str; 8] = [
    "ConfigMap",
    "Deployment",
    "HorizontalPodAutoscaler",
    "NetworkPolicy",
    "PodDisruptionBudget",
    "Service",
    "ServiceAccount",
    "ServiceMonitor",
];

/// Its file's name.
pub(crate) fn name(product: &Product) -> String {
    format!("durward-chart-{}.tgz", product.version)
}

/// Makes the archive.
///
/// # Errors
/// A file cannot be read, or its version is another one.
pub(crate) fn make(product: &Product) -> Result<Vec<u8>, String> {
    let about = text(&format!("{CHART}/Chart.yaml"))?;
    for line in [format!("version: {}", product.version), format!("appVersion: \"{}\"", product.version)] {
        if !about.lines().any(|other| other == line) {
            return Err(format!("`{CHART}/Chart.yaml` has no line `{line}`"));
        }
    }
    let mut paths = Vec::new();
    walk(&metadata::root().join(CHART), &mut paths)?;
    let mut entries = Vec::new();
    for path in paths {
        let below = path.strip_prefix(metadata::root().join(CHART)).unwrap_or(&path);
        let content =
            std::fs::read(&path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
        entries.push(Entry::file(below.to_string_lossy().into_owned(), 0o644, content));
    }
    tar_gz(&entries, "durward/", product.time, product.effort)
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("cannot read `{}`: {error}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        if path.is_dir() {
            walk(&path, paths)?;
        } else {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(())
}

/// Has helm look at a chart, and render it with its defaults and with everything.
///
/// # Errors
/// What helm finds, or which kind of resource is missing.
pub(crate) fn verify(helm: &Path, archive: &Path) -> Result<(), String> {
    let all = metadata::root().join(CHART).join("ci/all-values.yaml");
    let call = |words: &[&str], values: Option<&Path>| {
        let mut command = Command::new(helm);
        // A helm that was built from its module takes an old Kubernetes for granted.
        command.args(words).arg(archive).args(["--kube-version", "1.30.0"]);
        if let Some(values) = values {
            command.arg("--values").arg(values);
        }
        output_of(&mut command)
    };
    for values in [None, Some(all.as_path())] {
        call(&["lint", "--strict"], values)?;
    }
    let plain = kinds(&call(&["template", "test"], None)?);
    if plain != ["ConfigMap", "ConfigMap", "Deployment", "Service", "ServiceAccount"] {
        return Err(format!("the chart renders {plain:?} by default"));
    }
    let every = kinds(&call(&["template", "test"], Some(&all))?);
    match KINDS.iter().find(|kind| !every.iter().any(|other| other == *kind)) {
        Some(missing) => Err(format!("the chart renders no {missing}, only {every:?}")),
        None => Ok(()),
    }
}

/// The kinds of the resources in a rendered chart, sorted.
fn kinds(rendered: &str) -> Vec<String> {
    let mut kinds: Vec<String> =
        rendered.lines().filter_map(|line| line.strip_prefix("kind: ")).map(str::to_owned).collect();
    kinds.sort();
    kinds
}

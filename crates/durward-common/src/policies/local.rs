//! Tenants whose policies lie on disk: a directory for each, or a bundle for each.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use durward_bundle::EXTENSION;
use durward_pdp::ReadError;
use durward_settings::{PolicySource, is_tenant};
use smol_str::SmolStr;

use super::fingerprint::Fingerprint;
use super::intake::Content;
use super::tenants::TENANTS_MAX;
use super::watch::{Watched, settle};
use super::{InForce, PolicyLoadError, PolicyProblem, PolicyState, Refused, report};

/// Tenants and where their policies lie.
type Places = BTreeMap<SmolStr, PathBuf>;

/// What was seen of the tenants on disk.
#[derive(Debug, Default)]
pub struct LocalTenants {
    /// How each tenant's files looked when they were read last.
    seen: BTreeMap<SmolStr, Fingerprint>,
    /// Names that no tenant can have, told once.
    passed_over: BTreeSet<String>,
}

impl LocalTenants {
    /// Reads the policies of all tenants for the first time.
    ///
    /// # Errors
    /// There are none that can be used, unless the settings say to wait for some.
    pub fn load_first(in_force: &Arc<InForce>) -> Result<LocalTenants, PolicyLoadError> {
        let mut tenants = LocalTenants::default();
        let listed = tenants.list(in_force);
        if let Ok(places) = &listed {
            tenants.load(in_force, &Looks::of(places), places);
        }
        let all = in_force.tenants.all();
        if in_force.settings.policies.wait || all.values().any(|tenant| tenant.pdp.is_some()) {
            return Ok(tenants);
        }
        if let Err(error) = listed {
            return Err(PolicyLoadError::Read(error));
        }
        let problems = all.values().flat_map(|tenant| &tenant.problems).map(PolicyProblem::to_string);
        let problems: Vec<String> = problems.collect();
        Err(PolicyLoadError::Tenants(if problems.is_empty() {
            format!("{}: there are no tenants here", in_force.settings.policies.path.display())
        } else {
            problems.join("\n")
        }))
    }

    /// The tenants there are, and where.
    fn list(&mut self, in_force: &InForce) -> Result<Places, ReadError> {
        let (places, odd) = list(in_force)?;
        for name in odd {
            if self.passed_over.len() < TENANTS_MAX && self.passed_over.insert(name.clone()) {
                tracing::warn!(name, "passed over: no tenant can have this name");
            }
        }
        Ok(places)
    }

    /// Reads those that look new, and forgets those that are gone.
    fn load(&mut self, in_force: &InForce, looks: &Looks, places: &Places) {
        for (tenant, look) in &looks.0 {
            if self.seen.get(tenant) == Some(look) {
                continue;
            }
            self.seen.insert(tenant.clone(), *look);
            let Some(path) = places.get(tenant) else { continue };
            let newest = in_force.tenants.newest(tenant);
            let found: Result<Content, Refused> = match in_force.settings.policies.source {
                PolicySource::Directory | PolicySource::Directories => in_force.intake.directory(path),
                PolicySource::Bundle | PolicySource::Bundles | PolicySource::RemoteBundles => {
                    in_force.intake.file(path, tenant, newest)
                }
            };
            in_force.take(tenant, found);
        }
        let gone: Vec<SmolStr> =
            self.seen.keys().filter(|tenant| !places.contains_key(*tenant)).cloned().collect();
        for tenant in gone {
            self.seen.remove(&tenant);
            in_force.forget(&tenant);
        }
    }

    /// Says that the tenants cannot be listed, or that they can again. Nobody is forgotten for that.
    fn tell(in_force: &InForce, problem: Option<&ReadError>) {
        let before = in_force.state.load();
        let told = |error: &ReadError| PolicyProblem {
            file: error.path.display().to_string(),
            line: 0,
            column: 0,
            reason: error.message.clone(),
            help: None,
        };
        let problems: Vec<PolicyProblem> = problem.map(told).into_iter().collect();
        if problems == before.problems {
            return;
        }
        report(&problems, None, true);
        in_force.state.store(Arc::new(PolicyState { problems, ..PolicyState::clone(&before) }));
    }
}

/// How the files of each tenant look.
#[derive(PartialEq, Eq)]
struct Looks(BTreeMap<SmolStr, Fingerprint>);

impl Looks {
    fn of(places: &Places) -> Looks {
        Looks(places.iter().map(|(tenant, path)| (tenant.clone(), Fingerprint::of(path))).collect())
    }
}

impl Watched for LocalTenants {
    fn path(&self, in_force: &InForce) -> PathBuf {
        in_force.settings.policies.path.clone()
    }

    fn look(&mut self, in_force: &InForce) -> bool {
        let places = match self.list(in_force) {
            Ok(places) => places,
            Err(error) => {
                LocalTenants::tell(in_force, Some(&error));
                return false;
            }
        };
        LocalTenants::tell(in_force, None);
        let looks = Looks::of(&places);
        if looks.0 == self.seen {
            return false;
        }
        // A file that is being replaced may be gone for a moment, and is half there for another.
        let again = || list(in_force).map(|(places, _)| (Looks::of(&places), places)).ok();
        let settled = settle(Some((looks, places)), in_force.settings.policies.settle_time(), again);
        if let Some((looks, places)) = settled {
            self.load(in_force, &looks, &places);
        }
        true
    }
}

/// The tenants, and names that no tenant can have.
fn list(in_force: &InForce) -> Result<(Places, Vec<String>), ReadError> {
    let path = &in_force.settings.policies.path;
    let source = in_force.settings.policies.source;
    if source == PolicySource::Bundle {
        let only = SmolStr::from(&in_force.settings.auth.default_tenant);
        return Ok((Places::from([(only, path.clone())]), Vec::new()));
    }
    let failed = |error: std::io::Error| ReadError { path: path.clone(), message: error.to_string() };
    let (mut places, mut odd) = (Places::new(), Vec::new());
    for entry in fs::read_dir(path).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let Some(name) = tenant_of(&path, source) else { continue };
        if !is_tenant(&name) {
            odd.push(name);
        } else if places.insert(name.into(), path.clone()).is_some() || places.len() > TENANTS_MAX {
            return Err(ReadError { path, message: format!("there are more than {TENANTS_MAX} tenants") });
        }
    }
    Ok((places, odd))
}

/// Whose policies lie there by the name, if they are somebody's.
fn tenant_of(path: &Path, source: PolicySource) -> Option<String> {
    let name = path.file_name()?.to_string_lossy();
    if name.starts_with('.') {
        return None;
    }
    if source == PolicySource::Directories {
        return path.is_dir().then(|| name.into_owned());
    }
    let tenant = name.strip_suffix(EXTENSION)?.strip_suffix('.')?;
    Some(tenant.to_owned())
}

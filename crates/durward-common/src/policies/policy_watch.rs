//! Policies in force for a program that decides by them and serves no HTTP: the gate of OPC UA.
//!
//! They come from where `[policies]` says, in the same ways as those of a server: files that are watched, bundles that are verified,
//! bundles of a server that is asked again and again.

use std::fmt;
use std::sync::Arc;

use durward_pdp::{AttributeSource, Pdp};
use durward_settings::{AuthSettings, PolicySource, Settings};

use super::{InForce, Loaded, PolicyLoadError, Watching};
use crate::base::Clock;
use crate::base::metrics::Metrics;

/// Policies that are kept up to date until this is dropped.
pub struct PolicyWatch {
    in_force: Arc<InForce>,
    /// Whose policies they are, where they come by tenant.
    tenant: String,
    _watching: Watching,
}

impl PolicyWatch {
    /// Reads the policies that `[policies]` of these settings names, for the tenant `auth.default_tenant`, or the only one whose bundle is
    /// fetched from a server. `clock` gives the time to policies that ask for it. `announced` is a source that decisions bring with them
    /// ([`Pdp::decide_with`]). `[[attributes]]` count for nothing here.
    ///
    /// # Errors
    /// Settings that contradict each other; policies or keys that cannot be used.
    pub fn start(
        settings: &Settings,
        clock: Clock,
        announced: Arc<dyn AttributeSource>,
    ) -> Result<PolicyWatch, PolicyLoadError> {
        let default_tenant = settings.auth.default_tenant.clone();
        let remote = &settings.remote_bundles.tenants;
        let tenant = match (settings.policies.source, remote.as_slice()) {
            (PolicySource::RemoteBundles, [only]) => only.clone(),
            _ => default_tenant.clone(),
        };
        let settings = Settings {
            policies: settings.policies.clone(),
            bundles: settings.bundles.clone(),
            remote_bundles: settings.remote_bundles.clone(),
            limits: settings.limits.clone(),
            sources: settings.sources.clone(),
            auth: AuthSettings { default_tenant, ..AuthSettings::default() },
            ..Settings::default()
        };
        settings.check()?;
        for weakness in settings.weaknesses() {
            tracing::warn!("WEAK SETTING: {weakness}");
        }
        let metrics = Arc::new(Metrics::new(Vec::new()));
        let in_force = Arc::new(InForce::new(&Arc::new(settings), &clock, &metrics, vec![announced])?);
        let watching = Loaded::first(&in_force)?.watch(&in_force)?;
        Ok(PolicyWatch { in_force, tenant, _watching: watching })
    }

    /// The decision point with the policies in force; `None` while there are none.
    pub fn pdp(&self) -> Option<Arc<Pdp>> {
        match self.in_force.is_by_tenant() {
            false => self.in_force.pdp.load_full(),
            true => {
                self.in_force.tenants.all().get(self.tenant.as_str()).and_then(|tenant| tenant.pdp.clone())
            }
        }
    }

    /// What is wrong with the newest policies, which for that reason are not in force.
    pub fn problems(&self) -> Vec<String> {
        let mut problems: Vec<String> =
            self.in_force.state.load().problems.iter().map(ToString::to_string).collect();
        if let Some(tenant) = self.in_force.tenants.all().get(self.tenant.as_str()) {
            problems.extend(tenant.problems.iter().chain(&tenant.contact).map(ToString::to_string));
        }
        problems
    }
}

impl fmt::Debug for PolicyWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolicyWatch").field("tenant", &self.tenant).finish_non_exhaustive()
    }
}

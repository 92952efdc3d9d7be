//! Policies in force for a program that decides by them and serves no HTTP: the gate of OPC UA.
//!
//! They come from where `[policies]` says, in the same ways as those of a server: files that are watched, bundles that are verified,
//! bundles of a server that is asked again and again.

use std::fmt;
use std::sync::Arc;

use durward_pdp::{AttributeName, AttributeSource, Pdp, Request, SourceError, Value};

use crate::base::Clock;
use crate::base::metrics::Metrics;
use crate::base::settings::{AuthSettings, PolicySource, Settings};
use crate::serve::server::{Loaded, StartError, Watching};
use crate::serve::state::Shared;

/// Policies that are kept up to date until this is dropped.
pub struct PolicyWatch {
    shared: Arc<Shared>,
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
    ) -> Result<PolicyWatch, StartError> {
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
        let mut shared = Shared::new(settings, clock, None, Arc::new(Metrics::new()), None)?;
        shared.announced = Some(announced);
        let shared = Arc::new(shared);
        let watching = Loaded::first(&shared)?.watch(&shared)?;
        Ok(PolicyWatch { shared, tenant, _watching: watching })
    }

    /// The decision point with the policies in force; `None` while there are none.
    pub fn pdp(&self) -> Option<Arc<Pdp>> {
        match self.shared.settings.policies.source {
            PolicySource::Directory => self.shared.pdp.load_full(),
            PolicySource::Directories
            | PolicySource::Bundle
            | PolicySource::Bundles
            | PolicySource::RemoteBundles => {
                self.shared.tenants.all().get(self.tenant.as_str()).and_then(|tenant| tenant.pdp.clone())
            }
        }
    }

    /// What is wrong with the newest policies, which for that reason are not in force.
    pub fn problems(&self) -> Vec<String> {
        let mut problems: Vec<String> =
            self.shared.policies.load().problems.iter().map(ToString::to_string).collect();
        if let Some(tenant) = self.shared.tenants.all().get(self.tenant.as_str()) {
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

/// A source as a decision point owns it.
pub(crate) struct Announcement(pub(crate) Arc<dyn AttributeSource>);

impl AttributeSource for Announcement {
    fn provides(&self, name: &AttributeName) -> bool {
        self.0.provides(name)
    }

    fn values(&self, name: &AttributeName, request: &Request) -> Result<Vec<Value>, SourceError> {
        self.0.values(name, request)
    }

    fn is_announcement(&self) -> bool {
        self.0.is_announcement()
    }
}

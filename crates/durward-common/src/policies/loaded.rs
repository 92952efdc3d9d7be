//! Policies from wherever the settings say: read for the first time, then watched.

use std::sync::Arc;

use durward_settings::PolicySource;

use super::local::LocalTenants;
use super::remote::RemoteTenants;
use super::{InForce, Policies, PolicyLoadError, watch};
use crate::base::watch::Watch;

/// Policies that were read for the first time, and can be watched.
pub enum Loaded {
    /// A file or a directory, for the default tenant.
    One(Policies),
    /// On disk: a directory or a bundle for each tenant, or one bundle for the default tenant.
    Local(LocalTenants),
    /// Tenants whose bundles are fetched.
    Remote(RemoteTenants),
}

/// What keeps policies up to date for as long as it is held.
pub type Watching = (Option<Watch>, Option<RemoteTenants>);

impl Loaded {
    /// # Errors
    /// Policies that cannot be used, unless the settings say to wait for better ones.
    pub fn first(in_force: &Arc<InForce>) -> Result<Loaded, PolicyLoadError> {
        Ok(match in_force.settings.policies.source {
            PolicySource::Directory => Loaded::One(Policies::load_first(in_force)?),
            PolicySource::Directories | PolicySource::Bundle | PolicySource::Bundles => {
                Loaded::Local(LocalTenants::load_first(in_force)?)
            }
            PolicySource::RemoteBundles => Loaded::Remote(RemoteTenants::new(in_force)?),
        })
    }

    /// # Errors
    /// A thread that cannot be started.
    pub fn watch(self, in_force: &Arc<InForce>) -> Result<Watching, PolicyLoadError> {
        let is_watched = in_force.settings.policies.watch;
        let files = match self {
            Loaded::Remote(mut remote) => {
                remote.start(in_force).map_err(PolicyLoadError::Thread)?;
                return Ok((None, Some(remote)));
            }
            Loaded::One(_) | Loaded::Local(_) if !is_watched => return Ok((None, None)),
            Loaded::One(policies) => watch::start(policies, Arc::clone(in_force)),
            Loaded::Local(tenants) => watch::start(tenants, Arc::clone(in_force)),
        };
        Ok((Some(files.map_err(PolicyLoadError::Thread)?), None))
    }
}

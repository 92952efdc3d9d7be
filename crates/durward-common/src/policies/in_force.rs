//! The policies in force, of the default tenant and of all others, and what is known of newer ones.
//!
//! What reads policies writes it; whoever decides, or tells operators, reads it and never waits.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use arc_swap::{ArcSwap, ArcSwapOption, Guard};
use durward_pdp::check::Settings as Checks;
use durward_pdp::{AttributeName, AttributeSource, Pdp, PdpBuilder, Request, SourceError, Value};
use durward_settings::{ConfigError, PolicySource, Settings};
use durward_sources::Constants;

use super::Warned;
use super::intake::Intake;
use super::state::PolicyState;
use super::tenants::TenantTable;
use crate::base::Clock;
use crate::base::metrics::Metrics;
use crate::base::standing::Standing;

/// Told the name of a tenant, and the decision point with the policies it has from now on.
pub(crate) type Follower = Box<dyn Fn(&str, Option<&Arc<Pdp>>) + Send + Sync>;

/// Policies in force, and how they come to be.
pub struct InForce {
    pub(super) settings: Arc<Settings>,
    pub(super) clock: Clock,
    pub(super) metrics: Arc<Metrics>,
    /// That of the default tenant. Empty until there are policies that can be decided by (`policies.wait`), and when they
    /// were taken away.
    pub(super) pdp: ArcSwapOption<Pdp>,
    /// When policies were read last, and what is wrong with newer ones; problems of one tenant are in `tenants`.
    pub(super) state: ArcSwap<PolicyState>,
    /// All tenants, where policies come by tenant; empty where they do not.
    pub tenants: TenantTable,
    pub(super) intake: Intake,
    /// What policies are checked for; `None` where they are not.
    checks: Option<Arc<Checks>>,
    /// What decision points ask for attributes that requests lack.
    sources: Vec<Arc<dyn AttributeSource>>,
    /// Whoever decides by tenants' policies, where there is somebody.
    pub(super) follower: OnceLock<Follower>,
}

impl InForce {
    /// The decision point of the default tenant: none until there are policies that can be decided by.
    #[inline]
    pub fn pdp(&self) -> Guard<Option<Arc<Pdp>>> {
        self.pdp.load()
    }

    /// When policies were read last, and what is wrong with newer ones.
    pub fn state(&self) -> Guard<Arc<PolicyState>> {
        self.state.load()
    }

    /// No policies yet. `sources` are asked by decision points for attributes that requests lack.
    ///
    /// # Errors
    /// Keys or schemas that cannot be read.
    pub fn new(
        settings: &Arc<Settings>,
        clock: &Clock,
        metrics: &Arc<Metrics>,
        sources: Vec<Arc<dyn AttributeSource>>,
    ) -> Result<InForce, ConfigError> {
        Ok(InForce {
            intake: Intake::new(settings)?,
            checks: settings.policies.check.then(|| settings.checks()).transpose()?.map(Arc::new),
            settings: Arc::clone(settings),
            clock: Arc::clone(clock),
            metrics: Arc::clone(metrics),
            pdp: ArcSwapOption::empty(),
            state: ArcSwap::default(),
            tenants: TenantTable::default(),
            sources,
            follower: OnceLock::new(),
        })
    }

    /// Takes a decision point made elsewhere.
    pub fn put_in_place(&self, pdp: Arc<Pdp>) {
        let now = Some((self.clock)());
        self.state.store(Arc::new(PolicyState {
            loaded: now,
            tried: now,
            problems: Vec::new(),
            warned: Warned::of(pdp.warnings()),
        }));
        self.pdp.store(Some(pdp));
    }

    /// From now on this one is told of all policies that come into force, beginning with those that are. There is one at most.
    pub fn follow(&self, follower: Follower) {
        if self.follower.set(follower).is_ok() {
            self.tell_all();
        }
    }

    /// The decision point of a tenant, if it has policies.
    pub fn pdp_of(&self, tenant: &str) -> Option<Arc<Pdp>> {
        let all = self.tenants.all();
        if all.is_empty() {
            return self.pdp.load_full().filter(|_| tenant == self.settings.auth.default_tenant);
        }
        all.get(tenant)?.pdp.clone()
    }

    /// Tells whoever decides which policies are in force.
    pub(super) fn tell_all(&self) {
        let Some(follower) = self.follower.get() else { return };
        let all = self.tenants.all();
        if all.is_empty() {
            if let Some(pdp) = self.pdp.load().as_ref() {
                follower(&self.settings.auth.default_tenant, Some(pdp));
            }
            return;
        }
        for (name, tenant) in all.iter() {
            follower(name, tenant.pdp.as_ref());
        }
    }

    /// Whether the newest policies are broken and older ones stay in force.
    pub fn is_stale(&self) -> bool {
        !self.state.load().problems.is_empty()
            || self.tenants.all().values().any(|tenant| tenant.has_problems())
    }

    /// How many warnings there are about the policies in force.
    pub fn warning_count(&self) -> usize {
        let of_tenants: usize = self.tenants.all().values().map(|tenant| tenant.warned.count).sum();
        self.state.load().warned.count + of_tenants
    }

    /// When the policies in force came into force: those of the default tenant, where policies come by tenant.
    pub fn loaded(&self) -> Option<SystemTime> {
        let of_default_tenant = || {
            let all = self.tenants.all();
            all.get(self.settings.auth.default_tenant.as_str()).filter(|tenant| tenant.pdp.is_some())?.loaded
        };
        self.state.load().loaded.or_else(of_default_tenant)
    }

    /// How long the policies in force have been there; zero without any.
    pub fn age(&self) -> Duration {
        self.loaded().and_then(|loaded| (self.clock)().duration_since(loaded).ok()).unwrap_or_default()
    }

    /// Whether policies come by tenant.
    pub fn is_by_tenant(&self) -> bool {
        self.settings.policies.source != PolicySource::Directory
    }

    /// How each tenant stands.
    pub fn standings(&self) -> Vec<(String, Standing)> {
        if self.is_by_tenant() {
            let all = self.tenants.all();
            return all.iter().map(|(name, tenant)| (name.to_string(), tenant.standing())).collect();
        }
        let standing = match (self.pdp.load().is_some(), self.is_stale()) {
            (true, false) => Standing::Loaded,
            (true, true) => Standing::Stale,
            (false, true) => Standing::Error,
            (false, false) => Standing::Waiting,
        };
        vec![(self.settings.auth.default_tenant.clone(), standing)]
    }

    /// A decision point as the settings describe it, without policies.
    pub(super) fn builder(&self) -> Result<PdpBuilder, ConfigError> {
        let settings = &self.settings;
        let clock = Arc::clone(&self.clock);
        let mut builder = Pdp::builder()
            .combining(settings.policies.combining)
            .index(settings.policies.index)
            .index_settings(settings.policies.index_settings())
            .limits(settings.limits.of_policies())
            .clock(move || clock());
        if let Some(root) = &settings.policies.root {
            builder = builder.root(root);
        }
        if let Some(checks) = &self.checks {
            builder = builder.checking(Arc::clone(checks));
        }
        if settings.auth.explain {
            builder = builder.explaining();
        }
        for source in &self.sources {
            builder = builder.source(OfAll(Arc::clone(source)));
        }
        let constants = Constants::new(&settings.attributes)?;
        Ok(if constants.is_empty() { builder } else { builder.source(constants) })
    }
}

/// A source that all decision points share, as each of them owns it.
struct OfAll(Arc<dyn AttributeSource>);

impl AttributeSource for OfAll {
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

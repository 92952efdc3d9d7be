//! Tenants, each with policies of its own: which are in force, and what is wrong with newer ones.
//!
//! One tenant's policies change without any other's being looked at: only its own subscriptions are decided again.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use arc_swap::{ArcSwap, Guard};
use durward_pdp::Pdp;
use smol_str::SmolStr;

use super::intake::Content;
use super::{InForce, PolicyProblem, Refused, Warned, report};
use crate::base::standing::Standing;

/// Tenants whose policies are read: each costs memory, and anybody who can create directories could create any
/// number.
pub(super) const TENANTS_MAX: usize = 10_000;

/// All tenants by name.
#[derive(Debug, Default)]
pub struct TenantTable {
    tenants: ArcSwap<BTreeMap<SmolStr, Arc<TenantState>>>,
    /// Held while one of them changes. When the newest bundle of each was made that was ever in force: a tenant that is
    /// taken away and comes back gets no older one for it.
    changing: Mutex<HashMap<SmolStr, SystemTime>>,
}

/// What is known of a tenant's policies.
#[derive(Clone, Debug, Default)]
pub struct TenantState {
    /// Its policies in force; without any, everything is indeterminate.
    pub pdp: Option<Arc<Pdp>>,
    /// What their publisher calls them.
    pub configuration: Option<String>,
    /// When they came into force.
    pub loaded: Option<SystemTime>,
    /// When newer ones were refused.
    pub failed: Option<SystemTime>,
    /// What is wrong with the newest.
    pub problems: Vec<PolicyProblem>,
    /// What is odd in those in force.
    pub warned: Warned,
    /// Why nothing is known of newer ones.
    pub contact: Option<PolicyProblem>,
    /// A digest of the texts in force.
    digest: Option<u64>,
}

impl TenantState {
    /// How the tenant's policies stand.
    pub fn standing(&self) -> Standing {
        match (&self.pdp, self.has_problems(), self.loaded.or(self.failed)) {
            (Some(_), false, _) => Standing::Loaded,
            (Some(_), true, _) => Standing::Stale,
            (None, _, None) => Standing::Waiting,
            (None, _, Some(_)) => Standing::Error,
        }
    }

    /// Whether the newest policies are wrong, or nothing is known of newer ones.
    pub fn has_problems(&self) -> bool {
        !self.problems.is_empty() || self.contact.is_some()
    }
}

impl TenantTable {
    pub fn all(&self) -> Guard<Arc<BTreeMap<SmolStr, Arc<TenantState>>>> {
        self.tenants.load()
    }

    pub(super) fn get(&self, tenant: &str) -> TenantState {
        self.tenants.load().get(tenant).map(|state| TenantState::clone(state)).unwrap_or_default()
    }

    /// When the bundle was made that older ones are compared with.
    pub(super) fn newest(&self, tenant: &str) -> Option<SystemTime> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner).get(tenant).copied()
    }

    /// With `changing` held.
    fn set(&self, tenant: &str, state: Option<TenantState>) {
        let mut tenants = BTreeMap::clone(&self.tenants.load());
        match state {
            Some(state) => drop(tenants.insert(tenant.into(), Arc::new(state))),
            None => drop(tenants.remove(tenant)),
        }
        self.tenants.store(Arc::new(tenants));
    }
}

impl InForce {
    /// Puts a tenant's policies in force, or says everywhere why not. Whether they are.
    pub(super) fn take(&self, tenant: &str, found: Result<Content, Refused>) -> bool {
        let mut newest = self.tenants.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.tenants.get(tenant);
        let now = (self.clock)();
        let before_warned = before.warned.clone();
        let created = found.as_ref().ok().and_then(|content| content.created);
        let put = found.and_then(|content| self.put_in_force(&before, content, now));
        let (state, is_new) = match put {
            Ok(taken) => taken,
            Err(refused) => {
                self.refuse(tenant, before, &refused, now);
                return false;
            }
        };
        if let Some(created) = created {
            newest.insert(tenant.into(), created);
        }
        self.metrics.policies_loaded(if is_new { "ok" } else { "unchanged" });
        if let Some(info) = state.pdp.as_ref().filter(|_| is_new).map(|pdp| pdp.snapshot()) {
            let (documents, policies) = (info.documents, info.policies);
            let configuration = state.configuration.as_deref().unwrap_or_default();
            tracing::info!(tenant, documents, policies, configuration, index = %info.index, "policies in force");
        }
        state.warned.report(&before_warned, Some(tenant));
        let pdp = state.pdp.clone();
        self.tenants.set(tenant, Some(state));
        if is_new {
            self.tell(tenant, pdp.as_ref());
        }
        true
    }

    fn put_in_force(
        &self,
        before: &TenantState,
        content: Content,
        now: SystemTime,
    ) -> Result<(TenantState, bool), Refused> {
        let digest = Some(content.digest());
        let Content { texts, configuration, created: _ } = content;
        let is_new = before.pdp.is_none() || digest != before.digest;
        let pdp = match &before.pdp {
            Some(pdp) if !is_new => Arc::clone(pdp),
            Some(pdp) => {
                pdp.replace(&texts).map_err(Refused::Policies)?;
                Arc::clone(pdp)
            }
            None => {
                let builder = self.builder().map_err(Refused::Config)?;
                Arc::new(builder.policies(texts).build().map_err(Refused::Policies)?)
            }
        };
        let loaded = if is_new { Some(now) } else { before.loaded };
        let (failed, problems) = (before.failed, Vec::new());
        let warned = if is_new { Warned::of(pdp.warnings()) } else { before.warned.clone() };
        let pdp = Some(pdp);
        let state =
            TenantState { pdp, configuration, loaded, failed, problems, warned, contact: None, digest };
        Ok((state, is_new))
    }

    /// With `changing` held.
    fn refuse(&self, tenant: &str, before: TenantState, refused: &Refused, now: SystemTime) {
        self.metrics.policies_loaded("failed");
        let problems = refused.problems();
        if problems != before.problems {
            report(&problems, Some(tenant), before.pdp.is_some());
        }
        self.tenants.set(tenant, Some(TenantState { problems, failed: Some(now), contact: None, ..before }));
    }

    /// A tenant is no more: from now on everything is indeterminate for it.
    pub(super) fn forget(&self, tenant: &str) {
        let _changing = self.tenants.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.tenants.set(tenant, None);
        tracing::info!(tenant, "the policies were taken away; everything is indeterminate");
        self.tell(tenant, None);
    }

    /// Adds a tenant of which nothing is known yet.
    pub(super) fn expect(&self, tenant: &str) {
        let _changing = self.tenants.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.tenants.set(tenant, Some(TenantState::default()));
    }

    /// Nothing was heard of a tenant's policies; what is in force may be old.
    pub(super) fn lose_contact(&self, tenant: &str, reason: String) {
        let _changing = self.tenants.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.tenants.get(tenant);
        let contact = PolicyProblem { file: tenant.into(), line: 0, column: 0, reason, help: None };
        if before.contact.is_none() {
            report(std::slice::from_ref(&contact), Some(tenant), before.pdp.is_some());
        }
        self.tenants.set(tenant, Some(TenantState { contact: Some(contact), ..before }));
    }

    /// Something was heard again, and it is what is in force.
    pub(super) fn find_contact(&self, tenant: &str) {
        let _changing = self.tenants.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.tenants.get(tenant);
        if before.contact.is_some() {
            tracing::info!(tenant, "in contact again");
            self.tenants.set(tenant, Some(TenantState { contact: None, ..before }));
        }
    }

    /// Nothing was heard for too long: what was in force is not any more.
    pub(super) fn close(&self, tenant: &str) {
        let _changing = self.tenants.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.tenants.get(tenant);
        if before.pdp.is_none() {
            return;
        }
        tracing::error!(tenant, "no contact for too long; everything is indeterminate");
        let warned = Warned::default();
        self.tenants.set(tenant, Some(TenantState { pdp: None, digest: None, warned, ..before }));
        self.tell(tenant, None);
    }

    /// Tells whoever decides for a tenant. With `changing` held, so that the last change is the last that is told.
    fn tell(&self, tenant: &str, pdp: Option<&Arc<Pdp>>) {
        if tenant == self.settings.auth.default_tenant {
            self.pdp.store(pdp.cloned());
        }
        if let Some(follower) = self.follower.get() {
            follower(tenant, pdp);
        }
    }
}

//! Putting a decision point together.

use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use arc_swap::ArcSwap;
use durward_index::{IndexKind, Settings};
use durward_ir::combine::Algorithm;
use durward_xacml::multiple::ResourceHierarchy;
use durward_xacml_policies::policy::{Limits, PolicyError};

use crate::in_force::InForce;
use crate::mismatch::WarnedSnapshots;
use crate::recipe::Recipe;
use crate::snapshot::Built;
use crate::source::AttributeSource;
use crate::{ChangeLimits, Clock, Pdp, PolicyText};

/// Collects what a decision point needs; [`PdpBuilder::build`] reads the policies.
#[derive(Default)]
pub struct PdpBuilder {
    policies: Vec<PolicyText>,
    recipe: Recipe,
    clock: Option<Clock>,
    sources: Vec<Box<dyn AttributeSource>>,
    hierarchy: Option<Box<dyn ResourceHierarchy + Send + Sync>>,
}

impl std::fmt::Debug for PdpBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PdpBuilder").field("policies", &self.policies.len()).finish_non_exhaustive()
    }
}

impl Pdp {
    /// Starts a decision point; see [`PdpBuilder`].
    pub fn builder() -> PdpBuilder {
        PdpBuilder::default()
    }
}

impl PdpBuilder {
    /// Adds one policy document. `name` is how messages call it.
    #[must_use]
    pub fn policy(mut self, name: &str, text: impl Into<Vec<u8>>) -> PdpBuilder {
        self.policies.push(PolicyText { name: name.into(), text: text.into() });
        self
    }

    /// Adds documents, such as those [`crate::read_policies`] found.
    #[must_use]
    pub fn policies(mut self, policies: Vec<PolicyText>) -> PdpBuilder {
        self.policies.extend(policies);
        self
    }

    /// Starts every decision at the policy or policy set with this identifier. Without it, decisions start at every
    /// document that no other document refers to.
    #[must_use]
    pub fn root(mut self, id: &str) -> PdpBuilder {
        self.recipe.lowering.root = Some(id.into());
        self
    }

    /// How several root documents are combined; deny-overrides unless set.
    #[must_use]
    pub fn combining(mut self, algorithm: Algorithm) -> PdpBuilder {
        self.recipe.lowering.combining = algorithm;
        self
    }

    /// The index to use; [`IndexKind::Auto`] unless set. No index changes any answer.
    #[must_use]
    pub fn index(mut self, kind: IndexKind) -> PdpBuilder {
        self.recipe.index = kind;
        self
    }

    /// The sizes of indexes.
    #[must_use]
    pub fn index_settings(mut self, settings: Settings) -> PdpBuilder {
        self.recipe.index_settings = settings;
        self
    }

    /// How large policy documents may be.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> PdpBuilder {
        self.recipe.limits = limits;
        self
    }

    /// Decides by the plain evaluator alone: no index, nothing computed ahead that could be left for the question, nothing
    /// remembered. Slow; the answers are the same. For those who want to hold the fast ways to the plain one.
    #[must_use]
    pub fn plain(mut self) -> PdpBuilder {
        self.recipe.is_plain = true;
        self
    }

    /// Keeps how SAPL's policies were written, so that explanations tell of conditions. That takes some hundred bytes for
    /// each policy.
    #[must_use]
    pub fn explaining(mut self) -> PdpBuilder {
        self.recipe.is_explaining = true;
        self
    }

    /// Looks for what is odd in documents of SAPL when they are put in force: [`Pdp::warnings`]. That makes
    /// loading longer, and changes no decision.
    #[cfg(feature = "sapl")]
    #[must_use]
    pub fn checking(mut self, settings: Arc<crate::check::Settings>) -> PdpBuilder {
        self.recipe.checking = Some(settings);
        self
    }

    /// Keeps the documents, so that some of them can be changed without the others ([`Pdp::change`]). That takes their size
    /// and some hundred bytes for each.
    #[must_use]
    pub fn changing(self) -> PdpBuilder {
        self.changing_within(ChangeLimits::default())
    }

    /// The same with other limits.
    #[must_use]
    pub fn changing_within(mut self, limits: ChangeLimits) -> PdpBuilder {
        self.recipe.changing = Some(limits);
        self
    }

    /// Where the time comes from, for policies that read `current-time`, `current-date` or `current-dateTime`:
    /// usually `std::time::SystemTime::now`. A request that carries its own time keeps it.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> PdpBuilder {
        self.clock = Some(Box::new(clock));
        self
    }

    /// Adds an attribute source. Sources are asked in the order added; the first that has values is believed.
    #[must_use]
    pub fn source(mut self, source: impl AttributeSource + 'static) -> PdpBuilder {
        self.sources.push(Box::new(source));
        self
    }

    /// Which resources lie below which, for requests about a resource and its children or descendants (Multiple
    /// Decision profile).
    #[must_use]
    pub fn hierarchy(mut self, hierarchy: impl ResourceHierarchy + Send + Sync + 'static) -> PdpBuilder {
        self.hierarchy = Some(Box::new(hierarchy));
        self
    }

    /// Reads the policies and puts them in force.
    ///
    /// # Errors
    /// Every problem in every document, with its place and often a way out.
    pub fn build(self) -> Result<Pdp, Vec<PolicyError>> {
        let Built { snapshot, register, warnings } = if self.recipe.changing.is_some() {
            let texts: Vec<Arc<PolicyText>> = self.policies.into_iter().map(Arc::new).collect();
            Built::of(1, &texts, &self.recipe, &self.sources)?
        } else {
            Built::unchanging(1, &self.policies, &self.recipe, &self.sources)?
        };
        let pdp = Pdp {
            snapshot: ArcSwap::from(Arc::new(snapshot)),
            in_force: Mutex::new(InForce { last_id: 1, register, retired: Vec::new(), warnings }),
            recipe: self.recipe,
            clock: self.clock,
            sources: self.sources,
            hierarchy: self.hierarchy,
            warned: WarnedSnapshots::default(),
        };
        pdp.check_clock(&pdp.snapshot.load())?;
        Ok(pdp)
    }
}

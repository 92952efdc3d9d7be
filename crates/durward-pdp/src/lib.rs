//! The embeddable decision point: snapshots of policies, attribute sources, answers, explanations.
//!
//! No clock, no socket, no async runtime: the embedder brings them. Decisions take `&self`, so one [`Pdp`] behind
//! an [`std::sync::Arc`] serves every thread; new policies are swapped in without a reader waiting.
//!
//! ```
//! use durward_pdp::{Decision, Pdp, Request};
//!
//! let policy = r#"
//!   <Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="doctors" Version="1.0"
//!           RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:deny-unless-permit">
//!     <Target/>
//!     <Rule RuleId="doctors-read" Effect="Permit">
//!       <Target><AnyOf><AllOf>
//!         <Match MatchId="urn:oasis:names:tc:xacml:1.0:function:string-equal">
//!           <AttributeValue DataType="http://www.w3.org/2001/XMLSchema#string">doctor</AttributeValue>
//!           <AttributeDesignator Category="urn:oasis:names:tc:xacml:1.0:subject-category:access-subject"
//!             AttributeId="role" DataType="http://www.w3.org/2001/XMLSchema#string" MustBePresent="false"/>
//!         </Match>
//!       </AllOf></AnyOf></Target>
//!     </Rule>
//!   </Policy>"#;
//! let pdp = Pdp::builder().policy("doctors.xml", policy).build().map_err(|errors| errors[0].to_string())?;
//!
//! let doctor = Request::builder().subject("role", "doctor").build();
//! assert_eq!(pdp.decide(&doctor).results[0].decision, Decision::Permit);
//! let visitor = Request::builder().subject("role", "visitor").build();
//! assert_eq!(pdp.decide(&visitor).results[0].decision, Decision::Deny);
//! # Ok::<(), String>(())
//! ```
//!
//! # Features
//!
//! All are on unless left out (`default-features = false`); `docs/embedding.md` says what each costs.
//!
//! | feature | what is there with it |
//! |---|---|
//! | `xacml` | policies of XACML |
//! | `json` | requests and responses of XACML's JSON profile, and explanations as JSON (`Explanation::to_json`) |
//! | `sapl` | policies and subscriptions of SAPL, with streams; also `pdp.json`, `secrets.json` and `critical-extensions.json` |
//! | `library-time` | SAPL's functions and attributes `time`, with the time zones of the world |
//! | `library-crypto` | SAPL's functions `digest`, `keys`, `mac`, `signature` and `x509`, its attributes `jwt` and `x509`; compiles C |
//! | `library-geo` | SAPL's functions `geo` and `traccar` |
//! | `library-formats` | SAPL's functions `toml` and `yaml` |
//! | `plan` | plans: which rows of a table are permitted ([`Pdp::plan`](plan)); brings `sapl` |
//!
//! At least one of `xacml` and `sapl` is needed; each `library-` brings `sapl`. What a build does not have it refuses when
//! policies are put in force: a document of a language that is left out, and one that calls a function or asks for an attribute that
//! is. So no policy decides otherwise in one build than in another.

#![cfg_attr(
    not(feature = "sapl"),
    allow(dead_code, reason = "subscriptions and streams use more of what is shared")
)]

#[cfg(not(any(feature = "sapl", feature = "xacml")))]
compile_error!(
    "a decision point reads a language: build `durward-pdp` with the feature `xacml`, `sapl` or both"
);

mod became;
mod builder;
mod change;
#[cfg(feature = "sapl")]
pub mod check;
mod class;
mod dead;
mod decide;
mod decider;
mod documents;
mod duty;
mod edit;
mod explain;
#[cfg(feature = "sapl")]
mod expression;
mod in_force;
mod language;
mod mismatch;
#[cfg(feature = "plan")]
pub mod plan;
mod read;
mod recipe;
pub mod record;
mod register;
#[cfg(feature = "sapl")]
mod secrets;
mod snapshot;
mod source;
#[cfg(feature = "sapl")]
pub mod stream;
#[cfg(feature = "sapl")]
mod subscription;
mod surroundings;
mod time;
mod warnings;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use arc_swap::ArcSwap;

pub use builder::PdpBuilder;
pub use dead::DeadPolicy;
pub use decider::Decider;
pub use durward_index::{
    Counting, Index, IndexKind, Settings as IndexSettings, Statistics as IndexStatistics,
    Survey as IndexSurvey,
};
pub use durward_ir::combine::Algorithm;
pub use durward_ir::{AttributeName, DataType, Value};
pub use durward_xacml::multiple::ResourceHierarchy;
pub use durward_xacml::request::Request;
pub use durward_xacml::response::{Decision, Response, ResultOf};
pub use durward_xacml_policies::policy::{Limits, PolicyError};
pub use edit::PolicyChange;
pub use explain::{Explained, ExplainedCondition, Explanation};
#[cfg(feature = "sapl")]
pub use expression::{Expression, ExpressionFault};
pub use mismatch::RequestLanguage;
pub use read::{
    DIRECTORY_DEPTH_MAX, PolicyText, ReadError, is_policy_file, is_policy_name, list_policies,
    policies_of_directory, read_policies, read_policies_within, read_policy_file,
};
pub use recipe::ChangeLimits;
pub use snapshot::SnapshotInfo;
pub use source::{AttributeSource, SourceError};
#[cfg(feature = "sapl")]
pub use subscription::Attempt;

pub use durward_index as index;
pub use durward_ir as ir;
#[cfg(feature = "sapl")]
pub use durward_library as library;
#[cfg(feature = "sapl")]
pub use durward_sapl as sapl;

use durward_ir::finding::Finding;
use durward_ir::program::Dead;
use in_force::{InForce, Spent};
use recipe::Recipe;
use snapshot::{Built, Snapshot};

/// XACML as text: requests and responses (`durward_xacml`), and policies (`durward_xacml_policies`).
pub mod xacml {
    pub use durward_xacml::{content, encoding, multiple, request, response, wording};
    pub use durward_xacml_policies::{check, lower, policy, tree};
}

/// Gives the time of a decision.
type Clock = Box<dyn Fn() -> SystemTime + Send + Sync>;

/// A policy decision point.
pub struct Pdp {
    snapshot: ArcSwap<Snapshot>,
    /// Held while building, so that reloads follow one another.
    in_force: Mutex<InForce>,
    recipe: Recipe,
    clock: Option<Clock>,
    sources: Vec<Box<dyn AttributeSource>>,
    hierarchy: Option<Box<dyn ResourceHierarchy + Send + Sync>>,
    warned: mismatch::WarnedSnapshots,
}

impl std::fmt::Debug for Pdp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pdp").field("snapshot", &self.snapshot.load().info).finish_non_exhaustive()
    }
}

impl Pdp {
    /// What is in force now.
    pub fn snapshot(&self) -> SnapshotInfo {
        self.snapshot.load().info.clone()
    }

    /// The policies of SAPL in force that never have a say, each with its place and why: they are left out, and hardly
    /// meant. Of XACML's, [`xacml::check`] tells.
    pub fn dead_policies(&self) -> Vec<DeadPolicy> {
        let mut snapshot = self.snapshot.load();
        // Usually there are none, and documents need not be counted.
        if snapshot.program.dead().next().is_none() {
            return Vec::new();
        }
        // Those in force do not tell which of their documents were changed.
        let in_force = matches!(snapshot.index, Index::Changed(_))
            .then(|| self.in_force.lock().unwrap_or_else(PoisonError::into_inner));
        if in_force.is_some() {
            snapshot = self.snapshot.load();
        }
        let program = &snapshot.program;
        let dead = |dead: &Dead| DeadPolicy {
            source: program.source(dead.place.source).cloned().unwrap_or_default().into(),
            line: dead.place.line,
            column: dead.place.column,
            message: dead.message.clone(),
            help: dead.help,
        };
        let register = in_force.as_ref().and_then(|in_force| in_force.register.as_ref());
        let Some(register) = register else { return program.dead().map(dead).collect() };
        // Documents that were changed are still in the program, and what is new stands behind all others.
        let places = register.places();
        let in_force = program.dead().filter_map(|dead| Some((*places.get(&dead.place.source)?, dead)));
        let mut in_force: Vec<(usize, &Dead)> = in_force.collect();
        in_force.sort_by_key(|(place, _)| *place);
        in_force.into_iter().map(|(_, it)| dead(it)).collect()
    }

    /// What is odd in the policies of SAPL in force, in the order of documents and places: the dead ones and, of a decision
    /// point built with [`PdpBuilder::checking`], every warning of [`check`].
    pub fn warnings(&self) -> Vec<Finding> {
        let mut all: Vec<Finding> = self.dead_policies().into_iter().map(Into::into).collect();
        let in_force = self.in_force.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(in_force.warnings.all().cloned());
        drop(in_force);
        all.sort_by(|a, b| (&a.source, a.line, a.column).cmp(&(&b.source, b.line, b.column)));
        all
    }

    /// What the index in force consists of and, where [`IndexSettings::counting`] is on, what it did.
    pub fn index_statistics(&self) -> IndexStatistics {
        self.snapshot.load().index.statistics()
    }

    /// What there is to tell policies apart by, and the order in which the index in force looks at it.
    pub fn survey(&self) -> IndexSurvey {
        let snapshot = self.snapshot.load();
        snapshot.index.survey(&snapshot.program, &self.recipe.index_settings)
    }

    /// Puts other policies in force, for every decision that begins after this returns. Decisions under way finish
    /// with the policies they began with.
    ///
    /// # Errors
    /// Everything wrong with the new policies; the old ones then stay in force.
    pub fn replace(&self, policies: &[PolicyText]) -> Result<SnapshotInfo, Vec<PolicyError>> {
        let (info, spent) = {
            let mut in_force = self.in_force.lock().unwrap_or_else(PoisonError::into_inner);
            self.replaced(&mut in_force, policies)?
        };
        self.drop_all(spent);
        Ok(info)
    }

    fn replaced(
        &self,
        in_force: &mut InForce,
        policies: &[PolicyText],
    ) -> Result<(SnapshotInfo, Spent), Vec<PolicyError>> {
        let id = in_force.last_id + 1;
        if self.recipe.changing.is_none() {
            let Built { snapshot, warnings, .. } =
                Built::unchanging(id, policies, &self.recipe, &self.sources)?;
            self.check_clock(&snapshot)?;
            in_force.warnings = warnings;
            return Ok(self.put_in_force(in_force, Arc::new(snapshot)));
        }
        let texts: Vec<Arc<PolicyText>> = policies.iter().cloned().map(Arc::new).collect();
        let Built { snapshot, register, warnings } = self.built(id, &texts)?;
        in_force.warnings = warnings;
        let before = std::mem::replace(&mut in_force.register, register);
        let (info, spent) = self.put_in_force(in_force, Arc::new(snapshot));
        Ok((info, spent.with(before)))
    }

    /// Policies that read the time are of no use without one, or a source that says the time, and would fail only later.
    fn check_clock(&self, snapshot: &Snapshot) -> Result<(), Vec<PolicyError>> {
        if self.clock.is_none() && snapshot.time.is_needed(&snapshot.is_sourced) {
            let message = "these policies read the current time, and the decision point has no clock";
            let help = "give it one: `Pdp::builder().clock(std::time::SystemTime::now)`";
            return Err(vec![PolicyError::of_all(message.into(), Some(help.into()))]);
        }
        Ok(())
    }
}

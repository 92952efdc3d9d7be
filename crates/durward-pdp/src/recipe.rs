//! How policies become a snapshot.

use std::sync::Arc;

use durward_index::{IndexKind, Settings};
use durward_xacml_policies::lower;
use durward_xacml_policies::policy::Limits;

use crate::documents::sapl::CheckSettings;

/// How policies become a snapshot; the same for every reload.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recipe {
    pub(crate) lowering: lower::Options,
    pub(crate) index: IndexKind,
    pub(crate) index_settings: Settings,
    pub(crate) limits: Limits,
    /// Whether to keep how policies were written.
    pub(crate) is_explaining: bool,
    /// What to hold documents of SAPL to, where warnings are wanted.
    pub(crate) checking: Option<Arc<CheckSettings>>,
    /// Whether to keep the documents, so that some of them can be changed, and how.
    pub(crate) changing: Option<ChangeLimits>,
    /// Whether to decide without anything that is there to be fast.
    pub(crate) is_plain: bool,
}

/// When policies are changed by themselves, and when all of them are built anew. No decision depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeLimits {
    /// Policies that have fewer elements are built anew: that takes a few milliseconds, and what is built in one go is
    /// faster.
    pub elements_min: usize,
    /// So many elements and expressions and no more are added before all are built anew: each change copies them.
    pub added_max: usize,
}

impl Default for ChangeLimits {
    fn default() -> ChangeLimits {
        ChangeLimits { elements_min: 2_000, added_max: 16_384 }
    }
}

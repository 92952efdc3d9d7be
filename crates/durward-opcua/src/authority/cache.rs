//! Decisions that may be used again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_lc_rs::digest::{SHA256, digest};
use durward_identity::Moment;
use serde_json::json;

use super::decide::{TokenClientApplication, TokenSubject};
use crate::token::{Grants, LiveFacts, TableVersion};

/// Decisions that are kept. When there are more, all are dropped: they are soon made again.
const DECISIONS_MAX: usize = 4_096;

/// A decision as tokens need it.
#[derive(Debug)]
pub(super) struct CachedDecision {
    pub(super) grants: Grants,
    pub(super) roles: Vec<Arc<str>>,
    pub(super) policy: Arc<str>,
    pub(super) lifetime: std::time::Duration,
    /// Whether anything at all is granted.
    pub(super) grants_something: bool,
    /// What the gate has to know, where something is left to it.
    pub(super) live: Option<LiveFacts>,
}

/// Names a question: the digest of all that the answer may depend on, apart from the moment.
pub(super) type QuestionDigest = [u8; 32];

/// What decided when; everything goes when something is recalled.
#[derive(Default)]
pub(super) struct DecisionCache {
    state: Mutex<CacheState>,
}

#[derive(Default)]
struct CacheState {
    /// Counts the recalls.
    generation: u64,
    decisions: HashMap<QuestionDigest, (Moment, Arc<CachedDecision>)>,
}

impl DecisionCache {
    fn state(&self) -> MutexGuard<'_, CacheState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Which recalls a decision that begins now knows of.
    pub(super) fn generation(&self) -> u64 {
        self.state().generation
    }

    /// A decision that still counts.
    pub(super) fn find(&self, key: &QuestionDigest, now: Moment) -> Option<Arc<CachedDecision>> {
        let state = self.state();
        state.decisions.get(key).filter(|(until, _)| now < *until).map(|(_, decided)| Arc::clone(decided))
    }

    /// Keeps a decision that was begun in this generation, until that moment. Passed over where something was recalled meanwhile.
    pub(super) fn put(
        &self,
        key: QuestionDigest,
        generation: u64,
        until: Moment,
        decided: &Arc<CachedDecision>,
    ) {
        let mut state = self.state();
        if state.generation != generation {
            return;
        }
        if state.decisions.len() >= DECISIONS_MAX {
            state.decisions.clear();
        }
        state.decisions.insert(key, (until, Arc::clone(decided)));
    }

    /// Something is recalled: decisions of before count no more. To be called before cutoffs are made, so that no token that is later than
    /// the cutoff comes of one.
    pub(super) fn clear(&self) {
        let mut state = self.state();
        state.generation += 1;
        state.decisions.clear();
    }
}

/// The key of a question.
pub(super) fn key(
    subject: &TokenSubject,
    client: &TokenClientApplication,
    resource: &str,
    table: TableVersion,
    policy: &str,
    roles: &[String],
) -> QuestionDigest {
    // As JSON no two different facts look alike.
    let facts = json!([
        &*subject.name,
        subject.kind.name(),
        subject.roles.iter().map(|role| &**role).collect::<Vec<_>>(),
        subject.attributes,
        subject.session.as_deref(),
        &*client.application_uri,
        &*client.certificate_subject,
        client.thumbprint.to_string(),
        resource,
        table.to_string(),
        policy,
        roles,
    ]);
    let mut key = [0; 32];
    let digest = digest(&SHA256, facts.to_string().as_bytes());
    key.iter_mut().zip(digest.as_ref()).for_each(|(to, from)| *to = *from);
    key
}

//! The streams of decisions of one tenant, with records of decisions or without.

use std::collections::HashMap;
use std::sync::Arc;
use std::task::{Context, Poll};

use durward_pdp::record::{Record, Recorded, Recording};
use durward_pdp::stream::{
    self, BrokerSettings, Finder, PackedSubscription, PoliciesInForce, RecordedPolicies, Streams,
    SubscribeError,
};
use smol_str::SmolStr;

use super::Decision;
use super::contract::{Decisions, MultiDecisions, Named};

/// Clones are handles to the same.
#[derive(Clone)]
pub(super) enum Live {
    Plain(Streams<PoliciesInForce>),
    Recorded(Streams<RecordedPolicies>, Recording),
}

impl Live {
    pub(super) fn new(
        policies: Arc<PoliciesInForce>,
        recording: Option<Recording>,
        seed: u64,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> Live {
        let settings = BrokerSettings::default();
        match recording {
            None => Live::Plain(Streams::new(policies, settings, seed, wake)),
            Some(recording) => {
                let policies = RecordedPolicies::of(policies, recording);
                Live::Recorded(Streams::new(policies, settings, seed, wake), recording)
            }
        }
    }

    pub(super) fn set_finders(&self, finders: Vec<Finder>, now_ms: i64) {
        match self {
            Live::Plain(streams) => streams.set_finders(finders, now_ms),
            Live::Recorded(streams, _) => streams.set_finders(finders, now_ms),
        }
    }

    pub(super) fn replace(&self, policies: Arc<PoliciesInForce>, now_ms: i64) {
        match self {
            Live::Plain(streams) => streams.replace(policies, now_ms),
            Live::Recorded(streams, recording) => {
                streams.replace(RecordedPolicies::of(policies, *recording), now_ms);
            }
        }
    }

    pub(super) fn tick(&self, now_ms: i64) -> Option<i64> {
        match self {
            Live::Plain(streams) => streams.tick(now_ms),
            Live::Recorded(streams, _) => streams.tick(now_ms),
        }
    }

    pub(super) fn subscribe(
        &self,
        subscription: PackedSubscription,
        now_ms: i64,
    ) -> Result<Box<dyn Decisions>, SubscribeError> {
        Ok(match self {
            Live::Plain(streams) => Box::new(streams.subscribe(subscription, now_ms)?),
            Live::Recorded(streams, _) => {
                Box::new(One { decisions: streams.subscribe(subscription, now_ms)?, record: None })
            }
        })
    }

    pub(super) fn subscribe_all(
        &self,
        subscriptions: Vec<(SmolStr, PackedSubscription)>,
        now_ms: i64,
    ) -> Result<Box<dyn MultiDecisions>, SubscribeError> {
        Ok(match self {
            Live::Plain(streams) => Box::new(streams.subscribe_all(subscriptions, now_ms)?),
            Live::Recorded(streams, _) => {
                let decisions = streams.subscribe_all(subscriptions, now_ms)?;
                Box::new(Several { decisions, records: HashMap::new() })
            }
        })
    }
}

impl Decisions for stream::Subscription<PoliciesInForce> {
    fn poll_next(&mut self, task: &mut Context<'_>) -> Poll<Arc<Decision>> {
        stream::Subscription::poll_next(self, task)
    }
}

impl MultiDecisions for stream::MultiSubscription<PoliciesInForce> {
    fn poll_all(&mut self, task: &mut Context<'_>) -> Poll<Named> {
        stream::MultiSubscription::poll_all(self, task)
    }

    fn poll_changed(&mut self, task: &mut Context<'_>) -> Poll<Named> {
        stream::MultiSubscription::poll_changed(self, task)
    }
}

/// A subscription, and the record of what it gave last.
struct One {
    decisions: stream::Subscription<RecordedPolicies>,
    record: Option<Arc<Record>>,
}

impl Decisions for One {
    fn poll_next(&mut self, task: &mut Context<'_>) -> Poll<Arc<Decision>> {
        self.decisions.poll_next(task).map(|recorded| {
            self.record = Some(Arc::clone(&recorded.record));
            Arc::clone(&recorded.decision)
        })
    }

    fn record(&self) -> Option<Arc<Record>> {
        self.record.clone()
    }
}

/// Several, and the records of what they gave last.
struct Several {
    decisions: stream::MultiSubscription<RecordedPolicies>,
    records: HashMap<SmolStr, Arc<Record>>,
}

impl Several {
    fn keep(&mut self, named: stream::Named<Recorded>) -> Named {
        let mut told = Named::with_capacity(named.len());
        for (id, recorded) in named {
            self.records.insert(id.clone(), Arc::clone(&recorded.record));
            told.push((id, Arc::clone(&recorded.decision)));
        }
        told
    }
}

impl MultiDecisions for Several {
    fn poll_all(&mut self, task: &mut Context<'_>) -> Poll<Named> {
        self.decisions.poll_all(task).map(|named| self.keep(named))
    }

    fn poll_changed(&mut self, task: &mut Context<'_>) -> Poll<Named> {
        self.decisions.poll_changed(task).map(|named| self.keep(named))
    }

    fn record(&self, id: &str) -> Option<Arc<Record>> {
        self.records.get(id).cloned()
    }
}

//! What is kept of a request until its response comes.

use std::borrow::Cow;
use std::collections::HashMap;

use opcua_types::{NodeId, StatusCode};

use super::browse::PendingBrowse;
use super::history::PendingHistory;
use super::items::{PendingCreate, PendingModify};
use super::parts::{PendingParts, SplitRequest};
use super::service::ServiceKind;
use super::splice::{EntryFilter, SplicedResults};
use super::translate::PendingTranslate;

/// What to do with a request.
pub(super) enum RequestPlan<'a> {
    /// Send it upstream; what is kept mends the response.
    Forward(Cow<'a, [u8]>, ResponseRepair),
    /// Answer it.
    Answer(Vec<u8>),
    /// Send it in parts.
    InParts(SplitRequest),
    /// Cancel the client's requests that carry this handle.
    Cancel(u32),
}

impl RequestPlan<'_> {
    /// The same, with bytes of its own.
    pub(super) fn into_owned(self) -> RequestPlan<'static> {
        match self {
            RequestPlan::Forward(body, pending) => RequestPlan::Forward(body.into_owned().into(), pending),
            RequestPlan::Answer(body) => RequestPlan::Answer(body),
            RequestPlan::InParts(parts) => RequestPlan::InParts(parts),
            RequestPlan::Cancel(handle) => RequestPlan::Cancel(handle),
        }
    }
}

/// A request that went upstream.
#[derive(Debug)]
pub(super) struct UpstreamPending {
    pub(super) service: ServiceKind,
    pub(super) pending: ResponseRepair,
    weight: usize,
}

/// The requests that went upstream, by their ids.
#[derive(Debug, Default)]
pub(super) struct UpstreamRequests {
    waiting: HashMap<u32, UpstreamPending>,
    /// INVARIANT: the sum of the weights of all that wait.
    weight: usize,
}

impl UpstreamRequests {
    pub(super) fn insert(&mut self, request_id: u32, service: ServiceKind, pending: ResponseRepair) {
        let weight = pending.weight();
        self.weight += weight;
        let waiting = UpstreamPending { service, pending, weight };
        self.waiting.insert(request_id, waiting);
    }

    pub(super) fn remove(&mut self, request_id: u32) -> Option<UpstreamPending> {
        let waiting = self.waiting.remove(&request_id)?;
        self.weight -= waiting.weight;
        Some(waiting)
    }

    pub(super) fn contains(&self, request_id: u32) -> bool {
        self.waiting.contains_key(&request_id)
    }

    pub(super) fn count(&self) -> usize {
        self.waiting.len()
    }

    /// How many entries all of them have.
    pub(super) fn weight(&self) -> usize {
        self.weight
    }

    pub(super) fn count_of(&self, service: ServiceKind) -> usize {
        self.waiting.values().filter(|waiting| waiting.service == service).count()
    }
}

/// What mends a response, by kind.
#[derive(Debug)]
pub(super) enum ResponseRepair {
    /// Results, put in order.
    Results(SplicedResults),
    /// Two lists of results, of so many entries each.
    Triggering(usize, usize),
    /// A part of a request, and those that follow.
    InParts(Box<PendingParts>),
    /// References to filter.
    Browse(PendingBrowse),
    /// Paths to follow further.
    Translate(PendingTranslate),
    /// History to filter.
    History(PendingHistory),
    /// Calls, of which some tell client handles of the upstream.
    Call { sieve: EntryFilter, item_lists: Vec<(u32, u32)> },
    /// Nodes that are being registered.
    Register { sieve: EntryFilter, nodes: Vec<NodeId> },
    /// A response without content.
    Nothing,
    /// A subscription that is being made.
    CreateSubscription,
    /// Revised settings.
    ModifySubscription,
    /// Subscriptions that are being deleted.
    DeleteSubscriptions { sieve: EntryFilter, ids: Vec<u32> },
    /// Subscriptions that are being taken over.
    Transfer { sieve: EntryFilter, ids: Vec<u32> },
    /// Items that are being made.
    CreateItems(PendingCreate),
    /// Items that are being changed.
    ModifyItems(PendingModify),
    /// Items that are being deleted.
    DeleteItems { subscription: u32, sieve: EntryFilter, ids: Vec<u32> },
    /// The results of acknowledgements, and how many more the gate added of its own.
    Publish { acknowledged: EntryFilter, owed: usize },
    /// The subscription and both numbers of a message asked for again.
    Republish { subscription: u32, sequence: u32, client_sequence: u32 },
}

/// What reaches the client, or what has to be asked first.
#[derive(Debug, PartialEq, Eq)]
pub enum MediatedReply<'a> {
    /// The body of the response.
    Pass(Cow<'a, [u8]>),
    /// Another request has to go upstream before the client can be answered: send it under the same request id and hand its response back.
    FollowUp(UpstreamRequest),
    /// A service fault.
    Fault(StatusCode),
}

/// A request of the gate's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamRequest {
    /// Which service.
    pub service: ServiceKind,
    /// The bytes that follow the request header.
    pub body: Vec<u8>,
}

impl ResponseRepair {
    /// How many entries are kept at most.
    pub(super) fn weight(&self) -> usize {
        match self {
            ResponseRepair::Results(results) => results.sieve.count,
            ResponseRepair::InParts(parts) => parts.weight(),
            ResponseRepair::Browse(browse) => browse.sieve.count,
            ResponseRepair::Translate(translate) => translate.weight(),
            ResponseRepair::History(history) => history.sieve.count,
            ResponseRepair::CreateItems(create) => create.sieve.count,
            ResponseRepair::ModifyItems(modify) => modify.sieve.count,
            ResponseRepair::Call { sieve, .. }
            | ResponseRepair::Register { sieve, .. }
            | ResponseRepair::DeleteSubscriptions { sieve, .. }
            | ResponseRepair::Transfer { sieve, .. }
            | ResponseRepair::DeleteItems { sieve, .. }
            | ResponseRepair::Publish { acknowledged: sieve, .. } => sieve.count,
            ResponseRepair::Triggering(..)
            | ResponseRepair::Nothing
            | ResponseRepair::CreateSubscription
            | ResponseRepair::ModifySubscription
            | ResponseRepair::Republish { .. } => 0,
        }
    }
}

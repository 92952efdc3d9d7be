//! What decides, as the protocols see it.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use durward_pdp::ir::question::{Attributes, RawSubscription};
use durward_pdp::plan::{Columns, Plan, PlanError};
use durward_pdp::record::{Record, Recorded};
use smol_str::SmolStr;

use super::{Decision, MultiSubscription, Subscription};

/// Decides for tenants. One that does not exist has no policies: everything is indeterminate.
pub trait Decider: Send + Sync + 'static {
    /// Decides once.
    ///
    /// # Errors
    /// There is no room for a subscription that has to wait for attributes.
    fn decide_once(&self, tenant: &str, subscription: Subscription) -> Result<Once, Full>;

    /// Decides once, by a subscription of which no values were made; `None` where they are needed.
    fn decide_raw(&self, tenant: &str, raw: &RawSubscription<'_>) -> Option<Decision> {
        let _ = (tenant, raw);
        None
    }

    /// Decides once what was put together by the surface, which gives what policies ask for and nothing else; `None` where that does not come
    /// to a decision at once. A subject that is a token is not looked at.
    fn decide_known(&self, tenant: &str, known: &dyn Attributes) -> Option<Decision> {
        let _ = (tenant, known);
        None
    }

    /// Plans which rows are permitted, which may take some tenths of a second: never on a thread that answers. A decider that knows
    /// no policies permits none.
    fn plan<'d>(
        &'d self,
        tenant: &'d str,
        subscription: Subscription,
        columns: Arc<Columns>,
    ) -> Planning<'d> {
        let _ = (tenant, subscription, columns);
        Box::pin(std::future::ready(Err(NoPlan::NotPermitted)))
    }

    /// The number of the policies in force; 0 where there are none, or nobody knows.
    fn snapshot(&self, tenant: &str) -> u64 {
        let _ = tenant;
        0
    }

    /// Decides again and again.
    ///
    /// # Errors
    /// There is no room for a further subscription.
    fn subscribe(&self, tenant: &str, subscription: Subscription) -> Result<Box<dyn Decisions>, Full>;

    /// Decides several subscriptions of one caller again and again. There is at least one.
    ///
    /// # Errors
    /// There is no room for further subscriptions.
    fn subscribe_all(
        &self,
        tenant: &str,
        subscriptions: MultiSubscription,
    ) -> Result<Box<dyn MultiDecisions>, Full>;
}

/// Whoever decides; empty until there is somebody.
pub type DeciderSlot = Arc<OnceLock<Arc<dyn Decider>>>;

/// A plan on its way.
pub type Planning<'d> = Pin<Box<dyn Future<Output = Result<Plan, NoPlan>> + Send + 'd>>;

/// Why there is no plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPlan {
    /// No row is permitted: the token that the subject is named by is not accepted, or there are no policies.
    NotPermitted,
    /// This node cannot say at the moment who the subject is.
    Unknown,
    /// As many plans are being made, and waited for, as may be.
    Busy,
    /// What is asked cannot be planned.
    Unplannable(PlanError),
}

/// What whoever finds no place for a plan is told.
pub const TOO_MANY_PLANS: &str = "too many plans are being made; try again";

/// There are as many subscriptions as there can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// A decision now, or the first of these.
pub enum Once {
    /// It needed no attribute that has to be waited for.
    Decided(Decision),
    /// The same, by a decider that keeps records.
    Recorded(Recorded),
    /// Dropping it gives up waiting.
    Waiting(Box<dyn Decisions>),
}

/// Decisions by the ids of their subscriptions, in the order of the caller.
pub type Named = Vec<(SmolStr, Arc<Decision>)>;

/// The decisions of one subscription, unlike each other and the latest only. Dropping it unsubscribes.
pub trait Decisions: Send {
    /// The next decision.
    fn poll_next(&mut self, task: &mut Context<'_>) -> Poll<Arc<Decision>>;

    /// The record of the decision that was given last, by a decider that keeps records.
    fn record(&self) -> Option<Arc<Record>> {
        None
    }
}

/// The decisions of several subscriptions. Dropping it unsubscribes.
pub trait MultiDecisions: Send {
    /// All of them, once all are there, and when one has changed.
    fn poll_all(&mut self, task: &mut Context<'_>) -> Poll<Named>;

    /// Those that changed.
    fn poll_changed(&mut self, task: &mut Context<'_>) -> Poll<Named>;

    /// The record of the decision that was given last of the subscription of this id, by a decider that keeps records.
    fn record(&self, id: &str) -> Option<Arc<Record>> {
        let _ = id;
        None
    }
}

//! Subscriptions as a whole (Part 4, 5.14): only the session's own, and those that it may take over.

use std::sync::Arc;

use opcua_types::StatusCode;

use super::pending::{RequestPlan, ResponseRepair};
use super::put::PutEncoded;
use super::service::ServiceKind;
use super::splice::{EntryFilter, FilteredRequest, ResultShape, SplicedResults};
pub use super::subscription::MediatedSubscription;
pub(super) use super::subscription::MediatedSubscriptions;
use super::walk::{DecodeError, WalkResult, Walker};
use super::{Mediator, PlannedRequest};

/// The owners of subscriptions: what sessions of one gate have to know of each other.
///
/// The mediator of the session that asks is in use meanwhile. An implementation that keeps mediators behind locks must not let two sessions that take
/// from each other wait for each other: let one lock cover all transfers.
pub trait Owners: Send + Sync {
    /// Whether this session may take the subscription over: it belongs (or belonged, where it has outlived its session) to a session of the same
    /// user and the same client certificate (Part 4, 5.14.7).
    fn may_take(&self, subscription_id: u32) -> bool;

    /// The server has transferred it: takes it from its former session ([`Mediator::release`]). `None` where it is gone, or may no longer be
    /// taken; the client is refused then.
    fn take(&self, subscription_id: u32) -> Option<MediatedSubscription>;
}

/// No session takes from another.
#[derive(Clone, Copy, Debug)]
pub struct NoTransfers;

impl Owners for NoTransfers {
    fn may_take(&self, _: u32) -> bool {
        false
    }

    fn take(&self, _: u32) -> Option<MediatedSubscription> {
        None
    }
}

impl Mediator {
    pub(super) fn create_subscription<'a>(&self, body: &'a [u8]) -> PlannedRequest<'a> {
        // Interval, life time, keep alive, notifications for each message, publishing, priority.
        let mut walker = Walker::new(body);
        walker.take(8 + 4 + 4 + 4 + 1 + 1)?;
        walker.end()?;
        let coming = self.waiting.count_of(ServiceKind::CreateSubscription);
        if self.subscriptions.count() + coming >= self.limits.subscriptions {
            return Err(StatusCode::BadTooManySubscriptions);
        }
        Ok(RequestPlan::Forward(body.into(), ResponseRepair::CreateSubscription))
    }

    pub(super) fn mend_create_subscription(&mut self, body: &[u8]) -> WalkResult<()> {
        let mut walker = Walker::new(body);
        let id = walker.u32()?;
        walker.take(8 + 4 + 4)?;
        walker.end()?;
        if self.subscriptions.own(id).is_ok() {
            return Err(DecodeError);
        }
        self.subscriptions.insert(id, MediatedSubscription::default());
        Ok(())
    }

    pub(super) fn modify_subscription<'a>(&self, body: &'a [u8]) -> PlannedRequest<'a> {
        let mut walker = Walker::new(body);
        let id = walker.u32()?;
        walker.take(8 + 4 + 4 + 4 + 1)?;
        walker.end()?;
        self.subscriptions.own(id)?;
        Ok(RequestPlan::Forward(body.into(), ResponseRepair::ModifySubscription))
    }

    pub(super) fn set_publishing_mode<'a>(&self, body: &'a [u8]) -> PlannedRequest<'a> {
        let mut walker = Walker::new(body);
        walker.boolean()?;
        let sifted = FilteredRequest::new(body, &mut walker, self.room(), |_, walker| {
            let id = walker.u32()?;
            Ok(self.subscriptions.own(id).map(drop))
        })?;
        walker.end()?;
        Ok(sifted.plan(ResultShape::Status, |sieve| SplicedResults::plain(ResultShape::Status, sieve)))
    }

    pub(super) fn delete_subscriptions<'a>(&self, body: &'a [u8]) -> PlannedRequest<'a> {
        let mut ids = Vec::new();
        let mut walker = Walker::new(body);
        let sifted = FilteredRequest::new(body, &mut walker, self.room(), |_, walker| {
            let id = walker.u32()?;
            ids.push(id);
            Ok(self.subscriptions.own(id).map(drop))
        })?;
        walker.end()?;
        ids.retain(|id| self.subscriptions.own(*id).is_ok());
        Ok(sifted.plan(ResultShape::Status, |sieve| ResponseRepair::DeleteSubscriptions { sieve, ids }))
    }

    pub(super) fn mend_delete_subscriptions(
        &mut self,
        sieve: &EntryFilter,
        ids: &[u32],
        body: &[u8],
    ) -> WalkResult<Vec<u8>> {
        let mut deleted = Vec::new();
        let out = mend_statuses(sieve, ids, body, |id| deleted.push(id))?;
        deleted.into_iter().for_each(|id| self.subscriptions.remove(id));
        Ok(out)
    }

    pub(super) fn transfer<'a>(&self, body: &'a [u8]) -> PlannedRequest<'a> {
        let mut ids = Vec::new();
        let mut walker = Walker::new(body);
        let sifted = FilteredRequest::new(body, &mut walker, self.room(), |_, walker| {
            let id = walker.u32()?;
            if self.subscriptions.own(id).is_ok() || self.owners.may_take(id) {
                ids.push(id);
                Ok(Ok(()))
            } else {
                Ok(Err(StatusCode::BadSubscriptionIdInvalid))
            }
        })?;
        // Whether to send initial values: they are checked on delivery, as all are.
        walker.boolean()?;
        walker.end()?;
        if self.subscriptions.count() + ids.len() > self.limits.subscriptions {
            return Err(StatusCode::BadTooManySubscriptions);
        }
        Ok(sifted.plan(ResultShape::Transfer, |sieve| ResponseRepair::Transfer { sieve, ids }))
    }

    pub(super) fn mend_transfer(
        &mut self,
        sieve: &EntryFilter,
        ids: &[u32],
        body: &[u8],
    ) -> WalkResult<Vec<u8>> {
        // Nothing is taken over before the whole response proves sound.
        let mut check = Walker::new(body);
        if check.skip_array(|walker| ResultShape::Transfer.skip(walker))? != ids.len() {
            return Err(DecodeError);
        }
        let mut ids = ids.iter();
        let mut walker = Walker::new(body);
        let mut out = Vec::with_capacity(body.len());
        let owners = Arc::clone(&self.owners);
        sieve.merge(&mut walker, &mut out, ResultShape::Transfer, |_, walker, out| {
            let id = *ids.next().ok_or(DecodeError)?;
            let status = walker.status()?;
            let count = walker.count()?;
            let available = (0..count).map(|_| walker.u32()).collect::<WalkResult<Vec<_>>>()?;
            if !status.is_bad()
                && self.subscriptions.own(id).is_err()
                && let Some(taken) = owners.take(id)
            {
                self.subscriptions.insert(id, taken);
            }
            let Ok(subscription) = self.subscriptions.own(id) else {
                let status = if status.is_bad() { status } else { StatusCode::BadSubscriptionIdInvalid };
                ResultShape::Transfer.put_refused(out, status);
                return Ok(());
            };
            let sequences = subscription.client_sequences(&available);
            out.put_status(status);
            out.put_count(sequences.len());
            sequences.into_iter().for_each(|sequence| out.put_u32(sequence));
            Ok(())
        })?;
        walker.end()?;
        Ok(out)
    }

    /// Gives a subscription away, to another session of the same user and client: what [`Owners::take`] calls.
    pub fn release(&mut self, subscription_id: u32) -> Option<MediatedSubscription> {
        self.subscriptions.release(subscription_id)
    }

    /// Gives all subscriptions away: the session was closed and leaves them behind (`deleteSubscriptions` false), for another session to take over
    /// until the server deletes them.
    pub fn release_all(&mut self) -> Vec<(u32, MediatedSubscription)> {
        self.subscriptions.release_all()
    }
}

/// Statuses put in order; `done` is told of what succeeded.
pub(super) fn mend_statuses(
    sieve: &EntryFilter,
    ids: &[u32],
    body: &[u8],
    mut done: impl FnMut(u32),
) -> WalkResult<Vec<u8>> {
    let mut ids = ids.iter();
    let mut walker = Walker::new(body);
    let mut out = Vec::with_capacity(body.len());
    sieve.merge(&mut walker, &mut out, ResultShape::Status, |_, walker, out| {
        let id = *ids.next().ok_or(DecodeError)?;
        let status = walker.status()?;
        if !status.is_bad() {
            done(id);
        }
        out.put_status(status);
        Ok(())
    })?;
    walker.end()?;
    Ok(out)
}

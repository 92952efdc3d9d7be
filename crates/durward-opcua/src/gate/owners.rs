//! Subscriptions that outlive a session, or move to another one of the same user and client (Part 4, 5.14.7).

use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError, Weak};

use tokio::time::Instant;

use super::core::{GateCore, GateSessionCell};
use super::link::SessionLink;
use super::mediate::{MediatedSubscription, Owners};
use crate::protocol::GateSessionId;

/// The owners of subscriptions.
#[derive(Default)]
pub(super) struct SubscriptionOwners {
    by_session: HashMap<u32, GateSessionId>,
    orphans: HashMap<u32, OrphanedSubscription>,
}

/// A subscription whose session is closed.
struct OrphanedSubscription {
    subscription: MediatedSubscription,
    client: Arc<str>,
    subject: Option<String>,
    until: Instant,
}

/// Transfers subscriptions to one session.
pub(super) struct SubscriptionTransfer {
    pub(super) core: Weak<GateCore>,
    pub(super) id: GateSessionId,
    pub(super) cell: Weak<GateSessionCell>,
}

fn subject_of(cell: &GateSessionCell) -> Option<String> {
    cell.user().and_then(|user| user.subject().map(str::to_owned))
}

impl SubscriptionTransfer {
    /// The session that has the subscription, if it is of the same user and client.
    fn owner(
        &self,
        core: &GateCore,
        cell: &GateSessionCell,
        subscription_id: u32,
    ) -> Option<Arc<GateSessionCell>> {
        let owner = core.owned().by_session.get(&subscription_id).copied()?;
        let owner = core.all_cells().into_iter().find(|other| other.id.get() == Some(&owner))?;
        (owner.client == cell.client && subject_of(&owner) == subject_of(cell)).then_some(owner)
    }
}

impl Owners for SubscriptionTransfer {
    fn may_take(&self, subscription_id: u32) -> bool {
        let (Some(core), Some(cell)) = (self.core.upgrade(), self.cell.upgrade()) else { return false };
        let is_mine = core.owned().orphans.get(&subscription_id).is_some_and(|orphan| orphan.is_of(&cell));
        is_mine || self.owner(&core, &cell, subscription_id).is_some()
    }

    fn take(&self, subscription_id: u32) -> Option<MediatedSubscription> {
        let (core, cell) = (self.core.upgrade()?, self.cell.upgrade()?);
        let is_mine = core.owned().orphans.get(&subscription_id).is_some_and(|orphan| orphan.is_of(&cell));
        let taken = if is_mine {
            core.owned().orphans.remove(&subscription_id).map(|orphan| orphan.subscription)
        } else {
            let owner = self.owner(&core, &cell, subscription_id)?;
            let link = owner.link.get()?;
            // Two sessions that take from each other do not wait for each other: whoever takes has `GateCore::transfers`.
            link.mediator().release(subscription_id)
        }?;
        core.owned().by_session.insert(subscription_id, self.id);
        Some(taken)
    }
}

impl OrphanedSubscription {
    fn is_of(&self, cell: &GateSessionCell) -> bool {
        self.client == cell.client && self.subject == subject_of(cell)
    }
}

impl GateCore {
    fn owned(&self) -> MutexGuard<'_, SubscriptionOwners> {
        self.owned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn owned_by(&self, session: GateSessionId) -> Vec<u32> {
        let owned = self.owned();
        owned.by_session.iter().filter(|(_, owner)| **owner == session).map(|(id, _)| *id).collect()
    }

    /// A session has made a subscription. Those that it has deleted meanwhile are forgotten.
    pub(super) fn own(&self, session: GateSessionId, subscription_id: u32, link: &SessionLink) {
        let known = self.owned_by(session);
        let gone: Vec<u32> = {
            let mediator = link.mediator();
            known.into_iter().filter(|id| !mediator.has_subscription(*id)).collect()
        };
        let mut owned = self.owned();
        for id in gone {
            owned.by_session.remove(&id);
        }
        owned.orphans.remove(&subscription_id);
        owned.by_session.insert(subscription_id, session);
    }

    /// A session has ended: what it still owns, nobody does.
    pub(super) fn disown(&self, session: GateSessionId) {
        self.owned().by_session.retain(|_, owner| *owner != session);
    }

    /// A session has ended, and its subscriptions go on for a while without one.
    pub(super) fn orphan(&self, cell: &GateSessionCell, link: &SessionLink) {
        let Some(id) = cell.id.get() else { return };
        let known = self.owned_by(*id);
        let released: Vec<(u32, MediatedSubscription)> = {
            let mut mediator = link.mediator();
            known.into_iter().filter_map(|id| Some((id, mediator.release(id)?))).collect()
        };
        let now = Instant::now();
        let until = now + self.settings.orphan_max;
        let (client, subject) = (Arc::clone(&cell.client), subject_of(cell));
        let mut owned = self.owned();
        owned.orphans.retain(|_, orphan| orphan.until > now);
        for (id, subscription) in released {
            if owned.orphans.len() < self.settings.orphans_max {
                let orphan = OrphanedSubscription {
                    subscription,
                    client: Arc::clone(&client),
                    subject: subject.clone(),
                    until,
                };
                owned.orphans.insert(id, orphan);
            }
        }
    }
}

//! Subscriptions that outlive a session, or move to another one of the same user and client (Part 4, 5.14.7).

use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError, Weak};

use tokio::time::Instant;

use super::core::{Cell, Core};
use super::link::Link;
use super::mediate::{Owners, Subscription};
use crate::protocol::SessionId;

/// Whose subscriptions are whose.
#[derive(Default)]
pub(super) struct Owned {
    by_session: HashMap<u32, SessionId>,
    orphans: HashMap<u32, Orphan>,
}

/// A subscription whose session is closed.
struct Orphan {
    subscription: Subscription,
    client: Arc<str>,
    subject: Option<String>,
    until: Instant,
}

/// Takes subscriptions for one session.
pub(super) struct Taker {
    pub(super) core: Weak<Core>,
    pub(super) id: SessionId,
    pub(super) cell: Weak<Cell>,
}

fn subject_of(cell: &Cell) -> Option<String> {
    cell.user().and_then(|user| user.subject().map(str::to_owned))
}

impl Taker {
    /// The session that has the subscription, if it is of the same user and client.
    fn owner(&self, core: &Core, cell: &Cell, subscription_id: u32) -> Option<Arc<Cell>> {
        let owner = core.owned().by_session.get(&subscription_id).copied()?;
        let owner = core.all_cells().into_iter().find(|other| other.id.get() == Some(&owner))?;
        (owner.client == cell.client && subject_of(&owner) == subject_of(cell)).then_some(owner)
    }
}

impl Owners for Taker {
    fn may_take(&self, subscription_id: u32) -> bool {
        let (Some(core), Some(cell)) = (self.core.upgrade(), self.cell.upgrade()) else { return false };
        let is_mine = core.owned().orphans.get(&subscription_id).is_some_and(|orphan| orphan.is_of(&cell));
        is_mine || self.owner(&core, &cell, subscription_id).is_some()
    }

    fn take(&self, subscription_id: u32) -> Option<Subscription> {
        let (core, cell) = (self.core.upgrade()?, self.cell.upgrade()?);
        let is_mine = core.owned().orphans.get(&subscription_id).is_some_and(|orphan| orphan.is_of(&cell));
        let taken = if is_mine {
            core.owned().orphans.remove(&subscription_id).map(|orphan| orphan.subscription)
        } else {
            let owner = self.owner(&core, &cell, subscription_id)?;
            let link = owner.link.get()?;
            // Two sessions that take from each other do not wait for each other: whoever takes has `Core::transfers`.
            link.mediator().release(subscription_id)
        }?;
        core.owned().by_session.insert(subscription_id, self.id);
        Some(taken)
    }
}

impl Orphan {
    fn is_of(&self, cell: &Cell) -> bool {
        self.client == cell.client && self.subject == subject_of(cell)
    }
}

impl Core {
    fn owned(&self) -> MutexGuard<'_, Owned> {
        self.owned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn owned_by(&self, session: SessionId) -> Vec<u32> {
        let owned = self.owned();
        owned.by_session.iter().filter(|(_, owner)| **owner == session).map(|(id, _)| *id).collect()
    }

    /// A session has made a subscription. Those that it has deleted meanwhile are forgotten.
    pub(super) fn own(&self, session: SessionId, subscription_id: u32, link: &Link) {
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
    pub(super) fn disown(&self, session: SessionId) {
        self.owned().by_session.retain(|_, owner| *owner != session);
    }

    /// A session has ended, and its subscriptions go on for a while without one.
    pub(super) fn orphan(&self, cell: &Cell, link: &Link) {
        let Some(id) = cell.id.get() else { return };
        let known = self.owned_by(*id);
        let released: Vec<(u32, Subscription)> = {
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
                let orphan =
                    Orphan { subscription, client: Arc::clone(&client), subject: subject.clone(), until };
                owned.orphans.insert(id, orphan);
            }
        }
    }
}

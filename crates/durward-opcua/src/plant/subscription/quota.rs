//! What one client may have of subscriptions, where a server keeps room for others.

use std::time::Duration;

use opcua_types::StatusCode;

use super::PlantSubscriptions;
use super::cycle::SubscriptionTerms;
use crate::authority::MethodCaller;
use crate::plant::limits;

/// What the sessions of one client (those with the same certificate) may have together. The limits of the server hold as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientQuota {
    /// Subscriptions, those included whose session is gone.
    pub subscriptions: usize,
    /// Monitored items.
    pub items: usize,
    /// Places in the queues of these items.
    pub queued: usize,
    /// How long a subscription lives at most for which nobody publishes.
    pub lifetime: Duration,
}

/// What a client may still add.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuotaLeft {
    pub(crate) items: usize,
    pub(crate) queued: usize,
}

impl QuotaLeft {
    /// Takes an item with so many places.
    pub(crate) fn take(&mut self, queue_size: u32) -> Result<(), StatusCode> {
        let left = (self.items.checked_sub(1), self.queued.checked_sub(queue_size as usize));
        let (Some(items), Some(queued)) = left else { return Err(StatusCode::BadTooManyMonitoredItems) };
        (self.items, self.queued) = (items, queued);
        Ok(())
    }
}

impl SubscriptionTerms {
    /// As they are where a subscription lives no longer than that. The lifetime stays three times the keep alive (Part 4, 5.14.2.2).
    pub(crate) fn within(self, lifetime: Duration) -> SubscriptionTerms {
        let lifetime_ms = u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX);
        let interval_ms = self.interval_ms.min(lifetime_ms / 3).max(limits::INTERVAL_MS_MIN);
        let most = u32::try_from(lifetime_ms / interval_ms).unwrap_or(u32::MAX).max(3);
        let lifetime_count = self.lifetime_count.min(most);
        let keep_alive_count = self.keep_alive_count.min(lifetime_count / 3).max(1);
        SubscriptionTerms { interval_ms, lifetime_count, keep_alive_count, ..self }
    }
}

impl PlantSubscriptions {
    /// Makes room for one more subscription of a client: where it has as many as it may, the oldest without a session goes.
    ///
    /// # Errors
    /// `BadTooManySubscriptions` where all of them have sessions.
    pub(crate) fn make_room(&mut self, caller: &MethodCaller, quota: &ClientQuota) -> Result<(), StatusCode> {
        let own = self.all.values().filter(|found| found.caller.is_same_application(caller));
        let (count, orphan) = own.fold((0, None), |(count, orphan), found| {
            (count + 1, orphan.or_else(|| found.session.is_none().then_some(found.id)))
        });
        if count < quota.subscriptions {
            return Ok(());
        }
        let orphan = orphan.ok_or(StatusCode::BadTooManySubscriptions)?;
        self.remove(orphan);
        Ok(())
    }

    /// What a client may still add.
    pub(crate) fn room(&self, caller: &MethodCaller, quota: &ClientQuota) -> QuotaLeft {
        let own = self.all.values().filter(|found| found.caller.is_same_application(caller));
        let (items, queued) =
            own.fold((0, 0), |(items, queued), found| (items + found.items.len(), queued + found.reserved()));
        QuotaLeft { items: quota.items.saturating_sub(items), queued: quota.queued.saturating_sub(queued) }
    }
}

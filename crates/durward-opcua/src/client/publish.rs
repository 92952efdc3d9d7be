//! Publish requests of one client: a few are always under way, and what comes back goes to the subscription that it is for.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;
use opcua_types::{
    NotificationMessage, PublishRequest, PublishResponse, RequestHeader, StatusCode,
    SubscriptionAcknowledgement,
};
use tokio::sync::{Notify, mpsc};

use super::failure::FailureMeaning;
use super::shared::{ClientShared, LiveSession};
use crate::error::Error;

/// Messages that wait for one subscription. More are thrown away; the gap is seen by their numbers.
const WAITING_MAX: usize = 256;
/// Messages that came before their subscription was known here.
const EARLY_MAX: usize = 256;
/// Publish requests under way at a time.
const UNDER_WAY_MAX: usize = 8;
/// After a failure that says nothing about the session.
const PAUSE: Duration = Duration::from_millis(500);
/// How long a publish request may wait: longer than any keep-alive of a subscription.
const PUBLISH_MAX_MS: u32 = 600_000;

/// What a subscription hears.
#[derive(Debug)]
pub(super) enum SubscriptionDelivery {
    Message(NotificationMessage),
    /// The server has it no more, or the session it was on is gone.
    Lost,
}

/// Subscriptions by session and id.
#[derive(Default)]
pub(super) struct SubscriptionRouter {
    state: Mutex<RouterState>,
    changed: Notify,
    /// Held from the request that makes or takes over a subscription until its id is known here: an id belongs to one watcher.
    pub(super) subscribing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct RouterState {
    routes: HashMap<(u64, u32), mpsc::Sender<SubscriptionDelivery>>,
    early: VecDeque<(u64, u32, NotificationMessage)>,
    acknowledgements: Vec<(u64, SubscriptionAcknowledgement)>,
}

impl SubscriptionRouter {
    fn state(&self) -> MutexGuard<'_, RouterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Messages of this subscription come here from now on, and those that have come already.
    pub(super) fn add(&self, generation: u64, subscription: u32) -> mpsc::Receiver<SubscriptionDelivery> {
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        {
            let mut state = self.state();
            let early = std::mem::take(&mut state.early);
            for (of, id, message) in early {
                if (of, id) == (generation, subscription) {
                    let _ = sender.try_send(SubscriptionDelivery::Message(message));
                } else {
                    state.early.push_back((of, id, message));
                }
            }
            state.routes.insert((generation, subscription), sender);
        }
        self.changed.notify_one();
        receiver
    }

    pub(super) fn remove(&self, generation: u64, subscription: u32) {
        self.state().routes.remove(&(generation, subscription));
    }

    /// Whether somebody has that subscription.
    pub(super) fn has(&self, generation: u64, subscription: u32) -> bool {
        self.state().routes.contains_key(&(generation, subscription))
    }

    fn count(&self, generation: u64) -> usize {
        self.state().routes.keys().filter(|(of, _)| *of == generation).count()
    }

    /// Subscriptions of other sessions are lost, or of this one as well.
    fn lose(&self, lost: impl Fn(u64) -> bool) {
        let mut state = self.state();
        state.acknowledgements.retain(|(of, _)| !lost(*of));
        state.early.retain(|(of, _, _)| !lost(*of));
        state.routes.retain(|(of, _), sender| {
            let is_lost = lost(*of);
            if is_lost {
                // A full channel ends all the same: its sender goes.
                let _ = sender.try_send(SubscriptionDelivery::Lost);
            }
            !is_lost
        });
    }

    fn deliver(&self, generation: u64, response: PublishResponse) {
        let subscription_id = response.subscription_id;
        let message = response.notification_message;
        let mut state = self.state();
        if message.notification_data.as_ref().is_some_and(|data| !data.is_empty()) {
            let acknowledgement =
                SubscriptionAcknowledgement { subscription_id, sequence_number: message.sequence_number };
            state.acknowledgements.push((generation, acknowledgement));
        }
        if let Some(route) = state.routes.get(&(generation, subscription_id)) {
            if route.try_send(SubscriptionDelivery::Message(message)).is_err() {
                tracing::debug!(
                    subscription_id,
                    "a message of a subscription was thrown away: nobody took those before"
                );
            }
        } else {
            // The oldest ones are of subscriptions that were deleted.
            if state.early.len() >= EARLY_MAX {
                state.early.pop_front();
            }
            state.early.push_back((generation, subscription_id, message));
        }
    }

    fn take_acknowledgements(&self, generation: u64) -> Option<Vec<SubscriptionAcknowledgement>> {
        let all = std::mem::take(&mut self.state().acknowledgements);
        let of_session: Vec<_> =
            all.into_iter().filter(|(of, _)| *of == generation).map(|(_, one)| one).collect();
        (!of_session.is_empty()).then_some(of_session)
    }
}

/// Keeps publish requests under way until the client is stopped.
pub(super) async fn pump(shared: Arc<ClientShared>, router: Arc<SubscriptionRouter>) {
    let mut stopped = shared.status.subscribe();
    let pumping = async {
        loop {
            if router.state().routes.is_empty() {
                router.changed.notified().await;
            }
            let Ok(live) = shared.ready(Duration::from_secs(3_600), false).await else { continue };
            router.lose(|generation| generation != live.generation);
            if let Some(error) = publish(&live, &router).await {
                shared.note(&live, &error).await;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    };
    tokio::select! {
        () = pumping => {}
        _ = stopped.wait_for(|status| status.is_stopped) => router.lose(|_| true),
    }
}

/// Publishes on one session until it has no subscriptions left, or something breaks.
async fn publish(live: &LiveSession, router: &SubscriptionRouter) -> Option<Error> {
    let mut under_way = FuturesOrdered::new();
    let mut most = UNDER_WAY_MAX;
    loop {
        let subscriptions = router.count(live.generation);
        if subscriptions == 0 {
            return None;
        }
        while under_way.len() < (subscriptions + 1).min(most) {
            under_way.push_back(one(live, router.take_acknowledgements(live.generation)));
        }
        let result = tokio::select! {
            result = under_way.next() => result,
            () = router.changed.notified() => continue,
        };
        match result {
            Some(Ok(response)) => router.deliver(live.generation, response),
            Some(Err(error)) => match error.status() {
                StatusCode::BadNoSubscription => router.lose(|generation| generation == live.generation),
                StatusCode::BadTooManyPublishRequests => most = (most - 1).max(1),
                StatusCode::BadTimeout => {}
                status if FailureMeaning::of(status) == FailureMeaning::Refused => {
                    tokio::time::sleep(PAUSE).await
                }
                _ => return Some(error),
            },
            None => {}
        }
    }
}

async fn one(
    live: &LiveSession,
    subscription_acknowledgements: Option<Vec<SubscriptionAcknowledgement>>,
) -> Result<PublishResponse, Error> {
    let request = PublishRequest {
        request_header: RequestHeader { timeout_hint: PUBLISH_MAX_MS, ..RequestHeader::default() },
        subscription_acknowledgements,
    };
    live.session.call(&request).await
}

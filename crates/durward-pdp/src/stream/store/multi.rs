//! Multi-subscriptions: several subscriptions of one subscriber, decided together.

use std::fmt;
use std::sync::Arc;
use std::task::{Poll, Waker};

use smol_str::SmolStr;

use super::{Store, keep};
use crate::stream::decider::Decider;
use crate::stream::entry::Group;

/// How many subscriptions a multi-subscription may have; the limit of SAPL's engine.
pub const MULTI_SUBSCRIPTION_MAX: usize = 256;

/// Decisions by what their subscriptions are called.
pub type Named<D> = Vec<(SmolStr, Arc<D>)>;

/// Why there is no subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubscribeError {
    /// There are as many as can be numbered.
    Full,
    /// A multi-subscription without subscriptions. SAPL's engine answers it with one INDETERMINATE for the empty name.
    Empty,
    /// More than [`MULTI_SUBSCRIPTION_MAX`] subscriptions in one.
    TooMany,
    /// A name of nothing but white space.
    Blank,
    /// Two subscriptions of this name.
    Twice(SmolStr),
}

impl fmt::Display for SubscribeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SubscribeError::Full => f.write_str("there are too many subscriptions"),
            SubscribeError::Empty => f.write_str("the multi-subscription has no subscriptions"),
            SubscribeError::TooMany => {
                write!(f, "the multi-subscription has more than {MULTI_SUBSCRIPTION_MAX} subscriptions")
            }
            SubscribeError::Blank => f.write_str("a subscription of the multi-subscription has a blank name"),
            SubscribeError::Twice(name) => {
                write!(f, "the multi-subscription has two subscriptions of the name `{name}`")
            }
        }
    }
}

impl std::error::Error for SubscribeError {}

impl<P: Decider> Store<P> {
    /// Takes several subscriptions of one subscriber and decides those that can be.
    pub(crate) fn subscribe_all(
        &mut self,
        subscriptions: Vec<(SmolStr, P::Subscription)>,
        now_ms: i64,
    ) -> Result<u32, SubscribeError> {
        check_names(&subscriptions)?;
        self.catch_up(now_ms);
        let undecided = subscriptions.len();
        let group = self.groups.insert(Group { members: Box::default(), undecided, waker: None });
        let group = group.ok_or(SubscribeError::Full)?;
        let mut members = Vec::with_capacity(undecided);
        for (name, subscription) in subscriptions {
            let Some(id) = self.add(subscription, group) else { break };
            members.push((name, id));
        }
        let ids: Vec<u32> = members.iter().map(|(_, id)| *id).collect();
        if let Some(group) = self.groups.get_mut(group) {
            group.members = members.into_boxed_slice();
        }
        if ids.len() < undecided {
            self.remove_group(group);
            return Err(SubscribeError::Full);
        }
        ids.into_iter().for_each(|id| self.decide(id, now_ms));
        Ok(group)
    }

    /// Whether all of a multi-subscription have a decision.
    pub(crate) fn is_group_decided(&self, group: u32) -> bool {
        self.groups.get(group).is_some_and(|group| group.undecided == 0)
    }

    pub(super) fn remove_group(&mut self, group: u32) {
        let Some(group) = self.groups.remove(group) else { return };
        group.members.iter().for_each(|(_, id)| self.remove(*id));
    }

    /// All decisions, once all are there and one of them was not given yet.
    pub(crate) fn poll_all(&mut self, group: u32, waker: Option<&Waker>) -> Poll<Named<P::Decision>> {
        self.poll_group(group, waker, |_| true)
    }

    /// The decisions that were not given yet, once all are there.
    pub(crate) fn poll_changed(&mut self, group: u32, waker: Option<&Waker>) -> Poll<Named<P::Decision>> {
        self.poll_group(group, waker, |is_news| is_news)
    }

    fn poll_group(
        &mut self,
        group: u32,
        waker: Option<&Waker>,
        is_wanted: impl Fn(bool) -> bool,
    ) -> Poll<Named<P::Decision>> {
        let Some(group) = self.groups.get_mut(group) else { return Poll::Pending };
        let is_news = |id: &u32| self.entries.get(*id).is_some_and(|entry| entry.is_news());
        if group.undecided > 0 || !group.members.iter().any(|(_, id)| is_news(id)) {
            if let Some(waker) = waker {
                keep(&mut group.waker, waker);
            }
            return Poll::Pending;
        }
        let mut named = Vec::new();
        for (name, id) in &group.members {
            let Some(entry) = self.entries.get_mut(*id) else { continue };
            if is_wanted(entry.is_news())
                && let Some(decision) = entry.give()
            {
                named.push((name.clone(), decision));
            }
        }
        Poll::Ready(named)
    }
}

fn check_names<S>(subscriptions: &[(SmolStr, S)]) -> Result<(), SubscribeError> {
    if subscriptions.is_empty() {
        return Err(SubscribeError::Empty);
    }
    if subscriptions.len() > MULTI_SUBSCRIPTION_MAX {
        return Err(SubscribeError::TooMany);
    }
    let mut names: Vec<&SmolStr> = subscriptions.iter().map(|(name, _)| name).collect();
    if names.iter().any(|name| name.trim().is_empty()) {
        return Err(SubscribeError::Blank);
    }
    names.sort_unstable();
    match names.windows(2).find(|pair| pair.first() == pair.last()).and_then(<[_]>::first) {
        Some(name) => Err(SubscribeError::Twice((*name).clone())),
        None => Ok(()),
    }
}

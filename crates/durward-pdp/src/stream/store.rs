//! The subscriptions, and rounds of deciding them again.
//!
//! A round takes everything that has happened first, then decides each subscription that it concerns once: nobody sees
//! a decision made of one source's new value and the former value of another that came at the same time. A round goes
//! on in slices, so that nobody waits long for the lock; within a slice nothing happens, and the members of a group are
//! decided within one slice.

mod multi;
mod view;

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::vec;

use smallvec::SmallVec;

use super::arena::Arena;
use super::broker::{Action, Broker};
use super::decider::{Answer, Decider, Step, attempt};
use super::entry::{ALONE, Entry, Group, Use};
use super::finder::Finder;
use super::interner::Interner;
use super::invocation::Invocation;
use super::publisher::{Inbox, Note};
pub use multi::{MULTI_SUBSCRIPTION_MAX, Named, SubscribeError};
use view::View;

/// How many notes, and how many timers, one slice handles at most: about a millisecond each.
const EVENTS_PER_SLICE: usize = 2_048;

/// How often one decision may go on because what became known made further attributes matter. Each time at least one is
/// asked for that was not before; real policies need one or two.
const DECISION_ROUNDS_MAX: usize = 64;

/// How many attributes one decision may use. They are looked up one by one.
const DECISION_ATTRIBUTES_MAX: usize = 1_000;

/// What there is, for operators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamsInfo {
    /// Live subscriptions; each member of a multi-subscription counts.
    pub subscriptions: usize,
    /// Of these, how many wait for an attribute before their first decision.
    pub undecided: usize,
    /// Streams of attribute values.
    pub streams: usize,
    /// Open sources.
    pub sources: usize,
    /// Different decisions kept.
    pub decisions: usize,
    /// How often a subscription was decided, the first time and again, so far.
    pub decided: u64,
    /// How many of these made a new decision for its subscriber.
    pub changed: u64,
}

/// See the module.
pub(crate) struct Store<P: Decider> {
    policies: Arc<P>,
    pub(super) broker: Broker,
    entries: Arena<Entry<P::Subscription, P::Decision>>,
    groups: Arena<Group>,
    /// What has happened and was not handled yet.
    notes: vec::IntoIter<Note>,
    queue: VecDeque<u32>,
    decisions: Interner<P::Decision>,
    wakers: Vec<Waker>,
    inbox: Arc<Inbox>,
    undecided: usize,
    decided: u64,
    changed: u64,
    /// When the driver was last told to come back.
    announced: Option<i64>,
}

/// What a slice leaves to be done once the lock is given back.
#[derive(Default)]
pub(crate) struct Aftermath {
    pub(crate) wakers: Vec<Waker>,
    pub(crate) actions: Vec<Action>,
    /// Whether the driver must come back earlier than it knows.
    pub(crate) is_sooner: bool,
}

impl<P: Decider> Store<P> {
    pub(crate) fn new(policies: Arc<P>, mut broker: Broker, inbox: Arc<Inbox>) -> Store<P> {
        broker.set_surroundings(Arc::new(policies.surroundings()));
        Store {
            policies,
            broker,
            entries: Arena::default(),
            groups: Arena::default(),
            notes: Vec::new().into_iter(),
            queue: VecDeque::new(),
            decisions: Interner::default(),
            wakers: Vec::new(),
            inbox,
            undecided: 0,
            decided: 0,
            changed: 0,
            announced: None,
        }
    }

    /// Takes a subscription and decides it, if what it needs is known already. `None` when there are too many.
    pub(crate) fn subscribe(&mut self, subscription: P::Subscription, now_ms: i64) -> Option<u32> {
        self.catch_up(now_ms);
        let id = self.add(subscription, ALONE)?;
        self.decide(id, now_ms);
        Some(id)
    }

    /// Does what is due, so that newcomers do not see yesterday's values.
    fn catch_up(&mut self, now_ms: i64) {
        self.broker.advance(now_ms, EVENTS_PER_SLICE);
        self.queue_changed();
    }

    /// Whether a subscription has a decision.
    pub(crate) fn is_decided(&self, id: u32) -> bool {
        self.entries.get(id).is_some_and(|entry| entry.decision.is_some())
    }

    fn add(&mut self, subscription: P::Subscription, group: u32) -> Option<u32> {
        let id = self.entries.insert(Entry::new(subscription, group))?;
        self.undecided += 1;
        Some(id)
    }

    fn remove(&mut self, id: u32) {
        while let Some(unused) =
            self.entries.get(id).and_then(|entry| entry.uses.last()).map(|used| used.stream)
        {
            self.release(id, unused);
        }
        if self.entries.remove(id).is_some_and(|entry| entry.decision.is_none()) {
            self.undecided -= 1;
        }
    }

    /// The subscriber's next decision, once there is one it was not given yet.
    pub(crate) fn poll(&mut self, id: u32, waker: &Waker) -> Poll<Arc<P::Decision>> {
        let Some(entry) = self.entries.get_mut(id) else { return Poll::Pending };
        if entry.is_news()
            && let Some(decision) = entry.give()
        {
            return Poll::Ready(decision);
        }
        keep(&mut entry.waker, waker);
        Poll::Pending
    }

    /// The subscriber's next decision, if there is one it was not given yet.
    pub(crate) fn take(&mut self, id: u32) -> Option<Arc<P::Decision>> {
        self.entries.get_mut(id).filter(|entry| entry.is_news())?.give()
    }

    /// Puts other policies in force: everything is decided again.
    pub(crate) fn replace(&mut self, policies: Arc<P>) {
        self.broker.set_surroundings(Arc::new(policies.surroundings()));
        self.policies = policies;
        let ids: Vec<u32> = self.entries.ids().collect();
        ids.into_iter().for_each(|id| queue(&mut self.entries, &mut self.queue, id));
        self.queue_changed();
    }

    /// Puts other finders in the place of those there are.
    pub(crate) fn set_finders(&mut self, finders: Vec<Finder>) {
        self.broker.set_finders(finders);
        self.queue_changed();
    }

    pub(crate) fn policies(&self) -> &Arc<P> {
        &self.policies
    }

    /// One slice: handles what has happened, and when all that is done decides up to `most` subscriptions (and the rest
    /// of a group begun).
    pub(crate) fn slice(&mut self, now_ms: i64, most: usize) {
        if !self.take_notes(now_ms) || !self.broker.advance(now_ms, EVENTS_PER_SLICE) {
            return;
        }
        self.queue_changed();
        let mut left = most;
        while left > 0
            && let Some(id) = self.queue.pop_front()
        {
            left = left.saturating_sub(self.decide_queued(id, now_ms));
        }
    }

    /// When to come back: at once if there is more to do. The driver is told, and is woken when it must come earlier.
    pub(crate) fn announce(&mut self, now_ms: i64) -> Option<i64> {
        self.announced = self.next_ms(now_ms);
        self.announced
    }

    fn next_ms(&self, now_ms: i64) -> Option<i64> {
        let has_work = !self.queue.is_empty() || self.notes.len() > 0 || !self.inbox.is_empty();
        if has_work { Some(now_ms) } else { self.broker.next_ms().map(|next| next.max(now_ms)) }
    }

    /// Handles notes. Whether those are done that were there when the last of those before were.
    fn take_notes(&mut self, now_ms: i64) -> bool {
        if self.notes.len() == 0 {
            self.notes = self.inbox.take().into_iter();
        }
        for _ in 0..EVENTS_PER_SLICE {
            let Some(note) = self.notes.next() else { break };
            match note {
                Note::Source(slot) => self.broker.hear(&slot, slot.hear(), now_ms),
                Note::Gone(id) => self.remove(id),
                Note::GroupGone(group) => self.remove_group(group),
            }
        }
        self.notes.len() == 0
    }

    fn queue_changed(&mut self) {
        for stream in self.broker.take_changed() {
            for user in self.broker.users(stream) {
                queue(&mut self.entries, &mut self.queue, *user);
            }
        }
    }

    /// Decides a subscription again, with the rest of its group, and says how many that were. One that is gone, or was
    /// decided with its group, is passed over.
    fn decide_queued(&mut self, id: u32, now_ms: i64) -> usize {
        let Some(entry) = self.entries.get(id).filter(|entry| entry.is_queued) else { return 1 };
        let members: SmallVec<[u32; 8]> = match self.groups.get(entry.group) {
            Some(group) => group.members.iter().map(|(_, member)| *member).collect(),
            None => SmallVec::from_slice(&[id]),
        };
        let mut count = 0;
        for member in members {
            if let Some(entry) = self.entries.get_mut(member)
                && mem::take(&mut entry.is_queued)
            {
                self.decide(member, now_ms);
                count += 1;
            }
        }
        count
    }

    /// Decides one subscription, or finds out what it still needs.
    fn decide(&mut self, id: u32, now_ms: i64) {
        let policies = Arc::clone(&self.policies);
        self.decided += 1;
        for _ in 0..DECISION_ROUNDS_MAX {
            let Some(entry) = self.entries.get(id) else { return };
            let view = View::new(&self.broker, &entry.uses);
            match attempt(&*policies, &entry.subscription, &view) {
                Step::Decided(decision) => {
                    let unused = view.unused();
                    unused.into_iter().for_each(|stream| self.release(id, stream));
                    self.decided(id, decision);
                    return;
                }
                Step::Needs(needs) => match self.acquire(id, &needs, now_ms) {
                    Acquired::News => {}
                    Acquired::Waiting => return,
                    Acquired::TooMany => {
                        let reason =
                            format!("the decision needs more than {DECISION_ATTRIBUTES_MAX} attributes");
                        self.decided(id, policies.indeterminate(&reason));
                        return;
                    }
                },
            }
        }
        let reason = format!("the decision asked for attributes more than {DECISION_ROUNDS_MAX} times");
        self.decided(id, policies.indeterminate(&reason));
    }

    /// Makes a subscription use these attributes too.
    fn acquire(&mut self, id: u32, needs: &[Invocation], now_ms: i64) -> Acquired {
        let (mut are_known, mut is_news) = (true, false);
        for invocation in needs {
            let Some(entry) = self.entries.get_mut(id) else { return Acquired::Waiting };
            let held = entry.uses.iter().find(|used| self.broker.answers(used.stream, invocation));
            let stream = match held {
                Some(held) => held.stream,
                None if entry.uses.len() >= DECISION_ATTRIBUTES_MAX => return Acquired::TooMany,
                None => {
                    let secrets = || self.policies.secrets(&entry.subscription);
                    let Some(stream) = self.broker.stream(invocation, secrets, now_ms) else {
                        return Acquired::TooMany;
                    };
                    let at = self.broker.attach(stream, id);
                    entry.uses.push(Use { stream, at });
                    is_news |= self.broker.value(stream).is_some();
                    stream
                }
            };
            are_known &= self.broker.value(stream).is_some();
        }
        if are_known || is_news { Acquired::News } else { Acquired::Waiting }
    }

    /// Makes a subscription use a stream no longer.
    fn release(&mut self, id: u32, stream: u32) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        let Some(place) = entry.uses.iter().position(|used| used.stream == stream) else { return };
        let used = entry.uses.swap_remove(place);
        let Some(moved) = self.broker.detach(used.stream, used.at) else { return };
        let moved = self.entries.get_mut(moved).map(|entry| &mut entry.uses);
        if let Some(moved) = moved.and_then(|uses| uses.iter_mut().find(|used| used.stream == stream)) {
            moved.at = used.at;
        }
    }

    /// A subscription has this decision now. One that it had before is no news, and keeps its text.
    fn decided(&mut self, id: u32, decision: P::Decision) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        if entry.decision.as_deref().is_some_and(|known| known.equals(&decision)) {
            return;
        }
        let is_first = entry.decision.is_none();
        self.undecided -= usize::from(is_first);
        self.changed += 1;
        let back = entry.given.as_ref().filter(|given| given.equals(&decision));
        entry.decision = Some(match back {
            Some(given) => Arc::clone(given),
            None => self.decisions.intern(decision),
        });
        let is_news = entry.is_news();
        let waker = match self.groups.get_mut(entry.group) {
            Some(group) => {
                group.undecided -= usize::from(is_first);
                if group.undecided == 0 { &mut group.waker } else { return }
            }
            None => &mut entry.waker,
        };
        if is_news {
            self.wakers.extend(waker.take());
        }
    }

    /// What is to be done once the lock is given back.
    pub(crate) fn aftermath(&mut self, now_ms: i64) -> Aftermath {
        self.broker.settle(now_ms);
        let next = self.next_ms(now_ms);
        let is_sooner = match (next, self.announced) {
            (Some(next), Some(announced)) => next < announced,
            (Some(_), None) => true,
            (None, _) => false,
        };
        if is_sooner {
            self.announced = next;
        }
        let actions = self.broker.take_actions();
        Aftermath { wakers: mem::take(&mut self.wakers), actions, is_sooner }
    }

    pub(crate) fn info(&self) -> StreamsInfo {
        StreamsInfo {
            subscriptions: self.entries.len(),
            undecided: self.undecided,
            streams: self.broker.stream_count(),
            sources: self.broker.source_count(),
            decisions: self.decisions.len(),
            decided: self.decided,
            changed: self.changed,
        }
    }
}

enum Acquired {
    /// Something became known, or nothing is missing: it is worth another attempt.
    News,
    /// Nothing new is known.
    Waiting,
    /// There are too many.
    TooMany,
}

fn queue<S, D>(entries: &mut Arena<Entry<S, D>>, queue: &mut VecDeque<u32>, id: u32) {
    if let Some(entry) = entries.get_mut(id)
        && !mem::replace(&mut entry.is_queued, true)
    {
        queue.push_back(id);
    }
}

fn keep(kept: &mut Option<Waker>, waker: &Waker) {
    match kept {
        Some(kept) => kept.clone_from(waker),
        None => *kept = Some(waker.clone()),
    }
}

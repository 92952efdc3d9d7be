//! The attribute broker: which streams there are, who uses them, and when their sources are opened and closed.
//!
//! It does nothing by itself. What happens (a source said something, time has passed, somebody needs or no longer needs
//! an attribute) is told to it; what is to be done (open a source, drop the handle of one, come back at a certain
//! time) it gives back; which streams have another value than before it lists.
//!
//! SAPL's rules, as its engine has them:
//! - Equal invocations share one stream, unless they ask for a fresh one. A stream that nobody uses is closed, after a
//!   grace period if one is set.
//! - A source that has not published within the initial timeout makes the attribute `undefined`, and counts as failed.
//! - A source that completes is opened again after the poll interval; if it published nothing, the attribute is
//!   `undefined`.
//! - A source that fails is opened again after a pause that doubles each time, give or take half of it by chance. When
//!   the retries are used up, the attribute is an error, and the source is opened again after the poll interval. Until
//!   then the last value holds.
//! - An attribute that no finder serves is `undefined` at once.
//! - The head of a stream (`|<`) is the first value a subscription sees of it, and stays so. Subscriptions that begin
//!   while the stream has one and the same value share it.

mod head;
mod life;
mod stream;
mod timers;

use std::mem;
use std::sync::Arc;

use durward_ir::Value;
use durward_ir::fault::Evaluated;
use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::arena::Arena;
use super::chance::Chance;
use super::finder::{AttributeFinder, Finder};
use super::invocation::{Invocation, Key, Surroundings};
use super::publisher::{Inbox, Slot};
use stream::{Stage, Stream};
use timers::{Timer, Timers};

/// How patient the broker is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BrokerSettings {
    /// How long a stream that nobody uses stays open, in milliseconds; 0 closes it at once. SAPL's documentation says
    /// 3000, its engine does 0.
    pub grace_ms: u64,
    /// What becomes of a source that is late.
    pub late: Late,
}

/// What becomes of a source that has not published within the initial timeout. The attribute is `undefined` either
/// way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Late {
    /// It is closed and counts as failed, as in SAPL's engine: one that always needs longer never gives a value.
    #[default]
    Fails,
    /// It stays open, and what it publishes later counts.
    StaysOpen,
}

/// What is to be done outside.
pub(crate) enum Action {
    /// Open a source, and give its handle to [`Broker::opened`].
    Open {
        /// With this finder,
        finder: Arc<dyn AttributeFinder>,
        /// for this invocation,
        key: Key,
        /// into this slot.
        slot: Arc<Slot>,
    },
    /// Drop this.
    Close(Box<dyn Send>),
}

/// See the module.
pub(crate) struct Broker {
    settings: BrokerSettings,
    finders: Vec<Finder>,
    surroundings: Arc<Surroundings>,
    streams: Arena<Stream>,
    /// The streams that newcomers may share, by the digests of their keys.
    shared: HashTable<u32>,
    hashing: RandomState,
    timers: Timers,
    chance: Chance,
    inbox: Arc<Inbox>,
    last_opening: u64,
    sources_open: usize,
    actions: Vec<Action>,
    changed: Vec<u32>,
    /// Streams that may have lost their last user.
    idle: Vec<u32>,
}

impl Broker {
    /// A broker without finders. All chance comes from `seed`.
    pub(crate) fn new(settings: BrokerSettings, seed: u64, inbox: Arc<Inbox>) -> Broker {
        Broker {
            settings,
            finders: Vec::new(),
            surroundings: Arc::default(),
            streams: Arena::default(),
            shared: HashTable::new(),
            hashing: RandomState::default(),
            timers: Timers::default(),
            chance: Chance::new(seed),
            inbox,
            last_opening: 0,
            sources_open: 0,
            actions: Vec::new(),
            changed: Vec::new(),
            idle: Vec::new(),
        }
    }

    /// The stream of this invocation, opened if there is none; whoever asks must then [`Broker::attach`]. `secrets` are
    /// those of the subscription. `None` when there are too many streams.
    pub(crate) fn stream(
        &mut self,
        invocation: &Invocation,
        secrets: impl FnOnce() -> Value,
        now_ms: i64,
    ) -> Option<u32> {
        let finder = self.finder(invocation);
        let context = match &finder {
            Some(finder) => finder.reads(invocation).context(secrets, || Arc::clone(&self.surroundings)),
            None => Default::default(),
        };
        let key = Key { invocation: Arc::new(invocation.clone()), context };
        if invocation.head { self.head(key, finder, now_ms) } else { self.whole(key, finder, now_ms) }
    }

    /// A stream with all its values.
    fn whole(&mut self, key: Key, finder: Option<Finder>, now_ms: i64) -> Option<u32> {
        let digest = key.digest(&self.hashing);
        let is_private = key.invocation.options.fresh;
        if !is_private && let Some(id) = self.find(&key, digest) {
            return Some(id);
        }
        let id = self.streams.insert(Stream::new(key, digest, finder))?;
        if !is_private {
            let digest_of = |id: &u32| self.streams.get(*id).map_or(0, |stream| stream.digest);
            self.shared.insert_unique(digest, id, digest_of);
        }
        self.begin(id, now_ms);
        Some(id)
    }

    fn find(&self, key: &Key, digest: u64) -> Option<u32> {
        let is_it = |id: &u32| self.streams.get(*id).is_some_and(|stream| stream.key == *key);
        self.shared.find(digest, is_it).copied()
    }

    fn finder(&self, invocation: &Invocation) -> Option<Finder> {
        self.finders.iter().find(|finder| finder.serves(invocation)).cloned()
    }

    /// Notes a user. Gives where it is noted, which [`Broker::detach`] wants back.
    pub(crate) fn attach(&mut self, id: u32, user: u32) -> u32 {
        let Some(stream) = self.streams.get_mut(id) else { return 0 };
        self.timers.set(id, Timer::Grace, &mut stream.grace, None);
        stream.users.push(user);
        (stream.users.len() - 1) as u32
    }

    /// Forgets a user. Gives the user who is noted at this place instead now.
    pub(crate) fn detach(&mut self, id: u32, at: u32) -> Option<u32> {
        let stream = self.streams.get_mut(id)?;
        let at = at as usize;
        if at < stream.users.len() {
            stream.users.swap_remove(at);
        }
        if stream.users.is_empty() {
            stream.users = Vec::new();
            self.idle.push(id);
        }
        stream.users.get(at).copied()
    }

    /// The value of a stream; `None` while it has none.
    #[inline]
    pub(crate) fn value(&self, id: u32) -> Option<&Evaluated<Value>> {
        self.streams.get(id)?.value.as_ref()
    }

    /// Whether a stream is what this invocation asks for.
    #[inline]
    pub(crate) fn answers(&self, id: u32, invocation: &Invocation) -> bool {
        self.streams.get(id).is_some_and(|stream| *stream.key.invocation == *invocation && !stream.is_stale)
    }

    /// Who uses a stream.
    pub(crate) fn users(&self, id: u32) -> &[u32] {
        self.streams.get(id).map_or(&[], |stream| &stream.users)
    }

    /// Puts other finders in the place of those there are. Streams whose finder stays go on; the others are opened
    /// again by those who use them, who decide with the values they have until then.
    pub(crate) fn set_finders(&mut self, finders: Vec<Finder>) {
        self.finders = finders;
        self.forget(|broker, stream| {
            // Heads have no finder: those that wait go with the stream that they wait for, the others stay.
            let is_head = matches!(stream.stage, Stage::Head { .. });
            let now = broker.finder(&stream.key.invocation);
            !is_head
                && !match (&stream.finder, &now) {
                    (Some(old), Some(new)) => old.is(new),
                    (None, None) => true,
                    (Some(_), None) | (None, Some(_)) => false,
                }
        });
    }

    /// Begins anew for other policies: heads are taken again, and finders see the new surroundings.
    pub(crate) fn set_surroundings(&mut self, surroundings: Arc<Surroundings>) {
        let is_new = *self.surroundings != *surroundings;
        if is_new {
            self.surroundings = surroundings;
        }
        self.forget(|_, stream| {
            matches!(stream.stage, Stage::Head { .. })
                || (is_new && stream.key.context.surroundings.is_some())
        });
    }

    /// Makes streams stale: nobody reads their values any more, so their sources are closed. Users let go of them when
    /// they decide again.
    fn forget(&mut self, which: impl Fn(&Broker, &Stream) -> bool) {
        let is_meant = |id: &u32| self.streams.get(*id).is_some_and(|stream| which(self, stream));
        let ids: Vec<u32> = self.streams.ids().filter(is_meant).collect();
        for id in ids {
            self.unshare(id);
            self.set_timer(id, None);
            self.close_source(id);
            self.forget_head(id);
            if let Some(stream) = self.streams.get_mut(id) {
                stream.is_stale = true;
                if let Stage::Head { of: Some(of) } = mem::replace(&mut stream.stage, Stage::Absent) {
                    self.leave_head(of, id);
                }
            }
            self.changed.push(id);
            self.idle.push(id);
        }
    }

    fn unshare(&mut self, id: u32) {
        let Some(digest) = self.streams.get(id).map(|stream| stream.digest) else { return };
        if let Ok(entry) = self.shared.find_entry(digest, |other| *other == id) {
            entry.remove();
        }
    }

    /// Closes what nobody uses, or begins its grace period.
    pub(crate) fn settle(&mut self, now_ms: i64) {
        while let Some(id) = self.idle.pop() {
            let Some(stream) = self.streams.get(id) else { continue };
            if !stream.users.is_empty() || self.feeds_head(stream) {
                continue;
            }
            let is_head = matches!(stream.stage, Stage::Head { .. });
            if self.settings.grace_ms == 0 || stream.is_private() || stream.is_stale || is_head {
                self.close(id);
            } else if stream.grace.is_none() {
                let end = after(now_ms, self.settings.grace_ms);
                self.set_grace(id, Some(end));
            }
        }
    }

    fn close(&mut self, id: u32) {
        self.unshare(id);
        self.set_timer(id, None);
        self.set_grace(id, None);
        self.close_source(id);
        self.forget_head(id);
        let Some(stream) = self.streams.remove(id) else { return };
        if let Stage::Head { of: Some(of) } = stream.stage {
            self.leave_head(of, id);
        }
    }

    fn set_timer(&mut self, id: u32, at: Option<i64>) {
        if let Some(stream) = self.streams.get_mut(id) {
            self.timers.set(id, Timer::Stage, &mut stream.timer, at);
        }
    }

    fn set_grace(&mut self, id: u32, at: Option<i64>) {
        if let Some(stream) = self.streams.get_mut(id) {
            self.timers.set(id, Timer::Grace, &mut stream.grace, at);
        }
    }

    /// The streams whose values changed since this was last asked.
    pub(crate) fn take_changed(&mut self) -> Vec<u32> {
        mem::take(&mut self.changed)
    }

    /// What is to be done since this was last asked.
    pub(crate) fn take_actions(&mut self) -> Vec<Action> {
        mem::take(&mut self.actions)
    }

    /// When to come back.
    pub(crate) fn next_ms(&self) -> Option<i64> {
        self.timers.next()
    }

    /// How many streams there are.
    pub(crate) fn stream_count(&self) -> usize {
        self.streams.len()
    }

    /// How many sources are open.
    pub(crate) fn source_count(&self) -> usize {
        self.sources_open
    }
}

/// A moment later. Nothing happens later than the end of time.
fn after(now_ms: i64, wait_ms: u64) -> i64 {
    now_ms.saturating_add(i64::try_from(wait_ms).unwrap_or(i64::MAX))
}

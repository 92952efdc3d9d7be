//! Cutoffs: "tokens of this target issued before that moment are dead". One write recalls all of them, and no list of tokens is kept.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use durward_identity::Moment;

use super::facts::{FactName, TokenFacts};

/// Cutoffs at one time. With more, one cutoff for everybody replaces all: clients fetch new tokens, and no revoked
/// token becomes valid again.
pub const CUTOFFS_MAX: usize = 65_536;

/// The tokens that a cutoff revokes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CutoffTarget<N> {
    /// Everybody's.
    All,
    /// Those of a subject.
    Subject(N),
    /// Those of a durward session.
    Session(N),
    /// Those that are bound to a certificate.
    Client(N),
    /// Those that a version of the policy decided.
    Policy(N),
}

impl<N: fmt::Display> fmt::Display for CutoffTarget<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CutoffTarget::All => f.write_str("everybody"),
            CutoffTarget::Subject(name) => write!(f, "subject `{name}`"),
            CutoffTarget::Session(name) => write!(f, "session `{name}`"),
            CutoffTarget::Client(name) => write!(f, "client `{name}`"),
            CutoffTarget::Policy(name) => write!(f, "policy `{name}`"),
        }
    }
}

/// The cutoffs in force. They only ever grow stricter, so that the order in which they are heard of does not matter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cutoffs<N: FactName> {
    before: BTreeMap<CutoffTarget<N>, Moment>,
}

impl<N: FactName> Default for Cutoffs<N> {
    fn default() -> Cutoffs<N> {
        Cutoffs { before: BTreeMap::new() }
    }
}

impl<N: FactName> Cutoffs<N> {
    /// Adds one. Of two for one target the later counts.
    pub fn add(&mut self, target: CutoffTarget<N>, before: Moment) {
        let latest = self.before.entry(target).or_insert(before);
        *latest = before.max(*latest);
        if self.before.len() > CUTOFFS_MAX {
            let latest = self.latest();
            self.before.clear();
            self.before.insert(CutoffTarget::All, latest);
        }
    }

    /// Adds all of another's.
    pub fn merge(&mut self, other: &Cutoffs<N>) {
        for (target, before) in &other.before {
            self.add(target.clone(), *before);
        }
    }

    /// Whether they end a token: it was issued before a cutoff of one of its targets. Issued in the very moment of the cutoff, it lives.
    pub fn end(&self, token: &TokenFacts<N>) -> bool {
        let is_dead =
            |target: CutoffTarget<N>| self.before.get(&target).is_some_and(|before| token.issued < *before);
        !self.before.is_empty()
            && (is_dead(CutoffTarget::All)
                || is_dead(CutoffTarget::Subject(token.subject.clone()))
                || is_dead(CutoffTarget::Client(token.client.clone()))
                || is_dead(CutoffTarget::Policy(token.policy.clone()))
                || token.session.clone().is_some_and(|session| is_dead(CutoffTarget::Session(session))))
    }

    /// The moment from which on a token of these is ended by none of them. By which version of the policy it will be decided is not known
    /// yet: those of all versions count.
    pub(crate) fn floor(&self, subject: &N, session: Option<&N>, client: &N) -> Moment {
        let own = [
            Some(CutoffTarget::All),
            Some(CutoffTarget::Subject(subject.clone())),
            session.map(|session| CutoffTarget::Session(session.clone())),
            Some(CutoffTarget::Client(client.clone())),
        ];
        let own = own.into_iter().flatten().filter_map(|target| self.before.get(&target));
        // In the order of targets, policies come last.
        let of_policy = |(target, _): &(&CutoffTarget<N>, &Moment)| matches!(target, CutoffTarget::Policy(_));
        let policies = self.before.iter().rev().take_while(of_policy).map(|(_, before)| before);
        own.chain(policies).copied().max().unwrap_or_default()
    }

    /// Drops those that can end no token any more: whatever was issued before them has ended by itself. `lifetime_max` is the longest that
    /// a token is served, grace included.
    pub fn forget(&mut self, now: Moment, lifetime_max: Duration) {
        self.before.retain(|_, before| before.plus(lifetime_max) > now);
    }

    /// Whether [`Cutoffs::forget`] would drop any.
    fn has_old(&self, now: Moment, lifetime_max: Duration) -> bool {
        self.before.values().any(|before| before.plus(lifetime_max) <= now)
    }

    /// The latest moment of all.
    pub fn latest(&self) -> Moment {
        self.before.values().copied().max().unwrap_or_default()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.before.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.before.is_empty()
    }

    /// The targets, each with the moment before which its tokens are dead.
    pub fn iter(&self) -> impl Iterator<Item = (&CutoffTarget<N>, Moment)> {
        self.before.iter().map(|(target, before)| (target, *before))
    }
}

/// What an authorization service tells its gates. Messages may be lost, come twice, late, and in any order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FeedMessage<N: FactName> {
    /// A cutoff.
    Cutoff {
        /// Which life of the service's store; grows when the store was lost.
        epoch: u64,
        /// Which cutoff of this epoch, from 1.
        sequence: u64,
        /// Whose tokens.
        target: CutoffTarget<N>,
        /// Dead are those issued before.
        before: Moment,
    },
    /// All cutoffs until `time` have numbers up to `sequence`.
    Heartbeat {
        /// As above.
        epoch: u64,
        /// The number of the last cutoff.
        sequence: u64,
        /// When that was so, by the service's clock.
        time: Moment,
    },
    /// Every cutoff that is kept.
    Snapshot {
        /// As above.
        epoch: u64,
        /// The number of the last cutoff.
        sequence: u64,
        /// When that was so, by the service's clock.
        time: Moment,
        /// The question it answers.
        question: u64,
        /// The cutoffs.
        cutoffs: Arc<Cutoffs<N>>,
    },
}

/// The outcome of receiving a feed message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedOutcome {
    /// Something that was known, or is too old to count.
    Nothing,
    /// What is known has changed.
    News,
    /// It is dated further ahead than clocks may differ: it is no sign of life. Compare the clocks.
    FromTheFuture,
}

/// What a gate knows of cutoffs, and up to which moment it knows all of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Feed<N: FactName> {
    cutoffs: Arc<Cutoffs<N>>,
    epoch: u64,
    /// All cutoffs of the epoch up to this number are known.
    known: u64,
    /// The highest number heard of.
    told: u64,
    /// By the service's clock, and never later than the gate's. `None` from the start until the first snapshot: there may be any cutoff.
    complete_until: Option<Moment>,
}

impl<N: FactName> Default for Feed<N> {
    fn default() -> Feed<N> {
        Feed { cutoffs: Arc::default(), epoch: 0, known: 0, told: 0, complete_until: None }
    }
}

impl<N: FactName> Feed<N> {
    /// The cutoffs.
    pub fn cutoffs(&self) -> &Cutoffs<N> {
        &self.cutoffs
    }

    /// Up to which moment all cutoffs are known; `None` before the first snapshot.
    pub fn complete_until(&self) -> Option<Moment> {
        self.complete_until
    }

    /// Whether there are cutoffs that were not heard of.
    pub fn has_gap(&self) -> bool {
        self.told > self.known
    }

    /// The number of the last cutoff before which none is missing.
    pub fn known(&self) -> u64 {
        self.known
    }

    /// Takes a message. `question` is the gate's last one: before the first snapshot only its answer counts, because an older snapshot may
    /// lack what was heard before the gate was restarted.
    pub fn hear(
        &mut self,
        now: Moment,
        skew: Duration,
        question: u64,
        message: FeedMessage<N>,
    ) -> FeedOutcome {
        let before = self.clone();
        match message {
            FeedMessage::Cutoff { epoch, sequence, target, before } => {
                Arc::make_mut(&mut self.cutoffs).add(target, before);
                if self.is_of_epoch(epoch) {
                    self.told = self.told.max(sequence);
                    // `known` cannot be beyond a number that follows it.
                    if sequence == self.known.saturating_add(1) && self.complete_until.is_some() {
                        self.known = sequence;
                    }
                }
            }
            FeedMessage::Heartbeat { epoch, sequence, time } => {
                if time > now.plus(skew) {
                    return FeedOutcome::FromTheFuture;
                }
                if self.is_of_epoch(epoch) {
                    self.told = self.told.max(sequence);
                    if sequence <= self.known {
                        self.complete(time.min(now));
                    }
                }
            }
            FeedMessage::Snapshot { epoch, sequence, time, question: answered, cutoffs } => {
                if time > now.plus(skew) {
                    return FeedOutcome::FromTheFuture;
                }
                Arc::make_mut(&mut self.cutoffs).merge(&cutoffs);
                if self.is_of_epoch(epoch) {
                    self.told = self.told.max(sequence);
                    if self.complete_until.is_none() && answered == question {
                        (self.known, self.complete_until) = (sequence, Some(time.min(now)));
                    } else if self.complete_until.is_some() && sequence >= self.known {
                        self.known = sequence;
                        self.complete(time.min(now));
                    }
                }
            }
        }
        if *self == before { FeedOutcome::Nothing } else { FeedOutcome::News }
    }

    /// Drops cutoffs that can end no token any more.
    pub fn forget(&mut self, now: Moment, lifetime_max: Duration) {
        if self.cutoffs.has_old(now, lifetime_max) {
            Arc::make_mut(&mut self.cutoffs).forget(now, lifetime_max);
        }
    }

    /// Nothing is known any more of whether these are all: as after a restart, but that those that are known stay.
    pub fn doubt(&mut self) {
        self.complete_until = None;
    }

    /// Whether a message is of the epoch that counts. A later one begins everything anew: what was known is no longer all there is.
    fn is_of_epoch(&mut self, epoch: u64) -> bool {
        if epoch > self.epoch {
            (self.epoch, self.known, self.told, self.complete_until) = (epoch, 0, 0, None);
        }
        epoch == self.epoch
    }

    fn complete(&mut self, time: Moment) {
        if let Some(until) = &mut self.complete_until {
            *until = time.max(*until);
        }
    }
}

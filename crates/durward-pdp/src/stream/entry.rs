//! What is kept of one subscription, and what that takes.
//!
//! On paper, for 64-bit machines. A subscription is an [`Entry`] in a block of 1024:
//!
//! | bytes | what |
//! |---|---|
//! | 16 | the subscription itself, if it is a boxed slice: its text is counted below |
//! | 8 + 8 | the decision it has, and the one its subscriber was given last; both shared with everybody who has the same |
//! | 24 | the streams it uses: two in place, more on the heap at 8 bytes each |
//! | 16 | whom to wake |
//! | 8 | its group, and two flags |
//!
//! That is 80 bytes. To it come the text of the subscription (a typical one of SAPL has 100 to 200 bytes), 4 bytes in
//! the list of users of each stream it uses, and 16 bytes of its subscriber's handle: 300 bytes, all told. A stream that
//! only one subscription uses costs it 300 more, and the values in it. So 100,000 subscriptions are 30 MB, or 80 MB when
//! each has a stream and a decision of its own; a million are ten times that. What a connection takes is not in this.

use std::sync::Arc;
use std::task::Waker;

use smallvec::SmallVec;
use smol_str::SmolStr;

/// A stream that a subscription uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    /// The stream.
    pub(crate) stream: u32,
    /// Where the stream has noted the subscription.
    pub(crate) at: u32,
}

/// The streams that a subscription uses.
pub(crate) type Uses = SmallVec<[Use; 2]>;

/// No group.
pub(crate) const ALONE: u32 = u32::MAX;

/// One subscription.
pub(crate) struct Entry<S, D> {
    pub(crate) subscription: S,
    /// Its decision; `None` until all it needs has a value.
    pub(crate) decision: Option<Arc<D>>,
    /// What the subscriber was given last. INVARIANT: never equal to the decision and another object.
    pub(crate) given: Option<Arc<D>>,
    pub(crate) uses: Uses,
    pub(crate) waker: Option<Waker>,
    /// The group it belongs to, or [`ALONE`].
    pub(crate) group: u32,
    /// Whether it waits to be decided again.
    pub(crate) is_queued: bool,
}

const _: () = assert!(size_of::<Option<Entry<Box<[u8]>, u64>>>() <= 80);

impl<S, D> Entry<S, D> {
    pub(crate) fn new(subscription: S, group: u32) -> Entry<S, D> {
        Entry {
            subscription,
            decision: None,
            given: None,
            uses: Uses::new(),
            waker: None,
            group,
            is_queued: false,
        }
    }

    /// Whether there is a decision that the subscriber was not given yet.
    pub(crate) fn is_news(&self) -> bool {
        match (&self.decision, &self.given) {
            (Some(decision), Some(given)) => !Arc::ptr_eq(decision, given),
            (Some(_), None) => true,
            (None, _) => false,
        }
    }

    /// Gives the decision to the subscriber.
    pub(crate) fn give(&mut self) -> Option<Arc<D>> {
        self.given.clone_from(&self.decision);
        self.decision.clone()
    }
}

/// Subscriptions that one subscriber has asked for together.
pub(crate) struct Group {
    /// What the subscriber calls them, and which they are, in the order asked for.
    pub(crate) members: Box<[(SmolStr, u32)]>,
    /// How many have no decision yet.
    pub(crate) undecided: usize,
    pub(crate) waker: Option<Waker>,
}

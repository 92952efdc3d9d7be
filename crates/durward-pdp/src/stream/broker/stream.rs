//! One stream of attribute values, and where it stands.

use std::sync::Arc;

use durward_ir::Value;
use durward_ir::fault::Evaluated;

use crate::stream::finder::Finder;
use crate::stream::invocation::Key;
use crate::stream::publisher::Slot;

/// Where a stream stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// No finder serves it, or it is stale: nothing happens any more.
    Absent,
    /// It follows the time.
    Timed {
        /// When it began, in milliseconds since 1970.
        opened_ms: i64,
    },
    /// Its source is open and has not published yet; the timer ends its patience.
    Waiting,
    /// Its source is open and has published.
    Live,
    /// Its source completed, or failed too often; the timer opens it again.
    Resting,
    /// Its source failed; the timer opens it again.
    Retrying,
    /// The first value of another stream, and nothing after it.
    Head {
        /// The other stream, until it has another value than this, or is closed.
        of: Option<u32>,
    },
}

/// An open source.
pub(crate) struct Source {
    pub(crate) slot: Arc<Slot>,
    /// What closes it when dropped; `None` until it has been opened.
    pub(crate) handle: Option<Box<dyn Send>>,
}

/// One stream. About 300 bytes, and what its values take.
pub(crate) struct Stream {
    pub(crate) key: Key,
    pub(crate) digest: u64,
    pub(crate) finder: Option<Finder>,
    /// `None` until the first value.
    pub(crate) value: Option<Evaluated<Value>>,
    pub(crate) stage: Stage,
    pub(crate) source: Option<Source>,
    /// How often the source was opened again since it last completed.
    pub(crate) retries: u64,
    /// When the stage ends by itself.
    pub(crate) timer: Option<i64>,
    /// When nobody has needed it for long enough.
    pub(crate) grace: Option<i64>,
    /// The subscriptions that use it.
    pub(crate) users: Vec<u32>,
    /// The stream of its first value that others may share.
    pub(crate) head: Option<u32>,
    /// Whether newcomers, and old users when they decide again, get another stream: what it was opened with is no
    /// longer in force.
    pub(crate) is_stale: bool,
}

const _: () = assert!(size_of::<Stream>() <= 304);

impl Stream {
    pub(crate) fn new(key: Key, digest: u64, finder: Option<Finder>) -> Stream {
        Stream {
            key,
            digest,
            finder,
            value: None,
            stage: Stage::Absent,
            source: None,
            retries: 0,
            timer: None,
            grace: None,
            users: Vec::new(),
            head: None,
            is_stale: false,
        }
    }

    /// Whether nobody else may use it.
    pub(crate) fn is_private(&self) -> bool {
        self.key.invocation.options.fresh
    }
}

//! What a node promises, and how long it waits.

use std::time::Duration;

/// What is promised about logins and logouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mode {
    /// Sessions live and die with the nodes; what happens is told to the other nodes as well as can be.
    #[default]
    None,
    /// What happens is answered at once, and stored behind the answer.
    BestEffort,
    /// A login or a logout is answered when the store has it.
    AssuredWrite,
    /// As `AssuredWrite`; and after a logout was answered anywhere, no node accepts the session.
    AssuredRead,
}

impl Mode {
    /// Whether logins and logouts wait for the store.
    pub fn is_assured(self) -> bool {
        match self {
            Mode::None | Mode::BestEffort => false,
            Mode::AssuredWrite | Mode::AssuredRead => true,
        }
    }
}

/// What a node in an assured mode does with validations while it has no connection to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnLost {
    /// Refuses them: it cannot say.
    #[default]
    Refuse,
    /// Answers from what it knew. A session that was ended elsewhere meanwhile is accepted.
    ServeStale,
}

/// How a node works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSettings {
    /// What is promised.
    pub mode: Mode,
    /// What becomes of validations without the store, in the assured modes.
    pub on_lost: OnLost,
    /// How long a login or logout waits for the store, in the assured modes. Must stay below the time in which the store
    /// takes a record only once. Default: 5 seconds.
    pub write_within: Duration,
    /// After how long without an acknowledgement a record is sent again. Default: 1 second.
    pub resend_after: Duration,
    /// How long a validation waits for the store, in `assured-read`; and a node without a store for the others, when it
    /// starts. Default: 2 seconds.
    pub ask_within: Duration,
    /// How long a node counts as connected to the store while it hears nothing. The store says once a second that
    /// there is nothing new. A node that was cut off can be behind by this long in `assured-write`. Default: 3
    /// seconds.
    pub silence_max: Duration,
    /// How many records may wait for the store. Beyond that, logins and changes are refused in the assured modes, and
    /// not stored in `best-effort`. Beyond twice as many, logouts are refused, and end nothing. Default: 100,000,
    /// some 20 MiB; with the largest properties, some 200 MiB.
    pub outbox_max: usize,
    /// How long a key seals tokens before the next one does. Default: a day.
    pub key_period: Duration,
    /// How long after it was made a key begins to seal: by then, all nodes have it. Default: 10 seconds.
    pub key_lead: Duration,
}

impl Default for NodeSettings {
    fn default() -> NodeSettings {
        NodeSettings {
            mode: Mode::None,
            on_lost: OnLost::Refuse,
            write_within: Duration::from_secs(5),
            resend_after: Duration::from_secs(1),
            ask_within: Duration::from_secs(2),
            silence_max: Duration::from_secs(3),
            outbox_max: 100_000,
            key_period: Duration::from_secs(24 * 3600),
            key_lead: Duration::from_secs(10),
        }
    }
}

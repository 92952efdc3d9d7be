//! Streaming decisions: subscriptions that live, and attributes that change.
//!
//! ```text
//!   sources --publish--> inbox --tick--> broker: streams of values --changed--> store: subscriptions --wake--> subscribers
//!      ^                                   |                                        |
//!      '------- open, close ---------------'             decider: step(subscription, known) -> Decided | Needs
//! ```
//!
//! A subscription is data: a row in a table, not a task. Everything is a function of what has happened and of the time,
//! which are arguments: no thread, no clock, no socket. See [`Streams`] for how it is driven.

mod arena;
mod broker;
mod chance;
mod decider;
mod entry;
mod finder;
pub mod finders;
mod identical;
mod interner;
mod invocation;
mod policies;
mod publisher;
mod repository;
mod store;
mod streams;

pub use broker::{BrokerSettings, Late};
pub use decider::{Answer, Decider, KnownAttributes, NothingKnown, Step};
pub use finder::{AttributeFinder, Finder, Reading, Reads, TimedFinder};
pub use invocation::{
    BACKOFF_MS_MIN, Context, FinderOptions, Invocation, POLL_INTERVAL_MS_MIN, Surroundings,
};
pub use policies::{PackedSubscription, PoliciesInForce, RecordedPolicies};
pub use publisher::Publisher;
pub use repository::{PUBLISHED_BYTES_MAX, PUBLISHED_COUNT_MAX, Repository, RepositoryFull};
pub use store::{MULTI_SUBSCRIPTION_MAX, Named, StreamsInfo, SubscribeError};
pub use streams::{MultiSubscription, Once, Streams, Subscription};

//! How several nodes agree on sessions: a state machine that takes events and gives effects, and never waits.
//!
//! [`SessionNode`] is owned by one task, the driver, which carries events to it and effects from it, and tells it every half a second
//! or so what time it is ([`NodeEvent::Tick`]). Validations do not pass through it, save for the permits of `assured-read`: all threads
//! share the [`SessionTable`](crate::session::SessionTable) that the node changes.
//!
//! Codes of second steps travel with the sessions ([`NodeEvent::UseCode`]): nodes may have a copy of the users each, and a code is good
//! once for all of them. In the assured modes, of several records that use one code the first in the store's order counts.
//!
//! Failed logins travel too, as well as can be ([`NodeEvent::Guesses`]): what they count is not the node's affair.
//!
//! What a store must do, for [`NodeEffect::Store`] and the events that come back: keep records in one order, each with a number
//! that grows, and send them in that order (what is lost on the way is noticed); take a record only once when it comes again with the same [`RecordId`] within two minutes; acknowledge only what a majority
//! has; answer [`NodeEffect::AskLast`] with the number of the last record that was acknowledged before it answers, by the word of
//! its leader and not of a replica. That is what NATS JetStream does with `Nats-Msg-Id`, R3 and a request for the stream's
//! state; an embedded store does it trivially.

mod freshness;
mod message;
mod node;
mod outbox;
mod repeats;
mod settings;
#[cfg(test)]
mod tests;
mod used;

pub use message::{AskId, AskOutcome, Lack, NodeEffect, NodeEvent, NodeHealth};
pub use node::SessionNode;
pub use outbox::RecordId;
pub use settings::{Mode, NodeSettings, OnLost};

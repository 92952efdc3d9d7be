//! Where records are kept and how they reach other nodes: the seam between a node and its store.
//!
//! A store is a task. It gets [`StoreCommand`]s through a bounded channel and tells what happened through a [`NodeLink`]. What it owes
//! the protocol is written at [`durward_identity::protocol`]: one order of records, numbers that grow, each record once however
//! often it is sent within two minutes, no acknowledgement before the promise is kept.
//!
//! # From order to event
//!
//! | order | answer |
//! |---|---|
//! | at the start, and after a connection was lost and found | [`NodeEvent::Connected`] with the number of the last record |
//! | the connection is lost | [`NodeEvent::Lost`] |
//! | [`StoreCommand::Store`] | [`NodeEvent::Stored`] when it is as safe as promised, or [`NodeEvent::NotStored`]; later [`NodeEvent::Delivered`], as every record of every node, in order. A store that delivers in the same moment need not say `Stored` |
//! | [`StoreCommand::CatchUp`] | from that number on: [`NodeEvent::Delivered`] for each record there is and comes, in order, and [`NodeEvent::Idle`] when there are none left, once a second, and at once when there was nothing |
//! | [`StoreCommand::AskLast`] | [`NodeEvent::Last`] |
//! | [`StoreCommand::Tell`] | [`NodeEvent::Told`] on the other nodes, as well as can be |
//! | [`StoreCommand::AskPeers`] | [`NodeEvent::Knows`], from another node's [`NodeLink::knowledge`]; nothing where there is no other |
//!
//! A mode uses some of them: `none` has only `Tell` and `AskPeers`, the others do not have these.
//!
//! # When the queue is full
//!
//! The driver never waits for a store. An order that finds the queue full is dropped: a `SessionStore` counts as
//! [`NodeEvent::NotStored`] and is sent again half a second later, a question to the store runs into its time limit.
//! A store may wait as long as it likes in [`NodeLink::happened`]: the driver always comes back to it.
//!
//! # The end
//!
//! The queue of orders closes when the node stops: a store carries out what is still in it, and returns. At that moment
//! [`NodeLink::happened`] already says `false`: a store that stopped working then would lose what was acknowledged in
//! `best-effort`.

pub mod journal;
pub mod memory;

use std::future::Future;
use std::pin::Pin;

use durward_identity::protocol::{NodeEffect, NodeEvent, RecordId};
use durward_identity::session::SessionRecord;
use tokio::sync::{mpsc, oneshot, watch};

use crate::clocks::ClockReport;

/// How many orders may wait for a store.
pub const ORDERS_MAX: usize = 8192;

/// How many events may wait for the driver.
pub(crate) const EVENTS_MAX: usize = 1024;

/// A command to the store: the protocol's effects that concern it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreCommand {
    /// Keep a record.
    Store {
        /// What it is sent as.
        id: RecordId,
        /// What it says.
        record: SessionRecord,
    },
    /// Tell all other nodes, as well as can be.
    Tell {
        /// What.
        record: SessionRecord,
    },
    /// Send records from after a number on, from now on. What was sent before is of no matter.
    CatchUp {
        /// The number; 0 is from the beginning.
        after: u64,
    },
    /// Say the number of the last record that was acknowledged.
    AskLast {
        /// Comes back in [`NodeEvent::Last`].
        question: u64,
    },
    /// Ask another node for what it knows.
    AskPeers,
}

impl StoreCommand {
    /// The effect as an order, or as it was if it is none of the store's.
    pub(crate) fn of(effect: NodeEffect) -> Result<StoreCommand, NodeEffect> {
        match effect {
            NodeEffect::Store { id, record } => Ok(StoreCommand::Store { id, record }),
            NodeEffect::Tell { record } => Ok(StoreCommand::Tell { record }),
            NodeEffect::CatchUp { after } => Ok(StoreCommand::CatchUp { after }),
            NodeEffect::AskLast { question } => Ok(StoreCommand::AskLast { question }),
            NodeEffect::AskPeers => Ok(StoreCommand::AskPeers),
            NodeEffect::Answer { .. }
            | NodeEffect::Ended(_)
            | NodeEffect::Changed(_)
            | NodeEffect::Guessed(_)
            | NodeEffect::Trouble(_) => Err(effect),
        }
    }
}

/// A store's task.
pub type StoreTask = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Carries records.
pub trait SessionStore: Send + 'static {
    /// What it is called in logs.
    fn name(&self) -> &'static str;

    /// Whether other nodes may be behind it, with users of their own. Default: no.
    fn is_shared(&self) -> bool {
        false
    }

    /// Works until `orders` closes or the node is gone. Runs on the service's own runtime, which has time and I/O: what blocks
    /// goes to a thread.
    fn run(self: Box<Self>, orders: mpsc::Receiver<StoreCommand>, node: NodeLink) -> StoreTask;
}

/// A message from the store to its driver.
#[derive(Debug)]
pub(crate) enum StoreMessage {
    Happened(NodeEvent),
    Knowledge(oneshot::Sender<NodeSnapshot>),
    /// A part of it; nothing where there are no more.
    Part(usize, oneshot::Sender<Option<Vec<SessionRecord>>>),
}

/// A snapshot of a node's state, as records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSnapshot {
    /// The store's number up to which everything is in it.
    pub applied: u64,
    /// The records, to be applied in this order.
    pub records: Vec<SessionRecord>,
}

/// A node could not give a snapshot of its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoNodeSnapshot;

/// The way from a store to its node.
#[derive(Clone, Debug)]
pub struct NodeLink(mpsc::Sender<StoreMessage>, watch::Sender<Option<String>>, watch::Sender<ClockReport>);

impl NodeLink {
    pub(crate) fn new() -> (NodeLink, mpsc::Receiver<StoreMessage>) {
        let (sender, receiver) = mpsc::channel(EVENTS_MAX);
        (NodeLink(sender, watch::Sender::new(None), watch::Sender::default()), receiver)
    }

    /// Why the store cannot be used at the moment, in the operator's words, for the node's health; `None` when it can.
    pub fn complain(&self, message: Option<&str>) {
        self.1.send_replace(message.map(str::to_owned));
    }

    /// How this node's clock compares with those of others.
    pub fn compared(&self, report: ClockReport) {
        self.2.send_replace(report);
    }

    pub(crate) fn clocks(&self) -> watch::Receiver<ClockReport> {
        self.2.subscribe()
    }

    pub(crate) fn complaint(&self) -> watch::Receiver<Option<String>> {
        self.1.subscribe()
    }

    /// Something happened at the store. Events arrive in the order in which they are told. Whether the node is still there.
    pub async fn happened(&self, event: NodeEvent) -> bool {
        self.0.send(StoreMessage::Happened(event)).await.is_ok()
    }

    /// The same for a thread that may block.
    pub fn happened_blocking(&self, event: NodeEvent) -> bool {
        self.0.blocking_send(StoreMessage::Happened(event)).is_ok()
    }

    /// What this node knows: for another one that asks, or to put it in the place of many records. `None` when the node is gone
    /// or has no randomness.
    pub async fn knowledge(&self) -> Option<NodeSnapshot> {
        let (sender, receiver) = oneshot::channel();
        self.0.send(StoreMessage::Knowledge(sender)).await.ok()?;
        receiver.await.ok()
    }

    /// The same in parts, so that nobody need hold all of it; see [`durward_identity::protocol::SessionNode::knowledge_part`].
    ///
    /// # Errors
    /// The node is gone or has no randomness.
    pub async fn knowledge_part(&self, turn: usize) -> Result<Option<Vec<SessionRecord>>, NoNodeSnapshot> {
        let (sender, receiver) = oneshot::channel();
        self.0.send(StoreMessage::Part(turn, sender)).await.map_err(|_| NoNodeSnapshot)?;
        receiver.await.map_err(|_| NoNodeSnapshot)
    }

    /// The same for a thread that may block.
    pub fn knowledge_blocking(&self) -> Option<NodeSnapshot> {
        let (sender, receiver) = oneshot::channel();
        self.0.blocking_send(StoreMessage::Knowledge(sender)).ok()?;
        receiver.blocking_recv().ok()
    }
}

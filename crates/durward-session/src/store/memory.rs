//! The store that keeps nothing: for one node whose sessions die with it.
//!
//! It says of every record at once that it has it, so that every mode can run over it. What it holds is gone with the process: the
//! modes that promise more than that are refused where settings are read.

use std::time::Duration;

use durward_identity::protocol::NodeEvent;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use super::{NodeLink, SessionStore, StoreCommand, StoreTask};

/// How often the node hears that nothing happened.
const IDLE_EVERY: Duration = Duration::from_secs(1);

/// The store that keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemoryStore;

impl SessionStore for MemoryStore {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn run(self: Box<Self>, orders: mpsc::Receiver<StoreCommand>, node: NodeLink) -> StoreTask {
        Box::pin(work(orders, node))
    }
}

async fn work(mut orders: mpsc::Receiver<StoreCommand>, node: NodeLink) {
    let mut last = 0;
    let mut idle = interval(IDLE_EVERY);
    idle.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut is_there = node.happened(NodeEvent::Connected { last }).await;
    while is_there {
        let event = tokio::select! {
            order = orders.recv() => match order {
                None => return,
                Some(order) => answer(order, &mut last),
            },
            _ = idle.tick() => Some(NodeEvent::Idle { last, after: last }),
        };
        if let Some(event) = event {
            is_there = node.happened(event).await;
        }
    }
}

fn answer(order: StoreCommand, last: &mut u64) -> Option<NodeEvent> {
    match order {
        StoreCommand::Store { id, record } => {
            let after = *last;
            *last += 1;
            Some(NodeEvent::Delivered { number: *last, after, id, record })
        }
        StoreCommand::CatchUp { .. } => Some(NodeEvent::Idle { last: *last, after: *last }),
        StoreCommand::AskLast { question } => Some(NodeEvent::Last { question, last: *last }),
        // There is nobody else: what is known is nothing, and that is the answer.
        StoreCommand::AskPeers => Some(NodeEvent::Knows { records: Vec::new() }),
        StoreCommand::Tell { .. } => None,
    }
}

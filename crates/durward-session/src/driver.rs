//! The driver: the one task that owns the protocol's node, brings it events and carries out its effects.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use durward_identity::audit::{AuditEvent, Kind};
use durward_identity::protocol::{AskId, AskOutcome, Lack, NodeEffect, NodeEvent, NodeHealth, SessionNode};
use durward_identity::session::SessionRecord;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{MissedTickBehavior, interval};

use crate::Clock;
use crate::audit::SessionAuditLog;
use crate::counters::{Counter, Counters};
use crate::listeners::NodeGoneNotifier;
use crate::service::AttemptQueue;
use crate::store::{NodeSnapshot, StoreCommand, StoreMessage};

/// How many questions may wait for the driver; further callers wait until there is room.
pub(crate) const QUESTIONS_MAX: usize = 4096;

/// How much is taken from a queue at once.
const BATCH: usize = 256;

/// How often the node is told the time.
const TICK: Duration = Duration::from_millis(500);

/// A request to the node, and the channel for its answer.
#[derive(Debug)]
pub(crate) struct PendingAsk {
    pub(crate) ask: AskId,
    pub(crate) event: NodeEvent,
    pub(crate) answer: oneshot::Sender<AskOutcome>,
}

pub(crate) struct SessionDriver {
    pub(crate) node: SessionNode,
    pub(crate) clock: Clock,
    pub(crate) questions: mpsc::Receiver<PendingAsk>,
    pub(crate) told: mpsc::Receiver<StoreMessage>,
    pub(crate) orders: mpsc::Sender<StoreCommand>,
    pub(crate) listeners: NodeGoneNotifier,
    /// What delays logins.
    pub(crate) turns: AttemptQueue,
    pub(crate) outlook: watch::Sender<NodeHealth>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) audit: Option<SessionAuditLog>,
    pub(crate) waiting: HashMap<AskId, oneshot::Sender<AskOutcome>>,
    /// Records that the store's queue had no room for.
    pub(crate) refused: Vec<NodeEvent>,
}

impl SessionDriver {
    /// Works until `stop` comes. The store's queue closes then.
    pub(crate) async fn run(mut self, mut stop: oneshot::Receiver<()>) {
        let (mut questions, mut told) = (Vec::new(), Vec::new());
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                _ = &mut stop => return,
                count = self.questions.recv_many(&mut questions, BATCH) => {
                    if count == 0 {
                        return;
                    }
                }
                count = self.told.recv_many(&mut told, BATCH) => {
                    if count == 0 {
                        // The store's task has ended; nothing will be heard of it any more.
                        return self.without_store(stop).await;
                    }
                }
                _ = ticks.tick() => self.handle(NodeEvent::Tick),
            }
            questions.drain(..).for_each(|question| self.ask(question));
            told.drain(..).for_each(|told| self.take(told));
            self.after();
        }
    }

    /// Answers that there is no store, until the end.
    async fn without_store(mut self, mut stop: oneshot::Receiver<()>) {
        tracing::error!("the session store has ended: this node cannot take logins any more; restart it");
        self.handle(NodeEvent::Lost);
        self.after();
        loop {
            tokio::select! {
                _ = &mut stop => return,
                question = self.questions.recv() => match question {
                    None => return,
                    Some(question) => self.ask(question),
                },
                () = tokio::time::sleep(TICK) => self.handle(NodeEvent::Tick),
            }
            self.after();
        }
    }

    fn ask(&mut self, question: PendingAsk) {
        let PendingAsk { ask, event, answer } = question;
        self.waiting.insert(ask, answer);
        self.handle(event);
    }

    fn take(&mut self, told: StoreMessage) {
        match told {
            StoreMessage::Happened(event) => self.handle(event),
            StoreMessage::Knowledge(to) => match self.node.knowledge() {
                // Whoever asked may have gone.
                Ok(records) => drop(to.send(NodeSnapshot { applied: self.node.outlook().applied, records })),
                Err(error) => tracing::error!(%error, "what this node knows cannot be told"),
            },
            StoreMessage::Part(turn, to) => match self.node.knowledge_part(turn) {
                // The same.
                Ok(part) => drop(to.send(part)),
                Err(error) => tracing::error!(%error, "what this node knows cannot be told"),
            },
        }
    }

    fn handle(&mut self, event: NodeEvent) {
        let mut effects = Vec::new();
        self.node.handle((self.clock)(), event, &mut effects);
        effects.into_iter().for_each(|effect| self.carry_out(effect));
    }

    fn carry_out(&mut self, effect: NodeEffect) {
        match StoreCommand::of(effect) {
            Ok(order) => self.order(order),
            Err(NodeEffect::Answer { ask, answer }) => {
                if let Some(to) = self.waiting.remove(&ask) {
                    // Whoever asked may have gone.
                    let _ = to.send(answer);
                }
            }
            Err(NodeEffect::Ended(revocation)) => {
                let woken = self.listeners.0.tell(&revocation);
                self.counters.count_many(Counter::ListenerWoken, woken);
            }
            Err(NodeEffect::Changed(id)) => {
                let woken = self.listeners.0.ring(id);
                self.counters.count_many(Counter::ListenerWoken, woken);
            }
            Err(NodeEffect::Guessed(news)) => self.turns.hear(&news),
            Err(NodeEffect::Trouble(error)) => tracing::error!(%error, "sessions"),
            Err(
                NodeEffect::Store { .. }
                | NodeEffect::Tell { .. }
                | NodeEffect::CatchUp { .. }
                | NodeEffect::AskLast { .. }
                | NodeEffect::AskPeers,
            ) => {}
        }
    }

    /// Gives an order to the store, without ever waiting for it.
    fn order(&mut self, order: StoreCommand) {
        self.audit_key(&order);
        let Err(refused) = self.orders.try_send(order) else { return };
        self.counters.count(Counter::OrderDropped);
        match refused.into_inner() {
            StoreCommand::Store { id, record: _ } => self.refused.push(NodeEvent::NotStored { id }),
            StoreCommand::Tell { .. }
            | StoreCommand::CatchUp { .. }
            | StoreCommand::AskLast { .. }
            | StoreCommand::AskPeers => {}
        }
    }

    /// A key that this node has made. What is sent again is noted again: a line more is better than one less.
    fn audit_key(&self, order: &StoreCommand) {
        if let (StoreCommand::Store { record: SessionRecord::Key(_), .. }, Some(audit)) = (order, &self.audit)
        {
            audit.note((self.clock)(), AuditEvent::new(Kind::KeyRotated));
        }
    }

    fn after(&mut self) {
        for event in std::mem::take(&mut self.refused) {
            self.handle(event);
        }
        let mut outlook = self.node.outlook();
        if outlook.lack == Some(Lack::Key) && self.outlook.borrow().lack != outlook.lack {
            // The first key is made when a node has its store. It need not wait for the next tick.
            self.handle(NodeEvent::Tick);
            outlook = self.node.outlook();
        }
        self.outlook.send_if_modified(|old| {
            let is_other = *old != outlook;
            *old = outlook;
            is_other
        });
    }
}

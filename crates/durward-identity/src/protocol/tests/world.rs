//! A simulated world: nodes, a store, messages, and time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use durward_testdata::TestShift;

use super::checker::{Checker, Life, Scope};
use super::codes::Codes;
use crate::protocol::{
    AskId, AskOutcome, Mode, NodeEffect, NodeEvent, NodeSettings, OnLost, RecordId, SessionNode,
};
use crate::session::{ClusterKey, SessionRecord, SessionSettings, SessionTable};
use crate::{Entropy, IdentityError, Moment};

/// What is broken in a simulated world, to see whether it is found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// Validations join the question that is under way.
    JoinsQuestion,
    /// The store answers with what a replica knows.
    StaleReplica,
    /// The store acknowledges one record in twenty without keeping it.
    LosesAcknowledged,
    /// Validations go ahead without a permit.
    NeverAsks,
    /// Nodes do not look whether they were the first to give a code to the store.
    LetsEverybodyIn,
    /// One node's clock is 400 s away from the others', which is more than clocks may differ. Revocations hold all the same; but the
    /// nodes refuse each other's tokens.
    ClocksApart,
}

pub(super) const NODES: usize = 3;
pub(super) const USERS: usize = 4;
const TICK_MS: u64 = 500;
/// For so long the store knows a record again that comes twice.
const KNOWN_MS: u64 = 120_000;
/// How many messages a world may see; most see some thousand. One that sees more turns in a circle.
const MESSAGES_MAX: u64 = 100_000;
/// When the world begins, in milliseconds since 1970.
const BEGIN_MS: u64 = 1_700_000_000_000;

/// Random bytes that are the same for each seed.
struct Seeded(Mutex<TestShift>);

impl Entropy for Seeded {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), IdentityError> {
        let mut chance = self.0.lock().unwrap();
        bytes.iter_mut().for_each(|byte| *byte = chance.below(256) as u8);
        Ok(())
    }
}

/// What is on its way.
#[derive(Clone, Debug)]
enum Message {
    Tick(usize),
    ToNode(Life, NodeEvent),
    ToStore(Life, StoreAsk),
    /// A node notices that it lost the store, or finds it again.
    Notices(Life),
}

#[derive(Clone, Debug)]
enum StoreAsk {
    Connect,
    Put(RecordId, SessionRecord),
    CatchUp(u64),
    Last(u64),
}

pub(super) struct SimulatedNode {
    pub(super) node: SessionNode,
    pub(super) sessions: Arc<SessionTable>,
    pub(super) life: Life,
    skew_ms: i64,
    pub(super) is_up: bool,
    pub(super) is_cut: bool,
    is_connected: bool,
    /// How far the store has sent its records to this node.
    sent: Option<u64>,
    last_delivery: u64,
}

/// What somebody waits for.
#[derive(Debug)]
pub(super) enum Waits {
    Login { user: usize },
    End(usize),
    Validation { session: usize },
    Change { session: usize },
    Code(usize),
    Nothing,
}

#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) waits: Waits,
    pub(super) at: Life,
    pub(super) asked: u64,
}

pub(super) struct World {
    seed: u64,
    pub(super) chance: TestShift,
    pub(super) fault: Fault,
    entropy: Arc<Seeded>,
    settings: NodeSettings,
    pub(super) now: u64,
    pub(super) nodes: Vec<SimulatedNode>,
    /// What the store has, and since when.
    log: Vec<(RecordId, SessionRecord, u64)>,
    queue: BTreeMap<(u64, u64), Message>,
    /// One message in so many takes long.
    slow_once_in: u64,
    order: u64,
    pub(super) checker: Checker,
    pub(super) codes: Codes,
    pub(super) waiting: BTreeMap<AskId, Waiting>,
    last_ask: u64,
    received: u64,
    /// Whether messages are lost and repeated.
    pub(super) is_rough: bool,
    pub(super) violation: Option<String>,
    /// What was last answered where a token was asked for.
    pub(super) last_refusal: Option<String>,
}

/// Lives through a seed. What was violated, if anything.
pub(super) fn run(seed: u64, mode: Mode, on_lost: OnLost, fault: Fault) -> Result<(), String> {
    let mut world = World::begin(seed, mode, on_lost, fault);
    world.pass(3_000);
    for step in 0..200 {
        world.step();
        if let Some(violation) = world.violation.take() {
            return Err(format!("safety, step {step}, at {} ms: {violation}", world.now - BEGIN_MS));
        }
    }
    world.settle().map_err(|violation| format!("liveness: {violation}"))
}

impl World {
    fn begin(seed: u64, mode: Mode, on_lost: OnLost, fault: Fault) -> World {
        let settings = NodeSettings { mode, on_lost, ..NodeSettings::default() };
        let mut world = World {
            seed,
            chance: TestShift::new(seed + 1),
            fault,
            entropy: Arc::new(Seeded(Mutex::new(TestShift::new(seed + 1_000_003)))),
            settings,
            now: BEGIN_MS,
            nodes: Vec::new(),
            log: Vec::new(),
            queue: BTreeMap::new(),
            slow_once_in: [3, 20, 100][(seed % 3) as usize],
            order: 0,
            checker: Checker::new(mode),
            codes: Codes::default(),
            waiting: BTreeMap::new(),
            last_ask: 0,
            received: 0,
            is_rough: true,
            violation: None,
            last_refusal: None,
        };
        for node in 0..NODES {
            let apart_ms = if fault == Fault::ClocksApart { 400_000 } else { 30_000 };
            let skew_ms = match (node, world.chance.below(2)) {
                (1, 0) => apart_ms,
                (1, _) => -apart_ms,
                _ => world.chance.below(400) as i64 - 200,
            };
            let simulated = world.simulated_node(Life { node, count: 0 }, skew_ms);
            world.nodes.push(simulated);
            world.start(node);
        }
        world
    }

    fn simulated_node(&self, life: Life, skew_ms: i64) -> SimulatedNode {
        let settings = SessionSettings { told_every: Duration::from_secs(10), ..SessionSettings::default() };
        let sessions = Arc::new(SessionTable::seeded(settings, self.seed));
        let cluster = ClusterKey::new([9; 32]).unwrap();
        let mut node =
            SessionNode::new(self.settings.clone(), sessions.clone(), cluster, self.entropy.clone()).unwrap();
        if self.fault == Fault::JoinsQuestion {
            node.break_freshness();
        }
        if self.fault == Fault::LetsEverybodyIn {
            node.break_codes();
        }
        SimulatedNode {
            node,
            sessions,
            life,
            skew_ms,
            is_up: true,
            is_cut: false,
            is_connected: false,
            sent: None,
            last_delivery: 0,
        }
    }

    fn start(&mut self, node: usize) {
        self.send_at(self.now + 1, Message::Tick(node));
        let life = self.nodes[node].life;
        if self.checker.mode != Mode::None {
            self.send_at(self.now + 5, Message::Notices(life));
        }
    }

    /// The node's clock.
    pub(super) fn clock(&self, node: usize) -> Moment {
        Moment::from_ms(self.now.saturating_add_signed(self.nodes[node].skew_ms))
    }

    fn send_at(&mut self, at: u64, message: Message) {
        self.order += 1;
        self.queue.insert((at, self.order), message);
    }

    /// Over a network: late, in any order; sometimes twice, sometimes never.
    fn send(&mut self, message: Message) {
        if self.is_rough && self.chance.once_in(40) {
            return;
        }
        let copies = if self.is_rough && self.chance.once_in(30) { 2 } else { 1 };
        for _ in 0..copies {
            let most = if self.chance.once_in(self.slow_once_in) { 800 } else { 20 };
            let late = 1 + self.chance.below(most);
            let at = self.in_order(&message, self.now + late);
            self.send_at(at, message.clone());
        }
    }

    /// What the store sends of its records comes in order, or not at all.
    fn in_order(&mut self, message: &Message, at: u64) -> u64 {
        let Message::ToNode(life, NodeEvent::Delivered { .. } | NodeEvent::Idle { .. }) = message else {
            return at;
        };
        let simulated = &mut self.nodes[life.node];
        simulated.last_delivery = simulated.last_delivery.max(at);
        simulated.last_delivery
    }

    /// Lets time pass.
    pub(super) fn pass(&mut self, ms: u64) {
        let end = self.now + ms;
        while let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= end) {
            let ((at, _), message) = entry.remove_entry();
            self.now = self.now.max(at);
            self.receive(message);
            self.received += 1;
            if self.received > MESSAGES_MAX {
                self.violation = Some(format!("more than {MESSAGES_MAX} messages: {}", self.traffic()));
                self.queue.clear();
            }
        }
        self.now = end;
    }

    fn is_alive(&self, life: Life) -> bool {
        self.nodes[life.node].is_up && self.nodes[life.node].life == life
    }

    fn is_reachable(&self, life: Life) -> bool {
        self.is_alive(life) && !self.nodes[life.node].is_cut
    }

    fn receive(&mut self, message: Message) {
        match message {
            Message::Tick(node) => {
                self.send_at(self.now + TICK_MS, Message::Tick(node));
                if self.nodes[node].is_up {
                    self.handle(node, NodeEvent::Tick);
                    self.say_idle(node);
                }
            }
            Message::ToNode(life, event) if self.is_alive(life) => {
                let is_from_store = !matches!(event, NodeEvent::Told { .. } | NodeEvent::Knows { .. });
                if is_from_store && self.nodes[life.node].is_cut {
                    return;
                }
                if matches!(event, NodeEvent::Connected { .. }) {
                    // The answer to an earlier try: the driver has given that up.
                    if self.nodes[life.node].is_connected {
                        return;
                    }
                    self.nodes[life.node].is_connected = true;
                }
                self.handle(life.node, event);
            }
            Message::ToStore(life, ask) if self.is_reachable(life) => self.store(life, ask),
            Message::Notices(life) if self.is_alive(life) => self.notice(life),
            Message::ToNode(..) | Message::ToStore(..) | Message::Notices(_) => {}
        }
    }

    fn notice(&mut self, life: Life) {
        let simulated = &mut self.nodes[life.node];
        if simulated.is_cut && simulated.is_connected {
            simulated.is_connected = false;
            simulated.sent = None;
            self.handle(life.node, NodeEvent::Lost);
        } else if !simulated.is_cut && !simulated.is_connected {
            self.send(Message::ToStore(life, StoreAsk::Connect));
            // Tried again until it works.
            self.send_at(self.now + 2_000, Message::Notices(life));
        }
    }

    /// The store is one thing here: what it does, a majority does.
    fn store(&mut self, life: Life, ask: StoreAsk) {
        let last = self.log.len() as u64;
        let answer = match ask {
            StoreAsk::Connect => NodeEvent::Connected { last },
            StoreAsk::Last(question) => {
                let lag = if self.fault == Fault::StaleReplica { self.chance.below(4) } else { 0 };
                // What it says is nothing that the node could know to be old.
                let applied = self.nodes[life.node].node.outlook().applied;
                NodeEvent::Last { question, last: last.saturating_sub(lag).max(applied.min(last)) }
            }
            StoreAsk::CatchUp(after) => {
                self.nodes[life.node].sent = Some(after);
                self.deliver(life.node);
                return;
            }
            StoreAsk::Put(id, record) => NodeEvent::Stored { id, number: self.put(id, record) },
        };
        self.send(Message::ToNode(life, answer));
    }

    fn put(&mut self, id: RecordId, record: SessionRecord) -> u64 {
        let is_known =
            |(other, _, at): &(RecordId, SessionRecord, u64)| *other == id && self.now - at < KNOWN_MS;
        if let Some(at) = self.log.iter().position(is_known) {
            return at as u64 + 1;
        }
        if self.fault == Fault::LosesAcknowledged && self.chance.once_in(20) {
            return self.log.len() as u64 + 1;
        }
        self.log.push((id, record, self.now));
        (0..NODES).for_each(|node| self.deliver(node));
        self.log.len() as u64
    }

    /// Sends what a node has not been sent.
    fn deliver(&mut self, node: usize) {
        let Some(mut sent) = self.nodes[node].sent else { return };
        let life = self.nodes[node].life;
        while let Some((id, record, _)) = self.log.get(sent as usize).cloned() {
            let event = NodeEvent::Delivered { number: sent + 1, after: sent, id, record };
            self.send(Message::ToNode(life, event));
            sent += 1;
        }
        self.nodes[node].sent = Some(sent);
    }

    fn say_idle(&mut self, node: usize) {
        let simulated = &self.nodes[node];
        if let Some(sent) = simulated.sent.filter(|_| self.is_reachable(simulated.life)) {
            let event = NodeEvent::Idle { last: sent, after: sent };
            self.send(Message::ToNode(simulated.life, event));
        }
    }

    /// Gives an event to a node and does what it wants.
    pub(super) fn handle(&mut self, node: usize, event: NodeEvent) {
        let mut effects = Vec::new();
        let now = self.clock(node);
        self.nodes[node].node.handle(now, event, &mut effects);
        let life = self.nodes[node].life;
        for effect in effects {
            match effect {
                NodeEffect::Store { id, record } => {
                    self.send(Message::ToStore(life, StoreAsk::Put(id, record)))
                }
                NodeEffect::CatchUp { after } => self.send(Message::ToStore(life, StoreAsk::CatchUp(after))),
                NodeEffect::AskLast { question } => {
                    self.send(Message::ToStore(life, StoreAsk::Last(question)))
                }
                NodeEffect::Tell { record } => self.tell(node, &record),
                NodeEffect::AskPeers => self.ask_peers(life),
                NodeEffect::Answer { ask, answer } => self.answered(ask, answer),
                NodeEffect::Ended(_) | NodeEffect::Changed(_) | NodeEffect::Guessed(_) => {}
                NodeEffect::Trouble(error) => self.violation = Some(format!("trouble: {error}")),
            }
        }
    }

    fn tell(&mut self, from: usize, record: &SessionRecord) {
        for node in (0..NODES).filter(|node| *node != from) {
            let life = self.nodes[node].life;
            if self.is_reachable(life) && !self.nodes[from].is_cut {
                self.send(Message::ToNode(life, NodeEvent::Told { record: record.clone() }));
            }
        }
    }

    fn ask_peers(&mut self, asking: Life) {
        let knows = |simulated: &&SimulatedNode| {
            simulated.life.node != asking.node
                && simulated.is_up
                && !simulated.is_cut
                && simulated.node.outlook().lack.is_none()
        };
        let Some(records) =
            self.nodes.iter().find(knows).map(|simulated| simulated.node.knowledge().unwrap())
        else {
            return;
        };
        self.send(Message::ToNode(asking, NodeEvent::Knows { records }));
    }

    /// A question to a node, that will be answered once.
    pub(super) fn ask(&mut self, node: usize, waits: Waits) -> AskId {
        self.last_ask += 1;
        let ask = AskId(self.last_ask);
        self.waiting.insert(ask, Waiting { waits, at: self.nodes[node].life, asked: self.now });
        ask
    }

    fn answered(&mut self, ask: AskId, answer: AskOutcome) {
        let Some(waiting) = self.waiting.remove(&ask) else {
            self.violation = Some(format!("{ask:?} was answered twice: {answer:?}"));
            return;
        };
        if let Err(violation) = self.heard(waiting, answer) {
            self.violation = Some(violation);
        }
    }

    pub(super) fn crash(&mut self, node: usize) {
        self.nodes[node].is_up = false;
        self.waiting.retain(|_, waiting| waiting.at.node != node);
    }

    pub(super) fn restart(&mut self, node: usize) {
        let Life { count, .. } = self.nodes[node].life;
        let (skew_ms, is_cut) = (self.nodes[node].skew_ms, self.nodes[node].is_cut);
        self.nodes[node] = self.simulated_node(Life { node, count: count + 1 }, skew_ms);
        self.nodes[node].is_cut = is_cut;
        if self.checker.mode != Mode::None {
            let life = self.nodes[node].life;
            self.send_at(self.now + 5, Message::Notices(life));
        }
    }

    pub(super) fn cut(&mut self, node: usize) {
        self.nodes[node].is_cut = true;
        self.soon_notices(node);
    }

    pub(super) fn heal(&mut self, node: usize) {
        self.nodes[node].is_cut = false;
        self.soon_notices(node);
    }

    fn soon_notices(&mut self, node: usize) {
        if self.checker.mode == Mode::None {
            return;
        }
        let late = 100 + self.chance.below(2_000);
        let life = self.nodes[node].life;
        self.send_at(self.now + late, Message::Notices(life));
    }

    /// What is on its way, by kind, for whoever reads a violation.
    fn traffic(&self) -> String {
        let mut counts = BTreeMap::<String, usize>::new();
        for message in self.queue.values() {
            let text = format!("{message:?}");
            let kind: String = text.split([' ', '{']).take(4).collect::<Vec<_>>().join(" ");
            *counts.entry(kind).or_default() += 1;
        }
        format!("{counts:?}, {} records in the store", self.log.len())
    }

    /// What the store has of a session, for whoever reads a violation.
    pub(super) fn story(&self, id: crate::session::SessionId) -> String {
        let text = |(at, (from, record, _)): (usize, &(RecordId, SessionRecord, u64))| {
            let text = format!("{record:?}");
            let is_about = text.contains(&id.to_string()) || text.contains("before");
            is_about.then(|| format!("\n  {}: from {from}: {text}", at + 1))
        };
        let outlooks = self
            .nodes
            .iter()
            .map(|simulated| format!("\n  {:?}: {:?}", simulated.life, simulated.node.outlook()));
        self.log.iter().enumerate().filter_map(text).chain(outlooks).collect()
    }

    pub(super) fn scope_of(&mut self, session: usize) -> Scope {
        Scope::Session(self.checker.sessions[session].id)
    }
}

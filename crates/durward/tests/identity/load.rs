//! Logins, validations and logouts on all nodes, what was promised, and whether it was kept.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use durward_testdata::TestRandom;
use futures_util::future::join_all;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::PATIENCE;
use crate::caller::Said;
use crate::node::{Node, USERS};

/// How many sessions are looked at, at a time, on one node.
const LOOKS: usize = 8;

pub(crate) type Nodes = Arc<[Node; 3]>;

/// What is promised of a logout that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Promise {
    /// No node accepts the session from that moment on.
    AtOnce,
    /// It survives, and each node knows it when it has been told.
    WhenTold,
}

/// What was acknowledged, and what was not as it was acknowledged.
#[derive(Default)]
pub(crate) struct Done {
    lives: Vec<String>,
    ended: Vec<String>,
    broken: Vec<String>,
    unknown: u64,
}

#[derive(Default)]
struct Shared {
    done: Mutex<Done>,
    logins: AtomicU64,
    logouts: AtomicU64,
    is_over: AtomicBool,
}

impl Shared {
    fn broken(&self, what: String) {
        self.done.lock().unwrap().broken.push(what);
    }
}

pub(crate) struct Load {
    shared: Arc<Shared>,
    users: JoinSet<()>,
}

/// Where a user goes next: no node twice because it was the node before.
pub(crate) struct Dice(TestRandom);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(TestRandom::new(seed))
    }

    pub(crate) fn below(&mut self, count: usize) -> usize {
        self.0.below(count)
    }
}

/// Begins.
pub(crate) fn start(nodes: &Nodes, promise: Promise) -> Load {
    let shared = Arc::new(Shared::default());
    let mut users = JoinSet::new();
    for number in 0..USERS {
        let (nodes, shared) = (Arc::clone(nodes), Arc::clone(&shared));
        let mut dice = Dice::new(number as u64 + 1);
        users.spawn(async move {
            while !shared.is_over.load(Ordering::SeqCst) {
                if !round(&nodes, &format!("user-{number}"), promise, &mut dice, &shared).await {
                    sleep(Duration::from_millis(20)).await;
                }
            }
        });
    }
    Load { shared, users }
}

/// One session from its beginning, perhaps to its end. Whether the nodes could be asked.
async fn round(nodes: &[Node; 3], user: &str, promise: Promise, dice: &mut Dice, shared: &Shared) -> bool {
    let [first, second, third] = [(); 3].map(|()| dice.below(3));
    let token = match nodes[first].login(user, "secret").await {
        Said::Yes(token) => token,
        Said::No(why) => {
            shared.broken(format!("node {first} refused a login: {why}"));
            return false;
        }
        Said::Nothing(_) => {
            shared.done.lock().unwrap().unknown += 1;
            return false;
        }
    };
    shared.logins.fetch_add(1, Ordering::SeqCst);
    if let Said::No(why) = nodes[second].validate(&token).await {
        shared.broken(format!("node {second} refused a session of node {first}: {why}"));
    }
    if dice.below(3) == 0 {
        shared.done.lock().unwrap().lives.push(token);
        return true;
    }
    match nodes[third].logout(&token).await {
        Said::Yes(()) => {}
        Said::No(why) => {
            shared.broken(format!("node {third} refused to end a session of node {first}: {why}"));
            return true;
        }
        // It may have ended or not: nothing was promised, and nothing is checked.
        Said::Nothing(_) => {
            shared.done.lock().unwrap().unknown += 1;
            return false;
        }
    }
    shared.logouts.fetch_add(1, Ordering::SeqCst);
    if promise == Promise::AtOnce {
        for (at, node) in nodes.iter().enumerate() {
            if node.validate(&token).await == Said::Yes(()) {
                shared.broken(format!("node {at} accepted a session that had been ended at node {third}"));
            }
        }
    }
    shared.done.lock().unwrap().ended.push(token);
    true
}

impl Load {
    /// Waits until so many more logins and logouts were acknowledged.
    pub(crate) async fn more_of_everything(&self, count: u64) {
        let all = || (self.shared.logins.load(Ordering::SeqCst), self.shared.logouts.load(Ordering::SeqCst));
        let (logins, logouts) = all();
        let wait = async {
            while all().0 < logins + count || all().1 < logouts + count {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(PATIENCE, wait).await.expect("the nodes do not go on");
    }

    pub(crate) async fn stop(mut self) -> Done {
        self.shared.is_over.store(true, Ordering::SeqCst);
        while let Some(ended) = self.users.join_next().await {
            ended.unwrap();
        }
        std::mem::take(&mut self.shared.done.lock().unwrap())
    }
}

impl Done {
    /// Looks at everything that was acknowledged, on all nodes, which must be ready.
    pub(crate) async fn check(&self, nodes: &Nodes) {
        assert!(self.broken.is_empty(), "{} promises broken: {:#?}", self.broken.len(), self.broken);
        assert!(!self.lives.is_empty() && !self.ended.is_empty());
        let marker = ended_now(&nodes[0]).await;
        let mut looking = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            // Records come to every node in the same order: what was acknowledged before the marker ended is there by then.
            node.eventually("a logout comes to every node", async || {
                matches!(node.validate(&marker).await, Said::No(_))
            })
            .await;
            looking.extend((0..LOOKS).map(|part| self.look(at, node, part)));
        }
        let wrong: Vec<(usize, bool)> = join_all(looking).await.into_iter().flatten().collect();
        let lost = wrong.iter().filter(|(_, should_live)| *should_live).count();
        assert!(wrong.is_empty(), "{lost} logins and {} logouts lost: {wrong:?}", wrong.len() - lost);
    }

    /// A part of what was acknowledged, on one node: what is not so, and whether it should live.
    async fn look(&self, at: usize, node: &Node, part: usize) -> Vec<(usize, bool)> {
        let lives = self.lives.iter().map(|token| (token, true));
        let all = lives.chain(self.ended.iter().map(|token| (token, false)));
        let mut wrong = Vec::new();
        for (token, should_live) in all.skip(part).step_by(LOOKS) {
            if decided(node, token).await != should_live {
                wrong.push((at, should_live));
            }
        }
        wrong
    }

    pub(crate) fn count(&self) -> String {
        let Done { lives, ended, unknown, .. } = self;
        let logins = lives.len() + ended.len();
        format!("{logins} logins and {} logouts acknowledged, {unknown} calls without an answer", ended.len())
    }
}

/// A session that has ended just now.
async fn ended_now(node: &Node) -> String {
    loop {
        let token = node.session().await;
        if node.logout(&token).await == Said::Yes(()) {
            return token;
        }
    }
}

/// Whether a session lives, as soon as the node can say.
async fn decided(node: &Node, token: &str) -> bool {
    let mut lives = None;
    node.eventually("a node says whether a session lives", async || {
        lives = match node.validate(token).await {
            Said::Yes(()) => Some(true),
            Said::No(_) => Some(false),
            Said::Nothing(_) => None,
        };
        lives.is_some()
    })
    .await;
    lives.unwrap()
}

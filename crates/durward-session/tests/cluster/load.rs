//! Logins, validations and logouts on all nodes, and what was said of them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::nodes::Node;

const USERS: usize = 12;

/// What was acknowledged.
#[derive(Default)]
pub(crate) struct Done {
    /// Sessions that must live.
    pub(crate) lives: Vec<String>,
    /// Sessions whose logout was acknowledged.
    pub(crate) ended: Vec<String>,
    /// Sessions that a node accepted although their logout had been acknowledged.
    pub(crate) accepted_after_logout: Vec<String>,
}

#[derive(Default)]
struct Shared {
    done: Mutex<Done>,
    logins: AtomicU64,
    logouts: AtomicU64,
    is_over: AtomicBool,
}

pub(crate) struct Load {
    shared: Arc<Shared>,
    users: JoinSet<()>,
}

/// Begins.
pub(crate) fn start(nodes: &Arc<[Node; 3]>) -> Load {
    let shared = Arc::new(Shared::default());
    let mut users = JoinSet::new();
    for number in 0..USERS {
        let (nodes, shared) = (Arc::clone(nodes), Arc::clone(&shared));
        users.spawn(async move {
            let mut turn = number;
            while !shared.is_over.load(Ordering::SeqCst) {
                turn += 1;
                round(&nodes, turn, &shared).await;
            }
        });
    }
    Load { shared, users }
}

async fn round(nodes: &[Node; 3], turn: usize, shared: &Shared) {
    let Ok(token) = nodes[turn % 3].try_login().await else {
        sleep(Duration::from_millis(20)).await;
        return;
    };
    shared.logins.fetch_add(1, Ordering::SeqCst);
    if turn.is_multiple_of(3) {
        shared.done.lock().unwrap().lives.push(token);
        return;
    }
    // One that was refused or is unknown may have ended or not: nothing was acknowledged.
    if nodes[(turn + 1) % 3].logout(&token).await.is_err() {
        return;
    }
    shared.logouts.fetch_add(1, Ordering::SeqCst);
    for node in nodes {
        if node.validate(&token).await.is_ok() {
            shared.done.lock().unwrap().accepted_after_logout.push(token.clone());
        }
    }
    shared.done.lock().unwrap().ended.push(token);
}

impl Load {
    /// Waits until so many more logins and logouts were acknowledged.
    pub(crate) async fn more_of_everything(&self, count: u64) {
        let (logins, logouts) =
            (self.shared.logins.load(Ordering::SeqCst), self.shared.logouts.load(Ordering::SeqCst));
        while self.shared.logins.load(Ordering::SeqCst) < logins + count
            || self.shared.logouts.load(Ordering::SeqCst) < logouts + count
        {
            sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) async fn stop(mut self) -> Done {
        self.shared.is_over.store(true, Ordering::SeqCst);
        while self.users.join_next().await.is_some() {}
        std::mem::take(&mut self.shared.done.lock().unwrap())
    }
}

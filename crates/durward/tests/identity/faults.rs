//! Three servers of NATS and three nodes under load, some of which are killed: what was promised is kept.
//!
//! As a test, one round for each mode. `cargo xtask faults` does more of them, and shows how long it took each time until all was well.

use std::sync::Arc;

use serde_json::json;
use tokio::time::Instant;

use crate::caller::call;
use crate::load::{self, Dice, Load, Nodes, Promise};
use crate::nats_servers::Servers;
use crate::node::Node;
use crate::recovery::recovered;
use crate::turn;

const STREAM: &str = "durward-sessions";

/// How many logins and logouts there are at least between two faults.
const BETWEEN: u64 = 30;

/// How many rounds there are: one, or as many as `DURWARD_FAULT_ROUNDS` says.
fn rounds() -> usize {
    let named = std::env::var("DURWARD_FAULT_ROUNDS");
    named.map_or(1, |text| text.parse().expect("DURWARD_FAULT_ROUNDS is a number"))
}

#[tokio::test]
async fn with_assured_write_nothing_that_was_acknowledged_is_lost_when_processes_are_killed() {
    kill_and_look("assured-write", Promise::WhenTold).await;
}

#[tokio::test]
async fn with_assured_read_no_node_accepts_what_was_ended_while_processes_are_killed() {
    kill_and_look("assured-read", Promise::AtOnce).await;
}

async fn kill_and_look(mode: &str, promise: Promise) {
    let _turn = turn().await;
    let Some(servers) = Servers::start(mode).await else { return };
    let node = |at| Node::of_cluster(&format!("{mode}-{at}"), mode, &servers.addresses(), "");
    let nodes: Nodes = Arc::new([0, 1, 2].map(node));
    for node in nodes.iter() {
        node.begin().await;
    }
    for node in nodes.iter() {
        node.is_ready().await;
    }
    let token = nodes[0].session().await;
    let load = load::start(&nodes, promise);
    let mut world = World { mode: mode.to_owned(), servers, nodes, load, token, dice: Dice::new(5) };
    for round in 0..rounds() {
        match round % 3 {
            0 => world.kill_the_leader_and_a_node().await,
            1 => world.stop_the_leader_and_kill_two_nodes().await,
            _ => world.kill_all_servers_and_a_node().await,
        }
        world.kill_a_majority().await;
    }
    let World { nodes, load, .. } = world;
    let done = load.stop().await;
    eprintln!("{mode}: {}", done.count());
    done.check(&nodes).await;
}

struct World {
    mode: String,
    servers: Servers,
    nodes: Nodes,
    load: Load,
    /// Of a session that lives.
    token: String,
    dice: Dice,
}

impl World {
    async fn kill_the_leader_and_a_node(&mut self) {
        self.more().await;
        let (leader, node) = (self.servers.leader(STREAM).await, self.dice.below(3));
        let since = Instant::now();
        self.servers.kill(leader);
        self.nodes[node].kill();
        self.measure("the store's leader and a node were killed", &without(&[node]), since).await;
        self.more().await;
        self.servers.start_again(leader).await;
        self.start_node(node).await;
    }

    /// Stopped, it keeps its connections and says nothing.
    async fn stop_the_leader_and_kill_two_nodes(&mut self) {
        self.more().await;
        let (leader, rest) = (self.servers.leader(STREAM).await, self.dice.below(3));
        let since = Instant::now();
        self.servers.stop(leader);
        let killed = without(&[rest]);
        killed.iter().for_each(|at| self.nodes[*at].kill());
        self.measure("the store's leader was cut off and two nodes were killed", &[rest], since).await;
        self.more().await;
        self.servers.go_on(leader);
        for node in killed {
            self.start_node(node).await;
        }
    }

    async fn kill_all_servers_and_a_node(&mut self) {
        self.more().await;
        let node = self.dice.below(3);
        (0..3).for_each(|at| self.servers.kill(at));
        self.nodes[node].kill();
        let since = Instant::now();
        for at in 0..3 {
            self.servers.start_again(at).await;
        }
        self.measure("all servers of the store were started again", &without(&[node]), since).await;
        self.start_node(node).await;
    }

    /// Nodes that cannot promise say so, and go on when they can.
    async fn kill_a_majority(&mut self) {
        self.more().await;
        let stays = self.dice.below(3);
        let killed = without(&[stays]);
        killed.iter().for_each(|at| self.servers.kill(*at));
        for node in self.nodes.iter() {
            refuses(node, "/v1/sessions/validate", &self.token).await;
            refuses(node, "/v1/login", "").await;
        }
        let since = Instant::now();
        for at in killed {
            self.servers.start_again(at).await;
        }
        self.measure("a majority of the store was started again", &[0, 1, 2], since).await;
        self.more().await;
    }

    async fn start_node(&self, at: usize) {
        let since = Instant::now();
        self.nodes[at].begin().await;
        self.nodes[at].is_ready().await;
        self.measure("a node was started again", &[at], since).await;
    }

    async fn more(&self) {
        self.load.more_of_everything(BETWEEN).await;
    }

    async fn measure(&self, what: &str, nodes: &[usize], since: Instant) {
        let recovery = recovered(&self.nodes, nodes, &self.token, since).await;
        eprintln!("{}: {what}: {recovery}", self.mode);
    }
}

fn without(which: &[usize]) -> Vec<usize> {
    (0..3).filter(|at| !which.contains(at)).collect()
}

/// Waits until a node answers 503, and no yes and no no.
async fn refuses(node: &Node, path: &str, token: &str) {
    let body = match path {
        "/v1/login" => json!({ "user": "user-0", "password": "secret" }),
        _ => json!({}),
    };
    node.eventually("a node without the store refuses", async || {
        let answer = call(node.address().unwrap(), "POST", path, token, &body).await;
        answer.is_ok_and(|answer| answer.status == 503)
    })
    .await;
}

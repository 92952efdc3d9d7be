//! How long logins stop when a NATS server is killed, beside how long the stream itself takes no publication.
//!
//! ```sh
//! DURWARD_NATS_SERVER=/path/to/nats-server cargo run --profile optimised -p durward-session --example failover -- 10
//! ```
//!
//! Three servers, three nodes in the mode `assured-read`. In each round one server is killed, the stream's leader in two rounds of three, and another one
//! in the third. Two things go on meanwhile: an ordinary client publishes to the same stream every 20 ms and waits for each acknowledgement, and on
//! each node one user after the other logs in. Printed is the longest time between two successes of each.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for measuring: it stops when something is wrong"
)]

#[path = "../tests/cluster/nodes.rs"]
#[allow(dead_code, reason = "the tests use other parts of it")]
mod nodes;
#[path = "../tests/support/nats_servers.rs"]
#[allow(dead_code, reason = "the tests use other parts of it")]
mod servers;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_nats::jetstream::{self, Context};
use durward_identity::protocol::Mode;
use tokio::task::JoinSet;
use tokio::time::{interval, sleep, timeout};

use nodes::{Node, Plan};
use servers::Servers;

const STREAM: &str = "failover";

/// How long a round goes on after the kill: longer than any stop that was seen.
const ROUND: Duration = Duration::from_secs(25);

/// How long everything runs before the kill.
const BEFORE: Duration = Duration::from_secs(3);

const PUBLISH_EVERY: Duration = Duration::from_millis(20);

/// When something succeeded.
#[derive(Default)]
struct Successes(Mutex<Vec<Instant>>);

impl Successes {
    fn note(&self) {
        self.0.lock().unwrap().push(Instant::now());
    }

    /// The longest time without one, from a moment on.
    fn longest_stop(&self, from: Instant, until: Instant) -> Duration {
        let mut longest = Duration::ZERO;
        let mut last = from;
        for at in self.0.lock().unwrap().iter().copied().filter(|at| *at >= from).chain([until]) {
            longest = longest.max(at.saturating_duration_since(last));
            last = at;
        }
        longest
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).init();
    let rounds = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(6);
    let Some(mut servers) = Servers::start(STREAM).await else {
        eprintln!("no nats-server: set DURWARD_NATS_SERVER");
        return;
    };
    let plan = Plan::new(servers.addresses(), STREAM, Mode::AssuredRead);
    let nodes = Arc::new([plan.ready().await, plan.ready().await, plan.ready().await]);
    println!("killed      stream s   logins s (nodes 1, 2, 3)   most / stream");
    let mut stops = Vec::new();
    for number in 0..rounds {
        let leader = servers.leader(STREAM).await;
        let killed = if number % 3 == 2 { (leader + 1) % 3 } else { leader };
        let (of_stream, of_nodes) = round(&servers, &nodes, killed).await;
        let most = of_nodes.iter().copied().max().unwrap_or_default();
        let name = if killed == leader { "leader  " } else { "follower" };
        let [a, b, c] = of_nodes.map(|stop| stop.as_secs_f64());
        println!(
            "{name}  {:>10.2}   {a:>7.2} {b:>7.2} {c:>7.2}   {:>14.2}",
            of_stream.as_secs_f64(),
            most.as_secs_f64() / of_stream.as_secs_f64()
        );
        stops.push((killed == leader, of_stream, most));
        servers.start_again(killed).await;
        for node in &*nodes {
            node.is_ready().await;
        }
        // The server that was started again catches up with the others before the next one is killed.
        sleep(Duration::from_secs(5)).await;
    }
    for (is_leader, name) in [(true, "leader"), (false, "follower")] {
        let of = |it: fn(&(bool, Duration, Duration)) -> Duration| {
            median(stops.iter().filter(|stop| stop.0 == is_leader).map(it).collect())
        };
        if let (Some(stream), Some(logins)) = (of(|stop| stop.1), of(|stop| stop.2)) {
            let (stream, logins) = (stream.as_secs_f64(), logins.as_secs_f64());
            println!(
                "{name} killed, medians: stream {stream:.2} s, logins {logins:.2} s, {:.2} times",
                logins / stream
            );
        }
    }
}

fn median(mut of: Vec<Duration>) -> Option<Duration> {
    of.sort_unstable();
    of.get(of.len() / 2).copied()
}

async fn round(servers: &Servers, nodes: &Arc<[Node; 3]>, killed: usize) -> (Duration, [Duration; 3]) {
    let is_over = Arc::new(AtomicBool::new(false));
    let published = Arc::new(Successes::default());
    let logged_in: [Arc<Successes>; 3] = std::array::from_fn(|_| Arc::default());
    let mut work = JoinSet::new();
    work.spawn(publish(servers.addresses(), published.clone(), is_over.clone()));
    for (number, successes) in logged_in.iter().enumerate() {
        let (nodes, successes, is_over) = (nodes.clone(), successes.clone(), is_over.clone());
        work.spawn(async move {
            while !is_over.load(Ordering::SeqCst) {
                if nodes[number].try_login().await.is_ok() {
                    successes.note();
                }
                sleep(PUBLISH_EVERY).await;
            }
        });
    }
    sleep(BEFORE).await;
    let from = Instant::now();
    servers.kill(killed);
    sleep(ROUND).await;
    let until = Instant::now();
    is_over.store(true, Ordering::SeqCst);
    while work.join_next().await.is_some() {}
    let stops = logged_in.map(|successes| successes.longest_stop(from, until));
    (published.longest_stop(from, until), stops)
}

/// Publishes to the same stream, where no node looks. Each publication is tried on its own: none waits for another.
async fn publish(addresses: Vec<String>, published: Arc<Successes>, is_over: Arc<AtomicBool>) {
    let options = async_nats::ConnectOptions::new()
        .ping_interval(Duration::from_secs(1))
        .reconnect_delay_callback(|_| PUBLISH_EVERY);
    let client = options.connect(addresses).await.unwrap();
    let context = jetstream::new(client);
    let mut turns = interval(PUBLISH_EVERY);
    let mut under_way = JoinSet::new();
    while !is_over.load(Ordering::SeqCst) {
        turns.tick().await;
        under_way.spawn(publish_one(context.clone(), published.clone()));
        while under_way.try_join_next().is_some() {}
    }
}

async fn publish_one(context: Context, published: Arc<Successes>) {
    let publication = async {
        let sent = context.publish(format!("durward.{STREAM}.f.raw"), "".into()).await.ok()?;
        sent.await.ok()
    };
    if let Ok(Some(_)) = timeout(Duration::from_secs(2), publication).await {
        published.note();
    }
}

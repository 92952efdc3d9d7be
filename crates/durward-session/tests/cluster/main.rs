//! Three nodes over three real NATS servers, some of which are killed, stopped and started again.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "tests fail by panicking"
)]

mod beside;
mod clocks;
mod codes;
mod grants;
mod load;
mod nodes;
mod one;
mod users;

#[path = "../support/certificates.rs"]
mod certificates;
#[path = "../support/nats_servers.rs"]
#[allow(dead_code, reason = "other tests use other parts of it")]
mod servers;
#[path = "../support/slapd.rs"]
#[allow(dead_code, reason = "other tests use other parts of it")]
mod slapd;

use std::sync::Arc;
use std::time::Duration;

use durward_identity::protocol::{Mode, OnLost};
use durward_identity::session::Refusal;
use durward_session::Failed;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{sleep, timeout};

use nodes::{Node, PATIENCE, Plan};
use servers::Servers;

/// Two tests at a time: most of the time they wait for servers to find a leader, and six servers and six nodes are enough for two
/// cores.
async fn turn() -> SemaphorePermit<'static> {
    static PLACES: Semaphore = Semaphore::const_new(2);
    PLACES.acquire().await.unwrap()
}

fn is_refused(validated: &Result<(), Failed>) -> bool {
    matches!(validated, Err(Failed::Token(Refusal::Revoked)))
}

fn cannot_say(validated: &Result<(), Failed>) -> bool {
    matches!(validated, Err(Failed::Token(Refusal::Unavailable) | Failed::Unavailable(_)))
}

async fn three(plan: &Plan) -> [Node; 3] {
    [
        plan.ready().await,
        Plan { ahead_s: 30, ..plan.clone() }.ready().await,
        Plan { ahead_s: -5, ..plan.clone() }.ready().await,
    ]
}

#[tokio::test]
async fn what_one_node_does_all_nodes_know_at_once_with_a_clock_that_is_wrong() {
    let _turn = turn().await;
    let Some(servers) = Servers::start("know").await else { return };
    let plan = Plan::new(servers.addresses(), "know", Mode::AssuredRead);
    let [a, b, c] = three(&plan).await;
    for round in 0..20 {
        let from = [&a, &b, &c];
        let (login, seen, logout) = (from[round % 3], from[(round + 1) % 3], from[(round + 2) % 3]);
        let token = login.login().await;
        assert_eq!(seen.validate(&token).await, Ok(()));
        assert_eq!(logout.logout(&token).await, Ok(()));
        for node in from {
            let validated = node.validate(&token).await;
            assert!(is_refused(&validated), "{validated:?} in round {round}");
        }
    }
}

#[tokio::test]
async fn a_node_that_starts_knows_everything_before_it_is_ready() {
    let _turn = turn().await;
    let Some(servers) = Servers::start("start").await else { return };
    let plan = Plan::new(servers.addresses(), "start", Mode::AssuredWrite);
    let first = plan.ready().await;
    let (mut lives, mut ended) = (Vec::new(), Vec::new());
    for number in 0..200 {
        let token = first.login().await;
        if number % 2 == 0 {
            assert_eq!(first.logout(&token).await, Ok(()));
            ended.push(token);
        } else {
            lives.push(token);
        }
    }
    first.stop().await;
    let second = plan.start();
    let early = second.validate(&ended[0]).await;
    assert!(early.is_err(), "{early:?}");
    second.is_ready().await;
    for token in &lives {
        assert_eq!(second.validate(token).await, Ok(()));
    }
    for token in &ended {
        assert!(is_refused(&second.validate(token).await));
    }
}

#[tokio::test]
async fn nothing_that_was_acknowledged_is_lost_when_the_leader_is_killed_under_load() {
    let _turn = turn().await;
    let Some(mut servers) = Servers::start("kill").await else { return };
    let plan = Plan::new(servers.addresses(), "kill", Mode::AssuredRead);
    let nodes = Arc::new(three(&plan).await);
    let load = load::start(&nodes);
    sleep(Duration::from_secs(1)).await;
    let leader = servers.leader("kill").await;
    servers.kill(leader);
    // A node starts in the midst of it.
    let late = plan.start();
    timeout(PATIENCE, load.more_of_everything(50)).await.expect("the nodes do not go on");
    servers.begin(leader);
    late.is_ready().await;
    timeout(PATIENCE, load.more_of_everything(50)).await.expect("the nodes do not go on");
    let done = load.stop().await;
    assert!(done.accepted_after_logout.is_empty(), "{} were", done.accepted_after_logout.len());
    for node in nodes.iter().chain([&late]) {
        node.is_ready().await;
        for token in &done.lives {
            assert_eq!(node.validate(token).await, Ok(()), "of {}", done.lives.len());
        }
        for token in &done.ended {
            let validated = node.validate(token).await;
            assert!(is_refused(&validated), "{validated:?} of {}", done.ended.len());
        }
    }
}

#[tokio::test]
async fn without_the_store_a_node_refuses_or_serves_what_it_knew_as_it_was_told() {
    let _turn = turn().await;
    let Some(servers) = Servers::start("lost").await else { return };
    let plan = Plan::new(servers.addresses(), "lost", Mode::AssuredRead);
    let refuses = plan.ready().await;
    let serves = Plan { on_lost: OnLost::ServeStale, ..plan.clone() }.ready().await;
    let token = refuses.login().await;
    assert_eq!(serves.validate(&token).await, Ok(()));
    // Two of three say nothing any more: no majority.
    servers.stop(0);
    servers.stop(1);
    refuses.until(&token, cannot_say).await;
    serves.until(&token, Result::is_ok).await;
    assert!(refuses.try_login().await.is_err());
    assert!(serves.try_login().await.is_err());
    servers.go_on(0);
    servers.go_on(1);
    refuses.until(&token, Result::is_ok).await;
    assert_eq!(refuses.logout(&token).await, Ok(()));
    serves.until(&token, is_refused).await;
}

#[tokio::test]
async fn a_node_whose_server_is_cut_off_does_not_go_on_believing_it() {
    let _turn = turn().await;
    let Some(servers) = Servers::start("cut").await else { return };
    let whole = Plan::new(servers.addresses(), "cut", Mode::AssuredRead);
    let (a, b) = (whole.ready().await, whole.ready().await);
    // It knows of one server only, which stays and loses the others.
    let alone = Plan { servers: vec![servers.address(2)], ..whole.clone() }.ready().await;
    let token = a.login().await;
    assert_eq!(alone.validate(&token).await, Ok(()));
    servers.stop(2);
    assert_eq!(timeout(PATIENCE, logout(&[&a, &b], &token)).await, Ok(()));
    servers.go_on(2);
    // Whatever it answers from now on, it is not yes.
    for _ in 0..50 {
        assert!(alone.validate(&token).await.is_err());
        sleep(Duration::from_millis(20)).await;
    }
    alone.until(&token, is_refused).await;
}

/// A logout, however long the store takes to find itself again.
async fn logout(nodes: &[&Node], token: &str) {
    loop {
        for node in nodes {
            match node.logout(token).await {
                Ok(()) | Err(Failed::Token(Refusal::Revoked)) => return,
                Err(_) => sleep(Duration::from_millis(100)).await,
            }
        }
    }
}

#[tokio::test]
async fn in_best_effort_a_node_goes_on_alone_and_tells_what_happened_later() {
    let _turn = turn().await;
    let Some(servers) = Servers::start("best").await else { return };
    let plan = Plan::new(servers.addresses(), "best", Mode::BestEffort);
    let (a, b) = (plan.ready().await, plan.ready().await);
    let before = a.login().await;
    b.until(&before, Result::is_ok).await;
    (0..3).for_each(|at| servers.stop(at));
    let during = a.login().await;
    assert_eq!(a.logout(&before).await, Ok(()));
    (0..3).for_each(|at| servers.go_on(at));
    b.until(&before, is_refused).await;
    b.until(&during, Result::is_ok).await;
}

#[tokio::test]
async fn without_a_store_nodes_tell_each_other_and_a_new_one_asks() {
    let _turn = turn().await;
    let Some(servers) = Servers::start("none").await else { return };
    let plan = Plan::new(servers.addresses(), "none", Mode::None);
    let a = plan.ready().await;
    let ended = a.login().await;
    let lives = a.login().await;
    assert_eq!(a.logout(&ended).await, Ok(()));
    let b = plan.ready().await;
    b.until(&lives, Result::is_ok).await;
    assert!(is_refused(&b.validate(&ended).await));
    assert_eq!(b.logout(&lives).await, Ok(()));
    a.until(&lives, is_refused).await;
}

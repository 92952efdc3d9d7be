//! Clocks that are further apart than they may be.

use std::time::Duration;

use durward_identity::protocol::Mode;
use durward_session::{Administrator, ClockStanding};
use tokio::time::{sleep, timeout};

use crate::nodes::{Node, PATIENCE, Plan};
use crate::servers::Servers;
use crate::{is_refused, turn};

/// Waits until a node finds this of its clock.
async fn finds(node: &Node, standing: ClockStanding, nodes: usize) {
    let wait = async {
        while node.service.clocks().standing() != standing || node.service.clocks().nodes.len() != nodes {
            sleep(Duration::from_millis(20)).await;
        }
    };
    let report = || node.service.clocks();
    timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("{:?}", report()));
}

/// Nobody said anything, and sessions went on whose end was acknowledged.
#[tokio::test]
async fn the_node_whose_clock_is_wrong_says_so_and_ends_of_sessions_hold_there_too() {
    let _turn = turn().await;
    let Some(servers) = Servers::start_one("apart", "").await else { return };
    let plan = Plan::one(servers.addresses(), "apart", Mode::AssuredWrite);
    let (a, b) = (plan.ready().await, plan.ready().await);
    finds(&a, ClockStanding::Agrees, 1).await;
    let wrong = Plan { ahead_s: 400, ..plan.clone() }.ready().await;
    finds(&wrong, ClockStanding::Wrong, 2).await;
    let fault = wrong.service.clocks().fault().unwrap();
    assert!(fault.contains("s ahead of most of the 3 nodes"), "{fault}");
    for node in [&a, &b] {
        finds(node, ClockStanding::Doubtful, 2).await;
        assert_eq!(node.service.clocks().fault(), None);
    }
    let token = wrong.login().await;
    assert_eq!(wrong.validate(&token).await, Ok(()));
    let all = a.service.revoke_all(&Administrator::operator("test")).await;
    assert_eq!(all, Ok(()));
    wrong.until(&token, is_refused).await;
}

/// Of two nodes none is a majority, and the store's clock decides.
#[tokio::test]
async fn of_two_nodes_the_one_that_the_store_disagrees_with_is_wrong() {
    let _turn = turn().await;
    let Some(servers) = Servers::start_one("two", "").await else { return };
    let plan = Plan::one(servers.addresses(), "two", Mode::AssuredWrite);
    let right = plan.ready().await;
    let wrong = Plan { ahead_s: -400, ..plan.clone() }.ready().await;
    finds(&wrong, ClockStanding::Wrong, 1).await;
    finds(&right, ClockStanding::Doubtful, 1).await;
    let store_ahead_ms = right.service.clocks().store_ahead_ms.unwrap();
    assert!(store_ahead_ms.abs() < 60_000, "{store_ahead_ms}");
}

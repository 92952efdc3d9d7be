//! Three nodes, of which the clock of one is wrong (`faketime`): it says so, and the end of sessions holds there too.

use serde_json::{Value, json};

use crate::caller::{Said, call};
use crate::nats_servers::Servers;
use crate::node::Node;
use crate::turn;

#[tokio::test]
async fn a_node_ahead_of_the_others_is_not_ready_and_ends_of_sessions_hold_there() {
    the_end_of_sessions_holds_with_a_clock_that_is_off("ahead of", "+400s").await;
}

#[tokio::test]
async fn a_node_behind_the_others_is_not_ready_and_ends_of_sessions_hold_there() {
    the_end_of_sessions_holds_with_a_clock_that_is_off("behind", "-400s").await;
}

async fn the_end_of_sessions_holds_with_a_clock_that_is_off(way: &str, off: &str) {
    if !durward_testdata::has_program("faketime", "--version", "apt-get install faketime") {
        return;
    }
    let _turn = turn().await;
    let set_up = format!("clock{off}");
    let Some(servers) = Servers::start(&set_up).await else { return };
    let node = |which: &str| {
        Node::of_cluster(&format!("{set_up}-{which}"), "assured-write", &servers.addresses(), "")
    };
    let (a, b, wrong) = (node("a"), node("b"), node("wrong").with_clock(off));
    for node in [&a, &b, &wrong] {
        node.begin().await;
    }
    for node in [&a, &b] {
        node.is_ready().await;
    }
    wrong.eventually("it says that its clock is wrong", async || clock_is_wrong(&wrong, way).await).await;
    // A session that each began is over when all are ended at one of the others, whatever the time was where it began.
    for (begins, ends) in [(&a, &b), (&wrong, &a), (&a, &wrong)] {
        let token = begins.session().await;
        begins.eventually("it is known there", async || begins.validate(&token).await == Said::Yes(())).await;
        let last = ends.session().await;
        let address = ends.address().expect("it runs");
        let ended = call(address, "POST", "/v1/sessions/logout", &last, &json!({ "all": true })).await;
        assert_eq!(ended.expect("an answer").status, 200);
        for node in [&a, &b, &wrong] {
            for token in [&token, &last] {
                let is_over = async || matches!(node.validate(token).await, Said::No(_));
                node.eventually("all sessions of the user are over", is_over).await;
            }
        }
    }
    assert!(clock_is_wrong(&wrong, way).await);
    for node in [&a, &b] {
        node.is_ready().await;
    }
}

/// Whether it is not ready, and says that its clock is why, and which way it is off.
async fn clock_is_wrong(node: &Node, way: &str) -> bool {
    let address = node.address().expect("it runs");
    let Ok(answer) = call(address, "GET", "/health/ready", "", &Value::Null).await else { return false };
    answer.status == 503 && answer.body.contains(&format!(" s {way} most of the 3 nodes"))
}

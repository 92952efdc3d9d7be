//! `durward users` at one node of a cluster counts on the others, whether that node runs or not.

use std::process::Command;

use crate::binary::binary;
use crate::caller::Said;
use crate::nats_servers::Servers;
use crate::node::{Node, write_secret};
use crate::turn;

/// `durward users` with the settings of a node.
fn users(node: &Node, arguments: &[&str]) {
    let mut command = Command::new(binary());
    command.arg("users").args(arguments).arg("--config").arg(node.path("durward.toml"));
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

async fn is_refused(node: &Node, user: &str, password: &str) {
    let refused = async || matches!(node.login(user, password).await, Said::No(_));
    node.eventually(&format!("{user} is refused"), refused).await;
}

async fn is_let_in(node: &Node, user: &str, password: &str) {
    let let_in = async || matches!(node.login(user, password).await, Said::Yes(_));
    node.eventually(&format!("{user} is let in"), let_in).await;
}

#[tokio::test]
async fn what_is_changed_in_the_file_of_one_node_counts_on_the_other() {
    let _turn = turn().await;
    let Some(servers) = Servers::start_one("shared-users", "").await else { return };
    let more = "replicas = 1\n";
    let node = |name: &str| {
        Node::of_cluster(&format!("shared-users-{name}"), "assured-write", &servers.addresses(), more)
    };
    let (a, b) = (node("a"), node("b"));
    for node in [&a, &b] {
        node.begin().await;
        node.is_ready().await;
    }
    let token = b.session().await;
    users(&a, &["disable", "user-0"]);
    b.eventually("the session ends", async || matches!(b.validate(&token).await, Said::No(_))).await;
    is_refused(&b, "user-0", "secret").await;
    // While it does not run, each has a change of its own.
    a.kill();
    write_secret(&a.path("password"), "another one\n");
    let password = a.path("password");
    users(&a, &["passwd", "user-1", "--password-file", password.to_str().unwrap()]);
    users(&a, &["remove", "user-2"]);
    users(&b, &["enable", "user-0"]);
    is_let_in(&b, "user-0", "secret").await;
    a.begin().await;
    a.is_ready().await;
    is_let_in(&a, "user-0", "secret").await;
    is_let_in(&b, "user-1", "another one").await;
    is_refused(&b, "user-1", "secret").await;
    is_refused(&b, "user-2", "secret").await;
}

/// As before users travelled.
#[tokio::test]
async fn nodes_that_are_told_so_keep_their_users_for_themselves() {
    let _turn = turn().await;
    let Some(servers) = Servers::start_one("own-users", "").await else { return };
    let more = "replicas = 1\nusers = false\n";
    let node = |name: &str| {
        Node::of_cluster(&format!("own-users-{name}"), "assured-write", &servers.addresses(), more)
    };
    let (a, b) = (node("a"), node("b"));
    for node in [&a, &b] {
        node.begin().await;
        node.is_ready().await;
    }
    users(&a, &["disable", "user-0"]);
    is_refused(&a, "user-0", "secret").await;
    is_let_in(&b, "user-0", "secret").await;
}

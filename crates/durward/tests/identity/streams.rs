//! A live decision on one node, and a logout on another.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::caller::{Said, call};
use crate::nats_servers::Servers;
use crate::node::Node;
use crate::{PATIENCE, turn};

struct Stream(BufReader<TcpStream>);

impl Stream {
    async fn open(node: &Node, token: &str) -> Stream {
        let mut stream = TcpStream::connect(node.address().unwrap()).await.unwrap();
        let body =
            json!({ "subject": { "session": token }, "action": "read", "resource": "records" }).to_string();
        let head = format!(
            "POST /api/pdp/decide HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        Stream(BufReader::new(stream))
    }

    async fn next(&mut self) -> Value {
        let data = async {
            loop {
                let mut line = String::new();
                assert!(self.0.read_line(&mut line).await.unwrap() > 0, "the stream ended");
                if let Some(text) = line.trim_end().strip_prefix("data:") {
                    let decision: Value = serde_json::from_str(text).unwrap();
                    return decision["decision"].clone();
                }
            }
        };
        timeout(PATIENCE, data).await.expect("no decision comes")
    }
}

async fn woken(node: &Node) -> String {
    let metrics = call(node.address().unwrap(), "GET", "/metrics", "", &Value::Null).await.unwrap().body;
    let mut lines = metrics.lines().filter(|line| line.contains("listener_woken"));
    lines.next().unwrap().rsplit(' ').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_live_decision_turns_when_its_session_is_ended_on_another_node_and_no_other_is_woken() {
    let _turn = turn().await;
    for mode in ["none", "best-effort", "assured-write", "assured-read"] {
        let Some(servers) = Servers::start_one(&format!("streams-{mode}"), "").await else { return };
        let node = |name: &str| {
            let name = format!("streams-{mode}-{name}");
            Node::of_cluster(&name, mode, &servers.addresses(), "replicas = 1\n")
        };
        let (a, b) = (node("a"), node("b"));
        for node in [&a, &b] {
            node.begin().await;
            node.is_ready().await;
        }
        let (ended, kept) = (a.session().await, a.session().await);
        for token in [&ended, &kept] {
            b.eventually("it has heard of them", async || b.validate(token).await == Said::Yes(())).await;
        }
        let (mut turns, mut stays) = (Stream::open(&b, &ended).await, Stream::open(&b, &kept).await);
        assert_eq!((turns.next().await, stays.next().await), (json!("PERMIT"), json!("PERMIT")), "{mode}");
        assert_eq!(a.logout(&ended).await, Said::Yes(()), "{mode}");
        assert_eq!(turns.next().await, "DENY", "{mode}");
        // They are counted when all have been woken.
        b.eventually("it has counted", async || woken(&b).await != "0").await;
        assert_eq!(woken(&b).await, "1", "{mode}");
    }
}

/// Without the store, a node of `assured-read` cannot say; that is not the end of a stream.
#[tokio::test]
async fn a_live_decision_comes_back_with_the_store() {
    let _turn = turn().await;
    let Some(mut servers) = Servers::start_one("streams-back", "").await else { return };
    let node = Node::of_cluster("streams-back", "assured-read", &servers.addresses(), "replicas = 1\n");
    node.begin().await;
    node.is_ready().await;
    let mut stream = Stream::open(&node, &node.session().await).await;
    assert_eq!(stream.next().await, "PERMIT");
    servers.kill(0);
    assert_eq!(stream.next().await, "INDETERMINATE");
    servers.start_again(0).await;
    assert_eq!(stream.next().await, "PERMIT");
}

//! `[oauth]` in a cluster: a token of one node is believed by all, and recalled for all.

use serde_json::{Value, json};

use crate::caller::{Answer, call, call_form};
use crate::nats_servers::Servers;
use crate::node::Node;
use crate::turn;

/// The secret is `s3cret`, by Argon2id with little memory.
const OAUTH: &str = "replicas = 1
[oauth]
issuer = 'https://id.example.org'
algorithms = ['EdDSA', 'ES256']
[[oauth.clients]]
id = 'shop'
secret = '$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQxMjM0NTY$+QzL9T/y4vwK5yLwyPcXDCCH946RYwDKvHpQzCVMTnU'
grants = ['client-credentials', 'token-exchange']
audiences = ['orders']
";

async fn ask(node: &Node, path: &str, form: &[(&str, &str)]) -> Answer {
    let client = [("client_id", "shop"), ("client_secret", "s3cret")];
    call_form(node.address().unwrap(), path, &[&client, form].concat()).await.unwrap()
}

async fn is_active(node: &Node, token: &str) -> bool {
    let answer = ask(node, "/oauth2/introspect", &[("token", token)]).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()["active"].as_bool().unwrap()
}

async fn token(node: &Node, form: &[(&str, &str)]) -> String {
    let answer = ask(node, "/oauth2/token", &[&[("audience", "orders")], form].concat()).await;
    answer.json()["access_token"].as_str().unwrap_or_else(|| panic!("{}", answer.body)).to_owned()
}

async fn keys(node: &Node) -> Value {
    call(node.address().unwrap(), "GET", "/.well-known/jwks.json", "", &json!({})).await.unwrap().json()
}

#[tokio::test]
async fn a_token_of_one_node_is_good_on_another_until_it_is_recalled_on_either() {
    let _turn = turn().await;
    for mode in ["none", "best-effort", "assured-write", "assured-read"] {
        let Some(servers) = Servers::start_one(&format!("tokens-{mode}"), "").await else { return };
        let node = |name: &str| {
            Node::of_cluster(&format!("tokens-{mode}-{name}"), mode, &servers.addresses(), OAUTH)
        };
        let (a, b) = (node("a"), node("b"));
        for node in [&a, &b] {
            node.begin().await;
            node.is_ready().await;
        }
        let session = a.session().await;
        assert_eq!(keys(&a).await, keys(&b).await);
        let exchange = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("subject_token_type", "urn:durward:params:oauth:token-type:session"),
            ("subject_token", &session),
        ];
        for form in [&[("grant_type", "client_credentials")][..], &exchange] {
            let (kept, recalled) = (token(&a, form).await, token(&a, form).await);
            b.eventually("the other node knows the session", async || is_active(&b, &kept).await).await;
            assert!(is_active(&b, &recalled).await);
            let answer = ask(&b, "/oauth2/revoke", &[("token", &recalled)]).await;
            assert_eq!((answer.status, is_active(&b, &recalled).await), (200, false), "{}", answer.body);
            if mode == "assured-read" {
                assert!(!is_active(&a, &recalled).await, "at once, after the answer");
            }
            a.eventually("it is recalled everywhere", async || !is_active(&a, &recalled).await).await;
            assert!(is_active(&a, &kept).await);
            // A node that was not there learns it before it is ready.
            a.kill();
            a.begin().await;
            a.is_ready().await;
            assert!(!is_active(&a, &recalled).await, "{mode}");
        }
    }
}

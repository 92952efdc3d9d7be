//! `[identity.nats]` through `durward serve`: how a node shows the servers who it is, and what it says when they do not want it.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use nkeys::KeyPair;
use serde_json::{Value, json};

use crate::binary::binary;
use crate::caller::Said;
use crate::nats_servers::Servers;
use crate::node::{Folder, Node, write_secret};
use crate::{certificates, turn};

const ONE: &str = "replicas = 1\n";

async fn is_served(node: &Node) {
    node.begin().await;
    node.is_ready().await;
    let token = node.session().await;
    assert_eq!(node.validate(&token).await, Said::Yes(()));
}

/// It is there, gives no session, and says why.
async fn is_turned_away(node: &Node, why: &str) {
    node.begin().await;
    node.eventually(why, async || node.log().contains(why)).await;
    assert!(matches!(node.login("user-0", "secret").await, Said::Nothing(_)));
}

/// What ends the process at its start, if it ends.
fn start_fails(node: &Node) -> String {
    let mut command = std::process::Command::new(binary());
    let ran = command.args(["serve", "--config"]).arg(node.path("durward.toml")).output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    String::from_utf8(ran.stderr).unwrap()
}

/// Somebody of NATS' decentralized authentication, and their JWT (NATS documentation, "JWTs"; ADR-14).
struct Party {
    keys: KeyPair,
    jwt: String,
}

impl Party {
    fn new(keys: KeyPair, issuer: Option<&Party>, name: &str, nats: &Value) -> Party {
        let signer = issuer.map_or(&keys, |issuer| &issuer.keys);
        let claims = json!({
            "jti": name, "iat": 1_700_000_000, "iss": signer.public_key(), "sub": keys.public_key(), "name": name, "nats": nats,
        });
        let part = |document: &Value| URL_SAFE_NO_PAD.encode(document.to_string());
        let signed = format!("{}.{}", part(&json!({ "typ": "JWT", "alg": "ed25519-nkey" })), part(&claims));
        let jwt = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signer.sign(signed.as_bytes()).unwrap()));
        Party { keys, jwt }
    }

    fn operator() -> Party {
        Party::new(KeyPair::new_operator(), None, "operator", &json!({ "type": "operator", "version": 2 }))
    }

    /// `storage` is how much of JetStream it may have, -1 without limit.
    fn account(operator: &Party, storage: i32) -> Party {
        let any = json!({
            "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "conn": -1, "leaf": -1,
            "mem_storage": storage, "disk_storage": storage, "streams": storage, "consumer": storage,
        });
        let nats = json!({ "limits": any, "type": "account", "version": 2 });
        Party::new(KeyPair::new_account(), Some(operator), "account", &nats)
    }

    /// A file as `nsc` writes it.
    fn user(account: &Party, file: &Path) {
        let nats = json!({ "pub": {}, "sub": {}, "subs": -1, "data": -1, "payload": -1, "type": "user", "version": 2 });
        let user = Party::new(KeyPair::new_user(), Some(account), "user", &nats);
        let text = format!(
            "-----BEGIN NATS USER JWT-----\n{}\n------END NATS USER JWT------\n\n\
             -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
            user.jwt,
            user.keys.seed().unwrap()
        );
        write_secret(file, &text);
    }
}

#[tokio::test]
async fn credentials_open_the_store_and_those_of_strangers_do_not() {
    let _turn = turn().await;
    let operator = Party::operator();
    let (account, system) = (Party::account(&operator, -1), Party::account(&operator, 0));
    let (its, systems) = (account.keys.public_key(), system.keys.public_key());
    let more = format!(
        "operator: {}\nsystem_account: {systems}\nresolver: MEMORY\nresolver_preload: {{ {its}: {}, {systems}: {} }}",
        operator.jwt, account.jwt, system.jwt
    );
    let Some(servers) = Servers::start_one("credentials", &more).await else { return };
    let nats = format!("{ONE}credentials_path = 'node.creds'\n");
    let node = |name: &str| Node::of_cluster(name, "assured-write", &servers.addresses(), &nats);

    let good = node("credentials-good");
    Party::user(&account, &good.path("node.creds"));
    is_served(&good).await;

    let stranger = node("credentials-stranger");
    Party::user(&Party::account(&operator, -1), &stranger.path("node.creds"));
    is_turned_away(&stranger, "authorization violation").await;

    let torn = node("credentials-torn");
    write_secret(&torn.path("node.creds"), "-----BEGIN NATS USER JWT-----\n");
    let said = start_fails(&torn);
    assert!(said.contains("node.creds"), "{said}");
    let missing = start_fails(&node("credentials-missing"));
    assert!(missing.contains("node.creds: No such file or directory"), "{missing}");
}

#[tokio::test]
async fn a_server_that_wants_a_certificate_gets_it_and_is_itself_held_to_one() {
    let _turn = turn().await;
    if !certificates::can_be_made() {
        return;
    }
    let [ours, others] = ["certificates-ours", "certificates-others"].map(Folder::new);
    for folder in [&ours, &others] {
        certificates::authority(&folder.0);
        certificates::certificate(&folder.0, "own", "IP:127.0.0.1");
        certificates::certificate(&folder.0, "node", "DNS:node");
    }
    let path = ours.0.display();
    let tls = format!(
        "tls {{ cert_file: \"{path}/own.pem\", key_file: \"{path}/own.key\", ca_file: \"{path}/ca.pem\", verify: true }}"
    );
    let Some(servers) = Servers::start_one("certificates", &tls).await else { return };
    let node = |name: &str, authority: &Folder, own: Option<&Folder>| {
        let mut nats = format!("{ONE}tls = true\nauthorities = '{}/ca.pem'\n", authority.0.display());
        if let Some(own) = own {
            let own = own.0.display();
            nats += &format!("certificate = '{own}/node.pem'\nkey = '{own}/node.key'\n");
        }
        Node::of_cluster(&format!("certificates-{name}"), "assured-write", &servers.addresses(), &nats)
    };
    is_served(&node("good", &ours, Some(&ours))).await;
    is_turned_away(&node("none", &ours, None), "fatal alert: CertificateRequired").await;
    is_turned_away(&node("stranger", &ours, Some(&others)), "fatal alert").await;
    is_turned_away(&node("distrustful", &others, Some(&ours)), "invalid peer certificate").await;
    let no_key = node("garbage", &ours, Some(&ours));
    fs::write(ours.0.join("node.key"), "no key\n").unwrap();
    let said = start_fails(&no_key);
    assert!(said.contains("node.key: holds neither certificates nor a key in PEM"), "{said}");
}

/// The client of NATS has lines of its own for each of these.
#[tokio::test]
async fn the_log_tells_of_a_lost_store_in_the_nodes_words_alone() {
    let _turn = turn().await;
    let Some(mut servers) = Servers::start_one("told-once", "").await else { return };
    let node = Node::of_cluster("told-once", "assured-write", &servers.addresses(), ONE);
    is_served(&node).await;
    servers.kill(0);
    node.eventually("the loss is told", async || node.log().contains("no session store")).await;
    servers.start_again(0).await;
    let answers = async || node.log().matches("session store: stream").count() == 2;
    node.eventually("that it is back is told", answers).await;
    let log = node.log();
    assert!(!log.contains("event: ") && !log.contains("connected successfully"), "{log}");
}

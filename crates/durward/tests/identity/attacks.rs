//! Attacks on logins and sessions, against the program itself: those that its server is attacked with in its own tests, and codes that
//! are shown again.

use std::sync::Arc;

use durward_session::identity::SystemEntropy;
use durward_session::identity::session::User;
use durward_session::identity::user::{
    Account, Directory, HashCosts, Password, RecoveryCodes, SecondStep, StoredPassword, Totp,
};
use serde_json::{Value, json};

use crate::attack_table::{Attack, Victim, attacks};
use crate::caller::{Said, call};
use crate::node::Node;

const SETTINGS: &str = "users = 'users'\nmode = 'assured-write'\ndata = 'sessions'\n\
                        user_failures_free = 100000\naddress_failures_free = 100000\n";

/// A node with `anna`, who is of the staff, and `berta` with a second step; her recovery codes.
async fn node(name: &str) -> (Node, Vec<String>) {
    let node = Node::new(name, SETTINGS);
    std::fs::write(node.path("policies/all.sapl"), "policy \"staff\" permit \"staff\" in subject.groups;\n")
        .unwrap();
    let costs = HashCosts { memory_kib: 8, passes: 1, lanes: 1 };
    let users = Directory::open(&node.path("users"), costs, Arc::new(SystemEntropy)).unwrap();
    let password = StoredPassword::hash(&Password::new("secret").unwrap(), costs, &SystemEntropy).unwrap();
    let (codes, recovery) = RecoveryCodes::generate(&SystemEntropy).unwrap();
    let with = |name: &str| Account {
        password: Some(password.clone()),
        groups: vec!["staff".to_owned()],
        ..Account::new(&User::new("/", name).unwrap())
    };
    let totp = Totp::generate(&SystemEntropy).unwrap();
    let second_step = Some(SecondStep { totp, used: None, recovery });
    users.import(vec![with("anna"), Account { second_step, ..with("berta") }]).unwrap();
    drop(users);
    node.begin().await;
    node.is_ready().await;
    (node, codes)
}

async fn post(node: &Node, path: &str, token: &str, body: &Value) -> (u16, String) {
    let answer = call(node.address().unwrap(), "POST", path, token, body).await.unwrap();
    (answer.status, answer.body)
}

async fn token(node: &Node) -> String {
    match node.login("anna", "secret").await {
        Said::Yes(token) => token,
        other @ (Said::No(_) | Said::Nothing(_)) => panic!("{other:?}"),
    }
}

async fn decision(node: &Node, token: &str) -> Value {
    let ask = json!({ "subject": { "session": token }, "action": "read", "resource": "records" });
    let answer = call(node.address().unwrap(), "POST", "/api/pdp/decide-once", "", &ask).await.unwrap();
    answer.json()["decision"].clone()
}

#[tokio::test]
async fn nobody_gets_in_and_the_node_goes_on() {
    let (node, _) = node("attacks").await;
    let own = token(&node).await;
    for attack in attacks(&Victim { user: "anna", password: "secret", token: &own }) {
        let Attack { name, path, token, body, .. } = &attack;
        let (status, answer) = post(&node, path, token, body).await;
        assert!(attack.is_refused(status, &answer), "{name}: {status} {answer}");
    }
    assert_eq!(node.validate(&own).await, Said::Yes(()));
    assert_eq!(decision(&node, &own).await, "PERMIT");
    assert!(!node.log().contains("panicked"), "{}", node.log());
}

#[tokio::test]
async fn what_is_over_is_over_also_after_the_process_was_killed() {
    let (node, codes) = node("attacks-again").await;
    let (ended, lives) = (token(&node).await, token(&node).await);
    assert_eq!(node.logout(&ended).await, Said::Yes(()));
    let code = json!({ "user": "berta", "password": "secret", "code": codes[0] });
    assert_eq!(post(&node, "/v1/login", "", &code).await.0, 200);
    for is_after in [false, true] {
        if is_after {
            node.kill();
            node.begin().await;
            node.is_ready().await;
        }
        assert_eq!(post(&node, "/v1/login", "", &code).await.0, 401, "a code is good once");
        assert!(matches!(node.validate(&ended).await, Said::No(_)));
        assert_eq!(decision(&node, &ended).await, "DENY");
        assert_eq!(node.validate(&lives).await, Said::Yes(()));
    }
}

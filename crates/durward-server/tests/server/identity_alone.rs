//! A node that is there for its users: `[identity]`, and no policies.

use std::sync::Arc;

use durward_server::{Settings, StartError};
use durward_session::identity::SystemEntropy;
use durward_session::identity::session::User;
use durward_session::identity::user::{Account, Directory as Users, HashCosts, Password, StoredPassword};
use serde_json::{Value, json};

use crate::identity::post;
use crate::support::{Directory, TestServer, clock, request_json};

const CHEAP: HashCosts = HashCosts { memory_kib: 8, passes: 1, lanes: 1 };

const USERS: &str = "sapl.http = true\nauth.danger_allow_no_auth = true\npolicies.poll_ms = 20\n\
                     [identity]\nusers = 'users'\nhash_memory_kib = 8\nhash_passes = 1\n\
                     subjects_asserted_by = 'danger-anybody'\n";

const ALL_MAY: &str = "policy \"all may\" permit\n";

/// Starts a node from a file, as `durward serve` does.
fn start(text: &str, is_there: &[&str]) -> Result<TestServer, StartError> {
    let directory = Directory::new();
    let users = Users::open(&directory.path("users"), CHEAP, Arc::new(SystemEntropy)).unwrap();
    let password = StoredPassword::hash(&Password::new("secret").unwrap(), CHEAP, &SystemEntropy).unwrap();
    let anna = User::new("/", "anna").unwrap();
    users.put(Account { password: Some(password), ..Account::new(&anna) }).unwrap();
    drop(users);
    is_there.iter().for_each(|path| directory.write(path, ALL_MAY));
    directory.write("durward.toml", text);
    let mut settings = Settings::read(&directory.path("durward.toml")).unwrap();
    settings.server.listen.set_port(0);
    TestServer::start_at(directory, settings, clock(), |_| {})
}

fn decision(server: &TestServer) -> Value {
    let asked = json!({ "subject": "anna", "action": "read", "resource": "records" });
    post(server, "/api/pdp/decide-once", None, &asked).json()["decision"].clone()
}

/// It did not start: `policies: No such file or directory`.
#[test]
fn a_node_with_users_and_no_policies_is_healthy_and_permits_nothing() {
    let server = start(USERS, &[]).unwrap();
    server.eventually("the node is ready", |server| server.get("/health/ready").status == 200);
    let health = server.ready();
    assert_eq!((&health["status"], &health["snapshot"]["documents"]), (&json!("ready"), &json!(0)));
    assert!(health["warnings"].to_string().contains("there are no policies"), "{health}");
    let login = json!({ "user": "anna", "password": "secret" });
    server.eventually("anna gets in", |server| post(server, "/v1/login", None, &login).status == 200);
    assert_eq!(decision(&server), "NOT_APPLICABLE");
    let xacml = server.send(
        "POST",
        "/pdp",
        &[("Content-Type", "application/json")],
        request_json("doctor").as_bytes(),
    );
    assert!(xacml.text().contains("NotApplicable"), "{}", xacml.text());
    // They come later.
    server.directory.write("policies/all.sapl", ALL_MAY);
    server.eventually("the policies are in force", |server| decision(server) == "PERMIT");
    assert!(!server.ready()["warnings"].to_string().contains("there are no policies"));
    // And are gone, which somebody did by mistake.
    std::fs::remove_dir_all(server.directory.path("policies")).unwrap();
    server.eventually("it is said", |server| server.ready()["status"] == "stale");
    assert_eq!(decision(&server), "PERMIT");
}

/// Whoever named policies means them, and whoever has no users has nothing else.
#[test]
fn policies_that_were_named_or_without_users_must_be_there() {
    let named = USERS.replace("[identity]", "policies.path = 'elsewhere'\n[identity]");
    assert!(matches!(start(&named, &[]), Err(StartError::Read(_))));
    assert!(matches!(start("", &[]), Err(StartError::Read(_))));
    assert!(start("", &["policies/all.sapl"]).is_ok());
}

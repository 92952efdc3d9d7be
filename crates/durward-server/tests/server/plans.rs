//! `/v1/plan`: which rows are permitted, for callers who may ask.

use serde_json::{Value, json};

use crate::support::{Directory, Reply, TestServer};

const POLICY: &str = r#"
set "records" priority deny or deny
policy "own" permit action == "read"; resource.owner == subject.id;
policy "sealed" deny resource.sealed;"#;

const COLUMNS: &str = "
[[plan.columns.records.column]]
name = 'owner'
type = 'text'
nulls = 'never'
collation = 'binary'
[[plan.columns.records.column]]
name = 'sealed'
type = 'boolean'
nulls = 'never'
";

fn start(settings: &str) -> TestServer {
    let directory = Directory::new();
    directory.write("policies/records.sapl", POLICY);
    TestServer::start_in(directory, &format!("{settings}{COLUMNS}")).unwrap()
}

fn open() -> TestServer {
    start("sapl.http = true\nauth.danger_allow_no_auth = true\n")
}

fn plan(server: &TestServer, question: &Value) -> Reply {
    server.send("POST", "/v1/plan", &[], question.to_string().as_bytes())
}

fn question(action: &str) -> Value {
    json!({"subject": {"id": "ada"}, "action": action, "resource": {}, "columns": "records", "dialect": "sqlite"})
}

#[test]
fn a_plan_is_a_filter_for_a_database() {
    let server = open();
    let reply = plan(&server, &question("read"));
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(
        reply.json(),
        json!({"kind": "filter", "exact": true, "filter": "(\"owner\" = ? AND \"sealed\" = ?)", "parameters": ["ada", false]})
    );
    let nothing = json!({"kind": "none", "exact": true});
    assert_eq!(plan(&server, &question("write")).json(), nothing);
}

#[test]
fn what_cannot_be_planned_is_refused_in_words() {
    let server = open();
    let changed = |key: &str, value: Value| {
        let mut question = question("read");
        question[key] = value;
        let reply = plan(&server, &question);
        assert_eq!(reply.status, 400, "{}", reply.text());
        reply.json()["message"].as_str().unwrap().to_owned()
    };
    assert_eq!(changed("columns", json!("users")), "`columns` must be one of these: records");
    assert_eq!(changed("columns", Value::Null), "`columns` must be one of these: records");
    assert!(
        changed("dialect", json!("oracle")).starts_with("`dialect` must be one of these: sqlite, postgres")
    );
    assert!(changed("resource", json!("record")).contains("must be an object"));
    assert_eq!(plan(&server, &json!([])).status, 400);
    assert_eq!(server.send("POST", "/v1/plan", &[], b"{\"subject\":").status, 400);
}

#[test]
fn whoever_may_not_ask_for_decisions_may_not_ask_for_plans() {
    let user = format!(
        "sapl.http = true\n[[auth.users]]\nid = 'anna'\nname = 'anna'\npassword = '{}'\n",
        crate::auth::SECRET
    );
    let server = start(&user);
    assert_eq!(plan(&server, &question("read")).status, 401);
    let headers = [("Authorization", "Basic YW5uYTp3cm9uZw==")];
    let reply = server.send("POST", "/v1/plan", &headers, question("read").to_string().as_bytes());
    assert_eq!(reply.status, 401);
}

/// No table is taken from whoever asks, and without any in the settings there is nothing to ask.
#[test]
fn without_columns_there_are_no_plans() {
    let server = TestServer::start("sapl.http = true\nauth.danger_allow_no_auth = true\n");
    let reply = plan(&server, &question("read"));
    assert_eq!(reply.status, 404);
    assert!(reply.text().contains("`plan.columns`"), "{}", reply.text());
}

#[test]
fn columns_that_cannot_be_told_apart_stop_the_start() {
    let twice = format!("{COLUMNS}[[plan.columns.records.column]]\nname = 'owner'\ntype = 'text'\n");
    let error =
        durward_server::Settings::from_toml(&twice, "durward.toml").and_then(|settings| settings.check());
    assert!(error.unwrap_err().to_string().contains("plan.columns.records"));
}

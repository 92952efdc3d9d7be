//! Servers with the fixture of the certification scenario, in either language.

use serde_json::{Value, json};

use crate::support::{Directory, Reply, TestServer};

pub(super) const OPEN: &str = "auth.danger_allow_no_auth = true\n";

/// The rules of the scenario (1.4) in SAPL.
const FIXTURE_SAPL: &str = r#"set "fixture"
first or deny errors propagate

policy "reading"
permit
    action == "read";
    resource.type == "record";
    subject.id in ["alice", "bob"];

policy "writing"
permit
    action == "write";
    subject.id == "alice";
    resource.status != "archived";

policy "writing to the archive"
permit
    action == "write";
    subject.role == "admin";
    resource.status == "archived";

policy "deleting"
permit
    action == "delete";
    subject.id == "alice";
    environment.action.soft == true;
"#;

const STRING: &str = "http://www.w3.org/2001/XMLSchema#string";
const SUBJECT: &str = "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject";
const ACTION: &str = "urn:oasis:names:tc:xacml:3.0:attribute-category:action";
const RESOURCE: &str = "urn:oasis:names:tc:xacml:3.0:attribute-category:resource";
pub(super) const SUBJECT_ID: &str = "urn:oasis:names:tc:xacml:1.0:subject:subject-id";
const ACTION_ID: &str = "urn:oasis:names:tc:xacml:1.0:action:action-id";

/// `value` is in the attribute.
fn is(value: &str, category: &str, id: &str) -> String {
    of_type("string", STRING, value, category, id)
}

fn of_type(function: &str, data_type: &str, value: &str, category: &str, id: &str) -> String {
    format!(
        r#"<Apply FunctionId="urn:oasis:names:tc:xacml:1.0:function:{function}-is-in">
<AttributeValue DataType="{data_type}">{value}</AttributeValue>
<AttributeDesignator Category="{category}" AttributeId="{id}" DataType="{data_type}" MustBePresent="false"/></Apply>"#
    )
}

fn apply(function: &str, parts: &[String]) -> String {
    let parts = parts.concat();
    format!(r#"<Apply FunctionId="urn:oasis:names:tc:xacml:1.0:function:{function}">{parts}</Apply>"#)
}

/// The same in XACML.
fn fixture_xacml() -> String {
    let who = |name: &str| is(name, SUBJECT, SUBJECT_ID);
    let what = |name: &str| is(name, ACTION, ACTION_ID);
    let archived = || is("archived", RESOURCE, "status");
    let soft = of_type("boolean", "http://www.w3.org/2001/XMLSchema#boolean", "true", ACTION, "soft");
    let rules = [
        vec![what("read"), is("record", RESOURCE, "type"), apply("or", &[who("alice"), who("bob")])],
        vec![what("write"), who("alice"), apply("not", &[archived()])],
        vec![what("write"), is("admin", SUBJECT, "role"), archived()],
        vec![what("delete"), who("alice"), soft],
    ];
    permitting(&rules)
}

/// A policy of a user of this name.
pub(super) fn only(user: &str) -> String {
    permitting(&[vec![is(user, SUBJECT, SUBJECT_ID)]])
}

/// A policy whose rules permit where all of their conditions hold.
fn permitting(rules: &[Vec<String>]) -> String {
    let rules: String = rules
        .iter()
        .enumerate()
        .map(|(number, conditions)| {
            let condition = apply("and", conditions);
            format!(r#"<Rule RuleId="{number}" Effect="Permit"><Condition>{condition}</Condition></Rule>"#)
        })
        .collect();
    format!(
        r#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="fixture" Version="1.0"
RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:deny-unless-permit"><Target/>{rules}</Policy>"#
    )
}

/// The subjects and resources of the scenario (1.1, 1.2).
pub(super) const ENTITIES: &str = r#"{"type":"user","id":"alice"}
{"type":"user","id":"bob","properties":{"role":"admin"}}
{"type":"record","id":"record-1","properties":{"status":"active"}}
{"type":"record","id":"record-2","properties":{"status":"archived"}}
"#;

/// Settings with the entities of a directory, and these actions.
pub(super) fn searching(directory: &Directory, files: &[&str], actions: &[&str]) -> String {
    let files: Vec<String> =
        files.iter().map(|file| format!("{{ path = '{}' }}", directory.path(file).display())).collect();
    let actions: Vec<String> = actions.iter().map(|action| format!("{{ name = '{action}' }}")).collect();
    format!("authzen.entities = [{}]\nauthzen.actions = [{}]\n", files.join(", "), actions.join(", "))
}

/// In which language policies are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Sapl,
    Xacml,
}

pub(super) const BOTH: [Language; 2] = [Language::Sapl, Language::Xacml];

/// A server with the fixture.
pub(super) fn fixture(language: Language, settings: &str) -> TestServer {
    let directory = Directory::new();
    match language {
        Language::Sapl => directory.write("policies/fixture.sapl", FIXTURE_SAPL),
        Language::Xacml => directory.write("policies/fixture.xml", &fixture_xacml()),
    }
    directory.write("entities.jsonl", ENTITIES);
    let search = searching(&directory, &["entities.jsonl"], &["read", "write", "delete"]);
    TestServer::start_in(directory, &format!("{search}{settings}")).unwrap()
}

/// A server with these SAPL policies.
pub(super) fn sapl(policies: &str, settings: &str) -> TestServer {
    let directory = Directory::new();
    directory.write("policies/p.sapl", policies);
    TestServer::start_in(directory, &format!("{OPEN}{settings}")).unwrap()
}

pub(super) fn post(server: &TestServer, path: &str, body: &Value) -> Reply {
    post_text(server, path, &body.to_string(), &[])
}

pub(super) fn post_text(server: &TestServer, path: &str, body: &str, headers: &[(&str, &str)]) -> Reply {
    let json = [("Content-Type", "application/json")];
    let has_type = headers.iter().any(|(name, _)| *name == "Content-Type");
    let headers: Vec<_> = json.iter().filter(|_| !has_type).chain(headers).copied().collect();
    server.send("POST", &format!("/access/v1/{path}"), &headers, body.as_bytes())
}

/// The answer to a question, which is 200.
pub(super) fn ok(server: &TestServer, path: &str, body: &Value) -> Value {
    let reply = post(server, path, body);
    assert_eq!(reply.status, 200, "{path} {body}: {}", reply.text());
    assert_eq!(reply.header("content-type"), "application/json");
    reply.json()
}

pub(super) fn entity(kind: &str, id: &str) -> Value {
    json!({ "type": kind, "id": id })
}

/// A question about a record.
pub(super) fn about(user: &str, action: &str, record: &str) -> Value {
    json!({ "subject": entity("user", user), "action": { "name": action }, "resource": entity("record", record) })
}

/// The ids or names of results, in order.
pub(super) fn found(answer: &Value) -> Vec<String> {
    let results = answer["results"].as_array().unwrap();
    let name = |result: &Value| result.get("id").or(result.get("name")).unwrap().as_str().unwrap().to_owned();
    results.iter().map(name).collect()
}

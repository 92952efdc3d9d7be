//! The interoperability sets of the AuthZEN working group: Todo, API gateway, Search, IdP. Their policies are a few lines of SAPL; who has
//! which role comes from entities, in JSON lines and in CSV.

use std::fmt::Write;
use std::fs;

use serde_json::{Value, json};

use super::world::{OPEN, found, ok, searching};
use crate::support::{Directory, TestServer};

fn read(name: &str) -> Option<Value> {
    let data = durward_testdata::recorded("authzen")?;
    Some(serde_json::from_str(&fs::read_to_string(data.join(name)).unwrap()).unwrap())
}

fn start(policies: &str, files: &[(&str, String)], actions: &[&str]) -> TestServer {
    let directory = Directory::new();
    directory.write("policies/p.sapl", policies);
    for (name, text) in files {
        directory.write(name, text);
    }
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    let settings = format!("{OPEN}{}", searching(&directory, &names, actions));
    TestServer::start_in(directory, &settings).unwrap()
}

const TODO: &str = r#"set "todo"
first or deny errors propagate
var owns = "editor" in subject.roles && resource.ownerID == subject.email;

policy "reading" permit action in ["can_read_user", "can_read_todos"];
policy "creating" permit action == "can_create_todo"; "admin" in subject.roles || "editor" in subject.roles;
policy "updating" permit action == "can_update_todo"; "evil_genius" in subject.roles || owns;
policy "deleting" permit action == "can_delete_todo"; "admin" in subject.roles || owns;
"#;

const GATEWAY: &str = r#"set "gateway"
first or deny errors propagate

policy "reading" permit action == "GET"; resource.type == "route";
policy "changing" permit action in ["POST", "PUT", "DELETE"]; resource.type == "route";
    "admin" in subject.roles || "editor" in subject.roles || "evil_genius" in subject.roles;
"#;

/// Users by the ids of their identity provider and by their addresses.
fn people(kind: &str) -> String {
    let mut text = String::new();
    for (number, email, roles) in [
        ('0', "rick@the-citadel.com", json!(["admin", "evil_genius"])),
        ('1', "morty@the-citadel.com", json!(["editor"])),
        ('2', "summer@the-smiths.com", json!(["editor"])),
        ('3', "beth@the-smiths.com", json!(["viewer"])),
        ('4', "jerry@the-smiths.com", json!(["viewer"])),
    ] {
        let letter = match number {
            '0' => "A2",
            '1' => "E2",
            '2' => "I2",
            '3' => "M2",
            _ => "Q2",
        };
        let pid = format!("CiRmZD{letter}MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs");
        for id in [pid.as_str(), email] {
            let line = json!({ "type": kind, "id": id, "properties": { "email": email, "roles": roles } });
            writeln!(text, "{line}").unwrap();
        }
    }
    text
}

fn decides(server: &TestServer, file: &str) -> Option<usize> {
    let set = read(file)?;
    let mut count = 0;
    for case in set["evaluation"].as_array().unwrap() {
        assert_eq!(
            ok(server, "evaluation", &case["request"])["decision"],
            case["expected"],
            "{}",
            case["request"]
        );
        count += 1;
    }
    for case in set["evaluations"].as_array().into_iter().flatten() {
        let answer = ok(server, "evaluations", &case["request"]);
        assert_eq!(answer["evaluations"], case["expected"], "{}", case["request"]);
        count += 1;
    }
    Some(count)
}

#[test]
fn the_todo_set_is_decided() {
    let server = start(TODO, &[("people.jsonl", people("user"))], &[]);
    for (file, expected) in [
        ("todo-decisions-authorization-api-1_0-02.json", 43),
        ("todo-decisions-authorization-api-1_0-01.json", 40),
    ] {
        let Some(count) = decides(&server, file) else { return };
        assert_eq!(count, expected, "{file}");
    }
}

#[test]
fn the_gateway_set_is_decided() {
    let server = start(GATEWAY, &[("people.jsonl", people("identity"))], &[]);
    let Some(count) = decides(&server, "gateway-decisions.json") else { return };
    assert_eq!(count, 25);
}

const SEARCH: &str = r#"set "search"
first or deny errors propagate
var owns = resource.owner == subject.id;
var sameDepartment = resource.department == subject.department;
var manages = subject.role == "manager";

policy "viewing" permit action == "view"; owns || sameDepartment || manages;
policy "editing" permit action == "edit"; owns || (manages && sameDepartment);
policy "deleting" permit action == "delete"; owns;
"#;

/// Rows of CSV with the columns `id` and these.
fn csv(rows: &Value, columns: &[&str]) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut out = format!("type,id,{}\n", columns.join(","));
    let kind = if columns.contains(&"owner") { "record" } else { "user" };
    for row in rows.as_array().unwrap() {
        let cells: Vec<String> = columns.iter().map(|column| format!("\"{}\"", text(&row[column]))).collect();
        writeln!(out, "{kind},{},{}", text(&row["id"]), cells.join(",")).unwrap();
    }
    out
}

/// Results are sets: ours are in the order of ids.
fn sorted(expected: &Value) -> Vec<String> {
    let mut all = found(expected);
    all.sort_unstable();
    all
}

fn finds(server: &TestServer, path: &str, cases: &Value) -> usize {
    let cases = cases.as_array().unwrap();
    for case in cases {
        let mut answer = found(&ok(server, path, &case["request"]));
        let expected = sorted(&case["expected"]);
        if path != "search/action" {
            assert!(answer.is_sorted(), "{answer:?}");
        }
        answer.sort_unstable();
        assert_eq!(answer, expected, "{path} {}", case["request"]);
    }
    cases.len()
}

#[test]
fn the_search_set_is_found() {
    let (Some(users), Some(records)) = (read("search-users.json"), read("search-records.json")) else {
        return;
    };
    let files = [
        ("users.csv", csv(&users, &["role", "department"])),
        ("records.csv", csv(&records, &["title", "department", "owner"])),
    ];
    let server = start(SEARCH, &files, &["view", "edit", "delete"]);
    for (path, file, expected) in [
        ("search/subject", "search-subject-results.json", 60),
        ("search/resource", "search-resource-results.json", 18),
        ("search/action", "search-action-results.json", 120),
    ] {
        let set = read(file).unwrap();
        assert_eq!(finds(&server, path, &set["evaluation"]), expected, "{file}");
    }
}

/// "Exact": whatever is permitted is found, and nothing else.
#[test]
fn searches_find_what_evaluations_permit_and_nothing_else() {
    let actions = ["view", "edit", "delete"];
    let mut users = String::from("type,id,role,department\n");
    let mut records = String::from("type,id,owner,department\n");
    for number in 0..6 {
        let role = ["manager", "employee", "contractor"][number % 3];
        writeln!(users, "user,u{number},{role},d{}", number % 4).unwrap();
        writeln!(records, "record,r{number},u{},d{}", (number * 5) % 7, number % 3).unwrap();
    }
    let server = start(SEARCH, &[("users.csv", users), ("records.csv", records)], &actions);
    let entity = |kind: &str, number: usize| json!({ "type": kind, "id": format!("{}{number}", &kind[..1]) });
    let search = |path: &str, body: Value| found(&ok(&server, path, &body));
    let mut permits = 0;
    for (user, record, action) in
        (0..6).flat_map(|user| (0..6).flat_map(move |record| actions.map(|action| (user, record, action))))
    {
        let (subject, resource, act) =
            (entity("user", user), entity("record", record), json!({ "name": action }));
        let whole = json!({ "subject": subject, "action": act, "resource": resource });
        let decision = ok(&server, "evaluation", &whole)["decision"].as_bool().unwrap();
        permits += usize::from(decision);
        let who = json!({ "subject": { "type": "user" }, "action": act, "resource": resource });
        let which = json!({ "subject": subject, "action": act, "resource": { "type": "record" } });
        let what = json!({ "subject": subject, "resource": resource });
        for (path, body, name) in [
            ("search/subject", who, format!("u{user}")),
            ("search/resource", which, format!("r{record}")),
            ("search/action", what, action.to_owned()),
        ] {
            assert_eq!(search(path, body).contains(&name), decision, "{path} {whole}");
        }
    }
    assert!(permits > 20 && permits < 90, "{permits}");
}

#[test]
fn the_idp_set_is_found() {
    let (Some(users), Some(records)) = (read("idp-users.json"), read("idp-records.json")) else { return };
    let mut lines = String::new();
    for user in users.as_array().unwrap() {
        writeln!(lines, "{}", json!({ "type": "user", "id": user["id"] })).unwrap();
    }
    for record in records.as_array().unwrap() {
        let properties = json!({ "owner": record["owner"] });
        writeln!(lines, "{}", json!({ "type": "record", "id": record["id"], "properties": properties }))
            .unwrap();
    }
    let owners = "policy \"owners\" permit resource.owner == subject.id;";
    let server = start(owners, &[("all.jsonl", lines)], &[]);
    let set = read("idp-search-results.json").unwrap();
    assert_eq!(finds(&server, "search/resource", &set["search"]), 6);
}

//! Searches among many entities, of most of which a plan says ahead whether they are permitted: what they find is what evaluations permit.

use durward_testdata::TestRandom;
use serde_json::{Map, Value, json};

use super::world::{OPEN, entity, found, ok, searching};
use crate::support::{Directory, TestServer};

/// So many that a plan is made.
const ENTITIES: usize = 230;

/// What templates are by default, said: no plan is made then.
const TEMPLATES: &str =
    "authzen.sapl.subject = { type = 'subject.type', id = 'subject.id', '*' = 'subject.properties' }
authzen.sapl.resource = { type = 'resource.type', id = 'resource.id', '*' = 'resource.properties' }\n";

fn start(policies: &str, entities: &str, settings: &str) -> TestServer {
    let directory = Directory::new();
    directory.write("policies/p.sapl", policies);
    directory.write("entities.jsonl", entities);
    let search = searching(&directory, &["entities.jsonl"], &[]);
    TestServer::start_in(directory, &format!("{OPEN}{search}{settings}")).unwrap()
}

/// A condition on what a search looks for, or on nothing that it holds.
fn condition(random: &mut TestRandom, part: &str) -> String {
    let other = if part == "resource" { "subject" } else { "resource" };
    let choices = [
        format!("{part}.owner == {other}.id"),
        format!("{part}.owner != \"ada\""),
        format!("{part}.level <= {}", random.below(6)),
        format!("{} < {part}.level", random.below(6)),
        format!("\"red\" in {part}.tags"),
        format!("!({part}.kind in [\"a\", \"b\"])"),
        format!("{part}.mixed == \"1\""),
        format!("{part}.mixed == 1"),
        format!("{part}.place.ward == \"w\""),
        format!("{part}.gone == undefined"),
        format!("{part}.sealed"),
        format!("{part}.note == null"),
        format!("string.startsWith({part}.id, \"e1\")"),
        format!("{part}.kind =~ \"a|c\""),
        format!("{part}.type == \"thing\""),
        format!("{other}.level >= 3"),
        format!("{part}.given == \"x\""),
        "environment.hour < 12".to_owned(),
    ];
    let one = random.one_of(&choices).clone();
    if random.percent(25) { format!("!({one})") } else { one }
}

fn policies(random: &mut TestRandom, part: &str) -> String {
    let algorithm = random.of(&[
        "priority deny or deny",
        "priority permit or abstain errors propagate",
        "first or deny errors propagate",
        "priority deny or permit",
    ]);
    let mut text = format!("set \"s\" {algorithm}\n");
    for number in 0..1 + random.below(5) {
        let effect = if random.percent(65) { "permit" } else { "deny" };
        text.push_str(&format!("policy \"p{number}\" {effect}\n"));
        for _ in 0..random.below(3) {
            text.push_str(&format!("  {};\n", condition(random, part)));
        }
        if random.percent(15) {
            let kind = random.of(&["known", "unknown"]);
            text.push_str(&format!("obligation {{\"type\": \"{kind}\"}}\n"));
        }
    }
    text
}

fn properties(random: &mut TestRandom) -> Value {
    let tags: Vec<_> = (0..random.below(3)).map(|_| random.of(&["red", "blue"])).collect();
    let all = [
        ("owner", 80, json!(random.of(&["ada", "bob", "Ada", "ada ", ""]))),
        ("level", 100, json!(random.of(&[0.0, 1.0, 2.0, 2.5, 3.0, 4.0, 5.0]))),
        ("tags", 70, json!(tags)),
        ("kind", 100, json!(random.of(&["a", "b", "c"]))),
        ("mixed", 90, if random.percent(50) { json!(1) } else { json!("1") }),
        ("place", 60, json!({ "ward": random.of(&["w", "v"]) })),
        ("sealed", 90, json!(random.percent(30))),
        ("note", 100, if random.percent(50) { Value::Null } else { json!("n") }),
        ("given", 30, json!("stored")),
    ];
    let some = all.into_iter().filter(|(_, chance, _)| random.percent(*chance));
    Value::Object(some.map(|(name, _, value)| (name.to_owned(), value)).collect::<Map<_, _>>())
}

fn lines(random: &mut TestRandom) -> String {
    let mut text =
        format!("{}\n", json!({ "type": "user", "id": "ada", "properties": { "level": 3, "owner": "bob" } }));
    for number in 0..ENTITIES {
        let line =
            json!({ "type": "thing", "id": format!("e{number:03}"), "properties": properties(random) });
        text.push_str(&format!("{line}\n"));
    }
    text
}

/// What evaluations permit, of all things.
fn permitted(server: &TestServer, part: &str, asked: &Value) -> Vec<String> {
    let of = |number: usize| {
        let mut whole = asked[part].clone();
        whole["id"] = json!(format!("e{number:03}"));
        let mut evaluation = json!({});
        evaluation[part] = whole;
        evaluation
    };
    let mut body = asked.clone();
    body.as_object_mut().unwrap().remove(part);
    body["evaluations"] = (0..ENTITIES).map(of).collect();
    let answer = ok(server, "evaluations", &body);
    let decisions = answer["evaluations"].as_array().unwrap();
    assert_eq!(decisions.len(), ENTITIES);
    let is_permitted = |number: &usize| decisions[*number]["decision"] == true;
    (0..ENTITIES).filter(is_permitted).map(|number| format!("e{number:03}")).collect()
}

fn searched(server: &TestServer, part: &str, asked: &Value) -> Vec<String> {
    let (mut all, mut asked) = (Vec::new(), asked.clone());
    loop {
        let answer = ok(server, &format!("search/{part}"), &asked);
        all.extend(found(&answer));
        match answer["page"]["next_token"].as_str() {
            None | Some("") => return all,
            Some(token) => asked["page"] = json!({ "token": token }),
        }
    }
}

#[test]
fn a_search_finds_what_evaluations_permit() {
    let mut random = TestRandom::new(11);
    let mut finds = 0;
    for round in 0..24 {
        let part = if round % 3 == 2 { "subject" } else { "resource" };
        let policies = policies(&mut random, part);
        let settings = [
            "",
            "authzen.stored_properties = 'override'\n",
            "decision_log.to = 'file'\n",
            "authzen.search_candidates_max = 40\nauthzen.search_results_max = 7\n",
        ][round % 4];
        let server =
            start(&policies, &lines(&mut random), &format!("authzen.obligations = ['known']\n{settings}"));
        for given in [json!({}), json!({ "given": "x", "level": 2, "id": "e000" })] {
            let other = if part == "resource" { "subject" } else { "resource" };
            let mut asked = json!({ "action": { "name": "read" }, "context": { "hour": 9 } });
            asked[part] = json!({ "type": "thing", "properties": given });
            asked[other] = entity("user", "ada");
            let found = searched(&server, part, &asked);
            assert_eq!(found, permitted(&server, part, &asked), "{settings}{policies}\n{asked}");
            finds += found.len();
        }
    }
    assert!(finds > 500 && finds < 40 * ENTITIES, "{finds}");
}

/// What a plan excludes is not decided, and does not count as if it were.
#[test]
fn of_many_entities_few_are_decided() {
    let mut text = String::from("{\"type\":\"user\",\"id\":\"ada\"}\n");
    for number in 0..1000 {
        let owner = if number % 400 == 7 { "ada" } else { "bob" };
        let line =
            json!({ "type": "thing", "id": format!("e{number:04}"), "properties": { "owner": owner } });
        text.push_str(&format!("{line}\n"));
    }
    let policies = "policy \"own\" permit resource.owner == subject.id;";
    let asked = json!({ "subject": entity("user", "ada"), "action": { "name": "read" }, "resource": { "type": "thing" } });
    let pages = |settings: &str| {
        let server = start(policies, &text, &format!("authzen.search_candidates_max = 10\n{settings}"));
        let answer = ok(&server, "search/resource", &asked);
        let is_all = answer["page"]["next_token"].as_str().is_none_or(str::is_empty);
        (is_all, found(&answer), searched(&server, "resource", &asked))
    };
    let all: Vec<String> = ["e0007", "e0407", "e0807"].map(str::to_owned).into();
    assert_eq!(pages(""), (true, all.clone(), all.clone()));
    assert_eq!(pages("decision_log.to = 'file'\n"), (true, all.clone(), all.clone()));
    // Where templates say what entities become, each is decided.
    assert_eq!(pages(TEMPLATES), (false, vec!["e0007".to_owned()], all));
}

/// Who is named by a token is looked up before the plan.
#[test]
fn entities_that_are_tokens_are_decided_one_by_one() {
    let mut text = String::from("{\"type\":\"paper\",\"id\":\"p\"}\n");
    for number in 0..ENTITIES {
        let line =
            json!({ "type": "thing", "id": format!("e{number:03}"), "properties": { "session": "none" } });
        text.push_str(&format!("{line}\n"));
    }
    let server = start("policy \"p\" permit subject.session == \"none\";", &text, "");
    let mut asked = json!({ "action": { "name": "read" }, "resource": entity("paper", "p") });
    asked["subject"] = json!({ "type": "thing" });
    assert_eq!(searched(&server, "subject", &asked), permitted(&server, "subject", &asked));
}

//! `/v1/explain`: why a question is answered as it is, for callers who may see that.

use serde_json::{Value, json};

use crate::auth::{SECRET, basic};
use crate::support::{DOCTORS_READ, Directory, Reply, TestServer, nurses_read, request_json, request_xml};

type Headers<'a> = &'a [(&'a str, &'a str)];

const ADULTS: &str = r#"
set "records" priority deny or deny
policy "adults" permit action == "read"; subject.age >= 18;
policy "now" permit action == "look"; <time.now> != "never";"#;

/// Whoever may have decisions explained, and whoever may not.
fn users() -> String {
    format!(
        "auth.explain = true\nauth.users = [{{ id = 'auditor', name = 'auditor', password = '{SECRET}', may_explain = true }}, \
         {{ id = 'shop', name = 'shop', password = '{SECRET}' }}]\n"
    )
}

fn start(policies: &[(&str, &str)], more: &str) -> TestServer {
    let directory = Directory::new();
    for (name, text) in policies {
        directory.write(&format!("policies/{name}"), text);
    }
    TestServer::start_in(directory, &format!("{}{more}", users())).unwrap()
}

fn ask(server: &TestServer, name: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    let authorization = basic(&format!("{name}:secret"));
    let mut all = vec![("Authorization", authorization.as_str())];
    if !headers.iter().any(|(name, _)| *name == "Content-Type") {
        all.push(("Content-Type", "application/json"));
    }
    all.extend(headers);
    server.send("POST", "/v1/explain", &all, body.as_bytes())
}

fn subscription(age: u32, action: &str) -> String {
    json!({"subject": {"age": age}, "action": action, "resource": "r"}).to_string()
}

fn explained(reply: &Reply) -> Value {
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()["explanation"][0].clone()
}

#[test]
fn it_is_off_unless_it_is_set_and_somebody_may_ask() {
    let server = TestServer::start("");
    let reply = server.send("POST", "/v1/explain", &[], b"{}");
    assert!(reply.status == 404 && reply.text().contains("`auth.explain`"), "{}", reply.text());
    let text = users().replace("may_explain = true", "may_explain = false");
    let error = durward_server::Settings::from_toml(&text, "t").unwrap_err().to_string();
    assert!(error.contains("`auth.explain`") && error.contains("may_explain"), "{error}");
}

#[test]
fn only_callers_who_may_are_told() {
    let server = start(&[("p.sapl", ADULTS)], "");
    let question = subscription(17, "read");
    let nobody =
        server.send("POST", "/v1/explain", &[("Content-Type", "application/json")], question.as_bytes());
    assert_eq!(nobody.status, 401);
    assert!(nobody.all("www-authenticate").contains(&"Basic realm=\"durward\""));
    let shop = ask(&server, "shop", &[], &question);
    assert_eq!(shop.status, 403);
    assert!(!shop.text().contains("adults"), "{}", shop.text());
    assert_eq!(ask(&server, "auditor", &[], &question).status, 200);
}

#[test]
fn subscriptions_are_explained_with_their_conditions() {
    let server = start(&[("p.sapl", ADULTS)], "");
    let top = explained(&ask(&server, "auditor", &[], &subscription(17, "read")));
    assert_eq!(top["outcome"], "DENY", "{top}");
    let adults = &top["children"][0]["children"][0];
    assert_eq!((&adults["id"], &adults["outcome"]), (&"adults".into(), &"NOT_APPLICABLE".into()), "{top}");
    let condition = &adults["conditions"][0];
    assert_eq!(condition["outcome"], "false", "{condition}");
    assert!(condition["text"].as_str().unwrap().contains("subject.age >= 18"), "{condition}");
    assert!(condition["place"].as_str().unwrap().contains("p.sapl:3:"), "{condition}");
    // Time is known, and so is what follows from it.
    assert_eq!(explained(&ask(&server, "auditor", &[], &subscription(17, "look")))["outcome"], "PERMIT");
    let text = ask(&server, "auditor", &[("Accept", "text/plain")], &subscription(17, "read"));
    assert_eq!((text.status, text.header("content-type")), (200, "text/plain; charset=utf-8"));
    assert!(text.text().contains("subject.age >= 18") && text.text().contains("DENY"), "{}", text.text());
}

#[test]
fn requests_of_xacml_are_explained_in_either_form() {
    let server = start(&[("doctors.xml", DOCTORS_READ)], "");
    let xml = [("Content-Type", "application/xacml+xml")];
    for (reply, outcome) in [
        (ask(&server, "auditor", &[], &request_json("doctor")), "Permit"),
        (
            ask(&server, "auditor", &[("Content-Type", "application/xacml+json")], &request_json("nurse")),
            "Deny",
        ),
        (ask(&server, "auditor", &xml, &request_xml("doctor")), "Permit"),
        (ask(&server, "auditor", &xml, &request_xml("nurse")), "Deny"),
    ] {
        let top = explained(&reply);
        assert_eq!(top["outcome"], outcome, "{top}");
        assert!(top.to_string().contains("doctors"), "the policy is named: {top}");
    }
    // What is in force now is explained.
    server.directory.write("policies/doctors.xml", &nurses_read());
    server.eventually("nurses may", |server| {
        explained(&ask(server, "auditor", &xml, &request_xml("nurse")))["outcome"] == "Permit"
    });
}

#[test]
fn what_is_no_question_is_refused_with_its_place() {
    let server = start(&[("p.sapl", ADULTS)], "server.body_bytes_max = 4096\n");
    let cases: [(Headers<'_>, &str, u16); 6] = [
        (&[], "{", 400),
        (&[], "{\"subject\":1}", 400),
        (&[], "{\"Request\":7}", 400),
        (&[("Content-Type", "application/xml")], "<Request", 400),
        (&[("Content-Type", "image/png")], "{}", 415),
        (&[("Accept", "image/png")], "{}", 406),
    ];
    for (headers, body, status) in cases {
        assert_eq!(ask(&server, "auditor", headers, body).status, status, "{headers:?} {body}");
    }
    assert_eq!(ask(&server, "auditor", &[], &" ".repeat(5_000)).status, 413);
    let method = server.send("GET", "/v1/explain", &[], b"");
    assert_eq!((method.status, method.header("allow")), (405, "POST"));
}

/// Explaining is asking: it counts, it is limited, and it stands in the log.
#[test]
fn explanations_are_logged_and_limited() {
    let server = start(
        &[("p.sapl", ADULTS)],
        "decision_log.to = 'file'\nauth.requests_per_second_per_caller_max = 1\n",
    );
    assert_eq!(ask(&server, "auditor", &[], &subscription(7_172_737, "write")).status, 200);
    let path = server.directory.path("decisions.jsonl");
    server.eventually("the line is written", |_| std::fs::read_to_string(&path).unwrap().ends_with('\n'));
    let text = std::fs::read_to_string(&path).unwrap();
    let line: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!((&line["surface"], &line["route"]), (&"http".into(), &"explain".into()), "{line}");
    assert_eq!((&line["caller"], &line["decision"]), (&"auditor".into(), &"Deny".into()), "{line}");
    assert!(!text.contains("7172737"), "values are not written: {text}");
    server.eventually("too many are refused", |server| {
        let reply = ask(server, "auditor", &[], &subscription(17, "read"));
        assert!(reply.status != 429 || reply.header("retry-after") == "1");
        reply.status == 429
    });
}

/// An explanation asks nobody: what a source would say, it does not know, and says so.
#[test]
fn nobody_is_asked_over_the_network_for_an_explanation() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let policy = format!(r#"policy "asks" permit <http.get({{"baseUrl": "http://{address}"}})> == 1;"#);
    let server = start(&[("p.sapl", &policy)], "");
    let top = explained(&ask(&server, "auditor", &[], &subscription(1, "read")));
    assert!(top.to_string().contains("is not asked for by an explanation"), "{top}");
    assert!(listener.accept().is_err(), "nobody came");
}

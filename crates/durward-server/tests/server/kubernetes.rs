//! The authorization webhook of Kubernetes, as its API servers ask it. With their own client it is asked by `cargo xtask clients Kubernetes`.

use serde_json::{Value, json};

use crate::support::{Directory, Reply, TestServer};

const PATH: &str = "/doors/kubernetes/authorize";

const HERE: &str = "kubernetes = { on = true, callers.from = ['127.0.0.1'] }\n";

const ALGORITHM: &str = r#"{ "algorithm": { "votingMode": "PRIORITY_DENY", "defaultDecision": "ABSTAIN", "errorHandling": "PROPAGATE" } }"#;

/// What each name of a pod is decided.
const POLICIES: &str = r#"set "pods"
priority deny or abstain errors propagate

policy "yes"
permit
    resource.type == "pods";
    resource.id == "yes";
    "dev" in subject.groups;

policy "audited"
permit
    resource.id == "audited";
advice
    { "type": "reason", "reason": "for the audit" }

policy "marked"
permit
    resource.id == "marked";
obligation
    { "type": "watermark" }

policy "no"
deny
    resource.id == "no";
advice
    { "type": "reason", "reason": "ask\nsomebody" }

policy "plain no"
deny
    resource.id == "plain-no";

policy "broken"
permit
    resource.id == "broken";
    1 / subject.id == 1;
"#;

fn start(settings: &str) -> TestServer {
    let directory = Directory::new();
    directory.write("policies/pdp.json", ALGORITHM);
    directory.write("policies/pods.sapl", POLICIES);
    TestServer::start_in(directory, settings).unwrap()
}

fn review(user: &str, groups: &[&str], name: &str) -> Value {
    json!({
        "kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "metadata": {},
        "spec": {
            "user": user, "groups": groups,
            "resourceAttributes": { "namespace": "x", "verb": "get", "version": "v1", "resource": "pods", "name": name },
        },
        "status": { "allowed": false },
    })
}

fn post(server: &TestServer, query: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    let json = [("Content-Type", "application/json")];
    let headers: Vec<_> = json.iter().chain(headers).copied().collect();
    server.send("POST", &format!("{PATH}{query}"), &headers, body.as_bytes())
}

/// The status of the answer, which is a review.
fn status(server: &TestServer, query: &str, body: &str) -> Value {
    let reply = post(server, query, &[], body);
    assert_eq!((reply.status, reply.header("content-type")), (200, "application/json"), "{}", reply.text());
    let mut answer = reply.json();
    assert_eq!(answer["kind"], "SubjectAccessReview");
    assert_eq!(answer["apiVersion"], "authorization.k8s.io/v1");
    let status = answer["status"].take();
    assert!(!(status["allowed"] == true && status["denied"] == true), "{status}");
    status
}

#[test]
fn every_decision_has_its_answer() {
    let server = start(&format!("{HERE}decision_log.to = 'file'"));
    let failed = json!({ "allowed": false, "denied": true, "reason": "nothing could be decided",
                         "evaluationError": "the policies could not be evaluated" });
    let cases = [
        ("yes", json!({ "allowed": true })),
        ("audited", json!({ "allowed": true, "reason": "for the audit" })),
        (
            "marked",
            json!({ "allowed": false, "denied": true,
                    "reason": "permitted with an obligation that Kubernetes cannot fulfil: watermark" }),
        ),
        ("no", json!({ "allowed": false, "denied": true, "reason": "ask somebody" })),
        ("plain-no", json!({ "allowed": false, "denied": true, "reason": "denied by a policy" })),
        ("broken", failed),
        ("other", json!({ "allowed": false })),
    ];
    for (name, expected) in &cases {
        let body = review("ada", &["dev"], name).to_string();
        assert_eq!(status(&server, "?timeout=30s", &body), *expected, "{name}");
    }
    assert_eq!(status(&server, "", &review("ada", &[], "yes").to_string()), json!({ "allowed": false }));
    server.eventually("each decision is in the log", |server| {
        let log = std::fs::read_to_string(server.directory.path("decisions.jsonl")).unwrap_or_default();
        let lines = log.lines().filter(|line| line.contains(r#""surface":"kubernetes","route":"authorize""#));
        lines.count() == cases.len() + 1
    });
    let log = std::fs::read_to_string(server.directory.path("decisions.jsonl")).unwrap();
    assert!(log.contains(r#""caller":"kubernetes","tenant":"default","decision":"Permit""#), "{log}");
}

#[test]
fn an_error_is_no_opinion_where_the_settings_say_so() {
    let server = start("kubernetes = { on = true, errors = 'no-opinion', callers.from = ['127.0.0.1'] }");
    let answer = status(&server, "", &review("ada", &["dev"], "broken").to_string());
    assert_eq!(answer, json!({ "allowed": false, "evaluationError": "the policies could not be evaluated" }));
    let marked = status(&server, "", &review("ada", &["dev"], "marked").to_string());
    assert_eq!(marked["denied"], true, "an obligation that is not fulfilled is no error");
}

#[test]
fn what_cannot_be_read_is_denied_and_not_left_to_the_api_server() {
    let server =
        start("kubernetes = { on = true, callers = { from = ['127.0.0.1'], body_bytes_max = 4096 } }");
    let whole = review("ada", &["dev"], "yes").to_string();
    let long = review("ada", &["dev"], &"y".repeat(5000)).to_string();
    let denied = |query: &str, body: &str, words: &str| {
        let status = status(&server, query, body);
        assert_eq!((&status["allowed"], &status["denied"]), (&json!(false), &json!(true)), "{body}");
        let error = status["evaluationError"].as_str().unwrap();
        assert!(error.contains(words), "{error}");
    };
    denied("", "", "no JSON");
    denied("", &whole[..whole.len() - 1], "no JSON");
    denied("", "[]", "must be an object");
    denied("", &whole.replace("/v1\"", "/v1beta1\""), "v1beta1");
    denied("", &long, "kubernetes.callers.body_bytes_max");
    denied("?timeout=soon", &whole, "`timeout`");
    assert_eq!(status(&server, "?timeout=3s", &whole), json!({ "allowed": true }));
}

#[test]
fn the_cluster_and_its_administrators_are_never_locked_out() {
    let server = start(&format!("{HERE}decision_log.to = 'file'"));
    for (user, group) in
        [("root", "system:masters"), ("system:kube-scheduler", "x"), ("system:serviceaccount:a:b", "dev")]
    {
        for name in ["no", "broken", "yes"] {
            let body = review(user, &["dev", group], name).to_string();
            assert_eq!(status(&server, "", &body), json!({ "allowed": false }), "{user} {name}");
        }
    }
    let own =
        start("kubernetes = { on = true, exempt_users = ['system:node:*'], callers.from = ['127.0.0.1'] }");
    let account = review("system:serviceaccount:a:b", &[], "no").to_string();
    assert_eq!(status(&own, "", &account)["denied"], true);
}

/// `durward generate basic`: anna, s3cret.
const ANNA: &str = "[[auth.users]]\nid = 'anna'\nname = 'anna'\npassword = \
                    '$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQxMjM0NTY$+QzL9T/y4vwK5yLwyPcXDCCH946RYwDKvHpQzCVMTnU'";

#[test]
fn whoever_asks_too_often_is_told_to_come_back_and_no_user_is_denied() {
    let server = start(&format!("kubernetes.on = true\n{ANNA}\nrequests_per_second_max = 1"));
    let body = review("ada", &["dev"], "yes").to_string();
    let replies: Vec<Reply> =
        (0..5).map(|_| post(&server, "", &[("Authorization", "Basic YW5uYTpzM2NyZXQ=")], &body)).collect();
    let statuses: Vec<u16> = replies.iter().map(|reply| reply.status).collect();
    assert_eq!(statuses[0], 200);
    assert!(
        statuses.contains(&429) && statuses.iter().all(|status| [200, 429].contains(status)),
        "{statuses:?}"
    );
    for reply in replies {
        match reply.status {
            429 => assert_eq!(reply.header("retry-after"), "1"),
            _ => assert_eq!(reply.json()["status"]["allowed"], true),
        }
    }
}

#[test]
fn only_known_callers_are_answered() {
    let body = review("ada", &["dev"], "yes").to_string();
    let asked = |server: &TestServer, headers: &[(&str, &str)]| post(server, "", headers, &body).status;
    let server = start(HERE);
    assert_eq!(asked(&server, &[]), 200);
    // A proxy in between has this address for everybody.
    for name in ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"] {
        assert_eq!(asked(&server, &[(name, "for=127.0.0.1")]), 401, "{name}");
    }
    assert_eq!(
        asked(&server, &[("Authorization", "Basic YTpi")]),
        401,
        "wrong credentials are not overlooked"
    );
    let server = start(&format!("kubernetes.on = true\n{ANNA}"));
    assert_eq!(asked(&server, &[("Authorization", "Basic YW5uYTpzM2NyZXQ=")]), 200);
    assert_eq!(asked(&server, &[]), 401);
    // That nobody needs credentials elsewhere is no word of the operator about this.
    let server =
        start("auth.danger_allow_no_auth = true\nkubernetes = { on = true, callers.from = ['192.0.2.1'] }");
    assert_eq!(asked(&server, &[]), 401);
    assert_eq!(start("").send("POST", PATH, &[], b"").status, 404);
}

//! `/json/policies`: what agents are told of decisions by SAPL's and XACML's policies, who may ask, and about whom.

use std::sync::Arc;

use durward_session::identity::SystemEntropy;
use durward_session::identity::session::User;
use durward_session::identity::user::{Account, Directory as Users, HashCosts, Password, StoredPassword};
use serde_json::{Value, json};

use crate::support::{Directory, Reply, TestServer};

const CHEAP: HashCosts = HashCosts { memory_kib: 8, passes: 1, lanes: 1 };

const JSON: (&str, &str) = ("Content-Type", "application/json");

const SAPL: [(&str, &str); 6] = [
    (
        "staff.sapl",
        r#"policy "staff get records" permit
             action == "GET"; resource =~ "/records/.*"; "staff" in subject.groups;
             environment.application == "web"; environment.realm == "/";"#,
    ),
    (
        "told.sapl",
        r#"policy "what an agent can be told" permit
             action == "POST"; resource == "/records/told"; subject.user == "demo";
           obligation { "type": "openam:attributes", "values": { "uid": [subject.user] } }"#,
    ),
    (
        "logged.sapl",
        r#"policy "what an agent cannot do" permit
             action == "POST"; resource == "/records/logged"; subject.user == "demo";
           obligation { "type": "log" }
           advice { "type": "openam:attributes", "values": { "uid": ["demo"] } }"#,
    ),
    (
        "changed.sapl",
        r#"policy "another resource" permit
             action == "POST"; resource == "/records/changed"; subject.user == "demo";
           transform "blackened""#,
    ),
    (
        "lacking.sapl",
        r#"policy "a second step is missing" deny
             action == "POST"; resource == "/records/strong";
           advice { "type": "openam:advices", "values": { "AuthLevelConditionAdvice": ["1"] } }"#,
    ),
    (
        "claims.sapl",
        r#"policy "claims and circumstances" permit
             action == "GET"; resource == "/claimed"; subject.sub == "carl"; environment.values.IP == ["192.0.2.1"];"#,
    ),
];

const APPLICATIONS: &str = "[[openam.applications]]\nname = 'web'\nactions = ['GET', 'POST']\n\
     resources = ['/records/*', '/records/told', '/records/a/b', '/claimed']\n\
     [[openam.applications]]\nname = 'xacml'\nactions = ['read', 'write']\nask = 'xacml'\n\
     [[openam.applications]]\nrealm = '/sales'\n";

/// `demo` of the staff, whom policies are about; `carl`; `robot`, an agent; `amadmin`; in the realm `/sales`, another agent.
fn fill(directory: &Directory) {
    let users = Users::open(&directory.path("users"), CHEAP, Arc::new(SystemEntropy)).unwrap();
    let password = StoredPassword::hash(&Password::new("changeit").unwrap(), CHEAP, &SystemEntropy).unwrap();
    for (realm, name, group) in [
        ("/", "demo", "staff"),
        ("/", "carl", "guests"),
        ("/", "robot", "agents"),
        ("/", "amadmin", "administrators"),
        ("/sales", "seller", "agents"),
        ("/sales", "chief", "administrators"),
    ] {
        let mut account = Account::new(&User::new(realm, name).unwrap());
        account.password = Some(password.clone());
        account.groups = vec![group.to_owned()];
        users.put(account).unwrap();
    }
}

pub(crate) struct Agents {
    pub(crate) server: TestServer,
}

impl Agents {
    pub(crate) fn new(more: &str) -> Agents {
        Agents::with(more, APPLICATIONS)
    }

    pub(crate) fn with(more: &str, applications: &str) -> Agents {
        let directory = Directory::new();
        fill(&directory);
        for (name, text) in SAPL {
            directory.write(&format!("policies/{name}"), text);
        }
        Agents::of(directory, more, applications)
    }

    fn of(directory: Directory, more: &str, applications: &str) -> Agents {
        let text = format!(
            "{more}\nidentity.users = 'users'\nidentity.realms = ['/', '/sales']\nidentity.hash_memory_kib = 8\n\
             identity.hash_passes = 1\nopenam.on = true\nopenam.policy_group = 'agents'\n{applications}"
        );
        let server = TestServer::start_in(directory, &text).unwrap();
        let agents = Agents { server };
        // The first key of sessions comes a moment after the start.
        agents.server.eventually("a login", |server| login(server, "/", "demo").status == 200);
        agents
    }

    pub(crate) fn token(&self, user: &str) -> String {
        let realm = if ["seller", "chief"].contains(&user) { "/sales" } else { "/" };
        let reply = login(&self.server, realm, user);
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.json()["tokenId"].as_str().unwrap().to_owned()
    }

    fn asked(&self, path: &str, token: &str, body: &str) -> Reply {
        let headers = [JSON, ("iPlanetDirectoryPro", token)];
        let headers = if token.is_empty() { &headers[..1] } else { &headers };
        self.server.send("POST", &format!("/openam/json{path}"), headers, body.as_bytes())
    }

    /// What an agent is told.
    fn evaluated(&self, body: &Value) -> Value {
        let reply = self.asked("/policies?_action=evaluate", &self.token("robot"), &body.to_string());
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.json()
    }

    fn actions(&self, subject: &Value, resource: &str) -> Value {
        let body = json!({"application": "web", "resources": [resource], "subject": subject});
        self.evaluated(&body)[0]["actions"].clone()
    }

    fn refused(&self, token: &str, body: &str) -> u16 {
        let reply = self.asked("/policies?_action=evaluate", token, body);
        assert_eq!(reply.json()["code"], reply.status, "{}", reply.text());
        reply.status
    }
}

fn login(server: &TestServer, realm: &str, user: &str) -> Reply {
    let headers = [("X-OpenAM-Username", user), ("X-OpenAM-Password", "changeit")];
    server.send("POST", &format!("/openam/json/authenticate?realm={realm}"), &headers, b"")
}

#[test]
fn an_agent_is_told_for_each_resource_and_action() {
    let agents = Agents::new("");
    let demo = agents.token("demo");
    let body = json!({
        "application": "web",
        "resources": ["/records/7", "/elsewhere", "/records/7"],
        "subject": {"ssoToken": demo},
        "environment": {"IP": ["192.0.2.1"]},
    });
    let one = json!({
        "resource": "/records/7", "actions": {"GET": true, "POST": false}, "attributes": {}, "advices": {}, "ttl": 0,
    });
    let other = json!({"resource": "/elsewhere", "actions": {}, "attributes": {}, "advices": {}, "ttl": 0});
    assert_eq!(agents.evaluated(&body), json!([one, other, one]));
    // The paths of a realm, and the versions.
    let (robot, body) = (agents.token("robot"), body.to_string());
    for path in ["/realms/root/policies", "/policies", "/policies/"] {
        let reply = agents.asked(&format!("{path}?_action=Evaluate&realm=/"), &robot, &body);
        assert_eq!((reply.status, reply.header("content-api-version")), (200, "resource=2.0"), "{path}");
        assert_eq!(reply.json()[0], one);
    }
    let headers = [JSON, ("iPlanetDirectoryPro", &*robot), ("Accept-API-Version", "resource=1.0")];
    let path = "/openam/json/policies?_action=evaluate";
    let reply = agents.server.send("POST", path, &headers, body.as_bytes());
    assert_eq!((reply.status, reply.header("content-api-version")), (200, "resource=1.0"));
    let headers = [JSON, ("iPlanetDirectoryPro", &*robot), ("Accept-API-Version", "resource=9.0")];
    assert_eq!(agents.server.send("POST", path, &headers, body.as_bytes()).status, 404);
    // A server may take them for others than their text begins with.
    for up in
        ["/records/../elsewhere", "/records/7/.", "/records/%2E%2e/elsewhere", "/records/..%5celsewhere"]
    {
        let body =
            json!({"application": "web", "resources": [up, "/records/7"], "subject": {"ssoToken": demo}});
        let told = agents.evaluated(&body);
        assert_eq!((&told[0]["actions"], &told[1]), (&json!({}), &one), "{up}");
    }
    // For another user, and for the agent itself where nobody is named.
    let carl = agents.token("carl");
    let none = json!({"GET": false, "POST": false});
    assert_eq!(agents.actions(&json!({"ssoToken": carl}), "/records/7"), none);
    let own = json!({"application": "web", "resources": ["/records/7"]});
    assert_eq!(agents.evaluated(&own)[0]["actions"], none);
    let by_admin = agents.asked("/policies?_action=evaluate", &agents.token("amadmin"), &body).json();
    assert_eq!(by_admin[0], one);
}

#[test]
fn whoever_has_no_session_any_more_is_permitted_nothing() {
    let agents = Agents::new("");
    let demo = agents.token("demo");
    let subject = json!({"ssoToken": demo});
    assert_eq!(agents.actions(&subject, "/records/7"), json!({"GET": true, "POST": false}));
    let out = agents.asked("/sessions?_action=logout", &demo, "");
    assert_eq!(out.status, 200, "{}", out.text());
    let none = json!({"GET": false, "POST": false});
    assert_eq!(agents.actions(&subject, "/records/7"), none);
    for subject in [
        json!({"ssoToken": "garbage"}),
        json!({"ssoToken": ""}),
        json!({"ssoToken": null}),
        json!({}),
        json!(null),
    ] {
        assert_eq!(agents.actions(&subject, "/records/7"), none, "{subject}");
    }
}

#[test]
fn a_permit_with_what_an_agent_cannot_do_is_none() {
    let agents = Agents::new("");
    let subject = json!({"ssoToken": agents.token("demo")});
    let about = |resource: &str| {
        let body = json!({"application": "web", "resources": [resource], "subject": subject});
        let mut row = agents.evaluated(&body)[0].take();
        (row["actions"]["POST"].take(), row["attributes"].take(), row["advices"].take())
    };
    assert_eq!(about("/records/told"), (json!(true), json!({"uid": ["demo"]}), json!({})));
    assert_eq!(about("/records/logged"), (json!(false), json!({}), json!({})));
    assert_eq!(about("/records/changed"), (json!(false), json!({}), json!({})));
    let advices = json!({"AuthLevelConditionAdvice": ["1"]});
    assert_eq!(about("/records/strong"), (json!(false), json!({}), advices));
}

#[test]
fn a_tree_is_a_resource_and_those_below_it_that_the_settings_name() {
    let agents = Agents::new("");
    let body = json!({
        "application": "web", "resource": "/records", "subject": {"ssoToken": agents.token("demo")},
    });
    let reply = agents.asked("/policies?_action=evaluateTree", &agents.token("robot"), &body.to_string());
    let rows = reply.json();
    let names: Vec<&Value> = rows.as_array().unwrap().iter().map(|row| &row["resource"]).collect();
    assert_eq!(names, ["/records", "/records/told", "/records/a/b"]);
    assert_eq!(rows[0]["actions"], json!({}));
    assert_eq!(rows[1]["actions"], json!({"GET": true, "POST": true}));
    assert_eq!(rows[2]["actions"], json!({"GET": true, "POST": false}));
}

#[test]
fn agents_and_administrators_ask_and_nobody_else() {
    let agents = Agents::new("");
    let body = json!({"application": "web", "resources": ["/records/7"]}).to_string();
    let sold = json!({"resources": ["/x"]}).to_string();
    assert_eq!(agents.refused("", &body), 401);
    assert_eq!(agents.refused("garbage", &body), 401);
    for user in ["demo", "carl", "seller", "chief"] {
        assert_eq!(agents.refused(&agents.token(user), &body), 403, "{user}");
    }
    // Each realm has applications of its own; agents of the root realm ask in all.
    for (user, status) in [("seller", 200), ("chief", 200), ("robot", 200), ("amadmin", 200), ("demo", 403)] {
        let reply = agents.asked("/sales/policies?_action=evaluate", &agents.token(user), &sold);
        assert_eq!(reply.status, status, "{user}: {}", reply.text());
    }
    let reply = agents.asked("/sales/policies?_action=evaluate", &agents.token("seller"), &body);
    assert_eq!(reply.status, 404, "{}", reply.text());
    // A page of another site asks nothing.
    let cookie = format!("iPlanetDirectoryPro={}", agents.token("robot"));
    let headers = [JSON, ("Cookie", &*cookie), ("Sec-Fetch-Site", "cross-site")];
    let path = "/openam/json/policies?_action=evaluate";
    assert_eq!(agents.server.send("POST", path, &headers, body.as_bytes()).status, 401);
    // Policies themselves are neither read nor written.
    let robot = agents.token("robot");
    for (path, body) in [
        ("/policies?_action=create", "{}"),
        ("/policies?_action=import", "{}"),
        ("/policies/one?_action=evaluate", "{}"),
    ] {
        assert_eq!(agents.asked(path, &robot, body).status, 501, "{path}");
    }
    let listed = agents.server.send(
        "GET",
        "/openam/json/policies?_queryFilter=true",
        &[("iPlanetDirectoryPro", &robot)],
        b"",
    );
    assert_eq!(listed.status, 501);
    let admins_only = Agents::with("", "").server;
    let reply = admins_only.send("POST", path, &[JSON], body.as_bytes());
    assert_eq!(reply.status, 401);
}

#[test]
fn what_is_no_question_is_refused() {
    let agents = Agents::new("");
    let robot = agents.token("robot");
    let (demo, carl) = (agents.token("demo"), agents.token("carl"));
    for body in [
        String::new(),
        "[]".to_owned(),
        "{}".to_owned(),
        json!({"application": "web"}).to_string(),
        json!({"application": "web", "resources": []}).to_string(),
        json!({"application": "web", "resources": "/records/7"}).to_string(),
        json!({"application": "web", "resources": [""]}).to_string(),
        json!({"application": "web", "resources": [7]}).to_string(),
        json!({"application": "web", "resources": ["/records/7\n"]}).to_string(),
        json!({"application": "web", "resources": vec!["/records/7"; 65]}).to_string(),
        json!({"application": 7, "resources": ["/records/7"]}).to_string(),
        json!({"application": "web", "resources": ["/a"], "environment": {"IP": "x"}}).to_string(),
        json!({"application": "web", "resources": ["/a"], "environment": {"IP": [1]}}).to_string(),
        json!({"application": "web", "resources": ["/a"], "environment": []}).to_string(),
        json!({"application": "web", "resources": ["/a"], "subject": {"ssoToken": demo, "jwt": "x"}}).to_string(),
        json!({"application": "web", "resources": ["/a"], "subject": {"ssoToken": carl, "claims": {"groups": ["staff"]}}})
            .to_string(),
        json!({"application": "web", "resources": ["/records/7"], "subject": {"claims": {"session": demo}}}).to_string(),
        json!({"application": "web", "resources": ["/records/7"], "subject": {"jwt": "a.b.c"}}).to_string(),
        // Nobody believes an agent who it is about, unless the settings do.
        json!({"application": "web", "resources": ["/records/7"], "subject": {"claims": {"groups": ["staff"]}}})
            .to_string(),
        format!("{{\"application\":\"web\",\"resources\":[\"/records/7\"],\"subject\":{{\"ssoToken\":\"{carl}\",\"ssoToken\":\"{demo}\"}}}}"),
        format!("{{\"application\":\"web\",\"resources\":[\"/records/7\"],\"subject\":{{}},\"subject\":{{\"ssoToken\":\"{demo}\"}}}}"),
    ] {
        let status = agents.refused(&robot, &body);
        let expected = if body == "{}" { 404 } else { 400 };
        assert_eq!(status, expected, "{body}");
    }
    let unknown = json!({"application": "nope", "resources": ["/a"]}).to_string();
    assert_eq!(agents.refused(&robot, &unknown), 404);
}

#[test]
fn claims_count_where_the_settings_say_so() {
    let agents = Agents::new("identity.subjects_asserted_by = 'authenticated'");
    let ask = |claims: Value, environment: Value| {
        let body = json!({
            "application": "web", "resources": ["/claimed"], "subject": {"claims": claims}, "environment": environment,
        });
        agents.evaluated(&body)[0]["actions"]["GET"].clone()
    };
    assert_eq!(ask(json!({"sub": "carl"}), json!({"IP": ["192.0.2.1"]})), true);
    assert_eq!(ask(json!({"sub": "carl"}), json!({"IP": ["192.0.2.2"]})), false);
    assert_eq!(ask(json!({"sub": "demo"}), json!({"IP": ["192.0.2.1"]})), false);
    assert_eq!(ask(json!({}), json!({"IP": ["192.0.2.1"]})), false);
}

/// A rule that permits where a subject has the role, about a resource and an action, with an obligation of this name.
fn rule(role: &str, resource: &str, action: &str, obligation: &str) -> String {
    let one = |category: &str, id: &str, value: &str| {
        format!(
            r#"<AnyOf><AllOf><Match MatchId="urn:oasis:names:tc:xacml:1.0:function:string-equal">
               <AttributeValue DataType="http://www.w3.org/2001/XMLSchema#string">{value}</AttributeValue>
               <AttributeDesignator Category="{category}" AttributeId="{id}"
               DataType="http://www.w3.org/2001/XMLSchema#string" MustBePresent="false"/></Match></AllOf></AnyOf>"#
        )
    };
    let category = "urn:oasis:names:tc:xacml:3.0:attribute-category";
    let subject = "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject";
    let target = [
        one(subject, "urn:oasis:names:tc:xacml:2.0:subject:role", role),
        one(&format!("{category}:resource"), "urn:oasis:names:tc:xacml:1.0:resource:resource-id", resource),
        one(&format!("{category}:action"), "urn:oasis:names:tc:xacml:1.0:action:action-id", action),
        one(&format!("{category}:environment"), "urn:durward:openam:application", "xacml"),
        one(&format!("{category}:environment"), "urn:durward:openam:environment:IP", "192.0.2.1"),
    ]
    .concat();
    let obligations = match obligation {
        "" => String::new(),
        id => format!(
            r#"<ObligationExpressions><ObligationExpression ObligationId="{id}" FulfillOn="Permit">
               <AttributeAssignmentExpression AttributeId="uid"><AttributeValue
               DataType="http://www.w3.org/2001/XMLSchema#string">demo</AttributeValue>
               </AttributeAssignmentExpression></ObligationExpression></ObligationExpressions>"#
        ),
    };
    format!(
        r#"<Rule RuleId="{resource}-{action}" Effect="Permit"><Target>{target}</Target>{obligations}</Rule>"#
    )
}

#[test]
fn policies_of_xacml_are_asked_once_about_all() {
    let directory = Directory::new();
    fill(&directory);
    let rules = [
        rule("staff", "/records/7", "read", ""),
        rule("staff", "/records/8", "write", "urn:durward:openam:attributes"),
        rule("staff", "/records/8", "read", "urn:example:log"),
    ]
    .concat();
    directory.write(
        "policies/records.xml",
        &format!(
            r#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="p" Version="1.0"
               RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:deny-unless-permit">
               <Target/>{rules}</Policy>"#
        ),
    );
    let agents = Agents::of(directory, "decision_log.to = 'file'", APPLICATIONS);
    let (demo, carl) = (agents.token("demo"), agents.token("carl"));
    let about = |subject: Value| {
        let rows = agents.evaluated(&json!({
            "application": "xacml", "resources": ["/records/7", "/records/8"], "subject": subject,
            "environment": {"IP": ["192.0.2.1"]},
        }));
        let row = |at: usize| (rows[at]["actions"].clone(), rows[at]["attributes"].clone());
        [row(0), row(1)]
    };
    let none = json!({"read": false, "write": false});
    let [seven, eight] = about(json!({"ssoToken": demo}));
    assert_eq!(seven, (json!({"read": true, "write": false}), json!({})));
    // The obligation of `read` is nothing that an agent knows.
    assert_eq!(eight, (json!({"read": false, "write": true}), json!({"uid": ["demo"]})));
    for subject in [json!({"ssoToken": carl}), json!({"ssoToken": "garbage"}), json!({})] {
        assert_eq!(about(subject.clone()), [(); 2].map(|()| (none.clone(), json!({}))), "{subject}");
    }
    let asserted = json!({
        "application": "xacml", "resources": ["/records/7"], "subject": {"claims": {"sub": "demo"}},
    });
    assert_eq!(agents.refused(&agents.token("robot"), &asserted.to_string()), 400);
    agents.server.eventually("the decision log", |server| {
        let text = std::fs::read_to_string(server.directory.path("decisions.jsonl")).unwrap_or_default();
        let lines = text.lines().filter(|line| line.contains("\"surface\":\"openam\"")).count();
        assert!(!text.contains(&demo), "a token is in the log");
        lines >= 12
    });
}

#[test]
fn where_decisions_are_not_answered_policies_are_not_either() {
    let agents = Agents::new("server.surfaces = ['login', 'health']");
    let body = json!({"application": "web", "resources": ["/records/7"]}).to_string();
    assert_eq!(agents.refused(&agents.token("amadmin"), &body), 403);
}

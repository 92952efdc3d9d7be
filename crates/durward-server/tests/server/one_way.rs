//! Every surface that decides, one after the other: one limit for callers, one decision log, one trace.

use std::time::Instant;

use durward_server::ROUTES;
use durward_wire::rsocket::frame::{ErrorCode, Interaction};
use serde_json::{Value, json};

use crate::openam::Agents;
use crate::rsocket::Client;
use crate::support::{Directory, Reply, TestServer};

/// Indeterminate for whoever has no role.
const RECORDS: &str = r#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="records" Version="1.0"
    RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:permit-overrides">
  <Target/>
  <Rule RuleId="doctors" Effect="Permit">
    <Target><AnyOf><AllOf>
      <Match MatchId="urn:oasis:names:tc:xacml:1.0:function:string-equal">
        <AttributeValue DataType="http://www.w3.org/2001/XMLSchema#string">doctor</AttributeValue>
        <AttributeDesignator Category="urn:oasis:names:tc:xacml:1.0:subject-category:access-subject"
          AttributeId="role" DataType="http://www.w3.org/2001/XMLSchema#string" MustBePresent="true"/>
      </Match>
    </AllOf></AnyOf></Target>
  </Rule>
</Policy>"#;

const SETTINGS: &str = "sapl.http = true\nauthzen.on = true\nrsocket.listen = '127.0.0.1:0'\n\
    auth.danger_allow_no_auth = true\nidentity.subjects_asserted_by = 'danger-anybody'\n\
    xacml.wso2_paths = true\nxacml.authzforce_domain = 'd'\n\
    authzen.entities = [{ path = 'entities.jsonl' }]\nauthzen.actions = [{ name = 'read' }]\n";

const COLUMNS: &str =
    "[[plan.columns.records.column]]\nname = 'owner'\ntype = 'text'\nnulls = 'never'\ncollation = 'binary'\n";

/// Members of `/pdp`'s JSON and SAPL's, with a value that no log is to show.
pub(crate) const SECRET: &str = "zebra-7531";

pub(crate) const XACML: &str =
    r#"{"Request":{"AccessSubject":{"Attribute":[{"AttributeId":"name","Value":"zebra-7531"}]}}}"#;
pub(crate) const SAPL: &str = r#"{"subject":{"name":"zebra-7531"},"action":"read","resource":"r"}"#;
const AUTHZEN: &str = r#"{"subject":{"type":"user","id":"zebra-7531"},"action":{"name":"read"},"resource":{"type":"record","id":"r"}}"#;

/// One way to ask over HTTP: how the decision log calls it, and what is sent.
pub(crate) struct Way {
    pub(crate) surface: &'static str,
    pub(crate) route: &'static str,
    pub(crate) path: &'static str,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
    /// Whether it grants nothing and finds nothing, so that nothing is written of it: a search without results.
    pub(crate) finds_nothing: bool,
}

/// All of them. A route that decides and is not here fails [`every_route_that_decides_is_walked`].
pub(crate) fn ways() -> Vec<Way> {
    let way = |surface, route, path, body: &str| Way {
        surface,
        route,
        path,
        content_type: "application/json",
        body: body.to_owned(),
        finds_nothing: false,
    };
    let several = format!(r#"{{"a":{SAPL}}}"#);
    let mut question: Value = serde_json::from_str(SAPL).unwrap();
    question["resource"] = serde_json::json!({ "type": "record" });
    question["columns"] = "records".into();
    question["dialect"] = "sqlite".into();
    let question = question.to_string();
    let batch = format!(r#"{{"evaluations":[{AUTHZEN}]}}"#);
    let search = |part: &str, rest: &str| {
        let mut question: Value = serde_json::from_str(&AUTHZEN.replace(SECRET, "ada")).unwrap();
        question[part] = serde_json::from_str(rest).unwrap();
        question.to_string()
    };
    let no_action = AUTHZEN.replace(r#""action":{"name":"read"},"#, "").replace(SECRET, "ada");
    let searching =
        |route, path, body: String| Way { finds_nothing: true, ..way("authzen", route, path, &body) };
    vec![
        way("xacml", "/pdp", "/pdp", XACML),
        way("http", "decide-once", "/api/pdp/decide-once", SAPL),
        way("http", "multi-decide-all-once", "/api/pdp/multi-decide-all-once", &several),
        way("http", "plan", "/v1/plan", &question),
        way("authzen", "evaluation", "/access/v1/evaluation", AUTHZEN),
        way("authzen", "evaluations", "/access/v1/evaluations", &batch),
        searching("search-subject", "/access/v1/search/subject", search("subject", r#"{"type":"user"}"#)),
        searching(
            "search-resource",
            "/access/v1/search/resource",
            search("resource", r#"{"type":"record"}"#),
        ),
        searching("search-action", "/access/v1/search/action", no_action),
    ]
}

/// A server that answers on every surface, with a user who is an agent of OpenAM.
pub(crate) struct Everywhere(pub(crate) Agents);

impl Everywhere {
    pub(crate) fn new(more: &str) -> Everywhere {
        Everywhere::with(RECORDS, more)
    }

    pub(crate) fn with(policy: &str, more: &str) -> Everywhere {
        let directory = Directory::new();
        directory.write("policies/records.xml", policy);
        directory.write(
            "entities.jsonl",
            "{\"type\":\"user\",\"id\":\"ada\"}\n{\"type\":\"record\",\"id\":\"r\"}\n",
        );
        let entities = directory.path("entities.jsonl");
        let settings = SETTINGS.replace("entities.jsonl", &entities.display().to_string());
        let tables =
            format!("[[openam.applications]]\nname = 'web'\nactions = ['GET']\nask = 'xacml'\n{COLUMNS}");
        Everywhere(Agents::of(directory, &format!("{settings}{more}"), &tables))
    }

    pub(crate) fn server(&self) -> &TestServer {
        &self.0.server
    }

    pub(crate) fn ask(&self, way: &Way, headers: &[(&str, &str)]) -> Reply {
        let headers: Vec<_> = [("Content-Type", way.content_type)].iter().chain(headers).copied().collect();
        self.server().send("POST", way.path, &headers, way.body.as_bytes())
    }

    /// An agent of OpenAM asks.
    pub(crate) fn ask_openam(&self, agent: &str, headers: &[(&str, &str)]) -> Reply {
        let own = [("Content-Type", "application/json"), ("iPlanetDirectoryPro", agent)];
        let headers: Vec<_> = own.iter().chain(headers).copied().collect();
        let body = json!({"application": "web", "resources": ["/r"], "subject": {"claims": {"sub": SECRET}}});
        let path = "/openam/json/policies?_action=evaluate";
        self.server().send("POST", path, &headers, body.to_string().as_bytes())
    }

    pub(crate) fn hits(&self, setting: &str) -> f64 {
        self.server().metric(&format!("durward_limits_hit_total{{limit=\"{setting}\"}}"))
    }
}

#[test]
fn every_route_that_decides_is_walked() {
    let ways = ways();
    let elsewhere = [
        // Streams of events.
        "/api/pdp/decide",
        "/api/pdp/multi-decide",
        "/api/pdp/multi-decide-all",
        // For callers who may: `explain` has tests of its own.
        "/v1/explain",
        // Other paths to the same.
        "/api/identity/entitlement/decision/pdp",
        "/api/identity/entitlement/decision/by-xacml",
        "/api/identity/entitlement/decision/by-attrib",
        "/api/identity/entitlement/decision/by-attrib-boolean",
        "/domains/{domain}/pdp",
        "/authzforce-ce/domains/{domain}/pdp",
    ];
    for route in ROUTES.iter().filter(|route| route.methods.contains(&"POST") && route.decides()) {
        let is_walked = ways.iter().any(|way| way.path == route.path);
        // What programs ask about users of their own counts where questions are decided, whichever way they come: `doors` has a test.
        let is_question = ["/doors/", "/envoy."].iter().any(|start| route.path.starts_with(start));
        let is_known =
            is_question || elsewhere.contains(&route.path) || route.path.starts_with("/{tenant}/access/v1/");
        assert!(is_walked || is_known, "{} decides, and is not walked", route.path);
    }
}

/// What a test that must not depend on the machine's speed may say of a limit of so many a second: no more were answered than that.
struct Answered {
    begun: Instant,
    count: f64,
}

impl Answered {
    fn add(&mut self, is_answered: bool) -> bool {
        self.count += f64::from(u8::from(is_answered));
        is_answered
    }

    fn is_within(&self, per_second: f64) -> bool {
        // As many may come at once after a quiet second.
        self.count <= per_second.mul_add(1.0 + self.begun.elapsed().as_secs_f64(), 1.0)
    }
}

/// Whichever way is taken, what the HTTP library never sees included: one account.
#[test]
fn a_caller_has_one_limit_over_all_surfaces() {
    let limited = Everywhere::new("auth.requests_per_second_per_caller_max = 5\n");
    let mut direct = limited.server().connect();
    let mut client = Client::open(limited.server(), None);
    let mut answered = Answered { begun: Instant::now(), count: 0.0 };
    let usual = |path: &str, body: &str| {
        let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n");
        format!("{head}Content-Length: {}\r\n\r\n{body}", body.len())
    };
    let mut refused = 0;
    for round in 0..10 {
        for (path, body) in
            [("/pdp", XACML), ("/api/pdp/decide-once", SAPL), ("/access/v1/evaluation", AUTHZEN)]
        {
            direct.send(&usual(path, body));
            refused += i32::from(!answered.add(direct.answer().0 == 200));
        }
        for way in ways() {
            answered.add(limited.ask(&way, &[]).status == 200);
        }
        client.ask(2 * round + 1, Interaction::Response, "decide-once", "ada");
        answered.add(client.refused(2 * round + 1).is_none());
    }
    assert!(answered.is_within(5.0), "{}", answered.count);
    assert!(refused > 0, "the quick ones too");
    assert!(limited.hits("auth.requests_per_second_per_caller_max") > 0.0);
}

#[test]
fn every_surface_refuses_in_its_own_words() {
    let limited = Everywhere::new("auth.requests_per_second_per_caller_max = 1\n");
    for way in ways() {
        limited.server().eventually(way.path, |_| {
            let reply = limited.ask(&way, &[]);
            assert!(reply.status != 429 || reply.header("retry-after") == "1", "{}", way.path);
            reply.status == 429
        });
    }
    limited.server().eventually("a stream of events", |server| {
        let mut raw = server.connect();
        let head = "POST /api/pdp/decide HTTP/1.1\r\nHost: x\r\n";
        raw.send(&format!("{head}Content-Length: {}\r\n\r\n{SAPL}", SAPL.len()));
        let mut start = [0; 12];
        std::io::Read::read_exact(&mut raw.0, &mut start).unwrap();
        start == *b"HTTP/1.1 429"
    });
    let mut client = Client::open(limited.server(), None);
    let streams = std::cell::Cell::new(1);
    let client = std::cell::RefCell::new(&mut client);
    limited.server().eventually("a request over RSocket", |_| {
        let stream = streams.replace(streams.get() + 2);
        client.borrow_mut().ask(stream, Interaction::Response, "decide-once", "ada");
        let refused = client.borrow_mut().refused(stream);
        refused == Some((ErrorCode::Rejected as u32, "Request rate limit reached".to_owned()))
    });
    let agent = limited.0.token("robot");
    limited.server().eventually("an agent of OpenAM", |_| {
        let reply = limited.ask_openam(&agent, &[]);
        let is_told = || reply.json()["code"] == 429 && reply.header("retry-after") == "1";
        assert!(reply.status != 429 || is_told(), "{}", reply.text());
        reply.status == 429
    });
}

#[test]
fn users_may_have_limits_of_their_own_and_settings_are_read_again() {
    let users = format!(
        "auth.users = [{{ id = 'slow', name = 'slow', password = '{0}', requests_per_second_max = 1 }}, \
         {{ id = 'quick', name = 'quick', password = '{0}' }}]\n",
        crate::auth::SECRET
    );
    let server = Everywhere::new(&users);
    let as_user = |name: &str| crate::auth::basic(&format!("{name}:secret"));
    let ask = |name: &str| {
        let way = &ways()[1];
        server.ask(way, &[("Authorization", &as_user(name))]).status
    };
    server.server().eventually("the slow one is refused", |_| ask("slow") == 429);
    assert!((0..30).all(|_| ask("quick") == 200), "nobody else has a limit");
    assert!((0..30).all(|_| server.ask(&ways()[0], &[]).status == 200), "nor who needs no name");
}

/// A limit by address is no limit for a proxy: whoever stands behind it counts.
#[test]
fn who_stands_behind_a_trusted_proxy_counts_and_not_the_proxy() {
    let server = Everywhere::new(
        "auth.requests_per_second_per_caller_max = 1\nserver.trusted_proxies = ['127.0.0.1/32']\n",
    );
    let from = |address: &str| server.ask(&ways()[0], &[("X-Forwarded-For", address)]).status;
    server.server().eventually("one is refused", |_| from("192.0.2.1") == 429);
    // Each of many others asks for the first time.
    assert!((0..50).all(|number| from(&format!("198.51.100.{number}")) == 200));
}

const ALL_MAY: &str = r#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="all" Version="1.0"
    RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:deny-unless-permit">
    <Target/><Rule RuleId="all-may" Effect="Permit"/></Policy>"#;

impl Everywhere {
    fn log(&self) -> String {
        std::fs::read_to_string(self.server().directory.path("decisions.jsonl")).unwrap_or_default()
    }

    /// The lines since there were so many, once there are `count` of them.
    fn lines(&self, seen: &mut usize, count: usize) -> Vec<Value> {
        self.server().eventually("the lines are written", |_| self.log().lines().count() >= *seen + count);
        let text = self.log();
        assert_eq!(text.lines().count(), *seen + count, "{text}");
        let lines = text.lines().skip(*seen).map(|line| serde_json::from_str(line).unwrap()).collect();
        *seen += count;
        lines
    }
}

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const TRACEPARENT: (&str, &str) = ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");

/// A line of a decision that could not be made: where, why, of which request; and nothing that a caller sent as a value.
fn is_told(line: &Value, surface: &str, route: &str) {
    assert_eq!((&line["surface"], &line["route"]), (&surface.into(), &route.into()), "{line}");
    if route != "plan" {
        assert_eq!(line["decision"], "Indeterminate", "{line}");
        let reason = line["reasons"][0]["message"].as_str().unwrap();
        assert!(reason.contains("attribute `role` is missing"), "{line}");
        assert_eq!(line["reasons"][0]["policy"], "records/doctors", "{line}");
    } else {
        assert_eq!(
            (&line["plan"]["columns"], &line["plan"]["dialect"]),
            (&"records".into(), &"sqlite".into())
        );
    }
    assert_eq!(line["snapshot"], 1, "{line}");
    assert_eq!(line["trace_id"].as_str().unwrap().len(), 32, "{line}");
    assert_eq!(line["span_id"].as_str().unwrap().len(), 16, "{line}");
    assert!(line["client"].as_str().unwrap().starts_with("127.0.0.1"), "{line}");
    assert!(line["attributes"][0]["attributes"][0]["id"].is_string(), "{line}");
    assert!(!line.to_string().contains(SECRET), "{line}");
}

#[test]
fn every_surface_has_lines_with_the_reason_the_trace_and_no_values() {
    let logged = Everywhere::new("decision_log.to = 'file'\n");
    let mut seen = 0;
    for way in ways() {
        let reply = logged.ask(&way, &[TRACEPARENT, ("X-Request-Id", "walk-1")]);
        assert_eq!(reply.status, 200, "{}: {}", way.path, reply.text());
        // Of a search there are lines for what it found.
        for line in logged.lines(&mut seen, usize::from(!way.finds_nothing)) {
            is_told(&line, way.surface, way.route);
            assert_eq!((&line["trace_id"], &line["request_id"]), (&TRACE.into(), &"walk-1".into()));
            assert_ne!(line["span_id"], "00f067aa0ba902b7", "its own");
        }
    }
    let mut stream = crate::sapl::Stream::open(
        logged.server(),
        "decide",
        "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00\r\n",
        SAPL,
    );
    stream.next();
    let line = &logged.lines(&mut seen, 1)[0];
    is_told(line, "sse", "decide");
    assert_eq!(line["trace_id"], TRACE);
    let agent = logged.0.token("robot");
    assert_eq!(logged.ask_openam(&agent, &[TRACEPARENT]).status, 200);
    let line = &logged.lines(&mut seen, 1)[0];
    is_told(line, "openam", "evaluate");
    assert_eq!(line["trace_id"], TRACE);
    let mut client = Client::open(logged.server(), None);
    client.ask(1, Interaction::Response, "decide-once", SECRET);
    assert_eq!(client.refused(1), None);
    // Its protocol has no place for a trace, so one begins.
    is_told(&logged.lines(&mut seen, 1)[0], "rsocket", "decide-once");
}

#[test]
fn every_surface_names_the_policies_that_applied() {
    let logged = Everywhere::with(ALL_MAY, "decision_log.to = 'file'\ndecision_log.policies = true\n");
    let mut seen = 0;
    for way in ways() {
        assert_eq!(logged.ask(&way, &[]).status, 200, "{}", way.path);
        let line = &logged.lines(&mut seen, 1)[0];
        assert_eq!((&line["surface"], &line["route"]), (&way.surface.into(), &way.route.into()), "{line}");
        if way.route == "plan" {
            // All policies in force have a part in it.
            assert_eq!((&line["decision"], &line["plan"]["exact"]), (&"All".into(), &true.into()), "{line}");
        } else {
            assert_eq!(line["decision"], "Permit", "{line}");
            assert_eq!(line["results"][0]["policies"][0]["id"], "all", "{line}");
        }
    }
    let agent = logged.0.token("robot");
    logged.ask_openam(&agent, &[]);
    assert_eq!(logged.lines(&mut seen, 1)[0]["results"][0]["policies"][0]["id"], "all");
    let mut client = Client::open(logged.server(), None);
    client.ask(1, Interaction::Response, "decide-once", "ada");
    assert_eq!(client.refused(1), None);
    assert_eq!(logged.lines(&mut seen, 1)[0]["results"][0]["policies"][0]["id"], "all");
}

#[test]
fn a_log_may_have_lines_of_what_is_not_permitted_only() {
    let several = r#"{"Request":{"AccessSubject":[
        {"Attribute":[{"AttributeId":"role","Value":"doctor"}]}, {"Attribute":[{"AttributeId":"name","Value":"x"}]}]}}"#;
    for kept in ["not-permitted", "indeterminate"] {
        let logged =
            Everywhere::new(&format!("decision_log.to = 'file'\ndecision_log.decisions = '{kept}'\n"));
        let several = Way { body: several.to_owned(), ..ways().remove(0) };
        assert!(logged.ask(&several, &[]).text().contains("Permit"));
        let line = &logged.lines(&mut 0, 1)[0];
        assert_eq!((&line["decision"], &line["part"]), (&"Indeterminate".into(), &2.into()), "{line}");
        assert!(
            line["attributes"].is_array(),
            "those of the request are in the first line that there is: {line}"
        );
    }
    let logged =
        Everywhere::with(ALL_MAY, "decision_log.to = 'file'\ndecision_log.decisions = 'not-permitted'\n");
    let agent = logged.0.token("robot");
    ways().iter().for_each(|way| assert_eq!(logged.ask(way, &[]).status, 200));
    assert_eq!(logged.ask_openam(&agent, &[]).status, 200);
    // One that is denied comes last: had others been written, they would stand before it.
    logged.server().directory.write("policies/records.xml", &ALL_MAY.replace("Permit", "Deny"));
    logged.server().eventually("it is denied", |server| server.decide("doctor") == "Deny");
    logged.server().eventually("that is written", |_| !logged.log().is_empty());
    let log = logged.log();
    assert!(log.lines().all(|line| line.contains(r#""decision":"Deny""#)), "{log}");
}

#[test]
fn whoever_is_refused_is_told_the_trace() {
    let server = Everywhere::new("");
    let pdp = &ways()[0];
    let wrong = Way { body: "{".to_owned(), ..ways().remove(0) };
    let reply = server.ask(&wrong, &[TRACEPARENT]);
    assert_eq!((reply.status, &reply.json()["trace_id"]), (400, &TRACE.into()));
    let own = reply.header("traceresponse").to_owned();
    assert!(own.starts_with(&format!("00-{TRACE}-")) && own.ends_with("-01"), "{own}");
    assert!(!own.contains("00f067aa0ba902b7"), "{own}");
    let xml = server.server().post(&[TRACEPARENT, ("Content-Type", "application/xml")], "<");
    assert!(xml.text().contains(&format!("<trace_id>{TRACE}</trace_id>")), "{}", xml.text());
    // What is no trace is not taken over, and nobody else's is told.
    for field in ["", "00-garbage", "00-00000000000000000000000000000000-00f067aa0ba902b7-01"] {
        let reply = server.ask(&wrong, &[("traceparent", field)]);
        let told = reply.json()["trace_id"].as_str().unwrap().to_owned();
        assert!(told.len() == 32 && told != TRACE && told != "0".repeat(32), "{told}");
    }
    let sapl = Way { body: "{".to_owned(), ..ways().remove(1) };
    assert!(server.ask(&sapl, &[TRACEPARENT]).header("traceresponse").contains(TRACE));
    assert_eq!(server.ask(pdp, &[TRACEPARENT]).header("traceresponse"), "", "an answer needs none");
}

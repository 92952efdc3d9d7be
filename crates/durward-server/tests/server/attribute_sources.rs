//! Attributes that requests of XACML lack: asked of a real service, a real directory, and a token.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Directory, Reply, TestServer};

const STRING: &str = "http://www.w3.org/2001/XMLSchema#string";

/// A policy that permits whoever has all these attributes of the subject, and denies nobody.
fn permits(wanted: &[(&str, &str, &str)]) -> String {
    let matches: String = wanted
        .iter()
        .map(|(id, data_type, value)| {
            let short = data_type.rsplit('#').next().unwrap();
            format!(
                r#"<Match MatchId="urn:oasis:names:tc:xacml:1.0:function:{short}-equal"><AttributeValue
                DataType="{data_type}">{value}</AttributeValue><AttributeDesignator
                Category="urn:oasis:names:tc:xacml:1.0:subject-category:access-subject" AttributeId="{id}"
                DataType="{data_type}" MustBePresent="true"/></Match>"#
            )
        })
        .collect();
    format!(
        r#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="p" Version="1.0"
        RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:deny-overrides"><Target/>
        <Rule RuleId="r" Effect="Permit"><Target><AnyOf><AllOf>{matches}</AllOf></AnyOf></Target></Rule></Policy>"#
    )
}

#[test]
fn a_published_file_is_read_at_the_start_though_only_sapl_asks_for_it() {
    let started = |name: &str| {
        let directory = Directory::new();
        directory.write("policies/p.xml", &permits(&[("role", STRING, "doctor")]));
        directory.write("right.json", "[]");
        directory.write("wrong.json", "{}");
        let text = format!("sources.published = '{}'", directory.path(name).display());
        TestServer::start_in(directory, &text).err().map(|error| error.to_string())
    };
    assert_eq!(started("right.json"), None);
    for (name, why) in [("wrong.json", "an array of attributes is needed"), ("missing.json", "missing.json")]
    {
        let said = started(name).unwrap();
        assert!(said.contains("`sources.published`") && said.contains(why), "{said}");
    }
}

fn start(directory: Directory, policy: &str, settings: &str) -> TestServer {
    directory.write("policies/p.xml", policy);
    TestServer::start_in(directory, settings).unwrap()
}

fn ask(server: &TestServer, attributes: &[(&str, &str)]) -> Reply {
    let attribute = |(id, value): &(&str, &str)| serde_json::json!({"AttributeId": id, "Value": value});
    let attributes: Vec<_> = attributes.iter().map(attribute).collect();
    let body = serde_json::json!({"Request": {"AccessSubject": {"Attribute": attributes}}}).to_string();
    let reply = server.post(&[("Content-Type", "application/json")], body);
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply
}

/// The decision, with the last word of the status and what it says.
fn decided(reply: &Reply) -> (String, String, String) {
    let json = reply.json();
    let result = &json["Response"][0];
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let code = text(&result["Status"]["StatusCode"]["Value"]);
    let code = code.rsplit(':').next().unwrap().to_owned();
    (text(&result["Decision"]), code, text(&result["Status"]["StatusMessage"]))
}

const SUBJECT_ID: &str = "urn:oasis:names:tc:xacml:1.0:subject:subject-id";

fn decide(server: &TestServer, who: &str) -> (String, String, String) {
    decided(&ask(server, &[(SUBJECT_ID, who)]))
}

/// A service of HTTP and JSON that remembers what it was asked.
struct Service {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    /// Of each request, the fields that name its trace.
    traces: Arc<Mutex<Vec<[String; 2]>>>,
}

impl Service {
    /// `answer` gets the first line of a request and its body, and says status and body, after this time.
    fn start(answer: impl Fn(&str, &str) -> (u16, String, Duration) + Send + Sync + 'static) -> Service {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let service = Service {
            address: listener.local_addr().unwrap(),
            asked: Arc::default(),
            traces: Arc::default(),
        };
        let (asked, answer) = (Arc::clone(&service.asked), Arc::new(answer));
        let traces = Arc::clone(&service.traces);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, asked, answer) = (stream.unwrap(), Arc::clone(&asked), Arc::clone(&answer));
                let traces = Arc::clone(&traces);
                thread::spawn(move || {
                    let mut trace = [String::new(), String::new()];
                    let mut reader = BufReader::new(stream.try_clone().unwrap());
                    let mut first = String::new();
                    reader.read_line(&mut first).unwrap();
                    let (mut length, mut credentials, mut line) = (0, String::new(), String::new());
                    while reader.read_line(&mut line).unwrap_or(0) > 2 {
                        let (name, value) = line.trim().split_once(": ").unwrap();
                        match name.to_ascii_lowercase().as_str() {
                            "content-length" => length = value.parse().unwrap(),
                            "traceparent" => trace[0] = value.to_owned(),
                            "tracestate" => trace[1] = value.to_owned(),
                            "authorization" => credentials = format!(" as {value}"),
                            _ => {}
                        }
                        line.clear();
                    }
                    let mut body = vec![0; length];
                    reader.read_exact(&mut body).unwrap();
                    let (first, body) = (first.trim_end(), String::from_utf8(body).unwrap());
                    let target = first.trim_end_matches(" HTTP/1.1");
                    let told = format!("{} {body}", target).trim_end().to_owned() + &credentials;
                    asked.lock().unwrap().push(told);
                    traces.lock().unwrap().push(trace);
                    let (status, body, time) = answer(first, &body);
                    thread::sleep(time);
                    let head = format!(
                        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nConnection: close\r\n"
                    );
                    // Whoever asked may have gone.
                    let _ = write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len());
                });
            }
        });
        service
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// Departments of people: ann has two, bob none, the others are answered wrongly.
fn departments() -> Service {
    Service::start(|first, _| {
        let (status, body) = match first.split(' ').nth(1).unwrap() {
            "/people/ann" => (200, r#"{"departments": ["a", "b"], "level": 7}"#),
            "/people/bob" => (200, r#"{"departments": []}"#),
            "/people/cy" => (200, r#"{"departments": null}"#),
            "/people/dan" => (500, "{}"),
            "/people/eve" => (200, "<html>"),
            "/people/fay" => (200, r#"{"departments": [{"name": "b"}]}"#),
            // As of a service that dies behind the head of its answer.
            "/people/hal" => (200, ""),
            "/people/ida" => (200, " \n"),
            _ => (404, "{}"),
        };
        (status, body.to_owned(), Duration::ZERO)
    })
}

fn department(service: &Service, more: &str) -> String {
    format!(
        "[[attributes]]\ncategory = 'subject'\nid = 'department'\n{more}\n[attributes.http]\n\
         url = 'http://{}/people/{{subject-id}}'\npointer = '/departments'\n",
        service.address
    )
}

#[test]
fn a_service_says_what_the_request_lacks() {
    let service = departments();
    let server = start(Directory::new(), &permits(&[("department", STRING, "b")]), &department(&service, ""));
    assert_eq!(decide(&server, "ann").0, "Permit");
    assert_eq!(service.asked(), ["GET /people/ann"]);
    let given = ask(&server, &[(SUBJECT_ID, "ann"), ("department", "c")]);
    assert_eq!(decided(&given).0, "NotApplicable", "what the request says is believed");
    assert_eq!(service.asked().len(), 1, "and nobody is asked");
    assert_eq!(decide(&server, "a/n n").0, "Indeterminate");
    assert_eq!(service.asked()[1], "GET /people/a%2Fn%20n");
}

/// Where a service is, and what it says, is for operators: callers learn which attribute could not be had.
#[test]
fn callers_are_not_told_why_a_source_fails_and_the_decision_log_is() {
    let service = departments();
    let settings = department(&service, "") + "[decision_log]\nto = 'file'\nredact = 'none'\n";
    let server = start(Directory::new(), &permits(&[("department", STRING, "b")]), &settings);
    let path = server.directory.path("decisions.jsonl");
    for (number, (who, cause)) in
        [("dan", "HTTP 500"), ("eve", "JSON"), ("fay", "an object"), ("..", "..")].into_iter().enumerate()
    {
        let reply = ask(&server, &[(SUBJECT_ID, who)]);
        assert_eq!(decided(&reply).2, "the attribute source for `department` failed");
        for word in [cause, "127.0.0.1", "people"] {
            assert!(!reply.text().contains(word), "{who}: {}", reply.text());
        }
        server.eventually("the line is written", |_| {
            std::fs::read_to_string(&path).unwrap().lines().count() == number + 1
        });
        let text = std::fs::read_to_string(&path).unwrap();
        let line: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        let reason = line["reasons"][0]["message"].as_str().unwrap();
        assert!(
            reason.contains("the attribute source for `department` failed: ") && reason.contains(cause),
            "{line}"
        );
    }
}

/// Each answer makes one more attribute matter, and the log says that this is why it ended.
#[test]
fn the_limit_of_rounds_is_the_reason_that_is_told_and_written() {
    let service = Service::start(|_, _| (200, "\"b\"".to_owned(), Duration::ZERO));
    let ids: Vec<String> = (0..20).map(|number| format!("a{number}")).collect();
    let one = |id: &String| {
        format!(
            "[[attributes]]\ncategory = 'subject'\nid = '{id}'\nhttp.url = 'http://{}/{id}'\n",
            service.address
        )
    };
    let settings: String = ids.iter().map(one).collect();
    // `and` stops at the first that is false, as it is until the attribute is known.
    let function = |name: &str| format!("urn:oasis:names:tc:xacml:1.0:function:{name}");
    let test = |id: &String| {
        format!(
            r#"<Apply FunctionId="urn:oasis:names:tc:xacml:3.0:function:any-of"><Function FunctionId="{}"/><AttributeValue
            DataType="{STRING}">b</AttributeValue><AttributeDesignator AttributeId="{id}" DataType="{STRING}"
            Category="urn:oasis:names:tc:xacml:1.0:subject-category:access-subject" MustBePresent="false"/></Apply>"#,
            function("string-equal")
        )
    };
    let tests: String = ids.iter().map(test).collect();
    let policy = permits(&[]).replace("<Target><AnyOf><AllOf></AllOf></AnyOf></Target>", "").replace(
        "</Rule>",
        &format!(r#"<Condition><Apply FunctionId="{}">{tests}</Apply></Condition></Rule>"#, function("and")),
    );
    let log = "[decision_log]\nto = 'file'\nredact = 'none'\n";
    let server = start(Directory::new(), &policy, &(settings + log));
    let expected = "attribute sources made further attributes matter more than 16 times";
    let (decision, code, message) = decide(&server, "ann");
    assert_eq!(
        (decision.as_str(), code.as_str(), message.as_str()),
        ("Indeterminate", "processing-error", expected)
    );
    let path = server.directory.path("decisions.jsonl");
    server.eventually("the line is written", |_| std::fs::read_to_string(&path).unwrap().ends_with('\n'));
    let line: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(line["reasons"], serde_json::json!([{ "message": expected }]), "{line}");
    assert_eq!(line["snapshot"], 1);
    assert_eq!(service.asked().len(), 16);
}

#[test]
fn a_source_that_fails_is_never_an_empty_bag() {
    let service = departments();
    let optional =
        permits(&[("department", STRING, "b")]).replace("MustBePresent=\"true\"", "MustBePresent=\"false\"");
    let server = start(Directory::new(), &optional, &department(&service, ""));
    for who in ["dan", "eve", "fay", "gus", "hal", "ida"] {
        let (decision, code, message) = decide(&server, who);
        assert_eq!(
            (decision.as_str(), code.as_str()),
            ("Indeterminate", "processing-error"),
            "{who}: {message}"
        );
        assert_eq!(message, "the attribute source for `department` failed");
    }
    for who in ["bob", "cy"] {
        assert_eq!(decide(&server, who).0, "NotApplicable", "{who} has none");
    }
    for who in ["", ".."] {
        assert_eq!(decide(&server, who).0, "Indeterminate", "`{who}` leads elsewhere");
    }
    let (decision, code, message) = decided(&ask(&server, &[("age", "7")]));
    assert_eq!((decision.as_str(), code.as_str()), ("Indeterminate", "missing-attribute"), "{message}");
    let two = decided(&ask(&server, &[(SUBJECT_ID, "ann"), (SUBJECT_ID, "bob")]));
    assert_eq!((two.0.as_str(), two.1.as_str()), ("Indeterminate", "processing-error"));
}

/// A designator without an issuer means the values of all (7.3.5): none of them may hide another's.
#[test]
fn values_of_all_issuers_are_one_bag() {
    let [one, other] = [r#"{"departments": "a"}"#, r#"{"departments": ["b"]}"#]
        .map(|body| Service::start(move |_, _| (200, body.to_owned(), Duration::ZERO)));
    let settings = department(&one, "issuer = 'one'") + &department(&other, "issuer = 'other'");
    let server = start(Directory::new(), &permits(&[("department", STRING, "b")]), &settings);
    assert_eq!(decide(&server, "ann").0, "Permit");
    assert_eq!((one.asked().len(), other.asked().len()), (1, 1));
    let failing = Service::start(|_, _| (500, String::new(), Duration::ZERO));
    let settings = department(&failing, "issuer = 'one'") + &department(&other, "issuer = 'other'");
    let server = start(Directory::new(), &permits(&[("department", STRING, "b")]), &settings);
    assert_eq!(decide(&server, "ann").0, "Indeterminate");
}

#[test]
fn nobody_there_and_nobody_in_time_are_failures() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let slow = Service::start(|_, _| (200, "{}".into(), Duration::from_secs(30)));
    let nobody = Service { address: gone, asked: Arc::default(), traces: Arc::default() };
    for service in [&nobody, &slow] {
        let settings = department(service, "answer_time_ms_max = 200");
        let server = start(Directory::new(), &permits(&[("department", STRING, "b")]), &settings);
        let begun = Instant::now();
        assert_eq!(decide(&server, "ann").0, "Indeterminate");
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    }
}

#[test]
fn what_is_wanted_at_once_is_asked_at_once_and_once() {
    let service = Service::start(|first, _| {
        let body = if first.contains("level") { "7" } else { "\"b\"" };
        (200, body.to_owned(), Duration::from_millis(300))
    });
    let integer = "http://www.w3.org/2001/XMLSchema#integer";
    let one = |id: &str, kind: &str| {
        format!(
            "[[attributes]]\ncategory = 'subject'\nid = '{id}'\ntype = '{kind}'\ncache_s = 600\n[attributes.http]\n\
             url = 'http://{}/{id}'\nmethod = 'POST'\nbody = '{{\"who\": {{subject-id}}}}'\n",
            service.address
        )
    };
    let policy = permits(&[("department", STRING, "b"), ("level", integer, "7")]);
    let server = start(Directory::new(), &policy, &(one("department", "string") + &one("level", "integer")));
    thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| decide(&server, "an\"n").0)).collect();
        threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), "Permit"));
    });
    let mut asked = service.asked();
    asked.sort();
    assert_eq!(asked, [r#"POST /department {"who": "an\"n"}"#, r#"POST /level {"who": "an\"n"}"#]);
    assert_eq!(decide(&server, "bob").0, "Permit");
    assert_eq!(service.asked().len(), 4, "another question is another question");
}

/// What a request says is a value of the body, whatever it looks like.
#[test]
fn a_value_changes_nothing_around_it_in_a_body() {
    let service = Service::start(|_, _| (200, "\"b\"".to_owned(), Duration::ZERO));
    let settings = format!(
        "[[attributes]]\ncategory = 'subject'\nid = 'department'\n[attributes.http]\nurl = 'http://{}/x'\n\
         method = 'POST'\nbody = '{{\"who\": {{subject-id}}, \"admin\": false}}'\n",
        service.address
    );
    let server = start(Directory::new(), &permits(&[("department", STRING, "b")]), &settings);
    for (number, who) in [
        "\", \"admin\": true, \"x\": \"",
        "\\",
        "\\\"",
        "a\nb\t\u{1}\u{7f}\u{2028}",
        "{subject-id}",
        "7",
        "null",
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(decide(&server, who).0, "Permit", "{who:?}");
        let asked = service.asked()[number].clone();
        let body: serde_json::Value = serde_json::from_str(asked.strip_prefix("POST /x ").unwrap()).unwrap();
        assert_eq!(body, serde_json::json!({"who": who, "admin": false}), "{asked}");
    }
}

#[test]
fn answers_are_asked_for_again_when_their_time_is_over() {
    for (cache, times) in [("cache_s = 0", 2), ("cache_s = 600", 1)] {
        let service = departments();
        let server =
            start(Directory::new(), &permits(&[("department", STRING, "b")]), &department(&service, cache));
        assert_eq!([decide(&server, "ann").0, decide(&server, "ann").0], ["Permit", "Permit"]);
        assert_eq!(service.asked().len(), times, "{cache}");
        // A failure is not remembered.
        assert_eq!([decide(&server, "dan").0, decide(&server, "dan").0], ["Indeterminate", "Indeterminate"]);
        assert_eq!(service.asked().len(), times + 2, "{cache}");
    }
}

#[test]
fn each_subject_of_several_is_asked_about() {
    let service = departments();
    let server = start(Directory::new(), &permits(&[("department", STRING, "b")]), &department(&service, ""));
    let subject = |who: &str| serde_json::json!({"Attribute": [{"AttributeId": SUBJECT_ID, "Value": who, "IncludeInResult": true}]});
    let body =
        serde_json::json!({"Request": {"AccessSubject": [subject("ann"), subject("bob"), subject("dan")]}});
    let reply = server.post(&[("Content-Type", "application/json")], body.to_string());
    let json = reply.json();
    let decisions: Vec<_> =
        json["Response"].as_array().unwrap().iter().map(|one| one["Decision"].as_str().unwrap()).collect();
    assert_eq!(decisions, ["Permit", "Indeterminate", "Indeterminate"]);
    assert_eq!(service.asked().len(), 3);
}

#[test]
fn one_source_may_need_no_other_and_credentials_come_from_a_file() {
    let service = departments();
    let directory = Directory::new();
    directory.write("token", "Bearer secret\n");
    std::fs::set_permissions(directory.path("token"), PermissionsExt::from_mode(0o600)).unwrap();
    let path = directory.path("token").display().to_string();
    let settings = department(&service, "") + &format!("authorization_path = '{path}'\n");
    let server = start(directory, &permits(&[("department", STRING, "b")]), &settings);
    assert_eq!(decide(&server, "ann").0, "Permit");
    assert_eq!(service.asked(), ["GET /people/ann as Bearer secret"]);
}

#[test]
fn policies_that_ask_nothing_ask_nobody_and_issuers_are_kept_apart() {
    let service = departments();
    let directory = Directory::new();
    let asks_hr = permits(&[("department", STRING, "b")])
        .replace("MustBePresent=\"true\"", "MustBePresent=\"true\" Issuer=\"hr\"");
    let other = department(&service, "issuer = 'payroll'");
    let server = start(directory, &asks_hr, &other);
    assert_eq!(decide(&server, "ann").1, "missing-attribute");
    assert!(service.asked().is_empty());
    let server = start(Directory::new(), &asks_hr, &department(&service, "issuer = 'hr'"));
    assert_eq!(decide(&server, "ann").0, "Permit");
}

#[test]
fn settings_that_cannot_work_stop_the_start() {
    let http = |more: &str| format!("[[attributes]]\nid = 'a'\n[attributes.http]\n{more}");
    for (settings, reason) in [
        ("[[attributes]]\nid = 'a'".to_owned(), "has no source"),
        ("[[attributes]]\nid = 'a'\nvalues = []\nhttp.url = 'http://x/'".to_owned(), "has several of"),
        (http("url = 'http://{subject-id}/'"), "without a fixed service"),
        (http("url = 'http://x/{subject_id}'"), "braces in `url`"),
        (http("url = 'http://x/{thing/id}'"), "braces in `url`"),
        (http("url = 'http://x/'\nbody = '{}'"), "has a body"),
        (http("url = 'http://x/'\nmethod = 'POST'\nbody = '{\"a\": \"{subject-id}\"}'"), "line 1, column"),
        (http("url = 'http://x/'\nmethod = 'POST'\nbody = '{\"a\": {subject_id}}'"), "`body` that is no JSON"),
        (http("url = 'http://x/'\nmethod = 'POST'\nbody = '{\"a\": 1{subject-id}}'"), "`body` that is no JSON"),
        (http("url = 'http://x/'\npointer = 'a'"), "`pointer`"),
        (http("url = 'http://x/'\nuser = 'a'"), "unknown setting `user`"),
        (http("url = 'http://x/'\nauthorization_path = '/nowhere'"), "authorization_path"),
        ("[[attributes]]\nid = 'a'\ncache_s = 5\nvalues = ['a']".to_owned(), "nothing to remember"),
        ("[[attributes]]\nid = 'a'\nldap = {directory = 'x', filter = '(a=b)', attribute = 'c'}".to_owned(), "there is no `[sources.ldap.x]`"),
        ("[[attributes]]\nid = 'a'\nldap = {directory = 'x', filter = 'a=b', attribute = 'c'}".to_owned(), "is no filter"),
        ("[[attributes]]\nid = 'a'\nldap = {directory = 'x', filter = '({subject-id}=b)', attribute = 'c'}".to_owned(), "where an attribute is named"),
        ("[[attributes]]\nid = 'a'\nldap = {directory = 'x', filter = '(m={subject-id},ou=b)', attribute = 'c'}".to_owned(), "write it behind `=`"),
        ("[[attributes]]\nid = 'a'\nldap = {directory = 'x', base = '{subject-id},ou=b', filter = '(a=b)', attribute = 'c'}".to_owned(), "write it behind `=`"),
        ("[[attributes]]\nid = 'a'\nldap = {directory = 'x', base = 'cn={subject},ou=b', filter = '(a=b)', attribute = 'c'}".to_owned(), "braces in `base`"),
        ("[[attributes]]\nid = 'a'\nldap = {directory = 'x', filter = '(a=b)', attribute = 'userPassword'}".to_owned(), "holds passwords"),
        ("[[attributes]]\nid = 'a'\njwt = {issuer = 'x', token = 'subject/t', claim = '/c'}".to_owned(), "there is no `[sources.jwt.x]`"),
        ("[[attributes]]\nid = 'a'\njwt = {issuer = 'x', token = 'token', claim = '/c'}".to_owned(), "name an attribute"),
        ("[sources.ldap.x]\nservers = []\nbase = 'dc=x'".to_owned(), "`servers`"),
        ("[sources.jwt.x]\nissuer = ''\naudiences = ['a']".to_owned(), "`sources.jwt.x.issuer` is empty"),
    ] {
        let read = durward_server::Settings::from_toml(&settings, "t");
        let error = match read {
            Err(error) => error.to_string(),
            Ok(_) => {
                let directory = Directory::new();
                directory.write("policies/p.xml", &permits(&[]).replace("<AnyOf><AllOf></AllOf></AnyOf>", ""));
                let started = TestServer::start_in(directory, &settings).map(drop);
                started.unwrap_err().to_string()
            }
        };
        assert!(error.contains(reason), "{settings}\n{error}");
    }
}

#[cfg(feature = "tls")]
#[test]
fn a_claim_of_a_token_is_believed_if_the_token_is() {
    let token = crate::jwt::Signed::new();
    let directory = Directory::new();
    directory.write("keys.json", &token.keys());
    let settings = format!(
        "[[attributes]]\ncategory = 'subject'\nid = 'role'\njwt = {{issuer = 'idp', token = 'subject/token', \
         claim = '/realm/roles'}}\n[sources.jwt.idp]\nissuer = 'https://idp'\naudiences = ['durward']\nkeys = '{}'",
        directory.path("keys.json").display()
    );
    let server = start(directory, &permits(&[("role", STRING, "doctor")]), &settings);
    let decide = |token: &str| decided(&ask(&server, &[("token", token)]));
    let good = |roles: serde_json::Value| token.of(&serde_json::json!({"realm": {"roles": roles}}));
    assert_eq!(decide(&good(serde_json::json!(["nurse", "doctor"]))).0, "Permit");
    assert_eq!(decide(&good(serde_json::json!("nurse"))).0, "NotApplicable");
    assert_eq!(decide(&good(serde_json::json!(null))).1, "missing-attribute");
    for bad in [
        token.of(&serde_json::json!({"realm": {"roles": "doctor"}, "exp": 1})),
        token.of(&serde_json::json!({"realm": {"roles": "doctor"}, "aud": "other"})),
        // Whoever has found a token that is bound to a key, or to a certificate, has half of it.
        token.of(&serde_json::json!({"realm": {"roles": "doctor"}, "cnf": {"jkt": "abc"}})),
        token.of(&serde_json::json!({"realm": {"roles": "doctor"}, "cnf": {"x5t#S256": "abc"}})),
        token.of(&serde_json::json!({"realm": {"roles": "doctor"}, "cnf": null})),
        good(serde_json::json!("doctor")) + "x",
        "none".to_owned(),
    ] {
        let (decision, code, message) = decide(&bad);
        assert_eq!((decision.as_str(), code.as_str()), ("Indeterminate", "processing-error"), "{message}");
        assert_eq!(message, "the attribute source for `role` failed");
    }
    assert_eq!(decided(&ask(&server, &[])).1, "missing-attribute");
}

#[test]
fn a_directory_is_searched_with_what_the_request_says_and_nothing_more() {
    use crate::slapd::{BASE, Far, SEARCHER, Slapd};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let Some(slapd) = runtime.block_on(Slapd::start(Far::Nowhere)) else { return };
    let settings = format!(
        "[[attributes]]\ncategory = 'subject'\nid = 'group'\nldap = {{directory = 'people', filter = \
         '(&(objectClass=inetOrgPerson)(uid={{subject-id}}))', attribute = 'memberOf'}}\n\
         [sources.ldap.people]\nservers = ['{}']\nbase = '{BASE}'\nauthorities = '{}'\nsearch_as = '{SEARCHER}'\n\
         search_password_path = '{}'\nanswer_time_ms_max = 500\nconnect_time_ms_max = 500",
        slapd.tls_url(),
        slapd.ca().display(),
        slapd.password().display()
    );
    let doctors = "cn=doctors,ou=groups,dc=example,dc=org";
    let server = start(Directory::new(), &permits(&[("group", STRING, doctors)]), &settings);
    assert_eq!(decide(&server, "anna").0, "Permit");
    assert_eq!(decide(&server, "nobody").1, "missing-attribute");
    for who in ["*", "anna)(uid=*", "a*", "anna\\", "\u{0}"] {
        assert_eq!(decide(&server, who).1, "missing-attribute", "`{who}` is a name like others");
    }
    // The same with the subject's name within the name of an entry.
    let (first, rest) = settings.split_once("ldap = {").unwrap();
    let (_, rest) = rest.split_once("}\n").unwrap();
    let rest = format!("attribute = 'memberOf'}}\n{rest}");
    for ldap in [
        format!("base = 'uid={{subject-id}},{BASE}', filter = '(objectClass=inetOrgPerson)', "),
        format!("filter = '(entryDN=uid={{subject-id}},{BASE})', "),
    ] {
        let settings = format!("{first}ldap = {{directory = 'people', {ldap}{rest}");
        let server = start(Directory::new(), &permits(&[("group", STRING, doctors)]), &settings);
        assert_eq!(decide(&server, "anna").0, "Permit", "{ldap}");
        for who in
            ["anna,ou=people", "anna+cn=Anna A", "#616e6e61", "anna\\", "\u{0}", "*", "anna)(uid=*", "an\"na"]
        {
            assert_ne!(decide(&server, who).0, "Permit", "{ldap}: `{who}` is a name like others");
        }
    }
    drop(slapd);
    let (decision, code, message) = decide(&server, "anna");
    assert_eq!((decision.as_str(), code.as_str()), ("Indeterminate", "processing-error"), "{message}");
}

/// By the number of its trace, what a service was asked is found beside the decision that it was asked for.
#[test]
fn services_are_asked_within_the_trace_of_the_request() {
    let service = departments();
    let settings = department(&service, "") + "[decision_log]\nto = 'file'\n";
    let server = start(Directory::new(), &permits(&[("department", STRING, "b")]), &settings);
    let body = format!(
        r#"{{"Request":{{"AccessSubject":{{"Attribute":[{{"AttributeId":"{SUBJECT_ID}","Value":"ann"}}]}}}}}}"#
    );
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let parent = format!("00-{trace}-00f067aa0ba902b7-01");
    let headers = [
        ("Content-Type", "application/json"),
        ("traceparent", &*parent),
        ("tracestate", "rojo=1,congo=t61rc"),
    ];
    assert!(server.post(&headers, &body).text().contains("Permit"));
    let path = server.directory.path("decisions.jsonl");
    server.eventually("the line is written", |_| std::fs::read_to_string(&path).unwrap().ends_with('\n'));
    let line: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(line["trace_id"], trace);
    let expected = format!("00-{trace}-{}-01", line["span_id"].as_str().unwrap());
    assert_eq!(*service.traces.lock().unwrap(), [[expected, "rojo=1,congo=t61rc".to_owned()]]);
    // Without one, a trace begins.
    decide(&server, "bob");
    let traces = service.traces.lock().unwrap().clone();
    assert!(traces[1][0].starts_with("00-") && !traces[1][0].contains(trace) && traces[1][1].is_empty());
}

/// The attributes of SAPL's policies are asked for by a task of their own, which knows for whom.
#[test]
fn attributes_of_sapl_are_asked_for_within_the_trace_as_well() {
    let service = departments();
    let directory = Directory::new();
    let ask = format!(
        r#"<http.get({{"baseUrl": "http://{}", "path": "/people/ann"}})>.level == 7"#,
        service.address
    );
    directory.write("policies/p.sapl", &format!("policy \"level\" permit {ask};"));
    let server =
        TestServer::start_in(directory, "sapl.http = true\nauth.danger_allow_no_auth = true\n").unwrap();
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
    let body = br#"{"subject":"a","action":"b","resource":"c"}"#;
    let reply = server.send("POST", "/api/pdp/decide-once", &[("traceparent", parent)], body);
    assert_eq!(reply.json()["decision"], "PERMIT", "{}", reply.text());
    let traces = service.traces.lock().unwrap().clone();
    assert!(traces[0][0].starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-"), "{traces:?}");
    assert!(traces[0][0].ends_with("-00"), "whoever asks does not record it: {traces:?}");
}

//! Users, sessions and decisions over HTTP: log in, validate, decide, log out, and see the decision turn.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::sync::Arc;
use std::time::Duration;

use durward_server::{ROUTES, StartError};
use durward_session::identity::SystemEntropy;
use durward_session::identity::session::User;
use durward_session::identity::user::{Account, Directory as Users, HashCosts, Password, StoredPassword};
use serde_json::{Value, json};

use crate::support::{Directory, Raw, Reply, TestServer, clock, settings};

const CHEAP: HashCosts = HashCosts { memory_kib: 8, passes: 1, lanes: 1 };

const SETTINGS: &str = "sapl.http = true\nauth.danger_allow_no_auth = true\n\
                        [identity]\nusers = 'users'\nhash_memory_kib = 8\nhash_passes = 1\naudit = 'audit'\n";

/// Members of the staff read; nobody else does.
const STAFF_READ: &str = "policy \"staff reads\" permit action == \"read\"; \"staff\" in subject.groups; subject.realm == \"/\";\n";

/// `anna` of the staff, `berta` of nothing, `root` who administers; all have the password `secret`.
pub(crate) fn fill(directory: &Directory) {
    let users = Users::open(&directory.path("users"), CHEAP, Arc::new(SystemEntropy)).unwrap();
    let password = StoredPassword::hash(&Password::new("secret").unwrap(), CHEAP, &SystemEntropy).unwrap();
    for (name, group) in [("anna", "staff"), ("berta", "guests"), ("root", "administrators")] {
        let user = User::new("/", name).unwrap();
        let (password, groups) = (Some(password.clone()), vec![group.to_owned()]);
        users.put(Account { password, groups, ..Account::new(&user) }).unwrap();
    }
}

fn try_start(settings: &str) -> Result<TestServer, StartError> {
    try_start_with(STAFF_READ, settings)
}

fn try_start_with(policy: &str, settings: &str) -> Result<TestServer, StartError> {
    let directory = Directory::new();
    fill(&directory);
    directory.write("policies/staff.sapl", policy);
    TestServer::start_in(directory, settings)
}

pub(crate) fn start(more: &str) -> TestServer {
    start_with(STAFF_READ, more)
}

fn start_with(policy: &str, more: &str) -> TestServer {
    until_ready(try_start_with(policy, &format!("{SETTINGS}{more}")).unwrap())
}

fn until_ready(server: TestServer) -> TestServer {
    server.eventually("the node is ready", |server| server.get("/health/ready").status == 200);
    server.eventually("it has a key", |server| {
        post(server, "/v1/login", None, &json!({ "user": "berta", "password": "secret" })).status == 200
    });
    server
}

pub(crate) fn post(server: &TestServer, path: &str, token: Option<&str>, body: &Value) -> Reply {
    let bearer = token.map(|token| format!("Bearer {token}"));
    let mut headers = vec![("Content-Type", "application/json")];
    headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
    server.send("POST", path, &headers, body.to_string().as_bytes())
}

pub(crate) fn get(server: &TestServer, path: &str, token: &str) -> Reply {
    server.send("GET", path, &[("Authorization", &format!("Bearer {token}"))], b"")
}

pub(crate) fn login(server: &TestServer, user: &str) -> Value {
    let reply = post(server, "/v1/login", None, &json!({ "user": user, "password": "secret" }));
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("cache-control"), "no-store");
    reply.json()
}

pub(crate) fn token(server: &TestServer, user: &str) -> String {
    login(server, user)["token"].as_str().unwrap().to_owned()
}

fn is_valid(server: &TestServer, token: &str) -> bool {
    let reply = post(server, "/v1/sessions/validate", Some(token), &json!({}));
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()["valid"].as_bool().unwrap()
}

fn ask(token: &str) -> Value {
    json!({ "subject": { "session": token }, "action": "read", "resource": "records" })
}

fn decide(server: &TestServer, subscription: &Value) -> String {
    let reply = post(server, "/api/pdp/decide-once", None, subscription);
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()["decision"].as_str().unwrap().to_owned()
}

#[test]
fn a_session_is_granted_validated_and_ended() {
    let server = start("");
    let anna = login(&server, "anna");
    assert_eq!(
        (&anna["user"], &anna["realm"], &anna["groups"][0]),
        (&json!("anna"), &json!("/"), &json!("staff"))
    );
    let token = anna["token"].as_str().unwrap();
    assert!(is_valid(&server, token));
    let in_body = post(&server, "/v1/sessions/validate", None, &json!({ "token": token, "touch": false }));
    assert_eq!(in_body.json()["session"], anna["session"]);
    let session = get(&server, "/v1/session", token).json();
    assert_eq!(session["sessions"][0]["session"], anna["session"]);
    let again = post(&server, "/v1/sessions/refresh", Some(token), &json!({}));
    assert_eq!(again.json()["session"], anna["session"]);
    assert_eq!(post(&server, "/v1/sessions/logout", Some(token), &json!({})).status, 200);
    assert!(!is_valid(&server, token) && !is_valid(&server, again.json()["token"].as_str().unwrap()));
    let twice = post(&server, "/v1/sessions/logout", Some(token), &json!({}));
    assert_eq!((twice.status, twice.header("www-authenticate")), (401, "Bearer"));
}

/// With a word about the connection that only the HTTP library understands, it answers; without, the connection's own task does. The library
/// has a clock of its own, so the date tells who it was.
#[test]
fn a_validation_is_answered_alike_by_whoever_reads_it() {
    let directory = Directory::new();
    fill(&directory);
    directory.write("policies/staff.sapl", STAFF_READ);
    let (settings, today) = (settings(&directory, SETTINGS), clock());
    let tomorrow = Arc::new(move || today() + Duration::from_secs(24 * 60 * 60));
    let server = until_ready(TestServer::start_at(directory, settings, tomorrow, |_| {}).unwrap());
    let token = token(&server, "anna");
    let bearer = format!("Bearer {token}");
    let (json, text) = (("Content-Type", "application/json"), ("Content-Type", "text/plain"));
    let shown = ("Authorization", bearer.as_str());
    let cookie = format!("durward_session={token}");
    let in_body = json!({ "token": token, "touch": false }).to_string();
    let long = json!({ "token": "x".repeat(20_000) }).to_string();
    type Fields<'f> = &'f [(&'f str, &'f str)];
    let cases: [(Fields<'_>, &str, u16); 16] = [
        (&[shown], "", 200),
        (&[shown, json], "{}", 200),
        (&[json], &in_body, 200),
        (&[("Authorization", "Bearer other"), json], &in_body, 200),
        (&[("Authorization", "bearer  forged ")], "", 200),
        (&[("Authorization", "Bearer ")], "", 401),
        (&[json], r#"{"token":""}"#, 200),
        (&[shown, ("Cookie", "durward_session=other")], "", 200),
        (&[("Cookie", cookie.as_str()), json], "", 200),
        (&[("Cookie", cookie.as_str())], "", 403),
        (&[("Authorization", "Basic YTpi")], "", 401),
        (&[], "", 401),
        (&[shown, text], "{}", 415),
        (&[shown, json], r#"{"touch":true,"touch":false}"#, 400),
        (&[shown, json], r#"{"touch":1}"#, 400),
        (&[json], &long, 413),
    ];
    for (headers, body, status) in cases {
        let send = |more: &[(&str, &str)]| {
            // Where nothing says how long the body is, the library reads.
            let length = body.len().to_string();
            let headers =
                [headers, &[("X-Request-Id", "same"), ("Content-Length", length.as_str())], more].concat();
            let reply = server.send("POST", "/v1/sessions/validate", &headers, body.as_bytes());
            let mut told = reply.json();
            // Each request has a trace of its own.
            told.as_object_mut().unwrap().remove("trace_id");
            let kept = ["content-type", "cache-control", "x-request-id", "www-authenticate"];
            let day = reply.header("date")[..16].to_owned();
            ((reply.status, kept.map(|name| reply.header(name).to_owned()), told), day)
        };
        let ((seen, day), (by_library, library_day)) =
            (send(&[]), send(&[("Connection", "keep-alive, x-any")]));
        assert_eq!(seen.0, status, "{headers:?} {body}: {}", seen.2);
        assert_eq!(seen, by_library, "{headers:?} {body}");
        let may_be_direct = status == 200 && !headers.iter().any(|(_, value)| *value == cookie);
        // A body may come behind its head, and then the library reads.
        if !may_be_direct || body.is_empty() {
            assert_eq!(day != library_day, may_be_direct, "{headers:?} {body}: {day}, {library_day}");
        }
    }
    let count = |event: &str| server.metric(&format!("durward_identity_total{{event=\"{event}\"}}"));
    assert_eq!((count("validated"), count("validation_refused")), (12.0, 4.0));
}

#[test]
fn who_is_refused_is_not_told_why() {
    let server = start("");
    let wrong = |user: &str, password: &str| {
        let reply = post(&server, "/v1/login", None, &json!({ "user": user, "password": password }));
        let mut problem = reply.json();
        // Each request has a trace of its own.
        assert!(problem.as_object_mut().unwrap().remove("trace_id").is_some());
        (reply.status, problem.to_string())
    };
    let refused = wrong("anna", "other");
    assert_eq!(refused.0, 401);
    assert_eq!(refused, wrong("nobody", "secret"));
    assert_eq!(refused, wrong("anna", &"x".repeat(10_000)));
    let mut last = (0, String::new());
    for _ in 0..30 {
        last = wrong("anna", "other");
    }
    assert_eq!(last.0, 429, "{}", last.1);
    let reply = post(&server, "/v1/login", None, &json!({ "user": "anna", "password": "secret" }));
    assert!(reply.status == 429 && reply.header("retry-after").parse::<u32>().unwrap() >= 1);
}

#[test]
fn what_cannot_be_read_is_a_problem_with_a_way_out() {
    let server = start("");
    let token = token(&server, "anna");
    for (path, body, status) in [
        ("/v1/login", "{", 400),
        ("/v1/login", "{\"user\":\"anna\"}", 400),
        ("/v1/login", "{\"user\":\"anna\",\"password\":\"secret\",\"realm\":\"/other\"}", 400),
        ("/v1/login", "{\"user\":\"anna\",\"password\":\"secret\",\"root\":true}", 400),
        ("/v1/sessions/logout", "{\"session\":\"x\"}", 400),
        ("/v1/sessions/logout", "{\"session\":\"00000000000000000000000000000000\"}", 404),
        ("/v1/sessions/step-up", "{\"code\":\"123456\"}", 403),
        ("/v1/sessions/properties", "{\"properties\":{\"a\":\"b\"}}", 403),
        ("/v1/admin/rotate", "{}", 403),
        ("/v1/admin/sessions", "{\"user\":\"anna\"}", 403),
    ] {
        let bearer = format!("Bearer {token}");
        let headers = [("Content-Type", "application/json"), ("Authorization", bearer.as_str())];
        let reply = server.send("POST", path, &headers, body.as_bytes());
        assert_eq!(
            (reply.status, reply.header("content-type")),
            (status, "application/problem+json"),
            "{path} {body}"
        );
    }
    // Serde takes an array in the order of the members for a structure.
    for (path, body) in [
        ("/v1/login", "[\"anna\",\"secret\",\"/\",null,false]"),
        ("/v1/sessions/logout", "[null,true]"),
        ("/v1/sessions/properties", "{\"properties\":{},\"of\":[\"/\",\"anna\",\"0\"]}"),
    ] {
        let bearer = format!("Bearer {token}");
        let headers = [("Content-Type", "application/json"), ("Authorization", bearer.as_str())];
        let reply = server.send("POST", path, &headers, body.as_bytes());
        assert!(
            reply.status == 400 && reply.text().contains("where an object is expected"),
            "{}",
            reply.text()
        );
    }
    for (body, message) in [
        (
            "{\"user\":7,\"password\":\"x\"}",
            "the number `7` stands where a string is expected (line 1, column 9)",
        ),
        ("{\"user\":\"anna\",\"pasword\":\"x\"}", "unknown member `pasword`; did you mean `password`?"),
        ("{\"user\":\"anna\"}", "the member `password` is missing here"),
    ] {
        let reply =
            server.send("POST", "/v1/login", &[("Content-Type", "application/json")], body.as_bytes());
        assert!(
            reply.status == 400 && reply.json()["detail"].as_str().unwrap().contains(message),
            "{}",
            reply.text()
        );
    }
    assert!(is_valid(&server, &token));
    let right = b"{\"user\":\"anna\",\"password\":\"secret\"}";
    for (kind, status) in [
        ("application/json; charset=utf-8", 200),
        ("Application/JSON;Charset=\"UTF-8\"", 200),
        ("application/json; charset=utf-16", 415),
        ("application/json; a=b; charset = latin1", 415),
    ] {
        assert_eq!(
            server.send("POST", "/v1/login", &[("Content-Type", kind)], right).status,
            status,
            "{kind}"
        );
    }
    let form = server.send("POST", "/v1/login", &[("Content-Type", "text/plain")], b"{}");
    assert_eq!(form.status, 415);
    assert_eq!(server.get("/v1/sessions").status, 401);
    let long = post(&server, "/v1/login", None, &json!({ "user": "x".repeat(1 << 20), "password": "y" }));
    assert_eq!(long.status, 413);
    // There is no setting to name.
    assert!(long.text().contains("longer than 16384 bytes (the most that is taken here)"), "{}", long.text());
}

#[test]
fn administrators_see_and_end_the_sessions_of_others() {
    let server = start("");
    let (anna, root) = (token(&server, "anna"), token(&server, "root"));
    let listed = post(&server, "/v1/admin/sessions", Some(&root), &json!({ "user": "anna" })).json();
    let id = listed["sessions"][0]["session"].as_str().unwrap().to_owned();
    let one = json!({ "user": "anna", "session": id });
    assert_eq!(post(&server, "/v1/admin/revoke", Some(&root), &one).status, 200);
    assert!(!is_valid(&server, &anna));
    assert_eq!(post(&server, "/v1/admin/revoke", Some(&root), &one).status, 404);
    let anna = token(&server, "anna");
    assert_eq!(post(&server, "/v1/admin/revoke", Some(&root), &json!({ "user": "anna" })).status, 200);
    assert!(!is_valid(&server, &anna) && is_valid(&server, &root));
    assert_eq!(post(&server, "/v1/admin/rotate", Some(&root), &json!({})).status, 200);
    assert_eq!(post(&server, "/v1/admin/revoke", Some(&root), &json!({ "everybody": true })).status, 200);
    assert!(!is_valid(&server, &root));
}

#[test]
fn a_cookie_is_set_when_asked_for_and_read_where_no_token_is_shown() {
    let server = start("");
    let body = json!({ "user": "anna", "password": "secret", "cookie": true });
    let reply = post(&server, "/v1/login", None, &body);
    let cookie = reply.header("set-cookie").to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let pair = cookie.split(';').next().unwrap();
    let shown = server.send("GET", "/v1/session", &[("Cookie", &format!("a=b; {pair}"))], b"");
    assert_eq!(shown.status, 200);
    let other = server.send("GET", "/v1/session", &[("Cookie", pair), ("Authorization", "Bearer x")], b"");
    assert_eq!(other.status, 401, "the token that is shown counts");
}

/// Ending another session once cleared the caller's cookie, whose session goes on.
#[test]
fn the_cookie_is_cleared_when_its_own_session_ended_and_then_alone() {
    let server = start("");
    let (token, other) = (token(&server, "anna"), login(&server, "anna"));
    let session = get(&server, "/v1/session", &token).json()["sessions"][0]["session"].clone();
    let cookie = format!("durward_session={token}");
    let logout = |shown: (&str, &str), body: Value| {
        let headers = [shown, ("Content-Type", "application/json")];
        server.send("POST", "/v1/sessions/logout", &headers, body.to_string().as_bytes())
    };
    let cleared = |reply: &Reply| reply.header("set-cookie").contains("Max-Age=0");
    let ended = logout(("Cookie", &cookie), json!({ "session": other["session"] }));
    assert_eq!((ended.status, cleared(&ended)), (200, false));
    assert!(is_valid(&server, &token));
    let own = logout(("Cookie", &cookie), json!({ "session": session }));
    assert_eq!((own.status, cleared(&own)), (200, true), "his own, by its name");
    for body in [json!({}), json!({ "all": true })] {
        let (by_cookie, by_token) = (self::token(&server, "anna"), self::token(&server, "berta"));
        let own = logout(("Cookie", &format!("durward_session={by_cookie}")), body.clone());
        assert_eq!((own.status, cleared(&own)), (200, true), "{body}");
        let shown = logout(("Authorization", &format!("Bearer {by_token}")), body.clone());
        assert_eq!((shown.status, cleared(&shown)), (200, false), "no cookie was shown: {body}");
    }
}

#[test]
fn the_cookie_is_kept_from_the_open_unless_a_setting_says_otherwise_and_that_shows() {
    let attributes = |settings: &str| {
        let server = start(settings);
        let body = json!({ "user": "anna", "password": "secret", "cookie": true });
        let reply = post(&server, "/v1/login", None, &body);
        let attributes = reply.header("set-cookie").split_once("; ").unwrap().1.to_owned();
        let token = reply.json()["token"].as_str().unwrap().to_owned();
        let pair = format!("durward_session={token}");
        let shown = [("Cookie", pair.as_str()), ("Content-Type", "application/json")];
        let again = server.send("POST", "/v1/sessions/refresh", &shown, b"{}");
        assert_eq!(again.header("set-cookie").split_once("; ").unwrap().1, attributes, "renewed");
        (attributes, server.get("/health/ready").text().contains("identity.cookie_secure"))
    };
    // Without TLS here: a proxy may end it.
    assert_eq!(attributes(""), ("Path=/; HttpOnly; SameSite=Strict; Secure".to_owned(), false));
    let open = attributes("cookie_secure = false");
    assert_eq!(open, ("Path=/; HttpOnly; SameSite=Strict".to_owned(), true));
}

#[test]
fn a_session_is_a_subject_and_its_user_decides() {
    let server = start("");
    let (anna, berta) = (token(&server, "anna"), token(&server, "berta"));
    assert_eq!(decide(&server, &ask(&anna)), "PERMIT");
    assert_eq!(decide(&server, &ask(&berta)), "DENY");
    assert_eq!(decide(&server, &ask("forged")), "DENY");
    post(&server, "/v1/sessions/logout", Some(&anna), &json!({}));
    assert_eq!(decide(&server, &ask(&anna)), "DENY");
    let typed = json!({ "subject": { "groups": ["staff"], "realm": "/", "session": anna }, "action": "read", "resource": 1 });
    assert_eq!(
        post(&server, "/api/pdp/decide-once", None, &typed).status,
        400,
        "with anything beside it, it is refused"
    );
}

/// The decisions of a stream, as they come.
struct Stream(BufReader<std::net::TcpStream>);

impl Stream {
    fn open(server: &TestServer, path: &str, subscription: &Value) -> Stream {
        let Raw(stream) = {
            let mut raw = server.connect();
            let body = subscription.to_string();
            raw.send(&format!(
                "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            ));
            raw
        };
        Stream(BufReader::new(stream))
    }

    fn next(&mut self) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream ended");
            if let Some(text) = line.trim_end().strip_prefix("data:") {
                return serde_json::from_str(text).unwrap();
            }
        }
    }
}

#[test]
fn a_live_decision_turns_to_deny_when_its_session_is_ended() {
    let server = start("");
    let (anna, other, root) = (token(&server, "anna"), token(&server, "anna"), token(&server, "root"));
    let mut first = Stream::open(&server, "/api/pdp/decide", &ask(&anna));
    let mut second = Stream::open(&server, "/api/pdp/decide", &ask(&other));
    assert_eq!((&first.next()["decision"], &second.next()["decision"]), (&json!("PERMIT"), &json!("PERMIT")));
    post(&server, "/v1/sessions/logout", Some(&anna), &json!({}));
    assert_eq!(first.next()["decision"], "DENY");
    assert_eq!(decide(&server, &ask(&other)), "PERMIT", "another session of the same user goes on");
    post(&server, "/v1/admin/revoke", Some(&root), &json!({ "user": "anna" }));
    assert_eq!(second.next()["decision"], "DENY");
}

#[test]
fn a_live_decision_turns_when_its_sessions_properties_change() {
    let policy = "policy \"desk\" permit action == \"read\"; subject.properties.desk == \"7\";\n";
    let server = start_with(policy, "settable_properties = ['desk']\n");
    let anna = token(&server, "anna");
    let set = |desk: &str| {
        let body = json!({ "properties": { "desk": desk } });
        assert_eq!(post(&server, "/v1/sessions/properties", Some(&anna), &body).status, 200);
    };
    set("1");
    let mut live = Stream::open(&server, "/api/pdp/decide", &ask(&anna));
    let before = live.next()["decision"].clone();
    assert_ne!(before, "PERMIT");
    set("7");
    assert_eq!(live.next()["decision"], "PERMIT");
    set("1");
    assert_eq!(live.next()["decision"], before);
}

/// How often live decisions were woken, and how many decisions were made.
fn woken_and_decided(server: &TestServer) -> (f64, f64) {
    let decided = ["Permit", "Deny", "NotApplicable", "Indeterminate", "Suspend"];
    let decided =
        decided.map(|word| server.metric(&format!("durward_decisions_total{{decision=\"{word}\"}}")));
    (server.metric("durward_identity_total{event=\"listener_woken\"}"), decided.iter().sum())
}

#[test]
fn a_logout_wakes_the_live_decisions_of_its_session_and_no_others() {
    let server = start("");
    let tokens: Vec<String> = (0..12).map(|_| token(&server, "anna")).collect();
    let mut streams: Vec<Stream> =
        tokens.iter().map(|token| Stream::open(&server, "/api/pdp/decide", &ask(token))).collect();
    let mut second = Stream::open(&server, "/api/pdp/decide", &ask(&tokens[0]));
    for stream in streams.iter_mut().chain([&mut second]) {
        assert_eq!(stream.next()["decision"], "PERMIT");
    }
    let unheard = token(&server, "berta");
    let (woken, decided) = woken_and_decided(&server);
    for ended in [&tokens[0], &tokens[7], &unheard] {
        assert_eq!(post(&server, "/v1/sessions/logout", Some(ended), &json!({})).status, 200);
    }
    for stream in [0, 7] {
        assert_eq!(streams[stream].next()["decision"], "DENY");
    }
    assert_eq!(second.next()["decision"], "DENY");
    let after = woken_and_decided(&server);
    assert_eq!(after.0 - woken, 3.0, "two of the first session, one of the other, and none of ten more");
    assert!(after.1 - decided <= 3.0, "{} decisions for three streams that turned", after.1 - decided);
}

#[test]
fn what_others_change_about_a_user_is_decided_anew_and_ends_his_sessions_where_it_must() {
    let server = start("");
    let (anna, berta) = (token(&server, "anna"), token(&server, "berta"));
    let mut of_anna = Stream::open(&server, "/api/pdp/decide", &ask(&anna));
    let mut of_berta = Stream::open(&server, "/api/pdp/decide", &ask(&berta));
    assert_eq!(
        (&of_anna.next()["decision"], &of_berta.next()["decision"]),
        (&json!("PERMIT"), &json!("DENY"))
    );
    // As `durward users` does it, from another process.
    let users = Users::open(&server.directory.path("users"), CHEAP, Arc::new(SystemEntropy)).unwrap();
    let account = |name: &str| users.list().into_iter().find(|account| account.subject == name).unwrap();
    users.put(Account { groups: vec!["staff".to_owned()], ..account("berta") }).unwrap();
    assert_eq!(of_berta.next()["decision"], "PERMIT");
    assert!(is_valid(&server, &berta), "another group ends no session");
    users.put(Account { disabled: true, ..account("anna") }).unwrap();
    assert_eq!(of_anna.next()["decision"], "DENY");
    server.eventually("her session ends", |server| !is_valid(server, &anna));
    let refused = post(&server, "/v1/login", None, &json!({ "user": "anna", "password": "secret" }));
    assert_eq!(refused.status, 401);
    assert!(is_valid(&server, &berta));
}

#[test]
fn of_several_live_decisions_only_those_of_the_session_turn() {
    let server = start("");
    let (anna, other) = (token(&server, "anna"), token(&server, "anna"));
    let several = json!({ "a": ask(&anna), "b": ask(&other) });
    let mut stream = Stream::open(&server, "/api/pdp/multi-decide-all", &several);
    let both = stream.next();
    assert_eq!((&both["a"]["decision"], &both["b"]["decision"]), (&json!("PERMIT"), &json!("PERMIT")));
    post(&server, "/v1/sessions/logout", Some(&anna), &json!({}));
    let both = stream.next();
    assert_eq!((&both["a"]["decision"], &both["b"]["decision"]), (&json!("DENY"), &json!("PERMIT")));
}

#[test]
fn sessions_survive_a_restart_in_the_modes_that_keep_them() {
    for mode in ["best-effort", "assured-write", "assured-read"] {
        let kept_files = Directory::new();
        fill(&kept_files);
        let at = |name: &str| kept_files.path(name).display().to_string();
        let settings = format!("{SETTINGS}mode = '{mode}'\ndata = '{}'\n", at("data"));
        let settings = settings.replace("users = 'users'", &format!("users = '{}'", at("users")));
        let start_again = || {
            let directory = Directory::new();
            directory.write("policies/staff.sapl", STAFF_READ);
            TestServer::start_in(directory, &settings).unwrap()
        };
        let server = start_again();
        server.eventually("ready", |server| server.get("/health/ready").status == 200);
        server.eventually("it has a key", |server| {
            post(server, "/v1/login", None, &json!({ "user": "berta", "password": "secret" })).status == 200
        });
        let (kept, gone) = (token(&server, "anna"), token(&server, "anna"));
        post(&server, "/v1/sessions/logout", Some(&gone), &json!({}));
        server.stop();
        let server = start_again();
        server.eventually("ready", |server| server.get("/health/ready").status == 200);
        assert!(is_valid(&server, &kept) && !is_valid(&server, &gone), "{mode}");
    }
}

#[test]
fn the_description_says_what_the_router_knows() {
    let server = start("");
    let document = server.get("/v1/openapi.json").json();
    let said: BTreeSet<(String, String)> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, methods)| {
            methods.as_object().unwrap().keys().map(|method| (path.clone(), method.to_uppercase()))
        })
        .collect();
    let there: BTreeSet<(String, String)> = ROUTES
        .iter()
        .filter(|route| {
            route.path.starts_with("/v1/") && !["/v1/openapi.json", "/v1/explain"].contains(&route.path)
        })
        .flat_map(|route| {
            let methods = route.methods.iter().filter(|method| !matches!(**method, "HEAD" | "OPTIONS"));
            methods.map(|method| (route.path.to_owned(), (*method).to_owned()))
        })
        .collect();
    assert_eq!(said, there);
    let text = document.to_string();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for reference in text.split("#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(schemas.contains_key(name), "{name}");
    }
    let granted = login(&server, "anna");
    for name in schemas["Granted"]["required"].as_array().unwrap() {
        assert!(granted.get(name.as_str().unwrap()).is_some(), "{name}");
    }
    for name in granted.as_object().unwrap().keys() {
        assert!(schemas["Granted"]["properties"].get(name).is_some(), "{name}");
    }
}

/// Whether an answer is what the description says of it: its status is listed, and its members are those of a schema.
fn agrees(document: &Value, path: &str, reply: &Reply) {
    let method = document["paths"][path].as_object().unwrap().keys().next().unwrap();
    agrees_as(document, path, method, reply);
}

/// The same of a path with several methods.
pub(crate) fn agrees_as(document: &Value, path: &str, method: &str, reply: &Reply) {
    let answer = &document["paths"][path][method]["responses"][reply.status.to_string()];
    assert!(answer.is_object(), "{path} {}", reply.status);
    let content = &answer["content"][reply.header("content-type")]["schema"];
    let one = [content.clone()];
    let schemas = content["oneOf"].as_array().map_or(&one[..], Vec::as_slice);
    let body = reply.json();
    let fits = schemas.iter().filter(|schema| {
        let name = schema["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
        let schema = &document["components"]["schemas"][name];
        let required = schema["required"].as_array().unwrap();
        required.iter().all(|name| body.get(name.as_str().unwrap()).is_some())
            && body.as_object().unwrap().keys().all(|name| schema["properties"].get(name).is_some())
    });
    assert_eq!(fits.count(), 1, "{path} {body}");
}

/// A generated client failed at the answer to an administrator who sets properties: the description promised another one.
#[test]
fn answers_are_what_the_description_says() {
    let server = start("sessions_per_user_max = 1\nbeyond_max = \"refuse\"\n");
    let document = server.get("/v1/openapi.json").json();
    let (anna, root) = (login(&server, "anna"), token(&server, "root"));
    let of_anna = json!({ "realm": "/", "user": "anna", "session": anna["session"] });
    let again = json!({ "user": "anna", "password": "secret" });
    let long = json!({ "user": "x".repeat(1 << 20) });
    for (path, token, body, status) in [
        ("/v1/login", None, again, 409),
        ("/v1/login", None, long.clone(), 413),
        ("/v1/login/code", None, json!({ "challenge": "x", "code": "1" }), 401),
        ("/v1/sessions/properties", Some(&root), json!({ "properties": { "a": "b" }, "of": of_anna }), 200),
        ("/v1/sessions/properties", Some(&root), json!({ "properties": { "a": "b" } }), 403),
        ("/v1/sessions/properties", Some(&root), json!({ "properties": {} }), 200),
        ("/v1/sessions/refresh", Some(&root), json!({}), 200),
        ("/v1/sessions/refresh", Some(&root), long.clone(), 413),
        ("/v1/sessions/validate", None, json!({}), 401),
        ("/v1/admin/sessions", Some(&root), json!({ "user": "anna" }), 200),
        ("/v1/admin/forgive", Some(&root), json!({ "user": "nobody" }), 200),
        ("/v1/admin/revoke", Some(&root), json!({ "user": "nobody" }), 200),
        ("/v1/sessions/logout", Some(&root), json!({}), 200),
    ] {
        let reply = post(&server, path, token.map(String::as_str), &body);
        assert_eq!(reply.status, status, "{path} {body}: {}", reply.text());
        agrees(&document, path, &reply);
    }
    let cookie = format!("durward_session={}", anna["token"].as_str().unwrap());
    for path in ["/v1/sessions/validate", "/v1/sessions/logout", "/v1/admin/rotate"] {
        let reply = server.send("POST", path, &[("Cookie", &cookie)], b"");
        assert_eq!(reply.status, 403, "{path}");
        agrees(&document, path, &reply);
    }
    let strange =
        server.send("GET", "/v1/session", &[("Cookie", &cookie), ("Sec-Fetch-Site", "cross-site")], b"");
    assert_eq!(strange.status, 403);
    agrees(&document, "/v1/session", &strange);
}

#[test]
fn the_description_has_what_clients_are_generated_from() {
    let server = start("cookie_name = \"anna\"\n");
    let document = server.get("/v1/openapi.json").json();
    assert_eq!(document["components"]["securitySchemes"]["cookie"]["name"], "anna");
    let mut names = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            assert!(names.insert(operation["operationId"].as_str().unwrap().to_owned()), "{path}");
            assert!(operation["security"].is_array(), "{path}");
            let body = operation.get("requestBody");
            assert!(body.is_none_or(|body| body["required"].is_boolean()), "{path}");
            let is_about_bodies = operation["responses"].get("415").is_some();
            assert!(method != "get" || !is_about_bodies, "{path}");
        }
    }
}

#[test]
fn what_happened_is_counted() {
    let server = start("");
    let anna = token(&server, "anna");
    is_valid(&server, &anna);
    is_valid(&server, "forged");
    post(&server, "/v1/login", None, &json!({ "user": "anna", "password": "other" }));
    for (event, count) in [("validated", 1.0), ("validation_refused", 1.0), ("login_failed", 1.0)] {
        assert_eq!(server.metric(&format!("durward_identity_total{{event=\"{event}\"}}")), count, "{event}");
    }
    assert!(server.metric("durward_sessions_live") >= 1.0);
}

#[test]
fn without_users_there_is_nothing_and_bad_settings_stop_the_start() {
    let server = TestServer::start("");
    assert_eq!(server.get("/v1/openapi.json").status, 404);
    for (settings, word) in [
        ("identity.users = 'users'\nidentity.mode = 'assured-write'", "identity.data"),
        // Sessions of nobody: it would start, and let nobody log in.
        ("identity.mode = 'best-effort'", "identity.users"),
        ("identity.users = 'users'\nidentity.realms = ['sales']", "must begin with `/`"),
        ("identity.users = 'users'\nidentity.hash_memory_kib = 1", "costs"),
        ("identity.users = 'policies/staff.sapl'", "journal"),
    ] {
        let error = std::panic::catch_unwind(|| try_start(settings).err().unwrap().to_string());
        // What the reader of settings refuses is refused before there is a server.
        let error = error.unwrap_or_else(|panic| panic.downcast_ref::<String>().cloned().unwrap_or_default());
        assert!(error.contains(word), "{settings}: {error}");
    }
}

/// With another key, nobody's session would be there any more, and the node would say that it is ready.
#[test]
fn a_key_that_is_gone_is_not_made_anew_where_there_are_sessions() {
    let directory = Directory::new();
    fill(&directory);
    directory.write("policies/staff.sapl", STAFF_READ);
    directory.write("data/sessions.journal", "");
    let failed =
        TestServer::start_in(directory, &format!("{SETTINGS}mode = 'assured-write'\ndata = 'data'\n"));
    let message = failed.err().unwrap().to_string();
    assert!(message.contains("cluster.key") && message.contains("bring it back"), "{message}");
}

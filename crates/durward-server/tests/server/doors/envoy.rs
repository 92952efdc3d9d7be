//! Envoy's checks, over gRPC and over HTTP, asked as it asks. The real one is driven by `cargo xtask clients Envoy`.

use bytes::{Bytes, BytesMut};
use durward_wire::ext_authz::{CheckRequest, Header, ReadHttp, read_response};
use durward_wire::grpc::{put_message, read_one};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{self, SendRequest};
use hyper::header::HeaderMap;
use hyper::{Request, Response, body::Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};

use super::world::World;
use crate::support::{PATIENCE, Reply};

pub(super) const CHECK: &str = "/envoy.service.auth.v3.Authorization/Check";
const HEALTH: &str = "/grpc.health.v1.Health/Check";
const WATCH: &str = "/grpc.health.v1.Health/Watch";

/// An answer to a call.
#[derive(Debug)]
pub(super) struct Called {
    pub(super) status: u16,
    /// `grpc-status`, of the headers or of the trailers.
    pub(super) code: Option<String>,
    pub(super) body: Bytes,
}

/// What a check came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Checked {
    pub(super) code: u64,
    status: u64,
    /// Headers for the request, or for the client.
    headers: Vec<(String, String)>,
    removed: Vec<String>,
}

impl Checked {
    fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(found, _)| found == name).map_or("", |(_, value)| value)
    }
}

pub(super) fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(PATIENCE, work).await.unwrap() })
}

async fn connect(world: &World) -> SendRequest<Full<Bytes>> {
    let stream = tokio::net::TcpStream::connect(world.server.address).await.unwrap();
    // Head and body are written apart.
    stream.set_nodelay(true).unwrap();
    let (send, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    send
}

fn call(path: &str, fields: &[(&str, &str)], body: Bytes) -> Request<Full<Bytes>> {
    let mut request = Request::post(format!("http://durward{path}")).header("te", "trailers");
    if !fields.iter().any(|(name, _)| *name == "content-type") {
        request = request.header("content-type", "application/grpc");
    }
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    request.body(Full::new(body)).unwrap()
}

fn code(headers: &HeaderMap) -> Option<String> {
    headers.get("grpc-status").map(|code| code.to_str().unwrap().to_owned())
}

pub(super) async fn called(answer: Response<Incoming>) -> Called {
    let (status, in_headers) = (answer.status().as_u16(), code(answer.headers()));
    let whole = answer.into_body().collect().await.unwrap();
    let in_trailers = whole.trailers().and_then(code);
    assert!(in_headers.is_none() || in_trailers.is_none(), "a call ends once");
    Called { status, code: in_headers.or(in_trailers), body: whole.to_bytes() }
}

fn ask(world: &World, path: &str, fields: &[(&str, &str)], body: Bytes) -> Called {
    run(async {
        let mut send = connect(world).await;
        called(send.send_request(call(path, fields, body)).await.unwrap()).await
    })
}

fn framed(message: &[u8]) -> Bytes {
    let mut out = BytesMut::new();
    put_message(&mut out, |out| out.extend_from_slice(message));
    out.freeze()
}

/// As Envoy writes it.
pub(super) fn request<'r>(
    method: &'r str,
    path: &'r str,
    headers: &[(&'r str, &'r str)],
) -> CheckRequest<'r> {
    let mut check = CheckRequest::default();
    check.source.address = "192.0.2.7";
    check.source.port = 4711;
    check.http.method = method;
    check.http.path = path;
    check.http.host = "papers.example.org";
    check.http.scheme = "https";
    let pseudo =
        [(":method", method), (":path", path), (":authority", "papers.example.org"), (":scheme", "https")];
    let all = pseudo.iter().chain(headers);
    check.http.headers = all.map(|&(name, value)| Header { name, value: value.as_bytes() }).collect();
    check
}

pub(super) fn message(check: &CheckRequest<'_>) -> Bytes {
    let mut out = BytesMut::new();
    put_message(&mut out, |out| check.write(out));
    out.freeze()
}

pub(super) fn read(called: &Called) -> Checked {
    assert_eq!((called.status, called.code.as_deref()), (200, Some("0")), "{called:?}");
    let response = read_response(read_one(&called.body, usize::MAX).unwrap()).unwrap();
    let pairs = |changes: &[durward_wire::ext_authz::HeaderChange<'_>]| {
        changes.iter().map(|change| (change.name.to_owned(), change.value.to_owned())).collect()
    };
    match response.http {
        ReadHttp::Allowed { headers, removed, .. } => {
            assert_eq!(response.code, 0, "changes of a request that does not pass");
            let removed = removed.into_iter().map(str::to_owned).collect();
            Checked { code: 0, status: 200, headers: pairs(&headers), removed }
        }
        ReadHttp::Denied { status, headers, .. } => {
            assert_ne!(response.code, 0, "to Envoy that is a permit");
            Checked { code: response.code, status, headers: pairs(&headers), removed: Vec::new() }
        }
        ReadHttp::None => panic!("an answer that says nothing: {called:?}"),
    }
}

fn check(world: &World, asked: &CheckRequest<'_>) -> Checked {
    read(&ask(world, CHECK, &[], message(asked)))
}

#[test]
fn a_check_is_answered_as_other_gateways_are() {
    let world = World::start("", "");
    let anna = format!("Bearer {}", world.anna);
    let (cookie, guest) = (format!("a=b; durward_session={}", world.anna), format!("Bearer {}", world.berta));
    for (method, path, headers, expected, reason) in [
        ("GET", "/papers/7?x=1", &[("authorization", anna.as_str())][..], (0, 200), ""),
        ("GET", "/papers/7", &[("cookie", cookie.as_str())], (0, 200), ""),
        ("GET", "/papers/7", &[("authorization", guest.as_str())], (7, 403), "policy"),
        ("GET", "/papers/7", &[("authorization", "Bearer nonsense")], (16, 401), "unauthenticated"),
        (
            "GET",
            "/papers/7",
            &[("authorization", anna.as_str()), ("authorization", guest.as_str())],
            (16, 401),
            "unauthenticated",
        ),
        ("GET", "/papers/7", &[], (16, 401), "unauthenticated"),
        ("PROPFIND", "/papers/7", &[("authorization", anna.as_str())], (7, 403), "route"),
        ("GET", "/elsewhere", &[("authorization", anna.as_str())], (7, 403), "route"),
        ("GET", "/papers/%2e%2e/7", &[("authorization", anna.as_str())], (7, 403), "target"),
        ("GET", "/papers/7%2f8", &[("authorization", anna.as_str())], (7, 403), "target"),
        ("GET", "/papers/7#x", &[("authorization", anna.as_str())], (7, 403), "target"),
        ("GET", "", &[("authorization", anna.as_str())], (7, 403), "target"),
        ("", "/papers/7", &[("authorization", anna.as_str())], (7, 403), "target"),
        (
            "GET",
            "/papers/7",
            &[("authorization", anna.as_str()), ("x-original-url", "/")],
            (7, 403),
            "target",
        ),
        (
            "GET",
            "/papers/7",
            &[("authorization", anna.as_str()), ("x_auth_user", "root")],
            (7, 403),
            "identity",
        ),
        ("GET", "/", &[("X-Auth_Groups", "chief")], (7, 403), "identity"),
        (
            "GET",
            "/papers/7",
            &[("authorization", anna.as_str()), ("x_http_method_override", "DELETE")],
            (7, 403),
            "target",
        ),
        ("GET", "/papers/7", &[("authorization", anna.as_str()), ("x_other", "a")], (0, 200), ""),
        ("GET", "/papers/7", &[("authorization", "Bearer \u{1}")], (7, 403), "fields"),
        ("GET", "/", &[], (0, 200), ""),
        ("GET", "/", &[("cookie", "durward_session=over")], (0, 200), ""),
    ] {
        let found = check(&world, &request(method, path, headers));
        assert_eq!((found.code, found.status), expected, "{method} {path} {headers:?}: {found:?}");
        assert_eq!(found.header("x-durward-reason"), reason, "{method} {path} {headers:?}");
        assert_eq!(found.header("www-authenticate"), if found.code == 16 { "Bearer" } else { "" });
        let is_anna = found.code == 0 && path != "/";
        assert_eq!(found.header("x-auth-user"), if is_anna { "anna" } else { "" });
        // What is not set is taken from the request, where a client may have put it.
        let removed: &[&str] =
            if found.code == 0 && !is_anna { &["x-auth-groups", "x-auth-user"] } else { &[] };
        assert_eq!(found.removed, removed, "{path}");
    }
    let denied = "durward_door_answers_total{door=\"envoy\",result=\"deny\"}";
    assert_eq!(world.server.metric(denied), 1.0);
}

#[test]
fn what_is_no_check_is_a_denial_and_what_is_no_call_fails() {
    let world = World::start("", "[server]\nbody_bytes_max = 4000\n");
    let anna = format!("Bearer {}", world.anna);
    let whole = request("GET", "/papers/7", &[("authorization", &anna)]);
    let good = message(&whole);
    let mut nowhere = whole.clone();
    nowhere.source.address = "/run/client.sock";
    let mut long = whole.clone();
    let body = "x".repeat(5000);
    long.http.body = body.as_bytes();
    for (bytes, status) in [
        (framed(b""), 403),
        (framed(b"\x0a\xff\xff\xff\xff\x0f"), 403),
        (framed(b"\xff"), 403),
        (framed(&good[5..good.len() - 1]), 403),
        (message(&nowhere), 403),
        (message(&long), 413),
    ] {
        let found = read(&ask(&world, CHECK, &[], bytes));
        assert_eq!((found.code, found.status, found.header("x-durward-reason")), (7, status, "fields"));
    }
    let compressed = [&b"\x01"[..], &good[1..]].concat();
    for (bytes, code) in [
        (Bytes::new(), "13"),
        (good.slice(..good.len() - 1), "13"),
        ([&good[..], &good[..]].concat().into(), "13"),
        (Bytes::from(compressed), "12"),
    ] {
        let called = ask(&world, CHECK, &[], bytes);
        assert_eq!((called.status, called.code.as_deref(), called.body.len()), (200, Some(code), 0));
    }
    for path in
        ["/envoy.service.auth.v3.Authorization/Watch", "/envoy.service.auth.v2.Authorization/Check", "/a/b"]
    {
        let called = ask(&world, path, &[], good.clone());
        assert_eq!((called.status, called.code.as_deref()), (200, Some("12")), "{path}");
    }
    for content_type in ["application/json", "application/grpc-web", "application/grpc+json"] {
        let called = ask(&world, CHECK, &[("content-type", content_type)], good.clone());
        assert_eq!((called.status, called.code), (415, None), "{content_type}");
    }
    let over_http1 = world.server.send("POST", CHECK, &[("content-type", "application/grpc")], &good);
    assert_eq!(over_http1.status, 505);
    assert_eq!(world.server.get(CHECK).status, 405);
}

#[test]
fn many_checks_at_once_on_one_connection_each_get_their_own_answer() {
    let world = World::start("", "");
    let (anna, berta) = (format!("Bearer {}", world.anna), format!("Bearer {}", world.berta));
    let checks =
        [&anna, &berta].map(|token| message(&request("GET", "/papers/7", &[("authorization", token)])));
    run(async {
        let send = connect(&world).await;
        let asked: Vec<_> = (0..300)
            .map(|number| {
                let (mut send, check) = (send.clone(), checks[number % 2].clone());
                tokio::spawn(async move {
                    send.ready().await.unwrap();
                    let answer =
                        send.send_request(call(CHECK, &[("grpc-timeout", "10S")], check)).await.unwrap();
                    let found = read(&called(answer).await);
                    assert_eq!(found.code, if number % 2 == 0 { 0 } else { 7 }, "{number}: {found:?}");
                })
            })
            .collect();
        for one in asked {
            one.await.unwrap();
        }
    });
}

/// What a policy waits for never comes. Whatever Envoy still reads is a denial.
#[test]
fn a_caller_that_does_not_wait_is_told_no() {
    // Somebody who takes a connection and says nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let world = World::start_with("decision_ms_max = 60000", "", |directory| {
        let policy = format!(
            "policy \"slow\" permit resource.type == \"paper\"; resource.id == \"slow\"; \
             <http.get({{\"baseUrl\": \"http://127.0.0.1:{port}\", \"path\": \"/never\"}})>.open;\n"
        );
        directory.write("policies/slow.sapl", &policy);
    });
    let berta = format!("Bearer {}", world.berta);
    let slow = message(&request("GET", "/papers/slow", &[("authorization", &berta)]));
    let found = read(&ask(&world, CHECK, &[("grpc-timeout", "200m")], slow));
    assert_eq!((found.code, found.status, found.header("x-durward-reason")), (7, 503, "unavailable"));
    let anna = format!("Bearer {}", world.anna);
    let quick = message(&request("GET", "/papers/7", &[("authorization", &anna)]));
    for unreadable in ["", "soon", "1000000000S"] {
        let called = ask(&world, CHECK, &[("grpc-timeout", unreadable)], quick.clone());
        assert_eq!(read(&called).code, 0, "{unreadable}");
    }
}

#[test]
fn only_a_gateway_is_answered() {
    let users = crate::auth::users();
    let users = users.split_once('\n').unwrap().1;
    let world = World::start("proxies = ['192.0.2.1']", users);
    let anna = format!("Bearer {}", world.anna);
    let asked = message(&request("GET", "/papers/7", &[("authorization", &anna)]));
    let robot = format!("Bearer {}", crate::auth::ROBOT);
    for (fields, expected) in [
        (vec![], (7, "proxy")),
        (vec![("authorization", robot.as_str())], (7, "proxy")),
        (vec![("x-durward-proxy-authorization", anna.as_str())], (7, "proxy")),
        (vec![("x-durward-proxy-authorization", robot.as_str())], (0, "")),
    ] {
        let found = read(&ask(&world, CHECK, &fields, asked.clone()));
        assert_eq!((found.code, found.header("x-durward-reason")), expected, "{fields:?}");
    }
    // The client's own word is none of the gateway's.
    let forged = request("GET", "/papers/7", &[("x-durward-proxy-authorization", &robot)]);
    assert_eq!(read(&ask(&world, CHECK, &[], message(&forged))).header("x-durward-reason"), "proxy");
}

/// What a route says of the certificate of a client that has shown none.
const WITHOUT_CERTIFICATE: (&str, &str) = ("source_principal", "spiffe://a");

const REPORTS: &str = "policy \"reports\" permit resource.type == \"report\"; action == \"audit\"; \
                       environment.extensions.team == \"finance\"; environment.extensions.source_principal == \"spiffe://a\";\n";

#[test]
fn a_route_of_envoy_says_what_is_asked_as_far_as_the_settings_let_it() {
    let with = |directory: &crate::support::Directory| directory.write("policies/reports.sapl", REPORTS);
    let world = World::start_with("extensions = ['action', 'resource_type']", "", with);
    let strict = World::start_with("", "", with);
    for (world, extensions, expected) in [
        (
            &world,
            &[("team", "finance"), ("durward.resource_type", "report"), ("durward.action", "audit")][..],
            "0",
        ),
        (
            &world,
            &[("team", "sales"), ("durward.resource_type", "report"), ("durward.action", "audit")],
            "policy",
        ),
        (&world, &[("team", "finance"), ("durward.resource_type", "report")], "policy"),
        // A certificate is the gateway's finding, and no route's.
        (
            &world,
            &[
                ("source_principal", "spiffe://b"),
                ("team", "finance"),
                ("durward.resource_type", "report"),
                ("durward.action", "audit"),
            ],
            "0",
        ),
        (
            &world,
            &[
                WITHOUT_CERTIFICATE,
                ("team", "finance"),
                ("durward.resource_type", "report"),
                ("durward.action", "audit"),
            ],
            "policy",
        ),
        (&world, &[("durward.tenant", "default")], "fields"),
        (&world, &[("durward.action", "")], "fields"),
        (&world, &[("durward.actions", "audit")], "fields"),
        (&strict, &[("team", "finance")], "0 paper"),
        (&strict, &[("durward.resource_type", "report")], "fields"),
    ] {
        let anna = format!("Bearer {}", world.anna);
        let mut asked = request("GET", "/papers/7", &[("authorization", &anna)]);
        asked.extensions = extensions.to_vec();
        asked.source.principal = "spiffe://a";
        if extensions.contains(&WITHOUT_CERTIFICATE) {
            asked.source.principal = "";
        }
        let found = check(world, &asked);
        match expected {
            "0" | "0 paper" => assert_eq!(found.code, 0, "{extensions:?}: {found:?}"),
            reason => {
                assert_eq!((found.code, found.header("x-durward-reason")), (7, reason), "{extensions:?}")
            }
        }
    }
}

#[test]
fn health_is_told_of_known_services() {
    let world = World::start("", "");
    for (path, service, code, body) in [
        (HEALTH, "", "0", &b"\0\0\0\0\x02\x08\x01"[..]),
        (HEALTH, "envoy.service.auth.v3.Authorization", "0", b"\0\0\0\0\x02\x08\x01"),
        (HEALTH, "envoy.service.auth.v2.Authorization", "5", b""),
    ] {
        let asked = [&b"\x0a"[..], &[service.len() as u8], service.as_bytes()].concat();
        let called = ask(&world, path, &[], framed(&asked));
        assert_eq!(
            (called.status, called.code.as_deref(), &called.body[..]),
            (200, Some(code), body),
            "{service}"
        );
    }
    assert_eq!(ask(&world, HEALTH, &[], framed(b"")).code.as_deref(), Some("0"));
    assert_eq!(ask(&world, HEALTH, &[], framed(b"\x0a\x05x")).code.as_deref(), Some("3"));
    assert_eq!(ask(&world, HEALTH, &[], Bytes::new()).code.as_deref(), Some("13"));
}

#[test]
fn a_watch_goes_on_until_the_server_stops() {
    let mut world = World::start("", "");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut bodies = runtime.block_on(async {
        let mut send = connect(&world).await;
        let mut bodies = Vec::new();
        for (asked, expected) in
            [(framed(b""), b"\0\0\0\0\x02\x08\x01"), (framed(b"\x0a\x01x"), b"\0\0\0\0\x02\x08\x03")]
        {
            let mut body = send.send_request(call(WATCH, &[], asked)).await.unwrap().into_body();
            assert_eq!(&body.frame().await.unwrap().unwrap().into_data().unwrap()[..], expected);
            bodies.push(body);
        }
        bodies
    });
    world.server.begin_stop();
    runtime.block_on(async {
        for body in &mut bodies {
            let end = tokio::time::timeout(PATIENCE, body.frame()).await.unwrap().unwrap().unwrap();
            assert_eq!(code(&end.into_trailers().unwrap()).as_deref(), Some("14"));
        }
    });
}

/// As Envoy asks over HTTP.
fn ask_http(world: &World, method: &str, target: &str, fields: &[(&str, &str)]) -> Reply {
    let own = [("X-Forwarded-For", "192.0.2.7"), ("X-Forwarded-Proto", "https")];
    world.server.send(method, &format!("/doors/envoy{target}"), &[&own[..], fields].concat(), b"")
}

#[test]
fn over_http_only_a_permit_is_200() {
    let world = World::start("headers = ['X-Tier']", "");
    let anna = format!("Bearer {}", world.anna);
    let guest = format!("Bearer {}", world.berta);
    for (method, target, fields, expected, reason) in [
        ("GET", "/papers/7?x=1", vec![("Authorization", anna.as_str())], 200, ""),
        ("GET", "/papers/7", vec![("Authorization", guest.as_str())], 403, "policy"),
        ("GET", "/papers/7", vec![], 401, "unauthenticated"),
        ("POST", "/papers/7", vec![("Authorization", anna.as_str())], 403, "route"),
        ("OPTIONS", "/papers/7", vec![("Authorization", anna.as_str())], 403, "route"),
        ("GET", "/", vec![], 200, ""),
        ("GET", "/..", vec![], 403, "target"),
        ("GET", "/papers/7%2f", vec![("Authorization", anna.as_str())], 403, "target"),
        ("GET", "/", vec![("X-Forwarded-Proto", "https")], 403, "fields"),
        ("GET", "/", vec![("X-Forwarded-For", "unknown")], 403, "fields"),
        ("GET", "/papers/7", vec![("Authorization", anna.as_str()), ("X-Original-URL", "/")], 403, "target"),
    ] {
        let reply = ask_http(&world, method, target, &fields);
        assert_eq!((reply.status, reply.header("x-durward-reason")), (expected, reason), "{method} {target}");
        if expected == 200 {
            let removed = if target == "/" { "x-auth-groups,x-auth-user,x-tier" } else { "x-tier" };
            assert_eq!(reply.header("x-envoy-auth-headers-to-remove"), removed, "{target}");
        }
    }
    assert_eq!(ask_http(&world, "GET", "", &[]).status, 404, "no path at all");
    let without = world.server.send("GET", "/doors/envoy/", &[("X-Forwarded-Proto", "https")], b"");
    assert_eq!((without.status, without.header("x-durward-reason")), (403, "fields"));
}

#[test]
fn nothing_of_it_is_there_unless_the_settings_say_so() {
    let server = crate::support::TestServer::start("");
    for path in [CHECK, HEALTH, WATCH, "/doors/envoy/papers"] {
        let reply = server.send("POST", path, &[], b"");
        assert_eq!(reply.status, 404, "{path}");
        assert!(reply.text().contains("`doors.on` opens it"), "{}", reply.text());
    }
}

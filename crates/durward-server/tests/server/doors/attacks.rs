//! Attacks through real gateways: a client that forges fields, paths and requests, and a durward that is down, slow or answers half. Nothing of
//! this gets to the application, unless it would have without the attack, and then without what was forged.

use std::fmt::Debug;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;

use super::gateways::{Gateway, KINDS, Kind};
use super::world::{App, World, blocks, exchange, field, page, request, status};

/// A host with open pages beside one with none.
const PUBLIC: &str = "\n[[doors.routes]]\nhosts = ['public.example.org']\npath = '/**'\nresource_type = 'page'\nanonymous = true\n";

#[test]
fn nothing_that_a_client_forges_gets_through() {
    let world = World::start("", PUBLIC);
    let app = App::start();
    for kind in KINDS {
        let Some(gateway) = Gateway::start(kind, world.server.address, &app) else { continue };
        forged_fields(kind, &gateway, &world, &app);
        forged_identities(kind, &gateway, &world, &app);
        paths(kind, &gateway, &world, &app);
        hosts(kind, &gateway, &app);
        smuggled(kind, &gateway, &app);
    }
}

/// What the client writes into the fields that gateways write.
fn forged_fields(kind: Kind, gateway: &Gateway, world: &World, app: &App) {
    let before = app.seen().len();
    let berta = format!("Bearer {}", world.berta);
    let forged: [&[(&str, &str)]; 7] = [
        &[("X-Original-URI", "/"), ("X-Original-Method", "GET")],
        &[("X-Original-Url", "/"), ("X-Rewrite-URL", "/")],
        &[("X-Forwarded-Uri", "/"), ("X-Forwarded-Method", "GET")],
        &[("X-Forwarded-Host", "public.example.org"), ("X-Original-Host", "public.example.org")],
        &[("X_Original_URI", "/"), ("X-Original-URI ", "/"), ("X-Forwarded-Prefix", "/")],
        &[
            ("Forwarded", "for=127.0.0.1;host=public.example.org"),
            ("X-Real-IP", "127.0.0.1"),
            ("X-Forwarded-For", "127.0.0.1"),
        ],
        &[
            ("X-Durward-Set", "x-auth-user"),
            ("X-Durward-Proxy-Authorization", "Bearer x"),
            ("X-Durward-Location", "/"),
        ],
    ];
    for fields in forged {
        for credentials in [None, Some(("Authorization", berta.as_str()))] {
            let with: Vec<_> = fields.iter().copied().chain(credentials).collect();
            let answer = request(gateway.address, "GET /papers/7", &with);
            assert!(matches!(status(&answer), 400 | 401 | 403), "{kind:?} {fields:?}: {answer}");
        }
    }
    let anna = format!("Bearer {}", world.anna);
    for forged in ["X-HTTP-Method-Override", "X-Original-Method", "X-Forwarded-Method", "X-HTTP-Method"] {
        let fields = [("Authorization", anna.as_str()), (forged, "GET"), ("Content-Length", "0")];
        let answer = request(gateway.address, "POST /papers/7", &fields);
        assert_eq!(status(&answer), 403, "{kind:?} {forged}: {answer}");
    }
    // The other way round: what is permitted is not turned into something else behind the gateway.
    for (forged, value) in
        [("X-HTTP-Method-Override", "DELETE"), ("X-Original-URL", "/admin"), ("X-Rewrite-URL", "/admin")]
    {
        let answer =
            request(gateway.address, "GET /papers/7", &[("Authorization", anna.as_str()), (forged, value)]);
        assert_eq!(status(&answer), 403, "{kind:?} {forged}: {answer}");
    }
    assert_eq!(app.seen().len(), before, "{kind:?}: nothing came to the application");
}

/// Who the client says it is.
fn forged_identities(kind: Kind, gateway: &Gateway, world: &World, app: &App) {
    let anna = format!("Bearer {}", world.anna);
    for name in ["X-Auth-User", "x-auth-user", "X-AUTH-USER"] {
        let forged = [(name, "root"), (name, "admin"), ("X-Auth-Groups", "administrators")];
        let answer = request(gateway.address, "GET /", &forged);
        assert_eq!(status(&answer), 200, "{kind:?}: {answer}");
        let told = answer.split_once("\r\n\r\n").unwrap().1;
        for name in ["x-auth-user", "x-auth-groups"] {
            assert_eq!(field(told, name).unwrap_or_default(), "", "{kind:?}: {told}");
        }
        let fields: Vec<_> = forged.into_iter().chain([("Authorization", anna.as_str())]).collect();
        let answer = request(gateway.address, "GET /papers/7", &fields);
        assert_eq!(status(&answer), 200, "{kind:?}: {answer}");
        let told = answer.split_once("\r\n\r\n").unwrap().1;
        assert_eq!(field(told, "x-auth-user").as_deref(), Some("anna"), "{kind:?}: {told}");
        assert_eq!(field(told, "x-auth-groups").as_deref(), Some("staff"), "{kind:?}: {told}");
    }
    // What to CGI and its heirs is the same name. Who never sent it is refused, or it never arrives.
    let before = app.seen().len();
    for forged in [
        [("X_Auth_User", "root"), ("X-Auth_Groups", "administrators")],
        [("x_auth_user", "root"), ("X_AUTH_GROUPS", "administrators")],
        [("X_HTTP_Method_Override", "DELETE"), ("X_Original-URL", "/admin")],
    ] {
        let fields: Vec<_> = forged.into_iter().chain([("Authorization", anna.as_str())]).collect();
        let answer = request(gateway.address, "GET /papers/7", &fields);
        assert!(matches!(status(&answer), 200 | 403), "{kind:?}: {answer}");
    }
    for seen in app.seen().iter().skip(before) {
        let names = seen.lines().skip(1).filter_map(|line| line.split_once(':')).map(|(name, _)| name);
        assert!(names.clone().all(|name| !name.contains('_')), "{kind:?}: {seen}");
    }
    let two = format!("durward_session={}; durward_session={}", world.berta, world.anna);
    assert_eq!(status(&request(gateway.address, "GET /papers/7", &[("Cookie", &two)])), 401, "{kind:?}");
    let both = [("Authorization", anna.as_str()), ("Authorization", "Bearer x")];
    let answer = status(&request(gateway.address, "GET /papers/7", &both));
    assert!(matches!(answer, 400 | 401), "{kind:?}: {answer}");
}

/// Ways to write `/papers/7` that a gateway, durward and an application could read differently.
fn paths(kind: Kind, gateway: &Gateway, world: &World, app: &App) {
    let before = app.seen().len();
    let anna = format!("Bearer {}", world.anna);
    for target in [
        "/secret/../papers/7",
        "/papers/7/../../secret",
        "/papers/7/%2e%2e/%2e%2e/secret",
        "/papers/7/..%2f..%2fsecret",
        "/papers/7%2f..%2f..%2fsecret",
        "/papers/7/..;/..;/secret",
        "/papers/7/.;/x",
        "/papers/7;jsessionid=1",
        "/papers/7%3bx",
        "//papers/7",
        "/papers//7",
        "/papers/7//",
        "/papers/7%00",
        "/papers/7%00/../secret",
        "/papers/7%0d%0aX-Auth-User:%20root",
        "/papers/7%5c..%5csecret",
        "/papers/7\\..\\secret",
        "/papers/7%252e%252e",
        "/papers/%ff",
        "/papers/%c0%ae%c0%ae/secret",
        "/papers/7%",
        "/papers/7%2",
        "/PAPERS/7",
        "/./papers/7",
        "papers/7",
        "*",
    ] {
        let answer = request(gateway.address, &format!("GET {target}"), &[("Authorization", &anna)]);
        assert!(matches!(status(&answer), 400 | 401 | 403 | 404), "{kind:?} {target}: {answer}");
    }
    assert_eq!(app.seen().len(), before, "{kind:?}: nothing came to the application");
    // A path of the route is one, however it is written.
    assert_eq!(status(&request(gateway.address, "GET /p%61pers/7", &[])), 401, "{kind:?}");
    assert_eq!(
        status(&request(gateway.address, "GET /p%61pers/%37", &[("Authorization", &anna)])),
        200,
        "{kind:?}"
    );
}

/// Two hosts: one in the request line, one in the field.
fn hosts(kind: Kind, gateway: &Gateway, app: &App) {
    let at = gateway.address;
    let public = [("Host", "public.example.org")];
    assert_eq!(status(&request(at, "GET /secret", &public)), 200, "{kind:?}: it is public there");
    let before = app.seen().len();
    assert_eq!(status(&request(at, "GET /secret", &[])), 403, "{kind:?}");
    let answer = request(at, "GET http://papers.example.org/secret", &public);
    assert!(matches!(status(&answer), 400 | 403), "{kind:?}: {answer}");
    let twice = [("Host", "papers.example.org"), ("Host", "public.example.org")];
    let answer = request(at, "GET /secret", &twice);
    assert!(matches!(status(&answer), 400 | 403), "{kind:?}: {answer}");
    for host in [
        "public.example.org@papers.example.org",
        "public.example.org, papers.example.org",
        "public.example.org/",
    ] {
        let answer = request(at, "GET /secret", &[("Host", host)]);
        assert!(matches!(status(&answer), 400 | 403), "{kind:?} {host}: {answer}");
    }
    assert_eq!(app.seen().len(), before, "{kind:?}: nothing came to the application");
}

/// A request in the body of another one, which a gateway and an application could part in different places.
fn smuggled(kind: Kind, gateway: &Gateway, app: &App) {
    let before = app.seen().len();
    let inner = "GET /papers/7 HTTP/1.1\r\nHost: papers.example.org\r\nX-Auth-User: root\r\n\r\n";
    let chunk = format!("0\r\n\r\n{inner}");
    for head in [
        format!("Content-Length: {}\r\nTransfer-Encoding: chunked\r\n", chunk.len()),
        format!("Content-Length: {}\r\nTransfer-Encoding : chunked\r\n", chunk.len()),
        format!("Content-Length: {}\r\nTransfer-Encoding: xchunked\r\n", chunk.len()),
        format!("Content-Length: {}\r\nContent-Length: 0\r\n", chunk.len()),
        format!(
            "Content-Length: {}\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
            chunk.len()
        ),
        format!("X: y\r\nContent-Length: {}\r\n\tTransfer-Encoding: chunked\r\n", chunk.len()),
        format!("X: y\rTransfer-Encoding: chunked\r\nContent-Length: {}\r\n", chunk.len()),
    ] {
        let text =
            format!("GET / HTTP/1.1\r\nHost: papers.example.org\r\nConnection: close\r\n{head}\r\n{chunk}");
        exchange(gateway.address, text.as_bytes());
    }
    for seen in app.seen().iter().skip(before) {
        assert!(seen.starts_with("GET / HTTP/1."), "{kind:?}: {seen}");
        assert_eq!(field(seen, "x-auth-user").unwrap_or_default(), "", "{kind:?}: {seen}");
    }
}

/// How a durward fails to answer.
#[derive(Clone, Copy, Debug)]
enum Broken {
    /// It accepts, and is silent.
    Silent,
    /// It closes before it answers.
    Closes,
    /// It says this, and no more.
    Says(&'static str),
    /// It says this and closes.
    SaysAndCloses(&'static str),
}

/// What is said of a yes before its head ends.
const HALF: &str = "HTTP/1.1 200 OK\r\nX-Durward-Set: x-auth-user\r\nX-Auth-User: root\r\n";

const BROKEN: [Broken; 12] = [
    Broken::Silent,
    Broken::Closes,
    Broken::Says("HTTP/1.1 200 O"),
    Broken::SaysAndCloses("HTTP/1.1 200 O"),
    Broken::Says(HALF),
    Broken::SaysAndCloses(HALF),
    Broken::SaysAndCloses("200 OK\r\n\r\n"),
    Broken::SaysAndCloses("HTTP/1.1 100 Continue\r\n\r\n"),
    Broken::SaysAndCloses("\u{16}\u{3}\u{1}not http at all\r\n\r\n"),
    Broken::SaysAndCloses("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"),
    Broken::SaysAndCloses("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
    Broken::SaysAndCloses("HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n"),
];

/// What stands in the place of durward. It ends with the process; connections that are kept stay open.
fn stand_in(now: &Arc<Mutex<Broken>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let now = Arc::clone(now);
    thread::spawn(move || {
        let mut kept = Vec::new();
        for stream in listener.incoming() {
            let (mut stream, broken) = (stream.unwrap(), *now.lock().unwrap());
            let mut says = |text: &str| {
                // The gateway may be gone.
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(text.as_bytes());
            };
            match broken {
                Broken::Closes => {}
                Broken::SaysAndCloses(text) => says(text),
                Broken::Says(text) => {
                    says(text);
                    kept.push(stream);
                }
                Broken::Silent => kept.push(stream),
            }
        }
    });
    address
}

#[test]
fn a_durward_that_does_not_answer_lets_nobody_through() {
    let app = App::start();
    let now = Arc::new(Mutex::new(Broken::Silent));
    let broken_durward = stand_in(&now);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let hurried = |block: &str| block.replace("5s", "1s").replace("5000", "1000");
    let nobody_passes = |kind: Kind, gateway: &Gateway, what: &dyn Debug| {
        let answer = request(gateway.address, "GET /papers/7", &[("X-Auth-User", "root")]);
        assert!(status(&answer) >= 400, "{kind:?} {what:?}: {answer}");
        assert_eq!(app.seen(), Vec::<String>::new(), "{kind:?} {what:?}");
    };
    for kind in KINDS {
        let Some(gateway) = Gateway::start_with(kind, broken_durward, &app, hurried) else { continue };
        for broken in BROKEN {
            *now.lock().unwrap() = broken;
            nobody_passes(kind, &gateway, &broken);
        }
        let Some(gateway) = Gateway::start_with(kind, closed, &app, hurried) else { continue };
        nobody_passes(kind, &gateway, &"down");
    }
}

/// With the cache of the manual, an answer for one request is no answer for another one.
#[test]
fn a_permit_that_nginx_keeps_lets_nothing_else_through() {
    let policy = "policy \"kept\" permit resource.type == \"paper\"; \"staff\" in subject.groups;\n\
                  obligation { \"type\": \"http:cache\", \"seconds\": 60 }\n";
    let world = World::start_with("", "", |directory| directory.write("policies/0.sapl", policy));
    let app = App::start();
    let cache = blocks(&page(), "nginx").swap_remove(1);
    let (path, within) = cache.split_once("\n\n").unwrap();
    let path = path.replace("/var/cache/nginx/durward", "cache");
    let change = |block: &str| {
        let place = "location = /_durward {\n";
        assert!(block.contains(place));
        format!("{path}\n{}", block.replace(place, &format!("{place}{within}\n")))
    };
    let Some(gateway) = Gateway::start_with(Kind::Nginx, world.server.address, &app, change) else { return };
    let (anna, berta) = (format!("Bearer {}", world.anna), format!("Bearer {}", world.berta));
    let get = |fields: &[(&str, &str)]| status(&request(gateway.address, "GET /papers/7", fields));
    let decided = || {
        let metrics = world.server.get("/metrics").text();
        let name = "durward_door_answers_total{door=\"nginx\",result=\"allow\"} ";
        let line = metrics.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).unwrap_or(0)
    };
    let own = [("Authorization", anna.as_str())];
    assert_eq!((get(&own), get(&own), get(&own)), (200, 200, 200));
    assert_eq!(decided(), 1, "nginx keeps the answer");
    assert_eq!(get(&[]), 401);
    assert_eq!(get(&[("Authorization", berta.as_str())]), 403);
    for name in
        ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Original-URL", "X-Rewrite-URL"]
    {
        assert_eq!(get(&[own[0], (name, "DELETE")]), 403, "{name}");
    }
    assert_eq!(status(&request(gateway.address, "DELETE /papers/7", &own)), 403);
    assert_eq!(get(&own), 200);
}

/// A gateway whose configuration forgets one of the fields, or passes a client's own on, lets nobody through at all: it is seen at once.
#[test]
fn a_field_that_nginx_was_not_told_to_write_is_missed() {
    let world = World::start("", "");
    let app = App::start();
    let anna = format!("Bearer {}", world.anna);
    for name in
        ["X-Original-Method", "X-Original-URI", "X-Original-Host", "X-Original-Proto", "X-Forwarded-For"]
    {
        let without = |block: &str| {
            let lines = block.lines().filter(|line| !line.contains(name));
            lines.collect::<Vec<_>>().join("\n")
        };
        let Some(gateway) = Gateway::start_with(Kind::Nginx, world.server.address, &app, without) else {
            return;
        };
        let answer = request(gateway.address, "GET /papers/7", &[("Authorization", &anna)]);
        assert_eq!(status(&answer), 403, "{name}: {answer}");
    }
    assert_eq!(app.seen(), Vec::<String>::new());
}

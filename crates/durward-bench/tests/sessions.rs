//! The load against servers that are none, or that lie: nothing they say may be taken for speed.

#![expect(clippy::unwrap_used, reason = "a test may fail so")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use durward_bench::Bare;
use durward_bench::sessions::{
    BenchPerson, BenchSite, SessionBenchError, SessionLoad, UserAction, flood, login, logouts, memory, mix,
    validate, validation_body, wait_ready,
};

const LOAD: SessionLoad = SessionLoad { users: 4, duration: Duration::from_millis(100) };

/// A request: what it begins with, and its whole head.
struct HttpRequest {
    line: String,
    head: String,
}

/// What a node says: a status and a body.
type Says = Arc<dyn Fn(&HttpRequest) -> (u16, String) + Send + Sync>;

/// A server of our own that says what it is told to. It goes with the test's process.
fn node(says: Says) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, says) = (stream.unwrap(), Arc::clone(&says));
            // A connection ends when whoever asks has gone.
            thread::spawn(move || while answer(&stream, &says).is_some() {});
        }
    });
    address
}

fn answer(mut stream: &TcpStream, says: &Says) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut reader = BufReader::with_capacity(1, stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head
        .split_once("Content-Length: ")
        .map_or(0, |(_, rest)| rest.split('\r').next().unwrap().parse().unwrap());
    reader.read_exact(&mut vec![0; length]).ok()?;
    let line = head.lines().next().unwrap().to_owned();
    let (status, body) = says(&HttpRequest { line, head });
    write!(stream, "HTTP/1.1 {status} So\r\ncontent-length: {}\r\n\r\n{body}", body.len()).ok()
}

/// What a node that works says, of a user `anna`.
fn right(asked: &HttpRequest) -> (u16, String) {
    let body = match asked.line.as_str() {
        "POST /v1/login HTTP/1.1" => r#"{"token":"t","user":"anna"}"#,
        "POST /v1/sessions/validate HTTP/1.1" if asked.head.contains("\r\nAuthorization: Bearer t\r\n") => {
            r#"{"valid":true,"user":"anna","realm":"/"}"#
        }
        "POST /v1/sessions/logout HTTP/1.1" => "{\"done\":true}\n",
        "GET /health/ready HTTP/1.1" => "{}",
        _ => return (404, String::new()),
    };
    (200, body.to_owned())
}

/// One that says something else of what begins so.
fn but(start: &'static str, status: u16, body: &'static str) -> Says {
    Arc::new(
        move |asked| if asked.line.starts_with(start) { (status, body.to_owned()) } else { right(asked) },
    )
}

fn anna() -> Vec<BenchPerson> {
    vec![BenchPerson::new("anna", "secret")]
}

fn site<'a>(nodes: &'a [SocketAddr], people: &'a [BenchPerson]) -> BenchSite<'a> {
    BenchSite { nodes, processes: &[], people, has_own_core: false }
}

#[test]
fn what_is_asked_is_what_is_counted() {
    let validations = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&validations);
    let says = move |asked: &HttpRequest| {
        count.fetch_add(usize::from(asked.line.contains("validate")), Ordering::SeqCst);
        right(asked)
    };
    let (people, nodes) = (anna(), [node(Arc::new(says))]);
    let site = site(&nodes, &people);
    wait_ready(nodes[0]).unwrap();
    let body = validation_body(&site).unwrap();
    let bare = Bare::start(&body).unwrap();
    let before = validations.load(Ordering::SeqCst);
    let measured = validate(&site, &LOAD, Some(&bare)).unwrap();
    let asked = (validations.load(Ordering::SeqCst) - before) as u64;
    let waits = measured.nodes.of(UserAction::Validate).unwrap();
    // One round in six is for warming up.
    assert!(waits.answered > 0 && waits.answered < asked, "{} of {asked}", waits.answered);
    assert_eq!((measured.nodes.failed(), measured.nodes.waits.len()), (0, 1));
    assert!(waits.p50_ns <= waits.p95_ns && waits.p95_ns <= waits.p99_ns && waits.p99_ns <= waits.max_ns);
    let bare = measured.bare.unwrap();
    assert!(bare.rate.median > 0.0 && bare.failed() == 0, "{bare:?}");
}

#[test]
fn a_mix_has_so_many_logouts() {
    let (people, nodes) = (anna(), [node(Arc::new(right)), node(Arc::new(right))]);
    let measured = mix(&site(&nodes, &people), &LOAD, 50).unwrap();
    assert_eq!(measured.failed(), 0, "{measured:?}");
    let count = |act| measured.of(act).map_or(0, |waits| waits.answered);
    assert!(count(UserAction::Logout) > 0 && count(UserAction::Validate) > 0, "{measured:?}");
    // Who logs out logs in again; at the end of a round each of four may be between the two.
    assert!(count(UserAction::Login).abs_diff(count(UserAction::Logout)) <= 4 * 6, "{measured:?}");
    let only = mix(&site(&nodes, &people), &LOAD, 100).unwrap();
    assert!(only.of(UserAction::Validate).is_none(), "{only:?}");
}

#[test]
fn a_node_that_answers_nonsense_is_not_fast() {
    let people = anna();
    let wrong = |says| {
        let nodes = [node(says)];
        match validate(&site(&nodes, &people), &LOAD, None) {
            Err(SessionBenchError::Wrong(what)) => what,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(wrong(but("POST /v1/login", 401, "no")), "login was answered 401 no");
    assert_eq!(wrong(but("POST /v1/login", 200, "{}")), "login was answered 200 {}");
    for body in [r#"{"valid":false}"#, r#"{"valid":true,"user":"berta"}"#, "", "{\"decision\":\"PERMIT\"}"] {
        assert_eq!(
            wrong(but("POST /v1/sessions/validate", 200, body)),
            format!("validate was answered 200 {body}")
        );
    }
    let nodes = [node(but("POST /v1/login", 200, "[]"))];
    let measured = login(&site(&nodes, &people), &LOAD);
    assert!(matches!(measured, Err(SessionBenchError::Wrong(_))), "{measured:?}");
}

#[test]
fn wrong_answers_among_right_ones_are_counted_apart() {
    let turn = AtomicUsize::new(0);
    let says = move |asked: &HttpRequest| {
        let is_odd = asked.line.contains("validate") && turn.fetch_add(1, Ordering::SeqCst) % 2 == 1;
        if is_odd { (503, "later".to_owned()) } else { right(asked) }
    };
    let (people, nodes) = (anna(), [node(Arc::new(says))]);
    let measured = validate(&site(&nodes, &people), &LOAD, None).unwrap().nodes;
    let waits = measured.of(UserAction::Validate).unwrap();
    assert!(waits.failed > 0 && waits.failed.abs_diff(waits.answered) <= 6, "{waits:?}");
    assert_eq!(measured.wrong.as_deref(), Some("validate was answered 503 later"));
}

#[test]
fn what_speaks_no_http_is_said_so() {
    let people = anna();
    for text in ["SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let nodes = [listener.local_addr().unwrap()];
        thread::spawn(move || {
            for stream in listener.incoming() {
                stream.unwrap().write_all(text.as_bytes()).unwrap();
            }
        });
        let measured = validate(&site(&nodes, &people), &LOAD, None);
        // It may also be gone before it was listened to.
        let is_said =
            matches!(measured, Err(SessionBenchError::Nonsense(_) | SessionBenchError::Connection(_)));
        assert!(is_said, "{measured:?}");
    }
    let nodes = [SocketAddr::from(([127, 0, 0, 1], 1))];
    assert!(matches!(login(&site(&nodes, &people), &LOAD), Err(SessionBenchError::Connection(_))));
    assert!(matches!(login(&site(&nodes, &[]), &LOAD), Err(SessionBenchError::NoPeople)));
}

#[test]
fn logins_of_a_flood_may_be_turned_away() {
    let turn = AtomicUsize::new(0);
    let says = move |asked: &HttpRequest| match asked.line.contains("login") {
        true if turn.fetch_add(1, Ordering::SeqCst) < 100 => right(asked),
        // Slowly, so that ten times of it is not too much for the test.
        true => {
            thread::sleep(Duration::from_millis(5));
            right(asked)
        }
        false => right(asked),
    };
    let (people, nodes) = (anna(), [node(Arc::new(says))]);
    let measured = flood(&site(&nodes, &people), &LOAD).unwrap();
    assert!(measured.capacity_per_s > 0.0 && measured.kept() > 0.0, "{measured:?}");
    assert_eq!(measured.offered_per_s, 10.0 * measured.capacity_per_s);
    assert!(measured.logins.keys().eq([&200]), "{measured:?}");
}

/// Sessions of nodes that share what was ended; the one that hears of it late accepts it some times more.
#[test]
fn a_logout_is_waited_for_on_all_other_nodes() {
    let (ended, late) = (Arc::new(Mutex::new(0)), 3);
    let shared = |is_late: bool| -> Says {
        let ended = Arc::clone(&ended);
        Arc::new(move |asked| {
            let mut ended = ended.lock().unwrap();
            if asked.line.contains("login") {
                *ended = 0;
            } else if asked.line.contains("logout") || *ended > 0 && asked.line.contains("validate") {
                *ended += 1;
                let is_known = !is_late || *ended > 1 + late;
                if asked.line.contains("validate") && is_known {
                    return (200, r#"{"valid":false}"#.to_owned());
                }
            }
            right(asked)
        })
    };
    let people = anna();
    let nodes = [node(shared(false)), node(shared(true))];
    let seen = logouts(&site(&nodes, &people), 4).unwrap();
    // Two of the four were on the first node: the second heard of them late.
    assert_eq!((seen.count, seen.accepted_after), (4, 2), "{seen:?}");
    assert!(0 < seen.p50_ns && seen.p50_ns <= seen.p99_ns && seen.p99_ns <= seen.max_ns, "{seen:?}");
    assert!(matches!(logouts(&site(&nodes[..1], &people), 4), Err(SessionBenchError::OneNode)));
}

#[test]
fn memory_is_looked_at_only_of_processes_that_are_known() {
    let (people, nodes) = (anna(), [node(Arc::new(right))]);
    assert!(matches!(memory(&site(&nodes, &people), 10, 2), Err(SessionBenchError::NoProcess)));
    if !cfg!(target_os = "linux") {
        return;
    }
    let own = [std::process::id()];
    let measured = memory(&BenchSite { processes: &own, ..site(&nodes, &people) }, 10, 2).unwrap();
    assert_eq!((measured.sessions, measured.checked, measured.nodes.len()), (10, 10, 1));
    assert!(measured.nodes[0].before > 0 && measured.nodes[0].after > 0);
    let lying = [node(but("POST /v1/sessions/validate", 200, r#"{"valid":false}"#))];
    let measured = memory(&BenchSite { processes: &own, ..site(&lying, &people) }, 10, 2);
    assert!(matches!(measured, Err(SessionBenchError::Wrong(_))), "{measured:?}");
}

//! Load over RSocket, against a responder made of the same frames, and against what is none.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use bytes::BytesMut;
use durward_lab::record::MeasuredPoint;
use durward_lab::run::{NoWatcher, RunOptions, run};
use durward_lab::scenario::Scenario;
use durward_wire::rsocket::frame::{ErrorCode, Frame, Interaction, flag, split};
use durward_wire::rsocket::{Credentials, write};

use super::server::run_text;

const PERMIT: &[u8] = &[8, 1];
const DENY: &[u8] = &[8, 2];

/// Says something to a request: the stream, what is expected, the route.
type Answer = dyn Fn(&mut BytesMut, u32, Interaction, &[u8]);

/// What a responder saw.
#[derive(Default)]
struct Seen {
    cancelled: AtomicU64,
    demanded: Mutex<Vec<u32>>,
    credentials: Mutex<Vec<Credentials>>,
    questions: Mutex<Vec<Vec<u8>>>,
}

impl Seen {
    /// How many connections spoke: one more is taken to see whether the server is there.
    fn setups(&self) -> usize {
        self.credentials.lock().unwrap().len()
    }
}

/// A responder; what it says to a request is up to the test.
fn responder(
    answer: impl Fn(&mut BytesMut, u32, Interaction, &[u8]) + Send + Sync + 'static,
) -> (String, Arc<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("rsocket://{}", listener.local_addr().unwrap());
    let (seen, answer) = (Arc::new(Seen::default()), Arc::new(answer));
    let all = Arc::clone(&seen);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (seen, answer) = (Arc::clone(&all), Arc::clone(&answer));
            thread::spawn(move || serve(stream, &seen, answer.as_ref()));
        }
    });
    (url, seen)
}

fn serve(mut stream: TcpStream, seen: &Seen, answer: &Answer) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let (mut input, mut out, mut buffer) = (BytesMut::new(), BytesMut::new(), vec![0; 65536]);
    loop {
        let count = stream.read(&mut buffer).ok().filter(|count| *count > 0)?;
        input.extend_from_slice(&buffer[..count]);
        while let Some(bytes) = split(&mut input) {
            match Frame::read(bytes).unwrap() {
                Frame::Setup(setup) => {
                    let credentials = Credentials::read(setup.payload.metadata);
                    seen.credentials.lock().unwrap().push(credentials);
                }
                Frame::Request { stream, interaction, demand, payload, .. } => {
                    seen.demanded.lock().unwrap().push(demand);
                    seen.questions.lock().unwrap().push(payload.data.to_vec());
                    answer(&mut out, stream, interaction, payload.metadata.as_deref().unwrap_or_default());
                }
                Frame::RequestN { stream, demand } => {
                    seen.demanded.lock().unwrap().push(demand);
                    answer(&mut out, stream, Interaction::Stream, b"more");
                }
                Frame::Cancel { .. } => {
                    seen.cancelled.fetch_add(1, Ordering::Relaxed);
                }
                Frame::KeepAlive { respond: true, data } => write::keep_alive(&mut out, false, &data),
                _ => {}
            }
        }
        stream.write_all(&out).ok()?;
        out.clear();
    }
}

fn say(out: &mut BytesMut, stream: u32, flags: u16, data: &[u8]) {
    write::payload(out, stream, flags, |out| out.extend_from_slice(data));
}

fn point(url: &str, load: &str, step: &str) -> MeasuredPoint {
    let text = format!(
        "[target]\naddresses = [{url:?}]\n[load]\nthreads = 1\nwarm_up = \"100ms\"\nmeasure = \"400ms\"\n{load}\n[[steps]]\nname = \"ask\"\n{step}"
    );
    run_text(&text).points.remove(0)
}

const ONCE: &str = "use = \"sapl-rsocket-decide-once\"\nwith = { body = '{\"subject\":\"u${user}\",\"action\":\"read\",\"resource\":1}', decision = \"PERMIT\" }";
const STREAM: &str = "use = \"sapl-rsocket-decide\"\nwith = { body = '{\"subject\":\"a\",\"action\":\"read\",\"resource\":1}', decision = \"PERMIT\" }";

fn one_cause(point: &MeasuredPoint) -> Vec<&str> {
    point.steps[0].failed.keys().map(String::as_str).collect()
}

#[test]
fn many_questions_are_under_way_on_one_connection() {
    let (url, seen) = responder(|out, stream, interaction, route| {
        assert_eq!((interaction, route), (Interaction::Response, &b"decide-once"[..]));
        say(out, stream, flag::NEXT | flag::COMPLETE, PERMIT);
    });
    let point = point(&url, "users = 50", ONCE);
    assert!(point.answered() > 200 && point.failed() == 0, "{:?}", point.steps);
    assert_eq!((seen.setups(), point.generator.connections), (1, 1));
    // Each user asks for themselves: the question is filled and then written as a message.
    let questions = seen.questions.lock().unwrap();
    for user in ["u0", "u49"] {
        let has = |question: &Vec<u8>| question.windows(user.len()).any(|part| part == user.as_bytes());
        assert!(questions.iter().any(has), "{user}");
    }
}

#[test]
fn streams_on_a_connection_are_bounded() {
    let (url, seen) = responder(|out, stream, _, _| {
        thread::sleep(Duration::from_millis(1));
        say(out, stream, flag::NEXT | flag::COMPLETE, PERMIT);
    });
    let spread = point(&url, "users = 10\nstreams = 4", ONCE);
    assert!(spread.answered() > 20 && spread.failed() == 0, "{:?}", spread.steps);
    assert_eq!(seen.setups(), 3);
    // Arrivals wait where all places are taken.
    let open = point(&url, "arrivals = { rate = 5000 }\nconnections = 1\nstreams = 2", ONCE);
    assert!(open.generator.connections == 1 && open.steps[0].not_sent > 0, "{:?}", open.steps);
}

#[test]
fn wrong_answers_are_no_speed() {
    let table: [(&str, &'static [u8], u16); 3] = [
        ("wrong answer: JSON /decision", DENY, flag::NEXT | flag::COMPLETE),
        ("not a message of SAPL", b"\xff\xff", flag::NEXT | flag::COMPLETE),
        ("stream ended", b"", flag::COMPLETE),
    ];
    for (cause, data, flags) in table {
        let (url, _) = responder(move |out, stream, _, _| say(out, stream, flags, data));
        let point = point(&url, "users = 2\nerror_pause = \"20ms\"", ONCE);
        assert!(point.answered() == 0 && point.failed() > 1, "{:?}", point.steps);
        assert_eq!(one_cause(&point), [cause]);
    }
    let (url, _) =
        responder(|out, stream, _, _| write::error(out, stream, ErrorCode::Rejected, "Stream limit reached"));
    let refused = point(&url, "users = 2\nerror_pause = \"20ms\"", ONCE);
    assert_eq!(one_cause(&refused), ["RSocket REJECTED"]);
}

#[test]
fn answers_in_fragments_are_put_together() {
    let (url, _) = responder(|out, stream, _, _| {
        say(out, stream, flag::NEXT | flag::FOLLOWS, &PERMIT[..1]);
        say(out, stream, flag::NEXT | flag::COMPLETE, &PERMIT[1..]);
    });
    let point = point(&url, "users = 3", ONCE);
    assert!(point.answered() > 10 && point.failed() == 0, "{:?}", point.steps);
}

#[test]
fn credentials_are_in_the_setup() {
    let (url, seen) = responder(|out, stream, _, _| say(out, stream, flag::NEXT | flag::COMPLETE, PERMIT));
    let text = |rsocket: &str| {
        format!(
            "[target]\naddresses = [{url:?}]\n[rsocket]\n{rsocket}\n[load]\nusers = 1\nwarm_up = \"0s\"\nmeasure = \"100ms\"\n[[steps]]\n{ONCE}"
        )
    };
    run_text(&text("token = \"t\""));
    run_text(&text("user = \"u\"\npassword = \"p\""));
    let seen = seen.credentials.lock().unwrap();
    let simple = Credentials::Simple { user: "u".into(), password: "p".into() };
    assert!(*seen == [Credentials::Bearer("t".into()), simple], "{seen:?}");
    // A setup that is refused ends the connection.
    let (url, _) =
        responder(|out, _, _, _| write::error(out, 0, ErrorCode::RejectedSetup, "Authentication failed"));
    let refused = point(&url, "users = 1\nerror_pause = \"20ms\"", ONCE);
    assert_eq!(one_cause(&refused), ["RSocket closed: REJECTED_SETUP"]);
}

#[test]
fn streams_are_held_and_asked_for_more() {
    // As many decisions as are asked for, at once.
    let (url, seen) = responder(|out, stream, interaction, route| {
        assert!(interaction == Interaction::Stream && (route == b"decide" || route == b"more"));
        (0..4).for_each(|_| say(out, stream, flag::NEXT, PERMIT));
    });
    let step = format!("{STREAM}\nevents = {{ hold = \"50ms\", request_n = 4 }}");
    let held = point(&url, "users = 2", &step);
    assert!(held.answered() > 4 && held.failed() == 0, "{:?}", held.steps);
    assert!(held.steps[0].events > 4 * held.answered(), "{} {}", held.steps[0].events, held.answered());
    assert!(held.steps[0].gaps.count() > 0);
    assert!(seen.demanded.lock().unwrap().iter().all(|demand| *demand == 4));
    assert!(seen.cancelled.load(Ordering::Relaxed) > 4);
    // One that the server ends is broken; one that is closed at its first decision is not.
    let (url, _) = responder(|out, stream, _, _| {
        say(out, stream, flag::NEXT, PERMIT);
        say(out, stream, flag::COMPLETE, b"");
    });
    let broken = point(&url, "users = 1\nerror_pause = \"20ms\"", &format!("{STREAM}\nevents.hold = \"1s\""));
    assert!(broken.answered() > 1, "{:?}", broken.steps);
    assert_eq!(one_cause(&broken), ["stream ended"]);
    let first = point(&url, "users = 1", STREAM);
    assert!(first.answered() > 1 && first.failed() == 0, "{:?}", first.steps);
}

#[test]
fn what_speaks_no_rsocket_is_told() {
    let raw = |bytes: &'static [u8]| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("rsocket://{}", listener.local_addr().unwrap());
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut buffer = [0; 1024];
                let _ = stream.read(&mut buffer);
                let _ = stream.write_all(bytes);
                if bytes.is_empty() {
                    // Says nothing and stays.
                    thread::spawn(move || {
                        let _ = stream.read_to_end(&mut Vec::new());
                    });
                }
            }
        });
        url
    };
    for (bytes, cause) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "not RSocket"),
        (b"\x00\x00\x02\x00\x00\x00\x00", "not RSocket"),
        (b"\x00\x00\x06\x00\x00", "closed"),
        (b"", "timeout"),
    ] {
        let point = point(&raw(bytes), "users = 1\ntimeout = \"100ms\"\nerror_pause = \"20ms\"", ONCE);
        assert_eq!((point.answered(), one_cause(&point)), (0, vec![cause]), "{bytes:?}");
    }
}

#[test]
fn a_server_that_does_not_live_is_given_up() {
    let (url, _) = responder(|_, _, _, _| {});
    let text = format!(
        "[target]\naddresses = [{url:?}]\n[rsocket]\nkeep_alive = \"50ms\"\nlifetime = \"150ms\"\n[load]\nusers = 1\ntimeout = \"400ms\"\nerror_pause = \"10ms\"\nwarm_up = \"0s\"\nmeasure = \"600ms\"\n[[steps]]\n{ONCE}"
    );
    // It answers keep-alives, so it is waited for.
    let point = run_text(&text).points.remove(0);
    assert_eq!(one_cause(&point), ["timeout"], "{:?}", point.steps);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("rsocket://{}", listener.local_addr().unwrap());
    let point = run_text(&text.replace(&url, &silent)).points.remove(0);
    assert_eq!(one_cause(&point), ["keep-alive unanswered"], "{:?}", point.steps);
}

#[test]
fn scenarios_that_mix_protocols_are_refused() {
    let read = |text: &str| {
        let scenario = Scenario::read(text)?;
        match run(
            &scenario,
            &RunOptions { generator_limit: Duration::ZERO, ..RunOptions::default() },
            &mut NoWatcher,
        ) {
            Ok(_) => panic!("{text}"),
            Err(durward_lab::run::RunError::Scenario(error)) => Err::<(), _>(error),
            Err(other) => panic!("{other}"),
        }
    };
    let load = "[load]\nusers = 1\nmeasure = \"100ms\"";
    let at = |address: &str| format!("[target]\naddresses = [{address:?}]");
    let rsocket = at("rsocket://127.0.0.1:1");
    let body = r#"with.body = '{"subject":1,"action":2,"resource":3}'"#;
    for (text, said) in [
        (format!("{rsocket}\n{load}\n[[steps]]\npath = \"/\""), "speaks RSocket"),
        (
            format!("{}\n{load}\n[[steps]]\n{ONCE}", at("http://127.0.0.1:1")),
            "write the address as `rsocket://",
        ),
        (
            format!(
                "[target]\naddresses = [\"rsocket://127.0.0.1:1\", \"127.0.0.1:2\"]\n{load}\n[[steps]]\n{ONCE}"
            ),
            "all of RSocket or all of HTTP",
        ),
        (format!("{rsocket}\n{load}\nhttp = \"2\"\n[[steps]]\n{ONCE}"), "is for HTTP"),
        (format!("{rsocket}\n{load}\nkeep_alive = false\n[[steps]]\n{ONCE}"), "is for HTTP/1.1"),
        (
            format!("{rsocket}\n{load}\n[[steps]]\nuse = \"sapl-rsocket-decide-once\"\nwith.body = \"{{\""),
            "no JSON",
        ),
        (
            format!("{rsocket}\n{load}\n[[steps]]\nuse = \"sapl-rsocket-decide-once\"\n{body}\npath = \"/\""),
            "no `path`",
        ),
        (
            format!(
                "{rsocket}\n{load}\n[[steps]]\nuse = \"sapl-rsocket-decide-once\"\n{body}\nexpect.status = 200"
            ),
            "messages",
        ),
        (
            format!(
                "{rsocket}\n{load}\n[[steps]]\nuse = \"sapl-rsocket-decide-once\"\n{body}\nevents.count = 2"
            ),
            "answered once",
        ),
        (
            format!(
                "{rsocket}\n{load}\n[[steps]]\nuse = \"sapl-rsocket-decide\"\n{body}\nevents.request_n = 0"
            ),
            "`request_n`",
        ),
        (
            format!(
                "{rsocket}\n{load}\n[[steps]]\nuse = \"sapl-rsocket-decide\"\n{body}\nevents.holt = \"1s\""
            ),
            "did you mean `hold`",
        ),
        (
            format!("{rsocket}\n[rsocket]\ntoken = \"${{user}}\"\n{load}\n[[steps]]\n{ONCE}"),
            "known before the run",
        ),
        (
            format!("{rsocket}\n{load}\n[[steps]]\nuse = \"sapl-rsocket-decide-onse\"\n{body}"),
            "did you mean `sapl-rsocket-decide-once`",
        ),
    ] {
        let error = read(&text).unwrap_err().to_string();
        assert!(error.contains(said), "{said}: {error}");
    }
}

#[test]
fn the_generator_is_measured_on_the_protocol_in_use() {
    let (url, _) = responder(|out, stream, interaction, _| {
        say(
            out,
            stream,
            if interaction == Interaction::Stream { flag::NEXT } else { flag::NEXT | flag::COMPLETE },
            PERMIT,
        )
    });
    for step in [ONCE, STREAM] {
        let text = format!(
            "[target]\naddresses = [{url:?}]\n[load]\nusers = 1\nthreads = 1\nwarm_up = \"0s\"\nmeasure = \"100ms\"\n[[steps]]\n{step}"
        );
        let options = RunOptions { generator_limit: Duration::from_millis(300), ..RunOptions::default() };
        let record = super::server::run_with(&text, &options);
        let limit = record.generator_limit.unwrap();
        assert!(limit.requests_per_s > 1000.0, "{limit:?}");
    }
}

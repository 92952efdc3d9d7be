//! Server-sent events: the first event's latency, streams that are held, and streams that break.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use durward_lab::record::MeasuredPoint;

use super::server::{Server, ok, one_point};

/// A server that gives every connection to the test, once a request came.
fn events(answer: impl Fn(&mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
                // Whoever closes a stream that is held ends it.
                let _ = answer(&mut stream);
            });
        }
    });
    url
}

/// What is said to a request.
type Say = fn(&mut TcpStream) -> std::io::Result<()>;

const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream;charset=UTF-8\r\nTransfer-Encoding: chunked\r\n\r\n";

fn chunk(stream: &mut TcpStream, text: &str) -> std::io::Result<()> {
    stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())
}

fn point(url: &str, load: &str, step: &str) -> MeasuredPoint {
    one_point(&[url], load, &format!("path = \"/\"\n{step}"))
}

const SHORT: &str = "measure = \"500ms\"\nerror_pause = \"20ms\"\n";

#[test]
fn the_first_event_is_the_answer() {
    let url = events(|stream| {
        stream.write_all(HEAD)?;
        thread::sleep(Duration::from_millis(30));
        chunk(stream, ": wait\n\ndata:{\"decision\":\"PERMIT\",\"id\":\"a b\"}\n\n")?;
        thread::sleep(Duration::from_secs(5));
        Ok(())
    });
    let step = "events = {}\nexpect.json.\"/decision\" = \"PERMIT\"\ncapture.id = { json = \"/id\" }";
    let point = point(&url, &format!("users = 2\n{SHORT}"), step);
    assert!(point.answered() > 5 && point.failed() == 0, "{:?}", point.steps);
    let first = point.since_due().percentile_ns(50.0);
    assert!((30_000_000..400_000_000).contains(&first), "{first}");
    assert_eq!(point.steps[0].events, point.answered());
}

#[test]
fn streams_are_held_and_their_events_counted() {
    let url = events(|stream| {
        stream.write_all(HEAD)?;
        loop {
            chunk(stream, "data: {}\n\n")?;
            thread::sleep(Duration::from_millis(10));
        }
    });
    let held = point(&url, &format!("users = 3\n{SHORT}"), "events = { hold = \"100ms\" }");
    assert!(held.answered() >= 6 && held.failed() == 0, "{:?}", held.steps);
    let step = &held.steps[0];
    assert!(step.events > 4 * held.answered(), "{} {}", step.events, held.answered());
    let gap = step.gaps.percentile_ns(50.0);
    assert!((9_000_000..60_000_000).contains(&gap), "{gap}");
    let counted = point(&url, &format!("users = 1\n{SHORT}"), "events = { count = 3 }");
    assert!(counted.answered() > 5 && counted.failed() == 0, "{:?}", counted.steps);
    assert!(counted.steps[0].events.abs_diff(3 * counted.answered()) <= 4, "{:?}", counted.steps[0].events);
    // One that outlives the measurement is closed with it, and is no failure.
    let long = point(&url, &format!("users = 2\n{SHORT}"), "events = { hold = \"1h\" }");
    assert_eq!(long.failed(), 0, "{:?}", long.steps);
    assert!(long.steps[0].events > 20, "{}", long.steps[0].events);
}

#[test]
fn streams_that_break_are_told_apart_by_cause() {
    let table: [(&str, &str, Say); 6] = [
        ("stream ended", "events.hold = \"1s\"", |stream| {
            stream.write_all(HEAD)?;
            chunk(stream, "data: 1\n\n")?;
            stream.write_all(b"0\r\n\r\n")
        }),
        ("closed", "events.hold = \"1s\"", |stream| {
            stream.write_all(HEAD)?;
            chunk(stream, "data: 1\n\n")
        }),
        ("stream ended", "events = {}", |stream| {
            stream.write_all(HEAD)?;
            stream.write_all(b"0\r\n\r\n")
        }),
        ("timeout", "events.count = 2\ntimeout = \"60ms\"", |stream| {
            stream.write_all(HEAD)?;
            chunk(stream, "data: 1\n\n")?;
            thread::sleep(Duration::from_secs(2));
            Ok(())
        }),
        ("not HTTP", "events.hold = \"1s\"", |stream| {
            stream.write_all(HEAD)?;
            chunk(stream, "data: 1\n\n")?;
            stream.write_all(b"zz\r\n")
        }),
        ("wrong answer: JSON /decision", "events = {}\nexpect.json.\"/decision\" = \"PERMIT\"", |stream| {
            stream.write_all(HEAD)?;
            chunk(stream, "data: {\"decision\":\"DENY\"}\n\n")?;
            thread::sleep(Duration::from_secs(2));
            Ok(())
        }),
    ];
    for (cause, step, answer) in table {
        let point = point(&events(answer), &format!("users = 1\n{SHORT}"), step);
        let causes: Vec<&str> = point.steps[0].failed.keys().map(String::as_str).collect();
        assert_eq!(causes, [cause], "{step}: {:?}", point.steps);
    }
}

#[test]
fn an_answer_that_is_no_stream_is_none() {
    let server = Server::start(|_| ok("{}"));
    let plain = point(&server.url, &format!("users = 1\n{SHORT}"), "events = {}");
    assert_eq!(plain.steps[0].failed.keys().collect::<Vec<_>>(), ["no event stream"]);
    let server = Server::start(|_| super::server::Reply::Answer(503, "", String::new()));
    let refused = point(&server.url, &format!("users = 1\n{SHORT}"), "events = {}");
    assert_eq!(refused.steps[0].failed.keys().collect::<Vec<_>>(), ["status 503"]);
}

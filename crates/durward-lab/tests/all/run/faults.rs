//! Targets that misbehave: each failure is counted by its cause, and none is dropped.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::server::{Reply, Server, ok, one_point, run_text, run_with};
use durward_lab::record::{MeasuredPoint, PointWarning};
use durward_lab::run::{NoWatcher, RunError, RunOptions, run};
use durward_lab::scenario::Scenario;

const SHORT: &str =
    "users = 2\nthink = \"5ms\"\nmeasure = \"300ms\"\ntimeout = \"150ms\"\nerror_pause = \"5ms\"";

/// What failed, by cause, of a target that answers so.
fn failed(answer: impl Fn() -> Reply + Send + Sync + 'static, step: &str) -> BTreeMap<String, u64> {
    let server = Server::start(move |_| answer());
    let point = one_point(&[&server.url], SHORT, step);
    let step = &point.steps[0];
    assert_eq!(step.failed.values().sum::<u64>(), step.failed_since_due.count());
    step.failed.clone()
}

fn only(failed: &BTreeMap<String, u64>) -> &str {
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed.values().all(|count| *count > 1), "{failed:?}");
    failed.keys().next().unwrap()
}

#[test]
fn failures_are_counted_by_cause() {
    let raw = |text: &'static str| move || Reply::Raw(text.as_bytes().to_vec());
    assert_eq!(only(&failed(|| Reply::Answer(503, "", String::new()), "path = \"/\"")), "status 503");
    assert_eq!(only(&failed(raw(""), "path = \"/\"")), "closed");
    assert_eq!(
        only(&failed(raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi"), "path = \"/\"")),
        "closed"
    );
    assert_eq!(only(&failed(raw("SSH-2.0-OpenSSH_9.9\r\n"), "path = \"/\"")), "not HTTP");
    let wrong = failed(|| ok("{\"valid\":false}"), "path = \"/\"\nexpect.json.\"/valid\" = true");
    assert_eq!(only(&wrong), "wrong answer: JSON /valid");
    let wrong = failed(|| ok("no"), "path = \"/\"\nexpect.contains = \"yes\"");
    assert_eq!(only(&wrong), "wrong answer: text is missing");
    let missing = failed(|| ok("{}"), "path = \"/\"\ncapture.token = { json = \"/token\" }");
    assert_eq!(only(&missing), "wrong answer: nothing to capture as token");
}

#[test]
fn what_a_single_question_meets_is_told_by_cause() {
    for (raw, cause) in [
        ("", "closed"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi", "closed"),
        ("SSH-2.0-OpenSSH_9.9\r\n", "not HTTP"),
    ] {
        let server = Server::start(move |_| Reply::Raw(raw.as_bytes().to_vec()));
        let error = durward_lab::load::probe(&server.url, Duration::from_secs(5)).unwrap_err().to_string();
        assert!(error.ends_with(&format!("does not answer: {cause}")), "{error}");
    }
    let server =
        Server::start(|_| Reply::Raw(format!("HTTP/1.1 200 OK\r\nX: {}", "z".repeat(1 << 20)).into()));
    let error = durward_lab::load::probe(&server.url, Duration::from_secs(5)).unwrap_err().to_string();
    assert!(error.ends_with("does not answer: answer too long"), "{error}");
}

#[test]
fn an_answer_that_ends_with_its_connection_is_right() {
    let server = Server::start(|_| Reply::Raw(b"HTTP/1.1 200 OK\r\n\r\n{\"a\":[1]}".to_vec()));
    let point = one_point(&[&server.url], SHORT, "path = \"/\"\nexpect.json.\"/a/0\" = 1");
    assert!(point.failed() == 0 && point.answered() > 10, "{:?}", point.steps);
}

#[test]
fn slow_answers_time_out_and_take_as_long_as_that() {
    let server = Server::start(|_| {
        thread::sleep(Duration::from_secs(2));
        ok("")
    });
    let point = one_point(
        &[&server.url],
        "users = 3\nwarm_up = \"0s\"\nmeasure = \"400ms\"\ntimeout = \"150ms\""
            .replace("warm_up = \"0s\"\n", "")
            .as_str(),
        "path = \"/\"",
    );
    let step = &point.steps[0];
    assert_eq!(only(&step.failed), "timeout");
    let wait = step.failed_since_due.percentile_ns(50.0) as f64 / 1e6;
    assert!((150.0..200.0).contains(&wait), "{wait}");
    assert!(point.marks.iter().any(|mark| matches!(mark, PointWarning::Errors(_))), "{:?}", point.marks);
}

#[test]
fn nobody_who_listens_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    // Somebody listens only until the run has seen that the target is ready.
    thread::spawn(move || drop(listener.accept()));
    let point = one_point(&[&url], SHORT, "path = \"/\"");
    assert_eq!(only(&point.steps[0].failed), "refused");
    // Two users, one try each 5 ms: no storm.
    assert!(point.failed() <= 130, "{}", point.failed());
}

#[test]
fn long_answers_are_read_to_their_end() {
    let body = "x".repeat(10 << 20);
    let server = Server::start(move |_| ok(body.clone()));
    let point = one_point(&[&server.url], "users = 1\nmeasure = \"500ms\"", "path = \"/\"");
    assert!(point.failed() == 0 && point.answered() >= 1, "{:?}", point.steps[0].failed);
    let body = "x".repeat(17 << 20);
    let server = Server::start(move |_| ok(body.clone()));
    let point =
        one_point(&[&server.url], "users = 1\nmeasure = \"500ms\"", "path = \"/\"\nexpect.contains = \"y\"");
    assert!(point.steps[0].failed.contains_key("answer too long"), "{:?}", point.steps[0].failed);
}

#[test]
fn chunks_however_cut_are_read() {
    let server = Server::start(|_| {
        Reply::Raw(
            b"HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{\"\r\n5\r\na\":1}\r\n0\r\n\r\n"
                .to_vec(),
        )
    });
    let point = one_point(&[&server.url], SHORT, "path = \"/\"\nexpect.json.\"/a\" = 1");
    assert!(point.failed() == 0 && point.answered() > 10, "{:?}", point.steps[0].failed);
}

#[test]
fn connections_may_be_closed_after_each_request() {
    let (server, asked) = Server::recording(|_| ok(""));
    let point = one_point(&[&server.url], &format!("{SHORT}\nkeep_alive = false"), "path = \"/\"");
    assert!(point.failed() == 0 && point.answered() > 10, "{:?}", point.steps[0].failed);
    assert!(asked.lock().unwrap().iter().all(|one| one.header("connection") == Some("close")));
}

fn error(text: &str) -> RunError {
    let scenario = Scenario::read(text).unwrap();
    let options = RunOptions { generator_limit: Duration::ZERO, ..RunOptions::default() };
    run(&scenario, &options, &mut NoWatcher).unwrap_err()
}

#[test]
fn what_cannot_be_run_is_said_before_anything_starts() {
    let at = |address: &str, rest: &str| {
        format!("[target]\naddresses = [\"{address}\"]\n[load]\nusers = 1\n{rest}\n[[steps]]\npath = \"/\"\n")
    };
    let unknown = error(&at("http://no-such-host.invalid", ""));
    assert!(
        unknown.to_string().starts_with("`http://no-such-host.invalid`: cannot be resolved"),
        "{unknown}"
    );
    let other = error(&at("http://192.0.2.1", ""));
    assert!(other.to_string().ends_with("by `--i-may-load 192.0.2.1`"), "{other}");
    let secret = at("127.0.0.1:1", "") + "headers.Authorization = \"${env.DURWARD_LAB_NOT_SET}\"";
    let secret = error(&secret).to_string();
    assert_eq!(
        secret,
        "line 6: `GET /` needs the environment variable `DURWARD_LAB_NOT_SET`, which is not set"
    );
    let many = error(&at("127.0.0.1:1", "").replace("users = 1", "users = 1000000")).to_string();
    assert!(many.starts_with("1000000 connections need as many open files"), "{many}");
    let table = at("127.0.0.1:1", "") + "[data.users]\nfile = \"no-such.csv\"\n";
    assert!(error(&table).to_string().contains("no-such.csv) cannot be read"), "{}", error(&table));
}

#[test]
fn secrets_are_sent_and_not_recorded() {
    let file = std::env::temp_dir().join(format!("durward-lab-secret-{}", std::process::id()));
    std::fs::write(&file, "hush hush\n").unwrap();
    let (server, asked) = Server::recording(|_| ok(""));
    let record = run_text(&format!(
        "[target]\naddresses = [\"{}\"]\n[load]\nusers = 1\nthink = \"10ms\"\nwarm_up = \"0s\"\nmeasure = \"100ms\"\n[[steps]]\npath = \"/\"\nheaders.Authorization = \"Bearer ${{file:{}}}\"",
        server.url,
        file.display()
    ));
    assert_eq!(asked.lock().unwrap()[0].header("authorization"), Some("Bearer hush hush"));
    assert!(record.points[0].answered() > 0 && !record.to_json().unwrap().contains("hush hush"));
    std::fs::remove_file(file).unwrap();
}

#[test]
fn a_run_cut_short_keeps_what_was_measured() {
    let server = Server::plain();
    let stop = Arc::new(AtomicBool::new(false));
    let options =
        RunOptions { generator_limit: Duration::ZERO, stop: Arc::clone(&stop), ..RunOptions::default() };
    let text = format!(
        "[target]\naddresses = [\"{}\"]\n[load]\nusers = [1, 2]\nthink = \"2ms\"\nwarm_up = \"0s\"\nmeasure = \"20s\"\n[[steps]]\npath = \"/\"",
        server.url
    );
    let answered = Arc::clone(&server.count);
    thread::spawn(move || {
        while answered.load(Ordering::Relaxed) < 60 {
            thread::sleep(Duration::from_millis(10));
        }
        thread::sleep(Duration::from_millis(100));
        stop.store(true, Ordering::Relaxed);
    });
    let record = run_with(&text, &options);
    assert_eq!((record.cut_short.as_deref(), record.points.len()), (Some("the run was stopped"), 1));
    let point: &MeasuredPoint = &record.points[0];
    assert!(
        point.answered() > 50 && (0.1..19.0).contains(&point.measured_s),
        "{} {}",
        point.answered(),
        point.measured_s
    );
    assert!(matches!(point.marks[0], PointWarning::CutShort(_)) && !point.is_fitted(), "{:?}", point.marks);
}

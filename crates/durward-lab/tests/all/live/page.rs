//! The page of a run, read by a real HTTP client while the run goes on.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use durward_lab::live::page::{LivePage, PageFiles};
use durward_lab::live::{RunEnding, RunStatus};
use durward_lab::run::{NodeNow, RunOptions, RunWatcher, run};
use durward_lab::scenario::Scenario;
use serde_json::Value;
use ureq::Agent;
use ureq::http::Response;

use super::status::{moment, place, point, scenario};
use crate::run::server::Server;

fn page() -> LivePage {
    LivePage::start("127.0.0.1:0", RunStatus::new(&scenario("http://127.0.0.1:1", "users = 8"))).unwrap()
}

fn agent() -> Agent {
    Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(20)))
        .build()
        .into()
}

fn get(page: &LivePage, path: &str) -> Response<ureq::Body> {
    agent().get(format!("{}{}", page.url().trim_end_matches('/'), path)).call().unwrap()
}

fn text(page: &LivePage, path: &str) -> String {
    get(page, path).body_mut().read_to_string().unwrap()
}

/// A stream of events, as a browser reads it.
struct Events(Box<dyn BufRead + Send>);

impl Events {
    fn open(page: &LivePage) -> Events {
        let answer = get(page, "/events");
        assert_eq!(answer.status().as_u16(), 200);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        Events(Box::new(BufReader::new(answer.into_body().into_reader())))
    }

    /// The next event: its name and data; `None` once the stream has ended.
    fn next(&mut self) -> Option<(String, Value)> {
        let (mut name, mut data) = (String::new(), String::new());
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim_end_matches('\n');
            if let Some(value) = line.strip_prefix("event: ") {
                value.clone_into(&mut name);
            } else if let Some(value) = line.strip_prefix("data: ") {
                data.push_str(value);
            } else if line.is_empty() && !data.is_empty() {
                return Some((name, serde_json::from_str(&data).unwrap()));
            }
        }
    }
}

#[test]
fn a_page_follows_a_run_to_its_end() {
    let server = Server::plain();
    let scenario =
        scenario(&server.url, "users = [1, 2]\nwarm_up = \"1s\"\nmeasure = \"1s\"\nthink = \"1ms\"");
    let page = LivePage::start("127.0.0.1:0", RunStatus::new(&scenario)).unwrap();
    let mut events = Events::open(&page);
    let mut watcher = page.watcher();
    let runner = std::thread::spawn(move || {
        let options = RunOptions { generator_limit: Duration::from_millis(200), ..RunOptions::default() };
        run(&scenario, &options, &mut watcher).unwrap()
    });
    let record = runner.join().unwrap();
    page.finish(RunEnding::of(&record), None);
    let mut names = Vec::new();
    let mut seconds = Vec::new();
    let mut points = Vec::new();
    while let Some((name, data)) = events.next() {
        assert_eq!(data["head"]["name"], "seen");
        match name.as_str() {
            "second" => seconds.push(data["second"].clone()),
            "point" => points.push(data["point"].clone()),
            _ => {}
        }
        names.push(name);
        if names.last().unwrap() == "end" {
            break;
        }
    }
    assert_eq!(&names[..2], ["all", "head"], "{names:?}");
    // A second of warm-up and one of measuring, twice.
    assert_eq!((seconds.len(), points.len()), (4, 2), "{names:?}");
    assert!(
        seconds
            .iter()
            .all(|second| second["answered"].as_u64().unwrap() > 50 && second["p99"].as_f64().unwrap() > 0.0)
    );
    assert_eq!(points[1]["number"], 2);
    // Whoever comes late gets all of it.
    let (name, all) = Events::open(&page).next().unwrap();
    assert_eq!((name.as_str(), &all["head"]["phase"]), ("all", &Value::from("ended")));
    assert_eq!(
        (all["seconds"].as_array().unwrap().clone(), all["points"].as_array().unwrap().clone()),
        (seconds, points)
    );
    assert_eq!(serde_json::from_str::<Value>(&text(&page, "/status.json")).unwrap(), all);
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let page = page();
    let mut answer = get(&page, "/");
    let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
    let policy = header("content-security-policy");
    assert!(
        policy.starts_with("default-src 'none'; script-src 'sha256-") && !policy.contains("unsafe"),
        "{policy}"
    );
    assert!(policy.contains("connect-src 'self'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert_eq!(
        (header("x-content-type-options"), header("cache-control")),
        ("nosniff".into(), "no-store".into())
    );
    let html = answer.body_mut().read_to_string().unwrap();
    for outside in ["https://", "src=\"", "@import", "url("] {
        assert!(!html.contains(outside), "{outside}");
    }
    let addresses: Vec<&str> = html.split("http://").skip(1).map(|rest| &rest[..15]).collect();
    assert_eq!(addresses, ["www.w3.org/2000"], "the name of SVG, which is no address");
}

#[test]
fn only_get_is_answered_and_only_by_own_names() {
    let page = page();
    let url = page.url();
    let posted = agent().post(&url).send("x").unwrap();
    assert_eq!((posted.status().as_u16(), &posted.headers()["allow"]), (405, &"GET".parse().unwrap()));
    for path in
        ["/events/", "/report/index.html", "/report/../Cargo.toml", "/%2e%2e/etc/passwd", "/favicon.ico"]
    {
        assert_eq!(get(&page, path).status().as_u16(), 404, "{path}");
    }
    for (host, status) in [("evil.test", 421), ("localhost:1", 200), ("127.0.0.1.evil.test", 421)] {
        for path in ["", "events", "status.json"] {
            let answer = agent().get(format!("{url}{path}")).header("host", host).call().unwrap();
            assert_eq!(answer.status().as_u16(), status, "{host} {path}");
        }
    }
}

#[test]
fn nonsense_does_not_end_the_server() {
    let page = page();
    for bytes in [
        &b"\0\0\0\0\r\n\r\n"[..],
        b"GET / HTTP/9\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        &[b'a'; 100_000],
    ] {
        let mut socket = TcpStream::connect(page.address()).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(15))).unwrap();
        let _ = socket.write_all(bytes);
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    assert_eq!(get(&page, "/").status().as_u16(), 200);
}

#[test]
fn many_clients_are_bounded() {
    let page = page();
    let streams: Vec<Events> = (0..32).map(|_| Events::open(&page)).collect();
    assert_eq!((page.viewers(), get(&page, "/events").status().as_u16()), (32, 503));
    // More connections than there are places for: those beyond are closed, and nobody else suffers.
    let idle: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(page.address()).unwrap()).collect();
    page.watcher().begin(&place(1, 2));
    drop((streams, idle));
    let begun = Instant::now();
    while page.viewers() > 0 && begun.elapsed() < Duration::from_secs(15) {
        // Who has gone is noticed when something is sent.
        page.watcher().second(&place(1, 2), &moment(0.0));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!((page.viewers(), get(&page, "/events").status().as_u16()), (0, 200));
}

#[test]
fn a_client_that_does_not_read_never_holds_the_run_back() {
    let page = page();
    let mut stuck = TcpStream::connect(page.address()).unwrap();
    stuck.write_all(b"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").unwrap();
    let reader = Events::open(&page);
    let begun = Instant::now();
    while page.viewers() < 2 && begun.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut watcher = page.watcher();
    watcher.begin(&place(1, 2));
    let reading = std::thread::spawn(move || {
        let mut count = 0;
        for line in reader.0.lines().map_while(Result::ok) {
            count += usize::from(line == "event: second");
            if line == "event: end" {
                return count;
            }
        }
        panic!("whoever reads was dropped after {count} seconds")
    });
    // Large events, so that the buffers of the sockets are soon full.
    let mut large = moment(0.0);
    let node = large.nodes[0].clone();
    large.nodes = (0..500).map(|at| NodeNow { name: format!("http://node-{at}"), ..node.clone() }).collect();
    let mut longest = Duration::ZERO;
    let mut count = 0;
    while count < 200 || page.viewers() > 1 && count < 1_000 {
        let told = Instant::now();
        watcher.second(&place(1, 2), &large);
        longest = longest.max(told.elapsed());
        count += 1;
        // As fast as whoever reads can follow.
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(page.viewers(), 1, "the stuck client was dropped, the other was not");
    assert!(longest < Duration::from_secs(1), "{longest:?}");
    page.finish(RunEnding::default(), None);
    assert_eq!(reading.join().unwrap(), count);
}

#[test]
fn secrets_are_not_on_the_page() {
    let server = Server::plain();
    let file = std::env::temp_dir().join(format!("durward-page-secret-{}", std::process::id()));
    fs::write(&file, "tooth-fairy").unwrap();
    let text_of = format!(
        "name = \"quiet\"\n[target]\naddresses = [{:?}]\n[load]\nusers = 1\nwarm_up = \"0s\"\nmeasure = \"1s\"\nthink = \"1ms\"\n\
         [[steps]]\npath = \"/a?key=${{file:{}}}\"\nheaders.Authorization = \"Bearer ${{file:{}}}\"\nexpect.contains = \"${{file:{}}}\"\n",
        server.url,
        file.display(),
        file.display(),
        file.display()
    );
    let scenario = Scenario::read(&text_of).unwrap();
    let page = LivePage::start("127.0.0.1:0", RunStatus::new(&scenario)).unwrap();
    let options = RunOptions { generator_limit: Duration::ZERO, ..RunOptions::default() };
    let record = run(&scenario, &options, &mut page.watcher()).unwrap();
    page.finish(RunEnding::of(&record), None);
    let status = text(&page, "/status.json");
    fs::remove_file(&file).unwrap();
    // The answers were wrong, so the cause is told; the secret is not.
    assert!(status.contains("wrong answer") && !status.contains("tooth-fairy"), "{status}");
}

#[test]
fn the_end_links_to_the_report_and_to_no_other_file() {
    let page = page();
    let folder = std::env::temp_dir().join(format!("durward-page-report-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("index.html"), "<!DOCTYPE html>the report").unwrap();
    fs::write(folder.join("other.html"), "not of the report").unwrap();
    let names = vec!["index.html".to_owned(), "gone.svg".to_owned()];
    page.watcher().begin(&place(1, 1));
    page.watcher().end(&place(1, 1), &point());
    page.finish(RunEnding::default(), Some(PageFiles { folder: folder.clone(), names }));
    let status: Value = serde_json::from_str(&text(&page, "/status.json")).unwrap();
    assert_eq!(status["head"]["ending"]["report"], "/report/index.html");
    assert_eq!(text(&page, "/report/index.html"), "<!DOCTYPE html>the report");
    for name in ["other.html", "gone.svg", "", "../index.html", "%69ndex.html"] {
        assert_eq!(get(&page, &format!("/report/{name}")).status().as_u16(), 404, "{name}");
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_page_stays_while_somebody_looks() {
    let stop = AtomicBool::new(false);
    let page = page();
    let begun = Instant::now();
    page.stay(Duration::from_secs(30), &stop);
    assert!(begun.elapsed() < Duration::from_secs(5), "nobody looks");
    let events = Events::open(&page);
    let begun = Instant::now();
    page.stay(Duration::from_millis(700), &stop);
    assert!(begun.elapsed() >= Duration::from_millis(700), "somebody looks");
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    let begun = Instant::now();
    page.stay(Duration::from_secs(30), &stop);
    assert!(begun.elapsed() < Duration::from_secs(5), "it was stopped");
    drop(events);
}

#[test]
fn an_address_that_is_taken_is_an_error() {
    let page = page();
    let again = LivePage::start(
        &page.address().to_string(),
        RunStatus::new(&scenario("http://127.0.0.1:1", "users = 1")),
    );
    assert!(again.is_err());
    assert!(!page.is_public() && page.url().starts_with("http://127.0.0.1:"));
}

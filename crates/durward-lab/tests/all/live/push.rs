//! Figures that are pushed: to a receiver of this test, to none, and to a real Prometheus.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use durward_lab::live::push::{DeliveryOutcome, Push, PushDestination, PushProtocol};
use durward_lab::run::{RunOptions, RunWatcher, run};
use serde_json::Value;

use super::status::{moment, place, point, scenario};
use crate::run::server::Server;

#[expect(clippy::disallowed_methods, reason = "Prometheus takes no samples of 1970")]
fn now() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

fn destination(protocol: PushProtocol, url: &str) -> PushDestination {
    PushDestination {
        protocol,
        url: url.to_owned(),
        authorization: None,
        run: "seen-1".to_owned(),
        now_unix_ms: now,
    }
}

/// Pushes three seconds and a point; what came of it, and what was said.
fn pushed(destination: PushDestination) -> (DeliveryOutcome, Vec<String>) {
    let said = Arc::new(Mutex::new(Vec::new()));
    let saying = Arc::clone(&said);
    let push =
        Push::start(destination, Box::new(move |why| saying.lock().unwrap().push(why.to_owned()))).unwrap();
    let mut watcher = push.watcher();
    watcher.begin(&place(1, 1));
    for at in 0..3 {
        watcher.second(&place(1, 1), &moment(f64::from(at)));
    }
    watcher.end(&place(1, 1), &point());
    drop(watcher);
    let delivery = push.finish(Duration::from_secs(10));
    let said = said.lock().unwrap().clone();
    (delivery, said)
}

/// Head and length of the body of each request.
type Got = Arc<Mutex<Vec<(String, usize)>>>;

/// A receiver that answers so, and what it got.
fn receiver(answer: &'static str) -> (String, Got) {
    use std::io::{Read, Write};
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let got = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&got);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
            let end = loop {
                let count = stream.read(&mut part).unwrap_or(0);
                bytes.extend_from_slice(&part[..count]);
                if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                    break end + 4;
                }
                if count == 0 {
                    break bytes.len();
                }
            };
            let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
            let length: usize = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))
                .map_or(0, |length| length.trim().parse().unwrap());
            let mut body = bytes[end..].to_vec();
            while body.len() < length {
                let count = stream.read(&mut part).unwrap();
                body.extend_from_slice(&part[..count]);
            }
            kept.lock().unwrap().push((head, body.len()));
            let _ = stream.write_all(format!("HTTP/1.1 {answer}\r\nConnection: close\r\n\r\n").as_bytes());
        }
    });
    (url, got)
}

#[test]
fn figures_are_posted_as_the_protocols_have_it() {
    for (protocol, path) in
        [(PushProtocol::RemoteWrite, "/api/v1/write"), (PushProtocol::Otlp, "/base/v1/metrics")]
    {
        let (url, got) = receiver("204 No Content\r\nContent-Length: 0");
        let url = format!("{url}{}", path.trim_end_matches("/v1/metrics"));
        let to = PushDestination { authorization: Some("Bearer abc".into()), ..destination(protocol, &url) };
        let (delivery, said) = pushed(to);
        assert_eq!((delivery.delivered, delivery.dropped, said.len()), (5, 0, 0), "{delivery}");
        assert!(!delivery.to_string().contains("abc"), "{delivery}");
        for (head, length) in got.lock().unwrap().iter() {
            assert!(head.starts_with(&format!("post {path} http/1.1")), "{head}");
            assert!(
                head.contains("content-type: application/x-protobuf")
                    && head.contains("authorization: bearer abc"),
                "{head}"
            );
            assert_eq!(
                head.contains("content-encoding: snappy"),
                protocol == PushProtocol::RemoteWrite,
                "{head}"
            );
            assert!(*length > 50, "{length}");
        }
    }
}

#[test]
fn what_is_refused_is_said_once_and_counted() {
    let (url, got) = receiver("400 Bad Request\r\nContent-Length: 11\r\n\r\nout of line");
    let (delivery, said) = pushed(destination(PushProtocol::RemoteWrite, &url));
    assert_eq!((delivery.delivered, delivery.dropped), (0, 5));
    assert_eq!(said, ["status 400: out of line"]);
    assert!(
        delivery.to_string().ends_with("0 of 5 batches delivered, 5 dropped: status 400: out of line"),
        "{delivery}"
    );
    // It is the request that is wrong: the same is not sent again.
    assert!(got.lock().unwrap().len() <= 5);
}

#[test]
fn a_receiver_that_is_not_there_costs_the_run_nothing() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Server::plain();
    let scenario = scenario(&server.url, "users = 1\nwarm_up = \"0s\"\nmeasure = \"1s\"\nthink = \"1ms\"");
    let said = Arc::new(Mutex::new(Vec::new()));
    let saying = Arc::clone(&said);
    let push = Push::start(
        destination(PushProtocol::Otlp, &format!("http://{free}")),
        Box::new(move |why| saying.lock().unwrap().push(why.to_owned())),
    )
    .unwrap();
    let options = RunOptions { generator_limit: Duration::ZERO, ..RunOptions::default() };
    let begun = Instant::now();
    let record = run(&scenario, &options, &mut push.watcher()).unwrap();
    assert!(record.cut_short.is_none() && record.points[0].answered() > 100);
    assert!(begun.elapsed() < Duration::from_secs(10));
    let delivery = push.finish(Duration::from_millis(200));
    assert_eq!(delivery.delivered, 0);
    assert!(delivery.dropped >= 3 && delivery.problem.is_some(), "{delivery:?}");
}

#[test]
fn a_receiver_that_never_answers_fills_no_memory_and_holds_nothing_back() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let push = Push::start(destination(PushProtocol::RemoteWrite, &url), Box::new(|_| {})).unwrap();
    let mut watcher = push.watcher();
    watcher.begin(&place(1, 1));
    let begun = Instant::now();
    for at in 0..2_000 {
        watcher.second(&place(1, 1), &moment(f64::from(at)));
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    drop(watcher);
    let delivery = push.finish(Duration::from_millis(200));
    assert_eq!((delivery.delivered, delivery.dropped), (0, 2_001), "{delivery}");
}

#[test]
fn urls_with_passwords_or_without_a_scheme_are_refused() {
    for (url, said) in [
        ("http://user:secret@127.0.0.1/", "holds a password"),
        ("127.0.0.1:9090", "must begin with"),
        ("ftp://127.0.0.1/", "must begin with"),
        ("not a url", "is none"),
    ] {
        let error = Push::start(destination(PushProtocol::RemoteWrite, url), Box::new(|_| {}))
            .unwrap_err()
            .to_string();
        assert!(error.contains(said) && !error.contains("secret"), "{error}");
    }
}

/// A Prometheus of its own; `None` where none is installed, which the build machine does not pass over.
struct Prometheus {
    child: Child,
    url: String,
    folder: std::path::PathBuf,
}

impl Prometheus {
    fn start() -> Option<Prometheus> {
        if !durward_testdata::has_program("prometheus", "--version", "apt-get install prometheus") {
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = std::env::temp_dir().join(format!("durward-prometheus-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let config = folder.join("prometheus.yml");
        std::fs::write(&config, "scrape_configs: []\n").unwrap();
        let child = Command::new("prometheus")
            .arg("--web.enable-remote-write-receiver")
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let url = format!("http://127.0.0.1:{port}");
        let prometheus = Prometheus { child, url, folder };
        for _ in 0..600 {
            if ureq::get(format!("{}/-/ready", prometheus.url)).call().is_ok() {
                return Some(prometheus);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("prometheus does not become ready");
    }

    /// Labels and value of what a query finds now.
    fn query(&self, query: &str) -> Vec<(Value, f64)> {
        let mut answer =
            ureq::get(format!("{}/api/v1/query", self.url)).query("query", query).call().unwrap();
        let found: Value = serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap();
        let rows = found["data"]["result"].as_array().unwrap().clone();
        rows.into_iter()
            .map(|row| (row["metric"].clone(), row["value"][1].as_str().unwrap().parse().unwrap()))
            .collect()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn a_real_prometheus_has_the_figures_of_a_run() {
    let Some(prometheus) = Prometheus::start() else { return };
    let server = Server::plain();
    let scenario =
        scenario(&server.url, "users = [1, 2]\nwarm_up = \"1s\"\nmeasure = \"2s\"\nthink = \"1ms\"");
    let to = destination(PushProtocol::RemoteWrite, &format!("{}/api/v1/write", prometheus.url));
    let push = Push::start(to, Box::new(|why| panic!("{why}"))).unwrap();
    let options = RunOptions { generator_limit: Duration::ZERO, ..RunOptions::default() };
    let record = run(&scenario, &options, &mut push.watcher()).unwrap();
    let delivery = push.finish(Duration::from_secs(10));
    assert_eq!((delivery.dropped, delivery.delivered >= 10), (0, true), "{delivery}");
    let rates = prometheus.query("durward_lab_point_answers_per_second{run=\"seen-1\",step=\"ask\"}");
    let mut rates: Vec<(String, f64)> =
        rates.iter().map(|(labels, rate)| (labels["point"].as_str().unwrap().to_owned(), *rate)).collect();
    rates.sort_by(|one, other| one.0.cmp(&other.0));
    let expected: Vec<(String, f64)> =
        (1..).zip(&record.points).map(|(at, point)| (at.to_string(), point.throughput())).collect();
    assert_eq!(rates, expected);
    // Counters count the warm-up too, and never fall.
    let answers = prometheus.query("sum(durward_lab_answers_total{point=\"1\"})")[0].1;
    assert!(answers >= record.points[0].answered() as f64, "{answers}");
    let p99 = prometheus.query("durward_lab_point_latency_seconds{point=\"2\",quantile=\"0.99\"}")[0].1;
    assert_eq!(p99, record.points[1].since_due().percentile_ns(99.0) as f64 / 1e9);
    let load = prometheus.query("durward_lab_load{kind=\"users\",nodes=\"1\"}");
    assert_eq!(load.len(), 2);
    let memory = prometheus.query("durward_lab_node_memory_bytes");
    assert!(!memory.is_empty() && memory[0].0["node"] == server.url.as_str(), "{memory:?}");
    for name in [
        "durward_lab_latency_seconds",
        "durward_lab_generator_busy_ratio",
        "durward_lab_measuring",
        "durward_lab_node_cpu_cores",
    ] {
        assert!(!prometheus.query(name).is_empty(), "{name}");
    }
}

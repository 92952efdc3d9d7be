//! Servers that tests load: a thread a connection, and whatever answer the test wants.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use durward_lab::record::{MeasuredPoint, RunRecord};
use durward_lab::run::{NoWatcher, RunOptions, run};
use durward_lab::scenario::Scenario;

/// A request that came.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedRequest {
    /// Method and path.
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl ReceivedRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.as_str())
    }
}

/// What is said to a request.
pub(crate) enum Reply {
    /// Status, more headers (each with its line end), body.
    Answer(u16, &'static str, String),
    /// These bytes, and then the connection is closed.
    Raw(Vec<u8>),
}

/// 200 with this body.
pub(crate) fn ok(body: impl Into<String>) -> Reply {
    Reply::Answer(200, "", body.into())
}

/// A server on a free port; it ends when this is dropped.
pub(crate) struct Server {
    pub(crate) url: String,
    /// How many requests came.
    pub(crate) count: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
}

impl Server {
    pub(crate) fn start(answer: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (count, is_over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (counter, over, answer) = (Arc::clone(&count), Arc::clone(&is_over), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let (counter, answer) = (Arc::clone(&counter), Arc::clone(&answer));
                thread::spawn(move || serve(stream, &counter, answer.as_ref()));
            }
        });
        Server { url, count, is_over }
    }

    /// Answers all with 200 and `{}`.
    pub(crate) fn plain() -> Server {
        Server::start(|_| ok("{}"))
    }

    /// Keeps what it is asked.
    pub(crate) fn recording(
        answer: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static,
    ) -> (Server, Arc<Mutex<Vec<ReceivedRequest>>>) {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        let server = Server::start(move |one| {
            kept.lock().unwrap().push(one.clone());
            answer(one)
        });
        (server, asked)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.url.trim_start_matches("http://"));
    }
}

fn serve(stream: TcpStream, count: &AtomicU64, answer: &dyn Fn(&ReceivedRequest) -> Reply) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut out = stream.try_clone().ok()?;
    let mut input = BufReader::new(stream);
    loop {
        let asked = read(&mut input)?;
        count.fetch_add(1, Ordering::Relaxed);
        match answer(&asked) {
            Reply::Answer(status, headers, body) => {
                let head = format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
                out.write_all((head + &body).as_bytes()).ok()?;
            }
            Reply::Raw(bytes) => {
                let _ = out.write_all(&bytes);
                let _ = out.shutdown(std::net::Shutdown::Both);
                return None;
            }
        }
    }
}

fn read(input: &mut impl BufRead) -> Option<ReceivedRequest> {
    let mut line = || {
        let mut text = String::new();
        (input.read_line(&mut text).ok()? > 0).then(|| text.trim_end().to_owned())
    };
    let first = line()?;
    let mut headers = Vec::new();
    loop {
        let text = line()?;
        if text.is_empty() {
            break;
        }
        let (name, value) = text.split_once(": ")?;
        headers.push((name.to_owned(), value.to_owned()));
    }
    let mut asked = ReceivedRequest {
        line: first.trim_end_matches(" HTTP/1.1").to_owned(),
        headers,
        body: String::new(),
    };
    let length = asked.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    input.read_exact(&mut body).ok()?;
    asked.body = String::from_utf8(body).ok()?;
    Some(asked)
}

/// Runs a scenario without measuring the generator first.
pub(crate) fn run_text(text: &str) -> RunRecord {
    let options = RunOptions { generator_limit: Duration::ZERO, ..RunOptions::default() };
    run_with(text, &options)
}

pub(crate) fn run_with(text: &str, options: &RunOptions) -> RunRecord {
    let scenario = Scenario::read(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    run(&scenario, options, &mut NoWatcher).unwrap()
}

/// The one point of a scenario of one step for these addresses, with these lines of `[load]`.
pub(crate) fn one_point(addresses: &[&str], load: &str, step: &str) -> MeasuredPoint {
    let threads = if load.contains("threads") { "" } else { "threads = 1\n" };
    let text = format!(
        "[target]\naddresses = {addresses:?}\n[load]\n{threads}warm_up = \"100ms\"\n{load}\n[[steps]]\nname = \"ask\"\n{step}"
    );
    let mut record = run_text(&text);
    assert_eq!(record.points.len(), 1);
    record.points.remove(0)
}

/// A moment that all threads of a server share.
pub(crate) fn since_start() -> impl Fn() -> Duration + Send + Sync {
    let start = Instant::now();
    move || start.elapsed()
}

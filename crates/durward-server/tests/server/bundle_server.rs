//! A real HTTP server of bundles, as little as one can be, which remembers what it was asked.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// What it says to a path.
#[derive(Clone)]
pub(crate) enum Says {
    /// A bundle with an ETag.
    Bundle(String, Vec<u8>),
    /// A bundle without.
    Plain(Vec<u8>),
    Status(u16),
    Elsewhere(String),
    /// Nothing, ever.
    Nothing,
}

#[derive(Default)]
struct State {
    says: BTreeMap<String, Says>,
    /// How long questions about what has not changed are held back.
    hold: Duration,
    asked: Vec<String>,
    is_over: bool,
}

/// Ends when it is dropped.
pub(crate) struct BundleServer {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Drop for BundleServer {
    fn drop(&mut self) {
        self.state.lock().unwrap().is_over = true;
        // Wakes it.
        let _ = TcpStream::connect(self.address);
    }
}

impl BundleServer {
    pub(crate) fn start() -> BundleServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if shared.lock().unwrap().is_over {
                    return;
                }
                let shared = Arc::clone(&shared);
                thread::spawn(move || answer(stream, &shared));
            }
        });
        BundleServer { address, state }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/bundles", self.address)
    }

    pub(crate) fn says(&self, path: &str, says: Says) {
        self.state.lock().unwrap().says.insert(path.into(), says);
    }

    pub(crate) fn hold(&self, time: Duration) {
        self.state.lock().unwrap().hold = time;
    }

    /// The heads of all questions, in small letters.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.state.lock().unwrap().asked.clone()
    }

    pub(crate) fn eventually(&self, what: &str, holds: impl Fn(&[String]) -> bool) {
        let begun = Instant::now();
        while !holds(&self.asked()) {
            assert!(begun.elapsed() < crate::support::PATIENCE, "never: {what}; {:?}", self.asked());
            thread::sleep(Duration::from_millis(10));
        }
    }
}

fn answer(mut stream: TcpStream, state: &Mutex<State>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).unwrap_or(0) == 0 {
            return;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let path = head.split(' ').nth(1).unwrap().to_owned();
    let known = head.lines().find_map(|line| line.strip_prefix("if-none-match: ")).map(str::to_owned);
    let begun = Instant::now();
    state.lock().unwrap().asked.push(head);
    loop {
        let (says, hold) = {
            let state = state.lock().unwrap();
            (state.says.get(&path).cloned().unwrap_or(Says::Status(404)), state.hold)
        };
        let head = match says {
            Says::Bundle(etag, _) if known.as_ref() == Some(&etag) && begun.elapsed() < hold => {
                thread::sleep(Duration::from_millis(10));
                continue;
            }
            Says::Bundle(etag, _) if known.as_ref() == Some(&etag) => "304 Not Modified".to_owned(),
            Says::Bundle(etag, bytes) => {
                return send(&mut stream, &format!("200 OK\r\nETag: {etag}"), &bytes);
            }
            Says::Plain(bytes) => return send(&mut stream, "200 OK", &bytes),
            Says::Status(status) => format!("{status} So"),
            Says::Elsewhere(place) => format!("307 There\r\nLocation: {place}"),
            Says::Nothing => {
                thread::sleep(Duration::from_secs(30));
                return;
            }
        };
        return send(&mut stream, &head, b"");
    }
}

fn send(stream: &mut TcpStream, head: &str, body: &[u8]) {
    let length =
        if head.starts_with("304") { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
    // Whoever asked may be gone.
    let _ = write!(stream, "HTTP/1.1 {head}\r\n{length}Connection: close\r\n\r\n");
    let _ = stream.write_all(body);
}

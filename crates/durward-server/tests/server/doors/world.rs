//! What all tests of gateways share: a durward with the settings and policies of the manual, an application that tells what it got, and
//! requests written byte by byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use durward_testdata::gateways;
pub(super) use durward_testdata::gateways::blocks;
use serde_json::json;

use crate::identity::{fill, post, token};
use crate::support::{Directory, PATIENCE, Reply, TestServer};

/// The page with the configurations.
pub(super) fn page() -> String {
    gateways::page("gateways.md").unwrap()
}

/// A durward with users, sessions of two of them, and the policies of the manual.
pub(super) struct World {
    pub(super) server: TestServer,
    /// Of the staff, who read papers.
    pub(super) anna: String,
    /// A guest, who does not.
    pub(super) berta: String,
}

impl World {
    /// The manual's, with more settings in `[doors]` and behind it.
    pub(super) fn start(in_doors: &str, more: &str) -> World {
        World::start_with(in_doors, more, |_| {})
    }

    /// The same with more files.
    pub(super) fn start_with(in_doors: &str, more: &str, fill_more: impl FnOnce(&Directory)) -> World {
        let page = page();
        let directory = Directory::new();
        fill(&directory);
        for (number, policy) in blocks(&page, "sapl").iter().take(2).enumerate() {
            directory.write(&format!("policies/{number}.sapl"), policy);
        }
        fill_more(&directory);
        let settings = blocks(&page, "toml").swap_remove(0);
        let settings = settings
            .replace("users = \"users.journal\"", "users = 'users'\nhash_memory_kib = 8\nhash_passes = 1")
            .replace("[doors]\non = true\n", &format!("[doors]\non = true\n{in_doors}\n"));
        let server = TestServer::start_in(directory, &format!("{settings}\n{more}")).unwrap();
        server.eventually("the node is ready", |server| server.get("/health/ready").status == 200);
        server.eventually("it has a key", |server| {
            post(server, "/v1/login", None, &json!({ "user": "berta", "password": "secret" })).status == 200
        });
        let (anna, berta) = (token(&server, "anna"), token(&server, "berta"));
        World { server, anna, berta }
    }

    /// What durward answers a gateway with these fields.
    pub(super) fn ask(&self, door: &str, fields: &[(&str, &str)]) -> Reply {
        self.server.send("GET", &format!("/doors/{door}"), fields, b"")
    }
}

/// The fields by which gateways say what their client asked for.
pub(super) fn fields<'f>(door: &str, method: &'f str, target: &'f str) -> Vec<(&'static str, &'f str)> {
    let names = match door {
        "nginx" | "haproxy" => ["X-Original-Method", "X-Original-URI", "X-Original-Host", "X-Original-Proto"],
        _ => ["X-Forwarded-Method", "X-Forwarded-Uri", "X-Forwarded-Host", "X-Forwarded-Proto"],
    };
    let [method_name, target_name, host_name, scheme_name] = names;
    vec![
        (method_name, method),
        (target_name, target),
        (host_name, "papers.example.org"),
        (scheme_name, "https"),
        ("X-Forwarded-For", "192.0.2.7"),
    ]
}

/// An application: it answers every request with the head that it got, and remembers it.
pub(super) struct App {
    pub(super) address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
}

impl App {
    pub(super) fn start() -> App {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let all = Arc::clone(&seen);
        // It ends with the process: nothing waits for it.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, all) = (stream.unwrap(), Arc::clone(&all));
                thread::spawn(move || serve(stream, &all));
            }
        });
        App { address, seen }
    }

    /// The heads of all requests so far.
    pub(super) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

fn serve(stream: TcpStream, all: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            match reader.read_line(&mut head) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
        all.lock().unwrap().push(head.clone());
        let length = field(&head, "content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        let is_chunked = field(&head, "transfer-encoding").is_some();
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{head}",
            head.len()
        );
        // A gateway that went away reads no answer.
        let _ = reader.get_mut().write_all(answer.as_bytes());
        if is_chunked || field(&head, "connection").is_some_and(|value| value.contains("close")) {
            return;
        }
    }
}

/// The value of a field in the head of a request or an answer; several are joined.
pub(super) fn field(head: &str, name: &str) -> Option<String> {
    let head = head.split("\r\n\r\n").next().unwrap_or_default();
    let pairs = head.split("\r\n").filter_map(|line| line.split_once(':'));
    let values: Vec<&str> = pairs
        .filter(|(found, _)| found.trim().eq_ignore_ascii_case(name))
        .map(|(_, value)| value.trim())
        .collect();
    (!values.is_empty()).then(|| values.join(" & "))
}

/// What somebody sends, byte by byte, and all that comes back.
pub(super) fn exchange(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // Who refuses a request may close before it has read all of it.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// The status of an answer; 0 where there is none.
pub(super) fn status(answer: &str) -> u16 {
    let of = |line: &str| line.split(' ').nth(1).and_then(|status| status.parse().ok());
    // What is answered comes behind what is only interim (RFC 9110, 15.2).
    let lines = answer.lines().filter(|line| line.starts_with("HTTP/1.1 "));
    lines.filter_map(of).find(|status| *status >= 200).unwrap_or(0)
}

/// Sends a request with these fields.
pub(super) fn request(address: SocketAddr, line: &str, fields: &[(&str, &str)]) -> String {
    let mut text = format!("{line} HTTP/1.1\r\n");
    if !fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        text.push_str("Host: papers.example.org\r\n");
    }
    for (name, value) in fields {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    exchange(address, (text + "Connection: close\r\n\r\n").as_bytes())
}

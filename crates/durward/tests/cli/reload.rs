//! Settings that change while `durward serve` runs, and SIGHUP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use crate::data;
use crate::serve::Running;

/// How long anything may take: machines that run tests are busy, and what never comes never comes.
const PATIENCE: Duration = Duration::from_secs(60);

const OLD: &str = "sapl_old_secret";
const NEW: &str = "sapl_new_secret";

/// A server whose callers have API keys.
struct World {
    folder: PathBuf,
    running: Option<Running>,
}

impl World {
    fn start(name: &str, keys: &[&str], more: &str) -> World {
        let folder = std::env::temp_dir().join(format!("durward-reload-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut world = World { folder, running: None };
        world.write(keys, more);
        let config = world.config().display().to_string();
        let mark = if more.contains("'json'") { "\"address\":\"" } else { "address=" };
        world.running =
            Some(Running::start(&["serve", "--config", &config, "--listen", "127.0.0.1:0"], mark));
        world
    }

    fn config(&self) -> PathBuf {
        self.folder.join("durward.toml")
    }

    /// Puts another configuration in the place of the one there is.
    fn write(&self, keys: &[&str], more: &str) {
        let mut text = format!("policies.path = '{}'\nsapl.http = true\n{more}\n", data("wards").display());
        for key in keys {
            let id = key.split('_').nth(1).unwrap();
            let digest = durward_server::digest_of_secret(key, *b"16 bytes of salt").unwrap();
            text += &format!("[[auth.users]]\nid = '{id}'\napi_key_id = '{id}'\napi_key = '{digest}'\n");
        }
        let new = self.folder.join("new.toml");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, self.config()).unwrap();
    }

    fn running(&self) -> &Running {
        self.running.as_ref().unwrap()
    }

    fn send(&self, request: &str, key: &str, body: &str) -> TcpStream {
        let address = self.running().address();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let text = format!(
            "{request} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\nContent-Length: {}\r\n\
             Content-Type: application/json\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(text.as_bytes()).unwrap();
        stream
    }

    fn answer(&self, request: &str, key: &str, body: &str) -> String {
        let mut answer = String::new();
        self.send(request, key, body).read_to_string(&mut answer).unwrap();
        answer
    }

    /// The status for a caller with this key.
    fn status(&self, key: &str) -> u16 {
        let answer = self.answer("POST /api/pdp/decide-once", key, QUESTION);
        answer.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// How often settings were read again with this outcome.
    fn reloads(&self, outcome: &str) -> u64 {
        let text = self.answer("GET /metrics", "", "");
        let line = format!("durward_settings_reloads_total{{outcome=\"{outcome}\"}} ");
        text.lines().find_map(|it| it.strip_prefix(line.as_str())).unwrap().parse().unwrap()
    }

    #[track_caller]
    fn eventually(&self, what: &str, is_so: impl Fn(&World) -> bool) {
        let begun = Instant::now();
        while !is_so(self) {
            assert!(begun.elapsed() < PATIENCE, "never: {what}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends the server, and gives what it said.
    fn end(mut self) -> String {
        self.running.take().unwrap().end_and_read()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

const QUESTION: &str = r#"{"subject":"a","action":"b","resource":"c"}"#;

#[test]
fn a_new_key_is_taken_and_an_old_one_refused_after_a_signal() {
    let world = World::start("signal", &[OLD], "");
    assert_eq!([world.status(OLD), world.status(NEW)], [200, 401]);
    world.write(&[NEW], "server.connections_max = 50\npolicies.index = 'scan'");
    world.running().signal("-HUP");
    world.eventually("the new key is taken", |world| world.status(NEW) == 200);
    assert_eq!(world.status(OLD), 401, "what was remembered is forgotten");
    assert!(world.reloads("applied") >= 1);
    let said = world.end();
    assert!(said.contains("in force now: `auth.users`, `server.connections_max`"), "{said}");
    assert!(said.contains("`policies.index` changed; it takes effect at the next start"), "{said}");
    assert!(!said.contains("argon2id"), "{said}");
}

#[test]
fn a_changed_file_is_noticed_without_a_signal() {
    let world = World::start("file", &[OLD], "");
    world.write(&[OLD, NEW], "");
    world.eventually("the new key is taken", |world| world.status(NEW) == 200);
    assert_eq!(world.status(OLD), 200);
}

#[test]
fn settings_that_cannot_be_used_change_nothing() {
    let world = World::start("broken", &[OLD], "");
    world.write(&[NEW], "server.lisen = 'x'");
    world.running().signal("-HUP");
    world.eventually("it was read", |world| world.reloads("failed") >= 1);
    assert_eq!([world.status(OLD), world.status(NEW)], [200, 401]);
    world.write(&[NEW], "");
    world.eventually("the new key is taken", |world| world.status(NEW) == 200);
    let said = world.end();
    let place = "durward.toml:3:8: unknown setting `lisen`; did you mean `listen`?";
    assert!(said.contains(place), "{said}");
}

/// Whoever is no longer let in must not go on reading what they were let in for.
#[test]
fn a_stream_ends_with_the_key_that_it_was_opened_with() {
    let world = World::start("stream", &[OLD, NEW], "");
    let open = |key| {
        let mut stream = BufReader::new(world.send("POST /api/pdp/decide", key, QUESTION));
        let mut line = String::new();
        while !line.starts_with("data:") {
            line.clear();
            assert!(stream.read_line(&mut line).unwrap() > 0, "the stream has begun");
        }
        stream
    };
    let (mut old, mut new) = (open(OLD), open(NEW));
    world.write(&[NEW], "");
    let mut rest = String::new();
    old.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("shutdown"), "{rest}");
    world.running().signal("-TERM");
    let mut rest = String::new();
    new.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("shutdown"), "the other one went on: {rest}");
}

#[test]
fn the_level_of_the_log_changes() {
    let world = World::start("log", &[OLD], "");
    world.write(&[OLD], "log.level = 'debug'");
    world.eventually("it was read", |world| world.reloads("applied") == 1);
    assert_eq!(world.status(NEW), 401);
    let said = world.end();
    assert!(said.contains("wrong credentials"), "told at the level debug: {said}");
}

#[test]
fn lines_of_the_log_name_the_trace_of_their_request() {
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    for (format, told) in
        [("text", format!(" trace_id={trace}\n")), ("json", format!("{{\"trace_id\":\"{trace}\","))]
    {
        let world = World::start(
            &format!("trace-{format}"),
            &[OLD],
            &format!("log = {{ level = 'debug', format = '{format}' }}"),
        );
        let key = format!("{NEW}\r\ntraceparent: 00-{trace}-00f067aa0ba902b7-01");
        assert_eq!(world.status(&key), 401);
        let said = world.end();
        let line = said.lines().find(|line| line.contains("wrong credentials")).unwrap();
        assert!(format!("{line}\n").contains(&told), "{said}");
    }
}

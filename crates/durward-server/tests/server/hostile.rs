//! Whatever is sent to SAPL's surfaces, and whoever stops to read or goes without a word: bounded, counted, no Permit.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use durward_testdata::TestRandom;
use serde_json::{Value, json};

use crate::sapl::{Stream, ask, start};
use crate::support::{PATIENCE, TestServer};

const ALICE: &str = r#"{"subject":"alice","action":"read","resource":"document"}"#;
const OPEN: &str = "sapl.http = true\nauth.danger_allow_no_auth = true\n";
const PATHS: [&str; 5] =
    ["decide-once", "decide", "multi-decide", "multi-decide-all", "multi-decide-all-once"];
const STREAMS: &str = "durward_streams_open{surface=\"sse\"}";

/// Chance, and what is made of it.
struct Dice(TestRandom);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0.number()
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    /// Any JSON, with what SAPL looks for more often than chance would have it.
    fn json(&mut self, depth: u64) -> Value {
        let kinds = if depth == 0 { 5 } else { 8 };
        match self.below(kinds) {
            0 => Value::Null,
            1 => Value::Bool(self.below(2) == 0),
            2 => json!(self.next() as i64),
            3 => json!(f64::from_bits(self.next())),
            4 => json!(self.pick(&["", "read", "\u{0}", "\u{202e}", "x\"y\\", "😀", "PERMIT", "undefined"])),
            5 => (0..self.below(4)).map(|_| self.json(depth - 1)).collect(),
            _ => {
                let keys = [
                    "subject",
                    "action",
                    "resource",
                    "environment",
                    "secrets",
                    "a",
                    "",
                    " ",
                    "decision",
                    "subscriptionId",
                ];
                (0..self.below(8)).map(|_| (self.pick(&keys).to_owned(), self.json(depth - 1))).collect()
            }
        }
    }

    /// Any JSON at all, or in the three places where a subscription has it.
    fn subscription(&mut self) -> Value {
        let mut object = self.json(3);
        if self.below(4) > 0 {
            object = json!({ "more": object });
            for key in ["subject", "action", "resource"] {
                object[key] = self.json(3);
            }
        }
        object
    }

    /// The text of it, sometimes of several, sometimes damaged.
    fn text(&mut self) -> Vec<u8> {
        let asked = match self.below(3) {
            0 => json!({ "a": self.subscription(), "b": self.subscription() }),
            _ => self.subscription(),
        };
        let mut text = asked.to_string().into_bytes();
        for _ in 0..self.pick(&[0, 0, 0, 1, 3]) {
            let at = self.below(text.len() as u64) as usize;
            match self.below(3) {
                0 => text[at] = self.next() as u8,
                1 => text.truncate(at.max(1)),
                _ => text.insert(at, self.pick(b"{}[],:\"\\0e\xff")),
            }
        }
        text
    }
}

#[test]
fn any_json_is_a_question_without_a_permit_or_no_question() {
    let any =
        r#"policy "any" permit subject == "alice"; action == resource.type; { "x": environment.y } != 1;"#;
    let odd = r#"policy "odd" permit subject..name[0] > action[-1]; (resource[?(@.a in @)] == subject) == "alice";
        obligation environment.a transform { "r": resource.* }"#;
    let server = crate::sapl_policies::start(&[("any.sapl", any), ("odd.sapl", odd)]);
    let mut dice = Dice(TestRandom::new(7));
    let mut answered = 0;
    for _ in 0..600 {
        let (path, text) = (dice.pick(&PATHS), dice.text());
        // Streams are asked for one answer only: the connection is not kept.
        let mut raw = server.connect();
        let head =
            format!("POST /api/pdp/{path} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", text.len());
        raw.send(&head);
        raw.0.write_all(&text).unwrap();
        let mut reply = [0; 512];
        let count = raw.0.read(&mut reply).unwrap();
        let reply = String::from_utf8_lossy(&reply[..count]);
        let status = &reply[9..12];
        assert!(["200", "400"].contains(&status), "{reply} to {}", String::from_utf8_lossy(&text));
        assert!(!reply.contains("\"PERMIT\""), "{reply} to {}", String::from_utf8_lossy(&text));
        answered += u32::from(status == "200");
    }
    // Otherwise nothing got as far as a policy.
    assert!(answered > 100, "{answered}");
    assert_eq!(server.metric("durward_panics_total"), 0.0);
    server.eventually("all streams are gone", |server| server.metric(STREAMS) == 0.0);
}

#[test]
fn many_idle_streams_are_counted_and_told_when_the_server_stops() {
    const COUNT: usize = 300;
    let (mut server, world) =
        start(&format!("{OPEN}server.connections_max = 400\nsapl.streams_max = {COUNT}"));
    let mut streams: Vec<Stream> = (0..COUNT).map(|_| Stream::open(&server, "decide", "", ALICE)).collect();
    assert_eq!((server.metric(STREAMS), world.open()), (COUNT as f64, COUNT));
    assert_eq!(ask(&server, "decide", ALICE).status, 503);
    // A third goes without a word, and leaves nothing.
    streams.truncate(2 * COUNT / 3);
    server.eventually("they are gone", |server| server.metric(STREAMS) == streams.len() as f64);
    assert_eq!(world.open(), streams.len());
    world.close(true);
    for stream in &mut streams {
        stream.next();
        assert_eq!(stream.next(), "data:{\"decision\":\"DENY\"}\n\n");
    }
    server.begin_stop();
    for stream in &mut streams {
        assert_eq!(stream.next(), "event: shutdown\ndata: SAPL Node stopping\n\n");
    }
    drop(streams);
    assert_eq!(server.stop().connections_cut, 0);
}

/// Asks for a stream, and closes its half of the connection at once: whoever does is taken for gone.
fn half_closed(server: &TestServer) -> TcpStream {
    let mut raw = server.connect();
    raw.send(&format!(
        "POST /api/pdp/decide HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{ALICE}",
        ALICE.len()
    ));
    raw.0.shutdown(Shutdown::Write).unwrap();
    raw.0
}

#[test]
fn connections_closed_on_one_side_hold_no_streams() {
    let (server, world) = start(OPEN);
    let _half: Vec<TcpStream> = (0..50).map(|_| half_closed(&server)).collect();
    server.eventually("their streams are gone", |server| {
        server.metric(STREAMS) == 0.0 && server.metric("durward_connections_open") == 1.0 && world.open() == 0
    });
    // Whoever waits for an answer gets one.
    assert!(ask(&server, "decide-once", ALICE).text().contains("\"PERMIT\""));
}

#[test]
fn any_bytes_on_the_rsocket_port_end_in_an_error_or_in_nothing() {
    let (server, world) =
        start(&format!("{OPEN}rsocket.listen = '127.0.0.1:0'\nserver.header_time_ms_max = 200"));
    let setup = b"\0\0\x18\0\0\0\0\x04\0\0\x01\0\0\0\0\x4e\x20\0\x01\x5f\x90\x02\x61\x2f\x02\x61\x2f";
    let mut dice = Dice(TestRandom::new(11));
    for number in 0..400 {
        let mut stream = TcpStream::connect(server.rsocket.unwrap()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut noise: Vec<u8> = (0..dice.below(300)).map(|_| dice.next() as u8).collect();
        if number % 4 > 0 && noise.len() > 9 {
            // A frame of a type that there is, of the length that it says.
            let length = noise.len() - 3;
            noise[..3].copy_from_slice(&[0, (length >> 8) as u8, length as u8]);
            noise[3..8].copy_from_slice(&[
                0,
                0,
                0,
                dice.below(4) as u8,
                (dice.pick(&[3, 4, 5, 6, 8, 9, 10, 11]) << 2),
            ]);
        }
        if number % 2 == 0 {
            noise.splice(..0, *setup);
        }
        // The other side may have hung up already.
        let _ = stream.write_all(&noise).and_then(|()| stream.shutdown(Shutdown::Write));
        let _ = stream.read_to_end(&mut Vec::new());
    }
    server.eventually("nothing is left", |server| {
        world.open() == 0 && server.metric("durward_rsocket_connections_open") == 0.0
    });
    assert!(server.metric("durward_rsocket_connections_total{result=\"accepted\"}") >= 400.0);
    assert_eq!(server.metric("durward_panics_total"), 0.0);
    assert_eq!(server.metric("durward_decisions_total{decision=\"Permit\"}"), 0.0);
    assert_eq!(ask(&server, "decide-once", ALICE).status, 200);
}

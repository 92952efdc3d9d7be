//! Opens streams of decisions that are quiet, and says what they cost the server, by its own metrics.
//!
//! ```sh
//! durward serve --config durward.toml      # `server.connections_max` above COUNT, without authentication
//! cargo run --profile optimised -p durward-server --example idle_streams -- 127.0.0.1:8080 COUNT [POLICY]
//! ```
//!
//! Where a policy file is named, `permit` becomes `deny` in it, and the time is taken until every stream was told.
#![expect(clippy::print_stdout, reason = "it is a program to run by hand")]

use std::error::Error;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// What every stream is asked.
const QUESTION: &str = r#"{"subject":"alice","action":"read","resource":"document"}"#;
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(address), Some(count)) = (words.next(), words.next()) else {
        return Err("usage: idle_streams ADDRESS COUNT [POLICY]".into());
    };
    let count: usize = count.parse()?;
    println!("before: {}", memory(&address)?);
    let begun = Instant::now();
    let mut streams = (0..count).map(|_| open(&address)).collect::<Result<Vec<_>, _>>()?;
    println!("{count} streams opened in {:.1} s: {}", begun.elapsed().as_secs_f64(), memory(&address)?);
    std::thread::sleep(Duration::from_secs(20));
    println!("20 s later: {}", memory(&address)?);
    if let Some(policy) = words.next() {
        let text = fs::read_to_string(&policy)?;
        let begun = Instant::now();
        fs::write(&policy, text.replace("permit", "deny"))?;
        for stream in &mut streams {
            until(stream, "DENY")?;
        }
        println!("all told of a change after {:.2} s: {}", begun.elapsed().as_secs_f64(), memory(&address)?);
        fs::write(&policy, text)?;
    }
    drop(streams);
    std::thread::sleep(Duration::from_secs(2));
    println!("after: {}", memory(&address)?);
    Ok(())
}

/// A stream whose first decision has come.
fn open(address: &str) -> Result<TcpStream, Box<dyn Error>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let length = QUESTION.len();
    let head =
        format!("POST /api/pdp/decide HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(format!("{head}{QUESTION}").as_bytes())?;
    until(&mut stream, "\"decision\"")?;
    Ok(stream)
}

/// Reads on until a text has come.
fn until(stream: &mut TcpStream, wanted: &str) -> Result<(), Box<dyn Error>> {
    let (mut text, mut bytes) = (String::new(), [0; 1024]);
    while !text.contains(wanted) {
        let count = stream.read(&mut bytes)?;
        if count == 0 {
            return Err(format!("the server ended a stream: {text}").into());
        }
        text.push_str(&String::from_utf8_lossy(bytes.get(..count).unwrap_or_default()));
    }
    Ok(())
}

/// What the server says of its memory and its streams.
fn memory(address: &str) -> Result<String, Box<dyn Error>> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    let bytes: f64 = value("durward_process_resident_memory_bytes ").unwrap_or_default();
    let open: f64 = value("durward_streams_open{surface=\"sse\"} ").unwrap_or_default();
    Ok(format!("{:.1} MiB resident, {open} streams", bytes / 1024.0 / 1024.0))
}

//! Checks of Envoy over gRPC on one connection, many at a time: `cargo xtask gateways` asks durward so, and beside it a bare server.
//!
//! ```text
//!   envoy_checks ask ADDRESS TOKEN STREAMS SECONDS PROCESS    asks, and says what came of it and what the process took
//!   envoy_checks serve ANSWER                                 answers each call with this message, in hexadecimal digits, until stdin ends
//! ```
//!
//! The server is the one that is to be busy, so whoever asks writes frames that are made ahead and looks at no more of an answer than whether
//! it is the first one again.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is what it is for")]

mod bare;
mod connection;

use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use connection::Connection;
use durward_lab::process::usage;
use durward_wire::ext_authz::{CheckRequest, Header, read_response};
use durward_wire::grpc::{put_message, read_one};

const USAGE: &str = "envoy_checks ask ADDRESS TOKEN STREAMS SECONDS PROCESS, or envoy_checks serve ANSWER";

/// Until caches are warm and numbers of threads settled.
const WARM_UP: Duration = Duration::from_millis(300);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match *words.as_slice() {
        ["ask", address, token, streams, seconds, process] => {
            ask((address, token), (streams, seconds, process))
        }
        ["serve", answer] => bare::serve(answer),
        _ => Err(io::Error::other(USAGE)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn ask((address, token): (&str, &str), (streams, seconds, process): (&str, &str, &str)) -> io::Result<()> {
    let wrong = |_| io::Error::other(USAGE);
    let address: SocketAddr = address.parse().map_err(|_| io::Error::other(USAGE))?;
    let (streams, process) = (streams.parse().map_err(wrong)?, process.parse().map_err(wrong)?);
    let seconds = Duration::from_secs(seconds.parse().map_err(wrong)?);
    let mut connection = Connection::open(address, message(token))?;
    is_permit(connection.answer())?;
    connection.ask(streams, WARM_UP)?;
    let ran = || usage(process).map_or(Duration::ZERO, |usage| usage.ran);
    let (begun, before) = (Instant::now(), ran());
    let checks = connection.ask(streams, seconds)?;
    let (took, used) = (begun.elapsed(), ran().saturating_sub(before));
    println!(
        "{{\"checks\":{checks},\"seconds\":{:.6},\"cpu_s\":{:.6},\"answer\":\"{}\"}}",
        took.as_secs_f64(),
        used.as_secs_f64(),
        hexadecimal(connection.answer())
    );
    Ok(())
}

/// What Envoy asks about a request of a browser: the fields that it adds, those of the browser, and a cookie with a session.
fn message(token: &str) -> Vec<u8> {
    let cookie = format!("theme=dark; durward_session={token}");
    let headers = [
        (":authority", "papers.example.org"),
        (":method", "GET"),
        (":path", "/papers/7?page=2"),
        (":scheme", "https"),
        ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
        ("accept-encoding", "gzip, deflate, br"),
        ("accept-language", "en-GB,en;q=0.5"),
        ("cookie", cookie.as_str()),
        ("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"),
        ("x-forwarded-proto", "https"),
        ("x-request-id", "0f9a2d7e-3f0c-4a57-9f4d-0d1c8a7b6e55"),
    ];
    let mut check = CheckRequest::default();
    (check.source.address, check.source.port) = ("192.0.2.7", 51_234);
    (check.destination.address, check.destination.port) = ("192.0.2.1", 443);
    (check.http.id, check.http.method, check.http.path) = ("1234567890123456789", "GET", "/papers/7?page=2");
    (check.http.host, check.http.scheme, check.http.protocol) = ("papers.example.org", "https", "HTTP/2");
    check.http.headers = headers.map(|(name, value)| Header { name, value: value.as_bytes() }).to_vec();
    let mut out = BytesMut::new();
    put_message(&mut out, |out| check.write(out));
    out.to_vec()
}

/// Whether all that is asked is permitted: a denial is another way, and a shorter one.
fn is_permit(answer: &[u8]) -> io::Result<()> {
    let message = read_one(answer, answer.len()).map_err(|wrong| io::Error::other(wrong.as_str()))?;
    let read = read_response(message).map_err(|error| io::Error::other(error.to_string()))?;
    match read.code {
        0 => Ok(()),
        code => Err(io::Error::other(format!("the check has the code {code}: {:?}", read.http))),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to memory does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

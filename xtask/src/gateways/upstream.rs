//! The application behind the gateways: it answers each request with the same short text, on connections that are kept.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\npaper\n";

/// It runs until this program ends: nothing waits for it.
pub(super) struct Upstream {
    pub(super) address: SocketAddr,
}

impl Upstream {
    pub(super) fn start() -> Result<Upstream, String> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| format!("no port: {error}"))?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                thread::spawn(move || serve(stream));
            }
        });
        Ok(Upstream { address })
    }
}

/// Requests have no body.
fn serve(stream: TcpStream) {
    // Without it, answers would only come later.
    let _ = stream.set_nodelay(true);
    let mut reader = BufReader::new(stream);
    let (mut line, mut closes) = (Vec::new(), false);
    loop {
        line.clear();
        match reader.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => closes |= line.eq_ignore_ascii_case(b"connection: close\r\n"),
        }
        if line != b"\r\n" {
            continue;
        }
        // A gateway that went away reads no answer.
        if reader.get_mut().write_all(ANSWER).is_err() || closes {
            return;
        }
    }
}

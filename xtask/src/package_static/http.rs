//! Questions over one connection of HTTP/1.1 that stays open.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Longest a single answer may take. Emulators are slow.
const ANSWER_S_MAX: u64 = 30;

pub(crate) struct Connection {
    reader: BufReader<TcpStream>,
    address: String,
}

impl Connection {
    /// # Errors
    /// Nobody listens there.
    pub(crate) fn open(address: &str) -> Result<Connection, String> {
        let cannot = |error: std::io::Error| format!("cannot connect to {address}: {error}");
        let stream = TcpStream::connect(address).map_err(cannot)?;
        stream.set_read_timeout(Some(Duration::from_secs(ANSWER_S_MAX))).map_err(cannot)?;
        stream.set_nodelay(true).map_err(cannot)?;
        Ok(Connection { reader: BufReader::new(stream), address: address.to_owned() })
    }

    /// Posts a body, and waits for the answer.
    ///
    /// # Errors
    /// The answer is not 200, or does not come.
    pub(crate) fn post(&mut self, path: &str, media_type: &str, body: &str) -> Result<String, String> {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        let cannot = |error: std::io::Error| format!("no answer at `{path}`: {error}");
        self.reader
            .get_mut()
            .write_all([head.as_bytes(), body.as_bytes()].concat().as_slice())
            .map_err(cannot)?;
        let (status, length) = self.head().map_err(cannot)?;
        let mut answer = vec![0; length];
        self.reader.read_exact(&mut answer).map_err(cannot)?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        if status.contains(" 200 ") { Ok(answer) } else { Err(format!("`{path}`: {status} {answer}")) }
    }

    /// The first line of an answer, and how long its body is.
    fn head(&mut self) -> std::io::Result<(String, usize)> {
        let (mut status, mut length) = (String::new(), 0);
        self.reader.read_line(&mut status)?;
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            let line = line.trim_end();
            if line.is_empty() {
                return Ok((status.trim_end().to_owned(), length));
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn answers_come_one_after_the_other() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = [0; 4096];
            for answer in ["HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab", "HTTP/1.1 400 Bad\r\n\r\n"] {
                assert!(stream.read(&mut asked).unwrap() > 0);
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        let mut connection = Connection::open(&address).unwrap();
        assert_eq!(connection.post("/pdp", "text/plain", "x"), Ok("ab".to_owned()));
        assert_eq!(connection.post("/pdp", "text/plain", "x"), Err("`/pdp`: HTTP/1.1 400 Bad ".to_owned()));
        assert!(connection.post("/pdp", "text/plain", "x").unwrap_err().starts_with("no answer at `/pdp`"));
        server.join().unwrap();
    }
}

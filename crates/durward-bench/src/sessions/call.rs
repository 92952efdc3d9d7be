//! Sequential requests, sent before, after and between measurements.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use serde::Deserialize;

use super::crowd::{is_valid, write};
use super::{BenchPerson, SessionBenchError};
use crate::server::http::{AnswerHead, head};

/// How long one answer is waited for.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);

/// How long a node may take until it is ready.
const READY_TIME_MAX: Duration = Duration::from_secs(60);

/// A connection to a node.
pub(super) struct NodeCaller {
    stream: TcpStream,
    host: String,
    input: BytesMut,
}

#[derive(Deserialize)]
struct LoginAnswer {
    token: String,
}

impl NodeCaller {
    pub(super) fn connect(address: SocketAddr) -> Result<NodeCaller, SessionBenchError> {
        let stream = TcpStream::connect_timeout(&address, ANSWER_TIME_MAX)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_TIME_MAX))?;
        Ok(NodeCaller { stream, host: address.to_string(), input: BytesMut::new() })
    }

    fn send(&mut self, path: &str, token: &str, body: &str) -> Result<(), SessionBenchError> {
        let mut out = BytesMut::new();
        write(&mut out, path, &self.host, token, body);
        Ok(self.stream.write_all(&out)?)
    }

    fn receive(&mut self) -> Result<(u16, BytesMut), SessionBenchError> {
        let mut piece = [0; 4096];
        loop {
            if let Some(AnswerHead { bytes, status, body_bytes }) = head(&self.input)?
                && self.input.len() >= bytes + body_bytes
            {
                let answer = self.input.split_to(bytes + body_bytes).split_off(bytes);
                return Ok((status, answer));
            }
            match self.stream.read(&mut piece)? {
                0 => return Err(io::Error::from(ErrorKind::UnexpectedEof).into()),
                count => self.input.extend_from_slice(piece.get(..count).unwrap_or_default()),
            }
        }
    }

    /// The token of a new session.
    pub(super) fn login(&mut self, person: &BenchPerson) -> Result<String, SessionBenchError> {
        self.send("/v1/login", "", &person.login)?;
        let (status, body) = self.receive()?;
        match serde_json::from_slice(&body) {
            Ok(LoginAnswer { token }) if status == 200 => Ok(token),
            Ok(_) | Err(_) => Err(SessionBenchError::wrong("login", status, &body)),
        }
    }

    /// Ends a session; when that was acknowledged.
    pub(super) fn logout(&mut self, token: &str) -> Result<Instant, SessionBenchError> {
        self.send("/v1/sessions/logout", token, "")?;
        let (status, body) = self.receive()?;
        if status == 200 {
            Ok(Instant::now())
        } else {
            Err(SessionBenchError::wrong("logout", status, &body))
        }
    }

    /// What a validation is answered: the body, which says that the session lives, or `None` that it does not.
    pub(super) fn validate(
        &mut self,
        token: &str,
        name: &str,
    ) -> Result<Option<BytesMut>, SessionBenchError> {
        self.ask_validate(token)?;
        self.told_validate(name)
    }

    /// Asks without waiting.
    pub(super) fn ask_validate(&mut self, token: &str) -> Result<(), SessionBenchError> {
        self.send("/v1/sessions/validate", token, "")
    }

    /// Waits for what was asked.
    pub(super) fn told_validate(&mut self, name: &str) -> Result<Option<BytesMut>, SessionBenchError> {
        let (status, body) = self.receive()?;
        match status {
            200 if is_valid(&body, Some(name)) => Ok(Some(body)),
            200 if body.starts_with(b"{\"valid\":false") => Ok(None),
            _ => Err(SessionBenchError::wrong("validate", status, &body)),
        }
    }

    /// Whom it asks.
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr()
    }
}

/// Waits until a node says that it is ready.
///
/// # Errors
/// It cannot be reached, says what is no HTTP, or is not ready in a minute.
pub fn wait_ready(address: SocketAddr) -> Result<(), SessionBenchError> {
    let begun = Instant::now();
    loop {
        let mut caller = NodeCaller::connect(address)?;
        let ask = format!("GET /health/ready HTTP/1.1\r\nHost: {}\r\n\r\n", caller.host);
        caller.stream.write_all(ask.as_bytes())?;
        let (status, body) = caller.receive()?;
        if status == 200 {
            return Ok(());
        }
        if begun.elapsed() > READY_TIME_MAX {
            return Err(SessionBenchError::wrong("/health/ready", status, &body));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

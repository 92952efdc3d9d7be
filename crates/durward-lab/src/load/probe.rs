//! Asks a URL once, to see what is there.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustls::{ClientConnection, StreamOwned};

use super::address::TargetNode;
use super::cause::FailureCause;
use super::tls;
use super::wire::{AnswerReader, AnswerWants};
use crate::run::RunError;
use crate::scenario::{ScenarioFolder, Tls};

/// What a URL answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Where it is: `http://host:port`.
    pub address: String,
    /// Path and query.
    pub path: String,
    /// The status of the answer.
    pub status: u16,
    /// How long it took, with the connection.
    pub time: Duration,
    /// The media type, if it says one.
    pub media: Option<String>,
    /// The server's name for itself, if it says one.
    pub server: Option<String>,
    /// The body.
    pub body: Vec<u8>,
    /// Whether the host is this machine.
    pub is_local: bool,
    /// The host, as it must be named to allow load.
    pub host: String,
}

/// Asks a URL once.
///
/// # Errors
/// Text that is no URL, a host that cannot be resolved, nobody who listens, no answer of HTTP within the time.
pub fn probe(url: &str, time_max: Duration) -> Result<Probe, RunError> {
    let wrong = |problem: String| RunError::Address { address: url.to_owned(), problem };
    let full = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    let start = full.find("://").map_or(0, |at| at + 3);
    let (authority, rest) = full.split_at(
        full.get(start..).and_then(|rest| rest.find(['/', '?', '#'])).map_or(full.len(), |at| start + at),
    );
    let rest = rest.split('#').next().unwrap_or_default();
    let path = if rest.starts_with('/') { rest.to_owned() } else { format!("/{rest}") };
    if path.contains([' ', '\r', '\n']) {
        return Err(wrong("has a space in its path; write `%20`".to_owned()));
    }
    let node = TargetNode::resolve(authority)?;
    let begun = Instant::now();
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\nUser-Agent: durward-lab\r\nAccept: */*\r\nConnection: close\r\n\r\n",
        node.authority
    );
    let answer =
        ask(&node, head.as_bytes(), time_max).map_err(|cause| wrong(format!("does not answer: {cause}")))?;
    let mut headers = answer.answer.headers.into_iter();
    Ok(Probe {
        address: authority.to_owned(),
        path,
        status: answer.answer.status,
        time: begun.elapsed(),
        media: headers.next().flatten(),
        server: headers.next().flatten(),
        body: answer.answer.body,
        is_local: node.is_local(),
        host: node.host,
    })
}

fn ask(node: &TargetNode, request: &[u8], time_max: Duration) -> Result<AnswerReader, FailureCause> {
    // A socket with a limit says that it would block when its time is over.
    let is_late = |error: &io::Error| error.kind() == io::ErrorKind::WouldBlock;
    let failed =
        |error: io::Error| if is_late(&error) { FailureCause::Timeout } else { FailureCause::from(&error) };
    let socket = TcpStream::connect_timeout(&node.address, time_max).map_err(failed)?;
    socket.set_read_timeout(Some(time_max)).map_err(failed)?;
    socket.set_write_timeout(Some(time_max)).map_err(failed)?;
    if !node.is_tls {
        return converse(socket, request, failed);
    }
    // Nothing secret is sent: who answers is checked when load is made.
    let any = Tls { danger_any_certificate: true, ..Tls::default() };
    let to = tls::to_nodes(std::slice::from_ref(node), &any, &ScenarioFolder::default(), None)
        .map_err(|_| FailureCause::Tls)?;
    let to = to.into_iter().next().flatten().ok_or(FailureCause::Tls)?;
    let connection = ClientConnection::new(to.config, to.name).map_err(|_| FailureCause::Tls)?;
    converse(StreamOwned::new(connection, socket), request, failed)
}

/// Writes a request and reads the answer.
fn converse(
    mut stream: impl Read + Write,
    request: &[u8],
    failed: impl Fn(io::Error) -> FailureCause,
) -> Result<AnswerReader, FailureCause> {
    stream.write_all(request).map_err(&failed)?;
    stream.flush().map_err(&failed)?;
    let wants = AnswerWants {
        body: true,
        headers: vec!["content-type".to_owned(), "server".to_owned()],
        ..AnswerWants::default()
    };
    let (mut reader, mut buffer) = (AnswerReader::default(), vec![0; 16 * 1024]);
    reader.begin();
    loop {
        let count = stream.read(&mut buffer).map_err(&failed)?;
        if count == 0 {
            return reader.close().map(|()| reader).map_err(FailureCause::from);
        }
        if reader.feed(buffer.get(..count).unwrap_or_default(), &wants).map_err(FailureCause::from)? {
            return Ok(reader);
        }
    }
}

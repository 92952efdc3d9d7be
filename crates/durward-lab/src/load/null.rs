//! A server that does nothing: it answers every request with 200 and two bytes. What the generator reaches against it is
//! what the generator can reach.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use memchr::memmem;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
const LISTENER: Token = Token(0);
/// How often it looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);
/// A head that does not end within this is not answered.
const HEAD_BYTES_MAX: usize = 1 << 20;

/// A server that does nothing, on a thread of its own; it ends when this is dropped.
#[derive(Debug)]
pub struct NullServer {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl NullServer {
    /// Begins to listen on a free port of the loopback address.
    ///
    /// # Errors
    /// Sockets or threads that the system refuses.
    pub fn start() -> io::Result<NullServer> {
        let mut listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        let address = listener.local_addr()?;
        let poll = Poll::new()?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let serve = move || {
            let mut server = Server { poll, listener, connections: Vec::new(), buffer: vec![0; 64 * 1024] };
            // A server that cannot go on answers nothing, which the generator counts.
            let _ = server.serve(&over);
        };
        let thread = std::thread::Builder::new().name("lab-null".to_owned()).spawn(serve)?;
        Ok(NullServer { address, is_over, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It has nothing to say.
            let _ = thread.join();
        }
    }
}

struct Server {
    poll: Poll,
    listener: TcpListener,
    /// By token, from 1; `None` where one was closed.
    connections: Vec<Option<Connection>>,
    buffer: Vec<u8>,
}

struct Connection {
    stream: TcpStream,
    /// The beginning of a head that is not whole.
    head: Vec<u8>,
    /// Bytes of a body still to come.
    body: usize,
    /// Answers that could not be written.
    out: Vec<u8>,
}

impl Server {
    fn serve(&mut self, is_over: &AtomicBool) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        while !is_over.load(Ordering::Relaxed) {
            match self.poll.poll(&mut events, Some(LOOK)) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                other => other?,
            }
            for event in &events {
                match event.token() {
                    LISTENER => self.accept()?,
                    Token(number) => {
                        let place = self.connections.get_mut(number - 1);
                        let is_kept = match place.as_ref().and_then(|place| place.as_ref()) {
                            Some(_) => self.answer(number - 1).unwrap_or(false),
                            None => true,
                        };
                        if !is_kept && let Some(place) = self.connections.get_mut(number - 1) {
                            *place = None;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            let mut stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(_) => continue,
            };
            stream.set_nodelay(true)?;
            let token = Token(self.connections.len() + 1);
            self.poll.registry().register(&mut stream, token, Interest::READABLE | Interest::WRITABLE)?;
            self.connections.push(Some(Connection { stream, head: Vec::new(), body: 0, out: Vec::new() }));
        }
    }

    /// Reads what there is and answers it; whether the connection goes on.
    fn answer(&mut self, number: usize) -> io::Result<bool> {
        let Some(Some(connection)) = self.connections.get_mut(number) else { return Ok(true) };
        loop {
            let count = match connection.stream.read(&mut self.buffer) {
                Ok(0) => return Ok(false),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            connection.take(self.buffer.get(..count).unwrap_or_default());
            if connection.head.len() > HEAD_BYTES_MAX {
                return Ok(false);
            }
            if count < self.buffer.len() {
                break;
            }
        }
        connection.write()
    }
}

impl Connection {
    /// Counts whole requests, and puts an answer for each.
    fn take(&mut self, bytes: &[u8]) {
        let mut joined = std::mem::take(&mut self.head);
        let mut bytes = bytes;
        if !joined.is_empty() {
            joined.extend_from_slice(bytes);
            bytes = &joined;
        }
        loop {
            let skipped = self.body.min(bytes.len());
            self.body -= skipped;
            bytes = bytes.get(skipped..).unwrap_or_default();
            let Some(end) = memmem::find(bytes, b"\r\n\r\n") else { break };
            let (head, rest) = bytes.split_at(end + 4);
            self.body = content_length(head);
            bytes = rest;
            self.out.extend_from_slice(ANSWER);
        }
        self.head.extend_from_slice(bytes);
    }

    fn write(&mut self) -> io::Result<bool> {
        while !self.out.is_empty() {
            match self.stream.write(&self.out) {
                Ok(0) => return Ok(false),
                Ok(count) if count == self.out.len() => self.out.clear(),
                Ok(count) => drop(self.out.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

/// The generator writes the header in this letter case.
fn content_length(head: &[u8]) -> usize {
    let Some(at) = memmem::find(head, b"\r\nContent-Length: ") else { return 0 };
    let digits = head.get(at + 18..).unwrap_or_default();
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0_usize, |number, digit| number.saturating_mul(10).saturating_add(usize::from(digit - b'0')))
}

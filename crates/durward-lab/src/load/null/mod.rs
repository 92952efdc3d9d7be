//! A server that does nothing: it answers every request with 200 and two bytes, over RSocket with a permit. What the generator
//! reaches against it is what the generator can reach. It tells HTTP/1.1, HTTP/2 and RSocket apart by their first bytes.

mod speech;

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use speech::NullProtocol;

const LISTENER: Token = Token(0);
/// How often it looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);
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
            let mut server =
                NullServerLoop { poll, listener, connections: Vec::new(), buffer: vec![0; 64 * 1024] };
            // A server that cannot go on answers nothing, which the generator counts.
            let _ = server.serve(&over);
        };
        let thread = std::thread::Builder::new().name("lab-null".to_owned()).spawn(serve)?;
        Ok(NullServer { address, is_over, thread: Some(thread) })
    }

    /// Where it listens, for whoever speaks HTTP.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where it listens, for whoever speaks RSocket.
    pub(crate) fn rsocket_url(&self) -> String {
        format!("rsocket://{}", self.address)
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

struct NullServerLoop {
    poll: Poll,
    listener: TcpListener,
    /// By token, from 1; `None` where one was closed.
    connections: Vec<Option<NullConnection>>,
    buffer: Vec<u8>,
}

struct NullConnection {
    stream: TcpStream,
    speech: NullProtocol,
    /// Answers that could not be written.
    out: Vec<u8>,
}

impl NullServerLoop {
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
            self.connections.push(Some(NullConnection {
                stream,
                speech: NullProtocol::default(),
                out: Vec::new(),
            }));
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
            let bytes = self.buffer.get(..count).unwrap_or_default();
            if !connection.speech.take(bytes, &mut connection.out) {
                return Ok(false);
            }
            if count < self.buffer.len() {
                break;
            }
        }
        connection.write()
    }
}

impl NullConnection {
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

//! A stream for tests that takes little at once and lets flushes wait, as TLS over a full socket does.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How slowly it sends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// How many bytes are taken before they have to be sent.
    pub(super) write_max: usize,
    /// How often a flush is pending before it sends.
    pub(super) waits: usize,
}

/// The server's end of a connection to a client that has sent all its requests and closed its half.
pub(super) struct Congested {
    /// What the client has sent: one piece is read at once, and after each the client pauses.
    pieces: VecDeque<Bytes>,
    is_paused: bool,
    pace: Pace,
    /// What is taken and not sent.
    taken: Vec<u8>,
    /// How often the flush that sends it was pending.
    waited: usize,
    client: Arc<Mutex<Client>>,
}

/// What the client has seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Client {
    pub(super) received: Vec<u8>,
    /// Whether more of its requests were read while answers waited to be sent.
    pub(super) is_read_ahead: bool,
}

impl Congested {
    pub(super) fn new(pieces: &[impl AsRef<[u8]>], pace: Pace) -> (Congested, Arc<Mutex<Client>>) {
        let client = Arc::<Mutex<Client>>::default();
        let pieces = pieces.iter().map(|piece| Bytes::copy_from_slice(piece.as_ref())).collect();
        let congested = Congested {
            pieces,
            is_paused: false,
            pace,
            taken: Vec::new(),
            waited: 0,
            client: Arc::clone(&client),
        };
        (congested, client)
    }

    /// Ready when all that was taken is sent.
    fn poll_sent(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.taken.is_empty() {
            return Poll::Ready(());
        }
        if self.waited < self.pace.waits {
            self.waited += 1;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.waited = 0;
        self.client.lock().unwrap().received.append(&mut self.taken);
        Poll::Ready(())
    }
}

impl AsyncRead for Congested {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if std::mem::take(&mut this.is_paused) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        this.is_paused = true;
        let Some(mut piece) = this.pieces.pop_front() else { return Poll::Ready(Ok(())) };
        this.client.lock().unwrap().is_read_ahead |= this.waited > 0;
        buf.put_slice(&piece.split_to(piece.len().min(buf.remaining())));
        if !piece.is_empty() {
            this.pieces.push_front(piece);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Congested {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.taken.len() >= this.pace.write_max {
            ready!(this.poll_sent(cx));
        }
        let count = buf.len().min(this.pace.write_max - this.taken.len());
        this.taken.extend(buf.iter().take(count));
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().poll_sent(cx).map(Ok)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

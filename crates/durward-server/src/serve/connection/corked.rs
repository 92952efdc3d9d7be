//! Answers of pipelined requests leave together: what the HTTP library writes is kept until the connection's task has answered
//! all requests that came with one read, and is then sent by one write.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How much is kept at most before it is sent without waiting for further answers.
const KEPT_BYTES_MAX: usize = 64 * 1024;

/// How much room an idle connection keeps for its next answers.
const IDLE_BYTES_MAX: usize = 1024;

/// What the HTTP library reads and writes. [`Cork::poll_send`] sends what was written.
pub(super) struct Corked<S>(Arc<Mutex<Inner<S>>>);

/// The other handle of the same stream, held by the connection's task.
pub(super) struct Cork<S>(Arc<Mutex<Inner<S>>>);

struct Inner<S> {
    stream: S,
    kept: Vec<u8>,
    /// How much of it is sent already.
    sent: usize,
    /// Whether the system took no more when it was sent: then nothing further is kept, or a slow reader of events would be given
    /// old ones first.
    is_stuck: bool,
    /// What [`Cork::poll_closed`] read and the library did not yet.
    ahead: Option<u8>,
}

/// Two handles of one stream: the library's and its task's.
pub(super) fn corked<S>(stream: S) -> (Corked<S>, Cork<S>) {
    let inner =
        Arc::new(Mutex::new(Inner { stream, kept: Vec::new(), sent: 0, is_stuck: false, ahead: None }));
    (Corked(Arc::clone(&inner)), Cork(inner))
}

/// Both handles are used by one task, one after the other.
fn lock<S>(inner: &Mutex<Inner<S>>) -> MutexGuard<'_, Inner<S>> {
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S: AsyncWrite + Unpin> Inner<S> {
    /// Ready when all that was kept is sent.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest) = self.kept.get(self.sent..).filter(|rest| !rest.is_empty()) {
            let written = Pin::new(&mut self.stream).poll_write(cx, rest);
            self.is_stuck = written.is_pending();
            match ready!(written)? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.sent += count,
            }
        }
        self.kept.clear();
        self.sent = 0;
        if self.kept.capacity() > IDLE_BYTES_MAX {
            self.kept = Vec::new();
        }
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    /// Ready when there is room to keep more.
    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_stuck || self.kept.len() >= KEPT_BYTES_MAX {
            ready!(self.poll_send(cx))?;
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> Cork<S> {
    /// Sends what was written; ready when the system has taken all of it.
    pub(super) fn poll_send(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        lock(&self.0).poll_send(cx)
    }
}

impl<S: AsyncRead + Unpin> Cork<S> {
    /// Ready when the other side has closed its half, as far as that can be seen: not behind bytes that the library has still to read.
    pub(super) fn poll_closed(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut inner = lock(&self.0);
        if inner.ahead.is_some() {
            return Poll::Pending;
        }
        let mut byte = [0];
        let mut buf = ReadBuf::new(&mut byte);
        ready!(Pin::new(&mut inner.stream).poll_read(cx, &mut buf))?;
        inner.ahead = buf.filled().first().copied();
        if inner.ahead.is_some() { Poll::Pending } else { Poll::Ready(Ok(())) }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Corked<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut inner = lock(&self.0);
        match inner.ahead.take_if(|_| buf.remaining() > 0) {
            Some(byte) => buf.put_slice(&[byte]),
            None => ready!(Pin::new(&mut inner.stream).poll_read(cx, buf))?,
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Corked<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let mut inner = lock(&self.0);
        ready!(inner.poll_room(cx))?;
        inner.kept.extend_from_slice(buf);
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut inner = lock(&self.0);
        ready!(inner.poll_room(cx))?;
        inner.kept.reserve(bufs.iter().map(|buf| buf.len()).sum());
        let before = inner.kept.len();
        for buf in bufs {
            inner.kept.extend_from_slice(buf);
        }
        Poll::Ready(Ok(inner.kept.len() - before))
    }

    /// The parts of an answer need not be joined before they are kept.
    fn is_write_vectored(&self) -> bool {
        true
    }

    /// [`Cork::poll_send`] follows, unless there is no room.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut inner = lock(&self.0);
        if inner.is_stuck { inner.poll_send(cx) } else { Poll::Ready(Ok(())) }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut inner = lock(&self.0);
        ready!(inner.poll_send(cx))?;
        Pin::new(&mut inner.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn what_is_written_leaves_when_it_is_sent() {
        let (near, mut far) = duplex(1024);
        let (mut corked, cork) = corked(near);
        corked.write_all(b"one ").await.unwrap();
        corked.flush().await.unwrap();
        corked.write_all(b"two").await.unwrap();
        let mut bytes = [0; 16];
        let too_early =
            tokio::time::timeout(std::time::Duration::from_millis(20), far.read(&mut bytes)).await;
        assert!(too_early.is_err(), "nothing is sent yet");
        poll_fn(|cx| cork.poll_send(cx)).await.unwrap();
        let count = far.read(&mut bytes).await.unwrap();
        assert_eq!(&bytes[..count], b"one two");
    }

    #[tokio::test]
    async fn a_closed_half_is_seen_and_what_came_before_it_is_read() {
        let (near, mut far) = duplex(1024);
        let (mut corked, cork) = corked(near);
        let is_closed = async || {
            let closed = poll_fn(|cx| cork.poll_closed(cx));
            tokio::time::timeout(std::time::Duration::from_millis(20), closed).await.is_ok()
        };
        assert!(!is_closed().await);
        far.write_all(b"next").await.unwrap();
        assert!(!is_closed().await && !is_closed().await);
        far.shutdown().await.unwrap();
        assert!(!is_closed().await, "what came before is to be read first");
        let mut text = String::new();
        corked.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "next");
        assert!(is_closed().await);
    }

    #[tokio::test]
    async fn more_than_may_be_kept_is_sent_and_nothing_lost() {
        let (near, mut far) = duplex(1000);
        let (mut corked, _cork) = corked(near);
        let text: Vec<u8> = (0..300_000_u32).map(|number| (number % 251) as u8).collect();
        let expected = text.clone();
        let reading = tokio::spawn(async move {
            let mut all = Vec::new();
            far.read_to_end(&mut all).await.unwrap();
            all
        });
        for part in text.chunks(777) {
            corked.write_all(part).await.unwrap();
        }
        corked.shutdown().await.unwrap();
        assert!(reading.await.unwrap() == expected);
    }
}

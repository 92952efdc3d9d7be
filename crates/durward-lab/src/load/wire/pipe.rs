//! A connection in memory, for a protocol that wants to read and write by itself: bytes are put in at one end and taken out
//! at the other. It never waits, so nothing is woken.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Both ends of a connection in memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Pipe(Arc<Mutex<PipeEnds>>);

#[derive(Debug, Default)]
struct PipeEnds {
    input: BytesMut,
    output: Vec<u8>,
}

impl Pipe {
    fn ends(&self) -> MutexGuard<'_, PipeEnds> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts in what was received.
    pub(super) fn put(&self, bytes: &[u8]) {
        self.ends().input.extend_from_slice(bytes);
    }

    /// Appends what is to be sent.
    pub(super) fn take(&self, out: &mut Vec<u8>) {
        out.append(&mut self.ends().output);
    }
}

impl AsyncRead for Pipe {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let input = &mut self.ends().input;
        if input.is_empty() {
            return Poll::Pending;
        }
        let count = input.len().min(into.remaining());
        into.put_slice(input.get(..count).unwrap_or_default());
        input.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.ends().output.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let output = &mut self.ends().output;
        parts.iter().for_each(|part| output.extend_from_slice(part));
        Poll::Ready(Ok(parts.iter().map(|part| part.len()).sum()))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

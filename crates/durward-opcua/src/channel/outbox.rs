//! The sending half of a channel. Any task may send, and none blocks: what the socket does not take at once is written later by the channel's own task.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use opcua_types::StatusCode;
use tokio::io::AsyncWrite;
use tokio::sync::Notify;

use super::symmetric::SendingKeys;
use crate::error::Error;
use crate::wire::{ChunkKind, OutgoingSequence};

/// When so much waits to be written, nothing more is read from the peer.
const CONGESTED_BYTES: usize = 1024 * 1024;

/// Bytes of an empty buffer that are kept; a larger one is freed. Opening a session takes more than what follows, and
/// most sessions are idle.
const KEPT_BYTES_MAX: usize = 1024;

/// What is left is written for so long when a channel ends; then the connection is dropped.
const FINISH_MAX: Duration = Duration::from_secs(1);

/// Sends messages of one channel.
pub struct ChannelOutbox {
    state: Mutex<OutboxState>,
    /// There is something for the writing task.
    work: Notify,
    /// Less is waiting than before, or the channel is closed.
    drained: Notify,
}

struct OutboxState {
    io: Box<dyn AsyncWrite + Send + Unpin>,
    out: BytesMut,
    sequence: OutgoingSequence,
    sealing: SendingKeys,
    /// Messages that wait while an OpenSecureChannel message, whose sequence number is given out, is being signed.
    held: Option<VecDeque<(ChunkKind, u32, Bytes)>>,
    /// The writing task waits for the socket: nobody else may poll it then, or this waker would be lost.
    writer: Option<Waker>,
    ending: OutboxEnding,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OutboxEnding {
    /// Messages may be sent.
    Open,
    /// What is there is still written.
    Finishing,
    /// Nothing is written any more.
    Ended,
}

impl ChannelOutbox {
    /// Over this stream; the writing task is spawned on the current runtime and ends with the channel.
    pub(super) fn start(io: Box<dyn AsyncWrite + Send + Unpin>) -> Arc<ChannelOutbox> {
        let outbox = Arc::new(ChannelOutbox {
            state: Mutex::new(OutboxState {
                io,
                out: BytesMut::new(),
                sequence: OutgoingSequence::default(),
                sealing: SendingKeys::none(),
                held: None,
                writer: None,
                ending: OutboxEnding::Open,
            }),
            work: Notify::new(),
            drained: Notify::new(),
        });
        tokio::spawn(Arc::clone(&outbox).write());
        outbox
    }

    fn state(&self) -> MutexGuard<'_, OutboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message to what is written at the next [`ChannelOutbox::flush`].
    ///
    /// # Errors
    /// `BadEncodingLimitsExceeded` when it is more than the peer takes: nothing was added, something shorter may be sent.
    /// `BadSecureChannelClosed` when the channel is.
    pub fn push(&self, kind: ChunkKind, request_id: u32, body: Bytes) -> Result<(), Error> {
        self.state().push(kind, request_id, body)
    }

    /// Writes what the socket takes now; the rest follows by itself.
    pub fn flush(&self) {
        let mut state = self.state();
        if state.writer.is_some() {
            return;
        }
        let written = state.poll_write(&mut Context::from_waker(Waker::noop()));
        if written.is_pending() {
            state.writer = Some(Waker::noop().clone());
        }
        if written.is_pending() || state.ending != OutboxEnding::Open {
            self.work.notify_one();
        }
    }

    /// Sends a message.
    ///
    /// # Errors
    /// As of [`ChannelOutbox::push`].
    pub fn send(&self, kind: ChunkKind, request_id: u32, body: Bytes) -> Result<(), Error> {
        self.push(kind, request_id, body)?;
        self.flush();
        Ok(())
    }

    /// Whether so much waits that nothing more should be read from the peer, or computed for it.
    pub fn is_congested(&self) -> bool {
        let state = self.state();
        state.out.len() >= CONGESTED_BYTES && state.ending != OutboxEnding::Ended
    }

    /// Waits until the peer has taken enough of what was sent. Who reads requests asks here first, so that a peer that does not read
    /// its responses gets nothing more done.
    pub async fn uncongested(&self) {
        loop {
            let drained = self.drained.notified();
            tokio::pin!(drained);
            drained.as_mut().enable();
            if !self.is_congested() {
                return;
            }
            drained.await;
        }
    }

    /// Takes the sequence number for an OpenSecureChannel message; messages wait until [`ChannelOutbox::finish_open`].
    pub(super) fn begin_open(&self) -> u32 {
        let mut state = self.state();
        state.held.get_or_insert_default();
        state.sequence.take()
    }

    /// Sends the chunk that was made, and what waited behind it, with sealing as it is changed then.
    pub(super) fn finish_open(&self, chunk: &[u8], change: impl FnOnce(&mut SendingKeys)) {
        {
            let mut state = self.state();
            state.out.extend_from_slice(chunk);
            change(&mut state.sealing);
            for (kind, request_id, body) in state.held.take().unwrap_or_default() {
                // INVARIANT: it was not too large when it was pushed; `push` checks before it holds.
                let _ = state.push(kind, request_id, body);
            }
        }
        self.flush();
    }

    /// Sends from now on as it is changed here.
    pub(super) fn change(&self, change: impl FnOnce(&mut SendingKeys)) {
        change(&mut self.state().sealing);
    }

    /// Sends bytes as they are: Hello and Acknowledge.
    pub(super) fn send_raw(&self, bytes: &[u8]) {
        self.state().out.extend_from_slice(bytes);
        self.flush();
    }

    /// Writes these bytes, then what is there, and then ends: an Error message, or nothing.
    pub(super) fn end_with(&self, last: &[u8]) {
        {
            let mut state = self.state();
            if state.ending == OutboxEnding::Open {
                state.out.extend_from_slice(last);
                state.ending = OutboxEnding::Finishing;
            }
        }
        self.flush();
        self.wake_writer();
    }

    /// Writes nothing more.
    pub(super) fn end(&self) {
        self.state().ending = OutboxEnding::Ended;
        self.wake_writer();
        self.drained.notify_waiters();
    }

    fn wake_writer(&self) {
        self.work.notify_one();
        if let Some(writer) = self.state().writer.take() {
            writer.wake();
        }
    }

    async fn write(self: Arc<ChannelOutbox>) {
        while self.state().ending == OutboxEnding::Open {
            self.work.notified().await;
            std::future::poll_fn(|context| {
                let mut state = self.state();
                let written = state.poll_write(context);
                state.writer = written.is_pending().then(|| context.waker().clone());
                if state.out.len() < CONGESTED_BYTES {
                    self.drained.notify_waiters();
                }
                if state.ending == OutboxEnding::Open { written } else { Poll::Ready(()) }
            })
            .await;
        }
        let rest = std::future::poll_fn(|context| self.state().poll_write(context));
        let _ = tokio::time::timeout(FINISH_MAX, rest).await;
        self.end();
        let shutdown = std::future::poll_fn(|context| Pin::new(&mut self.state().io).poll_shutdown(context));
        let _ = tokio::time::timeout(FINISH_MAX, shutdown).await;
    }
}

impl OutboxState {
    fn push(&mut self, kind: ChunkKind, request_id: u32, body: Bytes) -> Result<(), Error> {
        if self.ending != OutboxEnding::Open {
            return Err(Error::new(StatusCode::BadSecureChannelClosed, "the channel is closed"));
        }
        match &mut self.held {
            Some(held) => {
                self.sealing.check(body.len())?;
                held.push_back((kind, request_id, body));
                Ok(())
            }
            None => self.sealing.message(kind, request_id, &body, &mut self.sequence, &mut self.out),
        }
    }

    /// Writes until there is nothing left or the socket takes no more. A broken socket ends the channel: the reading half finds
    /// out by itself.
    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while !self.out.is_empty() && self.ending != OutboxEnding::Ended {
            match Pin::new(&mut self.io).poll_write(context, &self.out) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(written)) if written > 0 => self.out.advance(written),
                Poll::Ready(_) => self.ending = OutboxEnding::Ended,
            }
        }
        if self.out.is_empty() {
            if self.out.capacity() > KEPT_BYTES_MAX {
                self.out = BytesMut::new();
            }
            // A stream that buffers (not TCP) holds nothing back.
            if let Poll::Ready(Err(_)) = Pin::new(&mut self.io).poll_flush(context) {
                self.ending = OutboxEnding::Ended;
            }
        }
        Poll::Ready(())
    }
}

impl fmt::Debug for ChannelOutbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbox").field("waiting_bytes", &self.state().out.len()).finish_non_exhaustive()
    }
}

//! The stream of a connection over HTTP/1.1, shared by the HTTP library and the connection's task.
//!
//! Answers of pipelined requests leave together: what the library writes is kept until the task has answered all requests that came
//! with one read, and is then sent by one write.
//!
//! Between two requests of the library the task reads first, and answers what it can ([`Cork::poll_direct`]). The library is then
//! handed one request, to its last byte; it sees nothing of what follows before that one is answered. If the end of a request is not
//! certain, the library gets all further bytes.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use durward_wire::http1::{DirectRequest, Message};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::HEADER_COUNT_MAX;

/// How much is kept at most before it is sent without waiting for further answers.
const KEPT_BYTES_MAX: usize = 64 * 1024;

/// How much room an idle connection keeps for its next answers.
const IDLE_BYTES_MAX: usize = 1024;

/// How much the task reads at once.
const READ_BYTES: usize = 16 * 1024;

/// After so many requests in a row that could not be answered directly, the task leaves the connection to the library for good: the next ones
/// are unlikely to be. Not sooner, because reading a head in vain takes a fraction of what the library takes, and an application may log many
/// users in before it asks for decisions and validations.
const MISSES_MAX: u32 = 4096;

/// How often a connection's task reads and answers before others have their turn.
pub(super) const TURNS_MAX: usize = 16;

thread_local! {
    /// What the task reads into, so that an idle connection holds no room for it.
    static READ: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_BYTES].into());
}

/// What the HTTP library reads and writes. [`Cork::poll_send`] sends what was written.
pub(super) struct Corked<S>(Arc<Mutex<Inner<S>>>);

/// The other handle of the same stream, held by the connection's task.
pub(super) struct Cork<S>(Arc<Mutex<Inner<S>>>);

struct Inner<S> {
    stream: S,
    output: Output,
    /// Bytes of the stream that nobody has taken yet.
    unread: Bytes,
    /// Whether the task has still to look at them.
    is_new: bool,
    share: Share,
    /// Whether the library has asked for more than its share: it waits for its next request.
    is_asked: bool,
    misses: u32,
}

/// What is to be sent.
#[derive(Default)]
struct Output {
    kept: Vec<u8>,
    /// How much of it is sent already.
    sent: usize,
    /// Whether the system took no more when it was sent: then nothing further is kept, or a slow reader of events would be given
    /// old ones first.
    is_stuck: bool,
    /// Whether something was written since [`Cork::take_written`] asked.
    is_written: bool,
}

/// How many of the next bytes are for the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Share {
    /// The rest of one request.
    Bytes(usize),
    All,
}

/// Two handles of one stream, the library's and its task's; `first` was read of it already. The task answers directly where `is_direct`.
pub(super) fn corked<S>(stream: S, first: Bytes, is_direct: bool) -> (Corked<S>, Cork<S>) {
    let share = if is_direct { Share::Bytes(0) } else { Share::All };
    let output = Output::default();
    let inner = Inner { stream, output, unread: first, is_new: true, share, is_asked: true, misses: 0 };
    let inner = Arc::new(Mutex::new(inner));
    (Corked(Arc::clone(&inner)), Cork(inner))
}

/// Both handles are used by one task, one after the other.
fn lock<S>(inner: &Mutex<Inner<S>>) -> MutexGuard<'_, Inner<S>> {
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Output {
    /// Ready when all that was kept is sent. A TLS stream may take all of it and still have to send it.
    fn poll_send<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let sent = self.poll_written(stream, cx);
        self.is_stuck = sent.is_pending();
        sent
    }

    fn poll_written<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while let Some(rest) = self.kept.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match ready!(Pin::new(&mut *stream).poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.sent += count,
            }
        }
        self.kept.clear();
        self.sent = 0;
        if self.kept.capacity() > IDLE_BYTES_MAX {
            self.kept = Vec::new();
        }
        Pin::new(stream).poll_flush(cx)
    }

    /// Ready when there is room to keep more.
    fn poll_room<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_stuck || self.kept.len() >= KEPT_BYTES_MAX {
            ready!(self.poll_send(stream, cx))?;
        }
        Poll::Ready(Ok(()))
    }
}

/// How far the task came with what was read.
enum Step {
    /// All of it is answered.
    Done,
    /// What is answered has to be sent first.
    Full,
    /// What is left is part of a head.
    Incomplete,
    /// The next is the library's, and so many bytes, where that is certain.
    Library(Option<usize>),
}

/// Answers the requests at the start of these bytes into `kept`, while there is room; how many bytes they were, and why it ends.
fn answer_all(
    bytes: &[u8],
    head_bytes_max: usize,
    kept: &mut Vec<u8>,
    answer: &mut impl FnMut(&DirectRequest<'_>, &mut Vec<u8>) -> bool,
) -> (usize, Step) {
    let mut count = 0;
    loop {
        let rest = bytes.get(count..).unwrap_or_default();
        if rest.is_empty() {
            return (count, Step::Done);
        }
        if kept.len() >= KEPT_BYTES_MAX {
            return (count, Step::Full);
        }
        match Message::read::<HEADER_COUNT_MAX>(rest, head_bytes_max) {
            Message::Direct(request, length) if answer(&request, kept) => count += length,
            Message::Direct(_, length) => return (count, Step::Library(Some(length))),
            Message::Other(length) => return (count, Step::Library(length)),
            Message::Incomplete => return (count, Step::Incomplete),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Inner<S> {
    /// Answers the requests at the start of these bytes, and keeps the rest of them; whether the library is to go on. `was_waited` says that
    /// part of them had come before.
    fn answer_new(
        &mut self,
        bytes: &Bytes,
        was_waited: bool,
        head_bytes_max: usize,
        answer: &mut impl FnMut(&DirectRequest<'_>, &mut Vec<u8>) -> bool,
    ) -> bool {
        let (count, step) = answer_all(bytes, head_bytes_max, &mut self.output.kept, answer);
        self.output.is_written |= count > 0;
        self.misses = if count > 0 { 0 } else { self.misses };
        self.unread = bytes.slice(count..);
        self.is_new = matches!(step, Step::Full);
        self.share = match step {
            Step::Done => {
                // Its memory is of no use any more.
                self.unread = Bytes::new();
                return false;
            }
            // A head that comes in many pieces is not read again for each of them.
            Step::Incomplete if count == 0 && was_waited => Share::All,
            Step::Incomplete | Step::Full => return false,
            Step::Library(length) => {
                self.misses += 1;
                length.filter(|_| self.misses <= MISSES_MAX).map_or(Share::All, Share::Bytes)
            }
        };
        self.is_asked = false;
        true
    }

    /// As [`Cork::poll_direct`].
    fn poll_direct(
        &mut self,
        cx: &mut Context<'_>,
        head_bytes_max: usize,
        answer: &mut impl FnMut(&DirectRequest<'_>, &mut Vec<u8>) -> bool,
    ) -> Poll<io::Result<()>> {
        for _ in 0..TURNS_MAX {
            ready!(self.output.poll_room(&mut self.stream, cx))?;
            if self.is_new {
                let unread = std::mem::take(&mut self.unread);
                if self.answer_new(&unread, false, head_bytes_max, answer) {
                    return Poll::Ready(Ok(()));
                }
                continue;
            }
            // What is left of the last read goes before it.
            let waited = std::mem::take(&mut self.unread);
            let read = READ.with_borrow_mut(|room| {
                let mut buf = ReadBuf::new(room);
                let read = Pin::new(&mut self.stream).poll_read(cx, &mut buf);
                read.map_ok(|()| match buf.filled() {
                    [] => None,
                    new if waited.is_empty() => Some(Bytes::copy_from_slice(new)),
                    new => Some([&waited, new].concat().into()),
                })
            });
            let bytes = match read {
                Poll::Ready(Ok(Some(bytes))) => bytes,
                // The other side has closed its half: the library ends the connection.
                Poll::Ready(Ok(None)) => {
                    self.unread = waited;
                    self.share = Share::All;
                    return Poll::Ready(Ok(()));
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    self.unread = waited;
                    return Poll::Pending;
                }
            };
            if self.answer_new(&bytes, !waited.is_empty(), head_bytes_max, answer) {
                return Poll::Ready(Ok(()));
            }
        }
        // Other connections have their turn.
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Cork<S> {
    /// Calls `answer` for each request that comes; it appends the answer, or returns false. Ready when it is the library's turn;
    /// [`Cork::poll_send`] sends what there is.
    pub(super) fn poll_direct(
        &self,
        cx: &mut Context<'_>,
        head_bytes_max: usize,
        mut answer: impl FnMut(&DirectRequest<'_>, &mut Vec<u8>) -> bool,
    ) -> Poll<io::Result<()>> {
        lock(&self.0).poll_direct(cx, head_bytes_max, &mut answer)
    }
}

impl<S> Cork<S> {
    /// Whether the library has got all of its request and given all of its answer, as far as this side can tell: the next bytes are the
    /// task's.
    pub(super) fn is_direct(&self) -> bool {
        let inner = lock(&self.0);
        inner.share == Share::Bytes(0) && inner.is_asked && !inner.output.is_stuck
    }

    /// Whether the system takes no more.
    pub(super) fn is_stuck(&self) -> bool {
        lock(&self.0).output.is_stuck
    }

    /// Whether an answer, or part of one, was written since this was asked last.
    pub(super) fn take_written(&self) -> bool {
        std::mem::take(&mut lock(&self.0).output.is_written)
    }

    /// Leaves all further bytes to the library.
    pub(super) fn leave_to_library(&self) {
        lock(&self.0).share = Share::All;
    }

    /// Whether part of a head has come, and no more.
    pub(super) fn has_part(&self) -> bool {
        !lock(&self.0).unread.is_empty()
    }
}

impl<S: AsyncWrite + Unpin> Cork<S> {
    /// Sends what was written; ready when the system has taken all of it.
    pub(super) fn poll_send(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let inner = &mut *lock(&self.0);
        inner.output.poll_send(&mut inner.stream, cx)
    }
}

impl<S: AsyncRead + Unpin> Cork<S> {
    /// Ready when the other side has closed its half, as far as that can be seen: not behind bytes that are still to be read.
    pub(super) fn poll_closed(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut inner = lock(&self.0);
        if !inner.unread.is_empty() {
            return Poll::Pending;
        }
        let mut byte = [0];
        let mut buf = ReadBuf::new(&mut byte);
        ready!(Pin::new(&mut inner.stream).poll_read(cx, &mut buf))?;
        inner.unread = Bytes::copy_from_slice(buf.filled());
        inner.is_new = true;
        if inner.unread.is_empty() { Poll::Ready(Ok(())) } else { Poll::Pending }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Corked<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let inner = &mut *lock(&self.0);
        let left = match inner.share {
            Share::Bytes(left) => left,
            Share::All => usize::MAX,
        };
        // The task reads first.
        if left == 0 {
            inner.is_asked = true;
            return Poll::Pending;
        }
        let count = if inner.unread.is_empty() {
            ready!(poll_read_within(&mut inner.stream, cx, buf, left))?
        } else {
            let part = inner.unread.split_to(inner.unread.len().min(buf.remaining()).min(left));
            buf.put_slice(&part);
            part.len()
        };
        if let Share::Bytes(left) = &mut inner.share {
            *left -= count;
            inner.is_new = true;
            // A request that breaks off is the library's to the end.
            if count == 0 {
                inner.share = Share::All;
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// Reads so many bytes at most; returns how many it read.
fn poll_read_within<S: AsyncRead + Unpin>(
    stream: &mut S,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
    max: usize,
) -> Poll<io::Result<usize>> {
    let before = buf.filled().len();
    if max >= buf.remaining() {
        ready!(Pin::new(stream).poll_read(cx, buf))?;
        return Poll::Ready(Ok(buf.filled().len() - before));
    }
    READ.with_borrow_mut(|room| {
        let max = max.min(room.len());
        let mut part = ReadBuf::new(room.get_mut(..max).unwrap_or_default());
        ready!(Pin::new(stream).poll_read(cx, &mut part))?;
        buf.put_slice(part.filled());
        Poll::Ready(Ok(part.filled().len()))
    })
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Corked<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let inner = &mut *lock(&self.0);
        ready!(inner.output.poll_room(&mut inner.stream, cx))?;
        inner.output.kept.extend_from_slice(buf);
        inner.output.is_written = true;
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let inner = &mut *lock(&self.0);
        ready!(inner.output.poll_room(&mut inner.stream, cx))?;
        inner.output.is_written = true;
        let kept = &mut inner.output.kept;
        kept.reserve(bufs.iter().map(|buf| buf.len()).sum());
        let before = kept.len();
        for buf in bufs {
            kept.extend_from_slice(buf);
        }
        Poll::Ready(Ok(kept.len() - before))
    }

    /// The parts of an answer need not be joined before they are kept.
    fn is_write_vectored(&self) -> bool {
        true
    }

    /// [`Cork::poll_send`] follows, unless there is no room.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let inner = &mut *lock(&self.0);
        match inner.output.is_stuck {
            true => inner.output.poll_send(&mut inner.stream, cx),
            false => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let inner = &mut *lock(&self.0);
        ready!(inner.output.poll_send(&mut inner.stream, cx))?;
        Pin::new(&mut inner.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Waker;

    use bytes::Buf;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;
    use crate::serve::connection::congested::{Congested, Pace};

    #[tokio::test]
    async fn what_is_written_leaves_when_it_is_sent() {
        let (near, mut far) = duplex(1024);
        let (mut corked, cork) = corked(near, Bytes::new(), false);
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
        let (mut corked, cork) = corked(near, Bytes::new(), false);
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
        let (mut corked, _cork) = corked(near, Bytes::new(), false);
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

    /// What the HTTP library does with one request.
    struct Library {
        corked: Corked<Congested>,
        /// How much of the request has still to come.
        missing: usize,
        /// What is left of the answer.
        held: Bytes,
    }

    impl Library {
        /// Reads as far as it may, which is never more than its request, writes as far as there is room, and then flushes.
        fn poll(&mut self, cx: &mut Context<'_>) {
            let mut room = [0; 256];
            let mut buf = ReadBuf::new(&mut room);
            while Pin::new(&mut self.corked).poll_read(cx, &mut buf).is_ready() && !buf.filled().is_empty() {
                self.missing -= buf.filled().len();
                buf.clear();
            }
            while self.missing == 0 && !self.held.is_empty() {
                let part = self.held.slice(..self.held.len().min(1000));
                match Pin::new(&mut self.corked).poll_write(cx, &part) {
                    Poll::Ready(count) => self.held.advance(count.unwrap()),
                    Poll::Pending => return,
                }
            }
            let _ = Pin::new(&mut self.corked).poll_flush(cx);
        }
    }

    /// The stream has taken all that was kept, so there is room, and has still to send it, while the library holds the rest of its answer:
    /// then only `is_stuck` keeps the next direct answer back.
    #[test]
    fn a_direct_answer_does_not_overtake_what_the_library_holds() {
        let direct = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
        let other = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        let long: Bytes = (0..2 * KEPT_BYTES_MAX).map(|number| (number % 251) as u8).collect();
        let expected = [b"first".as_slice(), &long[..], b"second"].concat();
        let sizes = [10, 1000, KEPT_BYTES_MAX, usize::MAX];
        let paces =
            sizes.into_iter().flat_map(|write_max| (1..4).map(move |waits| Pace { write_max, waits }));
        for pace in paces {
            let (stream, client) = Congested::new(&[[direct, other, direct].concat()], pace);
            let (corked, cork) = corked(stream, Bytes::new(), true);
            let mut library = Library { corked, missing: other.len(), held: long.clone() };
            let cx = &mut Context::from_waker(Waker::noop());
            let mut answers = ["first", "second"].into_iter();
            let mut is_settled = true;
            // Many times what it takes.
            for _ in 0..1_000_000 {
                if client.lock().unwrap().received.len() >= expected.len() {
                    break;
                }
                // In the order of `http1::serve`.
                if is_settled && cork.is_direct() {
                    let turn = cork.poll_direct(cx, 400, |_, out| {
                        out.extend_from_slice(answers.next().unwrap().as_bytes());
                        true
                    });
                    if turn.is_pending() {
                        let _ = cork.poll_send(cx);
                        continue;
                    }
                }
                let was_stuck = cork.is_stuck();
                library.poll(cx);
                is_settled = !was_stuck && !cork.is_stuck();
                let _ = cork.poll_send(cx);
            }
            assert!(client.lock().unwrap().received == expected, "{pace:?}");
        }
    }
}

//! Answers on streams of HTTP/2: as fast as they are taken, and under way until the last byte is written.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use durward_common::base::limits::Held;
use durward_common::surfaces::http::events::Body;
use h2::server::SendResponse;
use h2::{Reason, SendStream};
use hyper::Response;
use hyper::body::{Body as _, Frame};

use super::requests::RequestGuard;
use crate::serve::dispatch::CheckAnswer;

/// What an answer of several pieces holds until it is written.
pub(super) struct UnderWay {
    guard: Arc<RequestGuard>,
    /// Of an answer that comes in one piece, which takes it over: among all connections it counts until it is taken. Streams of events have
    /// none, other streams keep it.
    held: Option<Held>,
}

impl UnderWay {
    pub(super) fn new(guard: Arc<RequestGuard>, held: Option<Held>) -> UnderWay {
        UnderWay { guard, held }
    }

    /// A piece of the answer.
    fn piece(&mut self, bytes: Bytes, is_endless: bool) -> Piece {
        // What goes on counts until its end.
        let held = if is_endless { None } else { self.held.take() };
        Piece { bytes, _guard: Guard::Shared { _guard: Arc::clone(&self.guard) }, _held: held }
    }
}

/// Keeps a request under way.
enum Guard {
    /// With the other pieces of its answer.
    Shared {
        _guard: Arc<RequestGuard>,
    },
    Own {
        _guard: RequestGuard,
    },
}

/// A piece of an answer: its request is under way until the library has written the last byte.
pub(super) struct Piece {
    bytes: Bytes,
    _guard: Guard,
    _held: Option<Held>,
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
    }
}

/// Hands an answer to the library, which writes it with others.
///
/// # Errors
/// The client has reset the request.
pub(super) fn send_now(
    respond: &mut SendResponse<Piece>,
    answer: CheckAnswer,
    guard: RequestGuard,
    held: Held,
) -> Result<(), h2::Error> {
    let CheckAnswer { head, message, trailers, .. } = answer;
    let mut stream = respond.send_response(head, false)?;
    stream.send_data(
        Piece { bytes: message, _guard: Guard::Own { _guard: guard }, _held: Some(held) },
        false,
    )?;
    stream.send_trailers(trailers)
}

/// Sends an answer, whose body is asked for more only where there is room for it.
///
/// # Errors
/// The client has reset the request, or its connection is over.
pub(super) async fn send(
    respond: &mut SendResponse<Piece>,
    answer: Response<Body>,
    mut under_way: UnderWay,
) -> Result<(), h2::Error> {
    let (head, mut body) = answer.into_parts();
    let head = Response::from_parts(head, ());
    if body.is_end_stream() {
        return respond.send_response(head, true).map(drop);
    }
    let mut stream = respond.send_response(head, false)?;
    loop {
        let is_endless = body.is_endless();
        let frame = poll_fn(|cx| {
            if is_endless {
                under_way.guard.is_read();
            }
            poll_next(&mut stream, &mut body, cx)
        });
        let Some(frame) = frame.await? else {
            return stream.send_data(under_way.piece(Bytes::new(), false), true);
        };
        match frame.into_data() {
            Ok(bytes) => {
                let is_last = body.is_end_stream();
                if !bytes.is_empty() {
                    room(&mut stream).await?;
                }
                stream.send_data(under_way.piece(bytes, is_endless), is_last)?;
                if is_last {
                    return Ok(());
                }
            }
            Err(frame) => {
                if let Ok(trailers) = frame.into_trailers() {
                    return stream.send_trailers(trailers);
                }
            }
        }
    }
}

/// The next part of a body, for as long as somebody waits for it.
fn poll_next(
    stream: &mut SendStream<Piece>,
    body: &mut Body,
    cx: &mut Context<'_>,
) -> Poll<Result<Option<Frame<Bytes>>, h2::Error>> {
    if let Poll::Ready(reset) = stream.poll_reset(cx) {
        return Poll::Ready(reset.and_then(|reason| Err(reason.into())));
    }
    let frame = ready!(Pin::new(body).poll_frame(cx));
    Poll::Ready(Ok(frame.map(|frame| match frame {
        Ok(frame) => frame,
        Err(never) => match never {},
    })))
}

/// Ready when something of a piece can be sent. No more is claimed than that: what is claimed and not used is kept from other streams.
async fn room(stream: &mut SendStream<Piece>) -> Result<(), h2::Error> {
    stream.reserve_capacity(1);
    poll_fn(|cx| {
        while stream.capacity() == 0 {
            match ready!(stream.poll_capacity(cx)) {
                Some(Ok(_)) => {}
                Some(Err(error)) => return Poll::Ready(Err(error)),
                None => return Poll::Ready(Err(Reason::CANCEL.into())),
            }
        }
        Poll::Ready(Ok(()))
    })
    .await
}

//! The body of a request, whichever library reads it.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

/// Why the rest of a body does not come.
type Broken = Box<dyn std::error::Error + Send + Sync>;

/// The body of a request.
pub enum Incoming {
    /// Read by the library for HTTP/1.1.
    Http1(hyper::body::Incoming),
    /// Read off a stream of HTTP/2.
    Http2(OfStream),
}

/// What comes on a stream of HTTP/2.
pub struct OfStream {
    /// What was read of it already.
    first: Option<Bytes>,
    rest: h2::RecvStream,
    /// How many bytes there will be, where the sender said so; the library holds them to it.
    length: Option<u64>,
}

impl OfStream {
    /// The body that is still to come on a stream; `length` is what its head says.
    pub fn new(rest: h2::RecvStream, length: Option<u64>) -> OfStream {
        OfStream { first: None, rest, length }
    }

    /// The body, where all of it has come in one piece. It is still there afterwards.
    pub fn whole(&mut self, task: &mut Context<'_>) -> Option<Bytes> {
        if self.first.is_none()
            && let Poll::Ready(Some(Ok(bytes))) = self.poll_rest(task)
        {
            self.first = Some(bytes);
        }
        self.first.clone().filter(|_| self.rest.is_end_stream())
    }

    /// What was read counts as taken: its sender may send as much again.
    fn poll_rest(&mut self, task: &mut Context<'_>) -> Poll<Option<Result<Bytes, h2::Error>>> {
        let bytes = ready!(self.rest.poll_data(task));
        if let Some(Ok(bytes)) = &bytes {
            // It fails for more than there was.
            let _ = self.rest.flow_control().release_capacity(bytes.len());
            self.length = self.length.map(|length| length.saturating_sub(bytes.len() as u64));
        }
        Poll::Ready(bytes)
    }
}

impl Body for Incoming {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match self.get_mut() {
            Incoming::Http1(body) => {
                Pin::new(body).poll_frame(task).map(|frame| frame.map(|frame| frame.map_err(Broken::from)))
            }
            Incoming::Http2(body) => match body.first.take() {
                Some(first) => Poll::Ready(Some(Ok(Frame::data(first)))),
                // Trailers say nothing here.
                None => body
                    .poll_rest(task)
                    .map(|bytes| bytes.map(|bytes| bytes.map(Frame::data).map_err(Broken::from))),
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Incoming::Http1(body) => body.is_end_stream(),
            Incoming::Http2(body) => body.first.is_none() && body.rest.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Incoming::Http1(body) => body.size_hint(),
            Incoming::Http2(body) => body.length.map_or_else(SizeHint::default, SizeHint::with_exact),
        }
    }
}

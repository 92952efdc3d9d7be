//! What is spoken on a connection, without its socket: bytes in, events out. The users' machine asks and is told of events,
//! and does not know which protocol it is that carries them.
//!
//! HTTP/1.1 has one request under way; HTTP/2 and RSocket have many, so users share their connections.

mod http1;
mod http2;
mod pipe;
mod reader;
mod rsocket;
pub(super) mod sapl;
mod sse;

use std::time::Instant;

use super::answer::Answer;
use super::cause::Cause;
use super::plan::{Fill, Form, Request};
use crate::scenario::{DataOrder, Table};
use http1::Http1;
use http2::Http2;
pub(super) use reader::{Fault, Reader, Wants};
use rsocket::Rsocket;
pub(crate) use rsocket::Setup;

/// What is spoken to all nodes of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2, known beforehand in clear, agreed on by ALPN over TLS.
    Http2,
    /// RSocket 1.0 over TCP or TLS, with the messages of SAPL.
    Rsocket(Setup),
}

impl Protocol {
    /// Whether a connection carries several requests at once.
    pub(super) fn is_shared(&self) -> bool {
        match self {
            Protocol::Http1 => false,
            Protocol::Http2 | Protocol::Rsocket(_) => true,
        }
    }
}

/// What came of bytes. The number is that by which the request was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A whole answer.
    Answer(u32),
    /// An item of a stream.
    Item(u32),
    /// A stream is over, and the server says so.
    End(u32),
    /// A request failed; the connection goes on.
    Failed(u32, Cause),
    /// The server did not look at a request and says that it may be sent again elsewhere.
    Unprocessed(u32),
}

/// A request to be written.
pub(super) struct Asking<'a> {
    /// By which events name it.
    pub(super) tag: u32,
    /// Its number among those of the plan.
    pub(super) number: u32,
    pub(super) request: &'a Request,
    pub(super) node: usize,
    pub(super) fill: Fill<'a>,
    pub(super) tables: &'a [(Table, DataOrder)],
    /// Room for a body.
    pub(super) body: &'a mut Vec<u8>,
}

/// One connection's protocol.
#[derive(Debug)]
pub(super) enum Wire {
    Http1(Http1),
    Http2(Box<Http2>),
    Rsocket(Box<Rsocket>),
}

impl Default for Wire {
    fn default() -> Wire {
        Wire::Http1(Http1::default())
    }
}

impl Wire {
    /// A new connection. `streams` bounds what may be under way on it where several may.
    pub(super) fn new(protocol: &Protocol, streams: usize) -> Wire {
        match protocol {
            Protocol::Http1 => Wire::default(),
            Protocol::Http2 => Wire::Http2(Box::new(Http2::new(streams))),
            Protocol::Rsocket(setup) => Wire::Rsocket(Box::new(Rsocket::new(setup, streams))),
        }
    }

    /// How many more requests it takes now.
    #[inline]
    pub(super) fn room(&mut self) -> usize {
        match self {
            Wire::Http1(http) => usize::from(http.is_free()),
            Wire::Http2(http) => http.room(),
            Wire::Rsocket(rsocket) => rsocket.room(),
        }
    }

    /// Whether something is under way.
    pub(super) fn is_busy(&self) -> bool {
        match self {
            Wire::Http1(http) => !http.is_free(),
            Wire::Http2(http) => http.under_way() > 0,
            Wire::Rsocket(rsocket) => rsocket.under_way() > 0,
        }
    }

    /// Begins a request: appends to `out`, or keeps it for [`Wire::take_out`]. Gives the handle by which it is cancelled.
    ///
    /// # Errors
    /// A request that cannot be written: it is not under way.
    #[inline]
    pub(super) fn begin(&mut self, asking: Asking<'_>, out: &mut Vec<u8>) -> Result<u32, Cause> {
        match self {
            Wire::Http1(http) => {
                let Asking { tag, number, request, node, fill, tables, body } = asking;
                let Form::Http1(form) = &request.form else { return Err(Cause::NotHttp) };
                form.write(node, &fill, tables, body, out)?;
                http.begin(tag, number);
                Ok(0)
            }
            Wire::Http2(http) => http.begin(asking),
            Wire::Rsocket(rsocket) => rsocket.begin(asking),
        }
    }

    /// Takes bytes that came.
    ///
    /// # Errors
    /// Bytes after which the connection is of no more use.
    #[inline]
    pub(super) fn feed(&mut self, bytes: &[u8], requests: &[Request]) -> Result<(), Cause> {
        match self {
            Wire::Http1(http) => http.feed(bytes, requests),
            Wire::Http2(http) => http.feed(bytes, requests),
            Wire::Rsocket(rsocket) => rsocket.feed(bytes),
        }
    }

    /// The other side closed. `Ok` where that is the end of an answer.
    ///
    /// # Errors
    /// Why what is under way failed.
    pub(super) fn close(&mut self) -> Result<(), Cause> {
        match self {
            Wire::Http1(http) => http.close(),
            Wire::Http2(http) => Err(http.closed()),
            Wire::Rsocket(rsocket) => rsocket.close(),
        }
    }

    /// What happened next.
    ///
    /// # Errors
    /// What ends the connection, after all that came before it.
    #[inline]
    pub(super) fn next(&mut self, requests: &[Request]) -> Result<Option<Event>, Cause> {
        match self {
            Wire::Http1(http) => Ok(http.next()),
            Wire::Http2(http) => http.next(),
            Wire::Rsocket(rsocket) => rsocket.next(requests),
        }
    }

    /// The answer or item that the last event tells of.
    #[inline]
    pub(super) fn answer(&self) -> &Answer {
        match self {
            Wire::Http1(http) => http.answer(),
            Wire::Http2(http) => http.answer(),
            Wire::Rsocket(rsocket) => rsocket.answer(),
        }
    }

    /// A request has ended, or nothing more of it is wanted.
    #[inline]
    pub(super) fn release(&mut self, handle: u32) {
        match self {
            Wire::Http1(http) => http.release(),
            Wire::Http2(http) => http.release(handle),
            Wire::Rsocket(rsocket) => rsocket.release(handle),
        }
    }

    /// What is under way, by the numbers of the requests.
    pub(super) fn tags(&self) -> Vec<u32> {
        match self {
            Wire::Http1(http) => http.tag().into_iter().collect(),
            Wire::Http2(http) => http.tags(),
            Wire::Rsocket(rsocket) => rsocket.tags(),
        }
    }

    /// Whether it can be used for further requests, now or when one has ended.
    #[inline]
    pub(super) fn is_kept(&self) -> bool {
        match self {
            Wire::Http1(http) => http.is_kept(),
            Wire::Http2(http) => http.is_kept(),
            Wire::Rsocket(rsocket) => rsocket.is_kept(),
        }
    }

    /// Appends what is to be written.
    #[inline]
    pub(super) fn take_out(&mut self, out: &mut Vec<u8>) {
        match self {
            Wire::Http1(_) => {}
            Wire::Http2(http) => http.take_out(out),
            Wire::Rsocket(rsocket) => rsocket.take_out(out),
        }
    }

    /// Does what is due by itself: signs of life. Whether there may be something to write or a reason to end.
    pub(super) fn tick(&mut self, now: Instant) -> bool {
        match self {
            Wire::Http1(_) | Wire::Http2(_) => false,
            Wire::Rsocket(rsocket) => rsocket.tick(now),
        }
    }
}

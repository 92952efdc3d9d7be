//! The protocol of a connection, without its socket: bytes in, events out. The users' state machine sends requests and receives events, and does not know which protocol carries them.
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

use super::answer::LoadAnswer;
use super::cause::FailureCause;
use super::plan::{FillSource, PlannedRequest, RequestForm};
use crate::scenario::{DataOrder, DataTable};
use http1::Http1Connection;
use http2::Http2Connection;
pub(super) use reader::{AnswerFault, AnswerReader, AnswerWants};
use rsocket::RsocketConnection;
pub(crate) use rsocket::RsocketSetup;

/// What is spoken to all nodes of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LoadProtocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2, known beforehand in clear, agreed on by ALPN over TLS.
    Http2,
    /// RSocket 1.0 over TCP or TLS, with the messages of SAPL.
    Rsocket(RsocketSetup),
}

impl LoadProtocol {
    /// Whether a connection carries several requests at once.
    pub(super) fn is_shared(&self) -> bool {
        match self {
            LoadProtocol::Http1 => false,
            LoadProtocol::Http2 | LoadProtocol::Rsocket(_) => true,
        }
    }
}

/// An event decoded from received bytes. The number is that by which the request was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WireEvent {
    /// A whole answer.
    Answer(u32),
    /// An item of a stream.
    Item(u32),
    /// A stream is over, and the server says so.
    End(u32),
    /// A request failed; the connection goes on.
    Failed(u32, FailureCause),
    /// The server did not look at a request and says that it may be sent again elsewhere.
    Unprocessed(u32),
}

/// A request to be written.
pub(super) struct OutgoingRequest<'a> {
    /// By which events name it.
    pub(super) tag: u32,
    /// Its number among those of the plan.
    pub(super) number: u32,
    pub(super) request: &'a PlannedRequest,
    pub(super) node: usize,
    pub(super) fill: FillSource<'a>,
    pub(super) tables: &'a [(DataTable, DataOrder)],
    /// Room for a body.
    pub(super) body: &'a mut Vec<u8>,
}

/// One connection's protocol.
#[derive(Debug)]
pub(super) enum WireConnection {
    Http1(Http1Connection),
    Http2(Box<Http2Connection>),
    Rsocket(Box<RsocketConnection>),
}

impl Default for WireConnection {
    fn default() -> WireConnection {
        WireConnection::Http1(Http1Connection::default())
    }
}

impl WireConnection {
    /// A new connection. `streams` bounds what may be under way on it where several may.
    pub(super) fn new(protocol: &LoadProtocol, streams: usize) -> WireConnection {
        match protocol {
            LoadProtocol::Http1 => WireConnection::default(),
            LoadProtocol::Http2 => WireConnection::Http2(Box::new(Http2Connection::new(streams))),
            LoadProtocol::Rsocket(setup) => {
                WireConnection::Rsocket(Box::new(RsocketConnection::new(setup, streams)))
            }
        }
    }

    /// How many more requests it takes now.
    #[inline]
    pub(super) fn room(&mut self) -> usize {
        match self {
            WireConnection::Http1(http) => usize::from(http.is_free()),
            WireConnection::Http2(http) => http.room(),
            WireConnection::Rsocket(rsocket) => rsocket.room(),
        }
    }

    /// Whether something is under way.
    pub(super) fn is_busy(&self) -> bool {
        match self {
            WireConnection::Http1(http) => !http.is_free(),
            WireConnection::Http2(http) => http.under_way() > 0,
            WireConnection::Rsocket(rsocket) => rsocket.under_way() > 0,
        }
    }

    /// Begins a request: appends to `out`, or keeps it for [`WireConnection::take_out`]. Gives the handle by which it is cancelled.
    ///
    /// # Errors
    /// A request that cannot be written: it is not under way.
    #[inline]
    pub(super) fn begin(
        &mut self,
        asking: OutgoingRequest<'_>,
        out: &mut Vec<u8>,
    ) -> Result<u32, FailureCause> {
        match self {
            WireConnection::Http1(http) => {
                let OutgoingRequest { tag, number, request, node, fill, tables, body } = asking;
                let RequestForm::Http1(form) = &request.form else { return Err(FailureCause::NotHttp) };
                form.write(node, &fill, tables, body, out)?;
                http.begin(tag, number);
                Ok(0)
            }
            WireConnection::Http2(http) => http.begin(asking),
            WireConnection::Rsocket(rsocket) => rsocket.begin(asking),
        }
    }

    /// Takes bytes that came.
    ///
    /// # Errors
    /// Bytes after which the connection is of no more use.
    #[inline]
    pub(super) fn feed(&mut self, bytes: &[u8], requests: &[PlannedRequest]) -> Result<(), FailureCause> {
        match self {
            WireConnection::Http1(http) => http.feed(bytes, requests),
            WireConnection::Http2(http) => http.feed(bytes, requests),
            WireConnection::Rsocket(rsocket) => rsocket.feed(bytes),
        }
    }

    /// The other side closed. `Ok` where that is the end of an answer.
    ///
    /// # Errors
    /// Why what is under way failed.
    pub(super) fn close(&mut self) -> Result<(), FailureCause> {
        match self {
            WireConnection::Http1(http) => http.close(),
            WireConnection::Http2(http) => Err(http.closed()),
            WireConnection::Rsocket(rsocket) => rsocket.close(),
        }
    }

    /// What happened next.
    ///
    /// # Errors
    /// What ends the connection, after all that came before it.
    #[inline]
    pub(super) fn next(&mut self, requests: &[PlannedRequest]) -> Result<Option<WireEvent>, FailureCause> {
        match self {
            WireConnection::Http1(http) => Ok(http.next()),
            WireConnection::Http2(http) => http.next(),
            WireConnection::Rsocket(rsocket) => rsocket.next(requests),
        }
    }

    /// The answer or item that the last event tells of.
    #[inline]
    pub(super) fn answer(&self) -> &LoadAnswer {
        match self {
            WireConnection::Http1(http) => http.answer(),
            WireConnection::Http2(http) => http.answer(),
            WireConnection::Rsocket(rsocket) => rsocket.answer(),
        }
    }

    /// A request has ended, or nothing more of it is wanted.
    #[inline]
    pub(super) fn release(&mut self, handle: u32) {
        match self {
            WireConnection::Http1(http) => http.release(),
            WireConnection::Http2(http) => http.release(handle),
            WireConnection::Rsocket(rsocket) => rsocket.release(handle),
        }
    }

    /// What is under way, by the numbers of the requests.
    pub(super) fn tags(&self) -> Vec<u32> {
        match self {
            WireConnection::Http1(http) => http.tag().into_iter().collect(),
            WireConnection::Http2(http) => http.tags(),
            WireConnection::Rsocket(rsocket) => rsocket.tags(),
        }
    }

    /// Whether it can be used for further requests, now or when one has ended.
    #[inline]
    pub(super) fn is_kept(&self) -> bool {
        match self {
            WireConnection::Http1(http) => http.is_kept(),
            WireConnection::Http2(http) => http.is_kept(),
            WireConnection::Rsocket(rsocket) => rsocket.is_kept(),
        }
    }

    /// Appends what is to be written.
    #[inline]
    pub(super) fn take_out(&mut self, out: &mut Vec<u8>) {
        match self {
            WireConnection::Http1(_) => {}
            WireConnection::Http2(http) => http.take_out(out),
            WireConnection::Rsocket(rsocket) => rsocket.take_out(out),
        }
    }

    /// Does what is due by itself: signs of life. Whether there may be something to write or a reason to end.
    pub(super) fn tick(&mut self, now: Instant) -> bool {
        match self {
            WireConnection::Http1(_) | WireConnection::Http2(_) => false,
            WireConnection::Rsocket(rsocket) => rsocket.tick(now),
        }
    }
}

//! The streams of a connection: what each may still be sent, and requests that arrive in fragments.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use bytes::BytesMut;

use super::connection::Expects;
use super::frame::{Payload, UNBOUNDED};

/// One stream.
#[derive(Debug)]
enum Stream {
    /// Waits for its only answer.
    Single,
    /// Takes so many more; [`UNBOUNDED`] stays what it is.
    Many { demand: u32 },
    /// Its request is not whole yet.
    Partial(Box<Partial>),
}

#[derive(Debug)]
struct Partial {
    expects: Expects,
    demand: u32,
    metadata: Option<BytesMut>,
    data: BytesMut,
}

/// What became of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Opened {
    Yes,
    /// Its number is that of a stream under way.
    IsOpen,
    TooMany,
    TooLong,
}

/// What became of a fragment.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reassembled {
    Whole(Expects, Payload),
    Part,
    /// Nobody waits for a fragment of this stream.
    NotExpected,
    TooLong,
}

/// What became of more demand.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Demanded {
    /// There was none before.
    Again,
    /// There was some already, or the stream is not there: clients may ask for more on one that just ended.
    More,
}

/// All streams of a connection, of a bounded number.
#[derive(Debug)]
pub(super) struct Streams {
    streams: HashMap<u32, Stream, foldhash::fast::RandomState>,
    /// The request for one answer that came last, if it waits: most are answered before the next one is looked at, and
    /// are never among the others.
    latest: Option<u32>,
    count_max: usize,
    singles: usize,
    fragment_bytes: usize,
    fragment_bytes_max: usize,
}

impl Streams {
    pub(super) fn new(count_max: usize, fragment_bytes_max: usize) -> Streams {
        Streams {
            streams: HashMap::default(),
            latest: None,
            count_max,
            singles: 0,
            fragment_bytes: 0,
            fragment_bytes_max,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.streams.len() + usize::from(self.latest.is_some())
    }

    pub(super) fn has_single(&self) -> bool {
        self.singles > 0
    }

    pub(super) fn fragment_bytes(&self) -> usize {
        self.fragment_bytes
    }

    /// A request that is whole.
    pub(super) fn open(&mut self, stream: u32, expects: Expects, demand: u32) -> Opened {
        self.insert(stream, whole(expects, demand))
    }

    /// The first fragment of a request.
    pub(super) fn begin(&mut self, stream: u32, expects: Expects, demand: u32, payload: &Payload) -> Opened {
        let partial = Partial { expects, demand, metadata: None, data: BytesMut::new() };
        let opened = self.insert(stream, Stream::Partial(Box::new(partial)));
        if opened == Opened::Yes && self.append(stream, true, payload) == Reassembled::TooLong {
            return Opened::TooLong;
        }
        opened
    }

    fn insert(&mut self, stream: u32, new: Stream) -> Opened {
        let is_full = self.len() >= self.count_max;
        if self.latest == Some(stream) {
            return Opened::IsOpen;
        }
        match self.streams.entry(stream) {
            Entry::Occupied(_) => return Opened::IsOpen,
            Entry::Vacant(_) if is_full => return Opened::TooMany,
            Entry::Vacant(entry) => match new {
                Stream::Single => {}
                Stream::Many { .. } | Stream::Partial(_) => {
                    entry.insert(new);
                    return Opened::Yes;
                }
            },
        }
        self.singles += 1;
        if let Some(earlier) = self.latest.replace(stream) {
            self.streams.insert(earlier, Stream::Single);
        }
        Opened::Yes
    }

    /// A further fragment of a request. One too long ends the stream.
    pub(super) fn append(&mut self, stream: u32, follows: bool, payload: &Payload) -> Reassembled {
        let Some(Stream::Partial(partial)) = self.streams.get_mut(&stream) else {
            return Reassembled::NotExpected;
        };
        self.fragment_bytes += partial.append(payload);
        if self.fragment_bytes > self.fragment_bytes_max {
            self.remove(stream);
            return Reassembled::TooLong;
        }
        if follows {
            return Reassembled::Part;
        }
        let whole = whole(partial.expects, partial.demand);
        self.singles += usize::from(matches!(whole, Stream::Single));
        match self.streams.insert(stream, whole) {
            Some(Stream::Partial(partial)) => {
                self.fragment_bytes -= partial.bytes();
                Reassembled::Whole(partial.expects, partial.into_payload())
            }
            Some(Stream::Single | Stream::Many { .. }) | None => Reassembled::NotExpected,
        }
    }

    /// Whether there was such a stream. Whatever is sent on it from now on is not wanted.
    pub(super) fn remove(&mut self, stream: u32) -> bool {
        if self.latest == Some(stream) {
            self.latest = None;
            self.singles -= 1;
            return true;
        }
        match self.streams.remove(&stream) {
            None => false,
            Some(Stream::Many { .. }) => true,
            Some(Stream::Single) => {
                self.singles -= 1;
                true
            }
            // Nobody has been told of it yet.
            Some(Stream::Partial(partial)) => {
                self.fragment_bytes -= partial.bytes();
                false
            }
        }
    }

    /// Whether a stream waits for its only answer, which it gets now.
    pub(super) fn answer(&mut self, stream: u32) -> bool {
        let is_waited_for =
            self.latest == Some(stream) || matches!(self.streams.get(&stream), Some(Stream::Single));
        is_waited_for && self.remove(stream)
    }

    pub(super) fn wants(&self, stream: u32) -> bool {
        matches!(self.streams.get(&stream), Some(Stream::Many { demand: 1.. }))
    }

    /// Takes one off the demand, if there is any.
    pub(super) fn spend(&mut self, stream: u32) -> bool {
        match self.streams.get_mut(&stream) {
            Some(Stream::Many { demand }) if *demand > 0 => {
                *demand -= u32::from(*demand < UNBOUNDED);
                true
            }
            Some(Stream::Many { .. } | Stream::Single | Stream::Partial(_)) | None => false,
        }
    }

    pub(super) fn add_demand(&mut self, stream: u32, more: u32) -> Demanded {
        let (demand, is_whole) = match self.streams.get_mut(&stream) {
            Some(Stream::Many { demand }) => (demand, true),
            // Legal, if strange: more is wanted before the request has been said.
            Some(Stream::Partial(partial)) => (&mut partial.demand, false),
            Some(Stream::Single) | None => return Demanded::More,
        };
        let before = *demand;
        *demand = before.saturating_add(more).min(UNBOUNDED);
        if is_whole && before == 0 && more > 0 { Demanded::Again } else { Demanded::More }
    }
}

fn whole(expects: Expects, demand: u32) -> Stream {
    match expects {
        Expects::One => Stream::Single,
        Expects::Many => Stream::Many { demand },
    }
}

impl Partial {
    /// How many bytes came.
    fn append(&mut self, payload: &Payload) -> usize {
        let before = self.bytes();
        if let Some(metadata) = &payload.metadata {
            self.metadata.get_or_insert_default().extend_from_slice(metadata);
        }
        self.data.extend_from_slice(&payload.data);
        self.bytes() - before
    }

    fn bytes(&self) -> usize {
        self.data.len() + self.metadata.as_ref().map_or(0, BytesMut::len)
    }

    fn into_payload(self) -> Payload {
        Payload { metadata: self.metadata.map(BytesMut::freeze), data: self.data.freeze() }
    }
}

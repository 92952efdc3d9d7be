//! The heads of streams: first values that stay.

use std::sync::Arc;

use super::{Broker, Finder, Key, Stage, Stream};
use crate::stream::invocation::Invocation;

impl Broker {
    /// The stream that is the first value of another.
    pub(super) fn head(&mut self, key: Key, finder: Option<Finder>, now_ms: i64) -> Option<u32> {
        let whole = Invocation { head: false, ..(*key.invocation).clone() };
        let whole = Key { invocation: Arc::new(whole), context: key.context.clone() };
        let of = self.whole(whole, finder, now_ms)?;
        let source = self.streams.get(of)?;
        if let Some(head) = source.head {
            return Some(head);
        }
        let mut stream = Stream::new(key, 0, None);
        stream.value = source.value.clone();
        stream.stage = Stage::Head { of: Some(of) };
        let head = self.streams.insert(stream);
        if let Some(source) = self.streams.get_mut(of) {
            source.head = head;
        }
        self.set_grace(of, None);
        self.idle.push(of);
        head
    }

    /// Whether a head waits for this stream's first value.
    pub(super) fn feeds_head(&self, stream: &Stream) -> bool {
        let head = stream.head.and_then(|head| self.streams.get(head));
        head.is_some_and(|head| head.value.is_none())
    }

    /// A stream has another value: a head that waits for one takes it; one that has another is not for newcomers.
    pub(super) fn feed_head(&mut self, id: u32) {
        let Some(stream) = self.streams.get(id) else { return };
        let (value, Some(head)) = (stream.value.clone(), stream.head) else { return };
        match self.streams.get_mut(head) {
            Some(waiting) if waiting.value.is_none() => {
                waiting.value = value;
                self.changed.push(head);
                self.idle.push(id);
            }
            Some(_) | None => self.part(id, head),
        }
    }

    /// A stream ends, or is no longer for newcomers: nor is its head, and one that still waits must be taken anew.
    pub(super) fn forget_head(&mut self, id: u32) {
        let Some(head) = self.streams.get(id).and_then(|stream| stream.head) else { return };
        if let Some(waiting) = self.streams.get_mut(head)
            && waiting.value.is_none()
        {
            waiting.is_stale = true;
            self.changed.push(head);
        }
        self.part(id, head);
    }

    /// A head is gone: the stream it waited for may be idle.
    pub(super) fn leave_head(&mut self, of: u32, head: u32) {
        if let Some(stream) = self.streams.get_mut(of)
            && stream.head == Some(head)
        {
            stream.head = None;
            self.idle.push(of);
        }
    }

    fn part(&mut self, id: u32, head: u32) {
        if let Some(stream) = self.streams.get_mut(id) {
            stream.head = None;
        }
        if let Some(head) = self.streams.get_mut(head) {
            head.stage = Stage::Head { of: None };
        }
    }
}

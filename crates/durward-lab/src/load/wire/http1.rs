//! HTTP/1.1: one request at a time.

use super::super::answer::LoadAnswer;
use super::super::cause::FailureCause;
use super::super::plan::PlannedRequest;
use super::super::user::NONE;
use super::{AnswerReader, WireEvent};

/// One connection of HTTP/1.1.
#[derive(Debug)]
pub(crate) struct Http1Connection {
    reader: AnswerReader,
    /// Who asks, and which request; [`NONE`] where nothing is under way.
    tag: u32,
    request: u32,
}

impl Default for Http1Connection {
    fn default() -> Http1Connection {
        Http1Connection { reader: AnswerReader::default(), tag: NONE, request: NONE }
    }
}

impl Http1Connection {
    #[inline]
    pub(super) fn is_free(&self) -> bool {
        self.tag == NONE
    }

    #[inline]
    pub(super) fn tag(&self) -> Option<u32> {
        (self.tag != NONE).then_some(self.tag)
    }

    #[inline]
    pub(super) fn begin(&mut self, tag: u32, request: u32) {
        (self.tag, self.request) = (tag, request);
        self.reader.begin();
    }

    #[inline]
    pub(super) fn feed(&mut self, bytes: &[u8], requests: &[PlannedRequest]) -> Result<(), FailureCause> {
        // Bytes that nobody asked for.
        let request =
            requests.get(self.request as usize).filter(|_| self.tag != NONE).ok_or(FailureCause::NotHttp)?;
        self.reader.feed(bytes, &request.wants)?;
        Ok(())
    }

    /// The other side closed.
    pub(super) fn close(&mut self) -> Result<(), FailureCause> {
        if self.tag == NONE {
            return Err(FailureCause::Closed);
        }
        Ok(self.reader.close()?)
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<WireEvent> {
        if self.tag == NONE {
            return None;
        }
        if let Some(events) = &mut self.reader.events {
            if let Some(data) = events.next() {
                self.reader.answer.body = data;
                return Some(WireEvent::Item(self.tag));
            }
            return self.reader.is_done().then_some(WireEvent::End(self.tag));
        }
        self.reader.is_done().then_some(WireEvent::Answer(self.tag))
    }

    #[inline]
    pub(super) fn answer(&self) -> &LoadAnswer {
        &self.reader.answer
    }

    /// The request has ended. One whose answer did not come to its end takes the connection with it.
    #[inline]
    pub(super) fn release(&mut self) {
        if !self.reader.is_done() {
            self.reader.is_kept = false;
        }
        self.reader.shrink();
        self.tag = NONE;
    }

    #[inline]
    pub(super) fn is_kept(&self) -> bool {
        self.reader.is_kept
    }
}

//! The life of a stream: opened, published, completed, failed, opened again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use durward_ir::fault::Evaluated;
use durward_ir::{Fault, Value};

use super::stream::Source;
use super::{Action, Broker, Finder, Late, Stage, Timer, after};
use crate::stream::finder::Reading;
use crate::stream::identical::identical_results;
use crate::stream::invocation::{BACKOFF_MS_MIN, POLL_INTERVAL_MS_MIN};
use crate::stream::publisher::{End, Said, Slot};

/// The longest pause before a failed source is opened again, before chance is added: an hour.
const RETRY_PAUSE_MS_MAX: u64 = 3_600_000;

impl Broker {
    /// Begins a stream.
    pub(super) fn begin(&mut self, id: u32, now_ms: i64) {
        let Some(stream) = self.streams.get_mut(id) else { return };
        match &stream.finder {
            None => self.publish(id, Ok(Value::Undefined)),
            Some(Finder::Timed(_)) => {
                stream.stage = Stage::Timed { opened_ms: now_ms };
                self.read(id, now_ms);
            }
            Some(Finder::Outside(_)) => {
                stream.retries = 0;
                self.open(id, now_ms);
            }
        }
    }

    /// Asks a timed finder.
    fn read(&mut self, id: u32, now_ms: i64) {
        let Some(stream) = self.streams.get(id) else { return };
        let (Stage::Timed { opened_ms }, Some(Finder::Timed(finder))) = (stream.stage, &stream.finder) else {
            return;
        };
        let key = &stream.key;
        let read = || finder.read(&key.invocation, &key.context, opened_ms, now_ms);
        let reading = catch_unwind(AssertUnwindSafe(read))
            .unwrap_or_else(|_| Reading::lasting(Err(self.panicked(&key.invocation.name))));
        // One that is to be asked again at once would be asked for ever.
        let next = reading.next_ms.map(|next| next.max(now_ms.saturating_add(1)));
        self.publish(id, reading.value);
        self.set_timer(id, next);
    }

    fn panicked(&self, name: &str) -> Box<Fault> {
        Fault::processing(format!("the attribute finder of `{name}` panicked"))
    }

    /// Has the source of a stream opened.
    fn open(&mut self, id: u32, now_ms: i64) {
        self.last_opening += 1;
        let slot = Slot::new(id, self.last_opening, Arc::clone(&self.inbox));
        let Some(stream) = self.streams.get_mut(id) else { return };
        let Some(Finder::Outside(finder)) = &stream.finder else { return };
        stream.stage = Stage::Waiting;
        stream.source = Some(Source { slot: Arc::clone(&slot), handle: None });
        self.actions.push(Action::Open { finder: Arc::clone(finder), key: stream.key.clone(), slot });
        self.sources_open += 1;
        let patience = after(now_ms, stream.key.invocation.options.initial_timeout_ms);
        self.set_timer(id, Some(patience));
    }

    /// A source was opened: this handle closes it. Gives it back if the source is not wanted any more.
    pub(crate) fn opened(&mut self, slot: &Slot, handle: Box<dyn Send>) -> Option<Box<dyn Send>> {
        let stream = self.streams.get_mut(slot.stream);
        match stream.and_then(|stream| stream.source.as_mut()) {
            Some(source) if source.slot.opening == slot.opening => source.handle.replace(handle),
            Some(_) | None => Some(handle),
        }
    }

    pub(super) fn close_source(&mut self, id: u32) {
        let Some(source) = self.streams.get_mut(id).and_then(|stream| stream.source.take()) else { return };
        source.slot.close();
        self.sources_open -= 1;
        self.actions.extend(source.handle.map(Action::Close));
    }

    /// A source said something.
    pub(crate) fn hear(&mut self, slot: &Slot, said: Said, now_ms: i64) {
        let id = slot.stream;
        let Some(stream) = self.streams.get_mut(id) else { return };
        let is_open = stream.source.as_ref().is_some_and(|source| source.slot.opening == slot.opening);
        if !is_open {
            return;
        }
        if let Some(value) = said.value {
            stream.stage = Stage::Live;
            self.set_timer(id, None);
            self.publish(id, value);
        }
        match said.end {
            None => {}
            Some(End::Completed) => self.completed(id, now_ms),
            Some(End::Failed(reason)) => self.failed(id, &reason, now_ms),
        }
    }

    fn completed(&mut self, id: u32, now_ms: i64) {
        self.close_source(id);
        if self.stage(id) == Some(Stage::Waiting) {
            self.publish(id, Ok(Value::Undefined));
        }
        self.rest(id, now_ms);
    }

    fn rest(&mut self, id: u32, now_ms: i64) {
        let Some(stream) = self.streams.get_mut(id) else { return };
        stream.stage = Stage::Resting;
        let pause = stream.key.invocation.options.poll_interval_ms.max(POLL_INTERVAL_MS_MIN);
        self.set_timer(id, Some(after(now_ms, pause)));
    }

    fn failed(&mut self, id: u32, reason: &str, now_ms: i64) {
        self.close_source(id);
        let Some(stream) = self.streams.get_mut(id) else { return };
        let (retries, options) = (stream.retries, stream.key.invocation.options);
        if retries < options.retries {
            stream.retries += 1;
            stream.stage = Stage::Retrying;
            let pause = self.pause(options.backoff_ms, retries);
            self.set_timer(id, Some(after(now_ms, pause)));
            return;
        }
        let name = &stream.key.invocation.name;
        let message = format!("the attribute `{name}` failed, after {retries} retries: {reason}");
        self.publish(id, Err(Fault::processing(message)));
        self.rest(id, now_ms);
    }

    /// The pause before retry number `retry`, from 0: doubled each time, give or take half of it.
    fn pause(&mut self, backoff_ms: u64, retry: u64) -> u64 {
        let factor = 1_u64.checked_shl(u32::try_from(retry).unwrap_or(u32::MAX)).unwrap_or(u64::MAX);
        let pause = backoff_ms.max(BACKOFF_MS_MIN).saturating_mul(factor).min(RETRY_PAUSE_MS_MAX);
        pause / 2 + self.chance.up_to(pause)
    }

    /// Does what is due, up to `most` things. Whether that was all.
    pub(crate) fn advance(&mut self, now_ms: i64, most: usize) -> bool {
        for _ in 0..most {
            let Some((id, timer)) = self.timers.due(now_ms) else { return true };
            match timer {
                Timer::Grace => {
                    self.set_grace(id, None);
                    self.close(id);
                }
                Timer::Stage => {
                    self.set_timer(id, None);
                    self.stage_over(id, now_ms);
                }
            }
        }
        self.timers.due(now_ms).is_none()
    }

    fn stage_over(&mut self, id: u32, now_ms: i64) {
        match self.stage(id) {
            Some(Stage::Timed { .. }) => self.read(id, now_ms),
            Some(Stage::Waiting) => self.late(id, now_ms),
            Some(Stage::Resting) => self.begin(id, now_ms),
            Some(Stage::Retrying) => self.open(id, now_ms),
            Some(Stage::Absent | Stage::Live | Stage::Head { .. }) | None => {}
        }
    }

    /// A source has not published in time: `undefined`, unless that is the failure that makes it an error.
    fn late(&mut self, id: u32, now_ms: i64) {
        let Some(stream) = self.streams.get(id) else { return };
        let fails = self.settings.late == Late::Fails;
        let is_last = fails && stream.retries >= stream.key.invocation.options.retries;
        if !is_last {
            self.publish(id, Ok(Value::Undefined));
        }
        if fails {
            self.failed(id, "no value within the initial timeout", now_ms);
        }
    }

    fn stage(&self, id: u32) -> Option<Stage> {
        self.streams.get(id).map(|stream| stream.stage)
    }

    /// A stream has this value now. One that it had before is no news.
    fn publish(&mut self, id: u32, value: Evaluated<Value>) {
        let Some(stream) = self.streams.get_mut(id) else { return };
        if stream.value.as_ref().is_some_and(|known| identical_results(known, &value)) {
            return;
        }
        stream.value = Some(value);
        if !stream.users.is_empty() {
            self.changed.push(id);
        }
        self.feed_head(id);
    }
}

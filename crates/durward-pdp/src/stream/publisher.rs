//! How values get from sources, on whatever threads they run, to the broker.
//!
//! Each open source has one slot that holds its latest value and whether it has ended. Publishing replaces what the
//! slot holds and, the first time, puts the slot into the inbox. So however fast sources publish, what waits in the
//! inbox is bounded by the number of open sources.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use durward_ir::Value;
use durward_ir::fault::Evaluated;

/// How a source ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It has no more to say for now.
    Completed,
    /// It failed, and why.
    Failed(String),
}

/// What a source has said since it was last heard.
#[derive(Debug, Default)]
pub(crate) struct Said {
    /// Its latest value.
    pub(crate) value: Option<Evaluated<Value>>,
    /// Whether it ended after that.
    pub(crate) end: Option<End>,
}

#[derive(Debug, Default)]
struct SlotState {
    said: Said,
    is_queued: bool,
    /// Whether it has ended or was closed; nothing is heard after that.
    is_over: bool,
}

/// Where one open source leaves what it says.
#[derive(Debug)]
pub(crate) struct Slot {
    /// The stream that the source feeds.
    pub(crate) stream: u32,
    /// Which of all openings this is: what a source says after it was closed must not reach the next one.
    pub(crate) opening: u64,
    inbox: Arc<Inbox>,
    state: Mutex<SlotState>,
}

impl Slot {
    pub(crate) fn new(stream: u32, opening: u64, inbox: Arc<Inbox>) -> Arc<Slot> {
        Arc::new(Slot { stream, opening, inbox, state: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, SlotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say(self: &Arc<Slot>, value: Option<Evaluated<Value>>, end: Option<End>) {
        let mut state = self.lock();
        if state.is_over {
            return;
        }
        state.is_over = end.is_some();
        if value.is_some() {
            state.said.value = value;
        }
        state.said.end = end;
        if !mem::replace(&mut state.is_queued, true) {
            drop(state);
            self.inbox.put(Note::Source(Arc::clone(self)));
        }
    }

    /// What was said since this was last asked.
    pub(crate) fn hear(&self) -> Said {
        let mut state = self.lock();
        state.is_queued = false;
        mem::take(&mut state.said)
    }

    /// Whether nothing is heard any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().is_over
    }

    /// Hears nothing any more.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_over = true;
        state.said = Said::default();
    }
}

/// The end that a source holds: what it publishes becomes the attribute's value. Clones are the same end, and may be
/// used on any thread. When the last one is dropped, the source has completed.
#[derive(Clone, Debug)]
pub struct Publisher(Arc<Ending>);

#[derive(Debug)]
struct Ending(Arc<Slot>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.say(None, Some(End::Completed));
    }
}

impl Publisher {
    pub(crate) fn new(slot: Arc<Slot>) -> Publisher {
        Publisher(Arc::new(Ending(slot)))
    }

    /// Publishes a value, or an error as the value. Of values that follow one another faster than they are heard, the
    /// latest counts.
    pub fn publish(&self, value: Evaluated<Value>) {
        self.0.0.say(Some(value), None);
    }

    /// Ends the source: it failed. It is opened again as the invocation's options say, before the attribute becomes
    /// an error.
    pub fn fail(&self, reason: impl Into<String>) {
        self.0.0.say(None, Some(End::Failed(reason.into())));
    }

    /// Ends the source: it has no more to say, and is opened again after the poll interval. One that has published
    /// nothing makes the attribute `undefined`.
    pub fn complete(&self) {
        self.0.0.say(None, Some(End::Completed));
    }

    /// Whether nothing published is heard any more: the source has ended, or nobody needs it.
    pub fn is_closed(&self) -> bool {
        self.0.0.is_closed()
    }
}

/// What waits for the next round.
#[derive(Debug)]
pub(crate) enum Note {
    /// A source has something to say.
    Source(Arc<Slot>),
    /// A subscription was dropped.
    Gone(u32),
    /// A multi-subscription was dropped.
    GroupGone(u32),
}

/// Where everything waits that happens outside a round.
pub(crate) struct Inbox {
    notes: Mutex<Vec<Note>>,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for Inbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inbox").field("notes", &self.lock().len()).finish_non_exhaustive()
    }
}

impl Inbox {
    /// `wake` is called when the inbox is no longer empty.
    pub(crate) fn new(wake: impl Fn() + Send + Sync + 'static) -> Arc<Inbox> {
        Arc::new(Inbox { notes: Mutex::default(), wake: Box::new(wake) })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Note>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn put(&self, note: Note) {
        let mut notes = self.lock();
        notes.push(note);
        let is_first = notes.len() == 1;
        drop(notes);
        if is_first {
            self.wake();
        }
    }

    /// Tells whoever drives that there is work.
    pub(crate) fn wake(&self) {
        (self.wake)();
    }

    pub(crate) fn take(&self) -> Vec<Note> {
        mem::take(&mut self.lock())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn source() -> (Publisher, Arc<Slot>, Arc<Inbox>, Arc<AtomicUsize>) {
        let woken = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&woken);
        let inbox = Inbox::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
        });
        let slot = Slot::new(0, 0, Arc::clone(&inbox));
        (Publisher::new(Arc::clone(&slot)), slot, inbox, woken)
    }

    fn number(said: &Said) -> Option<i64> {
        let Value::Number(number) = said.value.as_ref()?.as_ref().unwrap() else { return None };
        number.to_i64()
    }

    #[test]
    fn the_latest_value_is_heard_and_the_driver_woken_once() {
        let (publisher, slot, inbox, woken) = source();
        for n in 0..1000 {
            publisher.publish(Ok(Value::number(n)));
        }
        assert_eq!(inbox.take().len(), 1);
        assert_eq!(woken.load(Ordering::Relaxed), 1);
        assert_eq!(number(&slot.hear()), Some(999));
        publisher.publish(Ok(Value::number(1)));
        assert_eq!(inbox.take().len(), 1);
    }

    #[test]
    fn a_value_and_the_end_after_it_are_both_heard() {
        let (publisher, slot, _, _) = source();
        publisher.publish(Ok(Value::number(1)));
        publisher.fail("gone");
        publisher.publish(Ok(Value::number(2)));
        let said = slot.hear();
        assert_eq!(number(&said), Some(1));
        assert_eq!(said.end, Some(End::Failed("gone".into())));
        assert!(publisher.is_closed());
    }

    #[test]
    fn the_last_publisher_dropped_completes_the_source() {
        let (publisher, slot, inbox, _) = source();
        let other = publisher.clone();
        drop(publisher);
        assert!(inbox.is_empty());
        drop(other);
        assert_eq!(slot.hear().end, Some(End::Completed));
    }

    #[test]
    fn a_closed_source_is_not_heard() {
        let (publisher, slot, inbox, _) = source();
        slot.close();
        publisher.publish(Ok(Value::number(1)));
        drop(publisher);
        assert!(inbox.is_empty());
        assert!(slot.hear().value.is_none());
    }
}

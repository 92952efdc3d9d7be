//! The store of one node: a file that records are added to, each batch with one wait for the disk.
//!
//! The file is [`durward_identity::user::Journal`], which says why it is no database: a write that a crash has torn is cut off at
//! the next start, damage before the end is an error. While a batch is being written the next one gathers, so that many
//! logins share one wait. Nor does the node wait for more than its own records: while the disk takes its time, it is told that nothing
//! else has come, since nobody else is there to send anything.
//!
//! Records have numbers by their place in this run; after a restart the node asks for all of them again. When the file has become four
//! times as long as what is known, it is replaced by that: the node says what it knows after all that was written.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::time::Duration;

use durward_identity::IdentityError;
use durward_identity::protocol::{NodeEvent, RecordId};
use durward_identity::session::SessionRecord;
use durward_identity::user::Journal as File;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::{NodeLink, SessionStore, StoreCommand, StoreTask};

/// How often the node hears that nothing happened, and a disk that did not take a batch is tried again.
const IDLE_EVERY: Duration = Duration::from_secs(1);

/// How many orders are carried out with one wait for the disk.
const BATCH: usize = 1024;

/// How many records are remembered, to recognize those that are sent again: more than are sent in two minutes without
/// an answer.
const SEEN_MAX: usize = 1 << 16;

/// How much of the file is read at once.
const READ_BYTES: usize = 1 << 20;

/// A shorter file is not replaced.
const REPLACED_BYTES_MIN: u64 = 16 << 20;

/// A file is replaced when it is this many times longer than after the last time.
const GROWTH_MAX: u64 = 4;

/// The store of one node.
#[derive(Debug)]
pub struct Journal {
    file: File,
    /// How many records it holds.
    count: u64,
    replaced_bytes_min: u64,
}

impl Journal {
    /// Opens the file, or begins one.
    ///
    /// # Errors
    /// It cannot be read or written, another process has it, it is damaged before its end, or of a version to come.
    pub fn open(path: &Path) -> Result<Journal, IdentityError> {
        let mut count = 0;
        // They are read once more when the node asks for them: a million sessions need not be held for that.
        let file = File::scan(path, |entry| {
            count += 1;
            let place = || format!("{}: record {count}", path.display());
            SessionRecord::from_bytes(entry).map(drop).map_err(|error| error.of(place()))
        })?;
        Ok(Journal { file, count, replaced_bytes_min: REPLACED_BYTES_MIN })
    }

    /// Replaces the file from this length on; for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn replaced_from(self, bytes: u64) -> Journal {
        Journal { replaced_bytes_min: bytes, ..self }
    }
}

impl SessionStore for Journal {
    fn name(&self) -> &'static str {
        "journal"
    }

    fn run(self: Box<Self>, orders: mpsc::Receiver<StoreCommand>, node: NodeLink) -> StoreTask {
        let Journal { file, count, replaced_bytes_min } = *self;
        Box::pin(async move {
            let work = JournalWork {
                file: Some(file),
                at_start: count,
                node,
                last: count,
                seen: StoredRecordIds::default(),
                is_lost: false,
                idle: idle(),
                replaced_bytes_min,
                replaced_to: 0,
            };
            work.run(orders).await
        })
    }
}

/// When the node hears that nothing happened. Panics outside of a runtime.
fn idle() -> Interval {
    let mut idle = interval(IDLE_EVERY);
    idle.set_missed_tick_behavior(MissedTickBehavior::Skip);
    idle
}

/// Records that are there, by what they were sent as.
#[derive(Default)]
struct StoredRecordIds {
    numbers: HashMap<RecordId, u64>,
    order: VecDeque<RecordId>,
}

impl StoredRecordIds {
    fn insert(&mut self, id: RecordId, number: u64) {
        self.numbers.insert(id, number);
        self.order.push_back(id);
        if self.order.len() > SEEN_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.numbers.remove(&oldest);
        }
    }
}

struct JournalWork {
    /// INVARIANT: `None` only while a thread has it, and after one panicked with it.
    file: Option<File>,
    /// How many records were in the file at the start; 0 once the node has been told them.
    at_start: u64,
    node: NodeLink,
    last: u64,
    seen: StoredRecordIds,
    /// Whether the disk did not take the last batch.
    is_lost: bool,
    idle: Interval,
    replaced_bytes_min: u64,
    /// How long the file was after it was replaced.
    replaced_to: u64,
}

impl JournalWork {
    async fn run(mut self, mut orders: mpsc::Receiver<StoreCommand>) {
        let mut batch = Vec::new();
        self.tell(NodeEvent::Connected { last: self.last }).await;
        loop {
            tokio::select! {
                count = orders.recv_many(&mut batch, BATCH) => match count {
                    0 => return,
                    _ => self.carry_out(std::mem::take(&mut batch)).await,
                },
                _ = self.idle.tick() => self.idle().await,
            }
        }
    }

    /// When the node is gone there is nobody to tell, and what it ordered before is written all the same.
    async fn tell(&self, event: NodeEvent) {
        let _ = self.node.happened(event).await;
    }

    async fn idle(&mut self) {
        if !self.is_lost {
            return self.tell_idle().await;
        }
        if self.append(Vec::new()).await.is_err() {
            return;
        }
        self.is_lost = false;
        tracing::info!("the disk takes sessions again");
        self.tell(NodeEvent::Connected { last: self.last }).await
    }

    async fn tell_idle(&self) {
        self.tell(NodeEvent::Idle { last: self.last, after: self.last }).await
    }

    async fn carry_out(&mut self, orders: Vec<StoreCommand>) {
        let (mut new, mut questions) = (Vec::new(), Vec::new());
        for order in orders {
            match order {
                StoreCommand::Store { id, record } => match self.seen.numbers.get(&id) {
                    Some(number) => self.tell(NodeEvent::Stored { id, number: *number }).await,
                    None => new.push((id, record)),
                },
                order @ (StoreCommand::CatchUp { .. }
                | StoreCommand::AskLast { .. }
                | StoreCommand::AskPeers) => questions.push(order),
                // There is nobody else.
                StoreCommand::Tell { .. } => {}
            }
        }
        if !new.is_empty() {
            self.store(new).await;
        }
        for question in questions {
            self.answer(question).await;
        }
        self.replace_when_long().await
    }

    async fn store(&mut self, new: Vec<(RecordId, SessionRecord)>) {
        let bytes = new.iter().map(|(_, record)| record.to_bytes()).collect();
        let result = if self.is_lost {
            Err(IdentityError::new("the disk did not take the batch before"))
        } else {
            self.append(bytes).await
        };
        match result {
            Ok(()) => {
                for (id, record) in new {
                    let after = self.last;
                    self.last += 1;
                    self.seen.insert(id, self.last);
                    self.tell(NodeEvent::Delivered { number: self.last, after, id, record }).await;
                }
            }
            Err(error) => {
                for (id, _) in new {
                    self.tell(NodeEvent::NotStored { id }).await;
                }
                if !self.is_lost {
                    tracing::error!(%error, "sessions cannot be written down");
                    self.is_lost = true;
                    self.tell(NodeEvent::Lost).await;
                }
            }
        }
    }

    async fn answer(&mut self, question: StoreCommand) {
        match question {
            StoreCommand::CatchUp { after } => {
                // What is asked for later than at the start is on its way already: events keep their order.
                if after < self.at_start
                    && let Err(error) = self.tell_from(after).await
                {
                    tracing::error!(%error, "the sessions of before cannot be read; it is tried again");
                    self.is_lost = true;
                    return self.tell(NodeEvent::Lost).await;
                }
                self.tell_idle().await
            }
            StoreCommand::AskLast { question } => {
                self.tell(NodeEvent::Last { question, last: self.last }).await
            }
            StoreCommand::AskPeers => self.tell(NodeEvent::Knows { records: Vec::new() }).await,
            StoreCommand::Store { .. } | StoreCommand::Tell { .. } => {}
        }
    }

    /// Tells the node the records that were in the file at the start, from after a number on, some at a time.
    async fn tell_from(&mut self, after: u64) -> Result<(), IdentityError> {
        let (mut number, mut at) = (0, File::START);
        while number < self.at_start {
            let (entries, next) = self.with_file(move |file| file.entries_from(at, READ_BYTES)).await?;
            if entries.is_empty() {
                return Err(IdentityError::new("the journal has become shorter"));
            }
            at = next;
            for entry in entries {
                number += 1;
                if number > after && number <= self.at_start {
                    let record = SessionRecord::from_bytes(&entry)?;
                    // Nobody of this run sent it.
                    let id = RecordId { node: 0, count: number };
                    self.tell(NodeEvent::Delivered { number, after: number - 1, id, record }).await;
                }
            }
        }
        self.at_start = 0;
        Ok(())
    }

    async fn append(&mut self, entries: Vec<Vec<u8>>) -> Result<(), IdentityError> {
        self.with_file(move |file| {
            let entries: Vec<&[u8]> = entries.iter().map(Vec::as_slice).collect();
            file.append(&entries)
        })
        .await
    }

    async fn replace_when_long(&mut self) {
        let length = self.file.as_ref().map_or(0, File::length);
        let is_long =
            length > self.replaced_bytes_min && length / GROWTH_MAX > self.replaced_to && self.at_start == 0;
        if !is_long || self.is_lost {
            return;
        }
        match self.replace().await {
            Ok(()) => {
                tracing::debug!(from = length, to = self.length(), "the journal of sessions was shortened")
            }
            // It is as long as it was, and is tried again when it has grown by as much again.
            Err(error) => tracing::error!(%error, "the journal of sessions cannot be shortened"),
        }
        self.replaced_to = self.length();
    }

    /// Puts what the node knows in the place of all records, a part at a time: a million sessions are not held a second time for it,
    /// and the node goes on between two parts. What it does meanwhile is written behind.
    async fn replace(&mut self) -> Result<(), IdentityError> {
        let mut replacement = None;
        for turn in 0.. {
            let Ok(part) = self.node.knowledge_part(turn).await else {
                return Err(IdentityError::new("the node does not say what it knows"));
            };
            let Some(records) = part else { break };
            if records.is_empty() {
                continue;
            }
            let begun = replacement.take();
            let add = move |file: &mut File| {
                let mut replacement = match begun {
                    Some(begun) => begun,
                    None => file.replacement()?,
                };
                let entries: Vec<Vec<u8>> = records.iter().map(SessionRecord::to_bytes).collect();
                replacement.add(&entries.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
                Ok(replacement)
            };
            replacement = Some(self.with_file(add).await?);
        }
        match replacement {
            Some(replacement) => self.with_file(move |file| file.put(replacement)).await,
            None => Ok(()),
        }
    }

    fn length(&self) -> u64 {
        self.file.as_ref().map_or(0, File::length)
    }

    /// Works with the file on a thread that may block. The node hears that nothing else happens for as long as that takes: it would
    /// take a silence for news that it misses, and refuse every session.
    async fn with_file<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut File) -> Result<T, IdentityError> + Send + 'static,
    ) -> Result<T, IdentityError> {
        let Some(mut file) = self.file.take() else {
            return Err(IdentityError::new("the journal is lost: restart the node"));
        };
        let mut working = spawn_blocking(move || {
            let result = work(&mut file);
            (file, result)
        });
        let worked = loop {
            tokio::select! {
                worked = &mut working => break worked,
                _ = self.idle.tick(), if !self.is_lost && self.at_start == 0 => self.tell_idle().await,
            }
        };
        match worked {
            Ok((file, result)) => {
                self.file = Some(file);
                result
            }
            Err(error) => Err(IdentityError::new(format!("writing the journal broke off: {error}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::store::StoreMessage;

    /// When a batch, or the file that is put in the place of a long one, took the disk three seconds, the node heard nothing for as
    /// long and refused every session.
    #[tokio::test]
    async fn the_node_hears_that_nothing_else_happens_while_the_disk_takes_its_time() {
        let folder = std::env::temp_dir().join(format!("durward-slow-disk-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let Journal { file, .. } = Journal::open(&folder.join("sessions")).unwrap();
        let (node, mut told) = NodeLink::new();
        let mut work = JournalWork {
            file: Some(file),
            at_start: 0,
            node,
            last: 7,
            seen: StoredRecordIds::default(),
            is_lost: false,
            idle: idle(),
            replaced_bytes_min: u64::MAX,
            replaced_to: 0,
        };
        let (finish, is_to_finish) = channel();
        let slow = tokio::spawn(async move {
            work.with_file(move |_| {
                is_to_finish.recv().unwrap();
                Ok(())
            })
            .await
        });
        for _ in 0..2 {
            let heard = tokio::time::timeout(Duration::from_secs(600), told.recv()).await;
            let idle = StoreMessage::Happened(NodeEvent::Idle { last: 7, after: 7 });
            assert_eq!(format!("{:?}", heard.unwrap().unwrap()), format!("{idle:?}"));
        }
        finish.send(()).unwrap();
        slow.await.unwrap().unwrap();
        std::fs::remove_dir_all(folder).unwrap();
    }
}

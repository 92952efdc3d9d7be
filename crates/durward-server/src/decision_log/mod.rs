//! The record of decisions: one line of JSON for each request, written by a thread of its own.
//!
//! Deciding never waits for it: what is not yet written is bounded in bytes, and what does not fit is dropped and
//! counted (`durward_decision_log_lines_total{result="dropped"}`).

mod line;
mod writer;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, SystemTime};

use durward_pdp::xacml::response::PolicyIdentifier;
use durward_pdp::{Request, Response};

use crate::metrics::Metrics;
use crate::settings::{DecisionLogSettings, LogTarget};
use line::Style;
use writer::Writer;

/// What an entry costs beside the text of its request.
const ENTRY_BYTES: usize = 512;

/// One request, decided.
pub(crate) struct Entry {
    pub(crate) time: SystemTime,
    pub(crate) request_id: String,
    pub(crate) client: SocketAddr,
    pub(crate) snapshot: u64,
    pub(crate) duration: Duration,
    pub(crate) request: Request,
    pub(crate) response: Response,
    /// The policies that applied, for each result; empty where nobody asked.
    pub(crate) policies: Vec<Vec<PolicyIdentifier>>,
    /// The length of the request's text: what the entry holds in memory, about.
    pub(crate) bytes: usize,
}

enum Message {
    Entry(Box<Entry>),
    /// Everything before this is to be on its way to the disk before the answer.
    Flush(SyncSender<()>),
}

/// The way to the writing thread. The thread ends when this is dropped.
#[derive(Debug)]
pub(crate) struct DecisionLog {
    sender: Sender<Message>,
    queued_bytes: Arc<AtomicUsize>,
    queue_bytes_max: usize,
    metrics: Arc<Metrics>,
    pub(crate) lists_policies: bool,
}

impl DecisionLog {
    /// Opens the log, if one is asked for.
    ///
    /// # Errors
    /// A file that cannot be opened for appending: a log that is asked for and not there is no start.
    pub(crate) fn open(
        settings: &DecisionLogSettings,
        metrics: &Arc<Metrics>,
    ) -> Result<Option<DecisionLog>, std::io::Error> {
        let mut writer = match settings.target() {
            LogTarget::Off => return Ok(None),
            LogTarget::Stdout => Writer::stdout(),
            LogTarget::File(path) => Writer::file(path)?,
        };
        let style = Style::new(settings);
        let (sender, receiver) = channel::<Message>();
        let queued_bytes = Arc::new(AtomicUsize::new(0));
        let (queued, counters) = (Arc::clone(&queued_bytes), Arc::clone(metrics));
        thread::Builder::new().name("decision-log".into()).spawn(move || {
            while let Ok(message) = receiver.recv() {
                take(message, &style, &mut writer, &queued, &counters);
                // Whatever else waits goes out with the same write.
                while let Ok(message) = receiver.try_recv() {
                    take(message, &style, &mut writer, &queued, &counters);
                }
                writer.flush();
            }
        })?;
        Ok(Some(DecisionLog {
            sender,
            queued_bytes,
            queue_bytes_max: settings.queue_bytes_max,
            metrics: Arc::clone(metrics),
            lists_policies: settings.policies,
        }))
    }

    /// Hands an entry to the writing thread, or drops it.
    pub(crate) fn record(&self, entry: Entry) {
        let bytes = entry.bytes + ENTRY_BYTES;
        let queued = self.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        let has_room = queued.saturating_add(bytes) <= self.queue_bytes_max;
        if !has_room || self.sender.send(Message::Entry(Box::new(entry))).is_err() {
            self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.metrics.log_line("dropped");
        }
    }

    /// Waits until what was recorded so far is written, or the time is over.
    pub(crate) fn flush(&self, time_max: Duration) {
        let (done, wait) = sync_channel(1);
        if self.sender.send(Message::Flush(done)).is_err() || wait.recv_timeout(time_max).is_err() {
            tracing::warn!("the decision log could not be written to its end");
        }
    }
}

fn take(message: Message, style: &Style, writer: &mut Writer, queued: &AtomicUsize, metrics: &Metrics) {
    match message {
        Message::Entry(entry) => {
            let bytes = entry.bytes + ENTRY_BYTES;
            metrics.log_line(if writer.write(&style.line(&entry)) { "written" } else { "failed" });
            queued.fetch_sub(bytes, Ordering::Relaxed);
        }
        Message::Flush(done) => {
            writer.flush();
            // Nobody waits any more: fine.
            let _ = done.send(());
        }
    }
}

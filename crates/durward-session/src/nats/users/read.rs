//! Reads the stream of users in order and takes it in, and sees to it by marks that nothing is missing.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::message::{Message as StreamMessage, PublishMessage};
use async_nats::{StatusCode, Subscriber};
use bytes::Bytes;
use durward_identity::IdentityError;
use durward_identity::protocol::Lack;
use durward_identity::user::UserRecord;
use futures_util::{FutureExt as _, StreamExt};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};

use super::super::reader::{SILENCE_MAX, TRY_AGAIN_AFTER, is_complete, subscribe};
use super::super::sign::UNSIGNED;
use super::{ExchangeShared, stream};

/// How many messages are taken in together, with one wait for the disk.
const BATCH: usize = 256;

/// How often it is looked whether a mark is to be sent: also how soon after the last one that did not come back.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How long nothing is sent after a mark that came back.
const MARK_EVERY: Duration = Duration::from_millis(900);

/// How many marks may be under way.
const MARKS_MAX: usize = 16;

/// How long the stream keeps a mark. It has come back long before.
const MARK_KEPT_FOR: Duration = Duration::from_secs(5);

/// After so long without a mark that came back, users count as unknown.
const MARK_WITHIN: Duration = Duration::from_secs(3);

/// How many users whose file gave way to the store the log names.
const LISTED_MAX: usize = 10;

/// A message of the stream.
struct UserMessage {
    number: u64,
    /// What stands for the user; nothing where it is a mark.
    token: Option<String>,
    payload: Bytes,
}

/// Where reading is, and what was seen on the way.
#[derive(Default)]
struct Reading {
    /// What names the stream that the numbers are of.
    made: Option<String>,
    after: u64,
    /// How many messages this consumer has sent.
    count: u64,
    /// How many messages no node has sealed.
    forged: u64,
    /// How many records were older than what was known, after the start.
    old: u64,
}

pub(super) async fn read(shared: Arc<ExchangeShared>) {
    let mut reading = Reading::default();
    loop {
        match begin(&shared, &mut reading).await {
            Ok(messages) => follow(&shared, messages, &mut reading).await,
            Err(message) => shared.complain(&message),
        }
        sleep(TRY_AGAIN_AFTER).await;
    }
}

/// Opens the stream and reads on; from its beginning where it is another one than before.
async fn begin(shared: &ExchangeShared, reading: &mut Reading) -> Result<Subscriber, String> {
    let opened = stream::open(&shared.context, &shared.settings, &shared.subjects).await;
    let (made, last) = opened.map_err(|error| error.to_string())?;
    if reading.made.as_ref() != Some(&made) || last < reading.after {
        if reading.made.is_some() {
            tracing::warn!(
                "the stream `{}` is another one than before: nodes write there what they know",
                shared.subjects.stream
            );
        }
        reading.made = Some(made);
        reading.after = 0;
        shared.view.forget();
    }
    reading.count = 0;
    let (stream, wanted) = (&shared.subjects.stream, shared.subjects.wanted());
    let messages = subscribe(&shared.client, &shared.context, stream, wanted, reading.after).await?;
    shared.position.send_replace(Some(reading.after));
    Ok(messages)
}

/// Reads until something is missing or nothing comes.
async fn follow(shared: &Arc<ExchangeShared>, mut messages: Subscriber, reading: &mut Reading) {
    loop {
        let Ok(Some(first)) = timeout(SILENCE_MAX, messages.next()).await else { return };
        let mut batch = Vec::new();
        let mut next = Some(first);
        let mut is_whole = true;
        while let Some(message) = next {
            match take(shared, message, reading).await {
                Ok(taken) => batch.extend(taken),
                Err(Broken) => {
                    is_whole = false;
                    break;
                }
            }
            next = if batch.len() < BATCH { messages.next().now_or_never().flatten() } else { None };
        }
        if !apply(shared, batch, reading).await || !is_whole {
            return;
        }
    }
}

/// Another consumer is to be made.
struct Broken;

/// The message, if it is one of the stream, and the one that follows.
async fn take(
    shared: &ExchangeShared,
    message: async_nats::Message,
    reading: &mut Reading,
) -> Result<Option<UserMessage>, Broken> {
    if let Some(status) = message.status {
        if status != StatusCode::IDLE_HEARTBEAT || !is_complete(message.headers.as_ref(), reading.count) {
            return Err(Broken);
        }
        if let Some(reply) = message.reply {
            // Flow control: the server goes on when all that it sent has come here.
            let _ = shared.client.publish(reply, Bytes::new()).await;
        }
        return Ok(None);
    }
    let message = StreamMessage { message, context: shared.context.clone() };
    let Ok(info) = message.info() else { return Err(Broken) };
    if info.consumer_sequence != reading.count + 1 {
        return Err(Broken);
    }
    reading.count += 1;
    let token = shared.subjects.token(message.subject.as_str()).map(str::to_owned);
    Ok(Some(UserMessage { number: info.stream_sequence, token, payload: message.payload.clone() }))
}

/// Takes in what came. Whether reading may go on.
async fn apply(shared: &Arc<ExchangeShared>, batch: Vec<UserMessage>, reading: &mut Reading) -> bool {
    let Some(last) = batch.last().map(|message| message.number) else { return true };
    let (mut records, mut places) = (Vec::new(), Vec::new());
    for UserMessage { number, token, payload } in batch {
        let Some(token) = token else { continue };
        match opened(shared, &token, &payload) {
            Ok(Some(record)) => {
                records.push(record);
                places.push((token, number));
            }
            Ok(None) => {
                shared.view.passed_over(&token, number);
                reading.forged += 1;
                // Whoever writes many of them does not fill the log with it.
                if reading.forged.is_power_of_two() {
                    tracing::error!(number, count = reading.forged, "store of users: {UNSIGNED}");
                }
            }
            Err(error) => {
                let stream = &shared.subjects.stream;
                let message = format!(
                    "record {number} of stream `{stream}` cannot be read: {error}; if no newer node wrote it, remove it with \
                     `nats stream rmm {stream} {number}`"
                );
                shared.complain(&message);
                shared.set_unreadable(Some(message));
                return false;
            }
        }
    }
    shared.set_unreadable(None);
    if !records.is_empty() && !take_records(shared, records, places, reading).await {
        return false;
    }
    reading.after = last;
    shared.position.send_replace(Some(last));
    true
}

/// The record of a message, if a node of this cluster wrote it for this user.
fn opened(shared: &ExchangeShared, token: &str, payload: &[u8]) -> Result<Option<UserRecord>, IdentityError> {
    let Some(content) = shared.seal.open(token, payload) else { return Ok(None) };
    UserRecord::from_bytes(&content).map(Some)
}

async fn take_records(
    shared: &Arc<ExchangeShared>,
    records: Vec<UserRecord>,
    places: Vec<(String, u64)>,
    reading: &mut Reading,
) -> bool {
    let of = Arc::clone(shared);
    let taken = tokio::task::spawn_blocking(move || {
        let taken = of.directory.take_records(&records);
        for (at, (record, (token, number))) in records.iter().zip(&places).enumerate() {
            if taken.old.contains(&at) {
                of.view.passed_over(token, *number);
            } else {
                of.view.took(token, *number, record);
            }
        }
        taken
    });
    let taken = match taken.await {
        Ok(taken) => taken,
        Err(error) => {
            tracing::error!(%error, "taking in users failed");
            return false;
        }
    };
    if !taken.replaced.is_empty() {
        let names: Vec<String> = taken.replaced.iter().take(LISTED_MAX).map(ToString::to_string).collect();
        tracing::warn!(
            count = taken.replaced.len(),
            "the file of users said something else than the other nodes know, which counts; it is kept as it was, with \
             `.before-cluster` behind its name; among them: {}",
            names.join(", ")
        );
    }
    if let Some(error) = taken.error {
        tracing::error!(%error, "changes of users are known, and not all in the file");
    }
    // At the start, the file knows more than what is kept of the time before.
    if shared.link.is_current() && !taken.old.is_empty() {
        reading.old += u64::try_from(taken.old.len()).unwrap_or(0);
        if reading.old.is_power_of_two() {
            tracing::error!(
                count = reading.old,
                "store of users: an old record was put there again and is passed over"
            );
        }
    }
    true
}

/// Sends marks, and says by them how it stands.
pub(super) async fn mark(shared: Arc<ExchangeShared>) {
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut under_way: JoinSet<Result<Instant, String>> = JoinSet::new();
    let mut standing = Standing::default();
    loop {
        tokio::select! {
            _ = looks.tick() => {
                if standing.wants_mark() && under_way.len() < MARKS_MAX {
                    let of = Arc::clone(&shared);
                    under_way.spawn(async move {
                        let marked = timeout(MARK_WITHIN, come_back(&of)).await;
                        marked.unwrap_or_else(|_| Err("no majority of its servers answers".to_owned()))
                    });
                }
            }
            Some(Ok(marked)) = under_way.join_next() => standing.note(marked),
        }
        standing.tell(&shared);
    }
}

/// How it stands by the marks that came back.
#[derive(Default)]
struct Standing {
    /// When the last mark was sent that is back.
    fresh: Option<Instant>,
    /// What was wrong with the last one that is not.
    wrong: Option<String>,
    has_begun: bool,
}

impl Standing {
    fn wants_mark(&self) -> bool {
        self.fresh.is_none_or(|at| at.elapsed() >= MARK_EVERY)
    }

    fn note(&mut self, marked: Result<Instant, String>) {
        match marked {
            Ok(sent) => {
                self.fresh = self.fresh.max(Some(sent));
                self.wrong = None;
            }
            Err(message) => self.wrong = Some(message),
        }
    }

    fn tell(&mut self, shared: &ExchangeShared) {
        let unreadable = shared.unreadable();
        if unreadable.is_none() && self.fresh.is_some_and(|at| at.elapsed() < MARK_WITHIN) {
            if !self.has_begun {
                tracing::info!("users are shared by the stream `{}`", shared.subjects.stream);
            }
            self.has_begun = true;
            if self.wrong.is_none() {
                shared.link.complain(None);
            }
            if !shared.link.is_current() {
                shared.link.lacks(None);
                // What waited for this.
                shared.outbox.wake.notify_one();
            }
            return;
        }
        if self.has_begun && (shared.is_assured || unreadable.is_some()) {
            shared.link.lacks(Some(Lack::Behind));
        }
        if let Some(message) = unreadable.as_ref().or(self.wrong.as_ref()) {
            shared.complain(message);
        }
    }
}

/// Sends a mark and waits until it is back. When it was sent.
async fn come_back(shared: &ExchangeShared) -> Result<Instant, String> {
    let sent_at = Instant::now();
    let mut position = shared.position.subscribe();
    let before = *position.wait_for(Option::is_some).await.map_err(|error| error.to_string())?;
    let message = PublishMessage::build().expected_stream(&shared.subjects.stream).ttl(MARK_KEPT_FOR);
    let sent = shared.context.send_publish(shared.subjects.own_mark.clone(), message).await;
    let ack = sent.map_err(|error| error.to_string())?.await.map_err(|error| error.to_string())?;
    if before.is_some_and(|before| ack.sequence <= before) {
        // The reader sees it as well, and begins again.
        return Err(format!("the stream `{}` is another one than before", shared.subjects.stream));
    }
    let is_back = position.wait_for(|read| read.is_some_and(|read| read >= ack.sequence)).await;
    is_back.map(|_| sent_at).map_err(|error| error.to_string())
}

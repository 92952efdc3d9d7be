//! Sends changes of users: those that an administrator waits for, and those that a login or `durward users` made here.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::LastRawMessageErrorKind;
use durward_identity::IdentityError;
use durward_identity::user::UserRecord;
use futures_util::future::join_all;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::{ExchangeShared, PublishRequest};

/// How often it is looked whether something is unsent, when nobody says so.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How many changes are under way at once.
const AT_ONCE: usize = 256;

/// How long to wait after another node was first: its change comes meanwhile.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(20);

/// How often changes are tried again before the next look.
const TRIES_MAX: usize = 8;

/// How often it is looked whether the stream lacks what is known here.
const REPAIR_EVERY: Duration = Duration::from_secs(2);

/// Why the store did not take a record.
enum Unpublished {
    /// Another message of the user is there.
    OtherFirst,
    Failed(IdentityError),
}

/// Sends what is unsent, and puts back what the stream lost.
pub(super) async fn send(shared: Arc<ExchangeShared>) {
    let mut repaired: Option<Instant> = None;
    loop {
        // Nobody need wake it: it looks by itself.
        let _ = timeout(LOOK_EVERY, shared.outbox.wake.notified()).await;
        // Before all is read, the file may be an old one.
        if !shared.link.is_current() {
            continue;
        }
        if repaired.is_none_or(|at| at.elapsed() >= REPAIR_EVERY) {
            repaired = Some(Instant::now());
            let missing = shared.directory.missing_in(&shared.view.revisions());
            for records in missing.chunks(AT_ONCE) {
                publish_all(&shared, records.to_vec()).await;
            }
        }
        for _ in 0..TRIES_MAX {
            let records = shared.directory.unsent(AT_ONCE);
            if records.is_empty() {
                break;
            }
            if !publish_all(&shared, records).await {
                sleep(TRY_AGAIN_AFTER).await;
            }
        }
    }
}

/// Sends records; those that the store has taken are taken in. Whether all were.
async fn publish_all(shared: &Arc<ExchangeShared>, records: Vec<UserRecord>) -> bool {
    let answers = join_all(records.iter().map(|record| publish(shared, record))).await;
    let mut sent = Vec::new();
    let mut is_all = true;
    for (record, answer) in records.into_iter().zip(answers) {
        match answer {
            Ok(number) => sent.push((record, number)),
            Err(Unpublished::OtherFirst) => {
                is_all = false;
                look_again(shared, &record).await;
            }
            Err(Unpublished::Failed(error)) => {
                is_all = false;
                shared.complain(&format!("{}: {error}", record.user()));
            }
        }
    }
    let of = Arc::clone(shared);
    let taken = tokio::task::spawn_blocking(move || {
        let records: Vec<UserRecord> = sent.iter().map(|(record, _)| record.clone()).collect();
        let taken = of.directory.take_records(&records);
        for (record, number) in &sent {
            of.view.took(&of.seal.token(record.user()), *number, record);
        }
        taken
    });
    match taken.await.map(|taken| taken.error) {
        Ok(None) => {}
        Ok(Some(error)) => tracing::error!(%error, "what was sent of users is not in the file"),
        Err(error) => tracing::error!(%error, "taking in users failed"),
    }
    is_all
}

/// Sends one record over the last one of its user. The number of its message.
async fn publish(shared: &ExchangeShared, record: &UserRecord) -> Result<u64, Unpublished> {
    let token = shared.seal.token(record.user());
    let sealed = record.to_bytes().and_then(|content| shared.seal.seal(&token, &content));
    let sealed = sealed.map_err(Unpublished::Failed)?;
    let message = PublishMessage::build()
        .expected_stream(&shared.subjects.stream)
        .expected_last_subject_sequence(shared.view.last(&token))
        .payload(sealed);
    let failed = |kind: PublishErrorKind, error: String| match kind {
        PublishErrorKind::WrongLastSequence => Unpublished::OtherFirst,
        PublishErrorKind::StreamNotFound
        | PublishErrorKind::WrongLastMessageId
        | PublishErrorKind::TimedOut
        | PublishErrorKind::BrokenPipe
        | PublishErrorKind::MaxAckPending
        | PublishErrorKind::MaxPayloadExceeded
        | PublishErrorKind::Other => Unpublished::Failed(IdentityError::new(error)),
    };
    let sent = shared.context.send_publish(shared.subjects.of_user(&token), message).await;
    let sent = sent.map_err(|error| failed(error.kind(), error.to_string()))?;
    let ack = sent.await.map_err(|error| failed(error.kind(), error.to_string()))?;
    Ok(ack.sequence)
}

/// Looks which message of a user is the last. Another node's comes by itself; one that was deleted is seen only here.
async fn look_again(shared: &ExchangeShared, record: &UserRecord) {
    let token = shared.seal.token(record.user());
    let subject = shared.subjects.of_user(&token);
    let Ok(stream) = shared.context.get_stream_no_info(&shared.subjects.stream).await else { return };
    let read = shared.position.borrow().unwrap_or(0);
    let known = shared.view.last(&token);
    let last = match stream.get_last_raw_message_by_subject(&subject).await {
        Ok(message) => message.sequence,
        Err(error) if matches!(error.kind(), LastRawMessageErrorKind::NoMessageFound) => 0,
        Err(_) => return,
    };
    if last < known && known <= read && shared.view.last(&token) == known {
        shared.view.corrected(&token, last);
    }
}

/// Answers administrators, one change after the other.
pub(super) async fn serve(shared: Arc<ExchangeShared>, mut requests: mpsc::Receiver<PublishRequest>) {
    while let Some(PublishRequest { records, answer }) = requests.recv().await {
        if !shared.link.is_current() {
            let error = "this node does not reach the store of users: try again, or on another node";
            // Whoever asked may have given up.
            let _ = answer.try_send(Err(IdentityError::new(error)));
            continue;
        }
        let answers = join_all(records.iter().map(|record| publish(&shared, record))).await;
        let mut numbers = Vec::new();
        let mut refused = None;
        for (record, answer) in records.iter().zip(answers) {
            match answer {
                Ok(number) => numbers.push((record, number)),
                Err(Unpublished::OtherFirst) => {
                    look_again(&shared, record).await;
                    let user = record.user();
                    let error = format!("{user} was changed on another node in this moment: try again");
                    refused = Some(IdentityError::new(error));
                }
                Err(Unpublished::Failed(error)) => refused = Some(error.of("the store of users")),
            }
        }
        let is_told = answer.try_send(refused.clone().map_or(Ok(()), Err)).is_ok();
        // The directory takes in what it was told of, before its next change. Anything else comes back by the stream.
        if is_told && refused.is_none() {
            for (record, number) in numbers {
                shared.view.took(&shared.seal.token(record.user()), number, record);
            }
        }
    }
}

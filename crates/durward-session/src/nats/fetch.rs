//! Reads the stream message by message, from its leader, while no consumer can be made.
//!
//! A consumer is made by the leader of all JetStream, which need not be the stream's. When a server dies that was that leader and held this node's
//! consumer, the stream takes records again, or never stopped, seconds before another consumer can be made; logins would wait for as long.
//!
//! Each answer of the stream's leader is the next message after a number. Where a server answers that only believes that it leads, it is one that
//! was taken by a majority before, or none: nothing is passed over.

use std::pin::Pin;
use std::time::Duration;

use async_nats::jetstream::message::StreamMessage;
use async_nats::{Subscriber, header};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::NatsShared;
use super::reader::{ConsumerEnd, ReadOutcome, ReadPosition, RecordReading, StreamedRecord, WantedFrom};
use crate::store::NodeLink;

/// Where nothing is wrong, a consumer is made before that.
const BEGINS_AFTER: Duration = Duration::from_millis(100);

/// How long an answer may take.
const ANSWER_WITHIN: Duration = Duration::from_millis(300);

/// How soon it is asked again when there is no next message yet.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(10);

/// Waits for a consumer that is being made, and reads meanwhile.
///
/// # Errors
/// Why that was given up.
pub(super) async fn until_made(
    shared: &NatsShared,
    mut consumer: Pin<&mut impl Future<Output = Result<Subscriber, String>>>,
    place: &mut ReadPosition,
    wanted: &watch::Receiver<WantedFrom>,
    node: &NodeLink,
) -> Result<Subscriber, ConsumerEnd> {
    let not_made = |message: String| {
        tracing::debug!("cannot read the session store: {message}");
        if wanted.has_changed().unwrap_or(true) { ConsumerEnd::Asked } else { ConsumerEnd::Broken }
    };
    if let Ok(made) = timeout(BEGINS_AFTER, &mut consumer).await {
        return made.map_err(not_made);
    }
    loop {
        let next = tokio::select! {
            made = &mut consumer => return made.map_err(not_made),
            next = next(shared, place.seen()) => next,
        };
        if wanted.has_changed().unwrap_or(true) {
            return Err(ConsumerEnd::Asked);
        }
        take(shared, &next, place, node).await?;
    }
}

/// The next message after a number, whenever there is one.
async fn next(shared: &NatsShared, after: u64) -> StreamMessage {
    let all = shared.subjects.all();
    loop {
        if let Ok(stream) = shared.context.get_stream_no_info(&shared.settings.stream).await {
            let next = stream.get_first_raw_message_by_subject(&all, after + 1);
            if let Ok(Ok(message)) = timeout(ANSWER_WITHIN, next).await {
                return message;
            }
        }
        sleep(ASK_AGAIN_AFTER).await;
    }
}

async fn take(
    shared: &NatsShared,
    message: &StreamMessage,
    place: &mut ReadPosition,
    node: &NodeLink,
) -> Result<(), ConsumerEnd> {
    let record = StreamedRecord {
        number: message.sequence,
        count: place.next_count(),
        subject: message.subject.as_str(),
        id: message.headers.get(header::NATS_MESSAGE_ID).map(|id| id.as_str()),
        payload: &message.payload,
        taken_ms: None,
    };
    if shared.subjects.is_question_of_another(record.subject) {
        // The consumer leaves them out, too.
        place.pass(&record);
        return Ok(());
    }
    match RecordReading::of(shared).read(&record, place) {
        Ok(ReadOutcome::Tell(event)) => {
            if node.happened(event).await {
                Ok(())
            } else {
                Err(ConsumerEnd::Node)
            }
        }
        Ok(ReadOutcome::HoldBack) => Ok(()),
        Ok(ReadOutcome::Gap) => Err(ConsumerEnd::Broken),
        Err(message) => {
            shared.unreadable.send_replace(Some(message));
            Err(ConsumerEnd::Unreadable)
        }
    }
}

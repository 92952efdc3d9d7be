//! Reads the stream in order, from where the node says.
//!
//! A consumer is a reader's place at one server, with no state that matters: when the server is gone, or a message was lost on the
//! way, another one is made that begins where this one was.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, push};
use async_nats::jetstream::message::Message as StreamMessage;
use async_nats::{HeaderMap, StatusCode, Subscriber, header};
use bytes::Bytes;
use durward_identity::protocol::{NodeEvent, RecordId};
use durward_identity::session::SessionRecord;
use futures_util::StreamExt;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::NatsShared;
use super::sign::{SignedSubject, UNSIGNED};
use super::subject::record_id;
use crate::store::NodeLink;

/// The server says at least so often that it is there.
const HEARTBEAT: Duration = Duration::from_millis(500);

/// After so long without any word, another consumer is made.
const SILENCE_MAX: Duration = Duration::from_millis(1600);

/// After so long without a reader, the server forgets a consumer.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(10);

/// How long making a consumer may take: where the server that was to hold it has just died, none is made, and the next try asks
/// another one.
const MADE_WITHIN: Duration = Duration::from_millis(700);

/// How long to wait before the next try.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(250);

/// From which number on records are wanted; and how often that was said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WantedFrom {
    pub(super) after: u64,
    pub(super) times: u64,
}

/// Where reading is.
struct ReadPosition {
    /// The number of the last message that was told, or from which reading began.
    after: u64,
    /// How many messages this consumer has sent.
    count: u64,
    /// How many records were no node's.
    refused: u64,
    /// Whether one was.
    is_known: bool,
}

/// Why a consumer was given up.
enum ConsumerEnd {
    /// The node wants to hear from another place on.
    Asked,
    /// Something is missing, or nothing comes.
    Broken,
    /// A record cannot be read: the link says so, and the node begins again.
    Unreadable,
    /// The node is gone.
    Node,
}

pub(super) async fn read(shared: Arc<NatsShared>, mut wanted: watch::Receiver<WantedFrom>, node: NodeLink) {
    let mut place = ReadPosition { after: 0, count: 0, refused: 0, is_known: false };
    let mut over = ConsumerEnd::Asked;
    if wanted.changed().await.is_err() {
        return;
    }
    loop {
        match over {
            ConsumerEnd::Asked => place.after = wanted.borrow_and_update().after,
            ConsumerEnd::Broken => sleep(TRY_AGAIN_AFTER).await,
            ConsumerEnd::Unreadable => {
                if wanted.changed().await.is_err() {
                    return;
                }
                place.after = wanted.borrow_and_update().after;
            }
            ConsumerEnd::Node => return,
        }
        place.count = 0;
        over = match consume(&shared, place.after).await {
            Ok(messages) => follow(&shared, messages, &mut place, &mut wanted, &node).await,
            Err(message) => {
                tracing::debug!("cannot read the session store: {message}");
                if wanted.has_changed().unwrap_or(true) { ConsumerEnd::Asked } else { ConsumerEnd::Broken }
            }
        };
        if wanted.has_changed().is_err() {
            return;
        }
    }
}

async fn consume(shared: &NatsShared, after: u64) -> Result<Subscriber, String> {
    let deliver_subject = shared.client.new_inbox();
    // Whoever is not there yet when the consumer is made hears nothing.
    let messages =
        shared.client.subscribe(deliver_subject.clone()).await.map_err(|error| error.to_string())?;
    let config = push::Config {
        deliver_subject,
        filter_subjects: shared.subjects.wanted(),
        deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: after + 1 },
        ack_policy: AckPolicy::None,
        flow_control: true,
        idle_heartbeat: HEARTBEAT,
        inactive_threshold: FORGOTTEN_AFTER,
        num_replicas: 1,
        memory_storage: true,
        ..push::Config::default()
    };
    let made = shared.context.create_consumer_on_stream(config, shared.settings.stream.as_str());
    let made = timeout(MADE_WITHIN, made).await.map_err(|_| "no consumer was made in time".to_owned())?;
    made.map(|_| messages).map_err(|error| error.to_string())
}

async fn follow(
    shared: &NatsShared,
    mut messages: Subscriber,
    place: &mut ReadPosition,
    wanted: &mut watch::Receiver<WantedFrom>,
    node: &NodeLink,
) -> ConsumerEnd {
    loop {
        let next = tokio::select! {
            biased;
            changed = wanted.changed() => {
                return if changed.is_ok() { ConsumerEnd::Asked } else { ConsumerEnd::Node };
            }
            next = timeout(SILENCE_MAX, messages.next()) => next,
        };
        let Ok(Some(message)) = next else { return ConsumerEnd::Broken };
        if let Some(status) = message.status {
            let is_alive =
                status == StatusCode::IDLE_HEARTBEAT && is_complete(message.headers.as_ref(), place);
            if !is_alive {
                return ConsumerEnd::Broken;
            }
            if let Some(reply) = message.reply {
                // Flow control: the server goes on when all that it sent has come here.
                let _ = shared.client.publish(reply, Bytes::new()).await;
            }
            continue;
        }
        let message = StreamMessage { message, context: shared.context.clone() };
        match told(shared, &message, place) {
            Ok(Some(event)) => {
                if !node.happened(event).await {
                    return ConsumerEnd::Node;
                }
            }
            Ok(None) => return ConsumerEnd::Broken,
            Err(message) => {
                shared.unreadable.send_replace(Some(message));
                return ConsumerEnd::Unreadable;
            }
        }
    }
}

/// A heartbeat says how many messages went before it.
fn is_complete(headers: Option<&HeaderMap>, place: &ReadPosition) -> bool {
    let last = headers.and_then(|headers| headers.get(header::NATS_LAST_CONSUMER));
    last.is_none_or(|last| last.as_str().parse() == Ok(place.count))
}

/// The event for a message; nothing if one before it is missing. What no node has signed is passed over: it was promised to nobody.
///
/// # Errors
/// A node wrote it, and none of this version. Whoever went on without it might accept sessions that it ends.
fn told(
    shared: &NatsShared,
    message: &StreamMessage,
    place: &mut ReadPosition,
) -> Result<Option<NodeEvent>, String> {
    let Ok(info) = message.info() else { return Ok(None) };
    if info.consumer_sequence != place.count + 1 {
        return Ok(None);
    }
    let (number, after) = (info.stream_sequence, place.after);
    let event = match signed(shared, message) {
        Some((id, content)) => {
            let stream = &shared.settings.stream;
            let record = SessionRecord::from_bytes(content).map_err(|error| {
                format!(
                    "record {number} of stream `{stream}` cannot be read: {error}; if no newer node wrote it, remove it with \
                     `nats stream rmm {stream} {number}`"
                )
            })?;
            place.is_known = true;
            NodeEvent::Delivered { number, after, id, record }
        }
        None if message.subject.as_str() == shared.subjects.own_fresh => {
            // All there is has been read, and nobody who wrote any of it had this node's secret: it is this node that is a stranger.
            if place.refused > 0 && !place.is_known {
                return Err(format!(
                    "none of the {} records of stream `{}` is signed under this node's secret: it is another one than \
                     the other nodes have, see `identity.cluster_key_path`",
                    place.refused, shared.settings.stream
                ));
            }
            NodeEvent::Idle { last: number, after }
        }
        None => {
            place.refused += 1;
            // Whoever writes many of them does not fill the log with it.
            if place.refused.is_power_of_two() {
                tracing::error!(number, count = place.refused, "session store: {UNSIGNED}");
            }
            NodeEvent::Idle { last: number, after }
        }
    };
    place.after = number;
    place.count += 1;
    Ok(Some(event))
}

/// The name and the content of a record, if a node of this cluster wrote it.
fn signed<'m>(shared: &NatsShared, message: &'m StreamMessage) -> Option<(RecordId, &'m [u8])> {
    let id = message.headers.as_ref()?.get(header::NATS_MESSAGE_ID)?;
    let id = record_id(id.as_str())?;
    let content = shared.signer.open(SignedSubject::Record(id), &message.payload)?;
    Some((id, content))
}

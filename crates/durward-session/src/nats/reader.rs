//! Reads the stream in order, from where the node says.
//!
//! A consumer is a reader's place at one server, with no state that matters: when the server is gone, or a message was lost on the
//! way, another one is made that begins where this one was.
//!
//! Whoever may publish at the servers and is no node must not slow logins down: what no node has signed costs a look at its length, or
//! one HMAC, and reaches the node at most once in [`HELD_BACK_MAX`] messages.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, push};
use async_nats::jetstream::message::Message as StreamMessage;
use async_nats::{Client, HeaderMap, StatusCode, Subscriber, header};
use bytes::Bytes;
use durward_identity::protocol::{NodeEvent, RecordId};
use durward_identity::session::SessionRecord;
use futures_util::StreamExt;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::sign::{MessageSigner, SIGNED_BYTES_MAX, SignedSubject, UNSIGNED};
use super::subject::record_id;
use super::{NatsShared, fetch};
use crate::store::NodeLink;

/// How many messages that no node has signed are passed over before the node is told how far the stream has been read. A heartbeat of the
/// server, a record and the node's own question tell it before.
const HELD_BACK_MAX: u64 = 256;

/// The server says at least so often that it is there.
const HEARTBEAT: Duration = Duration::from_millis(150);

/// After so long without any word, another consumer is made: when the server that holds it dies, nothing is heard until then, and no login
/// is answered.
pub(super) const SILENCE_MAX: Duration = Duration::from_millis(600);

/// After so long without a reader, the server forgets a consumer.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(10);

/// How long making a consumer may take: where the server that was to hold it has just died, or while there is no leader that could make it, none
/// is made, and the next try asks again.
const MADE_WITHIN: Duration = Duration::from_secs(1);

/// How long to wait before the next try.
pub(super) const TRY_AGAIN_AFTER: Duration = Duration::from_millis(50);

/// From which number on records are wanted; and how often that was said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WantedFrom {
    pub(super) after: u64,
    pub(super) times: u64,
}

/// Where reading is.
#[derive(Default)]
pub(super) struct ReadPosition {
    /// The number of the last message that was told, or from which reading began.
    after: u64,
    /// The number of the last message that came. What lies between is nobody's and was held back.
    seen: u64,
    /// How many messages this consumer has sent.
    count: u64,
    /// How many messages were no node's.
    refused: u64,
    /// How many of them were well formed: records of nodes with another secret, or forged.
    forged: u64,
    /// Whether one was signed under this node's secret.
    is_known: bool,
}

impl ReadPosition {
    fn begin(&mut self, after: u64) {
        (self.after, self.seen) = (after, after);
    }

    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    /// Which message comes next, counted as a consumer counts.
    pub(super) fn next_count(&self) -> u64 {
        self.count + 1
    }

    /// Takes note of a message that is none of this node's.
    pub(super) fn pass(&mut self, message: &StreamedRecord<'_>) {
        self.count += 1;
        self.seen = message.number;
    }

    /// That everything up to the last message has been read, if the node was not told so.
    fn release(&mut self) -> Option<NodeEvent> {
        let (last, after) = (self.seen, self.after);
        self.after = last;
        (last > after).then_some(NodeEvent::Idle { last, after })
    }
}

/// A message of the stream.
pub(super) struct StreamedRecord<'m> {
    pub(super) number: u64,
    /// Which one of this consumer it is, from 1 on.
    pub(super) count: u64,
    pub(super) subject: &'m str,
    /// What names the record.
    pub(super) id: Option<&'m str>,
    pub(super) payload: &'m [u8],
    /// When the stream's leader took it, by its clock, in milliseconds since 1970 began; where a consumer sent it at once.
    pub(super) taken_ms: Option<i64>,
}

/// What a message means.
#[derive(Debug)]
pub(super) enum ReadOutcome {
    Tell(NodeEvent),
    /// Nobody's: the node need not be told at once.
    HoldBack,
    /// One before it is missing.
    Gap,
}

/// How messages are read.
pub(super) struct RecordReading<'s> {
    signer: &'s MessageSigner,
    stream: &'s str,
    /// Where this node asks how fresh it is.
    own_fresh: &'s str,
}

/// Why a consumer was given up.
pub(super) enum ConsumerEnd {
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
    let mut place = ReadPosition::default();
    let mut over = ConsumerEnd::Asked;
    if wanted.changed().await.is_err() {
        return;
    }
    loop {
        match over {
            ConsumerEnd::Asked => place.begin(wanted.borrow_and_update().after),
            ConsumerEnd::Broken => sleep(TRY_AGAIN_AFTER).await,
            ConsumerEnd::Unreadable => {
                if wanted.changed().await.is_err() {
                    return;
                }
                place.begin(wanted.borrow_and_update().after);
            }
            ConsumerEnd::Node => return,
        }
        place.count = 0;
        let consumer = pin!(consume(&shared, place.seen));
        over = match fetch::until_made(&shared, consumer, &mut place, &wanted, &node).await {
            Ok(messages) => {
                place.count = 0;
                follow(&shared, messages, &mut place, &mut wanted, &node).await
            }
            Err(end) => end,
        };
        if wanted.has_changed().is_err() {
            return;
        }
    }
}

async fn consume(shared: &NatsShared, after: u64) -> Result<Subscriber, String> {
    subscribe(&shared.client, &shared.context, &shared.settings.stream, shared.subjects.wanted(), after).await
}

/// The messages of a stream under these subjects, behind a number.
pub(super) async fn subscribe(
    client: &Client,
    context: &Context,
    stream: &str,
    filter_subjects: Vec<String>,
    after: u64,
) -> Result<Subscriber, String> {
    let deliver_subject = client.new_inbox();
    // Whoever is not there yet when the consumer is made hears nothing.
    let messages = client.subscribe(deliver_subject.clone()).await.map_err(|error| error.to_string())?;
    let config = push::Config {
        deliver_subject,
        filter_subjects,
        deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: after + 1 },
        ack_policy: AckPolicy::None,
        flow_control: true,
        idle_heartbeat: HEARTBEAT,
        inactive_threshold: FORGOTTEN_AFTER,
        num_replicas: 1,
        memory_storage: true,
        ..push::Config::default()
    };
    let made = context.create_consumer_on_stream(config, stream);
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
    let reading = RecordReading::of(shared);
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
                status == StatusCode::IDLE_HEARTBEAT && is_complete(message.headers.as_ref(), place.count);
            if !is_alive {
                return ConsumerEnd::Broken;
            }
            if let Some(event) = place.release()
                && !node.happened(event).await
            {
                return ConsumerEnd::Node;
            }
            if let Some(reply) = message.reply {
                // Flow control: the server goes on when all that it sent has come here.
                let _ = shared.client.publish(reply, Bytes::new()).await;
            }
            continue;
        }
        let message = StreamMessage { message, context: shared.context.clone() };
        let Some(record) = streamed(&message) else { return ConsumerEnd::Broken };
        let taken_ms = record.taken_ms.filter(|_| record.subject == reading.own_fresh);
        match reading.read(&record, place) {
            Ok(ReadOutcome::Tell(event)) => {
                if let Some(taken_ms) = taken_ms {
                    shared.store_times.note(taken_ms, (shared.clock)());
                }
                if !node.happened(event).await {
                    return ConsumerEnd::Node;
                }
            }
            Ok(ReadOutcome::HoldBack) => {}
            Ok(ReadOutcome::Gap) => return ConsumerEnd::Broken,
            Err(message) => {
                shared.unreadable.send_replace(Some(message));
                return ConsumerEnd::Unreadable;
            }
        }
    }
}

fn streamed(message: &StreamMessage) -> Option<StreamedRecord<'_>> {
    let info = message.info().ok()?;
    let id = message.headers.as_ref().and_then(|headers| headers.get(header::NATS_MESSAGE_ID));
    Some(StreamedRecord {
        number: info.stream_sequence,
        count: info.consumer_sequence,
        subject: message.subject.as_str(),
        id: id.map(|id| id.as_str()),
        payload: &message.payload,
        taken_ms: i64::try_from(info.published.unix_timestamp_nanos() / 1_000_000).ok(),
    })
}

/// A heartbeat says how many messages went before it.
pub(super) fn is_complete(headers: Option<&HeaderMap>, count: u64) -> bool {
    let last = headers.and_then(|headers| headers.get(header::NATS_LAST_CONSUMER));
    last.is_none_or(|last| last.as_str().parse() == Ok(count))
}

impl<'s> RecordReading<'s> {
    pub(super) fn of(shared: &'s NatsShared) -> RecordReading<'s> {
        RecordReading {
            signer: &shared.signer,
            stream: &shared.settings.stream,
            own_fresh: &shared.subjects.own_fresh,
        }
    }

    /// What a message means. What no node has signed is passed over: it was promised to nobody.
    ///
    /// # Errors
    /// A node wrote it, and none of this version. Whoever went on without it might accept sessions that it ends.
    pub(super) fn read(
        &self,
        message: &StreamedRecord<'_>,
        place: &mut ReadPosition,
    ) -> Result<ReadOutcome, String> {
        if message.count != place.count + 1 {
            return Ok(ReadOutcome::Gap);
        }
        // Fetched while the consumer was being made.
        if message.number <= place.seen {
            place.count += 1;
            return Ok(ReadOutcome::HoldBack);
        }
        let (number, after) = (message.number, place.after);
        let event = match self.signed(message) {
            Some((id, content)) => {
                let stream = self.stream;
                let record = SessionRecord::from_bytes(content).map_err(|error| {
                    format!(
                        "record {number} of stream `{stream}` cannot be read: {error}; if no newer node wrote it, remove it \
                         with `nats stream rmm {stream} {number}`"
                    )
                })?;
                place.is_known = true;
                Some(NodeEvent::Delivered { number, after, id, record })
            }
            None if message.subject == self.own_fresh => {
                self.is_no_stranger(place)?;
                Some(NodeEvent::Idle { last: number, after })
            }
            None => {
                self.pass_over(message, place);
                (number.saturating_sub(after) >= HELD_BACK_MAX)
                    .then_some(NodeEvent::Idle { last: number, after })
            }
        };
        place.count += 1;
        place.seen = number;
        let Some(event) = event else { return Ok(ReadOutcome::HoldBack) };
        place.after = number;
        Ok(ReadOutcome::Tell(event))
    }

    /// The name and the content of a record, if a node of this cluster wrote it.
    fn signed<'m>(&self, message: &StreamedRecord<'m>) -> Option<(RecordId, &'m [u8])> {
        let id = record_id(message.id?)?;
        if message.payload.len() > SIGNED_BYTES_MAX {
            return None;
        }
        let content = self.signer.open(SignedSubject::Record(id), message.payload)?;
        Some((id, content))
    }

    /// That not all there is was written by nodes with another secret: then it is this node that is a stranger. Anything may be published
    /// before the first record; only what looks like records counts.
    fn is_no_stranger(&self, place: &ReadPosition) -> Result<(), String> {
        if place.forged == 0 || place.is_known {
            return Ok(());
        }
        Err(format!(
            "none of the {} records of stream `{}` is signed under this node's secret: it is another one than the other \
             nodes have, see `identity.cluster_key_path`",
            place.forged, self.stream
        ))
    }

    fn pass_over(&self, message: &StreamedRecord<'_>, place: &mut ReadPosition) {
        // Later it makes no difference.
        if !place.is_known && is_well_formed(message) {
            place.forged += 1;
        }
        place.refused += 1;
        // Whoever writes many of them does not fill the log with it.
        if place.refused.is_power_of_two() {
            tracing::error!(number = message.number, count = place.refused, "session store: {UNSIGNED}");
        }
    }
}

/// Whether it is a record, whoever wrote it.
fn is_well_formed(message: &StreamedRecord<'_>) -> bool {
    let is_named = message.id.is_some_and(|id| record_id(id).is_some());
    is_named
        && message.payload.len() <= SIGNED_BYTES_MAX
        && MessageSigner::unopened(message.payload)
            .is_some_and(|content| SessionRecord::from_bytes(content).is_ok())
}

#[cfg(test)]
mod tests {
    use durward_identity::Stamp;
    use durward_identity::session::Revocation;

    use super::*;

    const STREAM: &str = "sessions";
    const RECORDS: &str = "durward.sessions.r.all";
    const FRESH: &str = "durward.sessions.f.a";

    fn record() -> SessionRecord {
        SessionRecord::Revoked(Revocation::All { before: Stamp::from_us(1) })
    }

    /// Reads messages one after the other, as one consumer sends them.
    struct Reader {
        signer: MessageSigner,
        place: ReadPosition,
        number: u64,
    }

    impl Reader {
        fn new() -> Reader {
            let signer = MessageSigner::new(&[1; 32], STREAM);
            Reader { signer, place: ReadPosition::default(), number: 0 }
        }

        fn read(&mut self, subject: &str, id: Option<&str>, payload: &[u8]) -> Result<ReadOutcome, String> {
            self.number += 1;
            let reading = RecordReading { signer: &self.signer, stream: STREAM, own_fresh: FRESH };
            let (number, count) = (self.number, self.place.count + 1);
            let record = StreamedRecord { number, count, subject, id, payload, taken_ms: None };
            reading.read(&record, &mut self.place)
        }

        fn read_signed(&mut self, secret: u8) -> Result<ReadOutcome, String> {
            let id = RecordId { node: 5, count: self.number };
            let signer = MessageSigner::new(&[secret; 32], STREAM);
            let signed = signer.sign(SignedSubject::Record(id), &record().to_bytes());
            self.read(RECORDS, Some(&signer.message_id(id, &signed)), &signed)
        }
    }

    /// Each was an event of the node's, before which logins waited.
    #[test]
    fn a_flood_that_no_node_has_signed_hardly_reaches_the_node() {
        let mut reader = Reader::new();
        let large = vec![0; SIGNED_BYTES_MAX + 1];
        let junk: [(Option<&str>, &[u8]); 4] = [
            (None, b""),
            (Some("no name"), b"junk"),
            (Some("00ff000012345678-1"), &[7; 100]),
            (Some("00ff000012345678-1"), &large),
        ];
        let (mut told, mut applied) = (0, 0);
        for round in 0..25_000_u64 {
            let (id, payload) = junk[usize::try_from(round % 4).unwrap()];
            match reader.read(RECORDS, id, payload).unwrap() {
                ReadOutcome::Tell(NodeEvent::Idle { last, after }) => {
                    assert_eq!(after, applied, "nothing lies between");
                    applied = last;
                    told += 1;
                }
                ReadOutcome::HoldBack => {}
                other @ (ReadOutcome::Tell(_) | ReadOutcome::Gap) => panic!("{other:?}"),
            }
        }
        assert_eq!(told, 25_000 / HELD_BACK_MAX);
        let ReadOutcome::Tell(NodeEvent::Delivered { number, after, .. }) = reader.read_signed(1).unwrap()
        else {
            panic!()
        };
        assert_eq!((number, after), (25_001, applied), "a record follows on what was told");
        assert!(reader.place.release().is_none());
        reader.read(RECORDS, None, b"").unwrap();
        let Some(NodeEvent::Idle { last, after }) = reader.place.release() else { panic!() };
        assert_eq!((last, after), (25_002, 25_001), "a heartbeat tells the rest");
    }

    /// One message in a new stream kept every node from starting.
    #[test]
    fn junk_in_a_new_stream_makes_no_node_a_stranger_and_records_of_others_do() {
        let mut reader = Reader::new();
        for id in [None, Some("junk"), Some("00ff000012345678-1")] {
            reader.read(RECORDS, id, b"junk").unwrap();
        }
        assert!(matches!(reader.read(FRESH, None, b""), Ok(ReadOutcome::Tell(NodeEvent::Idle { .. }))));
        let mut reader = Reader::new();
        reader.read_signed(2).unwrap();
        assert!(reader.read(FRESH, None, b"").unwrap_err().contains("identity.cluster_key_path"));
        let mut reader = Reader::new();
        reader.read_signed(1).unwrap();
        reader.read_signed(2).unwrap();
        assert!(reader.read(FRESH, None, b"").is_ok());
    }

    #[test]
    fn a_message_that_was_lost_is_seen() {
        let mut reader = Reader::new();
        reader.read(RECORDS, None, b"").unwrap();
        reader.place.count -= 1;
        let reading = RecordReading { signer: &reader.signer, stream: STREAM, own_fresh: FRESH };
        let (subject, payload) = (RECORDS, b"".as_slice());
        let message = StreamedRecord { number: 3, count: 3, subject, id: None, payload, taken_ms: None };
        assert!(matches!(reading.read(&message, &mut reader.place), Ok(ReadOutcome::Gap)));
    }
}

//! Gives records to the stream. An acknowledgement comes from the stream's leader, when a majority has the record.

use std::sync::Arc;

use async_nats::header::NATS_MESSAGE_TTL;
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::PublishMessage;
use durward_identity::protocol::{NodeEvent, RecordId};
use durward_identity::session::SessionRecord;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::NatsShared;
use super::sign::SignedSubject;
use super::subject::kept_for;
use crate::store::NodeLink;

/// How many records may be without an answer.
const UNDER_WAY_MAX: usize = 4096;

pub(super) async fn write(
    shared: Arc<NatsShared>,
    mut records: mpsc::Receiver<(RecordId, SessionRecord)>,
    node: NodeLink,
) {
    // Dropped with this task, and with it whoever waits for an answer.
    let mut under_way: JoinSet<()> = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = under_way.join_next() => {}
            next = records.recv(), if under_way.len() < UNDER_WAY_MAX => {
                let Some((id, record)) = next else { break };
                send(&shared, id, &record, &node, &mut under_way).await;
            }
        }
    }
    // The node stops: what was taken is seen to its end, which is not far away.
    while under_way.join_next().await.is_some() {}
}

/// Sends in the order in which records come; the answers may come in any.
async fn send(
    shared: &Arc<NatsShared>,
    id: RecordId,
    record: &SessionRecord,
    node: &NodeLink,
    under_way: &mut JoinSet<()>,
) {
    let signed = shared.signer.sign(SignedSubject::Record(id), &record.to_bytes());
    let mut message = PublishMessage::build()
        .message_id(shared.signer.message_id(id, &signed))
        .expected_stream(&shared.settings.stream);
    if let Some(time) = kept_for(record, (shared.clock)(), &shared.retention).header() {
        message = message.header(NATS_MESSAGE_TTL, time);
    }
    let sent = shared.context.send_publish(shared.subjects.of_record(record), message.payload(signed)).await;
    let node = node.clone();
    match sent {
        Ok(answer) => {
            under_way.spawn(async move {
                let event = match answer.await {
                    Ok(ack) => NodeEvent::Stored { id, number: ack.sequence },
                    Err(error) => not_stored(id, &error.kind()),
                };
                node.happened(event).await;
            });
        }
        Err(error) => {
            node.happened(not_stored(id, &error.kind())).await;
        }
    }
}

/// What is not there or does not answer is told by the link, once. Whatever else is wrong with a record will be wrong again.
fn not_stored(id: RecordId, kind: &PublishErrorKind) -> NodeEvent {
    let is_told = matches!(
        kind,
        PublishErrorKind::StreamNotFound | PublishErrorKind::TimedOut | PublishErrorKind::BrokenPipe
    );
    if !is_told {
        tracing::warn!(record = %id, "the session store did not take a record: {kind}");
    }
    NodeEvent::NotStored { id }
}

//! News between nodes without a store, as well as can be: for the mode `none`.
//!
//! What a node tells, it publishes under `tell`; who was not connected at that moment misses it. A node that starts asks under `ask`, and
//! whoever knows something answers with all of it, in parts; the first answer that is complete is taken.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use async_nats::{HeaderMap, Message, Subscriber};
use bytes::{BufMut, Bytes, BytesMut};
use durward_identity::protocol::NodeEvent;
use durward_identity::session::SessionRecord;
use futures_util::StreamExt;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::NatsShared;
use super::sign::{MessageSigner, SignedSubject, UNSIGNED};
use crate::store::{NodeLink, NodeSnapshot, StoreCommand};

/// Who says it.
pub(super) const FROM: &str = "Durward-Node";
/// Which part of an answer it is, from 0 on.
const PART: &str = "Durward-Part";
/// Stands in the last part.
const LAST: &str = "Durward-Last";

/// Bytes of one part of an answer. By default servers accept messages of 1 MiB.
const PART_BYTES_MAX: usize = 256 * 1024;

/// How many questions of others are remembered that were answered: asked again, they are not. Each is a node that started.
const ANSWERED_MAX: usize = 1024;

/// How many questions are answered at once; an asker who gets no answer here gets one of another node.
const ANSWERING_MAX: usize = 64;

/// How much of answers is kept while they come.
const ANSWERS_BYTES_MAX: usize = 1 << 30;

/// Works until the orders end or the node is gone.
pub(super) async fn talk(
    shared: Arc<NatsShared>,
    name: String,
    mut orders: mpsc::Receiver<StoreCommand>,
    node: NodeLink,
) {
    let subjects = (shared.subjects.tell(), shared.subjects.ask());
    let (told, asked) = (
        shared.client.subscribe(subjects.0.clone()).await,
        shared.client.subscribe(subjects.1.clone()).await,
    );
    let (Ok(mut told), Ok(mut asked)) = (told, asked) else {
        tracing::error!("nodes cannot tell each other: no subscription to `{}`", subjects.0);
        return;
    };
    let mut under_way: JoinSet<()> = JoinSet::new();
    let mut strangers = Strangers::default();
    let mut answered = AnsweredQuestions::default();
    loop {
        tokio::select! {
            order = orders.recv() => match order {
                None => break,
                Some(StoreCommand::Tell { record }) => tell(&shared, &name, &subjects.0, &record).await,
                Some(StoreCommand::AskPeers) => {
                    under_way.spawn(ask(shared.clone(), name.clone(), subjects.1.clone(), node.clone()));
                }
                // The protocol asks for these only where there is a store.
                Some(StoreCommand::Store { .. } | StoreCommand::CatchUp { .. } | StoreCommand::AskLast { .. }) => {}
            },
            Some(message) = told.next() => {
                if let Some(record) = heard(&shared, &name, &message, &mut strangers)
                    && !node.happened(NodeEvent::Told { record }).await
                {
                    break;
                }
            }
            Some(message) = asked.next() => {
                if let Some(reply) = question(&shared.signer, &name, &message, &mut strangers)
                    && under_way.len() < ANSWERING_MAX
                    && answered.is_new(&reply)
                {
                    under_way.spawn(answer(shared.clone(), name.clone(), reply, node.clone()));
                }
            }
            Some(_) = under_way.join_next() => {}
        }
    }
    let _ = timeout(shared.settings.answer_within, shared.client.flush()).await;
}

/// Counts what no node has signed.
#[derive(Default)]
struct Strangers(u64);

impl Strangers {
    /// Whoever says much does not fill the log with it.
    fn note(&mut self) {
        self.0 += 1;
        if self.0.is_power_of_two() {
            tracing::error!(count = self.0, "{UNSIGNED}");
        }
    }
}

/// The questions that were answered last, by where the answer goes: whoever hears one and repeats it costs no second answer.
#[derive(Default)]
struct AnsweredQuestions(VecDeque<String>);

impl AnsweredQuestions {
    fn is_new(&mut self, reply: &str) -> bool {
        if self.0.iter().any(|known| known == reply) {
            return false;
        }
        if self.0.len() >= ANSWERED_MAX {
            self.0.pop_front();
        }
        self.0.push_back(reply.to_owned());
        true
    }
}

/// Where the answer to another node's question goes. An answer is all that this node knows: only a node gets one.
fn question(
    signer: &MessageSigner,
    name: &str,
    message: &Message,
    strangers: &mut Strangers,
) -> Option<String> {
    let node = from(message).filter(|node| *node != name)?;
    let asked = message.reply.as_ref()?.as_str();
    if signer.open(SignedSubject::Question { node, asked }, &message.payload).is_none() {
        strangers.note();
        return None;
    }
    Some(asked.to_owned())
}

fn from(message: &Message) -> Option<&str> {
    message.headers.as_ref()?.get(FROM).map(|name| name.as_str())
}

async fn tell(shared: &NatsShared, name: &str, subject: &str, record: &SessionRecord) {
    let mut headers = HeaderMap::new();
    headers.insert(FROM, name);
    let signed = shared.signer.sign(SignedSubject::News { node: name }, &record.to_bytes());
    let sent = shared.client.publish_with_headers(subject.to_owned(), headers, signed);
    // Without a connection the library keeps some; who hears of it is as good as can be.
    let _ = timeout(shared.settings.answer_within, sent).await;
}

fn heard(
    shared: &NatsShared,
    name: &str,
    message: &Message,
    strangers: &mut Strangers,
) -> Option<SessionRecord> {
    let node = from(message).filter(|node| *node != name)?;
    let Some(content) = shared.signer.open(SignedSubject::News { node }, &message.payload) else {
        strangers.note();
        return None;
    };
    match SessionRecord::from_bytes(content) {
        Ok(record) => Some(record),
        Err(error) => {
            tracing::warn!("another node tells what cannot be read: {error}");
            None
        }
    }
}

/// Answers with all that this node knows. Who has no key has not begun, and knows nothing.
async fn answer(shared: Arc<NatsShared>, name: String, reply: String, node: NodeLink) {
    let Some(NodeSnapshot { records, .. }) = node.knowledge().await else { return };
    if !records.iter().any(|record| matches!(record, SessionRecord::Key(_))) {
        return;
    }
    let parts = pack(&records);
    let count = parts.len();
    for (number, part) in parts.into_iter().enumerate() {
        let is_last = number + 1 == count;
        let mut headers = HeaderMap::new();
        headers.insert(FROM, name.as_str());
        headers.insert(PART, number.to_string().as_str());
        if is_last {
            headers.insert(LAST, "1");
        }
        let part =
            shared.signer.sign(SignedSubject::Part { node: &name, asked: &reply, number, is_last }, &part);
        if shared.client.publish_with_headers(reply.clone(), headers, part).await.is_err() {
            return;
        }
    }
}

/// A reply that arrives in parts.
#[derive(Default)]
struct PeerReply {
    records: Vec<SessionRecord>,
    parts: usize,
}

async fn ask(shared: Arc<NatsShared>, name: String, subject: String, node: NodeLink) {
    let reply = shared.client.new_inbox();
    let Ok(answers) = shared.client.subscribe(reply.clone()).await else { return };
    let question = reply.to_string();
    let mut headers = HeaderMap::new();
    headers.insert(FROM, name.as_str());
    let signed = shared.signer.sign(SignedSubject::Question { node: &name, asked: &question }, b"");
    let asked = shared.client.publish_with_reply_and_headers(subject, reply, headers, signed).await;
    if asked.is_ok()
        && let Some(records) = collect(answers, &question, &shared).await
    {
        node.happened(NodeEvent::Knows { records }).await;
    }
}

/// The first answer that is complete.
async fn collect(mut answers: Subscriber, asked: &str, shared: &NatsShared) -> Option<Vec<SessionRecord>> {
    let mut coming: HashMap<String, PeerReply> = HashMap::new();
    let mut strangers = Strangers::default();
    let mut bytes = 0;
    loop {
        let message = timeout(shared.settings.answer_within, answers.next()).await.ok()??;
        bytes += message.payload.len();
        if bytes > ANSWERS_BYTES_MAX {
            tracing::warn!(
                "other nodes know more than {ANSWERS_BYTES_MAX} bytes: this node starts without it"
            );
            return None;
        }
        // A server that knows of nobody who listens says so with a message that has a status.
        let Some(node) = from(&message) else { continue };
        let header = |name| message.headers.as_ref().and_then(|headers| headers.get(name));
        let Some(number) = header(PART).and_then(|part| part.as_str().parse().ok()) else { continue };
        let is_last = header(LAST).is_some();
        let place = SignedSubject::Part { node, asked, number, is_last };
        let Some(content) = shared.signer.open(place, &message.payload) else {
            strangers.note();
            continue;
        };
        let answer = coming.entry(node.to_owned()).or_default();
        let Some(records) = unpack(content).filter(|_| number == answer.parts) else { continue };
        answer.parts += 1;
        answer.records.extend(records);
        if is_last {
            return Some(std::mem::take(&mut answer.records));
        }
    }
}

/// Records one after the other, each behind its length.
fn pack(records: &[SessionRecord]) -> Vec<Bytes> {
    let mut parts = Vec::new();
    let mut part = BytesMut::new();
    for record in records {
        let bytes = record.to_bytes();
        if !part.is_empty() && part.len() + bytes.len() + 4 > PART_BYTES_MAX {
            parts.push(part.split().freeze());
        }
        part.put_u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        part.put_slice(&bytes);
    }
    parts.push(part.freeze());
    parts
}

fn unpack(mut part: &[u8]) -> Option<Vec<SessionRecord>> {
    let mut records = Vec::new();
    while !part.is_empty() {
        let (length, rest) = part.split_first_chunk::<4>()?;
        let (record, rest) = rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
        records.push(SessionRecord::from_bytes(record).ok()?);
        part = rest;
    }
    Some(records)
}

#[cfg(test)]
mod tests {
    use durward_identity::session::SealedKey;

    use super::*;

    fn asked(signer: &MessageSigner, node: &str, signed_reply: &str, reply: &str) -> Message {
        let mut headers = HeaderMap::new();
        headers.insert(FROM, node);
        let payload = signer.sign(SignedSubject::Question { node, asked: signed_reply }, b"");
        Message {
            subject: "durward.sessions.ask".into(),
            reply: Some(reply.to_owned().into()),
            length: payload.len(),
            payload,
            headers: Some(headers),
            status: None,
            description: None,
        }
    }

    /// Whoever asked got all that a node knew, as often as they asked.
    #[test]
    fn only_nodes_are_answered_and_each_question_once() {
        let (signer, other) =
            (MessageSigner::new(&[1; 32], "sessions"), MessageSigner::new(&[2; 32], "sessions"));
        let mut strangers = Strangers::default();
        let mut of = |message: Message| question(&signer, "own", &message, &mut strangers);
        assert_eq!(of(asked(&signer, "a", "_INBOX.1", "_INBOX.1")).as_deref(), Some("_INBOX.1"));
        assert_eq!(of(asked(&signer, "own", "_INBOX.1", "_INBOX.1")), None, "its own");
        assert_eq!(of(asked(&signer, "a", "_INBOX.1", "_INBOX.2")), None, "to somebody else");
        assert_eq!(of(asked(&other, "a", "_INBOX.1", "_INBOX.1")), None, "of a stranger");
        let unsigned = Message { payload: Bytes::new(), ..asked(&signer, "a", "_INBOX.1", "_INBOX.1") };
        assert_eq!(of(unsigned), None);
        assert_eq!(strangers.0, 3);
        let mut answered = AnsweredQuestions::default();
        assert!(answered.is_new("_INBOX.1") && !answered.is_new("_INBOX.1"));
        for number in 0..2 * ANSWERED_MAX {
            answered.is_new(&number.to_string());
        }
        assert_eq!(answered.0.len(), ANSWERED_MAX);
    }

    #[test]
    fn what_is_packed_is_unpacked_in_order_whatever_the_parts() {
        let records: Vec<SessionRecord> =
            (0..2000).map(|n| SessionRecord::Key(SealedKey(vec![7; n]))).collect();
        let parts = pack(&records);
        assert!(parts.len() > 1 && parts.iter().all(|part| part.len() <= PART_BYTES_MAX));
        let back: Vec<SessionRecord> = parts.iter().filter_map(|part| unpack(part)).flatten().collect();
        assert_eq!(back, records);
    }

    #[test]
    fn parts_that_are_cut_short_are_refused() {
        let part = pack(&[SessionRecord::Key(SealedKey(vec![1; 9]))]).remove(0);
        for length in 1..part.len() {
            assert!(unpack(&part[..length]).is_none());
        }
        assert!(unpack(&[0xff; 8]).is_none());
    }
}

//! What nodes say to each other is signed under the cluster's secret. Whoever may publish at the servers, and is no node, can end no
//! session by that, and raise no level.
//!
//! A signature holds for one place: the name of a record in this stream, or an answer to one question. What was said once is not
//! taken for something else.

use bytes::{BufMut, Bytes, BytesMut};
use durward_identity::hex;
use durward_identity::protocol::RecordId;
use ring::hmac::{HMAC_SHA256, Key, sign, verify};

use crate::challenge::derive;

/// What is said of something that no node has signed.
pub(super) const UNSIGNED: &str = "what is not signed under this cluster's secret is passed over: either the nodes have different \
                                   secrets (`identity.cluster_key_path`), or somebody who is no node may publish here";

/// How long a signature is; it stands behind what it is for.
const TAG: usize = 32;

/// The longest record or part with its signature, in bytes: a record of the most notes of use, under the longest names, has a fifth of it,
/// and a part of an answer as much as one record more than its bound. Whatever is longer is no node's, and is not looked at.
pub(super) const SIGNED_BYTES_MAX: usize = 512 * 1024;

/// Where something is said.
#[derive(Clone, Copy, Debug)]
pub(super) enum SignedSubject<'p> {
    /// A record of the stream.
    Record(RecordId),
    /// News of a node, in the mode `none`.
    News { node: &'p str },
    /// The question of a node, in the mode `none`, for all that others know.
    Question { node: &'p str, asked: &'p str },
    /// What time it is at a node.
    Clock { node: &'p str },
    /// A part of what a node answers who asked for all it knows.
    Part { node: &'p str, asked: &'p str, number: usize, is_last: bool },
}

/// Signs, and looks at signatures.
pub(super) struct MessageSigner {
    key: Key,
    stream: String,
}

impl MessageSigner {
    pub(super) fn new(secret: &[u8; 32], stream: &str) -> MessageSigner {
        MessageSigner { key: Key::new(HMAC_SHA256, &derive(secret, "records")), stream: stream.to_owned() }
    }

    pub(super) fn sign(&self, place: SignedSubject<'_>, content: &[u8]) -> Bytes {
        let tag = sign(&self.key, &self.said(place, content));
        let mut signed = BytesMut::with_capacity(content.len() + TAG);
        signed.put_slice(content);
        signed.put_slice(tag.as_ref());
        signed.freeze()
    }

    /// What names a record of the stream: its name, and a part of its signature. The stream takes each name once, so a name that could be
    /// foreseen could be taken by a stranger, before the record comes.
    pub(super) fn message_id(&self, id: RecordId, signed: &[u8]) -> String {
        let tag = MessageSigner::split(signed).and_then(|(_, tag)| tag.get(..TAG / 2));
        format!("{id}-{}", hex(tag.unwrap_or_default()))
    }

    /// What stands before a signature that nobody has looked at.
    pub(super) fn unopened(signed: &[u8]) -> Option<&[u8]> {
        MessageSigner::split(signed).map(|(content, _)| content)
    }

    fn split(signed: &[u8]) -> Option<(&[u8], &[u8])> {
        signed.split_at_checked(signed.len().checked_sub(TAG)?)
    }

    /// The content, if a node said it in this place.
    pub(super) fn open<'s>(&self, place: SignedSubject<'_>, signed: &'s [u8]) -> Option<&'s [u8]> {
        if signed.len() > SIGNED_BYTES_MAX {
            return None;
        }
        let (content, tag) = MessageSigner::split(signed)?;
        verify(&self.key, &self.said(place, content), tag).ok()?;
        Some(content)
    }

    /// Names have no blanks, so that no two places read alike.
    fn said(&self, place: SignedSubject<'_>, content: &[u8]) -> Vec<u8> {
        let stream = &self.stream;
        let place = match place {
            SignedSubject::Record(id) => format!("record {stream} {id}"),
            SignedSubject::News { node } => format!("news {stream} {node}"),
            SignedSubject::Question { node, asked } => format!("question {stream} {node} {asked}"),
            SignedSubject::Clock { node } => format!("clock {stream} {node}"),
            SignedSubject::Part { node, asked, number, is_last } => {
                format!("part {stream} {node} {asked} {number} {is_last}")
            }
        };
        [place.as_bytes(), b"\0", content].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_in_one_place_is_nothing_in_another() {
        let signer = MessageSigner::new(&[1; 32], "sessions");
        let record = |count| SignedSubject::Record(RecordId { node: 5, count });
        let part = |number, is_last| SignedSubject::Part { node: "a", asked: "_INBOX.x", number, is_last };
        let signed = signer.sign(record(1), b"content");
        assert_eq!(signer.open(record(1), &signed), Some(b"content".as_slice()));
        assert_eq!(signer.open(record(2), &signed), None);
        assert_eq!(signer.open(SignedSubject::News { node: "a" }, &signed), None);
        assert_eq!(MessageSigner::new(&[2; 32], "sessions").open(record(1), &signed), None, "another secret");
        assert_eq!(MessageSigner::new(&[1; 32], "other").open(record(1), &signed), None, "another stream");
        let (name, other) = (RecordId { node: 5, count: 1 }, MessageSigner::new(&[2; 32], "sessions"));
        let named = signer.message_id(name, &signed);
        assert!(named.starts_with("0000000000000005-1-"), "{named}");
        assert_ne!(
            named,
            other.message_id(name, &other.sign(record(1), b"content")),
            "nobody else foresees it"
        );
        let signed = signer.sign(part(0, false), b"");
        assert_eq!(signer.open(part(0, false), &signed), Some(b"".as_slice()));
        assert_eq!(signer.open(part(1, false), &signed), None);
        assert_eq!(signer.open(part(0, true), &signed), None);
    }

    #[test]
    fn what_was_changed_or_cut_is_nothing() {
        let signer = MessageSigner::new(&[1; 32], "sessions");
        let place = SignedSubject::News { node: "a" };
        let signed = signer.sign(place, b"content").to_vec();
        for at in 0..signed.len() {
            let mut changed = signed.clone();
            changed[at] ^= 1;
            assert_eq!(signer.open(place, &changed), None, "{at}");
            assert_eq!(signer.open(place, &signed[..at]), None, "{at}");
        }
    }
}

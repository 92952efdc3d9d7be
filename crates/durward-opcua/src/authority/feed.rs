//! What gates hear of recalled tokens, as bytes: cutoffs, heartbeats, snapshots.
//!
//! ```text
//!  message  = 1 (format), kind, epoch u64, sequence u64, then by kind:
//!    1 cutoff     target, before u64
//!    2 heartbeat  time u64
//!    3 snapshot   time u64, question u64, count u32, (target, before u64) * count
//!  target   = 0 all | 1 subject | 2 session | 3 client | 4 policy; for 1 to 4: length u16, UTF-8
//! ```
//!
//! Numbers are little-endian, moments milliseconds since 1970. Whatever stands behind a message makes it unreadable.
//!
//! # How a gate gets them
//!
//! A gate has a session with the authorization service over an encrypted channel, with the certificate that the service has registered for a
//! resource (others get `BadUserAccessDenied`). There, in the namespace [`AUTHORITY_NAMESPACE`](super::AUTHORITY_NAMESPACE):
//!
//! 1. It subscribes to the values of two variables, each with a queue of one:
//!    `s=Gates.Revocations`, a `ByteString[]` with the last [`RECENT_MAX`](super::RECENT_MAX) cutoffs, the newest last, and
//!    `s=Gates.Heartbeat`, a `ByteString` with the last heartbeat. Each byte string is a message for [`decode`]; what comes twice does
//!    no harm ([`Feed::hear`](crate::token::Feed::hear)). The values that are there at the beginning come with the first notification.
//! 2. Then, and whenever the state machine says so ([`GateAction`](crate::protocol::GateAction)), it calls the method `s=Gates.AskCutoffs`
//!    of the object `s=Gates` with the number of its question (`UInt64`). The one output is a `ByteString`: the snapshot that answers
//!    that question, for [`decode`].
//!
//! The event type `RevocationEventType` at the same object tells the same cutoffs, for consoles.

use std::fmt;
use std::sync::Arc;

use durward_identity::Moment;

use crate::token::{CUTOFFS_MAX, CutoffTarget, Cutoffs, FeedMessage};

/// Bytes of the name of a subject, session, client or policy.
pub const NAME_BYTES_MAX: usize = 1_024;
/// Bytes of a message. A snapshot that would be longer is sent as one cutoff for everybody.
pub const MESSAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

const FORMAT: u8 = 1;
const CUTOFF: u8 = 1;
const HEARTBEAT: u8 = 2;
const SNAPSHOT: u8 = 3;
/// Format, kind, epoch, sequence, time, question, count.
const SNAPSHOT_HEAD_BYTES: usize = 2 + 4 * 8 + 4;

/// Why bytes are no message. Who sent them is not the authorization service, or one of another version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedError(&'static str);

impl fmt::Display for FeedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a message of the authorization service cannot be read: {}", self.0)
    }
}

impl std::error::Error for FeedError {}

/// A message as it travels, at most [`MESSAGE_BYTES_MAX`] long. What does not fit (a name longer than [`NAME_BYTES_MAX`], a snapshot that is
/// too long) becomes a cutoff for everybody: stricter, and never less than was recalled.
pub fn encode(message: &FeedMessage<Arc<str>>) -> Vec<u8> {
    let mut bytes = vec![FORMAT];
    let mut head = |kind: u8, epoch: u64, sequence: u64| {
        bytes.push(kind);
        put(&mut bytes, epoch);
        put(&mut bytes, sequence);
    };
    match message {
        FeedMessage::Cutoff { epoch, sequence, target, before } => {
            head(CUTOFF, *epoch, *sequence);
            put_target(&mut bytes, target);
            put(&mut bytes, before.ms());
        }
        FeedMessage::Heartbeat { epoch, sequence, time } => {
            head(HEARTBEAT, *epoch, *sequence);
            put(&mut bytes, time.ms());
        }
        FeedMessage::Snapshot { epoch, sequence, time, question, cutoffs } => {
            head(SNAPSHOT, *epoch, *sequence);
            put(&mut bytes, time.ms());
            put(&mut bytes, *question);
            put_cutoffs(&mut bytes, cutoffs);
        }
    }
    bytes
}

fn put(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend_from_slice(&number.to_le_bytes());
}

fn put_target(bytes: &mut Vec<u8>, target: &CutoffTarget<Arc<str>>) {
    let (kind, name) = match target {
        CutoffTarget::All => (0, None),
        CutoffTarget::Subject(name) => (1, Some(name)),
        CutoffTarget::Session(name) => (2, Some(name)),
        CutoffTarget::Client(name) => (3, Some(name)),
        CutoffTarget::Policy(name) => (4, Some(name)),
    };
    match name.map(|name| (name, u16::try_from(name.len()))) {
        Some((name, Ok(length))) if name.len() <= NAME_BYTES_MAX => {
            bytes.push(kind);
            bytes.extend_from_slice(&length.to_le_bytes());
            bytes.extend_from_slice(name.as_bytes());
        }
        Some(_) | None => bytes.push(0),
    }
}

fn put_cutoffs(bytes: &mut Vec<u8>, cutoffs: &Cutoffs<Arc<str>>) {
    let mut list = Vec::new();
    for (target, before) in cutoffs.iter() {
        put_target(&mut list, target);
        put(&mut list, before.ms());
    }
    match u32::try_from(cutoffs.len()) {
        Ok(count) if list.len() <= MESSAGE_BYTES_MAX - SNAPSHOT_HEAD_BYTES => {
            bytes.extend_from_slice(&count.to_le_bytes());
            bytes.append(&mut list);
        }
        Ok(_) | Err(_) => {
            bytes.extend_from_slice(&1_u32.to_le_bytes());
            put_target(bytes, &CutoffTarget::All);
            put(bytes, cutoffs.latest().ms());
        }
    }
}

/// Reads a message.
///
/// # Errors
/// It is longer than [`MESSAGE_BYTES_MAX`], of another format, cut short, or has more cutoffs or longer names than there may be.
pub fn decode(bytes: &[u8]) -> Result<FeedMessage<Arc<str>>, FeedError> {
    if bytes.len() > MESSAGE_BYTES_MAX {
        return Err(FeedError("it is too long"));
    }
    let mut rest = FeedBytes(bytes);
    if rest.byte()? != FORMAT {
        return Err(FeedError("it has another format"));
    }
    let kind = rest.byte()?;
    let (epoch, sequence) = (rest.number()?, rest.number()?);
    let message = match kind {
        CUTOFF => FeedMessage::Cutoff { epoch, sequence, target: rest.target()?, before: rest.moment()? },
        HEARTBEAT => FeedMessage::Heartbeat { epoch, sequence, time: rest.moment()? },
        SNAPSHOT => {
            let (time, question) = (rest.moment()?, rest.number()?);
            FeedMessage::Snapshot { epoch, sequence, time, question, cutoffs: Arc::new(rest.cutoffs()?) }
        }
        _ => return Err(FeedError("its kind is unknown")),
    };
    if rest.0.is_empty() { Ok(message) } else { Err(FeedError("bytes stand behind its end")) }
}

/// What is not read yet.
struct FeedBytes<'b>(&'b [u8]);

impl<'b> FeedBytes<'b> {
    fn take(&mut self, count: usize) -> Result<&'b [u8], FeedError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(FeedError("it is cut short"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FeedError> {
        self.take(N)?.try_into().map_err(|_| FeedError("it is cut short"))
    }

    fn byte(&mut self) -> Result<u8, FeedError> {
        self.array().map(u8::from_le_bytes)
    }

    fn number(&mut self) -> Result<u64, FeedError> {
        self.array().map(u64::from_le_bytes)
    }

    fn moment(&mut self) -> Result<Moment, FeedError> {
        self.number().map(Moment::from_ms)
    }

    fn target(&mut self) -> Result<CutoffTarget<Arc<str>>, FeedError> {
        let kind = self.byte()?;
        if kind == 0 {
            return Ok(CutoffTarget::All);
        }
        let length = usize::from(u16::from_le_bytes(self.array()?));
        if length > NAME_BYTES_MAX {
            return Err(FeedError("a name is too long"));
        }
        let name = std::str::from_utf8(self.take(length)?).map_err(|_| FeedError("a name is no UTF-8"))?;
        let name = Arc::from(name);
        match kind {
            1 => Ok(CutoffTarget::Subject(name)),
            2 => Ok(CutoffTarget::Session(name)),
            3 => Ok(CutoffTarget::Client(name)),
            4 => Ok(CutoffTarget::Policy(name)),
            _ => Err(FeedError("the kind of a target is unknown")),
        }
    }

    fn cutoffs(&mut self) -> Result<Cutoffs<Arc<str>>, FeedError> {
        let count = u32::from_le_bytes(self.array()?) as usize;
        if count > CUTOFFS_MAX {
            return Err(FeedError("it has too many cutoffs"));
        }
        let mut cutoffs = Cutoffs::default();
        for _ in 0..count {
            let target = self.target()?;
            cutoffs.add(target, self.moment()?);
        }
        Ok(cutoffs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Moment {
        Moment::from_ms(ms)
    }

    fn targets() -> Vec<CutoffTarget<Arc<str>>> {
        let name = |text: &str| Arc::from(text);
        vec![
            CutoffTarget::All,
            CutoffTarget::Subject(name("anna")),
            CutoffTarget::Session(name("Sitzung ä")),
            CutoffTarget::Client(name("x5t")),
            CutoffTarget::Policy(name("")),
        ]
    }

    fn snapshot(cutoffs: Cutoffs<Arc<str>>) -> FeedMessage<Arc<str>> {
        FeedMessage::Snapshot { epoch: 1, sequence: 9, time: at(5), question: 3, cutoffs: Arc::new(cutoffs) }
    }

    fn messages() -> Vec<FeedMessage<Arc<str>>> {
        let mut cutoffs = Cutoffs::default();
        targets().into_iter().zip(1..).for_each(|(target, ms)| cutoffs.add(target, at(ms)));
        let mut messages = vec![
            FeedMessage::Heartbeat { epoch: u64::MAX, sequence: 2, time: at(u64::MAX) },
            snapshot(Cutoffs::default()),
            snapshot(cutoffs),
        ];
        let cutoff = |target| FeedMessage::Cutoff { epoch: 7, sequence: 8, target, before: at(1_000) };
        messages.extend(targets().into_iter().map(cutoff));
        messages
    }

    #[test]
    fn messages_come_back() {
        for message in messages() {
            assert_eq!(decode(&encode(&message)), Ok(message));
        }
    }

    #[test]
    fn what_is_cut_short_or_goes_on_is_refused() {
        for message in messages() {
            let bytes = encode(&message);
            for length in 0..bytes.len() {
                assert!(decode(&bytes[..length]).is_err(), "{message:?} cut to {length} bytes");
            }
            assert!(decode(&[bytes, vec![0]].concat()).is_err());
        }
    }

    #[test]
    fn damaged_bytes_do_no_harm() {
        for message in messages() {
            let bytes = encode(&message);
            for place in 0..bytes.len() {
                for value in [0, 1, 5, 0x7f, 0xff] {
                    let mut damaged = bytes.clone();
                    damaged[place] = value;
                    // Reads or does not; what it reads can be written again.
                    if let Ok(read) = decode(&damaged) {
                        assert_eq!(decode(&encode(&read)), Ok(read));
                    }
                }
            }
        }
        let mut many = encode(&snapshot(Cutoffs::default()));
        let at = many.len() - 4;
        many[at..].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(decode(&many), Err(FeedError("it has too many cutoffs")));
    }

    #[test]
    fn what_does_not_fit_ends_everybodys_tokens() {
        let long: Arc<str> = "n".repeat(NAME_BYTES_MAX + 1).into();
        let message =
            FeedMessage::Cutoff { epoch: 1, sequence: 1, target: CutoffTarget::Subject(long), before: at(4) };
        let Ok(FeedMessage::Cutoff { target, .. }) = decode(&encode(&message)) else { panic!("a cutoff") };
        assert_eq!(target, CutoffTarget::All);
        let mut cutoffs = Cutoffs::default();
        for number in 0..MESSAGE_BYTES_MAX / NAME_BYTES_MAX + 1 {
            cutoffs.add(
                CutoffTarget::Subject(format!("{number:0>width$}", width = NAME_BYTES_MAX).into()),
                at(number as u64),
            );
        }
        let (latest, bytes) = (cutoffs.latest(), encode(&snapshot(cutoffs)));
        let Ok(FeedMessage::Snapshot { cutoffs, .. }) = decode(&bytes) else { panic!("a snapshot") };
        assert_eq!(cutoffs.iter().collect::<Vec<_>>(), [(&CutoffTarget::All, latest)]);
    }
}

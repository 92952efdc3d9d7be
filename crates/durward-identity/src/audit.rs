//! What happened, as lines of JSON, each of which holds the hash of the one before.
//!
//! ```text
//! {"number":1,"at":1769860800000,"before":"00..00","event":{"kind":"login","user":"anna","realm":"/",...}}
//! {"number":2,"at":...,"before":"<SHA-256 of line 1, without its end>","event":...}
//! ```
//!
//! A line that was changed, removed, put in or moved breaks the chain at the line after it. What the chain alone cannot show is that its
//! end is missing, or that all of it was written anew: for that, a [`Checkpoint`] is kept where whoever writes the file cannot
//! write. That its beginning is missing shows by the number of its first line. The chain goes on through files that are rotated: a file begins with the hash of the last line of the one before.

use std::fmt;
use std::io::BufRead;

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use crate::hex::hex;
use crate::session::{SessionId, User};
use crate::{IdentityError, Moment};

/// The longest line, in bytes. What is longer was not written here.
pub const LINE_BYTES_MAX: usize = 16 * 1024;

/// The longest name or address in an event, in bytes; what is longer is cut.
const NAME_BYTES_MAX: usize = 256;
/// The longest free text in an event, in bytes; what is longer is cut. Escaped, all of them stay below a line's length.
const TEXT_BYTES_MAX: usize = 1024;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Somebody logged in.
    Login,
    /// Somebody failed to log in.
    LoginFailed,
    /// A login was told to wait before the next attempt.
    LoginDelayed,
    /// Somebody was turned away because too many logged in.
    LoginTurnedAway,
    /// A session was ended by whose it was.
    Logout,
    /// Sessions were ended by somebody else.
    Revoked,
    /// A session's level rose.
    SteppedUp,
    /// Somebody else changed a user's account or session.
    UserChanged,
    /// A key was taken into use.
    KeyRotated,
    /// A token was given to a client, for itself or for a session's user.
    TokenIssued,
    /// A client was given no token.
    TokenRefused,
    /// A request of somebody who is known was refused.
    RequestRefused,
    /// Something else that an operator should know.
    Noted,
    /// The record begins, or goes on after a restart.
    Started,
}

impl Kind {
    /// All there are.
    pub const ALL: [Kind; 14] = [
        Kind::Login,
        Kind::LoginFailed,
        Kind::LoginDelayed,
        Kind::LoginTurnedAway,
        Kind::Logout,
        Kind::Revoked,
        Kind::SteppedUp,
        Kind::UserChanged,
        Kind::KeyRotated,
        Kind::TokenIssued,
        Kind::TokenRefused,
        Kind::RequestRefused,
        Kind::Noted,
        Kind::Started,
    ];
}

/// One event. What does not apply is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditEvent {
    /// What happened.
    pub kind: Kind,
    /// The realm of whom it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub realm: Option<String>,
    /// Whom it is about. Of a failed login, this is what somebody typed: it may be anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The session, by its handle and not by its token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// From where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Who did it, where that is somebody else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What else there is to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// That this happened so often, beside what has lines of its own. Without it, the line is about one time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<u64>,
}

impl AuditEvent {
    /// An event about nobody in particular.
    pub const fn new(kind: Kind) -> AuditEvent {
        AuditEvent {
            kind,
            realm: None,
            user: None,
            session: None,
            address: None,
            by: None,
            detail: None,
            more: None,
        }
    }

    /// This and one more of its kind, from the same place: what they have in common, and how many they are.
    #[must_use]
    pub fn and(self, other: &AuditEvent) -> AuditEvent {
        let common =
            |own: Option<String>, other: &Option<String>| own.filter(|own| Some(own) == other.as_ref());
        AuditEvent {
            kind: self.kind,
            realm: common(self.realm, &other.realm),
            user: common(self.user, &other.user),
            session: common(self.session, &other.session),
            address: self.address,
            by: common(self.by, &other.by),
            detail: common(self.detail, &other.detail),
            more: Some(self.more.unwrap_or(1).saturating_add(other.more.unwrap_or(1))),
        }
    }

    /// Says whom it is about.
    #[must_use]
    pub fn of(self, user: &User) -> AuditEvent {
        AuditEvent {
            realm: Some(cut(user.realm(), NAME_BYTES_MAX)),
            user: Some(cut(user.subject(), NAME_BYTES_MAX)),
            ..self
        }
    }

    /// Says which session.
    #[must_use]
    pub fn session(self, id: SessionId) -> AuditEvent {
        AuditEvent { session: Some(id.to_string()), ..self }
    }

    /// Says from where.
    #[must_use]
    pub fn address(self, address: &str) -> AuditEvent {
        AuditEvent { address: Some(cut(address, NAME_BYTES_MAX)), ..self }
    }

    /// Says who did it.
    #[must_use]
    pub fn by(self, who: &str) -> AuditEvent {
        AuditEvent { by: Some(cut(who, NAME_BYTES_MAX)), ..self }
    }

    /// Says more.
    #[must_use]
    pub fn detail(self, text: &str) -> AuditEvent {
        AuditEvent { detail: Some(cut(text, TEXT_BYTES_MAX)), ..self }
    }
}

fn cut(text: &str, bytes_max: usize) -> String {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or_default().to_owned()
}

/// A line, as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AuditLine {
    number: u64,
    /// Milliseconds since 1970 began.
    at: u64,
    before: String,
    event: AuditEvent,
}

/// Where a chain stands: the number and the hash of its last line. Text: the number, a colon, the hash in hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Checkpoint {
    number: u64,
    hash: [u8; 32],
}

impl Checkpoint {
    /// The number of the last line.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Reads what [`fmt::Display`] wrote.
    ///
    /// # Errors
    /// It is no checkpoint.
    pub fn read(text: &str) -> Result<Checkpoint, IdentityError> {
        let read = || {
            let (number, hash) = text.trim().split_once(':')?;
            Some(Checkpoint { number: number.parse().ok()?, hash: from_hex(hash)? })
        };
        read()
            .ok_or_else(|| IdentityError::new("a checkpoint is a number, a colon, and 64 hexadecimal digits"))
    }
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.number, hex(&self.hash))
    }
}

/// Writes the lines of a chain.
#[derive(Clone, Debug, Default)]
pub struct AuditChain(Checkpoint);

impl AuditChain {
    /// A chain that goes on after a line: the last one of the file, without its end. With no file, `AuditChain::default()` begins one.
    ///
    /// # Errors
    /// The text is no line: a crash may have torn it. See [`ChainVerifier`] for what is whole.
    pub fn after(line: &str) -> Result<AuditChain, IdentityError> {
        let read: AuditLine = serde_json::from_str(line).map_err(|error| {
            IdentityError::new(format!("the last line of the audit record is none: {error}"))
        })?;
        Ok(AuditChain(Checkpoint { number: read.number, hash: hash(line.as_bytes()) }))
    }

    /// A chain that goes on where another ended.
    pub fn from(checkpoint: Checkpoint) -> AuditChain {
        AuditChain(checkpoint)
    }

    /// The next line, without its end. When it cannot be written, drop the chain and go on from what was.
    ///
    /// # Errors
    /// None that can be provoked: events are always JSON.
    pub fn line(&mut self, at: Moment, event: AuditEvent) -> Result<String, IdentityError> {
        let number = self.0.number + 1;
        let line = AuditLine { number, at: at.ms(), before: hex(&self.0.hash), event };
        let text = serde_json::to_string(&line).map_err(|error| IdentityError::new(error.to_string()))?;
        self.0 = Checkpoint { number, hash: hash(text.as_bytes()) };
        Ok(text)
    }

    /// Where the chain stands, to be kept elsewhere.
    pub fn checkpoint(&self) -> Checkpoint {
        self.0
    }
}

/// A chain that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenChain {
    /// The line, counted in what was read, from 1 on.
    pub line: u64,
    /// What is wrong with it.
    pub fault: ChainFault,
}

/// What is wrong with a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainFault {
    /// It is no line of a record, and not the last one.
    NoLine,
    /// The last line is not whole: a crash while writing, or somebody cut it. What is before it holds.
    Torn,
    /// The line before it was changed, or lines between them are missing.
    Changed,
    /// It has another number than it should: lines are missing, were put in, or moved.
    Number {
        /// What it should be.
        expected: u64,
        /// What it is.
        found: u64,
    },
    /// The record ends before the checkpoint: its end is missing.
    Truncated {
        /// The number at the checkpoint.
        expected: u64,
    },
    /// The line at the checkpoint is another one: the record was written anew.
    Rewritten,
    /// It could not be read.
    Unreadable(String),
}

impl fmt::Display for BrokenChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        match &self.fault {
            ChainFault::NoLine => f.write_str("this is no line of an audit record"),
            ChainFault::Torn => {
                f.write_str("the last line is not whole: a crash while writing, or somebody cut it")
            }
            ChainFault::Changed => {
                f.write_str("the line before this one was changed, or lines between them are missing")
            }
            ChainFault::Number { expected, found } => {
                write!(
                    f,
                    "this should be number {expected} and is {found}: lines are missing, were put in, or moved"
                )
            }
            ChainFault::Truncated { expected } => {
                write!(
                    f,
                    "the record ends here, and the checkpoint is at number {expected}: its end is missing"
                )
            }
            ChainFault::Rewritten => {
                f.write_str("the checkpoint knows another line with this number: the record was written anew")
            }
            ChainFault::Unreadable(error) => write!(f, "cannot be read: {error}"),
        }
    }
}

impl std::error::Error for BrokenChain {}

/// Checks the lines of a chain, file after file.
#[derive(Debug, Default)]
pub struct ChainVerifier {
    /// The number of the first line that was read.
    first: Option<u64>,
    last: Option<Checkpoint>,
    lines: u64,
    checkpoint: Option<Checkpoint>,
}

impl ChainVerifier {
    /// Checks from the first line there is: what was before it, rotated away, is believed. With a checkpoint, also that the record has
    /// the line that it knows.
    pub fn new(checkpoint: Option<Checkpoint>) -> ChainVerifier {
        ChainVerifier { checkpoint, ..ChainVerifier::default() }
    }

    /// Checks also that the first line there is has the number 1: that nothing is missing before it.
    #[must_use]
    pub fn from_first(self) -> ChainVerifier {
        self.after(Checkpoint::default())
    }

    /// The number of the first line that was read.
    pub fn first(&self) -> Option<u64> {
        self.first
    }

    /// Checks that the record goes on right after a checkpoint: the end of an earlier check.
    #[must_use]
    pub fn after(self, start: Checkpoint) -> ChainVerifier {
        ChainVerifier { last: Some(start), ..self }
    }

    /// Checks the next line, without its end.
    ///
    /// # Errors
    /// The chain breaks here.
    pub fn line(&mut self, line: &[u8]) -> Result<(), BrokenChain> {
        self.lines += 1;
        let broken = |fault| BrokenChain { line: self.lines, fault };
        let read: AuditLine = Some(line)
            .filter(|line| line.len() <= LINE_BYTES_MAX)
            .and_then(|line| serde_json::from_slice(line).ok())
            .ok_or_else(|| broken(ChainFault::NoLine))?;
        let before = from_hex(&read.before).ok_or_else(|| broken(ChainFault::NoLine))?;
        let last = self.last.unwrap_or(Checkpoint { number: read.number.saturating_sub(1), hash: before });
        let expected = last.number.saturating_add(1);
        if read.number != expected {
            return Err(broken(ChainFault::Number { expected, found: read.number }));
        }
        if before != last.hash || (read.number == 1 && before != [0; 32]) {
            return Err(broken(ChainFault::Changed));
        }
        let here = Checkpoint { number: read.number, hash: hash(line) };
        if self.checkpoint.is_some_and(|known| known.number == here.number && known.hash != here.hash) {
            return Err(broken(ChainFault::Rewritten));
        }
        self.first.get_or_insert(here.number);
        self.last = Some(here);
        Ok(())
    }

    /// Checks the lines of a file.
    ///
    /// # Errors
    /// The chain breaks in it.
    pub fn file(&mut self, mut file: impl BufRead) -> Result<(), BrokenChain> {
        let mut line = Vec::new();
        loop {
            line.clear();
            // One byte more than a line may have, and its end.
            let read = std::io::Read::take(&mut file, LINE_BYTES_MAX as u64 + 2).read_until(b'\n', &mut line);
            let unreadable = |error: std::io::Error| ChainFault::Unreadable(error.to_string());
            match read.map_err(|error| BrokenChain { line: self.lines + 1, fault: unreadable(error) })? {
                0 => return Ok(()),
                _ if line.last() == Some(&b'\n') => {
                    self.line(line.get(..line.len() - 1).unwrap_or_default())?
                }
                _ if line.len() > LINE_BYTES_MAX => {
                    return Err(BrokenChain { line: self.lines + 1, fault: ChainFault::NoLine });
                }
                _ => return Err(BrokenChain { line: self.lines + 1, fault: ChainFault::Torn }),
            }
        }
    }

    /// That was all. Where the chain stands; nothing when there was no line.
    ///
    /// # Errors
    /// The checkpoint lies beyond the end.
    pub fn end(self) -> Result<Option<Checkpoint>, BrokenChain> {
        let ends_at = self.last.map_or(0, |last| last.number);
        match self.checkpoint {
            Some(known) if known.number > ends_at => {
                Err(BrokenChain { line: self.lines, fault: ChainFault::Truncated { expected: known.number } })
            }
            Some(_) | None => Ok(self.last),
        }
    }
}

fn hash(bytes: &[u8]) -> [u8; 32] {
    digest(&SHA256, bytes).as_ref().first_chunk().copied().unwrap_or_default()
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(count: u64) -> (Vec<String>, Checkpoint) {
        let mut chain = AuditChain::default();
        let anna = User::new("/", "anna").unwrap();
        let line = |number| {
            let event = AuditEvent::new(Kind::Login)
                .of(&anna)
                .address("192.0.2.7")
                .detail(&format!("number {number}"));
            chain.line(Moment::from_ms(1_700_000_000_000 + number), event).unwrap()
        };
        let lines = (0..count).map(line).collect();
        (lines, chain.checkpoint())
    }

    fn verify(lines: &[String], checkpoint: Option<Checkpoint>) -> Result<Option<Checkpoint>, BrokenChain> {
        let mut verifier = ChainVerifier::new(checkpoint);
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        verifier.file(text.as_bytes())?;
        verifier.end()
    }

    #[test]
    fn every_kind_and_every_member_is_in_the_manual() {
        let manual = durward_testdata::workspace().join("docs/identity.md");
        let manual = std::fs::read_to_string(manual).unwrap();
        assert_eq!(Kind::ALL.len(), Kind::Started as usize + 1, "the last one");
        for kind in Kind::ALL {
            let name = serde_json::to_value(kind).unwrap();
            assert!(manual.contains(&format!("\n| `{}` |", name.as_str().unwrap())), "{name}");
        }
        let anna = User::new("/", "anna").unwrap();
        let id = SessionId::read(&"0".repeat(32)).unwrap();
        let event = AuditEvent::new(Kind::Login).of(&anna).session(id).address("a").by("b").detail("c");
        for name in serde_json::to_value(event).unwrap().as_object().unwrap().keys() {
            assert!(manual.contains(&format!("`{name}`")), "{name}");
        }
    }

    #[test]
    fn a_whole_record_holds_and_ends_where_it_was_left() {
        let (lines, checkpoint) = lines(20);
        assert_eq!(verify(&lines, Some(checkpoint)), Ok(Some(checkpoint)));
        assert_eq!(verify(&lines[5..], Some(checkpoint)), Ok(Some(checkpoint)), "rotated away");
        assert_eq!(verify(&[], None), Ok(None));
        let mut verifier = ChainVerifier::new(None);
        verifier.line(lines[5].as_bytes()).unwrap();
        assert_eq!(verifier.first(), Some(6));
        let fault = ChainFault::Number { expected: 1, found: 6 };
        let from_first = ChainVerifier::new(None).from_first().line(lines[5].as_bytes());
        assert_eq!(from_first, Err(BrokenChain { line: 1, fault }));
        ChainVerifier::new(None).from_first().line(lines[0].as_bytes()).unwrap();
        assert_eq!(Checkpoint::read(&checkpoint.to_string()), Ok(checkpoint));
    }

    #[test]
    fn removing_changing_moving_and_cutting_are_found() {
        let (whole, checkpoint) = lines(20);
        for at in 0..whole.len() {
            let mut lines = whole.clone();
            lines.remove(at);
            // The first may have been rotated away; the last is what the checkpoint is for.
            assert_eq!(verify(&lines, Some(checkpoint)).is_err(), at != 0, "removed {at}");
            let mut lines = whole.clone();
            lines[at] = lines[at].replace("anna", "otto");
            assert!(verify(&lines, Some(checkpoint)).is_err(), "changed {at}");
            if at > 0 {
                let mut lines = whole.clone();
                lines.swap(at - 1, at);
                assert!(verify(&lines, Some(checkpoint)).is_err(), "moved {at}");
                assert!(verify(&whole[..at], Some(checkpoint)).is_err(), "cut at {at}");
                assert!(
                    verify(&whole[..at], None).is_ok(),
                    "without a checkpoint, a missing end cannot be seen"
                );
            }
            let mut lines = whole.clone();
            lines.insert(at, whole[at].clone());
            assert!(verify(&lines, Some(checkpoint)).is_err(), "repeated {at}");
        }
    }

    #[test]
    fn a_record_written_anew_is_told_by_the_checkpoint() {
        let (_, checkpoint) = lines(20);
        let mut chain = AuditChain::default();
        let other: Vec<String> = (0..25)
            .map(|number| chain.line(Moment::from_ms(number), AuditEvent::new(Kind::Started)).unwrap())
            .collect();
        assert!(verify(&other, None).is_ok());
        assert_eq!(verify(&other, Some(checkpoint)).unwrap_err().fault, ChainFault::Rewritten);
    }

    #[test]
    fn a_chain_goes_on_after_a_restart_and_through_files() {
        let (first, _) = lines(3);
        let mut chain = AuditChain::after(first.last().unwrap()).unwrap();
        let second = chain.line(Moment::from_ms(9), AuditEvent::new(Kind::Started)).unwrap();
        let mut verifier = ChainVerifier::new(None);
        verifier.file(format!("{}\n", first.join("\n")).as_bytes()).unwrap();
        verifier.file(format!("{second}\n").as_bytes()).unwrap();
        assert_eq!(verifier.end().unwrap(), Some(chain.checkpoint()));
        assert!(AuditChain::after(&second[..40]).is_err());
    }

    #[test]
    fn a_torn_line_and_one_without_end_are_told_apart() {
        let (whole, _) = lines(2);
        let torn = format!("{}\n{}", whole[0], &whole[1][..30]);
        assert_eq!(
            ChainVerifier::new(None).file(torn.as_bytes()),
            Err(BrokenChain { line: 2, fault: ChainFault::Torn })
        );
        let endless = vec![b'x'; 4 << 20];
        assert_eq!(
            ChainVerifier::new(None).file(&endless[..]),
            Err(BrokenChain { line: 1, fault: ChainFault::NoLine })
        );
    }

    #[test]
    fn what_somebody_typed_cannot_make_lines_of_its_own() {
        let mut chain = AuditChain::default();
        let event = AuditEvent::new(Kind::LoginFailed)
            .detail(&format!("x\n{{\"number\":2}}\u{2028}{}", "y".repeat(1 << 20)));
        let line = chain.line(Moment::from_ms(1), event).unwrap();
        assert!(!line.contains('\n') && line.len() < 8 * 1024);
    }
}

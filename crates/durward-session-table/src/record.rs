//! What happened to sessions, as it travels between nodes and lies in stores.
//!
//! A record in bytes is a version byte, a kind, and its parts. Reading takes no more memory than the bytes; what cannot be
//! read is an error, never a guess.

use std::time::Duration;

use super::codec::{RecordReader, RecordWriter};
use super::guesses::{COUNT_CHANGES_MAX, CountChange, GuessNews};
use super::name::{Level, Properties, SessionId, User};
use crate::{IdentityError, Moment, Stamp};

/// The form that is written and read.
const VERSION: u8 = 1;

/// How many uses of sessions one record holds.
pub const TOUCHES_MAX: usize = 256;

/// How many properties one change sets or removes.
pub const CHANGES_MAX: usize = 256;

/// How many ended sessions one record holds.
pub const ENDED_MAX: usize = 1024;

/// A session as its login made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveSession {
    /// Whose it is.
    pub user: User,
    /// What names it.
    pub id: SessionId,
    /// When the login was.
    pub stamp: Stamp,
    /// When it ends, however much it is used.
    pub ends: Moment,
    /// How long it may lie unused; zero is for ever.
    pub idle: Duration,
    /// How sure it is who the user is.
    pub level: Level,
    /// What is kept with it.
    pub properties: Properties,
}

/// What ends sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revocation {
    /// One session.
    Session {
        /// Whose it is.
        user: User,
        /// Which.
        id: SessionId,
        /// When it would have ended: so long it must be remembered.
        ends: Moment,
    },
    /// Sessions that ended before a node that catches up joined.
    Ended {
        /// Which, and when each would have ended. At most [`ENDED_MAX`].
        sessions: Vec<(SessionId, Moment)>,
    },
    /// Every session of a user whose login was not after this stamp.
    User {
        /// Whose.
        user: User,
        /// Up to here.
        before: Stamp,
    },
    /// Every session whose login was not after this stamp.
    All {
        /// Up to here.
        before: Stamp,
    },
}

/// A note that a session was used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    /// Whose it is.
    pub user: User,
    /// Which.
    pub id: SessionId,
    /// When, by the clock of the node that saw it.
    pub at: Moment,
}

/// A key that seals tokens, sealed itself under the cluster's: see [`super::ClusterKey::wrap`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedKey(pub Vec<u8>);

/// What changes of a session. Changes say no more than what is to be different: of two that cross, neither undoes the other.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct SessionChange {
    /// The level is this high from now on, or higher where it was.
    pub level: Level,
    /// Properties that are set, and those without a value, which are removed. At most [`CHANGES_MAX`].
    pub properties: Vec<(Box<str>, Option<Box<str>>)>,
}

impl SessionChange {
    /// The properties after the change.
    ///
    /// # Errors
    /// As of [`Properties::set`].
    pub fn of(&self, mut properties: Properties) -> Result<Properties, IdentityError> {
        for (name, value) in &self.properties {
            match value {
                Some(value) => properties.set(name, value)?,
                None => drop(properties.remove(name)),
            }
        }
        Ok(properties)
    }
}

/// A code of a second step that was used: what other nodes must know to refuse it. It holds neither the code nor what would help to
/// guess it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UsedCode {
    /// One that a device showed. It uses up those that the device showed before.
    Device {
        /// Whose.
        user: User,
        /// When the device began to show it, by the device's clock.
        since: Moment,
        /// From when on nobody takes it any more, by the clock of whoever is shown it.
        until: Moment,
    },
    /// A recovery code, by a name that is made of it and of its user. It is never good again.
    Recovery([u8; 16]),
    /// No code of a user's, but what a surface gives out to be used once: a turn of a grant. It uses up the turns before it.
    Grant(GrantTurn),
}

/// One turn of a grant: an authorization code is the first, and each refresh token that follows from it is the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantTurn {
    /// What the grant belongs to: a session, or a name that is made by a digest.
    pub holder: [u8; 16],
    /// The grant: of two of a holder, the later one has the greater number.
    pub grant: u64,
    /// From 0 on.
    pub turn: u32,
    /// From when on nobody takes it any more.
    pub until: Moment,
}

/// One thing that happened. The records of a store, applied in order, are the whole state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionRecord {
    /// A session began.
    Login(LiveSession),
    /// Sessions ended.
    Revoked(Revocation),
    /// Sessions were used. At most [`TOUCHES_MAX`].
    Touched(Vec<Touch>),
    /// A session's level or properties changed.
    Changed {
        /// Whose it is.
        user: User,
        /// Which.
        id: SessionId,
        /// How.
        change: SessionChange,
    },
    /// What was given out for a while, and is no session, ended before its time.
    Recalled {
        /// Its name.
        id: SessionId,
        /// When it would have ended.
        ends: Moment,
    },
    /// A key is in use.
    Key(SealedKey),
    /// A code of a second step was used.
    Used(UsedCode),
    /// Logins failed on a node: what the throttles of the others count too.
    Guesses(GuessNews),
}

impl SessionRecord {
    /// The record in bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut to = RecordWriter::default();
        to.byte(VERSION);
        match self {
            SessionRecord::Login(live) => {
                to.byte(1);
                write_live(&mut to, live);
            }
            SessionRecord::Revoked(Revocation::Session { user, id, ends }) => {
                to.byte(2);
                write_session(&mut to, user, *id);
                to.u64(ends.ms());
            }
            SessionRecord::Revoked(Revocation::User { user, before }) => {
                to.byte(3);
                to.text(user.key());
                to.u64(before.us());
            }
            SessionRecord::Revoked(Revocation::All { before }) => {
                to.byte(4);
                to.u64(before.us());
            }
            SessionRecord::Touched(touches) => {
                to.byte(5);
                for touch in touches {
                    write_session(&mut to, &touch.user, touch.id);
                    to.u64(touch.at.ms());
                }
            }
            SessionRecord::Changed { user, id, change } => {
                to.byte(6);
                write_session(&mut to, user, *id);
                write_change(&mut to, change);
            }
            SessionRecord::Recalled { id, ends } => {
                to.byte(11);
                to.raw(&id.0);
                to.u64(ends.ms());
            }
            SessionRecord::Revoked(Revocation::Ended { sessions }) => {
                to.byte(8);
                for (id, ends) in sessions {
                    to.raw(&id.0);
                    to.u64(ends.ms());
                }
            }
            SessionRecord::Key(SealedKey(sealed)) => {
                to.byte(7);
                to.bytes(sealed);
            }
            SessionRecord::Used(UsedCode::Device { user, since, until }) => {
                to.byte(9);
                to.text(user.key());
                to.u64(since.ms());
                to.u64(until.ms());
            }
            SessionRecord::Used(UsedCode::Recovery(name)) => {
                to.byte(10);
                to.raw(name);
            }
            SessionRecord::Used(UsedCode::Grant(GrantTurn { holder, grant, turn, until })) => {
                to.byte(12);
                to.raw(holder);
                to.u64(*grant);
                to.u32(*turn);
                to.u64(until.ms());
            }
            SessionRecord::Guesses(GuessNews { from, at, changes }) => {
                to.byte(20);
                to.u64(*from);
                to.u64(at.ms());
                for CountChange { table, key } in changes {
                    to.byte(*table);
                    to.u64(*key);
                }
            }
        }
        to.0
    }

    /// Reads a record.
    ///
    /// # Errors
    /// It is none, or of a version to come.
    pub fn from_bytes(bytes: &[u8]) -> Result<SessionRecord, IdentityError> {
        let mut from = RecordReader::new(bytes);
        match from.byte() {
            Some(VERSION) => {}
            Some(other) => {
                return Err(IdentityError::new(format!(
                    "a record of version {other}, where this reads version {VERSION}: update this node"
                )));
            }
            None => return Err(IdentityError::new("an empty record")),
        }
        read(&mut from)
            .ok_or_else(|| IdentityError::new("a record that ends too early or holds what it may not"))
    }
}

fn read(from: &mut RecordReader<'_>) -> Option<SessionRecord> {
    let record = match from.byte()? {
        1 => SessionRecord::Login(read_live(from)?),
        2 => {
            let (user, id) = read_session(from)?;
            SessionRecord::Revoked(Revocation::Session { user, id, ends: Moment::from_ms(from.u64()?) })
        }
        3 => {
            let user = User::of_key(from.text()?)?;
            SessionRecord::Revoked(Revocation::User { user, before: Stamp::from_us(from.u64()?) })
        }
        4 => SessionRecord::Revoked(Revocation::All { before: Stamp::from_us(from.u64()?) }),
        5 => SessionRecord::Touched(read_touches(from)?),
        6 => {
            let (user, id) = read_session(from)?;
            SessionRecord::Changed { user, id, change: read_change(from)? }
        }
        7 => SessionRecord::Key(SealedKey(from.bytes()?.to_vec())),
        8 => SessionRecord::Revoked(Revocation::Ended { sessions: read_ended(from)? }),
        9 => {
            let user = User::of_key(from.text()?)?;
            let (since, until) = (Moment::from_ms(from.u64()?), Moment::from_ms(from.u64()?));
            SessionRecord::Used(UsedCode::Device { user, since, until })
        }
        10 => SessionRecord::Used(UsedCode::Recovery(from.array()?)),
        12 => {
            let (holder, grant) = (from.array()?, from.u64()?);
            let (turn, until) = (from.u32()?, Moment::from_ms(from.u64()?));
            SessionRecord::Used(UsedCode::Grant(GrantTurn { holder, grant, turn, until }))
        }
        11 => SessionRecord::Recalled { id: SessionId(from.array()?), ends: Moment::from_ms(from.u64()?) },
        20 => SessionRecord::Guesses(read_guesses(from)?),
        _ => return None,
    };
    from.end()?;
    Some(record)
}

fn write_session(to: &mut RecordWriter, user: &User, id: SessionId) {
    to.text(user.key());
    to.raw(&id.0);
}

fn read_session(from: &mut RecordReader<'_>) -> Option<(User, SessionId)> {
    Some((User::of_key(from.text()?)?, SessionId(from.array()?)))
}

fn write_live(to: &mut RecordWriter, live: &LiveSession) {
    write_session(to, &live.user, live.id);
    to.u64(live.stamp.us());
    to.u64(live.ends.ms());
    to.u64(live.idle.as_secs());
    to.byte(live.level.0);
    write_properties(to, &live.properties);
}

fn read_live(from: &mut RecordReader<'_>) -> Option<LiveSession> {
    let (user, id) = read_session(from)?;
    let stamp = Stamp::from_us(from.u64()?);
    let ends = Moment::from_ms(from.u64()?);
    let idle = Duration::from_secs(from.u64()?);
    let level = Level(from.byte()?);
    Some(LiveSession { user, id, stamp, ends, idle, level, properties: read_properties(from)? })
}

/// They stand last in what holds them.
fn write_properties(to: &mut RecordWriter, properties: &Properties) {
    for (name, value) in properties.iter() {
        to.text(name);
        to.text(value);
    }
}

fn read_properties(from: &mut RecordReader<'_>) -> Option<Properties> {
    let mut properties = Properties::new();
    while !from.rest().is_empty() {
        let (name, value) = (from.text()?, from.text()?);
        properties.set(name, value).ok()?;
    }
    Some(properties)
}

fn write_change(to: &mut RecordWriter, change: &SessionChange) {
    to.byte(change.level.0);
    for (name, value) in &change.properties {
        to.text(name);
        to.byte(u8::from(value.is_some()));
        to.text(value.as_deref().unwrap_or_default());
    }
}

fn read_change(from: &mut RecordReader<'_>) -> Option<SessionChange> {
    let mut change = SessionChange { level: Level(from.byte()?), properties: Vec::new() };
    while !from.rest().is_empty() && change.properties.len() < CHANGES_MAX {
        let (name, has_value, value) = (from.text()?.into(), from.byte()?, from.text()?.into());
        let value = match has_value {
            0 => None,
            1 => Some(value),
            _ => return None,
        };
        change.properties.push((name, value));
    }
    Some(change)
}

fn read_ended(from: &mut RecordReader<'_>) -> Option<Vec<(SessionId, Moment)>> {
    let mut sessions = Vec::new();
    while !from.rest().is_empty() && sessions.len() < ENDED_MAX {
        sessions.push((SessionId(from.array()?), Moment::from_ms(from.u64()?)));
    }
    Some(sessions)
}

fn read_guesses(from: &mut RecordReader<'_>) -> Option<GuessNews> {
    let mut news = GuessNews { from: from.u64()?, at: Moment::from_ms(from.u64()?), changes: Vec::new() };
    while !from.rest().is_empty() && news.changes.len() < COUNT_CHANGES_MAX {
        news.changes.push(CountChange { table: from.byte()?, key: from.u64()? });
    }
    Some(news)
}

fn read_touches(from: &mut RecordReader<'_>) -> Option<Vec<Touch>> {
    let mut touches = Vec::new();
    while !from.rest().is_empty() && touches.len() < TOUCHES_MAX {
        let (user, id) = read_session(from)?;
        touches.push(Touch { user, id, at: Moment::from_ms(from.u64()?) });
    }
    Some(touches)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> Vec<SessionRecord> {
        let user = User::new("/", "anna").unwrap();
        let id = SessionId([7; 16]);
        let mut properties = Properties::new();
        properties.set("color", "blue").unwrap();
        let (stamp, ends) = (Stamp::from_us(5), Moment::from_ms(9));
        let live = LiveSession {
            user: user.clone(),
            id,
            stamp,
            ends,
            idle: Duration::from_secs(60),
            level: Level(2),
            properties: properties.clone(),
        };
        let touch = Touch { user: user.clone(), id, at: ends };
        let change = SessionChange {
            level: Level(3),
            properties: vec![("color".into(), Some("red".into())), ("size".into(), None)],
        };
        vec![
            SessionRecord::Login(live),
            SessionRecord::Revoked(Revocation::Session { user: user.clone(), id, ends }),
            SessionRecord::Revoked(Revocation::User { user: user.clone(), before: stamp }),
            SessionRecord::Revoked(Revocation::All { before: stamp }),
            SessionRecord::Revoked(Revocation::Ended { sessions: vec![(id, ends)] }),
            SessionRecord::Touched(vec![touch.clone(), touch]),
            SessionRecord::Used(UsedCode::Device { user: user.clone(), since: ends, until: ends }),
            SessionRecord::Used(UsedCode::Recovery([8; 16])),
            SessionRecord::Used(UsedCode::Grant(GrantTurn {
                holder: [9; 16],
                grant: 4,
                turn: 2,
                until: ends,
            })),
            SessionRecord::Changed { user, id, change },
            SessionRecord::Recalled { id, ends },
            SessionRecord::Key(SealedKey(vec![1, 2, 3])),
            SessionRecord::Guesses(GuessNews {
                from: 7,
                at: ends,
                changes: vec![CountChange { table: 2, key: 9 }, CountChange { table: 0x82, key: 10 }],
            }),
        ]
    }

    #[test]
    fn what_is_written_is_read() {
        for record in records() {
            assert_eq!(SessionRecord::from_bytes(&record.to_bytes()), Ok(record));
        }
    }

    #[test]
    fn a_record_cut_short_is_never_taken_for_the_whole_one() {
        for record in records() {
            let bytes = record.to_bytes();
            for length in 0..bytes.len() {
                assert_ne!(SessionRecord::from_bytes(&bytes[..length]).ok().as_ref(), Some(&record));
            }
        }
    }

    #[test]
    fn lengths_that_promise_more_than_there_is_take_no_memory() {
        let mut bytes = vec![VERSION, 7];
        bytes.extend(u32::MAX.to_be_bytes());
        assert!(SessionRecord::from_bytes(&bytes).is_err());
        assert!(SessionRecord::from_bytes(&[VERSION, 99]).is_err());
        assert!(
            SessionRecord::from_bytes(&[VERSION + 1, 1])
                .unwrap_err()
                .to_string()
                .contains("update this node")
        );
    }
}

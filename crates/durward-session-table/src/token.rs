//! Session tokens: the sealed claims of a session, as text for a cookie or a header.
//!
//! A token is the Base64 (for URLs, without padding) of a version byte, the key's name (4 bytes), a nonce (12), the sealed
//! claims, and a tag (16). The claims: session id (16), stamp of the login (8), end (4), longest idle time (4), level (1), realm and
//! subject, each after its length (1). A usual token has 120 characters.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::codec::{RecordReader, RecordWriter};
use super::key::{KeyId, KeyRing, OpenedToken};
use super::name::{Level, REALM_LENGTH_MAX, SUBJECT_LENGTH_MAX, SessionId};
use crate::entropy::Entropy;
use crate::{CLOCK_SKEW_MAX, IdentityError, Moment, Stamp};

/// The form of the token that is written and read.
const VERSION: u8 = 1;

/// Claims without realm and subject.
const FIXED_LENGTH: usize = 16 + 8 + 4 + 4 + 1 + 1 + 1;

/// The longest token, in bytes.
const BYTES_MAX: usize = 5 + 12 + FIXED_LENGTH + REALM_LENGTH_MAX + SUBJECT_LENGTH_MAX + 16;

/// The longest token, in characters. Longer ones are refused unread.
pub const TOKEN_LENGTH_MAX: usize = BYTES_MAX.div_ceil(3) * 4;

/// The caller's buffer for decrypting a token, so that validation does not allocate.
#[derive(Debug)]
pub struct Scratch([u8; BYTES_MAX + 3]);

impl Scratch {
    /// Room for one token.
    pub const fn new() -> Scratch {
        Scratch([0; BYTES_MAX + 3])
    }
}

impl Default for Scratch {
    fn default() -> Scratch {
        Scratch::new()
    }
}

/// What a token says of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionClaims<'b> {
    /// The session.
    pub id: SessionId,
    /// When the login was.
    pub stamp: Stamp,
    /// When the session ends, however much it is used.
    pub ends: Moment,
    /// How long it may lie unused; zero is for ever.
    pub idle: Duration,
    /// How sure it is who asks.
    pub level: Level,
    /// The user's realm.
    pub realm: &'b str,
    /// The user's name in the realm.
    pub subject: &'b str,
    /// INVARIANT: realm, zero byte, subject, as in [`super::User`].
    pub(crate) key: &'b str,
}

/// Why a token is not accepted. Whoever presented it is told no more than that it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is no token: too long, too short, other characters, another version.
    Malformed,
    /// No key in use has sealed it: one that was rotated out, or another cluster's.
    UnknownKey,
    /// It was changed, or sealed by somebody else.
    Forged,
    /// It is from further in the future than clocks may differ.
    Future,
    /// Its session has ended.
    Expired,
    /// Its session lay unused for too long.
    Idle,
    /// Its session was ended by a logout, an administrator, or a limit.
    Revoked,
    /// This node cannot say at the moment, and its mode forbids to guess.
    Unavailable,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Malformed => "no token",
            Refusal::UnknownKey => "sealed with a key that is not in use",
            Refusal::Forged => "changed, or sealed by somebody else",
            Refusal::Future => "from the future: compare the clocks of the nodes",
            Refusal::Expired => "the session has ended",
            Refusal::Idle => "the session lay unused for too long",
            Refusal::Revoked => "the session was revoked",
            Refusal::Unavailable => {
                "this node has lost the store and cannot say whether the session still lives"
            }
        })
    }
}

impl std::error::Error for Refusal {}

/// Seals a token.
///
/// # Errors
/// There is no key, or no randomness to be had.
pub(crate) fn seal(
    ring: &KeyRing,
    entropy: &dyn Entropy,
    now: Moment,
    claims: &SessionClaims<'_>,
) -> Result<String, IdentityError> {
    let mut writer = RecordWriter(Vec::with_capacity(BYTES_MAX));
    writer.raw(&claims.id.0);
    writer.u64(claims.stamp.us());
    writer.u32(claims.ends.seconds());
    writer.u32(u32::try_from(claims.idle.as_secs()).unwrap_or(u32::MAX));
    writer.byte(claims.level.0);
    writer.byte(u8::try_from(claims.realm.len()).unwrap_or(u8::MAX));
    writer.raw(claims.key.as_bytes());
    Ok(URL_SAFE_NO_PAD.encode(ring.seal(entropy, now, &writer.0, head)?))
}

fn head(KeyId(id): KeyId) -> [u8; 5] {
    let [a, b, c, d] = id.to_be_bytes();
    [VERSION, a, b, c, d]
}

/// Opens a token, and looks at what it alone tells: whether it is from the future or its session has ended.
///
/// # Errors
/// It is refused.
pub(crate) fn open<'b>(
    ring: &KeyRing,
    now: Moment,
    token: &str,
    scratch: &'b mut Scratch,
) -> Result<SessionClaims<'b>, Refusal> {
    if token.len() > TOKEN_LENGTH_MAX {
        return Err(Refusal::Malformed);
    }
    let length = URL_SAFE_NO_PAD.decode_slice(token, &mut scratch.0).map_err(|_| Refusal::Malformed)?;
    let bytes = scratch.0.get_mut(..length).ok_or(Refusal::Malformed)?;
    let (head, sealed) = bytes.split_first_chunk_mut::<5>().ok_or(Refusal::Malformed)?;
    let [version, id @ ..] = *head;
    if version != VERSION {
        return Err(Refusal::Malformed);
    }
    let content = match ring.open(KeyId(u32::from_be_bytes(id)), now, *head, sealed) {
        OpenedToken::Content(content) => content,
        OpenedToken::UnknownKey => return Err(Refusal::UnknownKey),
        OpenedToken::Forged => return Err(Refusal::Forged),
    };
    let claims = read(content).ok_or(Refusal::Malformed)?;
    if claims.stamp.moment() > now.plus(CLOCK_SKEW_MAX) {
        return Err(Refusal::Future);
    }
    if claims.ends <= now {
        return Err(Refusal::Expired);
    }
    Ok(claims)
}

fn read(content: &[u8]) -> Option<SessionClaims<'_>> {
    let mut reader = RecordReader::new(content);
    let id = SessionId(reader.array()?);
    let stamp = Stamp::from_us(reader.u64()?);
    let ends = Moment::from_s(reader.u32()?);
    let idle = Duration::from_secs(u64::from(reader.u32()?));
    let level = Level(reader.byte()?);
    let realm_length = usize::from(reader.byte()?);
    let key = std::str::from_utf8(reader.rest()).ok()?;
    let (realm, rest) = key.split_at_checked(realm_length)?;
    let subject = rest.strip_prefix('\0')?;
    Some(SessionClaims { id, stamp, ends, idle, level, realm, subject, key })
}

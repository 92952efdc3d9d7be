//! What names a session, and whose it is.

use std::fmt;

use crate::IdentityError;
use crate::entropy::{Entropy, bytes};
use crate::error::failed;

/// The longest name of a realm, in bytes.
pub const REALM_LENGTH_MAX: usize = 100;
/// The longest name of a user, in bytes: a distinguished name of a directory fits.
pub const SUBJECT_LENGTH_MAX: usize = 255;
/// How many properties a session may have.
pub const PROPERTIES_MAX: usize = 32;
/// How long the names and values of a session's properties may be together, in bytes.
pub const PROPERTIES_BYTES_MAX: usize = 2048;

/// The identifier of a session: 128 random bits. It is no secret: nothing opens with it. Whoever shows it as a handle tells nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub [u8; 16]);

impl SessionId {
    /// A name that nothing else has.
    ///
    /// # Errors
    /// There is no randomness to be had.
    pub fn random(entropy: &dyn Entropy) -> Result<SessionId, IdentityError> {
        bytes(entropy).map(SessionId)
    }

    /// Reads what [`fmt::Display`] wrote: 32 hexadecimal digits.
    pub fn read(text: &str) -> Option<SessionId> {
        let is_name = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u128::from_str_radix(text, 16).ok().filter(|_| is_name)?;
        Some(SessionId(number.to_be_bytes()))
    }

    /// A number that is as random as the name.
    pub(crate) fn hash(self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        u64::from_ne_bytes([a, b, c, d, e, f, g, h])
    }
}

/// The 32 hexadecimal digits of a session's id, in small letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digits([u8; 32]);

impl Digits {
    /// As a text.
    pub fn as_str(&self) -> &str {
        // They are ASCII.
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl SessionId {
    /// It in digits: 32 bytes that need no memory of their own, since a gateway's every request asks for them.
    pub fn digits(&self) -> Digits {
        let digit = |half: u8| if half < 10 { b'0' + half } else { b'a' - 10 + half };
        let digits = u128::from_be_bytes(self.0);
        Digits(std::array::from_fn(|at| {
            let half = digits >> (124 - 4 * at) & 0xf;
            digit(u8::try_from(half).unwrap_or(0))
        }))
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.digits().as_str())
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The authentication level: the higher, the stronger. What the numbers mean is the operator's affair; 0 is a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Level(pub u8);

/// A user: the realm, and the name in it. Two realms have nothing to do with each other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct User {
    /// INVARIANT: the realm, a zero byte, the subject; neither holds a zero byte or is longer than its limit.
    key: Box<str>,
    realm_length: u8,
}

impl User {
    /// A user of a realm; the root realm is `/`.
    ///
    /// # Errors
    /// An empty subject, one of the names too long, or a zero byte in one.
    pub fn new(realm: &str, subject: &str) -> Result<User, IdentityError> {
        if subject.is_empty() {
            return failed("a user needs a name");
        }
        if realm.len() > REALM_LENGTH_MAX {
            return failed(format!("the realm's name is longer than {REALM_LENGTH_MAX} bytes"));
        }
        if subject.len() > SUBJECT_LENGTH_MAX {
            return failed(format!("the user's name is longer than {SUBJECT_LENGTH_MAX} bytes"));
        }
        if realm.contains('\0') || subject.contains('\0') {
            return failed("a name holds a zero byte");
        }
        let Ok(realm_length) = u8::try_from(realm.len()) else {
            return failed("the realm's name is too long");
        };
        // As long as it will be: every validation makes one.
        let mut key = String::with_capacity(realm.len() + 1 + subject.len());
        key.push_str(realm);
        key.push('\0');
        key.push_str(subject);
        Ok(User { key: key.into_boxed_str(), realm_length })
    }

    /// The realm.
    pub fn realm(&self) -> &str {
        self.key.get(..usize::from(self.realm_length)).unwrap_or_default()
    }

    /// The name in the realm.
    pub fn subject(&self) -> &str {
        self.key.get(usize::from(self.realm_length) + 1..).unwrap_or_default()
    }

    /// Realm, zero byte, subject: a text that no other user has.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The user with this key.
    pub(crate) fn of_key(key: &str) -> Option<User> {
        let (realm, subject) = key.split_once('\0')?;
        User::new(realm, subject).ok()
    }
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.subject(), self.realm())
    }
}

/// What is kept with a session: names and values, in the order they were set.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Properties(Vec<(Box<str>, Box<str>)>);

impl Properties {
    /// No properties.
    pub const fn new() -> Properties {
        Properties(Vec::new())
    }

    /// Sets one, in the place of one with the same name.
    ///
    /// # Errors
    /// More than [`PROPERTIES_MAX`] or longer than [`PROPERTIES_BYTES_MAX`] together; nothing is set then.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), IdentityError> {
        let others = || self.0.iter().filter(|(other, _)| **other != *name);
        let bytes: usize = others().map(|(name, value)| name.len() + value.len()).sum();
        if others().count() >= PROPERTIES_MAX {
            return failed(format!("a session has at most {PROPERTIES_MAX} properties"));
        }
        if bytes + name.len() + value.len() > PROPERTIES_BYTES_MAX {
            return failed(format!("a session's properties take at most {PROPERTIES_BYTES_MAX} bytes"));
        }
        match self.0.iter_mut().find(|(other, _)| **other == *name) {
            Some((_, old)) => *old = value.into(),
            None => self.0.push((name.into(), value.into())),
        }
        Ok(())
    }

    /// Removes one. Whether there was one.
    pub fn remove(&mut self, name: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|(other, _)| **other != *name);
        self.0.len() < before
    }

    /// The value with this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| **other == *name).map(|(_, value)| &**value)
    }

    /// All names and values.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn realms_and_subjects_cannot_run_into_each_other() {
        assert!(User::new("/a\0", "b").is_err());
        assert!(User::new("/a", "\0b").is_err());
        assert!(User::new("/a", "").is_err());
        assert_ne!(User::new("/a", "b").unwrap(), User::new("/", "ab").unwrap());
        assert!(User::new("/", &"s".repeat(SUBJECT_LENGTH_MAX)).is_ok());
        assert!(User::new("/", &"s".repeat(SUBJECT_LENGTH_MAX + 1)).is_err());
    }

    #[test]
    fn properties_have_a_bound_and_replacing_one_stays_below_it() {
        let mut properties = Properties::new();
        for number in 0..PROPERTIES_MAX {
            properties.set(&format!("name{number}"), "value").unwrap();
        }
        assert!(properties.set("one more", "value").is_err());
        properties.set("name3", "other").unwrap();
        assert_eq!(properties.get("name3"), Some("other"));
        assert!(properties.set("name3", &"v".repeat(PROPERTIES_BYTES_MAX)).is_err());
        assert_eq!(properties.get("name3"), Some("other"));
        assert!(properties.remove("name3") && !properties.remove("name3"));
    }
}

//! The challenge between a password and a second-factor code: a signed text with the user and an expiry. All nodes have the key, so another node may take the code, and no server state is kept for abandoned logins.
//!
//! A challenge may be answered more than once in its time; the code in the answer is good once.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use durward_identity::Moment;
use durward_identity::session::User;
use ring::hmac::{HMAC_SHA256, Key, sign, verify};

/// What a challenge begins with.
const VERSION: u8 = 1;

/// Version, end of its time, length of the realm.
const HEAD: usize = 1 + 8 + 1;

const TAG: usize = 32;

/// The longest challenge of a second step that is read, in characters.
const LENGTH_MAX: usize = 700;

/// The key for a purpose, made of the cluster's secret: the same on all nodes, and telling nothing of the secret or of other keys.
pub(crate) fn derive(secret: &[u8; 32], purpose: &str) -> [u8; 32] {
    let tag = sign(&Key::new(HMAC_SHA256, secret), format!("durward 1 {purpose}").as_bytes());
    tag.as_ref().first_chunk().copied().unwrap_or_default()
}

pub(crate) struct Challenges(Key);

impl Challenges {
    pub(crate) fn new(secret: &[u8; 32]) -> Challenges {
        Challenges(Key::new(HMAC_SHA256, &derive(secret, "second step")))
    }

    /// The challenges of users for whom another provider vouched: no password was asked for, so none that must be changed stands between
    /// them and their sessions. Each kind is taken for itself alone.
    pub(crate) fn of_upstreams(secret: &[u8; 32]) -> Challenges {
        Challenges(Key::new(HMAC_SHA256, &derive(secret, "second step after another provider")))
    }

    pub(crate) fn make(&self, user: &User, until: Moment) -> String {
        let mut bytes = vec![VERSION];
        bytes.extend(until.ms().to_be_bytes());
        bytes.push(u8::try_from(user.realm().len()).unwrap_or(u8::MAX));
        bytes.extend(user.realm().as_bytes());
        bytes.extend(user.subject().as_bytes());
        let tag = sign(&self.0, &bytes);
        bytes.extend(tag.as_ref());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Whose first step was right and until when that counts, if this was made here and is not over.
    pub(crate) fn open(&self, text: &str, now: Moment) -> Option<(User, Moment)> {
        if text.len() > LENGTH_MAX {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (said, tag) = bytes.split_at_checked(bytes.len().checked_sub(TAG)?)?;
        verify(&self.0, said, tag).ok()?;
        let (head, names) = said.split_first_chunk::<HEAD>()?;
        let [version, until @ .., realm_length] = *head;
        let until = Moment::from_ms(u64::from_be_bytes(until));
        let (realm, subject) = std::str::from_utf8(names).ok()?.split_at_checked(realm_length.into())?;
        if version != VERSION || until <= now {
            return None;
        }
        Some((User::new(realm, subject).ok()?, until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_good_for_its_user_its_cluster_and_its_time() {
        let challenges = Challenges::new(&[1; 32]);
        let anna = User::new("/sales", "anna").unwrap();
        let at = Moment::from_ms;
        let text = challenges.make(&anna, at(100));
        assert_eq!(challenges.open(&text, at(99)), Some((anna, at(100))));
        assert_eq!(challenges.open(&text, at(100)), None, "over");
        assert_eq!(Challenges::new(&[2; 32]).open(&text, at(99)), None, "another cluster's");
        assert_eq!(Challenges::of_upstreams(&[1; 32]).open(&text, at(99)), None, "of a password");
        for place in 0..text.len() {
            let mut other = text.clone().into_bytes();
            other[place] = if other[place] == b'A' { b'Q' } else { b'A' };
            assert_eq!(challenges.open(std::str::from_utf8(&other).unwrap(), at(99)), None, "{place}");
            assert_eq!(challenges.open(&text[..place], at(99)), None, "{place}");
        }
        assert_eq!(challenges.open(&"A".repeat(1 << 20), at(99)), None);
    }
}

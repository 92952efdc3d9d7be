//! Proofs that a user has logged in on a device before: a text that the client keeps, in a cookie or otherwise.
//!
//! It opens nothing. A login that brings it is counted by itself, so that whoever guesses at the user's password elsewhere does not keep the
//! user out. All nodes can open it, after restarts too: it is sealed under a key that is made of the cluster's secret, not under the keys of sessions, which
//! are forgotten after a session's life. Several users of one device have a proof each, one after the other in the same text.
//!
//! A proof is the Base64 (for URLs, without padding) of a version byte, a salt (16), the sealed content, and a tag (16). Each has a key
//! of its own, made of version and salt, so that no nonce comes twice however many there are. The content: when it was given (8), whether a code was given
//! (1), the device (16), the length of the realm (1), realm and subject.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use durward_identity::login::DeviceId;
use durward_identity::session::User;
use durward_identity::{CLOCK_SKEW_MAX, Entropy, Moment, SystemEntropy};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hmac::{HMAC_SHA256, Key, sign};

use crate::challenge::derive;

/// What a proof begins with.
const VERSION: u8 = 1;

/// Version and salt.
const HEAD: usize = 1 + 16;

/// Time, code, device, length of the realm.
const FIXED: usize = 8 + 1 + 16 + 1;

/// Stands between two proofs; no character of Base64.
const BETWEEN: char = '.';

/// How many users of a device are remembered.
const USERS_MAX: usize = 4;

/// The longest proof that is read, in characters.
const LENGTH_MAX: usize = 700;

/// A device of a user's, by a proof that is good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownDevice {
    pub(crate) id: DeviceId,
    /// As the directory writes the name.
    pub(crate) user: User,
    /// When the proof was given: at the last login.
    pub(crate) issued: Moment,
    /// Whether a right code was given on it, at this login or before.
    pub(crate) has_code: bool,
}

/// Gives proofs and opens them.
pub(crate) struct Devices {
    key: Key,
    /// How long a proof is good; zero means that there are none.
    lifetime: Duration,
}

impl Devices {
    pub(crate) fn new(secret: &[u8; 32], lifetime: Duration) -> Devices {
        Devices { key: Key::new(HMAC_SHA256, &derive(secret, "devices")), lifetime }
    }

    /// The devices of the proofs in a text that were given here and are not over.
    pub(crate) fn open(&self, text: &str, now: Moment) -> Vec<KnownDevice> {
        self.opened(text, now).map(|(_, known)| known).collect()
    }

    fn opened<'t>(&self, text: &'t str, now: Moment) -> impl Iterator<Item = (&'t str, KnownDevice)> {
        let proofs = text.split(BETWEEN).take(USERS_MAX);
        proofs.filter_map(move |proof| Some((proof, self.open_one(proof, now)?)))
    }

    fn open_one(&self, proof: &str, now: Moment) -> Option<KnownDevice> {
        if proof.len() > LENGTH_MAX || self.lifetime.is_zero() {
            return None;
        }
        let mut bytes = URL_SAFE_NO_PAD.decode(proof).ok()?;
        let (head, sealed) = bytes.split_first_chunk_mut::<HEAD>()?;
        if head.first() != Some(&VERSION) {
            return None;
        }
        let nonce = Nonce::assume_unique_for_key([0; 12]);
        let content = self.cipher(head)?.open_in_place(nonce, Aad::from(*head), sealed).ok()?;
        let known = read(content)?;
        // Of a node whose clock is ahead it may be from the future, but not by more than clocks differ.
        let is_good = known.issued <= now.plus(CLOCK_SKEW_MAX) && now.since(known.issued) < self.lifetime;
        is_good.then_some(known)
    }

    /// A text for the device on which a user has logged in, with the proofs of others that were shown and are good. `None` where there are no proofs, or
    /// no randomness.
    pub(crate) fn renew(
        &self,
        shown: Option<&str>,
        device: Option<DeviceId>,
        user: &User,
        has_code: bool,
        now: Moment,
    ) -> Option<String> {
        if self.lifetime.is_zero() {
            return None;
        }
        let id = device.map_or_else(|| random().map(DeviceId), Some)?;
        let known = KnownDevice { id, user: user.clone(), issued: now, has_code };
        let mut text = self.seal(&known)?;
        let others = self.opened(shown.unwrap_or_default(), now).filter(|(_, other)| other.user != *user);
        for (proof, _) in others.take(USERS_MAX - 1) {
            text.push(BETWEEN);
            text.push_str(proof);
        }
        Some(text)
    }

    fn seal(&self, known: &KnownDevice) -> Option<String> {
        let mut head = [VERSION; HEAD];
        head.get_mut(1..)?.copy_from_slice(&random()?);
        let KnownDevice { id, user, issued, has_code } = known;
        let mut content = Vec::with_capacity(FIXED + user.realm().len() + user.subject().len());
        content.extend(issued.ms().to_be_bytes());
        content.push(u8::from(*has_code));
        content.extend(id.0);
        content.push(u8::try_from(user.realm().len()).ok()?);
        content.extend(user.realm().as_bytes());
        content.extend(user.subject().as_bytes());
        let nonce = Nonce::assume_unique_for_key([0; 12]);
        self.cipher(&head)?.seal_in_place_append_tag(nonce, Aad::from(head), &mut content).ok()?;
        Some(URL_SAFE_NO_PAD.encode([head.as_slice(), &content].concat()))
    }

    /// The cipher of one proof.
    fn cipher(&self, head: &[u8; HEAD]) -> Option<LessSafeKey> {
        let key = UnboundKey::new(&AES_256_GCM, sign(&self.key, head).as_ref()).ok()?;
        Some(LessSafeKey::new(key))
    }
}

fn random() -> Option<[u8; 16]> {
    let mut bytes = [0; 16];
    SystemEntropy.fill(&mut bytes).ok()?;
    Some(bytes)
}

fn read(content: &[u8]) -> Option<KnownDevice> {
    let (issued, rest) = content.split_first_chunk::<8>()?;
    let (has_code, rest) = rest.split_first()?;
    let (id, rest) = rest.split_first_chunk::<16>()?;
    let (realm_length, names) = rest.split_first()?;
    let (realm, subject) = std::str::from_utf8(names).ok()?.split_at_checked((*realm_length).into())?;
    Some(KnownDevice {
        id: DeviceId(*id),
        user: User::new(realm, subject).ok()?,
        issued: Moment::from_ms(u64::from_be_bytes(*issued)),
        has_code: *has_code == 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFETIME: Duration = Duration::from_secs(100);

    fn at(seconds: u32) -> Moment {
        Moment::from_s(1_700_000_000 + seconds)
    }

    fn devices(secret: u8) -> Devices {
        Devices::new(&[secret; 32], LIFETIME)
    }

    fn user(name: &str) -> User {
        User::new("/sales", name).unwrap()
    }

    #[test]
    fn a_proof_is_good_for_its_user_its_cluster_and_its_time() {
        let anna = user("anna");
        let text = devices(1).renew(None, None, &anna, true, at(0)).unwrap();
        let [known] = devices(1).open(&text, at(99)).try_into().unwrap();
        assert_eq!((&known.user, known.issued, known.has_code), (&anna, at(0), true));
        assert!(devices(1).open(&text, at(100)).is_empty(), "over");
        assert!(devices(2).open(&text, at(99)).is_empty(), "another cluster's");
        assert!(Devices::new(&[1; 32], Duration::ZERO).open(&text, at(0)).is_empty(), "there are none");
        assert!(!text.contains("anna") && devices(1).open(&"A".repeat(1 << 20), at(0)).is_empty());
        for place in 0..text.len() {
            let mut other = text.clone().into_bytes();
            other[place] = if other[place] == b'A' { b'Q' } else { b'A' };
            let other = String::from_utf8(other).unwrap();
            // The last character has bits that mean nothing; what reads them refuses them.
            assert!(devices(1).open(&other, at(0)).is_empty(), "{place}");
            assert!(devices(1).open(&text[..place], at(0)).is_empty(), "{place}");
        }
        let ahead = devices(1).renew(None, None, &anna, false, at(90).plus(CLOCK_SKEW_MAX * 2)).unwrap();
        assert!(devices(1).open(&ahead, at(0)).is_empty(), "from the future");
    }

    #[test]
    fn a_device_keeps_its_name_and_the_proofs_of_its_other_users() {
        let devices = devices(1);
        let mut text = devices.renew(None, None, &user("anna"), false, at(0)).unwrap();
        let id = devices.open(&text, at(0))[0].id;
        for number in 0..5 {
            let name = format!("other{number}");
            text = devices.renew(Some(&text), None, &user(&name), false, at(1)).unwrap();
        }
        let users = |text: &str| -> Vec<String> {
            devices.open(text, at(2)).iter().map(|known| known.user.subject().to_owned()).collect()
        };
        assert_eq!(users(&text), ["other4", "other3", "other2", "other1"], "the last ones");
        text = devices.renew(Some(&text), Some(id), &user("other2"), false, at(2)).unwrap();
        assert_eq!(users(&text), ["other2", "other4", "other3", "other1"], "each once");
        assert_eq!(devices.open(&text, at(2))[0].id, id);
    }
}

//! Proofs that a user has logged in on a device before: a text that the client keeps, in a cookie or otherwise.
//!
//! It opens nothing. A login that brings it is counted by itself, so that whoever guesses at the user's password elsewhere does not keep the
//! user out. All nodes can open it, after restarts too: it is sealed under a key that is made of the cluster's secret, not under the keys of sessions, which
//! are forgotten after a session's life. Several users of one device have a proof each, one after the other in the same text.
//!
//! A proof is the Base64 (for URLs, without padding) of a version byte, a salt (16), the sealed content, and a tag (16). Each has a key
//! of its own, made of version and salt, so that no nonce comes twice however many there are. The content: when it was given (8), since when the user
//! has their password as far as that was known (8; not in version 1), whether a code was given (1), the device (16), the length of the realm (1), realm
//! and subject.

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
const VERSION: u8 = 2;

/// What proofs began with before they said since when the user has their password.
const VERSION_WITHOUT_PASSWORD: u8 = 1;

/// Version and salt.
const HEAD: usize = 1 + 16;

/// Times, code, device, length of the realm.
const FIXED: usize = 8 + 8 + 1 + 16 + 1;

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
    /// Since when the user had their password then. 0 is not known.
    pub(crate) password_since: Moment,
    /// Whether a right code was given on it, at this login or before.
    pub(crate) has_code: bool,
}

impl KnownDevice {
    /// A device at a login now, under the name that it had, or a new one. `None` where there is no randomness.
    pub(crate) fn new(
        id: Option<DeviceId>,
        user: &User,
        has_code: bool,
        password_since: Moment,
        now: Moment,
    ) -> Option<KnownDevice> {
        let id = id.map_or_else(|| random().map(DeviceId), Some)?;
        Some(KnownDevice { id, user: user.clone(), issued: now, password_since, has_code })
    }

    /// Whether it is of a time before the user was given the password that they have. The directory's clock is compared with itself,
    /// where the proof says what it showed.
    pub(crate) fn is_before(&self, since: Moment) -> bool {
        if self.password_since.ms() == 0 { self.issued < since } else { self.password_since != since }
    }
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
        let version = *head.first()?;
        if version != VERSION && version != VERSION_WITHOUT_PASSWORD {
            return None;
        }
        let nonce = Nonce::assume_unique_for_key([0; 12]);
        let content = self.cipher(head)?.open_in_place(nonce, Aad::from(*head), sealed).ok()?;
        let known = read(version, content)?;
        // Of a node whose clock is ahead it may be from the future, but not by more than clocks differ.
        let is_good = known.issued <= now.plus(CLOCK_SKEW_MAX) && now.since(known.issued) < self.lifetime;
        is_good.then_some(known)
    }

    /// A text for the device on which a user has logged in, with the proofs of others that were shown and are good. `None` where there are no proofs, or
    /// no randomness.
    pub(crate) fn renew(&self, shown: Option<&str>, known: &KnownDevice, now: Moment) -> Option<String> {
        if self.lifetime.is_zero() {
            return None;
        }
        let mut text = self.seal(known)?;
        let others =
            self.opened(shown.unwrap_or_default(), now).filter(|(_, other)| other.user != known.user);
        for (proof, _) in others.take(USERS_MAX - 1) {
            text.push(BETWEEN);
            text.push_str(proof);
        }
        Some(text)
    }

    fn seal(&self, known: &KnownDevice) -> Option<String> {
        let mut head = [VERSION; HEAD];
        head.get_mut(1..)?.copy_from_slice(&random()?);
        let KnownDevice { id, user, issued, password_since, has_code } = known;
        let mut content = Vec::with_capacity(FIXED + user.realm().len() + user.subject().len());
        content.extend(issued.ms().to_be_bytes());
        content.extend(password_since.ms().to_be_bytes());
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

fn read(version: u8, content: &[u8]) -> Option<KnownDevice> {
    let (issued, rest) = content.split_first_chunk::<8>()?;
    let unknown = ([0; 8], rest);
    let (since, rest) = match version {
        VERSION_WITHOUT_PASSWORD => unknown,
        _ => rest.split_first_chunk::<8>().map(|(since, rest)| (*since, rest))?,
    };
    let (has_code, rest) = rest.split_first()?;
    let (id, rest) = rest.split_first_chunk::<16>()?;
    let (realm_length, names) = rest.split_first()?;
    let (realm, subject) = std::str::from_utf8(names).ok()?.split_at_checked((*realm_length).into())?;
    Some(KnownDevice {
        id: DeviceId(*id),
        user: User::new(realm, subject).ok()?,
        issued: Moment::from_ms(u64::from_be_bytes(*issued)),
        password_since: Moment::from_ms(u64::from_be_bytes(since)),
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

    fn login(id: Option<DeviceId>, user: &User, has_code: bool, now: Moment) -> KnownDevice {
        KnownDevice::new(id, user, has_code, at(0), now).unwrap()
    }

    #[test]
    fn a_proof_is_good_for_its_user_its_cluster_and_its_time() {
        let anna = user("anna");
        let text = devices(1).renew(None, &login(None, &anna, true, at(0)), at(0)).unwrap();
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
        let later = at(90).plus(CLOCK_SKEW_MAX * 2);
        let ahead = devices(1).renew(None, &login(None, &anna, false, later), later).unwrap();
        assert!(devices(1).open(&ahead, at(0)).is_empty(), "from the future");
    }

    #[test]
    fn a_device_keeps_its_name_and_the_proofs_of_its_other_users() {
        let devices = devices(1);
        let mut text = devices.renew(None, &login(None, &user("anna"), false, at(0)), at(0)).unwrap();
        let id = devices.open(&text, at(0))[0].id;
        for number in 0..5 {
            let name = format!("other{number}");
            text = devices.renew(Some(&text), &login(None, &user(&name), false, at(1)), at(1)).unwrap();
        }
        let users = |text: &str| -> Vec<String> {
            devices.open(text, at(2)).iter().map(|known| known.user.subject().to_owned()).collect()
        };
        assert_eq!(users(&text), ["other4", "other3", "other2", "other1"], "the last ones");
        text = devices.renew(Some(&text), &login(Some(id), &user("other2"), false, at(2)), at(2)).unwrap();
        assert_eq!(users(&text), ["other2", "other4", "other3", "other1"], "each once");
        assert_eq!(devices.open(&text, at(2))[0].id, id);
    }

    #[test]
    fn a_proof_is_over_with_the_password_of_its_time() {
        let devices = devices(1);
        let mut known = login(None, &user("anna"), false, at(50));
        let text = devices.renew(None, &known, at(50)).unwrap();
        let [read] = devices.open(&text, at(60)).try_into().unwrap();
        assert_eq!(read, known);
        // Whatever clock says so.
        assert!(!read.is_before(at(0)) && read.is_before(at(1)) && read.is_before(at(49)));
        // Of before it was noted.
        known.password_since = Moment::from_ms(0);
        assert!(!known.is_before(at(50)) && known.is_before(at(51)));
    }

    #[test]
    fn a_proof_of_the_version_before_is_read() {
        let devices = devices(1);
        let anna = user("anna");
        let mut content = at(0).ms().to_be_bytes().to_vec();
        content.push(1);
        content.extend([7; 16]);
        content.push(u8::try_from(anna.realm().len()).unwrap());
        content.extend([anna.realm().as_bytes(), anna.subject().as_bytes()].concat());
        let head = [VERSION_WITHOUT_PASSWORD; HEAD];
        let nonce = Nonce::assume_unique_for_key([0; 12]);
        devices
            .cipher(&head)
            .unwrap()
            .seal_in_place_append_tag(nonce, Aad::from(head), &mut content)
            .unwrap();
        let text = URL_SAFE_NO_PAD.encode([head.as_slice(), &content].concat());
        let [known] = devices.open(&text, at(1)).try_into().unwrap();
        assert_eq!((known.user, known.id, known.password_since.ms()), (anna, DeviceId([7; 16]), 0));
    }
}

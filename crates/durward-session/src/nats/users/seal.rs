//! Records of users are sealed under a key made of the cluster's secret, each for its place: nobody else reads or changes them, or shows
//! one user's record for another's.
//!
//! AES-256-GCM with random nonces, as for keys of sessions: 2^32 records under one secret, and a user has some thousand in a life.

use bytes::{BufMut, Bytes, BytesMut};
use durward_identity::session::User;
use durward_identity::{Entropy, IdentityError, SystemEntropy, hex};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac::{HMAC_SHA256, Key, sign};

use crate::challenge::derive;

/// What a sealed record begins with; its last byte is the version.
const HEAD: &[u8; 5] = b"user1";

/// Bytes of what names a user in a subject.
const TOKEN_BYTES: usize = 16;

/// Seals records of users, and opens them.
pub(super) struct UserSeal {
    cipher: LessSafeKey,
    names: Key,
    stream: String,
}

impl UserSeal {
    pub(super) fn new(secret: &[u8; 32], stream: &str) -> Result<UserSeal, IdentityError> {
        let key = UnboundKey::new(&AES_256_GCM, &derive(secret, "records of users"));
        let cipher = key.map_err(|_| IdentityError::new("the cluster key does not fit its cipher"))?;
        let names = Key::new(HMAC_SHA256, &derive(secret, "names of users"));
        Ok(UserSeal { cipher: LessSafeKey::new(cipher), names, stream: stream.to_owned() })
    }

    /// What stands for a user in a subject. Whoever has no secret cannot try names.
    pub(super) fn token(&self, user: &User) -> String {
        let said = format!("{}\0{}", user.realm(), user.subject());
        let tag = sign(&self.names, said.as_bytes());
        hex(tag.as_ref().get(..TOKEN_BYTES).unwrap_or_default())
    }

    /// Seals a record for its place.
    pub(super) fn seal(&self, token: &str, content: &[u8]) -> Result<Bytes, IdentityError> {
        let mut nonce = [0; NONCE_LEN];
        SystemEntropy.fill(&mut nonce)?;
        let mut sealed = content.to_vec();
        let place = Aad::from(self.place(token));
        self.cipher
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), place, &mut sealed)
            .map_err(|_| IdentityError::new("sealing failed"))?;
        let mut bytes = BytesMut::with_capacity(HEAD.len() + NONCE_LEN + sealed.len());
        bytes.put_slice(HEAD);
        bytes.put_slice(&nonce);
        bytes.put_slice(&sealed);
        Ok(bytes.freeze())
    }

    /// The content, if a node of this cluster sealed it for this place.
    pub(super) fn open(&self, token: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.strip_prefix(HEAD)?.split_first_chunk::<NONCE_LEN>()?;
        let mut content = sealed.to_vec();
        let place = Aad::from(self.place(token));
        let length =
            self.cipher.open_in_place(Nonce::assume_unique_for_key(*nonce), place, &mut content).ok()?.len();
        content.truncate(length);
        Some(content)
    }

    /// Neither has a blank, so that no two places read alike.
    fn place(&self, token: &str) -> String {
        format!("durward user {} {token}", self.stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_opened_in_its_place_alone_and_not_when_it_was_changed() {
        let seal = UserSeal::new(&[1; 32], "sessions").unwrap();
        let [anna, berta] = ["anna", "berta"].map(|name| seal.token(&User::new("/", name).unwrap()));
        let sealed = seal.seal(&anna, b"content").unwrap();
        assert_eq!(seal.open(&anna, &sealed).as_deref(), Some(b"content".as_slice()));
        assert_eq!(seal.open(&berta, &sealed), None, "another user");
        assert_eq!(UserSeal::new(&[2; 32], "sessions").unwrap().open(&anna, &sealed), None);
        assert_eq!(UserSeal::new(&[1; 32], "other").unwrap().open(&anna, &sealed), None);
        for at in 0..sealed.len() {
            let mut changed = sealed.to_vec();
            changed[at] ^= 1;
            assert_eq!(seal.open(&anna, &changed), None, "{at}");
            assert_eq!(seal.open(&anna, &sealed[..at]), None, "{at}");
        }
    }

    #[test]
    fn a_subject_does_not_tell_the_name() {
        let user = User::new("/", "anna").unwrap();
        let [one, other] = [[1; 32], [2; 32]].map(|secret| UserSeal::new(&secret, "s").unwrap().token(&user));
        assert_ne!(one, other);
        assert_eq!(one.len(), 2 * TOKEN_BYTES);
    }
}

//! Signatures in the form of minisign (<https://jedisct1.github.io/minisign/>): Ed25519 over the BLAKE2b-512 of a file. The tool `minisign`
//! makes the keys and verifies; what is here is the form alone, the cryptography is that of `ed25519-dalek` and `blake2`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use blake2::digest::consts::U32;
use blake2::{Blake2b, Blake2b512, Digest};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

/// A secret key, from the file that `minisign -G -W` writes.
pub(crate) struct Key {
    id: [u8; 8],
    key: SigningKey,
}

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PublicKey {
    id: [u8; 8],
    key: VerifyingKey,
}

/// Bytes of a secret key: algorithms, salt, limits, id, key pair, checksum.
const SECRET_BYTES: usize = 2 + 2 + 2 + 32 + 8 + 8 + 8 + 64 + 32;

impl Key {
    /// Reads the file.
    ///
    /// # Errors
    /// It is another kind of file, or is protected by a password.
    pub(crate) fn of(text: &str) -> Result<Key, String> {
        let bytes = second_line(text).filter(|bytes| bytes.len() == SECRET_BYTES);
        let bytes = bytes.ok_or("no secret key of minisign")?;
        let part = |at: usize, length: usize| bytes.get(at..at + length).unwrap_or_default();
        if part(0, 2) != b"Ed" || part(4, 2) != b"B2" {
            return Err("a secret key of minisign with an unknown algorithm".to_owned());
        }
        if part(2, 2) != [0, 0] {
            return Err("the key is protected by a password: make one without, `minisign -G -W`".to_owned());
        }
        let checksum = Blake2b::<U32>::new().chain_update(part(0, 2)).chain_update(part(54, 72)).finalize();
        // The tool leaves zeros there in keys without a password; the crate `minisign` does not. Halves that differ are found in any case.
        if part(126, 32) != &checksum[..] && part(126, 32) != [0; 32] {
            return Err("the secret key is damaged".to_owned());
        }
        let pair = <[u8; 64]>::try_from(part(62, 64)).map_err(|_| "no pair of keys")?;
        let key = SigningKey::from_keypair_bytes(&pair).map_err(|_| "the two halves of the key differ")?;
        Ok(Key { id: part(54, 8).try_into().map_err(|_| "no id of the key")?, key })
    }

    pub(crate) fn public(&self) -> PublicKey {
        PublicKey { id: self.id, key: self.key.verifying_key() }
    }

    /// The text of `NAME.minisig`.
    pub(crate) fn sign(&self, name: &str, content: &[u8], time: u64) -> String {
        let signature = self.key.sign(&Blake2b512::digest(content)).to_bytes();
        let comment = format!("timestamp:{time}\tfile:{name}\thashed");
        let whole = self.key.sign(&[&signature[..], comment.as_bytes()].concat()).to_bytes();
        let first = STANDARD.encode([&b"ED"[..], &self.id, &signature].concat());
        format!(
            "untrusted comment: signature of durward {name}\n{first}\ntrusted comment: {comment}\n{}\n",
            STANDARD.encode(whole)
        )
    }
}

impl PublicKey {
    /// The text of a public key's file.
    pub(crate) fn text(&self) -> String {
        let id: String = self.id.iter().rev().map(|byte| format!("{byte:02X}")).collect();
        let key = STANDARD.encode([&b"Ed"[..], &self.id, self.key.as_bytes()].concat());
        format!("untrusted comment: minisign public key {id}\n{key}\n")
    }

    /// Verifies the text of `NAME.minisig`, and that it is about that name.
    ///
    /// # Errors
    /// Says what does not fit.
    pub(crate) fn verify(&self, name: &str, content: &[u8], text: &str) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("the signature of `{name}` {what}"));
        let lines: Vec<&str> = text.lines().collect();
        let [_, _, comment, whole] = lines.as_slice() else { return wrong("has not four lines") };
        let (Some(first), Ok(whole)) = (second_line(text), STANDARD.decode(whole)) else {
            return wrong("is not base64");
        };
        let Some((head, signature)) = first.split_at_checked(10) else { return wrong("is too short") };
        if head != [&b"ED"[..], &self.id].concat() {
            return wrong("is of another key");
        }
        let Some(comment) = comment.strip_prefix("trusted comment: ") else {
            return wrong("has no trusted comment");
        };
        let fits = |message: &[u8], signature: &[u8]| {
            let signature = Signature::from_slice(signature);
            signature.is_ok_and(|signature| self.key.verify_strict(message, &signature).is_ok())
        };
        if !fits(&Blake2b512::digest(content), signature) {
            return wrong("does not fit the file");
        }
        if !fits(&[signature, comment.as_bytes()].concat(), &whole) {
            return wrong("does not fit its comment");
        }
        if !comment.split('\t').any(|field| field == format!("file:{name}")) {
            return wrong("names another file");
        }
        Ok(())
    }
}

/// The base64 of such a file, below its comment.
fn second_line(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text.lines().nth(1)?.trim()).ok()
}

/// A secret key for tests, as a file: of a seed that everybody knows.
pub(crate) fn sample() -> String {
    let key = SigningKey::from_bytes(&[7; 32]);
    let id = *b"durward!";
    let checked = [&b"Ed"[..], &id, &key.to_keypair_bytes()].concat();
    let checksum = Blake2b::<U32>::digest(&checked);
    let whole = [b"Ed\0\0B2", &[0; 48][..], &id, &key.to_keypair_bytes(), &checksum[..]].concat();
    format!("untrusted comment: a key of tests, worth nothing\n{}\n", STANDARD.encode(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_fits_its_file_its_name_and_its_comment_only() {
        let key = Key::of(&sample()).unwrap();
        let public = key.public();
        let text = key.sign("a.tar.gz", b"content", 5);
        assert_eq!(public.verify("a.tar.gz", b"content", &text), Ok(()));
        let fails = |name: &str, content: &[u8], text: &str| public.verify(name, content, text).unwrap_err();
        assert!(fails("a.tar.gz", b"Content", &text).ends_with("does not fit the file"));
        assert!(fails("b.tar.gz", b"content", &text).ends_with("names another file"));
        assert!(fails("a.tar.gz", b"content", &text.replace("stamp:5", "stamp:6")).ends_with("its comment"));
        let other = PublicKey { id: *b"durward?", ..public.clone() };
        assert!(other.verify("a.tar.gz", b"content", &text).unwrap_err().ends_with("is of another key"));
        assert!(fails("a.tar.gz", b"content", "").ends_with("has not four lines"));
    }

    #[test]
    fn keys_with_a_password_or_damage_are_refused() {
        let whole = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = second_line(&sample()).unwrap();
            change(&mut bytes);
            Key::of(&format!("comment\n{}\n", STANDARD.encode(bytes))).err()
        };
        assert_eq!(whole(&|_| {}), None);
        assert!(whole(&|bytes| bytes[2] = b'S').unwrap().contains("password"));
        assert!(whole(&|bytes| bytes[70] ^= 1).unwrap().contains("damaged"));
        assert_eq!(whole(&|bytes| bytes[126..].fill(0)), None);
        let halves_differ = |bytes: &mut Vec<u8>| {
            bytes[70] ^= 1;
            bytes[126..].fill(0);
        };
        assert!(whole(&halves_differ).unwrap().contains("halves"));
        assert!(whole(&|bytes| bytes.truncate(100)).unwrap().contains("no secret key"));
        assert!(Key::of("-----BEGIN PRIVATE KEY-----\n").is_err());
    }
}

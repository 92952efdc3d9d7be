//! Texts that a cluster gives out and reads again, and that nobody else can read or make: what would else be kept in memory until it
//! comes back.
//!
//! A text is the Base64 (for URLs, without padding) of a version byte, the number of the period whose key sealed it (4 bytes), a nonce
//! (12), the sealed content, and a tag (16). Keys change with the period, so that no key seals too many with nonces that are random.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::key::{cipher, open, seal};
use crate::IdentityError;
use crate::entropy::Entropy;

/// The longest text that is read or made, in characters.
pub const SEALED_LENGTH_MAX: usize = 16 * 1024;

/// The form of the text that is written and read.
const VERSION: u8 = 1;

fn head(period: u32) -> [u8; 5] {
    let [a, b, c, d] = period.to_be_bytes();
    [VERSION, a, b, c, d]
}

/// Seals content under the key of a period. For each purpose there is another key.
///
/// # Errors
/// There is no randomness to be had, or the text would be longer than [`SEALED_LENGTH_MAX`].
pub fn seal_text(
    key: &[u8; 32],
    period: u32,
    content: &[u8],
    entropy: &dyn Entropy,
) -> Result<String, IdentityError> {
    let cipher = cipher(key).ok_or_else(|| IdentityError::new("the key does not fit its cipher"))?;
    let text = URL_SAFE_NO_PAD.encode(seal(&cipher, entropy, &head(period), content)?);
    if text.len() > SEALED_LENGTH_MAX {
        let message = format!("a sealed text would be longer than {SEALED_LENGTH_MAX} characters");
        return Err(IdentityError::new(message));
    }
    Ok(text)
}

/// The content of a text, if the key of its period sealed it. `key` gives nothing for a period that is over.
pub fn open_text(text: &str, key: impl FnOnce(u32) -> Option<[u8; 32]>) -> Option<Vec<u8>> {
    if text.len() > SEALED_LENGTH_MAX {
        return None;
    }
    let mut bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let (head, sealed) = bytes.split_first_chunk_mut::<5>()?;
    let [version, period @ ..] = *head;
    if version != VERSION {
        return None;
    }
    let cipher = cipher(&key(u32::from_be_bytes(period))?)?;
    open(&cipher, head, sealed).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemEntropy;

    #[test]
    fn a_text_is_read_with_its_key_and_in_its_period_and_not_when_changed() {
        let text = seal_text(&[1; 32], 7, b"content", &SystemEntropy).unwrap();
        let of_seven = |period| (period == 7).then_some([1; 32]);
        assert_eq!(open_text(&text, of_seven).as_deref(), Some(b"content".as_slice()));
        assert_eq!(open_text(&text, |_| Some([2; 32])), None, "another cluster's");
        assert_eq!(open_text(&text, |_| None), None, "over");
        for place in 0..text.len() {
            let mut other = text.clone().into_bytes();
            other[place] = if other[place] == b'A' { b'Q' } else { b'A' };
            assert_eq!(open_text(std::str::from_utf8(&other).unwrap(), |_| Some([1; 32])), None, "{place}");
            assert_eq!(open_text(&text[..place], |_| Some([1; 32])), None, "{place}");
        }
        assert_eq!(open_text(&"A".repeat(1 << 20), |_| Some([1; 32])), None);
        assert!(seal_text(&[1; 32], 7, &[0; SEALED_LENGTH_MAX], &SystemEntropy).is_err());
    }
}

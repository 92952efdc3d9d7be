//! Randomness, and names made of it.

use crate::BundleError;

/// Bytes that nobody can guess.
///
/// # Errors
/// The system has none to give.
pub fn random_bytes<const N: usize>() -> Result<[u8; N], BundleError> {
    let mut bytes = [0; N];
    match getrandom::fill(&mut bytes) {
        Ok(()) => Ok(bytes),
        Err(error) => Err(BundleError::new(format!("the system gives no randomness: {error}"))),
    }
}

/// A name that nothing else has: a random UUID (version 4).
///
/// # Errors
/// The system has no randomness.
pub fn random_id() -> Result<String, BundleError> {
    let mut bits = u128::from_be_bytes(random_bytes()?);
    bits &= !(0xf << 76) & !(0x3 << 62);
    bits |= (0x4 << 76) | (0x2 << 62);
    let digits = format!("{bits:032x}");
    let parts = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)];
    Ok(parts.map(|(from, to)| digits.get(from..to).unwrap_or_default()).join("-"))
}

/// Letters and digits, each of 62 equally likely: 5.95 bits a character.
///
/// # Errors
/// The system has no randomness.
pub fn letters(length: usize) -> Result<String, BundleError> {
    const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut text = String::with_capacity(length);
    while text.len() < length {
        // What is left over of 256 would make some likelier.
        let usable = random_bytes::<64>()?.into_iter().filter(|byte| usize::from(*byte) < 4 * ALPHABET.len());
        let letters = usable.filter_map(|byte| ALPHABET.get(usize::from(byte) % ALPHABET.len()));
        text.extend(letters.map(|byte| char::from(*byte)).take(length - text.len()));
    }
    Ok(text)
}

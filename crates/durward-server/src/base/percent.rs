//! `%XX`, as paths, queries and forms have it (RFC 3986, 2.1).

/// What a `%` is without two digits behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stray {
    /// A mistake.
    Refused,
    /// Itself.
    Kept,
}

/// The bytes that are meant. `None` for a `%` that is refused.
pub(crate) fn decoded(text: &[u8], stray: Stray) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match (first, escaped(after), stray) {
            (b'%', Some((byte, after)), _) => {
                bytes.push(byte);
                rest = after;
            }
            (b'%', None, Stray::Refused) => return None,
            (byte, _, _) => bytes.push(*byte),
        }
    }
    Some(bytes)
}

/// The byte that two digits name, and what follows.
fn escaped(after: &[u8]) -> Option<(u8, &[u8])> {
    let [high, low, after @ ..] = after else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    Some((u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()?, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_digits_are_a_byte_and_fewer_are_refused_or_kept() {
        for stray in [Stray::Refused, Stray::Kept] {
            assert_eq!(decoded(b"a%20b%fF+", stray).unwrap(), b"a b\xff+");
        }
        for text in ["%", "a%4", "%zz", "%+1"] {
            assert_eq!(decoded(text.as_bytes(), Stray::Refused), None, "{text}");
            assert_eq!(decoded(text.as_bytes(), Stray::Kept).unwrap(), text.as_bytes());
        }
    }
}

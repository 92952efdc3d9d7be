//! CBOR, as authenticators write it (CTAP2, 8: canonical): items with a definite end, no key of a map twice, hardly nested. What else is
//! in it is refused rather than understood.

use ciborium::Value;

use super::PasskeyRefusal;

/// How deep items may be nested. CTAP2 has four levels.
const DEPTH_MAX: usize = 6;

/// A map with keys of a kind.
pub(super) struct Map(Vec<(Value, Value)>);

/// Reads one map from the beginning, and gives what stands behind it. `what` says for errors what it is.
///
/// Memory: the length of a string or a list that is said before it is not believed; what is read is no longer than `bytes`.
pub(super) fn read_map<'b>(bytes: &'b [u8], what: &'static str) -> Result<(Map, &'b [u8]), PasskeyRefusal> {
    let mut rest = bytes;
    let value = ciborium::de::from_reader_with_recursion_limit(&mut rest, DEPTH_MAX);
    let Ok(Value::Map(entries)) = value else { return Err(PasskeyRefusal::Malformed(what)) };
    let is_twice =
        |(at, (key, _)): (usize, &(Value, Value))| entries.iter().take(at).any(|(other, _)| other == key);
    if entries.iter().enumerate().any(is_twice) {
        return Err(PasskeyRefusal::Malformed(what));
    }
    Ok((Map(entries), rest))
}

impl Map {
    fn find(&self, is_it: impl Fn(&Value) -> bool) -> Option<&Value> {
        self.0.iter().find(|(key, _)| is_it(key)).map(|(_, value)| value)
    }

    /// The value of a key that is text.
    pub(super) fn text_key(&self, key: &str) -> Option<&Value> {
        self.find(|one| one.as_text() == Some(key))
    }

    fn number_key(&self, key: i64) -> Option<&Value> {
        self.find(|one| one.as_integer() == Some(key.into()))
    }

    /// A number under a number.
    pub(super) fn number(&self, key: i64) -> Option<i64> {
        self.number_key(key)?.as_integer()?.try_into().ok()
    }

    /// Bytes under a number.
    pub(super) fn bytes(&self, key: i64) -> Option<&[u8]> {
        self.number_key(key)?.as_bytes().map(Vec::as_slice)
    }

    /// How many entries there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_short_nested_deep_or_said_to_be_huge_is_refused() {
        let deep: Vec<u8> = std::iter::repeat_n([0xa1, 0x01], 200).flatten().chain([0x00]).collect();
        let refused: [&[u8]; 12] = [
            &[],
            &[0xa1],
            &[0xa1, 0x01],
            // Maps and strings with 2^64 - 1 and some billion entries.
            &[0xbb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            &[0xba, 0xff, 0xff, 0xff, 0xff, 0x01, 0x01],
            &[0xa1, 0x01, 0x5b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00],
            &[0xa1, 0x01, 0x9b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00],
            // A key twice; the same key written longer.
            &[0xa2, 0x01, 0x02, 0x01, 0x03],
            &[0xa2, 0x01, 0x02, 0x18, 0x01, 0x03],
            // Another kind.
            &[0x80],
            &[0xf6],
            &deep,
        ];
        for bytes in refused {
            assert!(read_map(bytes, "it").is_err(), "{bytes:02x?}");
        }
        let (map, rest) = read_map(&[0xa2, 0x01, 0x02, 0x21, 0x41, 0x07, 0xee], "it").unwrap();
        assert_eq!(
            (map.number(1), map.bytes(-2), map.number(3), rest),
            (Some(2), Some(&[7][..]), None, &[0xee][..])
        );
    }
}

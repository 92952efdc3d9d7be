//! CBOR, as authenticators write it (CTAP2, 8: canonical): items with a definite end, no key of a map twice, hardly nested. What else is
//! in it is refused rather than understood.

use minicbor::Decoder;
use minicbor::data::Type;

use super::PasskeyRefusal;

/// How deep items may be nested. CTAP2 has four levels.
const DEPTH_MAX: usize = 6;

/// An item, of which only the kinds are told apart that authenticators use. Only numbers and texts are keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item<'b> {
    Number(i64),
    Text(&'b str),
    Bytes(&'b [u8]),
    /// A map with so many entries.
    Map(u64),
    /// What is read over: lists, tags, numbers that are larger or broken, `true`, `null`.
    Other,
}

/// A map with keys of a kind.
pub(super) struct Map<'b>(Vec<(Item<'b>, Item<'b>)>);

/// Reads one map from the beginning, and gives what stands behind it. `what` says for errors what it is.
///
/// Memory: the length of a string or a list that is said before it is not believed; what is read is no longer than `bytes`.
pub(super) fn read_map<'b>(
    bytes: &'b [u8],
    what: &'static str,
) -> Result<(Map<'b>, &'b [u8]), PasskeyRefusal> {
    let mut reader = Decoder::new(bytes);
    let map = entries(&mut reader).ok_or(PasskeyRefusal::Malformed(what))?;
    Ok((map, bytes.get(reader.position()..).unwrap_or_default()))
}

fn entries<'b>(reader: &mut Decoder<'b>) -> Option<Map<'b>> {
    let mut entries = Vec::new();
    for _ in 0..reader.map().ok()?? {
        let key = item(reader, 1)?;
        let is_name = matches!(key, Item::Number(_) | Item::Text(_));
        if !is_name || entries.iter().any(|(other, _)| *other == key) {
            return None;
        }
        entries.push((key, item(reader, 1)?));
    }
    Some(Map(entries))
}

/// Reads one item that stands in so many others, with all that is in it. Recursion ends at [`DEPTH_MAX`]; a loop, where the bytes do.
fn item<'b>(reader: &mut Decoder<'b>, depth: usize) -> Option<Item<'b>> {
    let inner = |reader: &mut Decoder<'b>| item(reader, depth + 1);
    let kind = reader.datatype().ok()?;
    if matches!(kind, Type::Array | Type::Map | Type::Tag) && depth >= DEPTH_MAX {
        return None;
    }
    match kind {
        Type::U8
        | Type::U16
        | Type::U32
        | Type::U64
        | Type::I8
        | Type::I16
        | Type::I32
        | Type::I64
        | Type::Int => Some(i64::try_from(reader.int().ok()?).map_or(Item::Other, Item::Number)),
        Type::Bytes => reader.bytes().ok().map(Item::Bytes),
        Type::String => reader.str().ok().map(Item::Text),
        Type::Array => {
            for _ in 0..reader.array().ok()?? {
                inner(reader)?;
            }
            Some(Item::Other)
        }
        Type::Map => {
            let count = reader.map().ok()??;
            for _ in 0..count {
                inner(reader)?;
                inner(reader)?;
            }
            Some(Item::Map(count))
        }
        Type::Tag => {
            reader.tag().ok()?;
            inner(reader)?;
            Some(Item::Other)
        }
        Type::Bool | Type::Null | Type::Undefined | Type::F16 | Type::F32 | Type::F64 | Type::Simple => {
            reader.skip().ok()?;
            Some(Item::Other)
        }
        Type::BytesIndef
        | Type::StringIndef
        | Type::ArrayIndef
        | Type::MapIndef
        | Type::Break
        | Type::Unknown(_) => None,
    }
}

impl<'b> Map<'b> {
    fn find(&self, key: Item<'_>) -> Option<Item<'b>> {
        self.0.iter().find(|(one, _)| *one == key).map(|(_, value)| *value)
    }

    /// Text under text.
    pub(super) fn text_at(&self, key: &str) -> Option<&'b str> {
        let Item::Text(text) = self.find(Item::Text(key))? else { return None };
        Some(text)
    }

    /// How many entries the map has that stands under text.
    pub(super) fn map_len_at(&self, key: &str) -> Option<u64> {
        let Item::Map(count) = self.find(Item::Text(key))? else { return None };
        Some(count)
    }

    /// Bytes under text.
    pub(super) fn bytes_at(&self, key: &str) -> Option<&'b [u8]> {
        let Item::Bytes(bytes) = self.find(Item::Text(key))? else { return None };
        Some(bytes)
    }

    /// A number under a number.
    pub(super) fn number(&self, key: i64) -> Option<i64> {
        let Item::Number(number) = self.find(Item::Number(key))? else { return None };
        Some(number)
    }

    /// Bytes under a number.
    pub(super) fn bytes(&self, key: i64) -> Option<&'b [u8]> {
        let Item::Bytes(bytes) = self.find(Item::Number(key))? else { return None };
        Some(bytes)
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
        let refused: [&[u8]; 17] = [
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
            // Without an end; in a value, too.
            &[0xbf, 0x01, 0x02, 0xff],
            &[0xa1, 0x01, 0x9f, 0xff],
            &[0xa1, 0x01, 0x5f, 0x41, 0x00, 0xff],
            // Keys that are lists or numbers beyond 64 bits.
            &[0xa1, 0x80, 0x01],
            &[0xa1, 0x3b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            // Another kind.
            &[0x80],
            &[0xf6],
            &deep,
        ];
        for bytes in refused {
            assert!(read_map(bytes, "it").is_err(), "{bytes:02x?}");
        }
        // Lists, tags and fractions are read over: a value in six others is, one in seven is not.
        for (nested, is_read) in [(5, true), (6, false)] {
            let lists = std::iter::repeat_n(0x81, nested);
            let bytes: Vec<u8> = [0xa1, 0x01].into_iter().chain(lists).chain([0xf9, 0x3c, 0x00]).collect();
            assert_eq!(read_map(&bytes, "it").is_ok(), is_read, "{bytes:02x?}");
        }
        assert!(read_map(&[0xa1, 0x01, 0xc1, 0x00], "it").is_ok());
        let (map, rest) = read_map(&[0xa2, 0x01, 0x02, 0x21, 0x41, 0x07, 0xee], "it").unwrap();
        assert_eq!(
            (map.number(1), map.bytes(-2), map.number(3), rest),
            (Some(2), Some(&[7][..]), None, &[0xee][..])
        );
    }
}

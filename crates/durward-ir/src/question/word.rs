//! Names and values in machine words, so that comparing two words is comparing what they stand for.
//!
//! Short ones fit into a [`Word`] as they are. Long texts of XACML that policies know are numbers. Other long ones are digests, and
//! whoever finds one that is equal asks the text itself.

use super::known_texts;
use crate::datatype::Integer;
use crate::path::Element;
use crate::value::Value;

/// A name or a value in 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Word {
    low: u64,
    high: u64,
}

/// What the uppermost byte of a word says. With this bit, the word says all that there is to say of a value.
const WHOLE: u8 = 0x80;
/// Texts as they are have their length in the four bits below.
const TEXT: u8 = WHOLE;
const INTEGER: u8 = WHOLE | 0x10;
const BOOLEAN: u8 = WHOLE | 0x11;
const NULL: u8 = WHOLE | 0x12;
const KNOWN_TEXT: u8 = WHOLE | 0x13;
const ABSENT: u8 = 0;
const LONG: u8 = 1;
const COMPOSED: u8 = 2;
const UNSURE: u8 = 3;
const NAME: u8 = 0x40;
const LONG_NAME: u8 = 0x20;

/// The longest text that is its own word, in bytes.
const TEXT_MAX: usize = 15;
/// The longest name that is its own word; one byte says which element it is of.
const NAME_MAX: usize = 13;

/// What the word of a value stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Nothing.
    Absent,
    /// A text, as it is.
    Text,
    /// The digest of a text.
    LongText,
    /// A whole number of 64 bits, `true`, `false` or `null`, as it is, or the number of a text.
    Plain,
    /// An array or object, which is compared with no constant.
    Composed,
    /// Something else.
    Unsure,
}

impl Word {
    /// The word of a value.
    pub fn of(value: &Value) -> Word {
        match value {
            Value::Undefined => Word::default(),
            Value::Text(text) => Word::of_text(text),
            Value::Number(number) => match number.to_i64() {
                Some(integer) => Word::of_integer(integer),
                None => Word::tagged(UNSURE, 0),
            },
            Value::Boolean(boolean) => Word::tagged(BOOLEAN, u64::from(*boolean)),
            Value::Null => Word::tagged(NULL, 0),
            Value::Array(_) | Value::Object(_) => Word::tagged(COMPOSED, 0),
            Value::Integer(_)
            | Value::Double(_)
            | Value::Time(_)
            | Value::Date(_)
            | Value::DateTime(_)
            | Value::DayTimeDuration(_)
            | Value::YearMonthDuration(_)
            | Value::AnyUri(_)
            | Value::HexBinary(_)
            | Value::Base64Binary(_)
            | Value::Rfc822Name(_)
            | Value::X500Name(_)
            | Value::IpAddress(_)
            | Value::DnsName(_)
            | Value::XPathExpression(_)
            | Value::Opaque(_) => Word::tagged(UNSURE, 0),
        }
    }

    /// The word of a value of XACML beside others of its data type. Values of types that policies do not compare with constants
    /// by number are [`Kind::Composed`].
    #[inline]
    pub(crate) fn of_attribute(value: &Value) -> Word {
        if let Value::Text(text) | Value::AnyUri(text) = value {
            Word::of_attribute_text(text)
        } else if let Value::Boolean(boolean) = value {
            Word::tagged(BOOLEAN, u64::from(*boolean))
        } else if let Value::Integer(Integer::Small(integer)) = value {
            Word::of_integer(*integer)
        } else {
            Word::tagged(if value.is_internable() { UNSURE } else { COMPOSED }, 0)
        }
    }

    /// The same of a text.
    #[inline]
    pub(crate) fn of_attribute_text(text: &str) -> Word {
        if text.len() > TEXT_MAX
            && let Some(number) = known_texts::number_of(text)
        {
            return Word::tagged(KNOWN_TEXT, number.into());
        }
        Word::of_text(text)
    }

    /// The word of a value of XACML that was read before its text had a number, if that is another one.
    pub(crate) fn of_earlier_attribute(value: &Value) -> Option<Word> {
        Word::long_text(value).map(Word::of_text).filter(|word| *word != Word::of_attribute(value))
    }

    /// The text of a value of XACML that is no word as it is.
    pub(crate) fn long_text(value: &Value) -> Option<&str> {
        if let Value::Text(text) | Value::AnyUri(text) = value
            && text.len() > TEXT_MAX
        {
            return Some(text);
        }
        None
    }

    /// The word of a whole number.
    #[inline]
    pub(crate) fn of_integer(integer: i64) -> Word {
        Word::tagged(INTEGER, integer.cast_unsigned())
    }

    /// The word of nothing.
    pub(crate) const NONE: Word = Word { low: 0, high: 0 };

    /// The word of a value that has to be looked at itself.
    pub(crate) const UNSURE: Word = Word::tagged(UNSURE, 0);

    /// The word of a text.
    #[inline]
    pub(crate) fn of_text(text: &str) -> Word {
        if text.len() <= TEXT_MAX {
            Word::of_bytes(padded(text), TEXT | text.len() as u8)
        } else {
            Word::tagged(LONG, Value::content_hash_of_text(text))
        }
    }

    /// The word of an object whose keys are fields of their own.
    pub(crate) const OBJECT: Word = Word::tagged(COMPOSED, 0);

    /// The word of an element of a subscription, or of a key in it.
    #[inline]
    pub(crate) fn of_name(element: Element, key: Option<&str>) -> Word {
        let Some(key) = key else { return Word::tagged(NAME, element as u64) };
        if key.len() > NAME_MAX {
            return Word::tagged(LONG_NAME, crate::path::FieldKey::of(element, Some(key)).0);
        }
        let mut bytes = padded(key);
        bytes[13] = 1 + element as u8;
        bytes[14] = key.len() as u8;
        Word::of_bytes(bytes, NAME)
    }

    fn of_bytes(mut bytes: [u8; 16], tag: u8) -> Word {
        bytes[15] = tag;
        let both = u128::from_le_bytes(bytes);
        Word { low: both as u64, high: (both >> 64) as u64 }
    }

    const fn tagged(tag: u8, low: u64) -> Word {
        Word { low, high: (tag as u64) << 56 }
    }

    fn tag(self) -> u8 {
        (self.high >> 56) as u8
    }

    /// What it stands for, if it is of a value.
    #[inline]
    pub(crate) fn kind(self) -> Kind {
        match self.tag() {
            TEXT..INTEGER => Kind::Text,
            INTEGER.. => Kind::Plain,
            ABSENT => Kind::Absent,
            LONG => Kind::LongText,
            COMPOSED => Kind::Composed,
            _ => Kind::Unsure,
        }
    }

    /// Whether equal words are of equal values: it is a [`Kind::Text`] or [`Kind::Plain`].
    #[inline]
    pub(crate) fn is_whole(self) -> bool {
        self.tag() & WHOLE != 0
    }

    /// The whole number it stands for, if it is one.
    #[inline]
    pub(crate) fn integer(self) -> Option<i64> {
        (self.tag() == INTEGER).then_some(self.low.cast_signed())
    }

    /// Whether equal words are of equal names.
    #[inline]
    pub(crate) fn is_whole_name(self) -> bool {
        self.tag() == NAME
    }

    /// Spreads it over 64 bits; the upper ones are the better mixed ones.
    #[inline]
    pub(crate) fn hash(self) -> u64 {
        let mixed = (self.low ^ self.high.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ (mixed >> 32) ^ self.high).wrapping_mul(0xd6e8_feb8_6659_fd93)
    }
}

/// The bytes of a text of at most 16, zeros behind them.
#[inline]
fn padded(text: &str) -> [u8; 16] {
    let text = text.as_bytes();
    // Two loads and a shift: a copy of a length that is not known is a call.
    let halves = |length: usize, first: u64, last: u64| match length {
        8.. => u128::from(first) | u128::from(last) << (8 * (length - 8)),
        _ => u128::from(first),
    };
    let packed = match (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        (Some(first), Some(last)) => {
            halves(text.len(), u64::from_le_bytes(*first), u64::from_le_bytes(*last))
        }
        _ => text.iter().rev().fold(0, |packed, byte| packed << 8 | u128::from(*byte)),
    };
    packed.to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integer(integer: i64) -> Value {
        Value::Number(integer.into())
    }

    fn text(text: &str) -> Value {
        Value::Text(text.into())
    }

    #[test]
    fn different_values_have_different_words() {
        let values = [
            Value::Undefined,
            Value::Null,
            Value::Boolean(false),
            Value::Boolean(true),
            integer(0),
            integer(1),
            integer(-1),
            text(""),
            text("\0"),
            text("\0\0"),
            text("a"),
            text("fifteen-letters"),
            text("sixteen-letters!"),
            text("sixteen-letters?"),
        ];
        for (at, one) in values.iter().enumerate() {
            for (other_at, other) in values.iter().enumerate() {
                assert_eq!(Word::of(one) == Word::of(other), at == other_at, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn a_number_is_the_same_word_however_it_is_written() {
        let read = |json: &str| crate::json::read(json.as_bytes()).unwrap();
        assert_eq!(Word::of(&read("2.0")), Word::of(&read("2")));
        assert_eq!(Word::of(&read("1e2")).integer(), Some(100));
        assert_eq!(Word::of(&read("2.5")).kind(), Kind::Unsure);
        assert_eq!(Word::of(&read("9223372036854775808")).kind(), Kind::Unsure);
    }
}

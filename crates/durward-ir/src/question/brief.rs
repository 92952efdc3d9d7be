//! A subscription in machine words: what a decision compares, without the texts it was made of.
//!
//! Short names and short values fit into a [`Word`] as they are, so that comparing two words is comparing what they stand
//! for. Long ones are digests, and whoever finds one that is equal asks the text itself.

use smallvec::SmallVec;

use super::Number;
use super::layout::Layout;
use crate::path::Element;
use crate::value::Value;

/// A name or a value in 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Word {
    low: u64,
    high: u64,
}

/// What the uppermost byte of a word says. Texts as they are have their length there besides.
const TEXT: u8 = 0x80;
const ABSENT: u8 = 0;
const LONG: u8 = 1;
const INTEGER: u8 = 2;
const BOOLEAN: u8 = 3;
const NULL: u8 = 4;
const COMPOSED: u8 = 5;
const UNSURE: u8 = 6;
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
    /// A whole number of 64 bits, `true`, `false` or `null`, as it is.
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
            Value::Text(text) if text.len() <= TEXT_MAX => {
                let mut bytes = [0; 16];
                bytes.iter_mut().zip(text.as_bytes()).for_each(|(to, from)| *to = *from);
                Word::of_bytes(bytes, TEXT | text.len() as u8)
            }
            Value::Text(_) => Word::tagged(LONG, value.content_hash()),
            Value::Number(number) => match number.to_i64() {
                Some(integer) => Word::tagged(INTEGER, integer.cast_unsigned()),
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

    /// The word of an element of a subscription, or of a key in it.
    pub(crate) fn of_name(element: Element, key: Option<&str>) -> Word {
        let Some(key) = key else { return Word::tagged(NAME, element as u64) };
        if key.len() > NAME_MAX {
            return Word::tagged(LONG_NAME, crate::path::FieldKey::of(element, Some(key)).0);
        }
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(key.as_bytes()).for_each(|(to, from)| *to = *from);
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
            tag if tag & TEXT != 0 => Kind::Text,
            ABSENT => Kind::Absent,
            LONG => Kind::LongText,
            INTEGER | BOOLEAN | NULL => Kind::Plain,
            COMPOSED => Kind::Composed,
            _ => Kind::Unsure,
        }
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

/// One field of a subscription.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BriefField {
    name: Word,
    pub(crate) word: Word,
    /// The word's [`Word::hash`].
    pub(crate) hash: u64,
}

/// The fields of a subscription in words: its elements, and the keys of those that are small objects.
#[derive(Clone, Debug)]
pub struct Brief {
    fields: Vec<BriefField>,
    /// One more than the place of a field, found by the name's hash; 0 ends a chain.
    places: [u8; PLACES],
    /// By element, whether what is not here is undefined.
    is_whole: [bool; 4],
    layout: Layout,
}

/// Where a slot's part of a subscription is among the fields of a layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Seat(u8);

impl Seat {
    /// It cannot be among them.
    pub(crate) const UNCLEAR: Seat = Seat(u8::MAX);
    /// It is not among those of an element, whose number is added.
    const MISSING: u8 = u8::MAX - 4;

    pub(crate) fn of(place: u16) -> Seat {
        u8::try_from(place).ok().filter(|place| *place < Seat::MISSING).map_or(Seat::UNCLEAR, Seat)
    }

    pub(crate) fn missing(element: Element) -> Seat {
        Seat(Seat::MISSING + element as u8)
    }

    /// The place, if there is one.
    #[inline]
    pub(crate) fn place(self) -> Option<u16> {
        (self.0 < Seat::MISSING).then_some(self.0.into())
    }
}

/// A power of two.
const PLACES: usize = 64;

/// More fields than this are not put into words; with this many, a chain is rarely longer than two.
const FIELDS_MAX: usize = 40;

impl Brief {
    /// Of nothing that could be found.
    pub const NONE: &Brief =
        &Brief { fields: Vec::new(), places: [0; PLACES], is_whole: [false; 4], layout: Layout::NONE };

    /// Of these fields in this order; `is_whole` says by element whether a key that is not among them is undefined.
    pub fn new<'v>(
        fields: impl Iterator<Item = (Element, Option<&'v str>, &'v Value)>,
        is_whole: [bool; 4],
    ) -> Brief {
        let fields: SmallVec<[_; FIELDS_MAX]> = fields.take(FIELDS_MAX + 1).collect();
        if fields.len() > FIELDS_MAX {
            return Brief::NONE.clone();
        }
        let names = fields.iter().map(|(element, key, _)| (*element, *key));
        let field = |(element, key, value): &(Element, Option<&str>, &Value)| {
            let (name, word) = (Word::of_name(*element, *key), Word::of(value));
            BriefField { name, word, hash: word.hash() }
        };
        let in_words: Vec<BriefField> = fields.iter().map(field).collect();
        let layout = Layout::of_fields(in_words.iter().map(|field| field.name.hash()), names);
        let mut places = [0; PLACES];
        for (number, field) in (1..).zip(&in_words) {
            let mut at = (field.name.hash() >> 32) as usize % PLACES;
            while let Some(place) = places.get_mut(at) {
                if *place == 0 {
                    *place = number;
                    break;
                }
                at = (at + 1) % PLACES;
            }
        }
        Brief { fields: in_words, places, is_whole, layout }
    }

    /// The place and the field of this name; `hash` is the name's. Another one may have the name where the name is not
    /// whole.
    #[inline]
    pub(crate) fn find(&self, name: Word, hash: u32) -> Option<(u16, &BriefField)> {
        let mut at = hash as usize % PLACES;
        loop {
            let place = usize::from(*self.places.get(at)?).checked_sub(1)?;
            let field = self.fields.get(place)?;
            if field.name == name {
                return Some((place as u16, field));
            }
            at = (at + 1) % PLACES;
        }
    }

    /// The word of the field at a place.
    #[inline]
    pub(crate) fn at(&self, place: u16) -> Option<Word> {
        self.fields.get(usize::from(place)).map(|field| field.word)
    }

    #[inline]
    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// The field of a seat in this very layout.
    #[inline]
    pub(crate) fn seated(&self, seat: Seat) -> Option<&BriefField> {
        self.fields.get(usize::from(seat.0))
    }

    /// What a slot holds whose seat has no field.
    pub(crate) fn unseated(&self, seat: Seat) -> Number {
        let element = seat.0.checked_sub(Seat::MISSING);
        let is_undefined = element.is_some_and(|at| self.is_whole.get(usize::from(at)) == Some(&true));
        if is_undefined { Number::ABSENT } else { Number::MANY }
    }
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

    #[test]
    fn fields_are_found_by_name_and_element() {
        let names = ["a", "b", "thirteen-long", "fourteen-long!", "fourteen-long?"];
        let value = text("v");
        let fields = Element::ALL.into_iter().flat_map(|element| {
            std::iter::once((element, None, &value))
                .chain(names.iter().map(move |name| (element, Some(*name), text_of(name))))
        });
        let fields: Vec<_> = fields.collect();
        let brief = Brief::new(fields.iter().copied(), [true; 4]);
        for (place, (element, name, value)) in (0..).zip(&fields) {
            let word = Word::of_name(*element, *name);
            let (found, field) = brief.find(word, (word.hash() >> 32) as u32).unwrap();
            assert_eq!((found, field.word), (place, Word::of(value)));
        }
        let stranger = Word::of_name(Element::Subject, Some("c"));
        assert!(brief.find(stranger, (stranger.hash() >> 32) as u32).is_none());
    }

    fn text_of(name: &'static str) -> &'static Value {
        Box::leak(Box::new(text(name)))
    }
}

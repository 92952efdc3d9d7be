//! A subscription in machine words: what a decision compares, without the texts it was made of.
//!
//! Short names and short values fit into a [`Word`] as they are, so that comparing two words is comparing what they stand
//! for. Long ones are digests, and whoever finds one that is equal asks the text itself.

use smallvec::SmallVec;

use super::Number;
use super::layout::Layout;
use crate::datatype::Integer;
use crate::path::{Element, Path};
use crate::program::{SlotId, Slots};
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
            Word::of_text(text)
        } else if let Value::Boolean(boolean) = value {
            Word::tagged(BOOLEAN, u64::from(*boolean))
        } else if let Value::Integer(Integer::Small(integer)) = value {
            Word::of_integer(*integer)
        } else {
            Word::tagged(if value.is_internable() { UNSURE } else { COMPOSED }, 0)
        }
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

/// One field of a subscription.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompactField {
    pub(crate) name: Word,
    pub(crate) word: Word,
    /// The word's [`Word::hash`].
    pub(crate) hash: u64,
}

/// The fields of a subscription in words: its elements, and the keys of those that are small objects.
#[derive(Clone, Debug)]
pub struct CompactSubscription {
    fields: SmallVec<[CompactField; FIELDS_INLINE]>,
    /// By element, whether what is not here is undefined.
    is_whole: [bool; 4],
    layout: Layout,
}

/// Where a slot's part of a subscription is among the fields of a layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FieldPosition(u8);

impl FieldPosition {
    /// It cannot be among them.
    pub(crate) const UNCLEAR: FieldPosition = FieldPosition(u8::MAX);
    /// It is not among those of an element, whose number is added.
    const MISSING: u8 = u8::MAX - 4;

    pub(crate) fn of(place: u16) -> FieldPosition {
        u8::try_from(place)
            .ok()
            .filter(|place| *place < FieldPosition::MISSING)
            .map_or(FieldPosition::UNCLEAR, FieldPosition)
    }

    pub(crate) fn missing(element: Element) -> FieldPosition {
        FieldPosition(FieldPosition::MISSING + element as u8)
    }

    /// The place, if there is one.
    #[inline]
    pub(crate) fn place(self) -> Option<u16> {
        (self.0 < FieldPosition::MISSING).then_some(self.0.into())
    }
}

/// So many fields need no memory of their own.
const FIELDS_INLINE: usize = 12;

/// More fields than this are not put into words; with this many, a chain is rarely longer than two.
const FIELDS_MAX: usize = 40;

impl CompactSubscription {
    /// Of nothing that could be found.
    pub const NONE: &CompactSubscription =
        &CompactSubscription { fields: SmallVec::new_const(), is_whole: [false; 4], layout: Layout::NONE };

    /// Of these fields in this order; `is_whole` says by element whether a key that is not among them is undefined.
    pub fn new<'v>(
        fields: impl Iterator<Item = (Element, Option<&'v str>, &'v Value)> + Clone,
        is_whole: [bool; 4],
    ) -> CompactSubscription {
        let mut compact = CompactSubscription { is_whole, ..CompactSubscription::NONE.clone() };
        for (element, key, value) in fields.clone() {
            if !compact.push(Word::of_name(element, key), Word::of(value)) {
                return CompactSubscription::NONE.clone();
            }
        }
        compact.seal(|place| fields.clone().nth(place).and_then(|(_, key, _)| key));
        compact
    }

    /// One more field; `false` where there are too many.
    #[inline]
    pub(super) fn push(&mut self, name: Word, word: Word) -> bool {
        let has_room = self.fields.len() < FIELDS_MAX;
        if has_room {
            self.fields.push(CompactField { name, word, hash: word.hash() });
        }
        has_room
    }

    /// Replaces the word of the field at a place.
    #[inline]
    pub(super) fn set(&mut self, place: usize, word: Word) {
        if let Some(field) = self.fields.get_mut(place) {
            (field.word, field.hash) = (word, word.hash());
        }
    }

    /// Keys of the element that are not among the fields are not known to be undefined.
    pub(super) fn leave_open(&mut self, element: Element) {
        if let Some(is_whole) = self.is_whole.get_mut(element as usize) {
            *is_whole = false;
        }
    }

    pub(super) fn close(&mut self) {
        self.is_whole = [true; 4];
    }

    /// Finds out the layout when all fields are there; `name` gives the key of the field at a place.
    #[inline]
    pub(super) fn seal<'n>(&mut self, name: impl Fn(usize) -> Option<&'n str>) {
        self.layout = Layout::of_fields(&self.fields, name);
    }

    pub(crate) fn fields(&self) -> &[CompactField] {
        &self.fields
    }

    /// Finds fields by their names.
    pub(crate) fn places(&self) -> Places<'_> {
        let mut places = [0; PLACES];
        for (number, field) in (1..).zip(&self.fields) {
            let mut at = (field.name.hash() >> 32) as usize % PLACES;
            while let Some(place) = places.get_mut(at) {
                if *place == 0 {
                    *place = number;
                    break;
                }
                at = (at + 1) % PLACES;
            }
        }
        Places { fields: &self.fields, places }
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

    /// The field of a position in this very layout.
    #[inline]
    pub(crate) fn field_at(&self, position: FieldPosition) -> Option<&CompactField> {
        self.fields.get(usize::from(position.0))
    }

    /// What a slot holds whose position has no field.
    pub(crate) fn number_without_field(&self, position: FieldPosition) -> Number {
        let element = position.0.checked_sub(FieldPosition::MISSING);
        let is_undefined = element.is_some_and(|at| self.is_whole.get(usize::from(at)) == Some(&true));
        if is_undefined { Number::ABSENT } else { Number::MANY }
    }
}

/// The fields of a subscription by their names.
pub(crate) struct Places<'b> {
    fields: &'b [CompactField],
    /// One more than the place of a field, found by the name's hash; 0 ends a chain.
    places: [u8; PLACES],
}

/// A power of two.
const PLACES: usize = 64;

impl Places<'_> {
    /// The place of the field of this name; `hash` is the name's. Another one may have the name where the name is not
    /// whole.
    #[inline]
    pub(crate) fn find(&self, name: Word, hash: u32) -> Option<u16> {
        let mut at = hash as usize % PLACES;
        loop {
            let place = usize::from(*self.places.get(at)?).checked_sub(1)?;
            if self.fields.get(place)?.name == name {
                return Some(place as u16);
            }
            at = (at + 1) % PLACES;
        }
    }
}

/// What the words of a [`CompactSubscription`], or of [`Rows`](super::Rows), were made of.
pub trait Fields {
    /// The place of the field that is this part of the subscription, the whole of it; a request of XACML has no parts.
    fn place(&self, path: &Path) -> Option<u16> {
        let _ = path;
        None
    }

    /// The value at a place; `None` where it is not there as one.
    fn at(&self, place: u16) -> Option<&Value>;

    /// The value at a place that is not there as one; `None` where it would have to be made of other fields.
    fn made(&self, place: u16) -> Option<Value>;

    /// The number of a slot that asks for an attribute of one issuer; [`Number::MANY`] where the issuers are not known.
    fn issued(&self, slots: &Slots, slot: SlotId) -> Number {
        let _ = (slots, slot);
        Number::MANY
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
        let compact = CompactSubscription::new(fields.iter().copied(), [true; 4]);
        let places = compact.places();
        for (place, (element, name, value)) in (0..).zip(&fields) {
            let word = Word::of_name(*element, *name);
            assert_eq!(places.find(word, (word.hash() >> 32) as u32), Some(place));
            assert_eq!(compact.at(place), Some(Word::of(value)));
        }
        let stranger = Word::of_name(Element::Subject, Some("c"));
        assert!(places.find(stranger, (stranger.hash() >> 32) as u32).is_none());
    }

    fn text_of(name: &'static str) -> &'static Value {
        Box::leak(Box::new(text(name)))
    }
}

//! Bounds in an order of values, and the pieces that they cut it into.
//!
//! A prefix is a range of texts: all texts that begin with it follow one another. So numbers, dates and prefixes are one
//! thing here.

use std::cmp::Ordering;

use crate::value::Value;

/// A place between values. All bounds of one scale are of one data type.
#[derive(Clone, Debug)]
pub(in crate::program) enum Bound {
    /// Before this value, or right after it. No text, and no `NaN`.
    Value { value: Value, is_after: bool },
    /// Before all texts whose bytes are these or greater. Need not be UTF-8.
    Text(Box<[u8]>),
}

impl Bound {
    /// Before this value. `None` where there is no order.
    pub(super) fn before(value: &Value) -> Option<Bound> {
        Bound::of(value, false)
    }

    /// Right after this value. `None` where there is no order.
    pub(super) fn after(value: &Value) -> Option<Bound> {
        Bound::of(value, true)
    }

    fn of(value: &Value, is_after: bool) -> Option<Bound> {
        if let Value::Text(text) | Value::AnyUri(text) = value {
            let mut bytes = text.as_bytes().to_vec();
            // The next text of all.
            bytes.extend(is_after.then_some(0));
            return Some(Bound::Text(bytes.into()));
        }
        order(value, value).map(|_| Bound::Value { value: value.clone(), is_after })
    }

    /// Behind all texts with this prefix. `None` where nothing is: all texts begin with nothing.
    pub(super) fn behind_prefix(prefix: &str) -> Option<Bound> {
        let mut bytes = prefix.as_bytes().to_vec();
        // No byte of UTF-8 is the greatest there is.
        *bytes.last_mut()? += 1;
        Some(Bound::Text(bytes.into()))
    }

    /// Which of two comes first. Bounds of different types are equal, which never happens.
    pub(super) fn order(&self, other: &Bound) -> Ordering {
        match (self, other) {
            (Bound::Text(one), Bound::Text(other)) => one.cmp(other),
            (Bound::Value { value, is_after }, Bound::Value { value: other, is_after: is_other_after }) => {
                order(value, other).unwrap_or(Ordering::Equal).then(is_after.cmp(is_other_after))
            }
            (Bound::Text(_), Bound::Value { .. }) | (Bound::Value { .. }, Bound::Text(_)) => Ordering::Equal,
        }
    }

    /// Whether the value lies behind it.
    fn is_passed_by(&self, passing: &Value) -> bool {
        match self {
            Bound::Text(bytes) => text_of(passing).is_some_and(|text| **bytes <= *text.as_bytes()),
            Bound::Value { value, is_after } => match order(passing, value) {
                Some(Ordering::Greater) => true,
                Some(Ordering::Equal) => !is_after,
                Some(Ordering::Less) | None => false,
            },
        }
    }

    fn as_text(&self) -> Option<&[u8]> {
        match self {
            Bound::Text(bytes) => Some(bytes),
            Bound::Value { .. } => None,
        }
    }

    /// The least whole number behind it, if it is at a whole number; `Some(None)` where that would be too great.
    fn least_integer(&self) -> Option<Option<i64>> {
        let Bound::Value { value, is_after } = self else { return None };
        let at = integer_of(value)?;
        Some(if *is_after { at.checked_add(1) } else { Some(at) })
    }
}

#[inline]
fn integer_of(value: &Value) -> Option<i64> {
    if let Value::Number(number) = value {
        return number.to_i64();
    }
    if let Value::Integer(integer) = value { integer.to_i64() } else { None }
}

/// As policies compare values of one data type; `None` for others and where a `NaN` is involved.
fn order(one: &Value, other: &Value) -> Option<Ordering> {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => Some(one.cmp(other)),
        (Value::Integer(one), Value::Integer(other)) => Some(one.cmp(other)),
        (Value::Double(one), Value::Double(other)) => one.partial_cmp(other),
        (Value::Time(one), Value::Time(other)) => Some(one.cmp(other)),
        (Value::Date(one), Value::Date(other)) => Some(one.cmp(other)),
        (Value::DateTime(one), Value::DateTime(other)) => Some(one.cmp(other)),
        _ => None,
    }
}

fn text_of(value: &Value) -> Option<&str> {
    if let Value::Text(text) | Value::AnyUri(text) = value { Some(text) } else { None }
}

/// Bounds in their order. The pieces between them are numbered from 0, which lies before all bounds.
#[derive(Debug)]
pub(in crate::program) struct Scale {
    bounds: Box<[Bound]>,
    short: Short,
}

/// What most values are found by.
#[derive(Debug)]
enum Short {
    Nothing,
    /// The least whole number behind each bound; those that no number of 64 bits passes are not there.
    Integers(Box<[i64]>),
    /// What all bounds begin with, and the eight bytes that follow in each.
    Texts {
        common: Box<[u8]>,
        heads: Box<[u64]>,
    },
}

impl Scale {
    /// Of bounds in their order, each once.
    pub(super) fn new(bounds: Vec<Bound>) -> Scale {
        let short = Short::integers(&bounds).or_else(|| Short::texts(&bounds)).unwrap_or(Short::Nothing);
        Scale { bounds: bounds.into(), short }
    }

    /// How many pieces there are.
    pub(super) fn pieces(&self) -> u32 {
        self.bounds.len() as u32 + 1
    }

    /// The piece that begins at a bound, or, with `false`, that in which it lies.
    pub(super) fn behind(&self, bound: &Bound) -> (u32, bool) {
        match self.bounds.binary_search_by(|other| other.order(bound)) {
            Ok(at) => (at as u32 + 1, true),
            Err(at) => (at as u32, false),
        }
    }

    /// The piece in which a value of the bounds' type lies.
    #[inline]
    pub(super) fn piece(&self, value: &Value) -> u32 {
        if let Some(text) = text_of(value) {
            return self.piece_of_text(text);
        }
        if let Short::Integers(least) = &self.short
            && let Some(integer) = integer_of(value)
        {
            return least.partition_point(|least| *least <= integer) as u32;
        }
        self.bounds.partition_point(|bound| bound.is_passed_by(value)) as u32
    }

    /// The same of a number, where the bounds are numbers of JSON.
    #[inline]
    pub(super) fn piece_of_integer(&self, integer: i64) -> u32 {
        if let Short::Integers(least) = &self.short {
            return least.partition_point(|least| *least <= integer) as u32;
        }
        let value = Value::number(integer);
        self.bounds.partition_point(|bound| bound.is_passed_by(&value)) as u32
    }

    /// The same of a text.
    pub(super) fn piece_of_text(&self, text: &str) -> u32 {
        let text = text.as_bytes();
        let Short::Texts { common, heads } = &self.short else { return 0 };
        let Some(rest) = text.strip_prefix(&**common) else {
            return if *text < **common { 0 } else { self.bounds.len() as u32 };
        };
        let head = head_of(rest);
        let from = heads.partition_point(|other| *other < head);
        let alike = heads.get(from..).unwrap_or_default().partition_point(|other| *other == head);
        let alike = self.bounds.get(from..from + alike).unwrap_or_default();
        let passed = alike.partition_point(|bound| bound.as_text().is_some_and(|bytes| bytes <= text));
        (from + passed) as u32
    }
}

impl Short {
    fn integers(bounds: &[Bound]) -> Option<Short> {
        let least: Option<Vec<Option<i64>>> = bounds.iter().map(Bound::least_integer).collect();
        Some(Short::Integers(least?.into_iter().flatten().collect()))
    }

    fn texts(bounds: &[Bound]) -> Option<Short> {
        let texts: Vec<&[u8]> = bounds.iter().map(Bound::as_text).collect::<Option<_>>()?;
        // What the first and the last begin with, all between them do.
        let (first, last) = (texts.first()?, texts.last()?);
        let length = first.iter().zip(*last).take_while(|(one, other)| one == other).count();
        let heads = texts.iter().map(|text| head_of(text.get(length..).unwrap_or_default()));
        let common = first.get(..length).unwrap_or_default();
        Some(Short::Texts { common: common.into(), heads: heads.collect() })
    }
}

/// The first eight bytes as a number, in the order of texts.
fn head_of(text: &[u8]) -> u64 {
    let mut head = [0; 8];
    head.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
    u64::from_be_bytes(head)
}

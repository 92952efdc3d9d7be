//! One value of either policy language, and the operands functions work on.

use std::borrow::Cow;
use std::fmt::Write;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use smol_str::SmolStr;

use crate::datatype::{
    self, Date, DateTime, DayTimeDuration, Decimal, DnsName, Integer, IpAddress, Opaque, Rfc822Name, Time,
    X500Name, XPathExpression, YearMonthDuration,
};

mod access;
mod data_type;
mod object;
mod text;
mod weight;

pub use crate::datatype::LexicalError;
pub use data_type::DataType;
pub use object::{Key, Object, ObjectBuilder};
pub use text::{Debugged, write_json_text};
pub use weight::WEIGHT_MAX;
pub(crate) use weight::{note_walk_over, note_writing, take_walked};

/// One value. Cloning is cheap: short texts are inline, everything long is shared.
#[derive(Clone, Debug)]
pub enum Value {
    /// See [`DataType::Text`].
    Text(SmolStr),
    /// See [`DataType::Boolean`].
    Boolean(bool),
    /// See [`DataType::Integer`].
    Integer(Integer),
    /// See [`DataType::Double`].
    Double(f64),
    /// See [`DataType::Time`].
    Time(Time),
    /// See [`DataType::Date`].
    Date(Date),
    /// See [`DataType::DateTime`].
    DateTime(DateTime),
    /// See [`DataType::DayTimeDuration`].
    DayTimeDuration(DayTimeDuration),
    /// See [`DataType::YearMonthDuration`].
    YearMonthDuration(YearMonthDuration),
    /// See [`DataType::AnyUri`].
    AnyUri(SmolStr),
    /// See [`DataType::HexBinary`].
    HexBinary(Arc<[u8]>),
    /// See [`DataType::Base64Binary`].
    Base64Binary(Arc<[u8]>),
    /// See [`DataType::Rfc822Name`].
    Rfc822Name(Arc<Rfc822Name>),
    /// See [`DataType::X500Name`].
    X500Name(Arc<X500Name>),
    /// See [`DataType::IpAddress`].
    IpAddress(Arc<IpAddress>),
    /// See [`DataType::DnsName`].
    DnsName(Arc<DnsName>),
    /// See [`DataType::XPathExpression`].
    XPathExpression(Arc<XPathExpression>),
    /// See [`DataType::Opaque`].
    Opaque(Arc<Opaque>),
    /// See [`DataType::Null`].
    Null,
    /// See [`DataType::Undefined`].
    Undefined,
    /// See [`DataType::Number`].
    Number(Decimal),
    /// See [`DataType::Array`].
    Array(Arc<[Value]>),
    /// See [`DataType::Object`].
    Object(Arc<Object>),
}

// Bags are arrays of values: two of them share a cache line.
const _: () = assert!(size_of::<Value>() <= 32);

impl Value {
    /// A text value, in Unicode normalization form C as [`Value::parse`] has it.
    pub fn text(text: impl AsRef<str>) -> Value {
        Value::Text(datatype::normalize(text.as_ref()).into())
    }

    /// An integer value.
    pub fn integer(integer: impl Into<Integer>) -> Value {
        Value::Integer(integer.into())
    }

    /// A decimal number, as SAPL makes values of numbers: see [`Decimal::interned`].
    pub fn number(number: impl Into<Decimal>) -> Value {
        Value::Number(number.into().interned())
    }

    /// An array of these values.
    pub fn array(values: impl IntoIterator<Item = Value>) -> Value {
        Value::Array(values.into_iter().collect())
    }

    /// An object of these keys and values, in this order; of several equal keys the last value counts.
    pub fn object<K: Into<SmolStr>>(entries: impl IntoIterator<Item = (K, Value)>) -> Value {
        Value::Object(Arc::new(Object::from_iter(entries)))
    }

    /// The type of this value.
    pub const fn data_type(&self) -> DataType {
        match self {
            Value::Text(_) => DataType::Text,
            Value::Boolean(_) => DataType::Boolean,
            Value::Integer(_) => DataType::Integer,
            Value::Double(_) => DataType::Double,
            Value::Time(_) => DataType::Time,
            Value::Date(_) => DataType::Date,
            Value::DateTime(_) => DataType::DateTime,
            Value::DayTimeDuration(_) => DataType::DayTimeDuration,
            Value::YearMonthDuration(_) => DataType::YearMonthDuration,
            Value::AnyUri(_) => DataType::AnyUri,
            Value::HexBinary(_) => DataType::HexBinary,
            Value::Base64Binary(_) => DataType::Base64Binary,
            Value::Rfc822Name(_) => DataType::Rfc822Name,
            Value::X500Name(_) => DataType::X500Name,
            Value::IpAddress(_) => DataType::IpAddress,
            Value::DnsName(_) => DataType::DnsName,
            Value::XPathExpression(_) => DataType::XPathExpression,
            Value::Opaque(_) => DataType::Opaque,
            Value::Null => DataType::Null,
            Value::Undefined => DataType::Undefined,
            Value::Number(_) => DataType::Number,
            Value::Array(_) => DataType::Array,
            Value::Object(_) => DataType::Object,
        }
    }

    /// The value with its text in Unicode normalization form C: what [`Value::parse`] would have made of a text that came as
    /// a value already.
    #[must_use]
    pub fn in_normal_form(self) -> Value {
        let has_letters =
            matches!(&self, Value::Text(_) | Value::AnyUri(_) | Value::Rfc822Name(_) | Value::X500Name(_));
        if !has_letters {
            return self;
        }
        let normal = match datatype::normalize(&self.lexical()) {
            Cow::Borrowed(_) => None,
            Cow::Owned(normal) => Value::parse(self.data_type(), &normal).ok(),
        };
        normal.unwrap_or(self)
    }

    /// Reads a value from its text. White space around it is removed, except in `string`, where it counts. The
    /// text is brought into Unicode normalization form C, so that `é` is equal however it was typed (XACML 3.0,
    /// section 7.1.1).
    ///
    /// # Errors
    /// The text is not in the lexical form of the type, or goes beyond a limit named in [`crate::datatype`].
    /// `xpathExpression`, unknown types and those of JSON are always refused: their values are more than text and are
    /// made by whoever reads policies and requests.
    pub fn parse(data_type: DataType, text: &str) -> Result<Value, LexicalError> {
        let normal = datatype::normalize(text);
        if data_type == DataType::Text {
            return Ok(Value::Text(normal.into()));
        }
        Value::parse_trimmed(data_type, datatype::trim(&normal))
            .map_err(|reason| LexicalError::new(data_type, text, reason))
    }

    fn parse_trimmed(data_type: DataType, text: &str) -> Result<Value, datatype::Reason> {
        Ok(match data_type {
            DataType::Text => Value::Text(text.into()),
            DataType::Boolean => Value::Boolean(match text {
                "true" | "1" => true,
                "false" | "0" => false,
                _ => return Err("write `true` or `false`"),
            }),
            DataType::Integer => Value::Integer(Integer::parse(text)?),
            DataType::Double => Value::Double(datatype::parse_double(text)?),
            DataType::Time => Value::Time(Time::parse(text)?),
            DataType::Date => Value::Date(Date::parse(text)?),
            DataType::DateTime => Value::DateTime(DateTime::parse(text)?),
            DataType::DayTimeDuration => Value::DayTimeDuration(DayTimeDuration::parse(text)?),
            DataType::YearMonthDuration => Value::YearMonthDuration(YearMonthDuration::parse(text)?),
            DataType::AnyUri => {
                datatype::parse_uri(text)?;
                Value::AnyUri(text.into())
            }
            DataType::HexBinary => Value::HexBinary(datatype::parse_hex(text)?),
            DataType::Base64Binary => Value::Base64Binary(datatype::parse_base64(text)?),
            DataType::Rfc822Name => Value::Rfc822Name(Rfc822Name::parse(text)?.into()),
            DataType::X500Name => Value::X500Name(X500Name::parse(text)?.into()),
            DataType::IpAddress => Value::IpAddress(IpAddress::parse(text)?.into()),
            DataType::DnsName => Value::DnsName(DnsName::parse(text)?.into()),
            DataType::XPathExpression => return Err("its category and namespaces cannot be told from text"),
            DataType::Opaque => return Err("the data type is not supported"),
            DataType::Null | DataType::Undefined | DataType::Number | DataType::Array | DataType::Object => {
                return Err("values of JSON cannot be written in XACML");
            }
        })
    }

    /// Appends the text of this value, as [`Value::lexical`].
    pub fn write_lexical(&self, out: &mut String) {
        match self {
            Value::Double(double) => datatype::write_double(*double, out),
            Value::HexBinary(octets) => datatype::write_hex(octets, out),
            Value::Base64Binary(octets) => datatype::write_base64(octets, out),
            // Writing to a string cannot fail.
            Value::Integer(integer) => drop(write!(out, "{integer}")),
            Value::Time(time) => drop(write!(out, "{time}")),
            Value::Date(date) => drop(write!(out, "{date}")),
            Value::DateTime(date_time) => drop(write!(out, "{date_time}")),
            Value::DayTimeDuration(duration) => drop(write!(out, "{duration}")),
            Value::YearMonthDuration(duration) => drop(write!(out, "{duration}")),
            Value::Number(_) | Value::Array(_) | Value::Object(_) => self.write_json(out),
            Value::Boolean(_)
            | Value::Text(_)
            | Value::AnyUri(_)
            | Value::Rfc822Name(_)
            | Value::X500Name(_)
            | Value::IpAddress(_)
            | Value::DnsName(_)
            | Value::XPathExpression(_)
            | Value::Opaque(_)
            | Value::Null
            | Value::Undefined => out.push_str(self.held_text().unwrap_or_default()),
        }
    }

    /// The text of this value, readable by [`Value::parse`]: in canonical form, except that times and dates keep
    /// their zone and names and addresses are given back as written. What only JSON has is written as in JSON.
    pub fn lexical(&self) -> Cow<'_, str> {
        if let Some(text) = self.held_text() {
            return Cow::Borrowed(text);
        }
        let mut out = String::new();
        self.write_lexical(&mut out);
        Cow::Owned(out)
    }

    /// The text of values that hold it.
    fn held_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) | Value::AnyUri(text) => Some(text),
            Value::Boolean(true) => Some("true"),
            Value::Boolean(false) => Some("false"),
            Value::Rfc822Name(name) => Some(name.as_str()),
            Value::X500Name(name) => Some(name.as_str()),
            Value::IpAddress(address) => Some(address.as_str()),
            Value::DnsName(name) => Some(name.as_str()),
            Value::XPathExpression(expression) => Some(&expression.path),
            Value::Opaque(opaque) => Some(&opaque.text),
            Value::Null => Some("null"),
            Value::Undefined => Some("undefined"),
            Value::Integer(_)
            | Value::Double(_)
            | Value::Time(_)
            | Value::Date(_)
            | Value::DateTime(_)
            | Value::DayTimeDuration(_)
            | Value::YearMonthDuration(_)
            | Value::HexBinary(_)
            | Value::Base64Binary(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => None,
        }
    }

    /// The same value in the canonical form of its type, which [`Value::lexical`] then writes: times and dates
    /// with a zone are moved to UTC (XML Schema 1.0 part 2, 3.2.7.2, 3.2.8.2, 3.2.9.2).
    pub fn canonical(&self) -> Cow<'_, Value> {
        match self {
            Value::Time(time) => Cow::Owned(Value::Time(time.canonical())),
            Value::Date(date) => Cow::Owned(Value::Date(date.canonical())),
            Value::DateTime(date_time) => Cow::Owned(Value::DateTime(date_time.canonical())),
            Value::Text(_)
            | Value::Boolean(_)
            | Value::Integer(_)
            | Value::Double(_)
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
            | Value::Opaque(_)
            | Value::Null
            | Value::Undefined
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => Cow::Borrowed(self),
        }
    }

    /// Equality as the standard's `T-equal` function of the type defines it. Values of different types are never
    /// equal. `NaN` equals itself: IEEE 754, which A.3.1 names, says otherwise, but the conformance suite (IIC350,
    /// IIC358) and every engine that passes it want this.
    ///
    /// Values of JSON are equal as in SAPL: numbers as numbers, arrays element by element, objects whatever the order
    /// of their keys, `undefined` only to itself.
    #[inline]
    pub fn equals(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Text(a), Value::Text(b)) | (Value::AnyUri(a), Value::AnyUri(b)) => same_text(a, b),
            (Value::Boolean(a), Value::Boolean(b)) => a == b,
            (Value::Integer(a), Value::Integer(b)) => a == b,
            #[expect(clippy::float_cmp, reason = "double-equal is the comparison of IEEE 754")]
            (Value::Double(a), Value::Double(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Value::Time(a), Value::Time(b)) => a == b,
            (Value::Date(a), Value::Date(b)) => a == b,
            (Value::DateTime(a), Value::DateTime(b)) => a == b,
            (Value::DayTimeDuration(a), Value::DayTimeDuration(b)) => a == b,
            (Value::YearMonthDuration(a), Value::YearMonthDuration(b)) => a == b,
            (Value::HexBinary(a), Value::HexBinary(b)) | (Value::Base64Binary(a), Value::Base64Binary(b)) => {
                a == b
            }
            (Value::Rfc822Name(a), Value::Rfc822Name(b)) => a == b,
            (Value::X500Name(a), Value::X500Name(b)) => a == b,
            (Value::IpAddress(a), Value::IpAddress(b)) => a == b,
            (Value::DnsName(a), Value::DnsName(b)) => a == b,
            (Value::XPathExpression(a), Value::XPathExpression(b)) => a == b,
            (Value::Opaque(a), Value::Opaque(b)) => a == b,
            (Value::Null, Value::Null) | (Value::Undefined, Value::Undefined) => true,
            (Value::Number(a), Value::Number(b)) => a == b,
            (Value::Array(a), Value::Array(b)) => Arc::ptr_eq(a, b) || same_values(a, b),
            (Value::Object(a), Value::Object(b)) => Arc::ptr_eq(a, b) || a.equals(b),
            _ => false,
        }
    }

    /// Whether [`Value::content_hash`] may stand for the value in an index: its type has exact, cheap equality.
    pub const fn is_internable(&self) -> bool {
        self.data_type().is_internable()
    }

    /// A digest of the value: values that [`Value::equals`] calls equal have equal digests. The seed is fixed, so
    /// that digests can be computed ahead; a table that callers can fill must not rely on it alone.
    #[inline]
    pub fn content_hash(&self) -> u64 {
        let mut hasher = foldhash::fast::FixedState::with_seed(CONTENT_SEED).build_hasher();
        self.hash_content(&mut hasher);
        hasher.finish()
    }

    /// The [`Value::content_hash`] of a [`Value::Text`] of this text.
    #[inline]
    pub fn content_hash_of_text(text: &str) -> u64 {
        let mut hasher = foldhash::fast::FixedState::with_seed(CONTENT_SEED).build_hasher();
        DataType::Text.hash(&mut hasher);
        hasher.write(text.as_bytes());
        hasher.finish()
    }

    /// Feeds the value to a hasher, consistently with [`Value::equals`].
    #[inline]
    pub fn hash_content<H: Hasher>(&self, state: &mut H) {
        self.data_type().hash(state);
        match self {
            Value::Text(text) | Value::AnyUri(text) => state.write(text.as_bytes()),
            Value::Boolean(boolean) => state.write_u8(u8::from(*boolean)),
            Value::Integer(Integer::Small(small)) => state.write_i64(*small),
            Value::Integer(Integer::Big(big)) => big.hash(state),
            // There are many `NaN`s. Both zeros are equal; adding one of them to either gives the positive one.
            Value::Double(double) if double.is_nan() => state.write_u64(f64::NAN.to_bits()),
            Value::Double(double) => state.write_u64((double + 0.0).to_bits()),
            Value::Time(time) => time.hash(state),
            Value::Date(date) => date.hash(state),
            Value::DateTime(date_time) => date_time.hash(state),
            Value::DayTimeDuration(duration) => duration.hash(state),
            Value::YearMonthDuration(duration) => duration.hash(state),
            Value::HexBinary(octets) | Value::Base64Binary(octets) => state.write(octets),
            Value::Rfc822Name(name) => name.hash(state),
            Value::X500Name(name) => name.hash(state),
            Value::IpAddress(address) => address.hash(state),
            Value::DnsName(name) => name.hash(state),
            Value::XPathExpression(expression) => expression.hash(state),
            Value::Opaque(opaque) => opaque.hash(state),
            Value::Null | Value::Undefined => {}
            Value::Number(number) => number.hash(state),
            Value::Array(values) => {
                state.write_usize(values.len());
                values.iter().for_each(|value| value.hash_content(state));
            }
            Value::Object(object) => object.hash_content(state),
        }
    }
}

fn same_values(a: &[Value], b: &[Value]) -> bool {
    weight::note_walked(a.len());
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.equals(b))
}

/// Whether two texts are the same. Most texts of policies and requests have up to 16 bytes, which two words hold:
/// calling the library's comparison costs more than comparing those.
#[inline]
pub fn same_text(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    match (a.first_chunk::<8>(), a.last_chunk::<8>(), b.first_chunk::<8>(), b.last_chunk::<8>()) {
        (Some(a_first), Some(a_last), Some(b_first), Some(b_last)) if a.len() <= 16 => {
            a_first == b_first && a_last == b_last
        }
        (Some(_), _, _, _) => a == b,
        (None, _, _, _) => a.iter().zip(b).all(|(a, b)| a == b),
    }
}

const CONTENT_SEED: u64 = 0x6475_7277_6172_6422;

/// What a function takes and gives: one value or a bag (an unordered collection that may hold repeats,
/// XACML 3.0 section 7.3.2). Borrowed from the question or the program wherever possible.
#[derive(Clone, Debug)]
pub enum Operand<'a> {
    /// One value.
    One(Cow<'a, Value>),
    /// A bag of values, in the order in which they were given.
    Bag(Cow<'a, [Value]>),
}

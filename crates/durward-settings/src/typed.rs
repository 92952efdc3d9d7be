//! A table of TOML as serde gives it to the types of settings.
//!
//! toml's own reader offers a type whatever stands in the table, and a place in the text besides: so each type of ours is compiled with
//! each of a table, a list, a date and a place, and what is in it with each of those again. Here a type is offered what it asks for. What
//! takes anything, such as `toml::Value`, is read by toml. Not for types of toml that ask by a name of their own (`Spanned`, `Datetime`),
//! nor for enums whose variants hold something: no setting is one.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::CowStrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error, Expected, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use toml::Spanned;
use toml::de::{DeFloat, DeInteger, DeTable, DeValue, ValueDeserializer};

/// A mistake, and where it begins: in the text of the file, or behind it.
#[derive(Debug)]
pub(super) struct Mistake {
    pub(super) start: Option<usize>,
    pub(super) message: String,
}

impl Mistake {
    /// Of a value that begins there, unless a part of it is to blame.
    fn at(self, start: usize) -> Mistake {
        Mistake { start: self.start.or(Some(start)), ..self }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Mistake {}

impl Error for Mistake {
    fn custom<T: fmt::Display>(message: T) -> Mistake {
        Mistake { start: None, message: message.to_string() }
    }
}

impl From<toml::de::Error> for Mistake {
    fn from(error: toml::de::Error) -> Mistake {
        Mistake { start: error.span().map(|span| span.start), message: error.message().to_owned() }
    }
}

/// What a table says, as a type of settings.
///
/// # Errors
/// The table has something that the type does not mean.
pub(super) fn of_table<'i, T: Deserialize<'i>>(table: Spanned<DeTable<'i>>) -> Result<T, Mistake> {
    let place = table.span();
    let start = place.start;
    let table = Spanned::new(place, DeValue::Table(table.into_inner()));
    T::deserialize(Value(table)).map_err(|mistake| mistake.at(start))
}

struct Value<'i>(Spanned<DeValue<'i>>);

/// What is alike for all types stands in functions of its own, which are compiled once.
impl<'i> Value<'i> {
    fn start(&self) -> usize {
        self.0.span().start
    }

    fn text(self, wanted: &dyn Expected) -> Result<Cow<'i, str>, Mistake> {
        let value = self.0.into_inner();
        let DeValue::String(text) = value else { return Err(wrong(&value, wanted)) };
        Ok(text)
    }

    fn boolean(self, wanted: &dyn Expected) -> Result<bool, Mistake> {
        let value = self.0.into_inner();
        let DeValue::Boolean(boolean) = value else { return Err(wrong(&value, wanted)) };
        Ok(boolean)
    }

    fn items(self, wanted: &dyn Expected) -> Result<Items<'i>, Mistake> {
        let value = self.0.into_inner();
        let DeValue::Array(items) = value else { return Err(wrong(&value, wanted)) };
        let items: Vec<_> = items.into_iter().collect();
        Ok(Items(items.into_iter()))
    }

    fn entries(self, wanted: &dyn Expected) -> Result<Entries<'i>, Mistake> {
        let value = self.0.into_inner();
        let DeValue::Table(table) = value else { return Err(wrong(&value, wanted)) };
        let entries: Vec<_> = table.into_iter().collect();
        Ok(Entries { rest: entries.into_iter(), value: None })
    }

    fn read<S: DeserializeSeed<'i>>(self, seed: S) -> Result<S::Value, Mistake> {
        let start = self.start();
        seed.deserialize(self).map_err(|mistake| mistake.at(start))
    }

    fn give_text<V: Visitor<'i>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match self.text(&visitor)? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn give_boolean<V: Visitor<'i>>(self, visitor: V) -> Result<V::Value, Mistake> {
        let boolean = self.boolean(&visitor)?;
        visitor.visit_bool(boolean)
    }

    fn give_number<V: Visitor<'i>>(self, visitor: V) -> Result<V::Value, Mistake> {
        let found = unexpected(self.0.get_ref());
        if let Unexpected::Signed(number) = found {
            return visitor.visit_i64(number);
        }
        if let Unexpected::Unsigned(number) = found {
            return visitor.visit_u64(number);
        }
        let Unexpected::Float(number) = found else { return Err(Mistake::invalid_type(found, &visitor)) };
        visitor.visit_f64(number)
    }

    fn give_list<V: Visitor<'i>>(self, visitor: V) -> Result<V::Value, Mistake> {
        let items = self.items(&visitor)?;
        visitor.visit_seq(items)
    }

    fn give_table<V: Visitor<'i>>(self, visitor: V) -> Result<V::Value, Mistake> {
        let entries = self.entries(&visitor)?;
        visitor.visit_map(entries)
    }
}

/// Methods that read a value in one way, whatever more serde says of the type.
macro_rules! read_as {
    ($($way:ident: $($method:ident)*;)*) => {
        $($(
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
                self.$way(visitor)
            }
        )*)*
    };
}

impl<'de> Deserializer<'de> for Value<'de> {
    type Error = Mistake;

    read_as! {
        give_text: deserialize_char deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf deserialize_identifier;
        give_boolean: deserialize_bool;
        give_number: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16 deserialize_u32
            deserialize_u64 deserialize_f32 deserialize_f64;
        give_list: deserialize_seq;
        give_table: deserialize_map;
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        Ok(ValueDeserializer::from(self.0).deserialize_any(visitor)?)
    }

    /// What is not there is no entry.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, Mistake> {
        self.give_list(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        self.give_list(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        self.give_table(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        let name = self.text(&visitor)?;
        visitor.visit_enum(CowStrDeserializer::new(name))
    }

    forward_to_deserialize_any! { i128 u128 unit unit_struct ignored_any }
}

struct Items<'i>(std::vec::IntoIter<Spanned<DeValue<'i>>>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Mistake;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Mistake> {
        self.0.next().map(|item| Value(item).read(seed)).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

struct Entries<'i> {
    rest: std::vec::IntoIter<(Spanned<Cow<'i, str>>, Spanned<DeValue<'i>>)>,
    /// Of the name that was read last.
    value: Option<Spanned<DeValue<'i>>>,
}

impl<'i> Entries<'i> {
    /// The next name, and where it begins.
    fn name(&mut self) -> Option<(Cow<'i, str>, usize)> {
        let (name, value) = self.rest.next()?;
        self.value = Some(value);
        let start = name.span().start;
        Some((name.into_inner(), start))
    }

    fn value(&mut self) -> Result<Value<'i>, Mistake> {
        self.value.take().map(Value).ok_or_else(|| Mistake::custom("a value is asked for before its name"))
    }
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Mistake;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Mistake> {
        let Some((name, start)) = self.name() else { return Ok(None) };
        let key = seed.deserialize(CowStrDeserializer::new(name));
        key.map(Some).map_err(|mistake: Mistake| mistake.at(start))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Mistake> {
        self.value()?.read(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

fn wrong(found: &DeValue<'_>, wanted: &dyn Expected) -> Mistake {
    Mistake::invalid_type(unexpected(found), wanted)
}

fn unexpected<'v>(value: &'v DeValue<'_>) -> Unexpected<'v> {
    match value {
        DeValue::String(text) => Unexpected::Str(text),
        DeValue::Integer(number) => whole(number),
        DeValue::Float(number) => broken(number),
        DeValue::Boolean(boolean) => Unexpected::Bool(*boolean),
        DeValue::Array(_) => Unexpected::Seq,
        DeValue::Datetime(_) | DeValue::Table(_) => Unexpected::Map,
    }
}

fn whole<'v>(number: &DeInteger<'_>) -> Unexpected<'v> {
    let (digits, radix) = (number.as_str(), number.radix());
    let signed = i64::from_str_radix(digits, radix).map(Unexpected::Signed);
    signed
        .or_else(|_| u64::from_str_radix(digits, radix).map(Unexpected::Unsigned))
        .unwrap_or(Unexpected::Other("a whole number beyond 64 bits"))
}

fn broken<'v>(number: &DeFloat<'_>) -> Unexpected<'v> {
    let is_meant = |number: &f64, text: &str| !number.is_infinite() || text.contains("inf");
    let text = number.as_str();
    let number = text.parse().ok().filter(|number| is_meant(number, text));
    number.map_or(Unexpected::Other("a number that is too large"), Unexpected::Float)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::net::SocketAddr;
    use std::path::PathBuf;

    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Kind {
        #[default]
        One,
        AnotherOne,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Wrapped(u16);

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Inner {
        text: String,
        path: Option<PathBuf>,
        address: Option<SocketAddr>,
        small: u8,
        large: u64,
        signed: i64,
        broken: f64,
        is: bool,
        kind: Kind,
        kinds: BTreeMap<Letter, u8>,
        list: Vec<String>,
        pair: (u8, String),
        wrapped: Option<Wrapped>,
        any: Option<toml::Value>,
        table: toml::Table,
    }

    #[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Letter {
        A,
        B,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Needed {
        needed: String,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Outer {
        inner: Inner,
        many: Vec<Inner>,
        named: BTreeMap<String, Inner>,
        needed: Option<Needed>,
    }

    fn ours(text: &str) -> Result<Outer, (Option<usize>, String)> {
        let table = DeTable::parse(text).map_err(Mistake::from);
        table.and_then(of_table).map_err(|mistake| (mistake.start, mistake.message))
    }

    fn theirs(text: &str) -> Result<Outer, (Option<usize>, String)> {
        toml::from_str(text)
            .map_err(|error| (error.span().map(|span| span.start), error.message().to_owned()))
    }

    /// What stands for a name in both readers, and where it differs on purpose.
    #[test]
    fn settings_and_mistakes_are_those_of_tomls_own_reader() {
        let names = [
            "text", "path", "address", "small", "large", "signed", "broken", "is", "kind", "kinds", "list",
            "pair", "wrapped", "any", "table", "unknown", "pair.x", "kinds.a", "kinds.c", "any.x", "table.x",
        ];
        let values = [
            "'x'",
            "\"a\\tb\"",
            "''",
            "'one'",
            "'another-one'",
            "'127.0.0.1:80'",
            "0",
            "7",
            "-7",
            "0x1f",
            "300",
            "70000",
            "9_000",
            "9223372036854775807",
            "18446744073709551615",
            "1.5",
            "-0.0",
            "inf",
            "nan",
            "true",
            "[]",
            "['x', 'y']",
            "[7, 'x']",
            "[7, 8]",
            "['x', 7]",
            "{}",
            "{a = 1}",
            "{a = 1, b = 'x'}",
            "{ x = { y = 1979-05-27 } }",
            "[1979-05-27, 07:32:00]",
        ];
        let (mut read, mut refused) = (0, 0);
        for name in names {
            for value in values {
                for text in [
                    format!("inner.{name} = {value}"),
                    format!("\n[[many]]\n[[many]]\ntext = 'x'\n{name} = {value}"),
                    format!("[named.of-it]\n{name} = {value}\n"),
                ] {
                    let (own, other) = (ours(&text), theirs(&text));
                    if format!("{own:?}") == format!("{other:?}") {
                        *(if own.is_ok() { &mut read } else { &mut refused }) += 1;
                        continue;
                    }
                    // toml takes a table with one entry for a variant that holds something.
                    let is_variant = name == "kind" && !value.starts_with('\'') && !value.starts_with('"');
                    assert!(is_variant && own.is_err() && other.is_err(), "{text}\n{own:?}\n{other:?}");
                }
            }
        }
        assert!(read > 300 && refused > 900, "{read} {refused}");
        for text in [
            "needed = {}",
            "needed = 7",
            "other = 1",
            "inner = 7",
            "many = {}",
            "many = [7]",
            "[",
            "named = 'x'",
        ] {
            assert_eq!(format!("{:?}", ours(text)), format!("{:?}", theirs(text)), "{text}");
        }
    }

    #[test]
    fn a_list_is_no_table_and_a_number_beyond_64_bits_none() {
        let (place, message) = ours("inner = ['x']").unwrap_err();
        assert_eq!((place, message.as_str()), (Some(8), "invalid type: sequence, expected struct Inner"));
        let large = "9".repeat(41);
        for text in [format!("inner.large = {large}"), "inner.broken = 1e999".to_owned()] {
            assert!(ours(&text).is_err() && theirs(&text).is_err(), "{text}");
        }
        let (_, message) = ours(&format!("inner.text = {large}")).unwrap_err();
        assert_eq!(message, "invalid type: a whole number beyond 64 bits, expected a string");
    }
}

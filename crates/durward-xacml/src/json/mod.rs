//! What requests and responses in JSON share: texts, lists, values, and errors with a place.
//!
//! Shapes follow the JSON Profile of XACML 3.0, version 1.1, and its schema: unknown and repeated members are
//! refused. Where the profile asks for an array, one object without the brackets is taken too, as its drafts allowed.

mod category;
mod shorthand;
mod value;
pub(crate) mod write;

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

pub(crate) use category::{CategoryJson, read_category};
pub(crate) use shorthand::category_of_shorthand;
pub(crate) use value::{GivenType, RawJson, data_type_of, read_values};
pub(crate) use write::{write_categories, write_value};

use crate::request::{ErrorLocation, Limits, RequestError, RequestErrorKind};
use crate::wording;
use crate::xml::Read;

/// A text, borrowed from the input where it holds no escapes.
#[derive(Clone, Debug)]
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text<'a>, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

/// An array of objects, or one object.
#[derive(Clone, Debug)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> List<T> {
        List(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<List<T>, D::Error> {
        struct ListVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
            type Value = List<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of objects, or one object")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<List<T>, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(List(list))
            }

            fn visit_unit<E>(self) -> Result<List<T>, E> {
                Ok(List::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<List<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(members)).map(|item| List(vec![item]))
            }
        }
        deserializer.deserialize_any(ListVisitor(PhantomData))
    }
}

/// Reads a member that is `null` as one that is absent, as every other optional member is read.
pub(crate) fn or_absent<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Reads the whole of a JSON text.
pub(crate) fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8], limits: &Limits) -> Read<T> {
    let text = limits.text(bytes)?;
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    serde_json::from_str(text).map_err(|error| {
        let kind = match error.classify() {
            serde_json::error::Category::Data => RequestErrorKind::Structure,
            serde_json::error::Category::Io
            | serde_json::error::Category::Syntax
            | serde_json::error::Category::Eof => RequestErrorKind::IllFormed,
        };
        let place = ErrorLocation::Line { line: error.line(), column: error.column() };
        let message = match text.trim_start().starts_with('<') {
            true => IS_XML.to_owned(),
            false => message_of(&error),
        };
        Box::new(RequestError { kind, message, place })
    })
}

/// What is said to whoever sends XML as JSON.
const IS_XML: &str =
    "the text is XML, and was sent as JSON; the content type of XML is `application/xacml+xml`";

/// What is wrong, without the place.
pub(crate) fn message_of(error: &serde_json::Error) -> String {
    let message = error.to_string();
    wording::of_json(message.rfind(" at line ").and_then(|end| message.get(..end)).unwrap_or(&message))
}

/// An error about a part of the JSON text, at the path of that part.
pub(crate) fn located(mut error: Box<RequestError>, path: String) -> Box<RequestError> {
    error.place = ErrorLocation::Path(path);
    error
}

/// An error at a path of the JSON text.
pub(crate) fn error_at(
    kind: RequestErrorKind,
    path: String,
    message: impl Into<String>,
) -> Box<RequestError> {
    Box::new(RequestError { kind, message: message.into(), place: ErrorLocation::Path(path) })
}

//! Values: JSON scalars, arrays of them, and XPath expressions, with or without a data type (profile, section 3.3).

use std::sync::Arc;

use durward_ir::datatype::{Opaque, XPathExpression};
use durward_ir::{DataType, Value};
use serde::Deserialize;
use serde_json::value::RawValue;
use smol_str::SmolStr;

use super::shorthand::category_of_shorthand;
use super::{List, Text, message_of};
use crate::request::identifiers::shared;
use crate::request::{RequestError, RequestErrorKind};
use crate::xml::Read;

/// A piece of JSON kept as text: numbers stay exact.
pub(crate) type RawJson<'a> = &'a RawValue;

/// A data type as given.
#[derive(Clone, Debug)]
pub(crate) enum GivenType {
    /// One durward computes with.
    Known(DataType),
    /// Any other, carried along.
    Other(SmolStr),
}

/// One JSON value, looked at as far as its kind.
enum Json<'a> {
    Text(Text<'a>),
    Number(&'a str),
    Boolean(bool),
    Array(Vec<RawJson<'a>>),
    Object(&'a str),
    Null,
}

/// Section 4.2.4.4: an XPath expression is an object.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct XPathJson<'a> {
    #[serde(rename = "XPathCategory", borrow)]
    category: Text<'a>,
    #[serde(rename = "Namespaces", default)]
    namespaces: List<NamespaceJson<'a>>,
    #[serde(rename = "XPath")]
    path: Text<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamespaceJson<'a> {
    #[serde(rename = "Prefix", borrow)]
    prefix: Option<Text<'a>>,
    #[serde(rename = "Namespace")]
    namespace: Text<'a>,
}

/// The data type named by an identifier or by its short name (section 3.3.1).
pub(crate) fn data_type_of(name: &str) -> Read<GivenType> {
    match DataType::from_short_name(name).or_else(|| DataType::from_uri(name)) {
        Some(known) => Ok(GivenType::Known(known)),
        None if name.contains(':') => Ok(GivenType::Other(SmolStr::new(name))),
        None => {
            let message =
                format!("`{name}` is not a data type; write a short name such as `string`, or an URI");
            Err(RequestError::whole(RequestErrorKind::Structure, message))
        }
    }
}

/// Gives each value in `raw` to `take`, with its text. Without a data type, the kind of JSON tells it (section 3.3.2).
pub(crate) fn read_values(
    raw: RawJson<'_>,
    data_type: Option<&GivenType>,
    take: &mut dyn FnMut(Value, &str),
) -> Read<()> {
    let Json::Array(items) = look(raw)? else {
        let json = look(raw)?;
        let inferred = infer(&json)?;
        take_one(json, data_type, inferred, take)?;
        return Ok(());
    };
    let items = items.into_iter().map(look).collect::<Read<Vec<Json<'_>>>>()?;
    let mut common = None;
    if data_type.is_none() {
        for item in &items {
            common = Some(match (common, infer(item)?) {
                (None, inferred) => inferred,
                (Some(common), inferred) if common == inferred => common,
                (Some(DataType::Integer | DataType::Double), DataType::Integer | DataType::Double) => {
                    DataType::Double
                }
                (Some(_), _) => {
                    return Err(wrong("the values of one array must be of one kind; give them a `DataType`"));
                }
            });
        }
    }
    for item in items {
        take_one(item, data_type, common.unwrap_or(DataType::Text), take)?;
    }
    Ok(())
}

/// Reads one value, and gives it away with its text.
fn take_one(
    json: Json<'_>,
    data_type: Option<&GivenType>,
    inferred: DataType,
    take: &mut dyn FnMut(Value, &str),
) -> Read<()> {
    let value = one(&json, data_type, inferred)?;
    match &json {
        Json::Text(text) => take(value, text),
        Json::Number(digits) => take(value, digits),
        Json::Boolean(true) => take(value, "true"),
        Json::Boolean(false) => take(value, "false"),
        Json::Array(_) | Json::Object(_) | Json::Null => {
            let text = value.lexical().into_owned();
            take(value, &text);
        }
    }
    Ok(())
}

fn look(raw: RawJson<'_>) -> Read<Json<'_>> {
    let text = raw.get();
    let broken = |error: serde_json::Error| wrong(message_of(&error));
    Ok(match text.as_bytes().first() {
        Some(b'"') => Json::Text(serde_json::from_str(text).map_err(broken)?),
        Some(b't') => Json::Boolean(true),
        Some(b'f') => Json::Boolean(false),
        Some(b'[') => Json::Array(serde_json::from_str(text).map_err(broken)?),
        Some(b'{') => Json::Object(text),
        Some(b'n') | None => Json::Null,
        Some(_) => Json::Number(text),
    })
}

/// The data type a kind of JSON stands for by itself.
fn infer(json: &Json<'_>) -> Read<DataType> {
    match json {
        Json::Text(_) => Ok(DataType::Text),
        Json::Boolean(_) => Ok(DataType::Boolean),
        Json::Number(digits) if digits.contains(['.', 'e', 'E']) => Ok(DataType::Double),
        Json::Number(_) => Ok(DataType::Integer),
        Json::Object(_) => Ok(DataType::XPathExpression),
        Json::Array(_) => Err(wrong("an array may not hold arrays")),
        Json::Null => Err(wrong("`null` is not a value; leave the attribute out")),
    }
}

fn one(json: &Json<'_>, data_type: Option<&GivenType>, inferred: DataType) -> Read<Value> {
    let known = match data_type {
        None => inferred,
        Some(GivenType::Known(known)) => *known,
        Some(GivenType::Other(uri)) => {
            let Json::Text(text) = json else {
                return Err(wrong(format!("a value of the data type `{uri}` must be a string")));
            };
            let opaque = Opaque { data_type: uri.clone(), text: SmolStr::new(&**text) };
            return Ok(Value::Opaque(Arc::new(opaque)));
        }
    };
    let parse = |text: &str| Value::parse(known, text).map_err(|error| wrong(error.to_string()));
    let name = known.short_name();
    match json {
        Json::Object(text) if known == DataType::XPathExpression => xpath(text),
        Json::Text(_) if known == DataType::XPathExpression => {
            Err(wrong("an xpathExpression is an object with `XPathCategory` and `XPath`"))
        }
        Json::Text(text) => parse(text),
        Json::Number(digits) if matches!(known, DataType::Integer | DataType::Double) => parse(digits),
        Json::Boolean(boolean) if known == DataType::Boolean => Ok(Value::Boolean(*boolean)),
        Json::Number(digits) => {
            Err(wrong(format!("the number `{digits}` is not of the data type {name}; put it in quotes")))
        }
        Json::Boolean(boolean) => {
            Err(wrong(format!("the boolean `{boolean}` is not of the data type {name}; put it in quotes")))
        }
        Json::Object(_) => Err(wrong(format!("an object is not of the data type {name}"))),
        Json::Array(_) => Err(wrong("an array may not hold arrays")),
        Json::Null => Err(wrong("`null` is not a value; leave the attribute out")),
    }
}

fn xpath(text: &str) -> Read<Value> {
    let given: XPathJson<'_> = serde_json::from_str(text).map_err(|error| wrong(message_of(&error)))?;
    let pair = |namespace: &NamespaceJson<'_>| {
        let prefix = namespace.prefix.as_deref().unwrap_or_default();
        (SmolStr::new(prefix), SmolStr::new(&*namespace.namespace))
    };
    let category = category_of_shorthand(&given.category).unwrap_or(&given.category);
    Ok(Value::XPathExpression(Arc::new(XPathExpression {
        path: SmolStr::new(given.path.trim()),
        category: shared(category),
        namespaces: given.namespaces.0.iter().map(pair).collect(),
    })))
}

/// A value that cannot be read; where it stands, the caller knows.
fn wrong(message: impl Into<String>) -> Box<RequestError> {
    RequestError::whole(RequestErrorKind::Value, message)
}

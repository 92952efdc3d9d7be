//! Values as text, and text as values of a type. What is written can be read again, structures excepted.

use std::fmt::Write as _;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use opcua_types::type_loader::ByteStringBody;
use opcua_types::{
    Array, ByteString, DataValue, DateTime, ExpandedNodeId, ExtensionObject, Guid, LocalizedText, NodeId,
    QualifiedName, StatusCode, UAString, Variant, VariantScalarTypeId,
};
use serde_json::{Value, json};

use super::node::{NodeText, node_text, parse_node};
use super::status::{parse_status, status_text};
use crate::error::Error;

/// Elements of an array that is written.
const ELEMENTS_MAX: usize = 100_000;
/// Dimensions of an array.
const DIMENSIONS_MAX: usize = 8;

/// A value as text: numbers and names as they are, arrays in brackets, byte strings as `0x...`, times by RFC 3339, structures as their
/// type id and bytes.
pub fn value_text(value: &Variant) -> String {
    match value {
        Variant::Empty => "null".to_owned(),
        Variant::Boolean(value) => value.to_string(),
        Variant::SByte(value) => value.to_string(),
        Variant::Byte(value) => value.to_string(),
        Variant::Int16(value) => value.to_string(),
        Variant::UInt16(value) => value.to_string(),
        Variant::Int32(value) => value.to_string(),
        Variant::UInt32(value) => value.to_string(),
        Variant::Int64(value) => value.to_string(),
        Variant::UInt64(value) => value.to_string(),
        Variant::Float(value) => value.to_string(),
        Variant::Double(value) => value.to_string(),
        Variant::String(text) => text.as_ref().to_owned(),
        Variant::DateTime(time) => time.to_rfc3339(),
        Variant::Guid(guid) => guid.to_string(),
        Variant::StatusCode(status) => status_text(*status),
        Variant::ByteString(bytes) => hex(bytes.value.as_deref().unwrap_or_default()),
        Variant::XmlElement(xml) => xml.to_string(),
        Variant::QualifiedName(name) => qualified_text(name),
        Variant::LocalizedText(text) => localized_text(text),
        Variant::NodeId(node) => node_text(node),
        Variant::ExpandedNodeId(node) => expanded_text(node),
        Variant::ExtensionObject(object) => structure_text(object),
        Variant::Variant(value) => value_text(value),
        Variant::DataValue(value) => data_value_text(value),
        Variant::DiagnosticInfo(_) => "(diagnostics)".to_owned(),
        Variant::Array(array) => array_text(array),
    }
}

/// A value with what does not go without saying: a status that is not good.
pub fn data_value_text(value: &DataValue) -> String {
    let text = value.value.as_ref().map(value_text);
    match (value.status.filter(|status| !status.is_good()), text) {
        (None, Some(text)) => text,
        (None, None) => "null".to_owned(),
        (Some(status), None) => status_text(status),
        (Some(status), Some(text)) => format!("{text} ({})", status_text(status)),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold("0x".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn qualified_text(name: &QualifiedName) -> String {
    if name.namespace_index == 0 {
        name.name.to_string()
    } else {
        format!("{}:{}", name.namespace_index, name.name)
    }
}

fn localized_text(text: &LocalizedText) -> String {
    if text.locale.is_empty() {
        text.text.as_ref().to_owned()
    } else {
        json!({ "locale": text.locale.as_ref(), "text": text.text.as_ref() }).to_string()
    }
}

fn expanded_text(node: &ExpandedNodeId) -> String {
    let id = node_text(&node.node_id);
    if node.namespace_uri.is_empty() {
        return id;
    }
    let identifier = id.split_once(';').map_or(id.as_str(), |(_, identifier)| identifier);
    let uri = node.namespace_uri.as_ref().replace('%', "%25").replace(';', "%3B");
    format!("nsu={uri};{identifier}")
}

fn structure_text(object: &ExtensionObject) -> String {
    if object.is_null() {
        return "null".to_owned();
    }
    match object.inner_as::<ByteStringBody>() {
        Some(raw) => {
            let bytes = raw.raw_body().value.as_deref().unwrap_or_default();
            format!("structure {} {}", node_text(raw.encoding_id()), hex(bytes))
        }
        None => format!("structure {}", node_text(&object.binary_type_id().node_id)),
    }
}

fn array_text(array: &Array) -> String {
    let dimensions: Vec<usize> = array.dimensions.iter().flatten().map(|length| *length as usize).collect();
    let product = dimensions.iter().try_fold(1_usize, |product, length| product.checked_mul(*length));
    if dimensions.len() < 2 || dimensions.len() > DIMENSIONS_MAX || product != Some(array.values.len()) {
        return row_text(&array.values);
    }
    nested_text(&array.values, &dimensions)
}

fn nested_text(values: &[Variant], dimensions: &[usize]) -> String {
    match dimensions {
        [_, inner @ ..] if !inner.is_empty() => {
            let length = inner.iter().product::<usize>().max(1);
            let rows: Vec<String> = values.chunks(length).map(|row| nested_text(row, inner)).collect();
            format!("[{}]", rows.join(", "))
        }
        _ => row_text(values),
    }
}

fn row_text(values: &[Variant]) -> String {
    let element = |value: &Variant| {
        let text = value_text(value);
        let is_endless = matches!(value, Variant::Float(number) if !number.is_finite())
            || matches!(value, Variant::Double(number) if !number.is_finite());
        let is_plain = matches!(value, Variant::Boolean(_)) || (value.is_numeric() && !is_endless);
        if is_plain { text } else { json!(text).to_string() }
    };
    format!("[{}]", values.iter().map(element).collect::<Vec<_>>().join(", "))
}

/// Reads a value of a type. `rank` is the variable's value rank (Part 3, 8.6): -1 one value, 0 or more an array, which is written as JSON
/// (`[1, 2, 3]`, `["a", "b"]`, `[[1, 2], [3, 4]]`); -2 and -3 leave it open, and then a text in brackets is an array.
///
/// # Errors
/// `BadTypeMismatch`, with what is wrong and how a value of that type is written.
pub fn parse_value(text: &str, kind: VariantScalarTypeId, rank: i32) -> Result<Variant, Error> {
    let is_open = rank == -2 || rank == -3;
    let in_brackets = text.trim_start().starts_with('[') && text.trim_end().ends_with(']');
    let is_textual = matches!(kind, VariantScalarTypeId::String | VariantScalarTypeId::LocalizedText);
    if rank >= 0 || (is_open && in_brackets && !is_textual) {
        return parse_array(text, kind);
    }
    parse_scalar(text, kind)
}

fn mismatch(text: &str, kind: VariantScalarTypeId, how: &str) -> Error {
    let text: String = text.chars().take(100).collect();
    Error::new(StatusCode::BadTypeMismatch, format!("`{}` is no {kind:?}; {how}", text.escape_debug()))
}

fn parse_scalar(text: &str, kind: VariantScalarTypeId) -> Result<Variant, Error> {
    fn number<T: FromStr + Into<Variant>>(
        text: &str,
        kind: VariantScalarTypeId,
        how: &str,
    ) -> Result<Variant, Error> {
        text.trim().parse::<T>().map(Into::into).map_err(|_| mismatch(text, kind, how))
    }
    use VariantScalarTypeId as Kind;
    match kind {
        Kind::Boolean => match text.trim() {
            "true" | "1" => Ok(Variant::Boolean(true)),
            "false" | "0" => Ok(Variant::Boolean(false)),
            _ => Err(mismatch(text, kind, "write true or false")),
        },
        Kind::SByte => number::<i8>(text, kind, "write a whole number from -128 to 127"),
        Kind::Byte => number::<u8>(text, kind, "write a whole number from 0 to 255"),
        Kind::Int16 => number::<i16>(text, kind, "write a whole number from -32768 to 32767"),
        Kind::UInt16 => number::<u16>(text, kind, "write a whole number from 0 to 65535"),
        Kind::Int32 => number::<i32>(text, kind, "write a whole number of 32 bits"),
        Kind::UInt32 => number::<u32>(text, kind, "write a whole number from 0 to 4294967295"),
        Kind::Int64 => number::<i64>(text, kind, "write a whole number of 64 bits"),
        Kind::UInt64 => number::<u64>(text, kind, "write a whole number of 64 bits, not negative"),
        Kind::Float => number::<f32>(text, kind, "write a number such as 21.5"),
        Kind::Double => number::<f64>(text, kind, "write a number such as 21.5"),
        Kind::String => Ok(Variant::from(text)),
        Kind::DateTime => DateTime::parse_from_rfc3339(text.trim())
            .map(Variant::from)
            .map_err(|_| mismatch(text, kind, "write a time such as 2026-06-01T12:00:00Z")),
        Kind::Guid => Guid::from_str(text.trim()).map(Variant::from).map_err(|_| {
            mismatch(text, kind, "write 32 digits such as 72962b91-fa75-4ae6-8d28-b404dc7daf63")
        }),
        Kind::StatusCode => parse_status(text.trim()).map(Variant::from),
        Kind::ByteString => parse_bytes(text, kind),
        Kind::QualifiedName => Ok(Variant::from(parse_qualified(text))),
        Kind::LocalizedText => Ok(Variant::from(parse_localized(text))),
        Kind::NodeId => parse_id(text).map(Variant::from),
        Kind::ExpandedNodeId => parse_expanded(text).map(Variant::from),
        Kind::Variant => Ok(parse_any(text)),
        Kind::XmlElement | Kind::ExtensionObject | Kind::DataValue | Kind::DiagnosticInfo => {
            Err(mismatch(text, kind, "values of this type cannot be written as text"))
        }
    }
}

fn parse_bytes(text: &str, kind: VariantScalarTypeId) -> Result<Variant, Error> {
    let how = "write 0x and pairs of hexadecimal digits, or Base64";
    let bytes = match text.trim().strip_prefix("0x") {
        Some(digits) => from_hex(digits),
        None => STANDARD.decode(text.trim()).ok(),
    };
    bytes.map(|bytes| Variant::from(ByteString::from(bytes))).ok_or_else(|| mismatch(text, kind, how))
}

fn from_hex(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    };
    digits.as_bytes().chunks(2).map(pair).collect()
}

fn parse_qualified(text: &str) -> QualifiedName {
    let split = text.split_once(':').and_then(|(index, name)| Some((index.parse::<u16>().ok()?, name)));
    let (namespace_index, name) = split.unwrap_or((0, text));
    QualifiedName { namespace_index, name: UAString::from(name) }
}

/// Text, or an object with `locale` and `text`.
fn parse_localized(text: &str) -> LocalizedText {
    let parsed: Option<Value> =
        Some(text).filter(|text| text.starts_with('{')).and_then(|text| serde_json::from_str(text).ok());
    let field = |name: &str| parsed.as_ref().and_then(|value| value.get(name)).and_then(Value::as_str);
    match (field("locale"), field("text")) {
        (Some(locale), Some(text)) => {
            LocalizedText { locale: UAString::from(locale), text: UAString::from(text) }
        }
        (Some(_) | None, _) => LocalizedText { locale: UAString::null(), text: UAString::from(text) },
    }
}

fn parse_id(text: &str) -> Result<NodeId, Error> {
    match parse_node(text.trim())? {
        NodeText::Id(id) => Ok(id),
        NodeText::Uri { .. } | NodeText::Path(_) => Err(mismatch(
            text,
            VariantScalarTypeId::NodeId,
            "a value names its namespace by index: write ns=2;s=Name",
        )),
    }
}

fn parse_expanded(text: &str) -> Result<ExpandedNodeId, Error> {
    match parse_node(text.trim())? {
        NodeText::Id(node_id) => {
            Ok(ExpandedNodeId { node_id, namespace_uri: UAString::null(), server_index: 0 })
        }
        NodeText::Uri { uri, identifier } => Ok(ExpandedNodeId {
            node_id: NodeId { namespace: 0, identifier },
            namespace_uri: UAString::from(uri),
            server_index: 0,
        }),
        NodeText::Path(_) => {
            Err(mismatch(text, VariantScalarTypeId::ExpandedNodeId, "write ns=2;s=Name or nsu=URI;s=Name"))
        }
    }
}

/// A value where any type goes: what it looks like.
fn parse_any(text: &str) -> Variant {
    match text.trim() {
        "true" => Variant::Boolean(true),
        "false" => Variant::Boolean(false),
        "null" => Variant::Empty,
        trimmed => {
            let whole = trimmed.parse::<i64>().map(Variant::from);
            let number = || trimmed.parse::<f64>().map(Variant::from);
            whole.or_else(|_| number()).unwrap_or_else(|_| Variant::from(text))
        }
    }
}

fn parse_array(text: &str, kind: VariantScalarTypeId) -> Result<Variant, Error> {
    let how = "write an array in brackets, such as [1, 2, 3] or [\"a\", \"b\"]";
    let wrong = || mismatch(text, kind, how);
    let parsed: Value = serde_json::from_str(text).map_err(|_| wrong())?;
    let Value::Array(rows) = parsed else { return Err(wrong()) };
    let (mut values, mut dimensions) = (Vec::new(), Vec::new());
    flatten(&rows, kind, 0, &mut values, &mut dimensions).map_err(|error| error.unwrap_or_else(wrong))?;
    let dimensions = (dimensions.len() > 1).then_some(dimensions);
    Ok(Variant::from(Array { value_type: kind, values, dimensions }))
}

/// Elements in order; all rows of a dimension have the same length. `Err(None)`: not rectangular, or too large.
fn flatten(
    row: &[Value],
    kind: VariantScalarTypeId,
    depth: usize,
    values: &mut Vec<Variant>,
    dimensions: &mut Vec<u32>,
) -> Result<(), Option<Error>> {
    let length = u32::try_from(row.len()).map_err(|_| None)?;
    match dimensions.get(depth) {
        Some(known) if *known == length => {}
        None if depth < DIMENSIONS_MAX && values.is_empty() => dimensions.push(length),
        Some(_) | None => return Err(None),
    }
    for element in row {
        let text = match element {
            Value::Array(inner) => {
                flatten(inner, kind, depth + 1, values, dimensions)?;
                continue;
            }
            Value::String(text) => text.clone(),
            Value::Null => return Err(None),
            Value::Bool(_) | Value::Number(_) | Value::Object(_) => element.to_string(),
        };
        if values.len() >= ELEMENTS_MAX || dimensions.len() != depth + 1 {
            return Err(None);
        }
        values.push(parse_scalar(&text, kind).map_err(Some)?);
    }
    Ok(())
}

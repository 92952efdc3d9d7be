//! Writes texts, values and categories as JSON.

use durward_ir::datatype::{Integer, XPathExpression};
use durward_ir::{DataType, Value};

use crate::request::{AttributeView, Categories, Written};
use crate::response::data_type_as_written;

/// The largest integer every reader of JSON keeps exactly: those of JavaScript hold numbers as doubles.
const EXACT_INTEGER_MAX: u64 = (1 << 53) - 1;

/// Appends a JSON string.
pub(crate) fn text(out: &mut String, text: &str) {
    out.push('"');
    let needs_work = |byte: u8| (byte < b' ') | (byte == b'"') | (byte == b'\\');
    // Without branches the compiler looks at many bytes at once; almost all texts need no work.
    let mut rest = text;
    if !text.bytes().fold(false, |found, byte| found | needs_work(byte)) {
        out.push_str(rest);
        rest = "";
    }
    while let Some(at) = rest.bytes().position(needs_work) {
        let (plain, after) = rest.split_at(at);
        out.push_str(plain);
        let mut characters = after.chars();
        match characters.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some(control) => {
                let digit = |number: u32| char::from_digit(number, 16).unwrap_or('0');
                let code = u32::from(control);
                out.push_str("\\u00");
                out.push(digit(code >> 4));
                out.push(digit(code & 15));
            }
            None => {}
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

/// Appends `"name":"value"`, after a comma where something stands before it in the object.
pub(crate) fn member(out: &mut String, name: &str, value: &str) {
    key(out, name);
    text(out, value);
}

/// Appends `"name":`, after a comma where something stands before it in the object.
pub(crate) fn key(out: &mut String, name: &str) {
    if !out.ends_with('{') {
        out.push(',');
    }
    out.push('"');
    out.push_str(name);
    out.push_str("\":");
}

/// Appends the items as an array.
pub(crate) fn array<T>(
    out: &mut String,
    items: impl IntoIterator<Item = T>,
    mut item: impl FnMut(&mut String, T),
) {
    out.push('[');
    let start = out.len();
    for next in items {
        if out.len() > start {
            out.push(',');
        }
        item(out, next);
    }
    out.push(']');
}

/// Appends `"DataType":...` where the value alone would not tell it, and `"Value":...`.
pub(crate) fn write_value(out: &mut String, value: &Value) {
    write_values(out, [(value, None)].into_iter());
}

/// The same for several values of one data type; one value stands without brackets. Each is written as it was sent
/// where that is known.
fn write_values<'a>(
    out: &mut String,
    values: impl ExactSizeIterator<Item = (&'a Value, Option<&'a Written>)> + Clone,
) {
    let Some((first, written)) = values.clone().next() else { return };
    if !values.clone().all(|(value, written)| infers_back(value, written)) {
        member(out, "DataType", data_type_as_written(first, written));
    }
    key(out, "Value");
    let write = |out: &mut String, (value, written): (&Value, Option<&Written>)| match written
        .and_then(Written::text)
    {
        Some(as_sent) => write_scalar_as_sent(out, value, as_sent),
        None => write_scalar(out, value),
    };
    match values.len() {
        1 => values.for_each(|value| write(out, value)),
        _ => array(out, values, write),
    }
}

/// Whether a reader infers the data type from the JSON: a double must not look like an integer to any of them.
fn infers_back(value: &Value, written: Option<&Written>) -> bool {
    if written.is_some_and(|written| written.data_type.is_some()) {
        return false;
    }
    let as_sent = written.and_then(Written::text);
    match value.data_type() {
        DataType::Text => true,
        DataType::Boolean => as_sent.is_none(),
        DataType::Integer => is_exact(value) && as_sent.is_none_or(is_number),
        DataType::Double => match as_sent {
            Some(text) => text.contains('.') && is_number(text),
            None => matches!(value, Value::Double(double) if double.fract() != 0.0 && double.is_finite()),
        },
        DataType::Time
        | DataType::Date
        | DataType::DateTime
        | DataType::DayTimeDuration
        | DataType::YearMonthDuration
        | DataType::AnyUri
        | DataType::HexBinary
        | DataType::Base64Binary
        | DataType::Rfc822Name
        | DataType::X500Name
        | DataType::IpAddress
        | DataType::DnsName
        | DataType::XPathExpression
        | DataType::Opaque
        | DataType::Null
        | DataType::Undefined
        | DataType::Number
        | DataType::Array
        | DataType::Object => false,
    }
}

/// A number is echoed as a number if JSON can write it so: `27.50`, but not `+5` or ` 5 `.
fn write_scalar_as_sent(out: &mut String, value: &Value, as_sent: &str) {
    if let Value::XPathExpression(expression) = value {
        return write_xpath(out, expression);
    }
    match matches!(value, Value::Double(_)) || is_exact(value) {
        true if is_number(as_sent) => out.push_str(as_sent),
        true | false => text(out, as_sent),
    }
}

/// Whether a text is a number of JSON (RFC 8259, section 6).
fn is_number(text: &str) -> bool {
    !text.contains([' ', '\t', '\n', '\r']) && serde_json::from_str::<serde_json::Number>(text).is_ok()
}

fn is_exact(value: &Value) -> bool {
    matches!(value, Value::Integer(Integer::Small(small)) if small.unsigned_abs() <= EXACT_INTEGER_MAX)
}

fn write_scalar(out: &mut String, value: &Value) {
    match value {
        Value::Boolean(_) => value.write_lexical(out),
        Value::Integer(_) if is_exact(value) => value.write_lexical(out),
        Value::Double(double) if double.is_finite() => value.write_lexical(out),
        Value::XPathExpression(expression) => write_xpath(out, expression),
        Value::Integer(_)
        | Value::Double(_)
        | Value::Text(_)
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
        | Value::Opaque(_)
        | Value::Null
        | Value::Undefined
        | Value::Number(_)
        | Value::Array(_)
        | Value::Object(_) => text(out, &value.lexical()),
    }
}

fn write_xpath(out: &mut String, expression: &XPathExpression) {
    out.push('{');
    member(out, "XPathCategory", &expression.category);
    // `xml` means the same everywhere.
    let mut namespaces = expression.namespaces.iter().filter(|(prefix, _)| prefix != "xml").peekable();
    if namespaces.peek().is_some() {
        key(out, "Namespaces");
        array(out, namespaces, |out, (prefix, namespace)| {
            out.push('{');
            if !prefix.is_empty() {
                member(out, "Prefix", prefix);
            }
            member(out, "Namespace", namespace);
            out.push('}');
        });
    }
    member(out, "XPath", &expression.path);
    out.push('}');
}

/// Appends the categories as an array.
pub(crate) fn write_categories(out: &mut String, categories: &Categories) {
    array(out, categories.iter(), |out, category| {
        out.push('{');
        member(out, "CategoryId", &category.category);
        if let Some(id) = &category.xml_id {
            member(out, "Id", id);
        }
        if let Some(content) = &category.content {
            member(out, "Content", &content.standalone());
        }
        if category.attributes().len() > 0 {
            key(out, "Attribute");
            out.push('[');
            let start = out.len();
            category.attributes().for_each(|attribute| write_attribute(out, start, attribute));
            out.push(']');
        }
        out.push('}');
    });
}

/// An attribute whose values are of several data types is written once for each run of one type.
fn write_attribute(out: &mut String, start: usize, attribute: AttributeView<'_>) {
    let mut values = attribute.values_as_written().peekable();
    while let Some(data_type) = values.peek().map(|(value, written)| data_type_as_written(value, *written)) {
        let mut run = Vec::new();
        while let Some(same) =
            values.next_if(|(value, written)| data_type_as_written(value, *written) == data_type)
        {
            run.push(same);
        }
        if out.len() > start {
            out.push(',');
        }
        out.push('{');
        member(out, "AttributeId", &attribute.id);
        if let Some(issuer) = &attribute.issuer {
            member(out, "Issuer", issuer);
        }
        if attribute.include_in_result {
            key(out, "IncludeInResult");
            out.push_str("true");
        }
        write_values(out, run.into_iter());
        out.push('}');
    }
}

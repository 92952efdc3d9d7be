//! The library `xml`: values out of XML and XML out of values.
//!
//! As Jackson's `XmlMapper` maps trees: the name of the root is dropped; attributes and child elements become keys, a name
//! that occurs again an array; text beside them stands under the key `""`; an element without anything is an empty text.
//! Everything is text. Comments and processing instructions are passed over; documents with a DTD are refused.
//! Differences from the engine: `valToXml` names the root `ObjectNode` as the engine does for objects, and elements of
//! arrays outside of objects `item`; a key that is no name of XML is an error.

use durward_ir::Value;
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::{LibraryFunction, Parameter};
use durward_ir::value::{Object, ObjectBuilder};
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use crate::document::{
    READ_DEPTH_MAX, check_growing, check_input, made, not_json, too_deep, unreadable, unwritable,
};

/// The functions of this library.
pub(crate) const FUNCTIONS: &[LibraryFunction] = &[
    LibraryFunction {
        name: "xml.xmlToVal",
        parameters: &[Parameter::Text],
        rest: None,
        run: xml_to_val,
        doc: "The value of an XML document; an error where it is not well-formed.",
    },
    LibraryFunction {
        name: "xml.valToXml",
        parameters: &[Parameter::Any],
        rest: None,
        run: val_to_xml,
        doc: "An XML document of a value; an error where a key is no name of XML.",
    },
];

/// An element that is being read.
#[derive(Default)]
struct Open {
    name: String,
    /// Names with all their values, in the order in which they were first met.
    entries: Vec<(String, Vec<Value>)>,
    text: String,
}

impl Open {
    fn start(start: &BytesStart<'_>) -> Result<Open, String> {
        let mut open = Open { name: start.name().as_ref().to_owned(), ..Open::default() };
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|error| error.to_string())?;
            let value =
                attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|error| error.to_string())?;
            open.add(attribute.key.as_ref().to_owned(), Value::Text(value.as_ref().into()));
        }
        Ok(open)
    }

    fn add(&mut self, name: String, value: Value) {
        match self.entries.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.push(value),
            None => self.entries.push((name, vec![value])),
        }
    }

    fn finish(self) -> Value {
        if self.entries.is_empty() {
            return Value::Text(self.text.into());
        }
        let mut object = ObjectBuilder::with_capacity(self.entries.len() + 1);
        for (name, mut values) in self.entries {
            let value = match (values.len(), values.pop()) {
                (1, Some(only)) => only,
                (_, last) => Value::Array(values.into_iter().chain(last).collect()),
            };
            object.insert(name, value);
        }
        if !self.text.trim().is_empty() {
            object.insert("", Value::Text(self.text.into()));
        }
        Value::Object(std::sync::Arc::new(object.finish()))
    }
}

fn xml_to_val(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Text(text)] = arguments else { return Err(Fault::processing("`xml.xmlToVal` takes a text")) };
    check_input(text)?;
    read(text).map_err(|reason| unreadable("XML", reason))
}

fn read(text: &str) -> Result<Value, String> {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<Open> = Vec::new();
    let mut root = None;
    loop {
        match reader.read_event().map_err(|error| error.to_string())? {
            Event::Start(_) | Event::Empty(_) if root.is_some() => {
                return Err("there is more than one root element".into());
            }
            Event::Start(_) | Event::Empty(_) if open.len() >= READ_DEPTH_MAX => {
                return Err(too_deep().message.clone());
            }
            Event::Start(start) => open.push(Open::start(&start)?),
            Event::Empty(start) => {
                let element = Open::start(&start)?;
                close(element, &mut open, &mut root);
            }
            Event::End(_) => {
                let element = open.pop().ok_or("an element ends that has not begun")?;
                close(element, &mut open, &mut root);
            }
            Event::Text(part) => {
                let part = part.xml10_content();
                match open.last_mut() {
                    Some(element) => element.text.push_str(&part),
                    None if part.trim().is_empty() => {}
                    None => return Err("there is text outside of the root element".into()),
                }
            }
            Event::CData(part) => {
                let part = part.xml10_content();
                open.last_mut().ok_or("there is text outside of the root element")?.text.push_str(&part);
            }
            Event::GeneralRef(name) => {
                let element = open.last_mut().ok_or("there is text outside of the root element")?;
                element.text.push(character(&name)?);
            }
            Event::DocType(_) => return Err("a document type is not allowed".into()),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            Event::Eof => break,
        }
    }
    if let Some(element) = open.last() {
        return Err(format!("`<{}>` is not closed", element.name));
    }
    root.ok_or_else(|| "there is no element".to_owned())
}

/// The character a reference stands for.
fn character(name: &quick_xml::events::BytesRef<'_>) -> Result<char, String> {
    if let Some(character) = name.resolve_char_ref().map_err(|error| error.to_string())? {
        return Ok(character);
    }
    match &**name {
        "amp" => Ok('&'),
        "lt" => Ok('<'),
        "gt" => Ok('>'),
        "quot" => Ok('"'),
        "apos" => Ok('\''),
        other => Err(format!("the entity `{other}` is not known")),
    }
}

fn close(element: Open, open: &mut [Open], root: &mut Option<Value>) {
    let name = element.name.clone();
    let value = element.finish();
    match open.last_mut() {
        Some(parent) => parent.add(name, value),
        None => *root = Some(value),
    }
}

fn val_to_xml(arguments: &[Value]) -> Evaluated<Value> {
    let [value] = arguments else { return Err(Fault::processing("`xml.valToXml` takes one value")) };
    if let Some(reason) = not_json(value, 0) {
        return Err(unwritable("XML", reason));
    }
    let mut out = String::new();
    let root = if matches!(value, Value::Object(_)) { "ObjectNode" } else { "item" };
    write(root, value, &mut out)?;
    made(out)
}

fn write(name: &str, value: &Value, out: &mut String) -> Evaluated<()> {
    check_growing(out)?;
    if !is_name(name) {
        return Err(unwritable("XML", format_args!("`{name}` is no name of XML")));
    }
    if let Value::Array(values) = value {
        return values.iter().try_for_each(|value| write(name, value, out));
    }
    out.push('<');
    out.push_str(name);
    out.push('>');
    match value {
        Value::Object(object) => write_entries(object, out)?,
        Value::Null => {}
        other => out.push_str(&quick_xml::escape::escape(&*other.lexical())),
    }
    out.push_str("</");
    out.push_str(name);
    out.push('>');
    Ok(())
}

fn write_entries(object: &Object, out: &mut String) -> Evaluated<()> {
    object.iter().try_for_each(|(key, value)| write(key, value, out))
}

/// A careful reading of what XML calls a name.
fn is_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && characters.all(|other| other.is_alphanumeric() || matches!(other, '_' | '-' | '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(xml: &str) -> Evaluated<String> {
        xml_to_val(&[Value::Text(xml.into())]).map(|value| value.lexical().into_owned())
    }

    #[test]
    fn elements_attributes_and_text_become_keys() {
        for (xml, json) in [
            ("<a><b>1</b><b>2</b></a>", r#"{"b":["1","2"]}"#),
            (r#"<a id="7">x</a>"#, r#"{"id":"7","":"x"}"#),
            ("<a>1 &lt; 2 &#65;<![CDATA[<b>]]></a>", "1 < 2 A<b>"),
            ("<?xml version=\"1.0\"?><!-- c --><a/>", ""),
            ("<a><b/><c><d>1</d></c></a>", r#"{"b":"","c":{"d":"1"}}"#),
        ] {
            assert_eq!(value(xml).unwrap(), json, "{xml}");
        }
    }

    #[test]
    fn what_is_not_well_formed_is_an_error() {
        for xml in ["", "text", "<a>", "<a></b>", "<a/><b/>", "<!DOCTYPE a><a/>", "<a>&x;</a>"] {
            assert!(value(xml).is_err(), "{xml}");
        }
        assert!(value(&"<a>".repeat(100_000)).is_err());
    }

    #[test]
    fn what_was_read_can_be_written() {
        let read = xml_to_val(&[Value::Text("<a><b>1 &lt; 2</b><b>2</b></a>".into())]).unwrap();
        let written = val_to_xml(&[read]).unwrap();
        assert_eq!(written.lexical(), "<ObjectNode><b>1 &lt; 2</b><b>2</b></ObjectNode>");
        assert!(val_to_xml(&[Value::Array([Value::Undefined].into())]).is_err());
    }
}

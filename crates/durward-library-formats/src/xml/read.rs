//! Reads documents, strictly.

use std::collections::HashMap;
use std::mem;

use durward_functions::document::NESTED_MAX;
use durward_ir::Value;
use quick_xml::Reader;
use quick_xml::events::Event;

use super::XSI;
use super::scopes::NamespaceScopes;
use super::tag::{self, XmlReason, XmlVersion};

/// What is wrong, and behind how many bytes.
pub(super) struct XmlSyntaxError {
    pub(super) at: usize,
    pub(super) reason: XmlReason,
}

/// The value of a document; `None` for one that is nested too deep.
///
/// # Errors
/// It is not well-formed, or uses what it does not declare.
pub(super) fn read(text: &str) -> Result<Option<Value>, XmlSyntaxError> {
    // The mark of byte orders belongs to bytes: in a text it is a character like others.
    if text.starts_with('\u{feff}') {
        return Err(XmlSyntaxError { at: 0, reason: "there is text before the first element".into() });
    }
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_comments = true;
    let mut document = XmlDocument::new(text);
    loop {
        let at = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        let event = reader.read_event().map_err(|error| {
            let at = usize::try_from(reader.error_position()).unwrap_or(usize::MAX);
            XmlSyntaxError { at, reason: error.to_string().into() }
        })?;
        match document.take(event, at) {
            Ok(XmlStep::Next) => {}
            Ok(XmlStep::TooDeep) => return Ok(None),
            Ok(XmlStep::Done(value)) => return Ok(Some(value)),
            Err(reason) => return Err(XmlSyntaxError { at, reason }),
        }
    }
}

enum XmlStep {
    Next,
    TooDeep,
    Done(Value),
}

struct XmlDocument<'a> {
    text: &'a str,
    version: XmlVersion,
    scopes: NamespaceScopes<'a>,
    open: Vec<OpenElement>,
    has_type: bool,
    value: Option<Value>,
}

impl<'a> XmlDocument<'a> {
    fn new(text: &'a str) -> XmlDocument<'a> {
        XmlDocument {
            text,
            version: XmlVersion::Old,
            scopes: NamespaceScopes::new(),
            open: Vec::new(),
            has_type: false,
            value: None,
        }
    }

    fn take(&mut self, event: Event<'_>, at: usize) -> Result<XmlStep, XmlReason> {
        match event {
            Event::Start(tag) => return self.start(&tag, tag.name().as_ref().len()),
            Event::Empty(tag) => {
                let step = self.start(&tag, tag.name().as_ref().len())?;
                self.end();
                return Ok(step);
            }
            Event::End(_) => self.end(),
            Event::Text(text) => {
                check(&text)?;
                self.characters(&text.xml10_content())?;
            }
            Event::CData(text) => {
                check(&text)?;
                self.inside()?.run.push_str(&text.xml10_content());
            }
            Event::GeneralRef(name) => {
                let character = tag::reference(&name, self.version)?;
                self.inside()?.run.push(character);
            }
            Event::Comment(text) => check(&text)?,
            Event::PI(instruction) => {
                check(&instruction)?;
                let target = instruction.target();
                if !tag::is_name(target) || target.eq_ignore_ascii_case("xml") {
                    return Err(tag::no_name(target));
                }
            }
            Event::Decl(declaration) if at == 0 => self.version = version(&declaration)?,
            Event::Decl(_) => return Err("the XML declaration may only stand at the start".into()),
            Event::DocType(declaration) => self.document_type(&declaration, at)?,
            Event::Eof => return self.finish(),
        }
        Ok(XmlStep::Next)
    }

    /// The innermost element.
    fn inside(&mut self) -> Result<&mut OpenElement, XmlReason> {
        self.open.last_mut().ok_or_else(|| "there is text outside of the first element".into())
    }

    fn characters(&mut self, text: &str) -> Result<(), XmlReason> {
        if self.open.is_empty() && tag::skip_space(text).is_empty() {
            return Ok(());
        }
        if text.contains("]]>") {
            return Err("`]]>` may not stand in text".into());
        }
        self.inside()?.run.push_str(text);
        Ok(())
    }

    fn document_type(&mut self, declaration: &str, at: usize) -> Result<(), XmlReason> {
        check(declaration)?;
        let is_written_well = self.text.get(at..).is_some_and(|text| text.starts_with("<!DOCTYPE"));
        let is_end = |character: char| tag::is_space(character) || character == '[';
        let name = tag::skip_space(declaration).split(is_end).next().unwrap_or_default();
        let is_named = tag::split_name(name).is_some();
        if !is_written_well || !is_named || mem::replace(&mut self.has_type, true) {
            return Err("a document has one type, which is named".into());
        }
        if self.open.is_empty() && self.value.is_none() {
            return Ok(());
        }
        Err("the type of a document stands before the first element".into())
    }

    /// Enters an element.
    fn start(&mut self, tag: &str, name_length: usize) -> Result<XmlStep, XmlReason> {
        if self.open.is_empty() && self.value.is_some() {
            return Err("there is a second element at the end".into());
        }
        if self.open.len() > NESTED_MAX {
            return Ok(XmlStep::TooDeep);
        }
        check(tag)?;
        let start = (tag.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let tag = self.text.get(start..start + tag.len()).unwrap_or_default();
        let (name, attributes) = tag.split_at_checked(name_length).unwrap_or((tag, ""));
        let (prefix, local) = tag::split_name(name).ok_or_else(|| tag::no_name(name))?;
        let attributes = self.scopes.enter(tag::attributes(attributes)?, self.version)?;
        self.scopes.space(prefix)?;
        let mut element = OpenElement { key: local.to_owned(), ..OpenElement::default() };
        for (at, (space, attribute)) in attributes.iter().enumerate() {
            let value = attribute.value(self.version)?;
            match (space.as_deref(), attribute.local) {
                (Some(XSI), "nil") if at == 0 => element.is_nil = value == "true",
                (Some(XSI), "type") => element.put("xsi:type", Value::Text(value.into())),
                _ => element.put(attribute.local, Value::Text(value.into())),
            }
        }
        if let Some(around) = self.open.last_mut() {
            around.end_run();
        }
        self.open.push(element);
        Ok(XmlStep::Next)
    }

    /// Leaves the innermost element.
    fn end(&mut self) {
        self.scopes.leave();
        let Some(mut element) = self.open.pop() else { return };
        let key = mem::take(&mut element.key);
        match self.open.last_mut() {
            Some(around) => around.put(&key, element.finish(false)),
            None => self.value = Some(element.finish(true)),
        }
    }

    fn finish(&mut self) -> Result<XmlStep, XmlReason> {
        if let Some(element) = self.open.last() {
            return Err(format!("the element `{}` does not end", element.key).into());
        }
        self.value.take().map(XmlStep::Done).ok_or_else(|| "there is no element".into())
    }
}

/// # Errors
/// A character may not stand in a document.
fn check(text: &str) -> Result<(), XmlReason> {
    match text.chars().find(|&character| tag::is_forbidden(character)) {
        Some(found) => Err(format!("the character U+{:04X} is not allowed", u32::from(found)).into()),
        None => Ok(()),
    }
}

/// An element that is being read.
#[derive(Default)]
struct OpenElement {
    key: String,
    /// Whether it is said to be nothing.
    is_nil: bool,
    /// The values of each key, and where a key is.
    entries: Vec<(String, Vec<Value>)>,
    places: HashMap<String, usize>,
    /// The text since the last element in it.
    run: String,
}

impl OpenElement {
    fn put(&mut self, key: &str, value: Value) {
        if let Some((_, values)) = self.places.get(key).and_then(|&place| self.entries.get_mut(place)) {
            values.push(value);
            return;
        }
        self.places.insert(key.to_owned(), self.entries.len());
        self.entries.push((key.to_owned(), vec![value]));
    }

    /// Puts the text that ends here, if it is not white space alone.
    fn end_run(&mut self) {
        let run = mem::take(&mut self.run);
        if !tag::skip_space(&run).is_empty() {
            self.put("", Value::Text(run.into()));
        }
    }

    /// What it is; the outermost one is always an object.
    fn finish(mut self, is_outermost: bool) -> Value {
        if self.is_nil {
            return Value::Null;
        }
        if self.entries.is_empty() && !is_outermost {
            return Value::Text(self.run.into());
        }
        self.end_run();
        Value::object(self.entries.into_iter().map(|(key, mut values)| {
            let last = values.pop().unwrap_or(Value::Null);
            if values.is_empty() {
                return (key, last);
            }
            values.push(last);
            (key, Value::array(values))
        }))
    }
}

/// The version an XML declaration tells.
///
/// # Errors
/// It is not well-formed, or tells another version than 1.0 and 1.1.
fn version(declaration: &str) -> Result<XmlVersion, XmlReason> {
    const WRONG: &str = "the XML declaration is not well-formed";
    let mut rest = declaration.strip_prefix("xml").ok_or(WRONG)?;
    let mut version = None;
    let mut known: &[&str] = &["version", "encoding", "standalone"];
    while !tag::skip_space(rest).is_empty() {
        let start = tag::skip_space(rest);
        let (name, value, behind) = tag::attribute(start)?;
        let place = known.iter().position(|&known| known == name);
        let place = place.filter(|&place| start.len() < rest.len() && (place == 0 || version.is_some()));
        known = known.get(place.ok_or(WRONG)? + 1..).unwrap_or_default();
        match (name, value) {
            ("version", "1.0") => version = Some(XmlVersion::Old),
            ("version", "1.1") => version = Some(XmlVersion::New),
            ("encoding", _) | ("standalone", "yes" | "no") => {}
            _ => return Err(format!("the {name} of the XML declaration is unknown").into()),
        }
        rest = behind;
    }
    version.ok_or_else(|| WRONG.into())
}

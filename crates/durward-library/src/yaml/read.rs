//! Reads documents.

use std::borrow::Cow;
use std::mem;
use std::sync::Arc;

use durward_ir::Value;
use durward_ir::fault::Evaluated;
use durward_ir::value::ObjectBuilder;
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, Tag};

use super::scalar;
use crate::document::{NESTED_MAX, too_deep, unreadable};

/// An array or object that is being read.
enum Open {
    Array(Vec<Value>),
    Object(ObjectBuilder, Option<String>),
}

/// The value of a document.
///
/// # Errors
/// It is none, holds more than one, or is nested too deep.
pub(super) fn read(text: &str) -> Evaluated<Value> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(found) = text.chars().find(|&character| !is_printable(character)) {
        return Err(unreadable(
            "YAML",
            format_args!("the character U+{:04X} is not allowed", u32::from(found)),
        ));
    }
    let mut reader = Reader { names: Names::new(text), open: Vec::new(), value: None };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| refused(&error))?;
        reader.read(event, span)?;
    }
    reader.value.ok_or_else(|| unreadable("YAML", "there is no document"))
}

/// What YAML allows in documents, as the reader of the Java engine sees it.
pub(super) const fn is_printable(character: char) -> bool {
    matches!(
        character,
        '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..
    )
}

fn refused(error: &ScanError) -> Box<durward_ir::fault::Fault> {
    let place = error.marker();
    let (line, column) = (place.line(), place.col() + 1);
    unreadable("YAML", format_args!("line {line}, column {column}: {}", error.info()))
}

fn wrong(span: Span, reason: &str) -> Box<durward_ir::fault::Fault> {
    let (line, column) = (span.start.line(), span.start.col() + 1);
    unreadable("YAML", format_args!("line {line}, column {column}: {reason}"))
}

struct Reader<'a> {
    names: Names<'a>,
    open: Vec<Open>,
    value: Option<Value>,
}

impl Reader<'_> {
    fn read(&mut self, event: Event<'_>, span: Span) -> Evaluated<()> {
        match event {
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentEnd
            | Event::DocumentStart(_) => {
                let is_second = self.value.is_some() && matches!(event, Event::DocumentStart(_));
                if is_second { Err(wrong(span, "there is a second document")) } else { Ok(()) }
            }
            Event::Alias(_) => {
                let name = self.names.alias(span);
                self.no_key(span)?;
                self.put(Value::Text(name.into()));
                Ok(())
            }
            Event::Scalar(text, style, _, tag) => self.scalar(text, style, tag.as_deref(), span),
            Event::SequenceStart(..) => self.begin(Open::Array(Vec::new()), span),
            Event::MappingStart(..) => self.begin(Open::Object(ObjectBuilder::new(), None), span),
            Event::SequenceEnd | Event::MappingEnd => {
                match self.open.pop() {
                    Some(Open::Array(values)) => self.put(Value::array(values)),
                    Some(Open::Object(object, _)) => self.put(Value::Object(Arc::new(object.finish()))),
                    None => {}
                }
                Ok(())
            }
        }
    }

    fn scalar(
        &mut self,
        text: Cow<'_, str>,
        style: ScalarStyle,
        tag: Option<&Tag>,
        span: Span,
    ) -> Evaluated<()> {
        if let Some(Open::Object(_, key @ None)) = self.open.last_mut() {
            *key = Some(text.into_owned());
            return Ok(());
        }
        let value =
            scalar::value(&text, style == ScalarStyle::Plain, tag).map_err(|reason| wrong(span, reason))?;
        self.put(value);
        Ok(())
    }

    /// # Errors
    /// What is here is a key.
    fn no_key(&self, span: Span) -> Evaluated<()> {
        match self.open.last() {
            Some(Open::Object(_, None)) => Err(wrong(span, "a key is no scalar")),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, open: Open, span: Span) -> Evaluated<()> {
        self.no_key(span)?;
        if self.open.len() >= NESTED_MAX {
            return Err(too_deep());
        }
        self.open.push(open);
        Ok(())
    }

    /// Puts a value where it belongs. Of equal keys the last counts.
    fn put(&mut self, value: Value) {
        match self.open.last_mut() {
            Some(Open::Array(values)) => values.push(value),
            Some(Open::Object(object, key)) => {
                object.insert(mem::take(key).unwrap_or_default(), value);
            }
            None => self.value = Some(value),
        }
    }
}

/// Finds the names of aliases in the text: the parser tells only which anchor they mean. It counts characters.
struct Names<'a> {
    rest: &'a str,
    passed: usize,
}

impl<'a> Names<'a> {
    const fn new(text: &'a str) -> Names<'a> {
        Names { rest: text, passed: 0 }
    }

    /// The name of the alias here; those of earlier ones were asked for before.
    fn alias(&mut self, span: Span) -> &'a str {
        let rest = self.rest;
        let offset =
            |characters: usize| rest.char_indices().nth(characters).map_or(rest.len(), |(offset, _)| offset);
        // Behind the star.
        let start = offset((span.start.index() + 1).saturating_sub(self.passed));
        let end = offset(span.end.index().saturating_sub(self.passed));
        self.rest = rest.get(start..).unwrap_or_default();
        self.passed = span.start.index() + 1;
        rest.get(start..end).unwrap_or_default()
    }
}

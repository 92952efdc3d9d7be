//! Reads documents.

use std::borrow::Cow;
use std::mem;
use std::sync::Arc;

use durward_functions::document::{NESTED_MAX, too_deep, unreadable};
use durward_ir::Value;
use durward_ir::fault::Evaluated;
use durward_ir::value::ObjectBuilder;
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, Tag};

use super::scalar;

/// An array or object that is being read.
enum OpenContainer {
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
    // The parser always ends the last line, but not always well.
    let last_line = text.rsplit(['\n', '\r']).next().filter(|line| !line.is_empty());
    let text = last_line.map_or(Cow::Borrowed(text), |_| Cow::Owned(format!("{text}\n")));
    let mut text = text;
    let mut replaced = 0;
    loop {
        match read_once(&text, last_line)? {
            Ok(value) => return Ok(value),
            Err(error) => {
                let named = name_alone(&text, &error).filter(|_| replaced < REPLACED_MAX);
                text = Cow::Owned(named.ok_or_else(|| refused(&error))?);
                replaced += 1;
            }
        }
    }
}

/// The value, or why the parser does not go on.
fn read_once(text: &str, last_line: Option<&str>) -> Evaluated<Result<Value, ScanError>> {
    let mut reader =
        YamlReader { source: SourcePositions::new(text), last_line, open: Vec::new(), value: None };
    for event in Parser::new_from_str(text) {
        match event {
            Ok((event, span)) => reader.read(event, span)?,
            Err(error) => return Ok(Err(error)),
        }
    }
    reader.value.map(Ok).ok_or_else(|| unreadable("YAML", "there is no document"))
}

/// The most aliases of one document that are names of no anchor: each of them makes the document be read again.
const REPLACED_MAX: usize = 64;

/// The document with its alias of no anchor, at which the parser stops, as a text in quotation marks: to Jackson an alias
/// is its name, whether there is such an anchor or not.
fn name_alone(text: &str, error: &ScanError) -> Option<String> {
    if !error.info().contains("unknown anchor") {
        return None;
    }
    let (at, _) = text.char_indices().nth(error.marker().index())?;
    let (before, alias) = text.split_at_checked(at)?;
    let name = alias.strip_prefix('*')?;
    let length = name.find([' ', '\t', '\n', '\r', ',', '[', ']', '{', '}']).unwrap_or(name.len());
    let (name, behind) = name.split_at_checked(length)?;
    let is_name = !name.is_empty() && !name.contains(['.', '/', '*', '&', '"', '\\']);
    let is_key = behind.trim_start_matches([' ', '\t']).starts_with(':');
    let has_properties =
        before.split_whitespace().next_back().is_some_and(|word| word.starts_with(['!', '&']));
    (is_name && !is_key && !has_properties).then(|| format!("{before}\"{name}\"{behind}"))
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

struct YamlReader<'a> {
    source: SourcePositions<'a>,
    /// The last line of the document, if it does not end.
    last_line: Option<&'a str>,
    open: Vec<OpenContainer>,
    value: Option<Value>,
}

impl YamlReader<'_> {
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
                // Behind the star.
                let name = self.source.part(span).get(1..).unwrap_or_default();
                self.no_key(span)?;
                self.put(Value::Text(name.into()));
                Ok(())
            }
            Event::Scalar(text, style, anchor, tag) => {
                let is_key = matches!(self.open.last(), Some(OpenContainer::Object(_, None)));
                if is_key && text.is_empty() && style == ScalarStyle::Plain && anchor == 0 && tag.is_none() {
                    self.missing_key(span)?;
                }
                self.scalar(&text, style, tag.as_deref(), span)
            }
            Event::SequenceStart(..) => self.begin(OpenContainer::Array(Vec::new()), span),
            Event::MappingStart(..) => self.begin(OpenContainer::Object(ObjectBuilder::new(), None), span),
            Event::SequenceEnd | Event::MappingEnd => {
                match self.open.pop() {
                    Some(OpenContainer::Array(values)) => self.put(Value::array(values)),
                    Some(OpenContainer::Object(object, _)) => {
                        self.put(Value::Object(Arc::new(object.finish())))
                    }
                    None => {}
                }
                Ok(())
            }
        }
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, tag: Option<&Tag>, span: Span) -> Evaluated<()> {
        let text = match style {
            ScalarStyle::Literal | ScalarStyle::Folded => self.block(text, span)?,
            ScalarStyle::Plain | ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => text,
        };
        if let Some(OpenContainer::Object(_, key @ None)) = self.open.last_mut() {
            *key = Some(text.to_owned());
            return Ok(());
        }
        let value = scalar::value(text, style == ScalarStyle::Plain, tag);
        self.put(value.map_err(|reason| wrong(span, reason))?);
        Ok(())
    }

    /// A key may be missing behind a `?` only.
    fn missing_key(&mut self, span: Span) -> Evaluated<()> {
        let before = self.source.pass(span.start.index()).trim_end();
        if before.ends_with('?') { Ok(()) } else { Err(wrong(span, "a key is missing")) }
    }

    /// A block of lines, which the parser takes wherever they begin. If the last line of the document is one of them, the
    /// block has no line end there.
    fn block<'t>(&mut self, text: &'t str, span: Span) -> Evaluated<&'t str> {
        let indent = span.start.col();
        if self.open.is_empty() && indent == 0 && !text.trim_matches('\n').is_empty() {
            return Err(wrong(span, "the lines of a block must be further to the right"));
        }
        let header = self.source.pass(span.start.index()).trim_end();
        self.source.pass(span.end.index());
        let Some(last) = self.last_line.filter(|_| self.source.rest.is_empty()) else { return Ok(text) };
        let header = header.rsplit('\n').next().unwrap_or_default();
        let header = header.split(" #").next().unwrap_or_default().trim_end();
        let keeps = header.trim_end_matches(|character: char| character.is_ascii_digit()).ends_with('+')
            || header.rsplit(['|', '>']).next().is_some_and(|indicators| indicators.starts_with('+'));
        let is_blank = last.len() <= indent && last.bytes().all(|byte| byte == b' ');
        if is_blank && !keeps { Ok(text) } else { Ok(text.strip_suffix('\n').unwrap_or(text)) }
    }

    /// # Errors
    /// What is here is a key.
    fn no_key(&self, span: Span) -> Evaluated<()> {
        match self.open.last() {
            Some(OpenContainer::Object(_, None)) => Err(wrong(span, "a key is no scalar")),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, open: OpenContainer, span: Span) -> Evaluated<()> {
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
            Some(OpenContainer::Array(values)) => values.push(value),
            Some(OpenContainer::Object(object, key)) => {
                object.insert(mem::take(key).unwrap_or_default(), value);
            }
            None => self.value = Some(value),
        }
    }
}

/// Finds what stands at some places of the document, one behind the other. The parser counts characters.
struct SourcePositions<'a> {
    rest: &'a str,
    passed: usize,
}

impl<'a> SourcePositions<'a> {
    const fn new(text: &'a str) -> SourcePositions<'a> {
        SourcePositions { rest: text, passed: 0 }
    }

    /// What is here; what is before was asked for before.
    fn part(&mut self, span: Span) -> &'a str {
        self.pass(span.start.index());
        self.pass(span.end.index())
    }

    /// What is before this place and was not asked for.
    fn pass(&mut self, end: usize) -> &'a str {
        let before = self.rest;
        let mut characters = before.chars();
        for _ in self.passed..end {
            characters.next();
        }
        self.passed = self.passed.max(end);
        self.rest = characters.as_str();
        before.strip_suffix(self.rest).unwrap_or_default()
    }
}

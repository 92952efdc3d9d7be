//! Reads documents: the events of `toml_parser` put into a tree.

use std::borrow::Cow;

use durward_functions::document::READ_DEPTH_MAX;
use durward_ir::Value;
use smol_str::SmolStr;
use toml_parser::decoder::Encoding;
use toml_parser::parser::{Event, EventKind, RecursionGuard, ValidateWhitespace, parse_document};
use toml_parser::{ParseError, Source, Span};

use super::scalar;
use super::tree::{ROOT, TomlItem, TomlTree};

/// What is wrong, and behind how many bytes.
pub(super) struct TomlSyntaxError {
    pub(super) at: usize,
    pub(super) reason: String,
}

type TomlResult<T> = Result<T, TomlSyntaxError>;

/// The value of a document; `None` if it is nested too deep.
pub(super) fn read(text: &str) -> TomlResult<Option<Value>> {
    // The mark of byte orders belongs to bytes: in a text it is a character like others.
    if text.starts_with('\u{feff}') {
        return Err(TomlSyntaxError { at: 0, reason: "a key is expected here".into() });
    }
    let source = Source::new(text);
    let tokens = source.lex().into_vec();
    let mut events: Vec<Event> = Vec::new();
    let mut error: Option<ParseError> = None;
    {
        let mut guard = RecursionGuard::new(&mut events, u32::try_from(READ_DEPTH_MAX).unwrap_or(u32::MAX));
        let mut checked = ValidateWhitespace::new(&mut guard, source);
        parse_document(&tokens, &mut checked, &mut error);
    }
    if let Some(error) = error {
        return Err(of_error(&error));
    }
    TomlReader { source, events: events.into_iter().peekable(), tree: TomlTree::new() }.document()
}

fn of_error(error: &ParseError) -> TomlSyntaxError {
    let place = error.unexpected().or_else(|| error.context());
    TomlSyntaxError { at: place.map_or(0, |span| span.start()), reason: error.description().to_owned() }
}

struct TomlReader<'a, I: Iterator<Item = Event>> {
    source: Source<'a>,
    events: std::iter::Peekable<I>,
    tree: TomlTree,
}

fn wrong(span: Span, reason: &str) -> TomlSyntaxError {
    TomlSyntaxError { at: span.start(), reason: reason.to_owned() }
}

impl<I: Iterator<Item = Event>> TomlReader<'_, I> {
    fn document(mut self) -> TomlResult<Option<Value>> {
        let mut table = ROOT;
        while let Some(event) = self.events.next() {
            let span = event.span();
            match event.kind() {
                EventKind::StdTableOpen => {
                    let keys = self.keys(None)?;
                    table = self.tree.open_table(&keys).map_err(|reason| wrong(span, reason))?;
                }
                EventKind::ArrayTableOpen => {
                    let keys = self.keys(None)?;
                    table = self.tree.open_array_table(&keys).map_err(|reason| wrong(span, reason))?;
                }
                EventKind::SimpleKey => self.key_value(table, event)?,
                EventKind::Whitespace
                | EventKind::Comment
                | EventKind::Newline
                | EventKind::StdTableClose
                | EventKind::ArrayTableClose => {}
                _ => return Err(wrong(span, "this is not expected here")),
            }
        }
        Ok(self.tree.finish())
    }

    /// The next event that is no white space.
    fn next(&mut self) -> TomlResult<Event> {
        loop {
            let end = self.source.input().len();
            let event = self
                .events
                .next()
                .ok_or_else(|| TomlSyntaxError { at: end, reason: "the document ends early".into() })?;
            if event.kind() != EventKind::Whitespace {
                return Ok(event);
            }
        }
    }

    /// The keys up to the end of a header or to the sign behind them. The first may have been taken already.
    fn keys(&mut self, first: Option<Event>) -> TomlResult<Vec<SmolStr>> {
        let mut keys = Vec::new();
        if let Some(first) = first {
            keys.push(self.key(first)?);
        }
        loop {
            let event = self.next()?;
            match event.kind() {
                EventKind::SimpleKey => keys.push(self.key(event)?),
                EventKind::KeySep => {}
                EventKind::StdTableClose | EventKind::ArrayTableClose | EventKind::KeyValSep => {
                    return Ok(keys);
                }
                _ => return Err(wrong(event.span(), "a key is expected here")),
            }
        }
    }

    fn key(&self, event: Event) -> TomlResult<SmolStr> {
        let raw = self.source.get(event).ok_or_else(|| wrong(event.span(), "a key is missing"))?;
        check_escapes(event, raw.as_str())?;
        let mut error: Option<ParseError> = None;
        let mut key = Cow::Borrowed("");
        raw.decode_key(&mut key, &mut error);
        match error {
            Some(error) => Err(of_error(&error)),
            None => Ok(key.into()),
        }
    }

    fn key_value(&mut self, table: usize, first: Event) -> TomlResult<()> {
        let keys = self.keys(Some(first))?;
        let event = self.next()?;
        let item = self.item(event)?;
        self.tree.set(table, &keys, item).map_err(|reason| wrong(first.span(), reason))
    }

    /// The value that begins with an event. `toml_parser` was told how deep they may nest.
    fn item(&mut self, event: Event) -> TomlResult<TomlItem> {
        match event.kind() {
            EventKind::ArrayOpen => self.array(),
            EventKind::InlineTableOpen => self.inline_table(),
            EventKind::Scalar => self.scalar(event).map(TomlItem::value),
            _ => Err(wrong(event.span(), "a value is expected here")),
        }
    }

    fn array(&mut self) -> TomlResult<TomlItem> {
        let mut items = Vec::new();
        loop {
            let event = self.next()?;
            match event.kind() {
                EventKind::ArrayClose => return Ok(TomlItem::array(items)),
                EventKind::ValueSep | EventKind::Newline | EventKind::Comment => {}
                _ => items.push(self.item(event)?),
            }
        }
    }

    /// TOML 1.0 has no line ends, comments and commas at the end between braces.
    fn inline_table(&mut self) -> TomlResult<TomlItem> {
        let table = self.tree.open_inline();
        let mut comma = None;
        loop {
            let event = self.next()?;
            match (event.kind(), comma) {
                (EventKind::InlineTableClose, None) => {
                    return self.tree.close_inline(table).map_err(|reason| wrong(event.span(), reason));
                }
                (EventKind::InlineTableClose, Some(comma)) => {
                    return Err(wrong(comma, "a comma must not be the last in an inline table"));
                }
                (EventKind::Newline | EventKind::Comment, _) => {
                    return Err(wrong(event.span(), "an inline table must be in one line"));
                }
                (EventKind::ValueSep, _) => comma = Some(event.span()),
                (EventKind::SimpleKey, _) => {
                    self.key_value(table, event)?;
                    comma = None;
                }
                _ => return Err(wrong(event.span(), "a key is expected here")),
            }
        }
    }

    fn scalar(&self, event: Event) -> TomlResult<Value> {
        let raw = self.source.get(event).ok_or_else(|| wrong(event.span(), "a value is missing"))?;
        if event.encoding().is_none() {
            return scalar::read(raw.as_str()).map_err(|reason| wrong(event.span(), reason));
        }
        check_escapes(event, raw.as_str())?;
        let mut error: Option<ParseError> = None;
        let mut text = Cow::Borrowed("");
        let _ = raw.decode_scalar(&mut text, &mut error);
        match error {
            Some(error) => Err(of_error(&error)),
            None => Ok(Value::Text(text.into())),
        }
    }
}

/// TOML 1.0 does not have the escapes `\e` and `\x`.
fn check_escapes(event: Event, raw: &str) -> TomlResult<()> {
    if !matches!(event.encoding(), Some(Encoding::BasicString | Encoding::MlBasicString)) {
        return Ok(());
    }
    let mut characters = raw.chars();
    while let Some(character) = characters.next() {
        if character == '\\' && matches!(characters.next(), Some('e' | 'x')) {
            return Err(wrong(event.span(), "the escape is unknown"));
        }
    }
    Ok(())
}

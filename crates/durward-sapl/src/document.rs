//! Documents as they come from wherever policies are kept: text into a tree with its names resolved.

use std::fmt;

use smol_str::SmolStr;

use crate::syntax::{self, Diagnostic, LineIndex, Names, Severity, Span, tree};

/// One document that was read without an error.
#[derive(Clone, Debug)]
pub struct Document {
    /// How messages call it.
    pub source: SmolStr,
    /// What it says.
    pub tree: tree::Document,
    /// What the names of functions and attributes in it mean.
    pub names: Names,
    text: String,
    lines: LineIndex,
}

impl Document {
    /// Reads a document; `source` is how messages call it.
    ///
    /// # Errors
    /// Everything that is wrong with the text.
    pub fn read(source: &str, text: &[u8]) -> Result<Document, Vec<Problem>> {
        let source = SmolStr::new(source);
        let text = match std::str::from_utf8(text) {
            Ok(text) => text.to_owned(),
            Err(error) => return Err(vec![no_utf8(source, text, error.valid_up_to())]),
        };
        let parsed = syntax::parse(&text);
        let (names, unresolved) = Names::resolve(&parsed.tree);
        let lines = LineIndex::new(&text);
        let document = Document { source, tree: parsed.tree, names, text, lines };
        let found = parsed.diagnostics.into_iter().chain(unresolved);
        let errors: Vec<Problem> = found
            .filter(|diagnostic| diagnostic.severity == Severity::Error)
            .map(|diagnostic| document.problem(diagnostic))
            .collect();
        if errors.is_empty() { Ok(document) } else { Err(errors) }
    }

    /// The document that an expression was put into; its text is that of the expression.
    pub(crate) fn of_expression(source: &str, text: &str, tree: tree::Document, names: Names) -> Document {
        Document {
            source: SmolStr::new(source),
            tree,
            names,
            text: text.to_owned(),
            lines: LineIndex::new(text),
        }
    }

    /// The name of its policy or set: no two documents may have the same.
    pub fn name(&self) -> Option<&SmolStr> {
        match self.tree.root.as_ref()? {
            tree::Root::Policy(policy) => Some(&policy.name.text),
            tree::Root::Set(set) => Some(&set.name.text),
        }
    }

    /// Line and column of a piece of the text, from 1.
    pub(crate) fn place(&self, span: Span) -> (u32, u32) {
        let place = self.lines.place(&self.text, span.start);
        (place.line, place.column)
    }

    /// A piece of the text as it is written.
    pub(crate) fn piece(&self, span: Span) -> &str {
        span.text(&self.text)
    }

    /// A piece of the text in one line, cut when it is long.
    pub(crate) fn shown(&self, span: Span) -> SmolStr {
        const SHOWN_CHARS_MAX: usize = 200;
        let line = self.piece(span).split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(SHOWN_CHARS_MAX) {
            Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()).into(),
            None => line.into(),
        }
    }

    pub(crate) fn problem(&self, diagnostic: Diagnostic) -> Problem {
        let (line, column) = self.place(diagnostic.span);
        let Diagnostic { message, help, .. } = diagnostic;
        Problem { source: self.source.clone(), line, column, message, help }
    }
}

fn no_utf8(source: SmolStr, text: &[u8], valid_up_to: usize) -> Problem {
    let before = String::from_utf8_lossy(text.get(..valid_up_to).unwrap_or_default());
    let line = before.matches('\n').count() as u32 + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() as u32 + 1;
    let message = "the text is not UTF-8".to_owned();
    Problem { source, line, column, message, help: Some("save it as UTF-8".into()) }
}

/// What is wrong with documents or their configuration, said to their author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How the caller called the document; empty for what concerns all of them.
    pub source: SmolStr,
    /// The line, from 1; 0 for what concerns a whole document.
    pub line: u32,
    /// The column, in characters, from 1; 0 for what concerns a whole document.
    pub column: u32,
    /// What is wrong.
    pub message: String,
    /// A way out, where one is known.
    pub help: Option<String>,
}

impl Problem {
    /// A problem of a whole document.
    pub fn of(source: &str, message: String) -> Problem {
        Problem { source: source.into(), line: 0, column: 0, message, help: None }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.source.is_empty() {
            write!(f, "{}:", self.source)?;
            if self.line > 0 {
                write!(f, "{}:{}:", self.line, self.column)?;
            }
            f.write_str(" ")?;
        }
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Problem {}

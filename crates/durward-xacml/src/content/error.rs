//! What is wrong with content, and with paths over it.

use std::fmt;

use smol_str::SmolStr;

/// Why content cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentError {
    pub(super) message: String,
    /// The offset of the place in what was given, in bytes.
    pub(super) offset: usize,
    pub(super) line: usize,
}

impl ContentError {
    /// The offset in bytes at which reading stopped.
    pub fn offset(&self) -> usize {
        self.offset
    }
}

impl fmt::Display for ContentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (line {} of the content)", self.message, self.line)
    }
}

impl std::error::Error for ContentError {}

/// What kind of thing is wrong with a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum XPathErrorKind {
    /// It is not an XPath expression, or one with a function or types that do not exist.
    Syntax,
    /// A prefix is bound to no namespace where the expression stands.
    UnknownPrefix(SmolStr),
    /// It gives a text, number or truth value where nodes are needed.
    NoNodes,
    /// It is longer or deeper than allowed, or takes too many steps.
    Limit,
}

/// Why a path cannot be compiled or evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XPathError {
    pub(super) kind: XPathErrorKind,
    pub(super) message: String,
}

impl XPathError {
    /// What kind of error this is.
    pub fn kind(&self) -> &XPathErrorKind {
        &self.kind
    }

    pub(super) fn syntax(message: impl Into<String>) -> XPathError {
        XPathError { kind: XPathErrorKind::Syntax, message: message.into() }
    }

    pub(super) fn limit(message: impl Into<String>) -> XPathError {
        XPathError { kind: XPathErrorKind::Limit, message: message.into() }
    }

    pub(super) fn unknown_prefix(prefix: &str) -> XPathError {
        let message = format!("prefix `{prefix}` is not bound; declare `xmlns:{prefix}` around the path");
        XPathError { kind: XPathErrorKind::UnknownPrefix(SmolStr::new(prefix)), message }
    }
}

impl fmt::Display for XPathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for XPathError {}

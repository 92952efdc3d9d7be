//! Findings as they are made: with the piece of the text they are about, which becomes line and column at the end.

use durward_ir::finding::{Finding, Room, Severity, Tally, left_out};

use crate::document::Document;
use crate::syntax::Span;

/// After so many findings in a document, near names are no longer looked for: that takes time.
const SUGGESTIONS_MAX: usize = 100;

/// The findings of one document.
#[derive(Debug, Default)]
pub(super) struct Report {
    drafts: Vec<Draft>,
    tally: Tally,
}

#[derive(Debug)]
struct Draft {
    span: Span,
    severity: Severity,
    code: &'static str,
    message: String,
    help: Option<String>,
}

impl Report {
    /// Allowed, but hardly what was meant.
    pub(super) fn warn(
        &mut self,
        code: &'static str,
        span: Span,
        message: String,
        help: impl Into<Option<String>>,
    ) {
        self.add(Severity::Warning, code, span, message, help.into());
    }

    /// There is a better way to write it, or it surprises some.
    pub(super) fn hint(
        &mut self,
        code: &'static str,
        span: Span,
        message: String,
        help: impl Into<Option<String>>,
    ) {
        self.add(Severity::Hint, code, span, message, help.into());
    }

    pub(super) fn add(
        &mut self,
        severity: Severity,
        code: &'static str,
        span: Span,
        message: String,
        help: Option<String>,
    ) {
        let (code, message, help) = match self.tally.count(severity) {
            Room::Kept => (code, message, help),
            Room::FirstLeftOut => {
                let (code, message) = left_out(severity);
                (code, message, None)
            }
            Room::LeftOut => return,
        };
        self.drafts.push(Draft { span, severity, code, message, help });
    }

    /// How many findings there were so far, those left out included.
    pub(super) fn total(&self) -> usize {
        self.tally.total()
    }

    /// Whether there is time to look for what was meant.
    pub(super) fn may_suggest(&self) -> bool {
        self.total() < SUGGESTIONS_MAX
    }

    /// The findings in the order of the text, which is read once for all of them.
    pub(super) fn finish(mut self, document: &Document) -> Vec<Finding> {
        self.drafts.sort_by_key(|draft| draft.span.start);
        let mut cursor = LineCursor { offset: 0, line: 1, column: 1 };
        let mut findings = Vec::with_capacity(self.drafts.len());
        for Draft { span, severity, code, message, help } in self.drafts {
            cursor.go_to(span.start, document);
            let LineCursor { line, column, .. } = cursor;
            findings.push(Finding {
                severity,
                code,
                source: document.source.clone(),
                line,
                column,
                message,
                help,
            });
        }
        findings
    }
}

/// Line and column of an offset.
#[derive(Clone, Copy)]
struct LineCursor {
    offset: u32,
    line: u32,
    column: u32,
}

impl LineCursor {
    fn go_to(&mut self, offset: u32, document: &Document) {
        let passed = document.piece(Span::new(self.offset, offset));
        let characters = |text: &str| text.chars().count() as u32;
        match passed.rsplit_once('\n') {
            None => self.column += characters(passed),
            Some((before, after)) => {
                self.line += before.bytes().filter(|byte| *byte == b'\n').count() as u32 + 1;
                self.column = characters(after) + 1;
            }
        }
        self.offset = offset;
    }
}

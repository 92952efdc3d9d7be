//! The page of one document: its text, line by line, coloured by what was covered.

use std::fmt::Write;

use durward_pdp::sapl::syntax::Span;

use super::{bar, percent, title};
use crate::coverage::{ConditionBranch, CoverageRatio, CoveredElement, DocumentCoverage, ElementKind};
use crate::report::escaped;
use crate::report::sonar::lines;

/// A piece of the text that can be covered.
struct SourceMark {
    span: Span,
    ratio: CoverageRatio,
    /// What came, in words.
    words: String,
}

pub(super) fn page(document: &DocumentCoverage) -> String {
    let branches = document.branches();
    let body = format!(
        "<p><a href=\"index.html\">← all documents</a></p>\n<h1>{}</h1>\n<p class=\"small\">{}</p>\n\
         <div class=\"summary\"><span class=\"number\">{}</span>{}<span class=\"small\">{} of {} outcomes came</span></div>\n\
         <p class=\"legend\"><span class=\"full\">all came</span> <span class=\"part\">some came</span> \
         <span class=\"none\">none came</span></p>\n{}",
        escaped(title(document)),
        escaped(&document.path),
        percent(branches),
        bar(branches),
        branches.covered,
        branches.total,
        page_body(document)
    );
    super::page(title(document), &body)
}

fn page_body(document: &DocumentCoverage) -> String {
    let marks = marks(document);
    let covered = lines(document);
    let mut out = "<table class=\"source\">\n<tbody>\n".to_owned();
    let (mut start, mut passed) = (0, 0);
    for (at, line) in document.text.split_inclusive('\n').enumerate() {
        let number = u32::try_from(at + 1).unwrap_or(u32::MAX);
        let class = covered.get(&number).map_or("", |ratio| class(*ratio));
        let end = start + line.len();
        // Marks stand in order and do not overlap.
        passed += marks.iter().skip(passed).take_while(|mark| mark.span.end as usize <= start).count();
        let here: Vec<&SourceMark> =
            marks.iter().skip(passed).take_while(|mark| (mark.span.start as usize) < end).collect();
        let begun = here.iter().filter(|mark| (start..end).contains(&(mark.span.start as usize)));
        let notes: Vec<String> = begun.map(|mark| escaped(&mark.words)).collect();
        // Writing to a `String` cannot fail.
        let _ = writeln!(
            out,
            "<tr class=\"{class}\" id=\"L{number}\"><td class=\"line\">{number}</td><td class=\"code\">{}</td>\
             <td class=\"notes\">{}</td></tr>",
            code(line, start, &here),
            notes.join("<br>")
        );
        start = end;
    }
    out + "</tbody>\n</table>\n"
}

fn class(ratio: CoverageRatio) -> &'static str {
    match (ratio.covered, ratio.is_full()) {
        (_, true) => "full",
        (0, false) => "none",
        (_, false) => "part",
    }
}

/// In the order of the text.
fn marks(document: &DocumentCoverage) -> Vec<SourceMark> {
    let mut marks: Vec<SourceMark> = Vec::new();
    for element in &document.elements {
        marks.push(SourceMark { span: element.head, ratio: element.outcomes(), words: said(element) });
        for condition in &element.conditions {
            marks.push(SourceMark {
                span: condition.span,
                ratio: condition.outcomes(),
                words: was(condition),
            });
        }
    }
    marks.sort_by_key(|mark| mark.span.start);
    marks
}

fn said(element: &CoveredElement) -> String {
    if element.looked_at == 0 {
        return "never looked at".to_owned();
    }
    let word = match element.kind {
        ElementKind::Set => "asked",
        ElementKind::Policy => "applied",
    };
    let mut words = format!("{word} {}×, not applicable {}×", element.applied, element.not_applicable);
    if element.failed > 0 {
        words.push_str(&format!(", failed {}×", element.failed));
    }
    words
}

fn was(condition: &ConditionBranch) -> String {
    let mut words = format!("true {}×, false {}×", condition.times_true, condition.times_false);
    if condition.times_failed > 0 {
        words.push_str(&format!(", failed {}×", condition.times_failed));
    }
    if condition.is_constant {
        words.push_str(" (always the same)");
    }
    words
}

/// A line with its marks, which do not overlap.
fn code(line: &str, start: usize, marks: &[&SourceMark]) -> String {
    let text = line.trim_end_matches(['\r', '\n']);
    let mut out = String::new();
    let mut done = 0;
    for mark in marks {
        let from = (mark.span.start as usize).saturating_sub(start).clamp(done, text.len());
        let to = (mark.span.end as usize).saturating_sub(start).clamp(from, text.len());
        out.push_str(&escaped(text.get(done..from).unwrap_or_default()));
        let marked = text.get(from..to).unwrap_or_default();
        if !marked.is_empty() {
            let (class, words) = (class(mark.ratio), escaped(&mark.words));
            let _ = write!(out, "<mark class=\"{class}\" title=\"{words}\">{}</mark>", escaped(marked));
        }
        done = to;
    }
    out + &escaped(text.get(done..).unwrap_or_default())
}

//! Keys that stand in one place only, and are a letter away from one that many documents use: hints, where there is no
//! schema to know better.

use std::collections::BTreeMap;

use durward_ir::finding::{Finding, Severity};
use durward_ir::near::distance_within;
use smol_str::SmolStr;

use crate::document::Document;
use crate::syntax::{Span, quote};

/// In so many documents a key must stand for one like it, that stands in one, to be taken for mistyped.
const DOCUMENTS_MIN: usize = 3;

/// Shorter names are near to too many others.
const LENGTH_MIN: usize = 4;

/// Hints of this kind: finding a place takes reading its line.
const HINTS_MAX: usize = 100;

/// Keys of one object that are compared with each other at most.
const KEYS_MAX: usize = 1_000;

/// A path of keys through a part of the subscription.
#[derive(Debug)]
pub(super) struct Path {
    pub(super) element: &'static str,
    /// Each with where it is written.
    pub(super) keys: Vec<(SmolStr, Span)>,
}

/// What all documents use.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// By the path before them: the keys that stand there.
    keys: BTreeMap<String, BTreeMap<SmolStr, Use>>,
}

#[derive(Debug)]
struct Use {
    /// In how many documents it stands, and how often.
    documents: usize,
    places: usize,
    /// The document where it stood last.
    last: usize,
    /// The document where it stood first, and where in it.
    first: (usize, Span),
}

impl Usage {
    /// Notes the paths of a document, which is the `number`th.
    pub(super) fn add(&mut self, number: usize, paths: Vec<Path>) {
        for Path { element, keys } in paths {
            let mut before = element.to_owned();
            for (key, span) in keys {
                let known = self.keys.entry(before.clone()).or_default();
                match known.get_mut(&key) {
                    Some(known) => {
                        known.places += 1;
                        known.documents += usize::from(known.last != number);
                        known.last = number;
                    }
                    None => {
                        let new = Use { documents: 1, places: 1, last: number, first: (number, span) };
                        known.insert(key.clone(), new);
                    }
                }
                before = format!("{before}.{key}");
            }
        }
    }

    /// Hints for the keys that are likely mistyped.
    pub(super) fn hints(&self, documents: &[Document]) -> Vec<Finding> {
        let mut hints = Vec::new();
        for (before, keys) in &self.keys {
            let usual: Vec<(&SmolStr, &Use)> =
                keys.iter().filter(|(_, used)| used.documents >= DOCUMENTS_MIN).take(KEYS_MAX).collect();
            let rare = keys.iter().filter(|(_, used)| used.places == 1).take(KEYS_MAX);
            for (key, used) in rare {
                let meant = usual.iter().filter(|(other, _)| is_mistyped(key, other));
                if let Some((other, usual)) = meant.max_by_key(|(other, usual)| (usual.documents, *other)) {
                    let (number, span) = used.first;
                    let Some(document) = documents.get(number) else { continue };
                    hints.push(hint(document, span, before, [key, other], usual.documents));
                }
                if hints.len() >= HINTS_MAX {
                    return hints;
                }
            }
        }
        hints
    }
}

fn hint(document: &Document, span: Span, before: &str, [key, other]: [&str; 2], documents: usize) -> Finding {
    let (line, column) = document.place(span);
    let path = |key: &str| quote(&format!("{before}.{key}"));
    Finding {
        severity: Severity::Hint,
        code: "rare-key",
        source: document.source.clone(),
        line,
        column,
        message: format!("{} stands nowhere else, and {} in {documents} documents", path(key), path(other)),
        help: Some(format!("did you mean {}?", quote(other))),
    }
}

/// Whether one name is the other with a letter wrong. A plural, or another number, is another name.
fn is_mistyped(key: &str, other: &str) -> bool {
    let stem =
        |name: &str| name.trim_end_matches(|last: char| last == 's' || last.is_ascii_digit()).to_owned();
    key != other
        && key.len().min(other.len()) >= LENGTH_MIN
        && stem(key) != stem(other)
        && distance_within(key, other, 1).is_some()
}

//! Equal identifiers share their memory: a large policy repeats a few dozen URIs a hundred thousand times.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use smol_str::SmolStr;

/// Longest text worth remembering; longer ones (descriptions, embedded documents) hardly repeat.
const SHARED_LENGTH_MAX: usize = 256;

/// The texts met so far in one document.
#[derive(Default)]
pub(super) struct Names(HashSet<SmolStr, RandomState>);

impl Names {
    /// The text, sharing memory with earlier equal ones.
    pub(super) fn share(&mut self, text: &str) -> SmolStr {
        if let Some(known) = self.0.get(text) {
            return known.clone();
        }
        let name = SmolStr::new(text);
        if name.is_heap_allocated() && text.len() <= SHARED_LENGTH_MAX {
            self.0.insert(name.clone());
        }
        name
    }
}

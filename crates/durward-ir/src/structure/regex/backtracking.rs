//! The engine that tries ways, up to [`BACKTRACKS_MAX`]. Without the feature `backtracking`, `linear_only.rs` is in its place.

use super::{BACKTRACKS_MAX, PATTERN_MEMORY_MAX, Reason, RegexMatch};

#[derive(Debug)]
pub(super) struct Backtracking(Box<fancy_regex::Regex>);

impl Backtracking {
    /// # Errors
    /// The expression is beyond a limit.
    pub(super) fn build(pattern: &str) -> Result<Backtracking, Reason> {
        let mut builder = fancy_regex::RegexBuilder::new(pattern);
        builder
            .backtrack_limit(BACKTRACKS_MAX)
            .delegate_size_limit(PATTERN_MEMORY_MAX)
            .delegate_dfa_size_limit(PATTERN_MEMORY_MAX)
            .max_prog_size(PATTERN_MEMORY_MAX / 64);
        let regex = builder.build().map_err(|_| "it is too complex")?;
        Ok(Backtracking(Box::new(regex)))
    }

    /// Whether it matches; `None` where too many ways were tried.
    pub(super) fn is_match(&self, text: &str) -> Option<bool> {
        self.0.is_match(text).ok()
    }

    /// The first match from this byte on, if there is one; `None` where too many ways were tried.
    pub(super) fn find_at(&self, text: &str, start: usize) -> Option<Option<RegexMatch>> {
        let captures = self.0.captures_from_pos(text, start).ok()?;
        let span = |group: fancy_regex::Match<'_>| (group.start(), group.end());
        Some(
            captures
                .map(|captures| RegexMatch { spans: captures.iter().map(|group| group.map(span)).collect() }),
        )
    }
}

//! Regular expressions as SAPL has them: those of `java.util.regex.Pattern`.
//!
//! They are read here, with Java's rules for escapes, classes, flags and quotations, and written anew for the engines.
//! What is regular goes to the `regex` crate, whose time is linear in the text whatever the expression. Look-around,
//! back-references, atomic groups and possessive quantifiers go to `fancy-regex`, which tries ways as Java does, up to
//! [`BACKTRACKS_MAX`].
//!
//! Refused, because neither engine can be relied on to say it: grapheme clusters (`\X`, `\b{g}`), names of characters
//! (`\N{..}`), canonical equivalence, back-references that ignore the case of ASCII letters only (`(?i)` without `u`) to
//! groups that may match other letters, references by a group to itself, and look-behind of varying length with look-around,
//! back-references, possessive quantifiers or captured groups inside. Plain look-behind may be of any length, where Java
//! wants an obvious limit. Loops whose body may match nothing go on as long as the whole can match, where Java stops after
//! a round of nothing.

#[cfg_attr(not(feature = "backtracking"), path = "regex/linear_only.rs")]
mod backtracking;
mod class;
mod flags;
mod parse;
mod reader;
mod set;
mod syntax;
mod write;
mod wrong;

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::fault::{Evaluated, Fault};
use crate::value::Value;
use backtracking::Backtracking;
pub use parse::PATTERN_DEPTH_MAX;
use write::Use;
use wrong::Reason;

/// The longest expression, in bytes.
pub const PATTERN_LENGTH_MAX: usize = 64 << 10;
/// The most memory a compiled expression and its search may each take, in bytes.
pub const PATTERN_MEMORY_MAX: usize = 4 << 20;
/// How many ways are tried in one text before giving up: some tens of milliseconds, where SAPL gives up after a second.
pub const BACKTRACKS_MAX: usize = 1_000_000;

/// Why a text is no regular expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegexError {
    pattern: Arc<str>,
    /// How many characters were read until it was noticed; `None` when it is about the whole.
    pub position: Option<usize>,
    /// What is wrong, in a few words.
    pub reason: &'static str,
}

impl fmt::Display for RegexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no regular expression: {}", super::cut(&self.pattern), self.reason)?;
        match self.position {
            Some(position) => write!(f, " (after {position} characters)"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for RegexError {}

/// A compiled regular expression. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Regex(Arc<Compiled>);

#[derive(Debug)]
struct Compiled {
    pattern: Arc<str>,
    parsed: parse::Parsed,
    whole: Engine,
    /// Made when it is first needed: most expressions are only matched against whole texts.
    find: OnceLock<Result<Engine, RegexError>>,
}

#[derive(Debug)]
enum Engine {
    Linear(regex::Regex),
    Backtracking(Backtracking),
}

/// Where an expression was found: the spans of the whole and of its groups, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegexMatch {
    spans: Vec<Option<(usize, usize)>>,
}

impl RegexMatch {
    /// The first byte of the match and the one behind it.
    pub fn span(&self) -> (usize, usize) {
        self.group(0).unwrap_or((0, 0))
    }

    /// The same of a group, if it took part; 0 is the whole match.
    pub fn group(&self, group: usize) -> Option<(usize, usize)> {
        self.spans.get(group).copied().flatten()
    }
}

impl Regex {
    /// Compiles an expression.
    ///
    /// # Errors
    /// It is not one of Java's, is one of the few that are refused, or is beyond a limit.
    pub fn compile(pattern: &str) -> Result<Regex, RegexError> {
        let shared: Arc<str> = pattern.into();
        if pattern.len() > PATTERN_LENGTH_MAX {
            return Err(RegexError { pattern: shared, position: None, reason: "it is too long" });
        }
        let parsed = parse::parse(pattern).map_err(|wrong| RegexError {
            pattern: Arc::clone(&shared),
            position: Some(wrong.position),
            reason: wrong.reason,
        })?;
        let whole = Engine::build(&shared, &parsed, Use::Whole)?;
        Ok(Regex(Arc::new(Compiled { pattern: shared, parsed, whole, find: OnceLock::new() })))
    }

    /// The expression.
    pub fn as_str(&self) -> &str {
        &self.0.pattern
    }

    /// Whether it matches the whole text.
    ///
    /// # Errors
    /// More than [`BACKTRACKS_MAX`] ways were tried.
    pub fn matches(&self, text: &str) -> Evaluated<bool> {
        match &self.0.whole {
            Engine::Linear(regex) => Ok(regex.is_match(text)),
            Engine::Backtracking(regex) => regex.is_match(text).ok_or_else(|| self.takes_too_long()),
        }
    }

    /// Whether it matches any part of the text.
    ///
    /// # Errors
    /// As [`Regex::find_at`].
    pub fn is_found(&self, text: &str) -> Evaluated<bool> {
        match self.find_engine()? {
            Engine::Linear(regex) => Ok(regex.is_match(text)),
            Engine::Backtracking(regex) => regex.is_match(text).ok_or_else(|| self.takes_too_long()),
        }
    }

    fn find_engine(&self) -> Evaluated<&Engine> {
        let engine = self.0.find.get_or_init(|| Engine::build(&self.0.pattern, &self.0.parsed, Use::Find));
        engine.as_ref().map_err(|error| Fault::processing(error.to_string()))
    }

    /// The first match that begins at this byte or behind it, as `java.util.regex.Matcher.find` would find it.
    ///
    /// # Errors
    /// More than [`BACKTRACKS_MAX`] ways were tried, or the expression, which matches whole texts, takes too much memory
    /// to be looked for.
    pub fn find_at(&self, text: &str, start: usize) -> Evaluated<Option<RegexMatch>> {
        if !text.is_char_boundary(start) {
            return Ok(None);
        }
        match self.find_engine()? {
            Engine::Linear(regex) => Ok(regex.captures_at(text, start).map(|captures| RegexMatch {
                spans: captures.iter().map(|group| group.map(|group| (group.start(), group.end()))).collect(),
            })),
            Engine::Backtracking(regex) => regex.find_at(text, start).ok_or_else(|| self.takes_too_long()),
        }
    }

    /// How many groups there are, without the whole.
    pub fn group_count(&self) -> usize {
        self.0.parsed.group_count
    }

    /// The number of the group of this name.
    pub fn group_of(&self, name: &str) -> Option<usize> {
        self.0.parsed.names.iter().find(|(known, _)| known == name).map(|(_, group)| *group)
    }

    #[cold]
    fn takes_too_long(&self) -> Box<Fault> {
        Fault::processing(format!("matching `{}` takes too long on this text", super::cut(self.as_str())))
    }
}

impl Engine {
    fn build(pattern: &Arc<str>, parsed: &parse::Parsed, usage: Use) -> Result<Engine, RegexError> {
        let refuse = |reason| RegexError { pattern: Arc::clone(pattern), position: None, reason };
        let written = write::write(&parsed.node, usage).map_err(refuse)?;
        let engine = if written.needs_backtracking {
            Backtracking::build(&written.pattern).map(Engine::Backtracking)
        } else {
            Engine::linear(&written.pattern)
        };
        engine.map_err(refuse)
    }

    fn linear(pattern: &str) -> Result<Engine, Reason> {
        let mut builder = regex::RegexBuilder::new(pattern);
        builder.size_limit(PATTERN_MEMORY_MAX).dfa_size_limit(PATTERN_MEMORY_MAX);
        builder.build().map(Engine::Linear).map_err(|_| "it takes too much memory")
    }
}

/// How many compiled expressions a thread keeps. Those written in policies are compiled when these are loaded; here come
/// those that are computed, of which a policy has few.
const CACHE_SIZE_MAX: usize = 64;

/// `text =~ pattern`, for a pattern that is computed: whether the pattern matches the whole text. Anything but a text does
/// not match.
///
/// # Errors
/// The pattern is no text or no regular expression, or [`Regex::matches`] fails.
pub fn matches(text: &Value, pattern: &Value) -> Evaluated<bool> {
    let Some(pattern) = pattern.as_text() else {
        let kind = super::kind_of(pattern);
        return Err(Fault::processing(format!("a regular expression must be a text, not {kind}")));
    };
    match text.as_text() {
        Some(text) => compiled(pattern)?.matches(text),
        None => Ok(false),
    }
}

/// The compiled expression, kept for some time by this thread.
///
/// # Errors
/// It is no regular expression.
pub fn compiled(pattern: &str) -> Evaluated<Regex> {
    thread_local! {
        static COMPILED: RefCell<HashMap<Box<str>, Result<Regex, RegexError>>> = RefCell::default();
    }
    COMPILED.with_borrow_mut(|compiled| {
        if !compiled.contains_key(pattern) {
            if compiled.len() >= CACHE_SIZE_MAX {
                compiled.clear();
            }
            compiled.insert(pattern.into(), Regex::compile(pattern));
        }
        match compiled.get(pattern) {
            Some(Ok(regex)) => Ok(regex.clone()),
            Some(Err(error)) => Err(Fault::processing(error.to_string())),
            None => Err(Fault::processing("the regular expression could not be kept")),
        }
    })
}

#[cfg(test)]
mod tests;

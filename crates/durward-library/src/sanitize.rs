//! The library `sanitize`: refuses texts that look like SQL injections.
//!
//! A second line of defence: finders of attributes must use queries with parameters all the same. What is looked for is
//! what the Java engine looks for, in the text after Unicode's compatibility mapping (NFKC), so that letters of full
//! width count.

use std::collections::HashSet;
use std::sync::LazyLock;

use durward_functions::argument::text;
use durward_functions::table::row;
use durward_ir::Value;
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::{LibraryFunction, Parameter};
use regex::RegexSet;
use unicode_normalization::UnicodeNormalization;

/// What belongs to a statement, a comment or an encoding, in texts where words of SQL may stand.
const SUSPICIOUS: &[&str] = &[
    // Starts of statements.
    r"(?-u:\b)INSERT(?-u:\s)+INTO(?-u:\b)",
    r"(?-u:\b)DELETE(?-u:\s)+FROM(?-u:\b)",
    r"(?-u:\b)UPDATE(?-u:\s)+(?-u:\w)+(?-u:\s)+SET(?-u:\b)",
    r"(?-u:\b)(?:DROP|TRUNCATE|CREATE|ALTER)(?-u:\s)+TABLE(?-u:\b)",
    r"(?-u:\b)UNION(?-u:\s)+(?:ALL(?-u:\s)+)?SELECT(?-u:\b)",
    // A quote that ends a text, and goes on.
    r"'(?-u:\s)*(?:OR|AND|UNION|SELECT|INSERT|DELETE|UPDATE|DROP|--|#)",
    r";(?-u:\s)*(?:SELECT|INSERT|DELETE|UPDATE|DROP|UNION|CREATE|ALTER|TRUNCATE|EXEC)",
    // A comment before a word or at the end, where a line end does not count.
    r"(?:--|#)(?-u:\s)*(?:(?-u:\w)|[\u{85}\u{2028}\u{2029}]?\z)",
    // Conditions that always hold.
    r"(?:OR|AND)(?-u:\s)+[0-9]+(?-u:\s)*=(?-u:\s)*[0-9]",
    r"(?:OR|AND)(?-u:\s)+'[^']*'(?-u:\s)*=(?-u:\s)*'[^']*'",
    // Encoded quotes, semicolons and comments, three encoded characters in a row, and hexadecimal texts.
    r"%27|%3B|%2D%2D|%23",
    r"(?:%[0-9a-f]{2}){3}",
    r"0x[0-9a-f]{2}",
];

/// What identifiers do not have.
const FORBIDDEN: &[&str] = &[
    r"[';*()@]",
    r"--|#",
    r"(?-u:\b)(?:SELECT|INSERT|DELETE|UPDATE|DROP|UNION|ALTER|EXEC|EXECUTE|TRUNCATE|CREATE|REPLACE)(?-u:\b)",
    r"OR|AND|NOT",
    r"%[0-9a-f]{2}",
    r"0x[0-9a-f]{2}",
];

static BALANCED: LazyLock<Result<RegexSet, regex::Error>> = LazyLock::new(|| set(SUSPICIOUS));
static STRICT: LazyLock<Result<RegexSet, regex::Error>> = LazyLock::new(|| set(FORBIDDEN));

fn set(patterns: &[&str]) -> Result<RegexSet, regex::Error> {
    regex::RegexSetBuilder::new(patterns).case_insensitive(true).build()
}

fn assert_no(arguments: &[Value], set: &Result<RegexSet, regex::Error>, statement: bool) -> Evaluated<Value> {
    let given = text(arguments, 0)?;
    let normal: String = given.nfkc().collect();
    let set = set.as_ref().map_err(|error| Fault::processing(error.to_string()))?;
    if set.is_match(&normal) || (statement && has_select_from(&normal)) {
        return Err(Fault::processing("Potential SQL injection detected in text."));
    }
    Ok(Value::Text(given.into()))
}

/// Whether the text has `SELECT`, items between commas, and `FROM`: each item is a word of anything, and of what follows
/// an item only a comma goes on.
fn has_select_from(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut seen = HashSet::new();
    (0..bytes.len()).any(|at| word(bytes, at, b"SELECT").is_some_and(|end| has_from(text, end, &mut seen)))
}

/// `seen` holds the ends of items behind which there was no `FROM`: no part of the text is read twice.
fn has_from(text: &str, behind_select: usize, seen: &mut HashSet<usize>) -> bool {
    let Some(mut at) = some_space(text, behind_select).and_then(|at| item(text, at)) else { return false };
    let bytes = text.as_bytes();
    while seen.insert(at) {
        let next = space(text, at);
        let further = (bytes.get(next) == Some(&b',')).then(|| space(text, next + 1));
        match further.filter(|at| word(bytes, *at, b"FROM").is_none()).and_then(|at| item(text, at)) {
            Some(end) => at = end,
            None => return some_space(text, at).is_some_and(|at| word(bytes, at, b"FROM").is_some()),
        }
    }
    false
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Where a word ends that stands here, in any case.
fn word(bytes: &[u8], at: usize, word: &[u8]) -> Option<usize> {
    let end = at + word.len();
    let is_free = |byte: Option<&u8>| !byte.copied().is_some_and(is_word);
    let found = bytes.get(at..end).is_some_and(|found| found.eq_ignore_ascii_case(word));
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    (found && is_free(before) && is_free(bytes.get(end))).then_some(end)
}

const fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t'..='\r')
}

/// Where the white space from here on ends.
fn space(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    text.len() - rest.trim_start_matches(is_space).len()
}

/// The same, if there is any.
fn some_space(text: &str, at: usize) -> Option<usize> {
    Some(space(text, at)).filter(|end| *end > at)
}

/// Where what is no white space ends, if there is any.
fn item(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let length = rest.find(is_space).unwrap_or(rest.len());
    (length > 0).then_some(at + length)
}

fn assert_no_sql_injection(arguments: &[Value]) -> Evaluated<Value> {
    assert_no(arguments, &BALANCED, true)
}

fn assert_no_sql_injection_strict(arguments: &[Value]) -> Evaluated<Value> {
    assert_no(arguments, &STRICT, false)
}

pub(crate) const FUNCTIONS: &[LibraryFunction] = &[
    row(
        "sanitize.assertNoSqlInjection",
        &[Parameter::Text],
        assert_no_sql_injection,
        "The text; an error if it looks like an SQL injection.",
    ),
    row(
        "sanitize.assertNoSqlInjectionStrict",
        &[Parameter::Text],
        assert_no_sql_injection_strict,
        "The text; an error if it has any sign or word of SQL.",
    ),
];

#[cfg(test)]
mod tests {
    use super::FUNCTIONS;
    use durward_functions::check::{TestedLibrary, values};

    const LIBRARY: TestedLibrary = TestedLibrary(FUNCTIONS);

    const DETECTED: &str = "Potential SQL injection detected in text.";

    /// Whether the functions let a text pass: the balanced one and the strict one.
    fn passes(text: &str) -> (bool, bool) {
        let pass = |name| match LIBRARY.call(name, &values![text]) {
            Ok(_) => true,
            Err(message) => {
                assert_eq!(message, DETECTED, "{text}");
                false
            }
        };
        (pass("sanitize.assertNoSqlInjection"), pass("sanitize.assertNoSqlInjectionStrict"))
    }

    #[test]
    fn identifiers_pass_both() {
        for text in ["", "USER123", "deep-one", "SITE_19", "αβγδ", "a b", "100%", "0x4"] {
            assert_eq!(passes(text), (true, true), "{text}");
        }
    }

    #[test]
    fn ordinary_texts_pass_the_balanced_one_alone() {
        for text in [
            "O'Brien",
            "Portland OR Seattle",
            "Anderson",
            "What's the access level?",
            "user@example.com",
            "Select appropriate clearance from",
            "select a , from b",
            "Insert keycard into",
            "Drop items; then go (now)",
            "a%20b",
            "select 1",
            "-- é",
        ] {
            assert_eq!(passes(text), (true, false), "{text}");
        }
    }

    #[test]
    fn injections_pass_neither() {
        for text in [
            "' OR '1'='1",
            "admin'--",
            "x'#",
            "1; DROP TABLE users",
            "valid;\tdelete x",
            "SELECT * FROM users",
            "select a,b , c from t",
            "SELECT a, select b FROM t",
            "INSERT INTO t",
            "update t set x",
            "1 UNION ALL SELECT x",
            "1 AND 1=1",
            "or 'a' = 'a'",
            "x --",
            "x --\n",
            "x #\u{2028}",
            "%27",
            "%2d%2D",
            "%41%42%43",
            "user_0x27",
            "ＳＥＬＥＣＴ * ＦＲＯＭ t",
        ] {
            assert_eq!(passes(text), (false, false), "{text}");
        }
    }

    #[test]
    fn many_statements_without_an_end_are_read_once() {
        let text = "SELECT , ".repeat(100_000);
        assert_eq!(passes(&text), (true, false));
    }

    #[test]
    fn only_texts_are_taken() {
        LIBRARY.faults(&[(
            "sanitize.assertNoSqlInjection",
            values![1],
            "argument 1 of `sanitize.assertNoSqlInjection` must be a text",
        )]);
        assert_eq!(
            LIBRARY.call("sanitize.assertNoSqlInjection", &values!["select 1"]),
            Ok("\"select 1\"".into())
        );
    }
}

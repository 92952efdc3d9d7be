//! The words of an expression (XPath 1.0, section 3.7), with the two readings of `*` and of `and` told apart.

use super::XPATH_BYTES_MAX;
use super::error::XPathError;
use super::name;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// A name with its prefix, or "".
    Name {
        prefix: &'a str,
        local: &'a str,
    },
    /// `prefix:*`, or `*` with the prefix "".
    AnyName {
        prefix: &'a str,
    },
    /// A name before `::`.
    Axis(&'a str),
    /// A name before `(`.
    Function {
        prefix: &'a str,
        local: &'a str,
    },
    Number(f64),
    Literal(&'a str),
    /// `and`, `or`, `mod`, `div`, `*` and the signs, as written.
    Operator(&'static str),
    /// `(`, `)`, `[`, `]`, `.`, `..`, `@`, `,`.
    Mark(&'static str),
}

/// A token and the offset at which it starts.
pub(super) type Placed<'a> = (Token<'a>, usize);

const MARKS: [&str; 9] = ["(", ")", "[", "]", "..", ".", "@", ",", "::"];
/// Longer ones before those they start with.
const OPERATORS: [&str; 12] = ["//", "/", "|", "+", "-", "!=", "=", "<=", "<", ">=", ">", "*"];
const NAMED_OPERATORS: [&str; 4] = ["and", "or", "mod", "div"];

/// Splits an expression into tokens.
pub(super) fn tokens(path: &str) -> Result<Vec<Placed<'_>>, XPathError> {
    if path.len() > XPATH_BYTES_MAX {
        let message = format!("the path has {} bytes, and {XPATH_BYTES_MAX} are allowed", path.len());
        return Err(XPathError::limit(message));
    }
    let mut found: Vec<Placed<'_>> = Vec::new();
    let mut rest = path.trim_start_matches(is_space);
    while let Some(first) = rest.chars().next() {
        let offset = path.len() - rest.len();
        let operator_may_follow = found.last().is_some_and(|(token, _)| ends_operand(token));
        let (token, length) = match first {
            '"' | '\'' => literal(rest, first, offset)?,
            _ if name::starts_name(first) => named(rest, operator_may_follow),
            _ if starts_number(rest) => number(rest),
            _ => sign(rest, operator_may_follow).ok_or_else(|| unexpected(first, offset))?,
        };
        found.push((token, offset));
        rest = rest.get(length..).unwrap_or_default().trim_start_matches(is_space);
    }
    Ok(found)
}

/// White space of XPath (production `ExprWhitespace`).
pub(super) fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n')
}

/// Section 3.7: after one of these, `*` multiplies and a name is an operator.
fn ends_operand(token: &Token<'_>) -> bool {
    match token {
        Token::Name { .. } | Token::AnyName { .. } | Token::Number(_) | Token::Literal(_) => true,
        Token::Mark(mark) => matches!(*mark, ")" | "]" | "." | ".."),
        Token::Axis(_) | Token::Function { .. } | Token::Operator(_) => false,
    }
}

fn unexpected(character: char, offset: usize) -> XPathError {
    let hint = match character {
        '$' => ": a path in a policy has no variables",
        '{' | '}' | ';' | '?' | '#' => ": it has no meaning in XPath 1.0",
        _ => "",
    };
    XPathError::syntax(format!("unexpected `{character}` at offset {offset}{hint}"))
}

fn literal(rest: &str, quote: char, offset: usize) -> Result<(Token<'_>, usize), XPathError> {
    let inner = rest.get(1..).unwrap_or_default();
    match inner.find(quote).and_then(|end| inner.get(..end)) {
        Some(text) => Ok((Token::Literal(text), text.len() + 2)),
        None => Err(XPathError::syntax(format!("the quote at offset {offset} is not closed"))),
    }
}

fn starts_number(rest: &str) -> bool {
    rest.strip_prefix('.').unwrap_or(rest).starts_with(|next: char| next.is_ascii_digit())
}

fn number(rest: &str) -> (Token<'_>, usize) {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(rest);
    let fraction = rest.get(whole..).and_then(|rest| rest.strip_prefix('.'));
    let length = whole + fraction.map_or(0, |fraction| 1 + digits(fraction));
    // Rust reads `1.` and `.5` as XPath writes them.
    let value = rest.get(..length).and_then(|number| number.parse().ok()).unwrap_or(f64::NAN);
    (Token::Number(value), length)
}

fn named(rest: &str, operator_may_follow: bool) -> (Token<'_>, usize) {
    let (first, after) = split_name(rest);
    if operator_may_follow && let Some(operator) = NAMED_OPERATORS.into_iter().find(|name| *name == first) {
        return (Token::Operator(operator), first.len());
    }
    let (prefix, local, after) = match after.strip_prefix(':') {
        Some(second) if second.starts_with('*') => {
            return (Token::AnyName { prefix: first }, first.len() + 2);
        }
        Some(second) if second.starts_with(name::starts_name) => {
            let (local, after) = split_name(second);
            (first, local, after)
        }
        _ => ("", first, after),
    };
    let length = rest.len() - after.len();
    let next = after.trim_start_matches(is_space);
    if next.starts_with('(') {
        (Token::Function { prefix, local }, length)
    } else if prefix.is_empty() && next.starts_with("::") {
        (Token::Axis(local), length + (after.len() - next.len()) + 2)
    } else {
        (Token::Name { prefix, local }, length)
    }
}

fn split_name(text: &str) -> (&str, &str) {
    let end = text.find(|character| !name::continues_name(character)).unwrap_or(text.len());
    text.split_at(end)
}

fn sign(rest: &str, operator_may_follow: bool) -> Option<(Token<'_>, usize)> {
    if !operator_may_follow && rest.starts_with('*') {
        return Some((Token::AnyName { prefix: "" }, 1));
    }
    if let Some(operator) = OPERATORS.into_iter().find(|operator| rest.starts_with(operator)) {
        return Some((Token::Operator(operator), operator.len()));
    }
    let mark = MARKS.into_iter().find(|mark| rest.starts_with(mark))?;
    Some((Token::Mark(mark), mark.len()))
}

//! Regular expressions of XPath (XQuery 1.0 and XPath 2.0 Functions and Operators, section 7.6.1), which are those
//! of XML Schema (part 2, appendix F) with `^`, `$` and reluctant quantifiers.
//!
//! They are translated into the `regex` crate, whose matching time is linear in the text whatever the pattern.
//! For that, back-references (`\1`) are refused. There is no look-around and there are no flags to begin with.

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

use regex::{Regex, RegexBuilder};

use crate::function::blocks::block;

/// The longest pattern, in bytes: a list of some hundred alternatives fits.
pub const PATTERN_LENGTH_MAX: usize = 16 << 10;
/// The most memory a compiled pattern and its search may each take, in bytes: `{1000}` of `{1000}` does not fit.
pub const PATTERN_MEMORY_MAX: usize = 1 << 20;
/// How deep groups and class subtractions may nest.
pub const PATTERN_DEPTH_MAX: usize = 64;
/// The largest number in a `{n,m}`, in digits.
const QUANTITY_DIGITS_MAX: usize = 4;

/// A compiled pattern. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Regex,
}

/// Why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    pattern: Box<str>,
    reason: &'static str,
}

/// How much of an offending pattern an error repeats, in characters.
const QUOTED_CHARS_MAX: usize = 80;

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted: String = self.pattern.chars().take(QUOTED_CHARS_MAX).collect();
        let cut = if quoted.len() < self.pattern.len() { "…" } else { "" };
        write!(f, "`{quoted}{cut}` is not a regular expression of XPath: {}", self.reason)
    }
}

impl std::error::Error for PatternError {}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// The text is no regular expression of XPath, refers back, or goes beyond one of the limits above.
    pub fn compile(pattern: &str) -> Result<Pattern, PatternError> {
        let refuse = |reason| PatternError { pattern: pattern.into(), reason };
        if pattern.len() > PATTERN_LENGTH_MAX {
            return Err(refuse("it is too long"));
        }
        let translated = Translator::new(pattern).translate().map_err(refuse)?;
        let regex = RegexBuilder::new(&translated)
            .size_limit(PATTERN_MEMORY_MAX)
            .dfa_size_limit(PATTERN_MEMORY_MAX)
            .build()
            .map_err(|_| refuse("it takes too much memory"))?;
        Ok(Pattern { regex })
    }

    /// Whether the pattern matches some part of the text; `^` and `$` in it hold it to the ends.
    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

type Reason = &'static str;

const UNFINISHED: Reason = "a `\\` must be followed by a character";
const BACK_REFERENCE: Reason = "back-references are not supported";
const BAD_QUANTITY: Reason = "a quantity is written `{2}`, `{2,}` or `{2,5}`";

/// What an escape or an unescaped character of a class stands for.
enum Meaning {
    /// Exactly this character.
    One(char),
    /// A set of characters, as a class of the `regex` crate.
    Set(String),
}

struct Translator<'a> {
    chars: Peekable<Chars<'a>>,
    out: String,
}

impl<'a> Translator<'a> {
    fn new(pattern: &'a str) -> Translator<'a> {
        Translator { chars: pattern.chars().peekable(), out: String::with_capacity(pattern.len() * 2) }
    }

    fn translate(mut self) -> Result<String, Reason> {
        let mut depth = 0_usize;
        // A quantifier needs something before it, and only one may follow it.
        let mut quantifiable = false;
        while let Some(c) = self.chars.next() {
            quantifiable = match c {
                '(' => {
                    depth += 1;
                    self.open_group(depth)?;
                    false
                }
                ')' => {
                    depth = depth.checked_sub(1).ok_or("a `)` closes nothing")?;
                    self.out.push(')');
                    true
                }
                '|' => {
                    self.out.push('|');
                    false
                }
                '?' | '*' | '+' | '{' if !quantifiable => return Err("a quantifier has nothing to repeat"),
                '?' | '*' | '+' | '{' => {
                    self.quantifier(c)?;
                    false
                }
                _ => {
                    self.atom(c)?;
                    true
                }
            };
        }
        if depth == 0 { Ok(self.out) } else { Err("a `(` is not closed") }
    }

    fn open_group(&mut self, depth: usize) -> Result<(), Reason> {
        if depth > PATTERN_DEPTH_MAX {
            return Err("its groups are nested too deeply");
        }
        self.out.push_str("(?:");
        // XPath 3.0 writes groups that are not referred to so; here no group is.
        if self.chars.next_if_eq(&'?').is_some() && self.chars.next() != Some(':') {
            return Err("only `:` may follow `(?`");
        }
        Ok(())
    }

    fn quantifier(&mut self, c: char) -> Result<(), Reason> {
        if c == '{' {
            self.quantity()?;
        } else {
            self.out.push(c);
        }
        // Reluctance changes what is matched, not whether.
        let _reluctant = self.chars.next_if_eq(&'?');
        Ok(())
    }

    fn quantity(&mut self) -> Result<(), Reason> {
        let least = self.count().ok_or(BAD_QUANTITY)?;
        self.out.push_str(&format!("{{{least}"));
        if self.chars.next_if_eq(&',').is_some() {
            self.out.push(',');
            if self.chars.peek() != Some(&'}') {
                let most = self.count().filter(|most| *most >= least).ok_or(BAD_QUANTITY)?;
                self.out.push_str(&most.to_string());
            }
        }
        self.out.push('}');
        if self.chars.next() == Some('}') { Ok(()) } else { Err(BAD_QUANTITY) }
    }

    fn count(&mut self) -> Option<u32> {
        let mut digits = String::new();
        while let Some(digit) = self.chars.next_if(char::is_ascii_digit) {
            digits.push(digit);
        }
        (digits.len() <= QUANTITY_DIGITS_MAX).then(|| digits.parse().ok()).flatten()
    }

    fn atom(&mut self, c: char) -> Result<(), Reason> {
        match c {
            // In both dialects `.` is every character but the newline, and `^` and `$` are the ends of the text.
            '.' | '^' | '$' => self.out.push(c),
            '\\' => match self.escape()? {
                Meaning::One(c) => push_literal(&mut self.out, c),
                Meaning::Set(set) => self.out.push_str(&set),
            },
            '[' => {
                let class = self.class(0)?;
                self.out.push_str(&class);
            }
            ']' | '}' => return Err("`]` and `}` must be escaped with `\\`"),
            _ => push_literal(&mut self.out, c),
        }
        Ok(())
    }

    /// What follows a `\`.
    fn escape(&mut self) -> Result<Meaning, Reason> {
        let c = self.chars.next().ok_or(UNFINISHED)?;
        let set = match c {
            'n' => return Ok(Meaning::One('\n')),
            'r' => return Ok(Meaning::One('\r')),
            't' => return Ok(Meaning::One('\t')),
            '\\' | '|' | '.' | '-' | '^' | '$' | '?' | '*' | '+' | '{' | '}' | '(' | ')' | '[' | ']' => {
                return Ok(Meaning::One(c));
            }
            's' => r"[\x20\t\n\r]".to_owned(),
            'S' => r"[^\x20\t\n\r]".to_owned(),
            'd' => r"\p{Nd}".to_owned(),
            'D' => r"\P{Nd}".to_owned(),
            'w' => r"[^\p{P}\p{Z}\p{C}]".to_owned(),
            'W' => r"[\p{P}\p{Z}\p{C}]".to_owned(),
            'i' => format!("[{NAME_START}]"),
            'I' => format!("[^{NAME_START}]"),
            'c' => format!("[{NAME_START}{NAME_MORE}]"),
            'C' => format!("[^{NAME_START}{NAME_MORE}]"),
            'p' => self.property("")?,
            'P' => self.property("^")?,
            '0'..='9' => return Err(BACK_REFERENCE),
            _ => {
                return Err(
                    "no such escape: only metacharacters and n r t s S d D w W i I c C p P may follow `\\`",
                );
            }
        };
        Ok(Meaning::Set(set))
    }

    /// `{Lu}` or `{IsGreek}`, after `\p` or `\P`.
    fn property(&mut self, negation: &str) -> Result<String, Reason> {
        const BROKEN: Reason =
            "`\\p` is followed by `{` and a category such as `Lu` or a block such as `IsGreek`";
        if self.chars.next() != Some('{') {
            return Err(BROKEN);
        }
        let mut name = String::new();
        while let Some(c) = self.chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '-') {
            name.push(c);
        }
        if self.chars.next() != Some('}') {
            return Err(BROKEN);
        }
        if let Some(block_name) = name.strip_prefix("Is") {
            let (first, last) = block(block_name).ok_or("there is no such Unicode block")?;
            return Ok(format!("[{negation}\\x{{{first:x}}}-\\x{{{last:x}}}]"));
        }
        if !CATEGORIES.contains(&name.as_str()) {
            return Err("there is no such Unicode category");
        }
        Ok(format!("[{negation}\\p{{{name}}}]"))
    }

    /// What follows a `[`, up to its `]`: `[a-z-[aeiou]]` becomes `[[a-z]--[aeiou]]`.
    fn class(&mut self, depth: usize) -> Result<String, Reason> {
        if depth > PATTERN_DEPTH_MAX {
            return Err("its classes are nested too deeply");
        }
        let negation = if self.chars.next_if_eq(&'^').is_some() { "^" } else { "" };
        let mut items = String::new();
        loop {
            match self.chars.next().ok_or("a `[` is not closed")? {
                ']' if items.is_empty() => return Err("a class must hold something"),
                ']' => return Ok(format!("[{negation}{items}]")),
                '[' => return Err("`[` in a class must be escaped with `\\`"),
                '-' if self.chars.peek() == Some(&'[') && !items.is_empty() => {
                    self.chars.next();
                    let removed = self.class(depth + 1)?;
                    return match self.chars.next() {
                        Some(']') => Ok(format!("[[{negation}{items}]--{removed}]")),
                        Some(_) | None => Err("nothing may follow a subtraction in its class"),
                    };
                }
                '-' if !items.is_empty() && self.chars.peek() != Some(&']') => {
                    return Err("`-` within a class must be escaped with `\\`");
                }
                c => self.class_item(c, &mut items)?,
            }
        }
    }

    /// One character, range or set of a class, beginning with `c`.
    fn class_item(&mut self, c: char, items: &mut String) -> Result<(), Reason> {
        let first = match if c == '\\' { self.escape()? } else { Meaning::One(c) } {
            Meaning::One(first) => first,
            Meaning::Set(set) => {
                items.push_str(&set);
                return Ok(());
            }
        };
        push_literal(items, first);
        // An unescaped `-` is itself and begins no range.
        if c != '-' && self.begins_range() {
            self.chars.next();
            let last = self.range_end()?;
            if last < first {
                return Err("a range must not end before it begins");
            }
            items.push('-');
            push_literal(items, last);
        }
        Ok(())
    }

    /// Whether `-` and the end of a range follow, rather than a final `-` or a subtraction.
    fn begins_range(&self) -> bool {
        let mut ahead = self.chars.clone();
        ahead.next() == Some('-') && !matches!(ahead.next(), None | Some(']' | '['))
    }

    fn range_end(&mut self) -> Result<char, Reason> {
        match self.chars.next().ok_or("a `[` is not closed")? {
            '-' => Err("`-` within a class must be escaped with `\\`"),
            '\\' => match self.escape()? {
                Meaning::One(c) => Ok(c),
                Meaning::Set(_) => Err("a range cannot end in a set of characters"),
            },
            c => Ok(c),
        }
    }
}

/// A character that stands for itself wherever it is put.
fn push_literal(out: &mut String, c: char) {
    if c.is_ascii_alphanumeric() {
        out.push(c);
    } else {
        out.push_str(&format!("\\x{{{:x}}}", u32::from(c)));
    }
}

/// XML 1.0, production 4 (`NameStartChar`), as ranges of a class.
const NAME_START: &str = r":A-Z_a-z\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{2FF}\x{370}-\x{37D}\x{37F}-\x{1FFF}\x{200C}-\x{200D}\x{2070}-\x{218F}\x{2C00}-\x{2FEF}\x{3001}-\x{D7FF}\x{F900}-\x{FDCF}\x{FDF0}-\x{FFFD}\x{10000}-\x{EFFFF}";
/// XML 1.0, production 4a: what `NameChar` adds.
const NAME_MORE: &str = r"\-.0-9\x{B7}\x{300}-\x{36F}\x{203F}-\x{2040}";

/// XML Schema part 2, appendix F.1.1: the general categories of Unicode, surrogates left out.
const CATEGORIES: [&str; 36] = [
    "L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No", "P", "Pc", "Pd", "Ps",
    "Pe", "Pi", "Pf", "Po", "Z", "Zs", "Zl", "Zp", "S", "Sm", "Sc", "Sk", "So", "C", "Cc", "Cf", "Co", "Cn",
];

#[cfg(test)]
mod tests;

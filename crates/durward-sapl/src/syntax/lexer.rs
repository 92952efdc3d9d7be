//! From characters to words. Whatever is no word is reported and becomes [`TokenKind::Invalid`], so that reading goes
//! on behind it.

use durward_ir::direction::turns_direction;

use super::Span;
use super::diagnostic::{Problems, quote};
use super::limits::{DOCUMENT_BYTES_MAX, NUMBER_CHARACTERS_MAX, NUMBER_SCALE_MAX};
use super::token::{Token, TokenKind, sign};

/// The words of a text, without comments; the last one is [`TokenKind::End`].
pub(super) fn tokens(source: &str, problems: &mut Problems) -> Vec<Token> {
    let mut found = tokens_and_comments(source, problems);
    found.retain(|token| !token.kind.is_comment());
    found
}

/// The words of a text, with comments; the last one is [`TokenKind::End`].
///
/// A text that is too long, or has characters that turn the direction of writing, is refused; of the former nothing
/// is read.
pub(super) fn tokens_and_comments(source: &str, problems: &mut Problems) -> Vec<Token> {
    if source.len() > DOCUMENT_BYTES_MAX {
        let message = format!("the text has {} bytes, and {DOCUMENT_BYTES_MAX} are allowed", source.len());
        problems.error(Span::default(), message, Some("split it into several documents".to_owned()));
        return vec![Token { kind: TokenKind::End, span: Span::default() }];
    }
    refuse_turned_direction(source, problems);
    let mut lexer = Lexer { source, offset: 0, problems, texts_end_with_line: false };
    let mut found = Vec::with_capacity(source.len() / 6);
    loop {
        let token = lexer.next();
        found.push(token);
        if token.kind == TokenKind::End {
            return found;
        }
    }
}

/// Such characters make a text read differently from what it says, wherever they stand: in comments and texts too.
fn refuse_turned_direction(source: &str, problems: &mut Problems) {
    // All of them start with this byte; few texts have any such.
    if !source.as_bytes().contains(&0xE2) {
        return;
    }
    for (offset, character) in source.char_indices().filter(|(_, character)| turns_direction(*character)) {
        problems.error(
            span(offset, character.len_utf8()),
            format!(
                "U+{:04X} turns the direction of writing: the text does not say what it shows",
                u32::from(character)
            ),
            Some(format!("remove it, or write \\u{:04x} in a text", u32::from(character))),
        );
    }
}

/// A place by offset and length; both are at most [`DOCUMENT_BYTES_MAX`].
fn span(offset: usize, length: usize) -> Span {
    let start = u32::try_from(offset).unwrap_or(u32::MAX);
    Span::new(start, start.saturating_add(u32::try_from(length).unwrap_or(u32::MAX)))
}

struct Lexer<'s, 'p> {
    source: &'s str,
    offset: usize,
    problems: &'p mut Problems,
    /// Set when a text has no end: from then on none is looked for beyond a line, so that reading stays linear.
    texts_end_with_line: bool,
}

impl<'s> Lexer<'s, '_> {
    fn rest(&self) -> &'s str {
        self.source.get(self.offset..).unwrap_or_default()
    }

    /// The next word; [`TokenKind::End`] for ever at the end.
    fn next(&mut self) -> Token {
        let blank = self.rest().len() - self.rest().trim_start_matches([' ', '\t', '\r', '\n']).len();
        self.offset += blank;
        let rest = self.rest();
        let (kind, length) = match rest.chars().next() {
            None => (TokenKind::End, 0),
            Some('"') => self.text(rest),
            Some('`') => self.quoted(rest),
            Some('0'..='9') => self.number(rest),
            Some(first) if starts_name(first) => (TokenKind::Word, name_length(rest)),
            Some('/') if rest.starts_with("//") => {
                (TokenKind::LineComment, rest.find(['\r', '\n']).unwrap_or(rest.len()))
            }
            Some('/') if rest.starts_with("/*") => self.block_comment(rest),
            Some(first) => sign(rest).unwrap_or_else(|| self.unknown(rest, first)),
        };
        let token = Token { kind, span: span(self.offset, length) };
        self.offset += length;
        token
    }

    /// Reports about a piece of the rest.
    fn report(&mut self, start: usize, length: usize, message: impl Into<String>, help: Option<String>) {
        self.problems.error(span(self.offset + start, length), message, help);
    }

    fn block_comment(&mut self, rest: &str) -> (TokenKind, usize) {
        match rest.get(2..).and_then(|body| body.find("*/")) {
            Some(end) => (TokenKind::BlockComment, end + 4),
            None => {
                self.report(0, 2, "the comment has no end", Some("end it with `*/`".to_owned()));
                (TokenKind::BlockComment, rest.len())
            }
        }
    }

    fn quoted(&mut self, rest: &str) -> (TokenKind, usize) {
        let name = rest.get(1..).unwrap_or_default();
        let length = name_length(name);
        if length > 0 && name.get(length..).is_some_and(|after| after.starts_with('`')) {
            return (TokenKind::Quoted, length + 2);
        }
        let closing = end_on_line(name, '`');
        let length = closing.map_or(1 + length, |end| end + 2);
        let message = match closing {
            None => "the name in backticks has no end".to_owned(),
            Some(_) => format!("{} is no name", quote(rest.get(1..length - 1).unwrap_or_default())),
        };
        let help = "names are made of letters, digits, `_` and `$`; any other key goes into `[\"...\"]`";
        self.report(0, length, message, Some(help.to_owned()));
        (TokenKind::Invalid, length)
    }

    /// A text: to the next quotation mark that is not escaped, over as many lines as it takes.
    fn text(&mut self, rest: &str) -> (TokenKind, usize) {
        let Some(length) = text_length(rest, self.texts_end_with_line) else {
            self.texts_end_with_line = true;
            let length = rest.split('\n').next().unwrap_or_default().trim_end().len();
            self.report(0, length, "the text has no end", Some("end it with `\"`".to_owned()));
            return (TokenKind::Invalid, length);
        };
        self.check_escapes(rest.get(..length).unwrap_or_default());
        (TokenKind::Text, length)
    }

    fn check_escapes(&mut self, text: &str) {
        for escape in super::escape::problems(text) {
            let help =
                "the escapes are \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u with four hexadecimal digits";
            self.report(escape.start, escape.length, escape.message, Some(help.to_owned()));
        }
    }

    fn number(&mut self, rest: &str) -> (TokenKind, usize) {
        let number = Number::read(rest);
        if number.zeros > 0 {
            let help = rest.get(number.zeros..number.length).map(|digits| format!("write {}", quote(digits)));
            self.report(0, number.length, "a number does not start with `0`", help);
            return (TokenKind::Invalid, number.length);
        }
        if number.length > NUMBER_CHARACTERS_MAX {
            let message = format!(
                "the number has {} characters, and {NUMBER_CHARACTERS_MAX} are allowed",
                number.length
            );
            self.report(0, number.length, message, None);
        } else if number.scale.abs() > NUMBER_SCALE_MAX {
            let written = quote(rest.get(..number.length).unwrap_or_default());
            let help =
                format!("at most {NUMBER_SCALE_MAX} digits after the point, or an exponent of that size");
            self.report(0, number.length, format!("the number {written} is out of range"), Some(help));
        }
        (TokenKind::Number, number.length)
    }

    /// What starts no word. A text in single quotation marks is taken as a whole.
    fn unknown(&mut self, rest: &str, first: char) -> (TokenKind, usize) {
        let after = rest.get(1..).filter(|_| first == '\'');
        if let Some(end) = after.and_then(|after| end_on_line(after, '\'')) {
            let help = format!("write {}", quote(&format!("\"{}\"", rest.get(1..=end).unwrap_or_default())));
            self.report(0, end + 2, "texts stand in double quotation marks", Some(help));
            return (TokenKind::Invalid, end + 2);
        }
        let message = match first {
            '\u{FEFF}' => "the text starts with a byte order mark".to_owned(),
            _ if first.is_control() || first.is_whitespace() => {
                format!("the character U+{:04X} is no word of the language", u32::from(first))
            }
            _ => format!("{} is no word of the language", quote(first.encode_utf8(&mut [0; 4]))),
        };
        let help = if first.is_alphanumeric() {
            Some("names are made of the letters a to z, digits, `_` and `$`".to_owned())
        } else if first == '\u{FEFF}' {
            Some("save it as UTF-8 without one".to_owned())
        } else {
            None
        };
        self.report(0, first.len_utf8(), message, help);
        (TokenKind::Invalid, first.len_utf8())
    }
}

fn starts_name(character: char) -> bool {
    character.is_ascii_alphabetic() || matches!(character, '_' | '$')
}

/// The length of the name a text starts with; 0 if it starts with none.
fn name_length(text: &str) -> usize {
    if !text.starts_with(starts_name) {
        return 0;
    }
    text.find(|character| !starts_name(character) && !character.is_ascii_digit()).unwrap_or(text.len())
}

/// Whether a text is a name and nothing else.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && name_length(text) == text.len()
}

/// Where a character stands, if that is before the end of the line.
fn end_on_line(text: &str, mark: char) -> Option<usize> {
    let end = text.find([mark, '\r', '\n'])?;
    text.get(end..).is_some_and(|found| found.starts_with(mark)).then_some(end)
}

/// The length of the text in quotation marks that starts here; `None` if it has no end, or none on its line where
/// that is asked for.
fn text_length(rest: &str, on_line: bool) -> Option<usize> {
    let mut bytes = rest.bytes().enumerate().skip(1);
    while let Some((index, byte)) = bytes.next() {
        match byte {
            b'"' => return Some(index + 1),
            b'\n' if on_line => return None,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
    None
}

/// A number as it stands.
struct Number {
    length: usize,
    /// Zeros too many at its start.
    zeros: usize,
    /// Digits after the point less the exponent, as far as that can be counted.
    scale: i64,
}

impl Number {
    fn read(rest: &str) -> Number {
        let whole = digits(rest);
        let zeros = rest.get(..whole.saturating_sub(1)).unwrap_or_default();
        let zeros = zeros.len() - zeros.trim_start_matches('0').len();
        let after = rest.get(whole..).unwrap_or_default();
        let fraction = after.strip_prefix('.').map_or(0, digits);
        let mut length = whole + if fraction > 0 { fraction + 1 } else { 0 };
        let mut scale = i64::try_from(fraction).unwrap_or(i64::MAX);
        if let Some((exponent, written)) = exponent(rest.get(length..).unwrap_or_default()) {
            length += written;
            scale = scale.saturating_sub(exponent);
        }
        Number { length, zeros, scale }
    }
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// `e-12` at the start of a text: the exponent, as large as it can be counted, and the length.
fn exponent(text: &str) -> Option<(i64, usize)> {
    let signed = text.strip_prefix(['e', 'E'])?;
    let unsigned = signed.strip_prefix(['+', '-']).unwrap_or(signed);
    let count = digits(unsigned);
    if count == 0 {
        return None;
    }
    let value = unsigned.get(..count)?.parse().unwrap_or(i64::MAX / 2);
    let value = if signed.starts_with('-') { -value } else { value };
    Some((value, text.len() - unsigned.len() + count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use TokenKind as K;

    fn read(text: &str) -> (Vec<(TokenKind, &str)>, Vec<String>) {
        let mut problems = Problems::default();
        let tokens = tokens_and_comments(text, &mut problems);
        let messages = problems.into_sorted().into_iter().map(|problem| problem.message).collect();
        (tokens.into_iter().map(|token| (token.kind, token.span.text(text))).collect(), messages)
    }

    fn words(text: &str) -> Vec<(TokenKind, &str)> {
        let (mut tokens, messages) = read(text);
        assert!(messages.is_empty(), "{text}: {messages:?}");
        assert_eq!(tokens.pop(), Some((K::End, "")));
        tokens
    }

    #[test]
    fn the_longest_sign_is_meant() {
        assert_eq!(words("a|<b"), [(K::Word, "a"), (K::Head, "|<"), (K::Word, "b")]);
        assert_eq!(words("a|-1"), [(K::Word, "a"), (K::Filter, "|-"), (K::Number, "1")]);
        assert_eq!(words("a||-b"), [(K::Word, "a"), (K::LazyOr, "||"), (K::Minus, "-"), (K::Word, "b")]);
        assert_eq!(words("a...b"), [(K::Word, "a"), (K::Descent, ".."), (K::Dot, "."), (K::Word, "b")]);
        assert_eq!(words("=~==="), [(K::Matches, "=~"), (K::Equal, "=="), (K::Assign, "=")]);
        assert_eq!(words(":::"), [(K::Subtemplate, "::"), (K::Colon, ":")]);
        assert_eq!(words("!!="), [(K::Not, "!"), (K::NotEqual, "!=")]);
        assert_eq!(
            words("<=<>=>"),
            [(K::LessOrEqual, "<="), (K::Less, "<"), (K::GreaterOrEqual, ">="), (K::Greater, ">")]
        );
    }

    #[test]
    fn every_sign_is_a_word() {
        for text in
            ["|-", "::", "||", "&&", "|", "^", "&", "==", "!=", "=~", "<", "<=", ">", ">=", "+", "-", "*"]
        {
            assert_eq!(words(text).len(), 1, "{text}");
        }
        for text in
            ["/", "%", "!", "@", "#", ".", "..", ",", ":", ";", "=", "(", ")", "[", "]", "{", "}", "|<", "?"]
        {
            assert_eq!(words(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn numbers_take_a_point_only_with_digits() {
        assert_eq!(
            words("0 10 1.50 1e3 1E-2 2.5e+10").iter().filter(|(kind, _)| *kind == K::Number).count(),
            6
        );
        assert_eq!(words("5."), [(K::Number, "5"), (K::Dot, ".")]);
        assert_eq!(words(".5"), [(K::Dot, "."), (K::Number, "5")]);
        assert_eq!(words("1..a"), [(K::Number, "1"), (K::Descent, ".."), (K::Word, "a")]);
        assert_eq!(words("1.e5"), [(K::Number, "1"), (K::Dot, "."), (K::Word, "e5")]);
        assert_eq!(words("1e"), [(K::Number, "1"), (K::Word, "e")]);
        assert_eq!(words("1e+"), [(K::Number, "1"), (K::Word, "e"), (K::Plus, "+")]);
    }

    #[test]
    fn numbers_have_limits() {
        let longest = "9".repeat(NUMBER_CHARACTERS_MAX);
        for good in ["1e1000", "1e-1000", "1.5e-999", "1.50e1002", "0", "0.0", &longest] {
            assert_eq!(words(good), [(K::Number, good)]);
        }
        let too_long = format!("{longest}9");
        let vast = format!("1e{}", "9".repeat(100));
        let tiny = format!("1e-{}", "9".repeat(100));
        for bad in ["1e1001", "1e-1001", "1.5e-1000", "01", "00", "00.5", "007e1", &too_long, &vast, &tiny] {
            let (tokens, messages) = read(bad);
            assert_eq!((tokens[0].1, messages.len()), (bad, 1), "{bad}: {messages:?}");
        }
    }

    #[test]
    fn texts_go_over_lines_and_end_at_the_first_bare_quotation_mark() {
        assert_eq!(words("\"a\nb\""), [(K::Text, "\"a\nb\"")]);
        assert_eq!(
            words(r#""a\"b" "\\" """#),
            [(K::Text, r#""a\"b""#), (K::Text, r#""\\""#), (K::Text, "\"\"")]
        );
        assert_eq!(words(r#""\u00e4\/\b\f\n\r\t""#).len(), 1);
    }

    #[test]
    fn a_text_without_end_ends_with_its_line() {
        let (tokens, messages) = read("a \"b c\nd");
        assert_eq!(tokens, [(K::Word, "a"), (K::Invalid, "\"b c"), (K::Word, "d"), (K::End, "")]);
        assert_eq!(messages, ["the text has no end"]);
    }

    #[test]
    fn many_texts_without_end_are_read_in_linear_time() {
        // The first text takes all others for its own; on every line after it, another one starts.
        let lines = DOCUMENT_BYTES_MAX / 3 - 1;
        let text = format!("\"{}", "\n\\\"".repeat(lines));
        let (tokens, messages) = read(&text);
        assert_eq!(tokens.len(), 2 * lines + 2);
        assert_eq!(messages.len(), super::super::limits::DIAGNOSTICS_MAX);
    }

    #[test]
    fn escapes_there_are_not_are_refused() {
        for bad in
            [r#""\q""#, r#""\u12""#, r#""\u12g4""#, r#""\'""#, r#""\ud800""#, r#""\udc00\ud800""#, "\"\\\n\""]
        {
            let (tokens, messages) = read(bad);
            assert!(tokens[0].0 == K::Text && !messages.is_empty(), "{bad}: {messages:?}");
        }
        assert_eq!(words(r#""\ud83d\ude00""#).len(), 1);
    }

    #[test]
    fn comments_are_words_of_their_own() {
        assert_eq!(words("a//b\r\nc"), [(K::Word, "a"), (K::LineComment, "//b"), (K::Word, "c")]);
        assert_eq!(words("/* /* */*/"), [(K::BlockComment, "/* /* */"), (K::Star, "*"), (K::Slash, "/")]);
        assert_eq!(words("/**/"), [(K::BlockComment, "/**/")]);
        let (tokens, messages) = read("a /*/ b");
        assert_eq!(tokens.len(), 3);
        assert_eq!(messages, ["the comment has no end"]);
    }

    #[test]
    fn names_in_backticks_are_names() {
        assert_eq!(words("`in` `$a_1`"), [(K::Quoted, "`in`"), (K::Quoted, "`$a_1`")]);
        for (bad, taken) in
            [("`a b` c", "`a b`"), ("`` c", "``"), ("`a", "`a"), ("`1`", "`1`"), ("`a\n`b`", "`a")]
        {
            let (tokens, messages) = read(bad);
            assert_eq!((tokens[0], messages.len()), ((K::Invalid, taken), 1), "{bad}: {messages:?}");
        }
    }

    #[test]
    fn what_is_no_word_is_reported_and_skipped() {
        for (bad, taken) in [
            ("'a' b", "'a'"),
            ("' b", "'"),
            ("~ b", "~"),
            ("ä b", "ä"),
            ("\u{a0} b", "\u{a0}"),
            ("\\ b", "\\"),
        ] {
            let (tokens, messages) = read(bad);
            assert_eq!((tokens[0], messages.len()), ((K::Invalid, taken), 1), "{bad}: {messages:?}");
            assert_eq!(tokens[1], (K::Word, "b"));
        }
        assert_eq!(read("\u{feff}a").1, ["the text starts with a byte order mark"]);
    }

    #[test]
    fn a_text_that_turns_the_direction_of_writing_is_refused() {
        for character in ('\u{202A}'..='\u{202E}').chain('\u{2066}'..='\u{2069}') {
            for text in [format!("// {character}"), format!("\"{character}\""), format!("/*{character}*/ 1")]
            {
                assert_eq!(read(&text).1.len(), 1, "{text:?}");
            }
        }
        assert!(read("\"\u{2029}\u{202F}\u{2065}\u{206A}\"").1.is_empty());
        assert!(read(r#""\u202e""#).1.is_empty());
    }

    #[test]
    fn a_text_that_is_too_long_is_refused_unread() {
        let mut text = " ".repeat(DOCUMENT_BYTES_MAX - 1) + "a";
        assert_eq!(words(&text).len(), 1);
        text.push(' ');
        let (tokens, messages) = read(&text);
        assert_eq!((tokens.len(), messages.len()), (1, 1));
    }
}

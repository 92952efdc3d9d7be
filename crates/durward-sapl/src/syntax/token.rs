//! The words of the language.

use super::Span;

/// A word and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) span: Span,
}

/// What kind of word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name or a keyword: which of them, the grammar says.
    Word,
    /// A name in backticks.
    Quoted,
    /// A text in quotation marks.
    Text,
    Number,
    LineComment,
    BlockComment,
    /// What is no word of the language; it has been reported.
    Invalid,
    /// The end of the text; empty.
    End,
    /// `|-`
    Filter,
    /// `|<`
    Head,
    /// `||`
    LazyOr,
    /// `|`
    Or,
    /// `&&`
    LazyAnd,
    /// `&`
    And,
    /// `^`
    ExclusiveOr,
    /// `==`
    Equal,
    /// `=~`
    Matches,
    /// `=`
    Assign,
    /// `!=`
    NotEqual,
    /// `!`
    Not,
    /// `<=`
    LessOrEqual,
    /// `<`
    Less,
    /// `>=`
    GreaterOrEqual,
    /// `>`
    Greater,
    /// `::`
    Subtemplate,
    /// `:`
    Colon,
    /// `..`
    Descent,
    /// `.`
    Dot,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    At,
    Hash,
    Comma,
    Semicolon,
    Question,
    OpenParenthesis,
    CloseParenthesis,
    OpenBracket,
    CloseBracket,
    OpenBrace,
    CloseBrace,
}

use TokenKind as K;

/// The signs, longer ones before those they start with: the longest one that fits is meant.
const SIGNS: [(&str, TokenKind); 36] = [
    ("|-", K::Filter),
    ("|<", K::Head),
    ("||", K::LazyOr),
    ("|", K::Or),
    ("&&", K::LazyAnd),
    ("&", K::And),
    ("^", K::ExclusiveOr),
    ("==", K::Equal),
    ("=~", K::Matches),
    ("=", K::Assign),
    ("!=", K::NotEqual),
    ("!", K::Not),
    ("<=", K::LessOrEqual),
    ("<", K::Less),
    (">=", K::GreaterOrEqual),
    (">", K::Greater),
    ("::", K::Subtemplate),
    (":", K::Colon),
    ("..", K::Descent),
    (".", K::Dot),
    ("+", K::Plus),
    ("-", K::Minus),
    ("*", K::Star),
    ("/", K::Slash),
    ("%", K::Percent),
    ("@", K::At),
    ("#", K::Hash),
    (",", K::Comma),
    (";", K::Semicolon),
    ("?", K::Question),
    ("(", K::OpenParenthesis),
    (")", K::CloseParenthesis),
    ("[", K::OpenBracket),
    ("]", K::CloseBracket),
    ("{", K::OpenBrace),
    ("}", K::CloseBrace),
];

/// The sign a text starts with, and its length.
pub(super) fn sign(text: &str) -> Option<(TokenKind, usize)> {
    SIGNS.iter().find(|(sign, _)| text.starts_with(sign)).map(|(sign, kind)| (*kind, sign.len()))
}

impl TokenKind {
    /// Whether it is a comment.
    pub(super) fn is_comment(self) -> bool {
        matches!(self, TokenKind::LineComment | TokenKind::BlockComment)
    }
}

/// The words that can be no names, unless in backticks.
pub const KEYWORDS: [&str; 23] = [
    "import",
    "as",
    "set",
    "policy",
    "permit",
    "deny",
    "suspend",
    "var",
    "schema",
    "enforced",
    "obligation",
    "advice",
    "transform",
    "true",
    "false",
    "null",
    "undefined",
    "in",
    "has",
    "any",
    "all",
    "each",
    "for",
];

/// Whether a word can be no name, unless in backticks.
pub(super) fn is_reserved(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

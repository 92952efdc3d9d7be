//! What is typed at a prompt, as far as its words alone say: whether more is to come, and whether it is a document.

use super::diagnostic::Problems;
use super::lexer::{tokens, tokens_and_comments};
use super::token::{Token, TokenKind};

/// Whether a bracket or a comment of the text is open, so that the text goes on. One that closes too much does not.
///
/// ```
/// use durward_sapl::syntax::is_open;
///
/// assert!(is_open("math.max(1,"));
/// assert!(!is_open("\"(\""));
/// ```
pub fn is_open(text: &str) -> bool {
    let mut open = 0_usize;
    for token in tokens_and_comments(text, &mut Problems::default()) {
        if token.kind == TokenKind::BlockComment && !is_closed_comment(token, text) {
            return true;
        }
        if opens(token.kind) {
            open += 1;
        } else if closes(token.kind) {
            let Some(less) = open.checked_sub(1) else { return false };
            open = less;
        }
    }
    open > 0
}

/// Whether the text begins as a document does, not as an expression: with `import`, `policy`, `set`, or a schema.
///
/// ```
/// use durward_sapl::syntax::starts_document;
///
/// assert!(starts_document("subject schema {}"));
/// assert!(!starts_document("subject.role"));
/// ```
pub fn starts_document(text: &str) -> bool {
    let words = tokens(text, &mut Problems::default());
    let word = |at: usize| words.get(at).map_or("", |token| token.span.text(text));
    match word(0) {
        "import" | "policy" => true,
        // There is a library of this name: `set.union([1], [2])`.
        "set" => word(1) != ".",
        "subject" | "action" | "resource" | "environment" => matches!(word(1), "schema" | "enforced"),
        _ => false,
    }
}

/// Whether the text has no word: it is empty, or a comment.
pub fn is_blank(text: &str) -> bool {
    tokens(text, &mut Problems::default()).iter().all(|token| token.kind == TokenKind::End)
}

fn is_closed_comment(token: Token, text: &str) -> bool {
    let comment = token.span.text(text);
    comment.len() >= "/**/".len() && comment.ends_with("*/")
}

fn opens(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::OpenParenthesis | TokenKind::OpenBracket | TokenKind::OpenBrace)
}

fn closes(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::CloseParenthesis | TokenKind::CloseBracket | TokenKind::CloseBrace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_goes_on_while_brackets_or_comments_are_open() {
        for open in ["(", "[1, {", "f(\"a)\"", "1 /* and", "1 /*/", "{ \"a\": 1, // }"] {
            assert!(is_open(open), "{open}");
        }
        for whole in ["", "()", "\"(\"", "1 // (", "1 /* ( */", ")", ")(", "\"no end ("] {
            assert!(!is_open(whole), "{whole}");
        }
    }

    #[test]
    fn documents_are_told_from_expressions() {
        for document in [
            "policy \"p\" permit",
            "/* c */ set \"s\" first or deny",
            "import a.b",
            "subject enforced schema {}",
            "policy",
        ] {
            assert!(starts_document(document), "{document}");
        }
        for expression in ["subject.schema", "set.union([1], [2])", "`policy`", "\"policy\"", ""] {
            assert!(!starts_document(expression), "{expression}");
        }
    }

    #[test]
    fn comments_are_no_words() {
        assert!(is_blank(" // a\n/* b */"));
        assert!(!is_blank("'"));
    }
}

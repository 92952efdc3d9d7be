//! Where reading goes on after a problem, and ways out of common ones.

use durward_ir::near::nearest;

use super::Parser;
use crate::syntax::diagnostic::quote;
use crate::syntax::token::TokenKind as K;

/// Keywords that can only start a statement.
const STARTS: [&str; 5] = ["obligation", "advice", "transform", "var", "import"];

/// The algorithms of SAPL 3, and what SAPL 4 writes instead.
const OLD_ALGORITHMS: [(&str, &str); 6] = [
    ("deny-overrides", "priority deny or abstain errors propagate"),
    ("permit-overrides", "priority permit or abstain errors propagate"),
    ("first-applicable", "first or abstain errors propagate"),
    ("only-one-applicable", "unique or abstain errors propagate"),
    ("deny-unless-permit", "priority permit or deny"),
    ("permit-unless-deny", "priority deny or permit"),
];

impl Parser<'_> {
    /// Whether a policy or a set starts here.
    pub(super) fn starts_root(&self) -> bool {
        (self.is_word("policy") || self.is_word("set")) && self.ahead(1).kind == K::Text
    }

    /// Whether a schema statement starts here.
    pub(super) fn starts_schema(&self) -> bool {
        let token = self.next();
        token.kind == K::Word
            && matches!(self.text(token.span), "subject" | "action" | "resource" | "environment")
            && (self.ahead_is_word(1, "schema") || self.ahead_is_word(1, "enforced"))
    }

    /// Whether the next word can only start a statement.
    pub(super) fn starts_statement(&self) -> bool {
        let token = self.next();
        self.starts_root() || (token.kind == K::Word && STARTS.contains(&self.text(token.span)))
    }

    /// Skips what is left of a statement, with its `;`.
    pub(super) fn skip_statement(&mut self) {
        while !self.is(K::End) && !self.starts_statement() {
            if self.take().kind == K::Semicolon {
                return;
            }
        }
    }

    /// Skips up to a word that a condition holds for, or to the end.
    pub(in crate::syntax) fn skip_to(&mut self, stop: impl Fn(&Self) -> bool) {
        while !self.is(K::End) && !stop(self) {
            self.take();
        }
    }

    /// What was meant by the next word, if an operator or the end of an expression should stand there.
    pub(super) fn operator_hint(&self) -> Option<String> {
        let token = self.next();
        let hint = match (token.kind, self.text(token.span)) {
            (K::Assign, _) => "write `==` to compare",
            (K::Word, "and" | "AND") => "write `&&`",
            (K::Word, "or" | "OR") => "write `||`",
            (K::Word, "matches" | "like") => "write `=~` to match a pattern",
            (K::Word, "contains") => "write `value in list`",
            (K::Word, "where") => {
                "SAPL 4 has no `where`: conditions follow the effect at once, each with its `;`"
            }
            (K::Filter, _) if self.ahead(1).kind == K::Number => {
                "`|-` is the filter operator; put a blank between `|` and `-`"
            }
            (K::Filter | K::Subtemplate, _) => "put parentheses around the expression before it",
            (K::Head, _) => "`|<` takes an attribute's first value; put a blank between `|` and `<`",
            (K::Question, _) => "keys of what is missing are undefined, so a plain `.` is enough",
            (K::OpenParenthesis, _) => "only a name can be called: `library.function(...)`",
            (K::Word, "each") => "`each` stands after `|-`",
            _ => return None,
        };
        Some(hint.to_owned())
    }

    /// A way out where one of some keywords should stand.
    pub(in crate::syntax) fn keyword_hint(&self, words: &[&str]) -> Option<String> {
        let token = self.next();
        let word = self.text(token.span);
        if token.kind != K::Word || words.contains(&word) {
            return None;
        }
        nearest(word, words.iter().copied()).map(|word| format!("did you mean {}?", quote(word)))
    }

    /// Whether this is the `where` of SAPL 3. In SAPL 4 it is a name as any other, and behind a name stands what joins it to something.
    pub(super) fn starts_old_body(&self) -> bool {
        let next = self.ahead(1);
        let is_operator = matches!(self.text(next.span), "in" | "has" | "any" | "all");
        let starts_expression =
            matches!(next.kind, K::Quoted | K::Text | K::Number | K::Not | K::OpenBrace | K::At | K::Hash);
        self.is_word("where") && (starts_expression || next.kind == K::Word && !is_operator)
    }

    /// Whether a name stands here as SAPL 3 could write it, `^policy`: nothing that begins so is an expression.
    pub(super) fn starts_old_name(&self) -> bool {
        let (sign, word) = (self.next(), self.ahead(1));
        sign.kind == K::ExclusiveOr && word.kind == K::Word && sign.span.end == word.span.start
    }

    /// The way out of an algorithm written as in SAPL 3.
    pub(in crate::syntax) fn algorithm_hint(&self) -> Option<String> {
        let start = self.next().span.start as usize;
        let rest = self.source.get(start..).unwrap_or_default();
        let found = OLD_ALGORITHMS.iter().find(|(old, _)| rest.starts_with(old));
        found.map(|(old, new)| format!("what SAPL 3 called `{old}` is `{new}`"))
    }
}

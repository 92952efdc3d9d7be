//! From trees to text: the shortest parentheses that give the tree again, one line a statement. [`super::format`]
//! lays such a text out for people.

mod document;
mod expression;

use super::escape::escape;
use super::lexer::is_name;
use super::token::is_reserved;
use super::tree::{Document, Expr};

/// A document as text. Reading it gives the same tree, but for places, if the tree came from a text without errors
/// (or could have come from one).
///
/// ```
/// use durward_sapl::syntax::{parse, print};
///
/// let parsed = parse("policy \"a\" permit ((1 + (2 * x))) == 3; // sum");
/// assert_eq!(print(&parsed.tree), "policy \"a\"\npermit\n    1 + 2 * x == 3;\n");
/// ```
pub fn print(document: &Document) -> String {
    let mut printer = Printer::default();
    printer.document(document);
    printer.out
}

/// An expression as text, on one line, like [`print`].
pub fn print_expression(expr: &Expr) -> String {
    let mut printer = Printer::default();
    printer.expression(expr);
    printer.out
}

/// The text so far.
#[derive(Default)]
struct Printer {
    out: String,
}

impl Printer {
    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn text(&mut self, text: &str) {
        escape(text, &mut self.out);
    }

    /// A name, in backticks where it is a keyword.
    fn name(&mut self, name: &str) {
        if is_reserved(name) {
            self.out.push('`');
            self.out.push_str(name);
            self.out.push('`');
        } else {
            self.out.push_str(name);
        }
    }

    /// A key after one of the two kinds of dots, or in brackets where it is no name.
    fn key(&mut self, dots: &str, key: &str) {
        if is_name(key) {
            self.push(dots);
            self.name(key);
        } else {
            self.push(if dots == ".." { "..[" } else { "[" });
            self.text(key);
            self.push("]");
        }
    }

    /// Items with something between each two.
    fn separated<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        between: &str,
        mut item: impl FnMut(&mut Self, T),
    ) {
        for (index, one) in items.into_iter().enumerate() {
            if index > 0 {
                self.push(between);
            }
            item(self, one);
        }
    }
}

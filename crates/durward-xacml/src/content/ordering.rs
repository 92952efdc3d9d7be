//! Finds texts that a path compares by order: XPath 1.0 compares numbers there (section 3.4), and a text that is none is
//! not less than, equal to or greater than anything. Authors who think in XPath 2.0 mean the order of the texts.

use super::expression::{Expression, Operator, Start};
use super::value::number_of;
use super::xpath::XPath;

impl XPath {
    /// The first literal that is compared by order and is no number: the comparison is never true.
    pub fn text_in_order(&self) -> Option<&str> {
        self.expression().text_in_order()
    }
}

impl Expression {
    fn text_in_order(&self) -> Option<&str> {
        match self {
            Expression::Chain { first, rest } => {
                let is_order = rest.iter().any(|(operator, _)| matches!(operator, Operator::Order(_)));
                let mut operands =
                    std::iter::once(first.as_ref()).chain(rest.iter().map(|(_, operand)| operand));
                operands.find_map(|operand| {
                    if let Expression::Literal(text) = operand {
                        return (is_order && number_of(text).is_nan()).then_some(text.as_str());
                    }
                    operand.text_in_order()
                })
            }
            Expression::Negated(inner) => inner.text_in_order(),
            Expression::Union(parts) | Expression::Call(_, parts) => first_of(parts),
            Expression::Path(path) => {
                let start = match &path.start {
                    Start::Expression { expression, predicates } => {
                        expression.text_in_order().or_else(|| first_of(predicates))
                    }
                    Start::Root | Start::Context => None,
                };
                start.or_else(|| path.steps.iter().find_map(|step| first_of(&step.predicates)))
            }
            Expression::Number(_) | Expression::Literal(_) => None,
        }
    }
}

fn first_of(expressions: &[Expression]) -> Option<&str> {
    expressions.iter().find_map(Expression::text_in_order)
}

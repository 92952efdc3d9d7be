//! Operators: operands that make them fail, and comparisons that come to the same whatever is asked.

use durward_ir::Value;
use durward_ir::near::nearest;

use super::kinds::Kinds;
use super::{Check, habits, literal};
use crate::syntax::quote;
use crate::syntax::tree::{Chain, ChainOperator, Comparison, ComparisonOperator, Expr, ExprKind};

/// Values of a schema that a message lists at most.
const VALUES_SHOWN_MAX: usize = 8;

impl<'t> Check<'t> {
    /// Warns of a value that can be none of those wanted: it fails.
    pub(super) fn want(&mut self, wanted: Kinds, kinds: Kinds, expression: &Expr, what: &[&str]) {
        if kinds.meets(wanted) {
            return;
        }
        let message = format!("{} must be {wanted}, not {kinds}: this is an error", what.concat());
        self.report.warn("wrong-type", expression.span, message, None);
    }

    /// Warns of a comparison that holds for nothing.
    fn never(&mut self, whole: &Expr, message: String) {
        let help = "correct it, or remove it".to_owned();
        self.report.warn("never-true", whole.span, message, help);
    }

    pub(super) fn comparison(&mut self, whole: &'t Expr, comparison: &'t Comparison) -> Kinds {
        let Comparison { left, operator, right, .. } = comparison;
        let kinds = (self.expression(left), self.expression(right));
        match operator {
            ComparisonOperator::Equal => self.equality(whole, comparison, kinds, true),
            ComparisonOperator::NotEqual => self.equality(whole, comparison, kinds, false),
            ComparisonOperator::Matches => {
                self.want(Kinds::TEXT, kinds.1, right, &["a regular expression"]);
                if !kinds.0.meets(Kinds::TEXT) {
                    self.never(
                        whole,
                        format!("`=~` is false for anything but a text, and this is {}", kinds.0),
                    );
                }
                habits::pattern(self, right);
            }
            ComparisonOperator::Has => {
                self.has(whole, right, "has", kinds, Kinds::TEXT.or(Kinds::UNDEFINED));
            }
            ComparisonOperator::HasAny => self.has(whole, right, "has any", kinds, Kinds::ARRAY),
            ComparisonOperator::HasAll => self.has(whole, right, "has all", kinds, Kinds::ARRAY),
            ComparisonOperator::Less
            | ComparisonOperator::LessOrEqual
            | ComparisonOperator::Greater
            | ComparisonOperator::GreaterOrEqual => {
                let what = ["what `", self.document.piece(comparison.operator_span), "` compares"];
                self.want(Kinds::NUMBER, kinds.0, left, &what);
                self.want(Kinds::NUMBER, kinds.1, right, &what);
                self.self_comparison(whole, comparison);
            }
            ComparisonOperator::In => {
                let places = Kinds::ARRAY.or(Kinds::OBJECT).or(Kinds::TEXT);
                self.want(places, kinds.1, right, &["what stands after `in`"]);
                if kinds.1 == Kinds::TEXT {
                    self.want(Kinds::TEXT, kinds.0, left, &["what `in` looks for in a text"]);
                }
                self.listed(left, right);
            }
            ComparisonOperator::AnyIn | ComparisonOperator::AllIn => {
                let what = ["what stands before `", self.document.piece(comparison.operator_span), "`"];
                self.want(Kinds::ARRAY, kinds.0, left, &what);
            }
        }
        Kinds::BOOLEAN
    }

    /// `has` of what is missing is false, whatever the key.
    fn has(&mut self, whole: &Expr, key: &Expr, operator: &str, kinds: (Kinds, Kinds), keys: Kinds) {
        if !kinds.1.meets(keys) {
            let message =
                format!("what stands after `{operator}` must be {keys}, not {}: this never holds", kinds.1);
            self.report.warn("wrong-type", key.span, message, None);
        }
        if !kinds.0.meets(Kinds::OBJECT) {
            let message =
                format!("`{operator}` is false for anything but an object, and this is {}", kinds.0);
            self.never(whole, message);
        }
    }

    fn equality(
        &mut self,
        whole: &'t Expr,
        comparison: &'t Comparison,
        kinds: (Kinds, Kinds),
        is_equal: bool,
    ) {
        let Comparison { left, right, .. } = comparison;
        if !kinds.0.meets(kinds.1) {
            let (operator, always) = if is_equal { ("==", "never") } else { ("!=", "always") };
            let message = format!("`{operator}` of {} and {} {always} holds", kinds.0, kinds.1);
            self.report.warn("unlike-types", whole.span, message, "compare values of one type".to_owned());
            return;
        }
        self.self_comparison(whole, comparison);
        self.allowed(left, right);
        self.allowed(right, left);
        habits::null(self, whole, comparison);
    }

    /// Both sides are the same text.
    fn self_comparison(&mut self, whole: &Expr, comparison: &Comparison) {
        let Comparison { left, right, .. } = comparison;
        let piece = |expression: &Expr| self.document.piece(expression.span);
        if !habits::is_constant(left) && piece(left) == piece(right) {
            let message = format!("{} is compared with itself", quote(piece(left)));
            self.report.warn(
                "self-comparison",
                whole.span,
                message,
                "compare it with something else".to_owned(),
            );
        }
    }

    /// Elements of a list that the schema of what is looked for does not allow.
    fn listed(&mut self, sought: &'t Expr, list: &'t Expr) {
        if self.schemas.is_empty() {
            return;
        }
        if let ExprKind::Array(elements) = &list.kind {
            elements.iter().for_each(|element| self.allowed(sought, element));
        }
    }

    /// A constant that the schema of what it is compared with does not allow.
    fn allowed(&mut self, path: &'t Expr, constant: &'t Expr) {
        let Some(values) = self.property(path).and_then(|property| property.values) else { return };
        if matches!(constant.kind, ExprKind::Identifier(_)) {
            return;
        }
        let Some(value) = literal(constant, self.configuration) else { return };
        if values.iter().any(|allowed| allowed.equals(&value)) {
            return;
        }
        let texts: Vec<&str> = values.iter().filter_map(|value| value.as_text()).collect();
        let near = value.as_text().and_then(|text| nearest(text, texts.iter().copied()));
        let help = match near {
            Some(near) => format!("did you mean {}?", quote(near)),
            None => {
                let shown: Vec<String> =
                    values.iter().take(VALUES_SHOWN_MAX).map(|value| quote(&shown(value))).collect();
                let more = if values.len() > VALUES_SHOWN_MAX { ", ..." } else { "" };
                format!("the schema allows {}{more}", shown.join(", "))
            }
        };
        let message = format!(
            "{} is never {} by its schema",
            quote(self.document.piece(path.span)),
            quote(&shown(&value))
        );
        self.report.warn("value-not-in-schema", constant.span, message, help);
    }

    pub(super) fn chain(&mut self, chain: &'t Chain) -> Kinds {
        let mut kinds = self.expression(&chain.first);
        let mut operand = &chain.first;
        for link in &chain.rest {
            let right = self.expression(&link.operand);
            let name = self.document.piece(link.operator_span);
            match link.operator {
                ChainOperator::LazyOr
                | ChainOperator::LazyAnd
                | ChainOperator::Or
                | ChainOperator::And
                | ChainOperator::ExclusiveOr => {
                    let what = ["what `", name, "` joins"];
                    self.want(Kinds::BOOLEAN, kinds, operand, &what);
                    self.want(Kinds::BOOLEAN, right, &link.operand, &what);
                    kinds = Kinds::BOOLEAN;
                }
                ChainOperator::Add => kinds = self.sum(kinds, operand, right, &link.operand),
                ChainOperator::Subtract
                | ChainOperator::Multiply
                | ChainOperator::Divide
                | ChainOperator::Remainder => {
                    let what = ["what `", name, "` computes with"];
                    self.want(Kinds::NUMBER, kinds, operand, &what);
                    self.want(Kinds::NUMBER, right, &link.operand, &what);
                    kinds = Kinds::NUMBER;
                }
            }
            operand = &link.operand;
        }
        kinds
    }

    /// Numbers are added; to a text anything is appended.
    fn sum(&mut self, left: Kinds, first: &Expr, right: Kinds, second: &Expr) -> Kinds {
        let (number, text) = (left.meets(Kinds::NUMBER), left.meets(Kinds::TEXT));
        self.want(Kinds::NUMBER.or(Kinds::TEXT), left, first, &["what `+` adds to"]);
        if number && !text {
            self.want(Kinds::NUMBER, right, second, &["what `+` adds to a number"]);
        }
        match (number, text) {
            (true, false) => Kinds::NUMBER,
            (false, true) => Kinds::TEXT,
            (true, true) | (false, false) => Kinds::NUMBER.or(Kinds::TEXT),
        }
    }
}

fn shown(value: &Value) -> String {
    value.as_text().map_or_else(|| value.to_json(), str::to_owned)
}

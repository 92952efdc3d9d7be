//! Which expressions compare one attribute with constants by order, or a text with a prefix.

use super::bound::Bound;
use super::derived::{Bag, Domain};
use crate::function::{Body, Function};
use crate::program::{BinaryOperator, Builder, Expr, ExprId, Match, SlotId, Structured, UnaryOperator};
use crate::value::{DataType, Value};

/// "The value lies from one bound to the other", which is what an expression says as far as it is known.
#[derive(Clone, Debug)]
pub(super) struct Range {
    pub(super) source: SlotId,
    pub(super) domain: Domain,
    pub(super) bag: Bag,
    pub(super) low: Option<Bound>,
    pub(super) high: Option<Bound>,
    /// Whether it is the rest that is meant.
    pub(super) is_outside: bool,
    /// Whether it is all that the expression says; else it is only what must hold.
    pub(super) is_exact: bool,
    pub(super) is_error_if_absent: bool,
}

/// Which side of a constant a value is on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Relation {
    /// The same, seen from the other side.
    fn mirrored(self) -> Relation {
        match self {
            Relation::Less => Relation::Greater,
            Relation::LessOrEqual => Relation::GreaterOrEqual,
            Relation::Greater => Relation::Less,
            Relation::GreaterOrEqual => Relation::LessOrEqual,
        }
    }

    fn of(operator: BinaryOperator) -> Option<Relation> {
        let relations = [
            (BinaryOperator::Less, Relation::Less),
            (BinaryOperator::LessOrEqual, Relation::LessOrEqual),
            (BinaryOperator::Greater, Relation::Greater),
            (BinaryOperator::GreaterOrEqual, Relation::GreaterOrEqual),
        ];
        relations.into_iter().find(|(known, _)| *known == operator).map(|(_, relation)| relation)
    }

    /// Of a function of XACML for this data type.
    fn of_function(function: &Function, data_type: DataType) -> Option<Relation> {
        let name = function.short_name().strip_prefix(data_type.short_name())?;
        match name {
            "-less-than" => Some(Relation::Less),
            "-less-than-or-equal" => Some(Relation::LessOrEqual),
            "-greater-than" => Some(Relation::Greater),
            "-greater-than-or-equal" => Some(Relation::GreaterOrEqual),
            _ => None,
        }
    }

    /// Where the values lie that are so related to a constant; `None` where the constant has no order.
    fn bounds(self, constant: &Value) -> Option<(Option<Bound>, Option<Bound>)> {
        Some(match self {
            Relation::Less => (None, Some(Bound::before(constant)?)),
            Relation::LessOrEqual => (None, Some(Bound::after(constant)?)),
            Relation::Greater => (Some(Bound::after(constant)?), None),
            Relation::GreaterOrEqual => (Some(Bound::before(constant)?), None),
        })
    }
}

/// What an expression says, if it is such a comparison.
pub(super) fn find(builder: &Builder, id: ExprId) -> Option<Range> {
    match builder.get(id)? {
        Expr::Structured(structured) => of_structured(builder, structured),
        Expr::Match(matching) => of_match(builder, matching),
        Expr::Call(function, arguments) => of_call(builder, function, arguments),
        Expr::Constant(_)
        | Expr::Attribute { .. }
        | Expr::Selector(_)
        | Expr::Lazy(..)
        | Expr::HigherOrder(..)
        | Expr::Contextual(..)
        | Expr::Matches(..)
        | Expr::All(_)
        | Expr::Any(_)
        | Expr::Failed(_)
        | Expr::Part(_)
        | Expr::IsOneOf(..) => None,
    }
}

fn of_structured(builder: &Builder, structured: &Structured) -> Option<Range> {
    if let Structured::Binary(operator, left, right) = structured {
        let relation = Relation::of(*operator)?;
        return match (part(builder, *left), part(builder, *right)) {
            (Some(slot), None) => compared(slot, relation, builder.value_of(*right)?),
            (None, Some(slot)) => compared(slot, relation.mirrored(), builder.value_of(*left)?),
            (Some(_), Some(_)) | (None, None) => None,
        };
    }
    if let Structured::Unary(UnaryOperator::Not, operand) = structured {
        // Where a comparison of a line is in error, its opposite is so too; but what is no text at all is not like it.
        let range = find(builder, *operand).filter(|range| range.bag == Bag::Only)?;
        let is_reversible = matches!(range.domain, Domain::Number | Domain::Text) && range.is_exact;
        return is_reversible.then_some(Range { is_outside: !range.is_outside, ..range });
    }
    if let Structured::Matches(pattern, operand) = structured {
        let (prefix, is_exact) = prefix_of(pattern.as_str())?;
        return of_prefix(part(builder, *operand)?, Domain::Line, &prefix, is_exact);
    }
    let Structured::Call(function, arguments) = structured else { return None };
    let ("string.startsWith", [whole, prefix]) = (function.0.name, &**arguments) else { return None };
    of_prefix(part(builder, *whole)?, Domain::Text, builder.value_of(*prefix)?.as_text()?, true)
}

fn part(builder: &Builder, id: ExprId) -> Option<SlotId> {
    if let Expr::Part(slot) = builder.get(id)? { Some(*slot) } else { None }
}

/// SAPL: numbers are compared with numbers, and anything else is an error.
fn compared(source: SlotId, relation: Relation, constant: &Value) -> Option<Range> {
    constant.as_number()?;
    let (low, high) = relation.bounds(constant)?;
    Some(of_part(source, Domain::Number, low, high, true))
}

fn of_prefix(source: SlotId, domain: Domain, prefix: &str, is_exact: bool) -> Option<Range> {
    let high = Bound::behind_prefix(prefix)?;
    Some(of_part(source, domain, Bound::before(&Value::text(prefix)), Some(high), is_exact))
}

fn of_part(source: SlotId, domain: Domain, low: Option<Bound>, high: Option<Bound>, is_exact: bool) -> Range {
    Range { source, domain, bag: Bag::Only, low, high, is_outside: false, is_exact, is_error_if_absent: true }
}

/// XACML 3.0, 7.6: the function takes the literal first, and any value of the bag will do. What several values come to
/// by order is left to the evaluator.
fn of_match(builder: &Builder, matching: &Match) -> Option<Range> {
    let Expr::Attribute { slot, must_be_present } = builder.get(matching.bag)? else { return None };
    let Match { function, literal, .. } = matching;
    let domain = Domain::Typed(builder.slots.name(*slot).data_type);
    let (bag, low, high) = if is_prefix_test(function, domain) {
        let prefix = literal.as_text()?;
        (Bag::Any, Bound::before(literal), Some(Bound::behind_prefix(prefix)?))
    } else if domain == Domain::Typed(literal.data_type()) {
        let relation = Relation::of_function(function, literal.data_type())?.mirrored();
        let (low, high) = relation.bounds(literal)?;
        (if *must_be_present { Bag::Only } else { Bag::Optional }, low, high)
    } else {
        return None;
    };
    Some(Range {
        source: *slot,
        domain,
        bag,
        low,
        high,
        is_outside: false,
        is_exact: true,
        is_error_if_absent: bag != Bag::Any || *must_be_present,
    })
}

fn is_prefix_test(function: &Function, domain: Domain) -> bool {
    match function.short_name() {
        "string-starts-with" => domain == Domain::Typed(DataType::Text),
        "anyURI-starts-with" => domain == Domain::Typed(DataType::AnyUri),
        _ => false,
    }
}

/// XACML: the only value of a bag is compared; that there is not exactly one is an error.
fn of_call(builder: &Builder, function: &Function, arguments: &[ExprId]) -> Option<Range> {
    let [left, right] = arguments else { return None };
    let (slot, constant, is_mirrored) = match (only_value(builder, *left), only_value(builder, *right)) {
        (Some(slot), None) => (slot, builder.value_of(*right)?, false),
        (None, Some(slot)) => (slot, builder.value_of(*left)?, true),
        (Some(_), Some(_)) | (None, None) => return None,
    };
    let domain = Domain::Typed(builder.slots.name(slot).data_type);
    let (low, high) = if is_prefix_test(function, domain) && is_mirrored {
        (Bound::before(constant), Some(Bound::behind_prefix(constant.as_text()?)?))
    } else if domain == Domain::Typed(constant.data_type()) {
        let relation = Relation::of_function(function, constant.data_type())?;
        (if is_mirrored { relation.mirrored() } else { relation }).bounds(constant)?
    } else {
        return None;
    };
    Some(of_part(slot, domain, low, high, true))
}

/// The attribute whose only value this is.
fn only_value(builder: &Builder, id: ExprId) -> Option<SlotId> {
    let Expr::Call(function, arguments) = builder.get(id)? else { return None };
    let (Body::Strict(..), [bag]) = (&function.body, &**arguments) else { return None };
    let Expr::Attribute { slot, .. } = builder.get(*bag)? else { return None };
    function.short_name().ends_with("-one-and-only").then_some(*slot)
}

/// What all texts begin with that a regular expression of Java matches as a whole, and whether any text of one line that
/// does so is matched. `None` where nothing is known.
fn prefix_of(pattern: &str) -> Option<(String, bool)> {
    let pattern = pattern.strip_prefix('^').unwrap_or(pattern);
    if pattern.contains('|') {
        return None;
    }
    let is_literal = |it: &char| !"\\.[]{}()*+?^$".contains(*it);
    let mut prefix: String = pattern.chars().take_while(is_literal).collect();
    let rest = pattern.get(prefix.len()..)?;
    // The last character may be there any number of times.
    if rest.starts_with(['*', '?', '{', '+']) {
        prefix.pop();
    }
    (!prefix.is_empty()).then_some((prefix, rest == ".*"))
}

#[cfg(test)]
mod tests {
    use super::prefix_of;

    #[test]
    fn what_a_regular_expression_begins_with_is_read_from_it() {
        let whole = |prefix: &str| Some((prefix.to_owned(), true));
        let part = |prefix: &str| Some((prefix.to_owned(), false));
        assert_eq!(prefix_of("/team/.*"), whole("/team/"));
        assert_eq!(prefix_of("^/team/.*"), whole("/team/"));
        assert_eq!(prefix_of("/team/.*x"), part("/team/"));
        assert_eq!(prefix_of("/team/.+"), part("/team/"));
        assert_eq!(prefix_of("/team/[a-z]"), part("/team/"));
        assert_eq!(prefix_of("/teams?/"), part("/team"));
        assert_eq!(prefix_of("/teams+"), part("/team"));
        assert_eq!(prefix_of("a\\.b.*"), part("a"));
        for nothing in ["", ".*", "^", "(?i)a.*", "a*", "/team/.*|/x", "\\Qa\\E.*", "x?.*"] {
            assert_eq!(prefix_of(nothing), None, "{nothing}");
        }
    }
}

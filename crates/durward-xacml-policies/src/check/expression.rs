//! Conditions and other expressions: tests that cannot come out both ways, and odd uses of `MustBePresent`.

use std::collections::HashMap;

use durward_ir::function::{self, Argument, Body, Function, Type};
use durward_ir::value::{DataType, Operand, Value};
use durward_xacml::content::XPath;

use super::clauses::{Clause, Clauses};
use super::finding::Findings;
use crate::tree::{
    Apply, AttributeDesignator, AttributeValue, Expression, NamespaceScope, Policy, XmlLocation,
};

const AND: &str = "urn:oasis:names:tc:xacml:1.0:function:and";
const ONE_AND_ONLY: &str = "-one-and-only";
const BAG_SIZE: &str = "-bag-size";
/// Functions under which a text has one partner only.
const EQUALITIES: [&str; 2] = [
    "urn:oasis:names:tc:xacml:1.0:function:string-equal",
    "urn:oasis:names:tc:xacml:1.0:function:anyURI-equal",
];

/// Every expression of a policy: conditions, variables, assignments of obligations and advice.
pub(super) fn of_policy(policy: &Policy) -> impl Iterator<Item = &Expression> {
    let conditions = policy.rules.iter().filter_map(|rule| rule.condition.as_ref()).map(|it| &it.expression);
    let variables = policy.variables.iter().map(|variable| &variable.expression);
    let rule_notices = policy.rules.iter().flat_map(|rule| rule.obligations.iter().chain(&rule.advice));
    let notices = policy.obligations.iter().chain(&policy.advice).chain(rule_notices);
    let assigned = notices.flat_map(|notice| &notice.assignments).map(|assignment| &assignment.expression);
    conditions.chain(variables).chain(assigned)
}

/// Calls `visit` with an expression and everything inside it, outermost first. Depth is bounded where documents
/// are read.
pub(super) fn visit<'t>(expression: &'t Expression, visit_one: &mut impl FnMut(&'t Expression)) {
    visit_one(expression);
    match expression {
        Expression::Apply(apply) => apply.arguments.iter().for_each(|argument| visit(argument, visit_one)),
        Expression::Value(_)
        | Expression::Designator(_)
        | Expression::Selector(_)
        | Expression::Variable(_)
        | Expression::Function(_) => {}
    }
}

/// One expression with everything inside it.
pub(super) fn expression(expression: &Expression, findings: &mut Findings) {
    visit(expression, &mut |part| match part {
        Expression::Apply(apply) => {
            never_both(apply, findings);
            always_fails(apply, findings);
            empty_bag(apply, findings);
        }
        Expression::Selector(selector) => {
            ordered_text(&selector.path, &selector.scope, selector.place, findings)
        }
        Expression::Value(value)
            if DataType::from_uri(&value.data_type) == Some(DataType::XPathExpression) =>
        {
            ordered_text(&value.text, &value.scope, value.place, findings);
        }
        Expression::Value(_)
        | Expression::Designator(_)
        | Expression::Variable(_)
        | Expression::Function(_) => {}
    });
}

/// A path that compares a text by order, which XPath 1.0 does not do: whoever wrote it means XPath 2.0.
pub(super) fn ordered_text(path: &str, scope: &NamespaceScope, place: XmlLocation, findings: &mut Findings) {
    let bindings: Vec<_> = scope.bindings().map(|(prefix, uri)| (prefix.into(), uri.into())).collect();
    let Ok(path) = XPath::compile(path, &bindings) else { return };
    if let Some(text) = path.text_in_order() {
        let message = format!("never true: XPath 1.0 compares numbers by order, and `{text}` is none");
        let help = "select the values, and compare them with a function such as `date-less-than`";
        findings.warn("never-true", place, message, help);
    }
}

/// A call that its literals make an error whenever it is evaluated.
fn always_fails(apply: &Apply, findings: &mut Findings) {
    let Some(function) = function::find(&apply.function) else { return };
    let constants: Vec<Option<Value>> = apply.arguments.iter().map(literal).collect();
    let given: Vec<Option<&Value>> = constants.iter().map(Option::as_ref).collect();
    let reason = match function.check_constants(&given) {
        Err(error) => Some(error.to_string()),
        Ok(()) => failure(function, constants),
    };
    if let Some(reason) = reason {
        let help = "where it is evaluated, the decision is Indeterminate";
        findings.warn("always-fails", apply.place, reason, help);
    }
}

fn literal(argument: &Expression) -> Option<Value> {
    match argument {
        Expression::Value(value) => Value::parse(DataType::from_uri(&value.data_type)?, &value.text).ok(),
        Expression::Apply(_)
        | Expression::Designator(_)
        | Expression::Selector(_)
        | Expression::Variable(_)
        | Expression::Function(_) => None,
    }
}

/// What a call of nothing but literals fails with, if it is well typed and does.
fn failure(function: &'static Function, constants: Vec<Option<Value>>) -> Option<String> {
    // A pattern that is none is an error of the policy.
    let Some(Body::Strict(_, run)) = Some(function.body).filter(|_| !function.takes_pattern()) else {
        return None;
    };
    let constants = constants.into_iter().collect::<Option<Vec<Value>>>()?;
    let types: Vec<Argument> =
        constants.iter().map(|value| Argument::Expression(Type::One(value.data_type()))).collect();
    function.check(&types).ok()?;
    let operands: Vec<Operand<'_>> = constants.into_iter().map(Operand::one).collect();
    let fault = run(&operands).err()?;
    Some(format!("`{}` always fails here: {}", function.short_name(), fault.message))
}

/// `and` of two tests that the only value of one attribute equals different texts.
fn never_both(apply: &Apply, findings: &mut Findings) {
    if apply.function != AND {
        return;
    }
    let mut clauses = Clauses::default();
    let mut asked: HashMap<Clause, &AttributeValue> = HashMap::new();
    for argument in &apply.arguments {
        let Some((place, designator, literal)) = equality(argument) else { continue };
        let before = *asked.entry(clauses.of_attribute(designator)).or_insert(literal);
        if before.text != literal.text {
            let message = format!(
                "never true: the only value of `{}` cannot be both `{}` and `{}`",
                designator.id, before.text, literal.text
            );
            findings.warn(
                "never-true",
                place,
                message,
                "use `or`, or `at-least-one-member-of` with a bag of both",
            );
        }
    }
}

/// The parts of an equality of a literal and the only value of an attribute.
fn equality(expression: &Expression) -> Option<(XmlLocation, &AttributeDesignator, &AttributeValue)> {
    let Expression::Apply(apply) = expression else { return None };
    if !EQUALITIES.contains(&apply.function.as_str()) {
        return None;
    }
    match apply.arguments.as_slice() {
        [Expression::Value(literal), Expression::Apply(bag)]
        | [Expression::Apply(bag), Expression::Value(literal)] => {
            only_value(bag).map(|designator| (apply.place, designator, literal))
        }
        _ => None,
    }
}

fn only_value(apply: &Apply) -> Option<&AttributeDesignator> {
    match apply.arguments.as_slice() {
        [Expression::Designator(designator)] if apply.function.ends_with(ONE_AND_ONLY) => Some(designator),
        _ => None,
    }
}

/// What an empty bag leads to: `bag-size` of a bag that must not be empty, `one-and-only` of one that may be.
fn empty_bag(apply: &Apply, findings: &mut Findings) {
    let [Expression::Designator(designator)] = apply.arguments.as_slice() else { return };
    if apply.function.ends_with(BAG_SIZE) && designator.must_be_present {
        let message = format!("never 0: an absent `{}` is an error, for it must be present", designator.id);
        let help = "to count values that may be absent, set `MustBePresent` to false";
        findings.warn("must-be-present-in-bag-size", designator.place, message, help);
    }
    if apply.function.ends_with(ONE_AND_ONLY) && !designator.must_be_present {
        let message = || {
            format!(
                "without `{}` this is a processing-error, which does not say what is missing",
                designator.id
            )
        };
        let help = "with `MustBePresent` set to true the status is missing-attribute and names it";
        findings.hint_once("may-be-absent-in-one-and-only", &designator.id, designator.place, message, help);
    }
}

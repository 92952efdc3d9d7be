//! Targets and conditions as sets of numbered clauses, so that "the same" and "stricter than" are comparisons of
//! numbers. Places, descriptions and the order of clauses do not count.

use std::collections::HashMap;
use std::fmt::Write;

use crate::tree::{
    AllOf, AnyOf, AttributeDesignator, AttributeSelector, AttributeValue, Expression, Match, MatchAttribute,
    SelectorBase, Target,
};

/// Numbers clauses: equal clauses have equal numbers.
#[derive(Default)]
pub(super) struct Clauses {
    numbers: HashMap<String, u32>,
}

/// The number of a clause.
pub(super) type Clause = u32;

impl Clauses {
    /// The clauses of a target, all of which must hold; sorted, each once. An `AnyOf` of a single `AllOf` is just
    /// its matches: both are conjunctions in which False wins over an error (XACML 3.0, 7.7).
    pub(super) fn of_target(&mut self, target: Option<&Target>) -> Vec<Clause> {
        let mut clauses = Vec::new();
        for any_of in target.into_iter().flat_map(|target| &target.any_of) {
            match any_of.all_of.as_slice() {
                [only] => clauses.extend(self.of_all_of(only)),
                _ => clauses.push(self.of_any_of(any_of)),
            }
        }
        clauses.sort_unstable();
        clauses.dedup();
        clauses
    }

    /// The matches of an `AllOf`; sorted, each once.
    pub(super) fn of_all_of(&mut self, all_of: &AllOf) -> Vec<Clause> {
        let mut clauses: Vec<Clause> = all_of
            .matches
            .iter()
            .map(|matching| self.number(written(|text| write_match(text, matching))))
            .collect();
        clauses.sort_unstable();
        clauses.dedup();
        clauses
    }

    /// The number of a condition.
    pub(super) fn of_expression(&mut self, expression: &Expression) -> Clause {
        self.number(written(|text| write_expression(text, expression)))
    }

    /// The number of an attribute, whatever its `MustBePresent`.
    pub(super) fn of_attribute(&mut self, designator: &AttributeDesignator) -> Clause {
        let anywhere = AttributeDesignator { must_be_present: false, ..designator.clone() };
        self.number(written(|text| write_designator(text, &anywhere)))
    }

    fn of_any_of(&mut self, any_of: &AnyOf) -> Clause {
        let mut alternatives: Vec<Vec<Clause>> =
            any_of.all_of.iter().map(|all_of| self.of_all_of(all_of)).collect();
        alternatives.sort_unstable();
        alternatives.dedup();
        self.number(format!("any{alternatives:?}"))
    }

    fn number(&mut self, text: String) -> Clause {
        let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        *self.numbers.entry(text).or_insert(next)
    }
}

/// Whether every clause of `few` is in `many`; both sorted.
pub(super) fn is_subset(few: &[Clause], many: &[Clause]) -> bool {
    few.iter().all(|clause| many.binary_search(clause).is_ok())
}

fn written(write: impl FnOnce(&mut String)) -> String {
    let mut text = String::new();
    write(&mut text);
    text
}

/// A part with its length before it, so that no two different sequences of parts read the same.
fn part(text: &mut String, part: &str) {
    let _ = write!(text, "{}:{part}", part.len());
}

fn write_match(text: &mut String, matching: &Match) {
    text.push_str("match");
    part(text, &matching.function);
    write_value(text, &matching.value);
    match &matching.attribute {
        MatchAttribute::Designator(designator) => write_designator(text, designator),
        MatchAttribute::Selector(selector) => write_selector(text, selector),
    }
}

fn write_value(text: &mut String, value: &AttributeValue) {
    text.push('v');
    part(text, &value.data_type);
    part(text, value.markup.as_deref().unwrap_or(&value.text));
    for attribute in &value.xml_attributes {
        part(text, attribute.namespace.as_deref().unwrap_or_default());
        part(text, &attribute.name);
        part(text, &attribute.value);
    }
    // The namespaces in scope give the prefixes of a path their meaning.
    if value.data_type.ends_with("xpathExpression") {
        let _ = write!(text, "{:?}", value.scope);
    }
}

fn write_designator(text: &mut String, designator: &AttributeDesignator) {
    text.push('d');
    part(text, &designator.category);
    part(text, &designator.id);
    part(text, &designator.data_type);
    write_optional(text, designator.issuer.as_deref());
    text.push(if designator.must_be_present { '!' } else { '?' });
}

fn write_selector(text: &mut String, selector: &AttributeSelector) {
    text.push('s');
    match &selector.over {
        SelectorBase::Content { category, context_selector } => {
            part(text, category);
            write_optional(text, context_selector.as_deref());
        }
        SelectorBase::RequestContext => text.push('r'),
    }
    part(text, &selector.path);
    part(text, &selector.data_type);
    let _ = write!(text, "{}{:?}", selector.must_be_present, selector.scope);
}

fn write_optional(text: &mut String, value: Option<&str>) {
    match value {
        Some(value) => part(text, value),
        None => text.push('-'),
    }
}

fn write_expression(text: &mut String, expression: &Expression) {
    match expression {
        Expression::Apply(apply) => {
            text.push('a');
            part(text, &apply.function);
            let _ = write!(text, "{}(", apply.arguments.len());
            apply.arguments.iter().for_each(|argument| write_expression(text, argument));
        }
        Expression::Value(value) => write_value(text, value),
        Expression::Designator(designator) => write_designator(text, designator),
        Expression::Selector(selector) => write_selector(text, selector),
        Expression::Variable(variable) => {
            text.push('$');
            part(text, &variable.id);
        }
        Expression::Function(function) => {
            text.push('f');
            part(text, &function.id);
        }
    }
}

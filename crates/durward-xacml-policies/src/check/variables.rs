//! Variables that are defined and not used.

use std::collections::{HashMap, HashSet};

use super::expression::visit;
use super::finding::Findings;
use crate::tree::{Expression, Policy};

/// The variables of one policy. One used only by unused ones is unused as well.
pub(super) fn variables(policy: &Policy, findings: &mut Findings) {
    if policy.variables.is_empty() {
        return;
    }
    let definitions: HashMap<&str, &Expression> =
        policy.variables.iter().map(|variable| (variable.id.as_str(), &variable.expression)).collect();
    let mut used: HashSet<&str> = HashSet::new();
    let mut open: Vec<&str> = used_outside(policy).collect();
    while let Some(name) = open.pop() {
        if used.insert(name) {
            open.extend(definitions.get(name).into_iter().flat_map(|expression| names_in(expression)));
        }
    }
    let mentioned: HashSet<&str> = policy.variables.iter().flat_map(|it| names_in(&it.expression)).collect();
    for variable in policy.variables.iter().filter(|variable| !used.contains(variable.id.as_str())) {
        let how = if mentioned.contains(variable.id.as_str()) { " except by unused variables" } else { "" };
        let message = format!("variable `{}` is never used{how}", variable.id);
        findings.warn(
            "unused-variable",
            variable.place,
            message,
            "remove it, or refer to it by `VariableReference`",
        );
    }
}

/// The variables named by conditions, obligations and advice.
fn used_outside(policy: &Policy) -> impl Iterator<Item = &str> {
    let definitions: HashSet<*const Expression> =
        policy.variables.iter().map(|variable| std::ptr::from_ref(&variable.expression)).collect();
    super::expression::of_policy(policy)
        .filter(move |expression| !definitions.contains(&std::ptr::from_ref(*expression)))
        .flat_map(names_in)
}

fn names_in(expression: &Expression) -> Vec<&str> {
    let mut names = Vec::new();
    visit(expression, &mut |part| match part {
        Expression::Variable(reference) => names.push(reference.id.as_str()),
        Expression::Apply(_)
        | Expression::Value(_)
        | Expression::Designator(_)
        | Expression::Selector(_)
        | Expression::Function(_) => {}
    });
    names
}

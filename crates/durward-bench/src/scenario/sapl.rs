//! Policies as documents of SAPL.

use std::fmt::Write;

use super::rules::{RuleAttribute, RuleCategory, RuleDocument, RuleEffect, RuleTest, ScenarioRule};

/// The text of a document.
pub(super) fn text(document: &RuleDocument) -> String {
    let mut text = String::new();
    match document {
        RuleDocument::Policy(rule) => write_rule(&mut text, rule),
        RuleDocument::Set { name, target, rules } => {
            let target = condition(target);
            let _ = write!(text, "set \"{name}\"\nfirst or abstain errors propagate\nfor {target}\n");
            for rule in rules {
                text.push('\n');
                write_rule(&mut text, rule);
            }
        }
    }
    text
}

fn write_rule(text: &mut String, rule: &ScenarioRule) {
    let effect = match rule.effect {
        RuleEffect::Permit => "permit",
        RuleEffect::Deny => "deny",
    };
    // Writing to a string cannot fail.
    let _ = writeln!(text, "policy \"{}\"\n{effect}", rule.name);
    for test in &rule.tests {
        if let RuleTest::IsMemberOf(_) = test {
            text.push_str("    var memberOf = graph.transitiveClosureSet(staffGraph);\n");
        }
        let _ = writeln!(text, "    {};", condition(test));
    }
    if let Some(policy) = &rule.log {
        let _ = writeln!(text, "obligation\n    {{ \"id\": \"log\", \"policy\": \"{policy}\" }}");
    }
}

fn condition(test: &RuleTest) -> String {
    match test {
        RuleTest::IsOneOf(attribute, values) => match values.as_slice() {
            [only] => format!("{} == \"{only}\"", path(attribute)),
            several => format!("{} in [\"{}\"]", path(attribute), several.join("\", \"")),
        },
        RuleTest::HasOneOf(attribute, values) => match values.as_slice() {
            [only] => format!("\"{only}\" in {}", path(attribute)),
            several => format!("[\"{}\"] any in {}", several.join("\", \""), path(attribute)),
        },
        RuleTest::AtLeast(attribute, least) => format!("{} >= {least}", path(attribute)),
        RuleTest::IsWithin(attribute, from, to) => {
            let path = path(attribute);
            format!("{path} >= {from} && {path} < {to}")
        }
        RuleTest::StartsWith(attribute, prefix) => {
            format!("string.startsWith({}, \"{prefix}\")", path(attribute))
        }
        RuleTest::IsAbove(attribute, other) => format!("{} > {}", path(attribute), path(other)),
        RuleTest::IsMemberOf(group) => format!("memberOf[(subject.id)] has \"{group}\""),
    }
}

fn path(attribute: &RuleAttribute) -> String {
    let category = match attribute.category {
        RuleCategory::Subject => "subject",
        RuleCategory::Resource => "resource",
        RuleCategory::Action => "action",
        RuleCategory::Environment => "environment",
    };
    match attribute.key {
        "" => category.to_owned(),
        key => format!("{category}.{key}"),
    }
}

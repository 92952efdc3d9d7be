//! Policies as documents of SAPL.

use std::fmt::Write;

use super::rules::{Attribute, Category, Document, Effect, Rule, Test};

/// The text of a document.
pub(super) fn text(document: &Document) -> String {
    let mut text = String::new();
    match document {
        Document::Policy(rule) => write_rule(&mut text, rule),
        Document::Set { name, target, rules } => {
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

fn write_rule(text: &mut String, rule: &Rule) {
    let effect = match rule.effect {
        Effect::Permit => "permit",
        Effect::Deny => "deny",
    };
    // Writing to a string cannot fail.
    let _ = writeln!(text, "policy \"{}\"\n{effect}", rule.name);
    for test in &rule.tests {
        if let Test::IsMemberOf(_) = test {
            text.push_str("    var memberOf = graph.transitiveClosureSet(staffGraph);\n");
        }
        let _ = writeln!(text, "    {};", condition(test));
    }
    if let Some(policy) = &rule.log {
        let _ = writeln!(text, "obligation\n    {{ \"id\": \"log\", \"policy\": \"{policy}\" }}");
    }
}

fn condition(test: &Test) -> String {
    match test {
        Test::IsOneOf(attribute, values) => match values.as_slice() {
            [only] => format!("{} == \"{only}\"", path(attribute)),
            several => format!("{} in [\"{}\"]", path(attribute), several.join("\", \"")),
        },
        Test::HasOneOf(attribute, values) => match values.as_slice() {
            [only] => format!("\"{only}\" in {}", path(attribute)),
            several => format!("[\"{}\"] any in {}", several.join("\", \""), path(attribute)),
        },
        Test::AtLeast(attribute, least) => format!("{} >= {least}", path(attribute)),
        Test::IsWithin(attribute, from, to) => {
            let path = path(attribute);
            format!("{path} >= {from} && {path} < {to}")
        }
        Test::StartsWith(attribute, prefix) => {
            format!("string.startsWith({}, \"{prefix}\")", path(attribute))
        }
        Test::IsAbove(attribute, other) => format!("{} > {}", path(attribute), path(other)),
        Test::IsMemberOf(group) => format!("memberOf[(subject.id)] has \"{group}\""),
    }
}

fn path(attribute: &Attribute) -> String {
    let category = match attribute.category {
        Category::Subject => "subject",
        Category::Resource => "resource",
        Category::Action => "action",
        Category::Environment => "environment",
    };
    match attribute.key {
        "" => category.to_owned(),
        key => format!("{category}.{key}"),
    }
}

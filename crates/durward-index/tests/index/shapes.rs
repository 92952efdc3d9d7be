//! Programs of a known shape.

use durward_ir::combine::{Algorithm, Effects};
use durward_ir::function::find;
use durward_ir::program::{
    Builder, Effect, Expr, ExprId, Node, NodeId, Program, Rule, Set, SetKind, SourceLocation, Voters,
};
use durward_ir::{AttributeName, DataType, Value};

use crate::generate::{Facts, TestRandom};

/// This many policies, each for one resource, each with a rule that always permits.
pub(crate) fn flat(policies: usize) -> (Program, Facts) {
    let mut builder = Builder::new();
    let always = rule(&mut builder, None);
    let children: Vec<NodeId> = (0..policies)
        .map(|number| {
            let target = for_resource(&mut builder, number);
            set(&mut builder, Algorithm::DenyOverrides, Some(target), vec![always])
        })
        .collect();
    (finish(builder, children), flat_facts(17))
}

/// This many sets of which exactly one child must match, each with two that match always, though the rules in
/// them are for one resource.
pub(crate) fn ambiguous(sets: usize) -> Program {
    let mut builder = Builder::new();
    let children: Vec<NodeId> = (0..sets)
        .map(|number| {
            let target = for_resource(&mut builder, number);
            let rule = rule(&mut builder, Some(target));
            let policy = set(&mut builder, Algorithm::DenyOverrides, None, vec![rule]);
            set(&mut builder, Algorithm::OnlyOneApplicable, None, vec![policy, policy])
        })
        .collect();
    finish(builder, children)
}

/// A question for one of those resources.
pub(crate) fn flat_facts(resource: usize) -> Facts {
    Facts { values: vec![vec![Value::text(format!("resource-{resource}"))]], is_sourced: vec![false] }
}

/// How many kinds of things each of [`departments`] has, and what is done with each.
pub(crate) const KINDS: usize = 5;
pub(crate) const ACTIONS: usize = 3;

/// For every department a rule for each kind of thing and action, and one for whatever there is. Slot 0 holds the kind,
/// slot 1 the action, slot 2 the department.
pub(crate) fn departments(count: usize) -> Program {
    let mut builder = Builder::new();
    let mut children = Vec::new();
    for department in 0..count {
        for (kind, action) in (0..KINDS).flat_map(|kind| (0..ACTIONS).map(move |action| (kind, action))) {
            let parts = [("kind", kind), ("action", action), ("department", department)];
            let parts = parts.map(|(id, number)| test(&mut builder, id, &format!("{id}-{number}")));
            let target = builder.expr(Expr::All(parts.into()));
            children.push(rule(&mut builder, Some(target)));
        }
        let target = test(&mut builder, "department", &format!("department-{department}"));
        children.push(rule(&mut builder, Some(target)));
    }
    finish(builder, children)
}

/// How many attributes scattered rules choose from.
const ATTRIBUTES: usize = 12;

/// This many rules, each testing 2 to 5 attributes out of many for one of 10 values.
pub(crate) fn scattered(rules: usize) -> Program {
    let (mut builder, mut random) = (Builder::new(), TestRandom::new(1));
    let children = (0..rules)
        .map(|_| {
            let mut attributes: Vec<usize> = (0..ATTRIBUTES).collect();
            let tests: Vec<ExprId> = (0..2 + random.below(4))
                .map(|_| {
                    let attribute = attributes.swap_remove(random.below(attributes.len()));
                    test(&mut builder, &format!("a{attribute}"), &format!("v{}", random.below(10)))
                })
                .collect();
            let target = builder.expr(Expr::All(tests.into()));
            rule(&mut builder, Some(target))
        })
        .collect();
    finish(builder, children)
}

/// The first value of each of their attributes.
pub(crate) fn scattered_facts() -> Facts {
    Facts { values: vec![vec![Value::text("v0")]; ATTRIBUTES], is_sourced: vec![false; ATTRIBUTES] }
}

fn for_resource(builder: &mut Builder, number: usize) -> ExprId {
    test(builder, "id", &format!("resource-{number}"))
}

fn test(builder: &mut Builder, attribute: &str, value: &str) -> ExprId {
    let name = AttributeName {
        category: "resource".into(),
        id: attribute.into(),
        data_type: DataType::Text,
        issuer: None,
    };
    let bag = builder.attribute(&name, false);
    let equal =
        find("urn:oasis:names:tc:xacml:1.0:function:string-equal").expect("a function of the standard");
    builder.match_any(equal, Value::text(value), bag)
}

fn rule(builder: &mut Builder, target: Option<ExprId>) -> NodeId {
    builder.node(Node::Rule(Rule {
        id: "rule".into(),
        effect: Effect::Permit,
        target,
        condition: None,
        duties: Vec::new(),
        transform: None,
        gate: None,
        place: SourceLocation::default(),
    }))
}

fn set(builder: &mut Builder, algorithm: Algorithm, target: Option<ExprId>, children: Vec<NodeId>) -> NodeId {
    builder.set(plain_set(SetKind::PolicySet, algorithm, target, children))
}

fn finish(builder: Builder, children: Vec<NodeId>) -> Program {
    builder.finish(plain_set(SetKind::Root, Algorithm::DenyOverrides, None, children))
}

fn plain_set(kind: SetKind, algorithm: Algorithm, target: Option<ExprId>, children: Vec<NodeId>) -> Set {
    Set {
        id: "set".into(),
        version: "1.0".into(),
        kind,
        target,
        algorithm,
        effects: Effects::DENY_OR_PERMIT,
        children,
        voters: Voters::default(),
        duties: Vec::new(),
        place: SourceLocation::default(),
    }
}

/// This many rules, each for levels from one number to another that is ten more, and for paths with a prefix. Slot 0 holds
/// the level, slot 1 the path.
pub(crate) fn ranges(rules: usize, must_be_present: bool) -> Program {
    let mut builder = Builder::new();
    let name = |id: &str, data_type| AttributeName {
        category: "resource".into(),
        id: id.into(),
        data_type,
        issuer: None,
    };
    let (level, path) = (name("level", DataType::Integer), name("path", DataType::Text));
    let (level, path) =
        (builder.attribute(&level, must_be_present), builder.attribute(&path, must_be_present));
    let children = (0..rules)
        .map(|number| {
            let low = Value::integer(number as i64);
            let high = Value::integer(number as i64 + 10);
            let prefix = Value::text(format!("/{}/", number / 10));
            let tests = [
                ("1.0:function:integer-less-than-or-equal", low, level),
                ("1.0:function:integer-greater-than", high, level),
                ("3.0:function:string-starts-with", prefix, path),
            ];
            let tests = tests.map(|(function, literal, bag)| {
                let function = find(&format!("urn:oasis:names:tc:xacml:{function}"));
                let function = function.expect("a function of the standard");
                builder.match_any(function, literal, bag)
            });
            let target = builder.expr(Expr::All(tests.into()));
            rule(&mut builder, Some(target))
        })
        .collect();
    finish(builder, children)
}

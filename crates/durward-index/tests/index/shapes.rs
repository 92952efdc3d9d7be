//! Programs of a known shape.

use durward_ir::combine::Algorithm;
use durward_ir::function::find;
use durward_ir::program::{Builder, Effect, Node, Place, Program, Rule, Set, SetKind};
use durward_ir::{AttributeName, DataType, Value};
use smol_str::format_smolstr;

use crate::generate::Facts;

/// This many policies, each for one resource, each with a rule that always permits.
pub fn flat(policies: usize) -> (Program, Facts) {
    let mut builder = Builder::new();
    let name =
        AttributeName { category: "resource".into(), id: "id".into(), data_type: DataType::Text, issuer: None };
    let resource = builder.attribute(&name, false);
    let equal = find("urn:oasis:names:tc:xacml:1.0:function:string-equal").expect("a function of the standard");
    let rule = builder.node(Node::Rule(Rule {
        id: "rule".into(),
        effect: Effect::Permit,
        target: None,
        condition: None,
        duties: Vec::new(),
        place: Place::default(),
    }));
    let set = |id, kind, target, children| Set {
        id,
        version: "1.0".into(),
        kind,
        target,
        algorithm: Algorithm::DenyOverrides,
        children,
        duties: Vec::new(),
        place: Place::default(),
    };
    let children = (0..policies)
        .map(|number| {
            let literal = Value::text(format!("resource-{number}"));
            let target = builder.match_any(equal, literal, resource);
            let id = format_smolstr!("policy-{number}");
            builder.node(Node::Set(set(id, SetKind::Policy, Some(target), vec![rule])))
        })
        .collect();
    (builder.finish(set("root".into(), SetKind::Root, None, children)), flat_facts(17))
}

/// A question for one of those resources.
pub fn flat_facts(resource: usize) -> Facts {
    Facts { values: vec![vec![Value::text(format!("resource-{resource}"))]], is_sourced: vec![false] }
}

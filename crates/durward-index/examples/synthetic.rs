//! Times decisions over made-up policies: one policy per resource, ten rules each.
//!
//! `cargo run --profile optimised -p durward-index --example synthetic -- 1000`

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a measurement says what it measured, and stops at what it does not expect"
)]

use std::hint::black_box;
use std::time::Instant;

use durward_index::{Index, IndexKind, Settings};
use durward_ir::combine::{Algorithm, Effects};
use durward_ir::evaluate::{Evaluator, ListPolicies, Shortlist, Unwatched};
use durward_ir::function::find;
use durward_ir::program::{
    AssignmentExpr, Builder, DutyBody, DutyExpr, DutyKind, Effect, Expr, ExprId, Node, NodeId, Program, Rule,
    Set, SetKind, SourceLocation, Voters,
};
use durward_ir::question::{NoAttributes, NoContent, Question, UNENCODED};
use durward_ir::{AttributeName, DataType, Operand, Value};
use durward_testdata::TestRandom;
use smol_str::format_smolstr;

const QUESTIONS: usize = 2000;
const RULES: usize = 10;
const ROLES: usize = 50;
const ACTIONS: usize = 6;

fn name(id: &str, data_type: DataType) -> AttributeName {
    AttributeName { category: "category".into(), id: id.into(), data_type, issuer: None }
}

fn standard(id: &str) -> &'static durward_ir::function::Function {
    find(&format!("urn:oasis:names:tc:xacml:1.0:function:{id}")).expect("a function of the standard")
}

fn one_of(builder: &mut Builder, attribute: &str, values: &[String]) -> ExprId {
    let bag = builder.attribute(&name(attribute, DataType::Text), false);
    let tests: Vec<ExprId> = values
        .iter()
        .map(|value| builder.match_any(standard("string-equal"), Value::text(value.as_str()), bag))
        .collect();
    builder.expr(Expr::Any(tests.into()))
}

fn clearance_of_at_least(builder: &mut Builder, least: i64) -> ExprId {
    let bag = builder.attribute(&name("clearance", DataType::Integer), false);
    let only = builder.expr(Expr::Call(standard("integer-one-and-only"), Box::new([bag])));
    let least = builder.expr(Expr::Constant(Operand::one(Value::integer(least))));
    builder.expr(Expr::Call(standard("integer-greater-than-or-equal"), Box::new([only, least])))
}

fn rule(builder: &mut Builder, random: &mut TestRandom) -> NodeId {
    let roles: Vec<String> =
        (0..1 + random.below(3)).map(|_| format!("role-{}", random.below(ROLES))).collect();
    let actions: Vec<String> =
        (0..1 + random.below(2)).map(|_| format!("action-{}", random.below(ACTIONS))).collect();
    let target = [one_of(builder, "role", &roles), one_of(builder, "action", &actions)];
    let target = builder.expr(Expr::All(Box::new(target)));
    let least = random.below(5) as i64;
    let condition = (random.below(4) == 0).then(|| clearance_of_at_least(builder, least));
    builder.node(Node::Rule(Rule {
        id: "rule".into(),
        effect: Effect::Permit,
        target: Some(target),
        condition,
        duties: Vec::new(),
        transform: None,
        gate: None,
        place: SourceLocation::default(),
    }))
}

fn otherwise_deny(builder: &mut Builder) -> NodeId {
    builder.node(Node::Rule(Rule {
        id: "otherwise".into(),
        effect: Effect::Deny,
        target: None,
        condition: None,
        duties: Vec::new(),
        transform: None,
        gate: None,
        place: SourceLocation::default(),
    }))
}

fn log(builder: &mut Builder) -> DutyExpr {
    let value = builder.expr(Expr::Constant(Operand::one(Value::text("audit"))));
    let assignments = vec![AssignmentExpr { id: "to".into(), category: None, issuer: None, value }];
    let body = DutyBody::Named { id: "log".into(), assignments };
    DutyExpr { kind: DutyKind::Obligation, on: Effect::Permit, body }
}

fn program(policies: usize) -> Program {
    let mut builder = Builder::new();
    let mut random = TestRandom::new(1);
    let children = (0..policies)
        .map(|number| {
            let mut rules: Vec<NodeId> = (1..RULES).map(|_| rule(&mut builder, &mut random)).collect();
            rules.push(otherwise_deny(&mut builder));
            let target = one_of(&mut builder, "resource", &[format!("resource-{number}")]);
            let duties = if random.below(4) == 0 { vec![log(&mut builder)] } else { Vec::new() };
            let set = Set {
                id: format_smolstr!("policy-{number}"),
                version: "1.0".into(),
                kind: SetKind::Policy,
                target: Some(target),
                algorithm: Algorithm::FirstApplicable,
                effects: Effects::DENY_OR_PERMIT,
                children: rules,
                voters: Voters::default(),
                duties,
                place: SourceLocation::default(),
            };
            builder.set(set)
        })
        .collect();
    builder.finish(Set {
        id: "root".into(),
        version: "1.0".into(),
        kind: SetKind::Root,
        target: None,
        algorithm: Algorithm::DenyOverrides,
        effects: Effects::DENY_OR_PERMIT,
        children,
        voters: Voters::default(),
        duties: Vec::new(),
        place: SourceLocation::default(),
    })
}

/// The values of each slot, for each question.
fn facts(program: &Program, policies: usize) -> Vec<Vec<Vec<Value>>> {
    let mut random = TestRandom::new(2);
    (0..QUESTIONS)
        .map(|_| {
            let slots = program.slots.names();
            slots
                .map(|(_, name)| match &*name.id {
                    "clearance" => vec![Value::integer(random.below(6) as i64)],
                    "role" => {
                        let count = [1, 1, 2, 5][random.below(4)];
                        (0..count).map(|_| Value::text(format!("role-{}", random.below(ROLES)))).collect()
                    }
                    "action" => vec![Value::text(format!("action-{}", random.below(ACTIONS)))],
                    _ => vec![Value::text(format!("resource-{}", random.below(policies)))],
                })
                .collect()
        })
        .collect()
}

/// Nanoseconds per decision, in the best of some rounds. Attributes are read in the first.
fn time(program: &Program, questions: &[Question<'_>], index: &impl Shortlist, rounds: usize) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..rounds {
        let start = Instant::now();
        for question in questions {
            black_box(Evaluator::new(program, question, index, &Unwatched, ListPolicies::No).decide());
        }
        best = best.min(start.elapsed().as_nanos() as f64 / questions.len() as f64);
    }
    best
}

fn main() {
    let policies = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1000);
    let program = program(policies);
    let facts = facts(&program, policies);
    let questions: Vec<Question<'_>> = facts
        .iter()
        .map(|facts| {
            let slots = &program.slots;
            let mut question = Question::new(slots, &NoAttributes, &NoContent, &[], &UNENCODED);
            slots.names().zip(facts).for_each(|((slot, _), values)| question.supply(slot, values));
            question
        })
        .collect();
    let (_, reason) = Index::choose(&program, &Settings::default(), &|_| false);
    println!("{policies} policies with {RULES} rules each; {reason}");
    for kind in [IndexKind::Scan, IndexKind::Bloom, IndexKind::Canonical, IndexKind::Diagram] {
        let start = Instant::now();
        let index = Index::build(kind, &program, &Settings::default());
        let built = start.elapsed();
        let nanoseconds = match &index {
            Index::Scan(scan) => time(&program, &questions, scan, 5),
            Index::Bloom(bloom) => time(&program, &questions, bloom, 5),
            Index::Canonical(canonical) => time(&program, &questions, canonical, 50),
            Index::Diagram(diagram) => time(&program, &questions, &**diagram, 200),
            Index::Changed(changed) => time(&program, &questions, &**changed, 200),
        };
        println!("{nanoseconds:9.0} ns per decision, built in {built:.1?}: {}", index.describe());
    }
}

//! Times decisions over policies that test random subsets of many attributes, where no order of attributes is good.
//!
//! `cargo run --profile optimised -p durward-index --example scatter -- 10000`

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a measurement says what it measured, and stops at what it does not expect"
)]

use std::hint::black_box;
use std::time::Instant;

use durward_index::{Index, IndexKind, Settings};
use durward_ir::combine::{Algorithm, Effects, Flow};
use durward_ir::evaluate::{Evaluator, ListPolicies, Shortlist, Unwatched};
use durward_ir::function::find;
use durward_ir::program::{
    Builder, Effect, Expr, ExprId, Node, NodeId, Program, Rule, Set, SetKind, SourceLocation, Voters,
};
use durward_ir::question::{NoAttributes, NoContent, Question, UNENCODED};
use durward_ir::{AttributeName, DataType, Value};
use durward_testdata::TestRandom;
use smol_str::format_smolstr;

const QUESTIONS: usize = 1000;
const ATTRIBUTES: usize = 12;

/// Of more policies only the indexes are timed that do not look at each of them.
const SLOW_MAX: usize = 20_000;
const VALUES: usize = 10;

fn test(builder: &mut Builder, attribute: usize, value: usize) -> ExprId {
    let equal = find("urn:oasis:names:tc:xacml:1.0:function:string-equal").expect("a standard function");
    let id = format_smolstr!("a{attribute}");
    let name = AttributeName { category: "category".into(), id, data_type: DataType::Text, issuer: None };
    let bag = builder.attribute(&name, false);
    builder.match_any(equal, Value::text(format!("v{value}")), bag)
}

/// A rule that tests 2 to 5 attributes.
fn rule(builder: &mut Builder, random: &mut TestRandom) -> NodeId {
    let mut attributes: Vec<usize> = (0..ATTRIBUTES).collect();
    let tests: Vec<ExprId> = (0..2 + random.below(4))
        .map(|_| {
            let attribute = attributes.swap_remove(random.below(attributes.len()));
            test(builder, attribute, random.below(VALUES))
        })
        .collect();
    let target = Some(builder.expr(Expr::All(tests.into())));
    // All permit, and deny overrides: whoever is left has to be asked.
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

fn program(policies: usize) -> Program {
    let (mut builder, mut random) = (Builder::new(), TestRandom::new(1));
    let children = (0..policies).map(|_| rule(&mut builder, &mut random)).collect();
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

/// Nanoseconds to find who is left, and how many that are on the average.
fn time_alone(program: &Program, questions: &[Question<'_>], index: &impl Shortlist) -> (f64, f64) {
    let (mut best, mut left) = (f64::MAX, 0);
    let Node::Set(root) = program.node(program.root()) else { return (0.0, 0.0) };
    for _ in 0..20 {
        left = 0;
        let start = Instant::now();
        for question in questions {
            index.children(program.root(), root, question, ListPolicies::No, |child, _| {
                left += black_box(child.0).min(1);
                Flow::Continue
            });
        }
        best = best.min(start.elapsed().as_nanos() as f64 / questions.len() as f64);
    }
    (best, f64::from(left) / questions.len() as f64)
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
    let policies = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10_000);
    let program = program(policies);
    let mut random = TestRandom::new(2);
    let slots = &program.slots;
    let facts: Vec<Vec<[Value; 1]>> = (0..QUESTIONS)
        .map(|_| slots.names().map(|_| [Value::text(format!("v{}", random.below(VALUES)))]).collect())
        .collect();
    let questions: Vec<Question<'_>> = facts
        .iter()
        .map(|facts| {
            let mut question = Question::new(slots, &NoAttributes, &NoContent, &[], &UNENCODED);
            slots.names().zip(facts).for_each(|((slot, _), values)| question.supply(slot, values));
            question
        })
        .collect();
    let (_, reason) = Index::choose(&program, &Settings::default(), &|_| false);
    println!("{policies} policies; {reason}");
    let kinds = IndexKind::ALL
        .into_iter()
        .filter(|kind| policies <= SLOW_MAX || !matches!(kind, IndexKind::Scan | IndexKind::Bloom));
    for kind in kinds {
        let start = Instant::now();
        let index = Index::build(kind, &program, &Settings::default());
        let built = start.elapsed();
        let (alone, left) = time_alone(&program, &questions, &index);
        let nanoseconds = match &index {
            Index::Scan(scan) => time(&program, &questions, scan, 1),
            Index::Bloom(bloom) => time(&program, &questions, bloom, 1),
            Index::Canonical(canonical) => time(&program, &questions, canonical, 20),
            Index::Diagram(diagram) => time(&program, &questions, &**diagram, 20),
            Index::Changed(changed) => time(&program, &questions, &**changed, 20),
        };
        println!(
            "{nanoseconds:9.0} ns per decision, {alone:.0} of them to find {left:.1} policies, built in {built:.1?}: {}",
            index.describe()
        );
    }
}

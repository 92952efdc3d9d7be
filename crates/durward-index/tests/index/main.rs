//! Every index must answer exactly what the plain evaluator answers.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "a test stops at what it does not expect"
)]

mod broken;
mod chosen;
mod generate;
mod ranges;
mod shapes;

use durward_index::{Counting, Index, IndexKind, Settings, Statistics};
use durward_ir::Value;
use durward_ir::evaluate::{Evaluator, Everything, ListPolicies, Shortlist, TargetMatch, Unwatched};
use durward_ir::program::{Expr, ExprId, Node, NodeId, Program, SlotId};
use durward_ir::question::Question;
use generate::{Facts, Generator, Shape, TestRandom};

/// Another seed, or how many programs, can be given in the environment: `INDEX_SEED=7 INDEX_PROGRAMS=100000`.
const SEED: u64 = 0x5eed;
const PROGRAMS: u64 = 2000;
const QUESTIONS: usize = 12;

/// All there is to an answer, as text: the vote with its duties and fault, the policies that applied; and apart
/// from it the slots a source must be asked for.
fn answer<S: Shortlist>(
    program: &Program,
    question: &Question<'_>,
    shortlist: &S,
    list: ListPolicies,
) -> (String, Vec<SlotId>) {
    let evaluator = Evaluator::new(program, question, shortlist, &Unwatched, list);
    let vote = evaluator.decide();
    let applicable = evaluator.into_applicable();
    (format!("{vote:?} {applicable:?}"), question.needs())
}

/// The plain evaluator's answer after as many rounds of asking as it takes.
fn truth(program: &Program, facts: &Facts, list: ListPolicies) -> String {
    let mut asked = Vec::new();
    loop {
        let (text, needs) = answer(program, &facts.question(program, &asked), &Everything, list);
        if needs.is_empty() {
            return text;
        }
        asked.extend(needs);
    }
}

/// What is wrong with the answers of an index, if anything, whether or not policies are listed.
fn disagreement(program: &Program, facts: &Facts, index: &impl Shortlist) -> Option<String> {
    [ListPolicies::Yes, ListPolicies::No].into_iter().find_map(|list| {
        disagreement_when(program, facts, index, list)
            .map(|what| format!("listing policies: {list:?}, {what}"))
    })
}

fn disagreement_when(
    program: &Program,
    facts: &Facts,
    index: &impl Shortlist,
    list: ListPolicies,
) -> Option<String> {
    let mut asked = Vec::new();
    loop {
        let (found, needs) = answer(program, &facts.question(program, &asked), index, list);
        if needs.is_empty() {
            let truth = truth(program, facts, list);
            return (found != truth)
                .then(|| format!("the plain evaluator says\n  {truth}\nand the index\n  {found}"));
        }
        // Knowing the same, the index has nothing asked for that the plain evaluator has not.
        let (_, plain_needs) = answer(program, &facts.question(program, &asked), &Everything, list);
        if let Some(slot) = needs.iter().find(|slot| !plain_needs.contains(slot)) {
            return Some(format!(
                "the index has a source asked for slot {}, the plain evaluator not",
                slot.0
            ));
        }
        asked.extend(needs);
    }
}

fn random_settings(random: &mut TestRandom) -> Settings {
    let defaults = Settings::default();
    Settings {
        bloom_bits: *random.one_of(&[64, 128, 512]),
        bloom_hashes: *random.one_of(&[0, 1, 4, 100]),
        counting: if random.percent(50) { Counting::On } else { Counting::Off },
        canonical_ways_max: *random.one_of(&[0, 1, 2, defaults.canonical_ways_max]),
        canonical_conjunctions_max: *random.one_of(&[0, 5, defaults.canonical_conjunctions_max]),
        diagram_nodes_max: *random.one_of(&[0, 1, 5, defaults.diagram_nodes_max, defaults.diagram_nodes_max]),
        diagram_entries_max: *random.one_of(&[0, 7, 50, defaults.diagram_entries_max]),
        necessary_atoms_max: *random.one_of(&[0, 1, 3, defaults.necessary_atoms_max]),
    }
}

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn every_index_answers_as_the_plain_evaluator() {
    compare_all(from_environment("INDEX_PROGRAMS", PROGRAMS), Shape::random);
}

/// Where a diagram gives up dividing.
#[test]
fn every_index_answers_so_over_policies_that_test_random_subsets_of_attributes() {
    compare_all(from_environment("INDEX_PROGRAMS", PROGRAMS) / 100, Shape::scattered);
}

#[expect(clippy::panic, reason = "a test says what it found")]
fn compare_all(programs: u64, shape: fn(&mut TestRandom) -> Shape) {
    let seed = from_environment("INDEX_SEED", SEED);
    for number in 0..programs {
        let mut random = TestRandom::new(seed.wrapping_add(number.wrapping_mul(0x1_0000_0001)));
        let shape = shape(&mut random);
        let program = Generator::new(&mut random, shape.clone()).program();
        let settings = random_settings(&mut random);
        // What an index was told of sources must not matter.
        let told: Vec<bool> = (0..shape.attributes).map(|_| random.percent(50)).collect();
        let is_sourced = |slot: SlotId| told[slot.0 as usize];
        let indexes = IndexKind::ALL
            .map(|kind| (kind, Index::build_with_sources(kind, &program, &settings, &is_sourced)));
        for _ in 0..QUESTIONS {
            let facts = Facts::random(&mut random, &shape);
            for (kind, index) in &indexes {
                if let Some(what) = disagreement(&program, &facts, index) {
                    let facts = simplify(&program, facts, index);
                    let what = disagreement(&program, &facts, index).unwrap_or(what);
                    panic!(
                        "seed {seed}, program {number}, index `{kind}`, {settings:?}:\n{what}\n{}\n{facts:?}",
                        describe(&program)
                    );
                }
            }
        }
    }
    let (questions, indexes) = (programs * QUESTIONS as u64, IndexKind::ALL.len());
    println!("random programs: {programs} sets {questions} questions, {indexes} indexes");
}

/// Only-one-applicable looks at targets alone: its error must not be lost above it either.
#[test]
fn two_matching_targets_are_an_error_even_if_neither_child_applies() {
    let program = shapes::ambiguous(50);
    for resource in [3, 17, 99] {
        let facts = shapes::flat_facts(resource);
        for kind in IndexKind::ALL {
            let index = Index::build(kind, &program, &Settings::default());
            assert_eq!(disagreement(&program, &facts, &index), None, "index `{kind}`");
        }
    }
}

/// Departments of the same kind are told apart last: then all share the nodes before.
#[test]
fn diagrams_do_not_grow_by_nodes_where_policies_differ_in_one_attribute_alone() {
    let node_count = |program: &Program| {
        let index = Index::build(IndexKind::Diagram, program, &Settings::default());
        let Statistics::Diagram(statistics) = index.statistics() else { panic!("not a diagram") };
        statistics.nodes
    };
    assert_eq!(node_count(&shapes::departments(20)), node_count(&shapes::departments(60)));
}

#[test]
fn diagrams_that_keep_an_attribute_back_answer_as_evaluating_does() {
    let program = shapes::departments(20);
    let index = Index::build(IndexKind::Diagram, &program, &Settings::default());
    let mut random = TestRandom::new(SEED);
    for _ in 0..500 {
        let slots = [("kind", shapes::KINDS), ("action", shapes::ACTIONS), ("department", 20)];
        let values = slots.map(|(id, count)| {
            let held = *random.one_of(&[0, 1, 1, 1, 2]);
            let value = |_| Value::text(format!("{id}-{}", random.below(count + 1)));
            (0..held).map(value).collect::<Vec<Value>>()
        });
        let is_sourced = slots.iter().map(|_| random.percent(20)).collect();
        let facts = Facts { values: values.into(), is_sourced };
        assert_eq!(disagreement(&program, &facts, &index), None, "{facts:?}");
    }
}

/// A diagram of such policies copies them over and over; a sieve holds each of them once, and leaves as few.
#[test]
fn policies_that_cannot_be_divided_are_sifted() {
    let program = shapes::scattered(3000);
    let facts = shapes::scattered_facts();
    for kind in [IndexKind::Canonical, IndexKind::Diagram] {
        let index = Index::build(kind, &program, &Settings::default());
        assert_eq!(disagreement(&program, &facts, &index), None, "index `{kind}`");
        let question = facts.question(&program, &[]);
        let Node::Set(root) = program.node(program.root()) else { panic!("not a set") };
        let mut shown = Vec::new();
        index.children(program.root(), root, &question, ListPolicies::No, |child, known| {
            shown.push((child, known));
            durward_ir::combine::Flow::Continue
        });
        let matching: Vec<_> = root
            .children
            .iter()
            .copied()
            .filter(|child| index.target(*child, &question) == TargetMatch::Match)
            .collect();
        assert!(
            !matching.is_empty()
                && shown == matching.iter().map(|child| (*child, TargetMatch::Match)).collect::<Vec<_>>()
        );
        let bytes = match index.statistics() {
            Statistics::Canonical(canonical) => canonical.bytes,
            Statistics::Diagram(diagram) => diagram.bytes,
            Statistics::Scan | Statistics::Bloom(_) => panic!("not built"),
        };
        assert!(bytes < 300 * 3000, "{}", index.describe());
    }
}

/// The index leaves things out at all, or the test above would say nothing.
#[test]
fn diagrams_save_most_evaluations_of_targets() {
    let (program, facts) = shapes::flat(200);
    let settings = Settings { counting: Counting::On, ..Settings::default() };
    let index = Index::build(IndexKind::Diagram, &program, &settings);
    let Index::Diagram(diagram) = &index else { panic!("not a diagram") };
    let question = facts.question(&program, &[]);
    let Node::Set(root) = program.node(program.root()) else { panic!("not a set") };
    let mut shown = 0;
    diagram.children(program.root(), root, &question, ListPolicies::No, |_, _| {
        shown += 1;
        durward_ir::combine::Flow::Continue
    });
    assert_eq!(shown, 1, "{}", index.describe());
}

#[test]
fn bloom_filters_are_mistaken_about_as_often_as_computed() {
    let (program, _) = shapes::flat(2000);
    let settings =
        Settings { bloom_bits: 64, bloom_hashes: 2, counting: Counting::On, ..Settings::default() };
    let index = Index::build(IndexKind::Bloom, &program, &settings);
    for resource in 0..50 {
        let facts = shapes::flat_facts(resource);
        answer(&program, &facts.question(&program, &[]), &index, ListPolicies::No);
    }
    let Statistics::Bloom(statistics) = index.statistics() else { panic!("not bloom") };
    let measured = statistics.false_positive_rate().expect("targets were tested");
    let expected = statistics.false_positive_rate_expected;
    assert!(measured > expected / 2.0 && measured < expected * 2.0, "{}", index.describe());
}

#[test]
fn names_of_indexes_can_be_read_and_written() {
    for kind in IndexKind::ALL {
        assert_eq!(kind.to_string().parse(), Ok(kind));
    }
    let error = "tree".parse::<IndexKind>().expect_err("not an index").to_string();
    assert_eq!(error, "`tree` is not an index; there are `scan`, `bloom`, `canonical`, `diagram` and `auto`");
}

/// Forgets what the slots hold, as far as the answers still differ.
fn simplify(program: &Program, mut facts: Facts, index: &Index) -> Facts {
    for at in 0..facts.values.len() {
        let mut simpler = facts.clone();
        simpler.is_sourced[at] = false;
        if disagreement(program, &simpler, index).is_some() {
            facts = simpler;
        }
        let mut left = 0;
        while left < facts.values[at].len() {
            let mut simpler = facts.clone();
            simpler.values[at].remove(left);
            if disagreement(program, &simpler, index).is_some() {
                facts = simpler;
            } else {
                left += 1;
            }
        }
    }
    facts
}

fn describe(program: &Program) -> String {
    let mut text = String::new();
    describe_node(program, program.root(), 0, &mut text);
    text
}

fn describe_node(program: &Program, id: NodeId, level: usize, text: &mut String) {
    let node = program.node(id);
    let target = node.target().map(|target| formula(program, target)).unwrap_or_default();
    let indent = "  ".repeat(level);
    match node {
        Node::Rule(rule) => {
            let condition = rule.condition.map(|condition| formula(program, condition)).unwrap_or_default();
            *text += &format!(
                "{indent}{id:?} {} {:?} [{target}] if [{condition}] +{}\n",
                rule.id,
                rule.effect,
                rule.duties.len()
            );
        }
        Node::Set(set) => {
            let (algorithm, duties) = (set.algorithm, set.duties.len());
            *text += &format!("{indent}{id:?} {} {algorithm:?} [{target}] +{duties}\n", set.id);
            set.children.iter().for_each(|child| describe_node(program, *child, level + 1, text));
        }
    }
}

fn formula(program: &Program, id: ExprId) -> String {
    let list = |parts: &[ExprId], between: &str| {
        let parts: Vec<String> = parts.iter().map(|part| formula(program, *part)).collect();
        format!("({})", parts.join(between))
    };
    match program.expr(id) {
        Expr::All(parts) => list(parts, " & "),
        Expr::Any(parts) => list(parts, " | "),
        Expr::Match(matching) => {
            let is_atom = if matching.atom.is_some() { "" } else { "~" };
            format!("{}={is_atom}{}", formula(program, matching.bag), matching.literal.lexical())
        }
        Expr::Attribute { slot, must_be_present } => {
            format!("a{}{}", slot.0, if *must_be_present { "!" } else { "" })
        }
        Expr::Call(function, parts) => format!("{}{}", function.short_name(), list(parts, ", ")),
        Expr::Lazy(lazy, parts) => format!("{lazy:?}{}", list(parts, ", ")),
        other => format!("{other:?}"),
    }
}

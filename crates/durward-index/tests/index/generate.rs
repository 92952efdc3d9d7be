//! TestRandom programs and questions, from a seed. Uses `durward-ir` alone, so that other crates can include this file.

use durward_ir::combine::{Algorithm, Effects, ErrorHandling, Mode, Voting};
use durward_ir::function::{Function, Lazy, find};
use durward_ir::program::{
    AssignmentExpr, Builder, DutyBody, DutyExpr, DutyKind, Effect, Expr, ExprId, Node, NodeId, Program, Rule,
    Set, SetKind, SlotId, SourceLocation, Voters,
};
use durward_ir::question::{NoAttributes, NoContent, Question, UNENCODED};
use durward_ir::{AttributeName, DataType, Operand, Value};
pub(crate) use durward_testdata::TestRandom;
use smol_str::format_smolstr;
use std::borrow::Cow;

/// How a random program looks; itself random.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) attributes: usize,
    /// How many values of each attribute policies name.
    pub(crate) values: usize,
    pub(crate) depth: usize,
    pub(crate) children: usize,
    /// In percent: how often a Match demands presence, a part is no comparison, a formula is of odd form, a rule
    /// has a condition, an element has duties, an existing element is used again.
    pub(crate) must: usize,
    pub(crate) others: usize,
    pub(crate) odd: usize,
    pub(crate) conditions: usize,
    pub(crate) duties: usize,
    pub(crate) shared: usize,
    /// In percent: how often a rule has no target, a set has none, a target is one clause over one attribute.
    pub(crate) open: usize,
    pub(crate) open_sets: usize,
    pub(crate) narrow: usize,
    /// Whether to mix all algorithms.
    pub(crate) algorithm: Option<Algorithm>,
}

const ALGORITHMS: [Algorithm; 11] = [
    Algorithm::DenyOverrides,
    Algorithm::PermitOverrides,
    Algorithm::DenyUnlessPermit,
    Algorithm::PermitUnlessDeny,
    Algorithm::FirstApplicable,
    Algorithm::OnlyOneApplicable,
    Algorithm::LegacyRuleDenyOverrides,
    Algorithm::LegacyPolicyDenyOverrides,
    Algorithm::LegacyRulePermitOverrides,
    Algorithm::LegacyPolicyPermitOverrides,
    Algorithm::OnPermitApplySecond,
];

fn algorithm(random: &mut TestRandom) -> Algorithm {
    if random.percent(30) { Algorithm::Voting(voting(random)) } else { *random.one_of(&ALGORITHMS) }
}

fn voting(random: &mut TestRandom) -> Voting {
    let effects = [Effect::Deny, Effect::Permit, Effect::Suspend];
    let modes = [Mode::First, Mode::Unanimous, Mode::UnanimousStrict, Mode::Unique];
    let priority = Mode::Priority(*random.one_of(&effects));
    Voting {
        mode: if random.percent(50) { priority } else { *random.one_of(&modes) },
        default: random.percent(40).then(|| *random.one_of(&effects)),
        errors: *random.one_of(&[ErrorHandling::Abstain, ErrorHandling::Propagate, ErrorHandling::Propagate]),
    }
}

impl Shape {
    pub(crate) fn random(random: &mut TestRandom) -> Shape {
        match random.below(100) {
            0..50 => Shape::nested(random),
            50..99 => Shape::any(random),
            _ => Shape::scattered(random),
        }
    }

    /// Many children that test random subsets of many attributes: what no order of attributes divides.
    pub(crate) fn scattered(random: &mut TestRandom) -> Shape {
        let algorithms = [
            Algorithm::DenyOverrides,
            Algorithm::PermitOverrides,
            Algorithm::FirstApplicable,
            Algorithm::OnlyOneApplicable,
            Algorithm::DenyUnlessPermit,
        ];
        let algorithm =
            if random.percent(30) { Algorithm::Voting(voting(random)) } else { *random.one_of(&algorithms) };
        Shape {
            attributes: 5 + random.below(8),
            values: *random.one_of(&[1, 3, 10, 200]),
            depth: 1,
            children: *random.one_of(&[70, 70, 100, 150, 600]),
            must: *random.one_of(&[0, 0, 10, 40]),
            others: *random.one_of(&[0, 0, 5]),
            odd: *random.one_of(&[0, 0, 20]),
            conditions: *random.one_of(&[0, 20]),
            duties: *random.one_of(&[0, 15]),
            shared: *random.one_of(&[0, 0, 10]),
            open: *random.one_of(&[0, 1]),
            open_sets: *random.one_of(&[0, 20]),
            narrow: 0,
            algorithm: Some(algorithm),
        }
    }

    /// First-applicable sets within each other, with little else, few values and so many near misses.
    fn nested(random: &mut TestRandom) -> Shape {
        let algorithms = [
            Algorithm::FirstApplicable,
            Algorithm::FirstApplicable,
            Algorithm::DenyOverrides,
            Algorithm::PermitOverrides,
        ];
        let algorithm = *random.one_of(&algorithms);
        let wide = random.percent(20);
        Shape {
            attributes: 1 + random.below(if wide { 4 } else { 3 }),
            values: if wide { 12 } else { 1 + random.below(3) },
            depth: if wide { 3 } else { 2 + random.below(4) },
            children: if wide {
                15
            } else if algorithm == Algorithm::FirstApplicable {
                1 + random.below(4)
            } else {
                1 + random.below(2)
            },
            must: *random.one_of(&[0, 30]),
            others: 0,
            odd: 0,
            conditions: *random.one_of(&[0, 20]),
            duties: *random.one_of(&[0, 10]),
            shared: *random.one_of(&[0, 0, 20]),
            open: *random.one_of(&[0, 20]),
            open_sets: *random.one_of(&[0, 10, 50, 90]),
            narrow: *random.one_of(&[50, 100]),
            algorithm: Some(algorithm),
        }
    }

    fn any(random: &mut TestRandom) -> Shape {
        let wide = random.percent(25);
        Shape {
            attributes: 1 + random.below(5),
            values: *random.one_of(&[1, 2, 3, 5, 8, if wide { 60 } else { 4 }]),
            depth: 1 + random.below(if wide { 2 } else { 4 }),
            children: if wide { 20 + random.below(60) } else { 1 + random.below(9) },
            must: *random.one_of(&[0, 10, 40]),
            others: *random.one_of(&[0, 0, 10, 40]),
            odd: *random.one_of(&[0, 10, 50]),
            conditions: *random.one_of(&[0, 20, 60]),
            duties: *random.one_of(&[0, 15, 50]),
            shared: *random.one_of(&[0, 10, 30]),
            open: *random.one_of(&[0, 10, 50]),
            open_sets: *random.one_of(&[0, 30, 80]),
            narrow: *random.one_of(&[0, 20, 100]),
            algorithm: match random.below(10) {
                0..5 => None,
                5 => Some(Algorithm::OnlyOneApplicable),
                6 => Some(Algorithm::Voting(voting(random))),
                _ => Some(algorithm(random)),
            },
        }
    }
}

/// The type of an attribute's values; that of the fifth has no atoms.
fn type_of(attribute: usize) -> DataType {
    match attribute {
        0..=2 => DataType::Text,
        3 => DataType::Integer,
        4 => DataType::Double,
        _ => DataType::Text,
    }
}

fn value(attribute: usize, number: usize) -> Value {
    match type_of(attribute) {
        DataType::Integer => Value::integer(number as i64),
        DataType::Double => Value::Double(number as f64),
        _ => Value::text(format!("v{number}")),
    }
}

fn name(attribute: usize) -> AttributeName {
    AttributeName {
        category: "subject".into(),
        id: format_smolstr!("a{attribute}"),
        data_type: type_of(attribute),
        issuer: None,
    }
}

fn function(id: &str) -> &'static Function {
    find(&format!("urn:oasis:names:tc:xacml:1.0:function:{id}")).expect("a function of the standard")
}

fn equality(attribute: usize) -> &'static Function {
    function(&format!("{}-equal", type_of(attribute).short_name()))
}

/// Makes a program.
pub(crate) struct Generator<'r> {
    pub(crate) random: &'r mut TestRandom,
    pub(crate) shape: Shape,
    builder: Builder,
    made: Vec<NodeId>,
    /// By element.
    effects: Vec<Effects>,
    count: usize,
}

impl<'r> Generator<'r> {
    pub(crate) fn new(random: &'r mut TestRandom, shape: Shape) -> Generator<'r> {
        Generator { random, shape, builder: Builder::new(), made: Vec::new(), effects: Vec::new(), count: 0 }
    }

    pub(crate) fn program(mut self) -> Program {
        for attribute in 0..self.shape.attributes {
            self.builder.attribute(&name(attribute), false);
        }
        let root = self.set(self.shape.depth, SetKind::Root);
        self.builder.finish(root)
    }

    fn constant(&mut self, value: Value) -> ExprId {
        self.builder.expr(Expr::Constant(Operand::One(Cow::Owned(value))))
    }

    fn attribute(&mut self) -> (usize, ExprId) {
        let attribute = self.random.below(self.shape.attributes);
        let must = self.random.percent(self.shape.must);
        (attribute, self.builder.attribute(&name(attribute), must))
    }

    /// Values at the lower end are more frequent.
    fn literal(&mut self, attribute: usize) -> Value {
        let bound = 1 + self.random.below(self.shape.values);
        value(attribute, self.random.below(bound))
    }

    /// A comparison, or something no index understands.
    fn matching(&mut self) -> ExprId {
        if self.random.percent(self.shape.others) {
            return self.other(2);
        }
        let (attribute, bag) = self.attribute();
        let literal = self.literal(attribute);
        self.builder.match_any(equality(attribute), literal, bag)
    }

    /// True, False or an error, without comparison of a slot.
    fn other(&mut self, levels: usize) -> ExprId {
        match self.random.below(if levels == 0 { 4 } else { 6 }) {
            0 => {
                let truth = self.random.percent(50);
                self.constant(Value::Boolean(truth))
            }
            1 => {
                // An error unless the bag holds just one value.
                let (attribute, bag) = self.attribute();
                let type_name = type_of(attribute).short_name();
                let only = self
                    .builder
                    .expr(Expr::Call(function(&format!("{type_name}-one-and-only")), Box::new([bag])));
                let literal = self.literal(attribute);
                let literal = self.constant(literal);
                self.builder.expr(Expr::Call(equality(attribute), Box::new([only, literal])))
            }
            2 => {
                let (attribute, bag) = self.attribute();
                let literal = self.literal(attribute);
                let literal = self.constant(literal);
                let is_in = function(&format!("{}-is-in", type_of(attribute).short_name()));
                self.builder.expr(Expr::Call(is_in, Box::new([literal, bag])))
            }
            3 => {
                // A Match that is not equality.
                let bag = self.builder.attribute(&name(0), self.shape.must > 0);
                let literal = self.literal(0);
                self.builder.match_any(
                    find("urn:oasis:names:tc:xacml:3.0:function:string-equal-ignore-case")
                        .expect("a function of the standard"),
                    literal,
                    bag,
                )
            }
            4 => {
                let parts = self.parts(levels);
                self.builder.expr(Expr::Lazy(Lazy::And, parts))
            }
            _ => {
                let parts = self.parts(levels);
                self.builder.expr(Expr::Lazy(Lazy::Or, parts))
            }
        }
    }

    fn parts(&mut self, levels: usize) -> Box<[ExprId]> {
        (0..self.random.below(4))
            .map(|_| if self.random.percent(50) { self.matching_plain() } else { self.other(levels - 1) })
            .collect()
    }

    fn matching_plain(&mut self) -> ExprId {
        let (attribute, bag) = self.attribute();
        let literal = self.literal(attribute);
        self.builder.match_any(equality(attribute), literal, bag)
    }

    fn group(&mut self, parts: Vec<ExprId>, make: fn(Box<[ExprId]>) -> Expr) -> ExprId {
        match parts.as_slice() {
            [only] if self.random.percent(80) => *only,
            _ => self.builder.expr(make(parts.into())),
        }
    }

    fn target(&mut self) -> ExprId {
        if self.random.percent(self.shape.odd) {
            return self.odd_formula(3);
        }
        if self.random.percent(self.shape.narrow) {
            return self.values_of_one_attribute();
        }
        let clauses = (0..1 + self.random.below(3)).map(|_| self.any_of()).collect();
        self.group(clauses, Expr::All)
    }

    fn any_of(&mut self) -> ExprId {
        if self.random.percent(60) {
            return self.values_of_one_attribute();
        }
        let alternatives = (0..1 + self.random.below(3)).map(|_| self.all_of()).collect();
        self.group(alternatives, Expr::Any)
    }

    fn values_of_one_attribute(&mut self) -> ExprId {
        let (attribute, bag) = self.attribute();
        let alternatives = (0..1 + self.random.below(3))
            .map(|_| {
                let literal = self.literal(attribute);
                self.builder.match_any(equality(attribute), literal, bag)
            })
            .collect();
        self.group(alternatives, Expr::Any)
    }

    fn all_of(&mut self) -> ExprId {
        let matches = (0..1 + self.random.below(2)).map(|_| self.matching()).collect();
        self.group(matches, Expr::All)
    }

    /// Conjunctions and disjunctions in any order, empty ones included.
    fn odd_formula(&mut self, levels: usize) -> ExprId {
        if levels == 0 || self.random.percent(30) {
            return self.matching();
        }
        let empty = usize::from(!self.random.percent(10));
        let parts: Vec<ExprId> =
            (0..empty + self.random.below(3)).map(|_| self.odd_formula(levels - 1)).collect();
        let make = if self.random.percent(50) { Expr::All } else { Expr::Any };
        self.builder.expr(make(parts.into()))
    }

    fn duties(&mut self) -> Vec<DutyExpr> {
        let mut duties = Vec::new();
        while self.random.percent(self.shape.duties) && duties.len() < 3 {
            let value = if self.random.percent(60) {
                self.constant(Value::integer(self.count as i64))
            } else {
                self.attribute().1
            };
            duties.push(DutyExpr {
                kind: if self.random.percent(60) { DutyKind::Obligation } else { DutyKind::Advice },
                on: self.effect(),
                body: if self.random.percent(80) {
                    let assignment = AssignmentExpr { id: "is".into(), category: None, issuer: None, value };
                    let id = format_smolstr!("duty{}", self.count);
                    DutyBody::Named { id, assignments: vec![assignment] }
                } else {
                    DutyBody::Plain(value)
                },
            });
            self.count += 1;
        }
        duties
    }

    fn effect(&mut self) -> Effect {
        match self.random.below(20) {
            0..9 => Effect::Permit,
            9..18 => Effect::Deny,
            _ => Effect::Suspend,
        }
    }

    fn maybe_target(&mut self, open: usize) -> Option<ExprId> {
        (!self.random.percent(open)).then(|| self.target())
    }

    fn rule(&mut self) -> NodeId {
        self.count += 1;
        let rule = Rule {
            id: format_smolstr!("r{}", self.count),
            effect: self.effect(),
            target: self.maybe_target(self.shape.open),
            condition: self.random.percent(self.shape.conditions).then(|| self.other(2)),
            duties: self.duties(),
            transform: self.random.percent(self.shape.duties / 5).then(|| {
                let number = self.random.below(2) as i64;
                self.constant(Value::integer(number))
            }),
            gate: None,
            place: SourceLocation::default(),
        };
        self.effects.push(Effects::only(rule.effect));
        self.builder.node(Node::Rule(rule))
    }

    fn child(&mut self, depth: usize) -> NodeId {
        if !self.made.is_empty() && self.random.percent(self.shape.shared) {
            return *self.random.one_of(&self.made);
        }
        let id = if depth <= 1 || self.random.percent(40) {
            self.rule()
        } else {
            let kind = if depth == 2 { SetKind::Policy } else { SetKind::PolicySet };
            let set = self.set(depth - 1, kind);
            self.effects.push(set.effects);
            self.builder.set(set)
        };
        self.made.push(id);
        id
    }

    fn set(&mut self, depth: usize, kind: SetKind) -> Set {
        let width = self.shape.children;
        let count = if self.random.percent(4) { 0 } else { 1 + self.random.below(width) };
        let algorithm = match self.shape.algorithm {
            Some(algorithm) if self.random.percent(85) => algorithm,
            _ => algorithm(self.random),
        };
        let count = if algorithm == Algorithm::OnPermitApplySecond { count.min(4) } else { count };
        let children: Vec<NodeId> = (0..count).map(|_| self.child(depth)).collect();
        let parts = children.iter().map(|child| self.effects[child.0 as usize]);
        let effects = parts.fold(Effects::NONE, Effects::union);
        self.count += 1;
        Set {
            id: format_smolstr!("s{}", self.count),
            version: "1.0".into(),
            kind,
            target: if kind == SetKind::Root { None } else { self.maybe_target(self.shape.open_sets) },
            algorithm,
            effects,
            children,
            voters: Voters::default(),
            duties: self.duties(),
            place: SourceLocation::default(),
        }
    }
}

/// What each slot of a question holds, and whether a source is to be asked for it.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) values: Vec<Vec<Value>>,
    pub(crate) is_sourced: Vec<bool>,
}

impl Facts {
    pub(crate) fn random(random: &mut TestRandom, shape: &Shape) -> Facts {
        let sourced = *random.one_of(&[0, 0, 30]);
        let values = (0..shape.attributes).map(|attribute| bag(random, shape, attribute)).collect();
        let is_sourced = (0..shape.attributes).map(|_| random.percent(sourced)).collect();
        Facts { values, is_sourced }
    }

    /// The question once the sources were asked for these slots.
    pub(crate) fn question<'f>(&'f self, program: &'f Program, asked: &[SlotId]) -> Question<'f> {
        let (slots, sourced) = (&program.slots, &self.is_sourced);
        let mut question = Question::new(slots, &NoAttributes, &NoContent, sourced, &UNENCODED);
        for (at, values) in self.values.iter().enumerate() {
            let slot = SlotId(at as u32);
            if asked.contains(&slot) || !sourced[at] {
                question.supply(slot, values);
            }
        }
        question
    }
}

fn bag(random: &mut TestRandom, shape: &Shape, attribute: usize) -> Vec<Value> {
    let count = match random.below(100) {
        0..20 => 0,
        20..75 => 1,
        75..97 => 2 + random.below(3),
        _ => 2 + random.below(40),
    };
    // One in a few is a value that no policy names.
    (0..count).map(|_| value(attribute, random.below(shape.values + 2))).collect()
}

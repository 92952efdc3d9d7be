//! Trees made from a seed: any that a text could give, however odd.

use durward_sapl::syntax::Span;
use durward_sapl::syntax::tree::{
    Algorithm, AttributeCall, Chain, ChainOperator, Comparison, ComparisonOperator, DefaultDecision,
    Document, Effect, Element, Entry, ErrorHandling, Expr, ExprKind, Filter, FilterCall, FilterStatement,
    FunctionCall, FunctionName, Import, Link, Mode, Name, Policy, PolicySet, Root, SchemaStatement,
    Statement, Step, StepKind, Text, UnaryOperator, Variable,
};
use durward_testdata::TestShift;
use smol_str::SmolStr;

/// Documents from a seed.
pub(crate) struct Generator {
    chance: TestShift,
}

const NAMES: [&str; 14] =
    ["a", "b", "subject", "first", "or", "in", "policy", "each", "any", "$x", "e5", "_", "true", "where"];
const KEYS: [&str; 8] = ["a", "in", "", "a b", "\"\\", "\u{202e}\n", "ä😀", "each"];
const NUMBERS: [&str; 7] = ["0", "1", "10", "1.50", "1e3", "2E-3", "0.5e+7"];

impl Generator {
    pub(crate) fn new(seed: u64) -> Generator {
        Generator { chance: TestShift::new(seed) }
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.chance.index(end)
    }

    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(crate) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn some<T>(&mut self, least: usize, most: usize, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = least + self.below(most - least + 1);
        (0..count).map(|_| one(self)).collect()
    }

    fn maybe<T>(&mut self, one: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.one_in(2).then(|| one(self))
    }

    fn word(&mut self) -> SmolStr {
        self.of(&NAMES).into()
    }

    fn key(&mut self) -> SmolStr {
        self.of(&KEYS).into()
    }

    fn name(&mut self) -> Name {
        Name { span: Span::default(), text: self.word() }
    }

    fn text(&mut self) -> Text {
        Text { span: Span::default(), text: self.key() }
    }

    fn function_name(&mut self) -> FunctionName {
        FunctionName { span: Span::default(), segments: self.some(1, 3, Self::name) }
    }

    pub(crate) fn document(&mut self, depth: usize) -> Document {
        Document {
            span: Span::default(),
            imports: self.some(0, 2, Self::import),
            schemas: self.some(0, 2, |this| SchemaStatement {
                span: Span::default(),
                element: this.of(&[
                    Element::Subject,
                    Element::Action,
                    Element::Resource,
                    Element::Environment,
                ]),
                enforced: this.one_in(2),
                schema: this.expr(depth),
            }),
            root: Some(if self.one_in(3) {
                Root::Set(self.set(depth))
            } else {
                Root::Policy(self.policy(depth))
            }),
        }
    }

    fn import(&mut self) -> Import {
        Import {
            span: Span::default(),
            library: self.some(1, 2, Self::name),
            function: self.name(),
            alias: self.maybe(Self::name),
        }
    }

    fn set(&mut self, depth: usize) -> PolicySet {
        let modes = [
            Mode::First,
            Mode::PriorityDeny,
            Mode::PriorityPermit,
            Mode::PrioritySuspend,
            Mode::Unanimous,
            Mode::UnanimousStrict,
            Mode::Unique,
        ];
        let defaults = [
            DefaultDecision::Deny,
            DefaultDecision::Abstain,
            DefaultDecision::Permit,
            DefaultDecision::Suspend,
        ];
        PolicySet {
            span: Span::default(),
            name: self.text(),
            algorithm: Algorithm {
                span: Span::default(),
                mode: self.of(&modes),
                default: self.of(&defaults),
                errors: self.of(&[None, Some(ErrorHandling::Abstain), Some(ErrorHandling::Propagate)]),
            },
            target: self.maybe(|this| this.expr(depth)),
            variables: self.some(0, 2, |this| this.variable(depth)),
            policies: self.some(1, 2, |this| this.policy(depth)),
        }
    }

    fn policy(&mut self, depth: usize) -> Policy {
        Policy {
            span: Span::default(),
            name: self.text(),
            effect: self.of(&[Effect::Permit, Effect::Deny, Effect::Suspend]),
            body: self.some(0, 3, |this| {
                if this.one_in(3) {
                    Statement::Variable(this.variable(depth))
                } else {
                    Statement::Condition(this.expr(depth))
                }
            }),
            obligations: self.some(0, 2, |this| this.expr(depth)),
            advice: self.some(0, 1, |this| this.expr(depth)),
            transform: self.maybe(|this| this.expr(depth)),
        }
    }

    fn variable(&mut self, depth: usize) -> Variable {
        let mut name = self.name();
        if name.text == "subject" {
            name.text = "x".into();
        }
        let value = self.expr(depth);
        Variable { span: Span::default(), name, value, schemas: self.some(0, 2, |this| this.expr(depth)) }
    }

    pub(crate) fn expr(&mut self, depth: usize) -> Expr {
        let kind = if depth == 0 { self.leaf() } else { self.branch(depth - 1) };
        Expr { span: Span::default(), kind }
    }

    fn leaf(&mut self) -> ExprKind {
        match self.below(10) {
            0 => ExprKind::Null,
            1 => ExprKind::Undefined,
            2 => ExprKind::Boolean(self.one_in(2)),
            3 => ExprKind::Number(self.of(&NUMBERS).into()),
            4 => ExprKind::Text(self.key()),
            5 => ExprKind::RelativeValue,
            6 => ExprKind::RelativeLocation,
            7 => ExprKind::Array(Vec::new()),
            8 => ExprKind::Object(Vec::new()),
            _ => ExprKind::Identifier(self.word()),
        }
    }

    fn branch(&mut self, depth: usize) -> ExprKind {
        match self.below(11) {
            0 => self.leaf(),
            1 => ExprKind::Array(self.some(0, 3, |this| this.expr(depth))),
            2 => ExprKind::Object(self.some(0, 2, |this| Entry {
                span: Span::default(),
                key: this.key(),
                key_span: Span::default(),
                value: this.expr(depth),
            })),
            3 => {
                let name = self.function_name();
                ExprKind::Call(FunctionCall { name, arguments: self.some(0, 2, |this| this.expr(depth)) })
            }
            4 => ExprKind::Attribute(Box::new(self.attribute(depth))),
            5 => self.stepped(depth),
            6 => ExprKind::Unary {
                operator: self.of(&[UnaryOperator::Not, UnaryOperator::Minus, UnaryOperator::Plus]),
                operator_span: Span::default(),
                operand: Box::new(self.expr(depth)),
            },
            7 => ExprKind::Comparison(Box::new(self.comparison(depth))),
            8 => ExprKind::Chain(Box::new(self.chain(depth))),
            9 => ExprKind::Filter { base: Box::new(self.expr(depth)), filter: self.filter(depth) },
            _ => ExprKind::Subtemplate {
                base: Box::new(self.expr(depth)),
                template: Box::new(self.expr(depth)),
            },
        }
    }

    fn stepped(&mut self, depth: usize) -> ExprKind {
        let base = self.expr(depth);
        let mut steps = self.some(1, 3, |this| this.step(depth, true));
        match base.kind {
            ExprKind::Steps { base, steps: mut first } => {
                first.append(&mut steps);
                ExprKind::Steps { base, steps: first }
            }
            _ => ExprKind::Steps { base: Box::new(base), steps },
        }
    }

    fn attribute(&mut self, depth: usize) -> AttributeCall {
        AttributeCall {
            span: Span::default(),
            head: self.one_in(2),
            name: self.function_name(),
            arguments: self.some(0, 2, |this| this.expr(depth)),
            options: self.maybe(|this| this.expr(depth)),
        }
    }

    fn index(&mut self) -> i32 {
        self.of(&[0, 1, -1, 7, i32::MAX, i32::MIN])
    }

    fn step(&mut self, depth: usize, attributes: bool) -> Step {
        let kind = match self.below(if attributes { 12 } else { 11 }) {
            0 => StepKind::Key(self.key()),
            1 => StepKind::Key(self.word()),
            2 => StepKind::Wildcard,
            3 => StepKind::Index(self.index()),
            4 => {
                let from = self.maybe(Self::index);
                let to = self.maybe(Self::index);
                StepKind::Slice { from, to, step: self.maybe(Self::index) }
            }
            5 => StepKind::Expression(Box::new(self.expr(depth))),
            6 => StepKind::Condition(Box::new(self.expr(depth))),
            7 => StepKind::IndexUnion(self.some(2, 3, Self::index)),
            8 => StepKind::KeyUnion(self.some(2, 3, Self::key)),
            9 => StepKind::RecursiveKey(self.key()),
            10 if self.one_in(2) => StepKind::RecursiveWildcard,
            10 => StepKind::RecursiveIndex(self.index()),
            _ => StepKind::Attribute(Box::new(self.attribute(depth))),
        };
        Step { span: Span::default(), kind }
    }

    fn comparison(&mut self, depth: usize) -> Comparison {
        let operators = [
            ComparisonOperator::Equal,
            ComparisonOperator::NotEqual,
            ComparisonOperator::Matches,
            ComparisonOperator::Has,
            ComparisonOperator::HasAny,
            ComparisonOperator::HasAll,
            ComparisonOperator::Less,
            ComparisonOperator::LessOrEqual,
            ComparisonOperator::Greater,
            ComparisonOperator::GreaterOrEqual,
            ComparisonOperator::In,
            ComparisonOperator::AnyIn,
            ComparisonOperator::AllIn,
        ];
        Comparison {
            left: self.expr(depth),
            operator: self.of(&operators),
            operator_span: Span::default(),
            right: self.expr(depth),
        }
    }

    fn chain(&mut self, depth: usize) -> Chain {
        let levels: [&[ChainOperator]; 7] = [
            &[ChainOperator::LazyOr],
            &[ChainOperator::LazyAnd],
            &[ChainOperator::Or],
            &[ChainOperator::ExclusiveOr],
            &[ChainOperator::And],
            &[ChainOperator::Add, ChainOperator::Subtract],
            &[ChainOperator::Multiply, ChainOperator::Divide, ChainOperator::Remainder],
        ];
        let level = self.of(&levels);
        let first = self.expr(depth);
        let rest = self.some(1, 3, |this| Link {
            operator: this.of(level),
            operator_span: Span::default(),
            operand: this.expr(depth),
        });
        Chain { first, rest }
    }

    fn filter(&mut self, depth: usize) -> Filter {
        if self.one_in(2) {
            return Filter::Simple(self.filter_call(depth));
        }
        Filter::Extended(self.some(1, 2, |this| FilterStatement {
            span: Span::default(),
            target: this.some(0, 2, |this| this.step(depth, false)),
            call: this.filter_call(depth),
        }))
    }

    fn filter_call(&mut self, depth: usize) -> FilterCall {
        FilterCall {
            span: Span::default(),
            each: self.one_in(2),
            name: self.function_name(),
            arguments: self.some(0, 2, |this| this.expr(depth)),
        }
    }
}

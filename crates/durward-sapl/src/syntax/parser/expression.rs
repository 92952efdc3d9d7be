//! Operators: who binds how strongly, and what stands before and after an operand.

use super::{Node, Parser, Part, Reported};
use crate::syntax::Span;
use crate::syntax::token::TokenKind as K;
use crate::syntax::tree::{
    Chain, ChainOperator, Comparison, ComparisonOperator, Expr, ExprKind, Link, UnaryOperator,
};

/// An operator between two operands.
enum Operator {
    Chain(ChainOperator),
    Comparison(ComparisonOperator),
}

impl ChainOperator {
    /// How strongly it binds; [`ComparisonOperator::strength`] lies between.
    pub(in crate::syntax) fn strength(self) -> u8 {
        match self {
            ChainOperator::LazyOr => 0,
            ChainOperator::LazyAnd => 1,
            ChainOperator::Or => 2,
            ChainOperator::ExclusiveOr => 3,
            ChainOperator::And => 4,
            ChainOperator::Add | ChainOperator::Subtract => 8,
            ChainOperator::Multiply | ChainOperator::Divide | ChainOperator::Remainder => 9,
        }
    }
}

impl ComparisonOperator {
    /// How strongly it binds.
    pub(in crate::syntax) fn strength(self) -> u8 {
        match self {
            ComparisonOperator::Equal | ComparisonOperator::NotEqual | ComparisonOperator::Matches => 5,
            ComparisonOperator::Has | ComparisonOperator::HasAny | ComparisonOperator::HasAll => 6,
            ComparisonOperator::Less
            | ComparisonOperator::LessOrEqual
            | ComparisonOperator::Greater
            | ComparisonOperator::GreaterOrEqual
            | ComparisonOperator::In
            | ComparisonOperator::AnyIn
            | ComparisonOperator::AllIn => 7,
        }
    }
}

impl Operator {
    fn strength(&self) -> u8 {
        match self {
            Operator::Chain(operator) => operator.strength(),
            Operator::Comparison(operator) => operator.strength(),
        }
    }
}

impl Parser<'_> {
    /// A whole text that is one expression.
    pub(super) fn whole_expression(&mut self) -> Expr {
        let expr = self.expression().and_then(|node| {
            if self.is(K::End) {
                return Ok(*node.expr);
            }
            let hint = self.operator_hint();
            self.expected_help("the end of the expression", hint)
        });
        let whole = Span::new(0, u32::try_from(self.source.len()).unwrap_or(u32::MAX));
        expr.unwrap_or_else(|Reported| Expr::new(whole, ExprKind::Error))
    }

    /// `expr`
    pub(super) fn expression(&mut self) -> Part<Node> {
        self.operands(0)
    }

    /// Operands and the operators between them that bind at least that strongly.
    fn operands(&mut self, strength: u8) -> Part<Node> {
        self.nested(|parser| {
            let mut left = parser.unary()?;
            while let Some((operator, words)) = parser.operator()
                && operator.strength() >= strength
            {
                left = match operator {
                    Operator::Chain(operator) => parser.chain(left, operator.strength())?,
                    Operator::Comparison(operator) => parser.comparison(left, operator, words)?,
                };
            }
            Ok(left)
        })
    }

    /// The operator that stands here, and how many words it has.
    fn operator(&self) -> Option<(Operator, usize)> {
        let token = self.next();
        if token.kind == K::Word {
            return self.word_operator(self.text(token.span));
        }
        let operator = match token.kind {
            K::LazyOr => Operator::Chain(ChainOperator::LazyOr),
            K::LazyAnd => Operator::Chain(ChainOperator::LazyAnd),
            K::Or => Operator::Chain(ChainOperator::Or),
            K::ExclusiveOr => Operator::Chain(ChainOperator::ExclusiveOr),
            K::And => Operator::Chain(ChainOperator::And),
            K::Plus => Operator::Chain(ChainOperator::Add),
            K::Minus => Operator::Chain(ChainOperator::Subtract),
            K::Star => Operator::Chain(ChainOperator::Multiply),
            K::Slash => Operator::Chain(ChainOperator::Divide),
            K::Percent => Operator::Chain(ChainOperator::Remainder),
            K::Equal => Operator::Comparison(ComparisonOperator::Equal),
            K::NotEqual => Operator::Comparison(ComparisonOperator::NotEqual),
            K::Matches => Operator::Comparison(ComparisonOperator::Matches),
            K::Less => Operator::Comparison(ComparisonOperator::Less),
            K::LessOrEqual => Operator::Comparison(ComparisonOperator::LessOrEqual),
            K::Greater => Operator::Comparison(ComparisonOperator::Greater),
            K::GreaterOrEqual => Operator::Comparison(ComparisonOperator::GreaterOrEqual),
            _ => return None,
        };
        Some((operator, 1))
    }

    fn word_operator(&self, word: &str) -> Option<(Operator, usize)> {
        let (operator, words) = match word {
            "in" => (ComparisonOperator::In, 1),
            "any" if self.ahead_is_word(1, "in") => (ComparisonOperator::AnyIn, 2),
            "all" if self.ahead_is_word(1, "in") => (ComparisonOperator::AllIn, 2),
            "has" if self.ahead_is_word(1, "any") => (ComparisonOperator::HasAny, 2),
            "has" if self.ahead_is_word(1, "all") => (ComparisonOperator::HasAll, 2),
            "has" => (ComparisonOperator::Has, 1),
            _ => return None,
        };
        Some((Operator::Comparison(operator), words))
    }

    /// Reads on behind the first operand of a chain.
    fn chain(&mut self, first: Node, strength: u8) -> Part<Node> {
        let mut height = first.height;
        let mut span = first.outer;
        let mut rest = Vec::new();
        while let Some((Operator::Chain(operator), _)) = self.operator()
            && operator.strength() == strength
        {
            let operator_span = self.take().span;
            let operand = self.operands(strength + 1)?;
            height = height.max(operand.height);
            span = span.to(operand.outer);
            rest.push(Link { operator, operator_span, operand: *operand.expr });
        }
        self.node(span, ExprKind::Chain(Box::new(Chain { first: *first.expr, rest })), height)
    }

    /// Reads on behind the left operand of a comparison.
    fn comparison(&mut self, left: Node, operator: ComparisonOperator, words: usize) -> Part<Node> {
        let mut operator_span = self.next().span;
        for _ in 0..words {
            operator_span = operator_span.to(self.take().span);
        }
        let strength = operator.strength();
        let right = self.operands(strength + 1)?;
        if let Some((second, _)) = self.operator()
            && second.strength() == strength
        {
            let message = "this comparison has two operators";
            let help = "join two comparisons with `&&`, or put one into parentheses";
            self.error(self.next().span, message, Some(help.to_owned()));
            return Err(Reported);
        }
        let span = left.outer.to(right.outer);
        let height = left.height.max(right.height);
        let comparison = Comparison { left: *left.expr, operator, operator_span, right: *right.expr };
        self.node(span, ExprKind::Comparison(Box::new(comparison)), height)
    }

    /// `unary`
    fn unary(&mut self) -> Part<Node> {
        let operator = match self.next().kind {
            K::Not => UnaryOperator::Not,
            K::Minus => UnaryOperator::Minus,
            K::Plus => UnaryOperator::Plus,
            _ => return self.postfix(),
        };
        let operator_span = self.take().span;
        let operand = self.nested(Self::unary)?;
        let span = operator_span.to(operand.outer);
        let kind = ExprKind::Unary { operator, operator_span, operand: operand.expr };
        self.node(span, kind, operand.height)
    }

    /// `postfix`
    fn postfix(&mut self) -> Part<Node> {
        let base = self.basic()?;
        match self.next().kind {
            K::Filter if self.ahead(1).kind != K::Number => self.filtered(base),
            K::Subtemplate => self.subtemplate(base),
            _ => Ok(base),
        }
    }

    fn filtered(&mut self, base: Node) -> Part<Node> {
        self.take();
        let (filter, height) = self.filter()?;
        let span = base.outer.to(self.last());
        let kind = ExprKind::Filter { base: base.expr, filter };
        self.node(span, kind, base.height.max(height))
    }

    fn subtemplate(&mut self, base: Node) -> Part<Node> {
        self.take();
        let template = self.nested(Self::postfix)?;
        let span = base.outer.to(template.outer);
        let height = base.height.max(template.height);
        let kind = ExprKind::Subtemplate { base: base.expr, template: template.expr };
        self.node(span, kind, height)
    }
}

//! Operators on values (XPath 1.0, sections 3.4 and 3.5).

use std::collections::HashSet;

use super::evaluate::{Evaluated, Evaluation, Focus};
use super::expression::{Compute, Expression, Operator, Order};
use super::tree::NodeId;
use super::value::{Outcome, number_from};

impl<'a> Evaluation<'a> {
    /// Operators of one precedence, from left to right. `or` and `and` stop when they know.
    pub(super) fn chain(
        &mut self,
        first: &'a Expression,
        rest: &'a [(Operator, Expression)],
        focus: Focus,
    ) -> Evaluated<Outcome<'a>> {
        let mut value = self.evaluate(first, focus)?;
        for (operator, operand) in rest {
            let decides = *operator == Operator::Or;
            if matches!(operator, Operator::Or | Operator::And) && value.to_boolean() == decides {
                return Ok(Outcome::Boolean(decides));
            }
            let operand = self.evaluate(operand, focus)?;
            value = self.apply(*operator, value, operand)?;
        }
        Ok(value)
    }

    fn apply(&mut self, operator: Operator, left: Outcome<'a>, right: Outcome<'a>) -> Evaluated<Outcome<'a>> {
        Ok(match operator {
            Operator::Or => Outcome::Boolean(left.to_boolean() || right.to_boolean()),
            Operator::And => Outcome::Boolean(left.to_boolean() && right.to_boolean()),
            Operator::Equal => Outcome::Boolean(self.equality(true, left, right)?),
            Operator::NotEqual => Outcome::Boolean(self.equality(false, left, right)?),
            Operator::Order(order) => Outcome::Boolean(self.order(order, &left, &right)?),
            Operator::Compute(compute) => {
                let (left, right) = (self.number(&left)?, self.number(&right)?);
                Outcome::Number(match compute {
                    Compute::Add => left + right,
                    Compute::Subtract => left - right,
                    Compute::Multiply => left * right,
                    Compute::Divide => left / right,
                    Compute::Modulo => left % right,
                })
            }
        })
    }

    /// `=` (`wanted`) or `!=`.
    fn equality(&mut self, wanted: bool, left: Outcome<'a>, right: Outcome<'a>) -> Evaluated<bool> {
        match (left, right) {
            (Outcome::Nodes(left), Outcome::Nodes(right)) if wanted => self.some_equal(&left, &right),
            (Outcome::Nodes(left), Outcome::Nodes(right)) => self.some_differ(&left, &right),
            (Outcome::Boolean(boolean), other) | (other, Outcome::Boolean(boolean)) => {
                Ok((boolean == other.to_boolean()) == wanted)
            }
            (Outcome::Nodes(nodes), Outcome::Number(number))
            | (Outcome::Number(number), Outcome::Nodes(nodes)) => {
                for node in nodes {
                    if (self.node_number(node)? == number) == wanted {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            (Outcome::Nodes(nodes), Outcome::Text(text)) | (Outcome::Text(text), Outcome::Nodes(nodes)) => {
                self.some_text(wanted, &nodes, &text)
            }
            (Outcome::Number(number), other) | (other, Outcome::Number(number)) => {
                Ok((self.number(&other)? == number) == wanted)
            }
            (Outcome::Text(left), Outcome::Text(right)) => {
                self.charge_text(&left)?;
                Ok((left == right) == wanted)
            }
        }
    }

    fn some_text(&mut self, wanted: bool, nodes: &[NodeId], text: &str) -> Evaluated<bool> {
        for node in nodes {
            self.charge_text(text)?;
            if (self.content.text(*node) == text) == wanted {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a text is in both; in the time of reading both.
    fn some_equal(&mut self, left: &[NodeId], right: &[NodeId]) -> Evaluated<bool> {
        let (fewer, more) = if left.len() <= right.len() { (left, right) } else { (right, left) };
        let mut texts = HashSet::with_capacity(fewer.len());
        for node in fewer {
            let text = self.content.text(*node);
            self.charge_text(text)?;
            texts.insert(text);
        }
        for node in more {
            let text = self.content.text(*node);
            self.charge_text(text)?;
            if texts.contains(text) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether two texts differ, one of each: unless all are the same.
    fn some_differ(&mut self, left: &[NodeId], right: &[NodeId]) -> Evaluated<bool> {
        let (Some(first), false) = (left.first(), right.is_empty()) else { return Ok(false) };
        let first = self.content.text(*first);
        for node in left.iter().chain(right) {
            let text = self.content.text(*node);
            self.charge_text(text)?;
            if text != first {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// `<`, `<=`, `>` and `>=`, of numbers always.
    fn order(&mut self, operator: Order, left: &Outcome<'a>, right: &Outcome<'a>) -> Evaluated<bool> {
        // Against a truth value, nodes are one: whether there are any.
        let has_boolean = matches!(left, Outcome::Boolean(_)) || matches!(right, Outcome::Boolean(_));
        let (least_left, most_left) = self.extremes(left, has_boolean)?;
        let (least_right, most_right) = self.extremes(right, has_boolean)?;
        Ok(match operator {
            Order::Less => least_left < most_right,
            Order::LessOrEqual => least_left <= most_right,
            Order::Greater => most_left > least_right,
            Order::GreaterOrEqual => most_left >= least_right,
        })
    }

    /// The least and the greatest number among nodes, or the number of another value twice. Some pair of two sets is
    /// in order exactly when their extremes are.
    fn extremes(&mut self, value: &Outcome<'a>, as_boolean: bool) -> Evaluated<(f64, f64)> {
        let Outcome::Nodes(nodes) = value else {
            let number = self.number(value)?;
            return Ok((number, number));
        };
        if as_boolean {
            let number = number_from(value.to_boolean());
            return Ok((number, number));
        }
        let mut extremes = (f64::NAN, f64::NAN);
        for node in nodes {
            let number = self.node_number(*node)?;
            extremes = (extremes.0.min(number), extremes.1.max(number)); // both pass over what is no number
        }
        Ok(extremes)
    }
}

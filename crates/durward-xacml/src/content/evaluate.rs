//! Evaluating an expression. Recurses as deep as the expression nests, never as deep as the content does, and
//! counts what it does.

use std::borrow::Cow;

use super::XPATH_STEPS_MAX;
use super::error::XPathError;
use super::expression::{Axis, Expression, Path, Start, Step};
use super::tree::{Content, Kind, NodeId};
use super::value::{Outcome, number_from, number_of, text_of};

pub(super) type Evaluated<T> = Result<T, XPathError>;

/// Texts count one step for each this many bytes.
const BYTES_PER_STEP: usize = 16;

/// One evaluation over one content.
pub(super) struct Evaluation<'a> {
    pub(super) content: &'a Content,
    steps: u64,
}

/// What a part of an expression is evaluated for (XPath 1.0, section 1).
#[derive(Clone, Copy)]
pub(super) struct Focus {
    pub(super) node: NodeId,
    pub(super) position: usize,
    pub(super) size: usize,
}

impl<'a> Evaluation<'a> {
    pub(super) fn new(content: &'a Content, steps: u64) -> Evaluation<'a> {
        Evaluation { content, steps }
    }

    pub(super) fn steps_left(&self) -> u64 {
        self.steps
    }

    pub(super) fn run(&mut self, expression: &'a Expression, node: NodeId) -> Evaluated<Outcome<'a>> {
        self.evaluate(expression, Focus { node, position: 1, size: 1 })
    }

    pub(super) fn charge(&mut self, steps: u64) -> Evaluated<()> {
        match self.steps.checked_sub(steps) {
            Some(left) => {
                self.steps = left;
                Ok(())
            }
            None => {
                self.steps = 0;
                let message = format!(
                    "it takes too many steps over this content ({XPATH_STEPS_MAX} at most); name the way to the \
                     nodes instead of searching with `//`"
                );
                Err(XPathError::limit(message))
            }
        }
    }

    /// Counts the reading or making of a text.
    pub(super) fn charge_text(&mut self, text: &str) -> Evaluated<()> {
        self.charge((text.len() / BYTES_PER_STEP) as u64)
    }

    pub(super) fn evaluate(&mut self, expression: &'a Expression, focus: Focus) -> Evaluated<Outcome<'a>> {
        self.charge(1)?;
        match expression {
            Expression::Chain { first, rest } => self.chain(first, rest, focus),
            Expression::Negated(operand) => {
                let operand = self.evaluate(operand, focus)?;
                Ok(Outcome::Number(-self.number(&operand)?))
            }
            Expression::Union(parts) => {
                let mut nodes = Vec::new();
                for part in parts {
                    nodes.append(&mut self.nodes(part, focus)?);
                }
                put_in_order(&mut nodes);
                Ok(Outcome::Nodes(nodes))
            }
            Expression::Path(path) => self.path(path, focus).map(Outcome::Nodes),
            Expression::Number(number) => Ok(Outcome::Number(*number)),
            Expression::Literal(text) => Ok(Outcome::from(text.as_str())),
            Expression::Call(function, arguments) => self.call(*function, arguments, focus),
        }
    }

    /// The nodes of an expression the parser found to give nodes.
    pub(super) fn nodes(&mut self, expression: &'a Expression, focus: Focus) -> Evaluated<Vec<NodeId>> {
        match self.evaluate(expression, focus)? {
            Outcome::Nodes(nodes) => Ok(nodes),
            Outcome::Text(_) | Outcome::Number(_) | Outcome::Boolean(_) => Ok(Vec::new()),
        }
    }

    fn path(&mut self, path: &'a Path, focus: Focus) -> Evaluated<Vec<NodeId>> {
        let mut nodes = match &path.start {
            Start::Root => vec![NodeId::DOCUMENT],
            Start::Context => vec![focus.node],
            Start::Expression { expression, predicates } => {
                let mut nodes = self.nodes(expression, focus)?;
                for predicate in predicates {
                    self.filter(predicate, &mut nodes, 0)?;
                }
                nodes
            }
        };
        for step in &path.steps {
            nodes = self.step(step, &nodes)?;
        }
        Ok(nodes)
    }

    fn step(&mut self, step: &'a Step, from: &[NodeId]) -> Evaluated<Vec<NodeId>> {
        let reaches_down =
            matches!(step.axis, Axis::Descendant | Axis::DescendantOrSelf) && !step.is_positional;
        let mut covered = 0;
        let mut found = Vec::new();
        for &node in from {
            // What is under a node that was walked was found then; only attributes are not on these axes.
            let kind = self.content.kind(node);
            if reaches_down && node.node < covered && !matches!(kind, Kind::Attribute | Kind::Namespace) {
                continue;
            }
            covered = covered.max(self.content.end(node));
            let start = found.len();
            self.walk(step, node, &mut found)?;
            for predicate in &step.predicates {
                self.filter(predicate, &mut found, start)?;
            }
            if step.axis.is_reverse()
                && let Some(added) = found.get_mut(start..)
            {
                added.reverse();
            }
        }
        put_in_order(&mut found);
        Ok(found)
    }

    /// Keeps of the nodes from `start` on those a predicate holds for (section 2.4).
    fn filter(&mut self, predicate: &'a Expression, nodes: &mut Vec<NodeId>, start: usize) -> Evaluated<()> {
        let size = nodes.len() - start;
        let mut kept = start;
        for position in 1..=size {
            let Some(&node) = nodes.get(start + position - 1) else { break };
            let keeps = match self.evaluate(predicate, Focus { node, position, size })? {
                Outcome::Number(number) => number == position as f64,
                other @ (Outcome::Nodes(_) | Outcome::Text(_) | Outcome::Boolean(_)) => other.to_boolean(),
            };
            if keeps {
                nodes.swap(kept, start + position - 1);
                kept += 1;
            }
        }
        nodes.truncate(kept);
        Ok(())
    }

    /// The text of a value (section 4.2); of nodes that of the first.
    pub(super) fn text(&mut self, value: Outcome<'a>) -> Evaluated<Cow<'a, str>> {
        Ok(match value {
            Outcome::Nodes(nodes) => match nodes.first() {
                Some(first) => Cow::Borrowed(self.content.text(*first)),
                None => Cow::Borrowed(""),
            },
            Outcome::Text(text) => text,
            Outcome::Number(number) => Cow::Owned(text_of(number)),
            Outcome::Boolean(true) => Cow::Borrowed("true"),
            Outcome::Boolean(false) => Cow::Borrowed("false"),
        })
    }

    /// The number of a value (section 4.4); of nodes that of the text of the first.
    pub(super) fn number(&mut self, value: &Outcome<'a>) -> Evaluated<f64> {
        match value {
            Outcome::Nodes(nodes) => nodes.first().map_or(Ok(f64::NAN), |first| self.node_number(*first)),
            Outcome::Text(text) => {
                self.charge_text(text)?;
                Ok(number_of(text))
            }
            Outcome::Number(number) => Ok(*number),
            Outcome::Boolean(boolean) => Ok(number_from(*boolean)),
        }
    }

    pub(super) fn node_number(&mut self, node: NodeId) -> Evaluated<f64> {
        let text = self.content.text(node);
        self.charge_text(text)?;
        Ok(number_of(text))
    }
}

/// Document order, none twice.
fn put_in_order(nodes: &mut Vec<NodeId>) {
    let is_ordered = nodes.is_sorted_by(|first, second| first < second);
    if !is_ordered {
        nodes.sort_unstable();
        nodes.dedup();
    }
}

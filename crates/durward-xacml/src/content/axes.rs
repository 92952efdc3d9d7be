//! Where a step leads from a node (XPath 1.0, sections 2.2 and 2.3).

use super::error::XPathError;
use super::evaluate::Evaluation;
use super::expression::{Axis, NodeTest, Step};
use super::tree::{Kind, NodeId};

impl Evaluation<'_> {
    /// Adds the nodes a step selects from one node, before predicates, in the order of the axis: backwards on
    /// reverse axes.
    pub(super) fn walk(
        &mut self,
        step: &Step,
        from: NodeId,
        found: &mut Vec<NodeId>,
    ) -> Result<(), XPathError> {
        let content = self.content;
        match step.axis {
            Axis::SelfNode => self.visit(step, from, found),
            Axis::Parent => content.parent(from).map_or(Ok(()), |parent| self.visit(step, parent, found)),
            Axis::Ancestor => self.ancestors(step, content.parent(from), found),
            Axis::AncestorOrSelf => self.ancestors(step, Some(from), found),
            Axis::Attribute => self.attributes(step, from, found),
            Axis::Namespace => self.namespaces(step, from, found),
            Axis::Child => self.siblings(step, self.first_child(from), content.end(from), found),
            Axis::Descendant => self.range(step, from.node + 1, content.end(from), found),
            Axis::DescendantOrSelf => {
                self.visit(step, from, found)?;
                self.range(step, from.node + 1, content.end(from), found)
            }
            Axis::Following => self.range(step, content.end(from), content.node_count(), found),
            Axis::FollowingSibling => match self.siblings_of(from) {
                Some(parent) => self.siblings(step, content.end(from), content.end(parent), found),
                None => Ok(()),
            },
            Axis::Preceding => self.preceding(step, from, found),
            Axis::PrecedingSibling => match self.siblings_of(from) {
                Some(parent) => {
                    let start = found.len();
                    self.siblings(step, self.first_child(parent), from.node, found)?;
                    if let Some(added) = found.get_mut(start..) {
                        added.reverse();
                    }
                    Ok(())
                }
                None => Ok(()),
            },
        }
    }

    /// The parent, of a node that has siblings.
    fn siblings_of(&self, from: NodeId) -> Option<NodeId> {
        match self.content.kind(from) {
            Kind::Element | Kind::Text | Kind::Comment | Kind::Instruction => self.content.parent(from),
            Kind::Document | Kind::Attribute | Kind::Namespace => None,
        }
    }

    /// The number of the first child, or that after the node where there is none.
    fn first_child(&self, from: NodeId) -> u32 {
        let end = self.content.end(from);
        let mut next = from.node + 1;
        while next < end && self.is_attribute(next) {
            next += 1;
        }
        next
    }

    fn is_attribute(&self, number: u32) -> bool {
        self.content.node(number).is_some_and(|node| node.kind == Kind::Attribute)
    }

    /// The node `next` and those beside it, up to the number `end`.
    fn siblings(
        &mut self,
        step: &Step,
        mut next: u32,
        end: u32,
        found: &mut Vec<NodeId>,
    ) -> Result<(), XPathError> {
        while next < end {
            self.visit(step, NodeId::at(next), found)?;
            next = self.content.end(NodeId::at(next));
        }
        Ok(())
    }

    /// All nodes but attributes with the numbers from `start` to before `end`.
    fn range(
        &mut self,
        step: &Step,
        start: u32,
        end: u32,
        found: &mut Vec<NodeId>,
    ) -> Result<(), XPathError> {
        for next in start..end {
            if !self.is_attribute(next) {
                self.visit(step, NodeId::at(next), found)?;
            } else {
                self.charge(1)?;
            }
        }
        Ok(())
    }

    fn ancestors(
        &mut self,
        step: &Step,
        mut next: Option<NodeId>,
        found: &mut Vec<NodeId>,
    ) -> Result<(), XPathError> {
        while let Some(node) = next {
            self.visit(step, node, found)?;
            next = self.content.parent(node);
        }
        Ok(())
    }

    /// All nodes that ended before this one started: neither its ancestors nor attributes.
    fn preceding(&mut self, step: &Step, from: NodeId, found: &mut Vec<NodeId>) -> Result<(), XPathError> {
        for next in (1..from.node).rev() {
            let node = NodeId::at(next);
            if !self.is_attribute(next) && self.content.end(node) <= from.node {
                self.visit(step, node, found)?;
            } else {
                self.charge(1)?;
            }
        }
        Ok(())
    }

    fn attributes(&mut self, step: &Step, from: NodeId, found: &mut Vec<NodeId>) -> Result<(), XPathError> {
        if self.content.kind(from) != Kind::Element {
            return Ok(());
        }
        let mut next = from.node + 1;
        while next < self.content.end(from) && self.is_attribute(next) {
            self.visit(step, NodeId::at(next), found)?;
            next += 1;
        }
        Ok(())
    }

    /// One node for each prefix in scope, `xml` included (section 5.4).
    fn namespaces(&mut self, step: &Step, from: NodeId, found: &mut Vec<NodeId>) -> Result<(), XPathError> {
        if self.content.kind(from) != Kind::Element {
            return Ok(());
        }
        let content = self.content;
        let start = found.len();
        let mut seen: Vec<&str> = Vec::new();
        let mut next = Some(from);
        while let Some(element) = next {
            for number in content.declared_at(element.node) {
                let Some(binding) = content.bindings.get(number) else { continue };
                self.charge(1 + seen.len() as u64)?;
                if seen.contains(&binding.prefix.as_str()) {
                    continue;
                }
                seen.push(&binding.prefix);
                let namespace = u32::try_from(number + 1).unwrap_or(u32::MAX);
                if !binding.space.is_empty() {
                    self.visit(step, NodeId { node: from.node, namespace }, found)?;
                }
            }
            next = content.parent(element);
        }
        if let Some(added) = found.get_mut(start..) {
            added.sort_unstable();
        }
        Ok(())
    }

    fn visit(&mut self, step: &Step, node: NodeId, found: &mut Vec<NodeId>) -> Result<(), XPathError> {
        self.charge(1)?;
        if self.passes(step, node) {
            found.push(node);
        }
        Ok(())
    }

    fn passes(&self, step: &Step, node: NodeId) -> bool {
        let kind = self.content.kind(node);
        match &step.test {
            NodeTest::Node => true,
            NodeTest::Text => kind == Kind::Text,
            NodeTest::Comment => kind == Kind::Comment,
            NodeTest::Instruction(None) => kind == Kind::Instruction,
            NodeTest::Instruction(Some(target)) => {
                kind == Kind::Instruction && self.content.name(node).is_some_and(|name| name.local == *target)
            }
            NodeTest::AnyName => kind == principal(step.axis),
            NodeTest::AnyIn(space) => {
                kind == principal(step.axis)
                    && self.content.name(node).is_some_and(|name| name.space == *space)
            }
            NodeTest::Name { space, local } if kind == principal(step.axis) => {
                match self.content.binding(node) {
                    // A namespace node is named by its prefix, in no namespace (section 5.4).
                    Some(binding) => space.is_empty() && binding.prefix == *local,
                    None => {
                        let name = self.content.name(node);
                        name.is_some_and(|name| name.local == *local && name.space == *space)
                    }
                }
            }
            NodeTest::Name { .. } => false,
        }
    }
}

/// The kind of node a name means on an axis (section 2.3).
fn principal(axis: Axis) -> Kind {
    match axis {
        Axis::Attribute => Kind::Attribute,
        Axis::Namespace => Kind::Namespace,
        Axis::Ancestor
        | Axis::AncestorOrSelf
        | Axis::Child
        | Axis::Descendant
        | Axis::DescendantOrSelf
        | Axis::Following
        | Axis::FollowingSibling
        | Axis::Parent
        | Axis::Preceding
        | Axis::PrecedingSibling
        | Axis::SelfNode => Kind::Element,
    }
}

//! The way to one node, as a path: what content selectors of the Multiple Decision Profile (section 2.3) hold.

use std::fmt::Write;

use super::tree::{Content, Kind, NodeId};

impl Content {
    /// An absolute path that selects this node and no other of this content. It uses no prefixes, so that it means
    /// the same wherever it is put: `/*[local-name()='record'][1]/@id`.
    pub fn path_of(&self, id: NodeId) -> String {
        self.way_to(id).0
    }

    /// The path to a node, and how many nodes were passed on the way.
    pub(super) fn way_to(&self, id: NodeId) -> (String, u64) {
        let mut passed = 0;
        let mut steps = Vec::new();
        let mut next = Some(id);
        while let Some(node) = next {
            next = self.parent(node);
            if let Some(parent) = next {
                let (step, beside) = self.step_to(node, parent);
                steps.push(step);
                passed += beside + 1;
            }
        }
        if steps.is_empty() {
            return ("/".to_owned(), passed);
        }
        let path = steps.iter().rev().fold(String::new(), |mut path, step| {
            let _ = write!(path, "/{step}"); // writing to a string does not fail
            path
        });
        (path, passed)
    }

    /// The step to a node from its parent, and how many nodes stand between them.
    fn step_to(&self, node: NodeId, parent: NodeId) -> (String, u64) {
        let kind = self.kind(node);
        let name = self.name(node);
        let local = name.map_or("", |name| name.local.as_str());
        let (alike, beside) = self.before(node, parent, kind, local);
        let position = alike + 1;
        let step = match kind {
            Kind::Document => String::new(),
            Kind::Element => format!("*[local-name()='{local}'][{position}]"),
            Kind::Attribute if name.is_some_and(|name| name.space.is_empty()) => format!("@{local}"),
            Kind::Attribute => format!("@*[local-name()='{local}'][{position}]"),
            Kind::Text => format!("text()[{position}]"),
            Kind::Comment => format!("comment()[{position}]"),
            Kind::Instruction => format!("processing-instruction('{local}')[{position}]"),
            Kind::Namespace => {
                let prefix = self.binding(node).map_or("", |binding| binding.prefix.as_str());
                format!("namespace::*[local-name()='{prefix}']")
            }
        };
        (step, beside)
    }

    /// How many nodes of the same kind and local name stand before this one in its parent, and how many in all.
    fn before(&self, node: NodeId, parent: NodeId, kind: Kind, local: &str) -> (u64, u64) {
        let (mut alike, mut beside) = (0, 0);
        let mut next = NodeId::at(parent.node + 1);
        while next < node {
            let is_alike =
                self.kind(next) == kind && self.name(next).map_or("", |name| name.local.as_str()) == local;
            alike += u64::from(is_alike);
            beside += 1;
            next = NodeId::at(self.end(next).max(next.node + 1));
        }
        (alike, beside)
    }
}

//! What became of a policy document.

use std::collections::HashMap;

use durward_ir::combine::Effects;
use durward_ir::program::{Node, NodeId, Program, SetKind};
use durward_xacml_policies::lower::Ties;
use durward_xacml_policies::tree;
use smol_str::SmolStr;

use crate::class::Class;
use crate::documents::Document;
use crate::documents::sapl::{self, Lowered};

/// What became of a policy document.
#[derive(Clone, Debug)]
pub(crate) struct Became {
    /// Its element below the root, if it has one.
    pub(crate) node: Option<NodeId>,
    /// Its number in the program.
    pub(crate) source: u32,
    pub(crate) class: Class,
    /// What no two documents may have in common.
    pub(crate) identity: SmolStr,
    /// What ties it to others, of XACML.
    pub(crate) ties: Option<Box<Ties>>,
    pub(crate) effects: Effects,
    pub(crate) policies: u32,
    pub(crate) rules: u32,
}

impl Became {
    /// Before it is lowered.
    pub(crate) fn of(document: &Document) -> Became {
        match document {
            Document::Xacml(document) => Became::of_xacml(document),
            Document::Sapl(document) => Became::of_sapl(document),
        }
    }

    pub(crate) fn of_xacml(document: &tree::Document) -> Became {
        let ties = Ties::of(document);
        let identity = ties.identity.clone();
        Became { ties: Some(Box::new(ties)), ..Became::nothing(Class::Xacml, identity) }
    }

    pub(crate) fn of_sapl(document: &sapl::Document) -> Became {
        Became::nothing(Class::Sapl, document.name().cloned().unwrap_or_default())
    }

    fn nothing(class: Class, identity: SmolStr) -> Became {
        let (effects, policies, rules) = (Effects::NONE, 0, 0);
        Became { node: None, source: 0, class, identity, ties: None, effects, policies, rules }
    }

    /// `source` is its number in the program.
    pub(crate) fn with_node(self, source: u32, node: Option<NodeId>) -> Became {
        Became { source, node, ..self }
    }

    /// The same of SAPL.
    pub(crate) fn with_lowered(self, source: u32, lowered: Option<Lowered>) -> Became {
        match lowered.map(sapl::placed) {
            Some((node, class)) => Became { class, ..self.with_node(source, Some(node)) },
            None => self.with_node(source, None),
        }
    }

    /// What tells it from others; of SAPL and of XACML never the same.
    pub(crate) fn key(&self) -> SmolStr {
        match self.class {
            Class::Xacml => smol_str::format_smolstr!("x{}", self.identity),
            Class::Sapl | Class::SaplConstant | Class::SaplStreaming => {
                smol_str::format_smolstr!("s{}", self.identity)
            }
        }
    }

    pub(crate) fn references(&self) -> &[SmolStr] {
        self.ties.as_deref().map_or(&[], |ties| &ties.references)
    }

    pub(crate) fn identifiers(&self) -> &[SmolStr] {
        self.ties.as_deref().map_or(&[], |ties| &ties.identifiers)
    }

    pub(crate) fn count(&mut self, program: &Program, rules: &HashMap<u32, u32>) {
        self.rules = rules.get(&self.source).copied().unwrap_or_default();
        let Some(node) = self.node else { return };
        self.effects = effects_of(program, node);
        self.policies = policies_of(program, node);
    }
}

fn effects_of(program: &Program, id: NodeId) -> Effects {
    match program.node(id) {
        Node::Rule(rule) => Effects::only(rule.effect),
        Node::Set(set) => set.effects,
    }
}

/// As [`Program::policy_count`] counts them.
fn policies_of(program: &Program, id: NodeId) -> u32 {
    let mut count = 0;
    let mut left = vec![id];
    while let Some(id) = left.pop() {
        match program.node(id) {
            // What stands in a set that is no policy is one.
            Node::Rule(_) => count += 1,
            Node::Set(set) if set.kind == SetKind::Policy => count += 1,
            Node::Set(set) => left.extend_from_slice(&set.children),
        }
    }
    count
}

//! Content as one flat array of nodes in document order.
//!
//! A node's number is its place in document order, and the nodes under it are the numbers up to its `end`. So
//! "before", "under" and "the same" are comparisons of numbers, and no walk needs a stack. All text nodes stand in one
//! string, in order: the string-value of an element (XPath 1.0, section 5.2) is a slice of it.

use smol_str::SmolStr;

/// A document to select from: what stands in `<Content>`, or a whole XACML 2.0 request.
#[derive(Clone, Debug)]
pub struct Content {
    /// INVARIANT: the first is the document node; in document order; attributes directly after their element.
    pub(super) nodes: Vec<Node>,
    /// The text nodes, one after the other.
    pub(super) text: String,
    /// The values of attributes, comments and processing instructions.
    pub(super) other: String,
    pub(super) names: Vec<Name>,
    /// In the order of the elements that declare them; those of element 0 are declared around the content.
    pub(super) bindings: Vec<Binding>,
}

/// One node of one [`Content`]. Nodes order as they stand in the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId {
    pub(super) node: u32,
    /// 0, or for a namespace node of the element `node` one more than the number of its binding. Namespace nodes
    /// are not stored: every element has one for each prefix in scope, and hardly any path asks for them.
    pub(super) namespace: u32,
}

impl NodeId {
    /// The document node.
    pub const DOCUMENT: NodeId = NodeId::at(0);

    pub(super) const fn at(node: u32) -> NodeId {
        NodeId { node, namespace: 0 }
    }
}

/// What a node is (XPath 1.0, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Document,
    Element,
    Attribute,
    Namespace,
    Text,
    Comment,
    Instruction,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// Of elements, attributes and processing instructions.
    pub(super) name: u32,
    pub(super) parent: u32,
    /// The number after the last node under this one.
    pub(super) end: u32,
    /// Where its value starts and ends, in `text` or in `other`.
    pub(super) value: (u32, u32),
}

/// A name as written, and the namespace it is in; "" for none.
#[derive(Clone, Debug)]
pub(super) struct Name {
    pub(super) space: SmolStr,
    pub(super) local: SmolStr,
    pub(super) written: SmolStr,
}

/// A namespace declaration. An empty namespace takes the default namespace away.
#[derive(Clone, Debug)]
pub(super) struct Binding {
    pub(super) element: u32,
    pub(super) prefix: SmolStr,
    pub(super) space: SmolStr,
}

impl Content {
    pub(super) fn node(&self, number: u32) -> Option<&Node> {
        self.nodes.get(number as usize)
    }

    pub(super) fn node_count(&self) -> u32 {
        u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn kind(&self, id: NodeId) -> Kind {
        match self.node(id.node) {
            _ if id.namespace > 0 => Kind::Namespace,
            Some(node) => node.kind,
            None => Kind::Document,
        }
    }

    pub(super) fn parent(&self, id: NodeId) -> Option<NodeId> {
        match id {
            NodeId { node, namespace: 1.. } => Some(NodeId::at(node)),
            NodeId { node: 0, .. } => None,
            NodeId { node, .. } => self.node(node).map(|node| NodeId::at(node.parent)),
        }
    }

    /// The number after the last node under this one.
    pub(super) fn end(&self, id: NodeId) -> u32 {
        match self.node(id.node) {
            Some(node) if id.namespace == 0 => node.end,
            _ => id.node.saturating_add(1),
        }
    }

    /// Whether `inner` is under `outer`, as attribute, namespace or descendant.
    pub(super) fn lies_under(&self, inner: NodeId, outer: NodeId) -> bool {
        outer.namespace == 0 && inner > outer && inner.node < self.end(outer)
    }

    /// The string-value of a node (XPath 1.0, section 5): of an element all text in it, of an attribute its value.
    pub fn text(&self, id: NodeId) -> &str {
        if let Some(binding) = self.binding(id) {
            return &binding.space;
        }
        let Some(node) = self.node(id.node) else { return "" };
        let source = match node.kind {
            Kind::Document | Kind::Element | Kind::Text => &self.text,
            Kind::Attribute | Kind::Comment | Kind::Instruction | Kind::Namespace => &self.other,
        };
        source.get(node.value.0 as usize..node.value.1 as usize).unwrap_or_default()
    }

    /// Whether a node is an element or the document, whose text is that of other nodes.
    pub fn is_element(&self, id: NodeId) -> bool {
        matches!(self.kind(id), Kind::Document | Kind::Element)
    }

    pub(super) fn children_of_document(&self) -> impl Iterator<Item = NodeId> {
        let child = |number: u32| (number < self.node_count()).then_some(NodeId::at(number));
        std::iter::successors(child(1), move |last| child(self.end(*last)))
    }

    /// The name of an element, attribute or processing instruction.
    pub(super) fn name(&self, id: NodeId) -> Option<&Name> {
        match self.kind(id) {
            Kind::Element | Kind::Attribute | Kind::Instruction => {
                self.node(id.node).and_then(|node| self.names.get(node.name as usize))
            }
            Kind::Document | Kind::Namespace | Kind::Text | Kind::Comment => None,
        }
    }

    /// What a namespace node stands for.
    pub(super) fn binding(&self, id: NodeId) -> Option<&Binding> {
        self.bindings.get(id.namespace.checked_sub(1)? as usize)
    }

    /// The numbers of the bindings an element itself declares.
    pub(super) fn declared_at(&self, element: u32) -> std::ops::Range<usize> {
        let start = self.bindings.partition_point(|binding| binding.element < element);
        let end = self.bindings.partition_point(|binding| binding.element <= element);
        start..end
    }
}

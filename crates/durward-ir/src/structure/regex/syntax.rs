//! The tree of a regular expression.

use super::flags::{Flags, Lines, Words};
use super::set::{self, Set};

/// A regular expression or a part of one.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// Matches nothing at all, anywhere.
    Empty,
    /// Never matches: a reference to a group that there is not.
    Never,
    /// One character.
    Char(char),
    /// One of these characters.
    Set(Set),
    /// A place in the text.
    Edge(Edge),
    /// All of these in turn.
    Concat(Vec<Node>),
    /// The first of these that lets the rest match.
    Either(Vec<Node>),
    /// A capturing group with its number.
    Capture(usize, Box<Node>),
    /// `(?>X)`: once left, not entered again.
    Atomic(Box<Node>),
    /// `(?=X)`, `(?!X)`, `(?<=X)`, `(?<!X)`
    Around {
        /// What is looked for.
        node: Box<Node>,
        /// Whether it is looked for behind the place, not ahead of it.
        behind: bool,
        /// Whether it must not be there.
        negative: bool,
    },
    /// `X{min,max}`
    Repeat {
        /// What is repeated.
        node: Box<Node>,
        /// How often at least.
        min: u32,
        /// How often at most; without it, any number of times.
        max: Option<u32>,
        /// How many are tried first.
        mode: Mode,
    },
    /// `\1`: what the group of this number matched.
    Back {
        /// The number of the group.
        group: usize,
        /// Whose case does not count.
        folded: Fold,
    },
}

/// Whose case does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    /// Nobody's.
    No,
    /// That of ASCII letters.
    Ascii,
    /// That of all letters.
    Unicode,
}

/// How a quantifier tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Many first.
    Greedy,
    /// Few first: `X*?`
    Lazy,
    /// Many, and never fewer: `X*+`
    Possessive,
}

/// Places in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    /// `\A`, and `^` without `m`.
    Start,
    /// `\z`
    End,
    /// `\Z`, and `$` without `m`: the end, or before the line terminator there.
    LastEnd(Lines),
    /// `^` with `m`
    LineStart(Lines),
    /// `$` with `m`
    LineEnd(Lines),
    /// `\b`
    Word(Words),
    /// `\B`
    NotWord(Words),
    /// `\G`
    Previous,
}

impl Node {
    /// A character, with its other cases as the flags say.
    pub(super) fn literal(character: char, flags: Flags) -> Node {
        let set = set::range(character, character, flags);
        match set.ranges() {
            [one] if one.start() == one.end() => Node::Char(character),
            _ => Node::Set(set),
        }
    }

    /// Whether the node only looks at its place, and what it looks like.
    pub(super) fn is_zero_width(&self) -> bool {
        match self {
            Node::Empty | Node::Edge(_) | Node::Around { .. } => true,
            Node::Never | Node::Char(_) | Node::Set(_) | Node::Back { .. } => false,
            Node::Concat(_) | Node::Either(_) | Node::Capture(..) | Node::Atomic(_) | Node::Repeat { .. } => {
                self.children().iter().all(Node::is_zero_width)
            }
        }
    }

    /// How many characters it matches, when it is always as many.
    pub(super) fn length(&self) -> Option<u32> {
        match self {
            Node::Empty | Node::Edge(_) | Node::Around { .. } => Some(0),
            Node::Char(_) | Node::Set(_) => Some(1),
            Node::Concat(nodes) => nodes.iter().try_fold(0_u32, |sum, node| sum.checked_add(node.length()?)),
            Node::Either(nodes) => {
                let first = nodes.first().map_or(Some(0), Node::length)?;
                nodes.iter().all(|node| node.length() == Some(first)).then_some(first)
            }
            Node::Capture(_, node) | Node::Atomic(node) => node.length(),
            Node::Repeat { node, min, max, .. } if *max == Some(*min) => node.length()?.checked_mul(*min),
            Node::Repeat { .. } | Node::Never | Node::Back { .. } => None,
        }
    }

    /// Whether there is a back-reference.
    pub(super) fn refers_back(&self) -> bool {
        matches!(self, Node::Back { .. }) || self.children().iter().any(Node::refers_back)
    }

    /// The parts.
    pub(super) fn children(&self) -> &[Node] {
        match self {
            Node::Empty | Node::Never | Node::Char(_) | Node::Set(_) | Node::Edge(_) | Node::Back { .. } => {
                &[]
            }
            Node::Concat(nodes) | Node::Either(nodes) => nodes,
            Node::Capture(_, node)
            | Node::Atomic(node)
            | Node::Around { node, .. }
            | Node::Repeat { node, .. } => std::slice::from_ref(node),
        }
    }

    /// What is in the capturing group of this number.
    pub(super) fn capture(&self, wanted: usize) -> Option<&Node> {
        if let Node::Capture(group, node) = self
            && *group == wanted
        {
            return Some(node);
        }
        self.children().iter().find_map(|child| child.capture(wanted))
    }

    /// Whether nothing it can match, but for ASCII letters, has another case.
    pub(super) fn is_caseless_beyond_ascii(&self) -> bool {
        if let Node::Char(character) = self {
            set::is_caseless_beyond_ascii(&set::characters(&[*character]))
        } else if let Node::Set(set) = self {
            set::is_caseless_beyond_ascii(set)
        } else {
            !matches!(self, Node::Back { .. }) && self.children().iter().all(Node::is_caseless_beyond_ascii)
        }
    }
}

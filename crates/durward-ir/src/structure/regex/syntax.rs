//! The tree of a regular expression.

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

/// What ends a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lines {
    /// `\n`, `\r\n`, `\r`, `\u0085`, `\u2028`, `\u2029`
    All,
    /// `\n` only (the flag `d`).
    Unix,
}

/// What words consist of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Words {
    /// `[a-zA-Z_0-9]`
    Ascii,
    /// Letters, digits and marks of all scripts (the flag `U`).
    Unicode,
}

/// The flags in force at a place in the expression.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flags {
    /// `i`: case does not count, of ASCII letters unless `u` is set too.
    pub(super) fold: bool,
    /// `u`: folding goes beyond ASCII.
    pub(super) fold_unicode: bool,
    /// `m`
    pub(super) lines: bool,
    /// `s`
    pub(super) dot_all: bool,
    /// `d`
    pub(super) unix_lines: bool,
    /// `x`
    pub(super) comments: bool,
    /// `U`
    pub(super) unicode: bool,
}

impl Flags {
    /// What ends a line.
    pub(super) const fn ends(self) -> Lines {
        if self.unix_lines { Lines::Unix } else { Lines::All }
    }

    /// What words consist of.
    pub(super) const fn words(self) -> Words {
        if self.unicode { Words::Unicode } else { Words::Ascii }
    }
}

impl Node {
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

//! Writes the tree as an expression of the engines: of the `regex` crate as far as it has a word for everything, of
//! `fancy-regex` otherwise. Flags are gone, sets are spelt out.

use std::fmt::Write;

use super::flags::{Lines, Words};
use super::set::{self, Set};
use super::syntax::{Edge, Fold, Mode, Node};
use super::wrong::Reason;

/// An expression for an engine.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) pattern: String,
    /// Whether it needs look-around, back-references or atomic groups.
    pub(super) needs_backtracking: bool,
}

/// How the expression is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// It has to match the whole text.
    Whole,
    /// It is looked for in the text.
    Find,
}

/// What a part of the expression touches in the text.
#[derive(Clone, Copy)]
struct Touches {
    /// Nothing precedes it, and the match begins with the text.
    start: bool,
    /// Nothing follows it, and the match ends with the text.
    end: bool,
}

const NOWHERE: Touches = Touches { start: false, end: false };

/// # Errors
/// What is looked for behind is of a kind on which the engine cannot be relied.
pub(super) fn write(node: &Node, usage: Use) -> Result<Written, Reason> {
    let whole = usage == Use::Whole;
    let keeps_groups = usage == Use::Find || node.refers_back();
    if !looks_behind_simply(node, keeps_groups) {
        return Err("what is looked for behind is too complex");
    }
    let touches = Touches { start: whole, end: whole };
    let needs_backtracking = is_hard(node, touches);
    let mut writer = Writer { out: String::new(), hard: needs_backtracking, keeps_groups };
    if whole {
        writer.out.push_str(r"\A(?:");
        writer.node(node, touches);
        writer.out.push_str(r")\z");
    } else {
        writer.node(node, touches);
    }
    Ok(Written { pattern: writer.out, needs_backtracking })
}

/// Whether every branch of what is looked for behind has a fixed length, or is regular and captures nothing: the engine
/// answers wrongly, or not at all, for some others.
fn looks_behind_simply(node: &Node, keeps_groups: bool) -> bool {
    if let Node::Around { node, behind: true, .. } = node {
        let branches =
            if let Node::Either(branches) = node.as_ref() { branches } else { std::slice::from_ref(&**node) };
        let is_simple = |branch: &Node| {
            branch.length().is_some() || !(is_hard(branch, NOWHERE) || (keeps_groups && captures(branch)))
        };
        if !branches.iter().all(is_simple) {
            return false;
        }
    }
    node.children().iter().all(|child| looks_behind_simply(child, keeps_groups))
}

fn captures(node: &Node) -> bool {
    matches!(node, Node::Capture(..)) || node.children().iter().any(captures)
}

/// What each of these parts in turn touches.
fn parts(nodes: &[Node], touches: Touches) -> impl Iterator<Item = (&Node, Touches)> {
    let last = nodes.len().saturating_sub(1);
    nodes.iter().enumerate().map(move |(at, node)| {
        (node, Touches { start: touches.start && at == 0, end: touches.end && at == last })
    })
}

fn is_hard(node: &Node, touches: Touches) -> bool {
    match node {
        Node::Empty | Node::Never | Node::Char(_) | Node::Set(_) => false,
        Node::Edge(edge) => plain_edge(*edge, touches).is_none(),
        Node::Concat(nodes) => parts(nodes, touches).any(|(node, touches)| is_hard(node, touches)),
        Node::Either(nodes) => nodes.iter().any(|node| is_hard(node, touches)),
        Node::Capture(_, node) => is_hard(node, touches),
        Node::Repeat { mode: Mode::Possessive, .. } => true,
        Node::Repeat { node, .. } => is_hard(node, NOWHERE),
        Node::Atomic(_) | Node::Around { .. } | Node::Back { .. } => true,
    }
}

/// The word for an edge that both engines have, if there is one.
fn plain_edge(edge: Edge, touches: Touches) -> Option<&'static str> {
    match edge {
        Edge::Start => Some(r"\A"),
        Edge::End => Some(r"\z"),
        Edge::Previous if touches.start => Some(r"\A"),
        // Where the match has to end with the text, it must be at its end.
        Edge::LastEnd(_) | Edge::LineEnd(_) if touches.end => Some(r"\z"),
        Edge::Word(Words::Ascii) => Some(r"(?-u:\b)"),
        Edge::LastEnd(_)
        | Edge::LineStart(_)
        | Edge::LineEnd(_)
        | Edge::Word(Words::Unicode)
        | Edge::NotWord(_)
        | Edge::Previous => None,
    }
}

struct Writer {
    out: String,
    hard: bool,
    /// Whether it matters what groups capture.
    keeps_groups: bool,
}

impl Writer {
    fn node(&mut self, node: &Node, touches: Touches) {
        match node {
            Node::Empty => {}
            Node::Never => self.set(&Set::empty()),
            Node::Char(character) => self.character(*character),
            Node::Set(set) => self.set(set),
            Node::Edge(edge) => self.edge(*edge, touches),
            Node::Concat(nodes) => {
                for (node, touches) in parts(nodes, touches) {
                    self.part(node, touches);
                }
            }
            Node::Either(nodes) => {
                for (at, node) in nodes.iter().enumerate() {
                    self.out.push_str(if at > 0 { "|" } else { "" });
                    self.node(node, touches);
                }
            }
            Node::Capture(_, node) => self.within(if self.keeps_groups { "(" } else { "(?:" }, node, touches),
            Node::Atomic(node) => self.within("(?>", node, NOWHERE),
            Node::Around { node, behind, negative } => {
                let opening = match (behind, negative) {
                    (false, false) => "(?=",
                    (false, true) => "(?!",
                    (true, false) => "(?<=",
                    (true, true) => "(?<!",
                };
                self.within(opening, node, NOWHERE);
            }
            Node::Repeat { node, min, max, mode } => self.repeat(node, *min, *max, *mode),
            Node::Back { group, folded } => {
                // Writing to a string cannot fail.
                let flag = if *folded == Fold::No { "" } else { "i" };
                let _ = write!(self.out, "(?{flag}:\\{group})");
            }
        }
    }

    fn within(&mut self, opening: &str, node: &Node, touches: Touches) {
        self.out.push_str(opening);
        self.node(node, touches);
        self.out.push(')');
    }

    /// A part of a sequence.
    fn part(&mut self, node: &Node, touches: Touches) {
        if matches!(node, Node::Either(_)) {
            self.within("(?:", node, touches);
        } else {
            self.node(node, touches);
        }
    }

    fn repeat(&mut self, node: &Node, min: u32, max: Option<u32>, mode: Mode) {
        let is_one = matches!(node, Node::Char(_) | Node::Set(_) | Node::Never);
        if mode == Mode::Possessive {
            self.out.push_str("(?>");
        }
        if is_one || (mode != Mode::Possessive && matches!(node, Node::Capture(..))) {
            self.node(node, NOWHERE);
        } else {
            // Java does not go back into any round of a possessive loop.
            self.within(if mode == Mode::Possessive { "(?>" } else { "(?:" }, node, NOWHERE);
        }
        let _ = match (min, max) {
            (0, None) => self.out.write_char('*'),
            (1, None) => self.out.write_char('+'),
            (0, Some(1)) => self.out.write_char('?'),
            (min, None) => write!(self.out, "{{{min},}}"),
            (min, Some(max)) => write!(self.out, "{{{min},{max}}}"),
        };
        match mode {
            Mode::Greedy => {}
            Mode::Lazy => self.out.push('?'),
            Mode::Possessive => self.out.push(')'),
        }
    }

    fn character(&mut self, character: char) {
        if character.is_alphanumeric() {
            self.out.push(character);
        } else {
            let _ = write!(self.out, "\\x{{{:X}}}", u32::from(character));
        }
    }

    fn set(&mut self, set: &Set) {
        let (set, sign) = match set.ranges() {
            [first, .., last] if first.start() == '\0' && last.end() == char::MAX => {
                (set::negated(set.clone()), "^")
            }
            [] => (set::ranges(&[('\0', char::MAX)]), "^"),
            _ => (set.clone(), ""),
        };
        self.out.push('[');
        self.out.push_str(sign);
        for range in set.ranges() {
            self.character(range.start());
            if range.end() > range.start() {
                self.out.push('-');
                self.character(range.end());
            }
        }
        self.out.push(']');
    }

    fn edge(&mut self, edge: Edge, touches: Touches) {
        if let Some(word) = plain_edge(edge, touches).filter(|word| !self.hard || !word.starts_with('(')) {
            return self.out.push_str(word);
        }
        match edge {
            Edge::Start => self.out.push_str(r"\A"),
            Edge::End => self.out.push_str(r"\z"),
            Edge::Previous => self.out.push_str(r"\G"),
            Edge::LastEnd(Lines::Unix) => self.out.push_str(r"(?=\n?\z)"),
            // Not between the two characters of one line end.
            Edge::LastEnd(Lines::All) => {
                self.out.push_str(r"(?:(?=(?:\r\n|[\r\x{85}\x{2028}\x{2029}])?\z)|(?<!\r)(?=\n\z))");
            }
            Edge::LineEnd(Lines::Unix) => self.out.push_str(r"(?=\n|\z)"),
            Edge::LineEnd(Lines::All) => {
                self.out.push_str(r"(?:(?=[\r\x{85}\x{2028}\x{2029}]|\z)|(?<!\r)(?=\n))");
            }
            // Never at the end of the text, even of an empty one.
            Edge::LineStart(Lines::Unix) => self.out.push_str(r"(?:\A|(?<=\n))(?!\z)"),
            Edge::LineStart(Lines::All) => {
                self.out.push_str(r"(?:\A|(?<=[\n\x{85}\x{2028}\x{2029}])|(?<=\r)(?!\n))(?!\z)");
            }
            Edge::Word(words) => self.word_edge(words, true),
            Edge::NotWord(words) => self.word_edge(words, false),
        }
    }

    /// Between a character of words and another one, or a border of the text; or not.
    fn word_edge(&mut self, words: Words, is_edge: bool) {
        let word = set::word(words);
        for (at, (behind, ahead)) in [("(?<=", "(?!"), ("(?<!", "(?=")].into_iter().enumerate() {
            self.out.push_str(if at == 0 { "(?:" } else { "|" });
            let ahead = match (is_edge, ahead) {
                (true, ahead) => ahead,
                (false, "(?!") => "(?=",
                (false, _) => "(?!",
            };
            for opening in [behind, ahead] {
                self.out.push_str(opening);
                self.set(&word);
                self.out.push(')');
            }
        }
        self.out.push(')');
    }
}

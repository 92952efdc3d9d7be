//! Reads an expression as `java.util.regex.Pattern` does.

use super::flags::Flags;
use super::reader::{Reader, Token};
use super::set;
use super::syntax::{Edge, Fold, Mode, Node};
use super::wrong::{Reason, Wrong};

/// How deep groups and classes may nest.
pub const PATTERN_DEPTH_MAX: usize = 60;

/// A tree with what was found on the way.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) node: Node,
    /// How many capturing groups there are.
    pub(super) group_count: usize,
    /// The names of groups with their numbers.
    pub(super) names: Vec<(String, usize)>,
}

pub(super) fn parse(pattern: &str) -> Result<Parsed, Wrong> {
    let mut parser = Parser {
        reader: Reader::new(pattern),
        flags: Flags::default(),
        group_count: 0,
        open: Vec::new(),
        names: Vec::new(),
        depth: 0,
    };
    let node = parser.either()?;
    if parser.reader.peek(parser.flags).is_some() {
        return Err(parser.wrong("there is no `(` for this `)`"));
    }
    if has_inexact_reference(&node, &node) {
        return Err(
            parser.wrong("a back-reference that ignores case needs the flag `u` when its group is not ASCII")
        );
    }
    Ok(Parsed { node, group_count: parser.group_count, names: parser.names })
}

pub(super) struct Parser {
    pub(super) reader: Reader,
    pub(super) flags: Flags,
    group_count: usize,
    /// The capturing groups around.
    open: Vec<usize>,
    names: Vec<(String, usize)>,
    depth: usize,
}

/// What an escape stands for: one character, or more.
pub(super) enum Escaped {
    Char(char),
    Node(Node),
}

const UNFINISHED: Reason = "a `\\` must be followed by a character";
const NO_SUCH_ESCAPE: Reason = "there is no such escape";

impl Parser {
    pub(super) fn wrong(&self, reason: Reason) -> Wrong {
        Wrong { position: self.reader.position(), reason }
    }

    /// Runs `inside`, one level deeper.
    pub(super) fn deeper<T>(
        &mut self,
        inside: impl FnOnce(&mut Parser) -> Result<T, Wrong>,
    ) -> Result<T, Wrong> {
        if self.depth == PATTERN_DEPTH_MAX {
            return Err(self.wrong("it is nested too deep"));
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        result
    }

    /// `X|Y|Z`
    fn either(&mut self) -> Result<Node, Wrong> {
        let mut branches = vec![self.concat()?];
        while self.reader.take('|', self.flags) {
            branches.push(self.concat()?);
        }
        Ok(if branches.len() == 1 { branches.pop().unwrap_or(Node::Empty) } else { Node::Either(branches) })
    }

    fn concat(&mut self) -> Result<Node, Wrong> {
        let mut nodes = Vec::new();
        while let Some(token) = self.reader.peek(self.flags) {
            if !token.quoted && matches!(token.character, '|' | ')') {
                break;
            }
            if let Some(atom) = self.atom(token)? {
                nodes.push(self.quantified(atom)?);
            }
        }
        Ok(if nodes.len() == 1 { nodes.pop().unwrap_or(Node::Empty) } else { Node::Concat(nodes) })
    }

    /// What a quantifier may follow; `None` for flags, which stand for nothing.
    fn atom(&mut self, token: Token) -> Result<Option<Node>, Wrong> {
        if token.quoted {
            self.reader.advance();
            return Ok(Some(Node::literal(token.character, self.flags)));
        }
        // A `{` quantifies nothing, if it is right.
        if token.character == '{' {
            return Ok(Some(Node::Empty));
        }
        self.reader.advance();
        Ok(Some(match token.character {
            '(' => return self.deeper(Parser::group),
            '[' => Node::Set(self.deeper(Parser::class)?),
            '.' => Node::Set(set::dot(self.flags)),
            '^' if self.flags.lines => Node::Edge(Edge::LineStart(self.flags.ends())),
            '^' => Node::Edge(Edge::Start),
            '$' if self.flags.lines => Node::Edge(Edge::LineEnd(self.flags.ends())),
            '$' => Node::Edge(Edge::LastEnd(self.flags.ends())),
            '*' | '+' | '?' => return Err(self.wrong("there is nothing to repeat here")),
            '\\' => match self.escape(false)? {
                Escaped::Char(character) => Node::literal(character, self.flags),
                Escaped::Node(node) => node,
            },
            character => Node::literal(character, self.flags),
        }))
    }

    fn quantified(&mut self, node: Node) -> Result<Node, Wrong> {
        let (min, max) = if self.reader.take('?', self.flags) {
            (0, Some(1))
        } else if self.reader.take('*', self.flags) {
            (0, None)
        } else if self.reader.take('+', self.flags) {
            (1, None)
        } else if self.reader.take('{', self.flags) {
            self.quantity()?
        } else {
            return Ok(node);
        };
        let mode = if self.reader.take('?', self.flags) {
            Mode::Lazy
        } else if self.reader.take('+', self.flags) {
            Mode::Possessive
        } else {
            Mode::Greedy
        };
        Ok(if node.is_zero_width() {
            // Looking again changes nothing.
            match (min, mode) {
                (1.., _) => node,
                (0, Mode::Greedy | Mode::Possessive) => Node::Either(vec![node, Node::Empty]),
                (0, Mode::Lazy) => Node::Either(vec![Node::Empty, node]),
            }
        } else {
            Node::Repeat { node: Box::new(node), min, max, mode }
        })
    }

    /// `2}`, `2,}` or `2,5}`
    fn quantity(&mut self) -> Result<(u32, Option<u32>), Wrong> {
        const WRONG: Reason = "a quantity is written `{2}`, `{2,}` or `{2,5}`";
        let min = self.number()?.ok_or_else(|| self.wrong(WRONG))?;
        let max = if self.reader.take_raw(',') { self.number()? } else { Some(min) };
        if !self.reader.take_raw('}') {
            return Err(self.wrong(WRONG));
        }
        if max.is_some_and(|max| max < min) {
            return Err(self.wrong("the largest quantity is below the least"));
        }
        Ok((min, max))
    }

    fn number(&mut self) -> Result<Option<u32>, Wrong> {
        let mut number = None;
        while let Some(digit) = self.reader.raw().and_then(|token| token.character.to_digit(10)) {
            self.reader.advance();
            let next = number.unwrap_or(0_u32).checked_mul(10).and_then(|number| number.checked_add(digit));
            number = Some(next.ok_or_else(|| self.wrong("the quantity is too large"))?);
        }
        Ok(number)
    }

    /// What follows a `(`. Flags that are set inside hold to its end.
    fn group(&mut self) -> Result<Option<Node>, Wrong> {
        let outside = self.flags;
        if !self.reader.take_raw('?') {
            return self.capture(outside).map(Some);
        }
        let around = |behind, negative| move |node| Node::Around { node: Box::new(node), behind, negative };
        for (opening, behind, negative) in
            [("=", false, false), ("!", false, true), ("<=", true, false), ("<!", true, true)]
        {
            if self.reader.take_text(opening) {
                return self.closed(outside, around(behind, negative)).map(Some);
            }
        }
        if self.reader.take_raw(':') {
            return self.closed(outside, |node| node).map(Some);
        }
        if self.reader.take_raw('>') {
            return self.closed(outside, |node| Node::Atomic(Box::new(node))).map(Some);
        }
        if self.reader.take_raw('<') {
            let name = self.group_name()?;
            if self.names.iter().any(|(known, _)| *known == name) {
                return Err(self.wrong("another group has this name"));
            }
            self.names.push((name, self.group_count + 1));
            return self.capture(outside).map(Some);
        }
        self.flags_group(outside)
    }

    fn capture(&mut self, outside: Flags) -> Result<Node, Wrong> {
        self.group_count += 1;
        let group = self.group_count;
        self.open.push(group);
        let node = self.closed(outside, |node| Node::Capture(group, Box::new(node)))?;
        self.open.pop();
        Ok(node)
    }

    fn closed(&mut self, outside: Flags, build: impl FnOnce(Node) -> Node) -> Result<Node, Wrong> {
        let node = self.either()?;
        if !self.reader.take(')', self.flags) {
            return Err(self.wrong("a `)` is missing"));
        }
        self.flags = outside;
        Ok(build(node))
    }

    /// `name>`
    fn group_name(&mut self) -> Result<String, Wrong> {
        let mut name = String::new();
        while let Some(character) = self.reader.next_raw() {
            match character {
                '>' if !name.is_empty() => return Ok(name),
                'a'..='z' | 'A'..='Z' => name.push(character),
                '0'..='9' if !name.is_empty() => name.push(character),
                _ => break,
            }
        }
        Err(self.wrong("a group name is made of letters and digits, begins with a letter and ends with `>`"))
    }

    /// `i-m)` sets flags to the end of the group around, `i-m:X)` for `X`.
    fn flags_group(&mut self, outside: Flags) -> Result<Option<Node>, Wrong> {
        let mut flags = self.flags;
        let mut value = true;
        loop {
            match self.reader.next_raw() {
                Some('-') if value => value = false,
                Some(')') => {
                    self.flags = flags;
                    return Ok(None);
                }
                Some(':') => {
                    self.flags = flags;
                    return self.closed(outside, |node| node).map(Some);
                }
                Some('i') => flags.fold = value,
                Some('u') => flags.fold_unicode = value,
                Some('m') => flags.lines = value,
                Some('s') => flags.dot_all = value,
                Some('d') => flags.unix_lines = value,
                Some('x') => flags.comments = value,
                Some('U') => {
                    flags.unicode = value;
                    flags.fold_unicode = value;
                }
                Some('c') => return Err(self.wrong("canonical equivalence is not supported")),
                Some(_) => return Err(self.wrong("there is no such flag or group")),
                None => return Err(self.wrong("a `)` is missing")),
            }
        }
    }

    /// What a `\` and what follows stands for, outside a class or in it.
    pub(super) fn escape(&mut self, in_class: bool) -> Result<Escaped, Wrong> {
        let letter = self.reader.next_raw().ok_or_else(|| self.wrong(UNFINISHED))?;
        if let Some(set) = set::escaped(letter, self.flags) {
            return Ok(Escaped::Node(Node::Set(set)));
        }
        if let Some(character) = self.named_character(letter)? {
            return Ok(Escaped::Char(character));
        }
        if matches!(letter, 'p' | 'P') {
            let set = self.property()?;
            return Ok(Escaped::Node(Node::Set(if letter == 'P' { set::negated(set) } else { set })));
        }
        if in_class {
            return if letter.is_ascii_alphanumeric() {
                Err(self.wrong(NO_SUCH_ESCAPE))
            } else {
                Ok(Escaped::Char(letter))
            };
        }
        self.outside_class(letter)
    }

    /// Escapes that are more than a character and do not stand in classes.
    fn outside_class(&mut self, letter: char) -> Result<Escaped, Wrong> {
        let flags = self.flags;
        Ok(Escaped::Node(match letter {
            '1'..='9' => self.back_reference(letter)?,
            'k' => self.named_reference()?,
            'A' => Node::Edge(Edge::Start),
            'z' => Node::Edge(Edge::End),
            'Z' => Node::Edge(Edge::LastEnd(flags.ends())),
            'G' => Node::Edge(Edge::Previous),
            'b' if self.reader.take_text("{g}") => {
                return Err(self.wrong("grapheme clusters are not supported"));
            }
            'b' => Node::Edge(Edge::Word(flags.words())),
            'B' => Node::Edge(Edge::NotWord(flags.words())),
            'R' => {
                let pair = Node::Concat(vec![Node::Char('\r'), Node::Char('\n')]);
                Node::Either(vec![pair, Node::Set(set::vertical())])
            }
            'X' => return Err(self.wrong("grapheme clusters are not supported")),
            'N' => return Err(self.wrong("names of characters are not supported")),
            _ if letter.is_ascii_alphanumeric() => return Err(self.wrong(NO_SUCH_ESCAPE)),
            _ => return Ok(Escaped::Char(letter)),
        }))
    }

    /// The character that an escape names, if it names one.
    fn named_character(&mut self, letter: char) -> Result<Option<char>, Wrong> {
        Ok(Some(match letter {
            't' => '\t',
            'n' => '\n',
            'r' => '\r',
            'f' => '\u{c}',
            'a' => '\u{7}',
            'e' => '\u{1b}',
            '0' => self.octal()?,
            'x' => self.hexadecimal()?,
            'u' => self.unicode()?,
            'c' => {
                let control = self.reader.next_raw().ok_or_else(|| self.wrong(UNFINISHED))?;
                char::from_u32(u32::from(control) ^ 64).ok_or_else(|| self.wrong(NO_SUCH_ESCAPE))?
            }
            _ => return Ok(None),
        }))
    }

    /// `\0` and one to three octal digits, at most 377.
    fn octal(&mut self) -> Result<char, Wrong> {
        let mut code = None;
        for count in 0..3 {
            let digit =
                self.reader.raw().filter(|token| !token.quoted).and_then(|token| token.character.to_digit(8));
            let Some(digit) = digit.filter(|_| count < 2 || code.is_some_and(|code| code < 0o40)) else {
                break;
            };
            self.reader.advance();
            code = Some(code.unwrap_or(0) * 8 + digit);
        }
        code.and_then(char::from_u32).ok_or_else(|| self.wrong("`\\0` is followed by octal digits"))
    }

    /// `\x41` or `\x{10ffff}`
    fn hexadecimal(&mut self) -> Result<char, Wrong> {
        const WRONG: Reason = "a character is written `\\x41` or `\\x{10ffff}`";
        let code = if self.reader.take_raw('{') {
            let mut code = self.hex_digit().ok_or_else(|| self.wrong(WRONG))?;
            while let Some(digit) = self.hex_digit() {
                code = code * 16 + digit;
                if code > u32::from(char::MAX) {
                    return Err(self.wrong(WRONG));
                }
            }
            if self.reader.take_raw('}') { Some(code) } else { None }
        } else {
            self.hex_digits(2)
        };
        code.and_then(char::from_u32).ok_or_else(|| self.wrong(WRONG))
    }

    /// `\u0041`, or two of them for a character beyond.
    fn unicode(&mut self) -> Result<char, Wrong> {
        const WRONG: Reason = "a character is written `\\u0041`, and half a surrogate pair is none";
        let first = self.hex_digits(4).ok_or_else(|| self.wrong(WRONG))?;
        let mut code = first;
        if (0xd800..0xdc00).contains(&first) && self.reader.take_text("\\u") {
            let second = self.hex_digits(4).filter(|low| (0xdc00..0xe000).contains(low));
            code = 0x10000 + ((first - 0xd800) << 10) + (second.ok_or_else(|| self.wrong(WRONG))? - 0xdc00);
        }
        char::from_u32(code).ok_or_else(|| self.wrong(WRONG))
    }

    fn hex_digits(&mut self, count: u32) -> Option<u32> {
        (0..count).try_fold(0, |code, _| Some(code * 16 + self.hex_digit()?))
    }

    fn hex_digit(&mut self) -> Option<u32> {
        let digit = self.reader.raw()?.character.to_digit(16)?;
        self.reader.advance();
        Some(digit)
    }

    /// `\pL` or `\p{Lu}`, behind the `p`.
    fn property(&mut self) -> Result<set::Set, Wrong> {
        let mut name = String::new();
        if self.reader.take_raw('{') {
            loop {
                match self.reader.next_raw() {
                    Some('}') => break,
                    Some(character) => name.push(character),
                    None => return Err(self.wrong("a property is written `\\pL` or `\\p{Lu}`")),
                }
            }
        } else {
            name.push(self.reader.next_raw().ok_or_else(|| self.wrong(UNFINISHED))?);
        }
        set::property(&name, self.flags).map_err(|reason| self.wrong(reason))
    }

    /// `\1`; more digits count as long as there are so many groups before.
    fn back_reference(&mut self, first: char) -> Result<Node, Wrong> {
        let mut group = first.to_digit(10).unwrap_or(0);
        while let Some(digit) = self.reader.raw().and_then(|token| token.character.to_digit(10)) {
            let longer = group.saturating_mul(10).saturating_add(digit);
            if usize::try_from(longer).is_ok_and(|longer| longer > self.group_count) {
                break;
            }
            self.reader.advance();
            group = longer;
        }
        self.reference(usize::try_from(group).unwrap_or(usize::MAX))
    }

    fn named_reference(&mut self) -> Result<Node, Wrong> {
        if !self.reader.take_raw('<') {
            return Err(self.wrong("a group is named `\\k<name>`"));
        }
        let name = self.group_name()?;
        match self.names.iter().find(|(known, _)| *known == name) {
            Some((_, group)) => self.reference(*group),
            None => Err(self.wrong("there is no group of this name before")),
        }
    }

    fn reference(&self, group: usize) -> Result<Node, Wrong> {
        if group > self.group_count {
            return Ok(Node::Never);
        }
        if self.open.contains(&group) {
            return Err(self.wrong("a group cannot refer to itself"));
        }
        let folded = match (self.flags.fold, self.flags.fold_unicode) {
            (false, _) => Fold::No,
            (true, false) => Fold::Ascii,
            (true, true) => Fold::Unicode,
        };
        Ok(Node::Back { group, folded })
    }
}

/// Whether there is a reference that ignores the case of ASCII letters only, to a group that may match other letters: the
/// engine ignores the case of all.
fn has_inexact_reference(node: &Node, whole: &Node) -> bool {
    if let Node::Back { group, folded: Fold::Ascii } = node {
        return whole.capture(*group).is_none_or(|group| !group.is_caseless_beyond_ascii());
    }
    node.children().iter().any(|child| has_inexact_reference(child, whole))
}

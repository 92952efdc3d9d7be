//! Choosing which lines end: a group is written on one line if it fits, else all its own line ends are taken.

/// Most characters of a line, where the words allow it.
const WIDTH: usize = 100;

/// Blanks before a line, a level.
const INDENT: usize = 4;

/// How far two things are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    /// On one line.
    Blank,
    /// On two lines.
    Line,
    /// With an empty line between.
    EmptyLine,
}

/// A piece of a text to be laid out.
#[derive(Clone, Debug)]
pub(super) enum Piece<'s> {
    /// A word.
    Word(&'s str),
    /// A comment; `before` is where its line must start, `ends_line` whether nothing may follow on its line.
    Comment { text: &'s str, before: Gap, ends_line: bool },
    /// A gap that is there in any case.
    Gap(Gap),
    /// A line end if the group is broken, else a blank or nothing.
    Break { blank: bool },
    /// The start of a group. `broken`: it has to be, because of a comment in it.
    Open { broken: bool },
    /// The end of a group.
    Close,
    /// What follows, up to the `Out`, is one level further in, on lines that start after this.
    In,
    /// The end of that.
    Out,
}

/// Writes the pieces as text.
pub(super) fn lay_out(pieces: Vec<Piece<'_>>) -> String {
    let mut layout = Layout { out: String::new(), column: 0, level: 0, gap: None };
    // Whether each open group is broken. The text around all groups is: its line ends are all taken.
    let mut broken = vec![];
    for (index, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Word(word) => layout.write(word),
            Piece::Comment { text, before, ends_line } => layout.comment(text, *before, *ends_line),
            Piece::Gap(gap) => layout.leave(*gap),
            Piece::Break { blank } => match (broken.last(), blank) {
                (Some(true) | None, _) => layout.leave(Gap::Line),
                (Some(false), true) => layout.leave(Gap::Blank),
                (Some(false), false) => {}
            },
            Piece::Open { broken: must_be } => {
                let outer = broken.last().copied().unwrap_or(true);
                let room = WIDTH.saturating_sub(layout.next_column());
                broken.push(outer && (*must_be || !fits(pieces.get(index..).unwrap_or_default(), room)));
            }
            Piece::Close => drop(broken.pop()),
            Piece::In => layout.level += 1,
            Piece::Out => layout.level -= 1,
        }
    }
    layout.out.push('\n');
    layout.out
}

/// Whether a group, and what follows up to the next line end, has room on one line.
fn fits(pieces: &[Piece<'_>], room: usize) -> bool {
    let mut left = room;
    let mut open = 0_usize;
    // Behind the group, the line may end at the first place where any line may.
    let mut behind = false;
    for piece in pieces {
        let width = match piece {
            Piece::Word(word) => match word.split_once('\n') {
                // The line ends within the word.
                Some((first, _)) => return width(first) <= left,
                None => width(word),
            },
            // One that must not share its line has broken the group already.
            Piece::Comment { before: Gap::Line | Gap::EmptyLine, .. }
            | Piece::Comment { ends_line: true, .. } => {
                return true;
            }
            Piece::Comment { text, .. } => match text.split_once('\n') {
                Some((first, _)) => return width(first) < left,
                None => width(text) + 2,
            },
            Piece::Gap(Gap::Blank) => 1,
            Piece::Gap(Gap::Line | Gap::EmptyLine) => return true,
            Piece::Break { .. } if behind => return true,
            Piece::Break { blank } => usize::from(*blank),
            Piece::Open { .. } => {
                open += 1;
                0
            }
            Piece::Close => {
                open = open.saturating_sub(1);
                behind |= open == 0;
                0
            }
            Piece::In | Piece::Out => 0,
        };
        match left.checked_sub(width) {
            Some(rest) => left = rest,
            None => return false,
        }
    }
    true
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// The text so far.
struct Layout {
    out: String,
    /// Characters on the last line.
    column: usize,
    level: usize,
    /// What stands before the next word.
    gap: Option<Gap>,
}

impl Layout {
    /// At least that gap comes before the next word.
    fn leave(&mut self, gap: Gap) {
        self.gap = self.gap.max(Some(gap));
    }

    /// Where the next word will start.
    fn next_column(&self) -> usize {
        match self.gap {
            None => self.column,
            Some(Gap::Blank) => self.column + 1,
            Some(Gap::Line | Gap::EmptyLine) => self.level * INDENT,
        }
    }

    fn write(&mut self, word: &str) {
        let gap = self.gap.take().filter(|_| !self.out.is_empty());
        match gap {
            None => {}
            Some(Gap::Blank) => {
                self.out.push(' ');
                self.column += 1;
            }
            Some(Gap::Line) => self.start_line("\n"),
            Some(Gap::EmptyLine) => self.start_line("\n\n"),
        }
        self.out.push_str(word);
        match word.rsplit_once('\n') {
            Some((_, last)) => self.column = width(last),
            None => self.column += width(word),
        }
    }

    fn start_line(&mut self, feeds: &str) {
        self.out.push_str(feeds);
        self.column = self.level * INDENT;
        self.out.extend(std::iter::repeat_n(' ', self.column));
    }

    fn comment(&mut self, text: &str, before: Gap, ends_line: bool) {
        // An opening bracket and a comment need no blank between them.
        if before != Gap::Blank || !self.out.ends_with(['(', '[']) {
            self.leave(before);
        }
        self.write(text);
        self.leave(if ends_line { Gap::Line } else { Gap::Blank });
    }
}

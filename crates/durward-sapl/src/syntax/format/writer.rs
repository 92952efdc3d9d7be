//! The words and comments of a text, handed out in order, as pieces of a layout.

use super::super::diagnostic::Problems;
use super::super::lexer::tokens_and_comments;
use super::super::token::{Token, TokenKind as K};
use super::layout::{Gap, Piece};

/// Takes the words of a text one after the other, each with the comments around it.
pub(super) struct Writer<'s> {
    source: &'s str,
    /// Words and comments; the last one is the end.
    tokens: Vec<Token>,
    position: usize,
    pieces: Vec<Piece<'s>>,
    /// Where the open groups start in `pieces`, and whether each must be broken.
    open: Vec<(usize, bool)>,
}

impl<'s> Writer<'s> {
    /// `source` is a text without errors.
    pub(super) fn new(source: &'s str) -> Writer<'s> {
        let tokens = tokens_and_comments(source, &mut Problems::default());
        Writer { source, tokens, position: 0, pieces: Vec::new(), open: Vec::new() }
    }

    /// The pieces, with the comments at the end.
    pub(super) fn finish(mut self) -> Vec<Piece<'s>> {
        self.trailing();
        self.leading();
        self.pieces
    }

    fn at(&self, position: usize) -> Token {
        let token = self.tokens.get(position).or(self.tokens.last());
        token.copied().unwrap_or(Token { kind: K::End, span: Default::default() })
    }

    /// The next word, comments before it left aside.
    pub(super) fn next(&self) -> Token {
        let mut position = self.position;
        while self.at(position).kind.is_comment() {
            position += 1;
        }
        self.at(position)
    }

    pub(super) fn is(&self, kind: K) -> bool {
        self.next().kind == kind
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        let next = self.next();
        next.kind == K::Word && next.span.text(self.source) == word
    }

    /// Writes the next word, with the comments before it.
    pub(super) fn word(&mut self) {
        if !self.takes_over_comments() {
            self.trailing();
            self.leading();
        }
        self.take();
    }

    fn take(&mut self) {
        let token = self.at(self.position);
        if token.kind != K::End {
            self.position += 1;
            self.pieces.push(Piece::Word(token.span.text(self.source)));
        }
    }

    /// A `,` or `;` behind comments at the end of a line goes before them.
    fn takes_over_comments(&mut self) -> bool {
        let end = self.end_of_trailing();
        if end == self.position || !matches!(self.at(end).kind, K::Comma | K::Semicolon) {
            return false;
        }
        // The comments move one place on.
        if let Some(moved) = self.tokens.get_mut(self.position..=end) {
            moved.rotate_right(1);
        }
        true
    }

    /// The position after the comments that stand on the line of the word before them and end it.
    fn end_of_trailing(&self) -> usize {
        let mut position = self.position;
        while position > 0 && self.at(position).kind.is_comment() && self.gap_before(position) == Gap::Blank {
            position += 1;
            if self.ends_line(position - 1) {
                return position;
            }
        }
        self.position
    }

    /// How far a word or comment is from what stands before it.
    fn gap_before(&self, position: usize) -> Gap {
        let start = position.checked_sub(1).map_or(0, |before| self.at(before).span.end);
        let between = self.source.get(start as usize..self.at(position).span.start as usize);
        match between.unwrap_or_default().bytes().filter(|byte| *byte == b'\n').count() {
            0 => Gap::Blank,
            1 => Gap::Line,
            _ => Gap::EmptyLine,
        }
    }

    /// Whether nothing can follow, or nothing follows, on the line of a comment.
    fn ends_line(&self, position: usize) -> bool {
        self.at(position).kind == K::LineComment || self.gap_before(position + 1) > Gap::Blank
    }

    /// Leaves at least that gap before the next word.
    pub(super) fn gap(&mut self, gap: Gap) {
        self.trailing();
        self.pieces.push(Piece::Gap(gap));
    }

    /// Starts a statement on a new line, after an empty one if there is one in the source.
    pub(super) fn line(&mut self) {
        self.trailing();
        self.statement(self.gap_before(self.position).max(Gap::Line));
    }

    /// Starts a statement that far from what stands before it. An empty line behind the comments before it is kept.
    pub(super) fn statement(&mut self, gap: Gap) {
        self.trailing();
        self.pieces.push(Piece::Gap(gap));
        let comments = self.position;
        self.leading();
        if self.position > comments && self.gap_before(self.position) == Gap::EmptyLine {
            self.pieces.push(Piece::Gap(Gap::EmptyLine));
        }
    }

    /// A place where the line may end; if it does not, a blank or nothing stands there.
    pub(super) fn line_may_end(&mut self, blank: bool) {
        self.trailing();
        self.pieces.push(Piece::Break { blank });
    }

    /// Starts a group.
    pub(super) fn open(&mut self) {
        self.trailing();
        // A comment before the group is no reason to break it.
        self.leading();
        self.open.push((self.pieces.len(), false));
        self.pieces.push(Piece::Open { broken: false });
    }

    /// Ends a group. A comment at the end of its last line is written after it.
    pub(super) fn close(&mut self) {
        self.pieces.push(Piece::Close);
        let Some((start, broken)) = self.open.pop() else { return };
        if let Some(piece) = self.pieces.get_mut(start) {
            *piece = Piece::Open { broken };
        }
        if let Some((_, outer)) = self.open.last_mut() {
            *outer |= broken;
        }
    }

    /// What follows is one level further in.
    pub(super) fn further_in(&mut self) {
        self.trailing();
        self.pieces.push(Piece::In);
    }

    /// What follows is one level further out.
    pub(super) fn further_out(&mut self) {
        self.pieces.push(Piece::Out);
    }

    /// Writes the comments that end the line of the last word.
    pub(super) fn trailing(&mut self) {
        self.comments_up_to(self.end_of_trailing());
    }

    /// Writes the comments before the next word.
    pub(super) fn leading(&mut self) {
        let mut end = self.position;
        while self.at(end).kind.is_comment() {
            end += 1;
        }
        self.comments_up_to(end);
    }

    fn comments_up_to(&mut self, end: usize) {
        while self.position < end {
            let text = self.at(self.position).span.text(self.source).trim_end();
            let before = self.gap_before(self.position);
            let ends_line = self.ends_line(self.position);
            if let Some((_, broken)) = self.open.last_mut() {
                *broken |= ends_line || before > Gap::Blank || text.contains('\n');
            }
            self.pieces.push(Piece::Comment { text, before, ends_line });
            self.position += 1;
        }
    }
}

//! Entries one after the other: lines put together until they are whole, and answered.

use std::io::{self, BufRead, BufReader, Read, StdinLock};
use std::process::ExitCode;

use durward_pdp::sapl::syntax::{DOCUMENT_BYTES_MAX, is_open, starts_document};

use super::session::{Answer, EntryPlace, Session};
use crate::failure::{CommandError, CommandResult, SUCCESS};
use crate::to_stdout;

/// What a terminal shows first.
pub(super) const GREETING: &str = "Expressions of SAPL; `:help` shows what else there is, `:quit` ends.\n";

/// Stands before an entry.
pub(super) const PROMPT: &str = "sapl> ";

/// Stands before each further line of one.
#[cfg(not(feature = "repl"))]
const GOES_ON: &str = "....> ";

/// What was read.
pub(super) enum Line {
    /// One line or several, without the last line feed.
    Text(String),
    /// What was typed of the entry is to be forgotten.
    #[cfg(feature = "repl")]
    Dropped,
    /// There is no more.
    End,
}

/// Where lines come from.
pub(super) trait Lines {
    /// How messages call it.
    const SOURCE: &'static str;
    /// Whether the exit code says how entries went, and their places are those in all that is read.
    const IS_FILE: bool;

    /// Reads the next line. `is_first` says whether an entry begins with it.
    fn read(&mut self, session: &Session, is_first: bool) -> Result<Line, CommandError>;
}

/// Answers entries up to the end. Each entry that fails is told of, and the next one is read.
pub(super) fn run<L: Lines>(mut session: Session, lines: &mut L) -> CommandResult {
    let mut entry: Option<String> = None;
    let mut code = SUCCESS;
    let (mut first, mut next) = (1_u32, 1_u32);
    loop {
        let text = match lines.read(&session, entry.is_none())? {
            Line::Text(text) => text,
            #[cfg(feature = "repl")]
            Line::Dropped => {
                entry = None;
                continue;
            }
            Line::End => {
                if let Some(begun) = entry {
                    code = code.max(answer(&mut session, &begun, place::<L>(first))?.code);
                }
                break;
            }
        };
        if entry.is_none() {
            first = next;
        }
        next = next.saturating_add(1);
        let whole = match entry.take() {
            Some(before) => before + "\n" + &text,
            None => text,
        };
        if !is_whole(&whole) {
            entry = Some(whole);
            continue;
        }
        let answered = answer(&mut session, &whole, place::<L>(first))?;
        code = code.max(answered.code);
        if answered.is_end {
            break;
        }
    }
    Ok(ExitCode::from(if L::IS_FILE { code } else { SUCCESS }))
}

fn place<L: Lines>(line: u32) -> EntryPlace {
    EntryPlace { source: L::SOURCE, line: if L::IS_FILE { line } else { 1 } }
}

/// How an entry went.
struct Answered {
    code: u8,
    is_end: bool,
}

fn answer(session: &mut Session, entry: &str, place: EntryPlace) -> Result<Answered, CommandError> {
    match session.enter(entry, place) {
        Ok(Answer::Nothing) => Ok(Answered { code: SUCCESS, is_end: false }),
        Ok(Answer::End) => Ok(Answered { code: SUCCESS, is_end: true }),
        Ok(Answer::Text(text)) => {
            to_stdout(&(text + "\n"))?;
            Ok(Answered { code: SUCCESS, is_end: false })
        }
        Err(error) => Ok(Answered { code: error.report(), is_end: false }),
    }
}

/// Whether nothing more belongs to an entry: no bracket is open, and a document ends with an empty line.
pub(super) fn is_whole(entry: &str) -> bool {
    if is_open(entry) {
        return false;
    }
    let last = entry.rsplit('\n').next().unwrap_or_default();
    last.trim().is_empty() || !starts_document(entry)
}

/// Lines of a pipe or a file.
pub(super) struct Piped(BufReader<StdinLock<'static>>);

impl Piped {
    pub(super) fn new() -> Piped {
        Piped(BufReader::new(io::stdin().lock()))
    }
}

impl Lines for Piped {
    const SOURCE: &'static str = "input";
    const IS_FILE: bool = true;

    fn read(&mut self, _: &Session, _: bool) -> Result<Line, CommandError> {
        next_line(&mut self.0)
    }
}

/// Lines of a terminal, as the terminal itself lets them be edited.
#[cfg(not(feature = "repl"))]
pub(super) struct Typed(BufReader<StdinLock<'static>>);

#[cfg(not(feature = "repl"))]
impl Typed {
    pub(super) fn new() -> Typed {
        Typed(BufReader::new(io::stdin().lock()))
    }
}

#[cfg(not(feature = "repl"))]
impl Lines for Typed {
    const SOURCE: &'static str = "entry";
    const IS_FILE: bool = false;

    fn read(&mut self, _: &Session, is_first: bool) -> Result<Line, CommandError> {
        to_stdout(if is_first { PROMPT } else { GOES_ON })?;
        next_line(&mut self.0)
    }
}

/// A line without its end. No more is read of one than an expression may have.
fn next_line(input: &mut impl BufRead) -> Result<Line, CommandError> {
    let mut line = Vec::new();
    // One more byte for its end, one to see that it is too long.
    let bytes_max = DOCUMENT_BYTES_MAX as u64 + 2;
    if input.take(bytes_max).read_until(b'\n', &mut line)? == 0 {
        return Ok(Line::End);
    }
    if line.len() as u64 == bytes_max {
        return Err(CommandError::new(format!("a line has more than {DOCUMENT_BYTES_MAX} bytes")));
    }
    let text = String::from_utf8(line)
        .map_err(|_| CommandError::new("a line is not UTF-8").hint("save the text as UTF-8"))?;
    Ok(Line::Text(text.trim_end_matches(['\r', '\n']).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_whole_when_nothing_is_open_and_a_document_has_ended() {
        for whole in
            ["1", "", ":help", "let x = 1", "policy \"p\" permit\n", "policy \"p\" permit\n  ", "[1\n]", ")"]
        {
            assert!(is_whole(whole), "{whole:?}");
        }
        for begun in
            ["[1", "let x = {", "policy \"p\" permit", "set \"s\"\nfirst or deny", "policy \"p\" permit [\n"]
        {
            assert!(!is_whole(begun), "{begun:?}");
        }
    }

    #[test]
    fn lines_come_without_their_ends() {
        let mut input: &[u8] = b"a\r\n\nb";
        let mut read =
            || if let Line::Text(text) = next_line(&mut input).unwrap() { Some(text) } else { None };
        assert_eq!(
            [read(), read(), read(), read()],
            [Some("a".into()), Some("".into()), Some("b".into()), None]
        );
    }
}

//! Entries of a terminal, with what was entered before and with completion.

use std::env;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper};

use super::complete::candidates;
use super::prompt::{Line, Lines, PROMPT, is_whole};
use super::session::Session;
use crate::failure::{CommandError, warn, without_number};

/// How many entries are kept; the oldest ones go first.
const HISTORY_ENTRIES_MAX: usize = 1_000;

/// A terminal whose entries are edited.
pub(super) struct Edited {
    editor: Editor<Assistant, DefaultHistory>,
    /// `None` where nothing can be kept.
    history: Option<PathBuf>,
}

impl Edited {
    pub(super) fn new() -> Result<Edited, CommandError> {
        let config = Config::builder().max_history_size(HISTORY_ENTRIES_MAX).map_err(failed)?;
        // Who begins an entry with a blank does not want it kept.
        let config = config.history_ignore_space(true).completion_type(CompletionType::List).build();
        let mut editor = Editor::with_config(config).map_err(failed)?;
        editor.set_helper(Some(Assistant { names: Vec::new() }));
        let mut edited = Edited { editor, history: folder().map(|folder| folder.join("history")) };
        if let Some(path) = &edited.history
            && let Err(error) = open(path, &mut edited.editor)
        {
            edited.give_up(&error);
        }
        Ok(edited)
    }

    fn keep(&mut self, entry: &str) {
        let Some(path) = &self.history else { return };
        let kept = self.editor.add_history_entry(entry).and_then(|_| self.editor.append_history(path));
        if let Err(error) = kept {
            self.give_up(&error);
        }
    }

    /// Keeps nothing from now on.
    fn give_up(&mut self, error: &ReadlineError) {
        if let Some(path) = self.history.take() {
            let reason = without_number(&error.to_string());
            warn(format_args!("entries are not kept: {}: {reason}", path.display()));
        }
    }
}

impl Lines for Edited {
    const SOURCE: &'static str = "entry";
    const IS_FILE: bool = false;

    fn read(&mut self, session: &Session, _: bool) -> Result<Line, CommandError> {
        if let Some(assistant) = self.editor.helper_mut() {
            assistant.names = session.names().map(str::to_owned).collect();
        }
        match self.editor.readline(PROMPT) {
            Ok(entry) => {
                self.keep(&entry);
                Ok(Line::Text(entry))
            }
            Err(ReadlineError::Interrupted) => Ok(Line::Dropped),
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(error) => Err(failed(error)),
        }
    }
}

fn failed(error: ReadlineError) -> CommandError {
    CommandError::new(format!("the terminal cannot be read: {}", without_number(&error.to_string())))
}

/// Where durward keeps what it remembers for this user.
fn folder() -> Option<PathBuf> {
    let absolute =
        |variable: &str| env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("durward"))
}

/// Reads what was kept. Entries may hold tokens and names of people: nobody else may read them.
fn open(path: &Path, editor: &mut Editor<Assistant, DefaultHistory>) -> Result<(), ReadlineError> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    match fs::set_permissions(path, Permissions::from_mode(0o600)) {
        Ok(()) => editor.load_history(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// What helps while an entry is typed.
struct Assistant {
    /// The names that entries can use, beside functions.
    names: Vec<String>,
}

impl Helper for Assistant {}

impl Highlighter for Assistant {}

impl Hinter for Assistant {
    type Hint = String;
}

impl Completer for Assistant {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(candidates(line.get(..at).unwrap_or_default(), &self.names))
    }
}

impl Validator for Assistant {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match is_whole(context.input()) {
            true => ValidationResult::Valid(None),
            false => ValidationResult::Incomplete,
        })
    }
}

//! What PostgreSQL, or its client, says went wrong, in one line. Neither repeats a password.

use std::error::Error as _;

use durward_settings::line_and_column;
use tokio_postgres::Error;
use tokio_postgres::error::ErrorPosition;

/// What goes wrong with a connection.
pub(super) fn in_words(error: &Error) -> String {
    if let Some(said) = error.as_db_error() {
        let hint = said.hint().map_or_else(String::new, |hint| format!(" ({hint})"));
        return format!("the database says: {}{hint}", one_line(said.message()));
    }
    let reason = error.source().map(|source| source.to_string());
    match reason.as_deref() {
        Some("password missing") => {
            "the database asks for a password; name a file with `password_path`".to_owned()
        }
        Some(reason) => format!("{error}: {}", one_line(reason)),
        None => error.to_string(),
    }
}

/// What goes wrong with a query, with the place in it. The database saw `before` in front of it.
pub(super) fn of_query(error: &Error, query: &str, before: &str) -> String {
    let words = in_words(error);
    let position = error.as_db_error().and_then(|said| said.position());
    let Some(ErrorPosition::Original(position)) = position else { return words };
    let chars_before = before.chars().count();
    // Counted in characters from 1.
    let at = usize::try_from(*position).ok().and_then(|position| position.checked_sub(chars_before + 1));
    let Some((offset, _)) = at.and_then(|at| query.char_indices().nth(at)) else { return words };
    let (line, column) = line_and_column(query, offset);
    format!("{words} (line {line}, column {column} of `query`)")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

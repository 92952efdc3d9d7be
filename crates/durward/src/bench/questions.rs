//! The questions of a file that is measured with, one on each line as `durward decide --requests` takes them.

use std::path::Path;

use durward_bench::embedded::{self, RequestText};

use crate::decide::{InputLine, LineError, for_each_line, in_words, name_of, request_text};
use crate::failure::CommandError;
use crate::wire::{FormArgument, MessageForm};

/// The requests of all lines, as text.
pub(super) fn read_request_texts(path: &Path) -> Result<Vec<RequestText>, CommandError> {
    let mut texts = Vec::new();
    let mut problem = None;
    let result = for_each_line(path, |number, line, _| {
        let name = format!("{}:{number}", name_of(path));
        match request_text_of(line) {
            Ok((text, form)) => texts.push(RequestText { name, text, form }),
            Err(error) => {
                let _ = problem.get_or_insert_with(|| format!("{name}: {error}"));
            }
        }
        Ok(())
    });
    match result {
        Err(LineError::Input(failure)) => return Err(failure),
        // Nothing is written here.
        Err(LineError::Output(_)) | Ok(()) => {}
    }
    match problem {
        Some(problem) => Err(CommandError::new(problem)
            .hint("a line is {\"id\": ..., \"request\": ...}, or has a `subscription`")),
        None => Ok(texts),
    }
}

fn request_text_of(line: &[u8]) -> Result<(Vec<u8>, embedded::RequestFormat), String> {
    let line: InputLine<'_> = serde_json::from_slice(line).map_err(|error| in_words(&error))?;
    if let Some(subscription) = line.subscription() {
        return Ok((subscription.as_bytes().to_vec(), embedded::RequestFormat::Subscription));
    }
    let (text, form) = request_text(&line, FormArgument::Auto)?;
    let form = match form {
        MessageForm::Xml => embedded::RequestFormat::Xml,
        MessageForm::Json => embedded::RequestFormat::Json,
    };
    Ok((text.into_owned(), form))
}

//! The questions of a file that is measured with, one on each line as `durward decide --requests` takes them.

use std::path::Path;

use durward_bench::embedded::{self, RequestText};

use crate::decide::{Line, LineError, for_each_line, in_words, name_of, request_text};
use crate::failure::Failure;
use crate::wire::{Form, Format};

/// The requests of all lines, as text.
pub(super) fn read_request_texts(path: &Path) -> Result<Vec<RequestText>, Failure> {
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
        Some(problem) => {
            Err(Failure::new(problem)
                .hint("a line is {\"id\": ..., \"request\": ...}, or has a `subscription`"))
        }
        None => Ok(texts),
    }
}

fn request_text_of(line: &[u8]) -> Result<(Vec<u8>, embedded::Form), String> {
    let line: Line<'_> = serde_json::from_slice(line).map_err(|error| in_words(&error))?;
    if let Some(subscription) = line.subscription() {
        return Ok((subscription.as_bytes().to_vec(), embedded::Form::Subscription));
    }
    let (text, form) = request_text(&line, Format::Auto)?;
    let form = match form {
        Form::Xml => embedded::Form::Xml,
        Form::Json => embedded::Form::Json,
    };
    Ok((text.into_owned(), form))
}

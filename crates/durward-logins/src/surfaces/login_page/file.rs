//! The files of a theme or a language, and what is wrong with them, with the line.

use std::fs;
use std::path::Path;

use durward_settings::words::{PAGES, in_our_words};
use durward_settings::{ConfigError, line_and_column};
use serde::de::DeserializeOwned;

/// What a file holds, if it is not longer than this.
pub(super) fn bytes(path: &Path, bytes_max: u64) -> Result<Vec<u8>, ConfigError> {
    let length = fs::metadata(path).map_err(|error| wrong(path, error.to_string()))?.len();
    if length > bytes_max {
        return Err(wrong(path, format!("is {length} bytes long; the most is {bytes_max}")));
    }
    fs::read(path).map_err(|error| wrong(path, error.to_string()))
}

/// The same as text.
pub(super) fn text(path: &Path, bytes_max: u64) -> Result<String, ConfigError> {
    String::from_utf8(bytes(path, bytes_max)?).map_err(|_| wrong(path, "is not UTF-8 text".to_owned()))
}

/// A mistake about a file as a whole.
pub(super) fn wrong(path: &Path, message: String) -> ConfigError {
    ConfigError { source: path.display().to_string(), place: None, message }
}

/// A text in TOML, and what messages call it.
#[derive(Clone, Copy)]
pub(super) struct Source<'s> {
    pub(super) name: &'s str,
    pub(super) text: &'s str,
}

impl Source<'_> {
    /// What the text says.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, ConfigError> {
        toml::from_str(self.text).map_err(|error| {
            let message = in_our_words(error.message(), &PAGES);
            match error.span() {
                Some(span) => self.wrong_at(span.start, message),
                None => ConfigError { source: self.name.to_owned(), place: None, message },
            }
        })
    }

    /// A mistake that begins at this byte.
    pub(super) fn wrong_at(&self, offset: usize, message: String) -> ConfigError {
        let place = Some(line_and_column(self.text, offset));
        ConfigError { source: self.name.to_owned(), place, message }
    }
}

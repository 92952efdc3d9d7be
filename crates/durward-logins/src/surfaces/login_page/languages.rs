//! All languages there are: those that are built in, and those of a directory.

use std::fs;
use std::path::{Path, PathBuf};

use durward_settings::ConfigError;

use super::accept::{choose, is_tag};
use super::file::{self, Source};
use super::language::{Language, Read, primary};

/// The longest file of a language: ten times what English takes.
const LANGUAGE_BYTES_MAX: u64 = 64 * 1024;
/// Most languages of a directory: all are kept in memory.
const LANGUAGES_MAX: usize = 64;

/// English first: whatever another language lacks is said in it.
const BUILT_IN: [(&str, &str); 2] =
    [("en", include_str!("languages/en.toml")), ("de", include_str!("languages/de.toml"))];

/// The languages, the one that is spoken when nobody wants another first.
#[derive(Clone, Debug)]
pub(super) struct Languages {
    all: Vec<Language>,
    /// What is allowed and not good.
    pub(super) warnings: Vec<String>,
}

impl Languages {
    /// Those that are built in, and those of a directory, each of which may say anew what is built in.
    pub(super) fn read(directory: Option<&Path>) -> Result<Languages, ConfigError> {
        let mut languages = Languages { all: Vec::new(), warnings: Vec::new() };
        for (tag, text) in BUILT_IN {
            languages.add(tag, Source { name: tag, text })?;
        }
        let Some(directory) = directory else { return Ok(languages) };
        for path in files(directory)? {
            let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            if !is_tag(stem) {
                let message = format!("`{stem}` is no name of a language, such as `fr` or `pt-BR`");
                return Err(file::wrong(&path, message));
            }
            let text = file::text(&path, LANGUAGE_BYTES_MAX)?;
            languages.add(stem, Source { name: &path.display().to_string(), text: &text })?;
        }
        Ok(languages)
    }

    /// Adds a language, or puts it in the place of the one that has its name.
    fn add(&mut self, tag: &str, source: Source<'_>) -> Result<(), ConfigError> {
        let place = self.place(tag);
        let kin = self.place(primary(tag));
        let base = place.or(kin).or((!self.all.is_empty()).then_some(0));
        let base = base.and_then(|place| self.all.get(place));
        let Read { language, missing } = Language::read(tag, source, base)?;
        // What a file of a language that is there already leaves out is no gap.
        let is_gap = place.or(kin).is_none() && !missing.is_empty();
        if let Some(base) = base.filter(|_| is_gap) {
            self.warnings.push(format!(
                "{}: these keys are missing, and said in `{}`: {}",
                source.name,
                base.tag,
                missing.join(", ")
            ));
        }
        match place.and_then(|place| self.all.get_mut(place)) {
            Some(known) => *known = language,
            None => self.all.push(language),
        }
        Ok(())
    }

    fn place(&self, tag: &str) -> Option<usize> {
        self.all.iter().position(|language| language.tag.eq_ignore_ascii_case(tag))
    }

    /// The one that a reader likes best, as `Accept-Language` says; English where nothing is said or nothing of it is there.
    pub(super) fn choose(&self, accept_language: Option<&str>) -> Option<&Language> {
        let tags: Vec<&str> = self.tags().collect();
        let place = accept_language.and_then(|header| choose(header, &tags)).unwrap_or(0);
        self.all.get(place)
    }

    /// The names of all.
    pub(super) fn tags(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|language| language.tag.as_str())
    }
}

/// The files of languages in a directory, in the order of their names.
fn files(directory: &Path) -> Result<Vec<PathBuf>, ConfigError> {
    let wrong = |error: std::io::Error| file::wrong(directory, error.to_string());
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            paths.push(path);
        }
    }
    if paths.len() > LANGUAGES_MAX {
        return Err(file::wrong(directory, format!("holds more than {LANGUAGES_MAX} languages")));
    }
    // A language before its regional forms, which lean on it.
    paths.sort_by_key(|path| path.file_stem().map(std::ffi::OsStr::to_owned));
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surfaces::login_page::language::KEYS;

    #[test]
    fn every_key_of_every_language_is_there() {
        assert_eq!(BUILT_IN[0].0, "en");
        let (_, english) = BUILT_IN[0];
        let scopes = |text: &str| -> Vec<String> {
            let table: toml::Table = toml::from_str(text).unwrap();
            table["scopes"].as_table().unwrap().keys().cloned().collect()
        };
        for (tag, text) in BUILT_IN {
            let Read { missing, .. } = Language::read(tag, Source { name: tag, text }, None).unwrap();
            assert_eq!(missing, Vec::<String>::new(), "{tag}");
            assert_eq!(scopes(text), scopes(english), "{tag}");
        }
        assert!(KEYS.len() > 40);
    }

    #[test]
    fn the_manual_lists_every_key() {
        let manual = durward_testdata::workspace().join("docs/login-page.md");
        let manual = std::fs::read_to_string(manual).unwrap();
        for key in KEYS {
            assert!(manual.contains(&format!("| `{key}` |")), "{key}");
        }
    }
}

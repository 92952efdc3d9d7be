//! The documents that scenarios are about, and how they name them.

use std::sync::Arc;

use durward_pdp::sapl::syntax::tree::Root;
use durward_pdp::sapl::{Document, Problem};
use smol_str::SmolStr;

use crate::error::PlayError;

/// Documents by number.
#[derive(Debug, Default)]
pub struct TestDocuments {
    all: Vec<TestDocument>,
}

/// One document.
#[derive(Debug)]
pub(crate) struct TestDocument {
    /// Where it lies; no two have the same.
    pub(crate) path: SmolStr,
    /// What scenarios call it; empty for one that they can name by its folder only.
    pub(crate) name: SmolStr,
    /// Its text, as far as it is one.
    pub(crate) text: Arc<str>,
    /// What it says, or what is wrong with it.
    pub(crate) read: Result<Document, Vec<Problem>>,
}

impl TestDocument {
    /// The name of its policy or set.
    pub(crate) fn declared(&self) -> Option<&str> {
        match self.read.as_ref().ok()?.tree.root.as_ref()? {
            Root::Policy(policy) => Some(&policy.name.text),
            Root::Set(set) => Some(&set.name.text),
        }
    }
}

impl TestDocuments {
    /// Adds a document, and gives its number; the same text of the same path is the same document. `name` is what
    /// scenarios call it: its path below the folder of all documents, without `.sapl`.
    pub fn add(&mut self, path: &str, name: &str, text: &[u8]) -> usize {
        if let Some(known) = self.all.iter().position(|known| known.path == path) {
            return known;
        }
        let read = Document::read(path, text);
        let text = String::from_utf8_lossy(text).into();
        self.all.push(TestDocument { path: path.into(), name: name.into(), text, read });
        self.all.len() - 1
    }

    pub(crate) fn all(&self) -> &[TestDocument] {
        &self.all
    }

    /// The numbers of all documents that scenarios can name.
    pub(crate) fn named_ones(&self) -> Vec<usize> {
        let named = self.all.iter().enumerate().filter(|(_, known)| !known.name.is_empty());
        named.map(|(number, _)| number).collect()
    }

    /// The document of a name: that of its file, or else that of its policy or set.
    ///
    /// # Errors
    /// There is none, or more than one.
    pub(crate) fn find(&self, name: &str) -> Result<usize, PlayError> {
        let known = || self.all.iter().enumerate().filter(|(_, known)| !known.name.is_empty());
        let file = |known: &TestDocument| known.name.rsplit('/').next() == Some(name);
        let by_path: Vec<usize> = known().filter(|(_, one)| one.name == name).map(|(at, _)| at).collect();
        let by_file: Vec<usize> = known().filter(|(_, one)| file(one)).map(|(at, _)| at).collect();
        let declared = known().filter(|(_, one)| one.declared() == Some(name));
        let declared: Vec<usize> = declared.map(|(at, _)| at).collect();
        let found =
            [by_path, by_file, declared].into_iter().find(|found| !found.is_empty()).unwrap_or_default();
        match found.as_slice() {
            [only] => Ok(*only),
            [] => Err(PlayError::new(format!("there is no document `{name}`; {}", self.names()))),
            several => {
                let count = several.len();
                Err(PlayError::new(format!("{count} documents are called `{name}`; {}", self.names())))
            }
        }
    }

    fn names(&self) -> String {
        const SHOWN_MAX: usize = 20;
        let names: Vec<&str> =
            self.all.iter().map(|known| known.name.as_str()).filter(|name| !name.is_empty()).collect();
        let shown =
            names.iter().take(SHOWN_MAX).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        match names.len() {
            0 => "there are none at all".to_owned(),
            count if count > SHOWN_MAX => format!("there are {shown} and {} more", count - SHOWN_MAX),
            _ => format!("there are {shown}"),
        }
    }
}

/// Where what scenarios name by its path comes from.
pub trait ScenarioFiles {
    /// The documents of a folder and its `pdp.json`.
    ///
    /// # Errors
    /// Why there is none, for the author of the test.
    fn folder(&self, path: &str) -> Result<FolderContents, PlayError>;

    /// A `pdp.json`: how messages call it, and its text.
    ///
    /// # Errors
    /// Why there is none, for the author of the test.
    fn configuration(&self, path: &str) -> Result<(String, Vec<u8>), PlayError>;
}

/// What a folder holds.
#[derive(Clone, Debug, Default)]
pub struct FolderContents {
    /// Paths and texts of `*.sapl` in it.
    pub documents: Vec<(String, Vec<u8>)>,
    /// Path and text of its `pdp.json`, if it has one.
    pub configuration: Option<(String, Vec<u8>)>,
}

/// There are no files at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl ScenarioFiles for NoFiles {
    fn folder(&self, path: &str) -> Result<FolderContents, PlayError> {
        Err(PlayError::new(format!("there is no folder `{path}`")))
    }

    fn configuration(&self, path: &str) -> Result<(String, Vec<u8>), PlayError> {
        Err(PlayError::new(format!("there is no file `{path}`")))
    }
}

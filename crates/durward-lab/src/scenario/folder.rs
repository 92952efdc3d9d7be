//! Where the files and variables are that a scenario names: on this machine, or sent along by whoever steers the run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{env, fmt, fs, io};

/// The folder of a scenario's files, and the environment.
///
/// An agent gets both from its leader ([`ScenarioFolder::of_sent`]) and then reads nothing of its own machine.
#[derive(Clone, Default)]
pub struct ScenarioFolder {
    path: PathBuf,
    sent: Option<Arc<SentScenario>>,
    /// What was read, where somebody wants to know.
    seen: Arc<Mutex<Option<SentScenario>>>,
}

/// Files and variables of a scenario: secrets among them, so they are never printed.
#[derive(Clone, Default)]
pub(crate) struct SentScenario {
    /// By path, as the scenario writes it.
    pub(crate) files: BTreeMap<PathBuf, Arc<[u8]>>,
    /// By name.
    pub(crate) variables: BTreeMap<String, String>,
}

/// Says how much there is, not what.
impl fmt::Debug for SentScenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sent({} files, {} variables)", self.files.len(), self.variables.len())
    }
}

impl fmt::Debug for ScenarioFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Folder").field(&self.path).finish()
    }
}

impl ScenarioFolder {
    /// Files of this folder, variables of this process.
    pub fn at(path: impl Into<PathBuf>) -> ScenarioFolder {
        ScenarioFolder { path: path.into(), ..ScenarioFolder::default() }
    }

    /// Nothing but what was sent.
    pub(crate) fn of_sent(sent: SentScenario) -> ScenarioFolder {
        ScenarioFolder { sent: Some(Arc::new(sent)), ..ScenarioFolder::default() }
    }

    /// Where a file is, for errors.
    pub fn join(&self, path: &Path) -> PathBuf {
        self.path.join(path)
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// A file that cannot be read or was not sent.
    pub fn read(&self, path: &Path) -> io::Result<Arc<[u8]>> {
        let bytes: Arc<[u8]> = match &self.sent {
            None => fs::read(self.path.join(path))?.into(),
            Some(sent) => sent.files.get(path).cloned().ok_or_else(not_sent)?,
        };
        self.note(|seen| {
            seen.files.insert(path.to_owned(), Arc::clone(&bytes));
        });
        Ok(bytes)
    }

    /// The text of a file.
    ///
    /// # Errors
    /// As of [`ScenarioFolder::read`], and bytes that are no UTF-8.
    pub fn read_text(&self, path: &Path) -> io::Result<String> {
        let bytes = self.read(path)?;
        let wrong = |_| io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8");
        String::from_utf8(bytes.to_vec()).map_err(wrong)
    }

    /// A variable of the environment; `None` where it is not set or no text.
    pub fn variable(&self, name: &str) -> Option<String> {
        let value = match &self.sent {
            None => env::var(name).ok(),
            Some(sent) => sent.variables.get(name).cloned(),
        }?;
        self.note(|seen| {
            seen.variables.insert(name.to_owned(), value.clone());
        });
        Some(value)
    }

    /// Keeps from now on what is read, until [`ScenarioFolder::recorded`] takes it.
    pub(crate) fn record(&self) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(SentScenario::default());
    }

    /// What was read since [`ScenarioFolder::record`].
    pub(crate) fn recorded(&self) -> SentScenario {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default()
    }

    fn note(&self, note: impl FnOnce(&mut SentScenario)) {
        if let Some(seen) = self.seen.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            note(seen);
        }
    }
}

fn not_sent() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "it was not sent along")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_all_that_another_one_has() {
        let folder = env::temp_dir().join(format!("durward-lab-folder-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("a.txt"), "secret").unwrap();
        let here = ScenarioFolder::at(&folder);
        here.read(Path::new("a.txt")).unwrap();
        assert!(here.recorded().files.is_empty(), "nobody had asked yet");
        here.record();
        here.read_text(Path::new("a.txt")).unwrap();
        assert!(here.variable("PATH").is_some() && here.variable("DURWARD_NO_SUCH").is_none());
        let sent = here.recorded();
        assert_eq!(format!("{sent:?}"), "Sent(1 files, 1 variables)");
        let there = ScenarioFolder::of_sent(sent);
        assert_eq!(there.read_text(Path::new("a.txt")).unwrap(), "secret");
        assert!(there.variable("PATH").is_some() && there.variable("HOME").is_none());
        // A file that is there, and was not sent.
        fs::write(folder.join("b.txt"), "other").unwrap();
        assert!(there.read(&folder.join("b.txt")).is_err());
        assert!(!format!("{there:?}").contains("secret"));
        fs::remove_dir_all(folder).unwrap();
    }
}

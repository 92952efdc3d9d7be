//! A journal that several processes write, one at a time: the server has the file of users open while `durward users` changes it.
//!
//! A process holds a lock while it reads or writes, and reads what others have written before it writes. The lock is on
//! a file of its own beside it: a journal that has grown is replaced by another file, and who waited for the old one's lock would
//! wait for nothing.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::journal::{Journal, belongs_with, private};
use crate::IdentityError;

/// How often a lock is tried that somebody else has, and how long it is waited in between: five seconds in all.
const TRIES: usize = 1_000;
const BETWEEN: Duration = Duration::from_millis(5);

/// A journal that several processes write, one at a time.
#[derive(Debug)]
pub struct SharedJournal {
    path: PathBuf,
    journal: Journal,
    /// What was read could not be understood: it is read again from the beginning.
    is_forgotten: bool,
}

/// The lock, until it is dropped.
#[derive(Debug)]
pub struct JournalLock(#[expect(dead_code, reason = "is unlocked when it is dropped")] File);

/// What others have written.
#[derive(Debug, PartialEq, Eq)]
pub enum JournalChanges {
    /// These entries, after those that were known.
    More(Vec<Vec<u8>>),
    /// The file was replaced: this is all there is.
    All(Vec<Vec<u8>>),
}

impl SharedJournal {
    /// Opens a journal, or begins one, and gives its entries.
    ///
    /// # Errors
    /// It cannot be read or written, is damaged before its end, or somebody keeps it locked.
    pub fn open(path: &Path) -> Result<(SharedJournal, Vec<Vec<u8>>), IdentityError> {
        let _held = hold(path)?;
        let (journal, entries) = Journal::open_shared(path, true)?;
        Ok((SharedJournal { path: path.to_owned(), journal, is_forgotten: false }, entries))
    }

    /// Whether there may be news. Asks for no lock.
    pub fn is_behind(&self) -> bool {
        self.is_forgotten || !self.journal.is_as_known()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was read could not be understood: it is read again, from the beginning.
    pub fn forget(&mut self) {
        self.is_forgotten = true;
    }

    /// Locks the journal, and reads what others have written.
    ///
    /// # Errors
    /// Somebody keeps it locked, or it is gone or damaged.
    pub fn hold(&mut self) -> Result<(JournalLock, JournalChanges), IdentityError> {
        let held = hold(&self.path)?;
        if !self.is_forgotten && !self.journal.is_replaced() {
            // What follows may go with something else than what is known: then all is read anew.
            if let Ok(more) = self.journal.read_more() {
                return Ok((held, JournalChanges::More(more)));
            }
        }
        self.is_forgotten = true;
        // A file that is gone is not begun anew: that would be a file without users.
        let (journal, entries) = Journal::open_shared(&self.path, false)?;
        self.journal = journal;
        self.is_forgotten = false;
        Ok((held, JournalChanges::All(entries)))
    }

    /// The journal, for whoever holds the lock.
    pub fn journal(&mut self, _held: &JournalLock) -> &mut Journal {
        &mut self.journal
    }
}

fn hold(path: &Path) -> Result<JournalLock, IdentityError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let name = PathBuf::from(name);
    let failed = |why: String| {
        IdentityError::new(format!("cannot lock `{}` by `{}`: {why}", path.display(), name.display()))
    };
    let lock = match OpenOptions::new().read(true).open(&name) {
        Ok(lock) => lock,
        Err(_) => {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            let lock = private(&mut options).open(&name).map_err(|error| failed(error.to_string()))?;
            // Whoever the journal belongs to must be able to lock it, also when somebody else was first.
            belongs_with(&lock, path);
            lock
        }
    };
    for _ in 0..TRIES {
        match lock.try_lock() {
            Ok(()) => return Ok(JournalLock(lock)),
            Err(TryLockError::WouldBlock) => std::thread::sleep(BETWEEN),
            Err(TryLockError::Error(error)) => return Err(failed(error.to_string())),
        }
    }
    Err(failed("another process has had it locked for five seconds".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let folder = std::env::temp_dir().join(format!("durward-shared-{name}-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir_all(&folder).unwrap();
            Folder(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn entries(texts: &[&str]) -> Vec<Vec<u8>> {
        texts.iter().map(|text| text.as_bytes().to_vec()).collect()
    }

    fn append(shared: &mut SharedJournal, text: &str) -> JournalChanges {
        let (held, news) = shared.hold().unwrap();
        shared.journal(&held).append(&[text.as_bytes()]).unwrap();
        news
    }

    #[test]
    fn each_reads_what_the_other_wrote_before_it_writes() {
        let folder = Folder::new("two");
        let path = folder.0.join("users");
        let (mut one, none) = SharedJournal::open(&path).unwrap();
        assert!(none.is_empty());
        let (mut other, _) = SharedJournal::open(&path).unwrap();
        append(&mut one, "a");
        assert!(other.is_behind() && !one.is_behind());
        assert_eq!(append(&mut other, "b"), JournalChanges::More(entries(&["a"])));
        assert!(!other.is_behind());
        assert_eq!(one.hold().unwrap().1, JournalChanges::More(entries(&["b"])));
        assert_eq!(SharedJournal::open(&path).unwrap().1, entries(&["a", "b"]));
    }

    #[test]
    fn a_journal_that_was_replaced_is_read_from_its_beginning() {
        let folder = Folder::new("replaced");
        let path = folder.0.join("users");
        let (mut one, _) = SharedJournal::open(&path).unwrap();
        append(&mut one, "first");
        let (mut other, _) = SharedJournal::open(&path).unwrap();
        let (held, _) = one.hold().unwrap();
        // As long as the one before.
        one.journal(&held).replace(&[b"other"]).unwrap();
        drop(held);
        assert!(other.is_behind());
        assert_eq!(append(&mut other, "more"), JournalChanges::All(entries(&["other"])));
        assert_eq!(one.hold().unwrap().1, JournalChanges::More(entries(&["more"])));
    }

    /// `cp other/users users`, as one brings a file from another node or from a backup.
    #[test]
    fn a_journal_that_was_copied_over_is_read_from_its_beginning_and_not_damaged() {
        let folder = Folder::new("copied");
        let (path, other) = (folder.0.join("users"), folder.0.join("other"));
        let (mut written, _) = SharedJournal::open(&other).unwrap();
        let mut whole = Vec::new();
        for text in ["one", "another one", "and one that is longer than all that stood there before it"] {
            append(&mut written, text);
            whole.push((std::fs::read(&other).unwrap(), written.hold().unwrap().1));
        }
        for (copy, _) in &whole {
            let (mut known, _) = SharedJournal::open(&path).unwrap();
            append(&mut known, "what is known here");
            append(&mut known, "and more of it");
            std::fs::write(&path, copy).unwrap();
            assert!(known.is_behind());
            let (_, copied) = SharedJournal::open(&path).unwrap();
            assert_eq!(append(&mut known, "last"), JournalChanges::All(copied));
            assert!(std::fs::read(&path).unwrap().starts_with(copy));
            std::fs::remove_file(&path).unwrap();
        }
        // While it is being copied, it is not taken for one without users.
        let (mut known, _) = SharedJournal::open(&path).unwrap();
        append(&mut known, "known");
        for cut in [0, 3, whole[2].0.len() - 5] {
            std::fs::write(&path, &whole[2].0[..cut]).unwrap();
            assert!(known.hold().unwrap_err().to_string().contains("being copied"), "{cut}");
            assert!(known.is_behind());
            assert_eq!(std::fs::read(&path).unwrap().len(), cut, "nothing is cut off meanwhile");
        }
        std::fs::write(&path, &whole[0].0).unwrap();
        assert_eq!(known.hold().unwrap().1, JournalChanges::All(entries(&["one"])));
    }

    #[test]
    fn what_a_crash_left_of_a_write_is_cut_off_and_a_file_that_is_gone_is_an_error() {
        let folder = Folder::new("torn");
        let path = folder.0.join("users");
        let (mut one, _) = SharedJournal::open(&path).unwrap();
        append(&mut one, "a");
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, [whole.as_slice(), &[0, 0, 0, 9, 1]].concat()).unwrap();
        let news = append(&mut one, "b");
        assert!(
            news == JournalChanges::More(Vec::new()) || news == JournalChanges::All(entries(&["a"])),
            "{news:?}"
        );
        assert_eq!(SharedJournal::open(&path).unwrap().1, entries(&["a", "b"]));
        std::fs::remove_file(&path).unwrap();
        assert!(one.is_behind());
        assert!(one.hold().unwrap_err().to_string().contains("users"));
        assert!(!path.exists());
    }
}

//! The directory of a demo, which goes with it: at its end, or when the next demo starts after this one was killed.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// How such a directory is called, before its digits of chance.
const PREFIX: &str = "durward-demo-";

/// How it is called until it is locked, so that nobody takes it for one that was left.
const UNFINISHED: &str = ".durward-demo-";

/// The file that a demo holds locked as long as it runs; the system lets go of it however the process ends.
const LOCK: &str = "lock";

/// Removed when dropped.
pub(crate) struct TemporaryFolder {
    path: PathBuf,
    /// Held.
    _lock: File,
}

impl TemporaryFolder {
    /// Makes a directory for its owner's eyes, never one that is there already, and removes those that killed demos of
    /// the same user left.
    ///
    /// # Errors
    /// There is no room for files.
    pub(crate) fn new(parent: &Path, chance: &str) -> io::Result<TemporaryFolder> {
        let unfinished = parent.join(format!("{UNFINISHED}{chance}"));
        DirBuilder::new().mode(0o700).create(&unfinished)?;
        let lock = OpenOptions::new().write(true).create_new(true).open(unfinished.join(LOCK))?;
        lock.try_lock()?;
        let path = parent.join(format!("{PREFIX}{chance}"));
        fs::rename(&unfinished, &path)?;
        if let Ok(own) = fs::symlink_metadata(&path) {
            sweep(parent, &own);
        }
        Ok(TemporaryFolder { path, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // What is left is a file that lets nobody in anywhere.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes what killed demos left. What cannot be removed is in nobody's way.
fn sweep(parent: &Path, own: &Metadata) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        if is_left(&path, own) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Whether it is a demo's directory, of the same user, and nobody holds its lock.
fn is_left(path: &Path, own: &Metadata) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_named = name
        .strip_prefix(PREFIX)
        .is_some_and(|chance| chance.len() == 12 && chance.bytes().all(|digit| digit.is_ascii_hexdigit()));
    let is_ours = |metadata: Metadata| {
        metadata.is_dir() && metadata.uid() == own.uid() && metadata.mode() & 0o777 == own.mode() & 0o777
    };
    // Not through a link.
    is_named
        && fs::symlink_metadata(path).is_ok_and(is_ours)
        && File::open(path.join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A demo that is killed drops nothing: its lock alone goes.
    #[test]
    fn what_a_killed_demo_left_goes_and_nothing_else() {
        let parent = std::env::temp_dir().join(format!("durward-sweep-{}", std::process::id()));
        let _ = fs::remove_dir_all(&parent);
        fs::create_dir(&parent).unwrap();
        let killed = TemporaryFolder::new(&parent, "0123456789ab").unwrap();
        let killed_path = killed.path().to_owned();
        fs::write(killed_path.join("users.journal"), "x").unwrap();
        let running = TemporaryFolder::new(&parent, "00000000000a").unwrap();
        assert!(killed_path.exists(), "it runs yet");
        // As the system does for a process that ends.
        killed._lock.unlock().unwrap();
        std::mem::forget(killed);
        for other in ["durward-demo-notes", "durward-demo-0123456789ac", "durward-demo-0123456789abcd"] {
            fs::create_dir(parent.join(other)).unwrap();
        }
        let last = TemporaryFolder::new(&parent, "00000000000b").unwrap();
        assert!(!killed_path.exists());
        assert!(running.path().exists() && last.path().exists());
        drop((running, last));
        // Without a lock it is no directory of a demo.
        assert_eq!(fs::read_dir(&parent).unwrap().count(), 3);
        fs::remove_dir_all(parent).unwrap();
    }
}

//! How files look from outside: enough to see that something changed without reading it.

use std::fs::{self, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use durward_pdp::{DIRECTORY_DEPTH_MAX, is_policy_name};

/// A digest of the names, sizes, times and identities of a file, or of all policy files below a directory. The
/// default is that of nothing read yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fingerprint(u64);

impl Fingerprint {
    /// What cannot be read counts as not there; reading it will say why.
    pub(super) fn of(path: &Path) -> Fingerprint {
        let mut sum = Sum { digest: 0, entries_left: ENTRY_COUNT_MAX };
        sum.add(path, 0);
        Fingerprint(sum.digest)
    }
}

/// A digest of what tells a file from how it was before; `None` if it is not there.
pub fn look_of(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|metadata| digest(path, &metadata))
}

/// Files and directories that are visited: links that lead back would multiply them without end.
const ENTRY_COUNT_MAX: usize = 200_000;

/// Adds up, because directories list their files in no order.
struct Sum {
    digest: u64,
    entries_left: usize,
}

impl Sum {
    fn add(&mut self, path: &Path, depth: usize) {
        let Some(left) = self.entries_left.checked_sub(1) else { return };
        self.entries_left = left;
        let Ok(metadata) = fs::metadata(path) else { return };
        self.digest = self.digest.wrapping_add(digest(path, &metadata));
        if !metadata.is_dir() || depth > DIRECTORY_DEPTH_MAX {
            return;
        }
        let Ok(entries) = fs::read_dir(path) else { return };
        for path in entries.flatten().map(|entry| entry.path()) {
            let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if !is_hidden && (is_policy_name(&path) || path.is_dir()) {
                self.add(&path, depth + 1);
            }
        }
    }
}

fn digest(path: &Path, metadata: &Metadata) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    identity(metadata).hash(&mut hasher);
    if !metadata.is_dir() {
        // The time of a directory changes with every temporary file in it.
        metadata.len().hash(&mut hasher);
        metadata.modified().ok().hash(&mut hasher);
    }
    hasher.finish()
}

/// Tells a file from another one put in its place, and sees changes that leave the time of modification alone.
#[cfg(unix)]
fn identity(metadata: &Metadata) -> impl Hash {
    use std::os::unix::fs::MetadataExt;
    let changed = if metadata.is_dir() { (0, 0) } else { (metadata.ctime(), metadata.ctime_nsec()) };
    (metadata.dev(), metadata.ino(), changed)
}

#[cfg(not(unix))]
fn identity(metadata: &Metadata) -> impl Hash {
    metadata.created().ok()
}

//! The tokens that were recalled before their end, in memory and in a journal. Nodes that share sessions tell each other beside that, by the
//! name that [`name_of`] gives.
//!
//! An entry of the journal is the second in which the token ends, a blank, and the token's name. What has ended is left out at the start.
//! Servers may share the journal, as one that is started before the last one ends does: whoever writes takes over what others have written.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use durward_session::identity::session::SessionId;
use durward_session::identity::user::{JournalChanges, SharedJournal};
use durward_session::identity::{IdentityError, Moment};
use sha2::{Digest, Sha256};

/// How many revoked tokens are remembered. Beyond that, no token can be revoked until some have expired. About 20
/// MiB.
const REVOKED_TOKENS_MAX: usize = 100_000;

const NAME: &str = "revoked-tokens";

/// Tokens by name, with the second in which each ends.
pub struct Revoked {
    /// Nobody waits for the disk while holding it: every decision looks in.
    ends: RwLock<HashMap<String, u64>>,
    /// Held while an entry is written: they come one after the other.
    journal: Mutex<Option<SharedJournal>>,
}

/// Why a token could not be recalled.
#[derive(Debug)]
pub enum NotRevoked {
    /// As many are recorded as may be.
    Full,
    /// The journal cannot be read or written.
    Failed(IdentityError),
}

/// What names a token among the nodes that share sessions, where it is told as a session that has ended is.
pub fn name_of(token: &str) -> SessionId {
    let digest = Sha256::digest(format!("oauth token {token}"));
    let mut name = [0; 16];
    name.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
    SessionId(name)
}

impl Revoked {
    /// What a directory holds; without one, only what is recalled from now on, and until the end of the process.
    ///
    /// # Errors
    /// A journal that cannot be read or written, or is damaged.
    pub fn open(data: Option<&Path>, now: Moment) -> Result<Revoked, IdentityError> {
        let Some(data) = data else {
            return Ok(Revoked { ends: RwLock::default(), journal: Mutex::default() });
        };
        let (mut journal, mut entries) = SharedJournal::open(&data.join(NAME))?;
        let (held, changes) = journal.hold()?;
        match changes {
            JournalChanges::More(more) => entries.extend(more),
            JournalChanges::All(all) => entries = all,
        }
        let ends: HashMap<String, u64> =
            entries.iter().filter_map(|entry| lasting(entry, now)).take(REVOKED_TOKENS_MAX).collect();
        if ends.len() < entries.len() {
            let kept: Vec<String> = ends.iter().map(|(token, ends_s)| entry(token, *ends_s)).collect();
            let kept: Vec<&[u8]> = kept.iter().map(String::as_bytes).collect();
            journal.journal(&held).replace(&kept)?;
        }
        Ok(Revoked { ends: RwLock::new(ends), journal: Mutex::new(Some(journal)) })
    }

    fn ends(&self) -> RwLockReadGuard<'_, HashMap<String, u64>> {
        // What a thread that panicked left is a map with all that was put in.
        self.ends.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn ends_mut(&self) -> RwLockWriteGuard<'_, HashMap<String, u64>> {
        self.ends.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a token's identifier was revoked.
    pub fn contains(&self, token: &str) -> bool {
        self.ends().contains_key(token)
    }

    /// Recalls a token. Waits for the disk.
    ///
    /// # Errors
    /// There are too many, or it cannot be written down: it is recalled until the end of the process then, and to be tried again.
    pub fn add(&self, token: &str, ends_s: u64, now: Moment) -> Result<(), NotRevoked> {
        self.remember(token, ends_s, now)?;
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(journal) = &mut *journal else { return Ok(()) };
        let (held, changes) = journal.hold().map_err(NotRevoked::Failed)?;
        let (JournalChanges::More(others) | JournalChanges::All(others)) = changes;
        for (token, ends_s) in others.iter().filter_map(|entry| lasting(entry, now)) {
            // Of too many, those that others have recalled are the ones that this server does not know.
            let _ = self.remember(&token, ends_s, now);
        }
        journal.journal(&held).append(&[entry(token, ends_s).as_bytes()]).map_err(NotRevoked::Failed)
    }

    fn remember(&self, token: &str, ends_s: u64, now: Moment) -> Result<(), NotRevoked> {
        let mut ends = self.ends_mut();
        if ends.len() >= REVOKED_TOKENS_MAX {
            ends.retain(|_, ends| *ends > now.ms() / 1000);
        }
        if ends.len() >= REVOKED_TOKENS_MAX {
            return Err(NotRevoked::Full);
        }
        ends.insert(token.to_owned(), ends_s);
        Ok(())
    }
}

fn entry(token: &str, ends_s: u64) -> String {
    format!("{ends_s} {token}")
}

/// The token of an entry and its end, unless it has ended.
fn lasting(entry: &[u8], now: Moment) -> Option<(String, u64)> {
    let (ends_s, token) = std::str::from_utf8(entry).ok()?.split_once(' ')?;
    let ends_s: u64 = ends_s.parse().ok()?;
    (ends_s > now.ms() / 1000).then(|| (token.to_owned(), ends_s))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::sync::Arc;
    use std::thread;

    use super::*;

    const NOW: Moment = Moment::from_ms(1_000);

    struct Folder(std::path::PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let folder = std::env::temp_dir().join(format!("durward-revoked-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).unwrap();
            Folder(folder)
        }

        fn open(&self, now_s: u64) -> Revoked {
            Revoked::open(Some(&self.0), Moment::from_ms(now_s * 1_000)).unwrap()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// A decision looked whether its token was recalled, and waited for the disk that another token's recall was waiting for.
    #[test]
    fn nobody_who_asks_waits_for_the_disk() {
        let folder = Folder::new("slow");
        let revoked = Arc::new(folder.open(1));
        let held = File::open(folder.0.join("revoked-tokens.lock")).unwrap();
        held.lock().unwrap();
        let adding = thread::spawn({
            let revoked = Arc::clone(&revoked);
            move || revoked.add("one", 100, NOW).is_ok()
        });
        while !revoked.contains("one") {
            thread::yield_now();
        }
        assert!(!adding.is_finished(), "the journal is held by somebody else");
        drop(held);
        assert!(adding.join().unwrap());
        assert!(folder.open(1).contains("one"));
    }

    /// A server that was started wrote the file anew, and what the one before it recalled from then on went into a file without a name.
    #[test]
    fn what_servers_of_one_journal_recall_is_there_at_the_next_start() {
        let folder = Folder::new("two");
        let first = folder.open(1);
        first.add("ended", 5, NOW).unwrap();
        let second = folder.open(10);
        first.add("by the first", 100, NOW).unwrap();
        second.add("by the second", 100, NOW).unwrap();
        assert!(second.contains("by the first"), "taken over when it wrote");
        let third = folder.open(10);
        assert!(third.contains("by the first") && third.contains("by the second"));
        assert!(!third.contains("ended"));
    }
}

//! Users that nodes share: what travels of them, and what a directory does with it.
//!
//! Each user has one record, with a revision that grows by one with each change. A record of a lower revision than the known one is old,
//! whoever shows it: it is not taken in. A change of an administrator is sent first, and counts when the store has it. What a login changes
//! (a code that is used up, a hash made anew), and what `durward users` changed in the file, counts here at once and is sent after;
//! where another node changed the same user meanwhile, both changes are kept.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use super::directory::Directory;
use super::table::JournalEntry;
use super::{Account, ChangeOrigin};
use crate::IdentityError;
use crate::error::failed;
use crate::session::User;

/// What all nodes are to know of one user.
#[derive(Clone, PartialEq)]
pub struct UserRecord {
    user: User,
    revision: u64,
    entry: JournalEntry,
}

impl UserRecord {
    /// Whom it is about.
    pub fn user(&self) -> &User {
        &self.user
    }

    /// How many changes of the user there were.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The account; nothing where the user was removed.
    pub fn account(&self) -> Option<&Account> {
        match &self.entry {
            JournalEntry::Put(account) => Some(account),
            JournalEntry::Remove { .. } | JournalEntry::Stored { .. } => None,
        }
    }

    /// The record as it travels. It holds hashes of passwords and secrets of devices: it is to be sealed.
    ///
    /// # Errors
    /// None that can be provoked.
    pub fn to_bytes(&self) -> Result<Vec<u8>, IdentityError> {
        let (revision, entry) = (self.revision, Box::new(self.entry.clone()));
        let stored = JournalEntry::Stored { revision, entry };
        serde_json::to_vec(&stored).map_err(|error| IdentityError::new(error.to_string()))
    }

    /// Reads what [`UserRecord::to_bytes`] wrote.
    ///
    /// # Errors
    /// It is none.
    pub fn from_bytes(bytes: &[u8]) -> Result<UserRecord, IdentityError> {
        match JournalEntry::read(bytes)? {
            (user, JournalEntry::Stored { revision, entry }) => {
                Ok(UserRecord { user, revision, entry: *entry })
            }
            (_, JournalEntry::Put(_) | JournalEntry::Remove { .. }) => failed("it has no revision"),
        }
    }
}

/// Without what is known of the user.
impl fmt::Debug for UserRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UserRecord({} {})", self.user, self.revision)
    }
}

/// Keeps a file as it was before the store counted, beside it: an operator may have to look what gave way.
fn keep_copy(path: &Path) -> Result<(), IdentityError> {
    let mut copy = path.as_os_str().to_owned();
    copy.push(".before-cluster");
    let copy = Path::new(&copy);
    if copy.exists() {
        return Ok(());
    }
    let copied = std::fs::copy(path, copy);
    copied
        .map(drop)
        .map_err(|error| IdentityError::new(format!("cannot write `{}`: {error}", copy.display())))
}

/// The way from a directory to the nodes that share it.
pub trait UserCluster: Send + Sync {
    /// Sends records, each over the one before it, and waits until the store has them. Blocks.
    ///
    /// # Errors
    /// The store has not all of them: another node was first, or the store does not answer, and then nobody knows whether it has them.
    fn publish(&self, records: &[UserRecord]) -> Result<(), IdentityError>;

    /// There is something to send; see [`Directory::unsent`].
    fn wake(&self);
}

/// What came of records of the store.
#[derive(Debug, Default)]
pub struct TakenRecords {
    /// The places of those that are older than what is known.
    pub old: Vec<usize>,
    /// Users of whom the file said something else that was never sent: the store counts.
    pub replaced: Vec<User>,
    /// Why the file does not hold them. Memory does.
    pub error: Option<IdentityError>,
}

impl Directory {
    /// Shares the users with other nodes from now on.
    ///
    /// # Errors
    /// They are shared already.
    pub fn share(&self, cluster: Arc<dyn UserCluster>) -> Result<(), IdentityError> {
        let _no_change = self.journal();
        if self.cluster.set(cluster).is_err() {
            return failed("users are shared already");
        }
        self.table_mut().share();
        Ok(())
    }

    /// Takes in what the store says. What was changed here and is not sent yet stays over it.
    pub fn take_records(&self, records: &[UserRecord]) -> TakenRecords {
        let mut taken = TakenRecords::default();
        let mut journal = self.journal();
        let held = match self.hold(&mut journal) {
            Ok(held) => held,
            Err(error) => {
                // Users count as the store says, also where the file cannot be reached.
                self.is_journal_behind.store(true, Ordering::Release);
                taken.error = Some(error);
                None
            }
        };
        let mut kept = Vec::new();
        for (at, record) in records.iter().enumerate() {
            if !self.take_one(record, &mut taken.replaced, &mut kept) {
                taken.old.push(at);
            }
        }
        if kept.is_empty() {
            return taken;
        }
        if let (false, Some(journal)) = (taken.replaced.is_empty(), journal.as_ref()) {
            taken.error = keep_copy(journal.path()).err().or(taken.error);
        }
        if let Err(error) = self.write(&mut journal, held.as_ref(), &kept) {
            self.is_journal_behind.store(true, Ordering::Release);
            taken.error = Some(error);
        }
        taken
    }

    /// Whether it is not older than what is known.
    fn take_one(
        &self,
        record: &UserRecord,
        replaced: &mut Vec<User>,
        kept: &mut Vec<(User, JournalEntry)>,
    ) -> bool {
        let UserRecord { user, revision, entry } = record;
        let mut table = self.table_mut();
        let known = table.revisions.get(user).copied();
        if known.is_some_and(|known| *revision < known) {
            return false;
        }
        if known == Some(*revision) && table.stored_entry(user).as_ref() == Some(entry) {
            return true;
        }
        let before = table.users.get(user).cloned();
        if known.is_none() && table.entry(user).is_some_and(|known| known != *entry) {
            replaced.push(user.clone());
        }
        let entries = table.take(user, *revision, entry);
        kept.extend(entries.into_iter().map(|entry| (user.clone(), entry)));
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        changes.extend(table.change(user, before.as_deref(), ChangeOrigin::OtherNode));
        true
    }

    /// Some of the changes that the store does not have, each as the record after the one that is known. What was sent is to be given to
    /// [`Directory::take_records`].
    pub fn unsent(&self, count_max: usize) -> Vec<UserRecord> {
        let table = self.table();
        let unsent = table.unsent.keys().filter_map(|user| {
            let entry = table.entry(user)?;
            let revision = table.revisions.get(user).copied().unwrap_or(0) + 1;
            Some(UserRecord { user: user.clone(), revision, entry })
        });
        unsent.take(count_max).collect()
    }

    /// What is known of users of whom the store says less: it was made anew, or somebody put something else in the place of their
    /// records.
    pub fn missing_in(&self, store: &HashMap<User, u64>) -> Vec<UserRecord> {
        let table = self.table();
        let missing = table
            .revisions
            .iter()
            .filter(|(user, known)| store.get(*user).is_none_or(|stored| stored < *known));
        let records = missing.filter_map(|(user, revision)| {
            let entry = table.stored_entry(user)?;
            Some(UserRecord { user: user.clone(), revision: *revision, entry })
        });
        records.collect()
    }

    /// Sends changes, and gives what is to be kept of them.
    pub(super) fn publish(
        &self,
        cluster: &dyn UserCluster,
        named: Vec<(User, JournalEntry)>,
    ) -> Result<Vec<(User, JournalEntry)>, IdentityError> {
        let records: Vec<UserRecord> = {
            let table = self.table();
            let next = |user: &User| table.revisions.get(user).copied().unwrap_or(0) + 1;
            named.into_iter().map(|(user, entry)| UserRecord { revision: next(&user), user, entry }).collect()
        };
        cluster.publish(&records)?;
        let stored = records.into_iter().map(|UserRecord { user, revision, entry }| {
            (user, JournalEntry::Stored { revision, entry: Box::new(entry) })
        });
        Ok(stored.collect())
    }
}

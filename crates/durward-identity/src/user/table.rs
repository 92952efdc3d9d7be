//! The accounts by name, and the entries that a journal holds of them.
//!
//! Where nodes share users, each user has a record in the store of the cluster, with a revision that grows by one with each change. The
//! journal then holds what the record said ([`JournalEntry::Stored`]), and behind it what was changed here since and is not in the
//! store yet: so a change that was made while nothing ran is told from an old file.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::account::Account;
use super::merge::merge;
use super::{ChangeOrigin, UserChange};
use crate::IdentityError;
use crate::error::failed;
use crate::passkey::UserHandle;
use crate::session::User;

/// An entry of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum JournalEntry {
    Put(Box<Account>),
    Remove {
        realm: String,
        subject: String,
        /// When, in milliseconds since 1970.
        #[serde(default)]
        at_ms: u64,
    },
    /// What the cluster's store says of a user.
    Stored {
        revision: u64,
        /// Never [`JournalEntry::Stored`] itself.
        entry: Box<JournalEntry>,
    },
}

impl JournalEntry {
    pub(super) fn read(bytes: &[u8]) -> Result<(User, JournalEntry), IdentityError> {
        let entry: JournalEntry =
            serde_json::from_slice(bytes).map_err(|error| IdentityError::new(error.to_string()))?;
        let user = match &entry {
            JournalEntry::Stored { entry, .. } => entry.user(),
            JournalEntry::Put(_) | JournalEntry::Remove { .. } => entry.user(),
        };
        Ok((user?, entry))
    }

    /// Whom it is about, where it is no [`JournalEntry::Stored`].
    pub(super) fn user(&self) -> Result<User, IdentityError> {
        match self {
            JournalEntry::Put(account) => account.user(),
            JournalEntry::Remove { realm, subject, .. } => User::new(realm, subject),
            JournalEntry::Stored { .. } => failed("an entry of the store within an entry of the store"),
        }
    }

    /// Reads them one after the other. `first` is the number of the first, for who has to find one that is wrong.
    pub(super) fn read_each(
        entries: impl IntoIterator<Item = Vec<u8>>,
        path: &Path,
        first: usize,
    ) -> impl Iterator<Item = Result<(User, JournalEntry), IdentityError>> {
        (first..).zip(entries).map(move |(number, entry)| {
            JournalEntry::read(&entry)
                .map_err(|error| error.of(format!("{}: entry {number}", path.display())))
        })
    }

    fn stored(self, revision: u64) -> JournalEntry {
        JournalEntry::Stored { revision, entry: Box::new(self) }
    }
}

/// The accounts by name.
#[derive(Default)]
pub(super) struct AccountTable {
    /// Those who look up a user share the account with the table, which puts another one in its place when it changes.
    pub(super) users: HashMap<User, Arc<Account>>,
    /// Users by what authenticators call them. INVARIANT: each user with a handle, and nobody else.
    handles: HashMap<UserHandle, User>,
    /// Removed users, and when they were removed: their earlier sessions are over, also where that is heard of later.
    pub(super) removed: HashMap<User, u64>,
    /// The revision of each user's record in the cluster's store, as far as it is taken in here.
    pub(super) revisions: HashMap<User, u64>,
    /// Users whose change is not in the store yet, and what the store said of them before. Nothing where the store said nothing.
    pub(super) unsent: HashMap<User, Option<Box<JournalEntry>>>,
    /// Whether users are shared: then those of whom the store says nothing are unsent.
    pub(super) is_shared: bool,
}

impl AccountTable {
    /// Takes in what a journal holds.
    pub(super) fn apply(&mut self, user: User, entry: JournalEntry) {
        match entry {
            JournalEntry::Stored { revision, entry } => {
                self.revisions.insert(user.clone(), revision);
                self.unsent.remove(&user);
                self.set(user, *entry);
            }
            entry @ (JournalEntry::Put(_) | JournalEntry::Remove { .. }) => {
                self.note_unsent(&user, &entry);
                self.set(user, entry);
            }
        }
    }

    fn set(&mut self, user: User, entry: JournalEntry) {
        match entry {
            JournalEntry::Put(account) => {
                let handle = account.passkeys.handle().copied();
                let before = self.users.insert(user.clone(), Arc::new(*account));
                self.forget_handle(before.as_deref(), &user);
                if let Some(handle) = handle {
                    self.handles.insert(handle, user);
                }
            }
            JournalEntry::Remove { at_ms, .. } => {
                let before = self.users.remove(&user);
                self.forget_handle(before.as_deref(), &user);
                self.removed.insert(user, at_ms);
            }
            // Reading refuses it.
            JournalEntry::Stored { .. } => {}
        }
    }

    /// A user who was renamed has the handle under the new name already.
    fn forget_handle(&mut self, before: Option<&Account>, user: &User) {
        if let Some(handle) = before.and_then(|account| account.passkeys.handle())
            && self.handles.get(handle) == Some(user)
        {
            self.handles.remove(handle);
        }
    }

    /// The user whom authenticators call so.
    pub(super) fn user_of_handle(&self, handle: &UserHandle) -> Option<&User> {
        self.handles.get(handle)
    }

    fn note_unsent(&mut self, user: &User, entry: &JournalEntry) {
        if self.unsent.contains_key(user) {
            return;
        }
        if self.revisions.contains_key(user) {
            let before = self.entry(user);
            if before.as_ref() != Some(entry) {
                self.unsent.insert(user.clone(), before.map(Box::new));
            }
        } else if self.is_shared {
            self.unsent.insert(user.clone(), None);
        }
    }

    /// From now on users are shared.
    pub(super) fn share(&mut self) {
        self.is_shared = true;
        let names: Vec<User> = self.names().cloned().collect();
        for user in names {
            if !self.revisions.contains_key(&user) {
                self.unsent.entry(user).or_insert(None);
            }
        }
    }

    /// All users, and those that were removed.
    fn names(&self) -> impl Iterator<Item = &User> {
        self.users.keys().chain(self.removed.keys().filter(|user| !self.users.contains_key(*user)))
    }

    /// What is known of a user, as a journal holds it.
    pub(super) fn entry(&self, user: &User) -> Option<JournalEntry> {
        if let Some(account) = self.users.get(user) {
            return Some(JournalEntry::Put(Box::new(Account::clone(account))));
        }
        self.removed.get(user).map(|at_ms| removal(user, *at_ms))
    }

    /// What the store says of a user, as far as it is taken in here.
    pub(super) fn stored_entry(&self, user: &User) -> Option<JournalEntry> {
        match self.unsent.get(user) {
            Some(before) => before.as_deref().cloned(),
            None => self.entry(user),
        }
    }

    /// Takes in a record of the store, over which stays what was changed here and is not there yet. What a journal is to hold of it.
    pub(super) fn take(&mut self, user: &User, revision: u64, entry: &JournalEntry) -> Vec<JournalEntry> {
        let ours = self.entry(user).filter(|_| self.unsent.contains_key(user));
        let base = self.unsent.get(user).and_then(|base| base.as_deref().cloned());
        let stored = entry.clone().stored(revision);
        self.apply(user.clone(), stored.clone());
        let mut kept = vec![stored];
        if let (Some(base), Some(ours)) = (base, ours) {
            let merged = merge(&base, &ours, entry);
            if merged != *entry {
                self.apply(user.clone(), merged.clone());
                kept.push(merged);
            }
        }
        kept
    }

    /// Takes in a whole file that another process has written, without going behind what the store said.
    pub(super) fn adopt(&mut self, file: &AccountTable) {
        let names: Vec<User> = file.names().cloned().collect();
        for user in names {
            let Some(entry) = file.entry(&user) else { continue };
            let (mine, theirs) = (self.revisions.get(&user).copied(), file.revisions.get(&user).copied());
            let base = file.stored_entry(&user);
            let is_changed = file.unsent.contains_key(&user);
            match (mine, theirs, base) {
                (None, None, _) => self.apply(user, entry),
                // An old file: the store counts.
                (Some(_), None, _) | (_, Some(_), None) => {}
                (mine, Some(theirs), Some(base)) if mine.is_none_or(|mine| theirs >= mine) => {
                    if mine != Some(theirs) {
                        self.take(&user, theirs, &base);
                    }
                    if is_changed {
                        self.apply(user, entry);
                    }
                }
                (_, Some(_), Some(base)) => {
                    if let Some(known) = self.entry(&user).filter(|_| is_changed) {
                        self.apply(user, merge(&base, &entry, &known));
                    }
                }
            }
        }
        for (user, at_ms) in &file.removed {
            let known = self.removed.entry(user.clone()).or_insert(0);
            *known = (*known).max(*at_ms);
        }
    }

    /// What is to be kept of it, as a journal holds it.
    pub(super) fn entries(&self) -> Vec<JournalEntry> {
        // Who was removed and came back is there again.
        let returned = self.removed.iter().filter(|(user, _)| self.users.contains_key(*user));
        let mut all: Vec<JournalEntry> = returned.map(|(user, at_ms)| removal(user, *at_ms)).collect();
        for user in self.names() {
            let Some(entry) = self.entry(user) else { continue };
            let Some(revision) = self.revisions.get(user) else {
                all.push(entry);
                continue;
            };
            match self.unsent.get(user) {
                Some(base) => {
                    all.extend(base.as_deref().map(|base| base.clone().stored(*revision)));
                    all.push(entry);
                }
                None => all.push(entry.stored(*revision)),
            }
        }
        all
    }

    pub(super) fn change(
        &self,
        user: &User,
        before: Option<&Account>,
        origin: ChangeOrigin,
    ) -> Option<UserChange> {
        let after = self.users.get(user).map(|account| &**account);
        let ends_sessions = match before {
            Some(before) => before.loses_sessions(after),
            None => after.is_some_and(Account::is_only_steps),
        };
        (before != after).then(|| UserChange { user: user.clone(), ends_sessions, origin })
    }
}

fn removal(user: &User, at_ms: u64) -> JournalEntry {
    JournalEntry::Remove { realm: user.realm().to_owned(), subject: user.subject().to_owned(), at_ms }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anna() -> User {
        User::new("/", "anna").unwrap()
    }

    fn put(groups: &[&str]) -> JournalEntry {
        let groups = groups.iter().map(|group| (*group).to_owned()).collect();
        JournalEntry::Put(Box::new(Account { groups, ..Account::new(&anna()) }))
    }

    #[test]
    fn a_second_step_of_a_user_who_is_kept_elsewhere_ends_their_sessions() {
        use crate::SystemEntropy;
        use crate::user::{RecoveryCodes, SecondStep, Totp};
        let totp = Totp::generate(&SystemEntropy).unwrap();
        let second_step = Some(SecondStep { totp, used: None, recovery: RecoveryCodes::default() });
        for (account, expected) in
            [(Account::new(&anna()), false), (Account { second_step, ..Account::new(&anna()) }, true)]
        {
            let mut table = AccountTable::default();
            table.apply(anna(), JournalEntry::Put(Box::new(account)));
            let change = table.change(&anna(), None, ChangeOrigin::Here).unwrap();
            assert_eq!(change.ends_sessions, expected);
        }
    }

    fn groups(table: &AccountTable) -> Vec<String> {
        table.users.get(&anna()).map(|account| account.groups.clone()).unwrap_or_default()
    }

    fn again(table: &AccountTable) -> AccountTable {
        let mut read = AccountTable::default();
        for entry in table.entries() {
            let (user, entry) = JournalEntry::read(&serde_json::to_vec(&entry).unwrap()).unwrap();
            read.apply(user, entry);
        }
        read
    }

    #[test]
    fn a_journal_that_is_rewritten_says_what_is_not_sent_and_what_it_followed_on() {
        let mut table = AccountTable::default();
        table.take(&anna(), 4, &put(&["staff"]));
        assert!(again(&table).unsent.is_empty());
        table.apply(anna(), put(&["staff", "night"]));
        let read = again(&table);
        assert_eq!(read.revisions[&anna()], 4);
        assert_eq!(read.stored_entry(&anna()), Some(put(&["staff"])));
        assert_eq!(groups(&read), ["staff", "night"]);
        table.apply(anna(), removal(&anna(), 9));
        let read = again(&table);
        assert_eq!((read.users.len(), read.removed[&anna()]), (0, 9));
        assert_eq!(read.stored_entry(&anna()), Some(put(&["staff"])));
    }

    #[test]
    fn what_was_changed_here_stays_over_what_the_store_says_since() {
        let mut table = AccountTable::default();
        table.share();
        table.take(&anna(), 1, &put(&["staff"]));
        table.apply(anna(), put(&["staff", "night"]));
        let JournalEntry::Put(mut account) = put(&["staff"]) else { panic!() };
        account.disabled = true;
        table.take(&anna(), 2, &JournalEntry::Put(account));
        assert!(table.users[&anna()].disabled);
        assert_eq!(groups(&table), ["staff", "night"]);
        assert!(table.unsent.contains_key(&anna()));
    }

    #[test]
    fn of_a_user_whom_the_store_knows_an_old_file_says_nothing() {
        let mut table = AccountTable::default();
        table.share();
        table.apply(anna(), put(&["old"]));
        assert_eq!(table.unsent.get(&anna()), Some(&None));
        table.take(&anna(), 1, &put(&["staff"]));
        assert!(table.unsent.is_empty());
        let mut file = AccountTable::default();
        file.apply(anna(), put(&["old"]));
        table.adopt(&file);
        assert_eq!(groups(&table), ["staff"]);
        // One that followed the store is changed by whoever wrote it.
        let mut file = again(&table);
        file.apply(anna(), put(&["new"]));
        table.adopt(&file);
        assert_eq!(groups(&table), ["new"]);
        assert_eq!(table.stored_entry(&anna()), Some(put(&["staff"])));
    }
}

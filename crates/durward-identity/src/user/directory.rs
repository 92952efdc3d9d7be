//! The directory of users that is built in: in memory, and in a journal where there is one.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::account::{Account, SecondStep};
use super::cluster::UserCluster;
use super::import::ImportLine;
use super::password::{Comparison, HashCosts, Password, StoredPassword};
use super::rules::PasswordRules;
use super::shared::{JournalChanges, JournalLock, SharedJournal};
use super::table::{AccountTable, JournalEntry};
use super::totp::RecoveryCodes;
use super::writes::{AccountSwap, UserWrites};
use super::{ChangeOrigin, LoginFailure, PasswordCheck, UserChange, UserStore};
use crate::entropy::Entropy;
use crate::error::failed;
use crate::hex::hex;
use crate::passkey::{PasskeyUse, UserHandle};
use crate::session::{UsedCode, User};
use crate::{IdentityError, Moment};

/// A journal is rewritten when it has this many times more entries than there are users.
const WASTE_MAX: usize = 4;

/// An account that cannot be taken in, and which it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// Its place among those given, from 0 on.
    pub at: usize,
    /// What is wrong with it.
    pub error: IdentityError,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "user {}: {}", self.at + 1, self.error)
    }
}

impl std::error::Error for ImportError {}

/// Users, in memory and in a journal, which other processes may change meanwhile: see [`UserStore::catch_up`].
///
/// Where users are shared ([`Directory::share`]), a change by [`Directory::put`], [`Directory::change`] and their like is sent to the store of the
/// cluster first: an error says that another node was first, or that the store does not answer. Such calls wait for a network.
pub struct Directory {
    costs: HashCosts,
    entropy: Arc<dyn Entropy>,
    rules: PasswordRules,
    /// What is compared in the place of users that do not exist.
    nobody: StoredPassword,
    pub(super) table: RwLock<AccountTable>,
    /// Held while a change is decided on and written: changes come one after the other.
    journal: Mutex<Option<SharedJournal>>,
    /// What others have changed and nobody has heard of.
    pub(super) changes: Mutex<Vec<UserChange>>,
    /// With whom users are shared.
    pub(super) cluster: OnceLock<Arc<dyn UserCluster>>,
    /// Whether memory knows what the journal does not hold: it is written anew with the next change.
    pub(super) is_journal_behind: AtomicBool,
}

/// When a change counts, where users are shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Confirmation {
    /// When the cluster's store has it.
    ByCluster,
    /// At once; the cluster hears of it as soon as it can. For what a login changes, which must not fail for it.
    Here,
}

impl Directory {
    /// A directory in memory, without users.
    ///
    /// # Errors
    /// Costs that cannot be used, or no randomness.
    pub fn in_memory(costs: HashCosts, entropy: Arc<dyn Entropy>) -> Result<Directory, IdentityError> {
        let nobody: [u8; 32] = crate::entropy::bytes(&*entropy)?;
        let nobody = StoredPassword::hash(&Password::new(&hex(&nobody))?, costs, &*entropy)?;
        let (table, changes) = (RwLock::default(), Mutex::default());
        let rules = PasswordRules::default();
        let (journal, cluster, is_journal_behind) =
            (Mutex::new(None), OnceLock::new(), AtomicBool::new(false));
        Ok(Directory { costs, entropy, rules, nobody, table, journal, changes, cluster, is_journal_behind })
    }

    /// A directory with a journal, which is begun where there is none.
    ///
    /// # Errors
    /// As [`Directory::in_memory`]; or the journal cannot be opened, or holds what is no user.
    pub fn open(
        path: &Path,
        costs: HashCosts,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Directory, IdentityError> {
        let directory = Directory::in_memory(costs, entropy)?;
        let (journal, entries) = SharedJournal::open(path)?;
        // Each is taken in before the next is read: all of them beside the accounts would be memory that is not given back.
        for read in JournalEntry::read_each(entries, path, 1) {
            let (user, entry) = read?;
            directory.table_mut().apply(user, entry);
        }
        *directory.journal() = Some(journal);
        Ok(directory)
    }

    /// What new passwords must be. Default: anything. Hashes that are imported are taken as they are.
    #[must_use]
    pub fn with_password_rules(self, rules: PasswordRules) -> Directory {
        Directory { rules, ..self }
    }

    /// The hash of a new password, for an account that is to be added.
    ///
    /// # Errors
    /// The password is not what the rules want, or cannot be hashed.
    pub fn hash_new(&self, password: &Password<'_>) -> Result<StoredPassword, IdentityError> {
        self.rules.check(password)?;
        StoredPassword::hash(password, self.costs, &*self.entropy)
    }

    /// All users, by realm and name.
    pub fn list(&self) -> Vec<Account> {
        let mut all: Vec<Account> =
            self.table().users.values().map(|account| Account::clone(account)).collect();
        all.sort_by(|a, b| (&a.realm, &a.subject).cmp(&(&b.realm, &b.subject)));
        all
    }

    /// Adds a user, or replaces the one with the same name.
    ///
    /// # Errors
    /// The name is none, or the journal cannot be written: then nothing has changed.
    pub fn put(&self, account: Account) -> Result<(), IdentityError> {
        self.import(vec![account]).map(|_| ()).map_err(|error| error.error)
    }

    /// Adds a user unless there is one with the same name. Returns whether the user was added.
    ///
    /// # Errors
    /// As [`Directory::put`].
    pub fn add(&self, account: Account) -> Result<bool, IdentityError> {
        let user = account.user()?;
        let mut journal = self.journal();
        let held = self.hold(&mut journal)?;
        if self.table().users.contains_key(&user) {
            return Ok(false);
        }
        self.keep(&mut journal, held.as_ref(), vec![(user, account)], Confirmation::ByCluster)?;
        Ok(true)
    }

    /// Takes in what a file says of many users, with one wait for the disk; all of them or none. What it does not say of a user who
    /// is there stays as it is. How many lines there were.
    ///
    /// # Errors
    /// One of them cannot be taken in, or the journal cannot be written: then nothing has changed.
    pub fn import_lines(&self, now: Moment, lines: Vec<ImportLine>) -> Result<usize, ImportError> {
        let count = lines.len();
        let failed = |error| ImportError { at: 0, error };
        let mut journal = self.journal();
        let held = self.hold(&mut journal).map_err(failed)?;
        let mut after: HashMap<User, Account> = HashMap::new();
        for (at, line) in (0..).zip(lines) {
            let user = line.user().map_err(|error| ImportError { at, error })?;
            let known = || self.table().users.get(&user).map(|account| Account::clone(account));
            let before = after.remove(&user).or_else(known);
            let account = line.over(now, before.unwrap_or_else(|| Account::new(&user)));
            after.insert(user, account);
        }
        let after = after.into_iter().collect();
        self.keep(&mut journal, held.as_ref(), after, Confirmation::ByCluster).map_err(failed)?;
        Ok(count)
    }

    /// Takes many users in with one wait for the disk, each as a whole in the place of one with the same name; all of them or
    /// none. How many.
    ///
    /// # Errors
    /// One of them cannot be taken in.
    pub fn import(&self, accounts: Vec<Account>) -> Result<usize, ImportError> {
        let mut named = Vec::new();
        for (at, account) in (0..).zip(accounts) {
            let user = account.user().map_err(|error| ImportError { at, error })?;
            named.push((user, account));
        }
        let count = named.len();
        let failed = |error| ImportError { at: 0, error };
        let mut journal = self.journal();
        let held = self.hold(&mut journal).map_err(failed)?;
        self.keep(&mut journal, held.as_ref(), named, Confirmation::ByCluster).map_err(failed)?;
        Ok(count)
    }

    /// Removes a user. Returns whether there was one. Their sessions from before `now` are over.
    ///
    /// # Errors
    /// The journal cannot be written: then nothing has changed.
    pub fn remove(&self, now: Moment, user: &User) -> Result<bool, IdentityError> {
        let mut journal = self.journal();
        let held = self.hold(&mut journal)?;
        if !self.table().users.contains_key(user) {
            return Ok(false);
        }
        let (realm, subject) = (user.realm().to_owned(), user.subject().to_owned());
        let entry = JournalEntry::Remove { realm, subject, at_ms: now.ms() };
        self.commit(&mut journal, held.as_ref(), vec![(user.clone(), entry)], Confirmation::ByCluster)?;
        Ok(true)
    }

    /// Changes a user's password. Their sessions from before `now` are over.
    ///
    /// # Errors
    /// There is no such user, the password is not what the rules want or cannot be hashed, or the journal cannot be written.
    pub fn set_password(
        &self,
        now: Moment,
        user: &User,
        password: &Password<'_>,
    ) -> Result<(), IdentityError> {
        let stored = self.hash_new(password)?;
        let set = |account: &mut Account| account.set_password(stored.clone(), now);
        if self.change(user, set)? { Ok(()) } else { failed(format!("there is no user {user}")) }
    }

    /// Updates an account. Returns whether there is one. It is read and written under the journal's lock: what others wrote
    /// before is seen, and nobody writes in between.
    ///
    /// # Errors
    /// The journal cannot be read or written: then nothing has changed.
    pub fn change(&self, user: &User, change: impl FnOnce(&mut Account)) -> Result<bool, IdentityError> {
        self.change_if(user, |_| true, change, Confirmation::ByCluster)
    }

    /// Updates an account if it exists and is as expected. Returns whether it was.
    fn change_if(
        &self,
        user: &User,
        is_expected: impl Fn(&Account) -> bool,
        change: impl FnOnce(&mut Account),
        confirmation: Confirmation,
    ) -> Result<bool, IdentityError> {
        let mut journal = self.journal();
        let held = self.hold(&mut journal)?;
        let found = self.table().users.get(user).filter(|account| is_expected(account)).cloned();
        let Some(mut account) = found.map(Arc::unwrap_or_clone) else { return Ok(false) };
        change(&mut account);
        self.keep(&mut journal, held.as_ref(), vec![(user.clone(), account)], confirmation)?;
        Ok(true)
    }

    /// What new passwords must be.
    pub(super) fn password_rules(&self) -> &PasswordRules {
        &self.rules
    }

    /// Shows all users, in no order.
    pub(super) fn visit(&self, see: &mut dyn FnMut(&Account)) {
        self.table().users.values().for_each(|account| see(account));
    }

    /// Makes all of these changes, or none where one of the accounts is not what it is said to be. Returns whether they were made.
    pub(super) fn swap(&self, now: Moment, swaps: &[AccountSwap]) -> Result<bool, IdentityError> {
        let mut journal = self.journal();
        let held = self.hold(&mut journal)?;
        let mut changes = Vec::new();
        for AccountSwap { before, after } in swaps {
            let (old, new) = (named(before.as_ref())?, named(after.as_ref())?);
            let is_renamed = old != new;
            let table = self.table();
            if old.as_ref().is_some_and(|old| table.users.get(old).map(|known| &**known) != before.as_ref())
                || is_renamed && new.as_ref().is_some_and(|new| table.users.contains_key(new))
            {
                return Ok(false);
            }
            // The new name first: what a crash leaves of both is never nobody.
            changes.extend(new.zip(after.clone().map(|account| JournalEntry::Put(Box::new(account)))));
            changes.extend(old.filter(|_| is_renamed).map(|old| {
                let (realm, subject) = (old.realm().to_owned(), old.subject().to_owned());
                (old, JournalEntry::Remove { realm, subject, at_ms: now.ms() })
            }));
        }
        self.commit(&mut journal, held.as_ref(), changes, Confirmation::ByCluster)?;
        Ok(true)
    }

    /// Writes users down, and knows them then.
    fn keep(
        &self,
        journal: &mut Option<SharedJournal>,
        held: Option<&JournalLock>,
        named: Vec<(User, Account)>,
        confirmation: Confirmation,
    ) -> Result<(), IdentityError> {
        let named =
            named.into_iter().map(|(user, account)| (user, JournalEntry::Put(Box::new(account)))).collect();
        self.commit(journal, held, named, confirmation)
    }

    fn commit(
        &self,
        journal: &mut Option<SharedJournal>,
        held: Option<&JournalLock>,
        named: Vec<(User, JournalEntry)>,
        confirmation: Confirmation,
    ) -> Result<(), IdentityError> {
        let cluster = self.cluster.get();
        if let (Some(cluster), Confirmation::ByCluster) = (cluster, confirmation) {
            let named = self.publish(&**cluster, named)?;
            // The store has it, whatever this disk says.
            if self.write(journal, held, &named).is_err() {
                self.is_journal_behind.store(true, Ordering::Release);
            }
            self.apply(named);
            return Ok(());
        }
        self.write(journal, held, &named)?;
        self.apply(named);
        if let Some(cluster) = cluster {
            cluster.wake();
        }
        Ok(())
    }

    fn apply(&self, named: Vec<(User, JournalEntry)>) {
        let mut table = self.table_mut();
        named.into_iter().for_each(|(user, entry)| table.apply(user, entry));
    }

    /// Keeps other processes from writing until what comes is dropped, and takes in what they have written.
    pub(super) fn hold(
        &self,
        journal: &mut Option<SharedJournal>,
    ) -> Result<Option<JournalLock>, IdentityError> {
        let Some(journal) = journal else { return Ok(None) };
        let (held, news) = journal.hold()?;
        self.take_in(news, journal.path()).inspect_err(|_| journal.forget())?;
        Ok(Some(held))
    }

    fn take_in(&self, news: JournalChanges, path: &Path) -> Result<(), IdentityError> {
        let (entries, is_all) = match news {
            JournalChanges::More(entries) => (entries, false),
            JournalChanges::All(entries) => (entries, true),
        };
        let entries: Vec<_> = JournalEntry::read_each(entries, path, 1).collect::<Result<_, _>>()?;
        let mut table = self.table_mut();
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        if is_all {
            let mut all = AccountTable::default();
            entries.into_iter().for_each(|(user, entry)| all.apply(user, entry));
            let before = if table.is_shared {
                let before = table.users.clone();
                table.adopt(&all);
                self.is_journal_behind.store(true, Ordering::Release);
                before
            } else {
                std::mem::replace(&mut *table, all).users
            };
            let changed = |(user, account): (&User, &Arc<Account>)| {
                table.change(user, Some(&**account), ChangeOrigin::Here)
            };
            changes.extend(before.iter().filter_map(changed));
        } else {
            for (user, entry) in entries {
                let before = table.users.get(&user).cloned();
                table.apply(user.clone(), entry);
                changes.extend(table.change(&user, before.as_deref(), ChangeOrigin::Here));
            }
        }
        if let Some(cluster) = self.cluster.get().filter(|_| !table.unsent.is_empty()) {
            cluster.wake();
        }
        Ok(())
    }

    pub(super) fn write(
        &self,
        journal: &mut Option<SharedJournal>,
        held: Option<&JournalLock>,
        named: &[(User, JournalEntry)],
    ) -> Result<(), IdentityError> {
        let (Some(journal), Some(held)) = (journal, held) else { return Ok(()) };
        let journal = journal.journal(held);
        let table = self.table();
        let wanted = table.users.len() + table.removed.len();
        let is_wasteful = journal.entries() > 1024 && journal.entries() / WASTE_MAX > wanted;
        if is_wasteful || self.is_journal_behind.load(Ordering::Acquire) {
            let all = table.entries();
            journal.replace(&slices(&texts(all.iter())?))?;
            self.is_journal_behind.store(false, Ordering::Release);
        }
        journal.append(&slices(&texts(named.iter().map(|(_, entry)| entry))?))
    }

    #[inline]
    pub(super) fn table(&self) -> RwLockReadGuard<'_, AccountTable> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn table_mut(&self) -> RwLockWriteGuard<'_, AccountTable> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn journal(&self) -> MutexGuard<'_, Option<SharedJournal>> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compares with nobody's hash, for the time it takes.
    fn pass_time(&self, password: &Password<'_>) {
        let _ = self.nobody.compare(password, self.costs);
    }

    /// The password was right, but is kept in an old way. Failing to keep it in the new way keeps nobody out.
    fn upgrade(&self, user: &User, old: &StoredPassword, password: &Password<'_>) {
        if let Ok(stored) = StoredPassword::hash(password, self.costs, &*self.entropy) {
            let is_same = |account: &Account| account.password.as_ref() == Some(old);
            let keep = |account: &mut Account| account.password = Some(stored.clone());
            let _ = self.change_if(user, is_same, keep, Confirmation::Here);
        }
    }
}

impl UserStore for Directory {
    fn check(&self, _: Moment, user: &User, password: &Password<'_>) -> Result<PasswordCheck, IdentityError> {
        let account = self.account(user)?;
        let Some((account, stored)) = account.and_then(|account| Some((account.clone(), account.password?)))
        else {
            self.pass_time(password);
            return Ok(PasswordCheck::Wrong(LoginFailure::UnknownUser));
        };
        let compared = stored.compare(password, self.costs);
        match compared {
            Comparison::Wrong if stored.is_quick() => self.pass_time(password),
            Comparison::RightAndOld if account.disabled && stored.is_quick() => self.pass_time(password),
            Comparison::RightAndOld if !account.disabled => self.upgrade(user, &stored, password),
            Comparison::Wrong | Comparison::Right | Comparison::RightAndOld => {}
        }
        Ok(match compared {
            Comparison::Wrong => PasswordCheck::Wrong(LoginFailure::Password),
            Comparison::Right | Comparison::RightAndOld if account.disabled => {
                PasswordCheck::Wrong(LoginFailure::Disabled)
            }
            Comparison::Right | Comparison::RightAndOld => PasswordCheck::Right(Box::new(account)),
        })
    }

    fn account(&self, user: &User) -> Result<Option<Account>, IdentityError> {
        Ok(self.shared_account(user)?.map(Arc::unwrap_or_clone))
    }

    // Asked with every request that shows a session: `inline`, and so optimised where a directory becomes a `dyn UserStore`.
    #[inline]
    fn shared_account(&self, user: &User) -> Result<Option<Arc<Account>>, IdentityError> {
        Ok(self.table().users.get(user).cloned())
    }

    fn check_code(&self, now: Moment, user: &User, code: &str) -> Result<Option<UsedCode>, IdentityError> {
        // Two who come with the same code at the same moment: the second finds another step than expected.
        let Some(second) = self.account(user)?.and_then(|account| account.second_step) else {
            return Ok(None);
        };
        let (after, used) = if let Some(step) = second.totp.check(now, code, second.used) {
            let (since, until) = second.totp.times(step);
            let used = UsedCode::Device { user: user.clone(), since, until };
            (SecondStep { used: Some(step), ..second.clone() }, used)
        } else if let Some(recovery) = second.recovery.without(code) {
            let used = UsedCode::Recovery(RecoveryCodes::name_of(user, code));
            (SecondStep { recovery, ..second.clone() }, used)
        } else {
            return Ok(None);
        };
        let is_same = |account: &Account| account.second_step.as_ref() == Some(&second);
        let keep = |account: &mut Account| account.second_step = Some(after.clone());
        let is_changed = self.change_if(user, is_same, keep, Confirmation::Here)?;
        Ok(is_changed.then_some(used))
    }

    fn user_of_handle(&self, handle: &UserHandle) -> Option<User> {
        self.table().user_of_handle(handle).cloned()
    }

    fn use_passkey(&self, user: &User, passkey_use: &PasskeyUse) -> Result<bool, IdentityError> {
        let used = |account: &Account| account.passkeys.clone().used(passkey_use);
        // Most authenticators do not count: then there is nothing to write.
        match self.account(user)?.as_ref().map(used) {
            None | Some(None) => return Ok(false),
            Some(Some(false)) => return Ok(true),
            Some(Some(true)) => {}
        }
        // Two who come with the same count at the same moment: the second finds that it was used.
        let is_later = |account: &Account| used(account).is_some();
        let keep = |account: &mut Account| {
            let _ = account.passkeys.used(passkey_use);
        };
        self.change_if(user, is_later, keep, Confirmation::Here)
    }

    fn is_behind(&self) -> bool {
        let is_told = self.changes.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        // Whoever writes at this moment takes in what others have written, and may wait for the disk.
        let journal = self.journal.try_lock().ok();
        !is_told || journal.is_some_and(|journal| journal.as_ref().is_some_and(SharedJournal::is_behind))
    }

    fn catch_up(&self) -> Result<Vec<UserChange>, IdentityError> {
        let mut journal = self.journal();
        let caught_up = self.hold(&mut journal);
        let changes = std::mem::take(&mut *self.changes.lock().unwrap_or_else(PoisonError::into_inner));
        match caught_up {
            Err(error) if changes.is_empty() => Err(error),
            // What was taken in before is told first; the error comes again.
            Ok(_) | Err(_) => Ok(changes),
        }
    }

    fn writes(self: Arc<Self>) -> Option<Arc<dyn UserWrites>> {
        Some(self)
    }

    fn still_holds(&self, account: &Account) -> bool {
        let Ok(user) = account.user() else { return false };
        let table = self.table();
        let now = table.users.get(&user);
        now.is_some_and(|now| !now.disabled && now.password_since_ms == account.password_since_ms)
    }

    fn must_be_over(&self, user: &User, began: Moment) -> bool {
        let table = self.table();
        let account = table.users.get(user);
        let since = account.map_or(0, |account| account.password_since_ms);
        // Of whoever was removed nothing begins in that millisecond any more; with another password it may.
        let was_removed = table.removed.get(user).is_some_and(|at_ms| began.ms() <= *at_ms);
        account.is_some_and(|account| account.disabled) || was_removed || began.ms() < since
    }
}

impl fmt::Debug for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Directory({} users)", self.table().users.len())
    }
}

fn named(account: Option<&Account>) -> Result<Option<User>, IdentityError> {
    account.map(Account::user).transpose()
}

fn texts<'e>(entries: impl Iterator<Item = &'e JournalEntry>) -> Result<Vec<Vec<u8>>, IdentityError> {
    let text = |entry| serde_json::to_vec(entry).map_err(|error| IdentityError::new(error.to_string()));
    entries.map(text).collect()
}

fn slices(texts: &[Vec<u8>]) -> Vec<&[u8]> {
    texts.iter().map(Vec::as_slice).collect()
}

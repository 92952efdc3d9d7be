//! The directory of users that is built in: in memory, and in a journal where there is one.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use serde::{Deserialize, Serialize};

use super::account::{Account, SecondStep};
use super::journal::Journal;
use super::password::{Compared, HashCosts, Password, StoredPassword};
use super::{Checked, UserStore, Why};
use crate::entropy::Entropy;
use crate::error::failed;
use crate::session::User;
use crate::{IdentityError, Moment};

/// A journal is written anew when it has this many times more entries than there are users.
const WASTE_MAX: usize = 4;

/// An entry of the journal.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Entry {
    Put(Account),
    Remove { realm: String, subject: String },
}

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

/// Users, in memory and in a journal.
pub struct Directory {
    costs: HashCosts,
    entropy: Arc<dyn Entropy>,
    /// What is compared in the place of users that do not exist.
    nobody: StoredPassword,
    users: RwLock<HashMap<User, Account>>,
    /// Held while a change is decided on and written: changes come one after the other.
    journal: Mutex<Option<Journal>>,
}

impl Directory {
    /// A directory in memory, without users.
    ///
    /// # Errors
    /// Costs that cannot be used, or no randomness.
    pub fn in_memory(costs: HashCosts, entropy: Arc<dyn Entropy>) -> Result<Directory, IdentityError> {
        let nobody: [u8; 32] = crate::entropy::bytes(&*entropy)?;
        let text: String = nobody.iter().map(|byte| format!("{byte:02x}")).collect();
        let nobody = StoredPassword::hash(&Password::new(&text)?, costs, &*entropy)?;
        Ok(Directory { costs, entropy, nobody, users: RwLock::default(), journal: Mutex::new(None) })
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
        let (journal, entries) = Journal::open(path)?;
        let mut users = HashMap::new();
        for (number, entry) in (1..).zip(entries) {
            let place = || format!("{}: entry {number}", path.display());
            let entry: Entry = serde_json::from_slice(&entry)
                .map_err(|error| IdentityError::new(error.to_string()).of(place()))?;
            match entry {
                Entry::Put(account) => {
                    users.insert(account.user().map_err(|error| error.of(place()))?, account);
                }
                Entry::Remove { realm, subject } => {
                    users.remove(&User::new(&realm, &subject).map_err(|error| error.of(place()))?);
                }
            }
        }
        *directory.users.write().unwrap_or_else(PoisonError::into_inner) = users;
        *directory.journal() = Some(journal);
        Ok(directory)
    }

    /// All users, by realm and name.
    pub fn list(&self) -> Vec<Account> {
        let mut all: Vec<Account> = self.read().values().cloned().collect();
        all.sort_by(|a, b| (&a.realm, &a.subject).cmp(&(&b.realm, &b.subject)));
        all
    }

    /// Takes a user in, or puts him in the place of one with the same name.
    ///
    /// # Errors
    /// The name is none, or the journal cannot be written: then nothing has changed.
    pub fn put(&self, account: Account) -> Result<(), IdentityError> {
        self.import(vec![account]).map(|_| ()).map_err(|error| error.error)
    }

    /// Takes many users in with one wait for the disk; all of them or none. How many.
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
        let mut journal = self.journal();
        let entries: Vec<Entry> = named.iter().map(|(_, account)| Entry::Put(account.clone())).collect();
        self.write(&mut journal, &entries).map_err(|error| ImportError { at: 0, error })?;
        self.users.write().unwrap_or_else(PoisonError::into_inner).extend(named);
        Ok(count)
    }

    /// Takes a user out. Whether there was one.
    ///
    /// # Errors
    /// The journal cannot be written: then nothing has changed.
    pub fn remove(&self, user: &User) -> Result<bool, IdentityError> {
        let mut journal = self.journal();
        if !self.read().contains_key(user) {
            return Ok(false);
        }
        let (realm, subject) = (user.realm().to_owned(), user.subject().to_owned());
        self.write(&mut journal, &[Entry::Remove { realm, subject }])?;
        self.users.write().unwrap_or_else(PoisonError::into_inner).remove(user);
        Ok(true)
    }

    /// Gives a user another password.
    ///
    /// # Errors
    /// There is no such user, the password cannot be hashed, or the journal cannot be written.
    pub fn set_password(&self, user: &User, password: &Password<'_>) -> Result<(), IdentityError> {
        let stored = StoredPassword::hash(password, self.costs, &*self.entropy)?;
        let set = |account: &mut Account| account.password = Some(stored.clone());
        if self.change(user, |_| true, set)? { Ok(()) } else { failed(format!("there is no user {user}")) }
    }

    /// Changes a user, if he is there and is as expected. Whether he was.
    fn change(
        &self,
        user: &User,
        is_expected: impl Fn(&Account) -> bool,
        change: impl Fn(&mut Account),
    ) -> Result<bool, IdentityError> {
        let mut journal = self.journal();
        let found = self.read().get(user).filter(|account| is_expected(account)).cloned();
        let Some(mut account) = found else { return Ok(false) };
        change(&mut account);
        self.write(&mut journal, &[Entry::Put(account.clone())])?;
        self.users.write().unwrap_or_else(PoisonError::into_inner).insert(user.clone(), account);
        Ok(true)
    }

    fn write(&self, journal: &mut Option<Journal>, entries: &[Entry]) -> Result<(), IdentityError> {
        let Some(journal) = journal else { return Ok(()) };
        if journal.entries() > 1024 && journal.entries() / WASTE_MAX > self.read().len() {
            let all: Vec<Entry> = self.list().into_iter().map(Entry::Put).collect();
            journal.replace(&slices(&texts(&all)?))?;
        }
        journal.append(&slices(&texts(entries)?))
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, HashMap<User, Account>> {
        self.users.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn journal(&self) -> MutexGuard<'_, Option<Journal>> {
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
            let _ = self.change(user, is_same, |account| account.password = Some(stored.clone()));
        }
    }
}

impl UserStore for Directory {
    fn check(&self, _: Moment, user: &User, password: &Password<'_>) -> Result<Checked, IdentityError> {
        let account = self.account(user)?;
        let Some((account, stored)) = account.and_then(|account| Some((account.clone(), account.password?)))
        else {
            self.pass_time(password);
            return Ok(Checked::Wrong(Why::UnknownUser));
        };
        let compared = stored.compare(password, self.costs);
        match compared {
            Compared::Wrong if stored.is_quick() => self.pass_time(password),
            Compared::RightAndOld if account.disabled && stored.is_quick() => self.pass_time(password),
            Compared::RightAndOld if !account.disabled => self.upgrade(user, &stored, password),
            Compared::Wrong | Compared::Right | Compared::RightAndOld => {}
        }
        Ok(match compared {
            Compared::Wrong => Checked::Wrong(Why::Password),
            Compared::Right | Compared::RightAndOld if account.disabled => Checked::Wrong(Why::Disabled),
            Compared::Right | Compared::RightAndOld => Checked::Right(Box::new(account)),
        })
    }

    fn account(&self, user: &User) -> Result<Option<Account>, IdentityError> {
        Ok(self.read().get(user).cloned())
    }

    fn check_code(&self, now: Moment, user: &User, code: &str) -> Result<bool, IdentityError> {
        // Two who come with the same code at the same moment: the second finds another step than he expects.
        let Some(second) = self.account(user)?.and_then(|account| account.second_step) else {
            return Ok(false);
        };
        let after = if let Some(step) = second.totp.check(now, code, second.used) {
            SecondStep { used: Some(step), ..second.clone() }
        } else if let Some(recovery) = second.recovery.without(code) {
            SecondStep { recovery, ..second.clone() }
        } else {
            return Ok(false);
        };
        let is_same = |account: &Account| account.second_step.as_ref() == Some(&second);
        self.change(user, is_same, |account| account.second_step = Some(after.clone()))
    }
}

impl fmt::Debug for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Directory({} users)", self.read().len())
    }
}

fn texts(entries: &[Entry]) -> Result<Vec<Vec<u8>>, IdentityError> {
    let text = |entry| serde_json::to_vec(entry).map_err(|error| IdentityError::new(error.to_string()));
    entries.iter().map(text).collect()
}

fn slices(texts: &[Vec<u8>]) -> Vec<&[u8]> {
    texts.iter().map(Vec::as_slice).collect()
}

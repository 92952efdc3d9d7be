//! Changes of users by administrators and by users themselves: what they ask of a directory that is kept here.

use super::UserStore as _;
use super::account::Account;
use super::directory::Directory;
use super::password::{Password, StoredPassword};
use super::rules::PasswordRefusal;
use crate::session::User;
use crate::{IdentityError, Moment};

/// One change of one user. An account that is put in the place of one with another name renames the user.
#[derive(Clone, Debug, PartialEq)]
pub struct AccountSwap {
    /// What is known of the user before; `None` for a new one.
    pub before: Option<Account>,
    /// What is known afterwards; `None` for one who is removed.
    pub after: Option<Account>,
}

impl AccountSwap {
    /// Whether something changes at all.
    pub fn changes(&self) -> bool {
        self.before != self.after
    }

    /// The user whose sessions end by it: they were disabled, removed, renamed or given another password, device or passkey. A user of
    /// whom nothing was known, and who has a second step now and no password, is kept elsewhere, and has logged in there.
    pub fn ends_sessions_of(&self) -> Option<&Account> {
        match &self.before {
            Some(before) => Some(before).filter(|before| before.loses_sessions(self.after.as_ref())),
            None => self.after.as_ref().filter(|after| after.is_only_steps()),
        }
    }
}

/// A directory whose users can be changed. Calls may wait for a disk.
///
/// It is all that changes users while a server runs: a directory that tells other nodes of its changes does so behind it.
pub trait UserWrites: Send + Sync {
    /// What is known of a user.
    fn find(&self, user: &User) -> Option<Account>;

    /// Shows all users, in no order. The directory is locked meanwhile.
    fn visit(&self, see: &mut dyn FnMut(&Account));

    /// The hash of a new password, or why it is not taken. It takes as long as a login does.
    ///
    /// # Errors
    /// It cannot be hashed.
    fn hash_new(
        &self,
        password: &Password<'_>,
    ) -> Result<Result<StoredPassword, PasswordRefusal>, IdentityError>;

    /// Makes all of these changes, or none where one of the accounts is not what it is said to be before, or a new name is taken:
    /// somebody else was quicker. Returns whether they were made.
    ///
    /// # Errors
    /// A name is none, or they cannot be written down: then nothing has changed.
    fn swap(&self, now: Moment, swaps: &[AccountSwap]) -> Result<bool, IdentityError>;
}

impl UserWrites for Directory {
    fn find(&self, user: &User) -> Option<Account> {
        // Users are in memory: it does not fail.
        self.account(user).ok().flatten()
    }

    fn visit(&self, see: &mut dyn FnMut(&Account)) {
        Directory::visit(self, see);
    }

    fn hash_new(
        &self,
        password: &Password<'_>,
    ) -> Result<Result<StoredPassword, PasswordRefusal>, IdentityError> {
        match self.password_rules().check(password) {
            Ok(()) => Directory::hash_new(self, password).map(Ok),
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    fn swap(&self, now: Moment, swaps: &[AccountSwap]) -> Result<bool, IdentityError> {
        Directory::swap(self, now, swaps)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use super::*;
    use crate::SystemEntropy;
    use crate::user::HashCosts;

    const CHEAP: HashCosts = HashCosts { memory_kib: 8, passes: 1, lanes: 1 };
    const NOW: Moment = Moment::from_ms(9_000);

    struct File(PathBuf);

    impl File {
        fn new(name: &str) -> File {
            File(std::env::temp_dir().join(format!("durward-writes-{name}-{}", std::process::id())))
        }

        fn open(&self) -> Directory {
            Directory::open(&self.0, CHEAP, Arc::new(SystemEntropy)).unwrap()
        }
    }

    impl Drop for File {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
            let _ = std::fs::remove_file(format!("{}.lock", self.0.display()));
        }
    }

    fn user(name: &str) -> User {
        User::new("/", name).unwrap()
    }

    fn account(name: &str) -> Account {
        Account::new(&user(name))
    }

    fn of_group(name: &str, group: &str) -> Account {
        Account { groups: vec![group.to_owned()], ..account(name) }
    }

    fn swap(before: Option<&Account>, after: Option<&Account>) -> AccountSwap {
        AccountSwap { before: before.cloned(), after: after.cloned() }
    }

    fn names(directory: &Directory) -> Vec<String> {
        directory.list().into_iter().map(|account| account.subject).collect()
    }

    #[test]
    fn changes_are_made_together_or_not_at_all() {
        let file = File::new("together");
        let directory = file.open();
        let (anna, berta) = (account("anna"), account("berta"));
        assert!(directory.swap(NOW, &[swap(None, Some(&anna)), swap(None, Some(&berta))]).unwrap());
        let staff = of_group("anna", "staff");
        // The second is not what it is said to be.
        let stale = [swap(Some(&anna), Some(&staff)), swap(Some(&of_group("berta", "x")), None)];
        assert!(!directory.swap(NOW, &stale).unwrap());
        assert_eq!(directory.find(&user("anna")), Some(anna.clone()));
        assert!(!directory.swap(NOW, &[swap(None, Some(&anna))]).unwrap(), "the name is taken");
        assert!(directory.swap(NOW, &[swap(Some(&anna), Some(&staff)), swap(Some(&berta), None)]).unwrap());
        assert_eq!(file.open().list(), [staff]);
    }

    #[test]
    fn a_renamed_user_is_one_user_also_after_a_restart() {
        let file = File::new("renamed");
        let directory = file.open();
        let (anna, berta) = (of_group("anna", "staff"), of_group("berta", "staff"));
        directory.put(anna.clone()).unwrap();
        directory.put(account("carla")).unwrap();
        assert!(!directory.swap(NOW, &[swap(Some(&anna), Some(&account("carla")))]).unwrap());
        let renamed = swap(Some(&anna), Some(&berta));
        assert_eq!(renamed.ends_sessions_of(), Some(&anna));
        assert!(directory.swap(NOW, &[renamed]).unwrap());
        assert_eq!(names(&file.open()), ["berta", "carla"]);
        // What began in the millisecond of the removal began before it: nothing begins afterwards.
        assert!(file.open().must_be_over(&user("anna"), NOW));
        assert!(!file.open().must_be_over(&user("anna"), Moment::from_ms(9_001)));
    }

    #[test]
    fn sessions_end_with_the_account_the_name_and_the_password() {
        let anna = account("anna");
        let ends = |after: Option<&Account>| swap(Some(&anna), after).ends_sessions_of().is_some();
        assert!(ends(None) && ends(Some(&account("berta"))));
        assert!(ends(Some(&Account { disabled: true, ..anna.clone() })));
        assert!(ends(Some(&Account { password_since_ms: 1, ..anna.clone() })));
        assert!(!ends(Some(&of_group("anna", "staff"))));
        assert_eq!(swap(None, Some(&anna)).ends_sessions_of(), None);
    }
}

//! Who may have a session: users, their passwords, and second steps.
//!
//! [`UserStore`] is what a login needs of a directory; [`Directory`] is the one that is built in, in memory or with a journal on
//! disk. An LDAP directory implements the same trait: it finds an entry by a search and checks a password by a bind.

mod account;
mod cluster;
mod directory;
mod hash_memory;
mod import;
mod journal;
mod merge;
mod password;
mod rules;
mod shared;
mod table;
mod totp;
mod writes;

pub use account::{Account, AccountLink, SecondStep};
pub use cluster::{TakenRecords, UserCluster, UserRecord};
pub use directory::{Directory, ImportError};
pub use hash_memory::{keep_hash_memory, release_hash_memory};
pub use import::ImportLine;
pub use journal::{ENTRY_BYTES_MAX, Journal, Replacement, lock};
pub use password::{HashCosts, PASSWORD_BYTES_MAX, Password, StoredPassword};
pub use rules::{PasswordRefusal, PasswordRules};
pub use shared::{JournalChanges, JournalLock, SharedJournal};
pub use totp::{RECOVERY_CODES, RecoveryCodes, Totp, TotpAlgorithm};
pub use writes::{AccountSwap, UserWrites};

use std::sync::Arc;

use crate::passkey::{PasskeyUse, UserHandle};
use crate::session::{UsedCode, User};
use crate::{IdentityError, Moment};

/// The outcome of a password check.
#[derive(Clone, Debug, PartialEq)]
pub enum PasswordCheck {
    /// It is the user's.
    Right(Box<Account>),
    /// It is not; or there is no such user, or they may not log in. Which of these took the same time to find out, and goes to the
    /// audit, not to whoever asked.
    Wrong(LoginFailure),
}

/// Why a login fails, for the audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginFailure {
    /// There is no such user.
    UnknownUser,
    /// The password is another.
    Password,
    /// The user is disabled.
    Disabled,
    /// The second step's code is wrong, or was used before.
    Code,
    /// The password is right and is over, and its directory lets nobody in with it any more.
    PasswordOver,
}

/// Where users are.
///
/// Calls may block, for a network or for tens of milliseconds of hashing: they are made on threads of their own, as many as
/// [`crate::login::LoginPool`] admits.
pub trait UserStore: Send + Sync {
    /// Whether this is the user's password. Takes as long for users that do not exist.
    ///
    /// # Errors
    /// The store cannot say at the moment. Nobody gets in then.
    fn check(
        &self,
        now: Moment,
        user: &User,
        password: &Password<'_>,
    ) -> Result<PasswordCheck, IdentityError>;

    /// What is known of a user.
    ///
    /// # Errors
    /// The store cannot say at the moment.
    fn account(&self, user: &User) -> Result<Option<Account>, IdentityError>;

    /// The same, shared with the store where the account lies there as it is.
    ///
    /// # Errors
    /// As [`UserStore::account`].
    fn shared_account(&self, user: &User) -> Result<Option<Arc<Account>>, IdentityError> {
        Ok(self.account(user)?.map(Arc::new))
    }

    /// The code as one that is used, if this is one of the user's second step or a recovery code. It is used up by that: the same
    /// code is refused afterwards, also on other nodes that share the store. Nodes that do not share it tell each other of the code.
    ///
    /// # Errors
    /// The store cannot say at the moment, or cannot write down that the code is used. Nobody gets in then.
    fn check_code(&self, now: Moment, user: &User, code: &str) -> Result<Option<UsedCode>, IdentityError>;

    /// The user whom authenticators call so. `None` where nobody is, or no passkeys are kept here.
    fn user_of_handle(&self, handle: &UserHandle) -> Option<User> {
        let _ = handle;
        None
    }

    /// Takes note of the use of a user's passkey. Whether the passkey is still theirs, and the use later than those before.
    ///
    /// # Errors
    /// It cannot be written down. Nobody gets in then.
    fn use_passkey(&self, user: &User, passkey_use: &PasskeyUse) -> Result<bool, IdentityError> {
        let _ = (user, passkey_use);
        Ok(false)
    }

    /// Whether others may have changed something since [`UserStore::catch_up`]. It is quick, and asks no network. A store that is asked
    /// for everything anew each time has nothing to catch up with.
    fn is_behind(&self) -> bool {
        false
    }

    /// Takes in what others have changed, and says of which users something did.
    ///
    /// # Errors
    /// What others have written cannot be read: all is as it was.
    fn catch_up(&self) -> Result<Vec<UserChange>, IdentityError> {
        Ok(Vec::new())
    }

    /// What changes these users, where that is possible here.
    fn writes(self: Arc<Self>) -> Option<Arc<dyn UserWrites>> {
        None
    }

    /// Whether an account that let a user in a moment ago still does: they have not been disabled or given another password since.
    fn still_holds(&self, account: &Account) -> bool {
        !account.disabled
    }

    /// Whether a session that this user began at this moment must be over: they were disabled, removed or given another password since.
    fn must_be_over(&self, user: &User, began: Moment) -> bool {
        let _ = (user, began);
        false
    }
}

/// A change of a user by another process, or another node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserChange {
    /// Who.
    pub user: User,
    /// Whether the user's sessions must end: they were disabled, removed or given another password.
    pub ends_sessions: bool,
    /// Where it was made.
    pub origin: ChangeOrigin,
}

/// Where a change of a user was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeOrigin {
    /// In the file of this node.
    Here,
    /// On another node, which ends the sessions of the user on all nodes; this one sees to it that none is left.
    OtherNode,
}

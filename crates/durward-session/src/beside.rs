//! What is kept beside a directory that is not changed here: second steps and passkeys of its users, in the built-in directory, under the
//! realm and the name that the other directory says. So they travel between nodes as other users do.

use std::fmt;
use std::sync::Arc;

use durward_identity::passkey::{PasskeyUse, UserHandle};
use durward_identity::session::{UsedCode, User};
use durward_identity::user::{
    Account, Directory, LoginFailure, Password, PasswordCheck, UserChange, UserStore, UserWrites,
};
use durward_identity::{IdentityError, Moment};

use crate::directory::{DirectoryFuture, PasswordRejection, UserDirectory};

/// A directory of users, with what is kept beside it.
pub struct Beside {
    users: Arc<dyn UserDirectory>,
    kept: Arc<Directory>,
    store: Arc<KeptStore>,
}

impl Beside {
    /// Keeps beside `users` what `kept` holds of its realms. Nobody logs in by a password of `kept`.
    pub fn new(users: Arc<dyn UserDirectory>, kept: Arc<Directory>) -> Beside {
        let store = Arc::new(KeptStore(Arc::clone(&kept)));
        Beside { users, kept, store }
    }

    /// The account with what is kept beside it.
    fn joined(&self, account: Account) -> Result<Account, IdentityError> {
        let kept = self.kept.account(&account.user()?)?;
        let Some(Account { second_step, passkeys, password_since_ms, disabled, .. }) = kept else {
            return Ok(account);
        };
        let disabled = account.disabled || disabled;
        let password_since_ms = account.password_since_ms.max(password_since_ms);
        Ok(Account { second_step, passkeys, password_since_ms, disabled, ..account })
    }
}

impl UserDirectory for Beside {
    fn check<'a>(
        &'a self,
        now: Moment,
        user: &'a User,
        password: Password<'a>,
    ) -> DirectoryFuture<'a, PasswordCheck> {
        Box::pin(async move {
            let account = match self.users.check(now, user, password).await? {
                PasswordCheck::Right(account) => self.joined(*account)?,
                wrong @ PasswordCheck::Wrong(_) => return Ok(wrong),
            };
            Ok(if account.disabled {
                PasswordCheck::Wrong(LoginFailure::Disabled)
            } else {
                PasswordCheck::Right(Box::new(account))
            })
        })
    }

    fn account<'a>(&'a self, user: &'a User) -> DirectoryFuture<'a, Option<Account>> {
        Box::pin(async move {
            let account = self.users.account(user).await?;
            Ok(account.map(|account| self.joined(account)).transpose()?)
        })
    }

    /// Writes down that the code is used: on a thread, for the disk.
    fn check_code<'a>(
        &'a self,
        now: Moment,
        user: &'a User,
        code: &'a str,
    ) -> DirectoryFuture<'a, Option<UsedCode>> {
        Box::pin(async move {
            let (kept, user, code) = (Arc::clone(&self.kept), user.clone(), code.to_owned());
            let checked = tokio::task::spawn_blocking(move || kept.check_code(now, &user, &code)).await;
            let failed = |_| IdentityError::new("looking at a code failed");
            Ok(checked.map_err(failed)??)
        })
    }

    fn store(&self) -> Option<Arc<dyn UserStore>> {
        Some(self.store.clone())
    }

    fn steps(&self) -> Option<Arc<dyn UserWrites>> {
        Some(self.kept.clone())
    }

    fn changes_passwords(&self) -> bool {
        self.users.changes_passwords()
    }

    fn change_password<'a>(
        &'a self,
        user: &'a User,
        old: Password<'a>,
        new: Password<'a>,
    ) -> DirectoryFuture<'a, Result<(), PasswordRejection>> {
        self.users.change_password(user, old, new)
    }

    fn password_since<'a>(&'a self, user: &'a User) -> DirectoryFuture<'a, Option<Moment>> {
        Box::pin(async move {
            let since = self.users.password_since(user).await?;
            let kept = self.kept.account(user)?.map(|kept| Moment::from_ms(kept.password_since_ms));
            // As [`Beside::joined`] says it.
            Ok(since.map(|since| kept.map_or(since, |kept| since.max(kept))))
        })
    }

    fn folded(&self, name: &str) -> Option<String> {
        self.users.folded(name)
    }

    fn tells_realms_apart(&self) -> bool {
        self.users.tells_realms_apart()
    }

    fn load(&self) -> (usize, usize) {
        self.users.load()
    }
}

impl fmt::Debug for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Beside({:?})", self.kept)
    }
}

/// The built-in directory as it counts for users who are kept elsewhere: of whom it knows nothing, they may well be there.
struct KeptStore(Arc<Directory>);

impl UserStore for KeptStore {
    /// Nobody's password is kept here.
    fn check(&self, _: Moment, _: &User, _: &Password<'_>) -> Result<PasswordCheck, IdentityError> {
        Ok(PasswordCheck::Wrong(LoginFailure::Password))
    }

    fn account(&self, user: &User) -> Result<Option<Account>, IdentityError> {
        self.0.account(user)
    }

    fn check_code(&self, now: Moment, user: &User, code: &str) -> Result<Option<UsedCode>, IdentityError> {
        self.0.check_code(now, user, code)
    }

    fn user_of_handle(&self, handle: &UserHandle) -> Option<User> {
        self.0.user_of_handle(handle)
    }

    fn use_passkey(&self, user: &User, passkey_use: &PasskeyUse) -> Result<bool, IdentityError> {
        self.0.use_passkey(user, passkey_use)
    }

    fn is_behind(&self) -> bool {
        self.0.is_behind()
    }

    fn catch_up(&self) -> Result<Vec<UserChange>, IdentityError> {
        self.0.catch_up()
    }

    fn still_holds(&self, account: &Account) -> bool {
        let Ok(user) = account.user() else { return false };
        match self.0.account(&user) {
            // The other directory may know of a later password.
            Ok(Some(now)) => !now.disabled && now.password_since_ms <= account.password_since_ms,
            Ok(None) => !account.disabled,
            Err(_) => false,
        }
    }

    fn must_be_over(&self, user: &User, began: Moment) -> bool {
        self.0.must_be_over(user, began)
    }
}

//! What is kept beside a directory that is not changed here: second steps and passkeys of its users, in the built-in directory, under the
//! realm and the name that the other directory says, as that compares names. So they travel between nodes as other users do.
//!
//! A name is somebody else's once its entry was removed and another one has it. So what is kept is bound to the entry, where the other
//! directory says what it calls that for good ([`Account::entry`]): of another entry of the same name it is nothing.

use std::fmt;
use std::sync::Arc;

use durward_identity::passkey::{PasskeyUse, UserHandle};
use durward_identity::session::{UsedCode, User};
use durward_identity::user::{
    Account, AccountSwap, Directory, LoginFailure, Password, PasswordCheck, PasswordRefusal, StoredPassword,
    UserChange, UserStore, UserWrites,
};
use durward_identity::{IdentityError, Moment};

use crate::directory::{DirectoryFault, DirectoryFuture, PasswordRejection, UserDirectory};
use crate::seldom::Seldom;

/// A directory of users, with what is kept beside it.
pub struct Beside {
    users: Arc<dyn UserDirectory>,
    kept: Arc<KeptStore>,
    of_other_entries: Seldom,
}

impl Beside {
    /// Keeps beside `users` what `kept` holds of its realms. Nobody logs in by a password of `kept`.
    pub fn new(users: Arc<dyn UserDirectory>, kept: Arc<Directory>) -> Beside {
        let kept = Arc::new(KeptStore { users: Arc::clone(&users), kept });
        Beside { users, kept, of_other_entries: Seldom::default() }
    }

    /// The account with what is kept beside it.
    ///
    /// # Errors
    /// It cannot be said whose that is.
    fn joined(&self, account: Account) -> Result<Account, IdentityError> {
        let user = account.user()?;
        let Some(kept) = self.kept.account(&user)? else { return Ok(account) };
        let disabled = account.disabled || kept.disabled;
        let password_since_ms = account.password_since_ms.max(kept.password_since_ms);
        let is_theirs = kept.is_of_entry(account.entry.as_deref());
        let account = Account { password_since_ms, disabled, ..account };
        if is_theirs || !kept.has_second_step() {
            let Account { second_step, passkeys, .. } = kept;
            return Ok(Account { second_step, passkeys, ..account });
        }
        // Without the second step, a password would be enough for somebody for whom it is not.
        if account.entry.is_none() {
            return Err(IdentityError::new(format!(
                "the directory does not say any more what it calls the entry of {user}: read access to `entryUUID` or `objectGUID` is missing"
            )));
        }
        if self.of_other_entries.is_due() {
            tracing::warn!(
                %user,
                "another entry of the directory has this name now: what is kept of the one before does not count"
            );
        }
        Ok(account)
    }

    /// Binds what is kept of a user to their entry, where it is not yet: the password was right.
    async fn bind(&self, account: &Account) -> Result<(), DirectoryFault> {
        let user = account.user()?;
        let is_unbound = |kept: &Account| kept.entry.is_none() && kept.has_second_step();
        let Some(entry) = account.entry.clone() else { return Ok(()) };
        if !self.kept.account(&user)?.is_some_and(|kept| is_unbound(&kept)) {
            return Ok(());
        }
        let kept = Arc::clone(&self.kept);
        let bound = tokio::task::spawn_blocking(move || {
            kept.kept.change(&kept.name(&user), |kept| {
                kept.entry.get_or_insert(entry);
            })
        });
        bound.await.map_err(|_| IdentityError::new("binding a second step to its entry failed"))??;
        Ok(())
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
                PasswordCheck::Right(account) => {
                    self.bind(&account).await?;
                    self.joined(*account)?
                }
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
            // The device may be that of whoever had the name before.
            if self.account(user).await?.is_none_or(|account| account.second_step.is_none()) {
                return Ok(None);
            }
            let (kept, user, code) = (Arc::clone(&self.kept), user.clone(), code.to_owned());
            let checked = tokio::task::spawn_blocking(move || kept.check_code(now, &user, &code)).await;
            let failed = |_| IdentityError::new("looking at a code failed");
            Ok(checked.map_err(failed)??)
        })
    }

    fn store(&self) -> Option<Arc<dyn UserStore>> {
        Some(self.kept.clone())
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
            let kept =
                UserStore::account(&*self.kept, user)?.map(|kept| Moment::from_ms(kept.password_since_ms));
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
        write!(f, "Beside({:?})", self.kept.kept)
    }
}

/// The built-in directory as it counts for users who are kept elsewhere: of whom it knows nothing, they may well be there. Names mean what they
/// mean there.
struct KeptStore {
    users: Arc<dyn UserDirectory>,
    kept: Arc<Directory>,
}

impl KeptStore {
    /// The name under which something is kept of a user.
    fn name(&self, user: &User) -> User {
        let folded = self.users.folded(user.subject());
        // One that is too long by that is kept as it is written.
        folded.and_then(|name| User::new(user.realm(), &name).ok()).unwrap_or_else(|| user.clone())
    }

    fn named(&self, account: Option<&Account>) -> Result<Option<Account>, IdentityError> {
        let Some(account) = account else { return Ok(None) };
        let subject = self.name(&account.user()?).subject().to_owned();
        Ok(Some(Account { subject, ..account.clone() }))
    }
}

impl UserStore for KeptStore {
    /// Nobody's password is kept here.
    fn check(&self, _: Moment, _: &User, _: &Password<'_>) -> Result<PasswordCheck, IdentityError> {
        Ok(PasswordCheck::Wrong(LoginFailure::Password))
    }

    fn account(&self, user: &User) -> Result<Option<Account>, IdentityError> {
        self.kept.account(&self.name(user))
    }

    fn check_code(&self, now: Moment, user: &User, code: &str) -> Result<Option<UsedCode>, IdentityError> {
        self.kept.check_code(now, &self.name(user), code)
    }

    fn user_of_handle(&self, handle: &UserHandle) -> Option<User> {
        self.kept.user_of_handle(handle)
    }

    fn use_passkey(&self, user: &User, passkey_use: &PasskeyUse) -> Result<bool, IdentityError> {
        self.kept.use_passkey(&self.name(user), passkey_use)
    }

    fn is_behind(&self) -> bool {
        self.kept.is_behind()
    }

    fn catch_up(&self) -> Result<Vec<UserChange>, IdentityError> {
        self.kept.catch_up()
    }

    fn still_holds(&self, account: &Account) -> bool {
        let kept = account.user().and_then(|user| self.account(&user));
        match kept {
            // The other directory may know of a later password.
            Ok(Some(now)) => !now.disabled && now.password_since_ms <= account.password_since_ms,
            Ok(None) => !account.disabled,
            Err(_) => false,
        }
    }

    fn must_be_over(&self, user: &User, began: Moment) -> bool {
        self.kept.must_be_over(&self.name(user), began)
    }
}

impl UserWrites for KeptStore {
    fn find(&self, user: &User) -> Option<Account> {
        self.kept.find(&self.name(user))
    }

    fn visit(&self, see: &mut dyn FnMut(&Account)) {
        UserWrites::visit(&*self.kept, see);
    }

    fn hash_new(
        &self,
        password: &Password<'_>,
    ) -> Result<Result<StoredPassword, PasswordRefusal>, IdentityError> {
        UserWrites::hash_new(&*self.kept, password)
    }

    fn swap(&self, now: Moment, swaps: &[AccountSwap]) -> Result<bool, IdentityError> {
        let named = |swap: &AccountSwap| {
            Ok(AccountSwap {
                before: self.named(swap.before.as_ref())?,
                after: self.named(swap.after.as_ref())?,
            })
        };
        let swaps: Vec<AccountSwap> = swaps.iter().map(named).collect::<Result<_, IdentityError>>()?;
        UserWrites::swap(&*self.kept, now, &swaps)
    }
}

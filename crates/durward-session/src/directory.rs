//! Where users are: the trait that directories implement, and the one that is built in.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use durward_identity::login::PoolSettings;
use durward_identity::session::{UsedCode, User};
use durward_identity::user::{
    Account, Password, PasswordCheck, PasswordRefusal, StoredPassword, UserStore, UserWrites,
};
use durward_identity::{IdentityError, Moment};

use crate::hashing::{HashingPool, HashingTurn};

/// Why a directory does not answer. Nobody gets in then, and it counts as no failure of the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirectoryFault {
    /// Too much waits for it; this long from now there may be room.
    Busy {
        /// For `Retry-After`.
        retry_after: Duration,
    },
    /// It cannot say at the moment. The reason is for the operator, and holds no secret.
    Failed(IdentityError),
}

impl From<IdentityError> for DirectoryFault {
    fn from(error: IdentityError) -> DirectoryFault {
        DirectoryFault::Failed(error)
    }
}

/// Why a directory that keeps its own passwords does not take a new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PasswordRejection {
    /// It is not what our own rules want.
    Rules(PasswordRefusal),
    /// The old one was not right any more.
    OldIsWrong,
    /// It is too short for the directory.
    TooShort,
    /// It is too simple for the directory, or the directory does not say why.
    TooSimple,
    /// The user had it before.
    HadBefore,
    /// The last change is too recent.
    TooSoon,
    /// The user may not change it.
    NotAllowed,
}

impl fmt::Display for PasswordRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PasswordRejection::Rules(refusal) => refusal.fmt(f),
            PasswordRejection::OldIsWrong => f.write_str("the old password is not right any more"),
            PasswordRejection::TooShort => f.write_str("the password is too short for the user directory"),
            PasswordRejection::TooSimple => {
                f.write_str("the user directory does not take this password; choose a longer one")
            }
            PasswordRejection::HadBefore => f.write_str("the user had this password before; choose another"),
            PasswordRejection::TooSoon => {
                f.write_str("the password was changed too recently; try again later")
            }
            PasswordRejection::NotAllowed => {
                f.write_str("the user directory does not let this user change the password")
            }
        }
    }
}

impl std::error::Error for PasswordRejection {}

/// The future of a directory's answer.
pub type DirectoryFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, DirectoryFault>> + Send + 'a>>;

/// Where the users of a realm are.
///
/// Calls run on the service's own runtime, which has time and I/O, and are not given up when the caller goes. They bound their
/// own time and how many of them go on at once, and must not block. An implementation gives the same
/// answer, in about the same time, for a user that does not exist and for a wrong password.
pub trait UserDirectory: Send + Sync {
    /// Whether this is the user's password.
    fn check<'a>(
        &'a self,
        now: Moment,
        user: &'a User,
        password: Password<'a>,
    ) -> DirectoryFuture<'a, PasswordCheck>;

    /// The same for somebody on a device from which the user has logged in before: a directory that has a queue lets them go first, so that
    /// strangers do not keep them out by filling it.
    fn check_first<'a>(
        &'a self,
        now: Moment,
        user: &'a User,
        password: Password<'a>,
    ) -> DirectoryFuture<'a, PasswordCheck> {
        self.check(now, user, password)
    }

    /// What is known of a user.
    fn account<'a>(&'a self, user: &'a User) -> DirectoryFuture<'a, Option<Account>>;

    /// The same at once and on the caller's thread, as [`UserDirectory::account`] would say it; `None` of a directory that has to be asked.
    fn account_at_hand(&self, user: &User) -> Option<Result<Option<Arc<Account>>, DirectoryFault>> {
        let _ = user;
        None
    }

    /// The code as one that is used, if this is one of the user's second step. It is used up by that, here and where others share
    /// this directory; nodes that do not share it are told. A directory that has no second steps gives nothing; then no account of
    /// its has one.
    fn check_code<'a>(
        &'a self,
        now: Moment,
        user: &'a User,
        code: &'a str,
    ) -> DirectoryFuture<'a, Option<UsedCode>>;

    /// The store behind it, where that is on this machine, so that others may change it there: [`UserStore::catch_up`].
    fn store(&self) -> Option<Arc<dyn UserStore>> {
        None
    }

    /// What changes its users, where they are kept here.
    fn writes(&self) -> Option<Arc<dyn UserWrites>> {
        None
    }

    /// What changes second steps and passkeys of its users, where they are kept here: also beside a directory that is changed elsewhere.
    fn steps(&self) -> Option<Arc<dyn UserWrites>> {
        self.writes()
    }

    /// The hash of a new password, or why it is not taken: for those who have [`UserDirectory::writes`].
    fn hash_new<'a>(
        &'a self,
        password: Password<'a>,
    ) -> DirectoryFuture<'a, Result<StoredPassword, PasswordRefusal>> {
        let _ = password;
        Box::pin(async { Err(IdentityError::new("passwords are not kept here").into()) })
    }

    /// Whether users can give themselves another password by [`crate::Service::choose_password`].
    fn changes_passwords(&self) -> bool {
        self.writes().is_some()
    }

    /// Gives a user another password, as that user and by the old one: for a directory that keeps passwords itself, and lets users change
    /// them.
    fn change_password<'a>(
        &'a self,
        user: &'a User,
        old: Password<'a>,
        new: Password<'a>,
    ) -> DirectoryFuture<'a, Result<(), PasswordRejection>> {
        let _ = (user, old, new);
        Box::pin(async { Err(IdentityError::new("passwords are not changed here").into()) })
    }

    /// When the user was given their password, where only the directory knows: what was given to their devices before is over then. `None`
    /// where it does not say.
    fn password_since<'a>(&'a self, user: &'a User) -> DirectoryFuture<'a, Option<Moment>> {
        let _ = user;
        Box::pin(async { Ok(None) })
    }

    /// How the directory compares names: those that it may take for one user are one text here. `None` where every text is a name of
    /// its own. Failures are counted by it, so that nobody has more guesses by writing a name in more ways.
    fn folded(&self, name: &str) -> Option<String> {
        let _ = name;
        None
    }

    /// Whether a name in one realm is another user than the same name in another realm. Where it is not, the realms are ways to
    /// the same passwords, and failures are counted for all of them together; so they are where a directory does not say.
    fn tells_realms_apart(&self) -> bool {
        false
    }

    /// How many wait and how many are being served, for metrics.
    fn load(&self) -> (usize, usize) {
        (0, 0)
    }
}

/// A directory whose calls block, on threads of its own: the built-in one, whose passwords are hashed.
pub struct Embedded {
    store: Arc<dyn UserStore>,
    hashing: HashingPool,
}

impl Embedded {
    /// Puts threads before a directory.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn new(store: Arc<dyn UserStore>, pool: PoolSettings) -> Result<Embedded, IdentityError> {
        let hashing = HashingPool::start(pool)
            .map_err(|error| IdentityError::new(format!("cannot start a thread for hashing: {error}")))?;
        Ok(Embedded { store, hashing })
    }

    async fn look<'a>(
        &'a self,
        whose: HashingTurn,
        now: Moment,
        user: &'a User,
        password: Password<'a>,
    ) -> Result<PasswordCheck, DirectoryFault> {
        let user = user.clone();
        // It was text; and it is dropped when it has been hashed.
        let password = String::from_utf8_lossy(password.expose()).into_owned();
        self.run(whose, move |store| store.check(now, &user, &Password::new(&password)?)).await
    }

    async fn run<T: Send + 'static>(
        &self,
        whose: HashingTurn,
        work: impl FnOnce(&dyn UserStore) -> Result<T, IdentityError> + Send + 'static,
    ) -> Result<T, DirectoryFault> {
        let store = Arc::clone(&self.store);
        match self.hashing.run(whose, move || work(&*store)).await {
            Err(busy) => Err(DirectoryFault::Busy { retry_after: busy.retry_after }),
            Ok(None) => Err(IdentityError::new("looking at a password failed").into()),
            Ok(Some(result)) => Ok(result?),
        }
    }
}

impl UserDirectory for Embedded {
    fn check<'a>(
        &'a self,
        now: Moment,
        user: &'a User,
        password: Password<'a>,
    ) -> DirectoryFuture<'a, PasswordCheck> {
        Box::pin(self.look(HashingTurn::InOrder, now, user, password))
    }

    fn check_first<'a>(
        &'a self,
        now: Moment,
        user: &'a User,
        password: Password<'a>,
    ) -> DirectoryFuture<'a, PasswordCheck> {
        Box::pin(self.look(HashingTurn::First, now, user, password))
    }

    /// Does not block: users are in memory.
    fn account<'a>(&'a self, user: &'a User) -> DirectoryFuture<'a, Option<Account>> {
        Box::pin(async move { Ok(self.store.account(user)?) })
    }

    #[inline]
    fn account_at_hand(&self, user: &User) -> Option<Result<Option<Arc<Account>>, DirectoryFault>> {
        Some(self.store.shared_account(user).map_err(DirectoryFault::from))
    }

    /// Writes down that the code is used: on a thread, for the disk.
    fn check_code<'a>(
        &'a self,
        now: Moment,
        user: &'a User,
        code: &'a str,
    ) -> DirectoryFuture<'a, Option<UsedCode>> {
        Box::pin(async move {
            let (user, code) = (user.clone(), code.to_owned());
            self.run(HashingTurn::InOrder, move |store| store.check_code(now, &user, &code)).await
        })
    }

    fn store(&self) -> Option<Arc<dyn UserStore>> {
        Some(Arc::clone(&self.store))
    }

    fn writes(&self) -> Option<Arc<dyn UserWrites>> {
        Arc::clone(&self.store).writes()
    }

    /// It takes as long as a login, on the same threads; whoever has got this far is no stranger.
    fn hash_new<'a>(
        &'a self,
        password: Password<'a>,
    ) -> DirectoryFuture<'a, Result<StoredPassword, PasswordRefusal>> {
        Box::pin(async move {
            let writes = self.writes().ok_or_else(|| IdentityError::new("passwords are not kept here"))?;
            let password = String::from_utf8_lossy(password.expose()).into_owned();
            self.run(HashingTurn::First, move |_| writes.hash_new(&Password::new(&password)?)).await
        })
    }

    /// Each of its users is of one realm.
    fn tells_realms_apart(&self) -> bool {
        true
    }

    fn load(&self) -> (usize, usize) {
        self.hashing.load()
    }
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Embedded").field(&self.hashing).finish()
    }
}

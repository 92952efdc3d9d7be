//! Users that another process changes while the service runs: a second directory over the same file stands for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use durward_identity::session::{Purpose, UsedCode, User};
use durward_identity::user::{
    Account, Directory, Password, PasswordCheck, StoredPassword, UserChange, UserStore,
};
use durward_identity::{IdentityError, Moment, SystemEntropy};
use durward_session::{Builder, Embedded, Login, LoginRequest, Refused, Running, Service, ServiceSettings};

use crate::support::{CHEAP, Folder, HOME, Turned, granted, patient, user};

/// The file, as the service has it open and as another process has.
struct File {
    folder: Folder,
    time: Turned,
    other: Directory,
}

impl File {
    /// `anna`, with the password `secret`.
    fn new(name: &str) -> File {
        let folder = Folder::new(name);
        let other = Directory::open(&folder.path().join("users"), CHEAP, Arc::new(SystemEntropy)).unwrap();
        let password = Password::new("secret").unwrap();
        let password = StoredPassword::hash(&password, CHEAP, &SystemEntropy).unwrap();
        other.put(Account { password: Some(password), ..Account::new(&user("anna")) }).unwrap();
        File { folder, time: Turned::default(), other }
    }

    fn open(&self) -> Directory {
        Directory::open(&self.folder.path().join("users"), CHEAP, Arc::new(SystemEntropy)).unwrap()
    }

    async fn serve(&self, store: impl UserStore + 'static) -> (Service, Running) {
        let settings: ServiceSettings = patient();
        let embedded = Embedded::new(Arc::new(store), settings.pool).unwrap();
        let builder = Builder::new(settings, self.time.clock()).realm("/", Arc::new(embedded)).unwrap();
        let (service, running) = builder.start().unwrap();
        assert!(service.ready().await);
        (service, running)
    }

    /// The other process gives another password.
    fn pass(&self, password: &str) {
        self.time.pass(Duration::from_secs(1));
        let password = Password::new(password).unwrap();
        self.other.set_password(self.time.now(), &user("anna"), &password).unwrap();
        self.time.pass(Duration::from_secs(1));
    }

    fn change(&self, change: impl FnOnce(&mut Account)) {
        let mut account = self.other.account(&user("anna")).unwrap().unwrap();
        change(&mut account);
        self.other.put(account).unwrap();
    }
}

async fn login(service: &Service, password: &str) -> Result<Login, Refused> {
    service.login(LoginRequest::new("/", "anna", password, HOME)).await
}

/// Waits until a session is over. Only a test that has failed waits for so long.
async fn is_over(service: &Service, token: &str) {
    let over = async {
        while service.validate(token, Purpose::Look).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), over).await.expect("the session goes on");
}

#[tokio::test]
async fn another_password_counts_from_the_next_login_on_and_ends_what_began_with_the_old_one() {
    let file = File::new("users-password");
    let (service, _running) = file.serve(file.open()).await;
    let old = granted(login(&service, "secret").await).token;
    file.pass("other");
    let new = granted(login(&service, "other").await).token;
    assert!(service.validate(&old, Purpose::Look).await.is_err(), "before the login that came after");
    assert_eq!(login(&service, "secret").await, Err(Refused::Wrong));
    assert!(service.validate(&new, Purpose::Look).await.is_ok());
}

#[tokio::test]
async fn who_is_disabled_or_removed_loses_his_sessions_without_anybody_logging_in() {
    let file = File::new("users-disabled");
    let (service, _running) = file.serve(file.open()).await;
    let token = granted(login(&service, "secret").await).token;
    file.change(|account| account.groups.push("staff".to_owned()));
    file.change(|account| account.disabled = true);
    is_over(&service, &token).await;
    assert_eq!(login(&service, "secret").await, Err(Refused::Wrong));
    file.change(|account| account.disabled = false);
    let token = granted(login(&service, "secret").await).token;
    assert!(file.other.remove(file.time.now(), &user("anna")).unwrap());
    is_over(&service, &token).await;
}

/// Whether the service's own directory hears of a change before the login goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    AtOnce,
    Later,
}

/// Another process gives another password in the moment after the old one was found right.
struct Meddler {
    inner: Directory,
    file: Arc<File>,
    heard: Heard,
    is_done: AtomicBool,
}

impl UserStore for Meddler {
    fn check(
        &self,
        now: Moment,
        user: &User,
        password: &Password<'_>,
    ) -> Result<PasswordCheck, IdentityError> {
        let checked = self.inner.check(now, user, password)?;
        if !self.is_done.swap(true, Ordering::SeqCst) {
            self.file.pass("other");
            if self.heard == Heard::AtOnce {
                // Whoever writes takes in first what others have written.
                self.inner.put(Account::new(&crate::support::user("berta")))?;
            }
        }
        Ok(checked)
    }

    fn account(&self, user: &User) -> Result<Option<Account>, IdentityError> {
        self.inner.account(user)
    }

    fn check_code(&self, now: Moment, user: &User, code: &str) -> Result<Option<UsedCode>, IdentityError> {
        self.inner.check_code(now, user, code)
    }

    fn is_behind(&self) -> bool {
        self.inner.is_behind()
    }

    fn catch_up(&self) -> Result<Vec<UserChange>, IdentityError> {
        self.inner.catch_up()
    }

    fn still_holds(&self, account: &Account) -> bool {
        self.inner.still_holds(account)
    }

    fn must_be_over(&self, user: &User, began: Moment) -> bool {
        self.inner.must_be_over(user, began)
    }
}

/// A login with the old password, during which it is changed; the service, and what came of the login.
async fn meddled(name: &str, heard: Heard) -> (Service, Running, Result<Login, Refused>) {
    let file = Arc::new(File::new(name));
    let store =
        Meddler { inner: file.open(), file: Arc::clone(&file), heard, is_done: AtomicBool::new(false) };
    let (service, running) = file.serve(store).await;
    let old = login(&service, "secret").await;
    (service, running, old)
}

#[tokio::test]
async fn a_login_under_way_with_the_old_password_gives_no_session_after_it_was_changed() {
    let (service, _running, old) = meddled("users-meddled", Heard::AtOnce).await;
    assert_eq!(old, Err(Refused::Wrong));
    assert_eq!(service.live_count(), 0);
    granted(login(&service, "other").await);
}

#[tokio::test]
async fn a_session_that_began_before_the_change_was_heard_of_is_over_when_it_is() {
    let (service, _running, old) = meddled("users-later", Heard::Later).await;
    // Who looks twice a second may have looked in between.
    if let Ok(Login::Granted(old, _)) = old {
        is_over(&service, &old.token).await;
    } else {
        assert_eq!(old, Err(Refused::Wrong));
    }
    let new = granted(login(&service, "other").await);
    assert!(service.validate(&new.token, Purpose::Look).await.is_ok());
    assert_eq!(login(&service, "secret").await, Err(Refused::Wrong));
}

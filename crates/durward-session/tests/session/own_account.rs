//! Users change their own account while somebody else changes it: what was proved of the account as it was changes no other one.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use durward_identity::session::{Purpose, Refusal, UsedCode, User};
use durward_identity::user::{
    Account, Directory, Password, PasswordCheck, SecondStep, Totp, UserChange, UserStore, UserWrites,
};
use durward_identity::{IdentityError, Moment, SystemEntropy};
use durward_session::{
    AccountFailed, AccountHolder, Accounts, Administrator, Builder, Embedded, Failed, LoginRequest, Refused,
    Running, Service,
};
use tokio::sync::oneshot;

use crate::support::{HOME, Turned, Users, granted, patient, user, users};

/// The next look at a password or a code, held up after it: when it is there, and that it may go on.
type Stop = (oneshot::Sender<()>, Receiver<()>);

/// Users whose directory can be held up between the proof and what it is for.
struct Held {
    inner: Arc<Directory>,
    stop: Mutex<Option<Stop>>,
}

impl Held {
    fn stop_next(&self) -> (oneshot::Receiver<()>, Sender<()>) {
        let ((there, is_there), (go_on, may_go_on)) = (oneshot::channel(), channel());
        *self.stop.lock().unwrap() = Some((there, may_go_on));
        (is_there, go_on)
    }

    fn hold_up(&self) {
        let stop = self.stop.lock().unwrap().take();
        if let Some((there, may_go_on)) = stop {
            there.send(()).unwrap();
            may_go_on.recv().unwrap();
        }
    }
}

impl UserStore for Held {
    fn check(
        &self,
        now: Moment,
        user: &User,
        password: &Password<'_>,
    ) -> Result<PasswordCheck, IdentityError> {
        let checked = self.inner.check(now, user, password);
        self.hold_up();
        checked
    }

    fn account(&self, user: &User) -> Result<Option<Account>, IdentityError> {
        self.inner.account(user)
    }

    fn check_code(&self, now: Moment, user: &User, code: &str) -> Result<Option<UsedCode>, IdentityError> {
        let checked = self.inner.check_code(now, user, code);
        self.hold_up();
        checked
    }

    fn catch_up(&self) -> Result<Vec<UserChange>, IdentityError> {
        self.inner.catch_up()
    }

    fn writes(self: Arc<Self>) -> Option<Arc<dyn UserWrites>> {
        Some(self.inner.clone())
    }
}

struct World {
    service: Service,
    _running: Running,
    time: Turned,
    store: Arc<Held>,
    recovery: Vec<String>,
}

impl World {
    async fn new() -> World {
        let Users { directory, recovery, .. } = users();
        let time = Turned::default();
        let store = Arc::new(Held { inner: directory, stop: Mutex::default() });
        let settings = patient();
        let embedded = Embedded::new(store.clone(), settings.pool).unwrap();
        let builder = Builder::new(settings, time.clock()).realm("/", Arc::new(embedded)).unwrap();
        let (service, running) = builder.start().unwrap();
        assert!(service.ready().await);
        World { service, _running: running, time, store, recovery }
    }

    async fn login(&self, name: &str, code: Option<&str>) -> String {
        let request = LoginRequest::new("/", name, "secret", HOME);
        let request = LoginRequest { code: code.map(str::to_owned), ..request };
        granted(self.service.login(request).await).token
    }

    /// What comes of a change when this happens between its proof and itself.
    async fn between<T: Send + 'static>(
        &self,
        change: impl AsyncFnOnce(Accounts) -> T,
        happens: impl AsyncFnOnce(),
    ) -> T {
        let (is_there, go_on) = self.store.stop_next();
        let meanwhile = async {
            is_there.await.unwrap();
            happens().await;
            go_on.send(()).unwrap();
        };
        tokio::join!(change(self.service.accounts()), meanwhile).0
    }

    /// As another process does.
    fn put(&self, name: &str, change: impl FnOnce(&mut Account)) {
        let mut account = self.store.inner.find(&user(name)).unwrap();
        change(&mut account);
        self.store.inner.put(account).unwrap();
    }
}

const WRONG: AccountFailed = AccountFailed::Refused(Refused::Wrong);

#[tokio::test]
async fn a_password_that_was_replaced_while_it_was_looked_at_changes_nothing() {
    let world = World::new().await;
    let anna = world.login("anna", None).await;
    world.time.pass(Duration::from_secs(1));
    let changed = world.between(
        async |accounts: Accounts| {
            accounts.change_own_password(AccountHolder::new(&anna, HOME), "secret", "the thief's", None).await
        },
        async || {
            let password = Password::new("the owner's").unwrap();
            world.store.inner.set_password(world.time.now(), &user("anna"), &password).unwrap();
        },
    );
    assert_eq!(changed.await, Err(WRONG));
    let login = world.service.login(LoginRequest::new("/", "anna", "the owner's", HOME)).await;
    granted(login);
}

#[tokio::test]
async fn a_session_that_ended_while_the_password_was_looked_at_changes_nothing() {
    let world = World::new().await;
    let anna = world.login("anna", None).await;
    let changed = world.between(
        async |accounts: Accounts| {
            accounts.change_own_password(AccountHolder::new(&anna, HOME), "secret", "the thief's", None).await
        },
        async || {
            let operator = Administrator::operator("test");
            world.time.pass(Duration::from_secs(1));
            world.service.revoke_user(&operator, &user("anna")).await.unwrap();
        },
    );
    assert_eq!(changed.await, Err(AccountFailed::Failed(Failed::Token(Refusal::Revoked))));
    world.login("anna", None).await;
}

#[tokio::test]
async fn a_code_of_a_device_that_was_replaced_meanwhile_does_not_remove_the_new_one() {
    let world = World::new().await;
    let berta = world.login("berta", Some(&world.recovery[0])).await;
    let other = Totp::generate(&SystemEntropy).unwrap();
    let removed = world.between(
        async |accounts: Accounts| {
            accounts.remove_second_step(AccountHolder::new(&berta, HOME), &world.recovery[1]).await
        },
        async || {
            world.put("berta", |account| {
                let step = account.second_step.take().unwrap();
                account.second_step = Some(SecondStep { totp: other.clone(), ..step });
            });
        },
    );
    assert_eq!(removed.await, Err(WRONG));
    let step = world.store.inner.find(&user("berta")).unwrap().second_step;
    assert_eq!(step.map(|step| step.totp), Some(other));
}

/// It was given to somebody who knew the password of then.
#[tokio::test]
async fn an_enrolment_is_not_taken_after_another_password() {
    let world = World::new().await;
    let anna = world.login("anna", None).await;
    let begun =
        world.service.accounts().begin_second_step(AccountHolder::new(&anna, HOME), "secret").await.unwrap();
    world.time.pass(Duration::from_secs(1));
    world.put("anna", |account| account.password_since_ms = world.time.now().ms());
    world.time.pass(Duration::from_secs(1));
    let anna = world.login("anna", None).await;
    assert!(world.service.validate(&anna, Purpose::Look).await.is_ok());
    let code = begun.totp.code(world.time.now());
    let late = world
        .service
        .accounts()
        .confirm_second_step(AccountHolder::new(&anna, HOME), &begun.enrolment, &code)
        .await;
    assert_eq!(late, Err(AccountFailed::NoEnrolment));
}

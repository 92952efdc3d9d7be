//! A password that must be changed: there is no session before, and what was sealed for the change is good for nothing else.

use std::sync::Arc;
use std::time::Duration;

use durward_identity::session::{Level, Properties, Purpose, UsedCode, User};
use durward_identity::user::{
    Account, AccountSwap, Directory, Password, PasswordCheck, PasswordRefusal, PasswordRules, RecoveryCodes,
    SecondStep, StoredPassword, Totp, UserStore, UserWrites,
};
use durward_identity::{IdentityError, Moment, SystemEntropy};
use durward_session::{
    AccountFailed, AccountHolder, Administrator, Builder, DirectoryFuture, Embedded, Login, LoginRequest,
    PasswordChoice, Refused, ServiceSettings, UserDirectory, Wanted,
};

use crate::support::{HOME, Turned, World, granted, patient, user, users};

const WRONG: AccountFailed = AccountFailed::Refused(Refused::Wrong);

fn mark(world: &World, name: &str) {
    assert!(world.users.change(&user(name), |account| account.must_change_password = true).unwrap());
}

fn change(login: Result<Login, Refused>) -> String {
    match login {
        Ok(Login::PasswordChangeNeeded(change)) => change,
        other => panic!("no change is asked for: {other:?}"),
    }
}

async fn choose(world: &World, change: &str, password: &str) -> Result<Login, AccountFailed> {
    world.service.choose_password(PasswordChoice::new(change, password, HOME)).await
}

#[tokio::test]
async fn there_is_no_session_before_another_password_is_chosen() {
    let world = World::ruled(patient(), PasswordRules::new(5, None).unwrap()).await;
    let before = world.login("anna").await;
    mark(&world, "anna");
    let live = world.service.live_count();
    let text = change(world.attempt("anna", "secret").await);
    assert_eq!(world.attempt("anna", "other").await, Err(Refused::Wrong));
    assert_eq!(world.service.live_count(), live);
    // The mark ends nothing.
    assert!(world.service.validate(&before.token, Purpose::Use).await.is_ok());
    let short = Err(AccountFailed::Password(PasswordRefusal::TooShort { length_min: 5 }));
    assert_eq!(choose(&world, &text, "abc").await, short);
    assert_eq!(choose(&world, &text, "secret").await, Err(AccountFailed::Unchanged));
    assert!(matches!(choose(&world, &text, "").await, Err(AccountFailed::Name(_))));
    assert_eq!(world.service.live_count(), live);
    let session = granted(choose(&world, &text, "another").await.map_err(|why| panic!("{why:?}")));
    assert_eq!((session.user.clone(), session.level), (user("anna"), Level(0)));
    assert!(world.service.validate(&session.token, Purpose::Use).await.is_ok());
    assert!(world.service.validate(&before.token, Purpose::Use).await.is_err(), "of the old password");
    granted(world.attempt("anna", "another").await);
    assert_eq!(world.attempt("anna", "secret").await, Err(Refused::Wrong));
    assert_eq!(choose(&world, &text, "a third one").await, Err(WRONG), "it was used");
}

/// Else the session would be known by a device of the old password, or by none.
#[tokio::test]
async fn the_device_of_the_new_password_is_known_and_the_one_of_the_old_is_not() {
    let mut settings = crate::support::strict();
    settings.throttle.turn = Duration::from_secs(3600);
    let world = World::new(settings).await;
    let old = world.login("anna").await.device;
    mark(&world, "anna");
    let text = change(world.attempt("anna", "secret").await);
    let choice = PasswordChoice { device: old.clone(), ..PasswordChoice::new(&text, "another", HOME) };
    let chosen = world.service.choose_password(choice).await;
    let new = granted(chosen.map_err(|why| panic!("{why:?}"))).device;
    for number in 0..100 {
        let from = std::net::Ipv4Addr::new(198, 51, number, 1).into();
        let guess = world.service.login(LoginRequest::new("/", "anna", "wrong", from)).await;
        if matches!(guess, Err(Refused::Delayed { .. })) {
            break;
        }
    }
    for (device, is_known) in [(old, false), (new, true)] {
        let request =
            LoginRequest::new("/", "anna", "another", std::net::Ipv4Addr::new(203, 0, 113, 9).into());
        let login = world.service.login(LoginRequest { device, ..request }).await;
        assert_eq!(matches!(login, Ok(Login::Granted(..))), is_known, "{login:?}");
    }
}

#[tokio::test]
async fn who_has_a_second_step_gives_a_code_first() {
    let world = World::new(patient()).await;
    mark(&world, "berta");
    let Ok(Login::CodeNeeded(challenge)) = world.attempt("berta", "secret").await else { panic!() };
    assert_eq!(choose(&world, &challenge, "another").await, Err(WRONG), "a code is missing");
    let wrong = world.service.answer_challenge(&challenge, "123456", HOME, Properties::new()).await;
    assert_eq!(wrong, Err(Refused::Wrong));
    let code = &world.recovery[0];
    let text = change(world.service.answer_challenge(&challenge, code, HOME, Properties::new()).await);
    // What was given for the code is no challenge for another one.
    let again = world.service.answer_challenge(&text, &world.recovery[1], HOME, Properties::new()).await;
    assert_eq!(again, Err(Refused::Wrong));
    let session = granted(choose(&world, &text, "another").await.map_err(|why| panic!("{why:?}")));
    assert_eq!(session.level, Level(1));
    // Both at once.
    mark(&world, "berta");
    let request = LoginRequest::new("/", "berta", "another", HOME);
    let code = Some(world.recovery[2].clone());
    change(world.service.login(LoginRequest { code, ..request }).await);
}

#[tokio::test]
async fn what_was_marked_between_password_and_code_is_asked_for() {
    let world = World::new(patient()).await;
    let Ok(Login::CodeNeeded(challenge)) = world.attempt("berta", "secret").await else { panic!() };
    mark(&world, "berta");
    let code = &world.recovery[0];
    change(world.service.answer_challenge(&challenge, code, HOME, Properties::new()).await);
}

#[tokio::test]
async fn to_be_recognized_is_no_way_around() {
    let world = World::new(patient()).await;
    mark(&world, "anna");
    let request = LoginRequest::new("/", "anna", "secret", HOME);
    change(world.service.login(LoginRequest { wanted: Wanted::Recognition, ..request }).await);
}

#[tokio::test]
async fn a_change_is_good_for_its_password_its_user_and_its_time() {
    let world = World::new(patient()).await;
    mark(&world, "anna");
    let text = change(world.attempt("anna", "secret").await);
    for place in 0..text.len() {
        let mut other = text.clone().into_bytes();
        other[place] = if other[place] == b'A' { b'Q' } else { b'A' };
        let other = String::from_utf8(other).unwrap();
        assert_eq!(choose(&world, &other, "another").await, Err(WRONG), "{place}");
    }
    world.time.pass(Duration::from_secs(601));
    assert_eq!(choose(&world, &text, "another").await, Err(WRONG), "over");
    let text = change(world.attempt("anna", "secret").await);
    let password = Password::new("of an administrator").unwrap();
    world.users.set_password(world.time.now(), &user("anna"), &password).unwrap();
    assert_eq!(choose(&world, &text, "another").await, Err(WRONG), "of another password");
    let text = change(world.attempt("anna", "of an administrator").await);
    world.users.change(&user("anna"), |account| account.disabled = true).unwrap();
    assert_eq!(choose(&world, &text, "another").await, Err(WRONG), "disabled");
    world.users.remove(world.time.now(), &user("anna")).unwrap();
    assert_eq!(choose(&world, &text, "another").await, Err(WRONG), "removed");
}

#[tokio::test]
async fn of_two_who_choose_at_once_one_does() {
    let world = World::new(patient()).await;
    mark(&world, "anna");
    let text = change(world.attempt("anna", "secret").await);
    let (one, other) =
        tokio::join!(choose(&world, &text, "one password"), choose(&world, &text, "the other"));
    assert_ne!(one.is_ok(), other.is_ok(), "{one:?} {other:?}");
}

#[tokio::test]
async fn a_password_that_is_too_old_is_changed_and_one_of_unknown_age_is_not() {
    let settings = ServiceSettings { password_age_max: Some(Duration::from_secs(90 * 86_400)), ..patient() };
    let world = World::new(settings).await;
    world.login("anna").await;
    let password = Password::new("secret").unwrap();
    world.users.set_password(world.time.now(), &user("root"), &password).unwrap();
    world.login("root").await;
    world.time.pass(Duration::from_secs(91 * 86_400));
    let text = change(world.attempt("root", "secret").await);
    assert_eq!(choose(&world, &text, "secret").await, Err(AccountFailed::Unchanged));
    granted(choose(&world, &text, "another").await.map_err(|why| panic!("{why:?}")));
    granted(world.attempt("root", "another").await);
    // Nobody knows how old it is.
    world.login("anna").await;
}

#[tokio::test]
async fn the_same_password_again_does_not_take_the_mark_away() {
    let world = World::new(patient()).await;
    let session = world.login("anna").await;
    mark(&world, "anna");
    let accounts = world.service.accounts();
    let change_own = async |new: &str| {
        accounts.change_own_password(AccountHolder::new(&session.token, HOME), "secret", new, None).await
    };
    assert_eq!(change_own("secret").await, Err(AccountFailed::Unchanged));
    change(world.attempt("anna", "secret").await);
    assert_eq!(change_own("another").await, Ok(user("anna")));
    granted(world.attempt("anna", "another").await);
}

#[tokio::test]
async fn a_password_of_an_administrator_leaves_the_mark() {
    let world = World::new(patient()).await;
    let accounts = world.service.accounts();
    let root = Administrator::operator("root");
    let marked = |account: &mut Account| account.must_change_password = true;
    accounts.change(&root, &user("anna"), Some("for the first day"), marked).await.unwrap();
    change(world.attempt("anna", "for the first day").await);
    accounts.change(&root, &user("anna"), Some("for the second day"), |_| {}).await.unwrap();
    change(world.attempt("anna", "for the second day").await);
}

/// An age that begins anew with each device would never be reached by those who like to change theirs.
#[tokio::test]
async fn another_second_step_makes_no_password_younger() {
    let day = Duration::from_secs(24 * 3600);
    let world = World::new(ServiceSettings { password_age_max: Some(2 * day), ..patient() }).await;
    world.users.set_password(world.time.now(), &user("berta"), &Password::new("secret").unwrap()).unwrap();
    world.time.pass(day);
    let request = LoginRequest::new("/", "berta", "secret", HOME);
    let code = Some(world.recovery[0].clone());
    let session = granted(world.service.login(LoginRequest { code, ..request }).await);
    let holder = AccountHolder::new(&session.token, HOME);
    world.service.accounts().remove_second_step(holder, &world.recovery[1]).await.unwrap();
    assert!(world.service.validate(&session.token, Purpose::Use).await.is_err(), "sessions end");
    granted(world.attempt("berta", "secret").await);
    world.time.pass(day + Duration::from_secs(1));
    change(world.attempt("berta", "secret").await);
}

/// A directory in which something happens to the user as soon as they have chosen a password.
struct Meanwhile {
    users: Arc<Embedded>,
    directory: Arc<Directory>,
    happens: fn(&Directory),
}

/// What changes its users, and the hook.
struct MeanwhileWrites(Arc<Directory>, fn(&Directory));

impl UserWrites for MeanwhileWrites {
    fn find(&self, user: &User) -> Option<Account> {
        self.0.find(user)
    }

    fn visit(&self, see: &mut dyn FnMut(&Account)) {
        UserWrites::visit(&*self.0, see);
    }

    fn hash_new(
        &self,
        password: &Password<'_>,
    ) -> Result<Result<StoredPassword, PasswordRefusal>, IdentityError> {
        UserWrites::hash_new(&*self.0, password)
    }

    fn swap(&self, now: Moment, swaps: &[AccountSwap]) -> Result<bool, IdentityError> {
        let swapped = UserWrites::swap(&*self.0, now, swaps);
        (self.1)(&self.0);
        swapped
    }
}

impl UserDirectory for Meanwhile {
    fn check<'a>(
        &'a self,
        now: Moment,
        user: &'a User,
        password: Password<'a>,
    ) -> DirectoryFuture<'a, PasswordCheck> {
        self.users.check(now, user, password)
    }

    fn account<'a>(&'a self, user: &'a User) -> DirectoryFuture<'a, Option<Account>> {
        self.users.account(user)
    }

    fn check_code<'a>(
        &'a self,
        now: Moment,
        user: &'a User,
        code: &'a str,
    ) -> DirectoryFuture<'a, Option<UsedCode>> {
        self.users.check_code(now, user, code)
    }

    fn store(&self) -> Option<Arc<dyn UserStore>> {
        self.users.store()
    }

    fn writes(&self) -> Option<Arc<dyn UserWrites>> {
        Some(Arc::new(MeanwhileWrites(Arc::clone(&self.directory), self.happens)))
    }

    fn hash_new<'a>(
        &'a self,
        password: Password<'a>,
    ) -> DirectoryFuture<'a, Result<StoredPassword, PasswordRefusal>> {
        self.users.hash_new(password)
    }
}

/// The session that follows is for whoever chose the password, as they were when they did.
#[tokio::test]
async fn who_is_changed_while_they_choose_gets_no_session() {
    let disable = |users: &Directory| drop(users.change(&user("anna"), |account| account.disabled = true));
    let remove = |users: &Directory| drop(users.remove(Moment::from_ms(1), &user("anna")));
    let give = |users: &Directory| {
        let later = Moment::from_ms(9_999_999_999_999);
        users.set_password(later, &user("anna"), &Password::new("of an administrator").unwrap()).unwrap();
    };
    let step = |users: &Directory| {
        let totp = Totp::generate(&SystemEntropy).unwrap();
        let step = SecondStep { totp, used: None, recovery: RecoveryCodes::default() };
        users.change(&user("anna"), |account| account.second_step = Some(step)).unwrap();
    };
    let nothing = |_: &Directory| {};
    type Hook = fn(&Directory);
    let hooks: [(Hook, bool); 5] =
        [(disable, false), (remove, false), (give, false), (step, false), (nothing, true)];
    for (number, (happens, is_let_in)) in hooks.into_iter().enumerate() {
        let directory = users().directory;
        directory.change(&user("anna"), |account| account.must_change_password = true).unwrap();
        let settings = patient();
        let embedded = Arc::new(Embedded::new(directory.clone(), settings.pool).unwrap());
        let meanwhile = Meanwhile { users: embedded, directory, happens };
        let builder = Builder::new(settings, Turned::default().clock());
        let (service, _running) = builder.realm("/", Arc::new(meanwhile)).unwrap().start().unwrap();
        assert!(service.ready().await);
        let text = change(service.login(LoginRequest::new("/", "anna", "secret", HOME)).await);
        let chosen = service.choose_password(PasswordChoice::new(&text, "another", HOME)).await;
        assert_eq!(matches!(chosen, Ok(Login::Granted(..))), is_let_in, "{number}: {chosen:?}");
        assert_eq!(service.live_count(), usize::from(is_let_in), "{number}");
    }
}

//! A password that must be changed: there is no session before, and what was sealed for the change is good for nothing else.

use std::time::Duration;

use durward_identity::session::{Level, Properties, Purpose};
use durward_identity::user::{Account, Password, PasswordRefusal, PasswordRules};
use durward_session::{
    AccountFailed, AccountHolder, Administrator, Login, LoginRequest, PasswordChoice, Refused,
    ServiceSettings, Wanted,
};

use crate::support::{HOME, World, granted, patient, user};

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

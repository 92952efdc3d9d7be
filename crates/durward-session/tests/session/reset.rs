//! Another password by a link: good once, for one user and their present password.

use std::time::Duration;

use durward_identity::session::Purpose;
use durward_identity::user::{Account, Password, PasswordRefusal, PasswordRules, UserStore};
use durward_session::identity::session::User;
use durward_session::{
    AccountFailed, Administrator, Counter, Failed, LoginRequest, Refused, ResetAnswer, ResetLinks,
};

use crate::support::{HOME, World, granted, patient, strict, user};

const HALF_AN_HOUR: Duration = Duration::from_secs(1800);

fn root() -> Administrator {
    Administrator::operator("root")
}

async fn link(world: &World, name: &str) -> String {
    world.service.accounts().reset_link(&root(), &user(name), HALF_AN_HOUR).await.unwrap().token
}

async fn follow(
    world: &World,
    token: &str,
    password: &str,
    code: Option<&str>,
) -> Result<User, AccountFailed> {
    let (token, password, code) = (token.to_owned(), password.to_owned(), code.map(str::to_owned));
    world.service.accounts().reset_password(ResetAnswer { token, password, code, address: HOME }).await
}

#[tokio::test]
async fn a_link_gives_another_password_once_and_ends_what_was_before() {
    let world = World::ruled(patient(), PasswordRules::new(5, None).unwrap()).await;
    let before = world.login("anna").await;
    let token = link(&world, "anna").await;
    // Programs that look at mail follow links.
    for _ in 0..3 {
        let form = world.service.accounts().reset_form(&token).await.unwrap();
        assert_eq!((form.user, form.needs_code), (user("anna"), false));
    }
    let short = Err(AccountFailed::Password(PasswordRefusal::TooShort { length_min: 5 }));
    assert_eq!(follow(&world, &token, "abc", None).await, short);
    assert_eq!(follow(&world, &token, "secret", None).await, Err(AccountFailed::Unchanged));
    assert!(world.service.validate(&before.token, Purpose::Use).await.is_ok(), "nothing has changed");
    assert_eq!(follow(&world, &token, "another", None).await, Ok(user("anna")));
    assert!(world.service.validate(&before.token, Purpose::Use).await.is_err());
    granted(world.attempt("anna", "another").await);
    assert_eq!(world.attempt("anna", "secret").await, Err(Refused::Wrong));
    assert_eq!(follow(&world, &token, "a third one", None).await, Err(AccountFailed::LinkOver));
    assert_eq!(world.service.accounts().reset_form(&token).await, Err(AccountFailed::LinkOver));
    assert_eq!(world.service.counters().get(Counter::ResetDone), 1);
}

#[tokio::test]
async fn a_link_is_over_with_its_password_its_user_and_its_time() {
    let world = World::new(patient()).await;
    let over = Err(AccountFailed::LinkOver);
    let token = link(&world, "anna").await;
    let password = Password::new("of an administrator").unwrap();
    world.users.set_password(world.time.now(), &user("anna"), &password).unwrap();
    assert_eq!(follow(&world, &token, "another", None).await, over, "another password");
    let token = link(&world, "anna").await;
    world.users.change(&user("anna"), |account| account.disabled = true).unwrap();
    assert_eq!(follow(&world, &token, "another", None).await, over, "disabled");
    world.users.change(&user("anna"), |account| account.disabled = false).unwrap();
    assert!(world.service.accounts().reset_form(&token).await.is_ok());
    world.time.pass(HALF_AN_HOUR);
    assert_eq!(follow(&world, &token, "another", None).await, over, "its time");
    let token = link(&world, "anna").await;
    world.users.remove(world.time.now(), &user("anna")).unwrap();
    assert_eq!(follow(&world, &token, "another", None).await, over, "removed");
}

/// Two accounts without a password are alike, and yet two: a link is for the one that it was made for.
#[tokio::test]
async fn a_link_is_over_with_an_account_that_has_no_password() {
    let world = World::new(patient()).await;
    let over = Err(AccountFailed::LinkOver);
    let add = || world.users.put(Account::new(&user("new"))).unwrap();
    add();
    let token = link(&world, "new").await;
    assert!(world.service.accounts().reset_form(&token).await.is_ok());
    world.users.remove(world.time.now(), &user("new")).unwrap();
    add();
    assert_eq!(follow(&world, &token, "another", None).await, over);
    assert_eq!(world.users.account(&user("new")).unwrap().unwrap().password, None);
    // From the millisecond after the removal on, links are for who has the name now.
    world.time.pass(Duration::from_millis(1));
    let token = link(&world, "new").await;
    assert_eq!(follow(&world, &token, "another", None).await, Ok(user("new")));
    granted(world.attempt("new", "another").await);
}

#[tokio::test]
async fn what_is_no_link_of_this_cluster_is_none() {
    let world = World::new(patient()).await;
    let over = Err(AccountFailed::LinkOver);
    let token = link(&world, "anna").await;
    for place in 0..token.len() {
        let mut other = token.clone().into_bytes();
        other[place] = if other[place] == b'A' { b'Q' } else { b'A' };
        let other = String::from_utf8(other).unwrap();
        assert_eq!(
            world.service.accounts().reset_form(&other).await,
            Err(AccountFailed::LinkOver),
            "{place}"
        );
    }
    let until = world.time.now().plus(HALF_AN_HOUR);
    let account = Account::new(&user("anna"));
    let other = ResetLinks::new(&[7; 32]).make(&account, world.time.now(), until).unwrap();
    for none in ["", "x", &other.token, &"A".repeat(1 << 20)] {
        assert_eq!(follow(&world, none, "another", None).await, over, "{none:.20}");
    }
}

#[tokio::test]
async fn a_code_is_wanted_of_who_has_a_second_step_and_guesses_at_it_are_delayed() {
    let world = World::new(strict()).await;
    let token = link(&world, "berta").await;
    assert!(world.service.accounts().reset_form(&token).await.unwrap().needs_code);
    assert_eq!(follow(&world, &token, "another", None).await, Err(AccountFailed::CodeNeeded));
    let mut last = Ok(user("berta"));
    for _ in 0..30 {
        last = follow(&world, &token, "another", Some("123456")).await;
    }
    assert!(matches!(last, Err(AccountFailed::Refused(Refused::Delayed { .. }))), "{last:?}");
    assert_eq!(world.attempt("berta", "another").await, Err(Refused::Wrong));
    world.service.forgive(&root(), &user("berta")).await.unwrap();
    let code = Some(world.recovery[0].as_str());
    let mut done = follow(&world, &token, "another", code).await;
    while matches!(done, Err(AccountFailed::Refused(Refused::Delayed { .. }))) {
        // That of the address is left.
        world.time.pass(Duration::from_secs(600));
        let token = link(&world, "berta").await;
        done = follow(&world, &token, "another", code).await;
    }
    assert_eq!(done, Ok(user("berta")));
    let request = LoginRequest::new("/", "berta", "another", HOME);
    let code = Some(world.recovery[1].clone());
    granted(world.service.login(LoginRequest { code, ..request }).await);
}

#[tokio::test]
async fn a_link_takes_the_mark_away() {
    let world = World::new(patient()).await;
    world.users.change(&user("anna"), |account| account.must_change_password = true).unwrap();
    let token = link(&world, "anna").await;
    follow(&world, &token, "another", None).await.unwrap();
    granted(world.attempt("anna", "another").await);
}

#[tokio::test]
async fn of_two_who_follow_a_link_at_once_one_chooses() {
    let world = World::new(patient()).await;
    let token = link(&world, "anna").await;
    let (one, other) = tokio::join!(
        follow(&world, &token, "one password", None),
        follow(&world, &token, "the other one", None)
    );
    assert_ne!(one.is_ok(), other.is_ok(), "{one:?} {other:?}");
}

#[tokio::test]
async fn links_are_made_for_those_who_can_use_them_by_those_who_may() {
    let world = World::new(patient()).await;
    let accounts = world.service.accounts();
    let asked = async |name: &str| accounts.asked_link(&user(name), HALF_AN_HOUR).await.map(|_| ());
    assert_eq!(asked("anna").await, Ok(()));
    assert_eq!(asked("out").await, Err(AccountFailed::NoUser), "disabled");
    assert_eq!(asked("nobody").await, Err(AccountFailed::NoUser));
    world.users.put(Account::new(&user("new"))).unwrap();
    assert_eq!(asked("new").await, Err(AccountFailed::NoUser), "who has no password has forgotten none");
    let by = async |by: &Administrator, name: &str| {
        accounts.reset_link(by, &user(name), HALF_AN_HOUR).await.map(|_| ())
    };
    assert_eq!(by(&root(), "new").await, Ok(()));
    assert_eq!(by(&root(), "out").await, Err(AccountFailed::NoUser));
    let of_sales = Administrator::program("sales", "/sales");
    assert_eq!(by(&of_sales, "anna").await, Err(AccountFailed::Failed(Failed::Forbidden)));
    let elsewhere = User::new("/none", "anna").unwrap();
    let none = accounts.reset_link(&root(), &elsewhere, HALF_AN_HOUR).await.map(|_| ());
    assert_eq!(none, Err(AccountFailed::Failed(Failed::UnknownRealm)));
}

//! Who gets a session and who does not.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use durward_identity::login::PoolSettings;
use durward_identity::session::{Level, LimitPolicy, Properties, Purpose, SessionSettings, UsedCode, User};
use durward_identity::user::{Account, Password, PasswordCheck};
use durward_identity::{IdentityError, Moment};
use durward_session::{
    Builder, Counter, DirectoryFault, DirectoryFuture, Embedded, Failed, Login, LoginRequest, Refused,
    SecondStepPolicy, ServiceSettings, UserDirectory, Wanted,
};

use crate::lines::Lines;
use crate::support::{HOME, Turned, World, granted, patient, strict, user, users};

#[tokio::test]
async fn a_password_gives_a_session_that_every_clone_validates() {
    let world = World::new(ServiceSettings::default()).await;
    let granted = world.login("anna").await;
    let other = world.service.clone();
    let who = tokio::spawn(async move { other.validate(&granted.token, Purpose::Use).await }).await.unwrap();
    assert_eq!(who.unwrap().user, user("anna"));
    assert_eq!(world.service.counters().get(Counter::LoginGranted), 1);
    world.running.stop().await;
}

/// The first key comes a moment after the start: a login before waits for it.
#[tokio::test]
async fn who_logs_in_right_after_the_start_gets_a_session() {
    let settings = ServiceSettings::default();
    let realm = Embedded::new(users().directory, settings.pool).unwrap();
    let builder = Builder::new(settings, Turned::default().clock()).realm("/", Arc::new(realm)).unwrap();
    let (service, running) = builder.start().unwrap();
    granted(service.login(LoginRequest::new("/", "anna", "secret", HOME)).await);
    running.stop().await;
}

#[tokio::test]
async fn whatever_is_wrong_the_answer_is_the_same() {
    let world = World::new(patient()).await;
    let long = "x".repeat(1 << 20);
    for (name, password) in [
        ("anna", "other"),
        ("anna", ""),
        ("anna", &long),
        ("nobody", "secret"),
        ("out", "secret"),
        ("", "secret"),
        ("an\0na", "secret"),
        (&long, "secret"),
    ] {
        assert_eq!(world.attempt(name, password).await, Err(Refused::Wrong), "{:.10}", name);
    }
    let elsewhere = LoginRequest::new("/nowhere", "anna", "secret", HOME);
    assert_eq!(world.service.login(elsewhere).await, Err(Refused::UnknownRealm));
    assert_eq!(world.service.live_count(), 0);
}

#[tokio::test]
async fn failures_are_followed_by_delays_and_forgiveness() {
    let world = World::new(ServiceSettings::default()).await;
    let mut last = Ok(());
    for _ in 0..10 {
        last = world.attempt("anna", "other").await.map(|_| ());
    }
    let Err(Refused::Delayed { retry_after }) = last else { panic!("{last:?}") };
    assert!(world.attempt("anna", "secret").await.is_err(), "the right one has to wait as well");
    let operator = durward_session::Administrator::operator("test");
    world.service.forgive(&operator, &user("anna")).await.unwrap();
    world.login("anna").await;
    assert!(retry_after <= Duration::from_secs(60));
}

#[tokio::test]
async fn the_delay_ends_with_its_time() {
    let world = World::new(ServiceSettings::default()).await;
    let retry_after = loop {
        if let Err(Refused::Delayed { retry_after }) = world.attempt("anna", "other").await {
            break retry_after;
        }
    };
    world.time.pass(retry_after);
    world.login("anna").await;
}

#[tokio::test]
async fn a_second_step_is_asked_for_and_its_code_is_good_once() {
    let world = World::new(patient()).await;
    let Ok(Login::CodeNeeded(challenge)) = world.attempt("berta", "secret").await else { panic!() };
    assert_eq!(world.service.live_count(), 0);
    let answer = |code: String| {
        let (service, challenge) = (world.service.clone(), challenge.clone());
        async move { service.answer_challenge(&challenge, &code, HOME, Properties::new()).await }
    };
    assert_eq!(answer("000".to_owned()).await, Err(Refused::Wrong));
    let code = world.totp.code(world.time.now());
    assert_eq!(granted(answer(code.clone()).await).level, Level(1));
    assert_eq!(answer(code).await, Err(Refused::Wrong), "used");
    assert_eq!(granted(answer(world.recovery[3].clone()).await).level, Level(1));
    assert_eq!(answer(world.recovery[3].clone()).await, Err(Refused::Wrong), "used");
    world.time.pass(Duration::from_secs(121));
    assert_eq!(answer(world.recovery[4].clone()).await, Err(Refused::Wrong), "too late");
}

#[tokio::test]
async fn password_and_code_may_come_together() {
    let world = World::new(patient()).await;
    let code = Some(world.totp.code(world.time.now()));
    let request = LoginRequest { code, ..LoginRequest::new("/", "berta", "secret", HOME) };
    assert_eq!(granted(world.service.login(request).await).level, Level(1));
    let code = Some("123456".to_owned());
    let request = LoginRequest { code, ..LoginRequest::new("/", "berta", "secret", HOME) };
    assert_eq!(world.service.login(request).await, Err(Refused::Wrong));
}

#[tokio::test]
async fn a_challenge_of_somebody_who_was_disabled_since_is_worth_nothing() {
    let world = World::new(patient()).await;
    let Ok(Login::CodeNeeded(challenge)) = world.attempt("berta", "secret").await else { panic!() };
    let mut account = world.users.list().into_iter().find(|account| account.subject == "berta").unwrap();
    account.disabled = true;
    world.users.put(account).unwrap();
    let code = world.totp.code(world.time.now());
    let answer = world.service.answer_challenge(&challenge, &code, HOME, Properties::new()).await;
    assert_eq!(answer, Err(Refused::Wrong));
}

#[tokio::test]
async fn stepping_up_raises_the_level_of_the_session() {
    let settings = ServiceSettings { second_step: SecondStepPolicy::OnStepUp, ..patient() };
    let world = World::new(settings).await;
    let low = world.login("berta").await;
    assert_eq!(low.level, Level(0));
    assert_eq!(world.service.step_up(&low.token, "123456", HOME).await, Err(Failed::Code));
    let code = world.totp.code(world.time.now());
    let high = world.service.step_up(&low.token, &code, HOME).await.unwrap();
    assert_eq!((high.level, high.id), (Level(1), low.id));
    let who = world.service.validate(&high.token, Purpose::Use).await.unwrap();
    assert_eq!(who.level, Level(1));
    let anna = world.login("anna").await;
    assert_eq!(world.service.step_up(&anna.token, "123456", HOME).await, Err(Failed::Code));
}

fn elsewhere(number: u8) -> IpAddr {
    Ipv4Addr::new(198, 51, 100, number).into()
}

/// An attacker who knows the password can log in any number of times: that must not give them guesses at the code.
#[tokio::test]
async fn logging_in_between_wrong_codes_gives_no_further_ones() {
    let settings = ServiceSettings { second_step: SecondStepPolicy::OnStepUp, ..ServiceSettings::default() };
    let world = World::new(settings).await;
    let mut looked_at = 0;
    for number in 0..40 {
        let from = elsewhere(number);
        let login = world.service.login(LoginRequest::new("/", "berta", "secret", from)).await;
        let token = granted(login).token;
        match world.service.step_up(&token, "123456", from).await {
            Err(Failed::Code) => looked_at += 1,
            Err(Failed::Delayed { .. }) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(looked_at, 4);
}

/// However the code comes: with the password, with a challenge, or for a step up.
#[tokio::test]
async fn wrong_codes_are_one_count_whichever_way_they_come() {
    let settings = ServiceSettings { second_step: SecondStepPolicy::OnStepUp, ..ServiceSettings::default() };
    let world = World::new(settings).await;
    let with = |code: &str, from| {
        let request = LoginRequest::new("/", "berta", "secret", from);
        world.service.login(LoginRequest { code: Some(code.to_owned()), ..request })
    };
    let home = granted(with(&world.recovery[0], HOME).await);
    for number in 0..4 {
        assert_eq!(with("123456", elsewhere(number)).await, Err(Refused::Wrong));
    }
    assert!(matches!(with("123456", elsewhere(9)).await, Err(Refused::Delayed { .. })));
    assert!(matches!(with(&world.recovery[1], elsewhere(9)).await, Err(Refused::Delayed { .. })));
    let low = world.service.login(LoginRequest::new("/", "berta", "secret", elsewhere(9))).await;
    let stepping = world.service.step_up(&granted(low).token, "123456", elsewhere(9)).await;
    assert!(matches!(stepping, Err(Failed::Delayed { .. })), "{stepping:?}");
    // Where he has given a right one before he gets in, whatever happens elsewhere.
    assert!(world.service.step_up(&home.token, &world.recovery[2], HOME).await.is_ok());
}

#[tokio::test]
async fn challenges_give_no_further_guesses_at_the_code_and_a_right_one_ends_the_delay() {
    let world = World::new(strict()).await;
    let answer = async |code: &str, from| {
        let login = world.service.login(LoginRequest::new("/", "berta", "secret", from)).await;
        let Ok(Login::CodeNeeded(challenge)) = login else { panic!("{login:?}") };
        world.service.answer_challenge(&challenge, code, from, Properties::new()).await
    };
    for number in 0..4 {
        assert_eq!(answer("123456", elsewhere(number)).await, Err(Refused::Wrong));
    }
    let Err(Refused::Delayed { retry_after }) = answer("123456", elsewhere(9)).await else { panic!() };
    world.time.pass(retry_after);
    granted(answer(&world.recovery[0], elsewhere(9)).await);
    for number in 10..14 {
        assert_eq!(answer("123456", elsewhere(number)).await, Err(Refused::Wrong), "counted from nothing");
    }
}

#[tokio::test]
async fn a_login_without_a_session_only_recognizes() {
    let world = World::new(patient()).await;
    let request =
        LoginRequest { wanted: Wanted::Recognition, ..LoginRequest::new("/", "anna", "secret", HOME) };
    let login = world.service.login(request).await.unwrap();
    assert_eq!(login.account().unwrap().groups, ["staff"]);
    assert_eq!(world.service.live_count(), 0);
}

#[tokio::test]
async fn a_flood_of_logins_is_turned_away_and_told_when_to_come_again() {
    let pool = PoolSettings { at_once: 1, waiting_max: 2, ..PoolSettings::default() };
    let world = World::new(ServiceSettings { pool, ..patient() }).await;
    let all: Vec<_> = (0..200)
        .map(|_| {
            let service = world.service.clone();
            tokio::spawn(async move { service.login(LoginRequest::new("/", "anna", "secret", HOME)).await })
        })
        .collect();
    let mut counts = (0, 0);
    for one in all {
        match one.await.unwrap() {
            Ok(_) => counts.0 += 1,
            Err(Refused::Busy { retry_after }) if retry_after >= Duration::from_secs(1) => counts.1 += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(counts.0 >= 1 && counts.1 >= 1, "{counts:?}");
    assert_eq!(world.service.login_load(), (0, 0));
    world.login("anna").await;
}

/// A user at the session limit does not lose a recovery code by being refused.
#[tokio::test]
async fn a_code_is_not_used_up_where_there_is_no_room_for_a_session() {
    let session = SessionSettings {
        per_user_max: Some(1),
        on_limit: LimitPolicy::Refuse,
        ..SessionSettings::default()
    };
    let world = World::new(ServiceSettings { session, ..patient() }).await;
    let log_in = async || {
        let code = Some(world.recovery[0].clone());
        let request = LoginRequest { code, ..LoginRequest::new("/", "berta", "secret", HOME) };
        world.service.login(request).await
    };
    let code = Some(world.recovery[1].clone());
    let first = LoginRequest { code, ..LoginRequest::new("/", "berta", "secret", HOME) };
    let first = granted(world.service.login(first).await);
    assert_eq!(log_in().await, Err(Refused::UserFull));
    let Ok(Login::CodeNeeded(challenge)) = world.attempt("berta", "secret").await else { panic!() };
    let answer = world.service.answer_challenge(&challenge, &world.recovery[0], HOME, Properties::new());
    assert_eq!(answer.await, Err(Refused::UserFull));
    world.service.logout(&first.token, None).await.unwrap();
    granted(log_in().await);
}

/// Users in a directory that is down.
struct Down;

impl UserDirectory for Down {
    fn check<'a>(&'a self, _: Moment, _: &'a User, _: Password<'a>) -> DirectoryFuture<'a, PasswordCheck> {
        Box::pin(async { Err(DirectoryFault::Failed(IdentityError::new("nobody answers in this test"))) })
    }

    fn account<'a>(&'a self, _: &'a User) -> DirectoryFuture<'a, Option<Account>> {
        Box::pin(async { Ok(None) })
    }

    fn check_code<'a>(&'a self, _: Moment, _: &'a User, _: &'a str) -> DirectoryFuture<'a, Option<UsedCode>> {
        Box::pin(async { Ok(None) })
    }
}

/// Whoever sends logins does not write the operators' log full.
#[tokio::test]
async fn a_directory_that_is_down_is_one_line_and_not_one_for_each_login() {
    let lines = Lines::default();
    tracing::subscriber::set_global_default(lines.subscriber()).unwrap();
    let builder = Builder::new(patient(), Turned::default().clock());
    let (service, _running) = builder.realm("/dark", Arc::new(Down)).unwrap().start().unwrap();
    assert!(service.ready().await);
    for name in ["anna", "berta", "carla"] {
        let refused = service.login(LoginRequest::new("/dark", name, "secret", HOME)).await;
        assert!(matches!(refused, Err(Refused::Directory(_))), "{refused:?}");
    }
    let lines = lines.with("nobody answers in this test");
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("/dark"), "{lines:?}");
}

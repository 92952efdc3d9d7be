//! Who gets a session and who does not.

use std::time::Duration;

use durward_identity::login::PoolSettings;
use durward_identity::session::{Level, LimitPolicy, Properties, Purpose, SessionSettings};
use durward_session::{
    Counter, Failed, Login, LoginRequest, Refused, SecondStepPolicy, ServiceSettings, Wanted,
};

use crate::support::{HOME, World, granted, patient, user};

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

/// Who has as many sessions as he may has not given a recovery code away for hearing that.
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

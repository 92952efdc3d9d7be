//! Strangers guess at a user's password, and the user logs in: on a device, and after restarts.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use durward_identity::session::Properties;
use durward_session::{
    AccountFailed, AccountHolder, Administrator, Builder, Embedded, Failed, Login, LoginRequest, Refused,
    Running, SecondStepPolicy, Service, ServiceSettings,
};

use crate::support::{HOME, Turned, Users, World, granted, patient, strict, user, users};

/// Far from each other.
fn elsewhere(number: u8) -> IpAddr {
    Ipv4Addr::new(198, number, 100, 1).into()
}

async fn log_in(service: &Service, name: &str, from: IpAddr, device: Option<&str>) -> Result<Login, Refused> {
    let device = device.map(str::to_owned);
    service.login(LoginRequest { device, ..LoginRequest::new("/", name, "secret", from) }).await
}

/// Until the next one has to wait.
async fn besiege(service: &Service, name: &str) {
    for number in 100..200 {
        let guess = service.login(LoginRequest::new("/", name, "other", elsewhere(number))).await;
        match guess {
            Err(Refused::Wrong) => {}
            Err(Refused::Delayed { .. }) => return,
            other => panic!("{other:?}"),
        }
    }
    panic!("nobody has to wait");
}

/// Nobody waits for a turn in these tests: it is refused at once.
fn impatient() -> ServiceSettings {
    let mut settings = strict();
    settings.throttle.turn = Duration::from_secs(3600);
    settings
}

#[tokio::test]
async fn who_shows_a_proof_of_the_device_gets_in_while_strangers_guess() {
    let world = World::new(impatient()).await;
    let device = world.login("anna").await.device.unwrap();
    let of_root = granted(log_in(&world.service, "root", HOME, None).await).device.unwrap();
    besiege(&world.service, "anna").await;
    let altered = device.replacen(&device[30..31], if &device[30..31] == "A" { "B" } else { "A" }, 1);
    for (none, why) in [
        (None, "without"),
        (Some(altered.as_str()), "altered"),
        (Some(of_root.as_str()), "another user's"),
        (Some("nonsense"), "nonsense"),
        (Some(""), "empty"),
    ] {
        let login = log_in(&world.service, "anna", elsewhere(1), none).await;
        assert!(matches!(login, Err(Refused::Delayed { .. })), "{why}: {login:?}");
    }
    let again = granted(log_in(&world.service, "anna", elsewhere(2), Some(&device)).await);
    let both = [of_root, again.device.unwrap()].join(".");
    granted(log_in(&world.service, "anna", elsewhere(3), Some(&both)).await);
    world.time.pass(world.service.settings().session.devices_max);
    besiege(&world.service, "anna").await;
    let late = log_in(&world.service, "anna", elsewhere(4), Some(&device)).await;
    assert!(matches!(late, Err(Refused::Delayed { .. })), "over: {late:?}");
}

#[tokio::test]
async fn guesses_on_a_device_are_counted_by_themselves() {
    let world = World::new(impatient()).await;
    let device = world.login("anna").await.device;
    let guess = async || {
        let request = LoginRequest::new("/", "anna", "other", elsewhere(1));
        world.service.login(LoginRequest { device: device.clone(), ..request }).await
    };
    for _ in 0..4 {
        assert_eq!(guess().await, Err(Refused::Wrong));
    }
    assert!(matches!(guess().await, Err(Refused::Delayed { .. })));
    granted(log_in(&world.service, "anna", elsewhere(2), None).await);
}

#[tokio::test]
async fn the_end_of_everybodys_sessions_ends_what_was_given_to_devices() {
    let world = World::new(impatient()).await;
    let first = world.login("anna").await;
    world.time.pass(Duration::from_secs(1));
    world.service.revoke_all(&Administrator::operator("test")).await.unwrap();
    besiege(&world.service, "anna").await;
    let revoked = log_in(&world.service, "anna", elsewhere(1), first.device.as_deref()).await;
    assert!(matches!(revoked, Err(Refused::Delayed { .. })), "{revoked:?}");
}

#[tokio::test]
async fn the_end_of_all_sessions_ends_what_was_given_to_devices() {
    let world = World::new(impatient()).await;
    let first = world.login("anna").await;
    let operator = Administrator::operator("test");
    world.time.pass(Duration::from_secs(1));
    world.service.revoke_user(&operator, &user("anna")).await.unwrap();
    // Long after the sessions would have ended.
    world.time.pass(Duration::from_secs(24 * 3600));
    besiege(&world.service, "anna").await;
    let revoked = log_in(&world.service, "anna", elsewhere(1), first.device.as_deref()).await;
    assert!(matches!(revoked, Err(Refused::Delayed { .. })), "{revoked:?}");
    world.service.forgive(&operator, &user("anna")).await.unwrap();
    let second = granted(log_in(&world.service, "anna", elsewhere(1), None).await);
    besiege(&world.service, "anna").await;
    granted(log_in(&world.service, "anna", elsewhere(2), second.device.as_deref()).await);
    world.time.pass(Duration::from_secs(1));
    let third = granted(log_in(&world.service, "anna", elsewhere(2), second.device.as_deref()).await);
    world.time.pass(Duration::from_secs(1));
    world.service.logout_everywhere(&third.token, None).await.unwrap();
    let revoked = log_in(&world.service, "anna", elsewhere(3), third.device.as_deref()).await;
    assert!(matches!(revoked, Err(Refused::Delayed { .. })), "{revoked:?}");
}

fn start(secret: u8) -> (Service, Running) {
    let Users { directory, .. } = users();
    let settings = impatient();
    let embedded = Embedded::new(directory, settings.pool).unwrap();
    let builder = Builder::new(settings, Turned::default().clock()).cluster_secret([secret; 32]);
    builder.realm("/", Arc::new(embedded)).unwrap().start().unwrap()
}

#[tokio::test]
async fn a_device_is_known_after_a_restart_and_not_in_another_cluster() {
    let (service, running) = start(1);
    assert!(service.ready().await);
    let device = granted(log_in(&service, "anna", HOME, None).await).device;
    running.stop().await;
    for (secret, is_known) in [(1, true), (2, false)] {
        let (service, running) = start(secret);
        assert!(service.ready().await);
        besiege(&service, "anna").await;
        let login = log_in(&service, "anna", elsewhere(1), device.as_deref()).await;
        assert_eq!(matches!(login, Ok(Login::Granted(..))), is_known, "{login:?}");
        running.stop().await;
    }
}

/// Who knows the password gets a device as often as they like where no code is asked for at the login.
#[tokio::test]
async fn a_device_without_a_code_gives_no_further_guesses_at_codes() {
    let settings = ServiceSettings { second_step: SecondStepPolicy::OnStepUp, ..impatient() };
    let world = World::new(settings).await;
    let mut looked_at = 0;
    for number in 0..20 {
        let device = granted(log_in(&world.service, "berta", elsewhere(number), None).await).device;
        let code = Some("123456".to_owned());
        let request = LoginRequest::new("/", "berta", "secret", elsewhere(number));
        match world.service.login(LoginRequest { code, device, ..request }).await {
            Err(Refused::Wrong) => looked_at += 1,
            Err(Refused::Delayed { .. }) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(looked_at, 4);
}

#[tokio::test]
async fn a_device_on_which_a_code_was_right_is_known_for_codes() {
    let world = World::new(ServiceSettings { throttle: impatient().throttle, ..patient() }).await;
    let challenge = async |from, device: Option<&str>| {
        let login = log_in(&world.service, "berta", from, device).await;
        let Ok(Login::CodeNeeded(challenge)) = login else { panic!("{login:?}") };
        challenge
    };
    let answer = async |from, device: Option<&str>, code: &str| {
        let challenge = challenge(from, device).await;
        world.service.answer_challenge_on(device, &challenge, code, from, Properties::new()).await
    };
    let device = granted(answer(HOME, None, &world.recovery[0]).await).device;
    while answer(elsewhere(1), None, "123456").await == Err(Refused::Wrong) {}
    assert!(matches!(answer(elsewhere(2), None, &world.recovery[1]).await, Err(Refused::Delayed { .. })));
    granted(answer(elsewhere(3), device.as_deref(), &world.recovery[1]).await);
}

#[tokio::test]
async fn a_device_is_known_also_where_the_account_is_changed() {
    let world = World::new(impatient()).await;
    let anna = world.login("anna").await;
    besiege(&world.service, "anna").await;
    let accounts = world.service.accounts();
    let holder = AccountHolder::new(&anna.token, elsewhere(1));
    let change = async |holder| accounts.change_own_password(holder, "secret", "a new one", None).await;
    let without = change(holder).await;
    assert!(matches!(without, Err(AccountFailed::Refused(Refused::Delayed { .. }))), "{without:?}");
    let holder = AccountHolder { device: anna.device.as_deref(), ..holder };
    assert_eq!(change(holder).await, Ok(user("anna")));
}

#[tokio::test]
async fn a_device_is_known_also_where_a_session_steps_up() {
    let settings = ServiceSettings { second_step: SecondStepPolicy::OnStepUp, ..impatient() };
    let world = World::new(settings).await;
    let code = Some(world.recovery[0].clone());
    let request = LoginRequest { code, ..LoginRequest::new("/", "berta", "secret", HOME) };
    let berta = granted(world.service.login(request).await);
    let step_up = async |device: Option<&str>, code: &str| {
        world.service.step_up_on(device, &berta.token, code, elsewhere(1)).await
    };
    while step_up(None, "123456").await == Err(Failed::Code) {}
    let without = step_up(None, &world.recovery[1]).await;
    assert!(matches!(without, Err(Failed::Delayed { .. })), "{without:?}");
    step_up(berta.device.as_deref(), &world.recovery[1]).await.unwrap();
}

/// On the wall's clock: the turn comes while the login waits.
#[tokio::test]
async fn who_is_new_waits_for_the_next_turn_and_gets_it() {
    let world = World::new(ServiceSettings::default()).await;
    for number in 100..104 {
        let guess = world.service.login(LoginRequest::new("/", "anna", "other", elsewhere(number))).await;
        assert_eq!(guess, Err(Refused::Wrong));
    }
    let attacker = world.service.login(LoginRequest::new("/", "anna", "other", elsewhere(100))).await;
    assert!(matches!(attacker, Err(Refused::Delayed { .. })), "{attacker:?}");
    granted(log_in(&world.service, "anna", elsewhere(1), None).await);
}

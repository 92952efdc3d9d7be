//! Passwords that a directory wants changed: what it says with the bind, the change as the user, and what was given to devices before.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use durward_identity::login::ThrottleSettings;
use durward_identity::session::{Purpose, User};
use durward_identity::user::{LoginFailure, Password, PasswordCheck, PasswordRefusal, PasswordRules};
use durward_session::ldap::{LdapDirectory, LdapSettings};
use durward_session::{
    AccountFailed, Builder, Login, LoginRequest, PasswordChoice, PasswordRejection, Refused, Running,
    Service, ServiceSettings, UserDirectory,
};

use crate::slapd::Slapd;
use crate::{WRONG, check, clock, directory, right, settings};

const HOME: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));

fn changing(slapd: &Slapd) -> LdapSettings {
    LdapSettings { change_passwords: true, ..settings(slapd) }
}

async fn change(
    directory: &LdapDirectory,
    name: &str,
    old: &str,
    new: &str,
) -> Result<(), PasswordRejection> {
    let user = User::new("/", name).unwrap();
    directory.change_password(&user, Password::new(old).unwrap(), Password::new(new).unwrap()).await.unwrap()
}

#[tokio::test]
async fn a_directory_says_with_the_bind_what_must_be_changed() {
    let Some(slapd) = Slapd::start_policed().await else { return };
    let plain = directory(settings(&slapd));
    assert!(!right(&plain, "anna").await.must_change_password);
    assert!(right(&plain, "reset").await.must_change_password);
    let over = Ok(PasswordCheck::Wrong(LoginFailure::PasswordOver));
    assert_eq!(check(&plain, "over", "secret").await, over);
    // Only who has the password hears of it.
    for name in ["reset", "grace", "over"] {
        assert_eq!(check(&plain, name, "other").await, WRONG, "{name}");
    }
    // It lets them in some times more: that is no reason to keep them out where they cannot change it.
    assert!(!right(&plain, "grace").await.must_change_password);
    assert!(right(&directory(changing(&slapd)), "grace").await.must_change_password);
}

#[tokio::test]
async fn a_password_is_changed_in_the_directory_as_its_user() {
    let Some(slapd) = Slapd::start_policed().await else { return };
    let plain = directory(settings(&slapd));
    assert_eq!(change(&plain, "reset", "secret", "a long one").await, Err(PasswordRejection::NotAllowed));
    let changing = directory(changing(&slapd));
    assert_eq!(change(&changing, "reset", "other", "a long one").await, Err(PasswordRejection::OldIsWrong));
    assert_eq!(change(&changing, "nobody", "secret", "a long one").await, Err(PasswordRejection::OldIsWrong));
    assert_eq!(change(&changing, "reset", "secret", "short").await, Err(PasswordRejection::TooShort));
    assert_eq!(change(&changing, "over", "secret", "a long one").await, Err(PasswordRejection::NotAllowed));
    assert_eq!(
        change(&changing, "reset", "secret", "a lo\0ng one").await,
        Err(PasswordRejection::NotAllowed)
    );
    let before = right(&changing, "reset").await.password_since_ms;
    assert_eq!(change(&changing, "reset", "secret", "a long one").await, Ok(()));
    assert_eq!(
        change(&changing, "reset", "a long one", "a long one").await,
        Err(PasswordRejection::HadBefore)
    );
    assert_eq!(check(&changing, "reset", "secret").await, WRONG);
    let Ok(PasswordCheck::Right(account)) = check(&changing, "reset", "a long one").await else { panic!() };
    assert!(!account.must_change_password && account.password_since_ms > before);
    assert_eq!(change(&changing, "grace", "secret", "a long one").await, Ok(()));
    let Ok(PasswordCheck::Right(account)) = check(&changing, "grace", "a long one").await else { panic!() };
    assert!(!account.must_change_password);
}

#[tokio::test]
async fn our_own_rules_hold_beside_those_of_the_directory() {
    let Some(slapd) = Slapd::start_policed().await else { return };
    let rules = PasswordRules::new(20, None).unwrap();
    let ruled = LdapDirectory::with_password_rules(changing(&slapd), rules, clock()).unwrap();
    let short = PasswordRejection::Rules(PasswordRefusal::TooShort { length_min: 20 });
    assert_eq!(change(&ruled, "reset", "secret", "a long one").await, Err(short));
}

/// A node whose users are in the directory.
async fn node(ldap: LdapSettings) -> (Service, Running) {
    let (hour, day) = (Duration::from_secs(3600), Duration::from_secs(24 * 3600));
    // Nobody waits for a turn in these tests: it is refused at once.
    let throttle = ThrottleSettings {
        delay: hour,
        user_delay_max: hour,
        forgotten_after: day,
        turn: hour,
        ..ThrottleSettings::default()
    };
    let settings = ServiceSettings { throttle, ..ServiceSettings::default() };
    let builder = Builder::new(settings, clock()).realm("/", Arc::new(directory(ldap))).unwrap();
    let (service, running) = builder.start().unwrap();
    assert!(service.ready().await);
    (service, running)
}

async fn log_in(service: &Service, name: &str, password: &str) -> Result<Login, Refused> {
    service.login(LoginRequest::new("/", name, password, HOME)).await
}

#[tokio::test]
async fn a_session_begins_with_the_password_that_the_directory_has_taken() {
    let Some(slapd) = Slapd::start_policed().await else { return };
    let (service, _running) = node(changing(&slapd)).await;
    let Ok(Login::PasswordChangeNeeded(text)) = log_in(&service, "reset", "secret").await else { panic!() };
    assert!(!text.contains("secret"));
    let choose =
        async |password: &str| service.choose_password(PasswordChoice::new(&text, password, HOME)).await;
    assert_eq!(choose("secret").await, Err(AccountFailed::Unchanged));
    assert_eq!(choose("short").await, Err(AccountFailed::NotTaken(PasswordRejection::TooShort)));
    let Ok(Login::Granted(granted, account)) = choose("a long one").await else { panic!() };
    assert_eq!(account.subject, "reset");
    assert!(service.validate(&granted.token, Purpose::Use).await.is_ok());
    assert!(choose("another long one").await.is_err(), "it was used");
    assert!(matches!(log_in(&service, "reset", "a long one").await, Ok(Login::Granted(..))));
    assert_eq!(log_in(&service, "over", "secret").await, Err(Refused::PasswordOver));
    assert_eq!(log_in(&service, "over", "other").await, Err(Refused::Wrong));
}

#[tokio::test]
async fn where_nobody_may_change_passwords_the_answer_says_so() {
    let Some(slapd) = Slapd::start_policed().await else { return };
    let (service, _running) = node(settings(&slapd)).await;
    assert_eq!(log_in(&service, "reset", "secret").await, Err(Refused::PasswordOver));
    assert_eq!(log_in(&service, "reset", "other").await, Err(Refused::Wrong));
    assert!(matches!(log_in(&service, "grace", "secret").await, Ok(Login::Granted(..))));
}

/// Whoever had the old password had the device's proof too.
#[tokio::test]
async fn another_password_in_the_directory_ends_what_was_given_to_devices() {
    let Some(slapd) = Slapd::start_policed().await else { return };
    let (service, _running) = node(changing(&slapd)).await;
    let Ok(Login::Granted(granted, _)) = log_in(&service, "aged", "secret").await else { panic!() };
    let besieged = async || {
        for number in 0..100 {
            let from = Ipv4Addr::new(198, number, 100, 1).into();
            let guess = service.login(LoginRequest::new("/", "aged", "other", from)).await;
            if matches!(guess, Err(Refused::Delayed { .. })) {
                return;
            }
        }
        panic!("nobody has to wait");
    };
    besieged().await;
    // Each time from where the user has never logged in.
    let on_device = async |password: &str, from: u8| {
        let from = Ipv4Addr::new(203, from, 113, 9).into();
        let request = LoginRequest::new("/", "aged", password, from);
        service.login(LoginRequest { device: granted.device.clone(), ..request }).await
    };
    assert!(matches!(on_device("secret", 1).await, Ok(Login::Granted(..))), "it is known");
    // In another program.
    assert_eq!(change(&directory(changing(&slapd)), "aged", "secret", "a long one").await, Ok(()));
    let login = on_device("a long one", 2).await;
    assert!(matches!(login, Err(Refused::Delayed { .. })), "{login:?}");
    // And while the directory does not say, no device is known.
    drop(slapd);
    assert!(matches!(on_device("a long one", 3).await, Err(Refused::Delayed { .. })));
}

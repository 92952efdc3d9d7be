//! Logins with passkeys, as the only step and as the second one; and what users and administrators change of them.

use std::sync::Arc;

use durward_identity::passkey::{Passkeys, RelyingParty};
use durward_identity::session::{Level, Properties, Purpose, UsedCode, User};
use durward_identity::user::{Account, Directory, LoginFailure, Password, PasswordCheck, UserStore as _};
use durward_identity::{Moment, SystemEntropy};
use durward_session::{
    AMR, AccountFailed, AccountHolder, Accounts, Administrator, Beside, Builder, DirectoryFuture, Failed,
    Granted, Login, PasskeyAnswer, PasskeyRequest, PasskeySettings, Refused, SecondStepPolicy, Service,
    ServiceSettings, UserDirectory,
};

use crate::authenticator::{Authenticator, PRESENT};
use crate::support::{CHEAP, HOME, Turned, World, granted, user};

const ORIGIN: &str = "https://login.example.org";

fn settings(only_step: bool) -> ServiceSettings {
    let party = RelyingParty::new("example.org", "Example", vec![ORIGIN.to_owned()]).unwrap();
    ServiceSettings { passkeys: Some(PasskeySettings { party, only_step }), ..ServiceSettings::default() }
}

fn answer(request: &PasskeyRequest, authenticator: &mut Authenticator) -> PasskeyAnswer {
    PasskeyAnswer {
        ticket: request.ticket.clone(),
        credential: authenticator.get(&request.public_key).to_string(),
        address: HOME,
        properties: Properties::new(),
        device: None,
    }
}

fn holder(token: &str) -> AccountHolder<'_> {
    AccountHolder::new(token, HOME)
}

/// Enrols a passkey for the token's user.
async fn enrol(
    accounts: &Accounts,
    token: &str,
    authenticator: &mut Authenticator,
) -> Result<String, AccountFailed> {
    let begun = accounts.begin_passkey(holder(token), "secret").await?;
    let credential = authenticator.create(&begun.public_key).to_string();
    let passkey = accounts.confirm_passkey(holder(token), &begun.ticket, &credential, "my phone").await?;
    Ok(passkey.reference())
}

/// `anna`, who has a passkey by now.
async fn with_passkey(world: &World) -> Authenticator {
    let token = world.login("anna").await.token;
    let mut authenticator = Authenticator::new(ORIGIN);
    enrol(&world.service.accounts(), &token, &mut authenticator).await.unwrap();
    authenticator
}

async fn alone(service: &Service, authenticator: &mut Authenticator) -> Result<Login, Refused> {
    let request = service.begin_passkey_login().unwrap().unwrap();
    service.login_with_passkey(answer(&request, authenticator)).await
}

async fn method(service: &Service, granted: &Granted) -> Option<String> {
    let (_, session) = service.session(&granted.token, Purpose::Look).await.unwrap();
    session.properties.get(AMR).map(str::to_owned)
}

#[tokio::test]
async fn a_passkey_alone_is_a_login_of_the_higher_level() {
    let world = World::new(settings(true)).await;
    let mut authenticator = with_passkey(&world).await;
    let session = granted(alone(&world.service, &mut authenticator).await);
    assert_eq!((session.user.subject(), session.level), ("anna", Level(1)));
    assert_eq!(method(&world.service, &session).await.as_deref(), Some("hwk user mfa"));
    assert!(session.device.is_some());
}

#[tokio::test]
async fn a_passkey_is_the_second_step_of_a_password() {
    let world = World::new(settings(false)).await;
    let mut authenticator = with_passkey(&world).await;
    authenticator.flags = PRESENT;
    assert_eq!(world.service.begin_passkey_login().unwrap(), None, "it is not the only one");
    let Ok(Login::CodeNeeded(challenge)) = world.attempt("anna", "secret").await else { panic!() };
    let request = world.service.begin_passkey_step(&challenge).unwrap().unwrap();
    assert!(!request.has_code);
    let session = granted(world.service.login_with_passkey(answer(&request, &mut authenticator)).await);
    assert_eq!(session.level, Level(1));
    assert_eq!(method(&world.service, &session).await.as_deref(), Some("pwd hwk user mfa"));
    // Of nobody else, and not for a challenge that is none.
    assert_eq!(world.service.begin_passkey_step("x").unwrap(), None);
    let Ok(Login::CodeNeeded(of_berta)) = world.attempt("berta", "secret").await else { panic!() };
    assert_eq!(world.service.begin_passkey_step(&of_berta).unwrap(), None, "she has none");
}

#[tokio::test]
async fn a_challenge_is_answered_once_in_its_time_and_by_its_cluster() {
    let world = World::new(settings(true)).await;
    let mut authenticator = with_passkey(&world).await;
    let request = world.service.begin_passkey_login().unwrap().unwrap();
    let first = answer(&request, &mut authenticator);
    granted(world.service.login_with_passkey(first.clone()).await);
    assert_eq!(world.service.login_with_passkey(first).await, Err(Refused::Wrong), "replayed");
    // Also with a count that is new.
    let again = answer(&request, &mut authenticator);
    assert_eq!(world.service.login_with_passkey(again).await, Err(Refused::Wrong), "the same challenge");
    let request = world.service.begin_passkey_login().unwrap().unwrap();
    let late = answer(&request, &mut authenticator);
    world.time.pass(std::time::Duration::from_secs(15 * 60));
    assert_eq!(world.service.login_with_passkey(late).await, Err(Refused::Wrong), "over");
    let other = World::new(settings(true)).await;
    let foreign = answer(&other.service.begin_passkey_login().unwrap().unwrap(), &mut authenticator);
    assert_eq!(world.service.login_with_passkey(foreign).await, Err(Refused::Wrong), "of another cluster");
}

#[tokio::test]
async fn what_is_wrong_with_an_answer_lets_nobody_in() {
    let world = World::new(settings(true)).await;
    let mut authenticator = with_passkey(&world).await;
    let refused = async |authenticator: &mut Authenticator, why: &str| {
        assert_eq!(alone(&world.service, authenticator).await, Err(Refused::Wrong), "{why}");
    };
    authenticator.flags = PRESENT;
    refused(&mut authenticator, "not verified").await;
    authenticator.flags = 0;
    refused(&mut authenticator, "not there").await;
    authenticator.flags = PRESENT | crate::authenticator::VERIFIED;
    authenticator.rp_id = Some("other.example".to_owned());
    refused(&mut authenticator, "another party").await;
    authenticator.rp_id = None;
    let handle = authenticator.handle.replace(vec![7; 32]);
    refused(&mut authenticator, "nobody's handle").await;
    authenticator.handle = None;
    refused(&mut authenticator, "no handle").await;
    authenticator.handle = handle;
    granted(alone(&world.service, &mut authenticator).await);
    (authenticator.count, authenticator.step) = (1, 0);
    refused(&mut authenticator, "the count goes back").await;
    // Somebody else's authenticator says that it is this one.
    let mut thief = Authenticator::new(ORIGIN);
    (thief.id, thief.handle, thief.count) = (authenticator.id.clone(), authenticator.handle.clone(), 100);
    refused(&mut thief, "another key").await;
    (authenticator.count, authenticator.step) = (100, 1);
    granted(alone(&world.service, &mut authenticator).await);
    let request = world.service.begin_passkey_login().unwrap().unwrap();
    let mut answered = answer(&request, &mut authenticator);
    answered.credential = "{}".to_owned();
    assert_eq!(world.service.login_with_passkey(answered).await, Err(Refused::Wrong));
}

#[tokio::test]
async fn the_second_step_wants_the_users_own_passkey() {
    let world = World::new(settings(true)).await;
    let mut of_anna = with_passkey(&world).await;
    let token = world.login("root").await.token;
    let mut of_root = Authenticator::new(ORIGIN);
    enrol(&world.service.accounts(), &token, &mut of_root).await.unwrap();
    let Ok(Login::CodeNeeded(challenge)) = world.attempt("anna", "secret").await else { panic!() };
    let request = world.service.begin_passkey_step(&challenge).unwrap().unwrap();
    let wrong = answer(&request, &mut of_root);
    assert_eq!(world.service.login_with_passkey(wrong).await, Err(Refused::Wrong));
    // A handle that says another user than the password did.
    of_anna.handle = of_root.handle.clone();
    let wrong = answer(&request, &mut of_anna);
    assert_eq!(world.service.login_with_passkey(wrong).await, Err(Refused::Wrong));
    of_anna.handle = None;
    granted(world.service.login_with_passkey(answer(&request, &mut of_anna)).await);
}

#[tokio::test]
async fn who_was_disabled_or_lost_the_passkey_does_not_get_in() {
    let world = World::new(settings(true)).await;
    let mut authenticator = with_passkey(&world).await;
    let anna = user("anna");
    world.users.change(&anna, |account| account.disabled = true).unwrap();
    assert_eq!(alone(&world.service, &mut authenticator).await, Err(Refused::Wrong));
    world.users.change(&anna, |account| account.disabled = false).unwrap();
    granted(alone(&world.service, &mut authenticator).await);
    let by = Administrator::operator("test");
    let accounts = world.service.accounts();
    let id = accounts.passkeys_of(&by, &anna).await.unwrap()[0].reference();
    assert_eq!(accounts.remove_passkeys(&by, &anna, Some("0000")).await, Err(AccountFailed::NoPasskey));
    let elsewhere = Administrator::program("test", "/sales");
    let forbidden = accounts.remove_passkeys(&elsewhere, &anna, None).await;
    assert_eq!(forbidden, Err(AccountFailed::Failed(Failed::Forbidden)));
    assert_eq!(accounts.remove_passkeys(&by, &anna, Some(&id)).await, Ok(1));
    assert_eq!(alone(&world.service, &mut authenticator).await, Err(Refused::Wrong));
    // A password is enough again.
    world.login("anna").await;
}

#[tokio::test]
async fn adding_and_removing_end_sessions_and_renaming_does_not() {
    let world = World::new(settings(true)).await;
    let accounts = world.service.accounts();
    let other = world.login("anna").await.token;
    let mut authenticator = with_passkey(&world).await;
    assert!(world.service.validate(&other, Purpose::Look).await.is_err(), "it began without the passkey");
    let session = granted(alone(&world.service, &mut authenticator).await);
    let token = session.token.as_str();
    let id = accounts.own_passkeys(token).await.unwrap()[0].reference();
    accounts.rename_own_passkey(token, &id, "a key").await.unwrap();
    assert_eq!(accounts.own_passkeys(token).await.unwrap()[0].name, "a key");
    assert!(matches!(accounts.rename_own_passkey(token, &id, "").await, Err(AccountFailed::Name(_))));
    assert_eq!(accounts.rename_own_passkey(token, "00", "x").await, Err(AccountFailed::NoPasskey));
    let wrong = accounts.remove_own_passkey(holder(token), &id, "wrong").await;
    assert_eq!(wrong, Err(AccountFailed::Refused(Refused::Wrong)));
    accounts.remove_own_passkey(holder(token), &id, "secret").await.unwrap();
    assert!(world.service.validate(token, Purpose::Look).await.is_err());
}

#[tokio::test]
async fn an_enrolment_is_its_users_and_wants_password_and_second_step() {
    let world = World::new(settings(true)).await;
    let accounts = world.service.accounts();
    let anna = world.login("anna").await.token;
    let wrong = accounts.begin_passkey(holder(&anna), "wrong").await;
    assert_eq!(wrong, Err(AccountFailed::Refused(Refused::Wrong)));
    let begun = accounts.begin_passkey(holder(&anna), "secret").await.unwrap();
    let mut authenticator = Authenticator::new(ORIGIN);
    let credential = authenticator.create(&begun.public_key).to_string();
    let root = world.login("root").await.token;
    let of_root = accounts.confirm_passkey(holder(&root), &begun.ticket, &credential, "x").await;
    assert_eq!(of_root, Err(AccountFailed::NoEnrolment));
    // The ticket of a login is none of an enrolment.
    let login = world.service.begin_passkey_login().unwrap().unwrap();
    let mixed = accounts.confirm_passkey(holder(&anna), &login.ticket, &credential, "x").await;
    assert_eq!(mixed, Err(AccountFailed::NoEnrolment));
    authenticator.origin = "https://evil.example".to_owned();
    let elsewhere = authenticator.create(&begun.public_key).to_string();
    let refused = accounts.confirm_passkey(holder(&anna), &begun.ticket, &elsewhere, "x").await;
    assert!(matches!(refused, Err(AccountFailed::Passkey(_))));
    accounts.confirm_passkey(holder(&anna), &begun.ticket, &credential, "x").await.unwrap();
    // Whoever has the password alone adds no other.
    let low = ServiceSettings { second_step: SecondStepPolicy::OnStepUp, ..settings(true) };
    let world = World::new(low).await;
    let token = world.login("berta").await.token;
    let low = world.service.accounts().begin_passkey(holder(&token), "secret").await;
    assert_eq!(low, Err(AccountFailed::CodeNeeded));
}

#[tokio::test]
async fn a_password_alone_adds_no_device_for_codes_beside_a_passkey() {
    let low = ServiceSettings { second_step: SecondStepPolicy::OnStepUp, ..settings(true) };
    let world = World::new(low).await;
    let mut authenticator = with_passkey(&world).await;
    let accounts = world.service.accounts();
    let token = world.login("anna").await.token;
    let begun = accounts.begin_second_step(holder(&token), "secret").await;
    assert_eq!(begun.err(), Some(AccountFailed::CodeNeeded));
    let token = granted(alone(&world.service, &mut authenticator).await).token;
    assert!(accounts.begin_second_step(holder(&token), "secret").await.is_ok());
}

#[tokio::test]
async fn nobody_enrols_the_credential_of_somebody_else() {
    let world = World::new(settings(true)).await;
    let authenticator = with_passkey(&world).await;
    let root = world.login("root").await.token;
    let mut thief = Authenticator::new(ORIGIN);
    thief.id = authenticator.id.clone();
    let taken = enrol(&world.service.accounts(), &root, &mut thief).await;
    assert_eq!(taken, Err(AccountFailed::Exists));
}

#[tokio::test]
async fn an_enrolment_that_was_begun_before_the_password_changed_is_over() {
    let world = World::new(settings(true)).await;
    let accounts = world.service.accounts();
    let token = world.login("anna").await.token;
    let begun = accounts.begin_passkey(holder(&token), "secret").await.unwrap();
    world.time.pass(std::time::Duration::from_secs(1));
    accounts.change_own_password(holder(&token), "secret", "another", None).await.unwrap();
    let token = granted(world.attempt("anna", "another").await).token;
    let credential = Authenticator::new(ORIGIN).create(&begun.public_key).to_string();
    let late = accounts.confirm_passkey(holder(&token), &begun.ticket, &credential, "x").await;
    assert_eq!(late, Err(AccountFailed::NoEnrolment));
}

#[tokio::test]
async fn a_session_is_raised_by_a_passkey() {
    let low = ServiceSettings { second_step: SecondStepPolicy::OnStepUp, ..settings(true) };
    let world = World::new(low).await;
    let mut authenticator = with_passkey(&world).await;
    let session = world.login("anna").await;
    assert_eq!(session.level, Level(0));
    let request = world.service.begin_passkey_step_up(&session.token).await.unwrap().unwrap();
    let first = answer(&request, &mut authenticator);
    let raised = world.service.step_up_with_passkey(&session.token, first.clone()).await.unwrap();
    assert_eq!(raised.level, Level(1));
    assert_eq!(method(&world.service, &raised).await.as_deref(), Some("pwd hwk user mfa"));
    let replayed = world.service.step_up_with_passkey(&session.token, first).await;
    assert_eq!(replayed, Err(Failed::Code));
    // What raises a session does not begin one.
    let request = world.service.begin_passkey_step_up(&session.token).await.unwrap().unwrap();
    let login = world.service.login_with_passkey(answer(&request, &mut authenticator)).await;
    assert_eq!(login, Err(Refused::Wrong));
    let root = world.login("root").await.token;
    let of_other = world.service.step_up_with_passkey(&root, answer(&request, &mut authenticator)).await;
    assert_eq!(of_other, Err(Failed::Code));
}

#[tokio::test]
async fn without_the_setting_a_passkey_is_still_asked_for_and_cannot_be_given() {
    let world = World::new(settings(true)).await;
    with_passkey(&world).await;
    let kept = world.users.account(&user("anna")).unwrap().unwrap().passkeys;
    let off = World::new(ServiceSettings::default()).await;
    off.users.change(&user("anna"), |account| account.passkeys = kept).unwrap();
    let Ok(Login::CodeNeeded(challenge)) = off.attempt("anna", "secret").await else { panic!() };
    assert_eq!(off.service.begin_passkey_step(&challenge).unwrap(), None);
    assert_eq!(off.service.begin_passkey_login().unwrap(), None);
}

/// A directory elsewhere, which is not changed here.
struct Elsewhere;

impl UserDirectory for Elsewhere {
    fn check<'a>(
        &'a self,
        _: Moment,
        user: &'a User,
        password: Password<'a>,
    ) -> DirectoryFuture<'a, PasswordCheck> {
        let is_right = user.subject().eq_ignore_ascii_case("emil") && password.expose() == b"secret";
        let account = Account::new(&User::new(user.realm(), "emil").unwrap());
        Box::pin(async move {
            Ok(if is_right {
                PasswordCheck::Right(Box::new(account))
            } else {
                PasswordCheck::Wrong(LoginFailure::Password)
            })
        })
    }

    fn account<'a>(&'a self, user: &'a User) -> DirectoryFuture<'a, Option<Account>> {
        Box::pin(async move { Ok((user.subject() == "emil").then(|| Account::new(user))) })
    }

    fn check_code<'a>(&'a self, _: Moment, _: &'a User, _: &'a str) -> DirectoryFuture<'a, Option<UsedCode>> {
        Box::pin(async { Ok(None) })
    }
}

#[tokio::test]
async fn users_of_a_directory_elsewhere_have_passkeys_beside_it() {
    let kept = Arc::new(Directory::in_memory(CHEAP, Arc::new(SystemEntropy)).unwrap());
    let beside = Arc::new(Beside::new(Arc::new(Elsewhere), Arc::clone(&kept)));
    let time = Turned::default();
    let builder = Builder::new(settings(true), time.clock()).realm("/corp", beside).unwrap();
    let (service, _running) = builder.start().unwrap();
    assert!(service.ready().await);
    let login = async |name: &str| {
        service.login(durward_session::LoginRequest::new("/corp", name, "secret", HOME)).await
    };
    let session = granted(login("EMIL").await);
    let mut authenticator = Authenticator::new(ORIGIN);
    enrol(&service.accounts(), &session.token, &mut authenticator).await.unwrap();
    assert!(service.validate(&session.token, Purpose::Look).await.is_err(), "sessions end");
    let names: Vec<String> = kept.list().into_iter().map(|account| account.subject).collect();
    assert_eq!(names, ["emil"]);
    let session = granted(alone(&service, &mut authenticator).await);
    assert_eq!((session.user.realm(), session.user.subject()), ("/corp", "emil"));
    assert!(matches!(login("emil").await, Ok(Login::CodeNeeded(_))), "the password alone is not enough now");
    let Ok(Login::CodeNeeded(challenge)) = login("emil").await else { panic!() };
    let request = service.begin_passkey_step(&challenge).unwrap().unwrap();
    granted(service.login_with_passkey(answer(&request, &mut authenticator)).await);
    // Nobody logs in by what stands beside.
    let emil = User::new("/corp", "emil").unwrap();
    let (by, accounts) = (Administrator::operator("test"), service.accounts());
    assert_eq!(accounts.find(&by, &emil).await, Err(AccountFailed::NotKept));
    assert_eq!(accounts.remove_passkeys(&by, &emil, None).await, Ok(1));
    assert!(service.validate(&session.token, Purpose::Look).await.is_err());
    assert!(kept.account(&emil).unwrap().unwrap().passkeys.is_empty());
    assert_ne!(kept.account(&emil).unwrap().unwrap().passkeys, Passkeys::default(), "the handle stays");
    granted(login("emil").await);
}

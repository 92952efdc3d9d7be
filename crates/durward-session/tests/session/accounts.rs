//! Users changed while the service runs: by administrators, and by users themselves.

use std::time::Duration;

use durward_identity::session::{Purpose, User};
use durward_identity::user::{Account, PasswordRefusal, PasswordRules, UserStore};
use durward_session::{
    AccountFailed, AccountHolder, Administrator, Failed, LoginRequest, Refused, SecondStepPolicy,
    ServiceSettings,
};

use crate::support::{HOME, World, granted, patient, strict, user};

fn root() -> Administrator {
    Administrator::program("provisioning", "/")
}

fn stranger() -> Administrator {
    Administrator::program("provisioning", "/sales")
}

async fn lives(world: &World, token: &str) -> bool {
    world.service.validate(token, Purpose::Look).await.is_ok()
}

#[tokio::test]
async fn users_are_added_listed_renamed_and_removed() {
    let world = World::new(patient()).await;
    let accounts = world.service.accounts();
    let new = Account { groups: vec!["staff".to_owned()], ..Account::new(&user("dora")) };
    let added = accounts.add(&root(), new.clone(), Some("a good one"), |_| false).await.unwrap();
    assert!(added.password.is_some() && added.password_since_ms > 0);
    let again = accounts.add(&root(), new.clone(), None, |_| false).await;
    assert_eq!(again, Err(AccountFailed::Exists));
    let like = Account::new(&user("DORA"));
    let is_like = |other: &Account| other.subject.eq_ignore_ascii_case("DORA");
    assert_eq!(accounts.add(&root(), like, None, is_like).await, Err(AccountFailed::Exists));
    let names = |page: durward_session::AccountPage| {
        page.accounts.into_iter().map(|account| account.subject).collect::<Vec<_>>()
    };
    let all = accounts.list(&root(), "/", (0, 100), |_| true).await.unwrap();
    assert_eq!(
        (all.total, names(all)),
        (6, ["anna", "berta", "dora", "old", "out", "root"].map(str::to_owned).to_vec())
    );
    let page = accounts.list(&root(), "/", (1, 2), |account| account.subject != "berta").await.unwrap();
    assert_eq!((page.total, names(page)), (5, ["dora", "old"].map(str::to_owned).to_vec()));
    let renamed =
        accounts.change(&root(), &user("dora"), None, |dora| dora.subject = "anna".to_owned()).await;
    assert_eq!(renamed, Err(AccountFailed::Exists));
    let renamed =
        accounts.change(&root(), &user("dora"), None, |dora| dora.subject = "dörte/x".to_owned()).await;
    assert_eq!(renamed.unwrap().groups, ["staff"]);
    assert_eq!(accounts.find(&root(), &user("dora")).await, Err(AccountFailed::NoUser));
    accounts.remove(&root(), &user("dörte/x")).await.unwrap();
    assert_eq!(accounts.remove(&root(), &user("dörte/x")).await, Err(AccountFailed::NoUser));
}

/// Whoever looked a user up acts on that user, and not on whoever has the name by then; and names are compared when the name is given.
#[tokio::test]
async fn a_name_that_somebody_else_has_meanwhile_is_not_acted_on() {
    let world = World::new(patient()).await;
    let accounts = world.service.accounts();
    let staff = |account: &Account| account.groups == ["staff"];
    let disable = |account: &mut Account| account.disabled = true;
    let other = accounts.change_if(&root(), &user("berta"), None, staff, |_| false, disable).await;
    assert_eq!(other, Err(AccountFailed::NoUser));
    assert_eq!(accounts.remove_if(&root(), &user("berta"), staff).await, Err(AccountFailed::NoUser));
    assert!(world.users.account(&user("berta")).unwrap().is_some_and(|berta| !berta.disabled));
    let rename = async |name: &'static str| {
        let is_like = move |other: &Account| other.subject.eq_ignore_ascii_case(name);
        let change = move |anna: &mut Account| anna.subject = name.to_owned();
        accounts.change_if(&root(), &user("anna"), None, staff, is_like, change).await
    };
    assert_eq!(rename("BERTA").await, Err(AccountFailed::Exists));
    assert_eq!(rename("ANNA").await.unwrap().subject, "ANNA", "like nobody but themselves");
    assert_eq!(accounts.remove_if(&root(), &user("ANNA"), staff).await, Ok(()));
}

#[tokio::test]
async fn administrators_of_one_realm_have_no_say_in_another() {
    let world = World::new(patient()).await;
    let accounts = world.service.accounts();
    let forbidden = AccountFailed::Failed(Failed::Forbidden);
    assert_eq!(accounts.list(&stranger(), "/", (0, 1), |_| true).await, Err(forbidden.clone()));
    assert_eq!(accounts.remove(&stranger(), &user("anna")).await, Err(forbidden.clone()));
    assert_eq!(accounts.change_all(&stranger(), "/", |_| None).await, Err(forbidden));
    let nowhere = accounts.list(&stranger(), "/sales", (0, 1), |_| true).await;
    assert_eq!(nowhere, Err(AccountFailed::Failed(Failed::UnknownRealm)));
}

#[tokio::test]
async fn sessions_end_with_what_ends_them_and_with_nothing_else() {
    let world = World::new(patient()).await;
    let accounts = world.service.accounts();
    let anna = world.login("anna").await.token;
    let staff = |account: &mut Account| account.groups.push("night".to_owned());
    accounts.change(&root(), &user("anna"), None, staff).await.unwrap();
    assert!(lives(&world, &anna).await);
    world.time.pass(Duration::from_secs(1));
    accounts.change(&root(), &user("anna"), Some("another one"), |_| {}).await.unwrap();
    assert!(!lives(&world, &anna).await);
    world.time.pass(Duration::from_secs(1));
    assert_eq!(world.attempt("anna", "secret").await.unwrap_err(), Refused::Wrong);
    let root_token = world.login("root").await.token;
    accounts.change(&root(), &user("root"), None, |root| root.disabled = true).await.unwrap();
    assert!(!lives(&world, &root_token).await);
    let berta = user("berta");
    accounts.remove(&root(), &berta).await.unwrap();
    assert_eq!(world.users.account(&berta).unwrap(), None);
}

#[tokio::test]
async fn many_are_changed_at_once() {
    let world = World::new(patient()).await;
    let accounts = world.service.accounts();
    let joined = |account: &Account| {
        let is_new = !account.groups.iter().any(|group| group == "all");
        is_new.then(|| {
            let mut after = account.clone();
            after.groups.push("all".to_owned());
            after
        })
    };
    assert_eq!(accounts.change_all(&root(), "/", joined).await, Ok(5));
    assert_eq!(accounts.change_all(&root(), "/", joined).await, Ok(0));
    let members =
        accounts.list(&root(), "/", (0, 9), |account| account.groups.contains(&"all".to_owned())).await;
    assert_eq!(members.unwrap().total, 5);
}

#[tokio::test]
async fn who_knows_the_old_password_gives_themselves_another() {
    let world = World::new(patient()).await;
    let accounts = world.service.accounts();
    let anna = world.login("anna").await.token;
    let wrong =
        accounts.change_own_password(AccountHolder::new(&anna, HOME), "other", "a new one", None).await;
    assert_eq!(wrong, Err(AccountFailed::Refused(Refused::Wrong)));
    assert!(lives(&world, &anna).await);
    world.time.pass(Duration::from_secs(1));
    assert_eq!(
        accounts.change_own_password(AccountHolder::new(&anna, HOME), "secret", "a new one", None).await,
        Ok(user("anna"))
    );
    assert!(!lives(&world, &anna).await);
    world.time.pass(Duration::from_secs(1));
    assert!(world.attempt("anna", "secret").await.is_err());
    assert!(world.attempt("anna", "a new one").await.is_ok());
}

#[tokio::test]
async fn wrong_old_passwords_count_as_those_of_logins() {
    let world = World::new(strict()).await;
    let accounts = world.service.accounts();
    let anna = world.login("anna").await.token;
    let mut last = Ok(user("anna"));
    for _ in 0..30 {
        last =
            accounts.change_own_password(AccountHolder::new(&anna, HOME), "other", "a new one", None).await;
    }
    assert!(matches!(last, Err(AccountFailed::Refused(Refused::Delayed { .. }))), "{last:?}");
    let right =
        accounts.change_own_password(AccountHolder::new(&anna, HOME), "secret", "a new one", None).await;
    assert!(matches!(right, Err(AccountFailed::Refused(Refused::Delayed { .. }))), "{right:?}");
}

#[tokio::test]
async fn new_passwords_keep_to_the_rules() {
    let rules = PasswordRules::new(8, None).unwrap();
    let world = World::ruled(patient(), rules).await;
    let accounts = world.service.accounts();
    let short = AccountFailed::Password(PasswordRefusal::TooShort { length_min: 8 });
    let anna = world.login("anna").await.token;
    assert_eq!(
        accounts.change_own_password(AccountHolder::new(&anna, HOME), "secret", "short", None).await,
        Err(short.clone())
    );
    assert_eq!(accounts.change(&root(), &user("anna"), Some("short"), |_| {}).await, Err(short));
    let empty = accounts.change(&root(), &user("anna"), Some(""), |_| {}).await;
    assert!(matches!(empty, Err(AccountFailed::Name(_))), "{empty:?}");
    assert!(lives(&world, &anna).await);
}

#[tokio::test]
async fn a_second_step_is_enrolled_confirmed_and_removed_by_its_user() {
    let world = World::new(patient()).await;
    let accounts = world.service.accounts();
    let anna = world.login("anna").await.token;
    let wrong = accounts.begin_second_step(AccountHolder::new(&anna, HOME), "other").await.map(drop);
    assert_eq!(wrong, Err(AccountFailed::Refused(Refused::Wrong)));
    let begun = accounts.begin_second_step(AccountHolder::new(&anna, HOME), "secret").await.unwrap();
    let confirm = async |enrolment: &str, code: &str| {
        accounts.confirm_second_step(AccountHolder::new(&anna, HOME), enrolment, code).await
    };
    assert_eq!(confirm("x", "1").await, Err(AccountFailed::NoEnrolment));
    let code = begun.totp.code(world.time.now());
    let other = if code == "000000" { "000001" } else { "000000" };
    assert_eq!(confirm(&begun.enrolment, other).await, Err(AccountFailed::Refused(Refused::Wrong)));
    // Until it is confirmed, there is none.
    assert!(accounts.own(&anna).await.unwrap().second_step.is_none());
    let recovery = confirm(&begun.enrolment, &code).await.unwrap();
    assert_eq!(recovery.len(), 10);
    assert!(!lives(&world, &anna).await, "whoever has a session without it has none any more");
    let login = async |code: Option<&str>| {
        world.time.pass(Duration::from_secs(1));
        let request = LoginRequest::new("/", "anna", "secret", HOME);
        let request = LoginRequest { code: code.map(str::to_owned), ..request };
        granted(world.service.login(request).await).token
    };
    let anna = login(Some(&recovery[2])).await;
    let again = accounts
        .confirm_second_step(AccountHolder::new(&anna, HOME), &begun.enrolment, &code)
        .await
        .map(drop);
    assert_eq!(again, Err(AccountFailed::HasSecondStep));
    let again = accounts.begin_second_step(AccountHolder::new(&anna, HOME), "secret").await.map(drop);
    assert_eq!(again, Err(AccountFailed::HasSecondStep));
    // The code that confirmed it is used up.
    let remove = async |token: &str, code: &str| {
        accounts.remove_second_step(AccountHolder::new(token, HOME), code).await
    };
    assert_eq!(remove(&anna, &code).await, Err(AccountFailed::Refused(Refused::Wrong)));
    assert_eq!(remove(&anna, &recovery[0]).await, Ok(()));
    assert!(!lives(&world, &anna).await);
    let anna = login(None).await;
    assert_eq!(remove(&anna, &recovery[1]).await, Err(AccountFailed::NoSecondStep));
}

/// Whoever has stolen the password does not get the account with it.
#[tokio::test]
async fn with_a_second_step_another_password_needs_a_code_or_its_level() {
    let settings = ServiceSettings { second_step: SecondStepPolicy::OnStepUp, ..patient() };
    let world = World::new(settings).await;
    let accounts = world.service.accounts();
    let berta = world.login("berta").await.token;
    let change = async |token: &str, (old, new): (&str, &str), code: Option<&str>| {
        accounts.change_own_password(AccountHolder::new(token, HOME), old, new, code).await
    };
    let wrong = Err(AccountFailed::Refused(Refused::Wrong));
    assert_eq!(change(&berta, ("secret", "a new one"), None).await, Err(AccountFailed::CodeNeeded));
    assert_eq!(change(&berta, ("secret", "a new one"), Some("123456")).await, wrong);
    assert_eq!(change(&berta, ("other", "a new one"), Some(&world.recovery[0])).await, wrong);
    world.time.pass(Duration::from_secs(1));
    let changed = change(&berta, ("secret", "a new one"), Some(&world.recovery[0])).await;
    assert_eq!(changed, Ok(user("berta")));
    world.time.pass(Duration::from_secs(1));
    let berta = granted(world.attempt("berta", "a new one").await).token;
    let high = world.service.step_up(&berta, &world.recovery[1], HOME).await.unwrap().token;
    assert_eq!(change(&high, ("a new one", "the third"), None).await, Ok(user("berta")));
}

#[tokio::test]
async fn a_second_step_that_an_administrator_removes_ends_sessions_and_devices() {
    let world = World::new(patient()).await;
    let code = Some(world.recovery[0].clone());
    let request = LoginRequest { code, ..LoginRequest::new("/", "berta", "secret", HOME) };
    let berta = granted(world.service.login(request).await).token;
    let before = world.time.now();
    world.time.pass(Duration::from_secs(1));
    let accounts = world.service.accounts();
    accounts.change(&root(), &user("berta"), None, |berta| berta.second_step = None).await.unwrap();
    // Also of whoever finds it in the file later.
    assert!(world.users.must_be_over(&user("berta"), before));
    assert!(!lives(&world, &berta).await);
}

#[tokio::test]
async fn an_enrolment_is_over_after_a_while_and_is_nobody_elses() {
    let world = World::new(patient()).await;
    let accounts = world.service.accounts();
    let (anna, root) = (world.login("anna").await.token, world.login("root").await.token);
    let begun = accounts.begin_second_step(AccountHolder::new(&anna, HOME), "secret").await.unwrap();
    let code = begun.totp.code(world.time.now());
    let stolen = accounts.confirm_second_step(AccountHolder::new(&root, HOME), &begun.enrolment, &code).await;
    assert_eq!(stolen, Err(AccountFailed::NoEnrolment));
    world.time.pass(Duration::from_secs(601));
    let code = begun.totp.code(world.time.now());
    let late = accounts.confirm_second_step(AccountHolder::new(&anna, HOME), &begun.enrolment, &code).await;
    assert_eq!(late, Err(AccountFailed::NoEnrolment));
    assert_eq!(begun.user, User::new("/", "anna").unwrap());
}

//! Second steps of users in a real directory, kept beside it: enrolled, asked for, used once, lost; while the directory is down, and for users
//! who are removed from it.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use durward_identity::login::ThrottleSettings;
use durward_identity::session::{Level, Properties, Purpose, User};
use durward_identity::user::{
    Account, Directory, HashCosts, LoginFailure, Password, PasswordCheck, StoredPassword, Totp,
    UserStore as _,
};
use durward_identity::{Moment, SystemEntropy};
use durward_session::ldap::{LdapGroups, LdapMember, LdapMembership, LdapSettings};
use durward_session::{
    AccountFailed, AccountHolder, Administrator, Beside, Builder, Failed, Granted, Login, LoginRequest,
    Refused, Running, SecondStepPolicy, Service, ServiceSettings, UserDirectory as _,
};

use crate::slapd::{BASE, Far, GROUPS, Slapd};
use crate::{directory, settings};

const HOME: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));

const CHEAP: HashCosts = HashCosts { memory_kib: 8, passes: 1, lanes: 1 };

fn now() -> Moment {
    #[expect(clippy::disallowed_methods, reason = "a test hands the clock to what it builds")]
    let now = std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Moment::from_ms(u64::try_from(now.as_millis()).unwrap())
}

/// A node whose users are in the directory, and what it keeps beside that.
struct World {
    service: Service,
    kept: Arc<Directory>,
    slapd: Slapd,
    _running: Running,
}

/// A device that a user has set up, and their paper.
struct Device {
    totp: Totp,
    recovery: Vec<String>,
}

fn user(name: &str) -> User {
    User::new("/", name).unwrap()
}

fn holder(token: &str) -> AccountHolder<'_> {
    AccountHolder::new(token, HOME)
}

fn granted(login: Result<Login, Refused>) -> Granted {
    match login {
        Ok(Login::Granted(granted, _)) => granted,
        other => panic!("no session: {other:?}"),
    }
}

/// Nobody has to wait.
fn patient() -> ServiceSettings {
    let throttle = ThrottleSettings { user_free: 1_000, address_free: 1_000, ..Default::default() };
    ServiceSettings { throttle, ..ServiceSettings::default() }
}

impl World {
    async fn new(with: ServiceSettings) -> Option<World> {
        let slapd = Slapd::start(Far::Nowhere).await?;
        let membership = LdapMembership::OfGroup {
            filter: "(objectClass=groupOfNames)".to_owned(),
            attribute: "member".to_owned(),
            holds: LdapMember::Dn,
            name_attribute: "cn".to_owned(),
        };
        let groups = Some(LdapGroups { base: GROUPS.to_owned(), membership });
        let login_attributes = vec!["uid".to_owned(), "mail".to_owned()];
        let rest = Duration::ZERO;
        let users = directory(LdapSettings { groups, login_attributes, rest, ..settings(&slapd) });
        let kept = Arc::new(Directory::in_memory(CHEAP, Arc::new(SystemEntropy)).unwrap());
        let beside = Arc::new(Beside::new(Arc::new(users), Arc::clone(&kept)));
        let builder = Builder::new(with, Arc::new(now)).realm("/", beside).unwrap();
        let (service, running) = builder.start().unwrap();
        assert!(service.ready().await);
        Some(World { service, kept, slapd, _running: running })
    }

    async fn login(&self, name: &str) -> Result<Login, Refused> {
        self.service.login(LoginRequest::new("/", name, "secret", HOME)).await
    }

    async fn challenge(&self, name: &str) -> String {
        match self.login(name).await {
            Ok(Login::CodeNeeded(challenge)) => challenge,
            other => panic!("{name}: {other:?}"),
        }
    }

    async fn answer(&self, challenge: &str, code: &str) -> Result<Login, Refused> {
        self.service.answer_challenge(challenge, code, HOME, Properties::new()).await
    }

    /// A device, set up by the holder of the token.
    async fn enrol(&self, token: &str) -> Device {
        let accounts = self.service.accounts();
        let begun = accounts.begin_second_step(holder(token), "secret").await.unwrap();
        // The code of the step before: that of this one is good yet.
        let code = begun.totp.code(Moment::from_ms(now().ms() - 30_000));
        let recovery = accounts.confirm_second_step(holder(token), &begun.enrolment, &code).await.unwrap();
        Device { totp: begun.totp, recovery }
    }

    /// The same after a login with the password.
    async fn enrolled(&self, name: &str) -> Device {
        let token = granted(self.login(name).await).token;
        self.enrol(&token).await
    }

    async fn comes_back(&mut self) {
        self.slapd.begin();
        assert!(self.slapd.listens().await);
    }

    /// Takes a user out of the directory.
    async fn remove(&mut self, name: &str) {
        self.slapd.end();
        self.slapd.remove(&format!("uid={name},{BASE}"));
        self.comes_back().await;
    }
}

#[tokio::test]
async fn a_user_of_a_directory_sets_up_codes_and_is_asked_for_them() {
    let Some(world) = World::new(patient()).await else { return };
    let accounts = world.service.accounts();
    // However the name is typed, the directory's is kept.
    let token = granted(world.login("ANNA@example.org").await).token;
    assert_eq!(accounts.own_recovery_codes_left(&token).await, Ok(None));
    let wrong = accounts.begin_second_step(holder(&token), "wrong").await.err();
    assert_eq!(wrong, Some(AccountFailed::Refused(Refused::Wrong)));
    let device = world.enrol(&token).await;
    assert_eq!(device.recovery.len(), 10);
    assert!(world.service.validate(&token, Purpose::Look).await.is_err(), "it began without the codes");
    let names: Vec<String> = world.kept.list().into_iter().map(|account| account.subject).collect();
    assert_eq!(names, ["anna"]);
    // Nobody logs in by what stands beside, and the directory knows nothing of it.
    assert_eq!(
        accounts.find(&Administrator::operator("test"), &user("anna")).await,
        Err(AccountFailed::NotKept)
    );
    let challenge = world.challenge("anna").await;
    assert_eq!(world.answer(&challenge, "000000").await, Err(Refused::Wrong));
    let session = granted(world.answer(&challenge, &device.totp.code(now())).await);
    assert_eq!((session.user.subject(), session.level), ("anna", Level(1)));
    // Others are not asked.
    granted(world.login("berta").await);
    let again = accounts.begin_second_step(holder(&session.token), "secret").await.err();
    assert_eq!(again, Some(AccountFailed::HasSecondStep));
    let session = session.token;
    assert_eq!(accounts.own_recovery_codes_left(&session).await, Ok(Some(10)));
    let wrong = accounts.remove_second_step(holder(&session), "AAAA-AAAA-AAAA-AAAA").await;
    assert_eq!(wrong, Err(AccountFailed::Refused(Refused::Wrong)));
    accounts.remove_second_step(holder(&session), &device.recovery[3]).await.unwrap();
    assert!(world.service.validate(&session, Purpose::Look).await.is_err());
    granted(world.login("anna").await);
}

#[tokio::test]
async fn a_code_is_good_once_and_for_its_own_user() {
    let Some(world) = World::new(patient()).await else { return };
    let (anna, berta) = (world.enrolled("anna").await, world.enrolled("berta").await);
    let challenge = world.challenge("anna").await;
    for of_other in [berta.totp.code(now()), berta.recovery[0].clone()] {
        assert_eq!(world.answer(&challenge, &of_other).await, Err(Refused::Wrong));
    }
    for code in [anna.totp.code(now()), anna.recovery[0].clone()] {
        let challenge = world.challenge("anna").await;
        granted(world.answer(&challenge, &code).await);
        assert_eq!(world.answer(&challenge, &code).await, Err(Refused::Wrong), "replayed");
        let other = world.challenge("anna").await;
        assert_eq!(world.answer(&other, &code).await, Err(Refused::Wrong), "replayed at another login");
    }
    // An enrolment is of the user to whom it was shown.
    let Some(world) = World::new(patient()).await else { return };
    let accounts = world.service.accounts();
    let [of_anna, of_berta] =
        [granted(world.login("anna").await).token, granted(world.login("berta").await).token];
    let begun = accounts.begin_second_step(holder(&of_anna), "secret").await.unwrap();
    let code = begun.totp.code(now());
    let foreign = accounts.confirm_second_step(holder(&of_berta), &begun.enrolment, &code).await;
    assert_eq!(foreign, Err(AccountFailed::NoEnrolment));
    assert!(world.kept.list().is_empty());
}

#[tokio::test]
async fn guesses_at_codes_are_delayed_as_those_of_other_users_are() {
    let (hour, day) = (Duration::from_secs(3600), Duration::from_secs(24 * 3600));
    let throttle =
        ThrottleSettings { delay: hour, user_delay_max: hour, forgotten_after: day, ..Default::default() };
    let strict = ServiceSettings { throttle, held_max: Duration::ZERO, ..ServiceSettings::default() };
    let Some(world) = World::new(strict).await else { return };
    let device = world.enrolled("anna").await;
    let challenge = world.challenge("anna").await;
    let mut tries = 0;
    let delayed = loop {
        match world.answer(&challenge, "000000").await {
            Err(Refused::Wrong) => tries += 1,
            other => break other,
        }
    };
    assert!(matches!(delayed, Err(Refused::Delayed { .. })), "{delayed:?}");
    assert!((3..=5).contains(&tries), "{tries}");
    let right = world.answer(&challenge, &device.totp.code(now())).await;
    assert!(matches!(right, Err(Refused::Delayed { .. })), "{right:?}");
}

#[tokio::test]
async fn while_the_directory_is_down_nothing_is_set_up_and_no_code_is_used_up() {
    let Some(mut world) = World::new(patient()).await else { return };
    let accounts = world.service.accounts();
    let device = world.enrolled("berta").await;
    let challenge = world.challenge("berta").await;
    let session = granted(world.answer(&challenge, &device.recovery[0]).await).token;
    let token = granted(world.login("anna").await).token;
    let begun = accounts.begin_second_step(holder(&token), "secret").await.unwrap();
    let challenge = world.challenge("berta").await;
    world.slapd.end();
    let is_down = |failed: &Failed| matches!(failed, Failed::Directory(_));
    let code = begun.totp.code(now());
    let confirmed = accounts.confirm_second_step(holder(&token), &begun.enrolment, &code).await;
    assert!(matches!(&confirmed, Err(AccountFailed::Failed(why)) if is_down(why)), "{confirmed:?}");
    assert_eq!(world.kept.account(&user("anna")), Ok(None));
    let login = world.answer(&challenge, &device.recovery[1]).await;
    assert!(matches!(login, Err(Refused::Directory(_))), "{login:?}");
    let stepped = world.service.step_up(&session, &device.recovery[1], HOME).await;
    assert!(matches!(&stepped, Err(why) if is_down(why)), "{stepped:?}");
    let removed = accounts.remove_second_step(holder(&session), &device.recovery[1]).await;
    assert!(matches!(&removed, Err(AccountFailed::Failed(why)) if is_down(why)), "{removed:?}");
    world.comes_back().await;
    // It was not used up.
    granted(world.answer(&challenge, &device.recovery[1]).await);
    accounts.confirm_second_step(holder(&token), &begun.enrolment, &code).await.unwrap();
}

#[tokio::test]
async fn who_was_removed_from_the_directory_gets_nothing_by_a_code() {
    let Some(mut world) = World::new(patient()).await else { return };
    let accounts = world.service.accounts();
    let device = world.enrolled("berta").await;
    let challenge = world.challenge("berta").await;
    let session = granted(world.answer(&challenge, &device.recovery[0]).await).token;
    let token = granted(world.login("anna").await).token;
    let begun = accounts.begin_second_step(holder(&token), "secret").await.unwrap();
    let challenge = world.challenge("berta").await;
    world.remove("berta").await;
    world.remove("anna").await;
    assert_eq!(world.answer(&challenge, &device.recovery[1]).await, Err(Refused::Wrong));
    assert_eq!(world.login("berta").await, Err(Refused::Wrong));
    assert_eq!(world.service.step_up(&session, &device.recovery[1], HOME).await, Err(Failed::Code));
    let removed = accounts.remove_second_step(holder(&session), &device.recovery[1]).await;
    assert_eq!(removed, Err(AccountFailed::NoUser));
    let confirmed =
        accounts.confirm_second_step(holder(&token), &begun.enrolment, &begun.totp.code(now())).await;
    assert_eq!(confirmed, Err(AccountFailed::NoUser));
    assert_eq!(world.kept.account(&user("anna")), Ok(None));
    // An administrator takes what is left.
    let by = Administrator::operator("test");
    assert_eq!(accounts.second_step_of(&by, &user("berta")).await, Ok(Some(9)));
    accounts.remove_second_step_of(&by, &user("berta")).await.unwrap();
    assert_eq!(accounts.second_step_of(&by, &user("berta")).await, Ok(None));
}

#[tokio::test]
async fn an_administrator_of_the_directory_must_have_used_their_codes() {
    let low = ServiceSettings { second_step: SecondStepPolicy::OnStepUp, ..patient() };
    let Some(world) = World::new(low).await else { return };
    let administers = async |token: &str| world.service.administrator(token).await.map(drop);
    let token = granted(world.login("berta").await).token;
    assert_eq!(administers(&token).await, Ok(()));
    let device = world.enrol(&token).await;
    let session = granted(world.login("berta").await);
    assert_eq!(session.level, Level(0), "codes are asked for when they are needed");
    assert_eq!(administers(&session.token).await, Err(Failed::SecondStepNeeded));
    let raised = world.service.step_up(&session.token, &device.totp.code(now()), HOME).await.unwrap();
    assert_eq!(raised.level, Level(1));
    assert_eq!(administers(&raised.token).await, Ok(()));
    assert_eq!(administers(&session.token).await, Err(Failed::SecondStepNeeded), "the token from before");
    let of_other = world.enrolled("anna").await;
    let stolen = world.service.step_up(&session.token, &of_other.totp.code(now()), HOME).await;
    assert_eq!(stolen, Err(Failed::Code));
}

#[tokio::test]
async fn an_administrator_removes_the_codes_of_who_has_lost_the_device() {
    let Some(world) = World::new(patient()).await else { return };
    let accounts = world.service.accounts();
    let device = world.enrolled("anna").await;
    let challenge = world.challenge("anna").await;
    let session = granted(world.answer(&challenge, &device.recovery[0]).await).token;
    let (by, elsewhere) = (Administrator::operator("test"), Administrator::program("test", "/sales"));
    let anna = user("anna");
    let forbidden = accounts.remove_second_step_of(&elsewhere, &anna).await;
    assert_eq!(forbidden, Err(AccountFailed::Failed(Failed::Forbidden)));
    let none = accounts.remove_second_step_of(&by, &user("berta")).await;
    assert_eq!(none, Err(AccountFailed::NoSecondStep));
    // A challenge from before is over by it.
    let challenge = world.challenge("anna").await;
    accounts.remove_second_step_of(&by, &anna).await.unwrap();
    assert!(world.service.validate(&session, Purpose::Look).await.is_err());
    assert_eq!(world.answer(&challenge, &device.recovery[1]).await, Err(Refused::Wrong));
    granted(world.login("anna").await);
}

/// What a file from before the directory says of a user keeps them out, and lets nobody in.
#[tokio::test]
async fn nobody_logs_in_by_a_password_that_stands_beside() {
    let Some(world) = World::new(patient()).await else { return };
    let hash = StoredPassword::hash(&Password::new("from the file").unwrap(), CHEAP, &SystemEntropy);
    let with = |name: &str| Account { password: hash.clone().ok(), ..Account::new(&user(name)) };
    world.kept.import(vec![with("anna"), with("carl")]).unwrap();
    for name in ["anna", "carl"] {
        let login = world.service.login(LoginRequest::new("/", name, "from the file", HOME)).await;
        assert_eq!(login, Err(Refused::Wrong), "{name}");
    }
    granted(world.login("anna").await);
    world.kept.change(&user("anna"), |account| account.disabled = true).unwrap();
    assert_eq!(world.login("anna").await, Err(Refused::Wrong));
    let users = Beside::new(Arc::new(directory(settings(&world.slapd))), Arc::clone(&world.kept));
    let anna = user("anna");
    let checked = users.check(now(), &anna, Password::new("secret").unwrap()).await.unwrap();
    assert_eq!(checked, PasswordCheck::Wrong(LoginFailure::Disabled));
}

//! What is kept beside a directory of its users, and of whom it is: passkeys belong to an entry, and who may not log in does not with them
//! either.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use durward_identity::SystemEntropy;
use durward_identity::login::ThrottleSettings;
use durward_identity::passkey::RelyingParty;
use durward_identity::session::{Properties, Purpose, User};
use durward_identity::user::{Account, Directory, HashCosts, PasswordCheck, UserStore as _};
use durward_session::ldap::LdapSettings;
use durward_session::{
    AccountFailed, AccountHolder, Beside, Builder, Granted, Login, LoginRequest, PasskeyAnswer,
    PasskeySettings, Refused, Running, Service, ServiceSettings, UserDirectory as _,
};

use crate::authenticator::Authenticator;
use crate::slapd::{BASE, Far, Slapd};
use crate::{check, clock, directory, settings};

const HOME: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));
const ORIGIN: &str = "https://login.example.org";

/// A node whose users are in the directory, and what is kept beside it.
struct World {
    service: Service,
    kept: Arc<Directory>,
    _running: Running,
}

impl World {
    async fn new(ldap: LdapSettings) -> World {
        let costs = HashCosts { memory_kib: 8, passes: 1, lanes: 1 };
        let kept = Arc::new(Directory::in_memory(costs, Arc::new(SystemEntropy)).unwrap());
        let beside = Arc::new(Beside::new(Arc::new(directory(ldap)), Arc::clone(&kept)));
        let party = RelyingParty::new("example.org", "Example", vec![ORIGIN.to_owned()]).unwrap();
        let passkeys = Some(PasskeySettings { party, only_step: true });
        let throttle = ThrottleSettings { user_free: 1_000, address_free: 1_000, ..Default::default() };
        let settings = ServiceSettings { passkeys, throttle, ..ServiceSettings::default() };
        let builder = Builder::new(settings, clock()).realm("/", beside).unwrap();
        let (service, running) = builder.start().unwrap();
        assert!(service.ready().await);
        World { service, kept, _running: running }
    }

    async fn password(&self, name: &str) -> Result<Login, Refused> {
        self.service.login(LoginRequest::new("/", name, "secret", HOME)).await
    }

    async fn alone(&self, authenticator: &mut Authenticator) -> Result<Login, Refused> {
        let request = self.service.begin_passkey_login().unwrap().unwrap();
        let credential = authenticator.get(&request.public_key).to_string();
        let (ticket, properties) = (request.ticket, Properties::new());
        let answer = PasskeyAnswer { ticket, credential, address: HOME, properties, device: None };
        self.service.login_with_passkey(answer).await
    }

    /// Another passkey of a session's user.
    async fn enrol(&self, session: &Granted) -> Authenticator {
        let mut authenticator = Authenticator::new(ORIGIN);
        let (accounts, holder) = (self.service.accounts(), AccountHolder::new(&session.token, HOME));
        let begun = accounts.begin_passkey(holder, "secret").await.unwrap();
        let credential = authenticator.create(&begun.public_key).to_string();
        accounts.confirm_passkey(holder, &begun.ticket, &credential, "my phone").await.unwrap();
        authenticator
    }

    async fn with_passkey(&self, name: &str) -> Authenticator {
        self.enrol(&granted(self.password(name).await)).await
    }
}

fn granted(login: Result<Login, Refused>) -> Granted {
    match login {
        Ok(Login::Granted(granted, _)) => granted,
        other => panic!("no session: {other:?}"),
    }
}

fn user(name: &str) -> User {
    User::new("/", name).unwrap()
}

/// Another entry with the name of one that is gone.
fn another(slapd: &Slapd, name: &str) {
    slapd.remove(&format!("uid={name},{BASE}"));
    slapd.add(&format!(
        "dn: uid={name},{BASE}\nobjectClass: inetOrgPerson\nuid: {name}\ncn: New\nsn: New\nuserPassword: SECRET\n"
    ));
}

#[tokio::test]
async fn whoever_has_the_name_of_somebody_who_is_gone_has_not_their_passkeys() {
    let Some(mut slapd) = Slapd::start(Far::Nowhere).await else { return };
    let world = World::new(settings(&slapd)).await;
    let mut old = world.with_passkey("anna").await;
    let before = granted(world.alone(&mut old).await);
    let kept = world.kept.account(&user("anna")).unwrap().unwrap();
    assert!(kept.entry.is_some_and(|entry| entry.starts_with("entryUUID:")));
    slapd.changed(|slapd| another(slapd, "anna")).await;
    assert_eq!(world.alone(&mut old).await, Err(Refused::Wrong));
    // Nor is the new one asked for what they do not have.
    let session = granted(world.password("anna").await);
    let accounts = world.service.accounts();
    assert!(accounts.own_passkeys(&session.token).await.unwrap().is_empty());
    let references = world.kept.account(&user("anna")).unwrap().unwrap();
    let reference = references.passkeys.iter().next().unwrap().reference();
    let renamed = accounts.rename_own_passkey(&session.token, &reference, "mine").await;
    assert_eq!(renamed, Err(AccountFailed::NoPasskey));
    let mut new = world.enrol(&session).await;
    assert!(world.service.validate(&before.token, Purpose::Look).await.is_err(), "of the one before");
    granted(world.alone(&mut new).await);
    assert_eq!(world.alone(&mut old).await, Err(Refused::Wrong));
    assert!(matches!(world.password("anna").await, Ok(Login::CodeNeeded(_))));
}

#[tokio::test]
async fn a_name_is_that_of_the_user_however_the_directory_writes_it() {
    let Some(mut slapd) = Slapd::start(Far::Nowhere).await else { return };
    let world = World::new(settings(&slapd)).await;
    let mut authenticator = world.with_passkey("anna").await;
    slapd.set(&format!("uid=anna,{BASE}"), &[("uid", "ANNA")]).await;
    let session = granted(world.alone(&mut authenticator).await);
    assert_eq!(session.user, user("ANNA"));
    assert!(matches!(world.password("anna").await, Ok(Login::CodeNeeded(_))));
    let accounts = world.service.accounts();
    assert_eq!(accounts.own_passkeys(&session.token).await.unwrap().len(), 1);
    let session = granted(world.alone(&mut authenticator).await);
    let mut second = world.enrol(&session).await;
    assert_eq!(world.kept.list().len(), 1, "one user");
    granted(world.alone(&mut second).await);
    granted(world.alone(&mut authenticator).await);
}

/// What was kept before the directory said which entry it is of belongs to whoever has the password next, and to no later entry.
#[tokio::test]
async fn what_is_kept_without_an_entry_is_bound_by_the_next_password() {
    let Some(mut slapd) = Slapd::start(Far::Nowhere).await else { return };
    let world = World::new(settings(&slapd)).await;
    let mut authenticator = world.with_passkey("anna").await;
    world.kept.change(&user("anna"), |kept| kept.entry = None).unwrap();
    granted(world.alone(&mut authenticator).await);
    assert!(matches!(world.password("anna").await, Ok(Login::CodeNeeded(_))));
    assert!(world.kept.account(&user("anna")).unwrap().unwrap().entry.is_some());
    slapd.changed(|slapd| another(slapd, "anna")).await;
    assert_eq!(world.alone(&mut authenticator).await, Err(Refused::Wrong));
}

/// To take a name for a user where the directory told entries apart before would be to drop a second step in silence.
#[tokio::test]
async fn a_directory_that_hides_its_entries_from_now_on_lets_nobody_in_with_half_of_what_is_needed() {
    let Some(mut slapd) = Slapd::start(Far::Nowhere).await else { return };
    let world = World::new(settings(&slapd)).await;
    let mut authenticator = world.with_passkey("anna").await;
    slapd
        .changed(|slapd| {
            let path = slapd.folder.0.join("slapd.conf");
            let config = std::fs::read_to_string(&path).unwrap();
            let hidden = "access to attrs=entryUUID by * none\naccess to attrs=userPassword";
            std::fs::write(path, config.replacen("access to attrs=userPassword", hidden, 1)).unwrap();
        })
        .await;
    for refused in [world.password("anna").await, world.alone(&mut authenticator).await] {
        assert!(
            matches!(&refused, Err(Refused::Directory(error)) if error.to_string().contains("entryUUID")),
            "{refused:?}"
        );
    }
    granted(world.password("berta").await);
}

/// No password is shown, so no bind says that they may not.
#[tokio::test]
async fn whoever_may_not_log_in_does_not_by_a_passkey_either() {
    let Some(mut slapd) = Slapd::start(Far::Nowhere).await else { return };
    let world = World::new(settings(&slapd)).await;
    let mut authenticator = world.with_passkey("anna").await;
    let (anna, entry) = (user("anna"), format!("uid=anna,{BASE}"));
    for (attribute, off, on) in [
        ("userAccountControl", "514", "512"),
        ("nsAccountLock", "TRUE", "FALSE"),
        ("shadowExpire", "19000", "-1"),
    ] {
        let classes = [("objectClass", "inetOrgPerson"), ("objectClass", "ofOthers")];
        slapd.set(&entry, &[classes[0], classes[1], (attribute, off)]).await;
        assert_eq!(world.alone(&mut authenticator).await, Err(Refused::Wrong), "{attribute}");
        assert_eq!(world.service.active_account(&anna).await, Ok(None), "{attribute}");
        assert_eq!(world.password("anna").await, Err(Refused::Wrong), "{attribute}");
        slapd.set(&entry, &[(attribute, on)]).await;
        granted(world.alone(&mut authenticator).await);
        assert!(world.service.active_account(&anna).await.unwrap().is_some(), "{attribute}");
    }
}

/// The directory takes a lock away when somebody binds who may: a password finds that out, and a passkey does not.
#[tokio::test]
async fn who_is_locked_after_failures_is_let_in_by_a_bind_alone() {
    let Some(mut slapd) = Slapd::start_policed().await else { return };
    let world = World::new(settings(&slapd)).await;
    let mut authenticator = world.with_passkey("locked").await;
    let directory = directory(settings(&slapd));
    for _ in 0..3 {
        assert!(matches!(check(&directory, "locked", "other").await, Ok(PasswordCheck::Wrong(_))));
    }
    assert!(matches!(check(&directory, "locked", "secret").await, Ok(PasswordCheck::Wrong(_))), "locked");
    assert_eq!(world.alone(&mut authenticator).await, Err(Refused::Wrong));
    let locked = directory.account(&user("locked")).await.unwrap().unwrap();
    assert!(locked.disabled);
    slapd.set(&format!("uid=locked,{BASE}"), &[("pwdAccountLockedTime", "20200101000000Z")]).await;
    slapd.set("cn=locking,dc=example,dc=org", &[("pwdLockoutDuration", "60")]).await;
    assert_eq!(world.alone(&mut authenticator).await, Err(Refused::Wrong), "nobody knows that it is over");
    let bound = check(&directory, "locked", "secret").await;
    assert!(matches!(&bound, Ok(PasswordCheck::Right(account)) if !account.disabled), "{bound:?}");
    granted(world.alone(&mut authenticator).await);
    let account: Account = directory.account(&user("locked")).await.unwrap().unwrap();
    assert!(!account.disabled);
}

//! Names that a directory compares without case: one user, however the name is written.

use std::net::Ipv4Addr;
use std::sync::Arc;

use durward_identity::Moment;
use durward_identity::session::{LimitPolicy, Purpose, UsedCode, User};
use durward_identity::user::{Account, Password, PasswordCheck};
use durward_session::{
    Administrator, Builder, DirectoryFuture, Embedded, Login, LoginRequest, Refused, Running, Service,
    ServiceSettings, UserDirectory,
};

use crate::support::{HOME, Turned, patient, strict, user, users};

/// The embedded directory behind names in lower case, as a directory of the network has them.
struct Folding(Embedded);

fn lower(user: &User) -> User {
    User::new(user.realm(), &user.subject().to_lowercase()).unwrap()
}

impl UserDirectory for Folding {
    fn check<'a>(
        &'a self,
        now: Moment,
        user: &'a User,
        password: Password<'a>,
    ) -> DirectoryFuture<'a, PasswordCheck> {
        Box::pin(async move { self.0.check(now, &lower(user), password).await })
    }

    fn account<'a>(&'a self, user: &'a User) -> DirectoryFuture<'a, Option<Account>> {
        Box::pin(async move { self.0.account(&lower(user)).await })
    }

    fn check_code<'a>(
        &'a self,
        now: Moment,
        user: &'a User,
        code: &'a str,
    ) -> DirectoryFuture<'a, Option<UsedCode>> {
        Box::pin(async move { self.0.check_code(now, &lower(user), code).await })
    }

    fn folded(&self, name: &str) -> Option<String> {
        Some(name.to_lowercase())
    }
}

async fn start(settings: ServiceSettings) -> (Service, Running) {
    let embedded = Embedded::new(users().directory, settings.pool).unwrap();
    let builder = Builder::new(settings, Turned::default().clock());
    let (service, running) = builder.realm("/", Arc::new(Folding(embedded))).unwrap().start().unwrap();
    assert!(service.ready().await);
    (service, running)
}

async fn attempt(service: &Service, name: &str, password: &str) -> Result<Login, Refused> {
    service.login(durward_session::LoginRequest::new("/", name, password, HOME)).await
}

#[tokio::test]
async fn a_name_written_otherwise_is_no_further_guess() {
    let (service, _running) = start(ServiceSettings::default()).await;
    let mut refused = Ok(());
    for name in ["anna", "Anna", "ANNA", "aNna", "anNa", "annA"] {
        refused = attempt(&service, name, "other").await.map(|_| ());
    }
    assert!(matches!(refused, Err(Refused::Delayed { .. })), "{refused:?}");
    service.forgive(&Administrator::operator("test"), &user("ANNA")).await.unwrap();
    assert!(attempt(&service, "anna", "secret").await.is_ok());
}

/// A directory serves any number of realms.
#[tokio::test]
async fn a_realm_that_shares_its_users_with_others_is_no_further_guess() {
    let settings = strict();
    let shared: Arc<dyn UserDirectory> =
        Arc::new(Folding(Embedded::new(users().directory, settings.pool).unwrap()));
    let mut builder = Builder::new(settings, Turned::default().clock());
    let realms: Vec<String> = (0..10).map(|number| format!("/realm{number}")).collect();
    for realm in &realms {
        builder = builder.realm(realm, Arc::clone(&shared)).unwrap();
    }
    let (service, _running) = builder.start().unwrap();
    assert!(service.ready().await);
    let mut looked_at = 0;
    for (number, realm) in (1..).zip(&realms) {
        let from = Ipv4Addr::new(198, 51, 100, number).into();
        match service.login(LoginRequest::new(realm, "anna", "other", from)).await {
            Err(Refused::Wrong) => looked_at += 1,
            Err(Refused::Delayed { .. }) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(looked_at, 4);
    let operator = Administrator::operator("test");
    service.forgive(&operator, &User::new("/realm7", "anna").unwrap()).await.unwrap();
    assert_eq!(service.login(LoginRequest::new("/realm3", "anna", "other", HOME)).await, Err(Refused::Wrong));
}

/// The built-in directory has users of its own in each realm.
#[tokio::test]
async fn users_of_the_same_name_in_two_realms_of_their_own_do_not_delay_each_other() {
    let settings = ServiceSettings::default();
    let embedded: Arc<dyn UserDirectory> = Arc::new(Embedded::new(users().directory, settings.pool).unwrap());
    let builder = Builder::new(settings, Turned::default().clock());
    let builder = builder.realm("/", Arc::clone(&embedded)).unwrap().realm("/other", embedded).unwrap();
    let (service, _running) = builder.start().unwrap();
    assert!(service.ready().await);
    for _ in 0..5 {
        let _ = service.login(LoginRequest::new("/other", "anna", "other", HOME)).await;
    }
    assert!(service.login(LoginRequest::new("/", "anna", "secret", HOME)).await.is_ok());
}

#[tokio::test]
async fn a_name_written_otherwise_is_no_further_session() {
    let mut settings = patient();
    settings.session.per_user_max = Some(2);
    settings.session.on_limit = LimitPolicy::Refuse;
    let (service, _running) = start(settings).await;
    for name in ["anna", "ANNA"] {
        assert!(attempt(&service, name, "secret").await.is_ok());
    }
    assert_eq!(attempt(&service, "Anna", "secret").await, Err(Refused::UserFull));
}

#[tokio::test]
async fn administrators_mean_a_user_however_they_write_him() {
    let (service, _running) = start(patient()).await;
    let operator = Administrator::operator("test");
    let login = |name: &'static str| {
        let service = service.clone();
        async move {
            match attempt(&service, name, "secret").await {
                Ok(Login::Granted(granted, _)) => granted,
                other => panic!("{other:?}"),
            }
        }
    };
    let (first, second, other) = (login("anna").await, login("Anna").await, login("root").await);
    assert_eq!(service.sessions_of(&operator, &user("ANNA")).await.unwrap().len(), 2);
    service.set_properties_of(&operator, &user("ANNA"), first.id, &[("a", Some("b"))]).await.unwrap();
    service.revoke(&operator, &user("aNNa"), first.id).await.unwrap();
    assert!(service.validate(&first.token, Purpose::Look).await.is_err());
    assert!(service.validate(&second.token, Purpose::Look).await.is_ok());
    service.revoke_user(&operator, &user("ANNA")).await.unwrap();
    assert!(service.validate(&second.token, Purpose::Look).await.is_err());
    assert!(service.validate(&other.token, Purpose::Look).await.is_ok());
}

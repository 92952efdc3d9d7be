//! Names that a directory compares without case: one user, however he is written.

use std::sync::Arc;

use durward_identity::Moment;
use durward_identity::session::{LimitPolicy, Purpose, UsedCode, User};
use durward_identity::user::{Account, Checked, Password};
use durward_session::{
    Administrator, Answering, Builder, Embedded, Login, Refused, Running, Service, ServiceSettings,
    UserDirectory,
};

use crate::support::{HOME, Turned, patient, user, users};

/// The embedded directory behind names in lower case, as a directory of the network has them.
struct Folding(Embedded);

fn lower(user: &User) -> User {
    User::new(user.realm(), &user.subject().to_lowercase()).unwrap()
}

impl UserDirectory for Folding {
    fn check<'a>(&'a self, now: Moment, user: &'a User, password: Password<'a>) -> Answering<'a, Checked> {
        Box::pin(async move { self.0.check(now, &lower(user), password).await })
    }

    fn account<'a>(&'a self, user: &'a User) -> Answering<'a, Option<Account>> {
        Box::pin(async move { self.0.account(&lower(user)).await })
    }

    fn check_code<'a>(
        &'a self,
        now: Moment,
        user: &'a User,
        code: &'a str,
    ) -> Answering<'a, Option<UsedCode>> {
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

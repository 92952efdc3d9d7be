//! Many logins at once of one user or from one address: right ones all get in, and wrong ones are no more guesses than one after the
//! other.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use durward_identity::Moment;
use durward_identity::session::{UsedCode, User};
use durward_identity::user::{Account, LoginFailure, Password, PasswordCheck};
use durward_session::{
    Builder, DirectoryFuture, Login, LoginRequest, Refused, Running, Service, ServiceSettings, UserDirectory,
};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::support::{HOME, World};

/// How many try at once and before the first delay: what is free, and one.
const USER_GUESSES: usize = 4;
const ADDRESS_GUESSES: usize = 21;

/// Everybody's password is `secret`. It answers when it is let, and counts what it is asked.
struct Slow {
    guesses: AtomicUsize,
    answers: Semaphore,
}

impl UserDirectory for Slow {
    fn check<'a>(
        &'a self,
        _: Moment,
        user: &'a User,
        password: Password<'a>,
    ) -> DirectoryFuture<'a, PasswordCheck> {
        Box::pin(async move {
            self.guesses.fetch_add(1, Ordering::SeqCst);
            self.answers.acquire().await.unwrap().forget();
            match password.expose() {
                b"secret" => Ok(PasswordCheck::Right(Box::new(Account::new(user)))),
                b"broken" => panic!("on purpose"),
                _ => Ok(PasswordCheck::Wrong(LoginFailure::Password)),
            }
        })
    }

    fn account<'a>(&'a self, user: &'a User) -> DirectoryFuture<'a, Option<Account>> {
        Box::pin(async move { Ok(Some(Account::new(user))) })
    }

    fn check_code<'a>(&'a self, _: Moment, _: &'a User, _: &'a str) -> DirectoryFuture<'a, Option<UsedCode>> {
        Box::pin(async { Ok(None) })
    }
}

struct Crowd {
    service: Service,
    _running: Running,
    directory: Arc<Slow>,
}

impl Crowd {
    /// On a clock that stands still: no delay is over while a slow machine goes through a test.
    async fn new() -> Crowd {
        let directory = Arc::new(Slow { guesses: AtomicUsize::new(0), answers: Semaphore::new(0) });
        let settings = ServiceSettings { held_max: Duration::from_secs(3600), ..ServiceSettings::default() };
        let builder = Builder::new(settings, Arc::new(|| Moment::from_s(1_700_000_000)));
        let (service, running) = builder.realm("/", directory.clone()).unwrap().start().unwrap();
        assert!(service.ready().await);
        Crowd { service, _running: running, directory }
    }

    fn login(&self, user: &str, password: &str, from: IpAddr) -> JoinHandle<Result<Login, Refused>> {
        let (service, request) = (self.service.clone(), LoginRequest::new("/", user, password, from));
        tokio::spawn(async move { service.login(request).await })
    }

    fn guesses(&self) -> usize {
        self.directory.guesses.load(Ordering::SeqCst)
    }

    /// So many are being decided, and so many wait for them.
    async fn has_come(&self, guesses: usize, held: usize) {
        while (self.guesses(), self.service.logins_held()) != (guesses, held) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    fn decide(&self, many: usize) {
        self.directory.answers.add_permits(many);
    }
}

/// How many got in, were wrong, and were delayed.
async fn counted(logins: Vec<JoinHandle<Result<Login, Refused>>>) -> [usize; 3] {
    let mut counts = [0; 3];
    for login in logins {
        match login.await.unwrap() {
            Ok(_) => counts[0] += 1,
            Err(Refused::Wrong) => counts[1] += 1,
            Err(Refused::Delayed { retry_after }) if retry_after == Duration::from_secs(1) => counts[2] += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
    counts
}

fn address(number: u8) -> IpAddr {
    Ipv4Addr::new(198, 51, 100, number).into()
}

#[tokio::test]
async fn two_hundred_right_logins_at_once_all_get_in() {
    let settings = ServiceSettings { held_max: Duration::from_secs(3600), ..ServiceSettings::default() };
    let world = World::new(settings).await;
    let logins = (0..200).map(|_| {
        let service = world.service.clone();
        tokio::spawn(async move { service.login(LoginRequest::new("/", "anna", "secret", HOME)).await })
    });
    assert_eq!(counted(logins.collect()).await, [200, 0, 0]);
    assert_eq!(world.service.logins_held(), 0);
}

#[tokio::test]
async fn as_many_right_ones_as_wait_have_their_turn() {
    let crowd = Crowd::new().await;
    let logins = (0..200).map(|_| crowd.login("anna", "secret", HOME)).collect();
    crowd.has_come(USER_GUESSES, 200 - USER_GUESSES).await;
    crowd.decide(200);
    assert_eq!(counted(logins).await, [200, 0, 0]);
    assert_eq!((crowd.guesses(), crowd.service.logins_held()), (200, 0));
}

#[tokio::test]
async fn many_users_at_once_from_one_address_all_get_in() {
    let crowd = Crowd::new().await;
    let logins = (0..200).map(|number| crowd.login(&format!("user{number}"), "secret", HOME)).collect();
    crowd.has_come(ADDRESS_GUESSES, 200 - ADDRESS_GUESSES).await;
    crowd.decide(200);
    assert_eq!(counted(logins).await, [200, 0, 0]);
}

#[tokio::test]
async fn two_hundred_wrong_ones_at_once_are_four_guesses() {
    let crowd = Crowd::new().await;
    let logins = (0..200).map(|number| crowd.login("anna", "other", address(number))).collect();
    crowd.has_come(USER_GUESSES, 200 - USER_GUESSES).await;
    crowd.decide(200);
    assert_eq!(counted(logins).await, [0, USER_GUESSES, 200 - USER_GUESSES]);
    assert_eq!(crowd.guesses(), USER_GUESSES);
}

#[tokio::test]
async fn wrong_ones_of_many_users_from_one_address_are_no_more_than_its_guesses() {
    let crowd = Crowd::new().await;
    let logins = (0..200).map(|number| crowd.login(&format!("user{number}"), "other", HOME)).collect();
    crowd.has_come(ADDRESS_GUESSES, 200 - ADDRESS_GUESSES).await;
    crowd.decide(200);
    assert_eq!(counted(logins).await, [0, ADDRESS_GUESSES, 200 - ADDRESS_GUESSES]);
    assert_eq!(crowd.guesses(), ADDRESS_GUESSES);
}

/// The right password among them is not found by bringing it along with many.
#[tokio::test]
async fn who_waits_behind_wrong_ones_is_delayed_and_not_let_through() {
    let crowd = Crowd::new().await;
    let mut logins: Vec<_> = (0..USER_GUESSES).map(|_| crowd.login("anna", "other", HOME)).collect();
    crowd.has_come(USER_GUESSES, 0).await;
    logins.extend((0..20).map(|_| crowd.login("anna", "secret", HOME)));
    crowd.has_come(USER_GUESSES, 20).await;
    crowd.decide(200);
    assert_eq!(counted(logins).await, [0, USER_GUESSES, 20]);
    assert_eq!(crowd.guesses(), USER_GUESSES);
}

/// One that breaks is a failure like another, and is not in the way of others after that.
#[tokio::test]
async fn a_login_that_breaks_is_not_in_the_way_for_ever() {
    let crowd = Crowd::new().await;
    let broken = crowd.login("anna", "broken", HOME);
    crowd.has_come(1, 0).await;
    let right = (0..USER_GUESSES - 1).map(|_| crowd.login("anna", "secret", HOME)).collect();
    crowd.has_come(USER_GUESSES, 0).await;
    let waiting = crowd.login("anna", "secret", HOME);
    crowd.has_come(USER_GUESSES, 1).await;
    crowd.decide(200);
    assert!(matches!(broken.await.unwrap(), Err(Refused::Unavailable(_))));
    assert_eq!(counted(right).await, [USER_GUESSES - 1, 0, 0]);
    assert!(waiting.await.unwrap().is_ok());
    assert_eq!(crowd.service.logins_held(), 0);
}

/// Whose connection is gone does not take a place among those who wait.
#[tokio::test]
async fn who_does_not_wait_for_the_answer_does_not_stand_in_line() {
    let crowd = Crowd::new().await;
    let first = (0..USER_GUESSES).map(|_| crowd.login("anna", "secret", HOME)).collect();
    crowd.has_come(USER_GUESSES, 0).await;
    let gone: Vec<_> = (0..50).map(|_| crowd.login("anna", "other", HOME)).collect();
    crowd.has_come(USER_GUESSES, 50).await;
    let stays = crowd.login("anna", "secret", HOME);
    crowd.has_come(USER_GUESSES, 51).await;
    gone.iter().for_each(JoinHandle::abort);
    crowd.has_come(USER_GUESSES, 1).await;
    crowd.decide(200);
    assert_eq!(counted(first).await, [USER_GUESSES, 0, 0]);
    assert!(stays.await.unwrap().is_ok());
    assert_eq!(crowd.guesses(), USER_GUESSES + 1);
}

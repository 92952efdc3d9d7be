//! A node with users, on a clock that tests can turn.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use durward_identity::login::{PoolSettings, ThrottleSettings};
use durward_identity::session::User;
use durward_identity::user::{
    Account, Directory, HashCosts, Password, PasswordRules, RecoveryCodes, SecondStep, StoredPassword, Totp,
};
use durward_identity::{Moment, SystemEntropy};
use durward_session::ServiceSettings;
use durward_session::{Builder, Clock, Embedded, Granted, Login, LoginRequest, Refused, Running, Service};

pub(crate) const HOME: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));

pub(crate) const CHEAP: HashCosts = HashCosts { memory_kib: 8, passes: 1, lanes: 1 };

pub(crate) fn user(name: &str) -> User {
    User::new("/", name).unwrap()
}

/// The wall's clock, and so much later as a test wants.
#[derive(Clone, Default)]
pub(crate) struct Turned(Arc<AtomicU64>);

impl Turned {
    pub(crate) fn pass(&self, span: Duration) {
        self.0.fetch_add(u64::try_from(span.as_millis()).unwrap(), Ordering::SeqCst);
    }

    pub(crate) fn clock(&self) -> Clock {
        let turned = self.0.clone();
        Arc::new(move || {
            #[expect(clippy::disallowed_methods, reason = "a test hands the clock to what it builds")]
            let now = std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            Moment::from_ms(u64::try_from(now.as_millis()).unwrap() + turned.load(Ordering::SeqCst))
        })
    }

    pub(crate) fn now(&self) -> Moment {
        (self.clock())()
    }
}

/// `anna` has the password `secret`; `berta` a second step as well; `root` administers; `old` has a hash of a directory; `out` is
/// disabled.
pub(crate) struct World {
    pub(crate) service: Service,
    pub(crate) running: Running,
    pub(crate) time: Turned,
    pub(crate) users: Arc<Directory>,
    pub(crate) totp: Totp,
    pub(crate) recovery: Vec<String>,
}

pub(crate) struct Users {
    pub(crate) directory: Arc<Directory>,
    pub(crate) totp: Totp,
    pub(crate) recovery: Vec<String>,
}

pub(crate) fn users() -> Users {
    ruled_users(PasswordRules::default())
}

/// The same, whose new passwords keep to rules.
fn ruled_users(rules: PasswordRules) -> Users {
    let directory = Directory::in_memory(CHEAP, Arc::new(SystemEntropy)).unwrap();
    let directory = Arc::new(directory.with_password_rules(rules));
    let secret = StoredPassword::hash(&Password::new("secret").unwrap(), CHEAP, &SystemEntropy).unwrap();
    let totp = Totp::generate(&SystemEntropy).unwrap();
    let (recovery, kept) = RecoveryCodes::generate(&SystemEntropy).unwrap();
    let with = |name: &str| Account { password: Some(secret.clone()), ..Account::new(&user(name)) };
    let second_step = Some(SecondStep { totp: totp.clone(), used: None, recovery: kept });
    directory.put(Account { groups: vec!["staff".to_owned()], ..with("anna") }).unwrap();
    directory.put(Account { second_step, ..with("berta") }).unwrap();
    directory.put(Account { groups: vec!["administrators".to_owned()], ..with("root") }).unwrap();
    directory.put(Account { disabled: true, ..with("out") }).unwrap();
    let old = StoredPassword::read("{SSHA}MqgsoLTmMhaFQyavGVt4H6pBLV3NjFx8eAo8Ug==").ok();
    directory.put(Account { password: old, ..Account::new(&user("old")) }).unwrap();
    Users { directory, totp, recovery }
}

impl World {
    pub(crate) async fn new(settings: ServiceSettings) -> World {
        World::built(settings, |builder| builder).await
    }

    pub(crate) async fn built(settings: ServiceSettings, build: impl FnOnce(Builder) -> Builder) -> World {
        World::of(settings, users(), build).await
    }

    /// With rules for new passwords.
    pub(crate) async fn ruled(settings: ServiceSettings, rules: PasswordRules) -> World {
        World::of(settings, ruled_users(rules), |builder| builder).await
    }

    async fn of(settings: ServiceSettings, users: Users, build: impl FnOnce(Builder) -> Builder) -> World {
        let Users { directory, totp, recovery } = users;
        let time = Turned::default();
        let embedded = Embedded::new(directory.clone(), settings.pool).unwrap();
        let builder = Builder::new(settings, time.clock()).realm("/", Arc::new(embedded)).unwrap();
        let (service, running) = build(builder).start().unwrap();
        assert!(service.ready().await);
        World { service, running, time, users: directory, totp, recovery }
    }

    pub(crate) async fn login(&self, name: &str) -> Granted {
        granted(self.attempt(name, "secret").await)
    }

    pub(crate) async fn attempt(&self, name: &str, password: &str) -> Result<Login, Refused> {
        self.service.login(LoginRequest::new("/", name, password, HOME)).await
    }
}

pub(crate) fn granted(login: Result<Login, Refused>) -> Granted {
    match login {
        Ok(Login::Granted(granted, _)) => granted,
        other => panic!("no session: {other:?}"),
    }
}

/// Who has to wait, waits for longer than a test may take.
pub(crate) fn strict() -> ServiceSettings {
    let (hour, day) = (Duration::from_secs(3600), Duration::from_secs(24 * 3600));
    let throttle =
        ThrottleSettings { delay: hour, user_delay_max: hour, forgotten_after: day, ..Default::default() };
    ServiceSettings { throttle, ..ServiceSettings::default() }
}

/// Nobody has to wait, and whoever waits may wait long.
pub(crate) fn patient() -> ServiceSettings {
    let throttle = ThrottleSettings { user_free: 1_000, address_free: 1_000, ..Default::default() };
    let pool = PoolSettings { wait_max: Duration::from_secs(3600), ..PoolSettings::default() };
    ServiceSettings { throttle, pool, ..ServiceSettings::default() }
}

/// A folder of a test's own, which goes with it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("durward-sessions-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

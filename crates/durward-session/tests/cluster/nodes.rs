//! Nodes over those servers, in this process.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use durward_identity::login::ThrottleSettings;
use durward_identity::protocol::{Mode, NodeSettings, OnLost};
use durward_identity::session::User;
use durward_identity::user::{Account, Directory, HashCosts, Password, StoredPassword, UserStore};
use durward_identity::{Moment, SystemEntropy};
use durward_session::nats::{Nats, NatsLogin, NatsSettings, NatsUsers, Retention};
use durward_session::{
    Builder, Clock, Embedded, Failed, Login, LoginRequest, Purpose, Refused, Running, Service,
    ServiceSettings, UserDirectory,
};
use tokio::time::{sleep, timeout};

pub(crate) const HOME: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));

/// Longer than anything here takes; only a test that has failed waits for so long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Node {
    pub(crate) service: Service,
    running: Running,
}

/// What nodes share besides sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    Nothing,
    Users,
}

/// What nodes are to be.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) servers: Vec<String>,
    pub(crate) stream: String,
    pub(crate) mode: Mode,
    pub(crate) on_lost: OnLost,
    /// How far the clock is ahead.
    pub(crate) ahead_s: i64,
    pub(crate) replicas: usize,
    pub(crate) login: NatsLogin,
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) secret: [u8; 32],
    /// What each node has a copy of, of its own.
    pub(crate) accounts: Vec<Account>,
}

pub(crate) fn clock(ahead_s: i64) -> Clock {
    Arc::new(move || {
        #[expect(clippy::disallowed_methods, reason = "a test hands the clock to what it builds")]
        let now = std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let now = u64::try_from(now.as_millis()).unwrap();
        Moment::from_ms(now.saturating_add_signed(ahead_s * 1000))
    })
}

pub(crate) const COSTS: HashCosts = HashCosts { memory_kib: 8, passes: 1, lanes: 1 };

/// A user with the password `secret`.
pub(crate) fn account(name: &str) -> Account {
    let password = StoredPassword::hash(&Password::new("secret").unwrap(), COSTS, &SystemEntropy).unwrap();
    Account { password: Some(password), ..Account::new(&User::new("/", name).unwrap()) }
}

fn users(accounts: &[Account]) -> Arc<Directory> {
    let directory = Directory::in_memory(COSTS, Arc::new(SystemEntropy)).unwrap();
    directory.import(accounts.to_vec()).unwrap();
    Arc::new(directory)
}

impl Plan {
    pub(crate) fn new(servers: Vec<String>, stream: &str, mode: Mode) -> Plan {
        let (on_lost, login) = (OnLost::Refuse, NatsLogin::Nobody);
        Plan {
            servers,
            stream: stream.to_owned(),
            mode,
            on_lost,
            ahead_s: 0,
            replicas: 3,
            login,
            ca_file: None,
            secret: [7; 32],
            accounts: vec![account("anna")],
        }
    }

    /// For a store of one server.
    pub(crate) fn one(servers: Vec<String>, stream: &str, mode: Mode) -> Plan {
        Plan { replicas: 1, ..Plan::new(servers, stream, mode) }
    }

    /// Starts a node, without waiting for it to be ready.
    pub(crate) fn start(&self) -> Node {
        self.start_with(users(&self.accounts), Sharing::Nothing)
    }

    /// The same with a directory of the caller's.
    pub(crate) fn start_with(&self, directory: Arc<Directory>, sharing: Sharing) -> Node {
        let store: Arc<dyn UserStore> = directory.clone();
        let users = Embedded::new(store, ServiceSettings::default().pool).unwrap();
        self.start_of(directory, Arc::new(users), sharing)
    }

    /// The same with users in another directory, beside which that one keeps what belongs to them.
    pub(crate) fn start_of(
        &self,
        directory: Arc<Directory>,
        users: Arc<dyn UserDirectory>,
        sharing: Sharing,
    ) -> Node {
        let node = NodeSettings { mode: self.mode, on_lost: self.on_lost, ..NodeSettings::default() };
        let throttle =
            ThrottleSettings { user_free: 1_000_000, address_free: 1_000_000, ..Default::default() };
        let settings = ServiceSettings { node, throttle, ..ServiceSettings::default() };
        let nats = NatsSettings {
            servers: self.servers.clone(),
            stream: self.stream.clone(),
            replicas: self.replicas,
            login: self.login.clone(),
            ca_file: self.ca_file.clone(),
            ..NatsSettings::default()
        };
        let clock = clock(self.ahead_s);
        let retention = Retention::of(&settings.node, &settings.session);
        let shared = match sharing {
            Sharing::Nothing => None,
            Sharing::Users => {
                Some(NatsUsers::new(nats.clone(), &self.secret, self.mode, &directory).unwrap())
            }
        };
        let store = Nats::new(nats, &self.secret, retention, clock.clone()).unwrap();
        let builder = Builder::new(settings, clock).cluster_secret(self.secret).store(store);
        let builder = match shared {
            Some(shared) => builder.users(shared),
            None => builder,
        };
        let (service, running) = builder.realm("/", users).unwrap().start().unwrap();
        Node { service, running }
    }

    pub(crate) async fn ready(&self) -> Node {
        let node = self.start();
        node.is_ready().await;
        node
    }
}

impl Node {
    pub(crate) async fn is_ready(&self) {
        assert!(timeout(PATIENCE, self.service.ready()).await.expect("the node is not ready in time"));
    }

    pub(crate) async fn try_login(&self) -> Result<String, Refused> {
        match self.service.login(LoginRequest::new("/", "anna", "secret", HOME)).await? {
            Login::Granted(granted, _) => Ok(granted.token),
            Login::Recognized(_) | Login::CodeNeeded(_) | Login::PasswordChangeNeeded(_) => {
                panic!("no session")
            }
        }
    }

    /// A session, however long it takes.
    pub(crate) async fn login(&self) -> String {
        let login = async {
            loop {
                match self.try_login().await {
                    Ok(token) => return token,
                    Err(_) => sleep(Duration::from_millis(100)).await,
                }
            }
        };
        timeout(PATIENCE, login).await.expect("no login in time")
    }

    pub(crate) async fn validate(&self, token: &str) -> Result<(), Failed> {
        Ok(self.service.validate(token, Purpose::Look).await.map(drop)?)
    }

    pub(crate) async fn logout(&self, token: &str) -> Result<(), Failed> {
        self.service.logout(token, None).await.map(drop)
    }

    /// Waits for what comes sooner or later.
    pub(crate) async fn until(&self, token: &str, is_wanted: impl Fn(&Result<(), Failed>) -> bool) {
        let wait = async {
            while !is_wanted(&self.validate(token).await) {
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, wait).await.expect("it does not become so in time");
    }

    pub(crate) async fn stop(self) {
        self.running.stop().await;
    }
}

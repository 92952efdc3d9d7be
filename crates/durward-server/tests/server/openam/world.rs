//! A server with users, and sessions of theirs.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use durward_session::identity::login::ThrottleSettings;
use durward_session::identity::session::User;
use durward_session::identity::user::{
    Account, Directory as Users, HashCosts, Password, RecoveryCodes, SecondStep, StoredPassword, Totp,
};
use durward_session::identity::{Moment, SystemEntropy};
use durward_session::{Builder, Clock, Embedded, Running, Service, ServiceSettings};

use crate::support::{DOCTORS_READ, Directory, Reply, TestServer};

const CHEAP: HashCosts = HashCosts { memory_kib: 8, passes: 1, lanes: 1 };

/// The settings under which the recorded calls are answered.
pub(crate) const RECORDED: &str = "[openam]\non = true\ncookie_domain = \"openam.local\"\ncookie_same_site = \"unset\"\n\
     goto_origins = [\"http://openam.local:8081\"]";

pub(crate) struct World {
    pub(crate) server: TestServer,
    pub(crate) service: Service,
    pub(crate) totp: Totp,
    _running: Running,
    _runtime: tokio::runtime::Runtime,
}

#[expect(clippy::disallowed_methods, reason = "a test hands the clock to what it builds")]
pub(crate) fn now() -> Moment {
    let now = std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Moment::from_ms(u64::try_from(now.as_millis()).unwrap())
}

fn clock() -> Clock {
    Arc::new(now)
}

/// `demo` and `amadmin`, who administers; `berta` with a second step; in the realm `/sales`, another `demo`.
fn users(totp: &Totp) -> Arc<Users> {
    let users = Users::in_memory(CHEAP, Arc::new(SystemEntropy)).unwrap();
    let with = |realm: &str, name: &str, password: &str| {
        let hash = StoredPassword::hash(&Password::new(password).unwrap(), CHEAP, &SystemEntropy).unwrap();
        Account { password: Some(hash), ..Account::new(&User::new(realm, name).unwrap()) }
    };
    let administrators = vec!["administrators".to_owned()];
    let mut demo = with("/", "demo", "changeit");
    demo.attributes.insert("cn".to_owned(), vec!["demo".to_owned()]);
    users.put(demo).unwrap();
    users.put(Account { groups: administrators.clone(), ..with("/", "amadmin", "adminpassword") }).unwrap();
    let (_, recovery) = RecoveryCodes::generate(&SystemEntropy).unwrap();
    let second_step = Some(SecondStep { totp: totp.clone(), used: None, recovery });
    users.put(Account { second_step, ..with("/", "berta", "changeit") }).unwrap();
    users.put(with("/sales", "demo", "salespassword")).unwrap();
    users.put(Account { groups: administrators, ..with("/sales", "chief", "chiefpassword") }).unwrap();
    Arc::new(users)
}

impl World {
    pub(crate) fn new(text: &str) -> World {
        World::with(text, |settings| settings)
    }

    /// Nodes with one user directory, each with this secret of its cluster, and nothing else in common.
    pub(crate) fn nodes(text: &str, secrets: &[[u8; 32]]) -> Vec<World> {
        let totp = Totp::generate(&SystemEntropy).unwrap();
        let users = users(&totp);
        let with = |secret: &[u8; 32]| {
            let builder = |settings| Builder::new(settings, clock()).cluster_secret(*secret);
            World::made(text, |settings| settings, totp.clone(), &users, builder)
        };
        secrets.iter().map(with).collect()
    }

    pub(crate) fn with(text: &str, change: impl FnOnce(ServiceSettings) -> ServiceSettings) -> World {
        let totp = Totp::generate(&SystemEntropy).unwrap();
        let users = users(&totp);
        World::made(text, change, totp, &users, |settings| Builder::new(settings, clock()))
    }

    fn made(
        text: &str,
        change: impl FnOnce(ServiceSettings) -> ServiceSettings,
        totp: Totp,
        users: &Arc<Users>,
        builder: impl FnOnce(ServiceSettings) -> Builder,
    ) -> World {
        let throttle = ThrottleSettings { user_free: 1_000, address_free: 10_000, ..Default::default() };
        let settings = change(ServiceSettings { throttle, ..ServiceSettings::default() });
        let users: Arc<Embedded> = Arc::new(Embedded::new(users.clone(), settings.pool).unwrap());
        let builder = builder(settings).realm("/", users.clone()).unwrap();
        let (service, running) = builder.realm("/sales", users).unwrap().start().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        assert!(runtime.block_on(service.ready()));
        let directory = Directory::new();
        directory.write("policies/doctors.xml", DOCTORS_READ);
        let sessions = service.clone();
        let prepare = move |server: &durward_server::Server| assert!(server.set_sessions(sessions));
        let server = TestServer::start_with(directory, text, prepare).unwrap();
        World { server, service, totp, _running: running, _runtime: runtime }
    }

    pub(crate) fn post(&self, path: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Reply {
        self.server.send("POST", &format!("/openam{path}"), headers, body.as_ref())
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.server.send("GET", &format!("/openam{path}"), &[], b"")
    }

    /// Logs in with headers.
    pub(crate) fn login_at(&self, path: &str, user: &str, password: &str) -> Reply {
        self.post(path, &[("X-OpenAM-Username", user), ("X-OpenAM-Password", password)], "")
    }

    /// The token of a new session.
    pub(crate) fn token(&self, user: &str) -> String {
        let password = if user == "amadmin" { "adminpassword" } else { "changeit" };
        let reply = self.login_at("/json/authenticate", user, password);
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.json()["tokenId"].as_str().unwrap().to_owned()
    }

    pub(crate) fn is_valid(&self, token: &str) -> bool {
        let version = [("Accept-API-Version", "resource=1.2")];
        let reply =
            self.post(&format!("/json/sessions/{token}?_action=validate&refresh=false"), &version, "");
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.json()["valid"].as_bool().unwrap()
    }
}

/// How long a step of a time-based code lasts.
pub(crate) const CODE_STEP: Duration = Duration::from_secs(30);

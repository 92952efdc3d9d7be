//! A server with users and clients, on a clock that tests turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use durward_server::{Clock, StartError};
use durward_session::identity::SystemEntropy;
use durward_session::identity::session::User;
use durward_session::identity::user::{Account, Directory as Users, HashCosts, Password, StoredPassword};
use serde_json::{Value, json};

use crate::support::{DOCTORS_READ, Directory, Reply, TestServer, clock, settings};

const CHEAP: HashCosts = HashCosts { memory_kib: 8, passes: 1, lanes: 1 };

/// Argon2id of `s3cret`, with little memory.
pub(crate) const SECRET: &str =
    "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQxMjM0NTY$+QzL9T/y4vwK5yLwyPcXDCCH946RYwDKvHpQzCVMTnU";

pub(crate) const ISSUER: &str = "https://id.example.org";

pub(crate) const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";

pub(crate) const SESSION: &str = "urn:durward:params:oauth:token-type:session";

const FORM: &str = "application/x-www-form-urlencoded";

/// `shop` gets tokens for `orders` and `stock`; `orders` asks about those for it; `other` may get none.
pub(crate) fn clients() -> String {
    format!(
        "[[oauth.clients]]\nid = 'shop'\nsecret = '{SECRET}'\ngrants = ['client-credentials', 'token-exchange']\n\
         audiences = ['orders', 'https://stock.example.org']\nscopes = ['read', 'write']\n\
         [[oauth.clients]]\nid = 'orders'\nsecret = '{SECRET}'\nserves = ['orders']\n\
         [[oauth.clients]]\nid = 'other'\nsecret = '{SECRET}'\ngrants = ['client-credentials']\naudiences = ['else']\n"
    )
}

pub(crate) struct World {
    pub(crate) server: TestServer,
    later_ms: Arc<AtomicU64>,
}

impl World {
    /// With what stands in `[oauth]` beside the issuer.
    pub(crate) fn new(oauth: &str) -> World {
        World::start(Directory::new(), oauth, &clients(), Arc::default()).unwrap()
    }

    pub(crate) fn start(
        directory: Directory,
        oauth: &str,
        clients: &str,
        later_ms: Arc<AtomicU64>,
    ) -> Result<World, StartError> {
        directory.write("policies/doctors.xml", DOCTORS_READ);
        if !directory.path("users").exists() {
            fill(&directory);
        }
        // With a secret it is a node of a cluster; that the store cannot be reached keeps nobody from starting.
        let cluster = match directory.path("cluster.key") {
            key if key.exists() => format!(
                "identity.cluster_key_path = '{}'\nidentity.nats.servers = ['nats://127.0.0.1:1']\n",
                key.display()
            ),
            _ => String::new(),
        };
        let text = format!(
            "{cluster}identity.hash_memory_kib = 8\nidentity.hash_passes = 1\nidentity.realms = ['/', '/sales']\n\
             [oauth]\nissuer = '{ISSUER}'\n{oauth}\n{clients}"
        );
        let mut settings = settings(&directory, &text);
        settings.identity.users = Some(directory.path("users"));
        settings.identity.audit = Some(directory.path("audit"));
        settings.oauth.data = settings.oauth.data.take().map(|data| directory.path(data.to_str().unwrap()));
        for path in &mut settings.oauth.rs256_key_paths {
            *path = directory.path(path.to_str().unwrap());
        }
        let server = TestServer::start_at(directory, settings, turned(clock(), &later_ms), |_| {})?;
        Ok(World { server, later_ms })
    }

    pub(crate) fn pass(&self, seconds: u64) {
        self.later_ms.fetch_add(seconds * 1000, Ordering::SeqCst);
    }

    /// Asks as a client with the usual secret.
    pub(crate) fn ask(&self, client: &str, path: &str, form: &[(&str, &str)]) -> Reply {
        self.post(path, &[("Authorization", &basic(client, "s3cret"))], &encoded(form))
    }

    pub(crate) fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let mut all = vec![("Content-Type", FORM)];
        all.extend(headers);
        self.server.send("POST", path, &all, body.as_bytes())
    }

    /// A token that `shop` has for `orders`, for itself.
    pub(crate) fn token(&self) -> String {
        let form = [("grant_type", "client_credentials"), ("audience", "orders")];
        token_of(&self.ask("shop", "/oauth2/token", &form))
    }

    /// A token that `shop` has for `orders`, for a session's user.
    pub(crate) fn exchanged(&self, session: &str) -> String {
        token_of(&self.exchange(session))
    }

    pub(crate) fn exchange(&self, session: &str) -> Reply {
        let form = [
            ("grant_type", EXCHANGE),
            ("audience", "orders"),
            ("scope", "read"),
            ("subject_token", session),
            ("subject_token_type", SESSION),
        ];
        self.ask("shop", "/oauth2/token", &form)
    }

    /// The token of a new session.
    pub(crate) fn login(&self, realm: &str, user: &str) -> String {
        let body = json!({ "realm": realm, "user": user, "password": "secret" }).to_string();
        let login = |server: &TestServer| {
            server.send("POST", "/v1/login", &[("Content-Type", "application/json")], body.as_bytes())
        };
        // The first key of sessions comes a moment after the start.
        self.server.eventually("a login", |server| login(server).status == 200);
        login(&self.server).json()["token"].as_str().unwrap().to_owned()
    }

    pub(crate) fn logout(&self, session: &str) {
        let bearer = format!("Bearer {session}");
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        let reply = self.server.send("POST", "/v1/sessions/logout", &headers, b"{}");
        assert_eq!(reply.status, 200, "{}", reply.text());
    }

    /// What `orders` is told of a token.
    pub(crate) fn introspect(&self, token: &str) -> Value {
        let reply = self.ask("orders", "/oauth2/introspect", &[("token", token)]);
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.json()
    }

    pub(crate) fn is_active(&self, token: &str) -> bool {
        self.introspect(token)["active"].as_bool().unwrap()
    }

    /// The names of the keys that are published, with their algorithms.
    pub(crate) fn keys(&self) -> Vec<(String, String)> {
        let text = |key: &Value, name: &str| key[name].as_str().unwrap().to_owned();
        let keys = self.server.get("/.well-known/jwks.json").json();
        keys["keys"].as_array().unwrap().iter().map(|key| (text(key, "kid"), text(key, "alg"))).collect()
    }
}

fn fill(directory: &Directory) {
    let users = Users::open(&directory.path("users"), CHEAP, Arc::new(SystemEntropy)).unwrap();
    let password = StoredPassword::hash(&Password::new("secret").unwrap(), CHEAP, &SystemEntropy).unwrap();
    for (realm, name) in [("/", "anna"), ("/", "client:shop"), ("/sales", "anna")] {
        let user = User::new(realm, name).unwrap();
        users.put(Account { password: Some(password.clone()), ..Account::new(&user) }).unwrap();
    }
}

fn turned(clock: Clock, later_ms: &Arc<AtomicU64>) -> Clock {
    let later_ms = Arc::clone(later_ms);
    Arc::new(move || clock() + Duration::from_millis(later_ms.load(Ordering::SeqCst)))
}

pub(crate) fn now_s() -> u64 {
    clock()().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

pub(crate) fn basic(client: &str, secret: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{client}:{secret}")))
}

pub(crate) fn encoded(form: &[(&str, &str)]) -> String {
    let escape = |text: &str| -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        let one = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
        text.bytes().map(one).collect()
    };
    let pairs = form.iter().map(|(name, value)| format!("{}={}", escape(name), escape(value)));
    pairs.collect::<Vec<_>>().join("&")
}

pub(crate) fn token_of(reply: &Reply) -> String {
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()["access_token"].as_str().unwrap().to_owned()
}

/// The header (0) or the claims (1) of a token.
pub(crate) fn part(token: &str, number: usize) -> Value {
    let part = token.split('.').nth(number).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

/// The same token with another header (0) or other claims (1), and the old signature.
pub(crate) fn with_part(token: &str, number: usize, change: impl FnOnce(&mut Value)) -> String {
    let mut value = part(token, number);
    change(&mut value);
    let mut parts: Vec<String> = token.split('.').map(str::to_owned).collect();
    parts[number] = URL_SAFE_NO_PAD.encode(value.to_string());
    parts.join(".")
}

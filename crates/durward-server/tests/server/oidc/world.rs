//! A server with users and applications, a browser that keeps cookies, and an application that knows its part of the protocol.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use durward_server::{Clock, Server, Settings, SettingsWatch};
use durward_session::identity::session::User;
use durward_session::identity::user::{
    Account, Directory as Users, HashCosts, Password, RecoveryCodes, SecondStep, StoredPassword, Totp,
};
use durward_session::identity::{Moment, SystemEntropy};
use ring::digest::{SHA256, digest};
use serde_json::Value;

use crate::oauth::world::{SECRET, basic, encoded};
use crate::subjects::anything;
use crate::support::{Directory, TestServer, clock, settings};

pub(crate) const CHEAP: HashCosts = HashCosts { memory_kib: 8, passes: 1, lanes: 1 };

pub(crate) const ISSUER: &str = "https://id.example.org";

pub(crate) const CALLBACK: &str = "https://app.example/cb";

/// RFC 7636, appendix B.
pub(crate) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

/// `app` runs in browsers, `shop` on a server of its own, `asks` wants consent.
pub(crate) fn clients() -> String {
    format!(
        "[[oauth.clients]]\nid = 'app'\npublic = true\ngrants = ['authorization-code', 'refresh-token']\n\
         redirect_uris = ['{CALLBACK}', 'http://127.0.0.1/cb']\nscopes = ['openid', 'profile', 'email', 'groups']\n\
         post_logout_redirect_uris = ['https://app.example/bye']\naudiences = ['orders']\n\
         [[oauth.clients]]\nid = 'shop'\nsecret = '{SECRET}'\ngrants = ['authorization-code', 'refresh-token']\n\
         redirect_uris = ['https://shop.example/cb']\nscopes = ['openid']\n\
         [[oauth.clients]]\nid = 'asks'\nname = 'The <asking> one'\npublic = true\nconsent = true\n\
         grants = ['authorization-code']\nredirect_uris = ['https://asks.example/cb']\nscopes = ['openid', 'email']\naudiences = ['orders']\n\
         [[oauth.clients]]\nid = 'orders'\nsecret = '{SECRET}'\nserves = ['orders']\n"
    )
}

pub(crate) struct World {
    pub(crate) server: TestServer,
    pub(crate) totp: Totp,
    later_ms: Arc<AtomicU64>,
    settings: Arc<Mutex<Settings>>,
    watch: SettingsWatch,
}

impl World {
    pub(crate) fn new() -> World {
        World::with("", &clients())
    }

    /// With settings of their own, and clients.
    pub(crate) fn with(identity: &str, clients: &str) -> World {
        World::of(&format!("identity.users = 'users'\n{identity}"), clients)
    }

    /// With settings that say where users are.
    pub(crate) fn of(identity: &str, clients: &str) -> World {
        let directory = Directory::new();
        directory.write("policies/anything.xml", &anything());
        let totp = Totp::generate(&SystemEntropy).unwrap();
        fill(&directory, &totp);
        let text = format!(
            "identity.hash_memory_kib = 8\nidentity.hash_passes = 1\n{identity}\n\
             [oauth]\nissuer = '{ISSUER}'\n{clients}"
        );
        let later_ms = Arc::new(AtomicU64::new(0));
        let settings = settings(&directory, &text);
        let known = Arc::new(Mutex::new(settings.clone()));
        let (read, (tell, told)) = (Arc::clone(&known), mpsc::channel());
        let prepare = move |server: &Server| {
            let watch = server.watch_settings(None, None, move || Ok(read.lock().unwrap().clone()));
            tell.send(watch.unwrap()).unwrap();
        };
        let server = TestServer::start_at(directory, settings, turned(clock(), &later_ms), prepare).unwrap();
        // The first key of sessions comes a moment after the start.
        let body = br#"{"user":"anna","password":"secret"}"#;
        let json = [("Content-Type", "application/json")];
        server.eventually("a login", |server| server.send("POST", "/v1/login", &json, body).status == 200);
        World { server, totp, later_ms, settings: known, watch: told.recv().unwrap() }
    }

    /// Takes a scope and an audience from `app`, for the server that runs.
    pub(crate) fn take_from_app(&self, scope: &str, audience: &str) {
        {
            let mut settings = self.settings.lock().unwrap();
            let app = settings.oauth.clients.iter_mut().find(|client| client.id == "app").unwrap();
            app.scopes.retain(|known| known != scope);
            app.audiences.retain(|known| known != audience);
        }
        self.watch.read_again();
        self.server.eventually("the new settings", |server| {
            let seen = send(
                server,
                "GET",
                &format!("/oauth2/authorize?{}", request(&[("resource", audience)])),
                &[],
                "",
            );
            seen.status == 303
        });
    }

    pub(crate) fn pass(&self, seconds: u64) {
        self.later_ms.fetch_add(seconds * 1000, Ordering::SeqCst);
    }

    pub(crate) fn now(&self) -> Moment {
        let now = clock()().duration_since(UNIX_EPOCH).unwrap();
        let ms = u64::try_from(now.as_millis()).unwrap();
        Moment::from_ms(ms + self.later_ms.load(Ordering::SeqCst))
    }

    pub(crate) fn browser(&self) -> Browser<'_> {
        Browser::of(&self.server)
    }

    /// A browser in which `anna` has just logged in, and the code that it brought to `app`.
    pub(crate) fn logged_in(&self) -> (Browser<'_>, String) {
        let mut browser = self.browser();
        let form = browser.authorize(&[]);
        let back = browser.login(&form, "anna");
        (browser, back.code())
    }

    /// Asks at the token endpoint, as a public client.
    pub(crate) fn token(&self, form: &[(&str, &str)]) -> Seen {
        send(&self.server, "POST", "/oauth2/token", &[FORM], &encoded(form))
    }

    /// Exchanges a code of `app`.
    pub(crate) fn exchange(&self, code: &str) -> Seen {
        self.token(&exchange(code))
    }

    pub(crate) fn refresh(&self, token: &str) -> Seen {
        self.token(&[("grant_type", "refresh_token"), ("client_id", "app"), ("refresh_token", token)])
    }

    pub(crate) fn userinfo(&self, token: &str) -> Seen {
        send(&self.server, "GET", "/oauth2/userinfo", &[("Authorization", &format!("Bearer {token}"))], "")
    }

    /// Asks as a client with the usual secret.
    pub(crate) fn ask(&self, client: &str, path: &str, form: &[(&str, &str)]) -> Seen {
        send(&self.server, "POST", path, &[FORM, ("Authorization", &basic(client, "s3cret"))], &encoded(form))
    }
}

pub(crate) const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

/// What `app` sends for a code.
pub(crate) fn exchange(code: &str) -> [(&str, &str); 5] {
    [
        ("grant_type", "authorization_code"),
        ("client_id", "app"),
        ("redirect_uri", CALLBACK),
        ("code_verifier", VERIFIER),
        ("code", code),
    ]
}

/// The usual request of `app`; what is named in `changes` is another, and left out where it is empty.
pub(crate) fn request(changes: &[(&str, &str)]) -> String {
    let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, VERIFIER.as_bytes()));
    let mut all = BTreeMap::from([
        ("client_id", "app"),
        ("redirect_uri", CALLBACK),
        ("response_type", "code"),
        ("scope", "openid profile"),
        ("state", "s&t=1"),
        ("nonce", "n-1"),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
    ]);
    all.extend(changes.iter().copied());
    let all: Vec<(&str, &str)> = all.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    encoded(&all)
}

/// Keeps cookies as browsers do.
#[derive(Clone)]
pub(crate) struct Browser<'w> {
    server: &'w TestServer,
    pub(crate) cookies: BTreeMap<String, String>,
}

impl<'w> Browser<'w> {
    pub(crate) fn of(server: &'w TestServer) -> Browser<'w> {
        Browser { server, cookies: BTreeMap::new() }
    }
}

impl Browser<'_> {
    pub(crate) fn authorize(&mut self, changes: &[(&str, &str)]) -> Seen {
        self.get(&format!("/oauth2/authorize?{}", request(changes)))
    }

    pub(crate) fn get(&mut self, path: &str) -> Seen {
        self.send("GET", path, &[], "")
    }

    pub(crate) fn post(&mut self, path: &str, form: &[(&str, &str)]) -> Seen {
        self.send("POST", path, &[FORM, ("Sec-Fetch-Site", "same-origin")], &encoded(form))
    }

    /// Fills in a form.
    pub(crate) fn answer(&mut self, form: &Seen, fields: &[(&str, &str)]) -> Seen {
        assert_eq!(form.status, 200, "{}", form.text);
        let csrf = form.csrf();
        let mut all = vec![("csrf", csrf.as_str())];
        all.extend(fields);
        self.post("/oauth2/login", &all)
    }

    pub(crate) fn login(&mut self, form: &Seen, user: &str) -> Seen {
        self.answer(form, &[("username", user), ("password", "secret")])
    }

    pub(crate) fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Seen {
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let cookies = cookies.join("; ");
        let mut headers = headers.to_vec();
        if !cookies.is_empty() {
            headers.push(("Cookie", &cookies));
        }
        let seen = send(self.server, method, path, &headers, body);
        for cookie in &seen.set_cookies {
            let (pair, attributes) = cookie.split_once("; ").unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            if name == "durward_device" {
                assert_eq!(attributes, "Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict; Secure");
            } else {
                assert!(attributes.starts_with("Path=/; HttpOnly; SameSite=Lax; Secure"), "{cookie}");
                assert!(name.starts_with("__Host-"), "{cookie}");
            }
            if attributes.ends_with("Max-Age=0") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        seen
    }

    /// The token of the browser's session.
    pub(crate) fn session(&self) -> Option<&str> {
        self.cookies.get("__Host-durward_login").map(String::as_str)
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) status: u16,
    pub(crate) text: String,
    pub(crate) location: Option<String>,
    pub(crate) policy: String,
    pub(crate) set_cookies: Vec<String>,
}

impl Seen {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{} {}", self.status, self.text))
    }

    /// A member of the answer of the token endpoint.
    pub(crate) fn member(&self, name: &str) -> String {
        assert_eq!(self.status, 200, "{}", self.text);
        self.json()[name].as_str().unwrap_or_else(|| panic!("no `{name}` in {}", self.text)).to_owned()
    }

    /// What a form carries.
    pub(crate) fn csrf(&self) -> String {
        let (_, rest) =
            self.text.split_once("name=\"csrf\" value=\"").unwrap_or_else(|| panic!("{}", self.text));
        rest.split('"').next().unwrap().to_owned()
    }

    /// Where the browser is sent, and with which parameters.
    pub(crate) fn back(&self) -> (String, BTreeMap<String, String>) {
        parts(&self.leads())
    }

    /// Where the browser goes: by a redirect, or by a page that leads on by itself.
    pub(crate) fn leads(&self) -> String {
        if let Some(location) = &self.location {
            assert_eq!(self.status, 303, "{}", self.text);
            return location.clone();
        }
        assert_eq!(self.status, 200, "{}", self.text);
        let (_, rest) = self.text.split_once("content=\"0; url=").unwrap_or_else(|| panic!("{}", self.text));
        rest.split('"').next().unwrap().replace("&#38;", "&")
    }

    /// The code that the browser brings, to `app`.
    pub(crate) fn code(&self) -> String {
        let (place, mut parameters) = self.back();
        assert_eq!(place, CALLBACK);
        assert_eq!(parameters.get("iss").map(String::as_str), Some(ISSUER));
        parameters.remove("code").unwrap_or_else(|| panic!("{parameters:?}"))
    }

    /// The error that the browser brings.
    pub(crate) fn error(&self) -> String {
        let (_, mut parameters) = self.back();
        assert_eq!(parameters.get("iss").map(String::as_str), Some(ISSUER));
        assert_eq!(parameters.get("code"), None);
        parameters.remove("error").unwrap_or_else(|| panic!("{parameters:?}"))
    }

    pub(crate) fn is_refused(&self, status: u16, error: &str) {
        assert_eq!(self.status, status, "{}", self.text);
        assert_eq!(self.json()["error"], error, "{}", self.text);
    }

    /// A page that says why nothing is done; the browser is sent nowhere.
    pub(crate) fn stays(&self) {
        assert_eq!((self.status, self.location.as_deref()), (400, None), "{}", self.text);
        assert!(self.text.starts_with("<!doctype html>"), "{}", self.text);
        self.sets_no_cookie();
    }

    pub(crate) fn sets_no_cookie(&self) {
        assert!(self.set_cookies.is_empty(), "{:?}", self.set_cookies);
    }
}

/// An address without its query, and the parameters of that.
pub(crate) fn parts(address: &str) -> (String, BTreeMap<String, String>) {
    let (place, query) = address.split_once('?').unwrap_or((address, ""));
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let decoded = |text: &str| durward_wire::percent::form_decoded(text.as_bytes()).unwrap();
    (place.to_owned(), pairs.map(|(name, value)| (decoded(name), decoded(value))).collect())
}

/// Redirects are not followed.
pub(crate) fn send(
    server: &TestServer,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Seen {
    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).max_redirects(0).build().into();
    let uri = format!("http://{}{path}", server.address);
    let mut request = ureq::http::Request::builder().method(method).uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut response = match body {
        "" => agent.run(request.body(()).unwrap()),
        body => agent.run(request.body(body).unwrap()),
    }
    .unwrap();
    let all = |name: &str| -> Vec<String> {
        response.headers().get_all(name).iter().map(|value| value.to_str().unwrap().to_owned()).collect()
    };
    let (set_cookies, location, policy) =
        (all("set-cookie"), all("location").pop(), all("content-security-policy"));
    let status = response.status().as_u16();
    let policy = policy.concat();
    Seen { status, text: response.body_mut().read_to_string().unwrap(), location, policy, set_cookies }
}

/// `anna`; `berta` with a second step; `carl`.
pub(crate) fn fill(directory: &Directory, totp: &Totp) {
    let users = Users::open(&directory.path("users"), CHEAP, Arc::new(SystemEntropy)).unwrap();
    let password = StoredPassword::hash(&Password::new("secret").unwrap(), CHEAP, &SystemEntropy).unwrap();
    for name in ["anna", "berta", "carl"] {
        let mut account = Account::new(&User::new("/", name).unwrap());
        account.password = Some(password.clone());
        account.groups = vec!["staff".to_owned()];
        account.attributes.insert("mail".to_owned(), vec![format!("{name}@example.org")]);
        account.attributes.insert("cn".to_owned(), vec![format!("{name} of House")]);
        account.attributes.insert("telephoneNumber".to_owned(), vec!["+44 1632 960001".to_owned()]);
        account.attributes.insert("postalAddress".to_owned(), vec!["1 High Street, Ely".to_owned()]);
        if name == "berta" {
            let second = SecondStep { totp: totp.clone(), used: None, recovery: RecoveryCodes::default() };
            account.second_step = Some(second);
        }
        users.put(account).unwrap();
    }
}

fn turned(clock: Clock, later_ms: &Arc<AtomicU64>) -> Clock {
    let later_ms = Arc::clone(later_ms);
    Arc::new(move || clock() + Duration::from_millis(later_ms.load(Ordering::SeqCst)))
}

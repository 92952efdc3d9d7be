//! A server whose users log in elsewhere, and another durward that is where they do.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;

use durward_session::identity::SystemEntropy;
use durward_session::identity::session::User;
use durward_session::identity::user::{Account, AccountLink, Directory as Users, Password, StoredPassword};

use super::fake::Fake;
use crate::oauth::world::SECRET;
use crate::oidc::world::{Browser, CHEAP, ISSUER, Seen, World, clients, parts};
use crate::support::{Directory, TestServer, clock, settings};

/// Failures of a test are not delayed.
pub(super) const UNDELAYED: &str =
    "identity.user_failures_free = 1000\nidentity.address_failures_free = 1000";

/// A server with the provider `corp`, which is the fake one, and these settings of it.
pub(super) fn with_fake(identity: &str, more: &str) -> (World, Fake) {
    let fake = Fake::start();
    let world =
        World::with(&format!("{UNDELAYED}\n{identity}"), &format!("{}{}", of_fake(&fake, more), clients()));
    (world, fake)
}

/// The settings of a provider `corp` that is this one.
pub(super) fn of_fake(fake: &Fake, more: &str) -> String {
    format!(
        "[[identity.upstreams]]\nid = 'corp'\nname = 'Corp & Co'\nissuer = '{}'\nclient_id = 'durward'\n{more}\n",
        fake.issuer
    )
}

/// Where the browser is on its way to a provider.
pub(super) struct Away {
    pub(super) place: String,
    pub(super) asked: BTreeMap<String, String>,
}

impl Away {
    pub(super) fn state(&self) -> &str {
        &self.asked["state"]
    }

    pub(super) fn nonce(&self) -> &str {
        &self.asked["nonce"]
    }
}

/// The user chooses a provider on the login page.
pub(super) fn leave(browser: &mut Browser<'_>, id: &str, changes: &[(&str, &str)]) -> Away {
    let form = browser.authorize(changes);
    let (place, asked) = parts(&browser.answer(&form, &[("upstream", id)]).leads());
    Away { place, asked }
}

/// The browser comes back from a provider.
pub(super) fn back(browser: &mut Browser<'_>, id: &str, parameters: &[(&str, &str)]) -> Seen {
    let query = crate::oauth::world::encoded(parameters);
    browser.get(&format!("/oauth2/upstream/callback/{id}?{query}"))
}

/// A browser that has left for `corp` and comes back with a code for which this ID token is given.
pub(super) fn came_back(world: &World, fake: &Fake, change: impl FnOnce(&mut serde_json::Value)) -> Seen {
    came_back_in(&mut world.browser(), world, fake, change)
}

pub(super) fn came_back_in(
    browser: &mut Browser<'_>,
    world: &World,
    fake: &Fake,
    change: impl FnOnce(&mut serde_json::Value),
) -> Seen {
    let away = leave(browser, "corp", &[]);
    let mut claims = fake.claims(away.nonce(), world.now().ms() / 1000);
    change(&mut claims);
    fake.gives(&fake.sign(&claims));
    back(browser, "corp", &[("code", "c"), ("state", away.state())])
}

/// The users of a server, changed while it runs.
pub(super) fn users(world: &World) -> Users {
    Users::open(&world.server.directory.path("users"), CHEAP, Arc::new(SystemEntropy)).unwrap()
}

pub(super) fn link(issuer: &str, subject: &str) -> AccountLink {
    AccountLink { issuer: issuer.to_owned(), subject: subject.to_owned() }
}

/// Another durward.
pub(super) struct Provider {
    pub(super) server: TestServer,
}

/// A server with the provider `corp`, which is another durward, and that one.
pub(super) fn two(identity: &str, more: &str) -> (World, Provider, Directory) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let issuer = format!("http://127.0.0.1:{port}");
    let secrets = Directory::new();
    secrets.write_secret("secret", "s3cret\n");
    let upstream = format!(
        "[[identity.upstreams]]\nid = 'corp'\nissuer = '{issuer}'\nclient_id = 'durward-a'\nclient_secret_path = '{}'\n\
         scopes = ['openid', 'profile', 'email', 'groups']\nuserinfo = true\n{more}\n",
        secrets.path("secret").display()
    );
    let world = World::with(&format!("{UNDELAYED}\n{identity}"), &format!("{upstream}{}", clients()));
    let directory = Directory::new();
    directory.write("policies/anything.xml", &crate::subjects::anything());
    {
        let users = Users::open(&directory.path("users"), CHEAP, Arc::new(SystemEntropy)).unwrap();
        let password =
            StoredPassword::hash(&Password::new("secret").unwrap(), CHEAP, &SystemEntropy).unwrap();
        for name in ["ulla", "anna", "berta"] {
            let mut account = Account::new(&User::new("/", name).unwrap());
            account.password = Some(password.clone());
            account.groups = vec!["engineers".to_owned()];
            account.attributes.insert("mail".to_owned(), vec![format!("{name}@there.example")]);
            users.put(account).unwrap();
        }
    }
    let text = format!(
        "identity.users = 'users'\nidentity.hash_memory_kib = 8\nidentity.hash_passes = 1\n[oauth]\nissuer = '{issuer}'\n\
         [[oauth.clients]]\nid = 'durward-a'\nsecret = '{SECRET}'\ngrants = ['authorization-code']\n\
         redirect_uris = ['{ISSUER}/oauth2/upstream/callback/corp']\nscopes = ['openid', 'profile', 'email', 'groups']\n\
         post_logout_redirect_uris = ['{ISSUER}/oauth2/upstream/logout/corp']\n\
         backchannel_logout_uri = 'http://{}/oauth2/upstream/logout/corp'",
        world.server.address
    );
    let mut settings = settings(&directory, &text);
    settings.server.listen.set_port(port);
    let server = TestServer::start_at(directory, settings, clock(), |_| {}).unwrap();
    let body = br#"{"user":"anna","password":"secret"}"#;
    let json = [("Content-Type", "application/json")];
    server.eventually("a login there", |server| server.send("POST", "/v1/login", &json, body).status == 200);
    (world, Provider { server }, secrets)
}

impl Provider {
    pub(super) fn browser(&self) -> Browser<'_> {
        Browser::of(&self.server)
    }

    pub(super) fn issuer(&self) -> String {
        format!("http://{}", self.server.address)
    }

    pub(super) fn users(&self) -> Users {
        Users::open(&self.server.directory.path("users"), CHEAP, Arc::new(SystemEntropy)).unwrap()
    }
}

/// The path of an address of a server.
pub(super) fn path_at<'a>(address: &'a str, server: &str) -> &'a str {
    address.strip_prefix(server).unwrap_or_else(|| panic!("{address} is not at {server}"))
}

/// A user logs in at the other durward, and comes back.
pub(super) fn sign_in(here: &mut Browser<'_>, there: &mut Browser<'_>, issuer: &str, user: &str) -> Seen {
    let form = here.authorize(&[]);
    let away = here.answer(&form, &[("upstream", "corp")]).leads();
    let form = there.get(path_at(&away, issuer));
    let returned = if form.status == 303 { form } else { there.login(&form, user) };
    here.get(path_at(&returned.leads(), ISSUER))
}

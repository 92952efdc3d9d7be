//! The test modules of the OpenID Foundation's conformance suite that a server without its surroundings can be put to, by their names: what
//! each asks, over HTTP, and what must come back. `conformance/openid.tsv` has the modules of the plans, and why some are not made.

mod basic;
mod fapi;
mod logout;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::catch_unwind;
use std::process::Command;
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};
use serde_json::{Value, json};

use super::world::{Browser, ISSUER, Seen, VERIFIER, World, send};
use crate::oauth::world::{SECRET, encoded, part};
use crate::support::{Directory, workspace};

const CALLBACK: &str = "https://suite.example/test/a/durward/callback";

const SECOND_CALLBACK: &str = "https://suite.example/test/a/second/callback";

const POST_LOGOUT: &str = "https://suite.example/test/a/durward/post_logout_redirect";

/// Letters, digits and signs that an address has to escape.
const STATE: &str = "s-1&x=y z%41+";

/// A module: its name, and what it asks.
type Case = (&'static str, fn(&Suite));

/// The server under test, set up for the suite's clients.
struct Suite {
    world: World,
    _keys: Directory,
}

/// Making one takes long, and all may have the same. The suite wants RS256, whose keys are brought.
fn key() -> &'static str {
    static KEY: OnceLock<String> = OnceLock::new();
    KEY.get_or_init(|| {
        let words = ["genpkey", "-quiet", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"];
        let made = Command::new("openssl").args(words).output().unwrap();
        assert!(made.status.success());
        String::from_utf8(made.stdout).unwrap()
    })
}

impl Suite {
    fn new() -> Suite {
        Suite::with("")
    }

    /// `more` is said of the first client.
    fn with(more: &str) -> Suite {
        let keys = Directory::new();
        keys.write_secret("rs256.pem", key());
        let client = |id: &str, callback: &str, more: &str| {
            format!(
                "[[oauth.clients]]\nid = '{id}'\nsecret = '{SECRET}'\nredirect_uris = ['{callback}']\n\
                 grants = ['authorization-code', 'refresh-token']\nscopes = ['openid', 'profile', 'email', 'address', 'phone']\n{more}\n"
            )
        };
        let clients = [
            format!(
                "algorithms = ['RS256', 'EdDSA']\nrs256_key_paths = ['{}']\n",
                keys.path("rs256.pem").display()
            ),
            client("first", CALLBACK, &format!("post_logout_redirect_uris = ['{POST_LOGOUT}']\n{more}")),
            client("second", SECOND_CALLBACK, ""),
            client("asks", CALLBACK, "consent = true"),
        ];
        Suite { world: World::with("", &clients.concat()), _keys: keys }
    }

    fn browser(&self) -> Browser<'_> {
        self.world.browser()
    }

    /// A browser in which a user has just logged in, and what it brought to the callback.
    fn signed_in(&self, changes: &[(&str, &str)]) -> (Browser<'_>, Seen) {
        let mut browser = self.browser();
        let page = browser.get(&address(changes));
        let back = browser.login(&page, "anna");
        (browser, back)
    }

    /// Asks the token endpoint as the first client.
    fn token(&self, form: &[(&str, &str)]) -> Seen {
        self.world.ask("first", "/oauth2/token", form)
    }

    fn exchange(&self, code: &str) -> Seen {
        self.token(&[("grant_type", "authorization_code"), ("code", code), ("redirect_uri", CALLBACK)])
    }

    /// What comes for what the browser brought.
    fn tokens(&self, back: &Seen) -> Seen {
        let tokens = self.exchange(&code(back));
        assert_eq!(tokens.member("token_type"), "Bearer");
        tokens
    }

    /// The claims of an ID token whose signature is the server's, by the key that it names.
    fn id_token(&self, tokens: &Seen) -> Value {
        let token = tokens.member("id_token");
        let head = part(&token, 0);
        assert_eq!(head["alg"], "RS256");
        let published = self.world.server.get("/.well-known/jwks.json").json();
        let all = published["keys"].as_array().unwrap();
        let key = all.iter().find(|key| key["kid"] == head["kid"]).unwrap();
        let bytes = |text: &Value| URL_SAFE_NO_PAD.decode(text.as_str().unwrap()).unwrap();
        let (n, e) = (bytes(&key["n"]), bytes(&key["e"]));
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        let key = RsaPublicKeyComponents { n: &n, e: &e };
        key.verify(&RSA_PKCS1_2048_8192_SHA256, signed.as_bytes(), &signature).unwrap();
        let claims = part(&token, 1);
        assert_eq!((&claims["iss"], &claims["aud"]), (&json!(ISSUER), &json!("first")));
        let now_s = self.world.now().ms() / 1000;
        let number = |name: &str| claims[name].as_u64().unwrap();
        assert!(number("exp") > now_s && number("iat") <= now_s && number("auth_time") <= number("iat"));
        claims
    }

    /// What `userinfo` says, asked with GET.
    fn userinfo(&self, tokens: &Seen) -> Value {
        let said = self.world.userinfo(&tokens.member("access_token"));
        assert_eq!(said.status, 200, "{}", said.text);
        said.json()
    }

    /// The name of a request that the first client has pushed.
    fn pushed(&self, changes: &[(&str, &str)]) -> String {
        let answer = self.world.ask("first", "/oauth2/par", &request(changes));
        assert_eq!(answer.status, 201, "{}", answer.text);
        assert!(answer.json()["expires_in"].as_u64().unwrap() < 600);
        answer.json()["request_uri"].as_str().unwrap().to_owned()
    }
}

/// The usual request of the first client; what is named in `changes` is another, and left out where it is empty.
fn request<'c>(changes: &[(&'c str, &'c str)]) -> Vec<(&'c str, &'c str)> {
    let mut all = BTreeMap::from([
        ("client_id", "first"),
        ("redirect_uri", CALLBACK),
        ("response_type", "code"),
        ("scope", "openid"),
        ("state", STATE),
        ("nonce", "n-1"),
    ]);
    all.extend(changes.iter().copied());
    all.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

fn address(changes: &[(&str, &str)]) -> String {
    format!("/oauth2/authorize?{}", encoded(&request(changes)))
}

/// The address of a request that was pushed.
fn of_pushed(client: &str, name: &str) -> String {
    format!("/oauth2/authorize?{}", encoded(&[("client_id", client), ("request_uri", name)]))
}

/// What a browser brings back to the callback: with the state that was sent, and who answers (RFC 9207).
fn brought(back: &Seen) -> BTreeMap<String, String> {
    let (place, brought) = back.back();
    assert_eq!(place, CALLBACK);
    assert_eq!(brought.get("state").map(String::as_str), Some(STATE));
    assert_eq!(brought.get("iss").map(String::as_str), Some(ISSUER));
    brought
}

fn code(back: &Seen) -> String {
    let brought = brought(back);
    assert_eq!(brought.get("error"), None);
    brought["code"].clone()
}

fn error(back: &Seen) -> String {
    let brought = brought(back);
    assert_eq!(brought.get("code"), None);
    brought["error"].clone()
}

/// Whether the user is asked for their password.
fn asks_to_log_in(page: &Seen) -> bool {
    page.status == 200 && page.text.contains("name=\"password\"")
}

/// Runs all, and names those that fail.
fn judge(cases: &[Case]) {
    if !durward_testdata::has_openssl() {
        return;
    }
    let _ = key();
    let failed: Vec<&str> = cases
        .iter()
        .filter(|(_, case)| catch_unwind(|| case(&Suite::new())).is_err())
        .map(|(name, _)| *name)
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn openid_conformance_basic_and_config() {
    judge(basic::CASES);
}

#[test]
fn openid_conformance_logout() {
    judge(logout::CASES);
}

#[test]
fn openid_conformance_fapi() {
    judge(fapi::CASES);
}

/// A module is made here, or the list says why it is not.
#[test]
fn openid_conformance_leaves_out_what_the_list_says() {
    let text = fs::read_to_string(workspace("conformance/openid.tsv")).unwrap();
    let mut listed = BTreeSet::new();
    let mut made = BTreeSet::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [_, module, why] = columns[..] else { panic!("{line}") };
        assert!(listed.insert(module.to_owned()), "{module} is there twice");
        if why == "made" {
            made.insert(module.to_owned());
        } else {
            assert!(why.contains(' '), "{module}: {why}");
        }
    }
    let cases = [basic::CASES, logout::CASES, fapi::CASES].concat();
    let names: BTreeSet<String> = cases.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names.len(), cases.len());
    assert_eq!(names, made);
}

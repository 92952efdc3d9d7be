//! Tokens of an identity provider, which runs beside the server and can change its keys or go away.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
use rustls::{ServerConnection, StreamOwned};
use serde_json::{Value, json};

use crate::decider::World;
use crate::sapl::start;
use crate::support::{Directory, TestServer};

/// A key of the issuer.
struct Key {
    id: &'static str,
    pair: Pair,
}

enum Pair {
    Ed(Ed25519KeyPair),
    Ec(EcdsaKeyPair),
}

impl Key {
    fn ed(id: &'static str) -> Key {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Key { id, pair: Pair::Ed(Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap()) }
    }

    fn ec(id: &'static str) -> Key {
        let chance = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &chance).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &chance).unwrap();
        Key { id, pair: Pair::Ec(pair) }
    }

    fn algorithm(&self) -> &'static str {
        match self.pair {
            Pair::Ed(_) => "EdDSA",
            Pair::Ec(_) => "ES256",
        }
    }

    fn jwk(&self) -> Value {
        match &self.pair {
            Pair::Ed(pair) => json!({
                "kty": "OKP", "crv": "Ed25519", "use": "sig", "kid": self.id,
                "x": BASE64.encode(pair.public_key()),
            }),
            Pair::Ec(pair) => {
                let point = &pair.public_key().as_ref()[1..];
                let (x, y) = (BASE64.encode(&point[..32]), BASE64.encode(&point[32..]));
                json!({"kty": "EC", "crv": "P-256", "alg": "ES256", "kid": self.id, "x": x, "y": y})
            }
        }
    }

    fn sign_as(&self, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| BASE64.encode(value.to_string());
        let message = format!("{}.{}", part(header), part(claims));
        let signature = match &self.pair {
            Pair::Ed(pair) => pair.sign(message.as_bytes()).as_ref().to_vec(),
            Pair::Ec(pair) => pair.sign(&SystemRandom::new(), message.as_bytes()).unwrap().as_ref().to_vec(),
        };
        format!("{message}.{}", BASE64.encode(signature))
    }

    fn sign(&self, claims: &Value) -> String {
        self.sign_as(&json!({"alg": self.algorithm(), "kid": self.id, "typ": "JWT"}), claims)
    }
}

/// Signs tokens of `https://idp` for `durward`, for a minute.
pub(crate) struct Signed(Key);

impl Signed {
    pub(crate) fn new() -> Signed {
        Signed(Key::ed("one"))
    }

    /// The set of keys that verifies them.
    pub(crate) fn keys(&self) -> String {
        json!({"keys": [self.0.jwk()]}).to_string()
    }

    /// A token with these claims over the usual ones.
    pub(crate) fn of(&self, claims: &Value) -> String {
        let mut all = json!({"iss": "https://idp", "aud": "durward", "sub": "ann", "exp": now() + 60});
        for (name, value) in claims.as_object().unwrap() {
            all[name] = value.clone();
        }
        self.0.sign(&all)
    }
}

/// Publishes its keys.
struct Issuer {
    /// `http://127.0.0.1:1234`.
    base: String,
    keys: Arc<Mutex<Vec<Value>>>,
    asked: Arc<AtomicUsize>,
}

impl Issuer {
    fn start() -> Issuer {
        Issuer::start_over("http://127.0.0.1", |stream| stream)
    }

    /// Over TLS, as localhost, with the certificate of a directory.
    fn start_encrypted(directory: &Directory) -> Issuer {
        let config = Arc::new(crate::tls::server_of(directory));
        Issuer::start_over("https://localhost", move |stream| {
            StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream)
        })
    }

    fn start_over<S: Read + Write>(base: &str, open: impl Fn(TcpStream) -> S + Send + 'static) -> Issuer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("{base}:{}", listener.local_addr().unwrap().port());
        let (keys, asked) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
        let issuer = Issuer { base, keys: Arc::clone(&keys), asked: Arc::clone(&asked) };
        let (name, published) = (issuer.name(), format!("{}/keys", issuer.base));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = open(stream.unwrap());
                let mut lines = BufReader::new(&mut stream).lines();
                // Who does not believe the certificate asks nothing.
                let Some(Ok(first)) = lines.next() else { continue };
                while !lines.next().unwrap().unwrap().is_empty() {}
                let body = match first.split(' ').nth(1).unwrap() {
                    "/realm/.well-known/openid-configuration" => {
                        json!({"issuer": name, "jwks_uri": published})
                    }
                    "/keys" => {
                        asked.fetch_add(1, Ordering::Relaxed);
                        json!({"keys": *keys.lock().unwrap()})
                    }
                    other => panic!("{other}"),
                };
                drop(lines);
                let body = body.to_string();
                let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";
                write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
                stream.flush().unwrap();
            }
        });
        issuer
    }

    fn name(&self) -> String {
        format!("{}/realm", self.base)
    }

    fn publish(&self, keys: &[&Key]) {
        *self.keys.lock().unwrap() = keys.iter().map(|key| key.jwk()).collect();
    }

    fn settings(&self, more: &str) -> String {
        let name = self.name();
        format!(
            "sapl.http = true\n[auth.jwt]\nissuer = '{name}'\naudiences = ['durward', 'doors']\n\
             scopes = ['sapl', 'decide']\n{more}"
        )
    }

    /// Claims that are right, for a minute.
    fn claims(&self) -> Value {
        json!({
            "iss": self.name(), "aud": ["other", "durward"], "sub": "anna", "exp": now() + 60,
            "scope": "openid sapl", "sapl_pdp_id": "plant",
        })
    }
}

#[expect(clippy::disallowed_methods, reason = "tokens of a test end when the test's clock says so")]
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn with(mut claims: Value, name: &str, value: Value) -> Value {
    if value.is_null() {
        claims.as_object_mut().unwrap().remove(name);
    } else {
        claims[name] = value;
    }
    claims
}

/// The tenant that a token is of, or the status it is refused with.
fn tenant(server: &TestServer, token: &str) -> Result<String, u16> {
    let body = br#"{"subject":"tenant","action":1,"resource":1}"#;
    let headers = [("Authorization", format!("Bearer {token}"))];
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let reply = server.send("POST", "/api/pdp/decide-once", &headers, body);
    match reply.status {
        200 => Ok(reply.json()["resource"].as_str().unwrap().into()),
        status => Err(status),
    }
}

#[test]
fn a_token_leads_to_its_tenant() {
    let issuer = Issuer::start();
    let (ed, ec) = (Key::ed("one"), Key::ec("two"));
    issuer.publish(&[&ed, &ec]);
    let (server, _) = start(&issuer.settings(""));
    let claims = issuer.claims();
    for key in [&ed, &ec] {
        for _ in 0..2 {
            assert_eq!(tenant(&server, &key.sign(&claims)).as_deref(), Ok("plant"));
        }
    }
    assert_eq!(issuer.asked.load(Ordering::Relaxed), 1);
    // A key need not be named, and other claims may say the same.
    let right = [
        ed.sign_as(&json!({"alg": "EdDSA"}), &claims),
        ed.sign(&with(claims.clone(), "aud", json!("doors"))),
        ed.sign(&with(with(claims.clone(), "scope", Value::Null), "scp", json!(["decide"]))),
        ed.sign(&with(claims.clone(), "exp", json!(now() - 30))),
        ed.sign(&with(claims.clone(), "nbf", json!(now() + 30))),
    ];
    for token in right {
        assert_eq!(tenant(&server, &token).as_deref(), Ok("plant"), "{token}");
    }
    let none = ed.sign(&with(claims, "sapl_pdp_id", Value::Null));
    assert_eq!(tenant(&server, &none).as_deref(), Ok("default"));
}

#[test]
fn a_token_that_is_wrong_in_any_way_is_refused() {
    let issuer = Issuer::start();
    let (ed, stranger) = (Key::ed("one"), Key::ed("one"));
    issuer.publish(&[&ed]);
    let (server, _) = start(&issuer.settings(""));
    let claims = issuer.claims();
    let right = ed.sign(&claims);
    assert_eq!(tenant(&server, &right).as_deref(), Ok("plant"));
    let (head, signature) = right.rsplit_once('.').unwrap();
    let forged = with(claims.clone(), "sapl_pdp_id", json!("other"));
    let changed = [
        ("iss", json!("http://somebody.else")),
        ("iss", Value::Null),
        ("aud", json!("other")),
        ("aud", Value::Null),
        ("exp", json!(now() - 61)),
        ("exp", Value::Null),
        ("exp", json!("tomorrow")),
        ("exp", json!(-1)),
        ("nbf", json!(now() + 120)),
        ("scope", json!("openid saplings")),
        ("scope", Value::Null),
        ("sapl_pdp_id", json!("../other")),
        ("sapl_pdp_id", json!(7)),
        ("sapl_pdp_id", json!("")),
    ];
    let mut wrong: Vec<String> =
        changed.into_iter().map(|(name, value)| ed.sign(&with(claims.clone(), name, value))).collect();
    let none = json!({"alg": "none"});
    let part = |value: &Value| BASE64.encode(value.to_string());
    wrong.extend([
        stranger.sign(&claims),
        format!("{head}."),
        head.to_owned(),
        format!("{head}.{signature}AA"),
        format!("{}.{}.{signature}", right.split('.').next().unwrap(), part(&forged)),
        format!("{}.{}.", part(&none), part(&claims)),
        ed.sign_as(&none, &claims),
        // Signed with the public key as if it were a secret.
        ed.sign_as(&json!({"alg": "HS256", "kid": "one"}), &claims),
        ed.sign_as(&json!({"alg": "ES256", "kid": "one"}), &claims),
        "a.b.c".into(),
        "...".into(),
    ]);
    for token in wrong {
        assert_eq!(tenant(&server, &token), Err(401), "{token}");
    }
}

#[test]
fn a_token_for_another_use_is_refused_whoever_signed_it() {
    let issuer = Issuer::start();
    let key = Key::ed("one");
    issuer.publish(&[&key]);
    let (server, _) = start(&issuer.settings(""));
    let of_kind = |kind: &str| {
        let header = json!({"alg": key.algorithm(), "kid": key.id, "typ": kind});
        tenant(&server, &key.sign_as(&header, &issuer.claims()))
    };
    for kind in ["JWT", "jwt", "at+jwt", "application/at+jwt", "access"] {
        assert_eq!(of_kind(kind).as_deref(), Ok("plant"), "{kind}");
    }
    for kind in ["logout+jwt", "dpop+jwt", "application/secevent+jwt", "Logout+JWT"] {
        assert!(of_kind(kind).is_err(), "{kind}");
    }
}

#[test]
fn a_tenant_may_be_named_deep_inside() {
    let issuer = Issuer::start();
    let key = Key::ed("one");
    issuer.publish(&[&key]);
    let (server, _) =
        start(&issuer.settings("tenant_claim = 'realm.plant.id'\ndanger_allow_without_expiry = true"));
    let claims = with(issuer.claims(), "exp", Value::Null);
    let deep = with(claims.clone(), "realm", json!({"plant": {"id": "seven"}}));
    assert_eq!(tenant(&server, &key.sign(&deep)).as_deref(), Ok("seven"));
    for shallow in [json!({"plant": {}}), json!("plant"), json!({"plant": {"id": null}})] {
        let token = key.sign(&with(claims.clone(), "realm", shallow));
        assert_eq!(tenant(&server, &token).as_deref(), Ok("default"));
    }
    assert!(server.ready()["warnings"].to_string().contains("danger_allow_without_expiry"));
}

#[test]
fn an_issuer_is_believed_if_the_authority_that_is_set_vouches_for_it() {
    let Some(directory) = crate::tls::certificates() else { return };
    let issuer = Issuer::start_encrypted(&directory);
    let key = Key::ed("one");
    issuer.publish(&[&key]);
    let token = key.sign(&issuer.claims());
    let authorities = format!("authorities = '{}'", directory.path("ca.pem").display());
    let (server, _) = start(&issuer.settings(&authorities));
    assert_eq!(tenant(&server, &token).as_deref(), Ok("plant"));
    // The system knows nothing of that authority, and another one does not vouch for it.
    let others = crate::tls::certificates().unwrap();
    let other = format!("authorities = '{}'", others.path("ca.pem").display());
    for settings in ["", &other] {
        let (server, _) = start(&issuer.settings(settings));
        assert_eq!(tenant(&server, &token), Err(503), "{settings}");
    }
    let missing = format!("authorities = '{}'", directory.path("missing.pem").display());
    let refused = TestServer::start_deciding(Directory::new(), &issuer.settings(&missing), World::default());
    assert!(refused.is_err_and(|error| error.to_string().contains("auth.jwt.authorities")));
}

#[test]
fn keys_may_come_from_a_file_and_then_nobody_is_asked() {
    let key = Key::ec("one");
    let directory = Directory::new();
    directory.write("keys.json", &json!({"keys": [key.jwk(), {"kty": "oct", "k": "AA"}]}).to_string());
    let text = format!(
        "sapl.http = true\n[auth.jwt]\nissuer = 'me'\naudiences = ['durward']\nkeys = '{}'",
        directory.path("keys.json").display()
    );
    let (server, _) = start(&text);
    let claims = json!({"iss": "me", "aud": "durward", "exp": now() + 60, "sapl_pdp_id": "plant"});
    assert_eq!(tenant(&server, &key.sign(&claims)).as_deref(), Ok("plant"));
    assert_eq!(tenant(&server, &Key::ec("other").sign(&claims)), Err(401));
    for (content, reason) in [("{", "EOF"), ("{\"keys\":[]}", "no key in it")] {
        directory.write("keys.json", content);
        let refused = TestServer::start_deciding(Directory::new(), &text, World::default());
        let error = refused.err().unwrap().to_string();
        assert!(error.contains("auth.jwt.keys") && error.contains(reason), "{error}");
    }
}

#[test]
fn an_issuer_that_is_not_there_leaves_the_question_open() {
    let key = Key::ed("one");
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let text =
        format!("sapl.http = true\n[auth.jwt]\nissuer = 'http://{unused}/realm'\naudiences = ['durward']");
    let (server, _) = start(&text);
    let claims = json!({"iss": format!("http://{unused}/realm"), "aud": "durward", "exp": now() + 60});
    for _ in 0..2 {
        assert_eq!(tenant(&server, &key.sign(&claims)), Err(503));
    }
    assert_eq!(server.metric("durward_authentications_total{result=\"busy\"}"), 2.0);
    // Whatever cannot be a token needs no key to be refused.
    assert_eq!(tenant(&server, "nonsense"), Err(401));
}

#[test]
fn a_key_that_is_not_known_is_looked_for_but_not_by_everybody_who_names_one() {
    let issuer = Issuer::start();
    let (old, new) = (Key::ed("old"), Key::ed("new"));
    issuer.publish(&[&old]);
    let (server, _) = start(&issuer.settings(""));
    assert_eq!(tenant(&server, &old.sign(&issuer.claims())).as_deref(), Ok("plant"));
    issuer.publish(&[&new]);
    for number in 0..20 {
        let claims = with(issuer.claims(), "jti", json!(number));
        assert_eq!(tenant(&server, &new.sign(&claims)), Err(401));
    }
    assert_eq!(issuer.asked.load(Ordering::Relaxed), 1);
}

//! A provider that answers whatever a test says.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

/// What it was asked.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) path: String,
    pub(super) authorization: String,
    pub(super) body: String,
}

#[derive(Default)]
struct State {
    answers: BTreeMap<String, (u16, String)>,
    asked: Vec<Asked>,
}

pub(super) struct Fake {
    pub(super) issuer: String,
    key: Ed25519KeyPair,
    state: Arc<Mutex<State>>,
}

impl Fake {
    pub(super) fn start() -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let issuer = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let key = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        let fake = Fake { issuer, key, state: Arc::clone(&state) };
        fake.publish(|_| {});
        let public = BASE64.encode(fake.key.public_key());
        let jwk = json!({ "kty": "OKP", "crv": "Ed25519", "use": "sig", "kid": "one", "x": public });
        fake.put("/keys", 200, &json!({ "keys": [jwk] }).to_string());
        thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), &state);
            }
        });
        fake
    }

    pub(super) fn put(&self, path: &str, status: u16, body: &str) {
        self.state.lock().unwrap().answers.insert(path.to_owned(), (status, body.to_owned()));
    }

    /// What it says of itself, changed.
    pub(super) fn publish(&self, change: impl FnOnce(&mut Value)) {
        let at = |path: &str| format!("{}{path}", self.issuer);
        let mut document = json!({
            "issuer": self.issuer, "jwks_uri": at("/keys"), "authorization_endpoint": at("/authorize"),
            "token_endpoint": at("/token"), "userinfo_endpoint": at("/userinfo"),
        });
        change(&mut document);
        self.put("/.well-known/openid-configuration", 200, &document.to_string());
    }

    pub(super) fn asked(&self, path: &str) -> Vec<Asked> {
        self.state.lock().unwrap().asked.iter().filter(|asked| asked.path == path).cloned().collect()
    }

    /// The claims of a good ID token.
    pub(super) fn claims(&self, nonce: &str, now_s: u64) -> Value {
        json!({
            "iss": self.issuer, "aud": "durward", "sub": "4711", "nonce": nonce, "iat": now_s, "exp": now_s + 300,
            "preferred_username": "ulla",
        })
    }

    pub(super) fn sign(&self, claims: &Value) -> String {
        self.sign_as(&json!({ "alg": "EdDSA", "kid": "one", "typ": "JWT" }), claims)
    }

    pub(super) fn sign_as(&self, header: &Value, claims: &Value) -> String {
        let message = unsigned(header, claims);
        let signature = self.key.sign(message.as_bytes());
        format!("{message}.{}", BASE64.encode(signature.as_ref()))
    }

    /// It gives this ID token for any code.
    pub(super) fn gives(&self, id_token: &str) {
        let body =
            json!({ "access_token": "at", "token_type": "Bearer", "expires_in": 60, "id_token": id_token });
        self.put("/token", 200, &body.to_string());
    }
}

/// Header and claims, as they are signed.
pub(super) fn unsigned(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| BASE64.encode(value.to_string());
    format!("{}.{}", part(header), part(claims))
}

fn answer(mut stream: TcpStream, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    // Who only connects asks nothing.
    if reader.read_line(&mut line).unwrap_or(0) == 0 {
        return;
    }
    let path = line.split(' ').nth(1).unwrap().split('?').next().unwrap().to_owned();
    let (mut length, mut authorization) = (0, String::new());
    loop {
        let mut field = String::new();
        reader.read_line(&mut field).unwrap();
        let Some((name, value)) = field.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap(),
            "authorization" => authorization = value.to_owned(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body = String::from_utf8(body).unwrap();
    let (status, answer) = {
        let mut state = state.lock().unwrap();
        let found = state.answers.get(&path).cloned().unwrap_or((404, String::new()));
        state.asked.push(Asked { path, authorization, body });
        found
    };
    let head = format!("HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nConnection: close\r\n");
    // Whoever reads no more of it has seen enough.
    let _ = write!(stream, "{head}Content-Length: {}\r\n\r\n{answer}", answer.len());
}

//! What a server asks: the claims of its token.

use serde::Deserialize;

use super::jwt::{is_user, of_server};

/// The audience of such tokens.
const AUDIENCE: &str = "nats-authorization-request";

/// The type of their claims.
const KIND: &str = "authorization_request";

/// A request that a server has signed.
#[derive(Debug)]
pub(super) struct Request {
    claims: NatsClaims,
    length: usize,
}

#[derive(Deserialize)]
struct Claims {
    aud: String,
    nats: NatsClaims,
}

#[derive(Debug, Deserialize)]
struct NatsClaims {
    #[serde(rename = "type")]
    kind: String,
    server_id: ServerId,
    user_nkey: String,
    #[serde(default)]
    client_info: ClientInfo,
    #[serde(default)]
    connect_opts: ConnectOptions,
}

#[derive(Debug, Deserialize)]
struct ServerId {
    #[serde(default)]
    name: String,
    id: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ClientInfo {
    host: String,
    kind: String,
    #[serde(rename = "type")]
    protocol: String,
    mqtt_id: String,
}

/// What the client said when it connected. Its password is for nobody's eyes.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ConnectOptions {
    user: String,
    pass: Option<String>,
    auth_token: String,
    jwt: String,
    nkey: String,
    name: String,
    lang: String,
}

impl std::fmt::Debug for ConnectOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConnectOptions").field("user", &self.user).finish_non_exhaustive()
    }
}

impl Request {
    /// # Errors
    /// In words, why it cannot be answered.
    pub(super) fn read(payload: &[u8]) -> Result<Request, &'static str> {
        let token = std::str::from_utf8(payload).map_err(|_| "it is no text")?;
        let (signer, claims) = of_server(token)?;
        let Claims { aud, nats } =
            serde_json::from_slice(&claims).map_err(|_| "it is no request for a login")?;
        if aud != AUDIENCE || nats.kind != KIND {
            return Err("it is no request for a login");
        }
        if nats.server_id.id != signer {
            return Err("it is signed by another server than it names");
        }
        if !is_user(&nats.user_nkey) {
            return Err("it names no key of a user");
        }
        Ok(Request { claims: nats, length: payload.len() })
    }

    /// Whom the answer is for.
    pub(super) fn server_id(&self) -> &str {
        &self.claims.server_id.id
    }

    /// The key that the server made for this login.
    pub(super) fn user_nkey(&self) -> &str {
        &self.claims.user_nkey
    }

    /// From where the client connected.
    pub(super) fn host(&self) -> &str {
        &self.claims.client_info.host
    }

    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// The name that the client gave.
    pub(super) fn name(&self) -> Option<&str> {
        some(&self.claims.connect_opts.user)
    }

    pub(super) fn password(&self) -> Option<&str> {
        self.claims.connect_opts.pass.as_deref()
    }

    /// A token that the client gave alone. A JWT or an nkey of NATS' own is none of ours, and is no reason to overlook that it is there.
    pub(super) fn token(&self) -> Option<&str> {
        let options = &self.claims.connect_opts;
        some(&options.auth_token).or_else(|| some(&options.jwt)).or_else(|| some(&options.nkey))
    }

    /// What else is known of the client.
    pub(super) fn facts(&self) -> [(&'static str, &str); 7] {
        let NatsClaims { client_info, connect_opts, server_id, .. } = &self.claims;
        [
            ("host", &client_info.host),
            ("kind", &client_info.kind),
            ("protocol", &client_info.protocol),
            ("mqtt_id", &client_info.mqtt_id),
            ("client", &connect_opts.name),
            ("language", &connect_opts.lang),
            ("server", &server_id.name),
        ]
    }
}

fn some(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::prelude::BASE64_URL_SAFE_NO_PAD;
    use nkeys::KeyPair;
    use serde_json::{Value, json};

    use super::*;

    fn token(key: &KeyPair, algorithm: &str, claims: &Value) -> String {
        let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&json!({ "typ": "JWT", "alg": algorithm })), part(claims));
        let signature = key.sign(signed.as_bytes()).unwrap();
        format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
    }

    fn claims(server: &KeyPair, user: &KeyPair) -> Value {
        json!({
            "aud": AUDIENCE, "iss": server.public_key(), "sub": "AABC", "iat": 1,
            "nats": {
                "type": KIND, "version": 2, "user_nkey": user.public_key(),
                "server_id": { "name": "n", "host": "h", "id": server.public_key() },
                "client_info": { "host": "192.0.2.1", "id": 7, "kind": "Client", "type": "nats" },
                "connect_opts": { "user": "ada", "pass": "secret", "protocol": 1 },
            },
        })
    }

    #[test]
    fn a_request_is_one_that_a_server_signed_for_itself() {
        let (server, user) = (KeyPair::new_server(), KeyPair::new_user());
        let claims = claims(&server, &user);
        let read = |text: &str| Request::read(text.as_bytes());
        let whole = token(&server, "ed25519-nkey", &claims);
        let request = read(&whole).unwrap();
        assert_eq!(
            (request.name(), request.password(), request.token()),
            (Some("ada"), Some("secret"), None)
        );
        assert_eq!(request.user_nkey(), user.public_key());
        assert!(!format!("{request:?}").contains("secret"));
        let changed = |pointer: &str, to: Value| {
            let mut claims = claims.clone();
            *claims.pointer_mut(pointer).unwrap() = to;
            read(&token(&server, "ed25519-nkey", &claims)).unwrap_err()
        };
        let (other, account) = (KeyPair::new_server(), KeyPair::new_account());
        assert!(changed("/aud", json!("x")).contains("no request"));
        assert!(changed("/nats/type", json!("user")).contains("no request"));
        assert!(changed("/nats/server_id/id", json!(other.public_key())).contains("another server"));
        assert!(changed("/nats/user_nkey", json!(account.public_key())).contains("no key of a user"));
        assert!(changed("/iss", json!(other.public_key())).contains("signature is wrong"));
        assert!(changed("/iss", json!(account.public_key())).contains("no server"));
        assert!(changed("/iss", json!("N")).contains("no key"));
        assert!(read(&token(&server, "none", &claims)).unwrap_err().contains("another algorithm"));
        for cut in 0..whole.len() {
            assert!(read(&whole[..cut]).is_err());
        }
    }
}

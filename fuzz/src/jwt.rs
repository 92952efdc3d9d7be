//! Signed tokens: nothing that was not signed here is believed.

use std::sync::OnceLock;
use std::time::Duration;

use durward_identity::Moment;
use durward_identity::jwt::{Algorithm, Expected, SigningKey, SigningKeys};

fn keys() -> &'static SigningKeys {
    static KEYS: OnceLock<SigningKeys> = OnceLock::new();
    KEYS.get_or_init(|| {
        let key = SigningKey::generate(Algorithm::EdDsa).expect("a key");
        let now = Moment::default();
        SigningKeys::new(Duration::from_secs(600)).with(key, now, now).expect("keys")
    })
}

pub(crate) fn run(token: &[u8]) {
    let token = crate::text(token);
    let expected = Expected { issuer: "https://id.example", audience: "https://api.example" };
    assert!(keys().verify(Moment::default(), token, expected).is_err());
    let _ = SigningKey::read(token);
}

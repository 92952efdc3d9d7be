//! Signed tokens, keys and key sets: nothing that was not signed here is believed, and what was read comes back as it was written.

use std::sync::OnceLock;
use std::time::Duration;

use durward_identity::Moment;
use durward_identity::jwt::{Algorithm, Expected, Proof, ProofExpected, SigningKey, SigningKeys, says_bound};
use durward_jwt::{Base64Url, JwkSet, Jws, JwsAlgorithm, PublicKey};

fn keys() -> &'static SigningKeys {
    static KEYS: OnceLock<SigningKeys> = OnceLock::new();
    KEYS.get_or_init(|| {
        let key = SigningKey::generate(Algorithm::EdDsa).expect("a key");
        let now = Moment::default();
        SigningKeys::new(Duration::from_secs(600)).with(key, now, now).expect("keys")
    })
}

pub(crate) fn run(bytes: &[u8]) {
    if let Ok(key) = PublicKey::from_der(bytes) {
        let der = key.to_der().expect("a key in DER");
        assert_eq!(PublicKey::from_der(&der).as_ref(), Ok(&key));
    }
    if let Ok(set) = JwkSet::read(bytes) {
        set.keys().iter().filter_map(|key| key.verifying().ok()).for_each(|key| {
            assert!(!key.public().verifies(JwsAlgorithm::Es256, b"", &[0; 64]));
        });
    }
    let token = crate::text(bytes);
    for base64 in [Base64Url::Exact, Base64Url::Java] {
        if let Ok(jws) = Jws::read(token, base64) {
            assert!(jws.verify(&PublicKey::Ed25519([7; 32]), &JwsAlgorithm::ALL).is_err());
        }
    }
    let expected = Expected { issuer: "https://id.example", audience: "https://api.example" };
    assert!(keys().verify(Moment::default(), token, expected).is_err());
    let _ = (SigningKey::read(token), says_bound(token));
    if let Ok(proof) = Proof::read(token) {
        let expected = ProofExpected { method: "POST", addresses: &[], token: None, now: Moment::default() };
        assert!(proof.check(&expected).is_err());
    }
}

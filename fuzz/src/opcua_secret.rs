//! Secrets in user identity tokens of OPC UA: whatever was encrypted for this server is decoded only with the nonce of the session.
//!
//! The first byte chooses: as it is sent, or encrypted as a client would do it; the policy; whether an algorithm is named.

use std::sync::OnceLock;
use std::time::Duration;

use durward_identity::Moment;
use durward_opcua::crypto::{
    KeyLength, OwnCertificate, SealedSecret, SecurityPolicy, TokenSecurity, decode_secret, encrypt,
};
use durward_opcua::pki::{CertificateDraft, self_signed};

const NONCE: [u8; 32] = *b"the nonce of this very session..";
const BYTES_MAX: usize = 4_096;

fn own() -> &'static OwnCertificate {
    static OWN: OnceLock<OwnCertificate> = OnceLock::new();
    OWN.get_or_init(|| {
        let draft = CertificateDraft {
            application_uri: "urn:fuzz".to_owned(),
            common_name: "fuzz".to_owned(),
            organization: "durward".to_owned(),
            hosts: vec!["localhost".to_owned()],
            valid_from: Moment::from_s(1_780_272_000),
            valid_for: Duration::from_secs(86_400),
        };
        self_signed(&draft, KeyLength::Rsa2048).expect("a certificate")
    })
}

pub(crate) fn run(bytes: &[u8]) {
    let Some((choice, content)) = bytes.split_first() else { return };
    let own = own();
    let policy = match choice & 3 {
        0 => SecurityPolicy::Basic256Sha256,
        1 => SecurityPolicy::Aes128Sha256RsaOaep,
        2 => SecurityPolicy::Aes256Sha256RsaPss,
        _ => SecurityPolicy::None,
    };
    let security = TokenSecurity::of(policy);
    let is_encrypted = choice & 4 != 0 && policy.is_secure() && content.len() < BYTES_MAX / 2;
    let data = if is_encrypted {
        encrypt(policy, own.certificate().key(), content).expect("encrypts")
    } else {
        content.to_vec()
    };
    let algorithm = if choice & 8 != 0 && policy.is_secure() { policy.encryption_uri() } else { "" };
    let sealed = SealedSecret { data, algorithm: algorithm.to_owned() };
    let Ok(secret) = decode_secret(security, &sealed, own, &NONCE, BYTES_MAX) else { return };
    assert!(content.len() <= BYTES_MAX);
    match security {
        TokenSecurity::Plain => assert_eq!(*secret, content),
        TokenSecurity::Encrypted(_) => {
            assert!(is_encrypted, "nobody else has encrypted anything for this server");
            assert!(content.windows(NONCE.len()).any(|window| window == NONCE));
        }
    }
}

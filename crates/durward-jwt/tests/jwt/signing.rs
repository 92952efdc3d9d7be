//! Keys that sign, made anew, and tokens made with them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use durward_jwt::{Curve, EcKey, JwsAlgorithm, PublicKey, RsaKey};
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair,
    RSA_PKCS1_SHA256, RSA_PSS_SHA384, RsaKeyPair,
};

/// A key that nobody uses, made with `openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048`.
const RSA: &str = include_str!("../../../durward-identity/tests/identity/rsa.pem");

type Sign = Box<dyn Fn(&[u8]) -> Vec<u8>>;

/// A public key, an algorithm of it, and what signs.
pub(crate) struct Signer {
    pub(crate) public: PublicKey,
    pub(crate) algorithm: JwsAlgorithm,
    pub(crate) sign: Sign,
}

pub(crate) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl Signer {
    pub(crate) fn ed25519() -> Signer {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
        let public = PublicKey::Ed25519(pair.public_key().as_ref().try_into().unwrap());
        let sign = Box::new(move |message: &[u8]| pair.sign(message).as_ref().to_vec());
        Signer { public, algorithm: JwsAlgorithm::EdDsa, sign }
    }

    pub(crate) fn ecdsa(curve: Curve) -> Signer {
        let random = SystemRandom::new();
        let (how, algorithm) = match curve {
            Curve::P256 => (&ECDSA_P256_SHA256_FIXED_SIGNING, JwsAlgorithm::Es256),
            Curve::P384 => (&ECDSA_P384_SHA384_FIXED_SIGNING, JwsAlgorithm::Es384),
            Curve::P521 => return Signer::p521(),
        };
        let document = EcdsaKeyPair::generate_pkcs8(how, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(how, document.as_ref(), &random).unwrap();
        let public = PublicKey::Ec(EcKey::of_point(curve, pair.public_key().as_ref()).unwrap());
        let sign = Box::new(move |message: &[u8]| {
            pair.sign(&SystemRandom::new(), message).unwrap().as_ref().to_vec()
        });
        Signer { public, algorithm, sign }
    }

    fn p521() -> Signer {
        use p521::ecdsa::SigningKey;
        use p521::ecdsa::signature::Signer as _;
        let mut secret = [7; 66];
        secret[0] = 0;
        let key = SigningKey::from_slice(&secret).unwrap();
        let point = key.verifying_key().to_sec1_point(false);
        let public = PublicKey::Ec(EcKey::of_point(Curve::P521, point.as_bytes()).unwrap());
        let sign = Box::new(move |message: &[u8]| {
            let signature: p521::ecdsa::Signature = key.sign(message);
            signature.to_bytes().to_vec()
        });
        Signer { public, algorithm: JwsAlgorithm::Es512, sign }
    }

    pub(crate) fn rsa(algorithm: JwsAlgorithm) -> Signer {
        let base64: String = RSA.lines().filter(|line| !line.starts_with('-')).collect();
        let der = base64::engine::general_purpose::STANDARD.decode(base64).unwrap();
        let pair = RsaKeyPair::from_pkcs8(&der).unwrap();
        let PublicKeyComponents { n, e } = PublicKeyComponents::<Vec<u8>>::from(pair.public());
        let public = PublicKey::Rsa(RsaKey::new(&n, &e).unwrap());
        let sign = Box::new(move |message: &[u8]| {
            let mut signature = vec![0; pair.public().modulus_len()];
            let how: &'static dyn ring::signature::RsaEncoding =
                if algorithm == JwsAlgorithm::Rs256 { &RSA_PKCS1_SHA256 } else { &RSA_PSS_SHA384 };
            pair.sign(how, &SystemRandom::new(), message, &mut signature).unwrap();
            signature
        });
        Signer { public, algorithm, sign }
    }

    /// One for each kind of key.
    pub(crate) fn all() -> Vec<Signer> {
        let mut all =
            vec![Signer::ed25519(), Signer::rsa(JwsAlgorithm::Rs256), Signer::rsa(JwsAlgorithm::Ps384)];
        all.extend(Curve::ALL.map(Signer::ecdsa));
        all
    }

    /// A token of a header and a payload, well signed.
    pub(crate) fn token_of(&self, header: &str, payload: &str) -> String {
        let signed = format!("{}.{}", encode(header), encode(payload));
        let signature = encode((self.sign)(signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    pub(crate) fn token(&self) -> String {
        self.token_of(&format!(r#"{{"alg":"{}","kid":"k"}}"#, self.algorithm), r#"{"sub":"ann"}"#)
    }
}

//! Signatures by `ring`, which TLS brings along anyway, for the crate that reads tokens.
//!
//! Only verifying, and only with public keys.

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::signature::{Error, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::signature::{
    self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: no_signer,
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes the crate that reads tokens use this. Whoever embeds the server may have chosen otherwise: that serves too.
pub(super) fn install() {
    let _ = PROVIDER.install_default();
}

fn no_signer(_: &Algorithm, _: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    Err(ErrorKind::InvalidAlgorithm.into())
}

/// How one algorithm verifies.
enum Way {
    Rsa(&'static RsaParameters),
    Raw(&'static dyn VerificationAlgorithm),
}

struct ByRing {
    algorithm: Algorithm,
    way: Way,
    key: DecodingKey,
}

#[allow(
    clippy::wildcard_enum_match_arm,
    reason = "the library may learn of algorithms; all but these are refused"
)]
fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    let way = match algorithm {
        Algorithm::RS256 => Way::Rsa(&signature::RSA_PKCS1_2048_8192_SHA256),
        Algorithm::RS384 => Way::Rsa(&signature::RSA_PKCS1_2048_8192_SHA384),
        Algorithm::RS512 => Way::Rsa(&signature::RSA_PKCS1_2048_8192_SHA512),
        Algorithm::PS256 => Way::Rsa(&signature::RSA_PSS_2048_8192_SHA256),
        Algorithm::PS384 => Way::Rsa(&signature::RSA_PSS_2048_8192_SHA384),
        Algorithm::PS512 => Way::Rsa(&signature::RSA_PSS_2048_8192_SHA512),
        Algorithm::ES256 => Way::Raw(&signature::ECDSA_P256_SHA256_FIXED),
        Algorithm::ES384 => Way::Raw(&signature::ECDSA_P384_SHA384_FIXED),
        Algorithm::EdDSA => Way::Raw(&signature::ED25519),
        // Shared secrets verify nothing here, nor do algorithms yet to come.
        Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512 | _ => {
            return Err(ErrorKind::InvalidAlgorithm.into());
        }
    };
    if key.family() != algorithm.family() {
        return Err(ErrorKind::InvalidKeyFormat.into());
    }
    Ok(Box::new(ByRing { algorithm: *algorithm, way, key: key.clone() }))
}

impl Verifier<Vec<u8>> for ByRing {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        let verified = match (&self.way, self.key.kind()) {
            (Way::Rsa(parameters), DecodingKeyKind::RsaModulusExponent { n, e }) => {
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature)
            }
            (Way::Rsa(parameters), DecodingKeyKind::SecretOrDer(der)) => {
                UnparsedPublicKey::new(*parameters, der).verify(message, signature)
            }
            (Way::Raw(algorithm), DecodingKeyKind::SecretOrDer(key)) => {
                UnparsedPublicKey::new(*algorithm, key).verify(message, signature)
            }
            (Way::Raw(_), DecodingKeyKind::RsaModulusExponent { .. }) => return Err(Error::new()),
        };
        verified.map_err(|_| Error::new())
    }
}

impl JwtVerifier for ByRing {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::crypto::verify;

    use super::*;

    /// Made with another implementation: signed with RS256 and PS384 by a key that is gone.
    #[test]
    fn signatures_of_rsa_are_told_from_others() {
        install();
        let modulus = "1Ozxe3QmKgspuf5TtmbeEr31EVEq47Qg273egcQK_IwVscu3CPRSq2znciJraPfAbuGpbcEyqKqUGhlLl6K53H5SpK1DFQPF\
                       Zimg7NitLHWTUr5xoxuYssUDQi3RspnhD0iaYhvLWOQTezubiNEIWoq5-ePNvnTQVNjCzPSOiJTxBuVoD9WyRuEoAcF2QUaI\
                       CfDaMfjQ-KzlKOrWRpd4DqutdX2Sb-7ASkP1HElDxU9ifN6sJxSoycuDb1fkyfKCaKpDIrF7WDRYdMun8b7SW87zhxEioGER\
                       ouvhiyZ8fVlch4jE0Ky_ei6sO3Hdolbbzpqea4AW7NTdKrhyUGC_xw";
        let key = DecodingKey::from_rsa_components(modulus, "AQAB").unwrap();
        let message = b"eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9\
                        pc19yb290Ijp0cnVlfQ";
        let signature = "pCnNSCKSAYp7uCiQvkv_LUp4_SiPFDuU4ze9balM6dRaYBOYa-wxnJY3wv20vw0ALLowZLx-jSNbD_sHE2hMJIk7AWvLOTsA\
                         3AgDrgUJ-friYh_pRtHkEHH3DsbQOu1lnrCI6uvP1OF3fD_ECDgVDFbpKIaKA1IAqIARDDjMeTsiHh-JqSkM2UuzROP5is8p\
                         RFsNbEyPUbXqqkuggAbk623pDGy63IacCKSPcUeKeAND5f7jnR1PnEjUF3oaauwUbOTtPV_Efex1B75HJtrIoxyU2l1xvCH8\
                         sFuYUbWD2BoZP2fmznobK406SKVKpDCPKF2dOj92bcliPJjKHKo_Ow";
        let of_pss = "GFNJQfWjICFsDZB2I_6T30lrvW1Wcr0dP2C5G0hISnmWZlGQj9E3y93JZnIM3fmFZb94vhdf6HEidDLTz_F3oIMVApghMUxJ\
                      1W_bDBAh-fyiMhNV-TdJ_KE-phMeXJpFHAhN7OzfSuTxMM_E7uexr26dAd_KqtZmbDUiQBQwdJ6soTUKOpxQqDkqvh3uTTZh\
                      nnpsn-FQQo_u-Z_frNNyLCn9NwaIlkwtbLYLXrXg0S658cdNowiMsEMf5H2ZannIkhLh4h7TZjEPIhaqJ8qwdKiB1rc14RzL\
                      CLXPQzPdoATQKXud0Pvufi5AAUbH6FLzroaDRgGDWyvxd564hCgciA";
        assert!(verify(signature, message, &key, Algorithm::RS256).unwrap());
        assert!(verify(of_pss, message, &key, Algorithm::PS384).unwrap());
        assert!(!verify(of_pss, message, &key, Algorithm::PS256).unwrap());
        assert!(!verify(signature, b"something else", &key, Algorithm::RS256).unwrap());
        assert!(!verify(signature, message, &key, Algorithm::RS384).unwrap());
        assert!(verify(signature, message, &key, Algorithm::ES256).is_err());
        assert!(verify(signature, message, &key, Algorithm::HS256).is_err());
    }
}

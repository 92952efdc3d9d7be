//! Known vectors, made with OpenSSL by the algorithms that the standard names; secrets, and what is done to them on the way.

use std::sync::Arc;

use base64::Engine as _;
use durward_opcua::crypto::{
    self, Certificate, KeyLength, OwnCertificate, PrivateKey, SECRET_BYTES_MAX, SealedSecret, SecretFormat,
    SecurityPolicy, TokenSecurity, decode_secret, derive_keys, encode_secret,
};
use opcua_types::StatusCode;

use crate::fixture::{NOW, OTHER, SERVER, status};

const PKCS1: &[u8] = include_bytes!("vectors/key-pkcs1.pem");
const PKCS8: &[u8] = include_bytes!("vectors/key-pkcs8.pem");
const MESSAGE: &[u8] = b"the last server nonce is signed";
const NONCE: [u8; 32] = [0x42; 32];

fn unhex(text: &str) -> Vec<u8> {
    let text = text.trim();
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn vector_certificate() -> Certificate {
    let pem = include_str!("vectors/certificate.pem");
    let inside: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    Certificate::from_der(&base64::engine::general_purpose::STANDARD.decode(inside).unwrap()).unwrap()
}

#[test]
fn keys_are_read_in_either_form_and_belong_to_their_certificate() {
    let (traditional, modern) = (PrivateKey::read(PKCS1).unwrap(), PrivateKey::read(PKCS8).unwrap());
    assert_eq!(*traditional.to_pkcs8().unwrap(), *modern.to_pkcs8().unwrap());
    let der = PrivateKey::read(&modern.to_pkcs8().unwrap()).unwrap();
    let own = OwnCertificate::new(vector_certificate(), der).unwrap();
    assert_eq!(format!("{:?}", own.key()), "PrivateKey(RSA 2048)");
    let error = OwnCertificate::new(OTHER.certificate().as_ref().clone(), modern).unwrap_err();
    assert!(error.to_string().contains("does not belong to the certificate"), "{error}");
}

#[test]
fn what_is_no_key_is_refused_with_a_reason() {
    let truncated = &PKCS8[..PKCS8.len() / 2];
    let encrypted = b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----";
    for (bytes, reason) in [
        (truncated, "encrypted keys are not read"),
        (encrypted.as_slice(), "encrypted keys are not read"),
        (b"-----BEGIN PRIVATE KEY-----\n%%%\n-----END PRIVATE KEY-----".as_slice(), "no Base64"),
        (b"nothing".as_slice(), "no RSA key"),
        (&[0; 40_000], "longer than a key"),
    ] {
        let error = PrivateKey::read(bytes).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn certificates_show_what_openssl_put_there() {
    let certificate = vector_certificate();
    assert_eq!(certificate.thumbprint_hex(), "ac7285652c73f8bf15e0a589a121b7239b4875e5");
    assert_eq!(
        certificate.thumbprint_sha256().to_vec(),
        unhex("c71c8b8a2246ced9935008818bbc2e7817163c33c94eaa0164301d1dfad7cd33")
    );
    assert_eq!(certificate.application_uri(), Some("urn:vector:app"));
    assert_eq!(certificate.host_names(), ["plc.example", "10.0.0.7"]);
    assert_eq!(certificate.subject(), "O=durward,CN=vector");
    assert!(certificate.is_of_application("urn:vector:app"));
    assert!(!certificate.is_of_application("urn:vector:ap"));
    assert!(!certificate.is_of_application(""));
}

#[test]
fn chains_are_split_and_bounded() {
    let der = vector_certificate().der().to_vec();
    assert_eq!(crypto::split_chain(&der.repeat(3)).unwrap(), [der.as_slice(); 3]);
    for wrong in [Vec::new(), der[..40].to_vec(), der.repeat(9), [der.as_slice(), &[1]].concat()] {
        assert_eq!(status(crypto::split_chain(&wrong)), StatusCode::BadCertificateInvalid);
    }
}

#[test]
fn signatures_are_those_of_openssl() {
    let key = vector_certificate().key().clone();
    let pkcs1 = unhex(include_str!("vectors/signature-pkcs1.hex"));
    let pss = unhex(include_str!("vectors/signature-pss.hex"));
    for (policy, signature, other) in [
        (SecurityPolicy::Basic256Sha256, &pkcs1, &pss),
        (SecurityPolicy::Aes128Sha256RsaOaep, &pkcs1, &pss),
        (SecurityPolicy::Aes256Sha256RsaPss, &pss, &pkcs1),
    ] {
        crypto::verify(policy, &key, MESSAGE, signature).unwrap();
        assert_eq!(status(crypto::verify(policy, &key, MESSAGE, other)), StatusCode::BadSecurityChecksFailed);
        assert_eq!(
            status(crypto::verify(policy, &key, b"else", signature)),
            StatusCode::BadSecurityChecksFailed
        );
        assert_eq!(status(crypto::verify(policy, &key, MESSAGE, &[])), StatusCode::BadSecurityChecksFailed);
        let own = crypto::sign(policy, &PrivateKey::read(PKCS8).unwrap(), MESSAGE).unwrap();
        crypto::verify(policy, &key, MESSAGE, &own).unwrap();
    }
    // PKCS#1 v1.5 signatures have no randomness: it is the same one.
    let own =
        crypto::sign(SecurityPolicy::Basic256Sha256, &PrivateKey::read(PKCS8).unwrap(), MESSAGE).unwrap();
    assert_eq!(own, pkcs1);
}

#[test]
fn openssl_encrypts_what_is_decrypted_here() {
    let key = PrivateKey::read(PKCS8).unwrap();
    let sha1 = unhex(include_str!("vectors/oaep-sha1.hex"));
    let sha256 = unhex(include_str!("vectors/oaep-sha256.hex"));
    for (policy, encrypted, other) in [
        (SecurityPolicy::Basic256Sha256, &sha1, &sha256),
        (SecurityPolicy::Aes128Sha256RsaOaep, &sha1, &sha256),
        (SecurityPolicy::Aes256Sha256RsaPss, &sha256, &sha1),
    ] {
        assert_eq!(*crypto::decrypt(policy, &key, encrypted).unwrap(), b"oaep plain");
        assert_eq!(status(crypto::decrypt(policy, &key, other)), StatusCode::BadSecurityChecksFailed);
        assert_eq!(
            status(crypto::decrypt(policy, &key, &encrypted[1..])),
            StatusCode::BadSecurityChecksFailed
        );
    }
}

#[test]
fn blocks_are_as_long_as_the_policy_says() {
    for (policy, modulus, block) in [
        (SecurityPolicy::Basic256Sha256, 256, 214),
        (SecurityPolicy::Aes256Sha256RsaPss, 256, 190),
        (SecurityPolicy::Aes256Sha256RsaPss, 512, 446),
    ] {
        assert_eq!(crypto::plain_block_bytes(policy, modulus).unwrap(), block);
        assert_eq!(crypto::encrypted_length(policy, modulus, block).unwrap(), modulus);
        assert_eq!(crypto::encrypted_length(policy, modulus, block + 1).unwrap(), 2 * modulus);
    }
    let long: Vec<u8> = (0..1_000_u32).map(|n| n as u8).collect();
    for policy in SecurityPolicy::SECURE {
        let encrypted = crypto::encrypt(policy, SERVER.certificate().key(), &long).unwrap();
        assert_eq!(*crypto::decrypt(policy, SERVER.key(), &encrypted).unwrap(), long);
    }
}

/// P_SHA256 and HMAC by Python's `hmac`, AES-CBC by `openssl enc -nopad`.
#[test]
fn derived_keys_are_those_of_the_standard() {
    let secret: Vec<u8> = (0..32).collect();
    let seed: Vec<u8> = (32..64).collect();
    let plain = b"sixteen byte blksixteen byte blk";
    for (policy, encrypted) in [
        (SecurityPolicy::Basic256Sha256, "e5f4a2ceb838d721faf270dbc06c5a2de4cc51634a381af408d9cb6ac329fd3f"),
        (
            SecurityPolicy::Aes128Sha256RsaOaep,
            "854a6f25d31c9213346c853a615b2ac9ef45deaf57b6a9ac02ae087b8c91fbb1",
        ),
        (
            SecurityPolicy::Aes256Sha256RsaPss,
            "e5f4a2ceb838d721faf270dbc06c5a2de4cc51634a381af408d9cb6ac329fd3f",
        ),
    ] {
        let sender = derive_keys(policy, &seed, &secret).unwrap();
        let receiver = derive_keys(policy, &secret, &seed).unwrap();
        let signature = sender.sealing.sign(plain);
        let expected = unhex("4a56b576d1f9ab15ca357abd37ba747a56f8a9b1ce4783d946f03260832da25f");
        assert_eq!(signature.to_vec(), expected);
        receiver.opening.verify(plain, &signature).unwrap();
        receiver.opening.verify(plain, &signature[..31]).unwrap_err();
        sender.opening.verify(plain, &signature).unwrap_err();
        let mut bytes = plain.to_vec();
        sender.sealing.encrypt(&mut bytes).unwrap();
        assert_eq!(bytes, unhex(encrypted));
        receiver.opening.decrypt(&mut bytes).unwrap();
        assert_eq!(bytes, plain);
        receiver.opening.decrypt(&mut bytes[..31]).unwrap_err();
    }
    assert!(derive_keys(SecurityPolicy::None, &seed, &secret).is_err());
}

#[test]
fn deprecated_and_unknown_policies_are_refused() {
    for policy in SecurityPolicy::SECURE {
        assert_eq!(SecurityPolicy::from_uri(policy.uri()), Ok(policy));
    }
    for name in ["Basic256", "Basic128Rsa15", "ECC_nistP256", "", "none"] {
        let uri = format!("http://opcfoundation.org/UA/SecurityPolicy#{name}");
        assert_eq!(status(SecurityPolicy::from_uri(&uri)), StatusCode::BadSecurityPolicyRejected, "{name}");
    }
}

fn open(policy: SecurityPolicy, sealed: &SealedSecret, nonce: &[u8]) -> Result<Vec<u8>, StatusCode> {
    decode_secret(TokenSecurity::Encrypted(policy), sealed, &SERVER, nonce, SECRET_BYTES_MAX)
        .map(|secret| secret.to_vec())
        .map_err(|error| error.status())
}

fn seal(policy: SecurityPolicy, format: SecretFormat, secret: &[u8]) -> SealedSecret {
    encode_secret(TokenSecurity::Encrypted(policy), format, secret, SERVER.certificate(), &NONCE, NOW)
        .unwrap()
}

#[test]
fn secrets_of_any_length_come_out_as_they_went_in() {
    for policy in SecurityPolicy::SECURE {
        for format in [SecretFormat::Legacy, SecretFormat::RsaEncryptedSecret] {
            for length in [0, 1, 13, 14, 15, 16, 17, 200, 214, 1_000, 8_000] {
                let secret: Vec<u8> = (0..length).map(|n| n as u8).collect();
                let sealed = seal(policy, format, &secret);
                assert_eq!(open(policy, &sealed, &NONCE), Ok(secret), "{policy} {format:?} {length}");
                assert_eq!(open(policy, &sealed, &[0x43; 32]), Err(StatusCode::BadIdentityTokenInvalid));
                assert_eq!(open(policy, &sealed, &[]), Err(StatusCode::BadIdentityTokenInvalid));
            }
        }
    }
}

/// One private operation, however long the token is: the slope of the paper's Figure 5 is gone.
#[test]
fn the_new_format_costs_one_rsa_block() {
    let policy = SecurityPolicy::Basic256Sha256;
    let (short, long) = (
        seal(policy, SecretFormat::RsaEncryptedSecret, &[1; 100]),
        seal(policy, SecretFormat::RsaEncryptedSecret, &[1; 8_100]),
    );
    assert_eq!(long.data.len() - short.data.len(), 8_000);
    assert_eq!(seal(policy, SecretFormat::Legacy, &[1; 8_000]).data.len(), 38 * 256);
}

#[test]
fn tampered_secrets_are_one_error() {
    let policy = SecurityPolicy::Aes256Sha256RsaPss;
    for format in [SecretFormat::Legacy, SecretFormat::RsaEncryptedSecret] {
        let sealed = seal(policy, format, &[7; 300]);
        for at in (0..sealed.data.len()).step_by(3) {
            let mut changed = sealed.clone();
            changed.data[at] ^= 0x10;
            assert_eq!(
                open(policy, &changed, &NONCE),
                Err(StatusCode::BadIdentityTokenInvalid),
                "{format:?} {at}"
            );
        }
        for length in (0..sealed.data.len()).step_by(11) {
            let mut changed = sealed.clone();
            changed.data.truncate(length);
            assert_eq!(
                open(policy, &changed, &NONCE),
                Err(StatusCode::BadIdentityTokenInvalid),
                "{format:?} {length}"
            );
        }
        let mut longer = sealed.clone();
        longer.data.push(0);
        assert_eq!(open(policy, &longer, &NONCE), Err(StatusCode::BadIdentityTokenInvalid));
    }
}

#[test]
fn secrets_for_another_server_or_policy_are_refused() {
    let policy = SecurityPolicy::Basic256Sha256;
    for format in [SecretFormat::Legacy, SecretFormat::RsaEncryptedSecret] {
        let security = TokenSecurity::Encrypted(policy);
        let elsewhere = encode_secret(security, format, b"secret", OTHER.certificate(), &NONCE, NOW).unwrap();
        assert_eq!(open(policy, &elsewhere, &NONCE), Err(StatusCode::BadIdentityTokenInvalid));
        let weaker = seal(policy, format, b"secret");
        assert_eq!(
            open(SecurityPolicy::Aes256Sha256RsaPss, &weaker, &NONCE),
            Err(StatusCode::BadIdentityTokenInvalid)
        );
    }
}

/// The longest tokens that are issued can be sent in every way: 16 KiB are 87 blocks of 256 bytes in the legacy format.
#[test]
fn the_longest_secret_comes_through_and_none_longer() {
    let keys = [Arc::new(SERVER.clone()), Arc::new(long_key())];
    for (policy, own) in
        SecurityPolicy::SECURE.into_iter().flat_map(|policy| keys.iter().map(move |own| (policy, own)))
    {
        let security = TokenSecurity::Encrypted(policy);
        for format in [SecretFormat::Legacy, SecretFormat::RsaEncryptedSecret] {
            let open = |length: usize| {
                let secret = vec![7; length];
                let sealed =
                    encode_secret(security, format, &secret, own.certificate(), &NONCE, NOW).unwrap();
                decode_secret(security, &sealed, own, &NONCE, SECRET_BYTES_MAX)
                    .map(|opened| assert_eq!(*opened, secret))
                    .map_err(|error| error.status())
            };
            assert_eq!(open(SECRET_BYTES_MAX), Ok(()), "{policy} {format:?}");
            assert_eq!(open(SECRET_BYTES_MAX + 1), Err(StatusCode::BadIdentityTokenInvalid));
        }
    }
    let plain = |length| SealedSecret { data: vec![1; length], algorithm: String::new() };
    let open =
        |length| decode_secret(TokenSecurity::Plain, &plain(length), &SERVER, &NONCE, SECRET_BYTES_MAX);
    assert!(open(SECRET_BYTES_MAX).is_ok() && open(SECRET_BYTES_MAX + 1).is_err());
}

fn long_key() -> OwnCertificate {
    durward_opcua::pki::self_signed(&crate::fixture::draft("urn:test:long"), KeyLength::Rsa3072).unwrap()
}

/// A long secret is turned away before anything is decrypted: 64 kB would cost 256 private operations.
#[test]
fn the_length_is_checked_before_anything_is_decrypted() {
    let policy = SecurityPolicy::Basic256Sha256;
    let huge = SealedSecret { data: vec![1; 512 * 1024], algorithm: policy.encryption_uri().to_owned() };
    let began = std::time::Instant::now();
    for _ in 0..100 {
        assert_eq!(open(policy, &huge, &NONCE), Err(StatusCode::BadIdentityTokenInvalid));
    }
    // Not a measurement: 100 times 2,048 private operations would take a minute.
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}

#[test]
fn long_keys_work_and_do_not_mix_with_short_ones() {
    let long = Arc::new(long_key());
    for policy in SecurityPolicy::SECURE {
        let sealed = encode_secret(
            TokenSecurity::Encrypted(policy),
            SecretFormat::Legacy,
            &[9; 500],
            long.certificate(),
            &NONCE,
            NOW,
        )
        .unwrap();
        let opened =
            decode_secret(TokenSecurity::Encrypted(policy), &sealed, &long, &NONCE, SECRET_BYTES_MAX)
                .unwrap();
        assert_eq!(*opened, [9; 500]);
        assert_eq!(open(policy, &sealed, &NONCE), Err(StatusCode::BadIdentityTokenInvalid));
    }
}

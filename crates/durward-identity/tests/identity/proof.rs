//! Proofs that somebody has a key: the examples of RFC 9449, and what is none.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use durward_identity::Moment;
use durward_identity::jwt::{Proof, ProofExpected, ProofRefusal, is_thumbprint};
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

/// RFC 9449, figure 1.
const AT_TOKEN: &str = "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19.eyJqdGkiOiItQndDM0VTYzZhY2MybFRjIiwiaHRtIjoiUE9TVCIsImh0dSI6Imh0dHBzOi8vc2VydmVyLmV4YW1wbGUuY29tL3Rva2VuIiwiaWF0IjoxNTYyMjYyNjE2fQ.2-GxA6T8lP4vfrg8v-FdWP0A0zdrj8igiMLvqRMUvwnQg4PtFLbdLXiOSsX0x7NVY-FNyJK70nfbV37xRZT3Lg";

/// RFC 9449, figure 12, with the token of figure 13.
const AT_RESOURCE: &str = "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19.eyJqdGkiOiJlMWozVl9iS2ljOC1MQUVCIiwiaHRtIjoiR0VUIiwiaHR1IjoiaHR0cHM6Ly9yZXNvdXJjZS5leGFtcGxlLm9yZy9wcm90ZWN0ZWRyZXNvdXJjZSIsImlhdCI6MTU2MjI2MjYxOCwiYXRoIjoiZlVIeU8ycjJaM0RaNTNFc05yV0JiMHhXWG9hTnk1OUlpS0NBcWtzbVFFbyJ9.2oW9RP35yRqzhrtNP86L-Ey71EOptxRimPPToA1plemAgR6pxHF8y6-yqyVnmcw6Fy1dqd-jfxSYoMxhAJpLjA";
const TOKEN: &str = "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU";

/// The thumbprint of both (section 6.1).
const THUMBPRINT: &str = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I";

const MADE_S: u64 = 1_562_262_616;

fn expected<'e>(method: &'e str, addresses: &'e [String], token: Option<&'e str>) -> ProofExpected<'e> {
    ProofExpected { method, addresses, token, now: Moment::from_ms(MADE_S * 1000) }
}

#[test]
fn the_examples_of_the_standard_are_taken() {
    let proof = Proof::read(AT_TOKEN).unwrap();
    assert_eq!((proof.thumbprint(), proof.id(), proof.nonce()), (THUMBPRINT, "-BwC3ESc6acc2lTc", None));
    assert!(is_thumbprint(proof.thumbprint()) && !is_thumbprint("0ZcO") && !is_thumbprint(""));
    let addresses = ["https://server.example.com/token".to_owned()];
    assert_eq!(proof.check(&expected("POST", &addresses, None)), Ok(()));
    let proof = Proof::read(AT_RESOURCE).unwrap();
    assert_eq!(proof.thumbprint(), THUMBPRINT);
    let addresses = ["https://resource.example.org/protectedresource".to_owned()];
    assert_eq!(proof.check(&expected("GET", &addresses, Some(TOKEN))), Ok(()));
}

#[test]
fn a_proof_is_for_one_request_and_one_token() {
    let at_token = Proof::read(AT_TOKEN).unwrap();
    let here = ["https://server.example.com/token".to_owned()];
    let usual = expected("POST", &here, None);
    for method in ["GET", "post", ""] {
        assert_eq!(at_token.check(&ProofExpected { method, ..usual }), Err(ProofRefusal::Method));
    }
    for elsewhere in [
        "https://server.example.com/token/",
        "https://server.example.com/other",
        "https://server.example.com",
        "https://server.example.com:8443/token",
        "http://server.example.com/token",
        "https://other.example.com/token",
        "no address",
    ] {
        let addresses = [elsewhere.to_owned()];
        let refused = at_token.check(&ProofExpected { addresses: &addresses, ..usual });
        assert_eq!(refused, Err(ProofRefusal::Address), "{elsewhere}");
    }
    assert_eq!(at_token.check(&ProofExpected { addresses: &[], ..usual }), Err(ProofRefusal::Address));
    let several = ["https://inside/token".to_owned(), "HTTPS://SERVER.example.com:443/token".to_owned()];
    assert_eq!(at_token.check(&ProofExpected { addresses: &several, ..usual }), Ok(()));
    assert_eq!(
        at_token.check(&ProofExpected { token: Some(TOKEN), ..usual }),
        Err(ProofRefusal::Token),
        "it was made for no token"
    );
    let there = ["https://resource.example.org/protectedresource".to_owned()];
    let at_resource = Proof::read(AT_RESOURCE).unwrap();
    let refused = at_resource.check(&expected("GET", &there, Some("another token")));
    assert_eq!(refused, Err(ProofRefusal::Token));
}

#[test]
fn a_proof_is_good_for_a_minute_before_and_after() {
    let proof = Proof::read(AT_TOKEN).unwrap();
    let here = ["https://server.example.com/token".to_owned()];
    for (now_s, is_good) in
        [(MADE_S - 61, false), (MADE_S - 60, true), (MADE_S + 60, true), (MADE_S + 61, false), (0, false)]
    {
        let now = Moment::from_ms(now_s * 1000);
        let checked = proof.check(&ProofExpected { now, ..expected("POST", &here, None) });
        assert_eq!(checked, if is_good { Ok(()) } else { Err(ProofRefusal::Time) }, "{now_s}");
    }
}

/// A key, and what it signs.
struct Key(EcdsaKeyPair);

impl Key {
    fn new() -> Key {
        let (random, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Key(EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap())
    }

    fn jwk(&self) -> Value {
        let (x, y) = self.0.public_key().as_ref()[1..].split_at(32);
        json!({ "kty": "EC", "crv": "P-256", "x": encoded(x), "y": encoded(y) })
    }

    fn sign(&self, header: &Value, claims: &Value) -> String {
        let message = message(header, claims);
        let signature = self.0.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
        format!("{message}.{}", encoded(signature.as_ref()))
    }

    fn header(&self) -> Value {
        json!({ "typ": "dpop+jwt", "alg": "ES256", "jwk": self.jwk() })
    }

    /// With another header.
    fn with_header(&self, name: &str, value: Value) -> Result<Proof, ProofRefusal> {
        Proof::read(&self.sign(&with(self.header(), name, value), &claims()))
    }

    /// With another claim.
    fn with_claim(&self, name: &str, value: Value) -> Result<Proof, ProofRefusal> {
        Proof::read(&self.sign(&self.header(), &with(claims(), name, value)))
    }
}

fn claims() -> Value {
    json!({ "jti": "1", "htm": "POST", "htu": "https://server.example.com/token", "iat": MADE_S })
}

fn with(mut object: Value, name: &str, value: Value) -> Value {
    if value.is_null() {
        object.as_object_mut().unwrap().remove(name);
    } else {
        object[name] = value;
    }
    object
}

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn message(header: &Value, claims: &Value) -> String {
    format!("{}.{}", encoded(header.to_string()), encoded(claims.to_string()))
}

#[test]
fn what_a_proof_needs_must_be_there_and_of_its_form() {
    let key = Key::new();
    assert!(Proof::read(&key.sign(&key.header(), &claims())).is_ok());
    assert!(key.with_claim("iat", json!(MADE_S as f64 + 0.5)).is_ok());
    assert_eq!(key.with_claim("nonce", json!("n")).unwrap().nonce(), Some("n"));
    for (name, value) in [
        ("jti", Value::Null),
        ("jti", json!("")),
        ("jti", json!(1)),
        ("jti", json!("j".repeat(513))),
        ("htm", Value::Null),
        ("htm", json!(["POST"])),
        ("htu", Value::Null),
        ("iat", Value::Null),
        ("iat", json!("now")),
        ("iat", json!(-1)),
        ("iat", json!(1e300)),
        ("ath", json!(true)),
        ("nonce", json!(7)),
    ] {
        let text = format!("{name} {value}");
        assert_eq!(key.with_claim(name, value), Err(ProofRefusal::Malformed), "{text}");
    }
    for kind in [Value::Null, json!("JWT"), json!("at+jwt"), json!("dpop+jwt2")] {
        assert_eq!(key.with_header("typ", kind.clone()), Err(ProofRefusal::Kind), "{kind}");
    }
    let long = key.with_claim("more", json!("m".repeat(8 * 1024)));
    assert_eq!(long, Err(ProofRefusal::Malformed));
    assert_eq!(key.with_header("crit", json!(["x"])), Err(ProofRefusal::Malformed));
}

#[test]
fn the_key_is_public_and_the_one_that_signed() {
    let (key, other) = (Key::new(), Key::new());
    for wrong in [
        Value::Null,
        json!("key"),
        json!({}),
        json!({ "kty": "oct" }),
        with(key.jwk(), "crv", json!("secp256k1")),
        with(key.jwk(), "use", json!("enc")),
        with(key.jwk(), "y", json!(encoded([1; 32]))),
    ] {
        assert_eq!(key.with_header("jwk", wrong.clone()), Err(ProofRefusal::Key), "{wrong}");
    }
    for name in ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] {
        let private = with(key.jwk(), name, json!(encoded([1; 32])));
        assert_eq!(key.with_header("jwk", private), Err(ProofRefusal::PrivateKey), "{name}");
    }
    assert_eq!(key.with_header("jwk", other.jwk()), Err(ProofRefusal::Signature));
    let (signed, signature) = AT_TOKEN.rsplit_once('.').unwrap();
    assert_eq!(Proof::read(&format!("{signed}.")), Err(ProofRefusal::Signature));
    let (header, _) = signed.split_once('.').unwrap();
    let changed = format!("{header}.{}.{signature}", encoded(claims().to_string()));
    assert_eq!(Proof::read(&changed), Err(ProofRefusal::Signature));
}

#[test]
fn no_algorithm_without_a_public_key_is_taken() {
    let key = Key::new();
    for name in ["none", "HS256", "ES256K", "es256", ""] {
        let header = with(key.header(), "alg", json!(name));
        assert_eq!(Proof::read(&key.sign(&header, &claims())), Err(ProofRefusal::Algorithm), "{name}");
        let unsigned = format!("{}.", message(&header, &claims()));
        assert_eq!(Proof::read(&unsigned), Err(ProofRefusal::Algorithm), "{name}");
    }
    // With the public key as the secret, and with a secret that stands in the proof.
    let point = key.0.public_key().as_ref();
    for (jwk, secret, refusal) in [
        (key.jwk(), point, ProofRefusal::Algorithm),
        (json!({ "kty": "oct", "k": "c2VjcmV0" }), b"secret".as_slice(), ProofRefusal::Algorithm),
    ] {
        let header = json!({ "typ": "dpop+jwt", "alg": "HS256", "jwk": jwk });
        let message = message(&header, &claims());
        let code = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message.as_bytes());
        assert_eq!(Proof::read(&format!("{message}.{}", encoded(code.as_ref()))), Err(refusal));
    }
    // Another algorithm than the kind of the key, and than the key says it is for.
    assert_eq!(key.with_header("alg", json!("ES384")), Err(ProofRefusal::Algorithm));
    assert_eq!(key.with_header("alg", json!("EdDSA")), Err(ProofRefusal::Algorithm));
}

#[test]
fn names_are_there_once_also_within_the_key() {
    let key = Key::new();
    let jwk = key.jwk().to_string();
    let twice = jwk.replacen('{', "{\"kty\":\"EC\",", 1);
    let header = format!("{{\"typ\":\"dpop+jwt\",\"alg\":\"ES256\",\"jwk\":{twice}}}");
    let message = format!("{}.{}", encoded(header), encoded(claims().to_string()));
    let signature = key.0.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
    let proof = format!("{message}.{}", encoded(signature.as_ref()));
    assert_eq!(Proof::read(&proof), Err(ProofRefusal::Malformed));
}

#[test]
fn keys_of_other_kinds_prove_as_well() {
    let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
    let jwk = json!({ "kty": "OKP", "crv": "Ed25519", "x": encoded(pair.public_key()) });
    let message = message(&json!({ "typ": "dpop+jwt", "alg": "EdDSA", "jwk": jwk }), &claims());
    let proof = format!("{message}.{}", encoded(pair.sign(message.as_bytes())));
    assert!(Proof::read(&proof).is_ok());
}

#[test]
fn texts_of_any_kind_are_no_proofs_and_end_nothing() {
    for text in
        ["", ".", "..", "...", "a.b.c", "{}", "e30.e30.e30", "\u{0}", &"a".repeat(9000), &"..".repeat(99)]
    {
        assert!(Proof::read(text).is_err(), "{text}");
    }
    // Cut anywhere.
    for length in 0..AT_TOKEN.len() {
        assert!(Proof::read(&AT_TOKEN[..length]).is_err(), "{length}");
    }
}

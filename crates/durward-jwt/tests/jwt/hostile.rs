//! Tokens that somebody made to be believed.

use durward_jwt::{Base64Url, Curve, JWS_LENGTH_MAX, Jws, JwsAlgorithm, JwsRefusal, PublicKey, RsaKey};

use crate::signing::{Signer, encode};

fn verdict(token: &str, key: &PublicKey) -> Result<String, JwsRefusal> {
    let jws = Jws::read(token, Base64Url::Exact)?;
    let verified = jws.verify(key, &JwsAlgorithm::ALL)?;
    Ok(serde_json::Value::Object(verified.claims()?).to_string())
}

#[test]
fn every_kind_of_key_verifies_what_it_signed() {
    for signer in Signer::all() {
        let token = signer.token();
        assert_eq!(
            verdict(&token, &signer.public).as_deref(),
            Ok(r#"{"sub":"ann"}"#),
            "{}",
            signer.algorithm
        );
        for other in Signer::all() {
            let is_same = other.public == signer.public;
            assert!(is_same || verdict(&token, &other.public).is_err(), "{}", signer.algorithm);
        }
        let jws = Jws::read(&token, Base64Url::Exact).unwrap();
        assert_eq!((jws.key_id(), jws.algorithm()), (Some("k"), Some(signer.algorithm)));
        // What the surface does not allow, no key verifies.
        let others: Vec<_> =
            JwsAlgorithm::ALL.into_iter().filter(|algorithm| *algorithm != signer.algorithm).collect();
        assert_eq!(jws.verify(&signer.public, &others).err(), Some(JwsRefusal::Algorithm));
        assert_eq!(jws.verify(&signer.public, &[]).err(), Some(JwsRefusal::Algorithm));
    }
}

#[test]
fn algorithms_that_are_not_the_keys_lead_nowhere() {
    for signer in Signer::all() {
        for algorithm in
            ["none", "None", "NONE", "", "HS256", "HS384", "HS512", "ES256K", "RS256 ", "rs256", "XX"]
        {
            let header = format!(r#"{{"alg":"{algorithm}","kid":"k"}}"#);
            let signed = format!("{}.{}", encode(&header), encode(r#"{"sub":"eve"}"#));
            // Without a signature; with the public key, in each of its forms, as the secret of an HMAC.
            let der = signer.public.to_der().unwrap();
            let secrets = [der.clone(), encode(&der).into_bytes(), signer.public.thumbprint().into_bytes()];
            let tags = secrets.iter().map(|secret| {
                let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret);
                ring::hmac::sign(&key, signed.as_bytes()).as_ref().to_vec()
            });
            for signature in [Vec::new()].into_iter().chain(tags).chain([(signer.sign)(signed.as_bytes())]) {
                let token = format!("{signed}.{}", encode(signature));
                assert_eq!(verdict(&token, &signer.public), Err(JwsRefusal::Algorithm), "{algorithm}");
            }
        }
        // The algorithm of another kind of key, well signed.
        for algorithm in JwsAlgorithm::ALL {
            let token = signer.token_of(&format!(r#"{{"alg":"{algorithm}"}}"#), "{}");
            let refused = verdict(&token, &signer.public).is_err();
            assert_eq!(
                refused,
                algorithm != signer.algorithm,
                "{algorithm} with a key for {}",
                signer.algorithm
            );
        }
    }
}

/// With r or s zero every message would be signed, for verifiers that do not look (CVE-2022-21449).
#[test]
fn numbers_out_of_range_are_in_no_signature() {
    for curve in Curve::ALL {
        let signer = Signer::ecdsa(curve);
        let token = signer.token();
        let (signed, good) = token.rsplit_once('.').unwrap();
        let good = Base64Url::Exact.decode(good).unwrap();
        let (r, s) = good.split_at(curve.octets());
        let zero = vec![0; curve.octets()];
        let mut one = zero.clone();
        *one.last_mut().unwrap() = 1;
        let high = vec![0xff; curve.octets()];
        for (r, s) in [
            (&zero[..], &zero[..]),
            (r, &zero),
            (&zero, s),
            (&one, &one),
            (&high, &high),
            (r, &high),
            (&high, s),
            (s, r),
        ] {
            let forged = format!("{signed}.{}", encode([r, s].concat()));
            assert_eq!(verdict(&forged, &signer.public), Err(JwsRefusal::Signature), "{curve:?}");
        }
        // A zero in front of each number, one number, DER, nothing.
        let longer = [&[0], r, &[0], s].concat();
        let der = [&[0x30, 4, 2, 1][..], &r[..1], &[2, 1], &s[..1]].concat();
        for signature in [longer, r.to_vec(), der, Vec::new(), [good.as_slice(), &[0]].concat()] {
            let forged = format!("{signed}.{}", encode(signature));
            assert_eq!(verdict(&forged, &signer.public), Err(JwsRefusal::Signature), "{curve:?}");
        }
    }
}

#[test]
fn what_is_cut_off_changed_or_put_in_does_not_verify() {
    for signer in [Signer::ed25519(), Signer::ecdsa(Curve::P256)] {
        let token = signer.token();
        for at in 0..token.len() {
            assert!(verdict(&token[..at], &signer.public).is_err(), "cut at {at}");
            for other in ["A", "-", ".", "=", "é", "\u{80}", "\0", " "] {
                let changed = format!("{}{other}{}", &token[..at], &token[at + 1..]);
                assert!(changed == token || verdict(&changed, &signer.public).is_err(), "{other:?} at {at}");
                let longer = format!("{}{other}{}", &token[..at], &token[at..]);
                assert!(verdict(&longer, &signer.public).is_err(), "{other:?} before {at}");
            }
        }
        for more in [".", ".x", "=", "\n", "A"] {
            assert!(verdict(&format!("{token}{more}"), &signer.public).is_err(), "{more:?} behind");
        }
    }
}

#[test]
fn headers_that_can_be_read_two_ways_are_refused() {
    let signer = Signer::ed25519();
    for (header, refusal) in [
        (r#"{"alg":"EdDSA","kid":"k","kid":"k"}"#, JwsRefusal::Malformed),
        (r#"{"alg":"none","alg":"EdDSA"}"#, JwsRefusal::Malformed),
        (r#"{"alg":"EdDSA","\u0061lg":"EdDSA"}"#, JwsRefusal::Malformed),
        (r#"{"alg":"EdDSA","x":1,"x":1}"#, JwsRefusal::Malformed),
        (r#"{"kid":"k"}"#, JwsRefusal::Malformed),
        (r#"{"alg":null}"#, JwsRefusal::Malformed),
        (r#"{"alg":["EdDSA"]}"#, JwsRefusal::Malformed),
        (r#"{"alg":"EdDSA","kid":1}"#, JwsRefusal::Malformed),
        (r#"{"alg":"EdDSA","kid":null}"#, JwsRefusal::Malformed),
        (r#"{"alg":"EdDSA","typ":{}}"#, JwsRefusal::Malformed),
        (r#"{"alg":"EdDSA","enc":"A128GCM"}"#, JwsRefusal::Malformed),
        (r#"{"alg":"EdDSA","b64":"false"}"#, JwsRefusal::Malformed),
        (r#"{"alg":"EdDSA"} x"#, JwsRefusal::Malformed),
        (r#"["EdDSA"]"#, JwsRefusal::Malformed),
        ("", JwsRefusal::Malformed),
        (r#"{"alg":"EdDSA","crit":["exp"]}"#, JwsRefusal::Critical),
        (r#"{"alg":"EdDSA","crit":[]}"#, JwsRefusal::Critical),
        (r#"{"alg":"EdDSA","crit":null}"#, JwsRefusal::Critical),
        (r#"{"alg":"EdDSA","b64":false}"#, JwsRefusal::Critical),
        (r#"{"alg":"EdDSA","b64":false,"crit":["b64"]}"#, JwsRefusal::Critical),
    ] {
        assert_eq!(verdict(&signer.token_of(header, "{}"), &signer.public), Err(refusal), "{header}");
    }
    // Keys in the header are nobody's.
    let header = r#"{"alg":"EdDSA","jwk":{"kty":"OKP"},"jku":"https://evil.example","x5c":[],"b64":true}"#;
    assert!(verdict(&signer.token_of(header, "{}"), &signer.public).is_ok());
}

#[test]
fn claims_have_names_of_their_own_at_any_depth() {
    let signer = Signer::ed25519();
    let header = r#"{"alg":"EdDSA"}"#;
    for payload in [
        r#"{"sub":"a","sub":"b"}"#,
        r#"{"a":[{"b":1,"b":2}]}"#,
        "[]",
        "",
        "{",
        "{}{}",
        "\"x\"",
        &"[".repeat(5_000),
    ] {
        let token = signer.token_of(header, payload);
        assert_eq!(verdict(&token, &signer.public), Err(JwsRefusal::Malformed), "{payload:.40}");
    }
}

#[test]
fn tokens_beyond_the_limits_are_not_looked_at() {
    let signer = Signer::ed25519();
    let fits = signer.token_of(r#"{"alg":"EdDSA"}"#, &format!(r#"{{"x":"{}"}}"#, "x".repeat(700_000)));
    assert!(fits.len() < JWS_LENGTH_MAX && verdict(&fits, &signer.public).is_ok());
    let long = signer.token_of(r#"{"alg":"EdDSA"}"#, &format!(r#"{{"x":"{}"}}"#, "x".repeat(800_000)));
    assert_eq!(verdict(&long, &signer.public), Err(JwsRefusal::Malformed));
    let header = format!(r#"{{"alg":"EdDSA","x":"{}"}}"#, "x".repeat(70_000));
    assert_eq!(verdict(&signer.token_of(&header, "{}"), &signer.public), Err(JwsRefusal::Malformed));
    assert_eq!(verdict(&".".repeat(JWS_LENGTH_MAX), &signer.public), Err(JwsRefusal::Malformed));
}

/// A signature of RSA that is the message itself, filled up; for a key with the exponent 1, or a modulus of nothing.
#[test]
fn weak_keys_of_rsa_verify_nothing() {
    let token = Signer::rsa(JwsAlgorithm::Rs256).token();
    let modulus = vec![0xff; 256];
    for exponent in [&[1][..], &[2], &[4], &[0xff; 255]] {
        let key = PublicKey::Rsa(RsaKey::new(&modulus, exponent).unwrap());
        assert_eq!(verdict(&token, &key), Err(JwsRefusal::Signature));
    }
    for bytes in [1, 64, 127, 1025, 2048] {
        let key = PublicKey::Rsa(
            RsaKey::new(&vec![0xff; bytes], &[1, 0, 1])
                .unwrap_or_else(|_| RsaKey::new(&[0xff], &[3]).unwrap()),
        );
        assert_eq!(verdict(&token, &key), Err(JwsRefusal::Algorithm), "{bytes}");
        assert!(key.check().is_err(), "{bytes}");
    }
}

/// As Java reads: what the last character says too much is ignored, and padding may be there. The signature covers the text.
#[test]
fn java_reads_padding() {
    let signer = Signer::ed25519();
    let token = signer.token();
    let padded = format!("{token}==");
    assert_eq!(verdict(&padded, &signer.public), Err(JwsRefusal::Malformed));
    let jws = Jws::read(&padded, Base64Url::Java).unwrap();
    assert!(jws.verify(&signer.public, &[JwsAlgorithm::EdDsa]).is_ok());
    assert!(Jws::read(&format!("{token}="), Base64Url::Java).is_err());
}

use super::*;
use crate::x509::{CertificateValidity, validity};

fn certificate(name: &str) -> &'static str {
    file(&format!("{name}.crt"))
}

#[test]
fn certificates_are_described_in_the_words_of_java() {
    assert_eq!(
        call("x509.parseCertificate", &[certificate("named")]).unwrap(),
        r#"{"version":3,"serialNumber":"255","subject":"CN=*.example.org,OU=A\\#1,O=Example\\, Inc.,C=DE","issuer":"CN=*.example.org,OU=A\\#1,O=Example\\, Inc.,C=DE","notBefore":"2024-02-29T12:00:00Z","notAfter":"2034-03-01T00:00:00Z","signatureAlgorithm":"SHA256withRSA","publicKey":{"algorithm":"RSA","format":"X.509"}}"#
    );
    let address = "1.2.840.113549.1.9.1=#16077a40782e6f7267";
    assert_eq!(
        call("x509.parseCertificate", &[certificate("plain")]).unwrap(),
        format!(
            r#"{{"version":1,"serialNumber":"1","subject":"UID=z/1,DC=x,{address},CN=Zoë \\<zoe@x\\>","issuer":"UID=z/1,DC=x,{address},CN=Zoë \\<zoe@x\\>","notBefore":"2024-02-29T12:00:00Z","notAfter":"2034-03-01T00:00:00Z","signatureAlgorithm":"SHA384withECDSA","publicKey":{{"algorithm":"EC","format":"X.509"}}}}"#
        )
    );
}

#[test]
fn parts_are_extracted() {
    for (function, name, expected) in [
        ("extractSubjectDn", "nameless", r#""O=\\ padded\\ ""#),
        ("extractSubjectDn", "old", r#""OU=b+CN=old""#),
        ("extractIssuerDn", "exchange", r#""CN=exchange""#),
        ("extractCommonName", "named", r#""*.example.org""#),
        ("extractCommonName", "plain", r#""Zoë <zoe@x>""#),
        ("extractSerialNumber", "named", r#""255""#),
        ("extractSerialNumber", "nameless", r#""730750818665451459101842416358141509827966271487""#),
        ("extractSerialNumber", "old", r#""-5""#),
        ("extractNotBefore", "named", r#""2024-02-29T12:00:00Z""#),
        ("extractNotAfter", "named", r#""2034-03-01T00:00:00Z""#),
    ] {
        assert_eq!(
            call(&format!("x509.{function}"), &[certificate(name)]),
            Ok(expected.to_owned()),
            "{function} {name}"
        );
    }
    assert_eq!(
        call("x509.extractCommonName", &[certificate("nameless")]),
        Err("Certificate subject does not contain a Common Name.".to_owned())
    );
}

#[test]
fn algorithms_have_the_names_of_java() {
    for (name, expected) in [
        ("nameless", r#""signatureAlgorithm":"Ed25519","publicKey":{"algorithm":"EdDSA","format":"X.509"}"#),
        (
            "exchange",
            r#""signatureAlgorithm":"SHA256withRSA","publicKey":{"algorithm":"XDH","format":"X.509"}"#,
        ),
    ] {
        let described = call("x509.parseCertificate", &[certificate(name)]).unwrap();
        assert!(described.contains(expected), "{described}");
    }
}

#[test]
fn certificates_are_taken_in_pem_and_in_base64() {
    let pem = certificate("plain");
    let expected = call("x509.extractSubjectDn", &[pem]);
    let base64: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    let chain = format!("{pem}\n{}", certificate("named"));
    for taken in [pem.replace('\n', "\r\n"), format!("subject=x\n{pem} "), base64.clone(), chain] {
        assert_eq!(call("x509.extractSubjectDn", &[&taken]), expected, "{taken}");
    }
    for refused in [
        "invalid certificate",
        "",
        &pem.replace('A', "!"),
        pem.get(..pem.len() / 2).unwrap(),
        &pem.replace("-----BEGIN CERTIFICATE-----", "").replace("-----END CERTIFICATE-----", ""),
        &pem.replace('\n', ""),
        &format!(" {pem}"),
        key("p256"),
    ] {
        let message = call("x509.extractSubjectDn", &[refused]).expect_err(refused);
        assert!(message.starts_with("Failed to extract subject DN: "), "{message}");
    }
}

#[test]
fn fingerprints_are_those_of_openssl() {
    let pem = certificate("plain");
    let base64: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    let der = crate::crypto::read_base64(&base64).unwrap();
    let expected = durward_functions::encoding::hex(&<sha2::Sha256 as sha2::Digest>::digest(&der));
    assert_eq!(call("x509.extractFingerprint", &[pem, "SHA-256"]), Ok(format!("\"{expected}\"")));
    for (algorithm, digits) in [
        ("MD2", 32),
        ("MD5", 32),
        ("SHA256", 64),
        ("2.16.840.1.101.3.4.2.1", 64),
        ("OID.1.3.14.3.2.26", 40),
        ("sha-1", 40),
        ("SHA", 40),
        ("SHA-224", 56),
        ("SHA-384", 96),
        ("SHA-512", 128),
        ("SHA-512/256", 64),
        ("SHA3-256", 64),
    ] {
        assert_eq!(
            call("x509.extractFingerprint", &[pem, algorithm]).unwrap().len(),
            digits + 2,
            "{algorithm}"
        );
    }
    for unknown in ["ELDER-SIGN-HASH", "SHA 256", "SHA3", ""] {
        let message = format!("Hash algorithm not supported: {unknown}.");
        assert_eq!(call("x509.extractFingerprint", &[pem, unknown]), Err(message));
    }
    for (given, matches) in [(expected.as_str(), true), (&expected.to_uppercase(), true), ("deadbeef", false)]
    {
        assert_eq!(call("x509.matchesFingerprint", &[pem, given, "SHA-256"]), Ok(matches.to_string()));
    }
    call("x509.matchesFingerprint", &[pem, &expected, "no"]).unwrap_err();
}

#[test]
fn alternative_names_are_listed() {
    assert_eq!(
        call("x509.extractSubjectAltNames", &[certificate("named")]).unwrap(),
        concat!(
            r#"[{"type":"dNSName","value":"api.example.com"},{"type":"dNSName","value":"*.Example.NET"},"#,
            r#"{"type":"iPAddress","value":"192.0.2.7"},{"type":"iPAddress","value":"2001:db8:0:0:0:0:0:1"},"#,
            r#"{"type":"iPAddress","value":"192.0.2.8"},{"type":"rfc822Name","value":"ann@example.org"},"#,
            r#"{"type":"uniformResourceIdentifier","value":"https://example.org/x"},"#,
            r#"{"type":"registeredID","value":"1.2.3.4"},{"type":"directoryName","value":"CN=d,O=Dir,C=DE"},"#,
            r#"{"type":"otherName","value":"MA0GAioDoAcMBW90aGVy"}]"#
        )
    );
    assert_eq!(call("x509.extractSubjectAltNames", &[certificate("plain")]), Ok("[]".to_owned()));
}

#[test]
fn names_and_addresses_are_looked_for() {
    for (name, expected) in [
        ("api.example.com", true),
        ("API.EXAMPLE.COM", true),
        ("a.example.net", true),
        ("a.b.example.net", false),
        ("example.net", false),
        ("*.example.net", true),
        ("www.example.org", false),
        ("miskatonic-university.edu", false),
        ("", false),
    ] {
        assert_eq!(
            call("x509.hasDnsName", &[certificate("named"), name]),
            Ok(expected.to_string()),
            "{name}"
        );
    }
    for (address, expected) in [
        ("192.0.2.7", true),
        ("192.0.2.8", true),
        ("2001:db8:0:0:0:0:0:1", true),
        ("2001:db8::1", true),
        ("2001:DB8:0000:0:0:0:0.0.0.1", true),
        ("::ffff:192.0.2.7", true),
        ("192.0.2.07", false),
        ("192.0.2", false),
        ("", false),
        ("10.0.0.1", false),
    ] {
        assert_eq!(
            call("x509.hasIpAddress", &[certificate("named"), address]),
            Ok(expected.to_string()),
            "{address}"
        );
    }
    assert_eq!(call("x509.hasIpAddress", &[certificate("plain"), "192.0.2.7"]), Ok("false".to_owned()));
}

#[test]
fn certificates_are_valid_from_the_first_to_the_last_second() {
    for (instant, expected) in [
        ("2024-02-29T11:59:59.999Z", false),
        ("2024-02-29T12:00:00Z", true),
        ("2024-02-29T13:00:00+01:00", true),
        ("2034-03-01T00:00:00Z", true),
        ("2034-03-01T00:00:00.001Z", false),
        ("+1000000000-12-31T23:59:59Z", false),
    ] {
        assert_eq!(
            call("x509.isValidAt", &[certificate("named"), instant]),
            Ok(expected.to_string()),
            "{instant}"
        );
    }
    for wrong in ["not-a-timestamp", "", "2024-13-45T99:99:99Z", "2024-02-29", "2024-02-29T12:00:00"] {
        assert_eq!(
            call("x509.isValidAt", &[certificate("named"), wrong]),
            Err(format!("Invalid timestamp: Invalid ISO 8601 timestamp format: {wrong}."))
        );
    }
    let expected = CertificateValidity { not_before_s: 1_709_208_000, not_after_s: 2_024_784_000 };
    assert_eq!(validity(certificate("named")).unwrap(), expected);
    assert!(validity("x").unwrap_err().message.starts_with("Failed to parse certificate: "));
}

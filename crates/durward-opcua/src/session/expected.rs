//! Whom a client expects behind a URL. A certificate that is trusted says that its owner may be there, not that it is the server that was meant:
//! with an authority for a whole plant, every device has one.

use std::net::IpAddr;

use opcua_types::StatusCode;

use crate::crypto::Certificate;
use crate::error::Error;

/// One application, of all that are trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PinnedApplication {
    /// The application with this URI, as in its certificate.
    ApplicationUri(String),
    /// The owner of this very certificate: see [`PinnedApplication::thumbprint`].
    Thumbprint(String),
}

impl PinnedApplication {
    /// What an operator wrote: a thumbprint (see [`PinnedApplication::thumbprint`]), or else an ApplicationUri.
    pub fn parse(text: &str) -> PinnedApplication {
        PinnedApplication::thumbprint(text)
            .unwrap_or_else(|_| PinnedApplication::ApplicationUri(text.to_owned()))
    }

    /// A certificate by its thumbprint: SHA-1 or SHA-256 of the DER in hexadecimal, with or without colons and blanks.
    ///
    /// # Errors
    /// `BadConfigurationError` for what is no such thumbprint.
    pub fn thumbprint(text: &str) -> Result<PinnedApplication, Error> {
        let digits: String = text.chars().filter(|c| !matches!(c, ':' | ' ')).collect();
        if ![40, 64].contains(&digits.len()) || !digits.chars().all(|c| c.is_ascii_hexdigit()) {
            return Err(Error::new(
                StatusCode::BadConfigurationError,
                format!(
                    "`{}` is no thumbprint: write 40 (SHA-1) or 64 (SHA-256) hexadecimal digits",
                    text.escape_debug()
                ),
            ));
        }
        Ok(PinnedApplication::Thumbprint(digits.to_ascii_lowercase()))
    }

    fn check(&self, certificate: &Certificate) -> Result<(), Error> {
        match self {
            PinnedApplication::ApplicationUri(uri) if certificate.is_of_application(uri) => Ok(()),
            PinnedApplication::ApplicationUri(uri) => Err(Error::new(
                StatusCode::BadCertificateUriInvalid,
                format!(
                    "the server is `{}`, and `{}` is expected there",
                    certificate.application_uri().unwrap_or_default().escape_debug(),
                    uri.escape_debug()
                ),
            )),
            PinnedApplication::Thumbprint(expected) => {
                let sha256: String =
                    certificate.thumbprint_sha256().iter().map(|byte| format!("{byte:02x}")).collect();
                if [certificate.thumbprint_hex(), sha256].contains(expected) {
                    return Ok(());
                }
                Err(Error::new(
                    StatusCode::BadCertificateInvalid,
                    format!(
                        "the server shows the certificate {}, and {expected} is expected there",
                        certificate.thumbprint_hex()
                    ),
                ))
            }
        }
    }
}

/// Whom a client expects. The default: whoever is trusted and has a certificate for the host of the URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpectedServer {
    /// Which application.
    pub pin: Option<PinnedApplication>,
    /// Does not compare the host of the URL with those of the certificate. Without a pin, every application that is trusted may then be the server.
    pub danger_any_host_name: bool,
}

impl ExpectedServer {
    /// This application, at a host that its certificate names.
    pub fn pinned(pin: PinnedApplication) -> ExpectedServer {
        ExpectedServer { pin: Some(pin), danger_any_host_name: false }
    }

    /// Whether it says more than that the server is trusted.
    pub fn is_certain(&self) -> bool {
        self.pin.is_some() || !self.danger_any_host_name
    }

    /// Checks the server's certificate (Part 4, 6.1.3, "Host Name" among others). Whether it is trusted is for
    /// [`PeerTrust`](crate::channel::PeerTrust) to say.
    ///
    /// # Errors
    /// `BadCertificateUriInvalid`, `BadCertificateInvalid` (another certificate), `BadCertificateHostNameInvalid`.
    pub(super) fn check(&self, certificate: &Certificate, host: &str) -> Result<(), Error> {
        if let Some(pin) = &self.pin {
            pin.check(certificate)?;
        }
        // The one certificate that is expected needs no host.
        let is_exact = matches!(self.pin, Some(PinnedApplication::Thumbprint(_)));
        let is_named = || certificate.host_names().iter().any(|name| is_same_host(name, host));
        if is_exact || self.danger_any_host_name || is_named() {
            return Ok(());
        }
        Err(Error::new(
            StatusCode::BadCertificateHostNameInvalid,
            format!(
                "the certificate of `{}` is not for the host `{}`, but for {}: connect by a name that it has, or expect it by its \
                 thumbprint ({})",
                certificate.application_uri().unwrap_or_default().escape_debug(),
                host.escape_debug(),
                match certificate.host_names() {
                    [] => "none".to_owned(),
                    names => names.join(", "),
                },
                certificate.thumbprint_hex()
            ),
        ))
    }
}

/// Addresses by value, names without regard to case (RFC 4343) and the dot of the root.
pub(super) fn is_same_host(left: &str, right: &str) -> bool {
    match (left.parse::<IpAddr>(), right.parse::<IpAddr>()) {
        (Ok(left), Ok(right)) => left.to_canonical() == right.to_canonical(),
        (Err(_), Err(_)) => {
            let plain = |name: &'_ str| name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
            plain(left) == plain(right)
        }
        (Ok(_), Err(_)) | (Err(_), Ok(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use durward_identity::Moment;

    use super::*;
    use crate::crypto::KeyLength;
    use crate::pki::{CertificateDraft, self_signed};

    fn certificate() -> Certificate {
        let draft = CertificateDraft {
            application_uri: "urn:test:plc".to_owned(),
            common_name: "plc".to_owned(),
            organization: String::new(),
            hosts: vec!["PLC.example.org".to_owned(), "10.0.0.5".to_owned(), "fe80::1".to_owned()],
            valid_from: Moment::from_s(1_780_000_000),
            valid_for: Duration::from_secs(86_400),
        };
        self_signed(&draft, KeyLength::Rsa2048).unwrap().certificate().as_ref().clone()
    }

    #[test]
    fn a_certificate_is_for_the_hosts_that_it_names() {
        let (certificate, expected) = (certificate(), ExpectedServer::default());
        for host in ["plc.example.org", "plc.EXAMPLE.org.", "10.0.0.5", "::ffff:10.0.0.5", "fe80:0::1"] {
            assert_eq!(expected.check(&certificate, host), Ok(()), "{host}");
        }
        let any = ExpectedServer { danger_any_host_name: true, ..ExpectedServer::default() };
        for host in ["example.org", "plc", "10.0.0.50", "fe80::2", ""] {
            let refused = expected.check(&certificate, host).unwrap_err();
            assert_eq!(refused.status(), StatusCode::BadCertificateHostNameInvalid, "{host}");
            assert_eq!(any.check(&certificate, host), Ok(()), "{host}");
        }
        assert!(expected.is_certain() && !any.is_certain());
    }

    #[test]
    fn a_pin_names_one_application_or_one_certificate() {
        let certificate = certificate();
        let check = |pin: PinnedApplication, host: &str| {
            ExpectedServer::pinned(pin).check(&certificate, host).map_err(|error| error.status())
        };
        let uri = |uri: &str| PinnedApplication::ApplicationUri(uri.to_owned());
        assert_eq!(check(uri("urn:test:plc"), "10.0.0.5"), Ok(()));
        assert_eq!(check(uri("urn:test:plc2"), "10.0.0.5"), Err(StatusCode::BadCertificateUriInvalid));
        assert_eq!(check(uri(""), "10.0.0.5"), Err(StatusCode::BadCertificateUriInvalid));
        // A device with the right name may still be at the wrong place; the one certificate is right wherever it is.
        assert_eq!(check(uri("urn:test:plc"), "10.0.0.6"), Err(StatusCode::BadCertificateHostNameInvalid));
        let sha1 = certificate.thumbprint_hex();
        let colons: Vec<&str> =
            sha1.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap()).collect();
        let sha256: String =
            certificate.thumbprint_sha256().iter().map(|byte| format!("{byte:02X}")).collect();
        for text in [sha1.clone(), colons.join(":"), sha256] {
            assert_eq!(check(PinnedApplication::thumbprint(&text).unwrap(), "10.0.0.6"), Ok(()), "{text}");
        }
        let other = PinnedApplication::thumbprint(&"0f".repeat(20)).unwrap();
        assert_eq!(check(other, "10.0.0.5"), Err(StatusCode::BadCertificateInvalid));
        assert_eq!(PinnedApplication::parse(&sha1), PinnedApplication::thumbprint(&sha1).unwrap());
        assert_eq!(PinnedApplication::parse("urn:test:plc"), uri("urn:test:plc"));
        for wrong in ["", "3f0c9a", &"xy".repeat(20), &"ä".repeat(20)] {
            assert_eq!(
                PinnedApplication::thumbprint(wrong).unwrap_err().status(),
                StatusCode::BadConfigurationError,
                "{wrong}"
            );
        }
    }
}

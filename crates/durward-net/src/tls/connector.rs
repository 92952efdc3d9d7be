//! The other side of TLS: connections to services, whose certificates are checked against the authorities of the system, of the operator,
//! or of both.

use std::io;
use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::acceptor::certificates;
use super::{TlsError, Trust};

/// Encrypts connections to services.
#[derive(Debug)]
pub struct Connector {
    authorities: Vec<CertificateDer<'static>>,
    /// Whether the system's authorities count as well.
    trusts_system: bool,
    /// What names the authorities, for messages; `None` where anybody is believed.
    setting: Option<&'static str>,
    /// Made when it is first needed: reading the system's authorities takes milliseconds and a MiB.
    config: OnceLock<Result<Arc<ClientConfig>, TlsError>>,
}

impl Connector {
    /// # Errors
    /// A file that cannot be read or holds no certificate.
    pub fn new(trust: Trust<'_>) -> Result<Connector, TlsError> {
        let (path, setting) = match trust {
            Trust::Authorities(path, setting) => (path, Some(setting)),
            Trust::Only(path, setting) => (Some(path), Some(setting)),
            Trust::DangerAnybody => (None, None),
        };
        let authorities = match (path, setting) {
            (Some(path), Some(setting)) => certificates(path, setting)?,
            _ => Vec::new(),
        };
        let trusts_system = matches!(trust, Trust::Authorities(..));
        Ok(Connector { authorities, trusts_system, setting, config: OnceLock::new() })
    }

    /// # Errors
    /// A service that is not who it says, or speaks something else.
    pub async fn connect(&self, tcp: TcpStream, host: &str) -> io::Result<TlsStream<TcpStream>> {
        let config = self.config.get_or_init(|| self.read());
        let config = config.as_ref().map_err(|error| io::Error::other(error.clone()))?;
        let name = ServerName::try_from(host.to_owned()).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, "no name that a certificate can have")
        })?;
        TlsConnector::from(Arc::clone(config)).connect(name, tcp).await
    }

    fn read(&self) -> Result<Arc<ClientConfig>, TlsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError(error.to_string()))?;
        let Some(setting) = self.setting else {
            let anybody = Arc::new(Anybody(provider));
            let builder = builder.dangerous().with_custom_certificate_verifier(anybody);
            return Ok(Arc::new(builder.with_no_client_auth()));
        };
        let mut roots = RootCertStore::empty();
        if self.trusts_system {
            // Some of a system's certificates may be too old to be read; those that can be read count.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        for authority in &self.authorities {
            roots.add(authority.clone()).map_err(|error| TlsError(format!("{error}; see `{setting}`")))?;
        }
        Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
    }
}

/// Believes anybody, if only they hold the key of the certificate that they show.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

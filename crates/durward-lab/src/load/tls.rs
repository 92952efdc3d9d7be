//! TLS to the nodes of a target: which certificates are trusted.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::address::TargetNode;
use super::stream::TlsEndpoint;
use crate::scenario::{ScenarioError, ScenarioFolder, Tls};

/// By node: how TLS is spoken to it, where it is. `alpn` is the protocol that is offered, if any.
///
/// # Errors
/// Certificates that cannot be read, and names that are none.
pub(super) fn to_nodes(
    nodes: &[TargetNode],
    tls: &Tls,
    folder: &ScenarioFolder,
    alpn: Option<&'static [u8]>,
) -> Result<Vec<Option<TlsEndpoint>>, ScenarioError> {
    if !nodes.iter().any(|node| node.is_tls) {
        return Ok(nodes.iter().map(|_| None).collect());
    }
    let mut config = config(tls, folder)?;
    config.alpn_protocols = alpn.into_iter().map(<[u8]>::to_vec).collect();
    let config = Arc::new(config);
    let to = |node: &TargetNode| {
        if !node.is_tls {
            return Ok(None);
        }
        let name = tls.server_name.clone().unwrap_or_else(|| node.host.clone());
        let wrong =
            |_| ScenarioError::at("tls.server_name", format!("(`{name}`) is no name that certificates bear"));
        let name = ServerName::try_from(name.clone()).map_err(wrong)?;
        Ok(Some(TlsEndpoint { config: Arc::clone(&config), name }))
    };
    nodes.iter().map(to).collect()
}

fn config(tls: &Tls, folder: &ScenarioFolder) -> Result<ClientConfig, ScenarioError> {
    let provider = Arc::new(ring::default_provider());
    let wrong = |problem: String| ScenarioError::at("tls", problem);
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(format!("cannot be spoken: {error}")))?;
    if tls.danger_any_certificate {
        let any = Arc::new(AnyCertificate(provider));
        return Ok(builder.dangerous().with_custom_certificate_verifier(any).with_no_client_auth());
    }
    let mut roots = RootCertStore::empty();
    match &tls.ca {
        Some(path) => {
            let unreadable = |error: &dyn std::fmt::Display| {
                ScenarioError::at(
                    "tls.ca",
                    format!("({}) cannot be read: {error}", folder.join(path).display()),
                )
            };
            let bytes = folder.read(path).map_err(|error| unreadable(&error))?;
            for certificate in CertificateDer::pem_slice_iter(&bytes) {
                let certificate = certificate.map_err(|error| unreadable(&error))?;
                roots.add(certificate).map_err(|error| unreadable(&error))?;
            }
        }
        None => {
            for certificate in rustls_native_certs::load_native_certs().certs {
                // A system may hold certificates that are not understood; the others count.
                let _ = roots.add(certificate);
            }
        }
    }
    if roots.is_empty() {
        return Err(wrong("trusts nobody: there is no certificate; name a file by `tls.ca`".to_owned()));
    }
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Trusts everybody.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
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
        let known = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

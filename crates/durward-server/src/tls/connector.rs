//! The other side of TLS: connections to services, whose certificates are checked against the system's authorities and
//! those of the operator.

use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::present::certificates;

/// Encrypts connections to services.
pub(crate) struct Connector {
    authorities: Vec<CertificateDer<'static>>,
    /// Made when it is first needed: reading the system's authorities takes milliseconds and a MiB.
    config: OnceLock<Result<Arc<ClientConfig>, String>>,
}

impl Connector {
    /// # Errors
    /// A file that cannot be read or holds no certificate.
    pub(crate) fn new(authorities: Option<&Path>) -> Result<Connector, String> {
        let read = |path| certificates(path, "sources.authorities");
        let authorities = authorities.map(read).transpose()?.unwrap_or_default();
        Ok(Connector { authorities, config: OnceLock::new() })
    }

    /// # Errors
    /// A service that is not who it says, or speaks something else.
    pub(crate) async fn connect(&self, tcp: TcpStream, host: &str) -> io::Result<TlsStream<TcpStream>> {
        let config = self.config.get_or_init(|| self.read());
        let config = config.as_ref().map_err(|message| io::Error::other(message.clone()))?;
        let name = ServerName::try_from(host.to_owned()).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, "no name that a certificate can have")
        })?;
        TlsConnector::from(Arc::clone(config)).connect(name, tcp).await
    }

    fn read(&self) -> Result<Arc<ClientConfig>, String> {
        let mut roots = RootCertStore::empty();
        // Some of a system's certificates may be too old to be read; those that can be read count.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        for authority in &self.authorities {
            roots.add(authority.clone()).map_err(|error| format!("{error}; see `sources.authorities`"))?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
    }
}

//! TLS 1.2 and 1.3 by rustls. Renewed certificates are taken up without a restart.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use arc_swap::ArcSwap;
use durward_files::{SecretReaders, read_secret};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::{Certificates, NotAccepted, TlsError};

/// The longest file with a key; some hold the certificates as well.
const KEY_BYTES_MAX: u64 = 1024 * 1024;

/// How often the files are looked at for renewed certificates.
const RENEWAL_CHECK: Duration = Duration::from_secs(10);

/// Turns connections into encrypted ones.
#[derive(Clone, Debug)]
pub struct Acceptor(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    files: Certificates,
    config: ArcSwap<ServerConfig>,
    seen: Mutex<Seen>,
}

/// When the files were looked at last, and when they had been changed last.
#[derive(Debug)]
struct Seen {
    looked: Instant,
    changed: [Option<SystemTime>; 3],
}

impl Acceptor {
    /// # Errors
    /// Files that cannot be read, or hold something else than certificates and a key that belong together.
    pub fn new(files: Certificates) -> Result<Acceptor, TlsError> {
        let seen = Seen { looked: Instant::now(), changed: changed(&files) };
        let config = ArcSwap::from_pointee(config(&files)?);
        Ok(Acceptor(Arc::new(Inner { files, config, seen: Mutex::new(seen) })))
    }

    /// The encrypted connection.
    ///
    /// # Errors
    /// A caller that is slower than `time_max`, speaks something else or may not call.
    pub async fn accept(
        &self,
        stream: TcpStream,
        time_max: Duration,
    ) -> Result<TlsStream<TcpStream>, NotAccepted> {
        self.renew();
        let acceptor = TlsAcceptor::from(self.0.config.load_full());
        match timeout(time_max, acceptor.accept(stream)).await {
            Ok(accepted) => accepted.map_err(NotAccepted::Failed),
            Err(_) => Err(NotAccepted::TooSlow),
        }
    }

    /// Takes up certificates that were renewed; broken ones leave the old ones in use.
    fn renew(&self) {
        let mut seen = self.0.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.looked.elapsed() < RENEWAL_CHECK {
            return;
        }
        seen.looked = Instant::now();
        let now = changed(&self.0.files);
        if now == seen.changed {
            return;
        }
        seen.changed = now;
        match config(&self.0.files) {
            Ok(config) => {
                self.0.config.store(Arc::new(config));
                tracing::info!("renewed certificates in use");
            }
            Err(error) => {
                tracing::error!(%error, "the renewed certificates are broken; the old ones stay in use")
            }
        }
    }
}

fn changed(files: &Certificates) -> [Option<SystemTime>; 3] {
    let of = |path: &Path| std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    [of(&files.certificate), of(&files.key), files.client_authorities.as_deref().and_then(of)]
}

fn config(files: &Certificates) -> Result<ServerConfig, TlsError> {
    let setting = |name: &str| format!("{}.{name}", files.section);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError(error.to_string()))?;
    let builder = match &files.client_authorities {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(path, &setting("client_authorities"))? {
                roots.add(certificate).map_err(|error| told(path, &setting("client_authorities"), &error))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(
                verifier.map_err(|error| told(path, &setting("client_authorities"), &error))?,
            )
        }
    };
    let chain = certificates(&files.certificate, &setting("certificate"))?;
    let key = read_secret(&files.key, SecretReaders::OwnerAndGroup, KEY_BYTES_MAX)
        .map_err(|error| told(&files.key, &setting("key"), &error))?;
    let key =
        PrivateKeyDer::from_pem_slice(&key).map_err(|error| told(&files.key, &setting("key"), &error))?;
    let mut config =
        builder.with_single_cert(chain, key).map_err(|error| told(&files.key, &setting("key"), &error))?;
    config.alpn_protocols = files.protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    Ok(config)
}

pub(super) fn certificates(path: &Path, setting: &str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(certificates) if certificates.is_empty() => Err(told(path, setting, &"no certificate in it")),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(told(path, setting, &error)),
    }
}

fn told(path: &Path, setting: &str, error: &dyn std::fmt::Display) -> TlsError {
    TlsError(format!("{}: {error}; see `{setting}`", path.display()))
}

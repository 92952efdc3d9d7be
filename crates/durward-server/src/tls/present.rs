//! TLS 1.2 and 1.3 by rustls. Renewed certificates are taken up without a restart.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use arc_swap::ArcSwap;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::{NotAccepted, Purpose};
use crate::base::settings::TlsSettings;

/// How often the files are looked at for renewed certificates.
const RENEWAL_CHECK: Duration = Duration::from_secs(10);

/// Turns connections into encrypted ones.
#[derive(Clone, Debug)]
pub(crate) struct Acceptor(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: TlsSettings,
    purpose: Purpose,
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
    pub(crate) fn new(settings: &TlsSettings, purpose: Purpose) -> Result<Acceptor, String> {
        let seen = Seen { looked: Instant::now(), changed: changed(settings) };
        let config = ArcSwap::from_pointee(config(settings, purpose)?);
        Ok(Acceptor(Arc::new(Inner { settings: settings.clone(), purpose, config, seen: Mutex::new(seen) })))
    }

    /// The encrypted connection.
    ///
    /// # Errors
    /// A caller that is slower than `time_max`, speaks something else or may not call.
    pub(crate) async fn accept(
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
        let now = changed(&self.0.settings);
        if now == seen.changed {
            return;
        }
        seen.changed = now;
        match config(&self.0.settings, self.0.purpose) {
            Ok(config) => {
                self.0.config.store(Arc::new(config));
                tracing::info!("renewed certificates in use");
            }
            Err(error) => {
                tracing::error!(error, "the renewed certificates are broken; the old ones stay in use")
            }
        }
    }
}

fn changed(settings: &TlsSettings) -> [Option<SystemTime>; 3] {
    let of = |path: &Path| std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    [of(&settings.certificate), of(&settings.key), settings.client_authorities.as_deref().and_then(of)]
}

fn config(settings: &TlsSettings, purpose: Purpose) -> Result<ServerConfig, String> {
    let setting = |name: &str| format!("{}.{name}", purpose.section());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = match &settings.client_authorities {
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
    let chain = certificates(&settings.certificate, &setting("certificate"))?;
    let key = PrivateKeyDer::from_pem_file(&settings.key)
        .map_err(|error| told(&settings.key, &setting("key"), &error))?;
    let mut config =
        builder.with_single_cert(chain, key).map_err(|error| told(&settings.key, &setting("key"), &error))?;
    match purpose {
        Purpose::Http => config.alpn_protocols = vec![b"http/1.1".to_vec()],
        // It has no name registered.
        Purpose::Rsocket => {}
    }
    Ok(config)
}

pub(super) fn certificates(path: &Path, setting: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(certificates) if certificates.is_empty() => Err(told(path, setting, &"no certificate in it")),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(told(path, setting, &error)),
    }
}

fn told(path: &Path, setting: &str, error: &dyn std::fmt::Display) -> String {
    format!("{}: {error}; see `{setting}`", path.display())
}

//! An application of OPC UA on this machine: its certificate, whom it trusts, its clock; and the runtime that it runs in.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use durward_opcua::channel::{ChannelSettings, Clock, Workers};
use durward_opcua::crypto::{KeyLength, SecretFormat};
use durward_opcua::error::Error;
use durward_opcua::pki::{CertificateDirectory, CertificateDraft, self_signed};
use durward_opcua::session::{ExpectedServer, SessionClientSettings};
use durward_session::identity::Moment;
use tokio::runtime;

use crate::failure::CommandError;
use crate::serve;

/// How long a session may be idle.
const SESSION_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a response may take.
const REQUEST_MAX: Duration = Duration::from_secs(30);

/// The application whose certificate lies in a directory.
pub(super) struct OwnApplication {
    /// Its certificates.
    pub(super) directory: CertificateDirectory,
    /// Its URI, as in its certificate.
    pub(super) uri: String,
    /// Its certificate, trust, clock and workers.
    pub(super) channel: ChannelSettings,
}

impl OwnApplication {
    /// The application of a directory.
    ///
    /// # Errors
    /// There is no directory, no certificate in it, or one that names no application.
    pub(super) fn open(directory: &Path) -> Result<OwnApplication, CommandError> {
        let make = "`durward opcua pki create` makes one with a certificate in it";
        if !directory.is_dir() {
            return Err(
                CommandError::new(format!("there is no directory {}", directory.display())).hint(make)
            );
        }
        let opened = CertificateDirectory::open(directory).map_err(failure)?;
        let missing = || {
            CommandError::new(format!("there is no certificate in {}/own/certs", directory.display()))
                .hint(make)
        };
        let own = opened.own().map_err(failure)?.ok_or_else(missing)?;
        let uri = own.certificate().application_uri().map(str::to_owned).ok_or_else(|| {
            CommandError::new(format!(
                "the certificate in {}/own/certs names no application",
                directory.display()
            ))
        })?;
        let channel = ChannelSettings::new(own, Arc::new(opened.clone()), clock(), workers());
        Ok(OwnApplication { directory: opened, uri, channel })
    }

    /// Makes the directory and a certificate of this URI in it, if there is none yet.
    ///
    /// # Errors
    /// Nothing can be written.
    pub(super) fn create(directory: &Path, uri: &str) -> Result<OwnApplication, CommandError> {
        let opened = CertificateDirectory::open(directory).map_err(failure)?;
        if opened.own().map_err(failure)?.is_none() {
            let draft = CertificateDraft {
                application_uri: uri.to_owned(),
                common_name: uri.to_owned(),
                organization: String::new(),
                hosts: vec!["localhost".to_owned(), "127.0.0.1".to_owned()],
                valid_from: clock()(),
                valid_for: Duration::from_secs(365 * 24 * 3_600),
            };
            let own = self_signed(&draft, KeyLength::Rsa2048).map_err(failure)?;
            opened.store_own(&own).map_err(failure)?;
        }
        OwnApplication::open(directory)
    }

    /// Trusts another application.
    ///
    /// # Errors
    /// Nothing can be written.
    pub(super) fn trust(&self, other: &OwnApplication) -> Result<(), CommandError> {
        self.directory.trust(other.channel.own.certificate()).map_err(failure)
    }

    /// Its certificate (DER).
    pub(super) fn certificate(&self) -> Vec<u8> {
        self.channel.own.certificate().der().to_vec()
    }

    /// The application as a client.
    pub(super) fn client(&self, name: &str) -> SessionClientSettings {
        SessionClientSettings {
            channel: Arc::new(self.channel.clone()),
            application_uri: self.uri.clone(),
            server: ExpectedServer::default(),
            product_uri: "urn:durward:opcua".to_owned(),
            application_name: name.to_owned(),
            session_name: name.to_owned(),
            session_timeout: SESSION_TIMEOUT,
            request_max: REQUEST_MAX,
            locale_ids: Vec::new(),
            secret_format: SecretFormat::Legacy,
            keep_alive: None,
        }
    }
}

/// An error of the library in the words of who sits before it.
pub(super) fn failure(error: Error) -> CommandError {
    CommandError::new(error.reason().to_owned())
}

/// The time.
pub(super) fn clock() -> Clock {
    let clock = serve::clock();
    Arc::new(move || Moment::of(clock()))
}

/// As many as there are cores.
pub(super) fn workers() -> Workers {
    Workers::new(std::thread::available_parallelism().map_or(2, usize::from))
}

/// Runs a task to its end, on as many threads as there are cores.
///
/// # Errors
/// There are no threads; those of the task.
pub(super) fn run<T>(task: impl Future<Output = Result<T, CommandError>>) -> Result<T, CommandError> {
    let runtime = runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = runtime.block_on(task);
    // What still waits, such as a name that is looked up, must not hold up the end.
    runtime.shutdown_background();
    done
}

//! `durward opcua authority`: the authorization service on the network.

use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use durward_opcua::authority::{AuthorizationServer, RegisteredResource};
use durward_opcua::pki::read_certificate;
use durward_server::{
    IdentitySettings, OpcuaAuthoritySettings, PolicySource, SessionMode, Settings, start_log, start_sessions,
};
use durward_session::Service;
use durward_session::identity::jwt::{Algorithm, SigningKey, SigningKeys};
use durward_session::identity::{IdentityError, Moment};

use super::application::{self, Application, clock};
use super::authority::Authority;
use super::decider::{Policies, PolicyDecider};
use super::keep::FileKeep;
use super::settings::{self, bind};
use super::subjects::Users;
use crate::failure::{Failure, Outcome, without_number};
use crate::serve::{self, raise_open_files, stop_signal};

const EXAMPLES: &str = "\
Examples:
  durward opcua authority --config durward.toml
  durward opcua authority --policies policies/ --users users.journal --listen 10.0.0.4:4841

The signing key is made at the first start, and its public half is written beside it, as jwks.json, for gates. Changed policies are put in
force while it runs, and the tokens that the old ones decided are recalled. SIGTERM and Ctrl-C end it.";

/// Serve tokens for OPC UA: the authorization service
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The configuration; without it durward.toml, if there is one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The address and port to listen on
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// A policy file, or a directory
    #[arg(long, value_name = "DIR|FILE")]
    policies: Option<PathBuf>,
    /// The file of the users
    #[arg(long, value_name = "FILE")]
    users: Option<PathBuf>,
    /// The directory of its certificates
    #[arg(long, value_name = "DIR")]
    pki: Option<PathBuf>,
}

impl Arguments {
    fn settings(&self) -> Result<Settings, Failure> {
        let mut settings = settings::read(self.config.as_deref())?;
        let own = &mut settings.opcua.authority;
        own.listen = self.listen.unwrap_or(own.listen);
        own.pki = self.pki.clone().unwrap_or_else(|| own.pki.clone());
        settings.policies.path = self.policies.clone().unwrap_or_else(|| settings.policies.path.clone());
        settings.identity.users = self.users.clone().or(settings.identity.users);
        Ok(settings)
    }

    pub(super) fn run(&self) -> Outcome {
        let settings = self.settings()?;
        start_log(&settings.log).map_err(|error| Failure::new(error.to_string()))?;
        raise_open_files();
        application::run(async {
            let stop = stop_signal()?;
            let own = &settings.opcua.authority;
            let alone = alone(&settings.identity, &own.data);
            make_folder(&own.data)?;
            let sessions = start_sessions(&alone, &serve::clock()).map_err(failed)?;
            let (sessions, running) = sessions.ok_or_else(no_users)?;
            let server = start(&settings, sessions).await?;
            stop.await;
            server.shutdown();
            running.stop().await;
            tracing::info!("the authorization service has ended");
            Ok(ExitCode::SUCCESS)
        })
    }
}

/// Starts the service for the users and sessions of a node, as the settings say. Needs a runtime.
///
/// # Errors
/// Settings, policies, keys or certificates that cannot be used; a socket that is taken.
pub(crate) async fn start(
    settings: &Settings,
    sessions: Service,
) -> Result<Arc<AuthorizationServer>, Failure> {
    let own = &settings.opcua.authority;
    if settings.policies.source != PolicySource::Directory {
        return Err(Failure::new("the authorization service for OPC UA reads policies from a directory")
            .hint("`policies.source = \"directory\"`, and `policies.path`"));
    }
    let (listener, url) = bind(own.listen, own.url.as_deref()).await?;
    let server = authority(settings, url.clone(), sessions)?.start(listener)?;
    tracing::info!(url, "the authorization service listens");
    Ok(server)
}

/// Users and sessions for a process that serves nothing but OPC UA. Sessions are those of a cluster, where there is one; else there are
/// none, and what `durward serve` keeps beside it stays its own.
fn alone(settings: &IdentitySettings, data: &Path) -> IdentitySettings {
    let mut settings = settings.clone();
    if settings.nats.is_none() {
        settings.mode = SessionMode::None;
        settings.data = None;
    }
    settings.audit = settings.audit.map(|_| data.join("logins.audit"));
    settings
}

/// What to do where there is nobody whom a token could be for.
pub(crate) fn no_users() -> Failure {
    Failure::new("there are no users").hint(
        "name the file of `durward users`, `--users FILE`, or in durward.toml `identity.users` or `[[identity.ldap]]`",
    )
}

fn failed(error: IdentityError) -> Failure {
    Failure::new(without_number(&error.to_string()))
}

fn authority(settings: &Settings, url: String, sessions: Service) -> Result<Authority, Failure> {
    let own = &settings.opcua.authority;
    let lifetime = Duration::from_secs(own.token_lifetime_s);
    let application = Application::open(&own.pki)?;
    make_folder(&own.data)?;
    let (subjects, recall) = Users::new(sessions, &own.realm, lifetime);
    let policies =
        Policies { paths: vec![settings.policies.path.clone()], combining: settings.policies.combining };
    let keys = keys(&own.data, lifetime)?;
    Ok(Authority {
        application,
        url,
        decider: Arc::new(PolicyDecider::new(policies, lifetime)?),
        subjects: Arc::new(subjects),
        recall: Some(recall),
        keep: Arc::new(FileKeep::open(&own.data.join("recalled.journal"))?),
        keys,
        token_lifetime: lifetime,
        resources: resources(own)?,
    })
}

fn make_folder(data: &Path) -> Result<(), Failure> {
    fs::create_dir_all(data).map_err(|error| cannot_write(data, &error))
}

fn resources(own: &OpcuaAuthoritySettings) -> Result<Vec<RegisteredResource>, Failure> {
    let mut resources = Vec::new();
    for resource in &own.resources {
        let certificate = resource.certificate.as_deref().map(read_certificate).transpose();
        let certificate =
            certificate.map_err(application::failure)?.map(|certificate| certificate.der().to_vec());
        resources.push(RegisteredResource { id: resource.id.clone(), certificate });
    }
    if resources.is_empty() {
        return Err(Failure::new("there is no server that tokens could be for")
            .hint("name its gate in durward.toml: `[[opcua.authority.resources]]`, `id` and `certificate`"));
    }
    Ok(resources)
}

/// The signing key of a directory, made where there is none; its public half is written anew each time.
fn keys(data: &Path, lifetime: Duration) -> Result<SigningKeys, Failure> {
    let path = data.join("signing.key");
    if !path.exists() {
        let key = SigningKey::generate(Algorithm::Es256).map_err(failed)?;
        let mut options = fs::OpenOptions::new();
        let written = options.write(true).create_new(true).mode(0o600).open(&path);
        written
            .and_then(|mut file| file.write_all(key.expose()).and_then(|()| file.sync_all()))
            .map_err(|error| cannot_write(&path, &error))?;
    }
    let bytes = fs::read(&path).map_err(|error| Failure::unreadable(&path, &error))?;
    // A key of the operator's own is PEM.
    let key = match std::str::from_utf8(&bytes).ok().filter(|text| text.contains("-----BEGIN ")) {
        Some(pem) => SigningKey::read(pem),
        None => SigningKey::from_pkcs8(&bytes),
    };
    let key = key.map_err(|error| failed(error).at(&path))?;
    // From the beginning of time: a key that was there before the clock was set back signs all the same.
    let keys = SigningKeys::new(lifetime).with(key, Moment::from_ms(0), clock()()).map_err(failed)?;
    let public = data.join("jwks.json");
    fs::write(&public, format!("{}\n", keys.to_jwks(clock()())))
        .map_err(|error| cannot_write(&public, &error))?;
    Ok(keys)
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot write {}: {}", path.display(), without_number(&error.to_string())))
}

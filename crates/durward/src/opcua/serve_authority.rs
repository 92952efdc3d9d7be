//! `durward opcua authority`: the authorization service on the network.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use durward_opcua::authority::{AuthorityLogAudit, AuthorizationServer, RegisteredResource};
use durward_opcua::pki::{self, read_certificate};
use durward_server::{
    IdentitySettings, OpcuaAuthoritySettings, PolicySource, SessionMode, Settings, start_log, start_sessions,
};
use durward_session::Service;

use super::application::{self, OwnApplication, clock};
use super::audit::ChainedAudit;
use super::authority::AuthorityArguments;
use super::decider::{PolicyDecider, PolicyFiles};
use super::keep::FileAuthorityStore;
use super::keys::AuthorityKeys;
use super::metrics::{self, AuthorityProbe};
use super::settings::{self, bind};
use super::subjects::SessionUsers;
use crate::failure::{CommandError, CommandResult, without_number};
use crate::serve::{self, raise_open_files, stop_signal};

const EXAMPLES: &str = "\
Examples:
  durward opcua authority --config durward.toml
  durward opcua authority --policies policies/ --users users.journal --listen 10.0.0.4:4841

The signing key is made at the first start, and its public half is written beside it, as jwks.json, for gates. Changed policies are put in
force while it runs, and the tokens that the old ones decided are revoked. SIGTERM and Ctrl-C end it.";

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
    /// Serve /metrics and /health there
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<SocketAddr>,
}

impl Arguments {
    fn settings(&self) -> Result<Settings, CommandError> {
        let mut settings = settings::read(self.config.as_deref())?;
        let own = &mut settings.opcua.authority;
        own.listen = self.listen.unwrap_or(own.listen);
        own.pki = self.pki.clone().unwrap_or_else(|| own.pki.clone());
        own.metrics_listen = self.metrics.or(own.metrics_listen);
        if let Some(path) = &self.policies {
            (settings.policies.path, settings.policies.source) = (path.clone(), PolicySource::Directory);
        }
        settings.identity.users = self.users.clone().or(settings.identity.users);
        Ok(settings)
    }

    pub(super) fn run(&self) -> CommandResult {
        let settings = self.settings()?;
        start_log(&settings.log).map_err(|error| CommandError::new(error.to_string()))?;
        raise_open_files();
        application::run(async {
            let stop = stop_signal()?;
            let own = &settings.opcua.authority;
            std::fs::create_dir_all(&own.data).map_err(|error| {
                let why = without_number(&error.to_string());
                CommandError::new(format!("cannot make {}: {why}", own.data.display()))
            })?;
            let sessions = start_sessions(&alone(&settings.identity, &own.data), &serve::clock())
                .map_err(|error| CommandError::new(without_number(&error.to_string())))?;
            let (sessions, running) = sessions.ok_or_else(no_users)?;
            let started = start(&settings, sessions).await?;
            stop.await;
            started.stop().await;
            running.stop().await;
            tracing::info!("the authorization service has ended");
            Ok(ExitCode::SUCCESS)
        })
    }
}

/// An authorization service that serves.
pub(crate) struct StartedAuthority {
    server: Arc<AuthorizationServer>,
    audit: Option<ChainedAudit>,
}

impl StartedAuthority {
    /// Ends it.
    pub(crate) async fn stop(self) {
        self.server.shutdown();
        if let Some(audit) = self.audit {
            audit.close().await;
        }
    }
}

/// Starts the service for the users and sessions of a node, as the settings say. Needs a runtime.
///
/// # Errors
/// Settings, policies, keys or certificates that cannot be used; a socket that is taken.
pub(crate) async fn start(settings: &Settings, sessions: Service) -> Result<StartedAuthority, CommandError> {
    let own = &settings.opcua.authority;
    let (listener, url) = bind(own.listen, own.url.as_deref()).await?;
    let keys = AuthorityKeys::open(own, clock())?;
    let audit = own.audit.as_deref().map(|path| ChainedAudit::open(path, &settings.identity, clock()()));
    let audit = audit.transpose()?;
    let authority = authority(settings, url.clone(), sessions, &keys, audit.as_ref())?;
    let decider = Arc::clone(&authority.decider);
    let server = authority.start(listener)?;
    tokio::spawn(keys.follow());
    if let Some(listen) = own.metrics_listen {
        let users = settings.identity.users.clone();
        metrics::serve(listen, AuthorityProbe::new(Arc::clone(&server), decider, users)).await?;
    }
    tracing::info!(url, "the authorization service listens");
    Ok(StartedAuthority { server, audit })
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
pub(crate) fn no_users() -> CommandError {
    CommandError::new("there are no users").hint(
        "name the file of `durward users`, `--users FILE`, or in durward.toml `identity.users` or `[[identity.ldap]]`",
    )
}

fn authority(
    settings: &Settings,
    url: String,
    sessions: Service,
    keys: &AuthorityKeys,
    audit: Option<&ChainedAudit>,
) -> Result<AuthorityArguments, CommandError> {
    let own = &settings.opcua.authority;
    let lifetime = Duration::from_secs(own.token_lifetime_s);
    let application = OwnApplication::open(&own.pki)?;
    if settings.policies.source != PolicySource::Directory {
        return Err(CommandError::new(
            "the authorization service of OPC UA reads policies from a directory or file only",
        )
        .hint(
            "leave `policies.source` out, or give `--policies`; `durward bundle unpack` unpacks a bundle",
        ));
    }
    let policies =
        PolicyFiles { paths: vec![settings.policies.path.clone()], combining: settings.policies.combining };
    let certificates = own.user_pki.as_ref().map(pki::CertificateDirectory::open).transpose();
    let certificates = certificates.map_err(application::failure)?;
    let (subjects, recall) = SessionUsers::new(sessions, &own.realm, certificates, lifetime);
    Ok(AuthorityArguments {
        application,
        url,
        decider: Arc::new(PolicyDecider::new(policies, lifetime)?),
        subjects: Arc::new(subjects),
        recall: Some(recall),
        policies_kept: Some(own.data.join("policies.version")),
        keep: Arc::new(FileAuthorityStore::open(&own.data.join("recalled.journal"))?),
        audit: match audit {
            Some(audit) => Arc::new(audit.clone()),
            None => Arc::new(AuthorityLogAudit),
        },
        keys: keys.shared(),
        token_lifetime: lifetime,
        resources: resources(own)?,
    })
}

fn resources(own: &OpcuaAuthoritySettings) -> Result<Vec<RegisteredResource>, CommandError> {
    let mut resources = Vec::new();
    for resource in &own.resources {
        let certificate = resource.certificate.as_deref().map(read_certificate).transpose();
        let certificate =
            certificate.map_err(application::failure)?.map(|certificate| certificate.der().to_vec());
        resources.push(RegisteredResource { id: resource.id.clone(), certificate });
    }
    if resources.is_empty() {
        return Err(CommandError::new("there is no server that tokens could be for")
            .hint("name its gate in durward.toml: `[[opcua.authority.resources]]`, `id` and `certificate`"));
    }
    Ok(resources)
}

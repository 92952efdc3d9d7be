//! `durward opcua gate`: a gate in front of a server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use durward_opcua::gate::{Gate, GateAuthoritySettings, GateSettings, TokenEncryption, UpstreamSettings};
use durward_opcua::session::{ClientIdentity, ExpectedServer, PinnedApplication};
use durward_opcua::token::{LiveDecider, PerRightKind};
use durward_server::{OpcuaGateSettings, PolicySource, Settings, start_log};

use super::application::{self, OwnApplication, clock};
use super::audit::ChainedAudit;
use super::keys::{PublicKeyFile, read_public};
use super::live;
use super::metrics::{self, GateProbe};
use super::passwords::PasswordTokens;
use super::settings::{self, bind, needed, secret_text};
use crate::failure::{CommandError, CommandResult};
use crate::serve::{raise_open_files, stop_signal};

const EXAMPLES: &str = "\
Examples:
  durward opcua gate --config durward.toml
  durward opcua gate --upstream opc.tcp://plc:4840 --authority opc.tcp://10.0.0.4:4841 --issuer urn:plant:as --keys jwks.json

`jwks.json` is what `durward opcua authority` writes into its directory of data at its first start. With that file, neither server nor
authorization service has to be there when the gate starts. SIGTERM and Ctrl-C end it.";

/// Stand in front of an OPC UA server, and let through what tokens grant
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The configuration; without it durward.toml, if there is one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The address and port to listen on
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// The server behind the gate: opc.tcp://plc:4840
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,
    /// The authorization service
    #[arg(long, value_name = "URL")]
    authority: Option<String>,
    /// The issuer of tokens: the ApplicationUri of the authorization service
    #[arg(long, value_name = "URI")]
    issuer: Option<String>,
    /// The public keys of the authorization service, a file
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// The directory of its certificates
    #[arg(long, value_name = "DIR")]
    pki: Option<PathBuf>,
    /// A policy file, or a directory, of the gate's own decision point, for what tokens leave open
    #[arg(long, value_name = "DIR|FILE")]
    policies: Option<PathBuf>,
    /// Serve /metrics and /health there
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<SocketAddr>,
}

impl Arguments {
    fn settings(&self) -> Result<Settings, CommandError> {
        let mut settings = settings::read(self.config.as_deref())?;
        let own = &mut settings.opcua.gate;
        own.listen = self.listen.unwrap_or(own.listen);
        own.pki = self.pki.clone().unwrap_or_else(|| own.pki.clone());
        own.upstream = self.upstream.clone().or(own.upstream.take());
        own.authority = self.authority.clone().or(own.authority.take());
        own.issuer = self.issuer.clone().or(own.issuer.take());
        own.keys = self.keys.clone().or(own.keys.take());
        own.metrics_listen = self.metrics.or(own.metrics_listen);
        if let Some(path) = &self.policies {
            let from = own.policies.get_or_insert_default();
            (from.path, from.source) = (path.clone(), PolicySource::Directory);
        }
        Ok(settings)
    }

    pub(super) fn run(&self) -> CommandResult {
        let settings = self.settings()?;
        start_log(&settings.log).map_err(|error| CommandError::new(error.to_string()))?;
        raise_open_files();
        let own = &settings.opcua.gate;
        let keys = needed(own.keys.as_ref(), "opcua.gate.keys", "--keys FILE")?;
        // Looked at before the keys are read: what changes in between is seen later.
        let keys = PublicKeyFile::new(keys);
        let mut gate = gate(own)?;
        let policies = live::start(&settings, &gate.application_uri)?;
        gate.live = policies.as_ref().map(|policies| Arc::clone(&policies.live) as Arc<dyn LiveDecider>);
        application::run(async {
            let stop = stop_signal()?;
            let (listener, url) = bind(own.listen, own.url.as_deref()).await?;
            gate.endpoint_url.clone_from(&url);
            let upstream = gate.upstream.url.clone();
            let audit =
                own.audit.as_deref().map(|path| ChainedAudit::open(path, &settings.identity, clock()()));
            let audit = audit.transpose()?;
            if let Some(audit) = &audit {
                gate.audit = Arc::new(audit.clone());
            }
            let gate = Arc::new(Gate::start(gate).map_err(application::failure)?);
            let serving = Arc::clone(&gate);
            tokio::spawn(async move { serving.serve(listener).await });
            let keyed = Arc::downgrade(&gate);
            tokio::spawn(keys.follow(move |keys| {
                if let Some(gate) = keyed.upgrade() {
                    gate.set_keys(keys);
                }
            }));
            if let Some(listen) = own.metrics_listen {
                metrics::serve(listen, GateProbe::new(Arc::clone(&gate), policies)).await?;
            }
            tracing::info!(url, upstream, "the gate listens");
            stop.await;
            gate.shutdown();
            if let Some(audit) = audit {
                audit.close().await;
            }
            tracing::info!("the gate has ended");
            Ok(ExitCode::SUCCESS)
        })
    }
}

fn gate(own: &OpcuaGateSettings) -> Result<GateSettings, CommandError> {
    let upstream_url = needed(own.upstream.as_ref(), "opcua.gate.upstream", "--upstream URL")?;
    let authority_url = needed(own.authority.as_ref(), "opcua.gate.authority", "--authority URL")?;
    let issuer = needed(own.issuer.as_ref(), "opcua.gate.issuer", "--issuer URI")?;
    let keys = needed(own.keys.as_ref(), "opcua.gate.keys", "--keys FILE")?;
    let application = OwnApplication::open(&own.pki)?;
    let mut upstream = UpstreamSettings::new(upstream_url, application.client("durward gate"));
    upstream.client.server = ExpectedServer {
        pin: own.upstream_pin.as_deref().map(PinnedApplication::parse),
        danger_any_host_name: own.danger_upstream_any_host_name,
    };
    upstream.danger_upstream_without_security = own.danger_upstream_without_security;
    if let Some(name) = &own.upstream_user {
        let flag = "[opcua.gate] upstream_password_path";
        let path = needed(own.upstream_password_path.as_ref(), "opcua.gate.upstream_password_path", flag)?;
        let password = secret_text(&path)?.lines().next().unwrap_or_default().to_owned();
        upstream.identity = ClientIdentity::UserName { name: name.clone(), password: password.into() };
    }
    let uri = application.uri.clone();
    let mut gate = GateSettings::new(application.channel.clone(), uri, upstream, issuer, read_public(&keys)?);
    gate.token_lifetime_max = Duration::from_secs(own.token_lifetime_s);
    gate.token_encryption = match own.encrypt_tokens_twice {
        true => TokenEncryption::Always,
        false => TokenEncryption::OnceInEncryptedChannels,
    };
    gate.shows_server_state = own.show_server_state;
    let away = own.out_of_reach;
    let hold = |seconds: Option<u64>| seconds.map(Duration::from_secs);
    gate.reach.hold = PerRightKind {
        reading: hold(away.hold_reading_s),
        writing: hold(away.hold_writing_s),
        calling: hold(away.hold_calling_s),
    };
    gate.reach.grace = PerRightKind {
        reading: Duration::from_secs(away.grace_reading_s),
        writing: Duration::from_secs(away.grace_writing_s),
        calling: Duration::from_secs(away.grace_calling_s),
    };
    let mut client = application.client("durward gate");
    client.server.danger_any_host_name = own.danger_authority_any_host_name;
    let pin = own.authority_pin.as_deref().map(PinnedApplication::parse);
    let mut authority = GateAuthoritySettings::new(&*authority_url, client.clone());
    authority.server.clone_from(&pin);
    client.server.pin = pin.or_else(|| Some(PinnedApplication::ApplicationUri(gate.issuer.clone())));
    gate.users = Some(PasswordTokens::new(&authority_url, &application.uri, client));
    gate.authority = Some(authority);
    gate.authority_url = authority_url;
    Ok(gate)
}

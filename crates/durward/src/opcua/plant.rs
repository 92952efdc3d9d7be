//! `durward opcua plant`: a small OPC UA server with a boiler, to try a gate with.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use durward_opcua::crypto::SecurityPolicy;
use durward_opcua::plant::{HostService, PasswordUsers, PlantHost, boiler};
use durward_opcua::session::{Endpoint, ServerLimits, ServerSettings, SessionServer, UserTokenKind};
use durward_server::{LogSettings, start_log};
use opcua_types::MessageSecurityMode;
use tokio::net::TcpListener;

use super::application::{self, OwnApplication, clock};
use super::settings::bind;
use crate::failure::{CommandError, CommandResult};
use crate::serve::stop_signal;
use crate::users::password;

const EXAMPLES: &str = "\
Examples:
  durward opcua plant --pki pki-plant
  durward opcua plant --pki pki-plant --listen 127.0.0.1:4843 --user gate --password-file gate.password

Without --user it lets in every application whose certificate it trusts. SIGTERM and Ctrl-C end it.";

/// Serve a small plant with a boiler, to try a gate on
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The address and port to listen on
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4842")]
    listen: SocketAddr,
    /// The directory of its certificate, and of those that it trusts
    #[arg(long, value_name = "DIR", default_value = "pki-plant")]
    pki: PathBuf,
    /// The one user that it lets in
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// A file with the user's password, its first line; without it the terminal or standard input
    #[arg(long, value_name = "FILE", requires = "user")]
    password_file: Option<PathBuf>,
    /// Further variables, with numbers that rise, below /Objects/Plant/Tags
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=100_000))]
    tags: u32,
}

impl Arguments {
    pub(super) fn run(&self) -> CommandResult {
        start_log(&LogSettings::default()).map_err(|error| CommandError::new(error.to_string()))?;
        let application = OwnApplication::open(&self.pki)?;
        let mut users = PasswordUsers { anonymous: self.user.is_none(), ..PasswordUsers::default() };
        if let Some(name) = &self.user {
            let password = password::read_known(self.password_file.as_deref())?;
            users.passwords.insert(name.clone(), password.into_bytes().into());
        }
        application::run(async {
            let stop = stop_signal()?;
            let (listener, url) = bind(self.listen, None).await?;
            start_with(&application, listener, &url, users, self.tags)?;
            tracing::info!(url, "the plant listens");
            stop.await;
            Ok(ExitCode::SUCCESS)
        })
    }
}

/// Starts a plant for these users. Needs a runtime.
///
/// # Errors
/// Its certificate cannot be used.
pub(super) fn start(
    application: &OwnApplication,
    listener: TcpListener,
    url: &str,
    users: PasswordUsers,
) -> Result<(), CommandError> {
    start_with(application, listener, url, users, 0)
}

fn start_with(
    application: &OwnApplication,
    listener: TcpListener,
    url: &str,
    users: PasswordUsers,
    tags: u32,
) -> Result<(), CommandError> {
    let clock = clock();
    let space = boiler(&application.uri, tags as usize, clock())
        .map_err(|error| CommandError::new(error.to_string()))?;
    let host = PlantHost::new(space, move || clock());
    let kinds = [if users.anonymous { UserTokenKind::Anonymous } else { UserTokenKind::UserName }];
    let endpoint = |policy| Endpoint::new(policy, MessageSecurityMode::SignAndEncrypt, &kinds);
    let settings = ServerSettings {
        channel: application.channel.clone(),
        application_uri: application.uri.clone(),
        product_uri: "urn:durward:opcua:plant".to_owned(),
        application_name: "durward plant".to_owned(),
        endpoint_url: url.to_owned(),
        endpoints: SecurityPolicy::SECURE.into_iter().map(endpoint).collect(),
        limits: ServerLimits::default(),
    };
    let service = HostService::new(Arc::clone(&host), users);
    let server = SessionServer::new(settings, Arc::new(service)).map_err(application::failure)?;
    tokio::spawn(async move { server.serve(listener).await });
    tokio::spawn(async move { host.run().await });
    Ok(())
}

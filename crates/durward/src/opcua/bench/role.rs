//! The processes that are measured: a plant, an authorization service, gates, and who makes load beside the measurement. Each says on
//! standard output where it listens, takes commands on standard input, and ends with it.

use std::fs;
use std::io::{BufRead, stdin};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use durward_opcua::authority::decide::{RightsDecider, RightsDecision, RightsQuestion};
use durward_opcua::authority::{
    AuthorityLogAudit, AuthorizationServer, AuthorizationService, AuthorizationServiceParts,
    AuthorizationServiceSettings, MemoryAuthorityStore, RegisteredResource, SubjectTable,
};
use durward_opcua::error::Error;
use durward_opcua::gate::{
    AnonymousRights, Gate, GateAuthoritySettings, GateSettings, TokenEncryption, UpstreamSettings,
};
use durward_opcua::permission::Permission;
use durward_opcua::plant::{HostService, PasswordUsers, PlantHost, boiler};
use durward_opcua::session::{
    ClientIdentity, Endpoint, ServerLimits, ServerSettings, SessionServer, UserTokenKind,
};
use durward_opcua::token::{CutoffTarget, GrantVerdict};
use durward_pdp::Algorithm as Combining;
use durward_server::{LogLevel, LogSettings, start_log};
use durward_session::identity::jwt::{SigningKey, SigningKeys, VerifyingKeys};
use durward_session::identity::user::HashCosts;
use durward_session::identity::{IdentityError, Moment};
use opcua_types::MessageSecurityMode;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::load;
use super::session::OFFER;
use crate::failure::{CommandError, CommandResult, without_number};
use crate::opcua::application::{self, OwnApplication, clock, workers};
use crate::opcua::decider::{PolicyDecider, PolicyFiles};
use crate::serve::raise_open_files;
use crate::to_stdout;

/// What stands before the URL on standard output.
pub(super) const READY: &str = "ready ";
/// What is said when a command was done.
pub(super) const DONE: &str = "done";

/// How the gate comes to the plant.
const PLANT_USER: &str = "gate";
const PLANT_PASSWORD: &str = "only for this benchmark";
/// The password of every user of the authorization service, which only the processes of the benchmark reach.
pub(super) const PASSWORD: &str = "only for this benchmark";
/// Passwords are hashed at next to no cost: Argon2id would be measured otherwise.
const CHEAP: HashCosts = HashCosts { memory_kib: 8, passes: 1, lanes: 1 };
/// The gates, as the plant knows them.
pub(super) fn plant_user() -> ClientIdentity {
    ClientIdentity::UserName { name: PLANT_USER.to_owned(), password: PLANT_PASSWORD.to_owned().into() }
}

/// More connections and sessions than any part needs.
const SESSIONS_MAX: usize = 4_096;

/// What a process is.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ProcessRole {
    Plant(PlantRole),
    Authority(AuthorityRole),
    Gate(GateRole),
    Load(load::AccessTarget),
    Relay(TcpRelay),
}

/// Passes bytes on to an address, as they are: what any process in between costs.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TcpRelay {
    pub(super) upstream: SocketAddr,
}

/// The server behind the gates.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PlantRole {
    pub(super) pki: PathBuf,
    /// Variables beside those of the boiler.
    pub(super) tags: usize,
}

/// How the authorization service comes to a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DecisionSource {
    /// Everything is granted; nobody is asked.
    Fixed,
    /// The decision point is asked for each token.
    Each,
    /// Its answer is used again, as it is by default.
    Kept,
}

/// The authorization service.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct AuthorityRole {
    pub(super) pki: PathBuf,
    pub(super) policies: PathBuf,
    /// The key that signs, PKCS #8.
    pub(super) key: PathBuf,
    pub(super) token_lifetime_s: u64,
    pub(super) decisions: DecisionSource,
    /// Resource ids, each with the directory of the gate's certificates.
    pub(super) resources: Vec<(String, PathBuf)>,
    /// ApplicationUri and roles of the client.
    pub(super) application: (String, Vec<String>),
    /// Names and roles.
    pub(super) users: Vec<(String, Vec<String>)>,
}

/// Who gets into a gate without a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AnonymousAccess {
    /// Nobody: a session whose token ends is closed.
    Nobody,
    /// Everybody, and may do nothing: a session whose token ends goes on as nobody's.
    WithNothing,
    /// Everybody, and may do everything: what tokens are compared with.
    WithEverything,
}

/// A gate.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct GateRole {
    pub(super) pki: PathBuf,
    pub(super) upstream: String,
    pub(super) authority: String,
    pub(super) issuer: String,
    pub(super) jwks: Json,
    /// Tokens are sent in plain within encrypted channels.
    pub(super) once: bool,
    pub(super) anonymous: AnonymousAccess,
    pub(super) publishing_ms: u64,
}

impl ProcessRole {
    /// Runs until standard input ends.
    pub(super) fn run(self) -> CommandResult {
        let log = LogSettings { level: LogLevel::Error, ..LogSettings::default() };
        start_log(&log).map_err(|error| CommandError::new(error.to_string()))?;
        raise_open_files();
        application::run(async {
            let mut commands = commands();
            match self {
                ProcessRole::Plant(plant) => {
                    let url = plant.start().await?;
                    to_stdout(&format!("{READY}{url}\n"))?;
                    while commands.recv().await.is_some() {}
                }
                ProcessRole::Authority(authority) => {
                    let (url, server) = authority.start().await?;
                    to_stdout(&format!("{READY}{url}\n"))?;
                    while let Some(command) = commands.recv().await {
                        recall(&server, &command).await?;
                        to_stdout(&format!("{DONE}\n"))?;
                    }
                }
                ProcessRole::Gate(gate) => {
                    let (url, gate) = gate.start().await?;
                    to_stdout(&format!("{READY}{url}\n"))?;
                    while commands.recv().await.is_some() {}
                    gate.shutdown();
                }
                ProcessRole::Relay(relay) => {
                    let (listener, url) = bind().await?;
                    tokio::spawn(relay.pass_on(listener));
                    to_stdout(&format!("{READY}{url}\n"))?;
                    while commands.recv().await.is_some() {}
                }
                ProcessRole::Load(load) => {
                    let running = load.start().await?;
                    to_stdout(&format!("{READY}\n"))?;
                    while commands.recv().await.is_some() {}
                    drop(running);
                }
            }
            Ok(ExitCode::SUCCESS)
        })
    }
}

/// The lines of standard input; ends with it, and so with whoever started this process.
fn commands() -> mpsc::UnboundedReceiver<String> {
    let (sender, commands) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let lines = stdin().lock().lines().map_while(Result::ok);
        let _ = lines.map(|line| sender.send(line)).take_while(Result::is_ok).count();
    });
    commands
}

/// `recall NAME`: the tokens of a user are recalled.
async fn recall(server: &AuthorizationServer, command: &str) -> Result<(), CommandError> {
    let name = command.strip_prefix("recall ").unwrap_or_default();
    server.service().revoke(CutoffTarget::Subject(name.into())).await.map_err(application::failure)
}

async fn bind() -> Result<(TcpListener, String), CommandError> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let url = format!("opc.tcp://{}", listener.local_addr()?);
    Ok((listener, url))
}

fn limits() -> ServerLimits {
    ServerLimits { connections_max: 2 * SESSIONS_MAX, sessions_max: SESSIONS_MAX, ..ServerLimits::default() }
}

fn failed(error: IdentityError) -> CommandError {
    CommandError::new(without_number(&error.to_string()))
}

impl TcpRelay {
    async fn pass_on(self, listener: TcpListener) -> Result<(), std::io::Error> {
        loop {
            let (mut client, _) = listener.accept().await?;
            let mut server = TcpStream::connect(self.upstream).await?;
            client.set_nodelay(true)?;
            server.set_nodelay(true)?;
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut client, &mut server).await });
        }
    }
}

impl PlantRole {
    async fn start(self) -> Result<String, CommandError> {
        let application = OwnApplication::open(&self.pki)?;
        let (listener, url) = bind().await?;
        let clock = clock();
        let space = boiler(&application.uri, self.tags, clock())
            .map_err(|error| CommandError::new(error.to_string()))?;
        let host = PlantHost::new(space, move || clock());
        let mut users = PasswordUsers { anonymous: true, ..PasswordUsers::default() };
        users.passwords.insert(PLANT_USER.to_owned(), PLANT_PASSWORD.as_bytes().to_vec().into());
        let kinds = [UserTokenKind::Anonymous, UserTokenKind::UserName];
        let settings = ServerSettings {
            endpoints: vec![Endpoint::new(OFFER.policy, OFFER.mode, &kinds)],
            application_uri: application.uri,
            channel: application.channel,
            product_uri: "urn:durward:opcua:plant".to_owned(),
            application_name: "durward bench plant".to_owned(),
            endpoint_url: url.clone(),
            limits: limits(),
        };
        let service = HostService::new(Arc::clone(&host), users);
        let server = SessionServer::new(settings, Arc::new(service)).map_err(application::failure)?;
        tokio::spawn(async move { server.serve(listener).await });
        tokio::spawn(async move { host.run().await });
        Ok(url)
    }
}

/// The signing key of a file.
pub(super) fn signing_keys(path: &std::path::Path, lifetime: Duration) -> Result<SigningKeys, CommandError> {
    let bytes = fs::read(path).map_err(|error| CommandError::unreadable(path, &error))?;
    let key = SigningKey::from_pkcs8(&bytes).map_err(failed)?;
    SigningKeys::new(lifetime).with(key, Moment::from_ms(0), clock()()).map_err(failed)
}

impl AuthorityRole {
    async fn start(self) -> Result<(String, Arc<AuthorizationServer>), CommandError> {
        let application = OwnApplication::open(&self.pki)?;
        let (listener, url) = bind().await?;
        let lifetime = Duration::from_secs(self.token_lifetime_s);
        let decider: Arc<dyn RightsDecider> = match self.decisions {
            DecisionSource::Fixed => Arc::new(GrantAll(lifetime)),
            DecisionSource::Each | DecisionSource::Kept => {
                let policies =
                    PolicyFiles { paths: vec![self.policies.clone()], combining: Combining::DenyOverrides };
                Arc::new(PolicyDecider::new(policies, lifetime)?)
            }
        };
        let parts = AuthorizationServiceParts {
            decider,
            subjects: Arc::new(self.subjects()?),
            keep: Arc::new(MemoryAuthorityStore::default()),
            audit: Arc::new(AuthorityLogAudit),
            keys: Arc::new(ArcSwap::from_pointee(signing_keys(&self.key, lifetime)?)),
            clock: Arc::clone(&application.channel.clock),
            workers: workers(),
        };
        let mut settings = AuthorizationServiceSettings::new(&application.uri, application.certificate());
        settings.protocol.token_lifetime = lifetime;
        settings.protocol.cutoff_lifetime = settings.protocol.cutoff_lifetime.max(2 * lifetime);
        if self.decisions == DecisionSource::Each {
            settings.decision_age_max = Duration::ZERO;
        }
        let mut resources = Vec::new();
        for (id, pki) in self.resources {
            let certificate = Some(OwnApplication::open(&pki)?.certificate());
            resources.push(RegisteredResource { id, certificate });
        }
        let service = AuthorizationService::new(settings, parts, resources).map_err(application::failure)?;
        let mut server = AuthorizationServer::settings(application.channel.clone(), &application.uri, &url);
        server.limits = limits();
        let server = Arc::new(AuthorizationServer::new(server, service).map_err(application::failure)?);
        let serving = Arc::clone(&server);
        tokio::spawn(async move { serving.serve(listener).await });
        Ok((url, server))
    }

    fn subjects(&self) -> Result<SubjectTable, CommandError> {
        let subjects = SubjectTable::new(CHEAP).map_err(failed)?;
        let (uri, own) = &self.application;
        subjects.set_application(uri, &own.iter().map(String::as_str).collect::<Vec<_>>());
        for (name, own) in &self.users {
            let own: Vec<&str> = own.iter().map(String::as_str).collect();
            subjects.set_user(name, PASSWORD, &own).map_err(failed)?;
        }
        Ok(subjects)
    }
}

/// Grants everything without asking anybody.
struct GrantAll(Duration);

impl RightsDecider for GrantAll {
    fn policy_version(&self) -> Arc<str> {
        "fixed".into()
    }

    fn decide(&self, question: &RightsQuestion<'_>) -> Result<RightsDecision, Error> {
        Ok(RightsDecision {
            verdicts: vec![GrantVerdict::Granted; question.table.len() * question.permissions.len()],
            roles: question.subject.roles.clone(),
            policy: self.policy_version(),
            lifetime: self.0,
            reusable: self.0,
        })
    }
}

impl GateRole {
    async fn start(self) -> Result<(String, Arc<Gate>), CommandError> {
        let application = OwnApplication::open(&self.pki)?;
        let (listener, url) = bind().await?;
        let client = || application.client("durward bench gate");
        let mut upstream = UpstreamSettings::new(self.upstream, client());
        upstream.identity = plant_user();
        upstream.wish = Some(OFFER);
        let keys = VerifyingKeys::read(&self.jwks).map_err(failed)?;
        let mut settings =
            GateSettings::new(application.channel.clone(), &application.uri, upstream, self.issuer, keys);
        let mut follow = GateAuthoritySettings::new(&self.authority, client());
        follow.publishing_interval = Duration::from_millis(self.publishing_ms);
        (settings.authority_url, settings.authority) = (self.authority, Some(follow));
        settings.endpoint_url.clone_from(&url);
        settings.limits = limits();
        if self.once {
            settings.token_encryption = TokenEncryption::OnceInEncryptedChannels;
        }
        settings.anonymous = match self.anonymous {
            AnonymousAccess::Nobody => None,
            AnonymousAccess::WithNothing => Some(AnonymousRights::default()),
            AnonymousAccess::WithEverything => {
                Some(AnonymousRights { everywhere: Permission::ALL.to_vec(), nodes: Vec::new() })
            }
        };
        settings.offers.retain(|offer| offer.mode == MessageSecurityMode::SignAndEncrypt);
        let gate = Arc::new(Gate::start(settings).map_err(application::failure)?);
        let serving = Arc::clone(&gate);
        tokio::spawn(async move { serving.serve(listener).await });
        Ok((url, gate))
    }
}

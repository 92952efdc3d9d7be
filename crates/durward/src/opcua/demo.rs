//! `durward demo opcua`: a small plant, a gate before it, an authorization service and two users, on this machine.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use durward_files::FileAccess;
use durward_opcua::authority::{AuthorityLogAudit, MemoryAuthorityStore, RegisteredResource, SubjectTable};
use durward_opcua::client::{TokenClient, TokenClientSettings};
use durward_opcua::gate::{Gate, GateAuthoritySettings, GateSettings, UpstreamSettings};
use durward_opcua::plant::PasswordUsers;
use durward_opcua::session::{ClientIdentity, ExpectedServer, PinnedApplication};
use durward_pdp::Algorithm;
use durward_server::{LogLevel, LogSettings, start_log};
use durward_session::identity::jwt::{Algorithm as Signature, SigningKey, SigningKeys};
use durward_session::identity::user::HashCosts;
use durward_session::identity::{Entropy, IdentityError, SystemEntropy, hex};
use tokio::net::TcpListener;

use super::application::{self, OwnApplication, clock};
use super::authority::AuthorityArguments;
use super::decider::{PolicyDecider, PolicyFiles};
use super::passwords::PasswordTokens;
use super::plant;
use crate::demo::folder::TemporaryFolder;
use crate::failure::{CommandError, CommandResult, without_number};
use crate::serve::stop_signal;
use crate::to_stdout;

const POLICY: &str = include_str!("../../policies/opcua/boiler.sapl");
const COMBINING: &str = include_str!("../../policies/opcua/pdp.json");

/// The users of the demo, with their roles.
const USERS: [(&str, &str); 2] = [("anna", "operator"), ("bert", "guest")];

/// The name by which the gate comes to the plant.
const PLANT_USER: &str = "gate";

/// How long tokens live.
const TOKEN_LIFETIME: Duration = Duration::from_secs(600);

/// How long the demo takes to begin, at most.
const START_MAX: Duration = Duration::from_secs(60);

const EXAMPLES: &str = "\
Examples:
  durward demo opcua
  durward demo opcua --listen 127.0.0.1:4850";

/// Start a small OPC UA plant, a gate in front of it and an authorization service, and print commands to try
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The address and port of the gate; without it 127.0.0.1:4840, or a free port if that is taken
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    let log = LogSettings { level: LogLevel::Error, ..LogSettings::default() };
    start_log(&log).map_err(|error| CommandError::new(error.to_string()))?;
    let folder = TemporaryFolder::new(&std::env::temp_dir(), &random()?)?;
    application::run(async {
        let (early, stop) = (stop_signal()?, stop_signal()?);
        let demo = OpcuaDemo::start(folder.path(), arguments.listen);
        let demo = tokio::select! {
            demo = tokio::time::timeout(START_MAX, demo) => {
                demo.map_err(|_| CommandError::new("the demo does not begin: the machine is too slow, or out of ports"))??
            }
            () = early => return Ok(ExitCode::SUCCESS),
        };
        to_stdout(&welcome(folder.path(), &demo.url))?;
        stop.await;
        demo.gate.shutdown();
        Ok(ExitCode::SUCCESS)
    })
}

/// Everything that runs.
struct OpcuaDemo {
    gate: Arc<Gate>,
    url: String,
}

/// The four applications, each trusting those that it talks with.
struct DemoApplications {
    plant: OwnApplication,
    gate: OwnApplication,
    authority: OwnApplication,
    client: OwnApplication,
}

impl DemoApplications {
    fn new(folder: &Path) -> Result<DemoApplications, CommandError> {
        let create =
            |name: &str| OwnApplication::create(&folder.join(name), &format!("urn:durward:demo:{name}"));
        let made = DemoApplications {
            plant: create("plant")?,
            gate: create("gate")?,
            authority: create("authority")?,
            client: create("client")?,
        };
        made.plant.trust(&made.gate)?;
        for (one, other) in [
            (&made.gate, &made.plant),
            (&made.gate, &made.authority),
            (&made.gate, &made.client),
            (&made.authority, &made.gate),
            (&made.authority, &made.client),
            (&made.client, &made.gate),
            (&made.client, &made.authority),
        ] {
            one.trust(other)?;
        }
        Ok(made)
    }
}

impl OpcuaDemo {
    async fn start(folder: &Path, listen: Option<SocketAddr>) -> Result<OpcuaDemo, CommandError> {
        let applications = DemoApplications::new(folder)?;
        let plant_password = random()?;
        let (listener, plant_url) = bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        let mut users = PasswordUsers::default();
        users.passwords.insert(PLANT_USER.to_owned(), plant_password.as_bytes().to_vec().into());
        plant::start(&applications.plant, listener, &plant_url, users)?;

        let keys = SigningKeys::new(2 * TOKEN_LIFETIME);
        let signing = SigningKey::generate(Signature::Es256).map_err(failed)?;
        let keys = keys.with(signing, clock()(), clock()()).map_err(failed)?;
        let verifying = keys.verifying(clock()()).map_err(failed)?;
        let issuer = applications.authority.uri.clone();
        let (listener, authority_url) = bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        let authority = authority(folder, &applications, &authority_url, keys)?;
        authority.start(listener)?;

        let (listener, url) = bind_gate(listen).await?;
        let gate = &applications.gate;
        let mut upstream = UpstreamSettings::new(plant_url, gate.client("durward gate"));
        let identity =
            ClientIdentity::UserName { name: PLANT_USER.to_owned(), password: plant_password.into() };
        upstream.identity = identity;
        let mut settings = GateSettings::new(gate.channel.clone(), &gate.uri, upstream, issuer, verifying);
        settings.endpoint_url.clone_from(&url);
        settings.authority_url.clone_from(&authority_url);
        let mut client = gate.client("durward gate");
        client.server = ExpectedServer::pinned(PinnedApplication::ApplicationUri(settings.issuer.clone()));
        settings.users = Some(PasswordTokens::new(&authority_url, &gate.uri, client));
        settings.authority = Some(GateAuthoritySettings::new(authority_url, gate.client("durward gate")));
        let gate = Arc::new(Gate::start(settings).map_err(application::failure)?);
        let serving = Arc::clone(&gate);
        tokio::spawn(async move { serving.serve(listener).await });
        wait(&applications.client, folder, &url).await?;
        Ok(OpcuaDemo { gate, url })
    }
}

/// Waits until somebody gets a token and a session: only then does what is printed work.
async fn wait(client: &OwnApplication, folder: &Path, url: &str) -> Result<(), CommandError> {
    let [(name, _), _] = USERS;
    let password = fs::read_to_string(password_file(folder, name))?;
    let mut settings = TokenClientSettings::new(url, client.client("durward demo"));
    settings.authority.identity =
        ClientIdentity::UserName { name: name.to_owned(), password: password.trim_end().to_owned().into() };
    settings.retry_max = settings.retry_min;
    let client = TokenClient::start(settings);
    while client.ready(START_MAX).await.is_err() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    client.stop().await;
    Ok(())
}

/// The authorization service, its policies in files that can be changed while it runs.
fn authority(
    folder: &Path,
    applications: &DemoApplications,
    url: &str,
    keys: SigningKeys,
) -> Result<AuthorityArguments, CommandError> {
    let policies = folder.join("policies");
    fs::create_dir_all(&policies)?;
    fs::write(policies.join("boiler.sapl"), POLICY)?;
    fs::write(policies.join("pdp.json"), COMBINING)?;
    let combining = Algorithm::DenyOverrides;
    let policies = PolicyFiles { paths: vec![policies], combining };
    let decider = PolicyDecider::new(policies, TOKEN_LIFETIME)?;
    let subjects = SubjectTable::new(HashCosts::default()).map_err(failed)?;
    for (name, role) in USERS {
        let password = random()?;
        subjects.set_user(name, &password, &[role]).map_err(failed)?;
        let line = format!("{password}\n");
        durward_files::replace(&password_file(folder, name), line.as_bytes(), FileAccess::Owner)?;
    }
    let gate = RegisteredResource {
        id: applications.gate.uri.clone(),
        certificate: Some(applications.gate.certificate()),
    };
    Ok(AuthorityArguments {
        application: OwnApplication::open(&folder.join("authority"))?,
        url: url.to_owned(),
        decider: Arc::new(decider),
        subjects: Arc::new(subjects),
        recall: None,
        policies_kept: None,
        keep: Arc::new(MemoryAuthorityStore::default()),
        audit: Arc::new(AuthorityLogAudit),
        keys: Arc::new(ArcSwap::from_pointee(keys)),
        token_lifetime: TOKEN_LIFETIME,
        resources: vec![gate],
    })
}

async fn bind(address: SocketAddr) -> Result<(TcpListener, String), CommandError> {
    let failed = |error: io::Error| {
        let why = without_number(&error.to_string());
        CommandError::new(format!("cannot listen on {address}: {why}"))
            .hint("choose another address with `--listen`")
    };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let url = format!("opc.tcp://{}", listener.local_addr()?);
    Ok((listener, url))
}

async fn bind_gate(listen: Option<SocketAddr>) -> Result<(TcpListener, String), CommandError> {
    if let Some(listen) = listen {
        return bind(listen).await;
    }
    match bind(SocketAddr::from(([127, 0, 0, 1], 4840))).await {
        Ok(bound) => Ok(bound),
        // Nobody asked for this very port.
        Err(_) => bind(SocketAddr::from(([127, 0, 0, 1], 0))).await,
    }
}

fn password_file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.password"))
}

/// 12 digits of chance.
fn random() -> Result<String, CommandError> {
    let mut bytes = [0; 6];
    SystemEntropy.fill(&mut bytes).map_err(failed)?;
    Ok(hex(&bytes))
}

fn failed(error: IdentityError) -> CommandError {
    CommandError::new(without_number(&error.to_string()))
}

/// What to try, each with the line to type: whole, so that any shell takes it.
const LINES: [(&str, &str, &str, &str); 8] = [
    ("Anna, an operator, looks around", "browse", "anna", "/Objects/Plant/Boiler"),
    (
        "She reads the temperature and the mode",
        "read",
        "anna",
        "'ns=2;s=Boiler.Temperature' 'ns=2;s=Boiler.Mode'",
    ),
    ("She sets the mode", "write", "anna", "'ns=2;s=Boiler.Mode' Manual"),
    (
        "What is measured she may not write: BadUserAccessDenied",
        "write",
        "anna",
        "'ns=2;s=Boiler.Temperature' 20",
    ),
    ("She starts the motor", "call", "anna", "'ns=2;s=Boiler.Motor' 'ns=2;s=Boiler.Motor.Start'"),
    (
        "Bert, a guest, reads the temperature, and not the mode",
        "read",
        "bert",
        "'ns=2;s=Boiler.Temperature' 'ns=2;s=Boiler.Mode'",
    ),
    ("What his token says", "token", "bert", ""),
    ("He watches the temperature", "watch", "bert", "'ns=2;s=Boiler.Temperature'"),
];

fn welcome(folder: &Path, url: &str) -> String {
    let folder = folder.display();
    let mut text = format!(
        "A gate listens on {url} before a plant with a boiler. Who may do what is in {folder}/policies/boiler.sapl.\n\
         Try in another terminal, one after the other:\n"
    );
    for (what, command, who, nodes) in LINES {
        let who = format!("--pki {folder}/client --user {who} --password-file {folder}/{who}.password");
        let line = format!("durward opcua {command} {url} {who} {nodes}");
        text.push_str(&format!("\n# {what}\n{}\n", line.trim_end()));
    }
    text.push_str(&format!(
        "\n# While he watches, guests lose their rights, and so what he watches ends\n\
         sed -i.old 's/\"guest\"/\"nobody\"/' {folder}/policies/boiler.sapl\n\n\
         Ctrl-C ends it, and removes {folder}.\n"
    ));
    text
}

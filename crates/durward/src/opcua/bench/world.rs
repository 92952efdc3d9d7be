//! The processes of a measurement: started, found, stopped.

use std::cell::Cell;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use durward_lab::process::{ProcessUsage, usage};
use durward_lab::target::CpuQuota;
use durward_opcua::authority::AUTHORITY_NAMESPACE;
use durward_opcua::session::{ClientIdentity, SessionClientSettings};
use durward_session::identity::jwt::{Algorithm, SigningKey};
use durward_session::identity::{Entropy, SystemEntropy, hex};

use super::load::AccessTarget;
use super::role::{
    AnonymousAccess, AuthorityRole, DONE, DecisionSource, GateRole, PlantRole, ProcessRole, READY, TcpRelay,
    signing_keys,
};
use super::session::{KnownServer, TokenSession, namespace};
use crate::demo::folder::TemporaryFolder;
use crate::failure::{CommandError, without_number};
use crate::opcua::application::{self, OwnApplication, clock};

const POLICY: &str = include_str!("../../../policies/opcua/bench.sapl");
const COMBINING: &str = include_str!("../../../policies/opcua/pdp.json");

/// From the start of processes until a token opens a session.
const START_MAX: Duration = Duration::from_secs(60);
/// How often is looked.
const LOOK: Duration = Duration::from_millis(50);
/// The share of a core that a slow resource server has: 600 MHz of 1.5 GHz.
pub(super) const SLOW: f64 = 0.4;

/// Certificates, keys and policies: made once for all processes of a run.
pub(super) struct BenchGround {
    folder: TemporaryFolder,
    /// As a client.
    client: OwnApplication,
    started: Cell<u32>,
}

/// What there is of applications.
const APPLICATIONS: [&str; 7] = ["plant", "other", "authority", "always", "once", "closing", "client"];

impl BenchGround {
    pub(super) fn new() -> Result<BenchGround, CommandError> {
        let mut chance = [0; 6];
        let failed = |error: durward_session::identity::IdentityError| CommandError::new(error.to_string());
        SystemEntropy.fill(&mut chance).map_err(failed)?;
        let folder = TemporaryFolder::new(&std::env::temp_dir(), &hex(&chance))?;
        let path = folder.path().to_owned();
        let mut made = Vec::new();
        for name in APPLICATIONS {
            made.push(OwnApplication::create(&path.join(name), &uri(name))?);
        }
        for one in &made {
            for other in made.iter().filter(|other| other.uri != one.uri) {
                one.trust(other)?;
            }
        }
        fs::create_dir_all(path.join("policies"))?;
        fs::write(path.join("policies/bench.sapl"), POLICY)?;
        fs::write(path.join("policies/pdp.json"), COMBINING)?;
        for algorithm in [Algorithm::EdDsa, Algorithm::Es256] {
            let key = SigningKey::generate(algorithm).map_err(failed)?;
            fs::write(key_file(&path, algorithm), key.expose())?;
        }
        // RSA keys are brought, here from a certificate that nobody else uses.
        OwnApplication::create(&path.join("signer"), &uri("signer"))?;
        fs::copy(path.join("signer/own/private/application.der"), key_file(&path, Algorithm::Rs256))?;
        let client = OwnApplication::open(&path.join("client"))?;
        Ok(BenchGround { folder, client, started: Cell::new(0) })
    }

    fn pki(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn client(&self) -> SessionClientSettings {
        self.client.client("durward bench")
    }

    fn start(&self, role: &ProcessRole) -> Result<BenchProcess, CommandError> {
        let number = self.started.get();
        self.started.set(number + 1);
        let file = self.folder.path().join(format!("role-{number}.json"));
        let text = serde_json::to_string(role).map_err(|error| CommandError::new(error.to_string()))?;
        fs::write(&file, text)?;
        BenchProcess::start(&file)
    }
}

fn uri(name: &str) -> String {
    format!("urn:durward:bench:{name}")
}

fn key_file(folder: &Path, algorithm: Algorithm) -> PathBuf {
    folder.join(format!("{algorithm:?}.key"))
}

/// What is started.
#[derive(Clone, Debug)]
pub(super) struct BenchSetup {
    pub(super) algorithm: Algorithm,
    pub(super) decisions: DecisionSource,
    pub(super) token_lifetime: Duration,
    /// Users of the authorization service, with their roles.
    pub(super) users: Vec<(String, Vec<String>)>,
    /// Those of [`GateName`] that run.
    pub(super) gates: Vec<GateName>,
    /// What sessions without a token may do.
    pub(super) anonymous: AnonymousAccess,
    /// How often cutoffs are published.
    pub(super) publishing: Duration,
}

impl Default for BenchSetup {
    fn default() -> BenchSetup {
        BenchSetup {
            algorithm: Algorithm::Es256,
            decisions: DecisionSource::Kept,
            token_lifetime: Duration::from_secs(3_600),
            users: Vec::new(),
            gates: vec![GateName::Always, GateName::Once],
            anonymous: AnonymousAccess::WithEverything,
            publishing: Duration::from_millis(250),
        }
    }
}

/// Which gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GateName {
    /// Tokens are encrypted to it.
    Always,
    /// Tokens are sent in plain within the encrypted channel.
    Once,
    /// As `Once`, and nobody comes in without a token: a session ends with its token.
    Closing,
}

impl GateName {
    fn name(self) -> &'static str {
        match self {
            GateName::Always => "always",
            GateName::Once => "once",
            GateName::Closing => "closing",
        }
    }
}

/// Variables of the plant beside those of the boiler.
pub(super) const TAGS: usize = 100;

/// Everything that runs; ends when dropped.
pub(super) struct BenchProcesses<'g> {
    ground: &'g BenchGround,
    plant_process: BenchProcess,
    pub(super) authority_process: BenchProcess,
    gates: Vec<(GateName, BenchProcess, KnownServer)>,
    pub(super) plant: KnownServer,
    pub(super) authority: KnownServer,
    /// The namespace of the authorization service, there.
    pub(super) namespace: u16,
    /// Outlives the processes in it.
    _quota: Option<CpuQuota>,
    pub(super) quota_means: String,
}

impl<'g> BenchProcesses<'g> {
    pub(super) async fn start(
        ground: &'g BenchGround,
        setup: &BenchSetup,
    ) -> Result<BenchProcesses<'g>, CommandError> {
        BenchProcesses::start_slowed(ground, setup, None).await
    }

    /// As [`BenchProcesses::start`], with plant and gates on this share of a core.
    pub(super) async fn start_slowed(
        ground: &'g BenchGround,
        setup: &BenchSetup,
        cpus: Option<f64>,
    ) -> Result<BenchProcesses<'g>, CommandError> {
        let (plant_process, plant) = BenchProcesses::plant(ground).await?;
        let key = key_file(ground.folder.path(), setup.algorithm);
        let keys = signing_keys(&key, setup.token_lifetime)?;
        let resource = |gate: &GateName| (uri(gate.name()), ground.pki(gate.name()));
        let authority_process = ground.start(&ProcessRole::Authority(AuthorityRole {
            pki: ground.pki("authority"),
            policies: ground.pki("policies"),
            key,
            token_lifetime_s: setup.token_lifetime.as_secs(),
            decisions: setup.decisions,
            resources: setup.gates.iter().map(resource).collect(),
            application: (uri("client"), vec!["operator".to_owned()]),
            users: setup.users.clone(),
        }))?;
        let mut started = Vec::new();
        for gate in &setup.gates {
            let is_closing = *gate == GateName::Closing;
            let process = ground.start(&ProcessRole::Gate(GateRole {
                pki: ground.pki(gate.name()),
                upstream: plant_process.url.clone(),
                authority: authority_process.url.clone(),
                issuer: uri("authority"),
                jwks: keys.to_jwks(clock()()),
                once: *gate != GateName::Always,
                anonymous: if is_closing { AnonymousAccess::Nobody } else { setup.anonymous },
                publishing_ms: u64::try_from(setup.publishing.as_millis()).unwrap_or(u64::MAX),
            }))?;
            started.push((*gate, process));
        }
        let quota = match cpus {
            Some(cpus) => {
                let gates = started.iter().map(|(_, process)| process.id());
                let processes: Vec<u32> = gates.chain([plant_process.id()]).collect();
                Some(CpuQuota::of(&processes, cpus).map_err(|error| CommandError::new(error.to_string()))?)
            }
            None => None,
        };
        let authority = KnownServer::find(&authority_process.url, ground.client()).await?;
        let session = authority.enter(&ClientIdentity::Anonymous).await?;
        let namespace = namespace(&session, AUTHORITY_NAMESPACE).await?;
        let _ = session.close(true).await;
        let mut gates = Vec::new();
        for (gate, process) in started {
            let place = KnownServer::find(&process.url, ground.client()).await?;
            gates.push((gate, process, place));
        }
        let quota_means = quota.as_ref().map_or_else(String::new, |quota| quota.means().to_owned());
        let world = BenchProcesses {
            ground,
            plant_process,
            authority_process,
            gates,
            plant,
            authority,
            namespace,
            _quota: quota,
            quota_means,
        };
        world.ready().await?;
        Ok(world)
    }

    /// Only a plant.
    pub(super) async fn plant(ground: &BenchGround) -> Result<(BenchProcess, KnownServer), CommandError> {
        let process =
            ground.start(&ProcessRole::Plant(PlantRole { pki: ground.pki("plant"), tags: TAGS }))?;
        let place = KnownServer::find(&process.url, ground.client()).await?;
        Ok((process, place))
    }

    /// Waits until a token opens a session at each gate: node tables are published, cutoffs are heard of.
    async fn ready(&self) -> Result<(), CommandError> {
        let until = Instant::now() + START_MAX;
        let tokens = self.tokens(&ClientIdentity::Anonymous).await?;
        for (_, _, gate) in &self.gates {
            loop {
                let failure = match self.enter(&tokens, gate).await {
                    Ok(()) => break,
                    Err(failure) => failure,
                };
                if Instant::now() > until {
                    return Err(failure);
                }
                tokio::time::sleep(LOOK).await;
            }
        }
        tokens.close().await;
        Ok(())
    }

    async fn enter(&self, tokens: &TokenSession, gate: &KnownServer) -> Result<(), CommandError> {
        let token = tokens.request(gate.uri()).await.map_err(application::failure)?;
        let session = gate.enter(&token).await?;
        session.close(true).await.map_err(application::failure)
    }

    /// The plant behind a process that passes bytes on as they are.
    pub(super) fn relay(&self) -> Result<(BenchProcess, KnownServer), CommandError> {
        let address = self.plant_process.url.trim_start_matches("opc.tcp://");
        let upstream = address.parse().map_err(|_| CommandError::new("the plant has no address"))?;
        let process = self.ground.start(&ProcessRole::Relay(TcpRelay { upstream }))?;
        let place = self.plant.at(&process.url);
        Ok((process, place))
    }

    /// A kept session with the authorization service.
    pub(super) async fn tokens(&self, identity: &ClientIdentity) -> Result<TokenSession, CommandError> {
        TokenSession::open(&self.authority, self.namespace, identity).await.map_err(application::failure)
    }

    fn find(&self, name: GateName) -> Result<&(GateName, BenchProcess, KnownServer), CommandError> {
        let found = self.gates.iter().find(|(gate, _, _)| *gate == name);
        found.ok_or_else(|| CommandError::new(format!("the gate `{}` was not started", name.name())))
    }

    pub(super) fn gate(&self, name: GateName) -> Result<&KnownServer, CommandError> {
        self.find(name).map(|(_, _, place)| place)
    }

    pub(super) fn gate_process(&self, name: GateName) -> Result<&BenchProcess, CommandError> {
        self.find(name).map(|(_, process, _)| process)
    }

    /// The paper's high load on a gate, until what comes back is dropped.
    pub(super) fn load(&self, name: GateName) -> Result<[BenchProcess; 2], CommandError> {
        let other = self
            .ground
            .start(&ProcessRole::Plant(PlantRole { pki: self.ground.pki("other"), tags: TAGS }))?;
        let load = ProcessRole::Load(AccessTarget {
            pki: self.ground.pki("client"),
            resource: self.gate_process(name)?.url.clone(),
            other: other.url.clone(),
        });
        Ok([self.ground.start(&load)?, other])
    }
}

/// A process of [`ProcessRole`].
pub(super) struct BenchProcess {
    child: Child,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    pub(super) url: String,
}

impl BenchProcess {
    fn start(role: &Path) -> Result<BenchProcess, CommandError> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["bench", "opcua", "--role"]).arg(role);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()?;
        let commands = child.stdin.take();
        let answers = child.stdout.take().ok_or_else(|| CommandError::new("a process has no output"))?;
        let mut process =
            BenchProcess { child, commands, answers: BufReader::new(answers), url: String::new() };
        let line = process.line()?;
        let url = line.strip_prefix(READY);
        process.url =
            url.ok_or_else(|| CommandError::new("a process of the benchmark did not start"))?.to_owned();
        Ok(process)
    }

    fn line(&mut self) -> Result<String, CommandError> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        Ok(line.trim_end_matches('\n').to_owned())
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it took so far.
    pub(super) fn used(&self) -> Result<ProcessUsage, CommandError> {
        usage(self.id()).ok_or_else(|| {
            CommandError::new("the system does not tell what a process takes")
                .hint("this is measured on Linux only")
        })
    }

    /// Has a command done, and waits for it.
    pub(super) fn command(&mut self, command: &str) -> Result<(), CommandError> {
        let commands =
            self.commands.as_mut().ok_or_else(|| CommandError::new("a process takes no commands"))?;
        writeln!(commands, "{command}").and_then(|()| commands.flush())?;
        match self.line()? {
            line if line == DONE => Ok(()),
            line => {
                Err(CommandError::new(format!("a process did not do `{command}`: {}", without_number(&line))))
            }
        }
    }
}

impl Drop for BenchProcess {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

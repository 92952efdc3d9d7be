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

use super::load::Load;
use super::role::{Anonymous, Authority, DONE, Decisions, GateRole, Plant, READY, Relay, Role, signing_keys};
use super::session::{Place, Tokens, namespace};
use crate::demo::folder::Folder;
use crate::failure::{Failure, without_number};
use crate::opcua::application::{self, Application, clock};

const POLICY: &str = include_str!("../../../policies/opcua/bench.sapl");
const COMBINING: &str = include_str!("../../../policies/opcua/pdp.json");

/// From the start of processes until a token opens a session.
const START_MAX: Duration = Duration::from_secs(60);
/// How often is looked.
const LOOK: Duration = Duration::from_millis(50);
/// The share of a core that a slow resource server has: 600 MHz of 1.5 GHz.
pub(super) const SLOW: f64 = 0.4;

/// Certificates, keys and policies: made once for all processes of a run.
pub(super) struct Ground {
    folder: Folder,
    /// As a client.
    client: Application,
    started: Cell<u32>,
}

/// What there is of applications.
const APPLICATIONS: [&str; 7] = ["plant", "other", "authority", "always", "once", "closing", "client"];

impl Ground {
    pub(super) fn new() -> Result<Ground, Failure> {
        let mut chance = [0; 6];
        let failed = |error: durward_session::identity::IdentityError| Failure::new(error.to_string());
        SystemEntropy.fill(&mut chance).map_err(failed)?;
        let folder = Folder::new(&std::env::temp_dir(), &hex(&chance))?;
        let path = folder.path().to_owned();
        let mut made = Vec::new();
        for name in APPLICATIONS {
            made.push(Application::create(&path.join(name), &uri(name))?);
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
        Application::create(&path.join("signer"), &uri("signer"))?;
        fs::copy(path.join("signer/own/private/application.der"), key_file(&path, Algorithm::Rs256))?;
        let client = Application::open(&path.join("client"))?;
        Ok(Ground { folder, client, started: Cell::new(0) })
    }

    fn pki(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn client(&self) -> SessionClientSettings {
        self.client.client("durward bench")
    }

    fn start(&self, role: &Role) -> Result<Process, Failure> {
        let number = self.started.get();
        self.started.set(number + 1);
        let file = self.folder.path().join(format!("role-{number}.json"));
        let text = serde_json::to_string(role).map_err(|error| Failure::new(error.to_string()))?;
        fs::write(&file, text)?;
        Process::start(&file)
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
pub(super) struct Setup {
    pub(super) algorithm: Algorithm,
    pub(super) decisions: Decisions,
    pub(super) token_lifetime: Duration,
    /// Users of the authorization service, with their roles.
    pub(super) users: Vec<(String, Vec<String>)>,
    /// Those of [`GateName`] that run.
    pub(super) gates: Vec<GateName>,
    /// What sessions without a token may do.
    pub(super) anonymous: Anonymous,
    /// How often cutoffs are published.
    pub(super) publishing: Duration,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            algorithm: Algorithm::Es256,
            decisions: Decisions::Kept,
            token_lifetime: Duration::from_secs(3_600),
            users: Vec::new(),
            gates: vec![GateName::Always, GateName::Once],
            anonymous: Anonymous::WithEverything,
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
pub(super) struct World<'g> {
    ground: &'g Ground,
    plant_process: Process,
    pub(super) authority_process: Process,
    gates: Vec<(GateName, Process, Place)>,
    pub(super) plant: Place,
    pub(super) authority: Place,
    /// The namespace of the authorization service, there.
    pub(super) namespace: u16,
    /// Outlives the processes in it.
    _quota: Option<CpuQuota>,
    pub(super) quota_means: String,
}

impl<'g> World<'g> {
    pub(super) async fn start(ground: &'g Ground, setup: &Setup) -> Result<World<'g>, Failure> {
        World::start_slowed(ground, setup, None).await
    }

    /// As [`World::start`], with plant and gates on this share of a core.
    pub(super) async fn start_slowed(
        ground: &'g Ground,
        setup: &Setup,
        cpus: Option<f64>,
    ) -> Result<World<'g>, Failure> {
        let (plant_process, plant) = World::plant(ground).await?;
        let key = key_file(ground.folder.path(), setup.algorithm);
        let keys = signing_keys(&key, setup.token_lifetime)?;
        let resource = |gate: &GateName| (uri(gate.name()), ground.pki(gate.name()));
        let authority_process = ground.start(&Role::Authority(Authority {
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
            let process = ground.start(&Role::Gate(GateRole {
                pki: ground.pki(gate.name()),
                upstream: plant_process.url.clone(),
                authority: authority_process.url.clone(),
                issuer: uri("authority"),
                jwks: keys.to_jwks(clock()()),
                once: *gate != GateName::Always,
                anonymous: if is_closing { Anonymous::Nobody } else { setup.anonymous },
                publishing_ms: u64::try_from(setup.publishing.as_millis()).unwrap_or(u64::MAX),
            }))?;
            started.push((*gate, process));
        }
        let quota = match cpus {
            Some(cpus) => {
                let gates = started.iter().map(|(_, process)| process.id());
                let processes: Vec<u32> = gates.chain([plant_process.id()]).collect();
                Some(CpuQuota::of(&processes, cpus).map_err(Failure::new)?)
            }
            None => None,
        };
        let authority = Place::find(&authority_process.url, ground.client()).await?;
        let session = authority.enter(&ClientIdentity::Anonymous).await?;
        let namespace = namespace(&session, AUTHORITY_NAMESPACE).await?;
        let _ = session.close(true).await;
        let mut gates = Vec::new();
        for (gate, process) in started {
            let place = Place::find(&process.url, ground.client()).await?;
            gates.push((gate, process, place));
        }
        let quota_means = quota.as_ref().map_or_else(String::new, |quota| quota.means().to_owned());
        let world = World {
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
    pub(super) async fn plant(ground: &Ground) -> Result<(Process, Place), Failure> {
        let process = ground.start(&Role::Plant(Plant { pki: ground.pki("plant"), tags: TAGS }))?;
        let place = Place::find(&process.url, ground.client()).await?;
        Ok((process, place))
    }

    /// Waits until a token opens a session at each gate: node tables are published, cutoffs are heard of.
    async fn ready(&self) -> Result<(), Failure> {
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

    async fn enter(&self, tokens: &Tokens, gate: &Place) -> Result<(), Failure> {
        let token = tokens.request(gate.uri()).await.map_err(application::failure)?;
        let session = gate.enter(&token).await?;
        session.close(true).await.map_err(application::failure)
    }

    /// The plant behind a process that passes bytes on as they are.
    pub(super) fn relay(&self) -> Result<(Process, Place), Failure> {
        let address = self.plant_process.url.trim_start_matches("opc.tcp://");
        let upstream = address.parse().map_err(|_| Failure::new("the plant has no address"))?;
        let process = self.ground.start(&Role::Relay(Relay { upstream }))?;
        let place = self.plant.at(&process.url);
        Ok((process, place))
    }

    /// A kept session with the authorization service.
    pub(super) async fn tokens(&self, identity: &ClientIdentity) -> Result<Tokens, Failure> {
        Tokens::open(&self.authority, self.namespace, identity).await.map_err(application::failure)
    }

    fn find(&self, name: GateName) -> Result<&(GateName, Process, Place), Failure> {
        let found = self.gates.iter().find(|(gate, _, _)| *gate == name);
        found.ok_or_else(|| Failure::new(format!("the gate `{}` was not started", name.name())))
    }

    pub(super) fn gate(&self, name: GateName) -> Result<&Place, Failure> {
        self.find(name).map(|(_, _, place)| place)
    }

    pub(super) fn gate_process(&self, name: GateName) -> Result<&Process, Failure> {
        self.find(name).map(|(_, process, _)| process)
    }

    /// The paper's high load on a gate, until what comes back is dropped.
    pub(super) fn load(&self, name: GateName) -> Result<[Process; 2], Failure> {
        let other = self.ground.start(&Role::Plant(Plant { pki: self.ground.pki("other"), tags: TAGS }))?;
        let load = Role::Load(Load {
            pki: self.ground.pki("client"),
            resource: self.gate_process(name)?.url.clone(),
            other: other.url.clone(),
        });
        Ok([self.ground.start(&load)?, other])
    }
}

/// A process of [`Role`].
pub(super) struct Process {
    child: Child,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    pub(super) url: String,
}

impl Process {
    fn start(role: &Path) -> Result<Process, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["bench", "opcua", "--role"]).arg(role);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()?;
        let commands = child.stdin.take();
        let answers = child.stdout.take().ok_or_else(|| Failure::new("a process has no output"))?;
        let mut process = Process { child, commands, answers: BufReader::new(answers), url: String::new() };
        let line = process.line()?;
        let url = line.strip_prefix(READY);
        process.url = url.ok_or_else(|| Failure::new("a process of the benchmark did not start"))?.to_owned();
        Ok(process)
    }

    fn line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        Ok(line.trim_end_matches('\n').to_owned())
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it took so far.
    pub(super) fn used(&self) -> Result<ProcessUsage, Failure> {
        usage(self.id()).ok_or_else(|| {
            Failure::new("the system does not tell what a process takes")
                .hint("this is measured on Linux only")
        })
    }

    /// Has a command done, and waits for it.
    pub(super) fn command(&mut self, command: &str) -> Result<(), Failure> {
        let commands = self.commands.as_mut().ok_or_else(|| Failure::new("a process takes no commands"))?;
        writeln!(commands, "{command}").and_then(|()| commands.flush())?;
        match self.line()? {
            line if line == DONE => Ok(()),
            line => Err(Failure::new(format!("a process did not do `{command}`: {}", without_number(&line)))),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

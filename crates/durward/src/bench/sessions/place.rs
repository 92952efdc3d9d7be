//! The nodes that are measured: those that run, or some that are started, with people who can log in.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use durward_bench::sessions::{BenchPerson, BenchSite, wait_ready};
use durward_session::identity::session::User;
use durward_session::identity::user::{Account, Directory, HashCosts, Password, StoredPassword};
use durward_session::identity::{Entropy, IdentityError, SystemEntropy, hex};
use serde::Deserialize;
use serde_json::Value as Json;

use super::Arguments;
use crate::bench::node::{CoreSplit, HTTP_MARK, StartedServer, resolve};
use crate::failure::{CommandError, without_number};

/// Everybody's password on nodes that are started.
const PASSWORD: &str = "password";

/// The least that Argon2id takes.
const CHEAP: HashCosts = HashCosts { memory_kib: 8, passes: 1, lanes: 1 };

/// How many stores were made by this process: nodes of one measurement share one that nobody used before.
static STORES: AtomicUsize = AtomicUsize::new(0);

/// How passwords are kept on nodes that are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PasswordHashing {
    /// As durward does unless it is told otherwise.
    Argon2id,
    /// At next to no cost.
    Cheap,
}

impl PasswordHashing {
    pub(super) fn name(self) -> &'static str {
        match self {
            PasswordHashing::Argon2id => "argon2id",
            PasswordHashing::Cheap => "cheap",
        }
    }

    fn costs(self) -> HashCosts {
        match self {
            PasswordHashing::Argon2id => HashCosts::default(),
            PasswordHashing::Cheap => CHEAP,
        }
    }
}

/// How long logins may wait for their hash on nodes that are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoginQueueTime {
    /// As long as durward lets them unless it is told otherwise: a flood is turned away.
    Usual,
    /// For as long as it takes, so that all who log in get in.
    Long,
}

/// Nodes and people. Nodes that were started end with it.
pub(super) struct SessionBenchNodes {
    addresses: Vec<SocketAddr>,
    processes: Vec<u32>,
    people: Vec<BenchPerson>,
    has_own_core: bool,
    _started: Vec<StartedServer>,
}

#[derive(Deserialize)]
struct LoginLine {
    user: String,
    password: String,
}

impl SessionBenchNodes {
    /// What the flags name; or nodes that are started, which keep passwords so and know so many people.
    pub(super) fn open(
        arguments: &Arguments,
        hash: PasswordHashing,
        queue: LoginQueueTime,
        people: usize,
    ) -> Result<SessionBenchNodes, CommandError> {
        let mut place = match &arguments.logins {
            Some(logins) => SessionBenchNodes {
                people: read_logins(logins)?,
                ..SessionBenchNodes::empty(arguments.cores)
            },
            None => SessionBenchNodes::empty(arguments.cores),
        };
        for url in &arguments.at {
            place.addresses.push(resolve(url)?);
        }
        place.processes.clone_from(&arguments.pid);
        if let Some(config) = &arguments.config {
            place.keep(StartedServer::configured(arguments.cores, config)?);
        } else if place.addresses.is_empty() {
            place.start(arguments, (hash, queue), people)?;
        }
        for address in &place.addresses {
            wait_ready(*address).map_err(super::failure)?;
        }
        arguments.cores.pin_load();
        Ok(place)
    }

    fn empty(cores: CoreSplit) -> SessionBenchNodes {
        let has_own_core = matches!(cores, CoreSplit::Of { server, load } if server != load);
        SessionBenchNodes {
            addresses: Vec::new(),
            processes: Vec::new(),
            people: Vec::new(),
            has_own_core,
            _started: Vec::new(),
        }
    }

    fn keep(&mut self, started: StartedServer) {
        self.addresses.push(started.address());
        self.processes.push(started.process());
        self._started.push(started);
    }

    fn start(
        &mut self,
        arguments: &Arguments,
        kept: (PasswordHashing, LoginQueueTime),
        people: usize,
    ) -> Result<(), CommandError> {
        let (hash, _) = kept;
        if arguments.nodes > 1 && arguments.nats.is_empty() {
            return Err(CommandError::new("several nodes need a store that they share").hint(
                "start nats-server with `--jetstream`, and name it with `--nats nats://127.0.0.1:4222`",
            ));
        }
        let names: Vec<String> = (0..people).map(|number| format!("person-{number}")).collect();
        let accounts = accounts(&names, hash).map_err(failed)?;
        let secret = secret().map_err(failed)?;
        let store = format!("bench-{}-{}", std::process::id(), STORES.fetch_add(1, Ordering::Relaxed));
        for _ in 0..arguments.nodes {
            let started = StartedServer::start(arguments.cores, HTTP_MARK, |folder| {
                fs::create_dir_all(folder.join("policies"))?;
                fs::write(folder.join("policies/all.sapl"), "policy \"all\"\npermit\n")?;
                let key = OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .mode(0o600)
                    .open(folder.join("cluster.key"));
                key?.write_all(secret.as_bytes())?;
                let directory = Directory::open(&folder.join("users"), hash.costs(), Arc::new(SystemEntropy));
                let imported = directory.map_err(failed)?.import(accounts.clone());
                imported.map_err(|error| CommandError::new(error.to_string()))?;
                settings(arguments, kept, folder, &store)
            })?;
            self.keep(started);
        }
        self.people = names.iter().map(|name| BenchPerson::new(name, PASSWORD)).collect();
        Ok(())
    }

    pub(super) fn site(&self) -> BenchSite<'_> {
        BenchSite {
            nodes: &self.addresses,
            processes: &self.processes,
            people: &self.people,
            has_own_core: self.has_own_core,
        }
    }
}

fn failed(error: IdentityError) -> CommandError {
    CommandError::new(without_number(&error.to_string()))
}

fn read_logins(path: &Path) -> Result<Vec<BenchPerson>, CommandError> {
    let text = fs::read_to_string(path).map_err(|error| CommandError::unreadable(path, &error))?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let person = |(number, line): (usize, &str)| {
        let LoginLine { user, password } = serde_json::from_str(line)
            .map_err(|error| CommandError::new(format!("{}:{number}: {error}", path.display())))?;
        Ok(BenchPerson::new(&user, &password))
    };
    lines.map(person).collect()
}

/// Accounts with the same password, which is hashed once: a million hashes of Argon2id would take hours.
fn accounts(names: &[String], hash: PasswordHashing) -> Result<Vec<Account>, IdentityError> {
    let password = StoredPassword::hash(&Password::new(PASSWORD)?, hash.costs(), &SystemEntropy)?;
    let account = |name: &String| {
        let user = User::new("/", name)?;
        Ok(Account { password: Some(password.clone()), ..Account::new(&user) })
    };
    names.iter().map(account).collect()
}

/// A cluster's secret.
fn secret() -> Result<String, IdentityError> {
    let mut secret = [0; 32];
    SystemEntropy.fill(&mut secret)?;
    Ok(hex(&secret))
}

/// What a node is told.
fn settings(
    arguments: &Arguments,
    (hash, queue): (PasswordHashing, LoginQueueTime),
    folder: &Path,
    store: &str,
) -> Result<Vec<u8>, CommandError> {
    let mut text = Vec::new();
    // A text of JSON is one of TOML.
    let quoted = |name: &str| -> Result<Json, CommandError> {
        let path = folder.join(name);
        Ok(Json::from(path.to_str().ok_or_else(|| CommandError::new("the folder for files is not UTF-8"))?))
    };
    writeln!(text, "policies.path = {}", quoted("policies")?)?;
    writeln!(text, "server.listen = '127.0.0.1:0'\nserver.workers = 1\nsapl.http = true")?;
    writeln!(text, "server.connections_max = 20000\nserver.idle_time_ms_max = 3600000")?;
    // All logins come from one address, where they would stand in line for each other.
    writeln!(text, "identity.address_failures_free = 1000000\nidentity.user_failures_free = 1000000")?;
    writeln!(text, "auth.danger_allow_no_auth = true\nlog.format = 'text'\nlog.level = 'info'")?;
    writeln!(text, "identity.users = {}\nidentity.audit = {}", quoted("users")?, quoted("audit")?)?;
    writeln!(text, "identity.cluster_key_path = {}", quoted("cluster.key")?)?;
    writeln!(text, "identity.mode = '{}'\nidentity.sessions_max = 20000000", arguments.mode.name())?;
    let HashCosts { memory_kib, passes, .. } = hash.costs();
    writeln!(text, "identity.hash_memory_kib = {memory_kib}\nidentity.hash_passes = {passes}")?;
    if queue == LoginQueueTime::Long {
        writeln!(text, "identity.hashing_wait_ms_max = 600000")?;
    }
    if arguments.nats.is_empty() {
        writeln!(text, "identity.data = {}", quoted("data")?)?;
        return Ok(text);
    }
    let replicas = if arguments.nats.len() < 3 { 1 } else { 3 };
    writeln!(text, "identity.nats.servers = {}", Json::from(arguments.nats.clone()))?;
    writeln!(text, "identity.nats.stream = '{store}'\nidentity.nats.replicas = {replicas}")?;
    Ok(text)
}

//! `durward serve` as a process of its own, which is killed and started again.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use durward_session::identity::SystemEntropy;
use durward_session::identity::session::User;
use durward_session::identity::user::{Account, Directory, HashCosts, Password, StoredPassword};
use tokio::time::{sleep, timeout};

use crate::PATIENCE;
use crate::binary::binary;
use crate::caller::{self, Said};

/// Those who may log in, `user-0` and so on, with the password `secret`.
pub(crate) const USERS: usize = 12;

const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A folder that goes with what is in it.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("durward-identity-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What the process needs, and the process while there is one.
pub(crate) struct Node {
    folder: Folder,
    /// Variables of the process.
    variables: Vec<(String, String)>,
    process: Mutex<Option<Process>>,
}

struct Process {
    /// A shell that kills the server when its input ends, so also when this process is gone, however it went.
    keeper: Child,
    address: Option<SocketAddr>,
}

/// A file with users, whose hashes take no time.
pub(crate) fn write_users(path: &Path) {
    let costs = HashCosts { memory_kib: 8, passes: 1, lanes: 1 };
    let directory = Directory::open(path, costs, Arc::new(SystemEntropy)).unwrap();
    let password = StoredPassword::hash(&Password::new("secret").unwrap(), costs, &SystemEntropy).unwrap();
    let account = |number| {
        let user = User::new("/", &format!("user-{number}")).unwrap();
        Account { password: Some(password.clone()), ..Account::new(&user) }
    };
    directory.import((0..USERS).map(account).collect()).unwrap();
}

/// A file that only its owner may read.
pub(crate) fn write_secret(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, PermissionsExt::from_mode(0o600)).unwrap();
}

impl Node {
    /// One that is not started yet. `identity` are the settings from `[identity]` on, without that line; files lie beside them.
    pub(crate) fn new(name: &str, identity: &str) -> Node {
        let folder = Folder::new(name);
        let settings = format!(
            "[server]\nlisten = '127.0.0.1:0'\n[policies]\npath = 'policies'\n[sapl]\nhttp = true\n\
             [auth]\ndanger_allow_no_auth = true\n[identity]\nhash_memory_kib = 8\nhash_passes = 1\n{identity}"
        );
        fs::create_dir_all(folder.0.join("policies")).unwrap();
        fs::write(folder.0.join("policies/all.sapl"), "policy \"all\" permit true;\n").unwrap();
        fs::write(folder.0.join("durward.toml"), settings).unwrap();
        Node { folder, variables: Vec::new(), process: Mutex::new(None) }
    }

    /// The same, with a clock that is off by so much (`+400s`): libfaketime, as the program `faketime` sets it up. That program is not what is
    /// started, because it would outlive who is killed. Durations are measured by another clock, which is right.
    pub(crate) fn with_clock(mut self, off: &str) -> Node {
        let faketime = ["-m", "--exclude-monotonic", "-f", off, "env"];
        let set = Command::new("faketime").args(faketime).output().unwrap();
        let set = String::from_utf8(set.stdout).unwrap();
        let is_meant =
            |name: &str| name == "LD_PRELOAD" || (name.contains("FAKE") && name != "FAKETIME_SHARED");
        let variables =
            set.lines().filter_map(|line| line.split_once('=')).filter(|(name, _)| is_meant(name));
        self.variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        assert!(self.variables.iter().any(|(name, _)| name == "LD_PRELOAD"), "{set}");
        self
    }

    /// One whose users are [`write_users`]', in a cluster.
    pub(crate) fn of_cluster(name: &str, mode: &str, servers: &[String], nats: &str) -> Node {
        let settings = format!(
            "users = 'users'\nmode = '{mode}'\ncluster_key_path = 'cluster.key'\n\
             [identity.nats]\nservers = {servers:?}\n{nats}"
        );
        let node = Node::new(name, &settings);
        write_users(&node.path("users"));
        write_secret(
            &node.path("cluster.key"),
            "0e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b85",
        );
        node
    }

    /// A file of its.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.0.join(name)
    }

    /// Starts the process, and waits until it says where it listens, which is before it is ready.
    pub(crate) async fn begin(&self) {
        let log = self.path("log");
        fs::write(&log, "").unwrap();
        let keeper = Command::new("sh")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .args(["-c", "\"$0\" serve --config \"$1\" >/dev/null 2>\"$2\" & read gone; kill -9 $!; wait"])
            .arg(binary())
            .arg(self.path("durward.toml"))
            .arg(&log)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        *self.process.lock().unwrap() = Some(Process { keeper, address: None });
        let listens = async {
            loop {
                if let Some(address) = address(&self.log()) {
                    return address;
                }
                sleep(LOOK_EVERY).await;
            }
        };
        let address = timeout(PATIENCE, listens).await;
        let address = address.unwrap_or_else(|_| panic!("it does not listen: {}", self.log()));
        self.process.lock().unwrap().as_mut().unwrap().address = Some(address);
    }

    /// What it has said since it was started.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap()
    }

    /// `kill -9`.
    pub(crate) fn kill(&self) {
        let process = self.process.lock().unwrap().take();
        if let Some(mut process) = process {
            drop(process.keeper.stdin.take());
            let _ = process.keeper.wait();
        }
    }

    /// Where it listens, while it does.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.process.lock().unwrap().as_ref().and_then(|process| process.address)
    }

    fn nobody<T>() -> Said<T> {
        Said::Nothing("there is no process".to_owned())
    }

    pub(crate) async fn login(&self, user: &str, password: &str) -> Said<String> {
        match self.address() {
            Some(address) => caller::login(address, user, password).await,
            None => Node::nobody(),
        }
    }

    pub(crate) async fn validate(&self, token: &str) -> Said<()> {
        match self.address() {
            Some(address) => caller::validate(address, token).await,
            None => Node::nobody(),
        }
    }

    pub(crate) async fn logout(&self, token: &str) -> Said<()> {
        match self.address() {
            Some(address) => caller::logout(address, token).await,
            None => Node::nobody(),
        }
    }

    /// Waits until it says that it is ready.
    pub(crate) async fn is_ready(&self) {
        self.eventually("it is ready", async || match self.address() {
            Some(address) => caller::ready(address).await == Said::Yes(()),
            None => false,
        })
        .await;
    }

    /// A session, as soon as there can be one.
    pub(crate) async fn session(&self) -> String {
        let mut token = None;
        self.eventually("somebody can log in", async || match self.login("user-0", "secret").await {
            Said::Yes(new) => {
                token = Some(new);
                true
            }
            Said::No(why) => panic!("{why}"),
            Said::Nothing(_) => false,
        })
        .await;
        token.unwrap()
    }

    /// Waits for what comes sooner or later.
    pub(crate) async fn eventually(&self, what: &str, mut is_so: impl AsyncFnMut() -> bool) {
        let wait = async {
            while !is_so().await {
                sleep(LOOK_EVERY).await;
            }
        };
        let waited = timeout(PATIENCE, wait).await;
        assert!(waited.is_ok(), "never: {what}; the node says:\n{}", self.log());
    }
}

fn address(log: &str) -> Option<SocketAddr> {
    let (_, rest) = log.split_once("address=")?;
    // A line that is not whole yet could be taken for another port.
    let (line, _) = rest.split_once('\n')?;
    line.split(' ').next()?.parse().ok()
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

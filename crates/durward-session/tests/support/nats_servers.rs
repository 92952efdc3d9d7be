//! Real NATS servers: one, or three that are a cluster, with their files in a folder that goes with them.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::sleep;

/// How often servers are started anew when another program took one of their ports meanwhile.
const STARTS: usize = 5;

/// The program: where `cargo xtask test` put it, or in `PATH`. Without it the tests are passed over, except on the build machine.
pub(crate) fn program() -> Option<PathBuf> {
    let named = std::env::var_os("DURWARD_NATS_SERVER").map(PathBuf::from);
    let program = named.unwrap_or_else(|| PathBuf::from("nats-server"));
    let how = "`cargo xtask test` installs it with Go, or set DURWARD_NATS_SERVER";
    durward_testdata::has_program(&program, "--version", how).then_some(program)
}

struct Server {
    folder: PathBuf,
    port: u16,
    /// A shell that kills the server when this process is gone, however it went.
    keeper: Option<Child>,
}

/// One server or three.
pub(crate) struct Servers {
    program: PathBuf,
    folder: PathBuf,
    servers: Vec<Server>,
}

/// Ports that nobody has. None is given twice: tests that run beside each other must not take one that is free only for a moment.
fn free_ports(count: usize) -> Vec<u16> {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    let (mut held, mut ports) = (Vec::new(), Vec::new());
    while ports.len() < count {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        held.push(listener);
        if GIVEN.lock().unwrap().insert(port) {
            ports.push(port);
        }
    }
    ports
}

impl Servers {
    /// Starts three.
    pub(crate) async fn start(name: &str) -> Option<Servers> {
        Servers::start_some(name, 3, "").await
    }

    /// Starts one; `more` goes into its configuration.
    pub(crate) async fn start_one(name: &str, more: &str) -> Option<Servers> {
        Servers::start_some(name, 1, more).await
    }

    async fn start_some(name: &str, count: usize, more: &str) -> Option<Servers> {
        let program = program()?;
        for _ in 0..STARTS {
            if let Some(servers) = Servers::try_start(&program, name, count, more).await {
                return Some(servers);
            }
        }
        panic!("the NATS servers do not start");
    }

    async fn try_start(program: &Path, name: &str, count: usize, more: &str) -> Option<Servers> {
        let ports = free_ports(2 * count);
        let folder =
            std::env::temp_dir().join(format!("durward-nats-{name}-{}-{}", std::process::id(), ports[0]));
        let routes: Vec<String> =
            ports[count..].iter().map(|port| format!("nats://127.0.0.1:{port}")).collect();
        let mut servers =
            Servers { program: program.to_owned(), folder: folder.clone(), servers: Vec::new() };
        for at in 0..count {
            let own = folder.join(format!("n{at}"));
            std::fs::create_dir_all(&own).unwrap();
            let cluster = format!(
                "cluster {{ name: durward-{name}-{}, listen: 127.0.0.1:{}, routes: [{}] }}",
                ports[0],
                ports[count + at],
                routes.join(", ")
            );
            let config = format!(
                "server_name: n{at}\nlisten: 127.0.0.1:{}\npid_file: \"{own}/pid\"\nlog_file: \"{own}/log\"\n\
                 jetstream {{ store_dir: \"{own}/data\", max_file_store: 1GB, max_memory_store: 64MB }}\n\
                 {}\n{more}\n",
                ports[at],
                if count > 1 { &cluster } else { "" },
                own = own.display(),
            );
            std::fs::write(own.join("conf"), config).unwrap();
            servers.servers.push(Server { folder: own, port: ports[at], keeper: None });
        }
        (0..count).for_each(|at| servers.begin(at));
        for at in 0..count {
            if !servers.listens(at).await {
                eprintln!("server {at} does not listen: {}", servers.log(at));
                return None;
            }
        }
        Some(servers)
    }

    /// Starts one, with the files that it has.
    pub(crate) fn begin(&mut self, at: usize) {
        let server = &mut self.servers[at];
        let _ = std::fs::remove_file(server.folder.join("pid"));
        let mut keeper = Command::new("sh")
            .args(["-c", "\"$0\" -c \"$1\" & read gone; kill -9 $!; wait"])
            .arg(&self.program)
            .arg(server.folder.join("conf"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        keeper.stdin.as_mut().unwrap().flush().unwrap();
        server.keeper = Some(keeper);
    }

    /// The same, and waits until it listens.
    pub(crate) async fn start_again(&mut self, at: usize) {
        self.begin(at);
        assert!(self.listens(at).await, "server {at} does not listen: {}", self.log(at));
    }

    fn log(&self, at: usize) -> String {
        std::fs::read_to_string(self.servers[at].folder.join("log")).unwrap_or_default()
    }

    async fn listens(&self, at: usize) -> bool {
        for _ in 0..250 {
            if tokio::net::TcpStream::connect(("127.0.0.1", self.servers[at].port)).await.is_ok() {
                return true;
            }
            sleep(Duration::from_millis(20)).await;
        }
        false
    }

    pub(crate) fn addresses(&self) -> Vec<String> {
        self.servers.iter().map(|server| format!("nats://127.0.0.1:{}", server.port)).collect()
    }

    pub(crate) fn address(&self, at: usize) -> String {
        self.addresses().remove(at)
    }

    fn signal(&self, at: usize, signal: &str) {
        let pid = std::fs::read_to_string(self.servers[at].folder.join("pid")).unwrap();
        let _ = Command::new("kill").args([signal, pid.trim()]).stderr(Stdio::null()).status();
    }

    /// As if the power went.
    pub(crate) fn kill(&self, at: usize) {
        self.signal(at, "-KILL");
    }

    /// As if the network went: it is there, and says nothing.
    pub(crate) fn stop(&self, at: usize) {
        self.signal(at, "-STOP");
    }

    pub(crate) fn go_on(&self, at: usize) {
        self.signal(at, "-CONT");
    }

    /// Which of them leads a stream.
    pub(crate) async fn leader(&self, stream: &str) -> usize {
        let client = async_nats::connect(self.addresses()).await.unwrap();
        let context = async_nats::jetstream::new(client);
        for _ in 0..100 {
            if let Ok(stream) = context.get_stream(stream).await {
                let leader = stream.cached_info().cluster.as_ref().and_then(|it| it.leader.clone());
                if let Some(at) = leader.and_then(|name| name.strip_prefix('n')?.parse().ok()) {
                    return at;
                }
            }
            sleep(Duration::from_millis(100)).await;
        }
        panic!("nobody leads {stream}");
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for server in &mut self.servers {
            if let Some(mut keeper) = server.keeper.take() {
                // Its input ends, and it kills the server.
                drop(keeper.stdin.take());
                let _ = keeper.wait();
            }
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

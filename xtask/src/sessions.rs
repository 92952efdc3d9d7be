//! `cargo xtask sessions`: what sessions cost on three nodes that share them over three NATS servers, all on this machine.
//!
//! `durward bench sessions` starts the nodes, once for each mode; here are the servers. One node alone comes first: what a
//! validation costs of a node is compared with that. Nothing is pinned, for seven processes and the load share the machine:
//! the load sleeps while it has nothing to do, and what nodes took of the cores counts, not how long all took.

mod ldap;

use crate::process::{self, run};
use crate::release;
use crate::tools::nats_server;
use std::fs;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const COUNT: usize = 3;

/// What is measured on one node alone, and on three.
const RUNS: [(&str, &[&str]); 4] = [
    ("none", &[]),
    ("none", &["--nodes", "3"]),
    ("assured-write", &["--nodes", "3"]),
    ("assured-read", &["--nodes", "3"]),
];

/// Longest until a server listens.
const START_TIME_MAX: Duration = Duration::from_secs(20);

/// How often servers are started anew when another program took one of their ports meanwhile.
const STARTS: usize = 5;

/// `cargo xtask sessions [FLAG...]`, or `... ldap [FLAG...]`: the flags go to `durward bench sessions`.
pub(crate) fn run_alone(words: &[&str]) -> Result<ExitCode, String> {
    if let ["ldap", rest @ ..] = words {
        return ldap::run_alone(rest);
    }
    let program = nats_server()?;
    let binary = release::dist()?;
    for (mode, nodes) in RUNS {
        // Fresh ones for each: what others stored before is not to be replayed.
        let servers = Servers::start(&program)?;
        let mut command = Command::new(&binary);
        command.args(["bench", "sessions", "--cores", "none", "--mode", mode]);
        match nodes {
            [] => command.args(["--measure", "validate,mix"]),
            nodes => command.args(["--measure", "validate,mix,logout"]).args(nodes).args(servers.flags()),
        };
        run(command.args(words))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Three servers that are a cluster, with their files in a folder that goes with them.
struct Servers {
    folder: PathBuf,
    ports: Vec<u16>,
    children: Vec<Child>,
}

impl Servers {
    fn start(program: &Path) -> Result<Servers, String> {
        let mut last = String::new();
        for number in 0..STARTS {
            match Servers::try_start(program, number) {
                Ok(servers) => return Ok(servers),
                Err(why) => last = why,
            }
        }
        Err(format!("the NATS servers do not start: {last}"))
    }

    fn try_start(program: &Path, number: usize) -> Result<Servers, String> {
        let in_words = |error: io::Error| error.to_string();
        let ports = free_ports(2 * COUNT).map_err(in_words)?;
        let (clients, routes) = ports.split_at(COUNT);
        let folder = std::env::temp_dir().join(format!("durward-sessions-{}-{number}", std::process::id()));
        let mut servers = Servers { folder: folder.clone(), ports: clients.to_vec(), children: Vec::new() };
        for (at, (client, route)) in clients.iter().zip(routes).enumerate() {
            let own = folder.join(format!("n{at}"));
            fs::create_dir_all(&own).map_err(in_words)?;
            fs::write(own.join("conf"), configuration(&own, at, *client, *route, routes))
                .map_err(in_words)?;
            let mut command = Command::new(program);
            command.arg("-c").arg(own.join("conf")).stdin(Stdio::null());
            command.stdout(Stdio::null()).stderr(Stdio::null());
            println!("$ {}", process::shown(&command));
            servers.children.push(command.spawn().map_err(in_words)?);
        }
        let begun = Instant::now();
        while !clients.iter().all(|port| TcpStream::connect(("127.0.0.1", *port)).is_ok()) {
            if begun.elapsed() > START_TIME_MAX {
                return Err(format!("nobody listens at {clients:?}"));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(servers)
    }

    /// How `durward bench sessions` is told of them.
    fn flags(&self) -> Vec<String> {
        self.ports.iter().flat_map(|port| ["--nats".to_owned(), format!("nats://127.0.0.1:{port}")]).collect()
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for child in &mut self.children {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// As docs/identity-cluster.md has it: what was acknowledged is on the disk of a majority.
fn configuration(own: &Path, at: usize, client: u16, route: u16, routes: &[u16]) -> String {
    let own = own.display();
    let routes: Vec<String> = routes.iter().map(|port| format!("nats://127.0.0.1:{port}")).collect();
    format!(
        "server_name: n{at}\nlisten: 127.0.0.1:{client}\nlog_file: \"{own}/log\"\n\
         jetstream {{ store_dir: \"{own}/data\", max_file_store: 4GB, sync_interval: always }}\n\
         cluster {{ name: bench, listen: 127.0.0.1:{route}, routes: [{}] }}\n",
        routes.join(", ")
    )
}

fn free_ports(count: usize) -> io::Result<Vec<u16>> {
    let held: io::Result<Vec<TcpListener>> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect();
    held?.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}

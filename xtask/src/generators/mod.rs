//! `cargo xtask generators`: the load generator of the lab beside those of others, on the same targets, on this machine.
//!
//! Targets are nginx, with one process that answers from memory, and `durward serve` at its health page. Each generator that is
//! installed makes the same two loads, in turns: users who never pause, which shows what it can make, and a rate that all can make,
//! which shows what a request costs. Processor time is that of the whole process, its start included, and of the target in the same
//! time. Medians of all rounds are printed; a generator beside a target on few cores takes from it what it uses itself.

mod peer;

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::release;
use crate::tools::find;
pub(crate) use peer::of_durward;
use peer::{Load, Peer, Seen};

const USAGE: &str =
    "`cargo xtask generators [--rounds N] [--seconds N] [--users N] [--rate N] [--binary DURWARD]`";

/// Longest until a target listens.
const START_TIME_MAX: Duration = Duration::from_secs(20);
/// Clock ticks a second in `/proc`: what Linux gives every program.
const TICKS_A_SECOND: f64 = 100.0;

/// What is measured, and how long.
struct Plan {
    rounds: usize,
    seconds: u32,
    users: u32,
    rate: u32,
    binary: Option<PathBuf>,
}

impl Plan {
    fn of(words: &[&str]) -> Result<Plan, String> {
        let mut plan = Plan { rounds: 3, seconds: 5, users: 64, rate: 6_400, binary: None };
        let number =
            |text: &str| text.parse::<u32>().ok().filter(|it| *it > 0).ok_or_else(|| USAGE.to_owned());
        for pair in words.chunks(2) {
            match pair {
                ["--rounds", text] => plan.rounds = number(text)? as usize,
                ["--seconds", text] => plan.seconds = number(text)?,
                ["--users", text] => plan.users = number(text)?,
                ["--rate", text] => plan.rate = number(text)?,
                ["--binary", path] => plan.binary = Some(PathBuf::from(path)),
                _ => return Err(USAGE.to_owned()),
            }
        }
        Ok(plan)
    }
}

/// `cargo xtask generators [FLAG...]`.
pub(crate) fn run_alone(words: &[&str]) -> Result<ExitCode, String> {
    let plan = Plan::of(words)?;
    let binary = match &plan.binary {
        Some(path) => path.clone(),
        None => release::dist()?,
    };
    let folder = std::env::temp_dir().join(format!("durward-generators-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let result = compare(&plan, &binary, &folder);
    // What is left of it is in the way of nobody.
    let _ = fs::remove_dir_all(&folder);
    result.map(|()| ExitCode::SUCCESS)
}

fn compare(plan: &Plan, binary: &Path, folder: &Path) -> Result<(), String> {
    let peers = Peer::installed(binary);
    let loads = [Load::Users(plan.users), Load::Rate { rate: plan.rate, users: plan.users }];
    println!("medians of {} rounds of {} s, in turns", plan.rounds, plan.seconds);
    for target in [nginx(folder)?, durward(binary, folder)?].into_iter().flatten() {
        for load in loads {
            println!("\n{}, {load}\n", target.name);
            println!(
                "| generator | requests/s | p50 ms | p99 ms | its CPU us/request | target's CPU us/request |"
            );
            println!("|---|---|---|---|---|---|");
            let peers: Vec<&Peer> = peers.iter().filter(|peer| peer.can(load)).collect();
            let mut seen: Vec<Vec<Seen>> = peers.iter().map(|_| Vec::new()).collect();
            for _ in 0..plan.rounds {
                for (peer, seen) in peers.iter().zip(&mut seen) {
                    seen.push(measure(peer, &target, load, plan.seconds, folder)?);
                }
            }
            for (peer, seen) in peers.iter().zip(&seen) {
                println!("| {} | {} |", peer.name(), row(seen));
            }
        }
    }
    Ok(())
}

fn measure(peer: &Peer, target: &Target, load: Load, seconds: u32, folder: &Path) -> Result<Seen, String> {
    let before = (of_children()?, of_process(target.child.id())?);
    let mut seen = peer.run(&target.url, load, seconds, folder)?;
    let after = (of_children()?, of_process(target.child.id())?);
    let each = |from: f64, to: f64| (to - from) * 1e6 / seen.requests.max(1.0);
    (seen.own_us, seen.target_us) = (each(before.0, after.0), each(before.1, after.1));
    Ok(seen)
}

/// Medians, as cells.
fn row(seen: &[Seen]) -> String {
    let median = |of: fn(&Seen) -> f64| {
        let mut all: Vec<f64> = seen.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
    };
    format!(
        "{:.0} | {:.3} | {:.3} | {:.1} | {:.1}",
        median(|one| one.rate),
        median(|one| one.p50_ms),
        median(|one| one.p99_ms),
        median(|one| one.own_us),
        median(|one| one.target_us)
    )
}

/// Processor time of programs that this one has waited for, in seconds.
fn of_children() -> Result<f64, String> {
    ticks("/proc/self/stat", [15, 16])
}

/// Processor time of a process, in seconds.
pub(crate) fn of_process(id: u32) -> Result<f64, String> {
    ticks(&format!("/proc/{id}/stat"), [13, 14])
}

/// The sum of fields of a stat file, counted from 0, as `proc(5)` numbers them from 1.
fn ticks(path: &str, fields: [usize; 2]) -> Result<f64, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    // The name in parentheses may hold spaces; it is the second field.
    let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let values: Vec<&str> = rest.split_whitespace().collect();
    let field = |number: usize| values.get(number - 2).and_then(|text| text.parse::<f64>().ok());
    let sum: Option<f64> = fields.into_iter().map(field).sum();
    sum.map(|sum| sum / TICKS_A_SECOND).ok_or_else(|| format!("{path} has no processor time"))
}

/// A server that is measured; it ends when this is dropped.
struct Target {
    name: &'static str,
    url: String,
    child: Child,
}

impl Drop for Target {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn nginx(folder: &Path) -> Result<Option<Target>, String> {
    let Some(program) =
        find("nginx").or_else(|| Some(PathBuf::from("/usr/sbin/nginx")).filter(|it| it.exists()))
    else {
        println!("nginx is not installed: left out");
        return Ok(None);
    };
    let port = free_port()?;
    let text = format!(
        "daemon off; master_process off; pid nginx.pid; error_log stderr;\nevents {{ worker_connections 4096; }}\n\
         http {{ access_log off; keepalive_requests 1000000000; server {{ listen 127.0.0.1:{port}; location / {{ return 200 \"hello\"; }} }} }}\n"
    );
    let file = folder.join("nginx.conf");
    fs::write(&file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    let mut command = Command::new(program);
    command.arg("-p").arg(folder).arg("-c").arg(&file).args(["-e", "stderr"]);
    start("nginx, one process, `return 200 \"hello\"`", command, port, "/").map(Some)
}

fn durward(binary: &Path, folder: &Path) -> Result<Option<Target>, String> {
    let port = free_port()?;
    let policies = folder.join("policies");
    let written = fs::create_dir_all(&policies)
        .and_then(|()| fs::write(policies.join("all.sapl"), "policy \"all\" permit"));
    written.map_err(|error| format!("cannot write {}: {error}", policies.display()))?;
    let mut command = Command::new(binary);
    command.arg("serve").arg("--policies").arg(&policies).args(["--listen", &format!("127.0.0.1:{port}")]);
    start("durward serve, /health/live", command, port, "/health/live").map(Some)
}

fn start(name: &'static str, mut command: Command, port: u16, path: &str) -> Result<Target, String> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().map_err(|error| format!("cannot start {name}: {error}"))?;
    let target = Target { name, url: format!("http://127.0.0.1:{port}{path}"), child };
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if begun.elapsed() > START_TIME_MAX {
            return Err(format!("{name} does not listen"));
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok(target)
}

/// A port that nobody listened on a moment ago.
pub(crate) fn free_port() -> Result<u16, String> {
    let held = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    held.map(|address| address.port()).map_err(|error| format!("no free port: {error}"))
}

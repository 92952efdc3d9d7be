//! `cargo xtask opcua-bench`: connections between client and server of one stack: durward, Eclipse Milo, async-opcua. RSA-2048,
//! Basic256Sha256, SignAndEncrypt, anonymous, on the loopback; endpoints are known, what a program compiles while it runs is compiled. The
//! stacks take turns. Those of others are built below the target directory, never into durward.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use serde_json::Value;

use crate::metadata::{self, Metadata};
use crate::process::{cargo, output_of, run};
use crate::release;
use crate::tools::{JAVA, MAVEN};

const USAGE: &str = "`cargo xtask opcua-bench [--rounds N] [--connects N] [--binary DURWARD]`";

/// Connect at most at this part of another stack's time: what is promised.
const PART_MAX: f64 = 0.5;

struct Plan {
    rounds: usize,
    connects: usize,
    binary: Option<PathBuf>,
}

impl Plan {
    fn of(words: &[&str]) -> Result<Plan, String> {
        let mut plan = Plan { rounds: 2, connects: 300, binary: None };
        let number =
            |text: &str| text.parse::<usize>().ok().filter(|it| *it > 0).ok_or_else(|| USAGE.to_owned());
        for pair in words.chunks(2) {
            match pair {
                ["--rounds", text] => plan.rounds = number(text)?,
                ["--connects", text] => plan.connects = number(text)?,
                ["--binary", path] => plan.binary = Some(PathBuf::from(path)),
                _ => return Err(USAGE.to_owned()),
            }
        }
        Ok(plan)
    }
}

/// `cargo xtask opcua-bench [FLAG...]`.
pub(crate) fn run_alone(words: &[&str]) -> Result<ExitCode, String> {
    let plan = Plan::of(words)?;
    let binary = match &plan.binary {
        Some(path) => path.clone(),
        None => release::dist()?,
    };
    let folder = Metadata::read()?.target_directory.join("clients/opcua-bench");
    std::fs::create_dir_all(&folder).map_err(|error| format!("no folder `{}`: {error}", folder.display()))?;
    let mut stacks = vec![(Stack::Durward(binary), Vec::new())];
    for (name, built) in [("Eclipse Milo", milo(&folder)), ("async-opcua", async_opcua(&folder))] {
        match built {
            Ok(words) => stacks.push((Stack::Other { name, words, folder: folder.clone() }, Vec::new())),
            Err(why) => println!("{name} is left out: {why}"),
        }
    }
    for _ in 0..plan.rounds {
        for (stack, rounds) in &mut stacks {
            rounds.push(stack.connect(plan.connects)?);
        }
    }
    table(&stacks);
    Ok(ExitCode::SUCCESS)
}

/// A client and a server.
enum Stack {
    Durward(PathBuf),
    Other { name: &'static str, words: Vec<String>, folder: PathBuf },
}

/// Half and 99 % of all connections took no longer, in milliseconds.
#[derive(Clone, Copy)]
struct Seen {
    p50: f64,
    p99: f64,
}

impl Stack {
    fn name(&self) -> &str {
        match self {
            Stack::Durward(_) => "durward",
            Stack::Other { name, .. } => name,
        }
    }

    fn connect(&self, connects: usize) -> Result<Seen, String> {
        match self {
            Stack::Durward(binary) => durward(binary),
            Stack::Other { words, folder, .. } => other(words, folder, connects),
        }
    }
}

/// `durward bench opcua` counts its connections itself.
fn durward(binary: &Path) -> Result<Seen, String> {
    let text = output_of(Command::new(binary).args(["bench", "opcua", "--part", "direct", "--json"]))?;
    let json: Value =
        serde_json::from_str(&text).map_err(|error| format!("durward says no JSON: {error}"))?;
    let of = |name: &str| {
        let number = json.pointer(&format!("/parts/0/numbers/anonymous/{name}")).and_then(Value::as_f64);
        number.map(|us| us / 1e3).ok_or_else(|| format!("durward does not say `{name}`"))
    };
    Ok(Seen { p50: of("p50_us")?, p99: of("p99_us")? })
}

fn other(words: &[String], folder: &Path, connects: usize) -> Result<Seen, String> {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|bound| bound.local_addr());
    let port = port.map_err(|error| format!("no port is free: {error}"))?.port();
    let command = || {
        let mut command = Command::new(words.first().map_or("", String::as_str));
        command.args(words.get(1..).unwrap_or_default());
        command
    };
    let pki = folder.display().to_string();
    let _server = Server::start(command().args(["server", &port.to_string(), &pki]))?;
    let url = format!("opc.tcp://127.0.0.1:{port}/");
    let text = output_of(command().args(["client", &url, &connects.to_string(), &pki]))?;
    let mut times: Vec<f64> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
    if times.len() != connects {
        return Err(format!("the client connected {} times instead of {connects}", times.len()));
    }
    times.sort_by(f64::total_cmp);
    let of = |percent: usize| {
        times.get((times.len() * percent).div_ceil(100).max(1) - 1).map_or(f64::NAN, |us| us / 1e3)
    };
    Ok(Seen { p50: of(50), p99: of(99) })
}

/// Ended when dropped.
struct Server(Child);

impl Server {
    fn start(command: &mut Command) -> Result<Server, String> {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
        let output = child.stdout.take();
        let server = Server(child);
        let mut lines =
            BufReader::new(output.ok_or("the server has no output")?).lines().map_while(Result::ok);
        if lines.any(|line| line.trim() == "ready") {
            // Whoever does not read would stop it, once it has said much.
            std::thread::spawn(move || lines.count());
            Ok(server)
        } else {
            Err("the server did not start".to_owned())
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

fn scripts(name: &str) -> PathBuf {
    metadata::root().join("xtask/opcua-bench").join(name)
}

/// The program in Java, with packages of Maven Central.
fn milo(folder: &Path) -> Result<Vec<String>, String> {
    let (java, maven) = (JAVA.get()?, MAVEN.get()?);
    let folder = folder.join("milo");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let mut build = Command::new(maven);
    build.args(["--quiet", "--batch-mode", "--no-transfer-progress", "--strict-checksums", "compile"]);
    build.arg(format!("-Dpeer.directory={}", folder.display()));
    run(build.current_dir(scripts("milo")))?;
    let libraries = folder.join("classpath");
    let libraries = std::fs::read_to_string(&libraries)
        .map_err(|error| format!("cannot read `{}`: {error}", libraries.display()))?;
    let classpath = format!("{}:{}", folder.join("classes").display(), libraries.trim());
    Ok([&java.display().to_string(), "-Xmx256m", "-cp", &classpath, "Peer"].map(str::to_owned).into())
}

/// The program in Rust: a workspace of its own.
fn async_opcua(folder: &Path) -> Result<Vec<String>, String> {
    let target = folder.join("async-opcua");
    let mut build = cargo(&["build", "--release", "--locked"]);
    build.arg("--manifest-path").arg(scripts("async-opcua").join("Cargo.toml"));
    run(build.arg("--target-dir").arg(&target))?;
    Ok(vec![target.join("release/peer").display().to_string()])
}

fn table(stacks: &[(Stack, Vec<Seen>)]) {
    let median = |rounds: &[Seen], of: fn(&Seen) -> f64| {
        let mut all: Vec<f64> = rounds.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all.get((all.len() - 1) / 2).copied().unwrap_or(f64::NAN)
    };
    let own = stacks.first().map_or(f64::NAN, |(_, rounds)| median(rounds, |seen| seen.p50));
    println!("\nAnonymous connect, client and server of one stack, medians of rounds\n");
    println!("| stack | p50 ms | p99 ms | durward takes, of its p50 | at most {PART_MAX} |");
    println!("|---|---:|---:|---:|---|");
    for (stack, rounds) in stacks {
        let (p50, p99) = (median(rounds, |seen| seen.p50), median(rounds, |seen| seen.p99));
        let part = own / p50;
        let is_reached = match stack {
            Stack::Durward(_) => "",
            Stack::Other { .. } if part <= PART_MAX => "yes",
            Stack::Other { .. } => "no",
        };
        println!("| {} | {p50:.2} | {p99:.2} | {part:.2} | {is_reached} |", stack.name());
    }
}

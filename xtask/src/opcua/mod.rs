//! durward's access control for OPC UA beside stacks of others: their clients come through the gate, their servers stand behind it.
//!
//! The checks are written once (`clients`, `servers`). For each stack there is a small program in `xtask/opcua/` that is a server, or a client
//! that does as it is told (`puppet`); it decides nothing. Packages are installed below the target directory, to the version. Durward's
//! parts are the binary's own: `durward demo opcua` for clients, `durward opcua authority` and `gate` for servers (`parts`).
//!
//! All stacks are run at the same time: most of it is waiting, for channels that are renewed and tokens that end.

mod clients;
mod install;
mod parts;
mod probes;
mod puppet;
mod servers;

use crate::built::binary;
use crate::clients::Missing;
use crate::metadata::Metadata;
use crate::report::{Outcome, Report, on_build_machine};
use install::Installed;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// What a client of the stack can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tokens {
    /// It sends tokens by itself.
    Yes,
    /// It has no function for it; its program here makes the message by hand.
    ByHand,
}

/// A stack of others.
struct Peer {
    /// As in the command, and the name of its folder.
    name: &'static str,
    /// With its version, as the report has it.
    title: &'static str,
    install: fn() -> Result<Installed, Missing>,
    tokens: Tokens,
    /// What its client does when an activation of a session that it has is refused.
    refused: WhenRefused,
}

/// See [`Peer::refused`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WhenRefused {
    /// It goes on as the user that it was.
    Stays,
    /// It ends the session itself.
    Leaves,
}

const PEERS: [Peer; 4] = [
    Peer {
        name: "open62541",
        title: "open62541 1.5.10",
        install: install::open62541,
        tokens: Tokens::Yes,
        refused: WhenRefused::Leaves,
    },
    Peer {
        name: "milo",
        title: "Eclipse Milo 1.1.0",
        install: install::milo,
        tokens: Tokens::Yes,
        refused: WhenRefused::Stays,
    },
    Peer {
        name: "asyncua",
        title: "asyncua 2.1.0",
        install: install::asyncua,
        tokens: Tokens::ByHand,
        refused: WhenRefused::Stays,
    },
    Peer {
        name: "node-opcua",
        title: "node-opcua 2.182.2",
        install: install::node,
        tokens: Tokens::ByHand,
        refused: WhenRefused::Stays,
    },
];

/// `cargo xtask opcua [PEER...]`.
///
/// # Errors
///
/// There is no such peer.
pub(crate) fn run_alone(names: &[&str]) -> Result<ExitCode, String> {
    if let Some(unknown) = names.iter().find(|name| !PEERS.iter().any(|peer| peer.name == **name)) {
        let known: Vec<&str> = PEERS.iter().map(|peer| peer.name).collect();
        return Err(format!("no peer `{unknown}`; there are {}", known.join(", ")));
    }
    let mut report = Report::new();
    steps(&mut report, names);
    Ok(report.close())
}

/// Installs the packages of all stacks but the one in C, which is built and not fetched.
pub(crate) fn fetch() {
    for install in [install::milo, install::asyncua, install::node] {
        let _ = install();
    }
}

/// One step, with all peers of these names in it; all, if there are no names.
pub(crate) fn steps(report: &mut Report, names: &[&str]) {
    let wanted = |peer: &&Peer| names.is_empty() || names.contains(&peer.name);
    let peers: Vec<&Peer> = PEERS.iter().filter(wanted).collect();
    report.step("OPC UA: stacks of others", || run(&peers));
}

fn run(peers: &[&Peer]) -> Outcome {
    let (binary, folder) = match binary().and_then(|binary| Ok((binary, folder()?))) {
        Ok(found) => found,
        Err(why) => return Outcome::Failed(why),
    };
    let mut skipped = Vec::new();
    let mut ready = Vec::new();
    // One after the other: each build takes all cores by itself.
    for peer in peers {
        let start = Instant::now();
        match (peer.install)() {
            Ok(installed) => {
                println!("{} is installed ({:.1} s)", peer.title, start.elapsed().as_secs_f64());
                ready.push((*peer, installed));
            }
            Err(Missing::Tool(why)) => {
                println!("skipped  {}: {why}", peer.title);
                skipped.push(format!("without {}", peer.title));
            }
            Err(Missing::Broken(why)) => return Outcome::Failed(format!("{}: {why}", peer.title)),
        }
    }
    let tallies = std::thread::scope(|scope| {
        let mut running = Vec::new();
        for (peer, installed) in &ready {
            let (binary, folder) = (&binary, folder.join(peer.name));
            running.push(scope.spawn(move || all_of(peer, installed, binary, &folder)));
        }
        let broken = Tally { passed: 0, failed: 1 };
        running.into_iter().map(|thread| thread.join().unwrap_or(broken)).collect::<Vec<Tally>>()
    });
    let failed: u64 = tallies.iter().map(|tally| tally.failed).sum();
    let missing = if on_build_machine() { u64::try_from(skipped.len()).unwrap_or(u64::MAX) } else { 0 };
    Outcome::Counted {
        passed: tallies.iter().map(|tally| tally.passed).sum(),
        failed: failed + missing,
        note: skipped.join(", "),
    }
}

fn folder() -> Result<std::path::PathBuf, String> {
    Ok(Metadata::read()?.target_directory.join("opcua"))
}

/// What was checked of a peer.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    passed: u64,
    failed: u64,
}

/// Both directions. What cannot go on counts as one failure; everything that was started ends here.
fn all_of(peer: &Peer, installed: &Installed, binary: &Path, folder: &Path) -> Tally {
    let mut checks = Checks { peer: peer.name, direction: "", tally: Tally::default() };
    // What an earlier run left, if any.
    let _ = std::fs::remove_dir_all(folder);
    if let Err(why) = both(&mut checks, peer, installed, binary, folder) {
        checks.note("goes on", Err(format!("{why}; logs are in {}", folder.display())));
    }
    checks.tally
}

fn both(
    checks: &mut Checks,
    peer: &Peer,
    installed: &Installed,
    binary: &Path,
    folder: &Path,
) -> Result<(), String> {
    // The client's session is as old as a channel gets while the server is checked.
    let mut visit = clients::Visit::start(installed, binary, &folder.join("client"))?;
    checks.direction = "client";
    visit.by_password(checks)?;
    visit.by_token(checks, peer)?;
    if peer.name == "asyncua" {
        // Messages can be made by hand with it: what is tried does not depend on the stack.
        probes::check(checks, &mut visit)?;
    }
    checks.direction = "server";
    servers::check(checks, installed, binary, &folder.join("server"))?;
    checks.direction = "client";
    visit.long_after(checks)
}

/// Where results of checks go: a line each.
struct Checks {
    peer: &'static str,
    direction: &'static str,
    tally: Tally,
}

impl Checks {
    fn note(&mut self, what: &str, result: Result<(), String>) {
        let (peer, direction) = (self.peer, self.direction);
        match result {
            Ok(()) => {
                self.tally.passed += 1;
                println!("ok      {peer:10}  {direction}  {what}");
            }
            Err(why) => {
                self.tally.failed += 1;
                println!("FAILED  {peer:10}  {direction}  {what}: {why}");
            }
        }
    }
}

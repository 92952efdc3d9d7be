//! `durward serve`, asked by the client packages of others, as their registries have them.
//!
//! What is asked and what must come back is written once (`scenarios`). For each package there is a small program in
//! `xtask/clients/` that does as it is told, one line of JSON after the other, and says what the package gave it
//! (`puppet`); it decides nothing. Packages are installed below the target directory, to the version: one that
//! changes must not break a build by itself.

mod collector;
pub(crate) mod install;
mod parties;
mod puppet;
mod scenarios;
mod scripts;
mod server;

use crate::built;
use crate::report::{Outcome, Report};
pub(crate) use parties::envoy_program;
use puppet::Puppet;
use scenarios::{DECIDED, ENFORCED, Scenario, Stage};
use scripts::{BROWSER, PASSKEYS, SCRIPTS};
use server::Server;
use std::path::Path;
use std::process::Command;
use std::process::ExitCode;

/// How durward is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Http,
    Rsocket,
}

impl Transport {
    fn name(self) -> &'static str {
        match self {
            Transport::Http => "http",
            Transport::Rsocket => "rsocket",
        }
    }
}

/// Why a client cannot be started.
pub(crate) enum Missing {
    /// A program that may not be on this machine.
    Tool(String),
    /// Something that should have worked.
    Broken(String),
}

/// A package of a registry, and the program that drives it.
struct Client {
    /// Language, package, version: as the report has it.
    name: &'static str,
    get: fn() -> Result<Command, Missing>,
    scenarios: &'static [Scenario],
    transports: &'static [Transport],
    /// Scenarios it is not asked for, and why.
    leaves_out: &'static [(&'static str, &'static str)],
}

const BOTH: &[Transport] = &[Transport::Http, Transport::Rsocket];

const CLIENTS: [Client; 6] = [
    Client {
        name: "Python, sapl-base 4.1.0",
        get: install::python,
        scenarios: DECIDED,
        transports: BOTH,
        leaves_out: &[],
    },
    Client {
        name: "Python, sapl-fastapi 4.1.0",
        get: install::fastapi,
        scenarios: ENFORCED,
        transports: &[Transport::Http],
        leaves_out: &[],
    },
    Client {
        name: "Python, sapl-flask 4.1.0",
        get: install::flask,
        scenarios: ENFORCED,
        transports: &[Transport::Http],
        leaves_out: &[(
            "a guarded stream",
            "its views are streamed by the same code as those of sapl-fastapi",
        )],
    },
    Client {
        name: "Java, sapl-pdp-remote 3.0.0",
        get: install::java_sdk,
        scenarios: DECIDED,
        transports: &[Transport::Http],
        leaves_out: &[
            ("a suspension", "SAPL 3 has no such decision"),
            ("several at once", SAPL_3),
            ("several, told together", SAPL_3),
            ("several, told one by one", SAPL_3),
        ],
    },
    Client {
        name: "Java, rsocket-java 1.1.5 and Spring WebFlux 6.2.8",
        get: install::java_wire,
        scenarios: DECIDED,
        transports: BOTH,
        leaves_out: &[],
    },
    Client {
        name: "Node, rsocket-js 0.0.27 and eventsource-parser 3.0.6",
        get: install::node,
        scenarios: DECIDED,
        transports: BOTH,
        leaves_out: &[],
    },
];

const SAPL_3: &str = "SAPL 3 writes them differently, and SAPL 4.2 does not read that either";

/// Clients there are and that no registry within reach gives out.
const OUT_OF_REACH: [(&str, &str); 4] = [
    ("Java, sapl-pdp-remote 4", "Maven Central has 2.0.0 to 3.0.0; what it is made of is run instead"),
    ("NestJS, @sapl/nestjs", "the npm registry has no such package; what it is made of is run instead"),
    ("PHP, sapl/sapl-php", "it is on Packagist alone, and wants PHP 8.3; Debian 12 has 8.2"),
    (".NET, Sapl.Core and Sapl.Rsocket", "they are on NuGet alone, and Debian has no .NET"),
];

/// `cargo xtask clients [WORD]`.
pub(crate) fn run_alone(word: &str) -> ExitCode {
    let mut report = Report::new();
    steps(&mut report, word);
    report.close()
}

/// `cargo xtask browser`: applications of others, whose users log in with a real browser.
pub(crate) fn run_browser() -> ExitCode {
    let mut report = Report::new();
    for script in [&BROWSER, &PASSKEYS] {
        report.step(&format!("clients: {}", script.name), || script.judge());
    }
    report.close()
}

/// One step for each client with the word in its name.
pub(crate) fn steps(report: &mut Report, word: &str) {
    for (name, why) in OUT_OF_REACH {
        println!("not asked by {name}: {why}");
    }
    for client in CLIENTS.iter().filter(|client| client.name.contains(word)) {
        report.step(&format!("clients: {}", client.name), || asked_by(client));
    }
    for script in SCRIPTS.iter().filter(|script| script.name.contains(word)) {
        report.step(&format!("clients: {}", script.name), || script.judge());
    }
}

/// Installs the packages of all clients; whoever asks for one finds it, or the reason why it is not there.
pub(crate) fn fetch() {
    for client in &CLIENTS {
        let _ = (client.get)();
    }
    for script in &SCRIPTS {
        let _ = (script.get)();
    }
}

fn asked_by(client: &Client) -> Outcome {
    let command = match (client.get)() {
        Ok(command) => command,
        Err(Missing::Tool(why)) => return Outcome::Skipped(why),
        Err(Missing::Broken(why)) => return Outcome::Failed(why),
    };
    match built::binary().and_then(|binary| asked(client, command, &binary)) {
        Ok((passed, failed)) => Outcome::Counted { passed, failed, note: String::new() },
        Err(why) => Outcome::Failed(why),
    }
}

/// All scenarios over all transports, on one server; how many passed and failed.
fn asked(client: &Client, command: Command, binary: &Path) -> Result<(u64, u64), String> {
    let mut server = Server::start(binary)?;
    let mut puppet = Puppet::start(command)?;
    let (mut passed, mut failed) = (0, 0);
    for transport in client.transports {
        for scenario in client.scenarios {
            let name = format!("{} over {}", scenario.name, transport.name());
            if let Some((_, why)) = client.leaves_out.iter().find(|(name, _)| *name == scenario.name) {
                println!("left out: {name}: {why}");
                continue;
            }
            let mut stage = Stage { server: &mut server, puppet: &mut puppet, transport: *transport };
            match stage.play(scenario) {
                Ok(()) => {
                    passed += 1;
                    println!("ok {name}");
                }
                Err(why) => {
                    failed += 1;
                    println!("FAILED {name}: {why}\n{}", server.last_words().trim_end());
                }
            }
        }
    }
    puppet.end();
    match server.nothing_is_left() {
        Ok(()) => passed += 1,
        Err(why) => {
            failed += 1;
            println!("FAILED nothing is left when the client has gone: {why}");
        }
    }
    server.stop()?;
    Ok((passed, failed))
}

//! `durward lab agent`, and how `durward lab run` names agents.

use std::io::{self, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use durward_lab::agent::{Address, AgentHosting, AgentKey, Agents, LOCAL, serve};
use durward_lab::scenario::Scenario;

use super::run::stop_at_signal;
use crate::failure::{CommandError, CommandResult, without_number};
use crate::to_stdout;

const EXAMPLES: &str = "\
Examples:
  durward lab agent --new-key agent.key
  durward lab agent --listen 10.0.0.2:7400 --key agent.key --i-may-load shop.test.example
  durward lab run shop.toml --agent 10.0.0.2:7400 --agent 10.0.0.3:7400 --agent-key agent.key

Copy the key file to all machines. Whoever has it can have this machine make load: on itself, and on the hosts that
--i-may-load names here, and on no others. The agent serves one run at a time, until Ctrl-C.";

/// Make load on this machine, steered by `durward lab run` on another one
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(super) struct Arguments {
    /// Where the agent listens; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT", required_unless_present = "new_key", requires = "key")]
    listen: Option<String>,
    /// The file with the key of those who may steer
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Write a new key to this file, which only you may read, and end
    #[arg(long, value_name = "FILE", conflicts_with_all = ["listen", "key", "i_may_load", "threads"])]
    new_key: Option<PathBuf>,
    /// Another host that may be loaded: you have its owner's permission
    #[arg(long, value_name = "HOST")]
    i_may_load: Vec<String>,
    /// How many threads make load, whatever scenarios say
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
}

/// Which agents make the load of a run.
#[derive(Debug, clap::Args)]
pub(super) struct AgentsArgument {
    /// An agent that makes load instead of this process; `local` is this process
    #[arg(long = "agent", value_name = "HOST:PORT")]
    agents: Vec<String>,
    /// The file with the key of the agents
    #[arg(long, value_name = "FILE")]
    agent_key: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> CommandResult {
    if let Some(path) = &arguments.new_key {
        AgentKey::write_new(path).map_err(|error| CommandError::new(format!("the key {error}")).at(path))?;
        to_stdout(&format!(
            "wrote a new key to {}: copy it to all agents and to the leader\n",
            path.display()
        ))?;
        return Ok(ExitCode::SUCCESS);
    }
    let (Some(listen), Some(key)) = (&arguments.listen, &arguments.key) else {
        return Err(CommandError::new(
            "say where to listen, by `--listen HOST:PORT`, and the key, by `--key FILE`",
        ));
    };
    let key = read_key(key)?;
    let cannot = |error: io::Error| {
        CommandError::new(format!("cannot listen on {listen}: {}", without_number(&error.to_string())))
    };
    let listener = TcpListener::bind(listen).map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    say(&format!("agent listens on {address}"));
    let hosting = AgentHosting {
        key,
        may_load: arguments.i_may_load.clone(),
        threads: arguments.threads.map(usize::from),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        now_unix_us,
        stop: stop_at_signal()?,
        say: Arc::new(say),
    };
    serve(&listener, hosting).map_err(cannot)?;
    Ok(ExitCode::SUCCESS)
}

/// The agents of the command line and of the scenario, whose files are in `folder`.
pub(super) fn named(
    named: &AgentsArgument,
    scenario: &Scenario,
    folder: &Path,
) -> Result<Agents, CommandError> {
    let own = named.agent_key.as_deref().map(read_key).transpose()?;
    let mut addresses: Vec<Address> =
        named.agents.iter().map(|address| Address { address: address.clone(), key: own.clone() }).collect();
    for agent in &scenario.agents {
        let key = agent.key.as_ref().map(|path| read_key(&folder.join(path))).transpose()?;
        addresses.push(Address { address: agent.address.clone(), key: key.or_else(|| own.clone()) });
    }
    let without = addresses.iter().find(|agent| agent.key.is_none() && agent.address != LOCAL);
    if let Some(agent) = without {
        return Err(CommandError::new(format!("agent `{}` has no key", agent.address))
            .hint("name the file with it by `--agent-key FILE`, or by `key` in `[[agents]]`"));
    }
    Ok(Agents { addresses, now_unix_us: Some(now_unix_us) })
}

fn read_key(path: &Path) -> Result<AgentKey, CommandError> {
    AgentKey::read(path).map_err(|error| {
        CommandError::new(format!("the key {}", without_number(&error.to_string()))).at(path)
    })
}

fn say(line: &str) {
    // Whoever closed standard error does not want to know.
    let _ = writeln!(io::stderr(), "{line}");
}

fn now_unix_us() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "the binary hands the clock to what it builds")]
    let now = std::time::SystemTime::now();
    now.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_micros()).unwrap_or(0))
}

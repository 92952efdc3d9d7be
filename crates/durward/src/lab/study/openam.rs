//! `durward lab study openam`.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use durward_lab::load::NullServer;
use durward_lab::study::openam::{OpenAm, OpenAmSetup, study};

use super::{StudyArguments, run_study};
use crate::failure::{CommandError, CommandResult};

const EXAMPLES: &str = "\
Examples:
  durward lab study openam --quick --out results/
  durward lab study openam --only logout --only none --seconds 10
  OPENAM_PASSWORD=changeit durward lab study openam --openam http://127.0.0.1:8080/openam

This program is started as the nodes, each in a slice of a core, and `nats-server` as the three stores that they share: from the
PATH, DURWARD_NATS_SERVER, or --nats-server. Without it, only one node is measured. Quotas need control groups, so root or a
delegated group; what stands in for them is said in the report.";

/// OpenAM and the Universal Scalability Law (2014): logins, verifications and logouts on 1 to 8 nodes
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(flatten)]
    how: StudyArguments,
    /// Numbers of nodes to measure the law of nodes with, in place of 1,2,3,4,6,8
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(1..=64))]
    nodes: Vec<u8>,
    /// The program of the stores
    #[arg(long, value_name = "PROGRAM")]
    nats_server: Option<PathBuf>,
    /// An OpenAM that runs already, to be measured by the same users; the password is OPENAM_PASSWORD of the environment
    #[arg(long, value_name = "URL")]
    openam: Option<String>,
    /// Who logs in there
    #[arg(long, value_name = "NAME", default_value = "demo")]
    openam_user: String,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let how = &arguments.how;
    let program = std::env::current_exe()
        .map_err(|error| CommandError::new(format!("this program does not know where it is: {error}")))?;
    let nobody = NullServer::start().map_err(|error| {
        CommandError::new(format!("a server that does nothing cannot be started: {error}"))
    })?;
    let openam =
        arguments.openam.as_ref().map(|url| OpenAm { url: url.clone(), user: arguments.openam_user.clone() });
    if openam.is_some() && std::env::var_os("OPENAM_PASSWORD").is_none() {
        return Err(CommandError::new("OPENAM_PASSWORD is not set")
            .hint("it is the password of --openam-user; flags would show it to everybody"));
    }
    let setup = OpenAmSetup {
        durward: program.display().to_string(),
        nats_server: nats_server(arguments.nats_server.as_ref())?,
        nobody: Some(nobody.url()),
        openam,
        is_full: how.is_full(),
        users: how.points().map(<[u64]>::to_vec),
        seconds: how.seconds(),
        nodes: (!arguments.nodes.is_empty())
            .then(|| arguments.nodes.iter().copied().map(usize::from).collect()),
    };
    run_study(study(&setup), how)
}

/// The program of the stores, where it answers; one that was named must.
fn nats_server(named: Option<&PathBuf>) -> Result<Option<String>, CommandError> {
    let program = named
        .cloned()
        .or_else(|| std::env::var_os("DURWARD_NATS_SERVER").map(PathBuf::from))
        .unwrap_or_else(|| PathBuf::from("nats-server"));
    let answers =
        Command::new(&program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    match answers {
        Ok(status) if status.success() => Ok(Some(program.display().to_string())),
        Ok(status) if named.is_some() => {
            Err(CommandError::new(format!("{} --version: {status}", program.display())))
        }
        Err(error) if named.is_some() => {
            Err(CommandError::new(format!("cannot run {}: {error}", program.display())))
        }
        Ok(_) | Err(_) => Ok(None),
    }
}

//! `durward audit`: verifies the audit record of logins and sessions.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::ExitCode;

use durward_session::identity::audit::{ChainVerifier, Checkpoint};

use crate::failure::{CommandError, CommandResult, DIFFERENT, SUCCESS, complain};
use crate::to_stdout;

const EXAMPLES: &str = "\
Examples:
  durward audit verify audit/*.jsonl
  durward audit verify audit/*.jsonl --from-first
  durward audit verify audit/*.jsonl --checkpoint 1520:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08

Files are checked in the order in which they are named; names in order are lines in order. Keep the
printed checkpoint where the writer of the record cannot write: it shows later that nothing was cut off or rewritten. The
first printed number shows whether the beginning is missing: old files are removed if `identity.audit_files_max` says so.
Exit codes: 0 the record is whole, 1 it is not, 2 bad input.";

/// Check the audit record
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: AuditCommand,
}

#[derive(Debug, clap::Subcommand)]
enum AuditCommand {
    /// Check that no line was changed, removed, put in or moved
    Verify(VerifyAudit),
}

#[derive(Debug, clap::Args)]
struct VerifyAudit {
    /// The files of the record, oldest first
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// What an earlier check printed
    #[arg(long, value_name = "NUMBER:HASH")]
    checkpoint: Option<String>,
    /// The record must begin with its first line: none is missing before those that are there
    #[arg(long)]
    from_first: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    let AuditCommand::Verify(verify) = &arguments.what;
    let checkpoint = verify.checkpoint.as_deref().map(Checkpoint::read).transpose();
    let checkpoint = checkpoint.map_err(|error| CommandError::new(error.to_string()))?;
    let mut verifier = ChainVerifier::new(checkpoint);
    if verify.from_first {
        verifier = verifier.from_first();
    }
    for path in &verify.files {
        let file = File::open(path).map_err(|error| CommandError::unreadable(path, &error))?;
        if let Err(broken) = verifier.file(BufReader::new(file)) {
            complain(format_args!("{}: {broken}", path.display()));
            return Ok(ExitCode::from(DIFFERENT));
        }
    }
    let first = verifier.first();
    match verifier.end() {
        Ok(Some(last)) => {
            let first = first.unwrap_or(last.number());
            to_stdout(&format!("whole, lines {first} to {}, checkpoint {last}\n", last.number()))?;
            Ok(ExitCode::from(SUCCESS))
        }
        Ok(None) => Err(CommandError::new("there is no line in it")),
        Err(broken) => {
            complain(broken);
            Ok(ExitCode::from(DIFFERENT))
        }
    }
}

//! `durward lab study openam`.

use durward_lab::study::openam::{Setup, study};

use super::{How, run_study};
use crate::failure::{Failure, Outcome};

/// OpenAM and the Universal Scalability Law (2014): logins, verifications and logouts on 1 to N nodes
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    how: How,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Outcome {
    let how = &arguments.how;
    let program = std::env::current_exe()
        .map_err(|error| Failure::new(format!("this program does not know where it is: {error}")))?;
    let setup = Setup {
        durward: program.display().to_string(),
        is_full: how.is_full(),
        users: how.points().map(<[u64]>::to_vec),
        seconds: how.seconds(),
    };
    run_study(study(&setup), how)
}

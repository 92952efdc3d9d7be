//! The binary that ships: it builds, and is small.

use crate::metadata::Metadata;
use crate::process::{cargo, locked, run};
use crate::report::Outcome;
use std::path::PathBuf;

/// Most bytes of the binary. It is carried to edge devices over slow lines. SAPL's libraries, clients, bundles and policy
/// tests took it from 7 to 15 MiB; users, sessions, and the clients of NATS and LDAP to 19.7; OAuth, OpenAM's calls and the load that
/// measures sessions to 20.6; geometries, attribute sources for XACML, one decision log and the check of SAPL's names to 22.9; the lab to 32.1,
/// much of it what draws PNG and PDF (the feature `pictures` of `durward-lab`, which a server has no use for); agents, the live page, the
/// dashboard, pushes of figures, HTTP/2 and the studies to 35.1; certificates of OPC UA with aws-lc's RSA to 37.9, and its
/// commands and benchmark on top of that.
const BINARY_BYTES_MAX: u64 = 44 << 20;

/// Builds it and weighs it.
pub(crate) fn check() -> Outcome {
    match run(cargo(&["build", "--release", "--package", "durward"]).args(locked())) {
        Ok(()) => weigh(),
        Err(why) => Outcome::Failed(why),
    }
}

/// Where cargo puts it.
pub(crate) fn binary() -> Result<PathBuf, String> {
    Ok(Metadata::read()?.target_directory.join("release").join("durward"))
}

fn weigh() -> Outcome {
    let size = binary().and_then(|path| {
        std::fs::metadata(&path).map_err(|error| format!("cannot see `{}`: {error}", path.display()))
    });
    match size {
        Ok(data) if data.len() <= BINARY_BYTES_MAX => Outcome::Passed(mebibytes(data.len())),
        Ok(data) => {
            Outcome::Failed(format!("{}, more than {}", mebibytes(data.len()), mebibytes(BINARY_BYTES_MAX)))
        }
        Err(message) => Outcome::Failed(message),
    }
}

fn mebibytes(bytes: u64) -> String {
    format!("{}.{} MiB", bytes >> 20, ((bytes & 0xf_ffff) * 10) >> 20)
}

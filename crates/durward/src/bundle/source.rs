//! Policies out of bundles, for commands that decide.

use std::path::{Path, PathBuf};

use durward_bundle::{FileKind, Trust};
use durward_pdp::PolicyText;

use super::files::{self, wrong};
use crate::failure::CommandError;

/// A bundle in place of a directory.
#[derive(Debug, clap::Args)]
pub(crate) struct BundleArguments {
    /// A bundle of policies (*.saplbundle)
    #[arg(long, value_name = "FILE")]
    pub(crate) bundle: Option<PathBuf>,
    /// The public key that the bundle must be signed with
    #[arg(long, value_name = "FILE.pub", requires = "bundle")]
    pub(crate) public_key: Option<PathBuf>,
    /// Accept the bundle without checking its signature
    #[arg(long, requires = "bundle", conflicts_with = "public_key")]
    pub(crate) no_verify: bool,
}

/// The policies of the bundle, if there is one; secrets are for attribute finders, which no command asks.
pub(crate) fn read_policies(arguments: &BundleArguments) -> Result<Vec<PolicyText>, CommandError> {
    let Some(path) = &arguments.bundle else { return Ok(Vec::new()) };
    let trust = match (&arguments.public_key, arguments.no_verify) {
        (Some(key), _) => files::trust(key)?,
        (None, true) => Trust { allow_unsigned: true, ..Trust::default() },
        (None, false) => {
            let hint =
                "name the key it is signed with, `--public-key FILE`; or take it from anybody, `--no-verify`";
            return Err(CommandError::new("whose bundle is it to be?").at(path).hint(hint));
        }
    };
    let verified = files::bundle(path)?.verify(&trust, "").map_err(wrong(path))?;
    let is_read = |name: &str| {
        matches!(
            FileKind::of(name),
            Some(FileKind::Configuration | FileKind::Policy | FileKind::CriticalExtensions)
        )
    };
    let files = verified.into_files().into_iter().filter(|(name, _)| is_read(name));
    Ok(files.map(|(name, text)| PolicyText { name: in_bundle(path, &name), text }).collect())
}

fn in_bundle(bundle: &Path, name: &str) -> String {
    format!("{}/{name}", bundle.display())
}

//! `durward bundle create`, `unpack`, `sign`: into bundles and out of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use durward_bundle::{Bundle, BundleDraft, FileKind, Limits, RecipientKey};
use durward_pdp::{Pdp, PolicyText, ReadError, list_policies, read_policy_file};

use super::files::{self, FileReaders, wrong};
use super::secrets::{keyring, open_name, opened, sealed, sealed_name};
use crate::console::progress::Progress;
use crate::failure::{CommandError, CommandResult, without_number};
use crate::serve::clock;
use crate::to_stdout;

/// How many files SAPL 4.2 reads in a bundle. SAPL takes a bundle that is packed better than 100:1 for an attack,
/// too.
const SAPL_FILES_MAX: usize = 1000;
const SAPL_RATIO_MAX: usize = 100;

/// Make a bundle of a directory
#[derive(Debug, clap::Args)]
pub(super) struct CreateBundle {
    /// The directory: pdp.json, *.sapl, secrets, extensions. XACML policies are refused; other files are ignored
    #[arg(short, long, value_name = "DIR")]
    input: PathBuf,
    /// The bundle
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Sign it with this private key
    #[arg(short, long, value_name = "FILE.pem")]
    key: Option<PathBuf>,
    /// The name of the key in the signature
    #[arg(long, value_name = "NAME", default_value = "default")]
    key_id: String,
    /// The name of this publication; by default derived from its content
    #[arg(long, value_name = "NAME")]
    configuration_id: Option<String>,
    /// Seal plain-text secrets with this public key
    #[arg(long, value_name = "FILE.pub.jwk")]
    seal_to: Option<PathBuf>,
    /// Replace a bundle that is there
    #[arg(long)]
    force: bool,
}

/// Write the files of a bundle into a directory
#[derive(Debug, clap::Args)]
pub(super) struct UnpackBundle {
    /// The bundle
    #[arg(short, long, value_name = "FILE")]
    bundle: PathBuf,
    /// The directory; it is made if it is not there
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Verify it first with this public key
    #[arg(short, long, value_name = "FILE.pub")]
    key: Option<PathBuf>,
    /// Open its secrets with this private key
    #[arg(long, value_name = "FILE.jwk")]
    unseal_with: Option<PathBuf>,
    /// Replace files that are there
    #[arg(long)]
    force: bool,
}

/// Sign a bundle again
#[derive(Debug, clap::Args)]
pub(super) struct SignBundle {
    /// The bundle
    #[arg(short, long, value_name = "FILE")]
    bundle: PathBuf,
    /// The private key
    #[arg(short, long, value_name = "FILE.pem")]
    key: PathBuf,
    /// The name of the key in the signature
    #[arg(long, value_name = "NAME", default_value = "default")]
    key_id: String,
    /// The signed bundle; by default it replaces the other
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn create(arguments: &CreateBundle) -> CommandResult {
    let at = wrong(&arguments.input);
    let progress = Progress::start("making the bundle");
    refuse_xacml(&arguments.input)?;
    let recipient = arguments.seal_to.as_deref().map(files::recipient_key).transpose()?;
    let found = with_sealed_secrets(&arguments.input, recipient.as_ref())?;
    check_policies(&arguments.input, &found)?;
    let mut draft = BundleDraft::new(&now()?).map_err(&at)?;
    if let Some(id) = &arguments.configuration_id {
        draft.set_configuration_id(id).map_err(|error| CommandError::new(error.to_string()))?;
    }
    for (name, content) in found {
        draft.add(&name, content).map_err(&at)?;
    }
    let key = arguments.key.as_deref().map(files::signing_key).transpose()?;
    let signing = key.as_ref().map(|key| (key, arguments.key_id.as_str()));
    let bytes = draft.finish(signing).map_err(&at)?;
    // Read again: what is written is what the limits allow.
    let bundle = Bundle::read(&bytes, &Limits::default()).map_err(&at)?;
    files::write(&arguments.output, &bytes, FileReaders::Usual, arguments.force)?;
    drop(progress);
    tell(&arguments.output, &bundle, bytes.len())
}

pub(super) fn sign(arguments: &SignBundle) -> CommandResult {
    let at = wrong(&arguments.bundle);
    let bundle = files::bundle(&arguments.bundle)?;
    if let Some(name) = bundle.files().keys().find(|name| is_clear(name)) {
        let failure = CommandError::new(format!("`{name}` holds secrets in clear")).at(&arguments.bundle);
        return Err(
            failure.hint("unpack it, seal the directory with `durward bundle seal`, and make it again")
        );
    }
    let key = files::signing_key(&arguments.key)?;
    let draft = BundleDraft::of(&bundle, &now()?).map_err(&at)?;
    let bytes = draft.finish(Some((&key, &arguments.key_id))).map_err(&at)?;
    let output = arguments.output.as_deref().unwrap_or(&arguments.bundle);
    files::write(output, &bytes, FileReaders::Usual, true)?;
    tell(output, &Bundle::read(&bytes, &Limits::default()).map_err(&at)?, bytes.len())
}

pub(super) fn unpack(arguments: &UnpackBundle) -> CommandResult {
    let at = wrong(&arguments.bundle);
    let mut bundle = files::bundle(&arguments.bundle)?;
    let configuration = bundle.manifest().configuration_id.clone();
    let contents = match &arguments.key {
        Some(key) => bundle.verify(&files::trust(key)?, "").map_err(&at)?.into_files(),
        None => bundle.take_files(),
    };
    let keyring = match &arguments.unseal_with {
        Some(path) => Some(keyring(vec![files::secret_key(path)?])?),
        None => None,
    };
    let mut unpacked = BTreeMap::new();
    for (name, content) in contents {
        match (&keyring, FileKind::of(&name).is_some_and(FileKind::is_sealed)) {
            (Some(keyring), true) => {
                let content = opened(&content, keyring).map_err(|error| at(error.of(format!("`{name}`"))))?;
                unpacked.insert(open_name(&name), content);
            }
            (Some(_) | None, _) => drop(unpacked.insert(name, content)),
        }
    }
    if let Some(name) = unpacked.keys().find(|name| !arguments.force && arguments.output.join(name).exists())
    {
        let failure = CommandError::new("is there already").at(&arguments.output.join(name));
        return Err(failure.hint("choose another directory, or replace files with `--force`"));
    }
    fs::create_dir_all(&arguments.output).map_err(|error| CommandError::from(error).at(&arguments.output))?;
    for (name, content) in &unpacked {
        let readers = if is_clear(name) { FileReaders::Owner } else { FileReaders::Usual };
        files::write(&arguments.output.join(name), content, readers, arguments.force)?;
    }
    let verified = if arguments.key.is_some() { "verified" } else { "not verified" };
    to_stdout(&format!(
        "{}: {} files of {configuration}, {verified}\n",
        arguments.output.display(),
        unpacked.len()
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn is_clear(name: &str) -> bool {
    FileKind::of(name).is_some_and(FileKind::is_clear_secret)
}

/// RFC 3339.
fn now() -> Result<String, CommandError> {
    durward_bundle::time(clock()()).map_err(|error| CommandError::new(error.to_string()))
}

/// The files of a directory, whose secrets are sealed, by themselves or now.
fn with_sealed_secrets(
    directory: &Path,
    recipient: Option<&RecipientKey>,
) -> Result<BTreeMap<String, Vec<u8>>, CommandError> {
    let found = files::directory(directory)?;
    let is = |kind: fn(FileKind) -> bool| found.keys().any(|name| FileKind::of(name).is_some_and(kind));
    let (has_clear, has_sealed) = (is(FileKind::is_clear_secret), is(FileKind::is_sealed));
    let wrong = |message: &str, hint: &str| Err(CommandError::new(message).at(directory).hint(hint));
    match (has_clear, has_sealed, recipient) {
        (true, true, _) => wrong("some secrets are sealed and some are not", "seal or unseal all of them"),
        (true, false, None) => wrong("there are secrets in clear", "seal them: `--seal-to FILE.pub.jwk`"),
        (false, _, Some(_)) => wrong("there are no secrets in clear to be sealed", "leave out `--seal-to`"),
        (false, _, None) => Ok(found),
        (true, false, Some(recipient)) => {
            let seal = |(name, content): (String, Vec<u8>)| {
                if !is_clear(&name) {
                    return Ok((name, content));
                }
                let path = directory.join(&name);
                Ok((sealed_name(&name), sealed(&content, recipient).map_err(files::wrong(&path))?))
            };
            found.into_iter().map(seal).collect()
        }
    }
}

/// A bundle holds documents of SAPL alone, and engines pass over what they do not know: a deny in XACML that got lost so
/// would be nobody's to miss.
fn refuse_xacml(directory: &Path) -> Result<(), CommandError> {
    let unreadable = |error: ReadError| CommandError::new(without_number(&error.to_string()));
    for path in list_policies(directory).map_err(unreadable)? {
        if !is_xml(&path) {
            continue;
        }
        let text = read_policy_file(&path, durward_pdp::xacml::policy::Limits::default().bytes_max);
        if text.map_err(unreadable)?.is_some() {
            let failure = CommandError::new("a bundle cannot hold policies of XACML").at(&path);
            return Err(failure.hint(
                "move it to a directory of its own, and serve it with `durward serve --policies`, or write it in SAPL",
            ));
        }
    }
    Ok(())
}

fn is_xml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("xml"))
}

/// Policies that nobody could put in force are not worth a bundle.
fn check_policies(directory: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<(), CommandError> {
    let is_policy =
        |name: &str| matches!(FileKind::of(name), Some(FileKind::Policy | FileKind::Configuration));
    let policies = files.iter().filter(|(name, _)| is_policy(name));
    let text = |(name, text): (&String, &Vec<u8>)| PolicyText {
        name: directory.join(name).display().to_string(),
        text: text.clone(),
    };
    let now = clock();
    let built = Pdp::builder().policies(policies.map(text).collect()).clock(move || now()).build();
    built.map(drop).map_err(|errors| CommandError::policies(&errors))
}

fn tell(path: &Path, bundle: &Bundle, bytes: usize) -> CommandResult {
    let manifest = bundle.manifest();
    let signed = match &manifest.signature {
        Some(signature) => format!("signed with the key `{}`", signature.key_id),
        None => "not signed".to_owned(),
    };
    let count = bundle.files().len();
    to_stdout(&format!("{}: {}, {count} files, {signed}\n", path.display(), manifest.configuration_id))?;
    let unpacked: usize = bundle.files().values().map(Vec::len).sum();
    if count >= SAPL_FILES_MAX || unpacked / SAPL_RATIO_MAX > bytes {
        crate::failure::warn(
            "SAPL 4.2 does not read this bundle: it has 1000 files or more, or is packed better than 100:1",
        );
    }
    Ok(ExitCode::SUCCESS)
}

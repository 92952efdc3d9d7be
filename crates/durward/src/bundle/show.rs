//! `durward bundle verify` and `inspect`: whether a bundle may be trusted, and what is in it.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use durward_bundle::{Bundle, FileKind};

use super::files;
use crate::failure::{CommandResult, DIFFERENT, complain};
use crate::to_stdout;

/// Verify the signature of a bundle, and every file in it
#[derive(Debug, clap::Args)]
pub(super) struct VerifyBundle {
    /// The bundle
    #[arg(short, long, value_name = "FILE")]
    bundle: PathBuf,
    /// The public key
    #[arg(short, long, value_name = "FILE.pub")]
    key: PathBuf,
}

/// Show the manifest and the files of a bundle, without secrets
#[derive(Debug, clap::Args)]
pub(super) struct InspectBundle {
    /// The bundle
    #[arg(short, long, value_name = "FILE")]
    bundle: PathBuf,
    /// Verify it with this public key
    #[arg(short, long, value_name = "FILE.pub")]
    key: Option<PathBuf>,
}

pub(super) fn verify(arguments: &VerifyBundle) -> CommandResult {
    let trust = files::trust(&arguments.key)?;
    let bundle = files::bundle(&arguments.bundle)?;
    let path = arguments.bundle.display();
    match bundle.verify(&trust, "") {
        Ok(verified) => {
            let manifest = verified.manifest();
            let key = manifest.signature.as_ref().map_or("", |signature| &signature.key_id);
            let (count, created) = (verified.files().len(), manifest.created);
            to_stdout(&format!("{path}: verified, {count} files, key `{key}`, made at {created}\n"))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            complain(format_args!("{path}: {error}"));
            Ok(ExitCode::from(DIFFERENT))
        }
    }
}

pub(super) fn inspect(arguments: &InspectBundle) -> CommandResult {
    let trust = arguments.key.as_deref().map(files::trust).transpose()?;
    let bundle = files::bundle(&arguments.bundle)?;
    let mut text = described(&bundle);
    let verified = trust.map(|trust| bundle.verify(&trust, ""));
    let (integrity, code) = match &verified {
        None => ("not checked: give the key with `-k`".to_owned(), ExitCode::SUCCESS),
        Some(Ok(_)) => ("verified".to_owned(), ExitCode::SUCCESS),
        Some(Err(error)) => (format!("FAILED: {error}"), ExitCode::from(DIFFERENT)),
    };
    text.push_str(&format!("integrity:     {integrity}\n"));
    to_stdout(&text)?;
    Ok(code)
}

fn described(bundle: &Bundle) -> String {
    let manifest = bundle.manifest();
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<14} {value}");
    };
    line("configuration:", &manifest.configuration_id);
    line("made at:", &manifest.created.to_string());
    line("made by:", &manifest.attribution.to_json());
    let signature = manifest.signature.as_ref();
    line(
        "signature:",
        &signature.map_or("none".to_owned(), |it| format!("key `{}`", it.key_id.escape_debug())),
    );
    line("sealed to:", &manifest.recipient.as_deref().unwrap_or("nobody").escape_debug().to_string());
    for (name, content) in bundle.files() {
        let what = match FileKind::of(name) {
            Some(FileKind::Configuration) => "configuration",
            Some(FileKind::Policy) => "policy",
            Some(FileKind::Secrets | FileKind::ExtensionSecrets) => "secrets IN CLEAR",
            Some(FileKind::SealedSecrets | FileKind::SealedExtensionSecrets) => "sealed secrets",
            Some(FileKind::Extension) => "extension",
            Some(FileKind::CriticalExtensions) => "extensions that must be known",
            Some(FileKind::Manifest) | None => "unknown",
        };
        line("file:", &format!("{name}, {} bytes, {what}", content.len()));
    }
    text
}

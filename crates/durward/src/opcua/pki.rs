//! `durward opcua pki`: the certificate of an application, and whom it trusts, in directories as the OPC Foundation lays them out.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use durward_opcua::channel::PeerRole;
use durward_opcua::crypto::{Certificate, KeyLength};
use durward_opcua::error::Error;
use durward_opcua::pki::{CertificateDirectory, CertificateDraft, read_certificate, self_signed, validate};
use durward_session::identity::Moment;

use crate::failure::{CommandError, CommandResult, DIFFERENT};
use crate::serve::clock;
use crate::to_stdout;

const EXAMPLES: &str = "\
Examples:
  durward opcua pki create --dir pki --application-uri urn:plant:gate --host plc.example.org --host 10.0.0.4
  durward opcua pki show --dir pki
  durward opcua pki trust --dir pki historian.der        a certificate in a file
  durward opcua pki trust --dir pki 3f0c9a               one that was rejected, by the beginning of its thumbprint

A certificate that comes and is not trusted is kept in rejected/certs: `show` lists it, `trust` accepts it from then on. A server
that runs takes that in with the next connection. Exit codes: 0 done, 1 the own certificate is missing or not valid, 2 bad input.";

/// How many characters of a thumbprint name a certificate at least.
const THUMBPRINT_CHARS_MIN: usize = 6;

/// Make and show the certificate of an application, and trust those of others
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
#[command(disable_help_subcommand = true)]
pub(super) struct Arguments {
    #[command(subcommand)]
    what: PkiCommand,
}

#[derive(Debug, clap::Subcommand)]
enum PkiCommand {
    /// Make a key and a certificate that it signs itself
    Create(CreateCertificate),
    /// List the own certificate, those that are trusted and those that were rejected
    Show(PkiDirectory),
    /// Trust a certificate, of an application or an authority
    Trust(TrustCertificate),
}

#[derive(Debug, clap::Args)]
struct PkiDirectory {
    /// The directory
    #[arg(long, value_name = "DIR", default_value = "pki")]
    dir: PathBuf,
}

#[derive(Debug, clap::Args)]
struct CreateCertificate {
    #[command(flatten)]
    place: PkiDirectory,
    /// The URI of the application, which its certificate proves: `urn:plant:gate`
    #[arg(long, value_name = "URI")]
    application_uri: String,
    /// The name of the certificate; without it the URI
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The organization
    #[arg(long, value_name = "NAME", default_value = "")]
    organization: String,
    /// A DNS name or address under which the machine is reached: clients compare it with the URL
    #[arg(long, value_name = "HOST", default_values = ["localhost", "127.0.0.1"])]
    host: Vec<String>,
    /// The length of the RSA key
    #[arg(long, value_name = "N", default_value = "2048", value_parser = ["2048", "3072", "4096"])]
    bits: String,
    /// How long it is valid
    #[arg(long, value_name = "N", default_value_t = 1825, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: u32,
}

#[derive(Debug, clap::Args)]
struct TrustCertificate {
    #[command(flatten)]
    place: PkiDirectory,
    /// A file (DER or PEM), or the beginning of the thumbprint of a certificate that was rejected
    #[arg(value_name = "FILE|THUMBPRINT")]
    which: String,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> CommandResult {
    match &arguments.what {
        PkiCommand::Create(arguments) => create(arguments),
        PkiCommand::Show(arguments) => show(arguments),
        PkiCommand::Trust(arguments) => trust(arguments),
    }
}

fn failure(error: Error) -> CommandError {
    CommandError::new(error.reason().to_owned())
}

/// The directory. Only `create` makes one: a name that was mistyped is not a new directory.
fn open(place: &PkiDirectory) -> Result<CertificateDirectory, CommandError> {
    if !place.dir.is_dir() {
        let failure = CommandError::new(format!("there is no directory {}", place.dir.display()));
        return Err(failure.hint("`durward opcua pki create` makes one with a certificate in it"));
    }
    CertificateDirectory::open(&place.dir).map_err(failure)
}

fn create(arguments: &CreateCertificate) -> CommandResult {
    let directory = CertificateDirectory::open(&arguments.place.dir).map_err(failure)?;
    let length = match arguments.bits.as_str() {
        "3072" => KeyLength::Rsa3072,
        "4096" => KeyLength::Rsa4096,
        _ => KeyLength::Rsa2048,
    };
    let draft = CertificateDraft {
        application_uri: arguments.application_uri.clone(),
        common_name: arguments.name.clone().unwrap_or_else(|| arguments.application_uri.clone()),
        organization: arguments.organization.clone(),
        hosts: arguments.host.clone(),
        valid_from: Moment::of(clock()()),
        valid_for: Duration::from_secs(u64::from(arguments.days) * 24 * 3_600),
    };
    let own = self_signed(&draft, length).map_err(failure)?;
    directory.store_own(&own).map_err(failure)?;
    let place = |name: &str| directory.root().join(name).display().to_string();
    to_stdout(&format!(
        "{}\n{}: give it to those who are to trust this application\n{}: private, keep it to yourself\n",
        line(own.certificate()),
        place("own/certs/application.der"),
        place("own/private/application.der")
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn show(arguments: &PkiDirectory) -> CommandResult {
    let directory = open(arguments)?;
    let now = Moment::of(clock()());
    let lists = directory.lists().map_err(failure)?;
    let own = directory.own().map_err(failure)?;
    let mut text = String::new();
    let is_valid = own.as_ref().is_some_and(|own| is_in_time(own.certificate(), now));
    // Writing into a text does not fail.
    match &own {
        Some(own) => {
            let _ = writeln!(text, "own       {}", dated(own.certificate(), now));
        }
        None => text.push_str("own       none: `durward opcua pki create` makes one\n"),
    }
    let certificates = |ders: &[Vec<u8>]| -> Vec<Certificate> {
        ders.iter().filter_map(|der| Certificate::from_der(der).ok()).collect()
    };
    for trusted in certificates(&lists.trusted) {
        let _ = writeln!(text, "trusted   {}", dated(&trusted, now));
    }
    for issuer in certificates(&lists.issuers) {
        let _ = writeln!(text, "issuer    {}", dated(&issuer, now));
    }
    for rejected in directory.rejected().map_err(failure)? {
        let why = match validate(&[rejected.der()], &lists, PeerRole::Client, now) {
            Ok(()) => "would be accepted now".to_owned(),
            Err(error) => error.reason().to_owned(),
        };
        let _ = writeln!(text, "rejected  {}: {why}", line(&rejected));
    }
    to_stdout(&text)?;
    Ok(if is_valid { ExitCode::SUCCESS } else { ExitCode::from(DIFFERENT) })
}

fn trust(arguments: &TrustCertificate) -> CommandResult {
    let directory = open(&arguments.place)?;
    let certificate = match Path::new(&arguments.which) {
        file if file.is_file() => read_certificate(file).map_err(failure)?,
        _ => rejected(&directory, &arguments.which)?,
    };
    directory.trust(&certificate).map_err(failure)?;
    to_stdout(&format!("trusted   {}\n", line(&certificate)))?;
    Ok(ExitCode::SUCCESS)
}

/// The one rejected certificate whose thumbprint begins so.
fn rejected(directory: &CertificateDirectory, beginning: &str) -> Result<Certificate, CommandError> {
    let beginning = beginning.to_ascii_lowercase();
    let is_thumbprint = beginning.chars().all(|digit| digit.is_ascii_hexdigit());
    if !is_thumbprint || beginning.len() < THUMBPRINT_CHARS_MIN {
        let message = format!(
            "`{beginning}` is neither a file nor a thumbprint of {THUMBPRINT_CHARS_MIN} digits or more"
        );
        return Err(CommandError::new(message).hint("`durward opcua pki show` lists what was rejected"));
    }
    let mut found: Vec<Certificate> = directory.rejected().map_err(failure)?;
    found.retain(|one| one.thumbprint_hex().to_ascii_lowercase().starts_with(&beginning));
    match (found.pop(), found.is_empty()) {
        (Some(certificate), true) => Ok(certificate),
        (None, _) => Err(CommandError::new(format!(
            "no rejected certificate has a thumbprint that begins with `{beginning}`"
        ))
        .hint("`durward opcua pki show` lists what was rejected")),
        (Some(_), false) => Err(CommandError::new(format!(
            "several rejected certificates begin with `{beginning}`: give more digits"
        ))),
    }
}

/// A certificate in one line.
fn line(certificate: &Certificate) -> String {
    let uri = certificate.application_uri().unwrap_or("no application URI");
    let hosts = match certificate.host_names() {
        [] => String::new(),
        hosts => format!(", {}", hosts.join(", ")),
    };
    format!("{}  {uri}, {}{hosts}", certificate.thumbprint_hex().to_ascii_lowercase(), certificate.subject())
}

fn is_in_time(certificate: &Certificate, now: Moment) -> bool {
    certificate.valid_from() <= now && now < certificate.valid_until()
}

fn dated(certificate: &Certificate, now: Moment) -> String {
    const DAY_MS: u64 = 24 * 3_600 * 1_000;
    let line = line(certificate);
    let (until, now) = (certificate.valid_until().ms(), now.ms());
    if now >= until {
        format!("{line}: EXPIRED")
    } else if now < certificate.valid_from().ms() {
        format!("{line}: NOT VALID YET")
    } else {
        format!("{line}: {} more days", (until - now) / DAY_MS)
    }
}

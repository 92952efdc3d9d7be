//! `durward demo`: a server with example policies and somebody who can log in, and what to try on it.

pub(crate) mod folder;
mod person;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use durward_pdp::{Pdp, PdpBuilder};
use durward_server::{AuthzenLanguage, LogLevel, Server, Settings, StartError, SubjectsAssertedBy};
use serde_json::{Value as Json, json};

use crate::failure::{CommandError, CommandResult, without_number};
use crate::serve::{self, clock};
use crate::to_stdout;
use person::DemoPerson;

/// The example policies, as they lie in the source tree, and how they are combined.
const POLICIES: [(&str, &str); 4] = [
    ("conference.xml", include_str!("../../policies/demo/conference.xml")),
    ("hospital.xml", include_str!("../../policies/demo/hospital.xml")),
    ("pdp.json", include_str!("../../policies/demo/pdp.json")),
    ("ward.sapl", include_str!("../../policies/demo/ward.sapl")),
];

const SUBJECT_ID: &str = "urn:oasis:names:tc:xacml:1.0:subject:subject-id";
const ACTION_ID: &str = "urn:oasis:names:tc:xacml:1.0:action:action-id";

const EXAMPLES: &str = "\
Examples:
  durward demo
  durward demo --listen 127.0.0.1:9000
  durward demo opcua                         access control for OPC UA: a plant, a gate, an authorization service
  durward demo --policies-to my-policies     writes the example policies, to change them and `durward serve` them";

/// Start a server with example policies and a user, and print requests to try
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: Option<DemoCommand>,
    /// The address and port to listen on; without it 127.0.0.1:8080, or a free port if that is taken
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Write the example policies into this directory, and do nothing else
    #[arg(long, value_name = "DIR", conflicts_with = "listen")]
    policies_to: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum DemoCommand {
    #[cfg(feature = "opcua")]
    Opcua(crate::opcua::demo::Arguments),
    #[cfg(not(feature = "opcua"))]
    /// Try access control for OPC UA (left out: needs the cargo feature `opcua`)
    Opcua(crate::absent::Arguments),
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    #[cfg(feature = "opcua")]
    if let Some(DemoCommand::Opcua(arguments)) = &arguments.what {
        return crate::opcua::demo::run(arguments);
    }
    #[cfg(not(feature = "opcua"))]
    if let Some(DemoCommand::Opcua(_)) = &arguments.what {
        return crate::absent::run("durward demo opcua", "opcua");
    }
    if let Some(directory) = &arguments.policies_to {
        return write_policies(directory);
    }
    let pdp = pdp().build().map_err(|errors| CommandError::policies(&errors))?;
    let pdp = Arc::new(pdp);
    let person = DemoPerson::new()?;
    serve::in_runtime(|| {
        let server = bind(arguments.listen, &pdp, &person).map_err(serve::failure)?;
        to_stdout(&welcome(server.address(), &person))?;
        Ok(server)
    })
}

/// A decision point with the example policies.
fn pdp() -> PdpBuilder {
    let clock = clock();
    let builder = Pdp::builder().clock(move || clock());
    POLICIES.iter().fold(builder, |builder, (name, text)| builder.policy(name, *text))
}

fn bind(listen: Option<SocketAddr>, pdp: &Arc<Pdp>, person: &DemoPerson) -> Result<Server, StartError> {
    let mut settings = Settings::default();
    settings.identity.users = Some(person.users());
    // Its examples ask about whomever they like.
    settings.identity.subjects_asserted_by = SubjectsAssertedBy::DangerAnybody;
    settings.sapl.http = Some(true);
    settings.auth.danger_allow_no_auth = true;
    // Most of its policies are XACML's.
    settings.authzen.language = AuthzenLanguage::Xacml;
    settings.log.level = LogLevel::Warn;
    settings.server.listen = listen.unwrap_or(settings.server.listen);
    match Server::with_pdp(settings.clone(), clock(), Arc::clone(pdp)) {
        // Nobody asked for this very port: another one does as well.
        Err(StartError::Listen(..)) if listen.is_none() => {
            settings.server.listen = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
            Server::with_pdp(settings, clock(), Arc::clone(pdp))
        }
        other => other,
    }
}

fn write_policies(directory: &PathBuf) -> CommandResult {
    let failed = |path: &PathBuf, error: &std::io::Error| {
        CommandError::new(format!("cannot write {}: {}", path.display(), without_number(&error.to_string())))
    };
    std::fs::create_dir_all(directory).map_err(|error| failed(directory, &error))?;
    for (name, text) in POLICIES {
        let path = directory.join(name);
        // What somebody changed is not ours to overwrite.
        let mut file = std::fs::File::create_new(&path).map_err(|error| failed(&path, &error))?;
        std::io::Write::write_all(&mut file, text.as_bytes()).map_err(|error| failed(&path, &error))?;
    }
    to_stdout(&format!("durward serve --policies {}\n", directory.display()))?;
    Ok(std::process::ExitCode::SUCCESS)
}

fn welcome(address: SocketAddr, person: &DemoPerson) -> String {
    let mut text =
        format!("durward answers on http://{address} with example policies. Try, one after the other:\n");
    let questions = questions().map(|(what, request)| {
        (
            what,
            format!("curl -s http://{address}/pdp -H 'Content-Type: application/xacml+json' -d '{request}'"),
        )
    });
    for (what, line) in questions.into_iter().chain(person.lines(address)) {
        text.push_str(&format!("\n# {what}\n{line}\n"));
    }
    text + "\nCtrl-C ends it. `durward demo --policies-to DIR` writes the policies, to change them.\n"
}

/// What to ask: a Permit, a Deny, and an obligation.
fn questions() -> [(&'static str, Json); 3] {
    let record =
        |patient: &str| json!([attribute("hospital:kind", "record"), attribute("hospital:patient", patient)]);
    let paper = json!([
        attribute("conference:kind", "paper"),
        attribute("conference:phase", "reviewing"),
        attribute("conference:author", "grace"),
        attribute("conference:reviewer", "ada"),
    ]);
    [
        ("Permit: Bob reads his own record", request("bob", &record("bob"))),
        ("Deny: Eve reads it", request("eve", &record("bob"))),
        ("Permit, with an obligation: Ada reads the paper she reviews", request("ada", &paper)),
    ]
}

fn request(subject: &str, resource: &Json) -> Json {
    json!({"Request": {
        "AccessSubject": {"Attribute": [attribute(SUBJECT_ID, subject)]},
        "Resource": {"Attribute": resource},
        "Action": {"Attribute": [attribute(ACTION_ID, "read")]},
    }})
}

fn attribute(id: &str, value: &str) -> Json {
    json!({"AttributeId": id, "Value": value})
}

#[cfg(test)]
mod tests {
    use super::*;
    use durward_pdp::{Decision, Request};

    #[test]
    fn the_questions_are_answered_as_promised() {
        let pdp = pdp().build().unwrap();
        let results = questions().map(|(_, question)| {
            let request = Request::from_json(question.to_string().as_bytes()).unwrap();
            pdp.decide(&request).results.remove(0)
        });
        let decisions = results.each_ref().map(|result| result.decision);
        assert_eq!(decisions, [Decision::Permit, Decision::Deny, Decision::Permit]);
        assert_eq!(results.each_ref().map(|result| result.obligations.len()), [0, 0, 1]);
    }

    #[test]
    fn every_line_can_be_pasted() {
        let text = welcome(([127, 0, 0, 1], 8080).into(), &DemoPerson::new().unwrap());
        let lines: Vec<&str> = text.lines().filter(|line| line.contains("curl ")).collect();
        assert_eq!(lines.len(), 7);
        assert!(lines.iter().all(|line| line.matches('\'').count() % 2 == 0), "{text}");
    }
}

//! `durward opcua explain`: what the authorization service decides about one right, and why; without a network.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use durward_opcua::authority::decide::{SubjectKind, TokenClientApplication, TokenSubject};
use durward_opcua::permission::Permission;
use durward_opcua::token::{GrantVerdict, TableNode, Thumbprint};
use durward_pdp::{Explanation, Pdp, PdpBuilder, RequestLanguage};
use durward_server::Settings;
use durward_session::identity::Moment;
use serde_json::{Value as Json, json};

use super::application::{self, clock};
use super::decider::{AnnouncedAttributes, explained};
use super::live::{self, ImmediateSubscription};
use super::question::{self, QuestionFacts};
use super::settings::{self, needed};
use super::subjects;
use crate::failure::{CommandError, CommandResult, DIFFERENT};
use crate::{policies, serve, to_stdout};

const EXAMPLES: &str = "\
Examples:
  durward opcua explain --user anna write 'nsu=urn:durward:plant;s=Boiler.Mode'
  durward opcua explain --user anna --role operator --policies policies/ read 'nsu=urn:durward:plant;s=Boiler.Level'
  durward opcua explain --application urn:plant:hmi --json browse i=85

Permissions are those of policies: browse, read, write, call, readHistory, receiveEvents, ...
Exit codes: 0 granted, or left to the gate, which grants it now; 1 refused; 2 bad input.";

/// Say what policies decide about a right, and why
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The configuration of the authorization service; without it durward.toml, if there is one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A policy file, or a directory
    #[arg(long, value_name = "DIR|FILE")]
    policies: Option<PathBuf>,
    /// The file of the users
    #[arg(long, value_name = "FILE", conflicts_with = "role")]
    users: Option<PathBuf>,
    /// The user; without one the application counts
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// A role of the user, instead of those in the file of the users
    #[arg(long, value_name = "ROLE", requires = "user")]
    role: Vec<String>,
    /// The client's ApplicationUri
    #[arg(long, value_name = "URI", default_value = "urn:unknown")]
    application: String,
    /// The server, by its resource id; without it the only one in the configuration
    #[arg(long, value_name = "ID")]
    resource: Option<String>,
    /// JSON
    #[arg(long)]
    json: bool,
    /// What is to be done
    #[arg(value_name = "PERMISSION", value_parser = question::permission)]
    permission: Permission,
    /// The node, by the URI of its namespace: nsu=urn:durward:plant;s=Boiler.Mode
    #[arg(value_name = "NODE", value_parser = node)]
    node: TableNode,
}

fn node(text: &str) -> Result<TableNode, String> {
    text.parse().map_err(|error: durward_opcua::token::NodeTableError| error.to_string())
}

/// What came out.
struct RightExplanation<'t> {
    verdict: GrantVerdict,
    /// What the gate would say now, and why, where it is left to it.
    now: Option<live::LiveDecision>,
    explanation: Explanation,
    facts: &'t QuestionFacts<'t>,
}

impl Arguments {
    fn settings(&self) -> Result<Settings, CommandError> {
        let mut settings = settings::read(self.config.as_deref())?;
        settings.policies.path = self.policies.clone().unwrap_or_else(|| settings.policies.path.clone());
        settings.identity.users = self.users.clone().or(settings.identity.users);
        Ok(settings)
    }

    fn client(&self) -> TokenClientApplication {
        TokenClientApplication {
            application_uri: self.application.as_str().into(),
            certificate_subject: "".into(),
            thumbprint: Thumbprint::of(b""),
        }
    }

    fn subject(
        &self,
        settings: &Settings,
        client: &TokenClientApplication,
    ) -> Result<TokenSubject, CommandError> {
        let Some(name) = &self.user else { return Ok(anonymous(client)) };
        if !self.role.is_empty() {
            // Of whom there is nothing in the file.
            return Ok(TokenSubject {
                name: name.as_str().into(),
                kind: SubjectKind::User,
                roles: self.role.iter().map(|role| Arc::from(role.as_str())).collect(),
                attributes: std::collections::BTreeMap::new(),
                session: None,
                ends: None,
            });
        }
        let flags = "--users FILE` or `--role ROLE";
        let path = needed(settings.identity.users.as_ref(), "identity.users", flags)?;
        let realm = &settings.opcua.authority.realm;
        subjects::of_file(&path, settings.identity.costs(), realm, name)?.ok_or_else(|| {
            CommandError::new(
                "the user is not there, is disabled, or needs a second step, and so gets no token",
            )
            .hint("`durward users list` tells; `--role ROLE` asks as if they had that role")
            .at(&path)
        })
    }

    fn resource(&self, settings: &Settings) -> Result<String, CommandError> {
        let only = match settings.opcua.authority.resources.as_slice() {
            [only] => Some(only.id.clone()),
            _ => None,
        };
        needed(self.resource.clone().or(only).as_ref(), "opcua.authority.resources", "--resource ID")
    }

    pub(super) fn run(&self) -> CommandResult {
        let settings = self.settings()?;
        let now = clock()();
        let (client, resource) = (self.client(), self.resource(&settings)?);
        let subject = self.subject(&settings, &client)?;
        let facts = QuestionFacts::about(&subject, &client, &resource, "SignAndEncrypt".to_owned());
        let node = self.node.to_string();
        let texts = policies::read_all(std::slice::from_ref(&settings.policies.path))?;
        let builder =
            || Pdp::builder().combining(settings.policies.combining).source(AnnouncedAttributes).explaining();
        let build = |builder: PdpBuilder| {
            builder.policies(texts.clone()).build().map_err(|errors| CommandError::policies(&errors))
        };
        let (verdict, mut explanation) =
            explained(&build(builder())?, &facts, &node, self.permission).map_err(application::failure)?;
        let mut decided = None;
        if verdict == GrantVerdict::Ask {
            let clock = serve::clock();
            let pdp = build(builder().clock(move || clock()))?;
            decided = Some(live::decide(&pdp, &facts, None, (&node, self.permission), now));
            explanation = explained_now(&pdp, &facts, &node, self.permission, now)?;
        }
        let told = RightExplanation { verdict, now: decided, explanation, facts: &facts };
        to_stdout(&if self.json {
            told.json(&node, self.permission)
        } else {
            told.text(&node, self.permission)
        })?;
        Ok(if told.is_granted() { ExitCode::SUCCESS } else { ExitCode::from(DIFFERENT) })
    }
}

fn anonymous(client: &TokenClientApplication) -> TokenSubject {
    TokenSubject {
        name: format!("application:{}", client.application_uri).into(),
        kind: SubjectKind::Application,
        roles: Vec::new(),
        attributes: std::collections::BTreeMap::new(),
        session: None,
        ends: None,
    }
}

/// Why it is decided so at this moment.
fn explained_now(
    pdp: &Pdp,
    facts: &QuestionFacts<'_>,
    node: &str,
    permission: Permission,
    now: Moment,
) -> Result<Explanation, CommandError> {
    if pdp.mismatch(RequestLanguage::Sapl).is_some() {
        return Ok(pdp.explain(&facts.request(node, permission)));
    }
    let known = facts.known().map_err(application::failure)?;
    let resource = facts.resource(node).map_err(application::failure)?;
    let subscription = known.subscription(&resource, permission);
    Ok(pdp.explain_known(&subscription, &ImmediateSubscription::new(&subscription, now)))
}

impl RightExplanation<'_> {
    fn is_granted(&self) -> bool {
        match self.verdict {
            GrantVerdict::Granted => true,
            GrantVerdict::Refused => false,
            GrantVerdict::Ask => self.now.as_ref().is_some_and(|decided| decided.ruling.is_granted()),
        }
    }

    fn text(&self, node: &str, permission: Permission) -> String {
        let who = match self.facts.roles.is_empty() {
            true => format!("{} ({}, no roles)", self.facts.name, self.facts.kind),
            false => format!("{} ({}; {})", self.facts.name, self.facts.kind, self.facts.roles.join(", ")),
        };
        let what = match (self.verdict, &self.now) {
            (GrantVerdict::Granted, _) => "granted by the token".to_owned(),
            (GrantVerdict::Refused, _) => "refused: the token does not have it".to_owned(),
            (GrantVerdict::Ask, Some(now)) if now.ruling.is_granted() => {
                "left to the gate, which grants it at this moment if it has these policies".to_owned()
            }
            (GrantVerdict::Ask, Some(now)) => {
                format!("left to the gate, which refuses it at this moment: {}", now.why)
            }
            (GrantVerdict::Ask, None) => "left to the gate".to_owned(),
        };
        format!("{who}: {} on {node}: {what}\n{}", question::action(permission), self.explanation)
    }

    fn json(&self, node: &str, permission: Permission) -> String {
        let verdict = match self.verdict {
            GrantVerdict::Granted => "granted",
            GrantVerdict::Refused => "refused",
            GrantVerdict::Ask => "ask",
        };
        let now = self
            .now
            .as_ref()
            .map_or(Json::Null, |now| json!({"granted": now.ruling.is_granted(), "why": now.why}));
        let told = json!({
            "subject": self.facts.name,
            "kind": self.facts.kind,
            "roles": self.facts.roles,
            "resource": self.facts.resource,
            "node": node,
            "permission": question::action(permission),
            "token": verdict,
            "gate": now,
            "explanation": self.explanation.to_json(),
        });
        format!("{told}\n")
    }
}

//! `durward check`: findings about policies.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use durward_pdp::check::{Attribute, Attributes, Others, Settings as CheckSettings, check_sapl};
use durward_pdp::xacml::check::{Finding, Settings, Severity, check, merge};
use durward_pdp::xacml::lower::{self, lower};
use durward_pdp::xacml::policy::{Limits, read_policy};
use durward_pdp::{IndexKind, Pdp, PolicyText};
use durward_scenario::report::{JunitCase, JunitOutcome, JunitProblem, JunitSuite};
use durward_server::{ConfigError, SchemaSettings, SourceSettings};
use serde_json::{Value as Json, json};

use crate::bundle::{self, BundleArguments};
use crate::console::colour;
use crate::console::progress::Progress;
use crate::failure::{CommandError, CommandResult, DIFFERENT, SUCCESS, without_number};
use crate::junit::JunitArguments;
use crate::policies::read_all;
use crate::serve::read_settings;

const EXAMPLES: &str = "\
Examples:
  durward check policies/
  durward check policies/ --level warning
  durward check policies/ --format json
  durward check policies/ --index auto
  durward check policies/ --config durward.toml
  durward check policies/ --schema-subject subject.json --schema-action action.json
  durward check policies/ --strict
  durward check policies/ --strict --junit check.xml

A policy with an error cannot be used. A warning means that the text certainly does not say what the author meant: rules
that are never reached, unused variables, unknown names of SAPL, which are undefined. A hint means that the text is
correct but may surprise. docs/sapl.md lists the findings about SAPL, by the code in brackets.

Exit codes: 0 no errors (warnings and hints may be there), 1 errors, with --strict also warnings, 2 bad input.";

/// Check policies: report problems, each with its position and a fix
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Policy files, or directories: *.xml at any depth, *.sapl and pdp.json at their top level
    #[arg(value_name = "DIR|FILE", required_unless_present = "bundle")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    bundle: BundleArguments,
    /// The policy or policy set at which decisions start; without it, all that no other document refers to
    #[arg(long, value_name = "ID")]
    root: Option<String>,
    /// The server's settings: `check` reads which attributes have sources, and the schemas of subscriptions
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A JSON Schema of the subject: keys and values that it does not have are warnings
    #[arg(long, value_name = "FILE")]
    schema_subject: Option<PathBuf>,
    /// A JSON Schema of the action
    #[arg(long, value_name = "FILE")]
    schema_action: Option<PathBuf>,
    /// A JSON Schema of the resource
    #[arg(long, value_name = "FILE")]
    schema_resource: Option<PathBuf>,
    /// A JSON Schema of the environment
    #[arg(long, value_name = "FILE")]
    schema_environment: Option<PathBuf>,
    /// Warnings count as errors: for checks before policies are published
    #[arg(long)]
    strict: bool,
    /// The lowest severity to report
    #[arg(long, value_enum, default_value_t = CheckLevel::Hint)]
    level: CheckLevel,
    /// Also say what the index `auto`, `scan`, `bloom`, `canonical` or `diagram` makes of the policies, and why
    #[arg(long, value_name = "NAME", value_parser = crate::policies::index)]
    index: Option<IndexKind>,
    /// How to report
    #[arg(long, value_enum, default_value_t = CheckFormat::Text)]
    format: CheckFormat,
    #[command(flatten)]
    junit: JunitArguments,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum CheckLevel {
    Hint,
    Warning,
    Error,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum CheckFormat {
    /// Lines `file:line:column: severity: message [code]`.
    Text,
    /// An array of objects `severity`, `code`, `file`, `line`, `column`, `message`, `help`; with --index an object of
    /// that, `findings`, and `index`.
    Json,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    let begun = Instant::now();
    let progress = Progress::start("reading policies");
    let mut texts = read_all(&arguments.paths)?;
    texts.append(&mut bundle::read_policies(&arguments.bundle)?);
    progress.turn_to(format!("checking {} documents", texts.len()));
    let known = arguments.known()?;
    let (mut documents, mut errors) = (Vec::new(), Vec::new());
    let (sapl, xacml): (Vec<PolicyText>, Vec<PolicyText>) =
        texts.iter().cloned().partition(PolicyText::is_sapl);
    let mut odd = Vec::new();
    if !sapl.is_empty() {
        odd = check_sapl(&sapl, &known);
        match Pdp::builder().policies(sapl).build() {
            Ok(pdp) => odd.extend(pdp.dead_policies().into_iter().map(Finding::from)),
            Err(found) => errors.extend(found),
        }
    }
    let errors_of_sapl = errors.len();
    for text in &xacml {
        match read_policy(&text.name, &text.text, &Limits::default()) {
            Ok(document) => documents.push(document),
            Err(found) => errors.extend(found),
        }
    }
    let is_incomplete = errors.len() > errors_of_sapl;
    let mut found = check(&documents, &Settings { root: arguments.root.as_deref(), is_incomplete });
    if !is_incomplete {
        let options =
            lower::Options { root: arguments.root.as_deref().map(Into::into), ..lower::Options::default() };
        errors.extend(lower(&documents, &options).err().unwrap_or_default());
    }
    found.extend(odd);
    let findings = merge(found, errors.into_iter().map(Finding::from));
    let shown: Vec<&Finding> =
        findings.iter().filter(|it| it.severity >= arguments.level.severity()).collect();
    let has_errors = count(&findings, Severity::Error) > 0;
    let has_failed = has_errors || arguments.strict && count(&findings, Severity::Warning) > 0;
    let count = texts.len();
    let names: Vec<String> = texts.iter().map(|text| text.name.clone()).collect();
    // Policies with errors have no index.
    let pdp = arguments.index.filter(|_| !has_errors).and_then(|kind| prepare(arguments, kind, texts));
    drop(progress);
    arguments.junit.tell(&match arguments.format {
        CheckFormat::Text => {
            colour::findings(&text(&shown, &findings, count), arguments.junit.output())
                + &pdp.as_ref().map(text_of_index).unwrap_or_default()
        }
        CheckFormat::Json => {
            let findings = Json::Array(shown.into_iter().map(json).collect());
            let all = match &pdp {
                Some(pdp) => json!({ "findings": findings, "index": json_of_index(pdp) }),
                None => findings,
            };
            format!("{all:#}\n")
        }
    })?;
    let suites = || suites(&names, &findings, arguments.strict);
    arguments.junit.write("durward check", suites, begun.elapsed())?;
    Ok(ExitCode::from(if has_failed { DIFFERENT } else { SUCCESS }))
}

/// A decision point, to look at its index; `None` where the policies cannot be decided with.
fn prepare(arguments: &Arguments, kind: IndexKind, texts: Vec<PolicyText>) -> Option<Pdp> {
    // Time is the binary's to give.
    #[expect(
        clippy::disallowed_methods,
        reason = "nothing is decided, but policies that read the time need a clock"
    )]
    let builder = Pdp::builder().clock(std::time::SystemTime::now).policies(texts).index(kind);
    let builder = match &arguments.root {
        Some(root) => builder.root(root),
        None => builder,
    };
    builder.build().ok()
}

fn text_of_index(pdp: &Pdp) -> String {
    format!("index {}\n{}", pdp.snapshot().index, pdp.survey())
}

fn json_of_index(pdp: &Pdp) -> Json {
    let survey = pdp.survey();
    let attributes = survey.attributes.iter().map(|attribute| {
        json!({
            "name": attribute.name,
            "elements": attribute.children,
            "values": attribute.values,
            "left": attribute.left,
        })
    });
    json!({
        "description": pdp.snapshot().index,
        "elements": survey.children,
        "attributes": attributes.collect::<Vec<_>>(),
        "order": survey.order,
        "never": survey.never,
        "undivided": survey.unlimited,
    })
}

impl Arguments {
    /// What is known of attributes and subscriptions.
    fn known(&self) -> Result<CheckSettings, CommandError> {
        let failed = |error: ConfigError| CommandError::new(without_number(&error.to_string()));
        let mut known = match &self.config {
            Some(path) => read_settings(Some(path)).and_then(|settings| settings.checks()).map_err(failed)?,
            // Whatever else the settings of a server have sources for is not known here.
            None => CheckSettings {
                attributes: Attributes::new(known_attributes(), Others::Unknown),
                ..CheckSettings::default()
            },
        };
        let schemas = SchemaSettings {
            subject: self.schema_subject.clone(),
            action: self.schema_action.clone(),
            resource: self.schema_resource.clone(),
            environment: self.schema_environment.clone(),
        };
        known.schemas.replace(schemas.read("--schema-").map_err(failed)?);
        Ok(known)
    }
}

/// The attributes that servers have without being told of any.
fn known_attributes() -> Vec<Attribute> {
    durward_sources::attributes(&SourceSettings::default(), true)
}

impl CheckLevel {
    fn severity(self) -> Severity {
        match self {
            CheckLevel::Hint => Severity::Hint,
            CheckLevel::Warning => Severity::Warning,
            CheckLevel::Error => Severity::Error,
        }
    }
}

fn text(shown: &[&Finding], all: &[Finding], documents: usize) -> String {
    let mut text = String::new();
    for finding in shown {
        text.push_str(&format!("{finding}\n"));
        if let Some(help) = &finding.help {
            text.push_str(&format!("  help: {help}\n"));
        }
    }
    let counted = [Severity::Error, Severity::Warning, Severity::Hint].map(|severity| {
        let number = count(all, severity);
        format!("{number} {severity}{}", if number == 1 { "" } else { "s" })
    });
    let plural = if documents == 1 { "" } else { "s" };
    text + &format!("{documents} document{plural}: {}\n", counted.join(", "))
}

/// The findings as tests that failed or, where they are no failure, tests with a note: a suite for each document, and one for what is
/// said of no document.
fn suites(documents: &[String], findings: &[Finding], is_strict: bool) -> Vec<JunitSuite> {
    let mut suites: Vec<JunitSuite> =
        documents.iter().map(|name| JunitSuite { name: name.clone(), cases: Vec::new() }).collect();
    for finding in findings {
        let name = if finding.source.is_empty() { "policies" } else { finding.source.as_str() };
        let case = case(name, finding, is_strict);
        match suites.iter_mut().find(|suite| suite.name == name) {
            Some(suite) => suite.cases.push(case),
            None => suites.push(JunitSuite { name: name.to_owned(), cases: vec![case] }),
        }
    }
    for suite in suites.iter_mut().filter(|suite| suite.cases.is_empty()) {
        suite.cases.push(JunitCase {
            name: "nothing is wrong".to_owned(),
            class_name: suite.name.clone(),
            outcome: JunitOutcome::Passed,
            time: Duration::ZERO,
        });
    }
    suites
}

fn case(document: &str, finding: &Finding, is_strict: bool) -> JunitCase {
    let is_failure = match finding.severity {
        Severity::Error => true,
        Severity::Warning => is_strict,
        Severity::Hint => false,
    };
    let help = finding.help.as_ref().map(|help| format!("\nhelp: {help}")).unwrap_or_default();
    let text = format!("{finding}{help}");
    let problem = || JunitProblem {
        kind: finding.code.to_owned(),
        message: finding.message.clone(),
        text: text.clone(),
    };
    JunitCase {
        name: finding.message.clone(),
        class_name: document.to_owned(),
        outcome: if is_failure { JunitOutcome::Failed(problem()) } else { JunitOutcome::Noted(text) },
        // Documents are checked together.
        time: Duration::ZERO,
    }
}

fn count(findings: &[Finding], severity: Severity) -> usize {
    findings.iter().filter(|finding| finding.severity == severity).count()
}

fn json(finding: &Finding) -> Json {
    json!({
        "severity": finding.severity.as_str(),
        "code": finding.code,
        "file": finding.source.as_str(),
        "line": finding.line,
        "column": finding.column,
        "message": finding.message,
        "help": finding.help,
    })
}

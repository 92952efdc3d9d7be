//! `durward check`: what is wrong, or odd, in policies.

use std::path::PathBuf;
use std::process::ExitCode;

use durward_pdp::xacml::check::{Finding, Settings, Severity, check, merge};
use durward_pdp::xacml::lower::{self, lower};
use durward_pdp::xacml::policy::{Limits, read_policy};
use durward_pdp::{DeadPolicy, IndexKind, Pdp, PolicyText};
use serde_json::{Value as Json, json};

use crate::bundle::{self, BundleArguments};
use crate::failure::{DIFFERENT, Outcome, SUCCESS};
use crate::policies::read_all;
use crate::to_stdout;

const EXAMPLES: &str = "\
Examples:
  durward check policies/
  durward check policies/ --level warning
  durward check policies/ --format json
  durward check policies/ --index auto

Errors stop policies from being used. Warnings are allowed, but hardly meant: rules never reached, variables never
used. Hints name a better way. Each is only given where it is certain.

Exit codes: 0 no errors (warnings and hints may be there), 1 errors, 2 bad input.";

/// Check policies: problems, each with its place and a way out
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Policy files, or directories with everything below them (*.xml; in a directory itself *.sapl and pdp.json)
    #[arg(value_name = "DIR|FILE", required_unless_present = "bundle")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    bundle: BundleArguments,
    /// The policy or policy set decisions start at; without it, all that no other refers to
    #[arg(long, value_name = "ID")]
    root: Option<String>,
    /// The least to report
    #[arg(long, value_enum, default_value_t = Level::Hint)]
    level: Level,
    /// Also say what the index `auto`, `scan`, `bloom`, `canonical` or `diagram` makes of the policies, and why
    #[arg(long, value_name = "NAME", value_parser = crate::policies::index)]
    index: Option<IndexKind>,
    /// How to report
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Level {
    Hint,
    Warning,
    Error,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    /// Lines `file:line:column: severity: message [code]`.
    Text,
    /// An array of objects `severity`, `code`, `file`, `line`, `column`, `message`, `help`; with --index an object of
    /// that, `findings`, and `index`.
    Json,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut texts = read_all(&arguments.paths)?;
    texts.append(&mut bundle::read_policies(&arguments.bundle)?);
    let (mut documents, mut errors) = (Vec::new(), Vec::new());
    let (sapl, xacml): (Vec<PolicyText>, Vec<PolicyText>) =
        texts.iter().cloned().partition(PolicyText::is_sapl);
    let mut dead = Vec::new();
    if !sapl.is_empty() {
        match Pdp::builder().policies(sapl).build() {
            Ok(pdp) => dead = pdp.dead_policies(),
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
    found.extend(dead.into_iter().map(of_dead));
    let findings = merge(found, errors.into_iter().map(Finding::from));
    let shown: Vec<&Finding> =
        findings.iter().filter(|it| it.severity >= arguments.level.severity()).collect();
    let has_errors = count(&findings, Severity::Error) > 0;
    let count = texts.len();
    // Policies with errors have no index.
    let pdp = arguments.index.filter(|_| !has_errors).and_then(|kind| prepare(arguments, kind, texts));
    to_stdout(&match arguments.format {
        Format::Text => text(&shown, &findings, count) + &pdp.as_ref().map(text_of_index).unwrap_or_default(),
        Format::Json => {
            let findings = Json::Array(shown.into_iter().map(json).collect());
            let all = match &pdp {
                Some(pdp) => json!({ "findings": findings, "index": json_of_index(pdp) }),
                None => findings,
            };
            format!("{all:#}\n")
        }
    })?;
    Ok(ExitCode::from(if has_errors { DIFFERENT } else { SUCCESS }))
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

fn of_dead(dead: DeadPolicy) -> Finding {
    Finding {
        severity: Severity::Warning,
        code: "unreachable-policy",
        source: dead.source.into(),
        line: dead.line,
        column: dead.column,
        message: dead.message,
        help: Some(dead.help.to_owned()),
    }
}

impl Level {
    fn severity(self) -> Severity {
        match self {
            Level::Hint => Severity::Hint,
            Level::Warning => Severity::Warning,
            Level::Error => Severity::Error,
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

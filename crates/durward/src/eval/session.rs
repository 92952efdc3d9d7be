//! What is known between entries, and what becomes of an entry.

use std::collections::BTreeMap;
use std::sync::Arc;

use durward_pdp::check::{Attribute, Attributes, Finding, Others, Settings as CheckSettings, Severity};
use durward_pdp::ir::combine::{ErrorHandling, Mode, Voting};
use durward_pdp::ir::json;
use durward_pdp::ir::near::nearest;
use durward_pdp::ir::value::{Object, Value, write_json_text};
use durward_pdp::sapl::syntax::{is_blank, starts_document};
use durward_pdp::sapl::{Configuration, Subscription};
use durward_pdp::{Expression, Pdp, PolicyError};
use durward_sources::SourceSettings;

use super::{Arguments, EntryError, doc, given};
use crate::decide::attributes::CliFinders;
use crate::failure::{CommandError, warn};
use crate::serve::clock;

/// A document that is typed decides alone, as in a test of one document.
const ALONE: &str = r#"{"votingMode":"UNIQUE","defaultDecision":"ABSTAIN","errorHandling":"PROPAGATE"}"#;

/// How the decision point knows that a document is of SAPL, and that another one has the variables.
const DOCUMENT: &str = "entry.sapl";
const CONFIGURATION: &str = "pdp.json";

/// The commands, without their colons, with what they take and do.
pub(super) const COMMANDS: [(&str, &str, &str); 7] = [
    ("subject", "JSON", "sets the subject; without JSON, shows it; `undefined` takes it away"),
    ("action", "JSON", "so for the action"),
    ("resource", "JSON", "so for the resource"),
    ("environment", "JSON", "so for the environment"),
    ("doc", "NAME", "shows what a function or a library does; without a name, lists the libraries"),
    ("help", "", "shows this"),
    ("quit", "", "ends, as does Ctrl-D"),
];

/// The parts of a subscription, in their order.
pub(super) const PARTS: [&str; 4] = ["subject", "action", "resource", "environment"];

/// Where an entry begins, for messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntryPlace {
    /// How messages call what is read.
    pub(super) source: &'static str,
    /// The first line of the entry in it, from 1.
    pub(super) line: u32,
}

/// What becomes of an entry.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// There is nothing to show.
    Nothing,
    /// This is shown.
    Text(String),
    /// No more entries are wanted.
    End,
}

/// What is known between entries.
pub(super) struct Session {
    finders: CliFinders,
    checks: Arc<CheckSettings>,
    /// In the order of [`PARTS`].
    parts: [Value; 4],
    /// The variables that were given, and those that were bound since.
    variables: BTreeMap<String, Value>,
}

impl Session {
    /// What the command line says.
    pub(super) fn new(arguments: &Arguments) -> Result<Session, CommandError> {
        let variables = given::variables(arguments.variables.as_deref())?;
        let attributes = given::attributes(arguments.attributes.as_deref())?;
        let known = known_attributes(&attributes);
        let checks =
            CheckSettings { attributes: Attributes::new(known, Others::Unknown), ..CheckSettings::default() };
        Ok(Session {
            finders: CliFinders::new(clock()).giving(attributes),
            checks: Arc::new(checks),
            parts: arguments.subscription.parts()?,
            variables: variables.iter().map(|(name, value)| (name.to_string(), value.clone())).collect(),
        })
    }

    /// The names that entries can use, beside functions.
    #[cfg(feature = "repl")]
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        PARTS.into_iter().chain(self.variables.keys().map(String::as_str))
    }

    /// Does what an entry says.
    pub(super) fn enter(&mut self, text: &str, place: EntryPlace) -> Result<Answer, EntryError> {
        if let Some(command) = text.trim_start().strip_prefix(':') {
            return self.command(command);
        }
        if is_blank(text) {
            return Ok(Answer::Nothing);
        }
        if starts_document(text) {
            return self.decide(text, place).map(Answer::Text);
        }
        if let Some(variable) = as_variable(text) {
            return self.bind(&variable, place).map(|()| Answer::Nothing);
        }
        let text = text.trim_end();
        let text = text.strip_suffix(';').unwrap_or(text);
        self.evaluate(text, place).map(|value| Answer::Text(value.to_json()))
    }

    /// The value of an expression.
    pub(super) fn evaluate(&self, text: &str, place: EntryPlace) -> Result<Value, EntryError> {
        let read = Expression::read(place.source, text, &self.configuration());
        self.value(&read.map_err(|errors| place.refused(errors))?, place)
    }

    /// Keeps the value of `var name = value;`. One that is undefined is as good as none.
    fn bind(&mut self, text: &str, place: EntryPlace) -> Result<(), EntryError> {
        let read = Expression::read_variable(place.source, text, &self.configuration());
        let (name, expression) = read.map_err(|errors| place.refused(errors))?;
        let value = self.value(&expression, place)?;
        match value.is_undefined() {
            true => self.variables.remove(name.as_str()),
            false => self.variables.insert(name.to_string(), value),
        };
        Ok(())
    }

    fn value(&self, expression: &Expression, place: EntryPlace) -> Result<Value, EntryError> {
        for finding in expression.warnings(&self.checks) {
            place.tell(&finding);
        }
        self.finders.evaluate(expression, &self.subscription()).map_err(|fault| {
            let EntryPlace { source, line } = place.down(fault.line);
            EntryError::failed(format!("{source}:{line}:{}: {fault}", fault.column))
        })
    }

    /// What a document decides, and why.
    fn decide(&self, text: &str, place: EntryPlace) -> Result<String, EntryError> {
        let builder =
            Pdp::builder().policy(DOCUMENT, text).policy(CONFIGURATION, self.written_configuration());
        let built = builder.explaining().checking(Arc::clone(&self.checks)).build();
        let pdp = built.map_err(|errors| place.refused(errors))?;
        for finding in pdp.warnings() {
            place.tell(&finding);
        }
        let subscription = self.subscription();
        let decision = self.finders.decide(&pdp, &subscription).to_json();
        let explanation = self.finders.explain(&pdp, &subscription).to_string();
        Ok(format!("{decision}\n{}", explanation.trim_end()))
    }

    fn subscription(&self) -> Subscription {
        let [subject, action, resource, environment] = self.parts.clone();
        Subscription::new(subject, action, resource, environment)
    }

    fn configuration(&self) -> Configuration {
        const VOTING: Voting = Voting { mode: Mode::Unique, default: None, errors: ErrorHandling::Propagate };
        let variables = self.variables.iter().map(|(name, value)| (name.as_str(), value.clone()));
        Configuration::new(VOTING, variables.collect())
    }

    /// The same as the text of a `pdp.json`, without variables that JSON cannot say.
    fn written_configuration(&self) -> String {
        let mut written = format!("{{\"algorithm\":{ALONE},\"variables\":{{");
        let sayable = self.variables.iter().filter(|(_, value)| !value.holds_undefined());
        for (at, (name, value)) in sayable.enumerate() {
            written.push_str(if at > 0 { "," } else { "" });
            write_json_text(name, &mut written);
            written.push(':');
            value.write_json(&mut written);
        }
        written + "}}"
    }

    fn command(&mut self, text: &str) -> Result<Answer, EntryError> {
        let (name, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
        let rest = rest.trim();
        if let Some(at) = PARTS.iter().position(|part| *part == name) {
            return self.part(at, rest);
        }
        match name {
            "doc" => doc::of(rest).map(Answer::Text).map_err(EntryError::from),
            "help" => Ok(Answer::Text(help())),
            "quit" => Ok(Answer::End),
            _ => {
                let near = nearest(name, COMMANDS.iter().map(|(name, ..)| *name));
                let hint = near.map_or("`:help` lists the commands".to_owned(), |near| {
                    format!("did you mean `:{near}`?")
                });
                Err(CommandError::new(format!("there is no command `:{name}`")).hint(hint).into())
            }
        }
    }

    /// Shows or sets a part of the subscription.
    fn part(&mut self, at: usize, text: &str) -> Result<Answer, EntryError> {
        let (Some(part), Some(name)) = (self.parts.get_mut(at), PARTS.get(at)) else {
            return Ok(Answer::Nothing);
        };
        match text {
            "" => return Ok(Answer::Text(part.to_json())),
            "undefined" => *part = Value::Undefined,
            text => {
                *part = json::read(text).map_err(|error| {
                    CommandError::new(format!("`:{name}` takes JSON: {error}"))
                        .hint(format!("a text stands in quotation marks: :{name} \"ada\""))
                })?;
            }
        }
        Ok(Answer::Nothing)
    }
}

impl EntryPlace {
    /// The place of a line of the entry, from 1.
    fn down(self, line: u32) -> EntryPlace {
        EntryPlace { line: self.line.saturating_add(line.saturating_sub(1)), ..self }
    }

    /// What is wrong with the entry itself.
    fn refused(self, mut errors: Vec<PolicyError>) -> EntryError {
        for error in errors.iter_mut().filter(|error| error.source != CONFIGURATION && error.line > 0) {
            error.source = self.source.into();
            error.line = self.down(error.line).line;
        }
        CommandError::all(&errors).into()
    }

    /// Warns of something odd in the entry.
    fn tell(self, finding: &Finding) {
        if finding.severity < Severity::Warning {
            return;
        }
        let EntryPlace { source, line } = self.down(finding.line);
        let Finding { column, message, .. } = finding;
        match &finding.help {
            Some(help) => warn(format_args!("{source}:{line}:{column}: {message}; {help}")),
            None => warn(format_args!("{source}:{line}:{column}: {message}")),
        }
    }
}

/// The attributes that the check knows: those of servers, and those that are given, however they are asked.
fn known_attributes(given: &Object) -> Vec<Attribute> {
    let mut known = durward_sources::attributes(&SourceSettings::default(), true);
    for name in given.keys() {
        let attribute = |of_value| Attribute { name: name.clone(), of_value, arguments: 0..=usize::MAX };
        known.extend([attribute(false), attribute(true)]);
    }
    known
}

/// `let x = 1` as the statement of a policy, every character in its place; `None` for anything else.
fn as_variable(text: &str) -> Option<String> {
    let (blank, statement) = text.split_at(text.len() - text.trim_start().len());
    let rest = statement.strip_prefix("let").or_else(|| statement.strip_prefix("var"))?;
    if !rest.starts_with(char::is_whitespace) {
        return None;
    }
    // On a line of its own: the last one may end with a comment.
    let end = if rest.trim_end().ends_with(';') { "" } else { "\n;" };
    Some(format!("{blank}var{rest}{end}"))
}

fn help() -> String {
    let mut text = "An expression shows its value. `let NAME = EXPR` keeps one for later entries. A policy or a policy set, up to an empty \
                    line, is decided.\nAn entry goes on while brackets are open; Ctrl-C drops it.\n"
        .to_owned();
    for (name, takes, does) in COMMANDS {
        let command = format!(":{name} {takes}");
        text.push_str(&format!("\n  {command:<18} {does}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn let_is_var_with_every_character_in_its_place() {
        assert_eq!(as_variable("let x = 1").as_deref(), Some("var x = 1\n;"));
        assert_eq!(as_variable("  var x = 1;").as_deref(), Some("  var x = 1;"));
        for other in ["letter", "variable + 1", "let", "1"] {
            assert_eq!(as_variable(other), None, "{other}");
        }
    }
}

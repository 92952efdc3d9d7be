//! Questions of SAPL on the command line.

use durward_pdp::ir::json;
use durward_pdp::ir::value::Value;
use durward_pdp::sapl::Subscription;

use crate::failure::CommandError;

/// A subscription, part by part. Which parts are needed, the command says.
#[derive(Debug, clap::Args)]
pub(crate) struct SubscriptionArguments {
    /// SAPL: the subject, as JSON
    #[arg(short, long, value_name = "JSON")]
    subject: Option<String>,
    /// SAPL: the action, as JSON
    #[arg(short, long, value_name = "JSON")]
    action: Option<String>,
    /// SAPL: the resource, as JSON
    #[arg(short, long, value_name = "JSON")]
    resource: Option<String>,
    /// SAPL: the environment, as JSON
    #[arg(short, long, value_name = "JSON")]
    environment: Option<String>,
}

impl SubscriptionArguments {
    /// The subscription, if one is given.
    pub(super) fn read(&self) -> Result<Option<Subscription>, CommandError> {
        if self.subject.is_none() || self.action.is_none() || self.resource.is_none() {
            return Ok(None);
        }
        let [subject, action, resource, environment] = self.parts()?;
        Ok(Some(Subscription::new(subject, action, resource, environment)))
    }

    /// Subject, action, resource and environment; what is not given is undefined.
    pub(crate) fn parts(&self) -> Result<[Value; 4], CommandError> {
        Ok([
            part("subject", self.subject.as_deref())?,
            part("action", self.action.as_deref())?,
            part("resource", self.resource.as_deref())?,
            part("environment", self.environment.as_deref())?,
        ])
    }
}

fn part(name: &str, text: Option<&str>) -> Result<Value, CommandError> {
    let Some(text) = text else { return Ok(Value::Undefined) };
    json::read(text).map_err(|error| {
        CommandError::new(format!("--{name} is no JSON: {error}"))
            .hint(format!("a text stands in quotation marks: --{name} '\"{}\"'", as_text(text, name)))
    })
}

/// The text itself, where a shell and JSON take it as it is.
fn as_text<'t>(text: &'t str, otherwise: &'t str) -> &'t str {
    let is_plain = |character: char| character.is_alphanumeric() || " -_./:@".contains(character);
    if !text.is_empty() && text.len() <= 60 && text.chars().all(is_plain) { text } else { otherwise }
}

/// Whether a text is a subscription rather than a request.
pub(super) fn is_one(text: &[u8]) -> bool {
    let value = json::read(text).ok();
    let object = value.as_ref().and_then(Value::as_object);
    object.is_some_and(|object| object.contains_key("subject") && !object.contains_key("Request"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_without_quotation_marks_is_shown_with_them() {
        for (text, shown) in
            [("doctor", "doctor"), ("record 7", "record 7"), ("{role: 1}", "subject"), ("", "subject")]
        {
            let error = part("subject", Some(text)).unwrap_err();
            let hint = format!("a text stands in quotation marks: --subject '\"{shown}\"'");
            assert_eq!(error.way_out(), Some(hint.as_str()), "{text}");
        }
    }
}

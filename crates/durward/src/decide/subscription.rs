//! Questions of SAPL on the command line.

use durward_pdp::ir::json;
use durward_pdp::ir::value::Value;
use durward_pdp::sapl::Subscription;

use crate::failure::CommandError;

/// A subscription, part by part.
#[derive(Debug, clap::Args)]
pub(super) struct SubscriptionArguments {
    /// SAPL: the subject, as JSON
    #[arg(short, long, value_name = "JSON", requires = "action", conflicts_with_all = ["request", "requests"])]
    subject: Option<String>,
    /// SAPL: the action, as JSON
    #[arg(short, long, value_name = "JSON", requires = "resource")]
    action: Option<String>,
    /// SAPL: the resource, as JSON
    #[arg(short, long, value_name = "JSON", requires = "subject")]
    resource: Option<String>,
    /// SAPL: the environment, as JSON
    #[arg(short, long, value_name = "JSON", requires = "subject")]
    environment: Option<String>,
}

impl SubscriptionArguments {
    /// The subscription, if one is given.
    pub(super) fn read(&self) -> Result<Option<Subscription>, CommandError> {
        let (Some(subject), Some(action), Some(resource)) = (&self.subject, &self.action, &self.resource)
        else {
            return Ok(None);
        };
        let environment = match &self.environment {
            Some(text) => part("environment", text)?,
            None => Value::Undefined,
        };
        let (subject, action) = (part("subject", subject)?, part("action", action)?);
        Ok(Some(Subscription::new(subject, action, part("resource", resource)?, environment)))
    }
}

fn part(name: &str, text: &str) -> Result<Value, CommandError> {
    json::read(text).map_err(|error| {
        CommandError::new(format!("--{name} is no JSON: {error}"))
            .hint(format!("a text stands in quotation marks: --{name} '\"{name}\"'"))
    })
}

/// Whether a text is a subscription rather than a request.
pub(super) fn is_one(text: &[u8]) -> bool {
    let value = json::read(text).ok();
    let object = value.as_ref().and_then(Value::as_object);
    object.is_some_and(|object| object.contains_key("subject") && !object.contains_key("Request"))
}

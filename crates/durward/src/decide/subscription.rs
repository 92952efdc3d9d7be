//! Questions of SAPL on the command line.

use std::process::ExitCode;

use durward_pdp::Pdp;
use durward_pdp::ir::json;
use durward_pdp::ir::value::Value;
use durward_pdp::sapl::{self, Decision, Subscription};

use crate::failure::{BAD_INPUT, Failure, Outcome, complain};
use crate::to_stdout;

/// A subscription, part by part.
#[derive(Debug, clap::Args)]
pub(super) struct SubscriptionArguments {
    /// SAPL: who asks, as JSON
    #[arg(short, long, value_name = "JSON", requires = "action", conflicts_with_all = ["request", "requests"])]
    subject: Option<String>,
    /// SAPL: what they want to do, as JSON
    #[arg(short, long, value_name = "JSON", requires = "resource")]
    action: Option<String>,
    /// SAPL: what they want to do it with, as JSON
    #[arg(short, long, value_name = "JSON", requires = "subject")]
    resource: Option<String>,
    /// SAPL: what surrounds them, as JSON
    #[arg(short, long, value_name = "JSON", requires = "subject")]
    environment: Option<String>,
}

impl SubscriptionArguments {
    /// The subscription, if one is given.
    pub(super) fn read(&self) -> Result<Option<Subscription>, Failure> {
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

fn part(name: &str, text: &str) -> Result<Value, Failure> {
    json::read(text).map_err(|error| {
        Failure::new(format!("--{name} is no JSON: {error}"))
            .hint(format!("a text stands in quotation marks: --{name} '\"{name}\"'"))
    })
}

/// Whether a text is a subscription rather than a request.
pub(super) fn is_one(text: &[u8]) -> bool {
    let value = json::read(text).ok();
    let object = value.as_ref().and_then(Value::as_object);
    object.is_some_and(|object| object.contains_key("subject") && !object.contains_key("Request"))
}

/// Answers a subscription, and says why if that is wanted.
pub(super) fn answer(pdp: &Pdp, subscription: &Subscription, explain: bool) -> Outcome {
    let mut answer = pdp.decide_once(subscription).to_json() + "\n";
    if explain {
        answer.push_str(&format!("\n{}", pdp.explain_subscription(subscription)));
    }
    to_stdout(&answer)?;
    Ok(ExitCode::SUCCESS)
}

/// Answers the text of a subscription.
pub(super) fn answer_text(pdp: &Pdp, text: &[u8], name: &str, explain: bool) -> Outcome {
    match Subscription::from_json(text) {
        Ok(subscription) => answer(pdp, &subscription, explain),
        Err(error) => {
            to_stdout(&(Decision::plain(sapl::Outcome::Indeterminate).to_json() + "\n"))?;
            complain(format_args!("{name}: {error}"));
            Ok(ExitCode::from(BAD_INPUT))
        }
    }
}

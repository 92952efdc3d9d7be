//! One step: a request, what is taken from its answer, and what must be in it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::load::ThinkTime;
use super::value::{DurationValue, NumberValue, OneOrMany};

/// A request, or several steps that are repeated together.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ScenarioStep {
    /// What reports call it; without it method and path.
    pub name: String,
    /// A built-in step (one of [`super::BUILT_INS`]) that fills in what is not set here.
    #[serde(rename = "use")]
    #[schemars(with = "Option<super::schema::BuiltIn>")]
    pub built_in: Option<String>,
    /// What the built-in step is told: `user`, `password`, ...
    pub with: BTreeMap<String, String>,
    /// Without it `GET`, or `POST` where there is a body.
    pub method: Option<String>,
    /// Path and query, from `/` on. Behind the path of the target's address, if it has one.
    pub path: Option<String>,
    /// Headers beside `Host`, `Content-Length` and `Connection`.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Option<String>,
    /// A file with the body, which is sent as it is.
    pub body_file: Option<PathBuf>,
    /// The body as a value, sent as JSON with its content type. Texts may hold `${...}`.
    #[schemars(with = "Option<serde_json::Value>")]
    pub json: Option<toml::Value>,
    /// The answer is an event stream (or a stream of RSocket), which is held open: the step's latency is that of the first event,
    /// by which checks and captures go; further ones are counted.
    pub events: Option<HoldFor>,
    /// The route of RSocket, which built-in steps set.
    #[serde(skip)]
    pub(crate) rsocket: Option<String>,
    /// What is taken from the answer, by name: `${NAME}` stands for it in later requests of the same user.
    pub capture: BTreeMap<String, Capture>,
    /// What a right answer is; an answer that is not counts as an error.
    pub expect: Expect,
    /// Captures that a right answer takes away: a logout forgets the token.
    pub forget: OneOrMany<String>,
    /// Captures that a wrong answer takes away.
    pub forget_on_error: OneOrMany<String>,
    /// Done only where this capture is there; `!NAME`: where it is missing.
    pub only_if: Option<String>,
    /// In so many of 100 turns it is done.
    pub percent: Option<NumberValue>,
    /// How often it is done before the next step.
    pub repeat: Option<NumberValue>,
    /// Steps that are done one after the other, instead of a request.
    pub steps: Vec<ScenarioStep>,
    /// How long the user thinks before it, instead of `load.think`.
    pub think: Option<ThinkTime>,
    /// A whole answer must come within this, instead of `load.timeout`.
    pub timeout: Option<DurationValue>,
}

/// How long a stream is held open. Nothing said: until its first event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HoldFor {
    /// For so long from its first event on.
    pub hold: Option<DurationValue>,
    /// Until so many events came. Without `hold`, each of them must come within `timeout` of the one before.
    pub count: Option<u64>,
    /// Of RSocket: so many items are asked for at once, and as many again when they have come. Without it all there are.
    pub request_n: Option<u32>,
}

/// Where in an answer something stands. One of `json`, `header` and `regex`, or `header` with `regex`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Capture {
    /// A JSON pointer (RFC 6901) into the body.
    pub json: Option<String>,
    /// A header's name.
    pub header: Option<String>,
    /// A regular expression over the body (or the header); its first group counts, or the whole match where it has none.
    pub regex: Option<String>,
}

/// What a right answer is.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// Statuses that are right. Without it 200 to 399.
    pub status: OneOrMany<u16>,
    /// What stands at JSON pointers. Texts may hold `${...}` of data.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub json: BTreeMap<String, toml::Value>,
    /// Texts that are in the body.
    pub contains: OneOrMany<String>,
}

impl ScenarioStep {
    /// Calls this for the step and all within it, in their order.
    pub fn visit<'s>(&'s self, see: &mut impl FnMut(&'s ScenarioStep)) {
        see(self);
        for step in &self.steps {
            step.visit(see);
        }
    }

    /// The same with leave to change them.
    pub(super) fn visit_mut<E>(
        &mut self,
        see: &mut impl FnMut(&mut ScenarioStep) -> Result<(), E>,
    ) -> Result<(), E> {
        see(self)?;
        self.steps.iter_mut().try_for_each(|step| step.visit_mut(see))
    }

    /// Whether it stands for the steps within it.
    pub fn is_group(&self) -> bool {
        !self.steps.is_empty()
    }

    /// The method it is sent with.
    pub fn method(&self) -> &str {
        let has_body = self.body.is_some() || self.body_file.is_some() || self.json.is_some();
        self.method.as_deref().unwrap_or(if has_body { "POST" } else { "GET" })
    }

    /// What reports call it.
    pub fn label(&self) -> String {
        let path = self.path.as_deref().unwrap_or("/");
        if self.name.is_empty() { format!("{} {path}", self.method()) } else { self.name.clone() }
    }
}

//! Cedar. Argument: the folder with `policies.cedar`, `entities.json` and `requests.jsonl`.
//!
//! Everything is prepared as the crate's documentation advises: policies parsed, entities with their ancestors computed,
//! requests built; `Authorizer::is_authorized` alone is measured. There is no schema: requests are not validated.

#[path = "../common/harness.rs"]
mod harness;

use cedar_policy::{Authorizer, Context, Decision, Entities, EntityUid, PolicySet, Request};
use harness::{Engine, Failure};
use std::fs;
use std::path::Path;

struct Cedar {
    authorizer: Authorizer,
    policies: PolicySet,
    entities: Entities,
}

impl Engine for Cedar {
    type Request = Request;

    /// A line is `{"principal": UID, "action": UID, "resource": UID}`, identifiers in Cedar's syntax.
    fn parse(&self, line: &str) -> Result<Request, Failure> {
        let line: serde_json::Value = serde_json::from_str(line)?;
        let uid = |name: &str| -> Result<EntityUid, Failure> {
            Ok(line[name].as_str().ok_or_else(|| format!("no `{name}` in `{line}`"))?.parse()?)
        };
        let (principal, action, resource) = (uid("principal")?, uid("action")?, uid("resource")?);
        Ok(Request::new(principal, action, resource, Context::empty(), None)?)
    }

    fn decide(&self, request: &Request) -> Result<&'static str, Failure> {
        let response = self.authorizer.is_authorized(request, &self.policies, &self.entities);
        Ok(match response.decision() {
            Decision::Allow => "Permit",
            Decision::Deny => "Deny",
        })
    }
}

fn main() -> Result<(), Failure> {
    let folder = std::env::args().nth(1).ok_or("the argument is a folder")?;
    let read = |name: &str| fs::read_to_string(Path::new(&folder).join(name));
    let cedar = Cedar {
        authorizer: Authorizer::new(),
        policies: read("policies.cedar")?.parse()?,
        entities: Entities::from_json_str(&read("entities.json")?, None)?,
    };
    harness::run(&cedar, &read("requests.jsonl")?)
}

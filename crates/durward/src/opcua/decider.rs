//! The decision point of `durward-pdp`, as the authorization service asks it: one question for each node of a server and each
//! permission.
//!
//! What does not depend on live values becomes a bit of the token. Everything else is left to the gate: a decision that needs an
//! attribute of the moment (`<time.now>`, `current-time`, whatever a finder would have to say), and a Permit with an obligation or with
//! another resource, because a bit carries neither.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use durward_opcua::authority::decide::{RightsDecider, RightsDecision, RightsQuestion};
use durward_opcua::error::Error;
use durward_opcua::permission::Permission;
use durward_opcua::token::{GrantVerdict, Thumbprint};
use durward_pdp::ir::attribute::{AttributeName, NameKey};
use durward_pdp::ir::fault::Evaluated;
use durward_pdp::ir::path::Path;
use durward_pdp::ir::question::{Attributes, Invocation, Reading};
use durward_pdp::sapl::{Outcome, Subscription};
use durward_pdp::{
    Algorithm, Attempt, AttributeSource, Decision as XacmlDecision, Explanation, Pdp, PolicyText, Request,
    RequestLanguage, Response, SourceError, Value,
};
use opcua_types::StatusCode;

use super::question::{ENVIRONMENT, QuestionFacts};
use crate::failure::CommandError;
use crate::policies;

/// How often a question is asked again because other policies came into force meanwhile.
const ATTEMPTS_MAX: usize = 4;

/// Where policies come from. The files are looked at again.
pub(super) struct PolicyFiles {
    /// Files and directories.
    pub(super) paths: Vec<PathBuf>,
    /// How several roots are combined.
    pub(super) combining: Algorithm,
}

/// A decision point with the version of its policies.
pub(super) struct PolicyDecider {
    pdp: Pdp,
    policies: PolicyFiles,
    version: RwLock<Arc<str>>,
    lifetime: Duration,
    /// Why changed files are not in force.
    problem: Mutex<Option<String>>,
}

impl PolicyDecider {
    /// Reads the policies. Tokens live for `lifetime` on a decision at most.
    ///
    /// # Errors
    /// Policies that cannot be read or put in force.
    pub(super) fn new(policies: PolicyFiles, lifetime: Duration) -> Result<PolicyDecider, CommandError> {
        let texts = policies::read_all(&policies.paths)?;
        PolicyDecider::of(texts, policies, lifetime)
    }

    fn of(
        texts: Vec<PolicyText>,
        policies: PolicyFiles,
        lifetime: Duration,
    ) -> Result<PolicyDecider, CommandError> {
        let version = version(&texts, policies.combining);
        // Without a clock: what the time has to say is not known for as long as a token lives.
        let builder =
            Pdp::builder().combining(policies.combining).source(AnnouncedAttributes).policies(texts);
        let pdp = builder.build().map_err(|errors| CommandError::policies(&errors))?;
        Ok(PolicyDecider {
            pdp,
            policies,
            version: RwLock::new(version),
            lifetime,
            problem: Mutex::default(),
        })
    }

    /// Reads the files again and puts them in force if they were changed. Gives the version that was replaced, whose tokens are then to be
    /// recalled.
    ///
    /// # Errors
    /// Policies that cannot be read or put in force; the old ones stay.
    pub(super) fn reload(&self) -> Result<Option<Arc<str>>, CommandError> {
        let reloaded = self.read_again();
        let problem = reloaded.as_ref().err().map(ToString::to_string);
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = problem;
        reloaded
    }

    /// Why changed files are not in force, if they are not.
    pub(super) fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The version of the policies in force.
    pub(super) fn policies_in_force(&self) -> Arc<str> {
        self.version.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn read_again(&self) -> Result<Option<Arc<str>>, CommandError> {
        let texts = policies::read_all(&self.policies.paths)?;
        let next = version(&texts, self.policies.combining);
        if next == self.policies_in_force() {
            return Ok(None);
        }
        // Held while the policies change: no decision of the new ones goes by the name of the old ones. See `RightsDecider::decide`.
        let mut in_force = self.version.write().unwrap_or_else(PoisonError::into_inner);
        self.pdp.replace(&texts).map_err(|errors| CommandError::policies(&errors))?;
        Ok(Some(std::mem::replace(&mut *in_force, next)))
    }

    /// All verdicts, by the policies in force.
    fn verdicts(&self, question: &RightsQuestion<'_>) -> Result<Vec<GrantVerdict>, Error> {
        // As for `durward serve`: subscriptions, unless there is nothing but XACML.
        match self.pdp.mismatch(RequestLanguage::Sapl) {
            None => self.sapl(question),
            Some(_) => Ok(self.xacml(question)),
        }
    }

    fn sapl(&self, question: &RightsQuestion<'_>) -> Result<Vec<GrantVerdict>, Error> {
        let facts = QuestionFacts::of(question);
        let known = facts.known()?;
        let mut verdicts = Vec::with_capacity(question.table.len() * question.permissions.len());
        for node in question.nodes() {
            let resource = facts.resource(&node)?;
            for permission in question.permissions {
                let subscription = known.subscription(&resource, *permission);
                let known =
                    BareSubscription { subscription: &subscription, lacks_environment: Cell::new(false) };
                let attempt = self.pdp.decide_known(&known);
                verdicts.push(if known.lacks_environment.get() {
                    GrantVerdict::Ask
                } else {
                    verdict(&attempt)
                });
            }
        }
        Ok(verdicts)
    }

    fn xacml(&self, question: &RightsQuestion<'_>) -> Vec<GrantVerdict> {
        let (mut verdicts, live, facts) =
            (Vec::new(), MissingAttributeNote::default(), QuestionFacts::of(question));
        for node in question.nodes() {
            for permission in question.permissions {
                let response = self.pdp.decide_with(&facts.request(&node, *permission), &live);
                // Not only where it is a Permit: what is Deny without the attribute may be a Permit with it.
                verdicts.push(if live.take() { GrantVerdict::Ask } else { verdict_of(&response) });
            }
        }
        verdicts
    }
}

/// What the authorization service decides on one node and permission, and the policies' reasons for it.
///
/// # Errors
/// Facts that no policy can be asked about.
pub(super) fn explained(
    pdp: &Pdp,
    facts: &QuestionFacts<'_>,
    node: &str,
    permission: Permission,
) -> Result<(GrantVerdict, Explanation), Error> {
    match pdp.mismatch(RequestLanguage::Sapl) {
        None => {
            let subscription = facts.known()?.subscription(&facts.resource(node)?, permission);
            let known = BareSubscription { subscription: &subscription, lacks_environment: Cell::new(false) };
            let attempt = pdp.decide_known(&known);
            let verdict = if known.lacks_environment.get() { GrantVerdict::Ask } else { verdict(&attempt) };
            Ok((verdict, pdp.explain_known(&subscription, &known)))
        }
        Some(_) => {
            let (request, live) = (facts.request(node, permission), MissingAttributeNote::default());
            let response = pdp.decide_with(&request, &live);
            let verdict = if live.take() { GrantVerdict::Ask } else { verdict_of(&response) };
            Ok((verdict, pdp.explain(&request)))
        }
    }
}

impl RightsDecider for PolicyDecider {
    fn policy_version(&self) -> Arc<str> {
        self.policies_in_force()
    }

    fn decide(&self, question: &RightsQuestion<'_>) -> Result<RightsDecision, Error> {
        for _ in 0..ATTEMPTS_MAX {
            let policy = self.policy_version();
            let verdicts = self.verdicts(question)?;
            if self.policy_version() != policy {
                continue;
            }
            let is_live = verdicts.contains(&GrantVerdict::Ask);
            return Ok(RightsDecision {
                verdicts,
                roles: question.subject.roles.clone(),
                policy,
                lifetime: self.lifetime,
                reusable: if is_live { Duration::ZERO } else { self.lifetime },
            });
        }
        Err(Error::new(StatusCode::BadResourceUnavailable, "the policies change all the time: ask again"))
    }
}

/// The name of what these policies say: the same after a restart, so that tokens of before can be recalled by it.
fn version(texts: &[PolicyText], combining: Algorithm) -> Arc<str> {
    let mut all = format!("{combining:?}").into_bytes();
    for text in texts {
        for part in [text.name.as_bytes(), &text.text] {
            all.extend_from_slice(&(part.len() as u64).to_be_bytes());
            all.extend_from_slice(part);
        }
    }
    Thumbprint::of(&all).to_string().into()
}

pub(super) fn verdict(attempt: &Attempt) -> GrantVerdict {
    if !attempt.needs.is_empty() {
        return GrantVerdict::Ask;
    }
    let decision = &attempt.decision;
    match decision.outcome {
        Outcome::Permit if decision.obligations().len() == 0 && decision.resource().is_none() => {
            GrantVerdict::Granted
        }
        Outcome::Permit | Outcome::Suspend => GrantVerdict::Ask,
        Outcome::Deny | Outcome::NotApplicable | Outcome::Indeterminate => GrantVerdict::Refused,
    }
}

pub(super) fn verdict_of(response: &Response) -> GrantVerdict {
    match response.results.first() {
        Some(result) if result.decision != XacmlDecision::Permit => GrantVerdict::Refused,
        Some(result) if result.obligations.is_empty() => GrantVerdict::Granted,
        Some(_) => GrantVerdict::Ask,
        None => GrantVerdict::Refused,
    }
}

/// A subscription of which no attribute finder has said anything.
struct BareSubscription<'a> {
    subscription: &'a Subscription,
    /// Policies of XACML, beside those of SAPL, asked for something of the environment that is not there, such as the time.
    lacks_environment: Cell<bool>,
}

impl Attributes for BareSubscription<'_> {
    fn read<'a>(&'a self, name: &AttributeName, key: NameKey) -> Reading<'a> {
        let reading = self.subscription.read(name, key);
        if matches!(reading, Reading::Absent) && name.category == ENVIRONMENT {
            self.lacks_environment.set(true);
        }
        reading
    }

    fn part<'a>(&'a self, path: &Path) -> Reading<'a> {
        self.subscription.part(path)
    }

    fn found(&self, _: &Invocation) -> Option<Evaluated<Value>> {
        None
    }
}

/// Says that attributes of the environment come from somewhere, so that [`MissingAttributeNote`] is asked for them.
pub(super) struct AnnouncedAttributes;

impl AttributeSource for AnnouncedAttributes {
    fn provides(&self, name: &AttributeName) -> bool {
        name.category == ENVIRONMENT
    }

    fn values(&self, _: &AttributeName, _: &Request) -> Result<Vec<Value>, SourceError> {
        Err(SourceError::new("known when the right is used"))
    }

    fn is_announcement(&self) -> bool {
        true
    }
}

/// Notes that a decision asked for an attribute of the environment that the request lacks.
#[derive(Default)]
pub(super) struct MissingAttributeNote(AtomicBool);

impl MissingAttributeNote {
    /// Whether something was asked for since this was asked last.
    pub(super) fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

impl AttributeSource for MissingAttributeNote {
    fn provides(&self, name: &AttributeName) -> bool {
        name.category == ENVIRONMENT
    }

    fn values(&self, _: &AttributeName, _: &Request) -> Result<Vec<Value>, SourceError> {
        self.0.store(true, Ordering::Relaxed);
        Err(SourceError::new("known when the right is used"))
    }
}

#[cfg(test)]
mod tests;

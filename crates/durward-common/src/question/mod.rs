//! Questions in the words of AuthZEN's information model (who wants to do what with what), decided in the language of the tenant's policies.
//!
//! ```text
//!   question --> subscription (mapping) --> decider ----------.
//!      |                                                      |--> verdict
//!      '------> request (attributes) ----> policies, XACML ---'
//! ```
//!
//! Every surface whose callers speak neither SAPL nor XACML asks so: it makes a [`Question`], says in [`Asked`] who asks and by which way, in
//! [`SubjectBy`] on whose word the subject stands, and gets a [`Verdict`], which is in the decision log by then. `[authzen.sapl]`,
//! `[authzen.xacml]` and `authzen.language` say how words become those of policies, for all of them.

mod attributes;
mod mapping;
mod rows;
mod sapl;
mod verdict;
mod xacml;

use std::net::{IpAddr, SocketAddr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use durward_net::trace::Trace;
use durward_pdp::ir::value::Object;
use durward_settings::{AuthzenLanguage, AuthzenSettings};
use durward_sources::AttributeSources;
use hyper::StatusCode;
use smol_str::SmolStr;

use crate::access::auth::Identity;
use crate::access::rates::Rates;
use crate::access::subject::fence::Fence;
use crate::access::subject::{FoundSubject, Shown, Subjects};
use crate::base::metrics::Metrics;
use crate::decider::{Decider, DeciderSlot};
use crate::decision_log::{Caller, Recorder, Surface};
use crate::policies::InForce;
use attributes::Attributes;
pub use mapping::Mapping;
pub use verdict::{Duty, REPLACE_RESOURCE, Verdict};

/// Why a question gets no decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The status of the answer.
    pub status: StatusCode,
    /// What is wrong, for the caller.
    pub message: String,
}

impl Wrong {
    /// A mistake that is answered with this status.
    pub fn new(status: StatusCode, message: impl Into<String>) -> Wrong {
        Wrong { status, message: message.into() }
    }

    /// The caller's mistake.
    pub fn request(message: impl Into<String>) -> Wrong {
        Wrong::new(StatusCode::BAD_REQUEST, message)
    }

    /// Questions come faster than they may.
    fn too_many() -> Wrong {
        Wrong::new(StatusCode::TOO_MANY_REQUESTS, "there are too many requests; try again")
    }

    /// The caller may not assert who the subject is.
    pub fn asserted() -> Wrong {
        let message = "a subject is named by a token here, with the type `session` or `jwt` and the token as its id, and this caller may \
                       not assert who it is; see `identity.subjects_asserted_by`";
        Wrong::new(StatusCode::FORBIDDEN, message)
    }
}

/// A subject or a resource.
#[derive(Clone, Debug)]
pub struct Entity {
    /// `type`.
    pub kind: SmolStr,
    /// `id`.
    pub id: SmolStr,
    /// `properties`.
    pub properties: Option<Arc<Object>>,
}

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Action {
    /// `name`.
    pub name: SmolStr,
    /// `properties`.
    pub properties: Option<Arc<Object>>,
}

/// One question.
#[derive(Clone, Debug)]
pub struct Question {
    /// Who acts.
    pub subject: Entity,
    /// What they do.
    pub action: Action,
    /// What they do it to.
    pub resource: Entity,
    /// The circumstances.
    pub context: Option<Arc<Object>>,
}

/// On whose word the subject of a question is who it says.
#[derive(Clone)]
pub enum SubjectBy {
    /// On the caller's, who must be one that may assert subjects.
    Caller,
    /// On that of a token, which is looked at when the question is decided. Type, id and properties of the subject mean nothing.
    Token(Shown),
    /// On that of a token which the surface has just looked at, and looks at no second time. Type, id and properties of the subject mean
    /// nothing.
    Found(Arc<FoundSubject>),
    /// On that of the surface, which verified credentials of the subject, or says of its own that there is nobody. What a caller wrote
    /// must never come by this way.
    Verified,
}

/// Which decisions the decision log gets.
#[derive(Clone, Copy)]
pub enum Logged<'a> {
    /// Every decision is a line of the log.
    Each,
    /// Those of which this is true: what a search found is told, what it did not find is not.
    If(&'a (dyn Fn(&Verdict) -> bool + Send + Sync)),
}

impl Logged<'_> {
    fn wants(self, verdict: &Verdict) -> bool {
        match self {
            Logged::Each => true,
            Logged::If(is_told) => is_told(verdict),
        }
    }
}

/// Who counts how often a caller asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// The surface did, when the request came.
    BySurface,
    /// Nobody yet: the asker does.
    ByAsker,
}

/// Who asks a question, and by which way.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// Whose tenant's policies decide.
    pub caller: &'a Identity,
    /// From where.
    pub client: Option<SocketAddr>,
    /// What the request is called in logs.
    pub request_id: &'a str,
    /// The trace that it belongs to.
    pub trace: &'a Trace,
    /// What the decision log calls the way.
    pub surface: Surface,
    /// What was called there.
    pub route: &'static str,
    /// How long the text is that the caller sent.
    pub length: usize,
    /// Which decisions are lines of the log.
    pub logged: Logged<'a>,
    /// Who counts the request towards the caller's rate.
    pub counted: Counted,
}

impl Asked<'_> {
    /// Who asks, as the decision log has it.
    fn as_logged(&self) -> Caller<'_> {
        Caller {
            surface: self.surface,
            route: self.route,
            request_id: self.request_id,
            client: self.client,
            tenant: &self.caller.tenant,
            name: &self.caller.name,
            trace: self.trace,
        }
    }
}

/// Decides questions. One for all surfaces that ask so.
pub struct Asker {
    decider: DeciderSlot,
    policies: Arc<InForce>,
    /// Where attributes come from that XACML requests lack.
    sources: Option<Arc<AttributeSources>>,
    subjects: Option<Subjects>,
    fence: Fence,
    rates: Arc<Rates>,
    recorder: Recorder,
    metrics: Arc<Metrics>,
    mapping: Mapping,
    attributes: Attributes,
    settings: AuthzenSettings,
}

/// What the asker shares with others.
pub struct Parts<'p> {
    /// Decides by SAPL's policies.
    pub decider: &'p DeciderSlot,
    /// The policies in force.
    pub policies: &'p Arc<InForce>,
    /// Where attributes come from that XACML requests lack.
    pub sources: Option<&'p Arc<AttributeSources>>,
    /// Finds the users that tokens name; none where there are neither sessions nor tokens.
    pub subjects: Option<&'p Subjects>,
    /// Which callers may assert who a subject is.
    pub fence: &'p Fence,
    /// How often callers may ask.
    pub rates: &'p Arc<Rates>,
    /// Who records decisions.
    pub recorder: &'p Recorder,
    /// Where it is counted.
    pub metrics: &'p Arc<Metrics>,
}

/// Something panicked, and that was told.
#[derive(Debug)]
struct Panicked;

impl Asker {
    /// Asks with these parts, in the language that settings give each tenant.
    pub fn new(settings: &AuthzenSettings, parts: &Parts<'_>) -> Asker {
        Asker {
            decider: Arc::clone(parts.decider),
            policies: Arc::clone(parts.policies),
            sources: parts.sources.cloned(),
            subjects: parts.subjects.cloned(),
            fence: parts.fence.clone(),
            rates: Arc::clone(parts.rates),
            recorder: parts.recorder.clone(),
            metrics: Arc::clone(parts.metrics),
            mapping: Mapping::new(&settings.sapl),
            attributes: Attributes::new(&settings.xacml),
            settings: settings.clone(),
        }
    }

    /// Decides a question, and records that.
    ///
    /// # Errors
    /// It cannot be asked by this caller, or not so often, or nobody decides at the moment. What policies cannot decide is a verdict.
    pub async fn decide(
        &self,
        asked: &Asked<'_>,
        question: &Question,
        subject: &SubjectBy,
    ) -> Result<Verdict, Wrong> {
        let client = asked.client.map(|client| client.ip());
        if asked.counted == Counted::ByAsker && !self.rates.allows(Some(asked.caller), client, Instant::now())
        {
            return Err(Wrong::too_many());
        }
        if matches!(subject, SubjectBy::Caller) && !self.lets_assert(asked.caller) {
            return Err(Wrong::asserted());
        }
        if self.is_asked_in_xacml(&asked.caller.tenant) {
            return self.decide_xacml(asked, question, subject).await;
        }
        self.decide_sapl(asked, question, subject).await
    }

    /// Whether a caller may ask once more, which does not count yet.
    pub fn has_room(&self, caller: &Identity, client: IpAddr, now: Instant) -> bool {
        self.rates.has_room(Some(caller), Some(client), now)
    }

    /// Whether a caller may ask once more, which then counts.
    pub fn takes(&self, caller: &Identity, client: IpAddr, now: Instant) -> bool {
        self.rates.allows(Some(caller), Some(client), now)
    }

    /// Whether a caller may ask about subjects of its choice.
    pub fn lets_assert(&self, caller: &Identity) -> bool {
        self.fence.lets_assert(Some(caller))
    }

    /// The kind of token that subjects of this type are named by, if there are such tokens.
    pub fn token_kind(&self, kind: &str) -> Option<&'static str> {
        self.subjects.as_ref()?.token_names().find(|name| *name == kind)
    }

    /// Whether the policies of a tenant are asked with an XACML request.
    pub fn is_asked_in_xacml(&self, tenant: &str) -> bool {
        match self.settings.language_of(tenant) {
            AuthzenLanguage::Sapl => false,
            AuthzenLanguage::Xacml => true,
            AuthzenLanguage::Auto => self
                .policies
                .pdp_of(tenant)
                .is_some_and(|pdp| pdp.mismatch(durward_pdp::RequestLanguage::Sapl).is_some()),
        }
    }

    /// Whether the settings say that a tenant's policies are asked with an XACML request, whatever they are.
    pub fn is_set_to_xacml(&self, tenant: &str) -> bool {
        self.settings.language_of(tenant) == AuthzenLanguage::Xacml
    }

    /// Whether decisions are recorded, which what is decided from its bytes cannot be.
    pub fn is_recorded(&self) -> bool {
        self.recorder.is_on()
    }

    /// Who decides by SAPL's policies; nobody at first.
    pub fn decider(&self) -> Option<&Arc<dyn Decider>> {
        self.decider.get()
    }

    /// A mistake of ours costs one decision, not the process.
    fn guarded<T>(&self, asked: &Asked<'_>, work: impl FnOnce() -> T) -> Result<T, Panicked> {
        catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
            self.metrics.panics.inc();
            tracing::error!(request_id = %asked.request_id, "a request ended in a panic; please report it");
            Panicked
        })
    }
}

#[cfg(test)]
impl Question {
    /// A question as AuthZEN writes it.
    pub(crate) fn of_test(text: &str) -> Question {
        let value = durward_pdp::ir::json::read(text).unwrap();
        let whole = value.as_object().unwrap();
        let object =
            |of: &Object, name: &str| of.get(name).map(|value| Arc::clone(value.as_object().unwrap()));
        let text = |of: &Object, name: &str| SmolStr::from(of.get(name).unwrap().as_text().unwrap());
        let entity = |name: &str| {
            let part = object(whole, name).unwrap();
            Entity {
                kind: text(&part, "type"),
                id: text(&part, "id"),
                properties: object(&part, "properties"),
            }
        };
        let action = object(whole, "action").unwrap();
        Question {
            subject: entity("subject"),
            action: Action { name: text(&action, "name"), properties: object(&action, "properties") },
            resource: entity("resource"),
            context: object(whole, "context"),
        }
    }
}

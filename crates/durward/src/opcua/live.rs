//! The decision point of a gate: what a token leaves open, because it depends on the moment or on more than a bit can say, is asked of
//! `durward-pdp` here, with the same question as the authorization service asked, the facts about the subject out of the token, and the time.
//!
//! Deny is whatever is unclear: no policies in force, a token without those facts, an attribute that nobody here has a source for, a Permit
//! with an obligation or another resource, for which a gate has no hands.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use durward_opcua::permission::{Permission, PermissionRuling};
use durward_opcua::token::{GrantVerdict, LiveDecider, LiveQuestion};
use durward_pdp::ir::attribute::{AttributeName, NameKey};
use durward_pdp::ir::fault::Evaluated;
use durward_pdp::ir::path::Path;
use durward_pdp::ir::question::{Attributes, Reading};
use durward_pdp::sapl::Subscription;
use durward_pdp::stream::finders::{TimeFinder, X509Finder};
use durward_pdp::stream::{Context, Invocation, TimedFinder};
use durward_pdp::{Pdp, RequestLanguage, Value};
use durward_server::{PolicyWatch, Settings};
use durward_session::identity::Moment;

use super::decider::{AnnouncedAttributes, MissingAttributeNote, verdict, verdict_of};
use super::question::{CommonParts, ENVIRONMENT, QuestionFacts, action};
use crate::failure::CommandError;
use crate::serve;

/// How long an answer is used again at most. Policies and times that change count no later than that.
const HOLDS_MAX: Duration = Duration::from_secs(1);

/// Tokens and answers that are remembered, all together. When there are more, all are dropped: they hold for a second.
const ANSWERS_MAX: usize = 65_536;

/// What the decision point itself says of the time (XACML 3.0, 10.2.5).
const CURRENT: [&str; 3] = [
    "urn:oasis:names:tc:xacml:1.0:environment:current-time",
    "urn:oasis:names:tc:xacml:1.0:environment:current-date",
    "urn:oasis:names:tc:xacml:1.0:environment:current-dateTime",
];

/// An attribute that depends on when a stream of decisions began. Here every decision is a first one.
const OF_STREAMS: &str = "time.toggle";

/// The gate's decision point and the policies that it decides by.
pub(super) struct GatePolicies {
    pub(super) live: Arc<PolicyLiveDecider>,
    pub(super) watch: Arc<PolicyWatch>,
}

/// Starts the decision point of a gate, if the settings name policies for it.
///
/// # Errors
/// Policies or keys that cannot be used.
pub(super) fn start(settings: &Settings, resource: &str) -> Result<Option<GatePolicies>, CommandError> {
    let Some(policies) = settings.opcua.gate.policies.clone() else { return Ok(None) };
    let settings = Settings { policies, ..settings.clone() };
    let watch = PolicyWatch::start(&settings, serve::clock(), Arc::new(AnnouncedAttributes));
    let watch = watch.map_err(|error| serve::failure(error.into()))?;
    let watch = Arc::new(watch);
    let watched = Arc::clone(&watch);
    let live = PolicyLiveDecider::new(Box::new(move || watched.pdp()), resource);
    Ok(Some(GatePolicies { live: Arc::new(live), watch }))
}

/// Gives the decision point with the policies in force, if there are any.
pub(super) type PolicyProvider = Box<dyn Fn() -> Option<Arc<Pdp>> + Send + Sync>;

/// What was decided here, for metrics.
#[derive(Debug, Default)]
pub(super) struct LiveFigures {
    pub(super) granted: AtomicU64,
    pub(super) refused: AtomicU64,
    /// Questions whose answer was remembered.
    pub(super) reused: AtomicU64,
}

/// Decides at the gate.
pub(super) struct PolicyLiveDecider {
    policies: PolicyProvider,
    /// The resource id of the gate.
    resource: String,
    answers: Mutex<RememberedAnswers>,
    figures: Arc<LiveFigures>,
}

/// What is remembered, by the name of the token.
#[derive(Default)]
struct RememberedAnswers {
    of_tokens: HashMap<String, TokenAnswers>,
    count: usize,
}

/// An answer, from when on and until when it holds.
type RememberedAnswer = (PermissionRuling, Moment, Moment);

/// What is remembered of a token.
#[derive(Default)]
struct TokenAnswers {
    /// The parts of subscriptions that all its questions share.
    known: Option<Arc<CommonParts>>,
    /// By row and permission.
    answers: HashMap<(u32, Permission), RememberedAnswer>,
}

/// What was decided, until when it holds, and why it is no Permit.
pub(super) struct LiveDecision {
    pub(super) ruling: PermissionRuling,
    until: Moment,
    pub(super) why: String,
}

impl PolicyLiveDecider {
    pub(super) fn new(policies: PolicyProvider, resource: impl Into<String>) -> PolicyLiveDecider {
        PolicyLiveDecider {
            policies,
            resource: resource.into(),
            answers: Mutex::default(),
            figures: Arc::default(),
        }
    }

    pub(super) fn figures(&self) -> &Arc<LiveFigures> {
        &self.figures
    }

    fn answers(&self) -> MutexGuard<'_, RememberedAnswers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn decide(&self, question: &LiveQuestion<'_>) -> LiveDecision {
        let until = question.now.plus(HOLDS_MAX);
        let refused = |why: String| LiveDecision { ruling: PermissionRuling::DENIED, until, why };
        let Some(pdp) = (self.policies)() else {
            return refused("the gate has no policies in force: see its log".to_owned());
        };
        let Some(facts) = QuestionFacts::of_token(question, &self.resource) else {
            return refused("the token does not say what is known of the subject".to_owned());
        };
        let Some(node) = question.node() else { return refused("the node has no name".to_owned()) };
        let token = question.token.id();
        let remembered = self.answers().of_tokens.get(token).and_then(|of_token| of_token.known.clone());
        let known = match remembered.map_or_else(|| facts.known().map(Arc::new), Ok) {
            Ok(known) => known,
            Err(error) => return refused(error.reason().to_owned()),
        };
        self.answers().of_token(token).known = Some(Arc::clone(&known));
        decide(&pdp, &facts, Some(&known), (&node, question.permission), question.now)
    }
}

/// Decides at this moment, in the language in which the authorization service asks. `known` spares making it of the facts.
pub(super) fn decide(
    pdp: &Pdp,
    facts: &QuestionFacts<'_>,
    known: Option<&CommonParts>,
    (node, permission): (&str, Permission),
    now: Moment,
) -> LiveDecision {
    let until = now.plus(HOLDS_MAX);
    let refused = |why: String| LiveDecision { ruling: PermissionRuling::DENIED, until, why };
    if pdp.mismatch(RequestLanguage::Sapl).is_some() {
        let noted = MissingAttributeNote::default();
        let response = pdp.decide_with(&facts.request(node, permission), &noted);
        if noted.take() {
            return refused(
                "a policy asks for an attribute of the environment that the gate lacks".to_owned(),
            );
        }
        return decided(verdict_of(&response), until);
    }
    let subscription = known.map_or_else(|| facts.known(), |known| Ok(known.clone()));
    let subscription =
        subscription.and_then(|known| Ok(known.subscription(&facts.resource(node)?, permission)));
    let subscription = match subscription {
        Ok(subscription) => subscription,
        Err(error) => return refused(error.reason().to_owned()),
    };
    let known = ImmediateSubscription::new(&subscription, now);
    let attempt = pdp.decide_known(&known);
    if let Some(lacking) = known.lacking.take() {
        return refused(format!("a policy asks for `{lacking}`, for which the gate has no source"));
    }
    // What time has to say is asked again when it says something else.
    let next = u64::try_from(known.next_ms.get()).map_or(until, Moment::from_ms);
    decided(verdict(&attempt), until.min(next))
}

fn decided(verdict: GrantVerdict, until: Moment) -> LiveDecision {
    let (ruling, why) = match verdict {
        GrantVerdict::Granted => (PermissionRuling::Granted, ""),
        GrantVerdict::Refused => (PermissionRuling::DENIED, "the policies of the gate refuse it now"),
        GrantVerdict::Ask => (
            PermissionRuling::DENIED,
            "a gate can fulfil no obligation, and put nothing in the place of a value",
        ),
    };
    LiveDecision { ruling, until, why: why.to_owned() }
}

impl LiveDecider for PolicyLiveDecider {
    fn rule(&self, question: &LiveQuestion<'_>) -> PermissionRuling {
        let (token, key) = (question.token.id(), (question.row, question.permission));
        if let Some(ruling) = self.answers().find(token, key, question.now) {
            self.figures.reused.fetch_add(1, Ordering::Relaxed);
            return ruling;
        }
        let LiveDecision { ruling, until, why } = self.decide(question);
        let counter = if ruling.is_granted() { &self.figures.granted } else { &self.figures.refused };
        counter.fetch_add(1, Ordering::Relaxed);
        tracing::debug!(
            subject = question.token.subject(),
            token,
            permission = action(question.permission),
            node = question.node(),
            granted = ruling.is_granted(),
            why,
            "decided at the gate"
        );
        self.answers().put(token, key, (ruling, question.now, until));
        ruling
    }
}

impl RememberedAnswers {
    /// An answer that holds. One from a moment that is still to come, by a clock that was set back, does not.
    fn find(&self, token: &str, key: (u32, Permission), now: Moment) -> Option<PermissionRuling> {
        let (ruling, from, until) = *self.of_tokens.get(token)?.answers.get(&key)?;
        (from <= now && now < until).then_some(ruling)
    }

    fn of_token(&mut self, token: &str) -> &mut TokenAnswers {
        if !self.of_tokens.contains_key(token) {
            self.count += 1;
        }
        self.of_tokens.entry(token.to_owned()).or_default()
    }

    fn put(&mut self, token: &str, key: (u32, Permission), answer: RememberedAnswer) {
        if self.count >= ANSWERS_MAX {
            *self = RememberedAnswers::default();
        }
        let before = self.of_token(token).answers.insert(key, answer);
        self.count += usize::from(before.is_none());
    }
}

/// A subscription, and what can be known of the moment without waiting.
pub(super) struct ImmediateSubscription<'a> {
    subscription: &'a Subscription,
    time: TimeFinder,
    now_ms: i64,
    /// When one of those attributes changes next, in milliseconds since 1970.
    next_ms: Cell<i64>,
    /// An attribute that was asked for, and that nobody here has.
    lacking: RefCell<Option<String>>,
}

impl<'a> ImmediateSubscription<'a> {
    pub(super) fn new(subscription: &'a Subscription, now: Moment) -> ImmediateSubscription<'a> {
        ImmediateSubscription {
            subscription,
            time: TimeFinder::default(),
            now_ms: i64::try_from(now.ms()).unwrap_or(i64::MAX),
            next_ms: Cell::new(i64::MAX),
            lacking: RefCell::default(),
        }
    }
}

impl Attributes for ImmediateSubscription<'_> {
    fn read<'a>(&'a self, name: &AttributeName, key: NameKey) -> Reading<'a> {
        let reading = self.subscription.read(name, key);
        if matches!(reading, Reading::Absent) && name.category == ENVIRONMENT && !CURRENT.contains(&&*name.id)
        {
            *self.lacking.borrow_mut() = Some(name.id.to_string());
        }
        reading
    }

    fn part<'a>(&'a self, path: &Path) -> Reading<'a> {
        self.subscription.part(path)
    }

    fn found(&self, invocation: &Invocation) -> Option<Evaluated<Value>> {
        const NOTHING: Context = Context { secrets: None, surroundings: None };
        let finders: [&dyn TimedFinder; 2] = [&self.time, &X509Finder];
        let name = invocation.name.to_string();
        let finder = finders.into_iter().find(|finder| finder.serves(invocation) && name != OF_STREAMS);
        let Some(finder) = finder else {
            *self.lacking.borrow_mut() = Some(format!("<{name}>"));
            return Some(Ok(Value::Undefined));
        };
        let reading = finder.read(invocation, &NOTHING, self.now_ms, self.now_ms);
        if let Some(next_ms) = reading.next_ms {
            self.next_ms.set(self.next_ms.get().min(next_ms));
        }
        Some(reading.value)
    }
}

#[cfg(test)]
mod tests;

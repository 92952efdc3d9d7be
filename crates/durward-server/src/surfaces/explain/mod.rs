//! `POST /v1/explain`: why a subscription of SAPL, or a request of XACML, is answered as it is. For callers with `may_explain` only: an explanation
//! shows policies, and values of attributes.
//!
//! The explanation is that of `durward decide --explain`, and so is what it knows: the question, and attributes that this process computes itself.
//! Nobody is asked over the network for it.

mod question;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};

use durward_common::access::auth::{Authenticator, Denied, Identity, Presented};
use durward_common::access::rates::Rates;
use durward_common::access::subject::attributes::{self, NO_SESSIONS, Named};
use durward_common::access::subject::fence::Fence;
use durward_common::access::subject::{NotTaken, Subjects, document};
use durward_common::base::Clock;
use durward_common::base::metrics::Metrics;
use durward_common::decision_log::{Caller, DecidedRequest, Recorder, Surface as Way};
use durward_common::policies::InForce;
use durward_common::surfaces::http::body::Bodies;
use durward_common::surfaces::http::incoming::Incoming;
use durward_common::surfaces::http::negotiate::{Offer, choose};
use durward_common::surfaces::http::problem::Problem;
use durward_common::surfaces::http::{Answer, Authenticated, Call, Form, text_answer, text_of};
use durward_pdp::ir::fault::Evaluated;
use durward_pdp::ir::path::Element;
use durward_pdp::ir::{Fault, Value};
use durward_pdp::record::Record;
use durward_pdp::sapl::{Decision, Outcome, Subscription};
use durward_pdp::stream::finders::{MomentAttributes, MomentContext, TimeFinder, X509Finder};
use durward_pdp::stream::{Decider as _, Finder, Invocation, PoliciesInForce};
use durward_pdp::xacml::request::Limits;
use durward_pdp::{Pdp, Request};
use durward_settings::Settings;
use hyper::StatusCode;
use hyper::header::{self, HeaderMap};
use serde_json::json;

use question::Question;

/// As the decision log calls it.
const ROUTE: &str = "explain";

/// What is said of a subject whose token is not accepted: no policy was asked.
const NOT_ACCEPTED: &str = "the token that the subject is named by is not accepted";

/// What requests are answered with.
pub(crate) struct Surface {
    authenticator: Arc<Authenticator>,
    rates: Arc<Rates>,
    fence: Fence,
    /// Who shows tokens, where there are any.
    subjects: Option<Subjects>,
    policies: Arc<InForce>,
    /// Attributes that are computed here.
    finders: Vec<Finder>,
    recorder: Recorder,
    bodies: Arc<Bodies>,
    metrics: Arc<Metrics>,
    clock: Clock,
    limits: Limits,
}

/// What the surface shares with others.
pub(crate) struct Parts<'p> {
    pub(crate) authenticator: &'p Arc<Authenticator>,
    pub(crate) rates: &'p Arc<Rates>,
    pub(crate) fence: &'p Fence,
    pub(crate) subjects: Option<&'p Subjects>,
    pub(crate) policies: &'p Arc<InForce>,
    pub(crate) recorder: &'p Recorder,
    pub(crate) bodies: &'p Arc<Bodies>,
    pub(crate) metrics: &'p Arc<Metrics>,
    pub(crate) clock: &'p Clock,
}

/// Why, in words and as JSON.
struct Told {
    text: String,
    json: serde_json::Value,
    note: Option<&'static str>,
}

/// A request by somebody who may ask.
struct Asking<'a> {
    surface: &'a Surface,
    call: &'a Call,
    identity: &'a Identity,
    pdp: &'a Arc<Pdp>,
    /// How long the body was.
    length: usize,
}

impl Surface {
    /// Nothing where `auth.explain` does not say so.
    pub(crate) fn new(settings: &Settings, parts: &Parts<'_>) -> Option<Surface> {
        settings.auth.explain.then(|| Surface {
            authenticator: Arc::clone(parts.authenticator),
            rates: Arc::clone(parts.rates),
            fence: parts.fence.clone(),
            subjects: parts.subjects.cloned(),
            policies: Arc::clone(parts.policies),
            finders: vec![Finder::timed(TimeFinder::default()), Finder::timed(X509Finder)],
            recorder: parts.recorder.clone(),
            bodies: Arc::clone(parts.bodies),
            metrics: Arc::clone(parts.metrics),
            clock: Arc::clone(parts.clock),
            limits: settings.limits.of_requests(settings.server.body_bytes_max),
        })
    }

    /// Answers one request.
    pub(crate) async fn answer(&self, call: &Call, request: hyper::Request<Incoming>) -> Answer {
        self.answered(call, request).await.unwrap_or_else(|problem| problem.into_answer(Form::Json))
    }

    async fn answered(&self, call: &Call, request: hyper::Request<Incoming>) -> Result<Answer, Problem> {
        let (head, body) = request.into_parts();
        // A small body is taken before anything is refused, so that the connection can go on.
        let body = self.bodies.receive(body).await;
        let closes = body.is_err();
        let refused = |problem: Problem| if closes { problem.closing() } else { problem };
        let presented = Presented::from_request(&head.method, head.uri.path(), &head.headers);
        let identity = self.permitted(presented).await.map_err(refused)?;
        if !self.rates.allows(Some(&identity), Some(call.client.ip()), Instant::now()) {
            return Err(refused(Problem::too_many()));
        }
        let bytes = body?;
        let form = form(&head.headers)?;
        let question = Question::read(text_of(&head.headers, &header::CONTENT_TYPE), &bytes, &self.limits)?;
        let none = || Problem::unavailable("there are no policies in force for this tenant");
        let pdp = self.policies.pdp_of(&identity.tenant).ok_or_else(none)?;
        let asking = Asking { surface: self, call, identity: &identity, pdp: &pdp, length: bytes.len() };
        let told = match question {
            Question::Sapl(subscription) => asking.subscription(*subscription).await?,
            Question::Xacml(request) => asking.request(*request).await?,
        };
        let (request_id, tenant, caller) = (&call.id, &identity.tenant, &identity.name);
        tracing::info!(request_id, ?tenant, ?caller, "a decision was explained");
        let mut answer = told.written(form);
        answer.extensions_mut().insert(Authenticated);
        Ok(answer)
    }

    /// The caller, who may see why.
    async fn permitted(&self, presented: Presented) -> Result<Identity, Problem> {
        match self.authenticator.verify(presented).await {
            Ok(identity) if identity.may_explain => Ok(identity),
            Ok(_) => {
                let detail = "these credentials may not have decisions explained (`may_explain`)";
                Err(Problem::new(StatusCode::FORBIDDEN, detail))
            }
            Err(Denied::Wrong) => Err(Problem::unauthorized(self.authenticator.ways())),
            Err(Denied::Busy) => {
                Err(Problem::unavailable("too many credentials are being verified; try again"))
            }
        }
    }

    fn now_ms(&self) -> i64 {
        let since = (self.clock)().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

impl Asking<'_> {
    async fn subscription(&self, subscription: Subscription) -> Result<Told, Problem> {
        let bad = |message: String| Problem::new(StatusCode::BAD_REQUEST, message);
        let subject = subscription.element(Element::Subject);
        self.surface.fence.check(subject, self.identity).map_err(|error| bad(error.to_string()))?;
        let subjects = self.surface.subjects.as_ref();
        let shown = document::shown(subject).and_then(|shown| Some((shown, subjects?)));
        let named = match shown.filter(|(shown, subjects)| subjects.has(shown)) {
            None => subscription.clone(),
            Some((shown, subjects)) => match subjects.find(&shown).await {
                Ok(subject) => with_subject(&subscription, document::of(&subject)),
                Err(NotTaken::Refused) => {
                    let record = Record::failed(self.pdp.snapshot().id, NOT_ACCEPTED);
                    self.record(&subscription, Decision::plain(Outcome::Deny), record, Duration::ZERO);
                    return Ok(Told::refused(Outcome::Deny));
                }
                Err(NotTaken::Unknown) => {
                    return Err(Problem::unavailable("who the subject is cannot be said at the moment"));
                }
            },
        };
        let begun = Instant::now();
        let (decision, told) = self.guarded(|| {
            self.at_this_moment(&named, |known| {
                let explanation = self.pdp.explain_known(&named, known);
                let told = Told {
                    text: explanation.to_string(),
                    json: explanation.to_json(),
                    note: explanation.note,
                };
                (self.pdp.decide_known(known).decision, told)
            })
        })?;
        let record = Record { snapshot: self.pdp.snapshot().id, ..Record::default() };
        self.record(&subscription, decision, record, begun.elapsed());
        Ok(told)
    }

    async fn request(&self, request: Request) -> Result<Told, Problem> {
        let bad = |message: String| Problem::new(StatusCode::BAD_REQUEST, message);
        let lets_assert = self.surface.fence.lets_assert(Some(self.identity));
        let mut named = match attributes::looked_at(&request, lets_assert).map_err(bad)? {
            None => Named::of(request),
            Some(tokens) => {
                let subjects = self.surface.subjects.as_ref().ok_or_else(|| bad(NO_SESSIONS.to_owned()))?;
                tokens.named(request, subjects).await.map_err(bad)?
            }
        };
        let mut request = std::mem::replace(&mut named.request, Request::builder().build());
        let begun = Instant::now();
        let (explanation, mut response) =
            self.guarded(|| (self.pdp.explain(&request), self.pdp.decide(&request)))?;
        let mut told =
            Told { text: explanation.to_string(), json: explanation.to_json(), note: explanation.note };
        named.settle(&mut request, &mut response);
        // What policies said of a subject whose token is not taken was not told to anybody.
        if response.results.iter().any(|result| attributes::token_reason(result).is_some()) {
            told = Told::refused(Outcome::Deny);
        }
        self.surface.metrics.decided(response.results.iter().map(|result| result.decision), begun.elapsed());
        if self.surface.recorder.is_on() {
            let (snapshot, length) = (self.pdp.snapshot().id, self.length);
            let (records, duration) = (Vec::new(), begun.elapsed());
            let decided = DecidedRequest { request, response, records, snapshot, duration, length };
            self.surface.recorder.results(&self.caller(), decided);
        }
        Ok(told)
    }

    /// What attributes that are asked for over the network say, an explanation does not know.
    fn at_this_moment<R>(
        &self,
        subscription: &Subscription,
        ask: impl FnOnce(&MomentAttributes<'_>) -> R,
    ) -> R {
        let otherwise = |invocation: &Invocation| -> Evaluated<Value> {
            let message = format!("`{}` is not asked for by an explanation", invocation.name);
            Err(Fault::processing(message))
        };
        let moment = MomentContext {
            now_ms: &|| self.surface.now_ms(),
            surroundings: &|| Arc::new(PoliciesInForce::of(self.pdp).surroundings()),
        };
        ask(&MomentAttributes::new(subscription, &self.surface.finders, moment, &otherwise))
    }

    /// A panic is a mistake of ours; it must cost one request, not the process and not the connection.
    fn guarded<T>(&self, work: impl FnOnce() -> T) -> Result<T, Problem> {
        catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
            self.surface.metrics.panics.inc();
            tracing::error!(request_id = %self.call.id, "a request ended in a panic; please report it");
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "a mistake in durward; nothing is explained")
        })
    }

    fn record(&self, asked: &Subscription, decision: Decision, record: Record, took: Duration) {
        let decision = Arc::new(decision);
        self.surface.metrics.told(&decision, Some(took));
        if let Some(account) = self.surface.recorder.account(|| self.caller()) {
            let account = account.asks_once(asked, self.length);
            account.told(None, &decision, Some(Arc::new(record)), Some(took));
        }
    }

    /// Who asks, as the decision log has it.
    fn caller(&self) -> Caller<'_> {
        Caller {
            surface: Way::Http,
            route: ROUTE,
            request_id: &self.call.id,
            client: Some(self.call.client),
            tenant: &self.identity.tenant,
            name: &self.identity.name,
            trace: &self.call.trace,
        }
    }
}

/// The same subscription about somebody whom a token named.
fn with_subject(subscription: &Subscription, subject: Value) -> Subscription {
    let of = |element| subscription.element(element).clone();
    let made =
        Subscription::new(subject, of(Element::Action), of(Element::Resource), of(Element::Environment));
    made.with_secrets(subscription.secrets().clone())
}

/// The form of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ToldAs {
    Json,
    Text,
}

fn form(headers: &HeaderMap) -> Result<ToldAs, Problem> {
    const JSON: Offer = Offer { main: "application", sub: "json", version: None };
    const TEXT: Offer = Offer { main: "text", sub: "plain", version: None };
    match choose(text_of(headers, &header::ACCEPT), &[JSON, TEXT]) {
        Some(offer) if offer == TEXT => Ok(ToldAs::Text),
        Some(_) => Ok(ToldAs::Json),
        None => {
            let detail =
                "an explanation can be `application/json` or `text/plain`, and `Accept` wants neither";
            Err(Problem::new(StatusCode::NOT_ACCEPTABLE, detail))
        }
    }
}

impl Told {
    /// No policy was asked.
    fn refused(outcome: Outcome) -> Told {
        let element = json!({
            "kind": "decision", "id": "", "version": "", "place": "", "outcome": outcome.to_string(),
            "reason": NOT_ACCEPTED, "children": [],
        });
        Told { text: format!("{outcome}: {NOT_ACCEPTED}\n"), json: json!([element]), note: None }
    }

    fn written(self, form: ToldAs) -> Answer {
        match form {
            ToldAs::Text => {
                let note = self.note.map(|note| format!("note: {note}\n")).unwrap_or_default();
                text_answer("text/plain; charset=utf-8", self.text + &note)
            }
            ToldAs::Json => {
                let mut document = json!({ "explanation": self.json });
                if let (Some(object), Some(note)) = (document.as_object_mut(), self.note) {
                    object.insert("note".to_owned(), note.into());
                }
                text_answer("application/json", document.to_string() + "\n")
            }
        }
    }
}

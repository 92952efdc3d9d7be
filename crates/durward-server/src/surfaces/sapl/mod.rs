//! `POST /api/pdp/...`: SAPL's decisions over HTTP, as its server gives them, errors included.

mod plan;
mod refusal;
mod streams;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use durward_common::access::auth::{Authenticator, Denied, Identity, Presented};
use durward_common::access::rates::Rates;
use durward_common::access::subject::fence::Fence;
use durward_common::base::Clock;
use durward_common::base::limits::{Held, Places, Rate};
use durward_common::base::long_work::LongWork;
use durward_common::base::metrics::Metrics;
use durward_common::decider::{
    Decider, DeciderSlot, Decision, Full as NoRoom, MultiSubscription, Named, Once, Outcome, Subscription,
};
use durward_common::decision_log::{Account, Caller, NOTHING_ASKED, Recorder, Surface as Way};
use durward_common::surfaces::http::body::Bodies;
use durward_common::surfaces::http::direct::DirectAnswer;
use durward_common::surfaces::http::events::{self, Body, Events, Source};
use durward_common::surfaces::http::incoming::Incoming;
use durward_common::surfaces::http::{Authenticated, Call};
use durward_pdp::ir::path::Element;
use durward_pdp::plan::Columns;
use durward_pdp::record::{Record, Recorded};
use durward_settings::{SaplSettings, Settings};
use http_body_util::Full;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::http::request;
use hyper::{Response, StatusCode};
use jiff::Timestamp;
use smol_str::SmolStr;
use tokio::sync::watch;

use durward_wire::http1::DirectRequest;
use durward_wire::sapl::json;
use refusal::{Refusal, misdirected};
use streams::{One, Said, Several, Teller};

/// Where all of this is.
pub(crate) const PREFIX: &str = "/api/pdp/";

/// What there is below [`PREFIX`], for whoever asks for something else there.
pub(crate) const THERE_ARE: &str = "there is nothing here; below /api/pdp/ there are decide-once, decide, multi-decide, \
                                    multi-decide-all and multi-decide-all-once";

/// How many unknown fields of one subscription the log names.
const FIELDS_TOLD_MAX: usize = 8;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    DecideOnce,
    Decide,
    MultiDecide,
    MultiDecideAll,
    MultiDecideAllOnce,
    /// Which rows are permitted: `/v1/plan`, which is durward's own.
    Plan,
}

impl Ask {
    /// As it is called in paths and in the decision log.
    const fn as_str(self) -> &'static str {
        match self {
            Ask::DecideOnce => "decide-once",
            Ask::Decide => "decide",
            Ask::MultiDecide => "multi-decide",
            Ask::MultiDecideAll => "multi-decide-all",
            Ask::MultiDecideAllOnce => "multi-decide-all-once",
            Ask::Plan => "plan",
        }
    }

    const fn way(self) -> Way {
        match self {
            Ask::DecideOnce | Ask::MultiDecideAllOnce | Ask::Plan => Way::Http,
            Ask::Decide | Ask::MultiDecide | Ask::MultiDecideAll => Way::Sse,
        }
    }
}

fn json_answer(text: impl Into<Bytes>) -> Response<Body> {
    let mut answer = Response::new(Body::Whole(Full::new(text.into())));
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

/// What requests are answered with.
pub(crate) struct Surface {
    authenticator: Arc<Authenticator>,
    fence: Fence,
    decider: DeciderSlot,
    /// Of this surface.
    rate: Rate,
    /// Of all of them.
    rates: Arc<Rates>,
    /// Streams of events.
    streams: Arc<Places>,
    recorder: Recorder,
    bodies: Arc<Bodies>,
    metrics: Arc<Metrics>,
    clock: Clock,
    /// Becomes true when the end was asked for.
    stop: watch::Receiver<bool>,
    body_bytes_max: usize,
    multi_subscriptions_max: usize,
    keep_alive: Duration,
    /// By the names that questions call them by.
    columns: BTreeMap<String, Arc<Columns>>,
    writing_plans: LongWork,
}

/// What the surface shares with others.
pub(crate) struct Parts<'p> {
    pub(crate) authenticator: &'p Arc<Authenticator>,
    pub(crate) rates: &'p Arc<Rates>,
    pub(crate) fence: &'p Fence,
    pub(crate) decider: &'p DeciderSlot,
    pub(crate) recorder: &'p Recorder,
    pub(crate) bodies: &'p Arc<Bodies>,
    pub(crate) metrics: &'p Arc<Metrics>,
    pub(crate) clock: &'p Clock,
    pub(crate) stop: watch::Receiver<bool>,
}

impl Surface {
    pub(crate) fn new(settings: &Settings, parts: Parts<'_>) -> Surface {
        let Settings { sapl, .. } = settings;
        Surface {
            authenticator: Arc::clone(parts.authenticator),
            fence: parts.fence.clone(),
            decider: Arc::clone(parts.decider),
            rates: Arc::clone(parts.rates),
            rate: Rate::new(sapl.requests_per_second_max, Instant::now()),
            streams: Places::new(sapl.streams_max, parts.metrics.streams_open("sse")),
            recorder: parts.recorder.clone(),
            bodies: Arc::clone(parts.bodies),
            metrics: Arc::clone(parts.metrics),
            clock: Arc::clone(parts.clock),
            stop: parts.stop,
            body_bytes_max: sapl.body_bytes_max,
            multi_subscriptions_max: sapl.multi_subscriptions_max,
            keep_alive: sapl.keep_alive(),
            columns: settings.plan.checked(),
            writing_plans: plan::writing(),
        }
    }

    /// Takes up limits that can change while the server runs.
    pub(crate) fn take_up(&self, settings: &SaplSettings) {
        self.rate.set(settings.requests_per_second_max);
        self.streams.set_max(settings.streams_max);
    }

    /// Answers one request.
    pub(crate) async fn answer(
        &self,
        call: &Call,
        ask: Ask,
        request: hyper::Request<Incoming>,
    ) -> Response<Body> {
        let path = request.uri().path().to_owned();
        match self.answered(call, ask, request).await {
            Ok(answer) => answer,
            Err(refusal) => self.refuse(refusal, &path),
        }
    }

    /// Whether any request can be answered as [`Surface::answer_direct`] does.
    pub(crate) fn answers_directly(&self) -> bool {
        !self.recorder.is_on()
    }

    /// The answer to a subscription that can be decided from its text, for a caller whose credentials are remembered; `None` where that is not enough, and then
    /// nothing was counted.
    pub(crate) fn answer_direct(
        &self,
        request: &DirectRequest<'_>,
        client: Option<IpAddr>,
    ) -> Option<DirectAnswer> {
        if !self.answers_directly() || request.body.len() > self.body_bytes_max {
            return None;
        }
        let now = Instant::now();
        // Whoever is over the rate is refused by the library, undecided.
        if !self.rate.has_room(now) {
            return None;
        }
        let raw = durward_pdp::ir::json::read_subscription(request.body).ok()?;
        let identity = self.authenticator.remembered(&Presented::from_header(request.authorization), now)?;
        if !self.fence.lets_assert(Some(&identity))
            || !self.rates.has_room_directly(Some(&identity), client, now)
        {
            return None;
        }
        let decider = self.decider.get()?;
        let begun = Instant::now();
        let decide = || {
            let decision = decider.decide_raw(&identity.tenant, &raw)?;
            let took = begun.elapsed();
            let text = decision.to_json();
            Some((decision, took, text))
        };
        let (decision, took, text) = catch_unwind(AssertUnwindSafe(decide)).ok().flatten()?;
        if !self.rate.allows(now) || !self.rates.allows(Some(&identity), client, now) {
            return None;
        }
        self.metrics.authenticated("ok");
        self.metrics.told(&decision, Some(took));
        Some(DirectAnswer { media_type: "application/json", text })
    }

    /// The refusal of a path or method that there is not, with what there is.
    pub(crate) fn refuse_with(&self, status: StatusCode, path: &str, message: String) -> Response<Body> {
        self.refuse(Refusal { message: Some(message), ..Refusal::new(status) }, path)
    }

    /// The body that SAPL's server writes; with the message, as it does where its settings include messages.
    fn refuse(&self, refusal: Refusal, path: &str) -> Response<Body> {
        let time = Timestamp::try_from((self.clock)()).unwrap_or_default();
        let message = refusal.message.map(serde_json::Value::from);
        let message = message.map(|message| format!("\"message\":{message},")).unwrap_or_default();
        let text = format!(
            "{{\"timestamp\":\"{time:.3}\",\"status\":{},\"error\":\"{}\",{message}\"path\":{}}}",
            refusal.status.as_u16(),
            refusal.status.canonical_reason().unwrap_or("Error"),
            serde_json::Value::from(path),
        );
        let mut answer = json_answer(text);
        *answer.status_mut() = refusal.status;
        let headers = answer.headers_mut();
        match refusal.status {
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            StatusCode::METHOD_NOT_ALLOWED => {
                headers.insert(header::ALLOW, HeaderValue::from_static("POST"));
            }
            StatusCode::UNAUTHORIZED => self.challenge(headers),
            _ => {}
        }
        if refusal.closes {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        answer
    }

    /// Says how to authenticate.
    fn challenge(&self, headers: &mut HeaderMap) {
        for way in self.authenticator.ways() {
            headers.append(header::WWW_AUTHENTICATE, HeaderValue::from_static(way));
        }
    }

    async fn answered(
        &self,
        call: &Call,
        ask: Ask,
        request: hyper::Request<Incoming>,
    ) -> Result<Response<Body>, Refusal> {
        let (head, body) = request.into_parts();
        // A small body is taken before anything is refused, so that the connection can go on.
        let limit = (self.body_bytes_max, "sapl.body_bytes_max");
        let body = self.bodies.receive_within(body, limit).await;
        let closes = body.is_err();
        let refused = |refusal: Refusal| Refusal { closes: refusal.closes || closes, ..refusal };
        let identity = self.authenticated(&head).await.map_err(refused)?;
        let now = Instant::now();
        if !self.rate.allows(now) {
            self.metrics.limit_hit("sapl.requests_per_second_max");
            return Err(refused(Refusal::new(StatusCode::TOO_MANY_REQUESTS)));
        }
        if !self.rates.allows(Some(&identity), Some(call.client.ip()), now) {
            return Err(refused(Refusal::new(StatusCode::TOO_MANY_REQUESTS)));
        }
        let text = body.map_err(|problem| refused(Refusal::new(problem.status())))?;
        let Some(decider) = self.decider.get() else {
            return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE));
        };
        let request = AuthenticatedRequest {
            surface: self,
            call,
            ask,
            decider: &**decider,
            identity: &identity,
            text: &text,
        };
        let mut answer = match ask {
            Ask::DecideOnce => request.decide_once().await,
            Ask::MultiDecideAllOnce => request.decide_all_once().await,
            Ask::Plan => request.plan().await,
            Ask::Decide => request.decide(),
            Ask::MultiDecide => request.decide_all(Emit::Changed),
            Ask::MultiDecideAll => request.decide_all(Emit::All),
        }?;
        if identity.is_authenticated() {
            answer.extensions_mut().insert(Authenticated);
        }
        Ok(answer)
    }

    async fn authenticated(&self, head: &request::Parts) -> Result<Identity, Refusal> {
        let presented = Presented::from_request(&head.method, head.uri.path(), &head.headers);
        self.authenticator.verify(presented).await.map_err(|denied| match denied {
            Denied::Wrong => Refusal::new(StatusCode::UNAUTHORIZED),
            Denied::Busy => Refusal::new(StatusCode::SERVICE_UNAVAILABLE),
        })
    }
}

/// Which decisions of several are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Emit {
    Changed,
    All,
}

/// A request by somebody who may ask.
struct AuthenticatedRequest<'q> {
    surface: &'q Surface,
    call: &'q Call,
    ask: Ask,
    decider: &'q dyn Decider,
    identity: &'q Identity,
    text: &'q [u8],
}

impl AuthenticatedRequest<'_> {
    fn read(&self) -> Result<Subscription, Refusal> {
        let note = |fields: &[&str]| self.unknown(fields);
        let read = json::read_subscription(self.text, note).map_err(|error| self.unreadable(&error))?;
        self.fenced(&read)?;
        Ok(read)
    }

    /// Whether the caller may ask about this subject.
    fn fenced(&self, subscription: &Subscription) -> Result<(), Refusal> {
        let checked = self.surface.fence.check(subscription.element(Element::Subject), self.identity);
        checked.map_err(|error| self.bad(error.to_string()))
    }

    fn read_several(&self) -> Result<MultiSubscription, Refusal> {
        let subscriptions_max = self.surface.multi_subscriptions_max;
        let note = |fields: &[&str]| self.unknown(fields);
        let read = json::read_multi_subscription_noting(self.text, subscriptions_max, note)
            .map_err(|error| self.unreadable(&error))?;
        read.subscriptions.iter().try_for_each(|(_, subscription)| self.fenced(subscription))?;
        Ok(read)
    }

    fn unreadable(&self, error: &dyn std::fmt::Display) -> Refusal {
        self.bad(misdirected(self.ask, self.text).map_or_else(|| error.to_string(), str::to_owned))
    }

    fn bad(&self, message: String) -> Refusal {
        let (request_id, route, caller) = (&self.call.id, self.ask.as_str(), &self.identity.name);
        tracing::debug!(request_id, route, ?caller, reason = ?message, "a subscription was refused");
        Refusal { message: Some(message), ..Refusal::new(StatusCode::BAD_REQUEST) }
    }

    /// Fields that mean nothing are passed over, as SAPL's server does; a misspelt `environment` is one of them.
    fn unknown(&self, fields: &[&str]) {
        self.surface.metrics.fields_unknown.inc_by(fields.len() as u64);
        let (request_id, route, caller) = (&self.call.id, self.ask.as_str(), &self.identity.name);
        let fields: Vec<&str> = fields.iter().take(FIELDS_TOLD_MAX).copied().collect();
        tracing::debug!(request_id, route, ?caller, ?fields, "fields of a subscription mean nothing");
    }

    /// A mistake of ours costs one decision, not the process.
    fn guarded<T>(&self, ask: impl FnOnce() -> Result<T, NoRoom>) -> Result<T, Refused> {
        match catch_unwind(AssertUnwindSafe(ask)) {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(NoRoom)) => {
                self.surface.metrics.limit_hit("sapl.subscriptions");
                Err(Refused::NoRoom)
            }
            Err(_) => {
                self.surface.metrics.panics.inc();
                tracing::error!(request_id = %self.call.id, "a request ended in a panic; please report it");
                Err(Refused::Panicked)
            }
        }
    }

    /// What keeps record of its decisions, where somebody does.
    fn account(&self) -> Option<Account> {
        self.surface.recorder.account(|| Caller {
            surface: self.ask.way(),
            route: self.ask.as_str(),
            request_id: &self.call.id,
            client: Some(self.call.client),
            tenant: &self.identity.tenant,
            name: &self.identity.name,
            trace: &self.call.trace,
        })
    }

    async fn decide_once(self) -> Result<Response<Body>, Refusal> {
        let account = self.account();
        let is_plain = account.is_none() && self.surface.fence.lets_assert(Some(self.identity));
        let raw = durward_pdp::ir::json::read_subscription(self.text).ok().filter(|_| is_plain);
        let begun = Instant::now();
        let subscription = match raw {
            Some(raw) => match self.guarded(|| Ok(self.decider.decide_raw(&self.identity.tenant, &raw))) {
                Ok(Some(decision)) => {
                    self.surface.metrics.told(&decision, Some(begun.elapsed()));
                    return Ok(json_answer(decision.to_json()));
                }
                Ok(None) => {
                    let subscription = Subscription::from_raw(raw);
                    self.fenced(&subscription)?;
                    subscription
                }
                Err(_) => self.read()?,
            },
            None => self.read()?,
        };
        let account = account.map(|account| account.asks_once(&subscription, self.text.len()));
        let (decision, record) =
            match self.guarded(|| self.decider.decide_once(&self.identity.tenant, subscription)) {
                Ok(Once::Decided(decision)) => (Arc::new(decision), None),
                Ok(Once::Recorded(Recorded { decision, record })) => (decision, Some(record)),
                Ok(Once::Waiting(mut decisions)) => {
                    let decision = std::future::poll_fn(|task| decisions.poll_next(task)).await;
                    (decision, decisions.record())
                }
                Err(Refused::NoRoom) => return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE)),
                Err(Refused::Panicked) => (indeterminate(), Some(panicked())),
            };
        let time = Some(begun.elapsed());
        tell(&self.surface.metrics, account.as_ref(), None, &decision, || record, time);
        Ok(json_answer(decision.to_json()))
    }

    async fn decide_all_once(self) -> Result<Response<Body>, Refusal> {
        let multi = self.read_several()?;
        let (account, metrics) = (self.account(), &self.surface.metrics);
        if multi.subscriptions.is_empty() {
            tell_nothing(metrics, account.as_ref());
            return Ok(json_answer(nothing_asked()));
        }
        let account = account.map(|account| account.asks_all(&multi));
        let begun = Instant::now();
        let ids: Vec<_> = multi.subscriptions.iter().map(|(id, _)| id.clone()).collect();
        let mut decisions = None;
        let named: Named = match self.guarded(|| self.decider.subscribe_all(&self.identity.tenant, multi)) {
            Ok(all) => {
                let all = decisions.insert(all);
                std::future::poll_fn(|task| all.poll_all(task)).await
            }
            Err(Refused::NoRoom) => return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE)),
            Err(Refused::Panicked) => ids.into_iter().map(|id| (id, indeterminate())).collect(),
        };
        let time = begun.elapsed();
        let record = |id: &str| decisions.as_ref().map_or_else(|| Some(panicked()), |all| all.record(id));
        tell_all(metrics, account.as_ref(), &named, record, Some(time));
        Ok(json_answer(all(&named)))
    }

    fn decide(self) -> Result<Response<Body>, Refusal> {
        let subscription = self.read()?;
        let place = self.place()?;
        let tenant = &self.identity.tenant;
        let account = self.account().map(|account| account.asks(&subscription));
        let told = Teller::new(self.surface, account);
        match self.guarded(|| self.decider.subscribe(tenant, subscription)) {
            Ok(decisions) => Ok(self.events(Box::new(One { decisions, told }), place)),
            Err(refused) => Err(refused.into()),
        }
    }

    fn decide_all(self, emit: Emit) -> Result<Response<Body>, Refusal> {
        let multi = self.read_several()?;
        let place = self.place()?;
        let account = self.account();
        if multi.subscriptions.is_empty() {
            let text = match emit {
                Emit::Changed => {
                    data(|out| json::write_identified(out, "", &Decision::plain(Outcome::Indeterminate)))
                }
                Emit::All => format!("data:{}\n\n", nothing_asked()),
            };
            tell_nothing(&self.surface.metrics, account.as_ref());
            return Ok(self.events(Box::new(Said(Some(text))), place));
        }
        let told = Teller::new(self.surface, account.map(|account| account.asks_all(&multi)));
        match self.guarded(|| self.decider.subscribe_all(&self.identity.tenant, multi)) {
            Ok(decisions) => Ok(self.events(Box::new(Several { decisions, emit, told }), place)),
            Err(refused) => Err(refused.into()),
        }
    }

    /// A place among the streams there may be.
    fn place(&self) -> Result<Held, Refusal> {
        self.surface.streams.take().ok_or_else(|| {
            self.surface.metrics.limit_hit("sapl.streams_max");
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE)
        })
    }

    fn events(self, source: Box<dyn Source>, place: Held) -> Response<Body> {
        let surface = self.surface;
        let expires = self.identity.expires.map(tokio::time::Instant::from_std);
        let withdrawn = surface.authenticator.until_withdrawn(self.identity);
        let end = Box::pin(events::end(surface.stop.clone(), withdrawn));
        let events = Events::new(source, end, surface.keep_alive, expires, place);
        let mut answer = Response::new(Body::Events(Box::new(events)));
        let headers = answer.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream;charset=UTF-8"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        answer
    }
}

/// Why there is no answer.
enum Refused {
    NoRoom,
    Panicked,
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Refusal {
        Refusal::new(match refused {
            Refused::NoRoom => StatusCode::SERVICE_UNAVAILABLE,
            Refused::Panicked => StatusCode::INTERNAL_SERVER_ERROR,
        })
    }
}

fn data(write: impl FnOnce(&mut String)) -> String {
    let mut text = String::with_capacity(64);
    text.push_str("data:");
    write(&mut text);
    text.push_str("\n\n");
    text
}

fn all(named: &Named) -> String {
    let mut text = String::with_capacity(64 * named.len());
    json::write_named(&mut text, named.iter().map(|(id, decision)| (id.as_str(), &**decision)));
    text
}

/// The answer to no question: what SAPL's server says.
fn nothing_asked() -> String {
    let mut text = String::new();
    json::write_named(&mut text, [("", &Decision::plain(Outcome::Indeterminate))]);
    text
}

fn indeterminate() -> Arc<Decision> {
    Arc::new(Decision::plain(Outcome::Indeterminate))
}

fn panicked() -> Arc<Record> {
    Arc::new(Record::failed(0, "a mistake in durward"))
}

/// Counts what a client is told, and keeps record of it where somebody does.
fn tell(
    metrics: &Metrics,
    account: Option<&Account>,
    id: Option<&SmolStr>,
    decision: &Arc<Decision>,
    record: impl FnOnce() -> Option<Arc<Record>>,
    time: Option<Duration>,
) {
    metrics.told(decision, time);
    if let Some(account) = account {
        account.told(id, decision, record(), time);
    }
}

fn tell_all(
    metrics: &Metrics,
    account: Option<&Account>,
    named: &Named,
    record: impl Fn(&str) -> Option<Arc<Record>>,
    time: Option<Duration>,
) {
    for (id, decision) in named {
        tell(metrics, account, Some(id), decision, || record(id), time);
    }
}

fn tell_nothing(metrics: &Metrics, account: Option<&Account>) {
    let record = || Some(Arc::new(Record::failed(0, NOTHING_ASKED)));
    tell(metrics, account, None, &indeterminate(), record, None);
}

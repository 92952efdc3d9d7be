//! From requests to answers: routes, messages, and decisions that come later or again and again.

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use bytes::Bytes;
use durward_common::access::auth::Identity;
use durward_common::access::subject::fence::SubjectError;
use durward_common::base::metrics::RSOCKET_ROUTES;
use durward_common::decider::{
    Decider, Decision, Decisions, Full, MultiDecisions, Named, Once, Outcome, Subscription,
};
use durward_common::decision_log::{Account, Caller, NOTHING_ASKED, Surface as Way};
use durward_pdp::ir::path::Element;
use durward_pdp::record::Record;
use prometheus_client::metrics::gauge::Gauge;
use smol_str::SmolStr;
use tokio::sync::Notify;

use super::Surface;
use durward_wire::rsocket::connection::{BAD_REQUEST, Connection, Expects};
use durward_wire::rsocket::frame::ErrorCode;
use durward_wire::sapl::protobuf::{self, DecodeError};

/// What can be asked for, in the order of [`RSOCKET_ROUTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    DecideOnce,
    Decide,
    MultiDecide,
    MultiDecideAll,
    MultiDecideAllOnce,
}

impl Route {
    /// The route of this name, if it is asked for in the way it answers.
    fn find(name: &[u8], expects: Expects) -> Option<Route> {
        match (name, expects) {
            (b"decide-once", Expects::One) => Some(Route::DecideOnce),
            (b"multi-decide-all-once", Expects::One) => Some(Route::MultiDecideAllOnce),
            (b"decide", Expects::Many) => Some(Route::Decide),
            (b"multi-decide", Expects::Many) => Some(Route::MultiDecide),
            (b"multi-decide-all", Expects::Many) => Some(Route::MultiDecideAll),
            _ => None,
        }
    }

    fn as_str(self) -> &'static str {
        RSOCKET_ROUTES.get(self as usize).copied().unwrap_or_default()
    }
}

/// The place of all other routes among [`RSOCKET_ROUTES`].
const OTHER_ROUTE: usize = RSOCKET_ROUTES.len() - 1;

/// Requests that are not answered to their end.
pub(super) struct Answers {
    live: HashMap<u32, Live, foldhash::fast::RandomState>,
    ready: Arc<Ready>,
}

/// Streams that may have something to say.
#[derive(Debug, Default)]
pub(super) struct Ready {
    streams: Mutex<Vec<u32>>,
    /// Told when there is one.
    pub(super) notify: Notify,
}

impl Ready {
    fn push(&self, stream: u32) {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner).push(stream);
        self.notify.notify_one();
    }

    fn take(&self) -> Vec<u32> {
        std::mem::take(&mut *self.streams.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Puts its stream among those that are ready. A connection may have thousands; only those woken are looked at.
struct StreamWaker {
    stream: u32,
    is_queued: AtomicBool,
    ready: Arc<Ready>,
}

impl Wake for StreamWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_queued.swap(true, Ordering::AcqRel) {
            self.ready.push(self.stream);
        }
    }
}

/// One request under way.
struct Live {
    source: Source,
    /// Where its decisions are recorded.
    account: Option<Account>,
    begun: Instant,
    waker: Arc<StreamWaker>,
    /// Counts it among the streams, where it is one.
    _open: Option<Open>,
}

enum Source {
    Once(Box<dyn Decisions>),
    AllOnce(Box<dyn MultiDecisions>),
    Each(Box<dyn Decisions>),
    All(Box<dyn MultiDecisions>),
    /// With those that changed and were not asked for yet.
    Changed(Box<dyn MultiDecisions>, std::vec::IntoIter<(SmolStr, Arc<Decision>)>),
    /// Nothing was asked for: said once, and then it is over.
    Nothing(Route),
}

struct Open(Gauge);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// What answering a request needs besides the request: who asks, and who answers.
pub(super) struct RequestContext<'q> {
    pub(super) surface: &'q Surface,
    pub(super) identity: &'q Identity,
    pub(super) connection: &'q mut Connection,
    /// The address of the client, if its socket has addresses.
    pub(super) client: Option<SocketAddr>,
    /// The last reading of the clock: another one takes as long as a tenth of a decision.
    pub(super) now: Instant,
}

/// What is to be told, and what keeps record of it.
type Followed = (Source, Option<Account>);

/// Why a request has no answer.
enum Refused {
    Unreadable(DecodeError),
    Subject(SubjectError),
    NoRoom,
    Panicked,
}

impl From<DecodeError> for Refused {
    fn from(error: DecodeError) -> Refused {
        Refused::Unreadable(error)
    }
}

impl From<SubjectError> for Refused {
    fn from(error: SubjectError) -> Refused {
        Refused::Subject(error)
    }
}

impl From<Full> for Refused {
    fn from(Full: Full) -> Refused {
        Refused::NoRoom
    }
}

impl Answers {
    pub(super) fn new() -> Answers {
        Answers { live: HashMap::default(), ready: Arc::default() }
    }

    pub(super) fn ready(&self) -> Arc<Ready> {
        Arc::clone(&self.ready)
    }

    /// Nobody waits for this any more.
    pub(super) fn forget(&mut self, stream: u32) {
        self.live.remove(&stream);
    }

    /// A stream takes more again.
    pub(super) fn wake(&self, stream: u32) {
        if let Some(live) = self.live.get(&stream) {
            live.waker.wake_by_ref();
        }
    }

    /// Answers a request, or sees to it that it will be answered.
    pub(super) fn ask(
        &mut self,
        context: &mut RequestContext<'_>,
        stream: u32,
        expects: Expects,
        name: &[u8],
        data: &Bytes,
    ) {
        let Some(route) = Route::find(name, expects) else {
            context.surface.metrics.rsocket_request(OTHER_ROUTE, false);
            return context.connection.reject(stream, ErrorCode::Invalid, BAD_REQUEST);
        };
        let metrics = &context.surface.metrics;
        let Some(decider) = context.surface.decider.get() else {
            metrics.rsocket_request(route as usize, false);
            return context.connection.reject(
                stream,
                ErrorCode::Rejected,
                "there are no policies in force yet",
            );
        };
        let decider = &**decider;
        let begun = context.now;
        // A mistake of ours costs one request, not the process.
        let answer = catch_unwind(AssertUnwindSafe(|| match route {
            Route::DecideOnce => context.decide_once(decider, stream, data, begun),
            Route::Decide | Route::MultiDecide | Route::MultiDecideAll | Route::MultiDecideAllOnce => {
                context.subscribe(decider, route, data).map(Some)
            }
        }))
        .unwrap_or(Err(Refused::Panicked));
        metrics.rsocket_request(route as usize, answer.is_ok());
        match answer {
            Ok(None) => {}
            Ok(Some((source, account))) => self.follow(context, stream, source, account, begun),
            Err(refused) => context.refuse(route, stream, &refused),
        }
    }

    fn follow(
        &mut self,
        context: &mut RequestContext<'_>,
        stream: u32,
        source: Source,
        account: Option<Account>,
        begun: Instant,
    ) {
        let open = match source {
            Source::Once(_) | Source::AllOnce(_) => None,
            Source::Each(_) | Source::All(_) | Source::Changed(..) | Source::Nothing(_) => {
                let gauge = context.surface.metrics.streams_open("rsocket");
                gauge.inc();
                Some(Open(gauge))
            }
        };
        let waker = Arc::new(StreamWaker {
            stream,
            is_queued: AtomicBool::new(false),
            ready: Arc::clone(&self.ready),
        });
        self.live.insert(stream, Live { source, account, begun, waker, _open: open });
        self.go_on(context, stream);
    }

    /// Says what there is to say, for as long as there is room to say it; `false` where there was not enough.
    pub(super) fn say(&mut self, context: &mut RequestContext<'_>) -> bool {
        let mut streams = self.ready.take().into_iter();
        for stream in streams.by_ref() {
            self.go_on(context, stream);
            if context.connection.is_congested() {
                break;
            }
        }
        let mut is_done = true;
        for stream in streams {
            self.ready.push(stream);
            is_done = false;
        }
        is_done
    }

    /// Says what one stream has to say.
    fn go_on(&mut self, context: &mut RequestContext<'_>, stream: u32) {
        let Some(live) = self.live.get_mut(&stream) else { return };
        // Whoever wakes it from now on means something newer.
        live.waker.is_queued.store(false, Ordering::Release);
        let went = catch_unwind(AssertUnwindSafe(|| live.say(context, stream)));
        match went {
            Ok(Went::On) => {}
            Ok(Went::Congested) => live.waker.wake_by_ref(),
            Ok(Went::Over) => self.forget(stream),
            Err(_) => {
                self.forget(stream);
                context.surface.metrics.panics.inc();
                tracing::error!("a stream ended in a panic; please report it");
                context.connection.reject(stream, ErrorCode::ApplicationError, "a mistake in durward");
            }
        }
    }
}

/// What became of a stream.
enum Went {
    /// It waits: to be woken, or to be asked for more.
    On,
    /// It has more to say than there is room for.
    Congested,
    Over,
}

impl Live {
    fn say(&mut self, context: &mut RequestContext<'_>, stream: u32) -> Went {
        let waker = Waker::from(Arc::clone(&self.waker));
        let task = &mut Context::from_waker(&waker);
        let account = self.account.as_ref();
        match &mut self.source {
            Source::Once(decisions) => match decisions.poll_next(task) {
                Poll::Pending => Went::On,
                Poll::Ready(decision) => {
                    context.respond(stream, &decision, self.begun);
                    record(account, None, &decision, || decisions.record(), Some(self.begun));
                    Went::Over
                }
            },
            Source::AllOnce(decisions) => match decisions.poll_all(task) {
                Poll::Pending => Went::On,
                Poll::Ready(named) => {
                    context
                        .connection
                        .respond(stream, |out| protobuf::write_multi_decision(out, pairs(&named)));
                    for (id, decision) in &named {
                        context.surface.metrics.told(decision, Some(self.begun.elapsed()));
                        record(account, Some(id), decision, || decisions.record(id), Some(self.begun));
                    }
                    Went::Over
                }
            },
            Source::Each(decisions) => while_wanted(context, stream, |context| {
                let decision = decisions.poll_next(task);
                decision.map(|decision| {
                    let is_sent =
                        context.connection.send(stream, |out| protobuf::write_decision(out, &decision));
                    if is_sent {
                        context.surface.metrics.told(&decision, None);
                        record(account, None, &decision, || decisions.record(), None);
                    }
                    is_sent
                })
            }),
            Source::All(decisions) => while_wanted(context, stream, |context| {
                let named = decisions.poll_all(task);
                named.map(|named| {
                    let write = |out: &mut _| protobuf::write_multi_decision(out, pairs(&named));
                    let is_sent = context.connection.send(stream, write);
                    for (id, decision) in named.iter().filter(|_| is_sent) {
                        context.surface.metrics.told(decision, None);
                        record(account, Some(id), decision, || decisions.record(id), None);
                    }
                    is_sent
                })
            }),
            Source::Changed(decisions, left) => while_wanted(context, stream, |context| {
                if let Some((id, decision)) = left.next() {
                    let write = |out: &mut _| protobuf::write_identifiable_decision(out, &id, &decision);
                    let is_sent = context.connection.send(stream, write);
                    if is_sent {
                        context.surface.metrics.told(&decision, None);
                        // The next of this id are asked for when all of these are told.
                        record(account, Some(&id), &decision, || decisions.record(&id), None);
                    }
                    return Poll::Ready(is_sent);
                }
                let named = decisions.poll_changed(task);
                named.map(|named| {
                    *left = named.into_iter();
                    true
                })
            }),
            Source::Nothing(route) => context.say_nothing(*route, stream, account),
        }
    }
}

/// Keeps record of a decision that was told, where somebody does; `begun` is when it was asked for.
fn record(
    account: Option<&Account>,
    id: Option<&SmolStr>,
    decision: &Arc<Decision>,
    record: impl FnOnce() -> Option<Arc<Record>>,
    begun: Option<Instant>,
) {
    if let Some(account) = account {
        account.told(id, decision, record(), begun.map(|begun| begun.elapsed()));
    }
}

/// Goes on for as long as the stream wants more, there is more, and there is room.
fn while_wanted(
    context: &mut RequestContext<'_>,
    stream: u32,
    mut next: impl FnMut(&mut RequestContext<'_>) -> Poll<bool>,
) -> Went {
    while context.connection.wants(stream) {
        if context.connection.is_congested() {
            return Went::Congested;
        }
        if next(context).is_pending() {
            return Went::On;
        }
    }
    // It is woken when it is asked for more.
    Went::On
}

fn pairs(named: &Named) -> impl Iterator<Item = (&str, &Decision)> {
    named.iter().map(|(id, decision)| (id.as_str(), &**decision))
}

impl RequestContext<'_> {
    /// Most requests end here. `None` where the answer was given.
    fn decide_once(
        &mut self,
        decider: &dyn Decider,
        stream: u32,
        data: &Bytes,
        begun: Instant,
    ) -> Result<Option<Followed>, Refused> {
        let account = self.account(Route::DecideOnce);
        let limits = &self.surface.message_limits;
        let is_plain = account.is_none() && self.surface.fence.lets_assert(Some(self.identity));
        let subscription = match protobuf::read_raw(data, limits).filter(|_| is_plain) {
            Some(raw) => match decider.decide_raw(&self.identity.tenant, &raw) {
                Some(decision) => {
                    self.respond(stream, &decision, begun);
                    return Ok(None);
                }
                None => Subscription::from_raw(raw),
            },
            None => protobuf::read_subscription(data, limits)?,
        };
        self.check_subject(&subscription)?;
        let account = account.map(|account| account.asks_once(&subscription, data.len()));
        match decider.decide_once(&self.identity.tenant, subscription)? {
            Once::Decided(decision) => {
                self.respond(stream, &decision, begun);
                if account.is_some() {
                    record(account.as_ref(), None, &Arc::new(decision), || None, Some(begun));
                }
                Ok(None)
            }
            Once::Recorded(recorded) => {
                self.respond(stream, &recorded.decision, begun);
                record(account.as_ref(), None, &recorded.decision, || Some(recorded.record), Some(begun));
                Ok(None)
            }
            Once::Waiting(decisions) => Ok(Some((Source::Once(decisions), account))),
        }
    }

    fn subscribe(&self, decider: &dyn Decider, route: Route, data: &Bytes) -> Result<Followed, Refused> {
        let tenant = &self.identity.tenant;
        let account = self.account(route);
        if route == Route::Decide {
            let subscription = protobuf::read_subscription(data, &self.surface.message_limits)?;
            self.check_subject(&subscription)?;
            let account = account.map(|account| account.asks(&subscription));
            return Ok((Source::Each(decider.subscribe(tenant, subscription)?), account));
        }
        let multi = protobuf::read_multi_subscription(data, &self.surface.message_limits)?;
        multi.subscriptions.iter().try_for_each(|(_, subscription)| self.check_subject(subscription))?;
        if multi.subscriptions.is_empty() {
            return Ok((Source::Nothing(route), account));
        }
        let account = account.map(|account| account.asks_all(&multi));
        let decisions = decider.subscribe_all(tenant, multi)?;
        let source = match route {
            Route::MultiDecideAllOnce | Route::DecideOnce => Source::AllOnce(decisions),
            Route::MultiDecideAll => Source::All(decisions),
            Route::MultiDecide | Route::Decide => Source::Changed(decisions, Vec::new().into_iter()),
        };
        Ok((source, account))
    }

    /// Whether the caller may ask about this subject.
    fn check_subject(&self, subscription: &Subscription) -> Result<(), SubjectError> {
        self.surface.fence.check(subscription.element(Element::Subject), self.identity)
    }

    /// What keeps record of the decisions of a request, where somebody does.
    fn account(&self, route: Route) -> Option<Account> {
        let surface = self.surface;
        if !surface.recorder.is_on() {
            return None;
        }
        // SAPL's protocol has the route in the place of metadata, and none for a trace: it begins here.
        let (request_id, trace) = (surface.request_ids.next(), surface.traces.begin());
        surface.recorder.account(|| Caller {
            surface: Way::Rsocket,
            route: route.as_str(),
            request_id: &request_id,
            client: self.client,
            tenant: &self.identity.tenant,
            name: &self.identity.name,
            trace: &trace,
        })
    }

    fn respond(&mut self, stream: u32, decision: &Decision, begun: Instant) {
        self.connection.respond(stream, |out| protobuf::write_decision(out, decision));
        self.now = Instant::now();
        self.surface.metrics.told(decision, Some(self.now.saturating_duration_since(begun)));
    }

    /// The answer to no question: what SAPL's server says.
    fn say_nothing(&mut self, route: Route, stream: u32, account: Option<&Account>) -> Went {
        let decision = Arc::new(Decision::plain(Outcome::Indeterminate));
        let why = || Some(Arc::new(Record::failed(0, NOTHING_ASKED)));
        if route == Route::MultiDecideAllOnce {
            self.connection.respond(stream, |out| protobuf::write_multi_decision(out, [("", &*decision)]));
            self.surface.metrics.told(&decision, None);
            record(account, None, &decision, why, None);
            return Went::Over;
        }
        let is_said = self.connection.send(stream, |out| {
            if route == Route::MultiDecide {
                protobuf::write_identifiable_decision(out, "", &decision);
            } else {
                protobuf::write_multi_decision(out, [("", &*decision)]);
            }
        });
        if !is_said {
            return Went::On;
        }
        self.surface.metrics.told(&decision, None);
        record(account, None, &decision, why, None);
        self.connection.complete(stream);
        Went::Over
    }

    fn refuse_bad(&mut self, route: Route, stream: u32, error: &dyn fmt::Display) {
        let (route, caller) = (route.as_str(), &self.identity.name);
        tracing::debug!(route, ?caller, reason = ?error.to_string(), "a subscription was refused");
        self.connection.reject(stream, ErrorCode::Invalid, BAD_REQUEST);
    }

    fn refuse(&mut self, route: Route, stream: u32, refused: &Refused) {
        match refused {
            Refused::Unreadable(error) => self.refuse_bad(route, stream, error),
            Refused::Subject(error) => self.refuse_bad(route, stream, error),
            Refused::NoRoom => {
                self.surface.metrics.limit_hit("sapl.subscriptions");
                self.connection.reject(stream, ErrorCode::Rejected, "Stream limit reached");
            }
            Refused::Panicked => {
                self.surface.metrics.panics.inc();
                tracing::error!("a request ended in a panic; please report it");
                match route {
                    // A mistake is no permission.
                    Route::DecideOnce => {
                        let (decision, begun) =
                            (Arc::new(Decision::plain(Outcome::Indeterminate)), Instant::now());
                        self.respond(stream, &decision, begun);
                        let why = || Some(Arc::new(Record::failed(0, "a mistake in durward")));
                        record(self.account(route).as_ref(), None, &decision, why, Some(begun));
                    }
                    Route::Decide
                    | Route::MultiDecide
                    | Route::MultiDecideAll
                    | Route::MultiDecideAllOnce => {
                        let reason = "a mistake in durward";
                        self.connection.reject(stream, ErrorCode::ApplicationError, reason);
                    }
                }
            }
        }
    }
}

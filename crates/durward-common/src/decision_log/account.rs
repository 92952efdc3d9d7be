//! What is kept of a request of SAPL's protocols, for as long as there are decisions to tell, so that each can be recorded.
//!
//! There is one only where decisions are recorded: without a log, and without the level `trace`, nothing of it is made.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use durward_net::trace::Trace;
use durward_pdp::record::Record;
use durward_settings::DecisionLogSettings;
use smol_str::SmolStr;

use super::line::Style;
use super::{DecisionLog, Entry, LoggedAnswer, LoggedPlan, LoggedSubscription, PlanKind, Surface};
use crate::base::Clock;
use crate::decider::MultiSubscription;
use durward_pdp::sapl::{Decision, Outcome, Subscription};

/// Who asks, and how.
pub struct Caller<'c> {
    /// Where it was asked.
    pub surface: Surface,
    /// What was called there.
    pub route: &'static str,
    /// The id of the request.
    pub request_id: &'c str,
    /// The caller's address; `None` over a socket that has none.
    pub client: Option<SocketAddr>,
    /// Whose policies decide.
    pub tenant: &'c SmolStr,
    /// The name that goes with the caller's credentials; empty where there are none.
    pub name: &'c str,
    /// The trace of the request.
    pub trace: &'c Trace,
}

/// One request whose decisions are recorded. Boxed: streams without one have only the place for it.
pub struct Account(Box<Open>);

struct Open {
    log: Option<Arc<DecisionLog>>,
    clock: Clock,
    surface: Surface,
    route: &'static str,
    request_id: SmolStr,
    trace: Trace,
    client: Option<SocketAddr>,
    tenant: SmolStr,
    caller: SmolStr,
    /// By the caller's names for them.
    asked: Vec<(Option<SmolStr>, LoggedSubscription, usize)>,
}

impl Account {
    /// Begins the account of a request; its clock is read where there is a log.
    pub fn open(log: Option<&Arc<DecisionLog>>, clock: &Clock, caller: &Caller<'_>) -> Account {
        Account(Box::new(Open {
            log: log.cloned(),
            clock: Arc::clone(clock),
            surface: caller.surface,
            route: caller.route,
            request_id: caller.request_id.into(),
            trace: caller.trace.clone(),
            client: caller.client,
            tenant: caller.tenant.clone(),
            caller: caller.name.into(),
            asked: Vec::new(),
        }))
    }

    /// A subscription of so many bytes, of which there will be one decision.
    pub fn asks_once(mut self, subscription: &Subscription, bytes: usize) -> Account {
        if self.0.log.is_some() {
            self.0.asked = vec![(None, LoggedSubscription::Once(Box::new(subscription.clone())), bytes)];
        }
        self
    }

    /// A subscription of which there may be many.
    pub fn asks(mut self, subscription: &Subscription) -> Account {
        self.add(None, subscription);
        self
    }

    /// The same for all subscriptions of a multi-subscription.
    pub fn asks_all(mut self, multi: &MultiSubscription) -> Account {
        for (id, subscription) in &multi.subscriptions {
            self.add(Some(id.clone()), subscription);
        }
        // Looked up for each decision.
        self.0.asked.sort_by(|(one, ..), (other, ..)| one.cmp(other));
        self
    }

    fn add(&mut self, id: Option<SmolStr>, subscription: &Subscription) {
        let Some(log) = &self.0.log else { return };
        let written = log.style.subscription(subscription);
        let bytes = written.len();
        self.0.asked.push((id, LoggedSubscription::Always(Arc::new(written)), bytes));
    }

    /// The caller was told a decision; `duration` is how long that took, where they asked for it.
    pub fn told(
        &self,
        id: Option<&SmolStr>,
        decision: &Arc<Decision>,
        record: Option<Arc<Record>>,
        duration: Option<Duration>,
    ) {
        let open = &*self.0;
        let record = record.unwrap_or_default();
        if decision.outcome == Outcome::Indeterminate {
            trace(open.log.as_ref(), (open.surface, open.route, &open.request_id), id, &record);
        }
        let Some(log) = &open.log else { return };
        let at = open.asked.binary_search_by(|(known, ..)| known.as_ref().cmp(&id));
        let known = at.ok().and_then(|at| open.asked.get(at));
        let (subscription, bytes) = known
            .map_or((LoggedSubscription::Nothing, 0), |(_, subscription, bytes)| {
                (subscription.clone(), *bytes)
            });
        let decision = Arc::clone(decision);
        let answer = LoggedAnswer::Decision { id: id.cloned(), subscription, decision };
        log.record(open.entry(record, answer, duration, bytes));
    }

    /// The caller was told a plan for these columns and dialect, or why there is none.
    pub fn planned(
        &self,
        (kind, is_exact): (PlanKind, bool),
        (columns, dialect): (&str, &'static str),
        record: Record,
        duration: Duration,
    ) {
        let open = &*self.0;
        trace(open.log.as_ref(), (open.surface, open.route, &open.request_id), None, &record);
        let Some(log) = &open.log else { return };
        let asked = open.asked.first();
        let (subscription, bytes) = asked
            .map_or((LoggedSubscription::Nothing, 0), |(_, subscription, bytes)| {
                (subscription.clone(), *bytes)
            });
        let columns = columns.into();
        let plan = LoggedPlan { subscription, kind, columns, dialect, is_exact };
        let answer = LoggedAnswer::Plan(Box::new(plan));
        log.record(open.entry(Arc::new(record), answer, Some(duration), bytes));
    }
}

impl Open {
    fn entry(
        &self,
        record: Arc<Record>,
        answer: LoggedAnswer,
        duration: Option<Duration>,
        bytes: usize,
    ) -> Entry {
        Entry {
            time: (self.clock)(),
            surface: self.surface,
            route: self.route,
            request_id: self.request_id.clone(),
            trace: self.trace.clone(),
            client: self.client,
            tenant: self.tenant.clone(),
            caller: Some(self.caller.clone()).filter(|caller| !caller.is_empty()),
            duration,
            record,
            answer,
            bytes,
        }
    }
}

/// Why a decision could not be made, for operators who look closely.
pub(crate) fn trace(
    log: Option<&Arc<DecisionLog>>,
    (surface, route, request_id): (Surface, &'static str, &str),
    id: Option<&SmolStr>,
    record: &Record,
) {
    if !tracing::enabled!(tracing::Level::TRACE) {
        return;
    }
    let careful = Style::new(&DecisionLogSettings::default());
    let style = log.map_or(&careful, |log| &log.style);
    let (surface, snapshot) = (surface.as_str(), record.snapshot);
    for failure in &record.failures {
        let reason = style.reason_text(failure);
        tracing::trace!(request_id, surface, route, subscription = ?id, snapshot, ?reason, "it is indeterminate");
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::Mutex;
    use std::time::SystemTime;

    use durward_pdp::record::Failure;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Without a decision log, and in one line whatever the caller calls it.
    #[test]
    fn operators_who_look_closely_are_told_why() {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        let own = crate::base::traces::Traces::new(false).begin();
        let tenant = SmolStr::from("plant");
        let caller = Caller {
            surface: Surface::Rsocket,
            route: "decide",
            request_id: "r-1",
            client: None,
            tenant: &tenant,
            name: "shop",
            trace: &own,
        };
        let clock: Clock = Arc::new(|| SystemTime::UNIX_EPOCH);
        let failure = Failure {
            path: vec!["clinic".into(), "age".into()],
            place: "clinic.sapl:4:1".into(),
            message: "a number is needed, but `\"old\"` is a text".into(),
        };
        let record = Arc::new(Record { failures: vec![failure], ..Record::default() });
        tracing::subscriber::with_default(subscriber, || {
            let told = |decision| {
                let id = SmolStr::from("one\nWARN two\u{1b}[2J");
                let account = Account::open(None, &clock, &caller);
                account.told(
                    Some(&id),
                    &Arc::new(Decision::plain(decision)),
                    Some(Arc::clone(&record)),
                    None,
                );
            };
            told(Outcome::Indeterminate);
            told(Outcome::Permit);
        });
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.contains("clinic/age (clinic.sapl:4:1): a number is needed, but … is a text"), "{text}");
        assert!(!text.contains("old") && !text.contains('\u{1b}'), "{text}");
    }
}

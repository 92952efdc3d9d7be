//! The attributes that the command line has for policies of SAPL: those of the clock and of certificates. For others a
//! server has sources; here they are undefined, and it is said which were asked for.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use durward_pdp::ir::fault::Evaluated;
use durward_pdp::sapl::{Decision, Subscription};
use durward_pdp::stream::finders::{MomentAttributes, TimeFinder, X509Finder};
use durward_pdp::stream::{AttributeFinder, Context, Finder, Invocation, Publisher};
use durward_pdp::{Explanation, Pdp, Value};
use durward_server::Clock;

use crate::failure::warn;

/// What policies can ask for.
pub(super) struct CliFinders {
    /// Those of the clock.
    timed: [Finder; 2],
    clock: Clock,
    lacking: Arc<MissingSources>,
}

impl CliFinders {
    pub(super) fn new(clock: Clock) -> CliFinders {
        let timed = [Finder::timed(TimeFinder::default()), Finder::timed(X509Finder)];
        CliFinders { timed, clock, lacking: Arc::default() }
    }

    /// Decides with the attributes of this moment.
    pub(super) fn decide(&self, pdp: &Pdp, subscription: &Subscription) -> Decision {
        self.known(subscription, |known| pdp.decide_known(known).decision)
    }

    /// Explains what is decided with the attributes of this moment.
    pub(super) fn explain(&self, pdp: &Pdp, subscription: &Subscription) -> Explanation {
        self.known(subscription, |known| pdp.explain_known(subscription, known))
    }

    fn known<R>(&self, subscription: &Subscription, ask: impl FnOnce(&MomentAttributes<'_>) -> R) -> R {
        let otherwise = |invocation: &Invocation| self.lacking.ask(invocation);
        let (nothing, now_ms) = (Context::default(), self.now_ms());
        ask(&MomentAttributes::new(subscription, &self.timed, nothing, now_ms, &otherwise))
    }

    /// Milliseconds since 1970.
    pub(super) fn now_ms(&self) -> i64 {
        let since = (self.clock)().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    /// The same for decisions that are watched.
    pub(super) fn live(&self) -> Vec<Finder> {
        let mut all = self.timed.to_vec();
        all.push(Finder::outside(FallbackFinder(Arc::clone(&self.lacking))));
        all
    }
}

/// The attributes that were asked for and have no source here; each is told once.
#[derive(Default)]
struct MissingSources(Mutex<BTreeSet<String>>);

impl MissingSources {
    fn ask(&self, invocation: &Invocation) -> Evaluated<Value> {
        let name = invocation.name.to_string();
        if self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone()) {
            warn(format_args!(
                "a policy asks for the attribute `<{name}>`, which has no source here and is undefined; `durward serve` \
                 has sources, `durward test` takes values from tests"
            ));
        }
        Ok(Value::Undefined)
    }
}

/// It serves whatever no other finder does.
struct FallbackFinder(Arc<MissingSources>);

impl AttributeFinder for FallbackFinder {
    fn serves(&self, _: &Invocation) -> bool {
        true
    }

    fn open(&self, invocation: &Invocation, _: &Context, publisher: Publisher) -> Box<dyn Send> {
        publisher.publish(self.0.ask(invocation));
        Box::new(publisher)
    }
}

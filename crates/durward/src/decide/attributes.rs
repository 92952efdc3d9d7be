//! The attributes that the command line has for policies of SAPL: those of the clock and of certificates. For others a
//! server has sources; here they are undefined, and it is said which were asked for.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use durward_pdp::ir::attribute::{AttributeName, NameKey};
use durward_pdp::ir::fault::Evaluated;
use durward_pdp::ir::path::Path;
use durward_pdp::ir::question::{Attributes, Reading};
use durward_pdp::sapl::{Decision, Subscription};
use durward_pdp::stream::finders::{TimeFinder, X509Finder};
use durward_pdp::stream::{AttributeFinder, Context, Finder, Invocation, Publisher, TimedFinder};
use durward_pdp::{Explanation, Pdp, Value};
use durward_server::Clock;

use crate::failure::warn;

/// What policies can ask for.
pub(super) struct CliFinders {
    time: TimeFinder,
    x509: X509Finder,
    clock: Clock,
    lacking: Arc<MissingSources>,
}

impl CliFinders {
    pub(super) fn new(clock: Clock) -> CliFinders {
        CliFinders { time: TimeFinder::default(), x509: X509Finder, clock, lacking: Arc::default() }
    }

    /// Decides with the attributes of this moment.
    pub(super) fn decide(&self, pdp: &Pdp, subscription: &Subscription) -> Decision {
        pdp.decide_known(&self.known(subscription)).decision
    }

    /// Explains what is decided with the attributes of this moment.
    pub(super) fn explain(&self, pdp: &Pdp, subscription: &Subscription) -> Explanation {
        pdp.explain_known(subscription, &self.known(subscription))
    }

    fn known<'a>(&'a self, subscription: &'a Subscription) -> MomentAttributes<'a> {
        MomentAttributes { subscription, finders: self, now_ms: self.now_ms() }
    }

    /// Milliseconds since 1970.
    pub(super) fn now_ms(&self) -> i64 {
        let since = (self.clock)().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    /// The same for decisions that are watched.
    pub(super) fn live(&self) -> Vec<Finder> {
        vec![
            Finder::timed(self.time.clone()),
            Finder::timed(X509Finder),
            Finder::outside(FallbackFinder(Arc::clone(&self.lacking))),
        ]
    }
}

/// A subscription, and the attributes of one moment.
struct MomentAttributes<'a> {
    subscription: &'a Subscription,
    finders: &'a CliFinders,
    now_ms: i64,
}

impl Attributes for MomentAttributes<'_> {
    fn read<'a>(&'a self, name: &AttributeName, key: NameKey) -> Reading<'a> {
        self.subscription.read(name, key)
    }

    fn part<'a>(&'a self, path: &Path) -> Reading<'a> {
        self.subscription.part(path)
    }

    fn found(&self, invocation: &Invocation) -> Option<Evaluated<Value>> {
        const NOTHING: Context = Context { secrets: None, surroundings: None };
        let finders: [&dyn TimedFinder; 2] = [&self.finders.time, &self.finders.x509];
        let finder = finders.into_iter().find(|finder| finder.serves(invocation));
        Some(match finder {
            Some(finder) => finder.read(invocation, &NOTHING, self.now_ms, self.now_ms).value,
            None => self.finders.lacking.ask(invocation),
        })
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

//! The attributes that the command line has for policies and expressions of SAPL: those of the clock and of certificates, and
//! those that are given. For others a server has sources; here they are undefined, and it is said which were asked for.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use durward_pdp::ir::fault::Evaluated;
use durward_pdp::ir::value::Object;
use durward_pdp::sapl::{Decision, Subscription};
use durward_pdp::stream::finders::{MomentAttributes, MomentContext, TimeFinder, X509Finder};
use durward_pdp::stream::{
    AttributeFinder, Context, Finder, Invocation, Publisher, Reading as FinderReading, Surroundings,
    TimedFinder,
};
use durward_pdp::{Explanation, Expression, ExpressionFault, Pdp, Value};
use durward_server::Clock;

use crate::failure::warn;

/// What policies can ask for.
pub(crate) struct CliFinders {
    /// Those of the clock, behind what was given.
    timed: Vec<Finder>,
    clock: Clock,
    lacking: Arc<MissingSources>,
}

/// Who asks for attributes, for the words of a warning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AskedBy {
    /// Policies that decide.
    #[default]
    Policies,
    /// Whoever tries expressions, and can give attributes values.
    Person,
}

impl CliFinders {
    pub(crate) fn new(clock: Clock) -> CliFinders {
        let timed = vec![Finder::timed(TimeFinder::default()), Finder::timed(X509Finder)];
        CliFinders { timed, clock, lacking: Arc::default() }
    }

    /// The same for a person who has given these attributes.
    pub(crate) fn giving(mut self, given: Arc<Object>) -> CliFinders {
        let lacking = MissingSources { asked_by: AskedBy::Person, ..MissingSources::default() };
        self.timed.insert(0, Finder::timed(GivenFinder(given)));
        CliFinders { lacking: Arc::new(lacking), ..self }
    }

    /// Evaluates with the attributes of this moment.
    pub(crate) fn evaluate(
        &self,
        expression: &Expression,
        subscription: &Subscription,
    ) -> Result<Value, ExpressionFault> {
        self.known(subscription, |known| expression.evaluate(known))
    }

    /// Decides with the attributes of this moment.
    pub(crate) fn decide(&self, pdp: &Pdp, subscription: &Subscription) -> Decision {
        self.known(subscription, |known| pdp.decide_known(known).decision)
    }

    /// Explains what is decided with the attributes of this moment.
    pub(crate) fn explain(&self, pdp: &Pdp, subscription: &Subscription) -> Explanation {
        self.known(subscription, |known| pdp.explain_known(subscription, known))
    }

    fn known<R>(&self, subscription: &Subscription, ask: impl FnOnce(&MomentAttributes<'_>) -> R) -> R {
        let otherwise = |invocation: &Invocation| self.lacking.ask(invocation);
        // No finder here reads variables or secrets of a configuration.
        let moment = MomentContext { now_ms: &|| self.now_ms(), surroundings: &Arc::<Surroundings>::default };
        ask(&MomentAttributes::new(subscription, &self.timed, moment, &otherwise))
    }

    /// Milliseconds since 1970.
    pub(crate) fn now_ms(&self) -> i64 {
        let since = (self.clock)().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    /// The same for decisions that are watched.
    pub(crate) fn live(&self) -> Vec<Finder> {
        let mut all = self.timed.clone();
        all.push(Finder::outside(FallbackFinder(Arc::clone(&self.lacking))));
        all
    }
}

/// What attributes of these names give, whatever they are asked of.
struct GivenFinder(Arc<Object>);

impl TimedFinder for GivenFinder {
    fn serves(&self, invocation: &Invocation) -> bool {
        self.0.get(&invocation.name).is_some()
    }

    fn read(&self, invocation: &Invocation, _: &Context, _: i64, _: i64) -> FinderReading {
        FinderReading::lasting(Ok(self.0.get(&invocation.name).cloned().unwrap_or(Value::Undefined)))
    }
}

/// The attributes that were asked for and have no source here; each is told once.
#[derive(Default)]
struct MissingSources {
    told: Mutex<BTreeSet<String>>,
    asked_by: AskedBy,
}

impl MissingSources {
    fn ask(&self, invocation: &Invocation) -> Evaluated<Value> {
        let name = invocation.name.to_string();
        if self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone()) {
            warn(self.asked_by.lacks(&name));
        }
        Ok(Value::Undefined)
    }
}

impl AskedBy {
    fn lacks(self, name: &str) -> String {
        match self {
            AskedBy::Policies => format!(
                "a policy asks for the attribute `<{name}>`, which has no source here and is undefined; `durward serve` \
                 has sources, `durward test` takes values from tests"
            ),
            AskedBy::Person => format!(
                "the attribute `<{name}>` has no source here and is undefined; `--attributes` gives it a value"
            ),
        }
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

//! The attributes that the command line has for policies and expressions of SAPL: those of the clock and of certificates, and
//! those that are given. For others a server has sources; here they are undefined, and it is said which were asked for.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use durward_pdp::ir::attribute::{AttributeName, NameKey};
use durward_pdp::ir::fault::Evaluated;
use durward_pdp::ir::path::Path;
use durward_pdp::ir::question::{Attributes, Reading};
use durward_pdp::ir::value::Object;
use durward_pdp::sapl::{Decision, Subscription};
use durward_pdp::stream::finders::{TimeFinder, X509Finder};
use durward_pdp::stream::{AttributeFinder, Context, Finder, Invocation, Publisher, TimedFinder};
use durward_pdp::{Explanation, Expression, ExpressionFault, Pdp, Value};
use durward_server::Clock;

use crate::failure::warn;

/// What policies can ask for.
pub(crate) struct CliFinders {
    time: TimeFinder,
    x509: X509Finder,
    clock: Clock,
    /// What attributes of these names give, whatever they are asked of.
    given: Arc<Object>,
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
        CliFinders {
            time: TimeFinder::default(),
            x509: X509Finder,
            clock,
            given: Arc::default(),
            lacking: Arc::default(),
        }
    }

    /// The same for a person who has given these attributes.
    pub(crate) fn giving(self, given: Arc<Object>) -> CliFinders {
        let lacking = MissingSources { asked_by: AskedBy::Person, ..MissingSources::default() };
        CliFinders { given, lacking: Arc::new(lacking), ..self }
    }

    /// Evaluates with the attributes of this moment.
    pub(crate) fn evaluate(
        &self,
        expression: &Expression,
        subscription: &Subscription,
    ) -> Result<Value, ExpressionFault> {
        expression.evaluate(&self.known(subscription))
    }

    /// Decides with the attributes of this moment.
    pub(crate) fn decide(&self, pdp: &Pdp, subscription: &Subscription) -> Decision {
        pdp.decide_known(&self.known(subscription)).decision
    }

    /// Explains what is decided with the attributes of this moment.
    pub(crate) fn explain(&self, pdp: &Pdp, subscription: &Subscription) -> Explanation {
        pdp.explain_known(subscription, &self.known(subscription))
    }

    fn known<'a>(&'a self, subscription: &'a Subscription) -> MomentAttributes<'a> {
        MomentAttributes { subscription, finders: self, now_ms: self.now_ms() }
    }

    /// Milliseconds since 1970.
    pub(crate) fn now_ms(&self) -> i64 {
        let since = (self.clock)().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    /// The same for decisions that are watched.
    pub(crate) fn live(&self) -> Vec<Finder> {
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
        if let Some(value) = self.finders.given.get(&invocation.name) {
            return Some(Ok(value.clone()));
        }
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

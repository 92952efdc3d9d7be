//! What timed finders say of a subscription at one moment, for decisions that nobody waits for.

use std::cell::OnceCell;
use std::sync::Arc;

use durward_ir::Value;
use durward_ir::attribute::{AttributeName, NameKey};
use durward_ir::fault::Evaluated;
use durward_ir::path::Path;
use durward_ir::question::{Attributes, Invocation, Reading};
use durward_sapl::Subscription;

use crate::stream::finder::Finder;
use crate::stream::invocation::Surroundings;

/// A subscription with the attributes of one moment: for [`crate::Pdp::decide_known`] and [`crate::Pdp::explain_known`].
pub struct MomentAttributes<'a> {
    subscription: &'a Subscription,
    finders: &'a [Finder],
    moment: MomentContext<'a>,
    /// Whoever is asked for what no finder serves.
    otherwise: &'a dyn Fn(&Invocation) -> Evaluated<Value>,
    /// What finders have been told: all attributes of a decision are of one moment.
    now_ms: OnceCell<i64>,
    surroundings: OnceCell<Arc<Surroundings>>,
}

/// What timed finders read beside the attribute, asked for when a policy asks one of them, and then once.
#[derive(Clone, Copy)]
pub struct MomentContext<'a> {
    /// The time, in milliseconds since 1970.
    pub now_ms: &'a dyn Fn() -> i64,
    /// What the policies bring along.
    pub surroundings: &'a dyn Fn() -> Arc<Surroundings>,
}

impl std::fmt::Debug for MomentContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MomentContext").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for MomentAttributes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MomentAttributes").field("now_ms", &self.now_ms).finish_non_exhaustive()
    }
}

impl<'a> MomentAttributes<'a> {
    /// With the timed ones among these finders, of which the first that serves an attribute is believed, and `otherwise` for all
    /// else.
    pub fn new(
        subscription: &'a Subscription,
        finders: &'a [Finder],
        moment: MomentContext<'a>,
        otherwise: &'a dyn Fn(&Invocation) -> Evaluated<Value>,
    ) -> MomentAttributes<'a> {
        MomentAttributes {
            subscription,
            finders,
            moment,
            otherwise,
            now_ms: OnceCell::new(),
            surroundings: OnceCell::new(),
        }
    }
}

impl Attributes for MomentAttributes<'_> {
    fn read<'a>(&'a self, name: &AttributeName, key: NameKey) -> Reading<'a> {
        self.subscription.read(name, key)
    }

    fn part<'a>(&'a self, path: &Path) -> Reading<'a> {
        self.subscription.part(path)
    }

    fn place(&self, path: &Path) -> Option<u16> {
        self.subscription.place(path)
    }

    fn at(&self, place: u16) -> Option<&Value> {
        self.subscription.at(place)
    }

    fn found(&self, invocation: &Invocation) -> Option<Evaluated<Value>> {
        let timed = self.finders.iter().find_map(|finder| match finder {
            Finder::Timed(finder) if finder.serves(invocation) => Some(finder),
            Finder::Timed(_) | Finder::Outside(_) => None,
        });
        Some(match timed {
            Some(finder) => {
                let now_ms = *self.now_ms.get_or_init(self.moment.now_ms);
                let secrets = || self.subscription.secrets().clone();
                let surroundings = || Arc::clone(self.surroundings.get_or_init(self.moment.surroundings));
                let context = finder.reads(invocation).context(secrets, surroundings);
                finder.read(invocation, &context, now_ms, now_ms).value
            }
            None => (self.otherwise)(invocation),
        })
    }
}

//! What timed finders say of a subscription at one moment, for decisions that nobody waits for.

use durward_ir::Value;
use durward_ir::attribute::{AttributeName, NameKey};
use durward_ir::fault::Evaluated;
use durward_ir::path::Path;
use durward_ir::question::{Attributes, Invocation, Reading};
use durward_sapl::Subscription;

use crate::stream::finder::Finder;
use crate::stream::invocation::Context;

/// A subscription with the attributes of one moment: for [`crate::Pdp::decide_known`] and [`crate::Pdp::explain_known`].
pub struct MomentAttributes<'a> {
    subscription: &'a Subscription,
    finders: &'a [Finder],
    context: Context,
    now_ms: i64,
    /// Whoever is asked for what no finder serves.
    otherwise: &'a dyn Fn(&Invocation) -> Evaluated<Value>,
}

impl std::fmt::Debug for MomentAttributes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MomentAttributes").field("now_ms", &self.now_ms).finish_non_exhaustive()
    }
}

impl<'a> MomentAttributes<'a> {
    /// With the timed ones among these finders, of which the first that serves an attribute is believed, and `otherwise` for all
    /// else. `context` is what finders may read beside the attribute; the time is in milliseconds since 1970.
    pub fn new(
        subscription: &'a Subscription,
        finders: &'a [Finder],
        context: Context,
        now_ms: i64,
        otherwise: &'a dyn Fn(&Invocation) -> Evaluated<Value>,
    ) -> MomentAttributes<'a> {
        MomentAttributes { subscription, finders, context, now_ms, otherwise }
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
            Some(finder) => finder.read(invocation, &self.context, self.now_ms, self.now_ms).value,
            None => (self.otherwise)(invocation),
        })
    }
}

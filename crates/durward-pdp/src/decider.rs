//! A decision point for one thread.

use std::sync::Arc;

use arc_swap::{ArcSwap, Cache};
use durward_xacml::request::Request;
use durward_xacml::response::Response;

use crate::Pdp;
use crate::snapshot::Snapshot;

/// Answers like the [`Pdp`] it comes from, a little faster: it holds on to the policies in force, and looks before every
/// answer whether others have come into force. For threads that decide all the time: one that does not holds on to
/// policies, and to their memory, that are in force no longer.
///
/// ```
/// use durward_pdp::{Pdp, sapl::{Outcome, Subscription}};
///
/// let policy = r#"policy "readers" permit action == "read";"#;
/// let pdp = Pdp::builder().policy("readers.sapl", policy).build().map_err(|errors| errors[0].to_string())?;
/// let asked = Subscription::from_json(br#"{"subject":"ann","action":"read","resource":"book"}"#)
///     .map_err(|error| error.to_string())?;
///
/// let mut decider = pdp.decider();
/// assert_eq!(decider.decide_once(&asked).outcome, Outcome::Permit);
/// # Ok::<(), String>(())
/// ```
pub struct Decider<'p> {
    pdp: &'p Pdp,
    snapshot: Cache<&'p ArcSwap<Snapshot>, Arc<Snapshot>>,
}

impl std::fmt::Debug for Decider<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decider").field("pdp", self.pdp).finish_non_exhaustive()
    }
}

impl Pdp {
    /// A decision point for one thread; see [`Decider`].
    pub fn decider(&self) -> Decider<'_> {
        Decider { pdp: self, snapshot: Cache::new(&self.snapshot) }
    }
}

impl Decider<'_> {
    /// See [`Pdp::decide`].
    #[inline]
    pub fn decide(&mut self, request: &Request) -> Response {
        self.pdp.decide_by(self.snapshot.load(), request)
    }

    /// The decision point, and the policies in force.
    #[inline]
    pub(crate) fn in_force(&mut self) -> (&Pdp, &Snapshot) {
        (self.pdp, self.snapshot.load())
    }
}

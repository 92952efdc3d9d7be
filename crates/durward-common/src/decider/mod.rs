//! What SAPL clients ask and are told, whichever protocol they speak.

mod contract;
mod live;
mod session;
mod tenants;

pub use contract::{Decider, Decisions, Full, MultiDecisions, Named, NoPlan, Once, Planning};
pub use contract::{DeciderSlot, TOO_MANY_PLANS};
pub use durward_pdp::sapl::{Decision, Outcome, Subscription};
pub use durward_wire::sapl::MultiSubscription;
pub use session::OfSessions;
pub use tenants::Tenants;

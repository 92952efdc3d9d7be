//! What SAPL clients ask and are told, whichever protocol they speak.

mod decider;
pub mod json;
mod live;
mod question;
mod session;
mod tenants;

pub(crate) use decider::DeciderSlot;
pub use decider::{Decider, Decisions, Full, MultiDecisions, Named, Once};
pub use durward_pdp::sapl::{Decision, Outcome, Subscription};
pub use question::MultiSubscription;
pub(crate) use session::OfSessions;
pub use tenants::Tenants;

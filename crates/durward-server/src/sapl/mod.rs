//! What SAPL clients ask and are told, whichever protocol they speak.

mod question;

pub use question::{Decision, MultiSubscription, Outcome, Subscription};

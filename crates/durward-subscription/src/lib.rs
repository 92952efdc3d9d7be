//! The questions of SAPL and their answers: a [`Subscription`] is what is asked, a [`Decision`] what is answered.
//!
//! Also what policies of XACML see of a subscription. No policy is read here: what goes over the wire needs no more than this, and
//! every decision needs it, so that it is optimised where the language, `durward-sapl`, is not.

mod decision;
mod subscription;
mod xacml;

pub use decision::{Decision, DecisionError, Outcome};
pub use subscription::{Subscription, SubscriptionError};

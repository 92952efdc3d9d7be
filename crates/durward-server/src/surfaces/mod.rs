//! One folder for each protocol that is answered; none knows another. `callers` is what those share whose callers ask about users of their
//! own; what those over HTTP share is in `durward-common`, and those for logins, sessions and tokens, and by which users are provisioned, are in `durward-logins`.

pub(crate) mod authzen;
pub(crate) mod brokers;
pub(crate) mod callers;
pub(crate) mod doors;
pub(crate) mod explain;
pub(crate) mod health;
pub(crate) mod kubernetes;
pub(crate) mod opa;
pub(crate) mod rsocket;
pub(crate) mod sapl;
pub(crate) mod xacml;

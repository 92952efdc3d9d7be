//! Who asks and about whom: callers' credentials (`auth`), sessions of users (`sessions`), tokens that this server gives (`issued`),
//! proofs that whoever shows a token has its key (`dpop`), and subjects that are named by a token (`subject`).

pub(crate) mod auth;
pub(crate) mod dpop;
pub(crate) mod issued;
pub(crate) mod sessions;
pub(crate) mod subject;

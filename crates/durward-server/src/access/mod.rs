//! Who asks and about whom: callers' credentials (`auth`), sessions of users (`sessions`), tokens that this server gives (`issued`),
//! and subjects that are named by a token (`subject`).

pub(crate) mod auth;
pub(crate) mod issued;
pub(crate) mod sessions;
pub(crate) mod subject;

//! Who asks and about whom: callers' credentials (`auth`), programs that ask about users of their own (`callers`), sessions of users (`sessions`), tokens that this server gives (`issued`),
//! proofs that whoever shows a token has its key (`dpop`), subjects that are named by a token (`subject`), and users whom other OpenID
//! providers vouch for (`upstream`). What such providers and other issuers publish of themselves is in `published`.

pub(crate) mod auth;
pub(crate) mod callers;
pub(crate) mod dpop;
pub(crate) mod issued;
#[cfg(feature = "tls")]
mod published;
pub(crate) mod sessions;
pub(crate) mod subject;
pub(crate) mod upstream;

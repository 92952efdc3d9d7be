//! Who asks and about whom: callers' credentials (`auth`), programs that ask about users of their own (`callers`), sessions of users (`sessions`), tokens that this server gives (`issued`),
//! proofs that whoever shows a token has its key (`dpop`), subjects that are named by a token (`subject`), how often who may ask (`rates`), and users whom other OpenID
//! providers vouch for (`upstream`). What such providers and other issuers publish of themselves is in `published`.

pub mod auth;
pub mod callers;
pub mod dpop;
pub mod issued;
#[cfg(feature = "tls")]
mod published;
pub mod rates;
pub mod sessions;
pub mod subject;
pub mod upstream;

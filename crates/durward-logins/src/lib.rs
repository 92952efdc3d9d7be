//! The surfaces for logins, sessions and tokens, and where users are provisioned: `/v1` and its description, OpenAM's calls, OAuth, OpenID
//! Connect, the login pages and forms, SCIM.
//!
//! It is a crate of its own, so that `release` compiles it without optimisation and beside others. Validations over `/v1`, which are asked
//! often, are `inline`, and so compiled and optimised where they are called.

pub mod surfaces;

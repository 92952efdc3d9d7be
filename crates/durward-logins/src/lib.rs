//! The surfaces for logins, sessions and tokens, and where users are provisioned: `/v1` and its description, OpenAM's calls, OAuth, OpenID
//! Connect, the login pages and forms, SCIM.
//!
//! It is a crate of its own, so that `release` compiles it without optimisation and beside others. Validations over `/v1`, asked
//! over HTTP/1.1 with the token in `Authorization` or in the body, are `inline`, and so compiled and optimised where they are called.

pub mod surfaces;

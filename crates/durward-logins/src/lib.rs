//! The surfaces of the server by which users log in and are looked after: `/v1`, OpenAM's calls, OAuth, OpenID Connect, SCIM, and the login pages.
//!
//! None of them decides. They are a crate of their own such that `release` compiles them soon and those of decisions well.

pub mod surfaces;

//! The surfaces where users log in with a browser and where they are provisioned: OpenID Connect, the login pages and forms, SCIM; and the
//! description of `/v1`.
//!
//! No policy is decided here. It is a crate of its own, so that `release` compiles it without optimisation and beside others.

pub mod surfaces;

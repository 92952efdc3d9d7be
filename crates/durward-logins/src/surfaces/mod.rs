//! One folder for each protocol by which users log in and their sessions and tokens are used, or by which they are provisioned; none knows another.
//! `login_page` and `login_forms` are what those share by which users log in with a browser; `openapi` describes what is under `/v1`.

pub mod login_forms;
pub mod login_page;
pub mod oauth;
pub mod oidc;
pub mod openam;
pub mod openapi;
pub mod scim;
pub mod v1;

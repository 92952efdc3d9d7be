//! One folder for each protocol by which users log in with a browser or are provisioned; none knows another. `login_page` and `login_forms` are
//! what those share by which users log in with a browser; `openapi` describes what is under `/v1`.

pub mod login_forms;
pub mod login_page;
pub mod oidc;
pub mod openapi;
pub mod scim;

//! One folder for each protocol that is answered; none knows another. `http` is what those over HTTP share, `login_page` and `login_forms`
//! what those share by which users log in with a browser.

pub(crate) mod authzen;
pub(crate) mod explain;
pub(crate) mod health;
pub(crate) mod http;
pub(crate) mod login_forms;
pub mod login_page;
pub(crate) mod oauth;
pub(crate) mod oidc;
pub(crate) mod openam;
pub(crate) mod rsocket;
pub(crate) mod sapl;
pub(crate) mod scim;
pub(crate) mod v1;
pub(crate) mod xacml;

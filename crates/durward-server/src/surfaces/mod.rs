//! One folder for each protocol that is answered; none knows another. `http` is what those over HTTP share, `callers` what those share whose
//! callers ask about users of their own, `login_page` and `login_forms` what those share by which users log in with a browser.

pub(crate) mod authzen;
pub(crate) mod brokers;
pub(crate) mod callers;
pub(crate) mod doors;
pub(crate) mod health;
pub(crate) mod http;
pub(crate) mod kubernetes;
pub(crate) mod login_forms;
pub mod login_page;
pub(crate) mod oauth;
pub(crate) mod oidc;
pub(crate) mod opa;
pub(crate) mod openam;
pub(crate) mod rsocket;
pub(crate) mod sapl;
pub(crate) mod scim;
pub(crate) mod v1;
pub(crate) mod xacml;

//! Logins with browsers, as browsers and applications see them.

mod flow;
mod forms;
mod hostile;
mod logout;
mod openid_conformance;
#[cfg(feature = "ldap")]
mod outside;
pub(crate) mod passkeys;
mod password_change;
mod reset;
pub(crate) mod second_step;
pub(crate) mod world;

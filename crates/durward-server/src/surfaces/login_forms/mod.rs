//! Logins by forms, for whoever has users log in with a browser: the steps that every such login has ([`steps`]), new passwords ([`new_password`]),
//! passkeys ([`passkey`]), what ties a form to the
//! browser that it was given to ([`binding`]), whether to sign out ([`sign_out`]), cookies, redirects, and pages without a step.
//!
//! Nothing is kept of a login under way: what a browser is in the middle of is sealed into the form that it sends back. What a login is
//! for, and what becomes of its session, is the affair of whoever asks.

pub(crate) mod binding;
pub(crate) mod cookies;
pub(crate) mod new_password;
pub(crate) mod pages;
pub(crate) mod passkey;
pub(crate) mod redirect;
pub(crate) mod sign_out;
pub(crate) mod steps;

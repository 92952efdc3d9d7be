//! Logins by forms, for whoever has users log in with a browser: the steps that every such login has ([`steps`]), new passwords ([`new_password`]),
//! passkeys ([`passkey`]), what ties a form to the
//! browser that it was given to ([`binding`]), whether to sign out ([`sign_out`]), cookies, redirects, and pages without a step.
//!
//! Nothing is kept of a login under way: what a browser is in the middle of is sealed into the form that it sends back. What a login is
//! for, and what becomes of its session, is the affair of whoever asks.

pub mod binding;
pub mod cookies;
pub mod new_password;
pub mod pages;
pub mod passkey;
pub mod redirect;
pub mod sign_out;
pub mod steps;

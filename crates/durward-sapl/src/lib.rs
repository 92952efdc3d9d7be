//! SAPL, the Streaming Attribute Policy Language: its text, its meaning, its questions and answers.
//!
//! [`syntax`] reads text into a [`syntax::tree`] and writes trees as text; [`lower()`](lower::lower) makes elements of a program out
//! of documents and a [`Configuration`], and [`check()`](check::check) says what is odd in them; a [`Subscription`] is what is asked, a [`Decision`] what is answered (both of `durward-subscription`).
//!
//! Features, all on unless left out, say which functions policies can call: `library-crypto`, `library-formats`, `library-geo`,
//! `library-time` (see `durward_library`). A policy that calls a function that is left out is refused.

pub mod check;
mod configuration;
mod document;
mod expression;
pub mod lower;
pub mod syntax;

pub use configuration::{Configuration, Flags};
pub use document::{Document, Problem};
pub use durward_subscription::{Decision, DecisionError, Outcome, Subscription, SubscriptionError};
pub use expression::{Expression, ExpressionPart};

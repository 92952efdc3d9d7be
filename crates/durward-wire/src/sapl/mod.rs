//! SAPL's questions and answers: as JSON, which HTTP carries, and as protocol buffers, which RSocket carries.

pub mod json;
pub mod protobuf;
mod question;

pub use question::MultiSubscription;

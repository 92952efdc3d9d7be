//! The decision point as other languages hold it: policies from a folder or from texts; subscriptions and requests as text;
//! decisions, explanations, and decisions that follow one another.
//!
//! What a package for Python, Node, C or Java has in common is here, so that it is done once and the same in all of them: the
//! packages only turn types of their language into these and back. `cases.json` beside this crate's tests says what each must answer.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::SystemTime;
//!
//! use durward_embed::{DecisionPoint, Outcome};
//!
//! let doctors = r#"policy "doctors" permit subject.role == "doctor";"#;
//! let pdp = DecisionPoint::from_texts([("doctors.sapl", doctors)], Arc::new(SystemTime::now))?;
//! let decision = pdp.decide(br#"{"subject":{"role":"doctor"},"action":"read","resource":"record"}"#)?;
//! assert_eq!(decision.outcome, Outcome::Permit);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "threads")]
mod bell;
#[cfg(feature = "threads")]
mod driver;
mod error;
mod point;
mod watch;

pub use durward_pdp::ir::json::JSON_DEPTH_MAX;
pub use durward_pdp::sapl::{Decision, Outcome};
pub use durward_pdp::xacml::policy::Limits as PolicyLimits;
pub use durward_pdp::{PolicyError, ReadError, SnapshotInfo, Value, is_policy_file};
pub use error::{LoadError, QuestionError};
pub use point::{Clock, DecisionPoint, Explained, Pending, TEXT_BYTES_MAX};
pub use watch::Watch;
#[cfg(feature = "threads")]
pub use watch::Watched;

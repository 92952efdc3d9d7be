//! What every part of the server stands on: limits that callers share, counters, the program's log, the clock. Knows no
//! surface and decides nothing.

pub mod limits;
pub mod log;
pub mod long_work;
pub mod metrics;
pub mod parameters;
pub mod request_ids;
pub mod socket;
pub mod standing;
pub mod traces;
pub mod watch;

use std::sync::Arc;
use std::time::SystemTime;

/// Gives the time: of decisions, of log lines, of the age of policies. Usually `Arc::new(SystemTime::now)`.
pub type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

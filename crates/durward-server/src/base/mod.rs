//! What every part of the server stands on: settings, limits that callers share, counters, the program's log, the clock. Knows no
//! surface and decides nothing.

pub(crate) mod limits;
pub(crate) mod log;
pub(crate) mod long_work;
pub(crate) mod metrics;
pub(crate) mod parameters;
pub(crate) mod request_ids;
pub(crate) mod settings;
pub(crate) mod socket;
pub(crate) mod standing;
pub(crate) mod traces;
pub(crate) mod watch;

use std::sync::Arc;
use std::time::SystemTime;

/// Gives the time: of decisions, of log lines, of the age of policies. Usually `Arc::new(SystemTime::now)`.
pub type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

//! What every surface of the server stands on: who asks (`access`), who decides (`decider`), the record of decisions (`decision_log`), the policies
//! in force (`policies`), what HTTP's surfaces share (`surfaces::http`), and limits, counters and the log (`base`).
//!
//! Its folders are those of `durward-server`, which has the table of who may use whom; a crate of its own since it compiles beside others.

pub mod access;
pub mod base;
pub mod decider;
pub mod decision_log;
pub mod entities;
pub mod policies;
pub mod question;
pub mod surfaces;
pub mod telemetry;

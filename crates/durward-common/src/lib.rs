//! What every surface of the server stands on: who asks (`access`), who decides (`decider`), the record of decisions (`decision_log`), the policies
//! in force (`policies`), what HTTP's surfaces share (`surfaces::http`), and limits, counters and the log (`base`).
//!
//! `question` decides questions in AuthZEN's words, `entities` holds what searches look among, `telemetry` tells a collector. `ARCHITECTURE.md` has
//! the table of the folders of the server, and who may use whom; a test compares. A crate of its own, because it compiles beside others.

pub mod access;
pub mod base;
pub mod decider;
pub mod decision_log;
pub mod entities;
pub mod policies;
pub mod question;
pub mod surfaces;
pub mod telemetry;

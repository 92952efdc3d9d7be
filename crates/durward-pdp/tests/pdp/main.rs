//! The decision point through its public door: policies as text, requests built in code.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops at what it does not expect"
)]

mod batch;
mod changes;
mod constants;
mod duties;
mod encoding;
mod evaluation;
mod hostile;
mod hostile_sapl;
mod long_texts;
mod near_misses;
mod paths;
mod plan_costs;
mod plans;
mod records;
mod references;
mod requests;
mod sifted;
mod sources;
mod subscriptions;
mod table_decision;
mod write;

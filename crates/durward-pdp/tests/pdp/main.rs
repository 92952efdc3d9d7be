//! The decision point through its public door: policies as text, requests built in code.

mod duties;
mod evaluation;
mod references;
mod sources;
mod write;

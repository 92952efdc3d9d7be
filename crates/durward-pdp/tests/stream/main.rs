//! Streaming decisions, seen from outside: subscribers, sources, and a clock that only these tests move.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod attributes;
mod decisions;
mod heads;
mod multi;
mod policies;
mod repository;
mod sapl;
mod simulation;
mod threads;
mod world;

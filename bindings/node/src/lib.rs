//! The decision point as an addon of Node: what `index.js` beside it calls, and nobody else.
//!
//! Types of JavaScript are turned into those of `durward-embed` and back. What can be done in JavaScript at no cost is done there: objects
//! become JSON, decisions become objects, errors get their classes. A plain decision goes back as a small number, any other
//! decision as JSON; an error as JSON in its message (`error.rs`).

pub mod answer;
mod error;
pub mod load;
pub mod pdp;
mod table;
pub mod watch;

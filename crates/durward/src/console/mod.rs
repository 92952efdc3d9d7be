//! What is written for people at a terminal beside what commands print: colour, and a line that says what takes long.

pub(crate) mod colour;
pub(crate) mod progress;

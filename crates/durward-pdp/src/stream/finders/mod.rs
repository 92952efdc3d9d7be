//! The attribute finders that need nothing but the time: `time`, `x509` and `jwt`.

mod jwt;
mod known;
mod time;
mod x509;

use durward_ir::Fault;

pub use jwt::JwtFinder;
pub use known::attributes;
pub use time::TimeFinder;
pub use x509::X509Finder;

use super::finder::{Finder, Reading};

/// All of them, with local times in UTC.
pub fn all() -> Vec<Finder> {
    vec![Finder::timed(TimeFinder::default()), Finder::timed(X509Finder), Finder::timed(JwtFinder::default())]
}

/// What went wrong with an argument, as the attribute's value.
fn or_error(reading: Result<Reading, String>) -> Reading {
    reading.unwrap_or_else(|message| Reading::lasting(Err(Fault::processing(message))))
}

#[cfg(test)]
mod tests;

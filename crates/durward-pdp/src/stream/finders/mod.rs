//! The attribute finders that need nothing but the time: `time`, `x509` and `jwt`.

mod jwt;
mod time;
mod x509;

use durward_ir::Fault;

pub use jwt::{JwtFinder, Token, Trust};
pub use time::TimeFinder;
pub use x509::{Validity, X509Finder};

use super::finder::Reading;

/// What went wrong with an argument, as the attribute's value.
fn or_error(reading: Result<Reading, String>) -> Reading {
    reading.unwrap_or_else(|message| Reading::lasting(Err(Fault::processing(message))))
}

/// The time in seconds since 1970 as ISO 8601 has it, in UTC; `None` outside the years 1970 to 9999.
fn iso_seconds(seconds: i64) -> Option<String> {
    const END_OF_9999: i64 = 253_402_300_799;
    if !(0..=END_OF_9999).contains(&seconds) {
        return None;
    }
    jiff::Timestamp::from_second(seconds).ok().map(|time| time.to_string())
}

#[cfg(test)]
mod tests;

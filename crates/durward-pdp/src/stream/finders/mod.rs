//! The attribute finders that need nothing but the time: `time`, `x509` and `jwt`.

#[cfg(feature = "library-crypto")]
mod jwt;
mod known;
mod moment;
#[cfg(feature = "library-time")]
mod time;
#[cfg(feature = "library-crypto")]
mod x509;

#[cfg(feature = "library-time")]
use durward_ir::fault::Evaluated;

#[cfg(feature = "library-crypto")]
pub use jwt::JwtFinder;
pub use known::attributes;
pub use moment::{MomentAttributes, MomentContext};
#[cfg(feature = "library-time")]
pub use time::TimeFinder;
#[cfg(feature = "library-crypto")]
pub use x509::X509Finder;

use super::finder::Finder;
#[cfg(feature = "library-time")]
use super::finder::Reading;

/// All of them, with local times in UTC; those whose library this build leaves out are not there.
pub fn all() -> Vec<Finder> {
    Vec::from([
        #[cfg(feature = "library-time")]
        Finder::timed(TimeFinder::default()),
        #[cfg(feature = "library-crypto")]
        Finder::timed(X509Finder),
        #[cfg(feature = "library-crypto")]
        Finder::timed(JwtFinder::default()),
    ])
}

/// What went wrong with an argument, as the attribute's value.
#[cfg(feature = "library-time")]
fn or_error(reading: Evaluated<Reading>) -> Reading {
    reading.unwrap_or_else(|fault| Reading::lasting(Err(fault)))
}

#[cfg(test)]
#[cfg(feature = "library-crypto")]
mod tests;

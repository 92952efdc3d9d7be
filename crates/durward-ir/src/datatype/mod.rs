//! The data types of XACML 3.0, and the numbers of SAPL, that need more than a Rust primitive: lexical forms,
//! comparison, arithmetic.
//!
//! One file per kind. Every `parse` takes text whose surrounding white space has been removed already
//! ([`crate::Value::parse`] does that) and says in a few words why it refuses.

mod binary;
pub mod calendar;
mod decimal;
mod duration;
mod integer;
mod lexical;
mod names;
mod network;
mod number;
mod temporal;
mod uri;
mod x500;

use std::sync::Arc;

use smol_str::SmolStr;

pub use decimal::{DECIMAL_LENGTH_MAX, DECIMAL_SCALE_MAX, Decimal, PRECISION as DECIMAL_PRECISION};
pub use duration::{DayTimeDuration, YearMonthDuration};
pub use integer::{INTEGER_BITS_MAX, INTEGER_DIGITS_MAX, Integer};
pub use lexical::LexicalError;
pub use names::Rfc822Name;
pub use network::{DnsName, IpAddress, PortRange};
pub use temporal::{Date, DateTime, IMPLICIT_ZONE, Time, YEAR_MAX, Zone};
pub use x500::X500Name;

pub(crate) use binary::{parse_base64, parse_hex, write_base64, write_hex};
pub(crate) use lexical::{Reason, normalize, trim};
pub(crate) use number::{parse_double, write_double};
pub(crate) use uri::parse_uri;

/// An XPath expression with the category it selects from and the namespaces in scope where it was written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct XPathExpression {
    /// The expression as written, white space around it removed.
    pub path: SmolStr,
    /// The category whose `<Content>` it selects from (`XPathCategory`).
    pub category: SmolStr,
    /// Prefix and namespace pairs in scope.
    pub namespaces: Arc<[(SmolStr, SmolStr)]>,
}

/// A value of a data type durward does not know.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Opaque {
    /// The data type's identifier.
    pub data_type: SmolStr,
    /// The value's text.
    pub text: SmolStr,
}

#[cfg(test)]
mod tests;

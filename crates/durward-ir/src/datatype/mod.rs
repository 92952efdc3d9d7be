//! The data types of XACML 3.0 that need more than a Rust primitive: lexical forms, comparison, arithmetic.

use std::sync::Arc;

use num_bigint::BigInt;
use smol_str::SmolStr;

/// An integer without bounds (`xs:integer`). INVARIANT: `Big` only holds what does not fit `Small`, so equality
/// is structural.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Integer {
    /// The usual case.
    Small(i64),
    /// Anything beyond 64 bits.
    Big(Arc<BigInt>),
}

/// `xs:time`, with or without a time zone.
#[derive(Clone, Copy, Debug)]
pub struct Time {}

/// `xs:date`, with or without a time zone.
#[derive(Clone, Copy, Debug)]
pub struct Date {}

/// `xs:dateTime`, with or without a time zone.
#[derive(Clone, Copy, Debug)]
pub struct DateTime {}

/// `xs:dayTimeDuration`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DayTimeDuration {}

/// `xs:yearMonthDuration`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct YearMonthDuration {}

/// An e-mail address (RFC 822): local part case-sensitive, domain not.
#[derive(Clone, Debug)]
pub struct Rfc822Name {}

/// A distinguished name (RFC 2253).
#[derive(Clone, Debug)]
pub struct X500Name {}

/// `addr[/mask][:portrange]`.
#[derive(Clone, Debug)]
pub struct IpAddress {}

/// `hostname[:portrange]`.
#[derive(Clone, Debug)]
pub struct DnsName {}

/// An XPath expression with the category it selects from and the namespaces in scope where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XPathExpression {
    /// The expression as written, white space around it removed.
    pub path: SmolStr,
    /// The category whose `<Content>` it selects from (`XPathCategory`).
    pub category: SmolStr,
    /// Prefix and namespace pairs in scope.
    pub namespaces: Arc<[(SmolStr, SmolStr)]>,
}

/// A value of a data type durward does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// The data type's identifier.
    pub data_type: SmolStr,
    /// The value's text.
    pub text: SmolStr,
}

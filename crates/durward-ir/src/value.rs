//! One value of either policy language, and the operands functions work on.

use std::borrow::Cow;
use std::sync::Arc;

use smol_str::SmolStr;

use crate::datatype::{
    Date, DateTime, DayTimeDuration, DnsName, Integer, IpAddress, Opaque, Rfc822Name, Time, X500Name,
    XPathExpression, YearMonthDuration,
};

/// The type of a [`Value`]: the data types of XACML 3.0 (section 10.2.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DataType {
    /// `xs:string`
    Text,
    /// `xs:boolean`
    Boolean,
    /// `xs:integer`, unbounded
    Integer,
    /// `xs:double`
    Double,
    /// `xs:time`
    Time,
    /// `xs:date`
    Date,
    /// `xs:dateTime`
    DateTime,
    /// `xs:dayTimeDuration`
    DayTimeDuration,
    /// `xs:yearMonthDuration`
    YearMonthDuration,
    /// `xs:anyURI`
    AnyUri,
    /// `xs:hexBinary`
    HexBinary,
    /// `xs:base64Binary`
    Base64Binary,
    /// `urn:oasis:names:tc:xacml:1.0:data-type:rfc822Name`
    Rfc822Name,
    /// `urn:oasis:names:tc:xacml:1.0:data-type:x500Name`
    X500Name,
    /// `urn:oasis:names:tc:xacml:2.0:data-type:ipAddress`
    IpAddress,
    /// `urn:oasis:names:tc:xacml:2.0:data-type:dnsName`
    DnsName,
    /// `urn:oasis:names:tc:xacml:3.0:data-type:xpathExpression`
    XPathExpression,
    /// A data type durward does not know; carried in requests and echoed, never computed with.
    Opaque,
}

/// One value. Cloning is cheap: short texts are inline, everything long is shared.
#[derive(Clone, Debug)]
pub enum Value {
    /// See [`DataType::Text`].
    Text(SmolStr),
    /// See [`DataType::Boolean`].
    Boolean(bool),
    /// See [`DataType::Integer`].
    Integer(Integer),
    /// See [`DataType::Double`].
    Double(f64),
    /// See [`DataType::Time`].
    Time(Time),
    /// See [`DataType::Date`].
    Date(Date),
    /// See [`DataType::DateTime`].
    DateTime(DateTime),
    /// See [`DataType::DayTimeDuration`].
    DayTimeDuration(DayTimeDuration),
    /// See [`DataType::YearMonthDuration`].
    YearMonthDuration(YearMonthDuration),
    /// See [`DataType::AnyUri`].
    AnyUri(SmolStr),
    /// See [`DataType::HexBinary`].
    HexBinary(Arc<[u8]>),
    /// See [`DataType::Base64Binary`].
    Base64Binary(Arc<[u8]>),
    /// See [`DataType::Rfc822Name`].
    Rfc822Name(Arc<Rfc822Name>),
    /// See [`DataType::X500Name`].
    X500Name(Arc<X500Name>),
    /// See [`DataType::IpAddress`].
    IpAddress(Arc<IpAddress>),
    /// See [`DataType::DnsName`].
    DnsName(Arc<DnsName>),
    /// See [`DataType::XPathExpression`].
    XPathExpression(Arc<XPathExpression>),
    /// See [`DataType::Opaque`].
    Opaque(Arc<Opaque>),
}

/// What a function takes and gives: one value or a bag (an unordered collection that may hold repeats,
/// XACML 3.0 section 7.3.2). Borrowed from the question or the program wherever possible.
#[derive(Clone, Debug)]
pub enum Operand<'a> {
    /// One value.
    One(Cow<'a, Value>),
    /// A bag of values, in the order in which they were given.
    Bag(Cow<'a, [Value]>),
}

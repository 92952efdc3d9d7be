//! The types of values, by their standard identifiers and short names.

use std::fmt;

/// The type of a [`Value`](super::Value): the data types of XACML 3.0 (section 10.2.7), and what JSON has beyond them.
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
    /// The `null` of JSON.
    Null,
    /// SAPL's value of what is not there.
    Undefined,
    /// A number of JSON: a decimal of any precision.
    Number,
    /// An array of JSON.
    Array,
    /// An object of JSON.
    Object,
}

const XML_SCHEMA: &str = "http://www.w3.org/2001/XMLSchema#";
/// Where durations were defined before XML Schema had them (XACML 3.0, A.4).
const DEPRECATED_DURATIONS: &str = "http://www.w3.org/TR/2002/WD-xquery-operators-20020816#";
const XACML: &str = "urn:oasis:names:tc:xacml:";

impl DataType {
    /// Every data type of XACML but [`DataType::Opaque`], in the order of the standard. What only JSON has is not among
    /// them: it has no identifier, is no parameter of XACML's functions and cannot be written in its documents.
    pub const ALL: [DataType; 17] = [
        DataType::Text,
        DataType::Boolean,
        DataType::Integer,
        DataType::Double,
        DataType::Time,
        DataType::Date,
        DataType::DateTime,
        DataType::DayTimeDuration,
        DataType::YearMonthDuration,
        DataType::AnyUri,
        DataType::HexBinary,
        DataType::Base64Binary,
        DataType::Rfc822Name,
        DataType::X500Name,
        DataType::IpAddress,
        DataType::DnsName,
        DataType::XPathExpression,
    ];

    /// The standard identifier; empty for [`DataType::Opaque`], whose values carry their own. What only JSON has is
    /// written into XACML as text, see [`Value::lexical`](super::Value::lexical), and has the identifier of that.
    pub const fn uri(self) -> &'static str {
        match self {
            DataType::Text
            | DataType::Null
            | DataType::Undefined
            | DataType::Number
            | DataType::Array
            | DataType::Object => "http://www.w3.org/2001/XMLSchema#string",
            DataType::Boolean => "http://www.w3.org/2001/XMLSchema#boolean",
            DataType::Integer => "http://www.w3.org/2001/XMLSchema#integer",
            DataType::Double => "http://www.w3.org/2001/XMLSchema#double",
            DataType::Time => "http://www.w3.org/2001/XMLSchema#time",
            DataType::Date => "http://www.w3.org/2001/XMLSchema#date",
            DataType::DateTime => "http://www.w3.org/2001/XMLSchema#dateTime",
            DataType::DayTimeDuration => "http://www.w3.org/2001/XMLSchema#dayTimeDuration",
            DataType::YearMonthDuration => "http://www.w3.org/2001/XMLSchema#yearMonthDuration",
            DataType::AnyUri => "http://www.w3.org/2001/XMLSchema#anyURI",
            DataType::HexBinary => "http://www.w3.org/2001/XMLSchema#hexBinary",
            DataType::Base64Binary => "http://www.w3.org/2001/XMLSchema#base64Binary",
            DataType::Rfc822Name => "urn:oasis:names:tc:xacml:1.0:data-type:rfc822Name",
            DataType::X500Name => "urn:oasis:names:tc:xacml:1.0:data-type:x500Name",
            DataType::IpAddress => "urn:oasis:names:tc:xacml:2.0:data-type:ipAddress",
            DataType::DnsName => "urn:oasis:names:tc:xacml:2.0:data-type:dnsName",
            DataType::XPathExpression => "urn:oasis:names:tc:xacml:3.0:data-type:xpathExpression",
            DataType::Opaque => "",
        }
    }

    /// The data type of this identifier, deprecated ones of durations included. `None` for all others: whoever
    /// reads a request carries their values as [`DataType::Opaque`].
    pub fn from_uri(uri: &str) -> Option<DataType> {
        // Read once per attribute: one comparison of the common beginning, then a few bytes.
        if let Some(name) = uri.strip_prefix(XML_SCHEMA) {
            return DataType::from_schema_name(name);
        }
        if let Some(rest) = uri.strip_prefix(XACML) {
            return match rest {
                "1.0:data-type:rfc822Name" => Some(DataType::Rfc822Name),
                "1.0:data-type:x500Name" => Some(DataType::X500Name),
                "2.0:data-type:ipAddress" => Some(DataType::IpAddress),
                "2.0:data-type:dnsName" => Some(DataType::DnsName),
                "3.0:data-type:xpathExpression" => Some(DataType::XPathExpression),
                // The errata of XACML 2.0 (29 January 2008).
                "2.0:data-type:dayTimeDuration" => Some(DataType::DayTimeDuration),
                "2.0:data-type:yearMonthDuration" => Some(DataType::YearMonthDuration),
                _ => None,
            };
        }
        match uri.strip_prefix(DEPRECATED_DURATIONS)? {
            "dayTimeDuration" => Some(DataType::DayTimeDuration),
            "yearMonthDuration" => Some(DataType::YearMonthDuration),
            _ => None,
        }
    }

    fn from_schema_name(name: &str) -> Option<DataType> {
        match name {
            "string" => Some(DataType::Text),
            "integer" => Some(DataType::Integer),
            "boolean" => Some(DataType::Boolean),
            "anyURI" => Some(DataType::AnyUri),
            "double" => Some(DataType::Double),
            "time" => Some(DataType::Time),
            "date" => Some(DataType::Date),
            "dateTime" => Some(DataType::DateTime),
            "hexBinary" => Some(DataType::HexBinary),
            "base64Binary" => Some(DataType::Base64Binary),
            "dayTimeDuration" => Some(DataType::DayTimeDuration),
            "yearMonthDuration" => Some(DataType::YearMonthDuration),
            _ => None,
        }
    }

    /// The name without its prefix, as the JSON profile abbreviates it and as function identifiers use it.
    pub const fn short_name(self) -> &'static str {
        match self {
            DataType::Text => "string",
            DataType::Boolean => "boolean",
            DataType::Integer => "integer",
            DataType::Double => "double",
            DataType::Time => "time",
            DataType::Date => "date",
            DataType::DateTime => "dateTime",
            DataType::DayTimeDuration => "dayTimeDuration",
            DataType::YearMonthDuration => "yearMonthDuration",
            DataType::AnyUri => "anyURI",
            DataType::HexBinary => "hexBinary",
            DataType::Base64Binary => "base64Binary",
            DataType::Rfc822Name => "rfc822Name",
            DataType::X500Name => "x500Name",
            DataType::IpAddress => "ipAddress",
            DataType::DnsName => "dnsName",
            DataType::XPathExpression => "xpathExpression",
            DataType::Opaque => "value of an unknown data type",
            DataType::Null => "null",
            DataType::Undefined => "undefined",
            DataType::Number => "number",
            DataType::Array => "array",
            DataType::Object => "object",
        }
    }

    /// The indefinite article of [`DataType::short_name`], with a space after it.
    pub(crate) fn article(self) -> &'static str {
        if self.short_name().starts_with(['a', 'i', 'o', 'u', 'x']) { "an " } else { "a " }
    }

    /// The data type that the JSON profile abbreviates so.
    pub fn from_short_name(name: &str) -> Option<DataType> {
        DataType::from_schema_name(name).or(match name {
            "rfc822Name" => Some(DataType::Rfc822Name),
            "x500Name" => Some(DataType::X500Name),
            "ipAddress" => Some(DataType::IpAddress),
            "dnsName" => Some(DataType::DnsName),
            "xpathExpression" => Some(DataType::XPathExpression),
            _ => None,
        })
    }
}

impl DataType {
    /// See [`Value::is_internable`](super::Value::is_internable).
    pub const fn is_internable(self) -> bool {
        matches!(
            self,
            DataType::Text
                | DataType::AnyUri
                | DataType::Boolean
                | DataType::Integer
                | DataType::HexBinary
                | DataType::Base64Binary
                | DataType::Null
                | DataType::Number
        )
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.short_name())
    }
}

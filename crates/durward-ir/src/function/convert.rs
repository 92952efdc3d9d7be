//! Conversion between texts and other types (XACML 3.0, A.3.9, the `-from-` functions).

use crate::fault::{Evaluated, Fault};
use crate::function::{Function, TEXT, Type, id, row, take};
use crate::value::{DataType, Operand, Value};

macro_rules! conversions {
    ($($name:literal, $type:ident;)*) => {
        &[ $(
            row(id!("3.0", $name, "-from-string"), &[TEXT], Type::One(DataType::$type), |operands| {
                from_string(operands, DataType::$type)
            }),
            row(id!("3.0", "string-from-", $name), &[Type::One(DataType::$type)], TEXT, to_string),
        )* ]
    };
}

pub(super) static TABLE: &[Function] = conversions! {
    "boolean", Boolean;
    "integer", Integer;
    "double", Double;
    "time", Time;
    "date", Date;
    "dateTime", DateTime;
    "anyURI", AnyUri;
    "dayTimeDuration", DayTimeDuration;
    "yearMonthDuration", YearMonthDuration;
    "x500Name", X500Name;
    "rfc822Name", Rfc822Name;
    "ipAddress", IpAddress;
    "dnsName", DnsName;
};

/// Reads the text as a value in an attribute is read; other texts are a syntax error.
fn from_string(operands: &[Operand<'_>], data_type: DataType) -> Evaluated<Operand<'static>> {
    let [text] = take(operands)?;
    let value = Value::parse(data_type, text.as_text()?).map_err(|error| Fault::syntax(error.to_string()))?;
    Ok(Operand::one(value))
}

/// Writes the canonical form; URIs, names and addresses as they were written.
fn to_string(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [value] = take(operands)?;
    Ok(Operand::one(Value::text(value.as_one()?.canonical().lexical())))
}

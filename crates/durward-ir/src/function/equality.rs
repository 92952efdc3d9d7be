//! Equality (XACML 3.0, A.3.1) and the special matches that are equality in part (A.3.14).

use crate::fault::Evaluated;
use crate::function::text::lower_case;
use crate::function::{BOOLEAN, Function, TEXT, Type, id, row, take};
use crate::value::{DataType, Operand};

macro_rules! equal {
    ($version:literal, $name:literal, $type:ident) => {
        row(
            id!($version, $name, "-equal"),
            &[Type::One(DataType::$type), Type::One(DataType::$type)],
            BOOLEAN,
            equal,
        )
    };
}

const RFC822_NAME: Type = Type::One(DataType::Rfc822Name);
const X500_NAME: Type = Type::One(DataType::X500Name);

pub(super) static TABLE: &[Function] = &[
    equal!("1.0", "string", Text),
    equal!("1.0", "boolean", Boolean),
    equal!("1.0", "integer", Integer),
    equal!("1.0", "double", Double),
    equal!("1.0", "date", Date),
    equal!("1.0", "time", Time),
    equal!("1.0", "dateTime", DateTime),
    equal!("1.0", "dayTimeDuration", DayTimeDuration),
    equal!("1.0", "yearMonthDuration", YearMonthDuration),
    equal!("3.0", "dayTimeDuration", DayTimeDuration),
    equal!("3.0", "yearMonthDuration", YearMonthDuration),
    equal!("1.0", "anyURI", AnyUri),
    equal!("1.0", "x500Name", X500Name),
    equal!("1.0", "rfc822Name", Rfc822Name),
    equal!("1.0", "hexBinary", HexBinary),
    equal!("1.0", "base64Binary", Base64Binary),
    row(id!("3.0", "string-equal-ignore-case"), &[TEXT, TEXT], BOOLEAN, equal_ignore_case),
    row(id!("1.0", "x500Name-match"), &[X500_NAME, X500_NAME], BOOLEAN, x500_name_match),
    row(id!("1.0", "rfc822Name-match"), &[TEXT, RFC822_NAME], BOOLEAN, rfc822_name_match),
];

fn equal(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [left, right] = take(operands)?;
    Ok(Operand::boolean(left.as_one()?.equals(right.as_one()?)))
}

fn equal_ignore_case(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [left, right] = take(operands)?;
    Ok(Operand::boolean(lower_case(left.as_text()?) == lower_case(right.as_text()?)))
}

/// True if the first name is an ending of the second.
fn x500_name_match(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [pattern, name] = take(operands)?;
    Ok(Operand::boolean(name.as_x500_name()?.ends_with(pattern.as_x500_name()?)))
}

/// True if the first argument, a text, selects the address that is the second.
fn rfc822_name_match(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [pattern, name] = take(operands)?;
    Ok(Operand::boolean(name.as_rfc822_name()?.matches(pattern.as_text()?)))
}

//! Arithmetic, comparison and logic of single values.

use std::cmp::Ordering;

use super::{kind_of, shown};
use crate::datatype::Decimal;
use crate::fault::{Evaluated, Fault};
use crate::function::TEXT_LENGTH_MAX;
use crate::value::Value;

/// An operator on two numbers that gives a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Numeric {
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
}

/// An operator that compares two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// `a + b`: the sum of two numbers, or a text with anything behind it, written as
/// [`Value::write_concatenated`] does.
///
/// # Errors
/// Other operands, what [`Decimal::add`] refuses, or a text longer than [`TEXT_LENGTH_MAX`].
pub fn add(a: &Value, b: &Value) -> Evaluated<Value> {
    if let Value::Text(left) = a {
        return concatenate(left, b);
    }
    let (a, b) = numbers(a, b)?;
    a.add(b).map(|sum| result_of(a, b, sum))
}

/// A result as the engine writes it: whole numbers written without exponent come to one written without it, even where
/// rounding has made its last digits zeros (`1` and 46 zeros plus 1, by record).
fn result_of(a: &Decimal, b: &Decimal, result: Decimal) -> Value {
    let is_plain = a.scale() >= 0 && b.scale() >= 0;
    Value::Number(if is_plain { result.without_exponent() } else { result })
}

fn concatenate(left: &str, right: &Value) -> Evaluated<Value> {
    let mut text = left.to_owned();
    right.write_concatenated(&mut text);
    if text.len() > TEXT_LENGTH_MAX {
        return Err(Fault::processing(format!("the joined text is longer than {TEXT_LENGTH_MAX} bytes")));
    }
    Ok(Value::Text(text.into()))
}

/// The operator applied to two numbers.
///
/// # Errors
/// An operand is no number, or the arithmetic has no result, as division by zero.
pub fn calculate(operator: Numeric, a: &Value, b: &Value) -> Evaluated<Value> {
    let (a, b) = numbers(a, b)?;
    let result = match operator {
        Numeric::Subtract => a.sub(b),
        Numeric::Multiply => a.mul(b),
        Numeric::Divide => a.div(b),
        Numeric::Remainder => a.rem(b),
    };
    result.map(|result| result_of(a, b, result))
}

/// `a - b`
///
/// # Errors
/// As [`calculate`]; likewise below.
pub fn subtract(a: &Value, b: &Value) -> Evaluated<Value> {
    calculate(Numeric::Subtract, a, b)
}

/// `a * b`
///
/// # Errors
/// As [`calculate`].
pub fn multiply(a: &Value, b: &Value) -> Evaluated<Value> {
    calculate(Numeric::Multiply, a, b)
}

/// `a / b`
///
/// # Errors
/// As [`calculate`].
pub fn divide(a: &Value, b: &Value) -> Evaluated<Value> {
    calculate(Numeric::Divide, a, b)
}

/// `a % b`, see [`Decimal::rem`].
///
/// # Errors
/// As [`calculate`].
pub fn remainder(a: &Value, b: &Value) -> Evaluated<Value> {
    calculate(Numeric::Remainder, a, b)
}

/// Compares two numbers.
///
/// # Errors
/// An operand is no number.
#[inline]
pub fn compare(operator: Comparison, a: &Value, b: &Value) -> Evaluated<bool> {
    let (a, b) = numbers(a, b)?;
    let order = a.cmp(b);
    Ok(match operator {
        Comparison::Less => order == Ordering::Less,
        Comparison::LessOrEqual => order != Ordering::Greater,
        Comparison::Greater => order == Ordering::Greater,
        Comparison::GreaterOrEqual => order != Ordering::Less,
    })
}

/// `-a`
///
/// # Errors
/// The operand is no number.
pub fn negative(a: &Value) -> Evaluated<Value> {
    number(a).map(|a| Value::Number(a.neg()))
}

/// `+a`: the number itself.
///
/// # Errors
/// The operand is no number.
pub fn positive(a: &Value) -> Evaluated<Value> {
    number(a).map(|a| Value::Number(a.clone()))
}

/// `!a`
///
/// # Errors
/// The operand is no boolean.
pub fn not(a: &Value) -> Evaluated<bool> {
    boolean(a).map(|a| !a)
}

/// `a ^ b`: whether exactly one of two booleans is true.
///
/// # Errors
/// An operand is no boolean.
pub fn exclusive_or(a: &Value, b: &Value) -> Evaluated<bool> {
    Ok(boolean(a)? != boolean(b)?)
}

#[inline]
fn numbers<'a>(a: &'a Value, b: &'a Value) -> Evaluated<(&'a Decimal, &'a Decimal)> {
    Ok((number(a)?, number(b)?))
}

#[inline]
fn number(value: &Value) -> Evaluated<&Decimal> {
    value.as_number().ok_or_else(|| no_number(value))
}

#[cold]
fn no_number(value: &Value) -> Box<Fault> {
    Fault::processing(format!("a number is needed, but `{}` is {}", shown(value), kind_of(value)))
}

#[inline]
fn boolean(value: &Value) -> Evaluated<bool> {
    value.as_boolean().ok_or_else(|| no_boolean(value))
}

#[cold]
fn no_boolean(value: &Value) -> Box<Fault> {
    Fault::processing(format!("a boolean is needed, but `{}` is {}", shown(value), kind_of(value)))
}

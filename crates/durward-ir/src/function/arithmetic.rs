//! Arithmetic (XACML 3.0, A.3.2) and numeric conversion (A.3.4).

use crate::datatype::Integer;
use crate::fault::{Evaluated, Fault};
use crate::function::{DOUBLE, Function, INTEGER, id, row, row_from, take};
use crate::value::{Operand, Value};

pub(super) static TABLE: &[Function] = &[
    row_from(id!("1.0", "integer-add"), 2, &[INTEGER], INTEGER, integer_add),
    row_from(id!("1.0", "double-add"), 2, &[DOUBLE], DOUBLE, double_add),
    row(id!("1.0", "integer-subtract"), &[INTEGER, INTEGER], INTEGER, integer_subtract),
    row(id!("1.0", "double-subtract"), &[DOUBLE, DOUBLE], DOUBLE, double_subtract),
    row_from(id!("1.0", "integer-multiply"), 2, &[INTEGER], INTEGER, integer_multiply),
    row_from(id!("1.0", "double-multiply"), 2, &[DOUBLE], DOUBLE, double_multiply),
    row(id!("1.0", "integer-divide"), &[INTEGER, INTEGER], INTEGER, integer_divide),
    row(id!("1.0", "double-divide"), &[DOUBLE, DOUBLE], DOUBLE, double_divide),
    row(id!("1.0", "integer-mod"), &[INTEGER, INTEGER], INTEGER, integer_mod),
    row(id!("1.0", "integer-abs"), &[INTEGER], INTEGER, integer_abs),
    row(id!("1.0", "double-abs"), &[DOUBLE], DOUBLE, double_abs),
    row(id!("1.0", "round"), &[DOUBLE], DOUBLE, round),
    row(id!("1.0", "floor"), &[DOUBLE], DOUBLE, floor),
    row(id!("1.0", "double-to-integer"), &[DOUBLE], INTEGER, double_to_integer),
    row(id!("1.0", "integer-to-double"), &[INTEGER], DOUBLE, integer_to_double),
];

fn integer(result: Option<Integer>) -> Evaluated<Operand<'static>> {
    let integer = result.ok_or_else(|| Fault::processing("the result of the arithmetic is too large"))?;
    Ok(Operand::one(Value::Integer(integer)))
}

fn double(result: f64) -> Operand<'static> {
    Operand::one(Value::Double(result))
}

fn fold_integers(
    operands: &[Operand<'_>],
    start: i64,
    step: fn(&Integer, &Integer) -> Option<Integer>,
) -> Evaluated<Operand<'static>> {
    let mut result = Some(Integer::Small(start));
    for operand in operands {
        let next = operand.as_integer()?;
        result = result.and_then(|so_far| step(&so_far, next));
    }
    integer(result)
}

fn integer_add(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    fold_integers(operands, 0, Integer::add)
}

fn integer_multiply(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    fold_integers(operands, 1, Integer::multiply)
}

fn fold_doubles(operands: &[Operand<'_>], step: fn(f64, f64) -> f64) -> Evaluated<Operand<'static>> {
    // Starting from the first argument, not from zero: -0.0 + -0.0 is -0.0.
    let mut doubles = operands.iter().map(Operand::as_double);
    let first = doubles.next().unwrap_or(Ok(0.0))?;
    doubles.try_fold(first, |so_far, next| Ok(step(so_far, next?))).map(double)
}

fn double_add(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    fold_doubles(operands, |a, b| a + b)
}

fn double_multiply(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    fold_doubles(operands, |a, b| a * b)
}

fn integer_subtract(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [left, right] = take(operands)?;
    integer(left.as_integer()?.subtract(right.as_integer()?))
}

fn double_subtract(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [left, right] = take(operands)?;
    Ok(double(left.as_double()? - right.as_double()?))
}

#[cold]
fn division_by_zero() -> Box<Fault> {
    Fault::processing("division by zero")
}

/// The quotient without its fraction.
fn integer_divide(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [dividend, divisor] = take(operands)?;
    integer(Some(dividend.as_integer()?.divide(divisor.as_integer()?).ok_or_else(division_by_zero)?))
}

/// IEEE 754 would give an infinity for a zero divisor; the standard says Indeterminate.
fn double_divide(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [dividend, divisor] = take(operands)?;
    match divisor.as_double()? {
        0.0 => Err(division_by_zero()),
        divisor => Ok(double(dividend.as_double()? / divisor)),
    }
}

/// The remainder, with the sign of the dividend.
fn integer_mod(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [dividend, divisor] = take(operands)?;
    integer(Some(dividend.as_integer()?.remainder(divisor.as_integer()?).ok_or_else(division_by_zero)?))
}

fn integer_abs(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [operand] = take(operands)?;
    integer(operand.as_integer()?.absolute())
}

fn double_abs(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [operand] = take(operands)?;
    Ok(double(operand.as_double()?.abs()))
}

/// To the nearest whole number, halves to the even one: rounding as IEEE 754 does unless told otherwise, which is
/// what A.3.2 refers to for every function on doubles.
fn round(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [operand] = take(operands)?;
    Ok(double(operand.as_double()?.round_ties_even()))
}

fn floor(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [operand] = take(operands)?;
    Ok(double(operand.as_double()?.floor()))
}

/// The whole part; `NaN` and the infinities have none.
fn double_to_integer(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [operand] = take(operands)?;
    let value = operand.as_one()?;
    let whole = Integer::from_double_truncated(operand.as_double()?)
        .ok_or_else(|| Fault::processing(format!("`{}` has no integer value", value.lexical())))?;
    integer(Some(whole))
}

/// The nearest double; an integer beyond the range of doubles is an error, not an infinity.
fn integer_to_double(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [operand] = take(operands)?;
    let nearest = operand.as_integer()?.to_double();
    nearest.map(double).ok_or_else(|| Fault::processing("the integer is beyond the range of double"))
}

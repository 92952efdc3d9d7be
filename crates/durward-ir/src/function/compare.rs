//! Ordering of numbers (XACML 3.0, A.3.6) and of texts, times and dates (A.3.8).

use std::cmp::Ordering;

use crate::fault::{Evaluated, Fault};
use crate::function::{BOOLEAN, Function, Type, id, row, take};
use crate::value::{DataType, Operand, Value};

macro_rules! comparison {
    ($name:literal, $type:ident, $relation:literal, $strict:expr) => {
        row(
            id!("1.0", $name, "-", $relation),
            &[Type::One(DataType::$type), Type::One(DataType::$type)],
            BOOLEAN,
            $strict,
        )
    };
}

/// The four comparisons of each data type, in one table.
macro_rules! comparisons {
    ($($name:literal, $type:ident;)*) => {
        &[ $(
            comparison!($name, $type, "greater-than", greater_than),
            comparison!($name, $type, "greater-than-or-equal", greater_than_or_equal),
            comparison!($name, $type, "less-than", less_than),
            comparison!($name, $type, "less-than-or-equal", less_than_or_equal),
        )*
            row(id!("2.0", "time-in-range"), &[TIME, TIME, TIME], BOOLEAN, time_in_range),
        ]
    };
}

const TIME: Type = Type::One(DataType::Time);

pub(super) static TABLE: &[Function] = comparisons! {
    "integer", Integer;
    "double", Double;
    "string", Text;
    "time", Time;
    "date", Date;
    "dateTime", DateTime;
};

/// How the first argument stands to the second; `None` only where a `NaN` is involved.
fn order(operands: &[Operand<'_>]) -> Evaluated<Option<Ordering>> {
    let [left, right] = take(operands)?;
    match (left.as_one()?, right.as_one()?) {
        (Value::Integer(a), Value::Integer(b)) => Ok(Some(a.cmp(b))),
        (Value::Double(a), Value::Double(b)) => Ok(a.partial_cmp(b)),
        // UTF-8 keeps the order of code points.
        (Value::Text(a), Value::Text(b)) => Ok(Some(a.cmp(b))),
        (Value::Time(a), Value::Time(b)) => Ok(Some(a.cmp(b))),
        (Value::Date(a), Value::Date(b)) => Ok(Some(a.cmp(b))),
        (Value::DateTime(a), Value::DateTime(b)) => Ok(Some(a.cmp(b))),
        (a, b) => {
            let (a, b) = (a.data_type(), b.data_type());
            Err(Fault::processing(format!("a value of type `{a}` cannot be compared with one of type `{b}`")))
        }
    }
}

fn greater_than(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    Ok(Operand::boolean(order(operands)?.is_some_and(Ordering::is_gt)))
}

fn greater_than_or_equal(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    Ok(Operand::boolean(order(operands)?.is_some_and(Ordering::is_ge)))
}

fn less_than(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    Ok(Operand::boolean(order(operands)?.is_some_and(Ordering::is_lt)))
}

fn less_than_or_equal(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    Ok(Operand::boolean(order(operands)?.is_some_and(Ordering::is_le)))
}

/// True if the first time lies between the second and the third, which may be past midnight.
fn time_in_range(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [time, low, high] = take(operands)?;
    Ok(Operand::boolean(time.as_time()?.is_in_range(low.as_time()?, high.as_time()?)))
}

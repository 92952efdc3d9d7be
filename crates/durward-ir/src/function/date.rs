//! Dates and durations (XACML 3.0, A.3.7), under the 3.0 identifiers and the deprecated 1.0 ones.

use crate::fault::{Evaluated, Fault};
use crate::function::{Function, Type, id, row, take};
use crate::value::{DataType, Operand, Value};

const DATE: Type = Type::One(DataType::Date);
const DATE_TIME: Type = Type::One(DataType::DateTime);
const DAYS: Type = Type::One(DataType::DayTimeDuration);
const MONTHS: Type = Type::One(DataType::YearMonthDuration);

macro_rules! date_arithmetic {
    ($($version:literal)*) => {
        &[ $(
            row(id!($version, "dateTime-add-dayTimeDuration"), &[DATE_TIME, DAYS], DATE_TIME, add_time),
            row(id!($version, "dateTime-subtract-dayTimeDuration"), &[DATE_TIME, DAYS], DATE_TIME, subtract_time),
            row(id!($version, "dateTime-add-yearMonthDuration"), &[DATE_TIME, MONTHS], DATE_TIME, add_months),
            row(
                id!($version, "dateTime-subtract-yearMonthDuration"),
                &[DATE_TIME, MONTHS],
                DATE_TIME,
                subtract_months,
            ),
            row(id!($version, "date-add-yearMonthDuration"), &[DATE, MONTHS], DATE, add_months),
            row(id!($version, "date-subtract-yearMonthDuration"), &[DATE, MONTHS], DATE, subtract_months),
        )* ]
    };
}

pub(super) static TABLE: &[Function] = date_arithmetic! { "3.0" "1.0" };

#[derive(Clone, Copy)]
enum Direction {
    Later,
    Earlier,
}

fn found(moved: Option<Value>) -> Evaluated<Operand<'static>> {
    moved.map(Operand::one).ok_or_else(|| Fault::processing("the date reached is too far away"))
}

fn move_by_time(operands: &[Operand<'_>], direction: Direction) -> Evaluated<Operand<'static>> {
    let [from, by] = take(operands)?;
    let from = from.as_date_time()?;
    let by = match direction {
        Direction::Later => Some(*by.as_day_time_duration()?),
        Direction::Earlier => by.as_day_time_duration()?.negate(),
    };
    found(by.and_then(|by| from.add(by)).map(Value::DateTime))
}

fn move_by_months(operands: &[Operand<'_>], direction: Direction) -> Evaluated<Operand<'static>> {
    let [from, by] = take(operands)?;
    let by = match direction {
        Direction::Later => Some(*by.as_year_month_duration()?),
        Direction::Earlier => by.as_year_month_duration()?.negate(),
    };
    let moved = if let Value::Date(date) = from.as_one()? {
        by.and_then(|by| date.add_months(by)).map(Value::Date)
    } else {
        let date_time = from.as_date_time()?;
        by.and_then(|by| date_time.add_months(by)).map(Value::DateTime)
    };
    found(moved)
}

fn add_time(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    move_by_time(operands, Direction::Later)
}

fn subtract_time(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    move_by_time(operands, Direction::Earlier)
}

fn add_months(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    move_by_months(operands, Direction::Later)
}

fn subtract_months(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    move_by_months(operands, Direction::Earlier)
}

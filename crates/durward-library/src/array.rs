//! The library `array`: sets, sequences and statistics.
//!
//! Elements are the same when `==` says so. `sort`, `avg` and `median` compute with floating point numbers, as the Java
//! engine does; `sum`, `multiply`, `min` and `max` are exact. Texts are in the order of their UTF-16 code units.

use std::cmp::Ordering;
use std::collections::HashSet;

use durward_functions::jvm::{self, double, long, whole};
use durward_functions::limits::{DIGITS_MAX, check_elements, shown};
use durward_functions::table::{row, row_of_any_number, unchecked};
use durward_ir::datatype::Decimal;
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::Parameter::{Array, Number};
use durward_ir::library::{LibraryFunction, kind_of};
use durward_ir::value::{Debugged, Value};
use num_bigint::BigInt;

use crate::set::{SetMember, distinct, set_of};

/// The largest number of elements of a range, as SAPL has it.
const RANGE_MAX: i128 = 65_535;

/// The largest number of pairs of a cross product, as SAPL has it.
const PAIRS_MAX: usize = 65_535;

#[rustfmt::skip]
pub(crate) const FUNCTIONS: &[LibraryFunction] = &[
    row_of_any_number("array.concatenate", Array, concatenate, "The elements of the arrays one after the other."),
    row("array.difference", &[Array, Array], difference,
        "The distinct elements of the first array that are not in the second."),
    row_of_any_number("array.union", Array, union, "The distinct elements of all arrays, each where it first stands."),
    row("array.toSet", &[Array], union, "The distinct elements of the array, each where it first stands."),
    row_of_any_number("array.intersect", Array, intersect, "The distinct elements of the first array that are in all."),
    row("array.containsAllInOrder", &[Array, Array], contains_all_in_order,
        "Whether the elements of the second array stand in the first in this order, with or without others between."),
    row("array.sort", &[Array], sort,
        "The elements in ascending order; an error unless all are numbers or all are texts."),
    row("array.flatten", &[Array], flatten, "The elements, with those of arrays in their place."),
    row("array.reverse", &[Array], reverse, "The elements backwards."),
    row("array.isSet", &[Array], is_set, "Whether no element stands twice."),
    row("array.head", &[Array], |a| end(a, <[Value]>::first), "The first element; an error when there is none."),
    row("array.last", &[Array], |a| end(a, <[Value]>::last), "The last element; an error when there is none."),
    row("array.max", &[Array], |a| extreme(a, Ordering::Greater),
        "The largest of numbers or texts; an error when there is none and for mixed elements."),
    row("array.min", &[Array], |a| extreme(a, Ordering::Less),
        "The smallest of numbers or texts; an error when there is none and for mixed elements."),
    row("array.sum", &[Array], sum, "The sum of the numbers; 0 of none, an error when an element is no number."),
    row("array.multiply", &[Array], multiply,
        "The product of the numbers; 1 of none, an error when an element is no number."),
    row("array.avg", &[Array], average, "The mean of the numbers; an error when there is none and for other elements."),
    row("array.median", &[Array], median,
        "The middle of the numbers, or the mean of the two in the middle; an error when there is none."),
    row("array.range", &[Number, Number], range, "The whole numbers from the first to the second, at most 65,535."),
    row("array.rangeStepped", &[Number, Number, Number], range_stepped,
        "The whole numbers from the first to the second at most, in steps of the third, at most 65,535; an error for \
         the step 0."),
    row("array.crossProduct", &[Array, Array], cross_product, "All pairs of an element of the first and one of the second."),
    row("array.zip", &[Array, Array], zip,
        "The pairs of elements at the same position, up to the end of the shorter array."),
];

/// The elements of arguments that are all arrays.
fn arrays(arguments: &[Value]) -> impl Iterator<Item = &[Value]> {
    arguments
        .iter()
        .filter_map(|argument| if let Value::Array(elements) = argument { Some(&**elements) } else { None })
}

fn array_of(elements: Vec<&Value>) -> Evaluated<Value> {
    check_elements(elements.len())?;
    Ok(Value::array(elements.into_iter().cloned()))
}

fn concatenate(arguments: &[Value]) -> Evaluated<Value> {
    check_elements(arrays(arguments).map(<[Value]>::len).fold(0, usize::saturating_add))?;
    Ok(Value::array(arrays(arguments).flatten().cloned()))
}

fn difference(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Array(all), Value::Array(without)] = arguments else { return unchecked() };
    let without = set_of(without);
    array_of(distinct(all.iter().filter(|element| !without.contains(&SetMember(element)))))
}

fn union(arguments: &[Value]) -> Evaluated<Value> {
    array_of(distinct(arrays(arguments).flatten()))
}

fn intersect(arguments: &[Value]) -> Evaluated<Value> {
    let mut common = distinct(arrays(arguments).take(1).flatten());
    for array in arrays(arguments).skip(1) {
        let array = set_of(array);
        common.retain(|element| array.contains(&SetMember(element)));
    }
    array_of(common)
}

fn contains_all_in_order(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Array(elements), Value::Array(wanted)] = arguments else { return unchecked() };
    let mut wanted = wanted.iter().peekable();
    for element in elements.iter() {
        wanted.next_if(|next| element.equals(next));
    }
    Ok(Value::Boolean(wanted.peek().is_none()))
}

fn not_a(what: &str, element: &Value) -> Box<Fault> {
    Fault::processing(format!("all elements must be {what}, not {}", shortened(element)))
}

/// An element in an error message.
fn shortened(element: &Value) -> String {
    if matches!(element, Value::Array(_) | Value::Object(_)) {
        return kind_of(element).into();
    }
    shown(&Debugged(element).to_string())
}

fn not_comparable(element: &Value) -> Box<Fault> {
    Fault::processing(format!("the elements must be numbers or texts, not {}", shortened(element)))
}

fn numbers(elements: &[Value]) -> Evaluated<Vec<&Decimal>> {
    elements.iter().map(number).collect()
}

fn number(element: &Value) -> Evaluated<&Decimal> {
    if let Value::Number(number) = element { Ok(number) } else { Err(not_a("numbers", element)) }
}

fn texts(elements: &[Value]) -> Evaluated<Vec<&str>> {
    elements.iter().map(text).collect()
}

fn text(element: &Value) -> Evaluated<&str> {
    if let Value::Text(text) = element { Ok(text) } else { Err(not_a("texts", element)) }
}

fn doubles(elements: &[Value]) -> Evaluated<Vec<f64>> {
    Ok(numbers(elements)?.into_iter().map(Decimal::to_f64).collect())
}

/// The first element decides whether numbers or texts are sorted; what is equal stays in its order.
fn sort(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Array(elements)] = arguments else { return unchecked() };
    match elements.first() {
        None => {}
        Some(Value::Number(_)) => {
            let mut keyed: Vec<(f64, &Value)> = doubles(elements)?.into_iter().zip(elements.iter()).collect();
            keyed.sort_by(|(a, _), (b, _)| a.total_cmp(b));
            return Ok(Value::array(keyed.into_iter().map(|(_, element)| element.clone())));
        }
        Some(Value::Text(_)) => {
            let mut keyed: Vec<(&str, &Value)> = texts(elements)?.into_iter().zip(elements.iter()).collect();
            keyed.sort_by(|(a, _), (b, _)| jvm::compare(a, b));
            return Ok(Value::array(keyed.into_iter().map(|(_, element)| element.clone())));
        }
        Some(other) => return Err(not_comparable(other)),
    }
    Ok(Value::Array(elements.clone()))
}

fn flatten(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Array(elements)] = arguments else { return unchecked() };
    let mut flat = Vec::new();
    for element in elements.iter() {
        if let Value::Array(inner) = element {
            flat.extend(inner.iter());
        } else {
            flat.push(element);
        }
        check_elements(flat.len())?;
    }
    array_of(flat)
}

fn reverse(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Array(elements)] = arguments else { return unchecked() };
    Ok(Value::array(elements.iter().rev().cloned()))
}

fn is_set(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Array(elements)] = arguments else { return unchecked() };
    let mut seen = HashSet::new();
    Ok(Value::Boolean(elements.iter().all(|element| seen.insert(SetMember(element)))))
}

fn end(arguments: &[Value], end: impl Fn(&[Value]) -> Option<&Value>) -> Evaluated<Value> {
    let [Value::Array(elements)] = arguments else { return unchecked() };
    end(elements).cloned().ok_or_else(empty)
}

fn empty() -> Box<Fault> {
    Fault::processing("the array is empty")
}

/// The first of equal extremes, with its scale.
fn extreme(arguments: &[Value], wanted: Ordering) -> Evaluated<Value> {
    let [Value::Array(elements)] = arguments else { return unchecked() };
    let mut extreme = elements.first().ok_or_else(empty)?;
    for element in elements.iter() {
        let order = match (element, extreme) {
            (Value::Number(a), Value::Number(b)) => a.cmp(b),
            (Value::Text(a), Value::Text(b)) => jvm::compare(a, b),
            (other, Value::Number(_)) => return Err(not_a("numbers", other)),
            (other, Value::Text(_)) => return Err(not_a("texts", other)),
            (other, _) => return Err(not_comparable(other)),
        };
        if order == wanted {
            extreme = element;
        }
    }
    Ok(extreme.clone())
}

fn check_digits(number: &BigInt, scale: i32) -> Evaluated<()> {
    // A digit has more than three bits.
    if number.bits() > u64::from(DIGITS_MAX) * 3 || scale.unsigned_abs() > DIGITS_MAX {
        return Err(Fault::processing(format!("the result would have more than {DIGITS_MAX} digits")));
    }
    Ok(())
}

/// `BigDecimal.add`: exact, with the larger scale.
fn sum(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Array(elements)] = arguments else { return unchecked() };
    let numbers = numbers(elements)?;
    let scale = numbers.iter().map(|number| number.scale()).fold(0, i32::max);
    let mut sum = BigInt::ZERO;
    for number in numbers {
        let zeros = scale.abs_diff(number.scale());
        check_digits(&BigInt::ZERO, i32::try_from(zeros).unwrap_or(i32::MAX))?;
        sum += number.unscaled() * BigInt::from(10).pow(zeros);
    }
    check_digits(&sum, scale)?;
    Ok(jvm::number(Decimal::new(sum, scale)))
}

/// `BigDecimal.multiply`: exact, with the sum of the scales.
fn multiply(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Array(elements)] = arguments else { return unchecked() };
    let (mut product, mut scale) = (BigInt::from(1), 0_i32);
    for number in numbers(elements)? {
        product *= number.unscaled();
        scale = scale.saturating_add(number.scale());
        check_digits(&product, scale)?;
    }
    Ok(jvm::number(Decimal::new(product, scale)))
}

fn average(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Array(elements)] = arguments else { return unchecked() };
    let doubles = doubles(elements)?;
    if doubles.is_empty() {
        return Err(empty());
    }
    // From zero on and in order, as rounding depends on it.
    let sum = doubles.iter().fold(0.0, |sum, double| sum + double);
    #[expect(clippy::cast_precision_loss, reason = "arrays are shorter than 2^53")]
    double(sum / doubles.len() as f64)
}

fn median(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Array(elements)] = arguments else { return unchecked() };
    let mut doubles = doubles(elements)?;
    doubles.sort_by(f64::total_cmp);
    let middle = doubles.len() / 2;
    let upper = *doubles.get(middle).ok_or_else(empty)?;
    match doubles.get(middle.wrapping_sub(1)) {
        Some(lower) if doubles.len() % 2 == 0 => double((lower + upper) / 2.0),
        Some(_) | None => double(upper),
    }
}

fn range(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Number(from), Value::Number(to)] = arguments else { return unchecked() };
    steps(from, to, &Decimal::ONE)
}

fn range_stepped(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Number(from), Value::Number(to), Value::Number(step)] = arguments else { return unchecked() };
    steps(from, to, step)
}

fn steps(from: &Decimal, to: &Decimal, step: &Decimal) -> Evaluated<Value> {
    let bound = |number: &Decimal| {
        long(number)
            .map(i128::from)
            .ok_or_else(|| Fault::processing(format!("{number} is not a whole number of 64 bits")))
    };
    let (from, to, step) = (bound(from)?, bound(to)?, bound(step)?);
    let Some(last) = (to - from).checked_div(step) else {
        return Err(Fault::processing("the step of a range must not be 0"));
    };
    // Away from the end there is nothing, however small the way.
    let count = if (to - from).signum() * step.signum() < 0 { 0 } else { last + 1 };
    if count > RANGE_MAX {
        return Err(Fault::processing(format!("the range has {count} numbers, more than {RANGE_MAX}")));
    }
    let numbers = (0..count).filter_map(|at| i64::try_from(from + at * step).ok());
    Ok(Value::array(numbers.map(whole)))
}

fn cross_product(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Array(left), Value::Array(right)] = arguments else { return unchecked() };
    let count = left.len().saturating_mul(right.len());
    if count > PAIRS_MAX {
        return Err(Fault::processing(format!("there are {count} pairs, more than {PAIRS_MAX}")));
    }
    let pairs = left.iter().flat_map(|a| right.iter().map(move |b| pair(a, b)));
    Ok(Value::array(pairs))
}

fn zip(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Array(left), Value::Array(right)] = arguments else { return unchecked() };
    Ok(Value::array(left.iter().zip(right.iter()).map(|(a, b)| pair(a, b))))
}

fn pair(a: &Value, b: &Value) -> Value {
    Value::array([a.clone(), b.clone()])
}

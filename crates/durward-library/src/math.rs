//! The library `math`: functions of floating point numbers.
//!
//! Numbers become doubles first, and results are doubles again: `math.abs` of a number of forty digits has seventeen.
//! A whole result of 64 bits is written without a fraction (`math.clamp(5, 1, 3)` is `3`), others with the fewest
//! digits (`1.2676506002282294E+30`).

use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::Number;
use durward_ir::value::Value;

use crate::jvm::double;
use crate::table::{row, unchecked};

#[rustfmt::skip]
pub(crate) const FUNCTIONS: &[LibraryFunction] = &[
    row("math.min", &[Number, Number], |a| binary(a, |a, b| Ok(a.min(b))), "The smaller of two numbers."),
    row("math.max", &[Number, Number], |a| binary(a, |a, b| Ok(a.max(b))), "The larger of two numbers."),
    row("math.abs", &[Number], |a| unary(a, |x| Ok(x.abs())), "The number without its sign."),
    row("math.ceil", &[Number], |a| unary(a, |x| Ok(x.ceil())), "The next whole number up."),
    row("math.floor", &[Number], |a| unary(a, |x| Ok(x.floor())), "The next whole number down."),
    row("math.round", &[Number], |a| unary(a, |x| Ok(round(x))),
        "The nearest whole number, of two the one above: `-3.5` gives `-3`."),
    row("math.pow", &[Number, Number], |a| binary(a, pow),
        "The first number to the power of the second; an error where that is no number."),
    row("math.sqrt", &[Number], |a| unary(a, sqrt), "The square root; an error below zero."),
    row("math.sign", &[Number], |a| unary(a, |x| Ok(sign(x))), "-1, 0 or 1."),
    row("math.clamp", &[Number, Number, Number], clamp,
        "The number, but at least the second and at most the third; an error when these are in the wrong order."),
    row("math.pi", &[], |_| double(std::f64::consts::PI), "The circumference of a circle of diameter 1."),
    row("math.e", &[], |_| double(std::f64::consts::E), "The base of natural logarithms."),
    row("math.log", &[Number], |a| unary(a, |x| Ok(positive(x)?.ln())),
        "The natural logarithm; an error at zero and below."),
    row("math.log10", &[Number], |a| unary(a, |x| Ok(positive(x)?.log10())),
        "The logarithm to base 10; an error at zero and below."),
    row("math.logb", &[Number, Number], |a| binary(a, logarithm),
        "The logarithm to this base; an error at zero and below, and for the base 1."),
];

fn unary(arguments: &[Value], compute: impl Fn(f64) -> Evaluated<f64>) -> Evaluated<Value> {
    let [Value::Number(x)] = arguments else { return unchecked() };
    double(compute(x.to_f64())?)
}

fn binary(arguments: &[Value], compute: impl Fn(f64, f64) -> Evaluated<f64>) -> Evaluated<Value> {
    let [Value::Number(a), Value::Number(b)] = arguments else { return unchecked() };
    double(compute(a.to_f64(), b.to_f64())?)
}

/// `Math.round`: 64 bits, of two nearest the one above, and beyond 64 bits the last of them.
fn round(x: f64) -> f64 {
    let below = x.floor();
    let nearest = if x - below >= 0.5 { below + 1.0 } else { below };
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "what Java does")]
    return nearest as i64 as f64;
}

fn pow(base: f64, exponent: f64) -> Evaluated<f64> {
    // Java's power of an infinite exponent is no number for the bases 1 and -1, IEEE 754's is 1.
    let power = base.powf(exponent);
    if power.is_nan() || (base.abs() == 1.0 && exponent.is_infinite()) {
        return Err(Fault::processing(
            "the power is not a number, as of a negative base with a fraction above it",
        ));
    }
    Ok(power)
}

fn sqrt(x: f64) -> Evaluated<f64> {
    if x < 0.0 {
        return Err(Fault::processing("a negative number has no square root"));
    }
    Ok(x.sqrt())
}

fn sign(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x.signum() }
}

fn positive(x: f64) -> Evaluated<f64> {
    if x <= 0.0 {
        return Err(Fault::processing("only numbers above zero have a logarithm"));
    }
    Ok(x)
}

fn logarithm(x: f64, base: f64) -> Evaluated<f64> {
    let x = positive(x)?;
    #[expect(clippy::float_cmp, reason = "only the base 1 itself has no logarithms")]
    if base <= 0.0 || base == 1.0 {
        return Err(Fault::processing("the base of a logarithm must be above zero and not 1"));
    }
    Ok(x.ln() / base.ln())
}

fn clamp(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Number(x), Value::Number(least), Value::Number(most)] = arguments else { return unchecked() };
    let (least, most) = (least.to_f64(), most.to_f64());
    if least > most {
        return Err(Fault::processing("the least value is above the largest"));
    }
    double(x.to_f64().max(least).min(most))
}

//! The library `math`: functions of numbers.
//!
//! `min`, `max`, `abs`, `sign` and the roundings are exact. The others compute with floating point numbers, which are
//! written as Java writes them: `math.clamp(5, 2, 3)` is `3.0`, `math.pow(2, 100)` is `1.2676506002282294E+30`.

use durward_functions::jvm::{ceiling, double, floor, log10, number};
use durward_functions::table::{row, unchecked};
use durward_ir::datatype::Decimal;
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::Number;
use durward_ir::value::Value;

use num_bigint::BigInt;

#[rustfmt::skip]
pub(crate) const FUNCTIONS: &[LibraryFunction] = &[
    row("math.min", &[Number, Number], |a| choose(a, |a, b| a <= b), "The smaller of two numbers."),
    row("math.max", &[Number, Number], |a| choose(a, |a, b| a >= b), "The larger of two numbers."),
    row("math.abs", &[Number], |a| exact(a, Decimal::abs), "The number without its sign."),
    row("math.ceil", &[Number], |a| exact(a, ceiling), "The next whole number up."),
    row("math.floor", &[Number], |a| exact(a, floor), "The next whole number down."),
    row("math.round", &[Number], round, "The nearest whole number, of two the one above: `-3.5` gives `-3`."),
    row("math.pow", &[Number, Number], |a| binary(a, pow),
        "The first number to the power of the second; an error where that is no number."),
    row("math.sqrt", &[Number], |a| unary(a, sqrt), "The square root; an error below zero."),
    row("math.sign", &[Number], |a| exact(a, |x| Decimal::from(i64::from(x.signum()))), "-1, 0 or 1."),
    row("math.clamp", &[Number, Number, Number], clamp,
        "The number, but at least the second and at most the third; an error when these are in the wrong order."),
    row("math.pi", &[], |_| double(std::f64::consts::PI),
        "The constant pi."),
    row("math.e", &[], |_| double(std::f64::consts::E),
        "Euler's number, the base of natural logarithms."),
    row("math.log", &[Number], |a| unary(a, |x| Ok(positive(x)?.ln())),
        "The natural logarithm; an error at zero and below."),
    row("math.log10", &[Number], |a| unary(a, |x| Ok(log10(positive(x)?))),
        "The logarithm to base 10; an error at zero and below."),
    row("math.logb", &[Number, Number], |a| binary(a, logarithm),
        "The logarithm of the first number to the base of the second; an error at zero and below, and for the \
         base 1."),
];

/// The first of two numbers if this holds, otherwise the second, as it is written.
fn choose(arguments: &[Value], first: impl Fn(&Decimal, &Decimal) -> bool) -> Evaluated<Value> {
    let [Value::Number(a), Value::Number(b)] = arguments else { return unchecked() };
    Ok(number(if first(a, b) { a.clone() } else { b.clone() }))
}

fn exact(arguments: &[Value], compute: impl Fn(&Decimal) -> Decimal) -> Evaluated<Value> {
    let [Value::Number(x)] = arguments else { return unchecked() };
    Ok(number(compute(x)))
}

/// Half of one is added, whatever the sign.
fn round(arguments: &[Value]) -> Evaluated<Value> {
    exact(arguments, |x| {
        // Below a whole number there is nothing to round, and twice the fraction tells whether it goes up.
        let below = floor(x);
        let above = ceiling(x);
        let middle = Decimal::new((below.unscaled() + above.unscaled()) * 5, 1);
        if *x >= middle { above } else { below }
    })
}

fn unary(arguments: &[Value], compute: impl Fn(f64) -> Evaluated<f64>) -> Evaluated<Value> {
    let [Value::Number(x)] = arguments else { return unchecked() };
    double(compute(x.to_f64())?)
}

fn binary(arguments: &[Value], compute: impl Fn(f64, f64) -> Evaluated<f64>) -> Evaluated<Value> {
    let [Value::Number(a), Value::Number(b)] = arguments else { return unchecked() };
    double(compute(a.to_f64(), b.to_f64())?)
}

/// The power of a whole number to a small whole exponent, rounded once, as Java's is; `powf` may be off by one in the last
/// place where the power lies between two doubles.
fn whole_power(base: f64, exponent: f64) -> Option<f64> {
    const BASE_MAX: f64 = 9_007_199_254_740_992.0;
    let is_small = base.fract() == 0.0 && base.abs() <= BASE_MAX && (2.0..=64.0).contains(&exponent);
    if !is_small || exponent.fract() != 0.0 || base == 0.0 {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number within the bounds above"
    )]
    let (base, exponent) = (base as i64, exponent as u32);
    // Reading digits rounds once, to the nearest.
    BigInt::from(base).pow(exponent).to_string().parse().ok()
}

fn pow(base: f64, exponent: f64) -> Evaluated<f64> {
    // Java's power of an infinite exponent is no number for the bases 1 and -1, IEEE 754's is 1.
    let power = whole_power(base, exponent).unwrap_or_else(|| base.powf(exponent));
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
    // 0 is above the -0 that a tiny negative number becomes.
    if least.total_cmp(&most).is_gt() {
        return Err(Fault::processing("the least value is above the largest"));
    }
    double(x.to_f64().max(least).min(most))
}

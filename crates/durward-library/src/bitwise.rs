//! The library `bitwise`: whole numbers of 64 bits in two's complement.
//!
//! A number must be written without a fraction: `2.0` is none of these, as in the Java engine.

use durward_functions::jvm::{long, whole};
use durward_functions::table::{row, unchecked};
use durward_ir::datatype::Decimal;
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::Number;
use durward_ir::value::Value;

#[rustfmt::skip]
pub(crate) const FUNCTIONS: &[LibraryFunction] = &[
    row("bitwise.bitwiseAnd", &[Number, Number], |a| both(a, |a, b| a & b), "The bits that are set in both."),
    row("bitwise.bitwiseOr", &[Number, Number], |a| both(a, |a, b| a | b), "The bits that are set in either."),
    row("bitwise.bitwiseXor", &[Number, Number], |a| both(a, |a, b| a ^ b), "The bits that are set in one of them."),
    row("bitwise.bitwiseNot", &[Number], |a| one(a, |value| whole(!value)),
        "The number with every bit inverted."),
    row("bitwise.testBit", &[Number, Number], |a| at(a, |value, at| Value::Boolean(value & mask(at) != 0)),
        "Whether the bit (0 to 63) is set."),
    row("bitwise.setBit", &[Number, Number], |a| at(a, |value, at| whole(value | mask(at))),
        "The number with this bit (0 to 63) set."),
    row("bitwise.clearBit", &[Number, Number], |a| at(a, |value, at| whole(value & !mask(at))),
        "The number with this bit (0 to 63) cleared."),
    row("bitwise.toggleBit", &[Number, Number], |a| at(a, |value, at| whole(value ^ mask(at))),
        "The number with this bit (0 to 63) inverted."),
    row("bitwise.bitCount", &[Number], |a| one(a, |value| whole(value.count_ones())), "How many bits are set."),
    row("bitwise.leftShift", &[Number, Number], |a| at(a, |value, by| whole(value.wrapping_shl(by))),
        "The bits shifted left by 0 to 63; zeros are shifted in."),
    row("bitwise.rightShift", &[Number, Number], |a| at(a, |value, by| whole(value.wrapping_shr(by))),
        "The bits shifted right by 0 to 63; copies of the sign bit are shifted in."),
    row("bitwise.unsignedRightShift", &[Number, Number],
        |a| at(a, |value, by| whole(value.cast_unsigned().wrapping_shr(by).cast_signed())),
        "The bits shifted right by 0 to 63; zeros are shifted in."),
    row("bitwise.rotateLeft", &[Number, Number], |a| at(a, |value, by| whole(value.rotate_left(by))),
        "The bits rotated left by 0 to 63."),
    row("bitwise.rotateRight", &[Number, Number], |a| at(a, |value, by| whole(value.rotate_right(by))),
        "The bits rotated right by 0 to 63."),
    row("bitwise.leadingZeros", &[Number], |a| one(a, |value| whole(value.leading_zeros())),
        "How many bits are clear above the highest that is set; 64 of zero."),
    row("bitwise.trailingZeros", &[Number], |a| one(a, |value| whole(value.trailing_zeros())),
        "How many bits are clear below the lowest that is set; 64 of zero."),
    row("bitwise.reverseBits", &[Number], |a| one(a, |value| whole(value.reverse_bits())),
        "The bits in the reverse order."),
    row("bitwise.isPowerOfTwo", &[Number],
        |a| one(a, |value| Value::Boolean(value > 0 && value.cast_unsigned().is_power_of_two())),
        "Whether exactly one bit is set, and not the sign."),
];

const fn mask(at: u32) -> i64 {
    1 << at
}

fn bits(number: &Decimal) -> Evaluated<i64> {
    long(number).ok_or_else(|| Fault::processing(format!("{number} is not a whole number of 64 bits")))
}

fn one(arguments: &[Value], value: impl Fn(i64) -> Value) -> Evaluated<Value> {
    let [Value::Number(operand)] = arguments else { return unchecked() };
    Ok(value(bits(operand)?))
}

fn both(arguments: &[Value], combine: impl Fn(i64, i64) -> i64) -> Evaluated<Value> {
    let [Value::Number(a), Value::Number(b)] = arguments else { return unchecked() };
    Ok(whole(combine(bits(a)?, bits(b)?)))
}

fn at(arguments: &[Value], value: impl Fn(i64, u32) -> Value) -> Evaluated<Value> {
    let [Value::Number(operand), Value::Number(place)] = arguments else { return unchecked() };
    let at = long(place)
        .and_then(|at| u32::try_from(at).ok())
        .filter(|at| *at < i64::BITS)
        .ok_or_else(|| Fault::processing(format!("a bit and a shift must be 0 to 63, not {place}")))?;
    Ok(value(bits(operand)?, at))
}

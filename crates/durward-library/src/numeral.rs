//! The library `numeral`: whole numbers of 64 bits in two's complement, written with the bases 2, 8 and 16.

use durward_functions::jvm::{self, whole};
use durward_functions::limits::shown;
use durward_functions::table::{row, unchecked};
use durward_ir::datatype::Decimal;
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::{Number, Text};
use durward_ir::value::Value;

/// The largest width that numbers are padded to, as SAPL has it.
const WIDTH_MAX: i64 = 256;

#[rustfmt::skip]
pub(crate) const FUNCTIONS: &[LibraryFunction] = &[
    row("numeral.fromHex", &[Text], |a| parse(a, &HEX), "The number of a hexadecimal text such as `0xFF` or `ff_ff`."),
    row("numeral.fromBinary", &[Text], |a| parse(a, &BINARY), "The number of a binary text such as `0b1010` or `1010`."),
    row("numeral.fromOctal", &[Text], |a| parse(a, &OCTAL), "The number of an octal text such as `0o755` or `755`."),
    row("numeral.toHex", &[Number], |a| write(a, &HEX, ""), "The number in hexadecimal, with capital letters."),
    row("numeral.toBinary", &[Number], |a| write(a, &BINARY, ""), "The number in binary."),
    row("numeral.toOctal", &[Number], |a| write(a, &OCTAL, ""), "The number in octal."),
    row("numeral.toHexPrefixed", &[Number], |a| write(a, &HEX, "0x"), "The number in hexadecimal, after `0x`."),
    row("numeral.toBinaryPrefixed", &[Number], |a| write(a, &BINARY, "0b"), "The number in binary, after `0b`."),
    row("numeral.toOctalPrefixed", &[Number], |a| write(a, &OCTAL, "0o"), "The number in octal, after `0o`."),
    row("numeral.toHexPadded", &[Number, Number], |a| pad(a, &HEX),
        "The number in hexadecimal, with zeros before it up to a width of 1 to 256."),
    row("numeral.toBinaryPadded", &[Number, Number], |a| pad(a, &BINARY),
        "The number in binary, with zeros before it up to a width of 1 to 256."),
    row("numeral.toOctalPadded", &[Number, Number], |a| pad(a, &OCTAL),
        "The number in octal, with zeros before it up to a width of 1 to 256."),
    row("numeral.isValidHex", &[Text], |a| is_valid(a, &HEX), "Whether `fromHex` reads the text."),
    row("numeral.isValidBinary", &[Text], |a| is_valid(a, &BINARY), "Whether `fromBinary` reads the text."),
    row("numeral.isValidOctal", &[Text], |a| is_valid(a, &OCTAL), "Whether `fromOctal` reads the text."),
];

struct NumeralBase {
    name: &'static str,
    radix: u32,
    prefixes: [&'static str; 2],
    write: fn(i64) -> String,
}

const HEX: NumeralBase = NumeralBase {
    name: "hexadecimal",
    radix: 16,
    prefixes: ["0x", "0X"],
    write: |number| format!("{number:X}"),
};
const BINARY: NumeralBase =
    NumeralBase { name: "binary", radix: 2, prefixes: ["0b", "0B"], write: |number| format!("{number:b}") };
const OCTAL: NumeralBase =
    NumeralBase { name: "octal", radix: 8, prefixes: ["0o", "0O"], write: |number| format!("{number:o}") };

/// White space around, a minus, the prefix, a plus, and then digits with underscores anywhere among them: what
/// `Long.parseUnsignedLong` takes, after the engine took the rest away. A minus turns the number's sign over.
fn read(text: &str, base: &NumeralBase) -> Option<i64> {
    let stripped = jvm::strip(text);
    let (negative, rest) = match stripped.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, stripped),
    };
    let digits =
        base.prefixes.iter().find_map(|prefix| rest.strip_prefix(prefix)).unwrap_or(rest).replace('_', "");
    let number = u64::from_str_radix(&jvm::ascii_digits(&digits), base.radix).ok()?.cast_signed();
    Some(if negative { number.wrapping_neg() } else { number })
}

fn parse(arguments: &[Value], base: &NumeralBase) -> Evaluated<Value> {
    let [Value::Text(text)] = arguments else { return unchecked() };
    match read(text, base) {
        Some(number) => Ok(whole(number)),
        None => Err(Fault::processing(format!("`{}` is not a {} number of 64 bits", shown(text), base.name))),
    }
}

fn is_valid(arguments: &[Value], base: &NumeralBase) -> Evaluated<Value> {
    let [Value::Text(text)] = arguments else { return unchecked() };
    Ok(Value::Boolean(read(text, base).is_some()))
}

fn digits(number: &Decimal, base: &NumeralBase) -> Evaluated<String> {
    match number.to_i64() {
        Some(long) => Ok((base.write)(long)),
        None => Err(Fault::processing(format!("{number} is not a whole number of 64 bits"))),
    }
}

fn write(arguments: &[Value], base: &NumeralBase, prefix: &str) -> Evaluated<Value> {
    let [Value::Number(number)] = arguments else { return unchecked() };
    Ok(Value::Text(format!("{prefix}{}", digits(number, base)?).into()))
}

fn pad(arguments: &[Value], base: &NumeralBase) -> Evaluated<Value> {
    let [Value::Number(number), Value::Number(width)] = arguments else { return unchecked() };
    let wanted = width.to_i64().filter(|width| (1..=WIDTH_MAX).contains(width));
    let Some(wanted) = wanted.and_then(|wanted| usize::try_from(wanted).ok()) else {
        return Err(Fault::processing(format!("the width must be 1 to {WIDTH_MAX}, not {width}")));
    };
    Ok(Value::Text(format!("{:0>wanted$}", digits(number, base)?).into()))
}

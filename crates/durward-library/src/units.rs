//! The library `units`: numbers with a unit behind them, such as `10K` and `1.5 GiB`.

use durward_functions::jvm;
use durward_functions::table::{row, unchecked};
use durward_ir::datatype::Decimal;
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::Text;
use durward_ir::value::Value;

/// The longest text that is read, in UTF-16 code units, as SAPL has it.
const LENGTH_MAX: usize = 110;

#[rustfmt::skip]
pub(crate) const FUNCTIONS: &[LibraryFunction] = &[
    row("units.parse", &[Text], |a| parse(a, unit),
        "The number times its unit: `m` (thousandths), or `K`, `M`, `G`, `T`, `P`, `E`, with `i` behind it for powers of \
         1024; an error for anything else."),
    row("units.parseBytes", &[Text], |a| parse(a, byte_unit),
        "The number of bytes: as `parse`, without thousandths, in any case, up to `T`, with or without `B`."),
];

fn parse(arguments: &[Value], multiplier: impl Fn(&str) -> Option<i64>) -> Evaluated<Value> {
    let [Value::Text(text)] = arguments else { return unchecked() };
    let text = jvm::trim(text);
    if jvm::length(text) > LENGTH_MAX {
        return Err(Fault::processing(format!("a number with a unit has at most {LENGTH_MAX} characters")));
    }
    let wrong =
        || Fault::processing(format!("`{text}` is not a number with a unit such as `10K` or `1.5 GiB`"));
    let (digits, rest) = number_and_rest(text).ok_or_else(wrong)?;
    let number = decimal(&jvm::ascii_digits(digits)).ok_or_else(wrong)?;
    // The engine skips any white space, and then looks for the unit behind blanks and control characters alone.
    let name = jvm::trim(rest);
    if name == "m" && multiplier("m").is_none() {
        return Ok(jvm::number(Decimal::new(number.unscaled(), number.scale() + 3)));
    }
    let multiplier = multiplier(name)
        .ok_or_else(|| Fault::processing(format!("`{name}` in `{text}` is not a known unit")))?;
    Ok(jvm::number(Decimal::new(number.unscaled() * multiplier, number.scale())))
}

/// A number whose exponent may be as large as Java's scales.
fn decimal(text: &str) -> Option<Decimal> {
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let number = Decimal::parse(digits).ok()?;
    let exponent: i32 = exponent.parse().ok()?;
    // Multiplying by a unit adds three at most.
    let scale = number.scale().checked_sub(exponent).filter(|scale| *scale < i32::MAX - 3)?;
    Some(Decimal::new(number.unscaled(), scale))
}

/// Sign, digits, a point with or without digits, and an exponent if it has digits: `1E` is one exa.
fn number_and_rest(text: &str) -> Option<(&str, &str)> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut rest = after_digits(unsigned);
    if rest.len() == unsigned.len() {
        return None;
    }
    rest = rest.strip_prefix('.').map_or(rest, after_digits);
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let behind = after_digits(unsigned);
        if behind.len() < unsigned.len() {
            rest = behind;
        }
    }
    text.split_at_checked(text.len() - rest.len())
}

fn after_digits(text: &str) -> &str {
    text.trim_start_matches(|character: char| jvm::digit(character).is_some())
}

/// Thousandths are left to the caller, who divides.
fn unit(name: &str) -> Option<i64> {
    match name {
        "" => Some(1),
        "m" => None,
        _ => prefix(name),
    }
}

fn byte_unit(name: &str) -> Option<i64> {
    match name.strip_suffix(['B', 'b']).unwrap_or(name) {
        "" => Some(1),
        "m" => prefix("M"),
        name => prefix(name).filter(|multiplier| *multiplier < 1_000_000_000_000_000),
    }
}

fn prefix(name: &str) -> Option<i64> {
    Some(match name.to_uppercase().as_str() {
        "K" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "P" => 1_000_000_000_000_000,
        "E" => 1_000_000_000_000_000_000,
        "KI" => 1 << 10,
        "MI" => 1 << 20,
        "GI" => 1 << 30,
        "TI" => 1 << 40,
        "PI" => 1 << 50,
        "EI" => 1 << 60,
        _ => return None,
    })
}

//! Keywords about numbers and texts.

use durward_ir::datatype::Decimal;
use durward_ir::fault::Evaluated;
use durward_ir::value::Value;

use super::{integer, nonsense};
use crate::jsonschema::keyword::{OfNumber, OfText};
use crate::jsonschema::pattern::Pattern;

pub(super) fn of_text(name: &str, value: &Value) -> Evaluated<Option<OfText>> {
    Ok(match name {
        "minLength" => integer(value).map(OfText::MinLength),
        "maxLength" => integer(value).map(OfText::MaxLength),
        "pattern" => {
            let Value::Text(text) = value else { return Ok(None) };
            Some(OfText::Pattern(Pattern::compile(text)?))
        }
        _ => None,
    })
}

pub(super) fn of_number(name: &str, value: &Value) -> Evaluated<Option<OfNumber>> {
    Ok(match name {
        "minimum" => Some(OfNumber::Minimum(number(name, value)?)),
        "maximum" => Some(OfNumber::Maximum(number(name, value)?)),
        "exclusiveMinimum" => Some(OfNumber::ExclusiveMinimum(number(name, value)?)),
        "exclusiveMaximum" => Some(OfNumber::ExclusiveMaximum(number(name, value)?)),
        "multipleOf" => {
            let Value::Number(divisor) = value else { return Ok(None) };
            (!divisor.is_zero()).then(|| OfNumber::MultipleOf(divisor.clone()))
        }
        _ => None,
    })
}

fn number(name: &str, value: &Value) -> Evaluated<Decimal> {
    let Value::Number(number) = value else { return Err(nonsense(name, "a number")) };
    Ok(number.clone())
}

//! Keywords about numbers and texts.

use durward_ir::datatype::Decimal;
use durward_ir::fault::Evaluated;
use durward_ir::value::{Object, Value};

use super::{integer, nonsense};
use crate::jsonschema::format;
use crate::jsonschema::keyword::{OfNumber, OfText};
use crate::jsonschema::pattern::SchemaPattern;

pub(super) fn of_text(name: &str, value: &Value, is_format_held: bool) -> Evaluated<Option<OfText>> {
    Ok(match name {
        "format" if is_format_held => {
            let Value::Text(name) = value else { return Ok(None) };
            format::named(name)?.map(OfText::Format)
        }
        "minLength" => integer(value).map(OfText::MinLength),
        "maxLength" => integer(value).map(OfText::MaxLength),
        "pattern" => {
            let Value::Text(text) = value else { return Ok(None) };
            Some(OfText::Pattern(SchemaPattern::compile(text)?))
        }
        _ => None,
    })
}

/// In Draft 4 `exclusiveMinimum` and `exclusiveMaximum` are booleans that belong to the limits beside them.
pub(super) fn of_number(
    object: &Object,
    name: &str,
    value: &Value,
    is_draft_4: bool,
) -> Evaluated<Option<OfNumber>> {
    let is_excluded = |name: &str| matches!(object.get(name), Some(Value::Boolean(true)));
    Ok(match name {
        "minimum" if is_draft_4 && is_excluded("exclusiveMinimum") => {
            Some(OfNumber::MinimumExcluded(number(name, value)?))
        }
        "maximum" if is_draft_4 && is_excluded("exclusiveMaximum") => {
            Some(OfNumber::MaximumExcluded(number(name, value)?))
        }
        "exclusiveMinimum" | "exclusiveMaximum" if is_draft_4 => None,
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

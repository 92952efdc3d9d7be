//! Values as tests write them.

use durward_pdp::Value;
use durward_pdp::ir::datatype::Decimal;
use durward_pdp::ir::structure::negative;
use durward_pdp::ir::value::ObjectBuilder;
use durward_pdp::sapl::syntax::tree::{Expr, ExprKind, UnaryOperator};

use crate::error::PlayError;

/// The value of a literal. As in policies, what is undefined within an array or an object is not there.
///
/// # Errors
/// A number out of bounds. Anything but a literal, which the grammar of tests does not let through.
pub(crate) fn value(expression: &Expr) -> Result<Value, PlayError> {
    match &expression.kind {
        ExprKind::Null => Ok(Value::Null),
        ExprKind::Undefined => Ok(Value::Undefined),
        ExprKind::Boolean(boolean) => Ok(Value::Boolean(*boolean)),
        ExprKind::Number(digits) => number(digits),
        ExprKind::Text(text) => Ok(Value::Text(text.clone())),
        ExprKind::Array(elements) => {
            let values: Vec<Value> = elements.iter().map(value).collect::<Result<_, _>>()?;
            Ok(Value::array(values.into_iter().filter(|value| !value.is_undefined())))
        }
        ExprKind::Object(entries) => {
            let mut object = ObjectBuilder::with_capacity(entries.len());
            for entry in entries {
                let value = value(&entry.value)?;
                if !value.is_undefined() {
                    object.insert(entry.key.clone(), value);
                }
            }
            Ok(Value::Object(object.finish().into()))
        }
        ExprKind::Unary { operator, operand, .. } => signed(*operator, &value(operand)?),
        ExprKind::Identifier(_)
        | ExprKind::RelativeValue
        | ExprKind::RelativeLocation
        | ExprKind::Call(_)
        | ExprKind::Attribute(_)
        | ExprKind::Steps { .. }
        | ExprKind::Comparison(_)
        | ExprKind::Chain(_)
        | ExprKind::Filter { .. }
        | ExprKind::Subtemplate { .. }
        | ExprKind::Error => Err(PlayError::new("a value must be written out here")),
    }
}

/// A number, as tests and matchers write it.
pub(crate) fn number(digits: &str) -> Result<Value, PlayError> {
    let unsigned = digits.strip_prefix('+').unwrap_or(digits);
    let number = Decimal::parse(unsigned).map(Value::number);
    number.map_err(|reason| PlayError::new(format!("`{digits}` is no number: {reason}")))
}

fn signed(operator: UnaryOperator, operand: &Value) -> Result<Value, PlayError> {
    match operator {
        UnaryOperator::Minus => negative(operand).map_err(|fault| PlayError::new(fault.message)),
        UnaryOperator::Plus => Ok(operand.clone()),
        UnaryOperator::Not => Err(PlayError::new("a value must be written out here")),
    }
}

/// Most characters of a value shown in a message.
const QUOTED_CHARS_MAX: usize = 400;

/// A value for a message: its JSON, or `undefined`.
pub(crate) fn shown(value: &Value) -> String {
    if value.is_undefined() { "undefined".to_owned() } else { cut(&value.to_json()) }
}

/// A text for a message, not longer than bearable.
pub(crate) fn cut(text: &str) -> String {
    match text.char_indices().nth(QUOTED_CHARS_MAX) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

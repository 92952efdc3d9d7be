//! Keywords about types, constants, numbers and texts.

use std::cmp::Ordering;

use durward_ir::datatype::Decimal;
use durward_ir::fault::Evaluated;
use durward_ir::value::Value;
use num_bigint::BigInt;

use super::{SchemaEvaluation, type_of};
use crate::jsonschema::keyword::{OfNumber, OfText, Types};
use crate::jsonschema::message;

impl<'a> SchemaEvaluation<'a> {
    pub(super) fn type_is(&mut self, types: &'a Types, value: &Value) -> Evaluated<bool> {
        if types.allows(value) {
            return Ok(true);
        }
        self.violated(|| format!("{} found, {} expected", type_of(value).0, types.text))
    }

    pub(super) fn one_of_values(&mut self, values: &'a [Value], value: &Value) -> Evaluated<bool> {
        self.spend(values.len())?;
        if values.iter().any(|allowed| allowed.equals(value)) {
            return Ok(true);
        }
        self.violated(|| match values {
            [] => "does not have a value in the enumeration [none]".to_owned(),
            some => format!("does not have a value in the enumeration {}", message::enumeration(some)),
        })
    }

    pub(super) fn constant(&mut self, constant: &'a Value, value: &Value) -> Evaluated<bool> {
        if constant.equals(value) {
            return Ok(true);
        }
        self.violated(|| format!("must be the constant value '{}'", message::constant(constant)))
    }

    pub(super) fn number(&mut self, keyword: &'a OfNumber, value: &Value) -> Evaluated<bool> {
        let Value::Number(number) = value else { return Ok(true) };
        let (fulfilled, words, limit) = match keyword {
            OfNumber::Minimum(limit) => (number >= limit, "have a minimum value of", limit),
            OfNumber::Maximum(limit) => (number <= limit, "have a maximum value of", limit),
            OfNumber::ExclusiveMinimum(limit) => {
                (number > limit, "have an exclusive minimum value of", limit)
            }
            OfNumber::ExclusiveMaximum(limit) => {
                (number < limit, "have an exclusive maximum value of", limit)
            }
            OfNumber::MinimumExcluded(limit) => (number > limit, "have a minimum value of", limit),
            OfNumber::MaximumExcluded(limit) => (number < limit, "have a maximum value of", limit),
            OfNumber::MultipleOf(divisor) => {
                if is_multiple(number, divisor) {
                    return Ok(true);
                }
                return self.violated(|| format!("must be multiple of {}", message::formatted(divisor)));
            }
        };
        if fulfilled {
            return Ok(true);
        }
        self.violated(|| format!("must {words} {limit}"))
    }

    pub(super) fn text(&mut self, keyword: &'a OfText, value: &Value) -> Evaluated<bool> {
        let Value::Text(text) = value else { return Ok(true) };
        let length = || i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        match keyword {
            OfText::MinLength(least) if length() < *least => {
                self.violated(|| format!("must be at least {} characters long", message::count(*least)))
            }
            OfText::MaxLength(most) if length() > *most => {
                self.violated(|| format!("must be at most {} characters long", message::count(*most)))
            }
            OfText::Pattern(pattern) if !pattern.is_found(text)? => {
                self.violated(|| format!("does not match the regex pattern {}", pattern.as_str()))
            }
            OfText::Format(format) if !format.matches(text)? => {
                self.violated(|| format!("does not match the {} pattern{}", format.name, format.words))
            }
            OfText::MinLength(_) | OfText::MaxLength(_) | OfText::Pattern(_) | OfText::Format(_) => Ok(true),
        }
    }
}

/// Whether the number is a whole multiple of the divisor, exactly. Scales are at most 1000, so the powers are bounded.
fn is_multiple(number: &Decimal, divisor: &Decimal) -> bool {
    let scale = number.scale().max(divisor.scale());
    let raised =
        |decimal: &Decimal| decimal.unscaled() * BigInt::from(10).pow(scale.abs_diff(decimal.scale()));
    let remainder = raised(number) % raised(divisor);
    remainder.cmp(&BigInt::ZERO) == Ordering::Equal
}

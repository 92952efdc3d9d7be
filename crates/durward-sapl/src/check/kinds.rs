//! What kinds of value an expression can have, as far as its text tells.

use std::fmt;

use durward_ir::Value;
use durward_ir::library::Parameter;

/// Some of the kinds of values there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    pub(super) const NONE: Kinds = Kinds(0);
    pub(super) const NULL: Kinds = Kinds(1);
    pub(super) const UNDEFINED: Kinds = Kinds(1 << 1);
    pub(super) const BOOLEAN: Kinds = Kinds(1 << 2);
    pub(super) const NUMBER: Kinds = Kinds(1 << 3);
    pub(super) const TEXT: Kinds = Kinds(1 << 4);
    pub(super) const ARRAY: Kinds = Kinds(1 << 5);
    pub(super) const OBJECT: Kinds = Kinds(1 << 6);
    pub(super) const ANY: Kinds = Kinds((1 << 7) - 1);

    const NAMES: [(Kinds, &'static str); 7] = [
        (Kinds::NULL, "null"),
        (Kinds::UNDEFINED, "undefined"),
        (Kinds::BOOLEAN, "true or false"),
        (Kinds::NUMBER, "a number"),
        (Kinds::TEXT, "a text"),
        (Kinds::ARRAY, "an array"),
        (Kinds::OBJECT, "an object"),
    ];

    pub(super) const fn or(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    pub(super) const fn without(self, other: Kinds) -> Kinds {
        Kinds(self.0 & !other.0)
    }

    /// Whether a value can be of both.
    pub(super) const fn meets(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn of(value: &Value) -> Kinds {
        match value {
            Value::Null => Kinds::NULL,
            Value::Undefined => Kinds::UNDEFINED,
            Value::Boolean(_) => Kinds::BOOLEAN,
            Value::Number(_) => Kinds::NUMBER,
            Value::Text(_) => Kinds::TEXT,
            Value::Array(_) => Kinds::ARRAY,
            Value::Object(_) => Kinds::OBJECT,
            // No values of SAPL; nothing is said of them.
            Value::Integer(_)
            | Value::Double(_)
            | Value::Time(_)
            | Value::Date(_)
            | Value::DateTime(_)
            | Value::DayTimeDuration(_)
            | Value::YearMonthDuration(_)
            | Value::AnyUri(_)
            | Value::HexBinary(_)
            | Value::Base64Binary(_)
            | Value::Rfc822Name(_)
            | Value::X500Name(_)
            | Value::IpAddress(_)
            | Value::DnsName(_)
            | Value::XPathExpression(_)
            | Value::Opaque(_) => Kinds::ANY,
        }
    }

    /// What an argument may be.
    pub(super) const fn taken_by(parameter: Parameter) -> Kinds {
        match parameter {
            Parameter::Any => Kinds::ANY,
            Parameter::Boolean => Kinds::BOOLEAN,
            Parameter::Number => Kinds::NUMBER,
            Parameter::Text => Kinds::TEXT,
            Parameter::Array => Kinds::ARRAY,
            Parameter::Object => Kinds::OBJECT,
        }
    }
}

impl fmt::Display for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> =
            Kinds::NAMES.iter().filter(|(kind, _)| self.meets(*kind)).map(|(_, name)| *name).collect();
        f.write_str(&names.join(" or "))
    }
}

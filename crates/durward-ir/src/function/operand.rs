//! Making operands and taking them apart.
//!
//! Programs are type-checked when they are loaded, so that the faults here are never met; they are faults and
//! not panics because a wrong type must cost one decision at most.

use std::borrow::Cow;

use crate::datatype::{
    Date, DateTime, DayTimeDuration, DnsName, Integer, IpAddress, Rfc822Name, Time, X500Name,
    XPathExpression, YearMonthDuration,
};
use crate::fault::{Evaluated, Fault};
use crate::value::{DataType, Operand, Value};

impl<'a> Operand<'a> {
    /// One value.
    pub fn one(value: Value) -> Operand<'static> {
        Operand::One(Cow::Owned(value))
    }

    /// A bag of these values.
    pub fn bag(values: Vec<Value>) -> Operand<'static> {
        Operand::Bag(Cow::Owned(values))
    }

    /// A truth value.
    pub fn boolean(boolean: bool) -> Operand<'static> {
        Operand::one(Value::Boolean(boolean))
    }

    /// The one value.
    ///
    /// # Errors
    /// A processing error when the operand is a bag.
    pub fn as_one(&self) -> Evaluated<&Value> {
        match self {
            Operand::One(value) => Ok(value),
            Operand::Bag(_) => Err(Fault::processing("one value was expected where a bag was given")),
        }
    }

    /// The values of the bag.
    ///
    /// # Errors
    /// A processing error when the operand is one value.
    pub fn as_bag(&self) -> Evaluated<&[Value]> {
        match self {
            Operand::Bag(values) => Ok(values),
            Operand::One(_) => Err(Fault::processing("a bag was expected where one value was given")),
        }
    }

    /// The same operand without a borrow.
    pub fn into_owned(self) -> Operand<'static> {
        match self {
            Operand::One(value) => Operand::One(Cow::Owned(value.into_owned())),
            Operand::Bag(values) => Operand::Bag(Cow::Owned(values.into_owned())),
        }
    }
}

#[cold]
fn wrong_type(expected: DataType, found: &Value) -> Box<Fault> {
    Fault::processing(format!("a value of type `{expected}` was expected, not `{}`", found.data_type()))
}

/// The typed ways to take the one value of an operand.
macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident, $variant:ident => $kind:ty;)*) => {
        impl Operand<'_> { $(
            $(#[$doc])*
            ///
            /// # Errors
            /// A processing error when the operand is a bag or of another type.
            pub fn $name(&self) -> Evaluated<&$kind> {
                match self.as_one()? {
                    Value::$variant(content) => Ok(content),
                    other => Err(wrong_type(DataType::$variant, other)),
                }
            }
        )* }
    };
}

getters! {
    /// The content of a `string`.
    as_text, Text => str;
    /// The content of an `anyURI`.
    as_uri, AnyUri => str;
    /// The content of an `integer`.
    as_integer, Integer => Integer;
    /// The content of a `time`.
    as_time, Time => Time;
    /// The content of a `date`.
    as_date, Date => Date;
    /// The content of a `dateTime`.
    as_date_time, DateTime => DateTime;
    /// The content of a `dayTimeDuration`.
    as_day_time_duration, DayTimeDuration => DayTimeDuration;
    /// The content of a `yearMonthDuration`.
    as_year_month_duration, YearMonthDuration => YearMonthDuration;
    /// The content of an `rfc822Name`.
    as_rfc822_name, Rfc822Name => Rfc822Name;
    /// The content of an `x500Name`.
    as_x500_name, X500Name => X500Name;
    /// The content of an `ipAddress`.
    as_ip_address, IpAddress => IpAddress;
    /// The content of a `dnsName`.
    as_dns_name, DnsName => DnsName;
    /// The content of an `xpathExpression`.
    as_xpath_expression, XPathExpression => XPathExpression;
}

impl Operand<'_> {
    /// The content of a `boolean`.
    ///
    /// # Errors
    /// A processing error when the operand is a bag or of another type.
    pub fn as_boolean(&self) -> Evaluated<bool> {
        let value = self.as_one()?;
        if let Value::Boolean(boolean) = value {
            Ok(*boolean)
        } else {
            Err(wrong_type(DataType::Boolean, value))
        }
    }

    /// The content of a `double`.
    ///
    /// # Errors
    /// A processing error when the operand is a bag or of another type.
    pub fn as_double(&self) -> Evaluated<f64> {
        let value = self.as_one()?;
        if let Value::Double(double) = value { Ok(*double) } else { Err(wrong_type(DataType::Double, value)) }
    }
}

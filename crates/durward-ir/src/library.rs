//! Functions of policies that are named `library.function`: what they take and how they are called. The functions
//! themselves are in the crate `durward-library`, and in those that it lists.

use std::borrow::Cow;
use std::fmt;

use crate::fault::{Evaluated, Fault};
use crate::value::{DataType, Value};

/// A function of a library: a pure function of its arguments.
#[derive(Clone, Copy, Debug)]
pub struct LibraryFunction {
    /// The library and the function, such as `string.length`. Overloads are several functions of one name.
    pub name: &'static str,
    /// What the arguments must be, in order.
    pub parameters: &'static [Parameter],
    /// What any further arguments must be; without it there may be none.
    pub rest: Option<Parameter>,
    /// Computes the result. It relies on the number and the types of the arguments: [`LibraryFunction::call`] checks.
    pub run: fn(&[Value]) -> Evaluated<Value>,
    /// One sentence for the documentation: what it gives, and its errors.
    pub doc: &'static str,
}

/// What an argument of a library function must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parameter {
    /// Any value, `undefined` too.
    Any,
    /// A boolean.
    Boolean,
    /// A number.
    Number,
    /// A text.
    Text,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl Parameter {
    /// Whether the value may stand for this parameter.
    pub const fn takes(self, value: &Value) -> bool {
        match self {
            Parameter::Any => true,
            Parameter::Boolean => matches!(value, Value::Boolean(_)),
            Parameter::Number => matches!(value, Value::Number(_)),
            Parameter::Text => matches!(value, Value::Text(_)),
            Parameter::Array => matches!(value, Value::Array(_)),
            Parameter::Object => matches!(value, Value::Object(_)),
        }
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Parameter::Any => "value",
            Parameter::Boolean => "boolean",
            Parameter::Number => "number",
            Parameter::Text => "text",
            Parameter::Array => "array",
            Parameter::Object => "object",
        })
    }
}

/// The kind of a value in the words of SAPL's users, with its article where it has one: `a text`, `undefined`.
pub fn kind_of(value: &Value) -> Cow<'static, str> {
    let data_type = value.data_type();
    if data_type == DataType::Text {
        return "a text".into();
    }
    if matches!(data_type, DataType::Null | DataType::Undefined) {
        return data_type.short_name().into();
    }
    format!("{}{data_type}", data_type.article()).into()
}

impl LibraryFunction {
    /// Whether the function can be called with so many arguments.
    pub const fn takes_count(&self, count: usize) -> bool {
        match self.rest {
            Some(_) => count >= self.parameters.len(),
            None => count == self.parameters.len(),
        }
    }

    /// Checks the arguments and computes the result.
    ///
    /// # Errors
    /// The number or the type of the arguments is wrong, or the function has no result for them.
    pub fn call(&self, arguments: &[Value]) -> Evaluated<Value> {
        if !self.takes_count(arguments.len()) {
            return Err(self.wrong_count(arguments.len()));
        }
        let wanted = self.parameters.iter().copied().chain(self.rest.into_iter().cycle());
        for (at, (argument, parameter)) in arguments.iter().zip(wanted).enumerate() {
            if !parameter.takes(argument) {
                return Err(self.wrong_kind(at, parameter, argument));
            }
        }
        (self.run)(arguments)
    }

    fn wrong_count(&self, count: usize) -> Box<Fault> {
        let wanted = self.parameters.len();
        let least = if self.rest.is_some() { "at least " } else { "" };
        let plural = if wanted == 1 { "" } else { "s" };
        Fault::processing(format!("`{}` takes {least}{wanted} argument{plural}, {count} given", self.name))
    }

    fn wrong_kind(&self, at: usize, wanted: Parameter, argument: &Value) -> Box<Fault> {
        let article = if matches!(wanted, Parameter::Array | Parameter::Object) { "an" } else { "a" };
        let kind = kind_of(argument);
        let number = at + 1;
        Fault::processing(format!(
            "argument {number} of `{}` must be {article} {wanted}, not {kind}",
            self.name
        ))
    }
}

impl fmt::Display for LibraryFunction {
    /// The name with its parameters: `string.concat(text...)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.name)?;
        for (at, parameter) in self.parameters.iter().enumerate() {
            write!(f, "{}{parameter}", if at > 0 { ", " } else { "" })?;
        }
        if let Some(rest) = self.rest {
            write!(f, "{}{rest}...", if self.parameters.is_empty() { "" } else { ", " })?;
        }
        f.write_str(")")
    }
}

//! How tests call functions: rows of a name, arguments and what comes back.

#![expect(clippy::expect_used, clippy::panic, reason = "tests fail by panics")]

use durward_ir::Value;
use durward_ir::datatype::Decimal;
use durward_ir::library::LibraryFunction;

use crate::fixture::call_with;

#[doc(inline)]
pub use crate::{array, object, values};

/// What can be written as an argument, and as a value in an array or an object.
pub trait LiteralArgument {
    /// The value that is written so.
    fn value(self) -> Value;
}

impl LiteralArgument for Value {
    fn value(self) -> Value {
        self
    }
}

impl LiteralArgument for &str {
    fn value(self) -> Value {
        Value::Text(self.into())
    }
}

impl LiteralArgument for i64 {
    fn value(self) -> Value {
        Value::Number(Decimal::from(self))
    }
}

impl LiteralArgument for bool {
    fn value(self) -> Value {
        Value::Boolean(self)
    }
}

/// A number as written, with its scale.
///
/// # Panics
/// The text is no number.
pub fn decimal(text: &str) -> Value {
    Value::Number(Decimal::parse(text).unwrap_or_else(|why| panic!("{text}: {why}")))
}

/// Arguments, or the values of an array: whatever is a [`LiteralArgument`](crate::check::LiteralArgument).
#[macro_export]
macro_rules! values {
    ($($value:expr),* $(,)?) => { vec![$($crate::check::LiteralArgument::value($value)),*] };
}

/// An array of these values.
#[macro_export]
macro_rules! array {
    ($($value:expr),* $(,)?) => { ::durward_ir::Value::array($crate::check::values![$($value),*]) };
}

/// An object of these keys and values.
#[macro_export]
macro_rules! object {
    ($($key:literal : $value:expr),* $(,)?) => {
        ::durward_ir::Value::object::<&str>([$(($key, $crate::check::LiteralArgument::value($value))),*])
    };
}

/// One call and what it gives: the name of the function, its arguments, and what [`TestedLibrary::call`] gives.
pub type CallExample<'a> = (&'a str, Vec<Value>, Result<&'a str, &'a str>);

/// The functions of the library that is tested.
#[derive(Clone, Copy, Debug)]
pub struct TestedLibrary(pub &'static [LibraryFunction]);

impl TestedLibrary {
    /// The result of a call: the value as JSON, or the message of the fault.
    ///
    /// # Errors
    /// The function refuses the arguments.
    ///
    /// # Panics
    /// No function of the library has this name and takes so many arguments.
    pub fn call(self, name: &str, arguments: &[Value]) -> Result<String, String> {
        call_with(self.0, name, arguments).map(|value| value.to_json()).map_err(|fault| fault.message)
    }

    /// Calls every row and compares.
    ///
    /// # Panics
    /// A call gives something else.
    pub fn rows(self, rows: &[CallExample<'_>]) {
        for (name, arguments, wanted) in rows {
            let given = self.call(name, arguments);
            let given = given.as_deref().map_err(String::as_str);
            assert_eq!(given, *wanted, "{name} of {arguments:?}");
        }
    }

    /// Every row is a fault whose message starts so.
    ///
    /// # Panics
    /// A call gives a value, or another fault.
    pub fn faults(self, rows: &[(&str, Vec<Value>, &str)]) {
        for (name, arguments, start) in rows {
            let given = self.call(name, arguments);
            let message = given.expect_err(&format!("{name} of {arguments:?} gives a value"));
            assert!(message.starts_with(start), "{name} of {arguments:?}: {message}");
        }
    }

    /// Whether every function is in a row; a library calls this with all its rows.
    ///
    /// # Panics
    /// No row calls one of them.
    pub fn all_called(self, rows: &[CallExample<'_>]) {
        for function in self.0 {
            assert!(rows.iter().any(|(name, ..)| *name == function.name), "no row calls {}", function.name);
        }
    }
}

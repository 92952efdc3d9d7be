//! How tests call functions: rows of a name, arguments and what comes back.

use durward_ir::Value;
use durward_ir::datatype::Decimal;

/// What can be written as an argument.
pub(crate) trait LiteralArgument {
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

/// A number as written.
pub(crate) fn decimal(text: &str) -> Value {
    Value::Number(Decimal::parse(text).unwrap_or_else(|why| panic!("{text}: {why}")))
}

/// Arguments, or the values of an array.
macro_rules! values {
    ($($value:expr),* $(,)?) => { vec![$($crate::check::LiteralArgument::value($value)),*] };
}
pub(crate) use values;

/// An array of these values.
macro_rules! array {
    ($($value:expr),* $(,)?) => { ::durward_ir::Value::array($crate::check::values![$($value),*]) };
}
pub(crate) use array;

/// An object of these keys and values.
macro_rules! object {
    ($($key:literal : $value:expr),* $(,)?) => {
        ::durward_ir::Value::object::<&str>([$(($key, $crate::check::LiteralArgument::value($value))),*])
    };
}
pub(crate) use object;

/// The result of a call: the value as JSON, or the message of the fault.
pub(crate) fn call(name: &str, arguments: &[Value]) -> Result<String, String> {
    let function = crate::find(name, arguments.len()).unwrap_or_else(|| panic!("no function `{name}`"));
    function.call(arguments).map(|value| value.to_json()).map_err(|fault| fault.message)
}

/// One call and what it gives.
pub(crate) type CallExample<'a> = (&'a str, Vec<Value>, Result<&'a str, &'a str>);

/// Calls every row and compares.
pub(crate) fn rows(rows: &[CallExample<'_>]) {
    for (name, arguments, wanted) in rows {
        let given = call(name, arguments);
        let given = given.as_deref().map_err(String::as_str);
        assert_eq!(given, *wanted, "{name} of {arguments:?}");
    }
}

/// Every row is a fault whose message starts so.
pub(crate) fn faults(rows: &[(&str, Vec<Value>, &str)]) {
    for (name, arguments, start) in rows {
        let given = call(name, arguments);
        let message = given.expect_err(&format!("{name} of {arguments:?} gives a value"));
        assert!(message.starts_with(start), "{name} of {arguments:?}: {message}");
    }
}

/// Whether every function of the library is in a row; a library calls this with all its rows.
pub(crate) fn all_called(library: &str, rows: &[CallExample<'_>]) {
    for function in crate::all().filter(|function| function.name.starts_with(library)) {
        assert!(rows.iter().any(|(name, ..)| *name == function.name), "no row calls {}", function.name);
    }
}

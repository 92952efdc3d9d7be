//! How the tables of functions are written down.

use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::{LibraryFunction, Parameter};
use durward_ir::value::Value;

/// A function of a fixed number of arguments: its full name, what the arguments must be, what computes the result, and a sentence for
/// the documentation.
pub const fn row(
    name: &'static str,
    parameters: &'static [Parameter],
    run: fn(&[Value]) -> Evaluated<Value>,
    doc: &'static str,
) -> LibraryFunction {
    LibraryFunction { name, parameters, rest: None, run, doc }
}

/// A function of any number of arguments of one type, none among them; the rest is as in [`row`].
pub const fn row_of_any_number(
    name: &'static str,
    rest: Parameter,
    run: fn(&[Value]) -> Evaluated<Value>,
    doc: &'static str,
) -> LibraryFunction {
    LibraryFunction { name, parameters: &[], rest: Some(rest), run, doc }
}

/// What a function says to arguments that its table does not name: whoever called it did not check them. It never gives a value.
///
/// # Errors
/// Always.
pub fn unchecked() -> Evaluated<Value> {
    Err(Fault::processing("the number or the types of the arguments were not checked"))
}

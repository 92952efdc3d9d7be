//! Values of every data type: what is read, written and read again is equal; the canonical form is its own.
//!
//! The first line of an input is the short name of a data type, the rest is the value's text.

use durward_ir::{DataType, Value};

pub(crate) fn run(input: &[u8]) {
    let input = crate::text(input);
    let Some((name, text)) = input.split_once('\n') else { return };
    let Some(data_type) = DataType::from_short_name(name) else { return };
    let Ok(value) = Value::parse(data_type, text) else { return };
    same(&value, &again(&value, &value.lexical()));
    // A canonical time may equal another than it came from: it is told apart by the day it lost.
    let canonical = value.canonical();
    same(&canonical, &again(&canonical, &canonical.lexical()).canonical());
}

fn again(value: &Value, text: &str) -> Value {
    match Value::parse(value.data_type(), text) {
        Ok(again) => again,
        Err(error) => panic!("{value:?} written `{text}`: {error}"),
    }
}

/// NaN alone does not equal itself.
fn same(value: &Value, again: &Value) {
    if again.equals(value) {
        assert_eq!(again.content_hash(), value.content_hash(), "{value:?}");
    } else {
        assert_eq!(value.lexical(), "NaN", "{value:?} is read again as {again:?}");
    }
}

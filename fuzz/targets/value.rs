//! Values of every data type: what is read, written and read again is equal.
//!
//! The first line of an input is the short name of a data type, the rest is the value's text.
#![no_main]

use durward_ir::{DataType, Value};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let Some((name, text)) = input.split_once('\n') else { return };
    let Some(data_type) = DataType::from_short_name(name) else { return };
    let Ok(value) = Value::parse(data_type, text) else { return };
    same(data_type, &value, &value.lexical());
    same(data_type, &value, &value.canonical().lexical());
});

/// `text` is another way to write `value`. NaN alone does not equal itself.
fn same(data_type: DataType, value: &Value, text: &str) {
    match Value::parse(data_type, text) {
        Ok(again) if again.equals(value) => {
            assert_eq!(again.content_hash(), value.content_hash(), "{text:?}")
        }
        Ok(again) => assert!(text == "NaN", "{value:?} written `{text}` is read as {again:?}"),
        Err(error) => panic!("{value:?} written `{text}`: {error}"),
    }
}

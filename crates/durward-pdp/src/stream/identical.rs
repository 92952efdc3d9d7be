//! Whether two values are the same to the last digit: stricter than equality, for which `1` is `1.0`.

use durward_ir::Value;
use durward_ir::fault::Evaluated;

/// Whether nothing could tell the two apart. Values that only XACML has may be called different though they are the same:
/// that costs a decision, no more.
pub(crate) fn identical(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Null, Value::Null) | (Value::Undefined, Value::Undefined) => true,
        (Value::Boolean(a), Value::Boolean(b)) => a == b,
        (Value::Text(a), Value::Text(b)) => a == b,
        (Value::Number(a), Value::Number(b)) => a == b && a.scale() == b.scale(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(&**b).all(|(a, b)| identical(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a.0 == b.0 && identical(a.1, b.1))
        }
        _ => false,
    }
}

/// As [`identical`], errors included.
pub(crate) fn identical_results(a: &Evaluated<Value>, b: &Evaluated<Value>) -> bool {
    match (a, b) {
        (Ok(a), Ok(b)) => identical(a, b),
        (Err(a), Err(b)) => a == b,
        (Ok(_), Err(_)) | (Err(_), Ok(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use durward_ir::Fault;
    use durward_ir::datatype::Decimal;

    use super::*;

    fn number(text: &str) -> Value {
        Value::Number(Decimal::parse(text).unwrap())
    }

    #[test]
    fn digits_and_the_order_of_keys_count() {
        let object = |keys: [&str; 2]| Value::object(keys.map(|key| (key, Value::Null)));
        for (a, b, are_same) in [
            (number("1"), number("1"), true),
            (number("1"), number("1.0"), false),
            (object(["a", "b"]), object(["a", "b"]), true),
            (object(["a", "b"]), object(["b", "a"]), false),
            (Value::array([number("1")]), Value::array([number("1.0")]), false),
            (Value::Null, Value::Undefined, false),
        ] {
            assert_eq!(identical(&a, &b), are_same, "{a:?} {b:?}");
        }
        assert!(identical_results(&Err(Fault::processing("a")), &Err(Fault::processing("a"))));
        assert!(!identical_results(&Err(Fault::processing("a")), &Ok(Value::Null)));
    }
}

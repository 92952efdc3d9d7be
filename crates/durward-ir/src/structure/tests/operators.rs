//! Operators.

use super::*;

#[test]
fn texts_take_anything_behind_them() {
    let with = |value: Value| add(&text("a"), &value);
    for (value, joined) in [
        (number("1"), "a1"),
        (number("1.50"), "a1.50"),
        (number("1e3"), "a1E+3"),
        (text("x"), "ax"),
        (Value::Boolean(true), "atrue"),
        (Value::Null, "anull"),
        (Value::Undefined, "aundefined"),
        (Value::array([number("1"), text("x")]), "a[1, \"x\"]"),
        (object([("k", text("v")), ("l", Value::Null)]), "a{\"k\"=\"v\", \"l\"=null}"),
        (Value::array([]), "a[]"),
        (object([]), "a{}"),
    ] {
        assert_eq!(with(value).unwrap().as_text(), Some(joined));
    }
    fails(add(&number("1"), &text("a")), "a number is needed, but `\"a\"` is a text");
    let long = text(&"x".repeat(1 << 19));
    let longer = add(&long, &long).unwrap();
    fails(add(&longer, &text("y")), "the joined text is longer than 1048576 bytes");
}

#[test]
fn numbers_are_computed_with() {
    let (two, three) = (number("2"), number("3"));
    gives(add(&number("0.1"), &number("0.2")), "0.3");
    gives(subtract(&two, &three), "-1");
    gives(multiply(&two, &number("3.50")), "7.00");
    gives(divide(&two, &three), "0.6666666666666666666666666666666667");
    gives(remainder(&number("-7"), &three), "2");
    gives(negative(&two), "-2");
    gives(positive(&number("1.50")), "1.50");
    fails(divide(&two, &number("0")), "division by zero");
    fails(negative(&Value::Null), "a number is needed, but `null` is null");
    fails(positive(&Value::Boolean(true)), "a number is needed, but `true` is a boolean");
    fails(multiply(&one_to_five(), &two), "a number is needed, but `[1, 2, 3, 4, 5]` is an array");
}

#[test]
fn only_numbers_are_compared() {
    let order = [number("-1e3"), number("0"), number("0.5"), number("1e3")];
    for (i, a) in order.iter().enumerate() {
        for (j, b) in order.iter().enumerate() {
            assert_eq!(compare(Comparison::Less, a, b), Ok(i < j));
            assert_eq!(compare(Comparison::LessOrEqual, a, b), Ok(i <= j));
            assert_eq!(compare(Comparison::Greater, a, b), Ok(i > j));
            assert_eq!(compare(Comparison::GreaterOrEqual, a, b), Ok(i >= j));
        }
    }
    assert_eq!(compare(Comparison::LessOrEqual, &number("1"), &number("1.0")), Ok(true));
    for other in [text("2"), Value::Undefined, Value::Null] {
        assert!(compare(Comparison::Less, &number("1"), &other).is_err());
        assert!(compare(Comparison::Less, &other, &number("1")).is_err());
    }
}

#[test]
fn equality_is_deep_and_numeric() {
    let left = object([("a", number("1")), ("b", numbers(&["2.0"]))]);
    let right = object([("b", numbers(&["2"])), ("a", number("1.00"))]);
    assert!(left.equals(&right));
    assert_eq!(left.content_hash(), right.content_hash());
    assert!(!left.equals(&object([("a", number("1"))])));
    assert!(!numbers(&["1", "2"]).equals(&numbers(&["2", "1"])));
    assert!(!text("1").equals(&number("1")));
    assert!(Value::Undefined.equals(&Value::Undefined));
    assert!(!Value::Undefined.equals(&Value::Null));
    assert!(Value::Null.equals(&Value::Null));
}

#[test]
fn logic_takes_booleans() {
    let (yes, no) = (Value::Boolean(true), Value::Boolean(false));
    assert_eq!(not(&yes), Ok(false));
    assert_eq!(exclusive_or(&yes, &yes), Ok(false));
    assert_eq!(exclusive_or(&yes, &no), Ok(true));
    fails(not(&Value::Undefined), "a boolean is needed, but `undefined` is undefined");
    fails(exclusive_or(&number("1"), &no), "a boolean is needed, but `1` is a number");
}

#[test]
fn values_are_found_in_arrays_objects_and_texts() {
    let numbers = numbers(&["1.0", "2"]);
    assert_eq!(is_in(&number("1"), &numbers), Ok(true));
    assert_eq!(is_in(&number("3"), &numbers), Ok(false));
    assert_eq!(is_in(&Value::Undefined, &numbers), Ok(false));
    assert_eq!(is_in(&numbers, &Value::array([numbers.clone(), number("2")])), Ok(true));
    assert_eq!(is_in(&text("k"), &object([("k", text("a"))])), Ok(false));
    assert_eq!(is_in(&text("a"), &object([("k", text("a"))])), Ok(true));
    assert_eq!(is_in(&text("b"), &text("abc")), Ok(true));
    assert_eq!(is_in(&text(""), &text("abc")), Ok(true));
    fails(
        is_in(&number("1"), &text("123")),
        "`in` looks for values in arrays and objects, and for texts in texts, not for `1` in `\"123\"`",
    );
    assert!(is_in(&number("1"), &Value::Undefined).is_err());
    assert!(is_in(&text("1"), &Value::Null).is_err());
}

#[test]
fn any_and_all_look_for_elements() {
    let haystack = numbers(&["1", "2", "3"]);
    assert_eq!(any_in(&numbers(&["1", "5"]), &haystack), Ok(true));
    assert_eq!(any_in(&numbers(&["5"]), &haystack), Ok(false));
    assert_eq!(all_in(&numbers(&["1", "9"]), &haystack), Ok(false));
    assert_eq!(all_in(&numbers(&["1", "3"]), &haystack), Ok(true));
    assert_eq!(any_in(&Value::array([]), &Value::Undefined), Ok(false));
    assert_eq!(all_in(&Value::array([]), &Value::Undefined), Ok(true));
    assert_eq!(any_in(&texts(&["a", "z"]), &text("abc")), Ok(true));
    assert_eq!(all_in(&texts(&["a", "z"]), &object([("k", text("a")), ("j", text("z"))])), Ok(true));
    assert!(any_in(&numbers(&["1"]), &Value::Undefined).is_err());
    fails(any_in(&text("a"), &haystack), "the left side of `any in` must be an array, not a text");
    fails(all_in(&Value::Undefined, &haystack), "the left side of `all in` must be an array, not undefined");
}

#[test]
fn objects_have_keys_and_nothing_else_does() {
    let base = object([("a", number("1"))]);
    assert_eq!(has(&base, &text("a")), Ok(true));
    assert_eq!(has(&base, &text("b")), Ok(false));
    assert_eq!(has(&text("abc"), &text("a")), Ok(false));
    assert_eq!(has(&Value::Undefined, &text("a")), Ok(false));
    assert_eq!(has(&base, &Value::Undefined), Ok(false));
    fails(has(&text("abc"), &number("1")), "the key of `has` must be a text, not a number");
    assert_eq!(has_any(&base, &texts(&["b", "a"])), Ok(true));
    assert_eq!(has_all(&base, &texts(&["a", "b"])), Ok(false));
    assert_eq!(has_any(&base, &Value::array([])), Ok(false));
    assert_eq!(has_all(&base, &Value::array([])), Ok(true));
    assert_eq!(has_all(&text("a"), &Value::array([])), Ok(false));
    assert_eq!(has_any(&Value::Undefined, &number("1")), Ok(false));
    let mixed = Value::array([text("a"), number("1")]);
    fails(has_any(&base, &mixed), "key 1 of `has any` must be a text, not a number");
    fails(has_all(&base, &text("a")), "the keys of `has all` must be an array, not a text");
}

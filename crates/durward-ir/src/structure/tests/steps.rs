//! Steps.

use super::*;

#[test]
fn keys_lead_into_objects_and_through_arrays() {
    let subject = subject();
    gives(Ok(key(&subject, "name")), "\"alice\"");
    gives(Ok(key(&subject, "missing")), "undefined");
    gives(Ok(key(&key(&subject, "missing"), "deeper")), "undefined");
    gives(Ok(key(&key(&subject, "name"), "x")), "undefined");
    gives(Ok(key(&Value::Null, "a")), "undefined");
    let arr = key(&nested(), "arr");
    gives(Ok(key(&arr, "x")), "[4]");
    gives(Ok(key_of(&arr, &Key::new("k"))), "[2, 3]");
    gives(Ok(key(&numbers(&["1"]), "k")), "[]");
    gives(keys(&subject, &["name", "zzz", "role", "name"].map(Key::new)), "[\"alice\", \"doctor\"]");
    fails(keys(&arr, &[Key::new("k")]), "a list of keys needs an object, not an array");
}

#[test]
fn indices_count_from_either_end() {
    let roles = texts(&["a", "b"]);
    gives(index(&roles, 0), "\"a\"");
    gives(index(&roles, -1), "\"b\"");
    gives(index(&roles, -2), "\"a\"");
    fails(index(&roles, 5), "there is no index 5 in an array of 2 elements");
    fails(index(&roles, -3), "there is no index -3 in an array of 2 elements");
    assert!(index(&roles, i64::MIN).is_err() && index(&roles, i64::MAX).is_err());
    fails(index(&text("alice"), 0), "an index needs an array, not a text");
    fails(index(&Value::Undefined, 0), "an index needs an array, not undefined");
    let tags = texts(&["x", "y", "z"]);
    gives(indices(&tags, &[0, 2]), "[\"x\", \"z\"]");
    gives(indices(&tags, &[2, 2, -1]), "[\"z\"]");
    gives(indices(&tags, &[9, 0, -4]), "[\"x\"]");
    gives(indices(&tags, &[-1, 0]), "[\"x\", \"z\"]");
    assert!(indices(&subject(), &[0, 1]).is_err());
}

#[test]
fn computed_steps_are_keys_or_whole_indices() {
    gives(lookup(&one_to_five(), &number("2")), "3");
    gives(lookup(&one_to_five(), &number("2.0")), "3");
    gives(lookup(&one_to_five(), &number("-1")), "5");
    gives(lookup(&subject(), &text("zzz")), "undefined");
    gives(lookup(&subject(), &text("age")), "42");
    gives(lookup(&key(&nested(), "arr"), &text("k")), "[2, 3]");
    fails(lookup(&one_to_five(), &number("9")), "there is no index 9 in an array of 5 elements");
    fails(lookup(&one_to_five(), &number("1.7")), "an index must be a whole number, not `1.7`");
    assert!(lookup(&one_to_five(), &number("1e999")).is_err());
    fails(
        lookup(&one_to_five(), &Value::Undefined),
        "`[(..)]` needs a text or a whole number, not undefined",
    );
    fails(lookup(&one_to_five(), &Value::Null), "`[(..)]` needs a text or a whole number, not null");
}

#[test]
fn the_wildcard_gives_all_values() {
    gives(wildcard(&nested()), "[{\"k\"=1}, [{\"k\"=2}, {\"k\"=3}, {\"x\"=4}]]");
    gives(wildcard(&numbers(&["1"])), "[1]");
    fails(wildcard(&Value::Undefined), "`*` needs an array or an object, not undefined");
    assert!(wildcard(&Value::Null).is_err());
}

#[test]
fn slices_are_those_of_python() {
    let of_five = |from, to, step| slice(&one_to_five(), Slice { from, to, step });
    gives(of_five(None, Some(2), None), "[1, 2]");
    gives(of_five(Some(2), None, None), "[3, 4, 5]");
    gives(of_five(None, None, Some(2)), "[1, 3, 5]");
    gives(of_five(None, None, Some(-2)), "[5, 3, 1]");
    gives(of_five(Some(-2), None, None), "[4, 5]");
    gives(of_five(Some(3), Some(1), Some(-1)), "[4, 3]");
    gives(of_five(Some(10), None, None), "[]");
    gives(of_five(Some(10), None, Some(-3)), "[3]");
    gives(of_five(Some(-100), Some(2), None), "[1, 2]");
    gives(of_five(Some(i64::MIN), Some(i64::MAX), Some(i64::MAX)), "[1]");
    gives(of_five(Some(3), Some(1), None), "[]");
    gives(slice(&Value::array([]), Slice { from: None, to: None, step: Some(-1) }), "[]");
    fails(of_five(None, None, Some(0)), "the step of a slice must not be 0");
    fails(slice(&Value::Undefined, Slice::default()), "a slice needs an array, not undefined");
}

#[test]
fn conditions_keep_elements() {
    let is_k = |element: Relative<'_>| Ok(Value::Boolean(element.location.equals(&text("k"))));
    gives(condition(&nested(), is_k), "[{\"k\"=1}]");
    let third = |element: Relative<'_>| Ok(Value::Boolean(element.location.equals(&number("2"))));
    gives(condition(&one_to_five(), third), "[3]");
    let greater = |element: Relative<'_>| {
        compare(Comparison::Greater, &key(element.value, "k"), &number("2")).map(Value::Boolean)
    };
    fails(condition(&key(&nested(), "arr"), greater), "a number is needed, but `undefined` is undefined");
    let always = |_: Relative<'_>| Ok(Value::Boolean(true));
    fails(condition(&text("alice"), always), "a condition needs an array or an object, not a text");
    fails(condition(&one_to_five(), |_| Ok(Value::Null)), "a condition must be true or false, not null");
    gives(condition(&Value::array([]), |_| Ok(Value::Null)), "[]");
}

#[test]
fn descents_meet_the_outer_before_the_inner() {
    let nested = nested();
    gives(descendants_of(&nested, &Key::new("k")), "[{\"k\"=1}, 1, 2, 3]");
    let everything =
        "[{\"k\"=1}, 1, [{\"k\"=2}, {\"k\"=3}, {\"x\"=4}], {\"k\"=2}, 2, {\"k\"=3}, 3, {\"x\"=4}, 4]";
    gives(all_descendants(&nested), everything);
    let inner = Value::array([numbers(&["1", "2"]), numbers(&["3"])]);
    gives(descendants_at(&inner, 0), "[[1, 2], 1, 3]");
    gives(descendants_at(&inner, -1), "[[3], 2, 3]");
    gives(descendants_of(&text("x"), &Key::new("k")), "[]");
    gives(all_descendants(&Value::Undefined), "[]");
}

#[test]
fn descents_have_a_limit() {
    let deep = |levels: usize| (0..levels).fold(number("1"), |value, _| Value::array([value]));
    assert!(all_descendants(&deep(500)).is_ok());
    fails(all_descendants(&deep(501)), "the value is nested deeper than 500 levels");
    assert!(descendants_of(&deep(500), &Key::new("k")).is_ok());
    assert!(descendants_at(&deep(501), 0).is_err());
}

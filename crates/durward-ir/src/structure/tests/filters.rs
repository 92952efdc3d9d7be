//! Templates and filters.

use super::*;

fn doubled(element: Relative<'_>) -> Evaluated<Value> {
    multiply(element.value, &number("2"))
}

#[test]
fn templates_map_elements_and_keep_undefined() {
    gives(template(&one_to_five(), doubled), "[2, 4, 6, 8, 10]");
    gives(template(&one_to_five(), |element| add(element.value, &element.location)), "[1, 3, 5, 7, 9]");
    gives(template(&nested(), |element| Ok(element.location)), "[\"k\", \"arr\"]");
    gives(template(&object([]), doubled), "[]");
    gives(template(&text("alice"), |element| Ok(element.location)), "0");
    gives(template(&Value::Null, |element| Ok(element.value.clone())), "null");
    gives(template(&Value::Undefined, doubled), "undefined");
    gives(template(&numbers(&["1", "2"]), |_| Ok(Value::Undefined)), "[undefined, undefined]");
    assert!(template(&texts(&["a"]), doubled).is_err());
}

#[test]
fn each_maps_elements_and_drops_undefined() {
    gives(each(&numbers(&["1", "2"]), doubled), "[2, 4]");
    gives(each(&object([("a", number("1"))]), doubled), "{\"a\"=2}");
    gives(each(&number("3"), doubled), "6");
    let odd = |element: Relative<'_>| {
        let even = remainder(element.value, &number("2"))?.equals(&number("0"));
        Ok(if even { Value::Undefined } else { element.value.clone() })
    };
    gives(each(&one_to_five(), odd), "[1, 3, 5]");
    assert!(each(&texts(&["a"]), doubled).is_err());
}

/// Filters with a path whose expressions are closures.
type Step = PathStep<fn(&Relative<'_>) -> Evaluated<Value>>;

fn filtered(base: &Value, path: &[Step], apply: impl Fn(&Value) -> Evaluated<Value>) -> Evaluated<Value> {
    filter(base, path, &mut |value| apply(value), &mut |expression, relative| expression(relative))
}

fn removed(base: &Value, path: &[Step]) -> Evaluated<Value> {
    filtered(base, path, |_| Ok(Value::Undefined))
}

fn replaced(base: &Value, path: &[Step]) -> Evaluated<Value> {
    filtered(base, path, |_| Ok(number("0")))
}

fn at(key: &str) -> Step {
    PathStep::Key(Key::new(key))
}

#[test]
fn paths_lead_to_keys_and_indices() {
    let base = object([("a", numbers(&["1", "2", "3"])), ("b", text("x"))]);
    gives(removed(&base, &[at("b")]), "{\"a\"=[1, 2, 3]}");
    gives(replaced(&base, &[at("a"), PathStep::Index(0)]), "{\"a\"=[0, 2, 3], \"b\"=\"x\"}");
    gives(removed(&base, &[at("a"), PathStep::Index(-1)]), "{\"a\"=[1, 2], \"b\"=\"x\"}");
    gives(replaced(&base, &[at("a"), PathStep::Indices(vec![0, -1, 9])]), "{\"a\"=[0, 2, 0], \"b\"=\"x\"}");
    let slice = Slice { from: None, to: None, step: Some(-2) };
    gives(removed(&base, &[at("a"), PathStep::Slice(slice)]), "{\"a\"=[2], \"b\"=\"x\"}");
    gives(
        replaced(&base, &[PathStep::Keys(vec![Key::new("b"), Key::new("z")])]),
        "{\"a\"=[1, 2, 3], \"b\"=0}",
    );
    gives(removed(&base, &[PathStep::Wildcard]), "{}");
    gives(replaced(&base, &[PathStep::Wildcard, PathStep::Wildcard]), "{\"a\"=[0, 0, 0], \"b\"=\"x\"}");
    gives(removed(&base, &[]), "undefined");
    let grown = filtered(&base, &[at("a"), PathStep::Wildcard], |value| add(value, &number("1")));
    gives(grown, "{\"a\"=[2, 3, 4], \"b\"=\"x\"}");
}

#[test]
fn what_a_path_misses_stays() {
    let base = object([("a", numbers(&["1"])), ("b", text("x"))]);
    let same = "{\"a\"=[1], \"b\"=\"x\"}";
    for path in [
        vec![at("missing")],
        vec![at("a"), at("b")],
        vec![at("b"), at("c")],
        vec![at("a"), PathStep::Index(9)],
        vec![PathStep::Index(0)],
        vec![PathStep::Indices(vec![0])],
        vec![PathStep::Slice(Slice::default())],
        vec![at("a"), PathStep::Keys(vec![Key::new("b")])],
        vec![at("b"), PathStep::Wildcard],
        vec![at("b"), PathStep::Condition(|_| Ok(Value::Boolean(true)))],
        vec![PathStep::Condition(|_| Ok(Value::Null))],
        vec![PathStep::Expression(|_| Ok(Value::Undefined))],
        vec![PathStep::DescendantsOf(Key::new("z"))],
        vec![at("b"), PathStep::Descendants],
    ] {
        gives(removed(&base, &path), same);
    }
    gives(removed(&Value::Undefined, &[at("a")]), "undefined");
}

#[test]
fn conditions_and_expressions_in_paths_see_where_they_are() {
    let arr = [at("nested"), at("arr")];
    let two: Step =
        PathStep::Condition(|element| Ok(Value::Boolean(key(element.value, "k").equals(&number("2")))));
    let path = [arr[0].clone(), arr[1].clone(), two, at("k")];
    let result = replaced(&subject(), &path).unwrap();
    gives(Ok(key(&key(&result, "nested"), "arr")), "[{\"k\"=0}, {\"k\"=3}, {\"x\"=4}]");
    let path = [arr[0].clone(), arr[1].clone(), PathStep::Wildcard, at("k")];
    let result = removed(&subject(), &path).unwrap();
    gives(Ok(key(&key(&result, "nested"), "arr")), "[{}, {}, {\"x\"=4}]");
    let row = |n| Value::array([number(n), numbers(&["7", "8"])]);
    let rows = Value::array([row("0"), row("1")]);
    // `@` is the element of the wildcard: its first element says which one to remove.
    let first: Step = PathStep::Expression(|element| index(element.value, 0));
    gives(removed(&rows, &[PathStep::Wildcard, PathStep::Index(1), first]), "[[0, [8]], [1, [7]]]");
    let broken: Step = PathStep::Expression(|_| Ok(number("0.5")));
    fails(removed(&rows, &[broken]), "an index must be a whole number, not `0.5`");
    let failing: Step = PathStep::Condition(|_| Err(Fault::processing("no")));
    fails(removed(&rows, &[failing]), "no");
}

#[test]
fn recursive_paths_stop_at_the_nearest() {
    let inner = object([("k", object([("k", number("1"))])), ("x", object([("k", number("2"))]))]);
    gives(replaced(&inner, &[PathStep::DescendantsOf(Key::new("k"))]), "{\"k\"=0, \"x\"={\"k\"=0}}");
    let rows = Value::array([numbers(&["1", "2"]), numbers(&["3", "4"])]);
    gives(replaced(&rows, &[PathStep::DescendantsAt(1)]), "[[1, 0], 0]");
    gives(removed(&rows, &[PathStep::DescendantsAt(0)]), "[[4]]");
    let wrap = |value: &Value| Ok(Value::array([value.clone()]));
    gives(filtered(&rows, &[PathStep::Descendants], wrap), "[[[[1], [2]]], [[[3], [4]]]]");
    let deep = (0..510).fold(number("1"), |value, _| Value::array([value]));
    fails(removed(&deep, &[PathStep::Descendants]), "the value is nested deeper than 500 levels");
}

//! Whatever functions are called with, they answer: no panic, no hang, no memory without end.

use durward_ir::library::Parameter;
use durward_ir::value::Value;

use super::cases::{call, read};

const NUMBERS: &str = r#"[0, 1, -1, 2.0, 1.5, -0.5, 63, 64, 10000, 65536, 2147483647, 2147483648, -2147483649,
    9007199254740993, 9223372036854775807, -9223372036854775808, 18446744073709551615, 1e30, 1E+1000, -1E+1000,
    1E-1000, 123456789012345678901234567890.123456789]"#;
const TEXTS: &str = r#"["", "a", "X", " ", "aä", "😀", "a😀b", "0x", "-", "$1", "\\", "10K", "1e999999999", "QQ==", "_",
    "\u0000", "[[", "1-2-3-4-5", "HmacSHA256", "\u2003\u00a0"]"#;
const ARRAYS: &str = r#"[[], [1], [3, 1.0, 2, 1], ["b", "a", "😀", "\uffff"], [~], [null, ~, [], {}], [1, "a"],
    [1E+1000, 1E-1000], [[1, [2]], [3]], [true, true]]"#;
const OBJECTS: &str = r#"[{}, {"a":["b"], "b":["a"]}, {"a":{"n":["a", 1, null], "attributes":{"x":[1], "y":2}}},
    {"a":1, "b":{}, "c":~}]"#;

fn pool(parameter: Parameter) -> Vec<Value> {
    let pools = match parameter {
        Parameter::Any => [NUMBERS, TEXTS, ARRAYS, OBJECTS, "[null, ~, true, false]"].as_slice(),
        Parameter::Boolean => &["[true, false]"],
        Parameter::Number => &[NUMBERS],
        Parameter::Text => &[TEXTS],
        Parameter::Array => &[ARRAYS],
        Parameter::Object => &[OBJECTS],
    };
    let values = pools.iter().map(|pool| read(pool)).flat_map(|pool| {
        let Value::Array(values) = pool else { return Vec::new() };
        values.to_vec()
    });
    values.collect()
}

/// Every combination of arguments from the pools of the parameters.
fn combinations(parameters: &[Parameter]) -> Vec<Vec<Value>> {
    parameters.iter().fold(vec![Vec::new()], |combinations, parameter| {
        let pool = pool(*parameter);
        let longer = combinations.iter().flat_map(|known| {
            pool.iter().map(|value| known.iter().cloned().chain([value.clone()]).collect())
        });
        // Of three arguments and more there are too many to try all.
        let every = combinations.len() * pool.len() / 1_000 + 1;
        longer.step_by(every).collect()
    })
}

#[test]
fn every_function_answers_to_every_kind_of_argument() {
    for function in durward_library::all() {
        let mut parameters = function.parameters.to_vec();
        parameters.extend(function.rest.into_iter().flat_map(|rest| [rest, rest]));
        for arguments in combinations(&parameters) {
            let _answer = function.call(&arguments);
        }
    }
}

#[test]
fn wrong_kinds_and_numbers_of_arguments_are_errors() {
    let [text, number] = [Value::Text("a".into()), Value::number(1)];
    for function in durward_library::all() {
        for (at, parameter) in function.parameters.iter().enumerate() {
            let wrong = match parameter {
                Parameter::Any => continue,
                Parameter::Text => &number,
                Parameter::Boolean | Parameter::Number | Parameter::Array | Parameter::Object => &text,
            };
            let mut arguments: Vec<Value> =
                function.parameters.iter().map(|parameter| pool(*parameter).swap_remove(0)).collect();
            arguments[at] = wrong.clone();
            let fault = function.call(&arguments).unwrap_err();
            assert!(fault.message.contains(function.name), "{function}: {fault}");
        }
        // Without the check that `call` makes there is no panic either.
        for arguments in [&[][..], &[Value::Undefined], &[Value::Null, Value::Null, Value::Null]] {
            let _answer = (function.run)(arguments);
        }
    }
}

#[test]
fn names_are_found_with_their_number_of_arguments() {
    assert_eq!(durward_library::find("string.length", 1).unwrap().name, "string.length");
    assert!(durward_library::find("string.length", 2).is_none());
    assert!(durward_library::is_known("string.length"));
    assert!(!durward_library::is_known("string.size"));
    assert_eq!(durward_library::find("graph.transitiveClosure", 1).unwrap().parameters.len(), 1);
    assert_eq!(durward_library::find("graph.transitiveClosure", 2).unwrap().parameters.len(), 2);
    assert!(durward_library::find("string.concat", 0).is_some());
    assert!(durward_library::find("string.concat", 100).is_some());
}

#[test]
fn every_function_says_what_it_does() {
    for function in durward_library::all() {
        assert!(!function.doc.is_empty(), "{function}");
        let (library, name) = function.name.split_once('.').unwrap();
        assert!(!library.is_empty() && !name.is_empty() && !name.contains('.'), "{function}");
    }
}

fn long(length: usize) -> Value {
    Value::Text("x".repeat(length).into())
}

#[test]
fn results_beyond_the_limits_are_errors() {
    let million = long(1_000_000);
    let elements = Value::array((0..2000).map(|at| Value::number(i64::from(at))));
    let doubled = Value::array(vec![Value::Null; 600_000]);
    for (name, arguments) in [
        ("string.repeat", vec![million.clone(), Value::number(11)]),
        ("string.leftPad", vec![long(1), Value::number(10_000_001), long(1)]),
        ("string.concat", vec![million.clone(); 11]),
        ("string.join", vec![Value::array(vec![million.clone(); 11]), long(0)]),
        ("string.replace", vec![long(100), long(1), million.clone()]),
        ("filter.blacken", vec![long(5000), Value::number(0), Value::number(0), long(5000)]),
        ("array.crossProduct", vec![elements.clone(), elements]),
        ("array.concatenate", vec![doubled.clone(), doubled.clone()]),
        ("array.flatten", vec![Value::array([doubled.clone(), doubled])]),
        ("json.jsonToVal", vec![long(1_048_577)]),
        ("encoding.hexEncode", vec![long(5_000_001)]),
        ("encoding.base64Decode", vec![long(10_000_001)]),
        ("mac.hmacSha256", vec![long(10_000_001), long(1)]),
    ] {
        assert!(call(name, &arguments).is_err(), "{name}");
    }
}

#[test]
fn a_value_that_holds_itself_many_times_over_is_not_written_out() {
    let wide = (0..64).fold(Value::Text("x".into()), |value, _| Value::array([value.clone(), value]));
    let graph = Value::object([("a", Value::array([wide.clone()]))]);
    for (name, argument) in [
        ("standard.toString", &wide),
        ("json.valToJson", &wide),
        ("graph.transitiveClosure", &graph),
        ("graph.transitiveClosureSet", &graph),
    ] {
        let fault = call(name, std::slice::from_ref(argument)).unwrap_err();
        assert!(fault.message.contains("longer than"), "{name}");
    }
}

#[test]
fn json_is_read_and_written_to_the_same_depth() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    for (depth, allowed) in [(499, true), (500, false), (100_000, false)] {
        assert_eq!(call("json.jsonToVal", &[Value::Text(deep(depth).into())]).is_ok(), allowed, "{depth}");
    }
    let value = (0..500).fold(Value::Null, |value, _| Value::array([value]));
    assert!(call("json.valToJson", &[value]).is_err());
}

#[test]
fn a_union_of_many_values_has_each_of_them_once() {
    let numbers = |from: i64| Value::array((from..from + 100_000).map(Value::number));
    let union = call("array.union", &[numbers(0), numbers(50_000)]).unwrap();
    assert_eq!(call("standard.length", &[union]).unwrap().to_json(), "150000");
}

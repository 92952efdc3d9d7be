use super::FUNCTIONS;
use durward_functions::check::{CallExample, TestedLibrary, array, decimal, object, values};
use durward_ir::Value;

const LIBRARY: TestedLibrary = TestedLibrary(FUNCTIONS);

fn results() -> Vec<CallExample<'static>> {
    vec![
        ("toml.tomlToVal", values!["a = 1\n[b]\nc = \"x\""], Ok(r#"{"a":1,"b":{"c":"x"}}"#)),
        ("toml.tomlToVal", values![""], Ok("{}")),
        (
            "toml.tomlToVal",
            values!["a=1.50\nb=1_000\nc=0xff\nd=0o17\ne=0b11\nf=1e3\ng=-0.0\nh=1.0"],
            Ok(r#"{"a":1.50,"b":1000,"c":255,"d":15,"e":3,"f":1E+3,"g":0,"h":1}"#),
        ),
        ("toml.tomlToVal", values!["a=12345678901234567890123"], Ok(r#"{"a":12345678901234567890123}"#)),
        (
            "toml.tomlToVal",
            values!["a=1979-05-27 07:32:00.50Z\nb=25:61:61\nc=1979-13-32"],
            Ok(r#"{"a":"1979-05-27T07:32:00.50Z","b":"25:61:61","c":"1979-13-32"}"#),
        ),
        (
            "toml.tomlToVal",
            values!["a.b=1\na.c={d=2, e.f=[1, {}]}\n[a.g]\n"],
            Ok(r#"{"a":{"b":1,"c":{"d":2,"e":{"f":[1,{}]}},"g":{}}}"#),
        ),
        ("toml.tomlToVal", values!["[[a]]\nb=1\n[[a]]\n[a.c]\nd=1"], Ok(r#"{"a":[{"b":1},{"c":{"d":1}}]}"#)),
        ("toml.tomlToVal", values!["[a.b]\nx=1\n[a]\ny=2"], Ok(r#"{"a":{"b":{"x":1},"y":2}}"#)),
        (
            "toml.tomlToVal",
            values!["a=\"\"\"\nx\\\n  y\"\"\"\nb='x\\y'\n\"c d\"=true"],
            Ok(r#"{"a":"xy","b":"x\\y","c d":true}"#),
        ),
        (
            "toml.valToToml",
            values![
                object! {"a": 1, "b c": "x", "d": object! {"e": array![1, "it's", object! {"f": Value::Null}], "g": object! {}}}
            ],
            Ok(r#""a = 1\n'b c' = 'x'\nd.e = [1, \"it's\", {f = ''}]\nd.g = {}\n""#),
        ),
        (
            "toml.valToToml",
            values![object! {"a": decimal("1E+3"), "": true, "b.c": "x\ty\\", "d'": "\r\n"}],
            Ok(r#""a = 1E+3\n'' = true\n'b.c' = 'x\ty\\'\n\"d'\" = \"\\u000d\\n\"\n""#),
        ),
        ("toml.valToToml", values![array!["'\t", "'\t\\"]], Ok(r#"" = [\"'\t\", \"'\\t\\\\\"]\n""#)),
        ("toml.valToToml", values![object! {}], Ok(r#"" = {}\n""#)),
        ("toml.valToToml", values![array![1, array![]]], Ok(r#"" = [1, []]\n""#)),
        ("toml.valToToml", values![Value::Null], Ok(r#"" = ''\n""#)),
    ]
}

#[test]
fn documents_are_read_and_written_as_jackson_does() {
    let results = results();
    LIBRARY.rows(&results);
    LIBRARY.all_called(&results);
}

#[test]
fn faults_tell_where_a_document_is_wrong() {
    let wrong = |text: &'static str, why: &'static str| ("toml.tomlToVal", values![text], why);
    LIBRARY.faults(&[
        wrong("a=1\na=2", "Failed to parse TOML: line 2, column 1: the key is there twice."),
        wrong("[a]\n[a]", "Failed to parse TOML: line 2, column 1: the table is defined twice."),
        wrong("a.b=1\n[a]", "Failed to parse TOML: line 2, column 1: the table is defined twice."),
        wrong("a={}\na.b=1", "Failed to parse TOML: line 2, column 1: the table is closed."),
        wrong("a=[]\n[[a]]", "Failed to parse TOML: line 2, column 1: the array is closed."),
        wrong("a=1\n[a.b]", "Failed to parse TOML: line 2, column 1: there is a value that is no table."),
        wrong("a=inf", "Failed to parse TOML: line 1, column 3: a number must be finite."),
        wrong("é=1", "Failed to parse TOML: line 1, column 1:"),
        wrong("a=01", "Failed to parse TOML: line 1, column 3: a number must not begin with 0."),
        wrong("a=1__0", "Failed to parse TOML: line 1, column 3: this is no value."),
        wrong("a=07:32", "Failed to parse TOML: line 1, column 3:"),
        wrong("a={x=1,}", "Failed to parse TOML: line 1, column 7: a comma must not be the last"),
        wrong("a={\nx=1}", "Failed to parse TOML: line 1, column 4: an inline table must be in one line."),
        wrong("a=\"\\e\"", "Failed to parse TOML: line 1, column 3: the escape is unknown."),
        wrong("a=", "Failed to parse TOML: line 1"),
        wrong("\u{feff}a=1", "Failed to parse TOML: line 1, column 1:"),
        wrong("a=1e1001", "Failed to parse TOML: line 1, column 3: its exponent is out of range."),
        (
            "toml.valToToml",
            values![Value::Undefined],
            "Failed to convert value to TOML: Cannot marshall UndefinedValue to JSON..",
        ),
        (
            "toml.valToToml",
            values![array![Value::Undefined]],
            "Failed to convert value to TOML: Cannot marshall",
        ),
    ]);
}

#[test]
fn limits_stop_what_is_too_large_or_too_deep() {
    let nested = |depth: usize| format!("a={}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(LIBRARY.call("toml.tomlToVal", &values![nested(498).as_str()]).is_ok());
    let dotted = format!("{}a=1", "a.".repeat(100_000));
    let long = format!("a={}", "1".repeat(1001));
    LIBRARY.faults(&[
        ("toml.tomlToVal", values![nested(499).as_str()], "Maximum nesting depth exceeded."),
        ("toml.tomlToVal", values![nested(100_000).as_str()], "Failed to parse TOML"),
        ("toml.tomlToVal", values![dotted.as_str()], "Maximum nesting depth exceeded."),
        (
            "toml.tomlToVal",
            values![long.as_str()],
            "Failed to parse TOML: line 1, column 3: a number is too long.",
        ),
        (
            "toml.tomlToVal",
            values!["#".repeat(1_048_577).as_str()],
            "Input exceeds the maximum length of 1048576 characters.",
        ),
    ]);
    let mut deep = Value::array([]);
    for _ in 0..499 {
        deep = Value::array([deep]);
    }
    LIBRARY.faults(&[(
        "toml.valToToml",
        values![deep],
        "Failed to convert value to TOML: Maximum nesting depth exceeded..",
    )]);
    let long = object! {"a": "x".repeat(10_000_001).as_str()};
    LIBRARY.faults(&[(
        "toml.valToToml",
        values![long],
        "Output exceeds the maximum length of 10000000 characters.",
    )]);
}

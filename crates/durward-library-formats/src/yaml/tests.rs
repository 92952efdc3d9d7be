//! What is expected here is what Jackson 3.1 with SnakeYAML does with the same documents and values.

use durward_ir::Value;

use super::FUNCTIONS;
use durward_functions::check::{CallExample, TestedLibrary, array, decimal, object, values};

const LIBRARY: TestedLibrary = TestedLibrary(FUNCTIONS);

fn results() -> Vec<CallExample<'static>> {
    let read = |yaml: &'static str, json: &'static str| ("yaml.yamlToVal", values![yaml], Ok(json));
    let written = |value: Value, yaml: &'static str| ("yaml.valToYaml", vec![value], Ok(yaml));
    vec![
        read("a: 1\nb: [x, 'y', \"z\\n\"]\n", r#"{"a":1,"b":["x","y","z\n"]}"#),
        read("{a: b, c: [d, {e: f}]}", r#"{"a":"b","c":["d",{"e":"f"}]}"#),
        read("a: |\n  x\n  y\nb: >-\n  x\n  y\nc: |+\n  x\n\n", r#"{"a":"x\ny\n","b":"x y","c":"x\n\n"}"#),
        // The last line ends only if it is said to.
        read("a: |\n  x", r#"{"a":"x"}"#),
        read("- |1\n  x", r#"[" x"]"#),
        read("|+\n\n", r#""\n""#),
        // An alias is its name: Jackson resolves none in trees.
        read("a: &n [1]\nb: *n\n", r#"{"a":[1],"b":"n"}"#),
        read("a: *n\nb: [*m, *é] # *c\nc: |\n  *x\n", r#"{"a":"n","b":["m","é"],"c":"*x\n"}"#),
        read("?\n: 1", r#"{"":1}"#),
        read("'': 1", r#"{"":1}"#),
        read("<<: {a: 1}\nb: 2", r#"{"<<":{"a":1},"b":2}"#),
        read("a: 1\na: 2\n", r#"{"a":2}"#),
        read("1: x\ntrue: y\n? z\n: w", r#"{"1":"x","true":"y","z":"w"}"#),
        read("[!!str 5, !!int '7', 12345678901234567890123]", r#"["5",7,12345678901234567890123]"#),
        read("%YAML 1.1\n---\ntext\nmore", r#""text more""#),
        written(
            object! {"a": 1, "b": array!["x", object! {"c": Value::Null}], "d": object! {}},
            r#""---\na: 1\nb:\n- \"x\"\n- c: null\nd: {}\n""#,
        ),
        written(array![array![1], array![]], r#""---\n- - 1\n- []\n""#),
        written(
            array!["yes", "5", "", "a\nb\t\u{1}", "é😀"],
            r#""---\n- \"yes\"\n- \"5\"\n- \"\"\n- \"a\\nb\\t\\x01\"\n- \"é😀\"\n""#,
        ),
        written(
            object! {"1": "2", "a b": "c", "": "d", "yes": true},
            r#""---\n\"1\": \"2\"\na b: \"c\"\n? \"\"\n: \"d\"\n\"yes\": true\n""#,
        ),
        written(decimal("1E+30"), r#""--- 1E+30\n""#),
    ]
}

#[test]
fn documents_are_read_and_written_as_jackson_does() {
    let results = results();
    LIBRARY.rows(&results);
    LIBRARY.all_called(&results);
}

#[test]
fn long_texts_are_broken_where_snake_yaml_breaks_them() {
    let text = format!("{}{}", "x".repeat(100), " y".repeat(20));
    let yaml = format!(r#""--- \"{}\\\n  \\{}\"\n""#, "x".repeat(100), " y".repeat(20));
    let expected = yaml.replace("\\\\\n", r"\\\n").replace("  \\ y", r"  \\ y");
    assert_eq!(LIBRARY.call("yaml.valToYaml", &values![text.as_str()]), Ok(expected));
}

#[test]
fn what_is_no_single_document_is_an_error() {
    let wrong = |yaml: &'static str| ("yaml.yamlToVal", values![yaml], "Failed to parse YAML: ");
    LIBRARY.faults(&[
        wrong(""),
        wrong("# c\n"),
        wrong("--- a\n--- b\n"),
        wrong("a: b: c"),
        wrong("[1, 2"),
        wrong("a: 'x"),
        wrong("!!binary aGk="),
        wrong("-.inf"),
        wrong(": 1"),
        wrong("{a: 1, : 2}"),
        wrong("*x : 1"),
        wrong("a: *x.y"),
        wrong("a: &y *x"),
        ("yaml.valToYaml", vec![Value::Undefined], "Failed to convert value to YAML: "),
    ]);
}

#[test]
fn documents_are_limited_in_depth_and_length() {
    let nested = |depth: usize| LIBRARY.call("yaml.yamlToVal", &values!["[".repeat(depth).as_str()]);
    assert!(nested(100_000).is_err());
    let long = "x".repeat(1024 * 1024 + 1);
    assert!(
        LIBRARY.call("yaml.yamlToVal", &values![long.as_str()]).unwrap_err().starts_with("Input exceeds")
    );
}

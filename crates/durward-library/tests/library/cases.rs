//! Cases, one a line: `library.function [arguments] -> result`. Arguments and results are JSON, with `~` for `undefined`;
//! results are compared to the letter, so that the scales of numbers count. `-> error part of the message` where the
//! call fails. What the Java engine gives is known from its tests and documentation, or from running the methods of
//! the JDK that it calls.
#![expect(clippy::panic, reason = "tests")]

use std::collections::BTreeSet;

use durward_ir::fault::Evaluated;
use durward_ir::value::Value;

/// Reads JSON, with `~` for `undefined`.
pub(crate) fn read(json: &str) -> Value {
    let marked = json.replace('~', r#"{"\u0000":0}"#);
    unmark(
        &call("json.jsonToVal", &[Value::Text(marked.into())])
            .unwrap_or_else(|fault| panic!("{json}: {fault}")),
    )
}

fn unmark(value: &Value) -> Value {
    if let Value::Array(elements) = value {
        return Value::array(elements.iter().map(unmark));
    }
    if let Value::Object(object) = value {
        if object.contains_key("\0") {
            return Value::Undefined;
        }
        return Value::object(object.iter().map(|(key, value)| (key.clone(), unmark(value))));
    }
    value.clone()
}

/// Calls a function.
pub(crate) fn call(name: &str, arguments: &[Value]) -> Evaluated<Value> {
    let function = durward_library::find(name, arguments.len());
    function
        .unwrap_or_else(|| panic!("`{name}` with {} arguments is not there", arguments.len()))
        .call(arguments)
}

/// Runs all cases of a text; gives the names of the functions they call.
fn check(cases: &'static str) -> BTreeSet<&'static str> {
    let mut names = BTreeSet::new();
    for case in cases.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (called, expected) = case.split_once(" -> ").unwrap_or_else(|| panic!("no result: {case}"));
        let (name, arguments) = called.split_once(' ').unwrap_or_else(|| panic!("no arguments: {case}"));
        let Value::Array(arguments) = read(arguments) else { panic!("arguments are an array: {case}") };
        match (call(name, &arguments), expected.strip_prefix("error ")) {
            (Ok(result), None) => assert_eq!(result.to_json(), expected.replace('~', "undefined"), "{case}"),
            (Err(fault), Some(part)) => assert!(fault.message.contains(part), "{case}\n  but: {fault}"),
            (Ok(result), Some(_)) => panic!("{case}\n  but: {}", result.to_json()),
            (Err(fault), None) => panic!("{case}\n  but: {fault}"),
        }
        names.insert(name);
    }
    names
}

macro_rules! libraries {
    ($($library:ident)*) => {$(
        #[test]
        fn $library() {
            let called = check(include_str!(concat!("cases/", stringify!($library), ".txt")));
            let prefix = concat!(stringify!($library), ".");
            let all: BTreeSet<&str> = durward_library::all().map(|f| f.name).filter(|n| n.starts_with(prefix)).collect();
            assert_eq!(called, all, "every function has cases");
        }
    )*};
}

libraries! {
    array bitwise digest encoding filter geo graph json mac math numeral object permissions reflect standard string traccar
    units uuid
}

#[test]
fn sapl() {
    let info = call("sapl.info", &[]).unwrap();
    let Value::Object(info) = info else { panic!("an object") };
    let keys: Vec<&str> = info.keys().map(|key| key.as_str()).collect();
    let [version, commit, branch, build] = ["saplVersion", "gitCommitId", "gitBranch", "gitBuildTime"];
    let [jdk, java, vendor] = ["jdkVersion", "javaVersion", "javaVendor"];
    assert_eq!(keys, [version, commit, branch, build, jdk, java, vendor, "osName", "osVersion", "osArch"]);
    assert_eq!(info.get(version).unwrap().to_json(), "\"4.2.0\"");
    assert_eq!(info.get(java).unwrap().to_json(), "\"unknown\"");
}

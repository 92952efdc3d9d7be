//! The table as a whole, and every strict function through [`find`], by cases written from the standard.

mod cases;
mod names;
mod notation;
mod typing;

use std::collections::HashSet;

use super::*;
use notation::{Case, Outcome};

#[test]
fn every_identifier_of_the_standard_is_found() {
    let Some(path) = durward_testdata::recorded("xacml/functions.tsv") else { return };
    let list = std::fs::read_to_string(path).unwrap();
    let missing: Vec<&str> =
        list.lines().filter_map(|line| line.split('\t').next()).filter(|id| find(id).is_none()).collect();
    assert_eq!(missing, Vec::<&str>::new());
    assert_eq!(list.lines().count(), 287);
}

#[test]
fn identifiers_are_unique() {
    let mut ids: Vec<&str> = all().map(|function| function.id).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

#[test]
fn identifiers_are_compared_to_the_letter() {
    assert!(find("urn:oasis:names:tc:xacml:1.0:function:string-equal").is_some());
    for other in [
        "",
        "string-equal",
        "urn:oasis:names:tc:xacml:1.0:function:String-equal",
        "urn:oasis:names:tc:xacml:2.0:function:string-equal",
        " urn:oasis:names:tc:xacml:1.0:function:string-equal",
    ] {
        assert!(find(other).is_none(), "{other:?}");
    }
}

/// Cases of the functions that exist once for every data type.
fn generated_cases() -> Vec<String> {
    // Two equal values written differently where the type allows it, and one that differs.
    let samples = [
        ("1.0", "string", "s", ["a", "a", "b"]),
        ("1.0", "boolean", "b", ["true", "1", "false"]),
        ("1.0", "integer", "i", ["5", "+05", "-5"]),
        ("1.0", "double", "d", ["1.5", "15e-1", "1.25"]),
        ("1.0", "time", "t", ["12:00:00Z", "13:00:00+01:00", "13:00:00Z"]),
        ("1.0", "date", "date", ["2024-02-29Z", "2024-02-29", "2024-02-28Z"]),
        (
            "1.0",
            "dateTime",
            "dt",
            ["2024-02-29T24:00:00Z", "2024-03-01T01:00:00+01:00", "2024-03-01T00:00:01Z"],
        ),
        ("1.0", "anyURI", "u", ["urn:a", "urn:a", "urn:A"]),
        ("1.0", "hexBinary", "hex", ["0aFF", "0AfF", "0a"]),
        ("1.0", "base64Binary", "base64", ["YWJj", "YW Jj", "YWI="]),
        ("1.0", "dayTimeDuration", "days", ["P1DT1H", "PT25H", "-PT25H"]),
        ("3.0", "dayTimeDuration", "days", ["P1DT1H", "PT25H", "-PT25H"]),
        ("1.0", "yearMonthDuration", "months", ["P1Y1M", "P13M", "P12M"]),
        ("3.0", "yearMonthDuration", "months", ["P1Y1M", "P13M", "P12M"]),
        ("1.0", "x500Name", "x500", ["cn=Ann  Lee, o=X", "CN=ann lee,O=x", "cn=Ann,o=X"]),
        ("1.0", "rfc822Name", "mail", ["Ann@Example.com", "Ann@EXAMPLE.COM", "ann@example.com"]),
    ];
    let mut lines = Vec::new();
    for (version, name, short, [a, same, other]) in samples {
        let (a, same, other) =
            (format!("{short}'{a}'"), format!("{short}'{same}'"), format!("{short}'{other}'"));
        let mut add =
            |function: &str, rest: String| lines.push(format!("{version}:{name}-{function} {rest}"));
        add("equal", format!("{a} {same} -> b'true'"));
        add("equal", format!("{a} {other} -> b'false'"));
        add("one-and-only", format!("[{a}] -> {a}"));
        add("one-and-only", format!("[{name}] -> processing-error"));
        add("one-and-only", format!("[{a} {a}] -> processing-error"));
        add("bag-size", format!("[{name}] -> i'0'"));
        add("bag-size", format!("[{a} {same} {a}] -> i'3'"));
        add("is-in", format!("{a} [{other} {same}] -> b'true'"));
        add("is-in", format!("{a} [{other}] -> b'false'"));
        add("is-in", format!("{a} [{name}] -> b'false'"));
        add("bag", format!("-> [{name}]"));
        add("bag", format!("{a} {other} {a} -> [{a} {other} {a}]"));
        add("intersection", format!("[{a} {other} {a}] [{same}] -> [{a}]"));
        add("intersection", format!("[{a}] [{other}] -> [{name}]"));
        add("intersection", format!("[{name}] [{a}] -> [{name}]"));
        add("at-least-one-member-of", format!("[{other} {a}] [{same}] -> b'true'"));
        add("at-least-one-member-of", format!("[{other}] [{same}] -> b'false'"));
        add("at-least-one-member-of", format!("[{name}] [{same}] -> b'false'"));
        add("union", format!("[{a} {same}] [{other} {a}] -> [{a} {other}]"));
        add("union", format!("[{a}] [{other}] [{a}] [{same}] -> [{a} {other}]"));
        add("union", format!("[{name}] [{name}] -> [{name}]"));
        add("subset", format!("[{a} {a}] [{other} {same}] -> b'true'"));
        add("subset", format!("[{a} {other}] [{a}] -> b'false'"));
        add("subset", format!("[{name}] [{name}] -> b'true'"));
        add("set-equals", format!("[{a} {other} {same}] [{other} {a}] -> b'true'"));
        add("set-equals", format!("[{a}] [{a} {other}] -> b'false'"));
        add("set-equals", format!("[{a} {other}] [{a}] -> b'false'"));
    }
    for (name, short, a) in [("ipAddress", "ip", "10.0.0.1"), ("dnsName", "dns", "a.example:80")] {
        lines.push(format!("2.0:{name}-one-and-only [{short}'{a}'] -> {short}'{a}'"));
        lines.push(format!("2.0:{name}-one-and-only [{name}] -> processing-error"));
        lines.push(format!("2.0:{name}-bag-size [{short}'{a}' {short}'{a}'] -> i'2'"));
        lines.push(format!("2.0:{name}-bag {short}'{a}' -> [{short}'{a}']"));
        lines.push(format!("2.0:{name}-is-in {short}'{a}' [{short}'{a}'] -> b'true'"));
    }
    lines
}

fn every_case() -> Vec<String> {
    let mut lines = generated_cases();
    let written =
        cases::CASES.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.extend(written.map(str::to_owned));
    lines
}

#[test]
fn functions_give_what_the_standard_says() {
    let mut wrong = Vec::new();
    for line in every_case() {
        let case = Case::read(&line);
        let found = case.evaluate();
        if !found.is_same(&case.expected) {
            wrong.push(format!("{line}\n    gave {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_strict_function_has_a_case() {
    let tried: HashSet<&str> = every_case().iter().map(|line| Case::read(line).function.id).collect();
    let strict = all().filter(|function| matches!(function.body, Body::Strict(..)));
    let untried: Vec<&str> = strict.map(|function| function.id).filter(|id| !tried.contains(id)).collect();
    assert_eq!(untried, Vec::<&str>::new());
}

#[test]
fn results_have_the_type_that_checking_promises() {
    for line in every_case() {
        let case = Case::read(&line);
        let promised =
            case.function.check(&case.argument_types()).unwrap_or_else(|error| panic!("{line}: {error}"));
        match case.evaluate() {
            Outcome::Value(value) => assert_eq!(promised, Type::One(value.data_type()), "{line}"),
            Outcome::Bag(values) => {
                for value in values {
                    assert_eq!(promised, Type::Bag(value.data_type()), "{line}");
                }
            }
            Outcome::Processing | Outcome::Syntax => {}
        }
    }
}

#[test]
fn wrong_operands_are_faults_and_never_panics() {
    use crate::value::Value;
    let operands = [
        Operand::one(Value::text("a")),
        Operand::one(Value::integer(1)),
        Operand::bag(Vec::new()),
        Operand::bag(vec![Value::Boolean(true)]),
    ];
    for function in all() {
        let Body::Strict(_, strict) = function.body else { continue };
        for count in 0..4 {
            for first in &operands {
                // Some of these fit by chance; what matters is that all of them return.
                let given: Vec<Operand<'_>> = std::iter::repeat_n(first.clone(), count).collect();
                let _ = strict(&given);
            }
        }
    }
}

#[test]
fn large_bags_are_compared_in_reasonable_time() {
    use crate::value::Value;
    let many = |from: i64| Operand::bag((from..from + 100_000).map(Value::integer).collect());
    for name in ["intersection", "union", "subset", "set-equals", "at-least-one-member-of"] {
        let function = find(&format!("urn:oasis:names:tc:xacml:1.0:function:integer-{name}")).unwrap();
        let Body::Strict(_, strict) = function.body else { unreachable!() };
        assert!(strict(&[many(0), many(50_000)]).is_ok());
    }
}

#[test]
fn results_are_bounded() {
    let call = |name: &str, operands: &[Operand<'_>]| {
        let Body::Strict(_, strict) = find(name).unwrap().body else { unreachable!() };
        strict(operands)
    };
    let half = Operand::one(crate::Value::text("x".repeat(TEXT_LENGTH_MAX / 2)));
    let concatenate = id!("2.0", "string-concatenate");
    assert!(call(concatenate, &[half.clone(), half.clone()]).is_ok());
    assert!(call(concatenate, &[half.clone(), half.clone(), half]).is_err());

    let mut square = Operand::one(crate::Value::integer(i64::MAX));
    let multiply = id!("1.0", "integer-multiply");
    let mut squarings = 0;
    while let Ok(next) = call(multiply, &[square.clone(), square.clone()]) {
        square = next;
        squarings += 1;
        assert!(squarings < 12);
    }
    assert!(squarings >= 9);
}

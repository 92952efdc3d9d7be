//! Documents that would take forever, or the whole stack.

use std::fmt::Write;

use super::problems;

#[test]
fn variables_that_multiply_are_refused() {
    let mut text = "policy \"p\" permit var x0 = subject;".to_owned();
    for number in 1..64 {
        let before = number - 1;
        write!(text, "var x{number} = x{before} + x{before};").unwrap();
    }
    text.push_str("x63 == 1;");
    assert!(problems(&[text.as_str()]).contains("more than 1000000 expressions"));
}

#[test]
fn variables_that_nest_are_refused() {
    let mut text = "policy \"p\" permit var x0 = subject;".to_owned();
    for number in 1..2000 {
        write!(text, "var x{number} = !x{};", number - 1).unwrap();
    }
    assert!(problems(&[text.as_str()]).contains("nests more than 400 deep"));
}

#[test]
fn chains_are_as_long_as_they_like() {
    let sum = vec!["subject"; 20_000].join(" + ");
    let path = vec!["[0]"; 20_000].concat();
    let text = format!("policy \"p\" permit {sum} == subject{path};");
    assert_eq!(problems(&[text.as_str()]), "");
}

#[test]
fn constants_that_grow_beyond_measure_are_errors_and_no_more() {
    let mut text = "policy \"p\" permit var x0 = [1, 1];".to_owned();
    for number in 1..64 {
        let before = number - 1;
        write!(text, "var x{number} = [x{before}, x{before}];").unwrap();
    }
    text.push_str("x63 == 1;");
    assert_eq!(problems(&[text.as_str()]), "");
}

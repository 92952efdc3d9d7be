//! The operators, steps and filters, with the values of the recorded expressions.

use super::*;
use crate::datatype::Decimal;
use crate::value::{Debugged, Key, Object};

mod filters;
mod operators;
mod steps;

fn number(text: &str) -> Value {
    Value::Number(Decimal::parse(text).unwrap())
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

fn numbers(texts: &[&str]) -> Value {
    Value::array(texts.iter().map(|text| number(text)))
}

fn texts(texts: &[&str]) -> Value {
    Value::array(texts.iter().map(|each| text(each)))
}

fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::object(entries)
}

/// The subject of the recorded expressions, as far as it matters.
fn subject() -> Value {
    let one = |key, value| object([(key, number(value))]);
    let arr = Value::array([one("k", "2"), one("k", "3"), one("x", "4")]);
    object([
        ("name", text("alice")),
        ("role", text("doctor")),
        ("age", number("42")),
        ("roles", texts(&["a", "b"])),
        ("nested", object([("k", one("k", "1")), ("arr", arr)])),
    ])
}

fn nested() -> Value {
    key(&subject(), "nested")
}

fn one_to_five() -> Value {
    numbers(&["1", "2", "3", "4", "5"])
}

#[track_caller]
fn gives(result: Evaluated<Value>, shown: &str) {
    assert_eq!(result.map(|value| Debugged(&value).to_string()).as_deref(), Ok(shown));
}

#[track_caller]
fn fails<T: std::fmt::Debug>(result: Evaluated<T>, message: &str) {
    assert_eq!(result.unwrap_err().message, message);
}

const TOO_LARGE: &str = "the value is larger than 100000000 bytes";

#[test]
fn values_that_unfold_without_end_are_refused() {
    let mut value = number("1");
    for _ in 0..21 {
        value = limited(Value::array([value.clone(), value])).unwrap();
    }
    let doubled = limited(Value::array([value.clone(), value.clone()]));
    fails(doubled, TOO_LARGE);
    let pair = |element: Relative<'_>| Ok(Value::array([element.value.clone(), element.value.clone()]));
    fails(template(&Value::array([value]), pair), TOO_LARGE);
}

#[test]
fn long_texts_and_numbers_count_as_often_as_they_are_reached() {
    let long = text(&"x".repeat(1 << 20));
    let hundred = Value::array(vec![long; 90]);
    assert!(limited(hundred.clone()).is_ok());
    fails(limited(Value::array([hundred.clone(), hundred.clone()])), TOO_LARGE);
    fails(each(&object([("a", hundred.clone()), ("b", hundred)]), |each| Ok(each.value.clone())), TOO_LARGE);
    let digits = number(&"9".repeat(1000));
    fails(limited(Value::array(vec![digits; 400_000])), TOO_LARGE);
}

#[test]
fn sharing_does_not_hide_what_a_descent_reaches() {
    let mut value = number("1");
    for _ in 0..20 {
        value = Value::array([value.clone(), value]);
    }
    // Two million values, each of which holds many of the others.
    fails(all_descendants(&value), TOO_LARGE);
}

#[test]
fn long_values_are_cut_in_errors() {
    let message = not(&text(&"x".repeat(10_000))).unwrap_err().message;
    assert!(message.len() < 200, "{message}");
    assert_eq!(Object::default().len(), 0);
    assert_eq!(Key::new("a").as_str(), "a");
}
